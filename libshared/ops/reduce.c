/* reduce: folds dimensions of n tensors at once with a region. Plain reducers (add, maximum, ...)
 * fold wide and round once; any other region runs in the interpreter, elements in row-major order.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/common.h"
#include "ops/dims.h"
#include "ops/eval.h"
#include "ops/fold_binary.h"
#include "ops/fold_rule.h"
#include "ops/fold_vjp.h"

/* --- Type rule --- */

/* The region maps (accumulators.., elements..) to accumulators; each is a scalar of init's type. */
int infer_fold_region(const ir_fn_t *fn, const ir_op_t *op, int r, int n, err_t *err)
{
    ir_type_t *args = mem_calloc(2 * (size_t)n, sizeof *args);
    for (int i = 0; i < 2 * n; i++) args[i] = ir_type_scalar(op_in_type(fn, op, n + i % n)->dtype);
    int status = infer_region(fn, op, r, 2 * n, args, n, args, err);
    free(args);
    return status;
}

/* Operands are n tensors of one shape, then n scalars: the accumulators' initial values, of the
 * same element type or a wider one of its class. */
int infer_fold_operands(const ir_fn_t *fn, const ir_op_t *op, err_t *err)
{
    int n = op->n_in / 2;
    char x[IR_TYPE_TEXT], init[IR_TYPE_TEXT];
    if (op->n_in < 2 || op->n_in % 2 != 0 || op->n_out != n)
        return err_set(err, ERR_SHAPE,
                       "%s: %d operands and %d results; it takes n tensors and n "
                       "initial values, and gives n tensors",
                       op_name(op), op->n_in, op->n_out);
    for (int i = 0; i < n; i++) {
        const ir_type_t *from = op_in_type(fn, op, i), *to = op_in_type(fn, op, n + i);
        if (infer_same_shape(fn, op, 0, i, err) < 0) return -1;
        bool same = from->dtype == to->dtype;
        bool wider = dtype_class(from->dtype) == dtype_class(to->dtype) &&
                     dtype_bits(from->dtype) <= dtype_bits(to->dtype);
        if (to->rank != 0 || !(same || wider))
            return err_set(err, ERR_TYPE, "%s: initial value %d is %s, which does not fit %s",
                           op_name(op), i, ir_type_text(to, init), ir_type_text(from, x));
    }
    return 0;
}

static int infer_reduce(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    int n = op->n_in / 2, n_dim;
    const int64_t *dims;
    if (infer_fold_operands(fn, op, err) < 0 || infer_fold_region(fn, op, 0, n, err) < 0) return -1;
    const ir_type_t *x = op_in_type(fn, op, 0);
    if (infer_dims(op, "dimensions", x->rank, &dims, &n_dim, err) < 0) return -1;
    uint32_t reduced = dims_mask(op, "dimensions");
    for (int i = 0; i < n; i++) {
        ir_type_t is = {.dtype = op_in_type(fn, op, n + i)->dtype};
        for (int d = 0; d < x->rank; d++)
            if (!dims_has(reduced, d)) is.dim[is.rank++] = x->dim[d];
        if (infer_result(op, i, out, &is, err) < 0) return -1;
    }
    return 0;
}

/* --- Evaluation --- */

/* The operand's dimensions with equal neighbours (reduced or not) joined, and by how much a step in
 * each moves in the result: 0 for reduced ones. The last one is the row. */
typedef struct {
    int rank;
    int64_t dim[IR_MAX_RANK + 1], step[IR_MAX_RANK + 1];
} fold_walk_t;

static fold_walk_t walk_new(const ir_type_t *x, const ir_type_t *y, uint32_t reduced)
{
    fold_walk_t w = {.rank = 1, .dim = {1}};
    int64_t stride[IR_MAX_RANK];
    int at = 0;
    bool last_reduced = true;
    ir_type_strides(y, stride);
    for (int d = 0; d < x->rank; d++) {
        bool now = dims_has(reduced, d);
        int64_t step = now ? 0 : stride[at++];
        int top = w.rank - 1;
        if (w.dim[top] != 1 && now != last_reduced) top = w.rank++, w.dim[top] = 1;
        w.dim[top] *= x->dim[d];
        w.step[top] = step;
        last_reduced = now;
    }
    return w;
}

/* offset into the result at `index`, all but the row's */
static int64_t walk_offset(const fold_walk_t *w, const int64_t *index)
{
    int64_t offset = 0;
    for (int d = 0; d + 1 < w->rank; d++) offset += index[d] * w->step[d];
    return offset;
}

static void fold_row(fold_fn_t *fold, const tensor_t *x, int64_t at, int64_t n, fold_slot_t *to,
                     int64_t step)
{
    fold_slot_t block[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int m = (int)(n - i < BLOCK ? n - i : BLOCK);
        fold_load_block(x, at + i, m, block);
        for (int j = 0; j < m; j++) fold(to + (i + j) * step, block[j]);
    }
}

static void reduce_plain(fold_fn_t *fold, const fold_walk_t *w, const tensor_t *x,
                         const tensor_t *init, tensor_t *y)
{
    int64_t n = ir_type_count(&y->type), index[IR_MAX_RANK + 1] = {0}, at = 0;
    fold_slot_t *slots = mem_calloc((size_t)n + 1, sizeof *slots), first = fold_load(init, 0);
    for (int64_t i = 0; i < n; i++) slots[i] = first;
    int64_t row = w->dim[w->rank - 1];
    if (ir_type_count(&x->type) > 0) {
        do {
            fold_row(fold, x, at, row, slots + walk_offset(w, index), w->step[w->rank - 1]);
            at += row;
        } while (dims_next(w->rank - 1, w->dim, index));
    }
    for (int64_t i = 0; i < n; i++) fold_store(y, i, slots[i]);
    free(slots);
}

/* Element i of x in the accumulator's type; `room` holds the data when it has to be converted. */
static tensor_t element_as(const tensor_t *x, int64_t i, dtype_t dtype, fold_slot_t *room)
{
    if (x->type.dtype == dtype) return tensor_element(x, i);
    tensor_t t = {.type = ir_type_scalar(dtype), .data = room};
    fold_store(&t, 0, fold_load(x, i));
    return t;
}

static int reduce_region(eval_t *ev, const ir_op_t *op, const fold_walk_t *w, const tensor_t *in,
                         tensor_t *out, err_t *err)
{
    int n = op->n_in / 2, status = 0;
    int64_t index[IR_MAX_RANK + 1] = {0}, row = w->dim[w->rank - 1], count = 0;
    tensor_t *acc = mem_calloc(2 * (size_t)n, sizeof *acc), *x = acc + n;
    fold_slot_t *room = mem_calloc((size_t)n, sizeof *room);
    for (int k = 0; k < n; k++) dims_fill(&out[k], &in[n + k]);
    count = ir_type_count(&in[0].type);
    for (int64_t at = 0; status == 0 && at < count; at++) {
        int64_t to = walk_offset(w, index) + at % row * w->step[w->rank - 1];
        for (int k = 0; k < n; k++) {
            acc[k] = tensor_element(&out[k], to);
            x[k] = element_as(&in[k], at, out[k].type.dtype, &room[k]);
        }
        status = fold_region(ev, op->region[0], n, acc, x, err);
        if (at % row == row - 1) dims_next(w->rank - 1, w->dim, index);
    }
    free(room);
    free(acc);
    return status;
}

static int eval_reduce(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    fold_walk_t w = walk_new(&in[0].type, &out[0].type, dims_mask(op, "dimensions"));
    fold_fn_t *fold = op->n_in == 2 ? fold_of_region(op->region[0], out->type.dtype) : NULL;
    if (!fold) return reduce_region(ev, op, &w, in, out, err);
    if (eval_reserve(ev, op, ir_type_count(&out->type), sizeof(fold_slot_t), err) < 0) return -1;
    reduce_plain(fold, &w, &in[0], &in[1], &out[0]);
    return 0;
}

/* --- Reverse rules --- */

/* What the rules of one reduce share. */
typedef struct {
    vjp_t *v;
    ir_type_t type;            /* of the operand, in the rules' compute type */
    int64_t kept[IR_MAX_RANK]; /* dimensions that stay, ascending */
    int n_kept;
    int64_t gone[IR_MAX_RANK]; /* reduced ones, ascending */
    int n_gone;
} reduce_t;

static ir_val_t spread(reduce_t *r, ir_val_t y)
{
    return ir_broadcast(r->v->fn, y, &r->type, r->kept);
}

/* y = init + sum x: every element gets ct, init their sum. */
static void vjp_sum(reduce_t *r, ir_val_t ct)
{
    if (r->v->need[0]) vjp_give(r->v, 0, spread(r, ct));
    if (r->v->need[1]) vjp_give(r->v, 1, ct);
}

/* ct where `equal`, shared among the equal ones of each group; init gets what found none. */
static void share(reduce_t *r, int k, ir_val_t equal, ir_val_t ct)
{
    vjp_t *v = r->v;
    ir_fn_t *fn = v->fn;
    dtype_t dtype = r->type.dtype;
    ir_val_t count = ir_reduce(fn, OP_add, ir_convert(fn, equal, dtype), r->gone, r->n_gone);
    /* At least one, so that the gradient of this gradient has no 0/0 where none won. */
    ir_val_t divisor = ir_op2(fn, OP_maximum, count, ir_scalar_like(fn, count, 1));
    ir_val_t part = spread(r, ir_op2(fn, OP_divide, ct, divisor));
    int init = v->op->n_in / 2 + k;
    if (v->need[k]) vjp_give(v, k, ir_select(fn, equal, part, ir_scalar_like(fn, part, 0)));
    if (v->need[init]) {
        ir_val_t zero = ir_scalar_like(fn, ct, 0);
        ir_val_t none = ir_compare(fn, "EQ", count, zero);
        vjp_give(v, init, ir_select(fn, none, ct, zero));
    }
}

/* y = max x: the winners share ct equally (JAX; torch.amax). */
static void vjp_extreme(reduce_t *r, ir_val_t ct)
{
    ir_fn_t *fn = r->v->fn;
    ir_val_t y = spread(r, vjp_wide(fn, r->v->op->out));
    share(r, 0, ir_compare(fn, "EQ", vjp_in(r->v, 0), y), ct);
}

/* Products of all elements before (or behind) each one along the last dimension, by doubling; the
 * first is 1. */
static ir_val_t products(ir_fn_t *fn, ir_val_t x, bool before)
{
    if (x == IR_NONE) return x;
    ir_type_t type = *ir_type_of(fn, x);
    int last = type.rank - 1;
    int64_t low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0};
    ir_val_t one = ir_scalar(fn, type.dtype, 1);
    low[last] = before ? 1 : -1, high[last] = -low[last];
    x = ir_pad(fn, x, one, low, high, NULL);
    for (int64_t s = 1; s < type.dim[last]; s *= 2) {
        low[last] = before ? s : -s, high[last] = -low[last];
        x = ir_op2(fn, OP_multiply, x, ir_pad(fn, x, one, low, high, NULL));
    }
    return x;
}

/* y = init * prod x: dx_i = ct * init * (product of the others), which is right at zeros too. */
static void vjp_product(reduce_t *r, ir_val_t ct)
{
    vjp_t *v = r->v;
    ir_fn_t *fn = v->fn;
    int64_t perm[IR_MAX_RANK], back[IR_MAX_RANK];
    ir_type_t moved = r->type, flat;
    memcpy(perm, r->kept, sizeof perm);
    for (int i = 0; i < r->n_gone; i++) perm[r->n_kept + i] = r->gone[i];
    for (int i = 0; i < r->type.rank; i++) {
        back[perm[i]] = i;
        moved.dim[i] = r->type.dim[perm[i]];
    }
    flat = moved;
    for (int i = r->n_kept; i < IR_MAX_RANK; i++) flat.dim[i] = 0;
    flat.rank = r->n_kept + 1;
    flat.dim[r->n_kept] = dims_count(r->n_gone, moved.dim + r->n_kept);

    ir_val_t init = vjp_in(v, 1);
    if (v->need[0]) {
        ir_val_t x = ir_reshape(fn, ir_transpose(fn, vjp_in(v, 0), perm), &flat);
        ir_val_t others = ir_op2(fn, OP_multiply, products(fn, x, true), products(fn, x, false));
        others = ir_transpose(fn, ir_reshape(fn, others, &moved), back);
        ir_type_t y = *ir_type_of(fn, ct);
        ir_val_t scaled = ir_op2(fn, OP_multiply, ct, ir_broadcast_scalar(fn, init, &y));
        vjp_give(v, 0, ir_op2(fn, OP_multiply, spread(r, scaled), others));
    }
    if (v->need[1]) {
        ir_val_t all = ir_reduce(fn, OP_multiply, vjp_in(v, 0), r->gone, r->n_gone);
        vjp_give(v, 1, ir_op2(fn, OP_multiply, ct, all));
    }
}

/* Result k of the region is a choice between its accumulator k and its element k. */
static bool region_chooses(const ir_fn_t *fn, const ir_region_t *region, int n, int k)
{
    const ir_op_t *op = ir_def(fn, region->result[k]);
    ir_val_t a = region->arg + (ir_val_t)k, b = a + (ir_val_t)n;
    if (!op || op->parent != region) return false;
    int first = op->code == OP_select;
    if (!first && op->code != OP_maximum && op->code != OP_minimum) return false;
    return (op->in[first] == a && op->in[first + 1] == b) ||
           (op->in[first] == b && op->in[first + 1] == a);
}

/* argmax and its kin: (value, index) pairs of which the region keeps one. Returns the value's place
 * among the two operands, or -1. */
static int arg_extreme(const reduce_t *r)
{
    const ir_op_t *op = r->v->op;
    const ir_fn_t *fn = r->v->fn;
    if (op->n_in != 4) return -1;
    bool is_float[2];
    for (int k = 0; k < 2; k++) is_float[k] = dtype_is_float(op_in_type(fn, op, k)->dtype);
    if (is_float[0] == is_float[1]) return -1;
    for (int k = 0; k < 2; k++)
        if (!region_chooses(fn, op->region[0], 2, k)) return -1;
    return is_float[0] ? 0 : 1;
}

/* The element whose index came out gets ct. */
static void vjp_arg_extreme(reduce_t *r, int value)
{
    vjp_t *v = r->v;
    ir_val_t index = v->op->in[1 - value], won = v->op->out + (ir_val_t)(1 - value);
    ir_type_t to = *ir_type_of(v->fn, index);
    ir_val_t equal = ir_compare(v->fn, "EQ", index, ir_broadcast(v->fn, won, &to, r->kept));
    if (v->ct[value] != IR_NONE) share(r, value, equal, vjp_ct(v, value));
}

/* Any other region: the dimensions to fold become a list of slices, which are folded one by one. */
static int vjp_any(reduce_t *r, err_t *err)
{
    vjp_t *v = r->v;
    int n = v->op->n_in / 2;
    int64_t dim[IR_MAX_RANK], index[IR_MAX_RANK] = {0};
    for (int i = 0; i < r->n_gone; i++) dim[i] = r->type.dim[r->gone[i]];
    int64_t n_piece = dims_count(r->n_gone, dim);
    if (n_piece > FOLD_VJP_MAX) n_piece = FOLD_VJP_MAX + 1; /* fold_vjp refuses by name */
    fold_piece_t *pieces = mem_calloc((size_t)n_piece + 1, sizeof *pieces);
    for (int64_t i = 0; i < n_piece; i++) {
        for (int d = 0; d < r->type.rank; d++)
            pieces[i].limit[d] = r->type.dim[d], pieces[i].stride[d] = 1;
        for (int d = 0; d < r->n_gone; d++) {
            pieces[i].start[r->gone[d]] = index[d];
            pieces[i].limit[r->gone[d]] = index[d] + 1;
        }
        dims_next(r->n_gone, dim, index);
    }
    ir_val_t *ct = mem_calloc(2 * (size_t)n, sizeof *ct);
    int status = fold_vjp(v, n, v->op->in, (int)n_piece, pieces, ct, ct + n, err);
    for (int k = 0; status == 0 && k < 2 * n; k++)
        if (v->need[k]) v->in_ct[k] = ct[k];
    free(ct);
    free(pieces);
    return status;
}

static int vjp_reduce(vjp_t *v, err_t *err)
{
    const ir_op_t *op = v->op;
    ir_type_t x = *op_in_type(v->fn, op, 0);
    reduce_t r = {.v = v, .type = x};
    uint32_t reduced = dims_mask(op, "dimensions");
    r.n_kept = dims_rest(reduced, x.rank, r.kept);
    r.n_gone = dims_rest(~reduced, x.rank, r.gone);
    int value = arg_extreme(&r);
    if (value >= 0) r.type.dtype = op_in_type(v->fn, op, value)->dtype;
    if (dtype_is_narrow(r.type.dtype)) r.type.dtype = DT_F32;
    switch (op->n_in == 2 ? ir_reducer_op(op->region[0]) : OP_invalid) {
    case OP_add: vjp_sum(&r, vjp_ct(v, 0)); break;
    case OP_maximum:
    case OP_minimum: vjp_extreme(&r, vjp_ct(v, 0)); break;
    case OP_multiply: vjp_product(&r, vjp_ct(v, 0)); break;
    default:
        if (value < 0) return vjp_any(&r, err);
        vjp_arg_extreme(&r, value);
        break;
    }
    return vjp_done(v, err);
}

const op_def_t op_reduce = {
    .name = "stablehlo.reduce",
    .kind = K_REDUCE,
    .n_in = -1,
    .n_out = -1,
    .n_region = 1,
    .form = FORM_REDUCE,
    .needs = {"dimensions"},
    .infer = infer_reduce,
    .eval = eval_reduce,
    .vjp = vjp_reduce,
};
