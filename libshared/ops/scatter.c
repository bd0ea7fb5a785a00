/* scatter: combines updates into the operands at positions that an index tensor gives, in row-major
 * order of the updates; elements that fall outside are dropped one by one. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/build_index.h"
#include "ops/common.h"
#include "ops/dims.h"
#include "ops/fold.h"
#include "ops/index.h"

/* Operands: n inputs, the indices, n updates. */
static int n_inputs(const ir_op_t *op)
{
    return (op->n_in - 1) / 2;
}

/* --- Type rule --- */

static int check_operands(const ir_fn_t *fn, const ir_op_t *op, err_t *err)
{
    int n = n_inputs(op);
    char x[IR_TYPE_TEXT], u[IR_TYPE_TEXT];
    if (op->n_in < 3 || op->n_in % 2 == 0 || op->n_out != n)
        return err_set(err, ERR_SHAPE,
                       "%s: %d operands and %d results; it takes n inputs, the "
                       "indices and n updates, and gives n tensors",
                       op_name(op), op->n_in, op->n_out);
    for (int i = 0; i < n; i++) {
        if (infer_same_shape(fn, op, 0, i, err) < 0 ||
            infer_same_shape(fn, op, n + 1, n + 1 + i, err) < 0)
            return -1;
        const ir_type_t *to = op_in_type(fn, op, i), *from = op_in_type(fn, op, n + 1 + i);
        if (to->dtype != from->dtype)
            return err_set(err, ERR_TYPE, "%s: updates %d are %s, input %d is %s", op_name(op), i,
                           ir_type_text(from, u), i, ir_type_text(to, x));
    }
    return 0;
}

static int check_update_shape(const ir_op_t *op, const ir_type_t *x, const ir_type_t *index,
                              const ir_type_t *updates, err_t *err)
{
    int64_t window[IR_MAX_RANK], place[IR_MAX_RANK];
    char text[IR_TYPE_TEXT];
    uint32_t is_window = dims_mask(op, "update_window_dims");
    index_window_dims(op, &index_names_scatter, x->rank, window);
    index_places(op, index, place);
    for (int d = 0, w = 0, p = 0; d < updates->rank; d++) {
        bool inside = dims_has(is_window, d);
        int64_t most = inside ? x->dim[window[w++]] : place[p++];
        if (inside ? updates->dim[d] > most : updates->dim[d] != most)
            return err_set(err, ERR_SHAPE, "%s: dimension %d of the updates %s must be %s%lld",
                           op_name(op), d, ir_type_text(updates, text), inside ? "at most " : "",
                           (long long)most);
    }
    return 0;
}

static int infer_scatter(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (check_operands(fn, op, err) < 0) return -1;
    int n = n_inputs(op), status;
    const ir_type_t *x = op_in_type(fn, op, 0), *index = op_in_type(fn, op, n);
    const ir_type_t *updates = op_in_type(fn, op, n + 1);
    if (index_infer(op, &index_names_scatter, x, index, updates->rank, err) < 0 ||
        check_update_shape(op, x, index, updates, err) < 0)
        return -1;
    ir_type_t *args = mem_calloc(2 * (size_t)n, sizeof *args);
    for (int i = 0; i < 2 * n; i++) args[i] = ir_type_scalar(op_in_type(fn, op, i % n)->dtype);
    status = infer_region(fn, op, 0, 2 * n, args, n, args, err);
    free(args);
    for (int i = 0; status == 0 && i < n; i++)
        status = infer_result(op, i, out, op_in_type(fn, op, i), err);
    return status;
}

/* --- Evaluation --- */

/* The region returns its updates: they replace what was there. */
static bool region_replaces(const ir_region_t *region)
{
    int n = region->n_result;
    for (int k = 0; k < n; k++)
        if (region->result[k] != region->arg + (ir_val_t)(n + k)) return false;
    return true;
}

typedef struct {
    eval_t *ev;
    const ir_region_t *region;
    int n;
    const tensor_t *updates;
    tensor_t *out;
    bool replaces;
    fold_fn_t *fold; /* of a plain region; NULL: run it */
    tensor_t *acc;   /* n views of out, then n views of updates */
} scatter_t;

static int combine(scatter_t *s, int64_t to, int64_t from, err_t *err)
{
    if (s->fold) {
        fold_slot_t slot = fold_load(&s->out[0], to);
        s->fold(&slot, fold_load(&s->updates[0], from));
        fold_store(&s->out[0], to, slot);
        return 0;
    }
    for (int k = 0; k < s->n; k++) {
        if (s->replaces) element_copy(&s->out[k], to, &s->updates[k], from);
        s->acc[k] = tensor_element(&s->out[k], to);
        s->acc[s->n + k] = tensor_element(&s->updates[k], from);
    }
    return s->replaces ? 0 : fold_region(s->ev, s->region, s->n, s->acc, s->acc + s->n, err);
}

/* One window: element by element, those outside are left out. */
static int scatter_window(scatter_t *s, const index_map_t *m, const int64_t *stride,
                          const int64_t *start, int64_t from, err_t *err)
{
    int64_t at[IR_MAX_RANK] = {0}, base = 0;
    for (int d = 0; d < m->rank; d++) {
        base += start[d] * stride[d];
        if (m->slice[d] == 1 && (start[d] < 0 || start[d] >= m->dim[d])) return 0;
    }
    do {
        int64_t to = base, src = from;
        bool inside = true;
        for (int w = 0; w < m->n_window; w++) {
            int64_t d = m->window_to[w], place = start[d] + at[w];
            inside &= place >= 0 && place < m->dim[d];
            to += at[w] * stride[d];
            src += at[w] * m->window_stride[w];
        }
        if (inside && combine(s, to, src, err) < 0) return -1;
    } while (dims_next(m->n_window, m->window_dim, at));
    return 0;
}

static int scatter_all(scatter_t *s, const index_map_t *m, const tensor_t *index, err_t *err)
{
    int64_t stride[IR_MAX_RANK], start[IR_MAX_RANK], place[IR_MAX_RANK] = {0};
    if (ir_type_count(&s->updates->type) == 0) return 0;
    ir_type_strides(&s->out->type, stride);
    do {
        int64_t from = 0;
        index_start(m, index, place, start);
        for (int d = 0; d < m->rank; d++) { /* far away is far away: keep the sums below in range */
            if (start[d] > m->dim[d]) start[d] = m->dim[d];
            if (start[d] < -m->slice[d]) start[d] = -m->slice[d];
        }
        for (int d = 0; d < m->n_place; d++) from += place[d] * m->place_stride[d];
        if (scatter_window(s, m, stride, start, from, err) < 0) return -1;
    } while (dims_next(m->n_place, m->place_dim, place));
    return 0;
}

static void window_slices(const ir_op_t *op, const ir_type_t *x, const ir_type_t *updates,
                          int64_t *slice)
{
    ir_gather_t dims;
    ir_scatter_dims(op, x, updates, &dims);
    memcpy(slice, dims.slice, sizeof dims.slice);
}

static int eval_scatter(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                        err_t *err)
{
    int n = n_inputs(op);
    int64_t slice[IR_MAX_RANK];
    window_slices(op, &in[0].type, &in[n + 1].type, slice);
    index_map_t m = index_map_new(op, &index_names_scatter, &in[0].type, &in[n].type,
                                  &in[n + 1].type, slice);
    scatter_t s = {.ev = ev,
                   .region = op->region[0],
                   .n = n,
                   .updates = in + n + 1,
                   .out = out,
                   .replaces = region_replaces(op->region[0])};
    if (n == 1 && !s.replaces) s.fold = fold_of_region(s.region, out->type.dtype);
    for (int k = 0; k < n; k++) {
        int64_t from[IR_MAX_RANK], to[IR_MAX_RANK];
        dims_strides_of(&in[k], from);
        ir_type_strides(&out[k].type, to);
        dims_copy(dtype_bytes(out[k].type.dtype), out[k].type.rank, out[k].type.dim, out[k].data,
                  to, in[k].data, from);
    }
    s.acc = mem_calloc(2 * (size_t)n, sizeof *s.acc);
    int status = scatter_all(&s, &m, &in[n], err);
    free(s.acc);
    return status;
}

/* --- Reverse rules --- */

typedef struct {
    vjp_t *v;
    ir_gather_t dims;
    ir_type_t x;      /* the operand's type */
    ir_val_t index;   /* as given; scatter drops what lies outside */
    ir_val_t shifted; /* i64, made on first use by `target` */
} rule_t;

/* Starts for gathering from an operand padded by one window on both ends: whatever is wholly
 * outside reads padding, and what is partly outside reads padding there. */
static ir_val_t shifted_index(rule_t *r)
{
    ir_fn_t *fn = r->v->fn;
    int64_t low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0}, shift[IR_MAX_RANK] = {0};
    if (r->shifted != IR_NONE) return r->shifted;
    for (int e = 0; e < r->dims.n_start; e++) {
        int64_t d = r->dims.start_map[e];
        low[e] = -r->dims.slice[d], high[e] = r->x.dim[d], shift[e] = r->dims.slice[d];
    }
    ir_val_t wide = ir_convert(fn, r->index, DT_I64);
    ir_val_t inside = ir_op3(fn, OP_clamp, ir_index_constant(fn, wide, &r->dims, low), wide,
                             ir_index_constant(fn, wide, &r->dims, high));
    r->shifted = ir_op2(fn, OP_add, inside, ir_index_constant(fn, wide, &r->dims, shift));
    return r->shifted;
}

/* x (of the operand's shape) at each update's target; `outside` for dropped updates. */
static ir_val_t target(rule_t *r, ir_val_t x, double outside)
{
    ir_fn_t *fn = r->v->fn;
    int64_t pad[IR_MAX_RANK] = {0};
    if (x == IR_NONE) return x;
    for (int e = 0; e < r->dims.n_start; e++)
        pad[r->dims.start_map[e]] = r->dims.slice[r->dims.start_map[e]];
    ir_val_t value = ir_scalar(fn, ir_type_of(fn, x)->dtype, outside);
    return ir_gather(fn, ir_pad(fn, x, value, pad, pad, NULL), shifted_index(r), &r->dims);
}

static ir_val_t zero_where(ir_fn_t *fn, ir_val_t mask, ir_val_t x)
{
    return ir_select(fn, mask, ir_scalar_like(fn, x, 0), x);
}

static ir_val_t keep_where(ir_fn_t *fn, ir_val_t mask, ir_val_t x)
{
    return ir_select(fn, mask, x, ir_scalar_like(fn, x, 0));
}

/* y = x with u added: both get ct. */
static void vjp_add(rule_t *r)
{
    vjp_t *v = r->v;
    if (v->need[0]) v->in_ct[0] = v->ct[0];
    if (v->need[2]) v->in_ct[2] = target(r, v->ct[0], 0);
}

/* y = x with u in place: ct goes to the update that came last, elsewhere to x. */
static void vjp_replace(rule_t *r)
{
    vjp_t *v = r->v;
    ir_fn_t *fn = v->fn;
    ir_type_t u = *op_in_type(fn, v->op, 2);
    if (v->need[0]) {
        ir_type_t x_mask = ir_type_with(r->x, DT_I1), u_mask = ir_type_with(u, DT_I1);
        ir_val_t written = ir_scatter(fn, OP_invalid, ir_splat(fn, &x_mask, 0), r->index,
                                      ir_splat(fn, &u_mask, 1), &r->dims);
        v->in_ct[0] = zero_where(fn, written, v->ct[0]);
    }
    if (!v->need[2]) return;
    v->in_ct[2] = target(r, v->ct[0], 0);
    if (r->dims.unique) return;
    ir_type_t ids = ir_type_with(u, DT_I64), flat = {.dtype = DT_I64, .rank = 1};
    ir_type_t owners = ir_type_with(r->x, DT_I64);
    flat.dim[0] = ir_type_count(&u);
    ir_val_t id = ir_reshape(fn, ir_iota(fn, &flat, 0), &ids);
    ir_val_t owner = ir_scatter(fn, OP_invalid, ir_splat(fn, &owners, -1), r->index, id, &r->dims);
    ir_val_t won = ir_compare(fn, "EQ", id, target(r, owner, -1));
    v->in_ct[2] = keep_where(fn, won, v->in_ct[2]);
}

/* y = x prod u, each target hit at most once: dx = ct prod u, du = ct x at the target. */
static void vjp_multiply_unique(rule_t *r)
{
    vjp_t *v = r->v;
    ir_fn_t *fn = v->fn;
    ir_val_t ct = vjp_ct(v, 0);
    if (v->need[0])
        vjp_give(v, 0, ir_scatter(fn, OP_multiply, ct, r->index, vjp_in(v, 2), &r->dims));
    if (v->need[2]) vjp_give(v, 2, target(r, ir_op2(fn, OP_multiply, ct, vjp_in(v, 0)), 0));
}

/* In general the factor f of y gets ct times the product of the others: with p the product of the
 * factors that are not zero and z the number of those that are, that is ct p / f when no other is
 * zero (f taken as 1 when it is zero itself), else 0. */
static void vjp_multiply(rule_t *r)
{
    vjp_t *v = r->v;
    ir_fn_t *fn = v->fn;
    ir_val_t factor[2] = {vjp_in(v, 0), vjp_in(v, 2)}, nonzero[2], zeros[2];
    for (int k = 0; k < 2; k++) {
        ir_val_t is_zero = ir_compare(fn, "EQ", factor[k], ir_scalar_like(fn, factor[k], 0));
        nonzero[k] = ir_select(fn, is_zero, ir_scalar_like(fn, factor[k], 1), factor[k]);
        zeros[k] = ir_convert(fn, is_zero, DT_I32);
    }
    ir_val_t p = ir_scatter(fn, OP_multiply, nonzero[0], r->index, nonzero[1], &r->dims);
    ir_val_t z = ir_scatter(fn, OP_add, zeros[0], r->index, zeros[1], &r->dims);
    ir_val_t g = ir_op2(fn, OP_multiply, vjp_ct(v, 0), p);
    for (int k = 0; k < 2; k++) {
        if (!v->need[2 * k]) continue;
        ir_val_t all = k == 0 ? z : target(r, z, 0), gk = k == 0 ? g : target(r, g, 0);
        ir_val_t alone = ir_compare(fn, "EQ", all, zeros[k]);
        vjp_give(v, 2 * k, keep_where(fn, alone, ir_op2(fn, OP_divide, gk, nonzero[k])));
    }
}

/* y = max(x, u..): the winners share ct equally. */
static void vjp_extreme(rule_t *r)
{
    vjp_t *v = r->v;
    ir_fn_t *fn = v->fn;
    ir_val_t y = vjp_wide(fn, v->op->out), ct = vjp_ct(v, 0);
    if (ct == IR_NONE) return;
    dtype_t dtype = ir_type_of(fn, ct)->dtype;
    ir_val_t x_won = ir_compare(fn, "EQ", vjp_in(v, 0), y);
    ir_val_t u_won = ir_compare(fn, "EQ", vjp_in(v, 2), target(r, y, 0));
    ir_val_t count = ir_scatter(fn, OP_add, ir_convert(fn, x_won, dtype), r->index,
                                ir_convert(fn, u_won, dtype), &r->dims);
    ir_val_t part = ir_op2(fn, OP_divide, ct, count);
    if (v->need[0]) vjp_give(v, 0, keep_where(fn, x_won, part));
    if (v->need[2]) vjp_give(v, 2, keep_where(fn, u_won, target(r, part, 0)));
}

static int vjp_scatter(vjp_t *v, err_t *err)
{
    const ir_op_t *op = v->op;
    if (n_inputs(op) != 1)
        return err_set(err, ERR_UNSUPPORTED, "%s: no gradient of a scatter of %d inputs at once",
                       op_name(op), n_inputs(op));
    rule_t r = {.v = v, .x = *op_in_type(v->fn, op, 0), .index = op->in[1], .shifted = IR_NONE};
    ir_scatter_dims(op, &r.x, op_in_type(v->fn, op, 2), &r.dims);
    op_code_t reducer = ir_reducer_op(op->region[0]);
    if (region_replaces(op->region[0]))
        vjp_replace(&r);
    else if (reducer == OP_add)
        vjp_add(&r);
    else if (reducer == OP_multiply)
        (r.dims.unique ? vjp_multiply_unique : vjp_multiply)(&r);
    else if (reducer == OP_maximum || reducer == OP_minimum)
        vjp_extreme(&r);
    else
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: no gradient of this region; it may add, multiply, replace, or take "
                       "the maximum or minimum",
                       op_name(op));
    return vjp_done(v, err);
}

const op_def_t op_scatter = {
    .name = "stablehlo.scatter",
    .kind = K_INDEX,
    .n_in = -1,
    .n_out = -1,
    .n_region = 1,
    .infer = infer_scatter,
    .eval = eval_scatter,
    .vjp = vjp_scatter,
};
