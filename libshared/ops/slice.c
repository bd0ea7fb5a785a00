/* Ops that cut and join: concatenate, slice, pad. All evaluate as strided copies of boxes. */
#include <string.h>

#include "base/mem.h"
#include "ops/common.h"
#include "ops/dims.h"

/* --- concatenate: operands one behind the other along `dimension` --- */
static int infer_concatenate(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    char first[IR_TYPE_TEXT], other[IR_TYPE_TEXT];
    if (op->n_in < 1) return err_set(err, ERR_SHAPE, "%s: needs an operand", op_name(op));
    ir_type_t is = *op_in_type(fn, op, 0);
    int64_t dim = attr_int(&op->attrs, "dimension", -1);
    if (dim < 0 || dim >= is.rank)
        return err_set(err, ERR_SHAPE, "%s: dimension %lld is outside %s", op_name(op),
                       (long long)dim, ir_type_text(&is, first));
    for (int i = 1; i < op->n_in; i++) {
        ir_type_t x = *op_in_type(fn, op, i), same = x;
        if (x.rank == is.rank) same.dim[dim] = is.dim[dim];
        if (!ir_type_equal(&same, &is))
            return err_set(err, ERR_SHAPE,
                           "%s: operand %d is %s; it may differ from %s only in "
                           "dimension %lld",
                           op_name(op), i, ir_type_text(&x, other), ir_type_text(&is, first),
                           (long long)dim);
    }
    for (int i = 1; i < op->n_in; i++) is.dim[dim] += op_in_type(fn, op, i)->dim[dim];
    if (ir_type_check(&is, err) < 0) return err_prefix(err, "%s: ", op_name(op));
    return infer_result(op, 0, out, &is, err);
}

static int eval_concatenate(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                            err_t *err)
{
    (void)ev, (void)err;
    int64_t from[IR_MAX_RANK], to[IR_MAX_RANK], at = 0;
    int64_t dim = attr_int(&op->attrs, "dimension", 0);
    size_t bytes = dtype_bytes(out->type.dtype);
    ir_type_strides(&out->type, to);
    for (int i = 0; i < op->n_in; i++) {
        dims_strides_of(&in[i], from);
        dims_copy(bytes, in[i].type.rank, in[i].type.dim, dims_at(out->data, bytes, at * to[dim]),
                  to, in[i].data, from);
        at += in[i].type.dim[dim];
    }
    return 0;
}

static int vjp_concatenate(vjp_t *v, err_t *err)
{
    int64_t dim = attr_int(&v->op->attrs, "dimension", 0), at = 0;
    for (int i = 0; i < v->op->n_in; i++) {
        ir_type_t x = *op_in_type(v->fn, v->op, i);
        int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK];
        memcpy(limit, x.dim, sizeof limit);
        start[dim] = at, limit[dim] = at + x.dim[dim];
        if (v->need[i]) v->in_ct[i] = ir_slice(v->fn, v->ct[0], start, limit, NULL);
        at += x.dim[dim];
    }
    return vjp_done(v, err);
}

const op_def_t op_concatenate = {
    .name = "stablehlo.concatenate",
    .kind = K_VIEW,
    .n_in = -1,
    .n_out = 1,
    .form = FORM_DIM,
    .dims_attr = "dimension",
    .infer = infer_concatenate,
    .eval = eval_concatenate,
    .vjp = vjp_concatenate,
};

/* --- slice: elements start, start + stride, .. below limit of every dimension --- */
static int infer_slice(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    int64_t start[IR_MAX_RANK], limit[IR_MAX_RANK], stride[IR_MAX_RANK];
    char text[IR_TYPE_TEXT];
    ir_type_t is = *x;
    if (dims_list(op, "start_indices", x->rank, 0, start, err) < 0 ||
        dims_list(op, "limit_indices", x->rank, -1, limit, err) < 0 ||
        dims_list(op, "strides", x->rank, 1, stride, err) < 0)
        return -1;
    for (int d = 0; d < x->rank; d++) {
        if (start[d] < 0 || start[d] > limit[d] || limit[d] > x->dim[d])
            return err_set(err, ERR_SHAPE, "%s: dimension %d: [%lld, %lld) is outside %s",
                           op_name(op), d, (long long)start[d], (long long)limit[d],
                           ir_type_text(x, text));
        if (stride[d] < 1)
            return err_set(err, ERR_SHAPE, "%s: strides[%d] is %lld, it must be at least 1",
                           op_name(op), d, (long long)stride[d]);
        is.dim[d] = limit[d] == start[d] ? 0 : (limit[d] - start[d] - 1) / stride[d] + 1;
    }
    return infer_result(op, 0, out, &is, err);
}

static int eval_slice(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    (void)ev, (void)err;
    int64_t start[IR_MAX_RANK], stride[IR_MAX_RANK], from[IR_MAX_RANK], to[IR_MAX_RANK], at = 0;
    int rank = out->type.rank;
    size_t bytes = dtype_bytes(out->type.dtype);
    if (ir_type_count(&out->type) == 0) return 0;
    dims_read(op, "start_indices", rank, 0, start);
    dims_read(op, "strides", rank, 1, stride);
    dims_strides_of(in, from);
    ir_type_strides(&out->type, to);
    for (int d = 0; d < rank; d++) {
        at += start[d] * from[d];
        from[d] = out->type.dim[d] > 1 ? from[d] * stride[d] : 0;
    }
    dims_copy(bytes, rank, out->type.dim, out->data, to, dims_at(in->data, bytes, at), from);
    return 0;
}

/* The cotangent goes back to its places, zeros between and around. */
static int vjp_slice(vjp_t *v, err_t *err)
{
    ir_type_t x = *op_in_type(v->fn, v->op, 0), y = *ir_type_of(v->fn, v->op->out);
    int64_t start[IR_MAX_RANK], stride[IR_MAX_RANK], high[IR_MAX_RANK], interior[IR_MAX_RANK];
    dims_read(v->op, "start_indices", x.rank, 0, start);
    dims_read(v->op, "strides", x.rank, 1, stride);
    if (!v->need[0] || ir_type_count(&y) == 0) return vjp_done(v, err);
    for (int d = 0; d < x.rank; d++) {
        if (y.dim[d] == 1) stride[d] = 1; /* nothing between: keep the formula small */
        interior[d] = stride[d] - 1;
        high[d] = x.dim[d] - start[d] - window_extent(y.dim[d], stride[d]);
    }
    ir_val_t zero = ir_scalar(v->fn, x.dtype, 0);
    v->in_ct[0] = ir_pad(v->fn, v->ct[0], zero, start, high, interior);
    return vjp_done(v, err);
}

const op_def_t op_slice = {
    .name = "stablehlo.slice",
    .kind = K_VIEW,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_SLICE,
    .needs = {"start_indices", "limit_indices", "strides"},
    .infer = infer_slice,
    .eval = eval_slice,
    .vjp = vjp_slice,
};

/* --- pad: `interior` copies of the value between elements, then low and high at the ends;
 * negative ends cut off --- */
static int infer_pad(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0), *value = op_in_type(fn, op, 1);
    int64_t low[IR_MAX_RANK], high[IR_MAX_RANK], interior[IR_MAX_RANK];
    const int64_t limit = 1ll << 40;
    char text[IR_TYPE_TEXT];
    ir_type_t is = *x;
    if (value->rank != 0 || value->dtype != x->dtype)
        return err_set(err, ERR_TYPE, "%s: the padding value must be tensor<%s>, not %s",
                       op_name(op), dtype_name(x->dtype), ir_type_text(value, text));
    if (dims_list(op, "edge_padding_low", x->rank, 0, low, err) < 0 ||
        dims_list(op, "edge_padding_high", x->rank, 0, high, err) < 0 ||
        dims_list(op, "interior_padding", x->rank, 0, interior, err) < 0)
        return -1;
    for (int d = 0; d < x->rank; d++) {
        int64_t between;
        if (interior[d] < 0 || low[d] < -limit || low[d] > limit || high[d] < -limit ||
            high[d] > limit || !i64_mul(x->dim[d] > 0 ? x->dim[d] - 1 : 0, interior[d], &between) ||
            between > limit)
            return err_set(
                err, ERR_SHAPE, "%s: dimension %d: low %lld, high %lld, interior %lld out of range",
                op_name(op), d, (long long)low[d], (long long)high[d], (long long)interior[d]);
        is.dim[d] += low[d] + high[d] + between;
        if (is.dim[d] < 0)
            return err_set(
                err, ERR_SHAPE, "%s: dimension %d: low %lld and high %lld cut more than all of %s",
                op_name(op), d, (long long)low[d], (long long)high[d], ir_type_text(x, text));
    }
    if (ir_type_check(&is, err) < 0) return err_prefix(err, "%s: ", op_name(op));
    return infer_result(op, 0, out, &is, err);
}

static int eval_pad(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    (void)ev, (void)err;
    int64_t low[IR_MAX_RANK], step[IR_MAX_RANK], from[IR_MAX_RANK], to[IR_MAX_RANK];
    int64_t dim[IR_MAX_RANK], src = 0, dst = 0;
    int rank = out->type.rank;
    size_t bytes = dtype_bytes(out->type.dtype);
    dims_fill(out, &in[1]);
    dims_read(op, "edge_padding_low", rank, 0, low);
    dims_read(op, "interior_padding", rank, 0, step);
    dims_strides_of(&in[0], from);
    ir_type_strides(&out->type, to);
    for (int d = 0; d < rank; d++) {
        /* Elements first .. last - 1 land inside: 0 <= low + i * (interior + 1) < out. */
        int64_t n = in[0].type.dim[d], size = out->type.dim[d];
        step[d]++;
        int64_t first = low[d] < 0 ? (-low[d] + step[d] - 1) / step[d] : 0;
        int64_t last = size > low[d] ? (size - low[d] + step[d] - 1) / step[d] : 0;
        if (last > n) last = n;
        if (last <= first) return 0;
        dim[d] = last - first;
        src += first * from[d], dst += (low[d] + first * step[d]) * to[d];
        to[d] = dim[d] > 1 ? to[d] * step[d] : 0;
    }
    dims_copy(bytes, rank, dim, dims_at(out->data, bytes, dst), to, dims_at(in[0].data, bytes, src),
              from);
    return 0;
}

/* u = pad(ct, 0, -low, -high, 0); dx = u[:: interior + 1]. The value's cotangent is the sum of ct
 * over all places that no element of x took. */
static int vjp_pad(vjp_t *v, err_t *err)
{
    ir_type_t x = *op_in_type(v->fn, v->op, 0);
    int64_t low[IR_MAX_RANK], high[IR_MAX_RANK], step[IR_MAX_RANK], start[IR_MAX_RANK] = {0};
    int64_t limit[IR_MAX_RANK], interior[IR_MAX_RANK];
    ir_fn_t *fn = v->fn;
    dims_read(v->op, "edge_padding_low", x.rank, 0, low);
    dims_read(v->op, "edge_padding_high", x.rank, 0, high);
    dims_read(v->op, "interior_padding", x.rank, 0, interior);
    if (v->need[1]) {
        ir_type_t mask_type = ir_type_with(x, DT_I1);
        ir_val_t taken = ir_pad(fn, ir_splat(fn, &mask_type, 0), ir_scalar(fn, DT_I1, 1), low, high,
                                interior);
        ir_val_t ct = vjp_ct(v, 0), zero = ir_scalar_like(fn, ct, 0);
        vjp_give(v, 1, ir_reduce_all(fn, OP_add, ir_select(fn, taken, ct, zero)));
    }
    for (int d = 0; d < x.rank; d++) {
        low[d] = -low[d], high[d] = -high[d];
        step[d] = x.dim[d] > 1 ? interior[d] + 1 : 1;
        limit[d] = window_extent(x.dim[d], step[d]);
    }
    if (v->need[0]) {
        ir_val_t u = ir_pad(fn, v->ct[0], ir_scalar(fn, x.dtype, 0), low, high, NULL);
        v->in_ct[0] = ir_slice(fn, u, start, limit, step);
    }
    return vjp_done(v, err);
}

const op_def_t op_pad = {
    .name = "stablehlo.pad",
    .kind = K_VIEW,
    .n_in = 2,
    .n_out = 1,
    .form = FORM_PAD,
    .needs = {"edge_padding_low", "edge_padding_high", "interior_padding"},
    .infer = infer_pad,
    .eval = eval_pad,
    .vjp = vjp_pad,
};
