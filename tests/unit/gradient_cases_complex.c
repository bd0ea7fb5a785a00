/* Gradient cases of ops that make complex numbers and take them apart. */
#include "gradient_cases.h"

static void build_select(ir_fn_t *fn)
{
    ir_val_t a = ir_fn_param(fn, 0), b = ir_fn_param(fn, 1);
    ir_select(fn, ir_compare(fn, "LT", a, b), a, b);
}

static void build_convert_narrow(ir_fn_t *fn)
{
    ir_convert(fn, ir_fn_param(fn, 0), DT_F64); /* drops the imaginary part */
}

static void build_convert_wide(ir_fn_t *fn)
{
    ir_convert(fn, ir_fn_param(fn, 0), DT_C128);
}

static void build_clamp(ir_fn_t *fn)
{
    ir_val_t x = ir_fn_param(fn, 1);
    ir_op3(fn, OP_clamp, ir_fn_param(fn, 0), x, ir_fn_param(fn, 2));
}

static void build_power_right(ir_fn_t *fn)
{
    ir_op2(fn, OP_power, ir_fn_param(fn, 0), ir_scalar_like(fn, ir_fn_param(fn, 0), 3));
}

static void build_reduce_add(ir_fn_t *fn)
{
    ir_reduce(fn, OP_add, ir_fn_param(fn, 0), (const int64_t[]){0, 2}, 2);
}

static void build_reduce_multiply(ir_fn_t *fn)
{
    ir_reduce(fn, OP_multiply, ir_fn_param(fn, 0), (const int64_t[]){1}, 1);
}

static void build_matmul(ir_fn_t *fn)
{
    ir_matmul(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1));
}

const gradient_case_t gradient_cases_complex[] = {
    {OP_complex, "join", {F64(3, 2), F64(3, 2)}, 0, 0, NULL},
    {OP_real, "of complex", {C128(3, 2)}, 0, 0, NULL},
    {OP_imag, "of complex", {C128(3, 2)}, 0, 0, NULL},
    {OP_real, "of real", {F64(3, 2)}, 0, 0, NULL},
    {OP_imag, "of real", {F64(3, 2)}, 0, 0, NULL},
    {OP_abs, "in every quadrant", {C128(4, 4)}, 0, 0, NULL},
    {OP_sign, "in every quadrant", {C128(4, 4)}, 0, 0, NULL},
    {OP_divide, "in every quadrant", {C128(4, 4), C128(4, 4)}, 0, 0, NULL},
    {OP_chlo_acosh, "in every quadrant", {C128(4, 4)}, 0, 0, NULL},
    {OP_chlo_asinh, "in every quadrant", {C128(4, 4)}, 0, 0, NULL},
    {OP_chlo_atanh, "in every quadrant", {C128(4, 4)}, 0, 0, NULL},
    {OP_sqrt, "in every quadrant", {C128(4, 4)}, 0, 0, NULL},
    {OP_log_plus_one, "in every quadrant", {C128(4, 4)}, 0, 0, NULL},
    {OP_power, "constant exponent", {C128(4, 4)}, 0, 0, build_power_right},
    {OP_select, "by order", {C128(4, 4), C128(4, 4)}, 0, 0, build_select},
    {OP_convert, "to real", {C128(4)}, 0, 0, build_convert_narrow},
    {OP_convert, "from real", {F64(4)}, 0, 0, build_convert_wide},
    {OP_clamp, "by order", {C128(6), C128(6), C128(6)}, 0, 0, build_clamp},
    {OP_reduce, "sum", {C128(2, 3, 4)}, 0, 0, build_reduce_add},
    {OP_reduce, "product", {C128(2, 3, 4)}, 0, 0, build_reduce_multiply},
    {OP_dot_general, "matmul", {C128(2, 3), C128(3, 4)}, 0, 0, build_matmul},
};
const int n_gradient_cases_complex = sizeof gradient_cases_complex / sizeof *gradient_cases_complex;
