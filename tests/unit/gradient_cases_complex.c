/* Gradient cases of ops that make complex numbers and take them apart, transforms, and linear
 * algebra. */
#include "gradient_cases.h"
#include "ops/fft.h"
#include "ops/linalg.h"

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

/* --- transforms --- */

static void build_fft(ir_fn_t *fn)
{
    fft_emit(fn, ir_fn_param(fn, 0), "FFT", (const int64_t[]){3, 6}, 2);
}

static void build_ifft(ir_fn_t *fn)
{
    fft_emit(fn, ir_fn_param(fn, 0), "IFFT", (const int64_t[]){2, 3, 6}, 3);
}

static void build_rfft_even(ir_fn_t *fn)
{
    fft_emit(fn, ir_fn_param(fn, 0), "RFFT", (const int64_t[]){6}, 1);
}

static void build_rfft_odd(ir_fn_t *fn)
{
    fft_emit(fn, ir_fn_param(fn, 0), "RFFT", (const int64_t[]){3, 5}, 2);
}

static void build_irfft_even(ir_fn_t *fn)
{
    fft_emit(fn, ir_fn_param(fn, 0), "IRFFT", (const int64_t[]){3, 6}, 2);
}

static void build_irfft_odd(ir_fn_t *fn)
{
    fft_emit(fn, ir_fn_param(fn, 0), "IRFFT", (const int64_t[]){7}, 1);
}

/* --- triangular_solve, with diagonals away from 0 --- */

#define SOLVE(name, ...)                                                                \
    static void build_solve_##name(ir_fn_t *fn)                                         \
    {                                                                                   \
        solve_emit(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1), (solve_t){__VA_ARGS__}); \
    }
SOLVE(left, true, true, false, SOLVE_PLAIN)
SOLVE(left_upper, true, false, false, SOLVE_ADJOINT)
SOLVE(left_unit, true, true, true, SOLVE_TRANSPOSE)
SOLVE(right, false, false, false, SOLVE_PLAIN)
SOLVE(right_transpose, false, true, false, SOLVE_TRANSPOSE)
SOLVE(right_adjoint, false, true, true, SOLVE_ADJOINT)

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
    {OP_fft, "FFT", {C128(2, 3, 6)}, 0, 0, build_fft},
    {OP_fft, "IFFT", {C128(2, 3, 6)}, 0, 0, build_ifft},
    {OP_fft, "RFFT, even", {F64(2, 6)}, 0, 0, build_rfft_even},
    {OP_fft, "RFFT, odd", {F64(3, 5)}, 0, 0, build_rfft_odd},
    {OP_fft, "IRFFT, even", {C128(3, 4)}, 0, 0, build_irfft_even},
    {OP_fft, "IRFFT, odd", {C128(2, 4)}, 0, 0, build_irfft_odd},
    {OP_triangular_solve,
     "real left, lower",
     {F64(2, 3, 3), F64(2, 3, 2)},
     0.5,
     1,
     build_solve_left},
    {OP_triangular_solve,
     "real left, upper, adjoint",
     {F64(2, 3, 3), F64(2, 3, 2)},
     0.5,
     1,
     build_solve_left_upper},
    {OP_triangular_solve,
     "real left, unit, transpose",
     {F64(2, 3, 3), F64(2, 3, 2)},
     0.5,
     1,
     build_solve_left_unit},
    {OP_triangular_solve,
     "real right, upper",
     {F64(2, 3, 3), F64(2, 2, 3)},
     0.5,
     1,
     build_solve_right},
    {OP_triangular_solve,
     "real right, lower, transpose",
     {F64(2, 3, 3), F64(2, 2, 3)},
     0.5,
     1,
     build_solve_right_transpose},
    {OP_triangular_solve,
     "real right, unit, adjoint",
     {F64(2, 3, 3), F64(2, 2, 3)},
     0.5,
     1,
     build_solve_right_adjoint},
    {OP_triangular_solve,
     "complex left, lower",
     {C128(2, 3, 3), C128(2, 3, 2)},
     0.5,
     1,
     build_solve_left},
    {OP_triangular_solve,
     "complex left, upper, adjoint",
     {C128(2, 3, 3), C128(2, 3, 2)},
     0.5,
     1,
     build_solve_left_upper},
    {OP_triangular_solve,
     "complex left, unit, transpose",
     {C128(2, 3, 3), C128(2, 3, 2)},
     0.5,
     1,
     build_solve_left_unit},
    {OP_triangular_solve,
     "complex right, upper",
     {C128(2, 3, 3), C128(2, 2, 3)},
     0.5,
     1,
     build_solve_right},
    {OP_triangular_solve,
     "complex right, lower, transpose",
     {C128(2, 3, 3), C128(2, 2, 3)},
     0.5,
     1,
     build_solve_right_transpose},
    {OP_triangular_solve,
     "complex right, unit, adjoint",
     {C128(2, 3, 3), C128(2, 2, 3)},
     0.5,
     1,
     build_solve_right_adjoint},
};
const int n_gradient_cases_complex = sizeof gradient_cases_complex / sizeof *gradient_cases_complex;
