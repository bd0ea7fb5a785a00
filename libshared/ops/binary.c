/* Binary arithmetic. Integers wrap modulo 2^bits: kernels compute on int64 (unsigned values
 * zero-extended) and the store keeps the element's bits. Floats are computed in double and rounded
 * once, which for f32 add, subtract, multiply and divide is the correctly rounded result. */
#include <math.h>

#include "ops/complex_math.h"
#include "ops/rule.h"

#define BINARY(id, RULE, COMMUTATIVE, TEXT, LO, HI)       \
    const op_def_t op_##id = {.name = "stablehlo." #id,   \
                              .kind = K_MAP,              \
                              .n_in = 2,                  \
                              .n_out = 1,                 \
                              .form = FORM_OPERANDS,      \
                              .commutative = COMMUTATIVE, \
                              .infer = RULE,              \
                              .eval = eval_##id,          \
                              .vjp = vjp_##id,            \
                              .expr = TEXT,               \
                              .test_lo = LO,              \
                              .test_hi = HI};

/* --- add: on i1 it is "or" --- */
KERNEL_BINARY(add_f, double, a + b)
KERNEL_BINARY(add_i, int64_t, (int64_t)((uint64_t)a + (uint64_t)b))
KERNEL_BINARY(add_b, int64_t, a | b)
KERNEL_BINARY(add_c, complex_t, a + b)
static int eval_add(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    static const map_kernel_t number = {add_f, add_i, add_i, add_c}, boolean = {.s = add_b};
    (void)ev, (void)op, (void)err;
    return eval_map(out->type.dtype == DT_I1 ? &boolean : &number, 2, in, out);
}
VJP_BINARY(add, g, g)
BINARY(add, infer_map_any, true, "pcp_add_$t($0, $1)", 0, 0)

/* --- subtract --- */
KERNEL_BINARY(subtract_f, double, a - b)
KERNEL_BINARY(subtract_i, int64_t, (int64_t)((uint64_t)a - (uint64_t)b))
KERNEL_BINARY(subtract_c, complex_t, a - b)
EVAL_MAP(subtract, 2, subtract_f, subtract_i, subtract_i, subtract_c)
VJP_BINARY(subtract, g, NEG(g))
BINARY(subtract, infer_map_number, false, "($0 - $1)", 0, 0)

/* --- multiply: on i1 it is "and", which the product of bits is --- */
static int64_t multiply_wrap(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
KERNEL_BINARY(multiply_f, double, (a) * (b))
KERNEL_BINARY(multiply_i, int64_t, multiply_wrap(a, b))
KERNEL_BINARY(multiply_c, complex_t, pcp_complex_mul(a, b))
EVAL_MAP(multiply, 2, multiply_f, multiply_i, multiply_i, multiply_c)
VJP_BINARY(multiply, MUL(g, b), MUL(g, a))
BINARY(multiply, infer_map_any, true, "($0 * $1)", 0, 0)

/* --- divide: integers truncate; by zero -1 (all bits set), as XLA; smallest / -1 wraps.
 * da = g / b; db = -(g / b) y --- */
KERNEL_BINARY(divide_f, double, a / b)
KERNEL_BINARY(divide_s, int64_t, b == 0 ? -1 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b)
KERNEL_BINARY(divide_u, int64_t, b == 0 ? -1 : (int64_t)((uint64_t)a / (uint64_t)b))
KERNEL_BINARY(divide_c, complex_t, pcp_complex_div(a, b))
EVAL_MAP(divide, 2, divide_f, divide_s, divide_u, divide_c)
VJP_BINARY(divide, DIV(g, b), NEG(MUL(DIV(g, b), y)))
BINARY(divide, infer_map_number, false, "pcp_div_$t($0, $1)", 0.5, 2)

/* --- remainder: sign of the dividend; integers by zero give the dividend, as XLA.
 * da = g; db = -g trunc(a / b), where trunc(a / b) = (a - y) / b up to rounding --- */
static int infer_remainder(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (infer_class(fn, op, 0, CLASS_NUMBER, err) < 0) return -1;
    return infer_map_number(fn, op, out, err);
}
KERNEL_BINARY(remainder_f, double, fmod(a, b))
KERNEL_BINARY(remainder_s, int64_t, b == 0 ? a : b == -1 ? 0 : a % b)
KERNEL_BINARY(remainder_u, int64_t, b == 0 ? a : (int64_t)((uint64_t)a % (uint64_t)b))
EVAL_MAP(remainder, 2, .f = remainder_f, .s = remainder_s, .u = remainder_u)
VJP_BINARY(remainder, g, NEG(MUL(g, APPLY(round_nearest_even, DIV(SUB(a, y), b)))))
BINARY(remainder, infer_remainder, false, "pcp_rem_$t($0, $1)", 0.5, 2)

/* --- maximum, minimum: NaN wins, -0 < +0; on i1 "or" and "and"; complex numbers by real parts,
 * then imaginary ones, as compare has them. The larger (smaller) operand gets g; on a tie each gets
 * half, as JAX and torch --- */
static bool complex_greater(complex_t a, complex_t b)
{
    return creal(a) > creal(b) || (creal(a) == creal(b) && cimag(a) > cimag(b));
}
KERNEL_BINARY(maximum_f, double,
              isnan(a) || isnan(b) ? a + b
              : a == b             ? (signbit(a) ? b : a)
              : a > b              ? a
                                   : b)
KERNEL_BINARY(maximum_s, int64_t, a > b ? a : b)
KERNEL_BINARY(maximum_u, int64_t, (uint64_t)a > (uint64_t)b ? a : b)
KERNEL_BINARY(maximum_c, complex_t, complex_greater(a, b) ? a : b)
EVAL_MAP(maximum, 2, maximum_f, maximum_s, maximum_u, maximum_c)

KERNEL_BINARY(minimum_f, double,
              isnan(a) || isnan(b) ? a + b
              : a == b             ? (signbit(a) ? a : b)
              : a < b              ? a
                                   : b)
KERNEL_BINARY(minimum_s, int64_t, a < b ? a : b)
KERNEL_BINARY(minimum_u, int64_t, (uint64_t)a < (uint64_t)b ? a : b)
KERNEL_BINARY(minimum_c, complex_t, complex_greater(b, a) ? a : b)
EVAL_MAP(minimum, 2, minimum_f, minimum_s, minimum_u, minimum_c)

/* g where p wins, half where p == q, else nothing. */
static ir_val_t winner_ct(ir_fn_t *fn, const char *wins, ir_val_t p, ir_val_t q, ir_val_t g)
{
    ir_val_t share = SELECT(CMP(p, "EQ", q), SCALE(0.5, g), NUM(g, 0));
    return SELECT(CMP(p, wins, q), g, share);
}
VJP_BINARY(maximum, winner_ct(fn, "GT", a, b, g), winner_ct(fn, "GT", b, a, g))
VJP_BINARY(minimum, winner_ct(fn, "LT", a, b, g), winner_ct(fn, "LT", b, a, g))
BINARY(maximum, infer_map_any, true, "pcp_max_$t($0, $1)", 0, 0)
BINARY(minimum, infer_map_any, true, "pcp_min_$t($0, $1)", 0, 0)

/* --- power: integers by squaring, wrapping; a negative exponent truncates the inverse towards
 * zero. da = g b a^(b-1), 0 where b == 0; db = g y log a, log taken as 0 where a == 0 --- */
static int64_t power_int(int64_t a, int64_t b)
{
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    uint64_t y = 1, square = (uint64_t)a;
    for (uint64_t rest = (uint64_t)b; rest; rest >>= 1, square *= square)
        if (rest & 1) y *= square;
    return (int64_t)y;
}

static int64_t power_uint(int64_t a, int64_t b)
{
    uint64_t y = 1, square = (uint64_t)a;
    for (uint64_t rest = (uint64_t)b; rest; rest >>= 1, square *= square)
        if (rest & 1) y *= square;
    return (int64_t)y;
}
KERNEL_BINARY(power_f, double, pow(a, b))
KERNEL_BINARY(power_s, int64_t, power_int(a, b))
KERNEL_BINARY(power_u, int64_t, power_uint(a, b))
KERNEL_BINARY(power_c, complex_t, pcp_complex_pow(a, b))
EVAL_MAP(power, 2, power_f, power_s, power_u, power_c)

/* The exponent when it is one small natural number everywhere, looking through broadcasts and
 * conversions of a constant; 0 otherwise. */
static int small_exponent(const ir_fn_t *fn, ir_val_t b)
{
    const ir_op_t *def = ir_def(fn, b);
    while (def && (def->code == OP_broadcast_in_dim || def->code == OP_convert))
        def = ir_def(fn, def->in[0]);
    const tensor_t *value = def ? ir_const_of(fn, def->out) : NULL;
    if (!value || !(value->splat || ir_type_count(&value->type) == 1)) return 0;
    double p = tensor_get_f64(value, 0);
    return p == 1 || p == 2 || p == 3 || p == 4 ? (int)p : 0;
}

/* log taken as 0 where a is 0. */
static ir_val_t safe_log(ir_fn_t *fn, ir_val_t a)
{
    return SELECT(CMP(a, "EQ", NUM(a, 0)), NUM(a, 0), APPLY(log, a));
}

static ir_val_t power_ct_base(ir_fn_t *fn, const vjp_t *v, ir_val_t a, ir_val_t b, ir_val_t g)
{
    int p = small_exponent(fn, v->op->in[1]);
    if (p > 0) {
        ir_val_t slope = p == 1 ? g : SCALE(p, g);
        for (int i = 1; i < p; i++) slope = MUL(slope, a);
        return slope;
    }
    ir_val_t less = ir_op2(fn, OP_power, a, SUB(b, NUM(b, 1)));
    return SELECT(CMP(b, "EQ", NUM(b, 0)), NUM(g, 0), MUL(g, MUL(b, less)));
}

VJP_BINARY(power, power_ct_base(fn, v, a, b, g), MUL(MUL(g, y), safe_log(fn, a)))
BINARY(power, infer_map_number, false, "pcp_pow_$t($0, $1)", 0.5, 2)

/* --- atan2(a, b): da = g b / (a^2 + b^2); db = -g a / (a^2 + b^2) --- */
KERNEL_BINARY(atan2_f, double, atan2(a, b))
KERNEL_BINARY(atan2_c, complex_t, pcp_complex_atan2(a, b))
EVAL_MAP(atan2, 2, .f = atan2_f, .c = atan2_c)
VJP_BINARY(atan2, DIV(MUL(g, b), ADD(SQUARE(a), SQUARE(b))),
           NEG(DIV(MUL(g, a), ADD(SQUARE(a), SQUARE(b)))))
BINARY(atan2, infer_map_inexact, false, "pcp_atan2_$t($0, $1)", 0.5, 2)
