/* Quantised tensors are integers here: pcp.quantize and pcp.dequantize go from and to the floats
 * they stand for. StableHLO specification, "Quantization computations". The parser writes them
 * where the text has quantised types.
 *
 * Attributes: scales (floats of the real type, one, or one per element of `axis`), zero_points (as
 * many integers), axis (absent: one scale), storage_min and storage_max (of what is stored). */
#include <math.h>
#include <string.h>

#include "ops/expand.h"
#include "ops/rule.h"

static const tensor_t *scales_of(const ir_op_t *op)
{
    const ir_attr_t *scales = attr_find(&op->attrs, "scales");
    return scales && scales->kind == ATTR_TENSOR && scales->tensor->type.rank == 1 ? scales->tensor
                                                                                   : NULL;
}

static int infer_scales(const ir_op_t *op, const ir_type_t *shape, dtype_t real, err_t *err)
{
    const tensor_t *scales = scales_of(op);
    int n_zero;
    attr_ints(&op->attrs, "zero_points", &n_zero);
    if (!scales || scales->type.dtype != real || scales->type.dim[0] != n_zero)
        return err_set(err, ERR_ARG,
                       "%s: scales must be %s, and as many as zero_points (which are %d)",
                       op_name(op), dtype_name(real), n_zero);
    for (int64_t i = 0; i < n_zero; i++) {
        double scale = tensor_get_f64(scales, i);
        if (!(scale > 0) || !isfinite(scale))
            return err_set(err, ERR_ARG, "%s: scale %lld is %g, not positive and finite",
                           op_name(op), (long long)i, scale);
    }
    int64_t axis = attr_int(&op->attrs, "axis", -1);
    if (axis < 0 && n_zero == 1) return 0;
    if (axis < 0 || axis >= shape->rank || shape->dim[axis] != n_zero)
        return err_set(err, ERR_SHAPE, "%s: %d scales along axis %lld do not fit the shape",
                       op_name(op), n_zero, (long long)axis);
    return 0;
}

static bool is_storage(dtype_t dtype)
{
    return dtype_is_int(dtype) && dtype_bits(dtype) <= 32;
}

/* The zero points or scales as a tensor like x: a splat, or spread along the axis. */
static ir_val_t spread(ir_fn_t *fn, const ir_op_t *op, ir_val_t x, bool zeros)
{
    int n;
    const int64_t *zero = attr_ints(&op->attrs, "zero_points", &n);
    int64_t axis = attr_int(&op->attrs, "axis", -1), length = n;
    const tensor_t *scales = scales_of(op);
    if (x == IR_NONE) return IR_NONE;
    ir_type_t shape = *ir_type_of(fn, x), list = ir_type(shape.dtype, 1, &length);
    if (axis < 0) return NUM(x, zeros ? (double)zero[0] : tensor_get_f64(scales, 0));
    tensor_t *t = ARENA_NEW(fn->module->arena, tensor_t);
    *t = tensor_in(fn->module->arena, &list);
    for (int i = 0; i < n; i++)
        if (dtype_is_int(shape.dtype))
            tensor_set_i64(t, i, zero[i]);
        else
            tensor_set_f64(t, i, zeros ? (double)zero[i] : tensor_get_f64(scales, i));
    return ir_broadcast(fn, ir_const(fn, t), &shape, &axis);
}

static bool has_zeros(const ir_op_t *op)
{
    int n;
    const int64_t *zero = attr_ints(&op->attrs, "zero_points", &n);
    for (int i = 0; i < n; i++)
        if (zero[i]) return true;
    return false;
}

#define CONVERSION(id, NAME, INFER, EXPAND)          \
    const op_def_t op_##id = {.name = NAME,          \
                              .kind = K_OTHER,       \
                              .n_in = 1,             \
                              .n_out = 1,            \
                              .infer = INFER,        \
                              .expand = EXPAND,      \
                              .eval = eval_expanded, \
                              .vjp = vjp_none};

/* --- dequantize: (stored - zero) * scale; the difference is taken in integers that hold it --- */
static int infer_dequantize(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    if (infer_declared(op, 0, out, err) < 0) return -1;
    if (!is_storage(x->dtype) || !dtype_is_float(out->dtype))
        return err_set(err, ERR_TYPE, "%s: from %s to %s, not from integers to floats", op_name(op),
                       dtype_name(x->dtype), dtype_name(out->dtype));
    ir_type_t type = ir_type_with(*x, out->dtype);
    return infer_scales(op, x, out->dtype, err) < 0 ? -1 : infer_result(op, 0, out, &type, err);
}

static void expand_dequantize(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types,
                              const ir_val_t *in, ir_val_t *out)
{
    dtype_t storage = in[0] == IR_NONE ? DT_I32 : ir_type_of(fn, in[0])->dtype;
    ir_val_t x = ir_convert(fn, in[0], dtype_bits(storage) < 32 ? DT_I32 : DT_I64);
    if (has_zeros(op)) x = SUB(x, spread(fn, op, x, true));
    x = ir_convert(fn, x, types[0].dtype);
    out[0] = MUL(x, spread(fn, op, x, false));
}
CONVERSION(pcp_dequantize, "pcp.dequantize", infer_dequantize, expand_dequantize)

/* --- quantize: round_nearest_even(clamp(min, real / scale + zero, max)) --- */
static int infer_quantize(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    int64_t min = attr_int(&op->attrs, "storage_min", 0),
            max = attr_int(&op->attrs, "storage_max", 0);
    if (infer_declared(op, 0, out, err) < 0 || infer_class(fn, op, 0, CLASS_FLOAT, err) < 0)
        return -1;
    if (!is_storage(out->dtype))
        return err_set(err, ERR_TYPE, "%s: %s does not store quantised tensors", op_name(op),
                       dtype_name(out->dtype));
    int bits = dtype_bits(out->dtype), is_signed = dtype_is_signed(out->dtype);
    int64_t low = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
    if (min >= max || min < low || max > low + ((int64_t)1 << bits) - 1)
        return err_set(err, ERR_ARG, "%s: storage_min %lld and storage_max %lld do not fit %s",
                       op_name(op), (long long)min, (long long)max, dtype_name(out->dtype));
    ir_type_t type = ir_type_with(*x, out->dtype);
    return infer_scales(op, x, x->dtype, err) < 0 ? -1 : infer_result(op, 0, out, &type, err);
}

static void expand_quantize(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types,
                            const ir_val_t *in, ir_val_t *out)
{
    ir_val_t x = DIV(in[0], spread(fn, op, in[0], false));
    if (has_zeros(op)) x = ADD(x, spread(fn, op, x, true));
    dtype_t real = x == IR_NONE ? DT_F32 : ir_type_of(fn, x)->dtype;
    ir_val_t min = ir_scalar(fn, real, (double)attr_int(&op->attrs, "storage_min", 0));
    ir_val_t max = ir_scalar(fn, real, (double)attr_int(&op->attrs, "storage_max", 0));
    x = APPLY(round_nearest_even, ir_op3(fn, OP_clamp, min, x, max));
    out[0] = ir_convert(fn, x, types[0].dtype);
}
CONVERSION(pcp_quantize, "pcp.quantize", infer_quantize, expand_quantize)
