/* dot_general: products summed over paired dimensions, with batch dimensions. Operands are packed
 * into row-major double (or 64-bit integer) panels, summed wide in a fixed order, rounded once. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/common.h"
#include "ops/complex.h"
#include "ops/dims.h"
#include "ops/eval.h"

static const char *const batch_names[2] = {"lhs_batching_dimensions", "rhs_batching_dimensions"};
static const char *const contract_names[2] = {"lhs_contracting_dimensions",
                                              "rhs_contracting_dimensions"};

/* The dimension lists of both operands. */
typedef struct {
    int n_batch, n_contract, n_free[2];
    const int64_t *batch[2], *contract[2];
    int64_t free[2][IR_MAX_RANK]; /* neither batch nor contracting, ascending */
} dot_t;

static void dot_read(const ir_op_t *op, const ir_type_t *lhs, const ir_type_t *rhs, dot_t *dot)
{
    const ir_type_t *type[2] = {lhs, rhs};
    for (int side = 0; side < 2; side++) {
        dot->batch[side] = attr_ints(&op->attrs, batch_names[side], &dot->n_batch);
        dot->contract[side] = attr_ints(&op->attrs, contract_names[side], &dot->n_contract);
        uint32_t used = dims_mask(op, batch_names[side]) | dims_mask(op, contract_names[side]);
        dot->n_free[side] = dims_rest(used, type[side]->rank, dot->free[side]);
    }
}

static int check_lists(const ir_fn_t *fn, const ir_op_t *op, err_t *err)
{
    int n_batch[2], n_contract[2];
    for (int side = 0; side < 2; side++) {
        int rank = op_in_type(fn, op, side)->rank;
        const int64_t *batch, *contract;
        if (infer_dims(op, batch_names[side], rank, &batch, &n_batch[side], err) < 0 ||
            infer_dims(op, contract_names[side], rank, &contract, &n_contract[side], err) < 0)
            return -1;
        uint32_t both = dims_mask(op, batch_names[side]) & dims_mask(op, contract_names[side]);
        if (both)
            return err_set(err, ERR_SHAPE, "%s: dimension %d is in %s and in %s", op_name(op),
                           __builtin_ctz(both), batch_names[side], contract_names[side]);
    }
    if (n_batch[0] != n_batch[1] || n_contract[0] != n_contract[1])
        return err_set(err, ERR_SHAPE,
                       "%s: the lhs has %d batching and %d contracting dimensions, the rhs %d and "
                       "%d",
                       op_name(op), n_batch[0], n_contract[0], n_batch[1], n_contract[1]);
    return 0;
}

static int check_pairs(const ir_op_t *op, const ir_type_t *lhs, const ir_type_t *rhs,
                       const char *what, int n, const int64_t *l, const int64_t *r, err_t *err)
{
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    for (int i = 0; i < n; i++)
        if (lhs->dim[l[i]] != rhs->dim[r[i]])
            return err_set(err, ERR_SHAPE,
                           "%s: %s dimension %lld of the lhs %s is %lld, %lld of the rhs %s is "
                           "%lld",
                           op_name(op), what, (long long)l[i], ir_type_text(lhs, a),
                           (long long)lhs->dim[l[i]], (long long)r[i], ir_type_text(rhs, b),
                           (long long)rhs->dim[r[i]]);
    return 0;
}

static int check_dtypes(const ir_op_t *op, dtype_t lhs, dtype_t rhs, dtype_t out, err_t *err)
{
    if (lhs == rhs && dtype_is_float(lhs) == dtype_is_float(out) &&
        dtype_is_complex(lhs) == dtype_is_complex(out))
        return 0;
    return err_set(err, ERR_TYPE, "%s: operands of %s and %s cannot give %s", op_name(op),
                   dtype_name(lhs), dtype_name(rhs), dtype_name(out));
}

static int infer_dot(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *lhs = op_in_type(fn, op, 0), *rhs = op_in_type(fn, op, 1);
    dot_t dot;
    if (check_lists(fn, op, err) < 0 || infer_precision(op, err) < 0) return -1;
    dot_read(op, lhs, rhs, &dot);
    if (check_pairs(op, lhs, rhs, "batching", dot.n_batch, dot.batch[0], dot.batch[1], err) < 0 ||
        check_pairs(op, lhs, rhs, "contracting", dot.n_contract, dot.contract[0], dot.contract[1],
                    err) < 0)
        return -1;
    ir_type_t is = {.dtype = out->dtype == DT_NONE ? lhs->dtype : out->dtype};
    if (check_dtypes(op, lhs->dtype, rhs->dtype, is.dtype, err) < 0) return -1;
    if (dot.n_batch + dot.n_free[0] + dot.n_free[1] > IR_MAX_RANK)
        return err_set(err, ERR_SHAPE, "%s: the result has rank %d, at most %d is supported",
                       op_name(op), dot.n_batch + dot.n_free[0] + dot.n_free[1], IR_MAX_RANK);
    for (int i = 0; i < dot.n_batch; i++) is.dim[is.rank++] = lhs->dim[dot.batch[0][i]];
    for (int i = 0; i < dot.n_free[0]; i++) is.dim[is.rank++] = lhs->dim[dot.free[0][i]];
    for (int i = 0; i < dot.n_free[1]; i++) is.dim[is.rank++] = rhs->dim[dot.free[1][i]];
    if (ir_type_check(&is, err) < 0) return err_prefix(err, "%s: ", op_name(op));
    return infer_result(op, 0, out, &is, err);
}

/* --- Evaluation. Element (batch, row, k) of operand `side` lies at the sum of three offsets. */

typedef struct {
    const tensor_t *x;
    int64_t n_batch, n_row, n_k;
    int64_t *batch, *row, *k; /* heap: offsets of each batch, free and contracting index */
} side_t;

static int64_t *offsets_of(const tensor_t *x, int n, const int64_t *dims, int64_t *count)
{
    int64_t all[IR_MAX_RANK], dim[IR_MAX_RANK], stride[IR_MAX_RANK];
    dims_strides_of(x, all);
    for (int i = 0; i < n; i++) dim[i] = x->type.dim[dims[i]], stride[i] = all[dims[i]];
    *count = dims_count(n, dim);
    return dims_offsets(n, dim, stride);
}

static side_t side_new(const tensor_t *x, const dot_t *dot, int side)
{
    side_t s = {.x = x};
    s.batch = offsets_of(x, dot->n_batch, dot->batch[side], &s.n_batch);
    s.row = offsets_of(x, dot->n_free[side], dot->free[side], &s.n_row);
    s.k = offsets_of(x, dot->n_contract, dot->contract[side], &s.n_k);
    return s;
}

static void side_fini(side_t *self)
{
    free(self->batch);
    free(self->row);
    free(self->k);
}

/* One panel: PANEL rows of the rhs interleaved, panel[k * PANEL + j] = rhs(row + j, k), and all
 * rows of the lhs, lhs[row * n_k + k]. The sums run over k in order. */
enum { PANEL = 8 };

#define DOT_KERNEL(name, type, get, store)                                                    \
    static void pack_##name(const side_t *s, int64_t batch, int64_t row, int64_t n_row,       \
                            int64_t k_step, int64_t row_step, type *to)                       \
    {                                                                                         \
        for (int64_t r = 0; r < n_row; r++) {                                                 \
            int64_t base = s->batch[batch] + s->row[row + r];                                 \
            for (int64_t k = 0; k < s->n_k; k++)                                              \
                to[r * row_step + k * k_step] = (type)get(s->x, base + s->k[k]);              \
        }                                                                                     \
    }                                                                                         \
    static void row_##name(int64_t n_k, const type *a, const type *panel, type *restrict sum) \
    {                                                                                         \
        type s[PANEL] = {0};                                                                  \
        for (int64_t k = 0; k < n_k; k++)                                                     \
            for (int j = 0; j < PANEL; j++) s[j] += a[k] * panel[k * PANEL + j];              \
        memcpy(sum, s, sizeof s);                                                             \
    }                                                                                         \
    static void dot_##name(const side_t *a, const side_t *b, tensor_t *y)                     \
    {                                                                                         \
        type *lhs = mem_calloc((size_t)(a->n_row * a->n_k) + 1, sizeof *lhs);                 \
        type *panel = mem_calloc((size_t)(PANEL * a->n_k) + 1, sizeof *panel), sum[PANEL];    \
        for (int64_t batch = 0; batch < a->n_batch; batch++) {                                \
            pack_##name(a, batch, 0, a->n_row, 1, a->n_k, lhs);                               \
            for (int64_t col = 0; col < b->n_row; col += PANEL) {                             \
                int n = (int)(b->n_row - col < PANEL ? b->n_row - col : PANEL);               \
                pack_##name(b, batch, col, n, PANEL, 1, panel);                               \
                for (int64_t row = 0; row < a->n_row; row++) {                                \
                    row_##name(a->n_k, lhs + row * a->n_k, panel, sum);                       \
                    store(y, (batch * a->n_row + row) * b->n_row + col, n, sum);              \
                }                                                                             \
            }                                                                                 \
        }                                                                                     \
        free(lhs);                                                                            \
        free(panel);                                                                          \
    }

static void store_integers(tensor_t *y, int64_t at, int n, const uint64_t *sum)
{
    int64_t bits[PANEL];
    for (int j = 0; j < n; j++)
        bits[j] = y->type.dtype == DT_I1 ? sum[j] != 0 : (int64_t)sum[j]; /* i1: or of ands */
    block_store_i64(y, at, n, bits);
}

DOT_KERNEL(float, double, tensor_get_f64, block_store_f64)
DOT_KERNEL(integer, uint64_t, tensor_get_i64, store_integers)

/* The rows of a batch of the lhs, a panel of the rhs; the offsets of both. */
static int reserve(eval_t *ev, const ir_op_t *op, const dot_t *dot, const tensor_t *in, err_t *err)
{
    int64_t n_k = PANEL;
    for (int i = 0; i < dot->n_contract; i++) n_k *= in[0].type.dim[dot->contract[0][i]];
    if (eval_reserve(ev, op, n_k, sizeof(double), err) < 0) return -1;
    for (int side = 0; side < 2; side++) {
        int64_t n = ir_type_count(&in[side].type);
        int64_t n_bytes = sizeof(int64_t) + (side ? 0 : sizeof(double));
        if (eval_reserve(ev, op, n, (size_t)n_bytes, err) < 0) return -1;
    }
    return 0;
}

static int eval_dot(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    if (dtype_is_complex(out->type.dtype)) return eval_by_parts(eval_dot, ev, op, in, out, err);
    dot_t dot;
    dot_read(op, &in[0].type, &in[1].type, &dot);
    if (reserve(ev, op, &dot, in, err) < 0) return -1;
    side_t a = side_new(&in[0], &dot, 0), b = side_new(&in[1], &dot, 1);
    (dtype_is_float(out->type.dtype) ? dot_float : dot_integer)(&a, &b, out);
    side_fini(&a);
    side_fini(&b);
    return 0;
}

/* --- Reverse rule. ct has axes (batch, lhs free, rhs free).
 *   d lhs = dot(ct, rhs) over the rhs's free axes: axes (batch, lhs free, rhs contracting ascending)
 *   d rhs = dot(lhs, ct) over the lhs's free axes: axes (batch, lhs contracting ascending, rhs free)
 * Then each axis moves to where the operand has it. --- */

/* x's axis r becomes axis place[r]. */
static ir_val_t move_axes(ir_fn_t *fn, ir_val_t x, int rank, const int64_t *place)
{
    int64_t perm[IR_MAX_RANK];
    bool moved = false;
    for (int r = 0; r < rank; r++) {
        perm[place[r]] = r;
        moved |= place[r] != r;
    }
    return moved ? ir_transpose(fn, x, perm) : x;
}

/* The contracting dimensions of `side`, in the order of the other side's ascending ones. */
static int place_contracted(const dot_t *dot, int side, int64_t *place)
{
    int n = 0;
    for (int d = 0; d < IR_MAX_RANK; d++)
        for (int i = 0; i < dot->n_contract; i++)
            if (dot->contract[1 - side][i] == d) place[n++] = dot->contract[side][i];
    return n;
}

static int place_list(int n, const int64_t *dims, int64_t *place)
{
    for (int i = 0; i < n; i++) place[i] = dims[i];
    return n;
}

static void ct_axes(const dot_t *dot, int side, ir_dot_t *dims, int64_t *ct_batch, int64_t *ct_free)
{
    int first = dot->n_batch + (side == 0 ? 0 : dot->n_free[0]);
    dims->n_batch = dot->n_batch;
    dims->n_contract = dot->n_free[side];
    for (int i = 0; i < dot->n_batch; i++) ct_batch[i] = i;
    for (int i = 0; i < dot->n_free[side]; i++) ct_free[i] = first + i;
}

static ir_val_t dot_ct_lhs(vjp_t *v, const dot_t *dot, ir_val_t ct, dtype_t dtype)
{
    int64_t place[IR_MAX_RANK];
    ir_dot_t dims = {0};
    ct_axes(dot, 1, &dims, dims.lhs_batch, dims.lhs_contract);
    place_list(dot->n_batch, dot->batch[1], dims.rhs_batch);
    place_list(dot->n_free[1], dot->free[1], dims.rhs_contract);
    ir_val_t x = ir_dot(v->fn, ct, v->op->in[1], &dims, dtype);
    int n = place_list(dot->n_batch, dot->batch[0], place);
    n += place_list(dot->n_free[0], dot->free[0], place + n);
    n += place_contracted(dot, 0, place + n);
    return move_axes(v->fn, x, n, place);
}

static ir_val_t dot_ct_rhs(vjp_t *v, const dot_t *dot, ir_val_t ct, dtype_t dtype)
{
    int64_t place[IR_MAX_RANK];
    ir_dot_t dims = {0};
    ct_axes(dot, 0, &dims, dims.rhs_batch, dims.rhs_contract);
    place_list(dot->n_batch, dot->batch[0], dims.lhs_batch);
    place_list(dot->n_free[0], dot->free[0], dims.lhs_contract);
    ir_val_t x = ir_dot(v->fn, v->op->in[0], ct, &dims, dtype);
    int n = place_list(dot->n_batch, dot->batch[1], place);
    n += place_contracted(dot, 1, place + n);
    n += place_list(dot->n_free[1], dot->free[1], place + n);
    return move_axes(v->fn, x, n, place);
}

static int vjp_dot(vjp_t *v, err_t *err)
{
    dot_t dot;
    ir_type_t lhs = *op_in_type(v->fn, v->op, 0), rhs = *op_in_type(v->fn, v->op, 1);
    dot_read(v->op, &lhs, &rhs, &dot);
    ir_val_t ct = ir_convert(v->fn, v->ct[0], lhs.dtype);
    if (v->need[0]) v->in_ct[0] = dot_ct_lhs(v, &dot, ct, lhs.dtype);
    if (v->need[1]) v->in_ct[1] = dot_ct_rhs(v, &dot, ct, rhs.dtype);
    return vjp_done(v, err);
}

const op_def_t op_dot_general = {
    .name = "stablehlo.dot_general",
    .kind = K_CONTRACT,
    .n_in = 2,
    .n_out = 1,
    .form = FORM_DOT,
    .needs = {"lhs_contracting_dimensions", "rhs_contracting_dimensions"},
    .infer = infer_dot,
    .eval = eval_dot,
    .vjp = vjp_dot,
};
