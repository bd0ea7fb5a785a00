/* Rules for element-wise ops: neutral elements, sign changes, conversions, powers, selections.
 *
 * Not bit for bit: x + 0 keeps x, so that -0 + 0 stays -0; power(x, 3) is x*x*x (two roundings);
 * power(x, 0.5) and power(x, -0.5) are sqrt and rsqrt, which differ at -0 and -Inf. x * 0 is not a
 * rule for floats: NaN and Inf times 0 are NaN. */
#include <math.h>

#include "base/small_float.h"

#include "passes/rules.h"

static bool is_float(const match_t *m)
{
    return dtype_is_float(m->type.dtype);
}

/* --- add, subtract, multiply, divide, negate --- */

static ir_val_t add_zero(const match_t *m)
{
    if (match_splat(m, 1, 0)) return m->in[0];
    return match_splat(m, 0, 0) ? m->in[1] : IR_NONE;
}

static ir_val_t add_negated(const match_t *m)
{
    const ir_op_t *b = match_def(m, 1, OP_negate), *a = match_def(m, 0, OP_negate);
    if (b) return ir_op2(m->fn, OP_subtract, m->in[0], b->in[0]);
    return a ? ir_op2(m->fn, OP_subtract, m->in[1], a->in[0]) : IR_NONE;
}

static ir_val_t subtract_zero(const match_t *m)
{
    return match_splat(m, 1, 0) ? m->in[0] : IR_NONE;
}

static ir_val_t subtract_negated(const match_t *m)
{
    const ir_op_t *b = match_def(m, 1, OP_negate);
    return b ? ir_op2(m->fn, OP_add, m->in[0], b->in[0]) : IR_NONE;
}

static ir_val_t multiply_constant(const match_t *m)
{
    for (int i = 0; i < 2; i++) {
        if (match_splat(m, i, 1)) return m->in[1 - i];
        if (match_splat(m, i, 0) && !is_float(m)) return m->in[i];
        if (match_splat(m, i, -1) && is_float(m)) return ir_op1(m->fn, OP_negate, m->in[1 - i]);
    }
    return IR_NONE;
}

/* The largest k for which 2^k and 2^-k are both normal numbers; f64 is no wider than f32 here. */
static int power_limit(const dtype_format_t *f)
{
    int top = (1 << f->exp_bits) - 1 - f->bias - (f->kind == SMALL_FLOAT_IEEE);
    int limit = top < f->bias - 1 ? top : f->bias - 1;
    return limit < 126 ? limit : 126;
}

/* x / 2^k = x * 2^-k, exactly, while 2^-k is a normal number. */
static ir_val_t divide_constant(const match_t *m)
{
    double value;
    int exponent;
    if (match_splat(m, 1, 1)) return m->in[0];
    if (!is_float(m) || !match_constant(m, 1, &value) || !isfinite(value)) return IR_NONE;
    int limit = power_limit(dtype_format(m->type.dtype));
    if (fabs(frexp(value, &exponent)) != 0.5 || exponent - 1 > limit || exponent - 1 < -limit)
        return IR_NONE;
    return ir_op2(m->fn, OP_multiply, m->in[0], ir_scalar_like(m->fn, m->in[1], 1 / value));
}

static ir_val_t undo_self(const match_t *m)
{
    const ir_op_t *inner = match_def(m, 0, m->op->code);
    return inner ? inner->in[0] : IR_NONE;
}

static ir_val_t same_operands(const match_t *m)
{
    return m->in[0] == m->in[1] ? m->in[0] : IR_NONE;
}

/* --- bits: "and" and "or" with all bits or none --- */

static ir_val_t bits_constant(const match_t *m)
{
    double ones = m->type.dtype == DT_I1 || !dtype_is_signed(m->type.dtype)
                      ? ldexp(1, dtype_bits(m->type.dtype)) - 1
                      : -1;
    double neutral = m->op->code == OP_and ? ones : 0, absorbing = m->op->code == OP_and ? 0 : ones;
    for (int i = 0; i < 2; i++) {
        if (match_splat(m, i, neutral)) return m->in[1 - i];
        if (match_splat(m, i, absorbing)) return m->in[i];
    }
    return IR_NONE;
}

/* --- convert --- */

static int mantissa_bits(dtype_t dtype)
{
    return dtype_format(dtype)->man_bits + 1;
}

/* Every value of a is a value of b. */
static bool is_exact(dtype_t a, dtype_t b)
{
    if (dtype_is_complex(a) && !dtype_is_complex(b)) return false;
    a = dtype_part(a), b = dtype_part(b);
    if (a == b) return true;
    if (b == DT_I1 || dtype_is_small(b)) return false;
    if (a == DT_I1) return true;
    if (dtype_is_float(a))
        return dtype_is_float(b) && dtype_bits(b) > dtype_bits(a) && dtype_bits(b) >= 32;
    int bits = dtype_bits(a) - dtype_is_signed(a);
    if (dtype_is_float(b)) return bits <= mantissa_bits(b);
    if (dtype_is_signed(a) && !dtype_is_signed(b)) return false;
    return bits <= dtype_bits(b) - dtype_is_signed(b);
}

static ir_val_t convert_same(const match_t *m)
{
    return match_keep(m, 0);
}

/* a -> b -> c is a -> c when the first step loses nothing. */
static ir_val_t convert_chain(const match_t *m)
{
    const ir_op_t *inner = match_def(m, 0, OP_convert);
    if (!inner) return IR_NONE;
    dtype_t a = ir_type_of(m->fn, inner->in[0])->dtype, b = ir_type_of(m->fn, m->in[0])->dtype;
    return is_exact(a, b) ? ir_convert(m->fn, inner->in[0], m->type.dtype) : IR_NONE;
}

/* --- power with a constant exponent --- */

static ir_val_t power_constant(const match_t *m)
{
    double p;
    if (!match_constant(m, 1, &p)) return IR_NONE;
    ir_fn_t *fn = m->fn;
    ir_val_t x = m->in[0];
    if (p == 0) return ir_splat(fn, &m->type, 1);
    if (p == 1) return x;
    if (p == 2) return ir_op2(fn, OP_multiply, x, x);
    bool is_half = dtype_is_narrow(m->type.dtype); /* would round twice, coarsely */
    if (p == 3 && !is_half) return ir_op2(fn, OP_multiply, ir_op2(fn, OP_multiply, x, x), x);
    if (!is_float(m)) return IR_NONE;
    if (p == -1) return ir_op2(fn, OP_divide, ir_splat(fn, &m->type, 1), x);
    if (p == 0.5) return ir_op1(fn, OP_sqrt, x);
    return p == -0.5 ? ir_op1(fn, OP_rsqrt, x) : IR_NONE;
}

/* --- select --- */

static ir_val_t select_constant(const match_t *m)
{
    if (m->in[1] == m->in[2] || match_splat(m, 0, 1)) return m->in[1];
    return match_splat(m, 0, 0) ? m->in[2] : IR_NONE;
}

static ir_val_t select_not(const match_t *m)
{
    const ir_op_t *inverse = match_def(m, 0, OP_not);
    return inverse ? ir_select(m->fn, inverse->in[0], m->in[2], m->in[1]) : IR_NONE;
}

const rule_t rules_arith[] = {
    {OP_add, add_zero},
    {OP_add, add_negated},
    {OP_subtract, subtract_zero},
    {OP_subtract, subtract_negated},
    {OP_multiply, multiply_constant},
    {OP_divide, divide_constant},
    {OP_negate, undo_self},
    {OP_not, undo_self},
    {OP_maximum, same_operands},
    {OP_minimum, same_operands},
    {OP_and, same_operands},
    {OP_or, same_operands},
    {OP_and, bits_constant},
    {OP_or, bits_constant},
    {OP_convert, convert_same},
    {OP_convert, convert_chain},
    {OP_power, power_constant},
    {OP_select, select_constant},
    {OP_select, select_not},
    {OP_invalid, NULL},
};
