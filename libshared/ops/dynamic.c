/* Ops whose starts or shapes are operands: dynamic_slice, dynamic_update_slice, and those whose
 * shape operand repeats the static result type (dynamic_iota, dynamic_broadcast_in_dim,
 * dynamic_reshape). */
#include <string.h>

#include "ir/build_index.h"
#include "ops/common.h"
#include "ops/dims.h"

/* --- Starts: one rank-0 integer per dimension, from operand `first` on, clamped like gather's */

static int infer_starts(const ir_fn_t *fn, const ir_op_t *op, int first, int rank, err_t *err)
{
    char text[IR_TYPE_TEXT];
    if (op->n_in != first + rank)
        return err_set(err, ERR_SHAPE, "%s: %d start indices for rank %d", op_name(op),
                       op->n_in - first, rank);
    for (int i = first; i < op->n_in; i++) {
        const ir_type_t *type = op_in_type(fn, op, i);
        if (type->rank != 0 || !dtype_is_int(type->dtype))
            return err_set(err, ERR_TYPE, "%s: operand %d is %s, expected a rank-0 integer",
                           op_name(op), i, ir_type_text(type, text));
        if (type->dtype != op_in_type(fn, op, first)->dtype)
            return err_set(err, ERR_TYPE, "%s: the start indices have different types",
                           op_name(op));
    }
    return 0;
}

/* Where in x, counted in elements of the given strides, a box of `size` begins. */
static int64_t box_start(const ir_type_t *x, const int64_t *stride, const tensor_t *starts,
                         const int64_t *size)
{
    int64_t at = 0;
    for (int d = 0; d < x->rank; d++) {
        int64_t start = tensor_get_i64(&starts[d], 0), last = x->dim[d] - size[d];
        bool huge = starts[d].type.dtype == DT_UI64 && start < 0;
        at += stride[d] * (huge || start > last ? last : start < 0 ? 0 : start);
    }
    return at;
}

/* --- dynamic_slice: a box of x of static size --- */
static int infer_dynamic_slice(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (op->n_in < 1) return err_set(err, ERR_SHAPE, "%s: needs an operand", op_name(op));
    ir_type_t is = *op_in_type(fn, op, 0);
    int64_t size[IR_MAX_RANK];
    if (infer_starts(fn, op, 1, is.rank, err) < 0 ||
        dims_list(op, "slice_sizes", is.rank, -1, size, err) < 0)
        return -1;
    for (int d = 0; d < is.rank; d++) {
        if (size[d] < 0 || size[d] > is.dim[d])
            return err_set(err, ERR_SHAPE, "%s: slice_sizes[%d] is %lld, the operand has %lld",
                           op_name(op), d, (long long)size[d], (long long)is.dim[d]);
        is.dim[d] = size[d];
    }
    return infer_result(op, 0, out, &is, err);
}

static int eval_dynamic_slice(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                              err_t *err)
{
    (void)ev, (void)op, (void)err;
    int64_t from[IR_MAX_RANK], to[IR_MAX_RANK];
    const ir_type_t *y = &out->type;
    size_t bytes = dtype_bytes(y->dtype);
    dims_strides_of(&in[0], from);
    ir_type_strides(y, to);
    int64_t at = box_start(&in[0].type, from, in + 1, y->dim);
    dims_copy(bytes, y->rank, y->dim, out->data, to, dims_at(in[0].data, bytes, at), from);
    return 0;
}

/* dx = zeros with ct at the same starts: both ops clamp alike. */
static int vjp_dynamic_slice(vjp_t *v, err_t *err)
{
    ir_type_t x = *op_in_type(v->fn, v->op, 0);
    if (v->need[0])
        v->in_ct[0] = ir_dynamic_update_slice(v->fn, ir_splat(v->fn, &x, 0), v->ct[0],
                                              v->op->in + 1);
    return vjp_done(v, err);
}

const op_def_t op_dynamic_slice = {
    .name = "stablehlo.dynamic_slice",
    .kind = K_INDEX,
    .n_in = -1,
    .n_out = 1,
    .form = FORM_DYNAMIC_SLICE,
    .needs = {"slice_sizes"},
    .infer = infer_dynamic_slice,
    .eval = eval_dynamic_slice,
    .vjp = vjp_dynamic_slice,
};

/* --- dynamic_update_slice: x with the box `update` written over it --- */
static int infer_dynamic_update(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (op->n_in < 2) return err_set(err, ERR_SHAPE, "%s: needs two operands", op_name(op));
    const ir_type_t *x = op_in_type(fn, op, 0), *u = op_in_type(fn, op, 1);
    char whole[IR_TYPE_TEXT], part[IR_TYPE_TEXT];
    bool fits = x->dtype == u->dtype && x->rank == u->rank;
    for (int d = 0; fits && d < x->rank; d++) fits = u->dim[d] <= x->dim[d];
    if (!fits)
        return err_set(err, ERR_SHAPE, "%s: the update %s does not fit into %s", op_name(op),
                       ir_type_text(u, part), ir_type_text(x, whole));
    if (infer_starts(fn, op, 2, x->rank, err) < 0) return -1;
    return infer_result(op, 0, out, x, err);
}

static int eval_dynamic_update(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                               err_t *err)
{
    (void)ev, (void)op, (void)err;
    int64_t from[IR_MAX_RANK], part[IR_MAX_RANK], to[IR_MAX_RANK];
    const ir_type_t *y = &out->type, *u = &in[1].type;
    size_t bytes = dtype_bytes(y->dtype);
    dims_strides_of(&in[0], from);
    dims_strides_of(&in[1], part);
    ir_type_strides(y, to);
    dims_copy(bytes, y->rank, y->dim, out->data, to, in[0].data, from);
    int64_t at = box_start(y, to, in + 2, u->dim);
    dims_copy(bytes, u->rank, u->dim, dims_at(out->data, bytes, at), to, in[1].data, part);
    return 0;
}

/* dx = ct with zeros written over the box; d update = the box of ct. */
static int vjp_dynamic_update(vjp_t *v, err_t *err)
{
    ir_type_t u = *op_in_type(v->fn, v->op, 1);
    const ir_val_t *starts = v->op->in + 2;
    if (v->need[0])
        v->in_ct[0] = ir_dynamic_update_slice(v->fn, v->ct[0], ir_splat(v->fn, &u, 0), starts);
    if (v->need[1]) v->in_ct[1] = ir_dynamic_slice(v->fn, v->ct[0], starts, u.dim);
    return vjp_done(v, err);
}

const op_def_t op_dynamic_update_slice = {
    .name = "stablehlo.dynamic_update_slice",
    .kind = K_INDEX,
    .n_in = -1,
    .n_out = 1,
    .form = FORM_OPERANDS,
    .infer = infer_dynamic_update,
    .eval = eval_dynamic_update,
    .vjp = vjp_dynamic_update,
};

/* --- Shapes: operand i is a rank-1 integer tensor with the (declared) result's dimensions --- */

static int infer_shape_operand(const ir_fn_t *fn, const ir_op_t *op, int i, const ir_type_t *out,
                               err_t *err)
{
    char shape[IR_TYPE_TEXT], result[IR_TYPE_TEXT];
    if (infer_declared(op, 0, out, err) < 0 || ir_type_check(out, err) < 0) return -1;
    const ir_type_t *type = op_in_type(fn, op, i);
    if (type->rank == 1 && dtype_is_int(type->dtype) && type->dim[0] == out->rank) return 0;
    return err_set(err, ERR_SHAPE, "%s: the shape operand %s does not fit the result %s",
                   op_name(op), ir_type_text(type, shape), ir_type_text(out, result));
}

/* The operand's value must be what the result type says; shapes are static here. */
static int check_shape_value(const ir_op_t *op, const tensor_t *shape, const ir_type_t *out,
                             err_t *err)
{
    char result[IR_TYPE_TEXT];
    for (int d = 0; d < out->rank; d++)
        if (tensor_get_i64(shape, d) != out->dim[d])
            return err_set(err, ERR_SHAPE, "%s: the shape operand says %lld for dimension %d of %s",
                           op_name(op), (long long)tensor_get_i64(shape, d), d,
                           ir_type_text(out, result));
    return 0;
}

/* --- dynamic_iota --- */
static int infer_dynamic_iota(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (infer_shape_operand(fn, op, 0, out, err) < 0) return -1;
    int64_t dim = attr_int(&op->attrs, "iota_dimension", -1);
    if (dim >= 0 && dim < out->rank) return 0;
    return err_set(err, ERR_SHAPE, "%s: iota_dimension %lld is outside rank %d", op_name(op),
                   (long long)dim, out->rank);
}

static int eval_dynamic_iota(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                             err_t *err)
{
    if (check_shape_value(op, in, &out->type, err) < 0) return -1;
    return op_iota.eval(ev, op, NULL, out, err);
}

const op_def_t op_dynamic_iota = {
    .name = "stablehlo.dynamic_iota",
    .kind = K_VIEW,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_IOTA,
    .dims_attr = "iota_dimension",
    .infer = infer_dynamic_iota,
    .eval = eval_dynamic_iota,
    .vjp = vjp_none,
};

/* --- dynamic_broadcast_in_dim: broadcast_in_dim with its shape as second operand --- */
static int infer_dynamic_broadcast(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (infer_shape_operand(fn, op, 1, out, err) < 0) return -1;
    return op_broadcast_in_dim.infer(fn, op, out, err);
}

static int eval_dynamic_broadcast(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                                  err_t *err)
{
    if (check_shape_value(op, &in[1], &out->type, err) < 0) return -1;
    return op_broadcast_in_dim.eval(ev, op, in, out, err);
}

static int vjp_dynamic_broadcast(vjp_t *v, err_t *err)
{
    return op_broadcast_in_dim.vjp(v, err);
}

const op_def_t op_dynamic_broadcast_in_dim = {
    .name = "stablehlo.dynamic_broadcast_in_dim",
    .kind = K_VIEW,
    .n_in = 2,
    .n_out = 1,
    .form = FORM_DIMS,
    .dims_attr = "broadcast_dimensions",
    .infer = infer_dynamic_broadcast,
    .eval = eval_dynamic_broadcast,
    .vjp = vjp_dynamic_broadcast,
};

/* --- dynamic_reshape: reshape with its shape as second operand --- */
static int infer_dynamic_reshape(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (infer_shape_operand(fn, op, 1, out, err) < 0) return -1;
    return op_reshape.infer(fn, op, out, err);
}

static int eval_dynamic_reshape(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                                err_t *err)
{
    if (check_shape_value(op, &in[1], &out->type, err) < 0) return -1;
    return op_reshape.eval(ev, op, in, out, err);
}

static int vjp_dynamic_reshape(vjp_t *v, err_t *err)
{
    return op_reshape.vjp(v, err);
}

const op_def_t op_dynamic_reshape = {
    .name = "stablehlo.dynamic_reshape",
    .kind = K_VIEW,
    .n_in = 2,
    .n_out = 1,
    .form = FORM_OPERANDS,
    .infer = infer_dynamic_reshape,
    .eval = eval_dynamic_reshape,
    .vjp = vjp_dynamic_reshape,
};

/* --- get_dimension_size: one dimension of the operand's shape as an i32 --- */
static int infer_dimension_size(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    int64_t dim = attr_int(&op->attrs, "dimension", -1);
    char text[IR_TYPE_TEXT];
    if (dim < 0 || dim >= x->rank)
        return err_set(err, ERR_SHAPE, "%s: dimension %lld is outside %s", op_name(op),
                       (long long)dim, ir_type_text(x, text));
    ir_type_t is = ir_type_scalar(DT_I32);
    return infer_result(op, 0, out, &is, err);
}

static int eval_dimension_size(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                               err_t *err)
{
    (void)ev, (void)err;
    tensor_set_i64(out, 0, in->type.dim[attr_int(&op->attrs, "dimension", 0)]);
    return 0;
}

const op_def_t op_get_dimension_size = {
    .name = "stablehlo.get_dimension_size",
    .kind = K_VIEW,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_DIM,
    .dims_attr = "dimension",
    .infer = infer_dimension_size,
    .eval = eval_dimension_size,
    .vjp = vjp_none,
};
