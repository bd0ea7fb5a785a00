/* Ops that move elements to places known beforehand: reshape, transpose, broadcast_in_dim, reverse.
 * All but reshape evaluate as strided copies of a box. Their kin concatenate, slice and pad:
 * slice.c. */
#include <string.h>

#include "ops/common.h"
#include "ops/dims.h"

/* Results that take the operand's element type: the declared one must agree. */
static int infer_same_dtype(const ir_fn_t *fn, const ir_op_t *op, const ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    if (out->dtype == x->dtype) return 0;
    return err_set(err, ERR_TYPE, "%s: the operand's elements are %s, the result's %s", op_name(op),
                   dtype_name(x->dtype), dtype_name(out->dtype));
}

/* --- reshape: the same elements in the same order; the result type is declared --- */
static int infer_reshape(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    char from[IR_TYPE_TEXT], to[IR_TYPE_TEXT];
    if (infer_declared(op, 0, out, err) < 0 || infer_same_dtype(fn, op, out, err) < 0) return -1;
    if (ir_type_check(out, err) < 0) return err_prefix(err, "%s: ", op_name(op));
    if (ir_type_count(x) == ir_type_count(out)) return 0;
    return err_set(err, ERR_SHAPE, "%s: %s has %lld elements, %s has %lld", op_name(op),
                   ir_type_text(x, from), (long long)ir_type_count(x), ir_type_text(out, to),
                   (long long)ir_type_count(out));
}

static int eval_reshape(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                        err_t *err)
{
    (void)ev, (void)op, (void)err;
    memcpy(out->data, in->data, (size_t)tensor_data_bytes(in));
    out->splat = in->splat;
    return 0;
}

static int vjp_reshape(vjp_t *v, err_t *err)
{
    ir_type_t x = *op_in_type(v->fn, v->op, 0);
    if (v->need[0]) v->in_ct[0] = ir_reshape(v->fn, v->ct[0], &x);
    return vjp_done(v, err);
}

const op_def_t op_reshape = {
    .name = "stablehlo.reshape",
    .kind = K_VIEW,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_OPERANDS,
    .infer = infer_reshape,
    .eval = eval_reshape,
    .vjp = vjp_reshape,
};

/* --- transpose: result dimension i is operand dimension permutation[i] --- */
static int infer_transpose(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    const int64_t *perm;
    int n;
    if (infer_dims(op, "permutation", x->rank, &perm, &n, err) < 0) return -1;
    if (n != x->rank)
        return err_set(err, ERR_SHAPE, "%s: permutation has %d entries, the operand rank %d",
                       op_name(op), n, x->rank);
    ir_type_t is = *x;
    for (int i = 0; i < n; i++) is.dim[i] = x->dim[perm[i]];
    return infer_result(op, 0, out, &is, err);
}

static int eval_transpose(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                          err_t *err)
{
    (void)ev, (void)err;
    int64_t perm[IR_MAX_RANK], from[IR_MAX_RANK], walk[IR_MAX_RANK], to[IR_MAX_RANK];
    int rank = out->type.rank;
    dims_read(op, "permutation", rank, 0, perm);
    dims_strides_of(in, from);
    ir_type_strides(&out->type, to);
    for (int i = 0; i < rank; i++) walk[i] = from[perm[i]];
    dims_copy(dtype_bytes(out->type.dtype), rank, out->type.dim, out->data, to, in->data, walk);
    return 0;
}

static int vjp_transpose(vjp_t *v, err_t *err)
{
    int rank = op_in_type(v->fn, v->op, 0)->rank;
    int64_t perm[IR_MAX_RANK], inverse[IR_MAX_RANK];
    dims_read(v->op, "permutation", rank, 0, perm);
    for (int i = 0; i < rank; i++) inverse[perm[i]] = i;
    if (v->need[0]) v->in_ct[0] = ir_transpose(v->fn, v->ct[0], inverse);
    return vjp_done(v, err);
}

const op_def_t op_transpose = {
    .name = "stablehlo.transpose",
    .kind = K_VIEW,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_DIMS,
    .dims_attr = "permutation",
    .infer = infer_transpose,
    .eval = eval_transpose,
    .vjp = vjp_transpose,
};

/* --- broadcast_in_dim: operand dimension i becomes result dimension broadcast_dimensions[i] --- */
static int infer_broadcast(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    const int64_t *dims;
    char from[IR_TYPE_TEXT], to[IR_TYPE_TEXT];
    int n;
    if (infer_declared(op, 0, out, err) < 0 || infer_same_dtype(fn, op, out, err) < 0) return -1;
    if (infer_dims(op, "broadcast_dimensions", out->rank, &dims, &n, err) < 0) return -1;
    if (n != x->rank)
        return err_set(err, ERR_SHAPE, "%s: broadcast_dimensions has %d entries for the operand %s",
                       op_name(op), n, ir_type_text(x, from));
    for (int i = 0; i < n; i++)
        if (x->dim[i] != 1 && x->dim[i] != out->dim[dims[i]])
            return err_set(err, ERR_SHAPE,
                           "%s: dimension %d of %s is neither 1 nor that of dimension %lld of %s",
                           op_name(op), i, ir_type_text(x, from), (long long)dims[i],
                           ir_type_text(out, to));
    return ir_type_check(out, err);
}

static int eval_broadcast(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                          err_t *err)
{
    (void)ev, (void)err;
    int64_t dims[IR_MAX_RANK], from[IR_MAX_RANK], walk[IR_MAX_RANK] = {0}, to[IR_MAX_RANK];
    if (in->splat || in->type.rank == 0) {
        memcpy(out->data, in->data, ir_type_count(&out->type) ? dtype_bytes(in->type.dtype) : 0);
        out->splat = ir_type_count(&out->type) > 0;
        return 0;
    }
    dims_read(op, "broadcast_dimensions", in->type.rank, 0, dims);
    dims_strides_of(in, from);
    ir_type_strides(&out->type, to);
    for (int i = 0; i < in->type.rank; i++) walk[dims[i]] = in->type.dim[i] == 1 ? 0 : from[i];
    dims_copy(dtype_bytes(out->type.dtype), out->type.rank, out->type.dim, out->data, to, in->data,
              walk);
    return 0;
}

/* Sum over the dimensions that were made. */
static int vjp_broadcast(vjp_t *v, err_t *err)
{
    ir_type_t x = *op_in_type(v->fn, v->op, 0);
    int64_t dims[IR_MAX_RANK];
    dims_read(v->op, "broadcast_dimensions", x.rank, 0, dims);
    if (v->need[0]) {
        ir_val_t ct = vjp_ct(v, 0);
        x.dtype = ir_type_of(v->fn, ct)->dtype;
        vjp_give(v, 0, ir_unbroadcast(v->fn, ct, &x, dims));
    }
    return vjp_done(v, err);
}

const op_def_t op_broadcast_in_dim = {
    .name = "stablehlo.broadcast_in_dim",
    .kind = K_VIEW,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_DIMS,
    .dims_attr = "broadcast_dimensions",
    .infer = infer_broadcast,
    .eval = eval_broadcast,
    .vjp = vjp_broadcast,
};

/* --- reverse: the order of elements along `dimensions` turns around --- */
static int infer_reverse(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    const int64_t *dims;
    int n;
    if (infer_dims(op, "dimensions", x->rank, &dims, &n, err) < 0) return -1;
    return infer_result(op, 0, out, x, err);
}

static int eval_reverse(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                        err_t *err)
{
    (void)ev, (void)err;
    int64_t from[IR_MAX_RANK], to[IR_MAX_RANK], last = 0;
    uint32_t turned = dims_mask(op, "dimensions");
    size_t bytes = dtype_bytes(out->type.dtype);
    if (ir_type_count(&out->type) == 0) return 0;
    dims_strides_of(in, from);
    ir_type_strides(&out->type, to);
    for (int d = 0; d < out->type.rank; d++) {
        if (!dims_has(turned, d)) continue;
        last += (out->type.dim[d] - 1) * from[d];
        from[d] = -from[d];
    }
    dims_copy(bytes, out->type.rank, out->type.dim, out->data, to, dims_at(in->data, bytes, last),
              from);
    return 0;
}

static int vjp_reverse(vjp_t *v, err_t *err)
{
    int n;
    const int64_t *dims = attr_ints(&v->op->attrs, "dimensions", &n);
    if (v->need[0]) v->in_ct[0] = ir_reverse(v->fn, v->ct[0], dims, n);
    return vjp_done(v, err);
}

const op_def_t op_reverse = {
    .name = "stablehlo.reverse",
    .kind = K_VIEW,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_DIMS,
    .dims_attr = "dimensions",
    .infer = infer_reverse,
    .eval = eval_reverse,
    .vjp = vjp_reverse,
};
