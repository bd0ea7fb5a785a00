/* Ops without operands: constant and iota. */
#include "ops/rule.h"

/* --- constant --- */
static int infer_constant(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    (void)fn;
    const ir_attr_t *value = attr_find(&op->attrs, "value");
    if (!value || value->kind != ATTR_TENSOR)
        return err_set(err, ERR_TYPE, "stablehlo.constant: attribute value must be a tensor");
    return infer_result(op, 0, out, &value->tensor->type, err);
}

static int eval_constant(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                         err_t *err)
{
    (void)ev, (void)in, (void)err;
    tensor_assign(out, attr_find(&op->attrs, "value")->tensor);
    return 0;
}

const op_def_t op_constant = {
    .name = "stablehlo.constant",
    .kind = K_LITERAL,
    .n_in = 0,
    .n_out = 1,
    .form = FORM_CONSTANT,
    .infer = infer_constant,
    .eval = eval_constant,
    .vjp = vjp_none,
};

/* --- iota: y[.., i, ..] = i along iota_dimension --- */
static int infer_iota(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    (void)fn;
    char text[IR_TYPE_TEXT];
    if (infer_declared(op, 0, out, err) < 0) return -1;
    if (!(dtype_class(out->dtype) & (CLASS_NUMBER | CLASS_COMPLEX)))
        return err_set(err, ERR_TYPE, "stablehlo.iota: result is %s, expected numbers",
                       ir_type_text(out, text));
    int64_t dim = attr_int(&op->attrs, "iota_dimension", -1);
    if (dim < 0 || dim >= out->rank)
        return err_set(err, ERR_SHAPE, "stablehlo.iota: iota_dimension %lld is outside %s",
                       (long long)dim, ir_type_text(out, text));
    return 0;
}

static int eval_iota(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    (void)ev, (void)in, (void)err;
    int64_t stride[IR_MAX_RANK], dim = attr_int(&op->attrs, "iota_dimension", 0);
    ir_type_strides(&out->type, stride);
    int64_t count = ir_type_count(&out->type), inner = stride[dim], extent = out->type.dim[dim];
    bool is_float = dtype_is_float(out->type.dtype);
    double f[BLOCK];
    int64_t s[BLOCK];
    for (int64_t at = 0; at < count; at += BLOCK) {
        int n = (int)(count - at < BLOCK ? count - at : BLOCK);
        for (int i = 0; i < n; i++) {
            s[i] = (at + i) / inner % extent;
            f[i] = (double)s[i];
        }
        if (is_float)
            block_store_f64(out, at, n, f);
        else if (dtype_is_complex(out->type.dtype))
            for (int i = 0; i < n; i++) tensor_set_f64(out, at + i, f[i]);
        else
            block_store_i64(out, at, n, s);
    }
    return 0;
}

const op_def_t op_iota = {
    .name = "stablehlo.iota",
    .kind = K_LITERAL,
    .n_in = 0,
    .n_out = 1,
    .form = FORM_IOTA,
    .dims_attr = "iota_dimension",
    .infer = infer_iota,
    .eval = eval_iota,
    .vjp = vjp_none,
};
