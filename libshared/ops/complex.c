/* Ops that make complex numbers and take them apart, and evaluation by parts. Cotangents are not
 * conjugated (ad/ad.h). */
#include "ops/complex.h"

#include "ops/expand.h"
#include "ops/rule.h"

tensor_t complex_part(const tensor_t *x, int part)
{
    ir_type_t type = ir_type_with(x->type, DT_F64);
    tensor_t y = tensor_new(&type);
    int64_t n = ir_type_count(&type);
    double *to = y.data;
    for (int64_t i = 0; i < n; i++) to[i] = part ? tensor_get_imag(x, i) : tensor_get_f64(x, i);
    return y;
}

void complex_join(tensor_t *y, const tensor_t *re, const tensor_t *im)
{
    int64_t n = ir_type_count(&y->type);
    for (int64_t i = 0; i < n; i++)
        tensor_set_complex(y, i, tensor_get_f64(re, i), tensor_get_f64(im, i));
}

int eval_by_parts(eval_fn_t *eval, eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                  err_t *err)
{
    ir_type_t type = ir_type_with(out->type, DT_F64);
    tensor_t part[2][2], product[2][2];
    int status = 0;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) part[i][k] = complex_part(&in[i], k);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            tensor_t pair[2] = {part[0][i], part[1][k]};
            product[i][k] = tensor_new(&type);
            if (status == 0) status = eval(ev, op, pair, &product[i][k], err);
        }
    int64_t n = ir_type_count(&type);
    for (int64_t i = 0; status == 0 && i < n; i++) {
        double re = tensor_get_f64(&product[0][0], i) - tensor_get_f64(&product[1][1], i);
        double im = tensor_get_f64(&product[0][1], i) + tensor_get_f64(&product[1][0], i);
        tensor_set_complex(out, i, re, im);
    }
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            tensor_fini(&part[i][k]);
            tensor_fini(&product[i][k]);
        }
    return status;
}

ir_val_t complex_conj(ir_fn_t *fn, ir_val_t x)
{
    if (x == IR_NONE || !dtype_is_complex(ir_type_of(fn, x)->dtype)) return x;
    return ir_op2(fn, OP_complex, APPLY(real, x), NEG(APPLY(imag, x)));
}

/* --- complex(re, im): dre = Re g, dim = -Im g --- */
static int infer_complex(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    char text[IR_TYPE_TEXT];
    if (infer_same_type(fn, op, 0, 1, err) < 0) return -1;
    ir_type_t type = ir_type_with(*x, dtype_complex(x->dtype));
    if (type.dtype == DT_NONE)
        return err_set(err, ERR_TYPE, "%s: operand 0 is %s, expected f32 or f64", op_name(op),
                       ir_type_text(x, text));
    return infer_result(op, 0, out, &type, err);
}

static int eval_complex(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                        err_t *err)
{
    (void)ev, (void)op, (void)err;
    complex_join(out, &in[0], &in[1]);
    return 0;
}

static int vjp_complex(vjp_t *v, err_t *err)
{
    ir_fn_t *fn = v->fn;
    if (v->need[0]) vjp_give(v, 0, APPLY(real, v->ct[0]));
    if (v->need[1]) vjp_give(v, 1, NEG(APPLY(imag, v->ct[0])));
    return vjp_done(v, err);
}

const op_def_t op_complex = {
    .name = "stablehlo.complex",
    .kind = K_MAP,
    .n_in = 2,
    .n_out = 1,
    .form = FORM_OPERANDS,
    .lowered = true,
    .infer = infer_complex,
    .eval = eval_complex,
    .vjp = vjp_complex,
};

/* --- real: dz = g + 0i; imag: dz = 0 - gi. Of real numbers: themselves, and 0 --- */
static int infer_part(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (infer_class(fn, op, 0, CLASS_INEXACT, err) < 0) return -1;
    const ir_type_t *x = op_in_type(fn, op, 0);
    ir_type_t type = ir_type_with(*x, dtype_part(x->dtype));
    return infer_result(op, 0, out, &type, err);
}

static int eval_part(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    (void)ev, (void)err;
    int64_t n = ir_type_count(&out->type);
    for (int64_t i = 0; i < n; i++)
        tensor_set_f64(out, i,
                       op->code == OP_real ? tensor_get_f64(in, i) : tensor_get_imag(in, i));
    return 0;
}

static int vjp_part(vjp_t *v, err_t *err)
{
    ir_fn_t *fn = v->fn;
    bool is_real = v->op->code == OP_real;
    ir_val_t g = v->ct[0], zero = NUM(g, 0);
    if (dtype_is_complex(op_in_type(fn, v->op, 0)->dtype))
        vjp_give(v, 0, ir_op2(fn, OP_complex, is_real ? g : zero, is_real ? zero : NEG(g)));
    else if (is_real)
        vjp_give(v, 0, g);
    return vjp_done(v, err);
}

#define PART(id)                  \
    const op_def_t op_##id = {    \
        .name = "stablehlo." #id, \
        .kind = K_MAP,            \
        .n_in = 1,                \
        .n_out = 1,               \
        .form = FORM_OPERANDS,    \
        .lowered = true,          \
        .infer = infer_part,      \
        .eval = eval_part,        \
        .vjp = vjp_part,          \
    };
PART(real)
PART(imag)

/* --- conj: real numbers stay --- */
static int infer_conj(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    return infer_map_inexact(fn, op, out, err);
}

static void expand_conj(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                        ir_val_t *out)
{
    (void)op, (void)types;
    out[0] = complex_conj(fn, in[0]);
}

const op_def_t op_chlo_conj = {
    .name = "chlo.conj",
    .kind = K_MAP,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_CHLO,
    .infer = infer_conj,
    .expand = expand_conj,
    .eval = eval_expanded,
    .vjp = vjp_expanded,
};
