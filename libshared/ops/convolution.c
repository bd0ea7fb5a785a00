/* convolution: windows of the lhs against kernels, with strides, padding, dilation of both sides,
 * feature groups and batch groups. Plain loops over double (or 64-bit integer) copies of the
 * operands, summed in a fixed order, rounded once. */
#include "ops/convolution.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/common.h"
#include "ops/complex.h"
#include "ops/eval.h"

static const char *const layout_names[3][3] = {
    {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
    {"kernel_input_feature_dimension", "kernel_output_feature_dimension",
     "kernel_spatial_dimensions"},
    {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"},
};

/* --- Attributes and the type rule --- */

static int read_layout(const ir_op_t *op, int which, int rank, conv_layout_t *layout, err_t *err)
{
    const char *const *names = layout_names[which];
    layout->a = attr_int(&op->attrs, names[0], -1);
    layout->b = attr_int(&op->attrs, names[1], -1);
    if (dims_list(op, names[2], rank - 2, -1, layout->spatial, err) < 0) return -1;
    uint32_t seen = 0;
    for (int i = 0; i < rank; i++) {
        int64_t d = i == 0 ? layout->a : i == 1 ? layout->b : layout->spatial[i - 2];
        if (d < 0 || d >= rank || dims_has(seen, d))
            return err_set(err, ERR_SHAPE,
                           "%s: %s names dimension %lld, which is outside rank %d "
                           "or named before",
                           op_name(op), names[i < 2 ? i : 2], (long long)d, rank);
        seen |= 1u << d;
    }
    return 0;
}

static int read_window(const ir_op_t *op, const ir_type_t *lhs, const ir_type_t *rhs, conv_t *c,
                       err_t *err)
{
    int64_t stride[IR_MAX_RANK], base[IR_MAX_RANK], dilation[IR_MAX_RANK], reversed[IR_MAX_RANK];
    int64_t padding[2 * IR_MAX_RANK];
    int n = c->n_spatial;
    if (dims_list(op, "window_strides", n, 1, stride, err) < 0 ||
        dims_list(op, "lhs_dilation", n, 1, base, err) < 0 ||
        dims_list(op, "rhs_dilation", n, 1, dilation, err) < 0 ||
        dims_list(op, "window_reversal", n, 0, reversed, err) < 0 ||
        dims_list(op, "padding", 2 * n, 0, padding, err) < 0)
        return -1;
    for (int d = 0; d < n; d++) {
        c->reversed[d] = reversed[d] != 0;
        c->w[d] = (window_dim_t){.size = lhs->dim[c->lhs.spatial[d]],
                                 .window = rhs->dim[c->rhs.spatial[d]],
                                 .stride = stride[d],
                                 .base_dilation = base[d],
                                 .window_dilation = dilation[d],
                                 .low = padding[2 * d],
                                 .high = padding[2 * d + 1]};
        if (window_infer(op, d, &c->w[d], err) < 0) return -1;
    }
    return 0;
}

int conv_read(const ir_op_t *op, const ir_type_t *lhs, const ir_type_t *rhs, conv_t *c, err_t *err)
{
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    if (lhs->rank != rhs->rank || lhs->rank < 2)
        return err_set(err, ERR_SHAPE, "%s: operands %s and %s must have one rank, at least 2",
                       op_name(op), ir_type_text(lhs, a), ir_type_text(rhs, b));
    c->n_spatial = lhs->rank - 2;
    c->feature_groups = attr_int(&op->attrs, "feature_group_count", 1);
    c->batch_groups = attr_int(&op->attrs, "batch_group_count", 1);
    if (read_layout(op, 0, lhs->rank, &c->lhs, err) < 0 ||
        read_layout(op, 1, lhs->rank, &c->rhs, err) < 0 ||
        read_layout(op, 2, lhs->rank, &c->out, err) < 0)
        return -1;
    return read_window(op, lhs, rhs, c, err);
}

static int check_groups(const ir_op_t *op, const conv_t *c, const ir_type_t *lhs,
                        const ir_type_t *rhs, err_t *err)
{
    int64_t f = c->feature_groups, b = c->batch_groups;
    int64_t batch = lhs->dim[c->lhs.a], in = lhs->dim[c->lhs.b], out = rhs->dim[c->rhs.b];
    if (f < 1 || b < 1 || (f > 1 && b > 1))
        return err_set(err, ERR_SHAPE,
                       "%s: feature_group_count %lld and batch_group_count %lld: "
                       "both at least 1, one of them 1",
                       op_name(op), (long long)f, (long long)b);
    if (batch % b != 0 || in % f != 0 || out % f != 0 || out % b != 0)
        return err_set(err, ERR_SHAPE,
                       "%s: batch %lld, input features %lld and output features %lld do not "
                       "divide by feature_group_count %lld and batch_group_count %lld",
                       op_name(op), (long long)batch, (long long)in, (long long)out, (long long)f,
                       (long long)b);
    if (rhs->dim[c->rhs.a] != in / f)
        return err_set(err, ERR_SHAPE,
                       "%s: the kernel has %lld input features, the lhs %lld in %lld groups",
                       op_name(op), (long long)rhs->dim[c->rhs.a], (long long)in, (long long)f);
    return 0;
}

static int infer_convolution(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *lhs = op_in_type(fn, op, 0), *rhs = op_in_type(fn, op, 1);
    conv_t c = {0};
    if (infer_precision(op, err) < 0) return -1;
    if (conv_read(op, lhs, rhs, &c, err) < 0 || check_groups(op, &c, lhs, rhs, err) < 0) return -1;
    ir_type_t is = *lhs;
    if (out->dtype != DT_NONE) is.dtype = out->dtype;
    if (lhs->dtype != rhs->dtype || dtype_is_float(is.dtype) != dtype_is_float(lhs->dtype) ||
        dtype_is_complex(is.dtype) != dtype_is_complex(lhs->dtype))
        return err_set(err, ERR_TYPE, "%s: operands of %s and %s cannot give %s", op_name(op),
                       dtype_name(lhs->dtype), dtype_name(rhs->dtype), dtype_name(is.dtype));
    is.dim[c.out.a] = lhs->dim[c.lhs.a] / c.batch_groups;
    is.dim[c.out.b] = rhs->dim[c.rhs.b];
    for (int d = 0; d < c.n_spatial; d++) is.dim[c.out.spatial[d]] = c.w[d].out;
    if (ir_type_check(&is, err) < 0) return err_prefix(err, "%s: ", op_name(op));
    return infer_result(op, 0, out, &is, err);
}

/* --- Evaluation --- */

conv_layout_t conv_strides(const ir_type_t *type, const conv_layout_t *layout, int n_spatial)
{
    int64_t stride[IR_MAX_RANK];
    conv_layout_t s = {0};
    ir_type_strides(type, stride);
    s.a = stride[layout->a], s.b = stride[layout->b];
    for (int d = 0; d < n_spatial; d++) s.spatial[d] = stride[layout->spatial[d]];
    return s;
}

/* The pairs of spatial offsets that meet at one output position. */
typedef struct {
    int64_t lhs, rhs;
} tap_t;

static int64_t find_taps(const conv_t *c, const conv_layout_t *lhs, const conv_layout_t *rhs,
                         const int64_t *o, tap_t *taps)
{
    int64_t k[IR_MAX_RANK] = {0}, size[IR_MAX_RANK], n = 0;
    for (int d = 0; d < c->n_spatial; d++) size[d] = c->w[d].window;
    do {
        tap_t tap = {0};
        bool inside = true;
        for (int d = 0; d < c->n_spatial && inside; d++) {
            int64_t i = window_index(&c->w[d], o[d], k[d]);
            inside = i >= 0;
            tap.lhs += i * lhs->spatial[d];
            tap.rhs += (c->reversed[d] ? size[d] - 1 - k[d] : k[d]) * rhs->spatial[d];
        }
        if (inside) taps[n++] = tap;
    } while (dims_next(c->n_spatial, size, k));
    return n;
}

/* All outputs at one spatial position. Output feature f of group g reads the input features of
 * group g (feature groups) or the batch entries of group g (batch groups). */
typedef struct {
    const conv_t *c;
    conv_layout_t lhs, rhs, out;
    int64_t n_batch, n_in, n_out; /* of the output, of the kernel, of the output */
} conv_loop_t;

#define CONV_KERNEL(name, T, get, store)                                                          \
    static T *load_##name(const tensor_t *x)                                                      \
    {                                                                                             \
        int64_t n = ir_type_count(&x->type);                                                      \
        T *data = mem_calloc((size_t)n + 1, sizeof *data);                                        \
        for (int64_t i = 0; i < n; i++) data[i] = (T)get(x, i);                                   \
        return data;                                                                              \
    }                                                                                             \
    static void conv_##name(const conv_loop_t *l, const tap_t *taps, int64_t n_tap, const T *lhs, \
                            const T *rhs, int64_t at, tensor_t *y)                                \
    {                                                                                             \
        int64_t in_group = l->n_out / l->c->feature_groups;                                       \
        int64_t batch_group = l->n_out / l->c->batch_groups;                                      \
        for (int64_t b = 0; b < l->n_batch; b++) {                                                \
            for (int64_t f = 0; f < l->n_out; f++) {                                              \
                const T *x = lhs + f / in_group * l->n_in * l->lhs.b +                            \
                             (f / batch_group * l->n_batch + b) * l->lhs.a;                       \
                const T *w = rhs + f * l->rhs.b;                                                  \
                T sum = 0;                                                                        \
                for (int64_t t = 0; t < n_tap; t++)                                               \
                    for (int64_t i = 0; i < l->n_in; i++)                                         \
                        sum += x[taps[t].lhs + i * l->lhs.b] * w[taps[t].rhs + i * l->rhs.a];     \
                store(y, at + b * l->out.a + f * l->out.b, 1, &sum);                              \
            }                                                                                     \
        }                                                                                         \
    }

static void store_integer(tensor_t *y, int64_t at, int n, const uint64_t *sum)
{
    int64_t bits = y->type.dtype == DT_I1 ? *sum != 0 : (int64_t)*sum;
    block_store_i64(y, at, n, &bits);
}

CONV_KERNEL(float, double, tensor_get_f64, block_store_f64)
CONV_KERNEL(integer, uint64_t, tensor_get_i64, store_integer)

static int eval_convolution(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                            err_t *err)
{
    conv_t c = {0};
    if (ir_type_count(&out->type) == 0) return 0;
    if (dtype_is_complex(out->type.dtype))
        return eval_by_parts(eval_convolution, ev, op, in, out, err);
    if (conv_read(op, &in[0].type, &in[1].type, &c, err) < 0) return -1;
    conv_loop_t l = {.c = &c,
                     .lhs = conv_strides(&in[0].type, &c.lhs, c.n_spatial),
                     .rhs = conv_strides(&in[1].type, &c.rhs, c.n_spatial),
                     .out = conv_strides(&out->type, &c.out, c.n_spatial),
                     .n_batch = out->type.dim[c.out.a],
                     .n_in = in[1].type.dim[c.rhs.a],
                     .n_out = out->type.dim[c.out.b]};
    int64_t size[IR_MAX_RANK], n_out[IR_MAX_RANK], o[IR_MAX_RANK] = {0};
    for (int d = 0; d < c.n_spatial; d++) size[d] = c.w[d].window, n_out[d] = c.w[d].out;
    if (eval_reserve(ev, op, ir_type_count(&in[0].type), sizeof(double), err) < 0 ||
        eval_reserve(ev, op, ir_type_count(&in[1].type), sizeof(double), err) < 0 ||
        eval_reserve(ev, op, dims_count(c.n_spatial, size), sizeof(tap_t), err) < 0)
        return -1;
    tap_t *taps = mem_calloc((size_t)dims_count(c.n_spatial, size) + 1, sizeof *taps);
    bool is_float = dtype_is_float(out->type.dtype);
    double *lf = is_float ? load_float(&in[0]) : NULL, *rf = is_float ? load_float(&in[1]) : NULL;
    uint64_t *li = is_float ? NULL : load_integer(&in[0]);
    uint64_t *ri = is_float ? NULL : load_integer(&in[1]);
    do {
        int64_t at = 0, n_tap = find_taps(&c, &l.lhs, &l.rhs, o, taps);
        for (int d = 0; d < c.n_spatial; d++) at += o[d] * l.out.spatial[d];
        if (is_float)
            conv_float(&l, taps, n_tap, lf, rf, at, out);
        else
            conv_integer(&l, taps, n_tap, li, ri, at, out);
    } while (dims_next(c.n_spatial, n_out, o));
    free(lf), free(rf), free(li), free(ri), free(taps);
    return 0;
}

/* --- Reverse rule: two convolutions. D(n, k) = (n - 1) k + 1; n, k, m: sizes of operand, kernel
 * and result; s stride, a lhs dilation, r rhs dilation. --- */

static ir_val_t emit(ir_fn_t *fn, const ir_val_t *in, const conv_t *c)
{
    arena_t *arena = fn->module->arena;
    const conv_layout_t *layouts[3] = {&c->lhs, &c->rhs, &c->out};
    int64_t stride[IR_MAX_RANK], base[IR_MAX_RANK], dilation[IR_MAX_RANK], padding[2 * IR_MAX_RANK];
    ir_attrs_t attrs = {0};
    for (int i = 0; i < 3; i++) {
        attr_set_int(arena, &attrs, layout_names[i][0], layouts[i]->a);
        attr_set_int(arena, &attrs, layout_names[i][1], layouts[i]->b);
        attr_set_ints(arena, &attrs, layout_names[i][2], layouts[i]->spatial, c->n_spatial);
    }
    for (int d = 0; d < c->n_spatial; d++) {
        stride[d] = c->w[d].stride, base[d] = c->w[d].base_dilation;
        dilation[d] = c->w[d].window_dilation;
        padding[2 * d] = c->w[d].low, padding[2 * d + 1] = c->w[d].high;
    }
    attr_set_ints(arena, &attrs, "window_strides", stride, c->n_spatial);
    attr_set_ints(arena, &attrs, "padding", padding, 2 * c->n_spatial);
    attr_set_ints(arena, &attrs, "lhs_dilation", base, c->n_spatial);
    attr_set_ints(arena, &attrs, "rhs_dilation", dilation, c->n_spatial);
    attr_set_int(arena, &attrs, "feature_group_count", c->feature_groups);
    attr_set_int(arena, &attrs, "batch_group_count", c->batch_groups);
    ir_op_t *op = ir_emit(fn, OP_convolution, 2, in, &attrs, 1, NULL, 0, NULL);
    return op ? op->out : IR_NONE;
}

static ir_val_t reverse_where(ir_fn_t *fn, ir_val_t x, const conv_t *c, bool all)
{
    int64_t dims[IR_MAX_RANK];
    int n = 0;
    for (int d = 0; d < c->n_spatial; d++)
        if (c->reversed[d] != all) dims[n++] = c->rhs.spatial[d];
    return n ? ir_reverse(fn, x, dims, n) : x;
}

/* Dimension `from` of x splits into (groups, rest), and `groups` becomes the slower part of `to`.
 */
static ir_val_t move_groups(ir_fn_t *fn, ir_val_t x, int64_t groups, int64_t from, int64_t to)
{
    if (x == IR_NONE || groups == 1) return x;
    ir_type_t old = *ir_type_of(fn, x), split = old, merged = old;
    int64_t perm[IR_MAX_RANK];
    int at = 0;
    split.rank++;
    for (int d = old.rank; d > from; d--) split.dim[d] = old.dim[d - 1];
    split.dim[from] = groups, split.dim[from + 1] = old.dim[from] / groups;
    merged.dim[from] /= groups, merged.dim[to] *= groups;
    for (int d = 0; d < old.rank; d++) { /* old dimension d is split dimension d or d + 1 */
        if (d == to) perm[at++] = from;
        perm[at++] = d < from ? d : d + 1;
    }
    return ir_reshape(fn, ir_transpose(fn, ir_reshape(fn, x, &split), perm), &merged);
}

/* d lhs: ct, dilated by s, against the kernel turned around with its features swapped. */
static ir_val_t ct_lhs(vjp_t *v, const conv_t *c, ir_val_t ct, ir_val_t kernel)
{
    conv_t back = *c;
    int64_t groups = c->feature_groups * c->batch_groups;
    kernel = reverse_where(v->fn, kernel, c, true);
    kernel = move_groups(v->fn, kernel, groups, c->rhs.b, c->rhs.a);
    back.lhs = c->out, back.out = c->lhs;
    back.rhs.a = c->rhs.b, back.rhs.b = c->rhs.a;
    back.feature_groups = groups, back.batch_groups = 1;
    for (int d = 0; d < c->n_spatial; d++) {
        const window_dim_t *w = &c->w[d];
        int64_t extent = window_extent(w->window, w->window_dilation);
        back.w[d].stride = w->base_dilation;
        back.w[d].base_dilation = w->stride;
        back.w[d].low = extent - 1 - w->low;
        back.w[d].high = window_extent(w->size, w->base_dilation) + extent -
                         window_extent(w->out, w->stride) - back.w[d].low - 1;
    }
    ir_val_t x = emit(v->fn, (ir_val_t[]){ct, kernel}, &back);
    return move_groups(v->fn, x, c->batch_groups, c->lhs.b, c->lhs.a);
}

/* d kernel: the lhs against ct, dilated by s; batch and features trade places. */
static ir_val_t ct_rhs(vjp_t *v, const conv_t *c, ir_val_t ct, ir_val_t lhs)
{
    conv_t back = *c;
    back.lhs.a = c->lhs.b, back.lhs.b = c->lhs.a;
    back.rhs = c->out;
    back.out = c->rhs;
    back.feature_groups = c->batch_groups, back.batch_groups = c->feature_groups;
    for (int d = 0; d < c->n_spatial; d++) {
        const window_dim_t *w = &c->w[d];
        back.w[d].stride = w->window_dilation;
        back.w[d].window_dilation = w->stride;
        back.w[d].high = window_extent(w->out, w->stride) -
                         window_extent(w->size, w->base_dilation) +
                         window_extent(w->window, w->window_dilation) - 1 - w->low;
    }
    ir_val_t kernel = emit(v->fn, (ir_val_t[]){lhs, ct}, &back);
    return reverse_where(v->fn, kernel, c, false);
}

static int vjp_convolution(vjp_t *v, err_t *err)
{
    ir_type_t lhs = *op_in_type(v->fn, v->op, 0), rhs = *op_in_type(v->fn, v->op, 1);
    conv_t c = {0};
    if (conv_read(v->op, &lhs, &rhs, &c, err) < 0) return -1;
    if (ir_type_count(ir_type_of(v->fn, v->op->out)) == 0) return vjp_done(v, err);
    ir_val_t ct = ir_convert(v->fn, v->ct[0], lhs.dtype);
    if (v->need[0]) v->in_ct[0] = ct_lhs(v, &c, ct, v->op->in[1]);
    if (v->need[1]) v->in_ct[1] = ct_rhs(v, &c, ct, v->op->in[0]);
    return vjp_done(v, err);
}

const op_def_t op_convolution = {
    .name = "stablehlo.convolution",
    .kind = K_CONTRACT,
    .n_in = 2,
    .n_out = 1,
    .form = FORM_CONVOLUTION,
    .needs = {"input_batch_dimension"},
    .infer = infer_convolution,
    .eval = eval_convolution,
    .vjp = vjp_convolution,
};
