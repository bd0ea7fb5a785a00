/* Unary ops of the StableHLO dialect: one block each (value, C expression, reverse rule). Floats
 * and complex numbers are evaluated in double and rounded once to the element type. */
#include <math.h>

#include "ops/complex_math.h"
#include "ops/rule.h"

#define UNARY(id, EXPR, CEXPR, TEXT, LO, HI, CT) \
    INEXACT_UNARY(id, "stablehlo." #id, FORM_OPERANDS, EXPR, CEXPR, TEXT, LO, HI, CT)
#define STEP(id, EXPR, TEXT) FLOAT_STEP(id, "stablehlo." #id, FORM_OPERANDS, EXPR, TEXT)

/* --- exponential: y' = y --- */
UNARY(exponential, exp(x), cexp(x), "pcp_exp_$t($0)", -2, 2, MUL(g, y))

/* --- exponential_minus_one: y' = y + 1 --- */
UNARY(exponential_minus_one, expm1(x), pcp_complex_expm1(x), "pcp_expm1_$t($0)", -2, 2,
      MUL(g, ADD(y, NUM(y, 1))))

/* --- log: y' = 1 / x --- */
UNARY(log, log(x), clog(x), "pcp_log_$t($0)", 0.5, 3, DIV(g, x))

/* --- log_plus_one: y' = 1 / (1 + x) --- */
UNARY(log_plus_one, log1p(x), pcp_complex_log1p(x), "pcp_log1p_$t($0)", -0.5, 2,
      DIV(g, ADD(NUM(x, 1), x)))

/* --- logistic: y = 1 / (1 + e^-x); y' = y (1 - y) --- */
UNARY(logistic, 1 / (1 + exp(-x)), pcp_complex_logistic(x), "pcp_logistic_$t($0)", -2, 2,
      MUL(MUL(g, y), SUB(NUM(y, 1), y)))

/* --- tanh: y' = (1 - y)(1 + y), without the cancellation of 1 - y^2 --- */
UNARY(tanh, tanh(x), ctanh(x), "pcp_tanh_$t($0)", -2, 2,
      MUL(MUL(g, SUB(NUM(y, 1), y)), ADD(NUM(y, 1), y)))

/* --- sqrt: y' = 0.5 / y --- */
UNARY(sqrt, sqrt(x), csqrt(x), "pcp_sqrt_$t($0)", 0.5, 3, DIV(SCALE(0.5, g), y))

/* --- rsqrt: y = x^-1/2; y' = -0.5 y / x --- */
UNARY(rsqrt, 1 / sqrt(x), pcp_complex_rsqrt(x), "pcp_rsqrt_$t($0)", 0.5, 3,
      DIV(MUL(SCALE(-0.5, g), y), x))

/* --- cbrt: y' = 1 / (3 y^2) --- */
UNARY(cbrt, cbrt(x), pcp_complex_cbrt(x), "pcp_cbrt_$t($0)", 0.5, 3, DIV(g, SCALE(3, SQUARE(y))))

/* --- sine: y' = cos x;  cosine: y' = -sin x;  tan: y' = 1 + y^2 --- */
UNARY(sine, sin(x), csin(x), "pcp_sin_$t($0)", -3, 3, MUL(g, APPLY(cosine, x)))
UNARY(cosine, cos(x), ccos(x), "pcp_cos_$t($0)", -3, 3, NEG(MUL(g, APPLY(sine, x))))
UNARY(tan, tan(x), ctan(x), "pcp_tan_$t($0)", -1, 1, MUL(g, ADD(NUM(y, 1), SQUARE(y))))

/* --- ceil, floor, round_nearest_afz (halves away from zero), round_nearest_even --- */
STEP(ceil, ceil(x), "pcp_ceil_$t($0)")
STEP(floor, floor(x), "pcp_floor_$t($0)")
STEP(round_nearest_afz, round(x), "pcp_round_$t($0)")
STEP(round_nearest_even, nearbyint(x), "pcp_rint_$t($0)")

/* --- is_finite: float -> i1 --- */
static int infer_is_finite(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (infer_class(fn, op, 0, CLASS_FLOAT, err) < 0) return -1;
    ir_type_t type = ir_type_with(*op_in_type(fn, op, 0), DT_I1);
    return infer_result(op, 0, out, &type, err);
}

static int eval_is_finite(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                          err_t *err)
{
    (void)ev, (void)op, (void)err;
    int64_t count = ir_type_count(&out->type);
    uint8_t *y = out->data;
    double x[BLOCK];
    for (int64_t at = 0; at < count; at += BLOCK) {
        int n = (int)(count - at < BLOCK ? count - at : BLOCK);
        block_load_f64(in, at, n, x);
        for (int i = 0; i < n; i++) y[at + i] = isfinite(x[i]) != 0;
    }
    return 0;
}

const op_def_t op_is_finite = {
    .name = "stablehlo.is_finite",
    .kind = K_MAP,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_OPERANDS,
    .infer = infer_is_finite,
    .eval = eval_is_finite,
    .vjp = vjp_none,
    .expr = "pcp_isfinite_$t($0)",
};

/* --- abs: clears the sign; the smallest integer stays itself; |z| of a complex number is real.
 * y' = sign(x); of complex numbers g conj(z) / |z|, 0 at 0 (as JAX) --- */
KERNEL_UNARY(abs_f, double, fabs(x))
KERNEL_UNARY(abs_s, int64_t, x < 0 ? (int64_t)(0 - (uint64_t)x) : x)
static int eval_abs(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    static const map_kernel_t kernel = {.f = abs_f, .s = abs_s};
    (void)ev, (void)op, (void)err;
    if (!dtype_is_complex(in->type.dtype)) return eval_map(&kernel, 1, in, out);
    int64_t count = ir_type_count(&out->type);
    for (int64_t i = 0; i < count; i++)
        tensor_set_f64(out, i, hypot(tensor_get_f64(in, i), tensor_get_imag(in, i)));
    return 0;
}

static int infer_abs(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const ir_type_t *x = op_in_type(fn, op, 0);
    if (!dtype_is_complex(x->dtype)) return infer_map_signed(fn, op, out, err);
    ir_type_t type = ir_type_with(*x, dtype_part(x->dtype));
    return infer_result(op, 0, out, &type, err);
}

static int vjp_abs(vjp_t *v, err_t *err)
{
    ir_fn_t *fn = v->fn;
    ir_val_t slope = APPLY(sign, vjp_in(v, 0)), g = vjp_ct(v, 0);
    if (slope == IR_NONE || !dtype_is_complex(ir_type_of(fn, slope)->dtype)) {
        vjp_give(v, 0, MUL(g, slope));
    } else {
        ir_val_t im = NEG(MUL(g, APPLY(imag, slope)));
        vjp_give(v, 0, ir_op2(fn, OP_complex, MUL(g, APPLY(real, slope)), im));
    }
    return vjp_done(v, err);
}

const op_def_t op_abs = {
    .name = "stablehlo.abs",
    .kind = K_MAP,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_OPERANDS,
    .infer = infer_abs,
    .eval = eval_abs,
    .vjp = vjp_abs,
    .expr = "pcp_abs_$t($0)",
    .test_lo = 0.5,
    .test_hi = 2,
};

/* --- negate: integers wrap --- */
KERNEL_UNARY(negate_f, double, -x)
KERNEL_UNARY(negate_i, int64_t, (int64_t)(0 - (uint64_t)x))
KERNEL_UNARY(negate_c, complex_t, -x)
EVAL_MAP(negate, 1, negate_f, negate_i, negate_i, negate_c)
VJP_UNARY(negate, NEG(g))
const op_def_t op_negate = {
    .name = "stablehlo.negate",
    .kind = K_MAP,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_OPERANDS,
    .infer = infer_map_number,
    .eval = eval_negate,
    .vjp = vjp_negate,
    .expr = "(-$0)",
};

/* --- sign: -1, 0, 1; floats keep NaN and the sign of zero. Complex: y = z / |z|, the
 * cotangent i conj(y) Im(g y) / |z|: only what turns z counts (JAX takes 0 instead) --- */
KERNEL_UNARY(sign_f, double, x > 0 ? 1 : x < 0 ? -1 : x)
KERNEL_UNARY(sign_s, int64_t, (x > 0) - (x < 0))
KERNEL_UNARY(sign_c, complex_t, pcp_complex_sign(x))
EVAL_MAP(sign, 1, .f = sign_f, .s = sign_s, .c = sign_c)

static int vjp_sign(vjp_t *v, err_t *err)
{
    ir_fn_t *fn = v->fn;
    ir_val_t x = v->op->in[0], y = v->op->out, g = v->ct[0];
    if (!dtype_is_complex(op_in_type(fn, v->op, 0)->dtype)) return 0;
    ir_val_t r = APPLY(abs, x), zero = NUM(r, 0), at_zero = CMP(r, "EQ", zero);
    ir_val_t turn = DIV(APPLY(imag, MUL(g, y)), SELECT(at_zero, NUM(r, 1), r));
    turn = SELECT(at_zero, zero, turn);
    vjp_give(v, 0, ir_op2(fn, OP_complex, MUL(turn, APPLY(imag, y)), MUL(turn, APPLY(real, y))));
    return vjp_done(v, err);
}
const op_def_t op_sign = {
    .name = "stablehlo.sign",
    .kind = K_MAP,
    .n_in = 1,
    .n_out = 1,
    .form = FORM_OPERANDS,
    .infer = infer_map_signed,
    .eval = eval_sign,
    .vjp = vjp_sign,
    .expr = "pcp_sign_$t($0)",
};
