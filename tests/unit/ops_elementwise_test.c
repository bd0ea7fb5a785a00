/* Element-wise ops at their edges, by hand: integer wrap and division, shifts, NaN and signed zero,
 * conversions, total order, rounding, random bits. Expected values are StableHLO's specification
 * and XLA's documented behaviour. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ops/special.h"
#include "ops_help.h"

#define D(...) ((const double[]){__VA_ARGS__})
#define I(...) ((const int64_t[]){__VA_ARGS__})

/* op(a[, b]) on floats of a type, compared bit for bit in double (NaN with NaN). */
static void expect_floats(op_code_t op, dtype_t dtype, int n, const double *a, const double *b,
                          const double *want)
{
    err_t err = {0};
    tensor_t in[2] = {help_floats(dtype, n, a)}, out;
    if (b) in[1] = help_floats(dtype, n, b);
    if (help_run(op, b ? 2 : 1, in, 0, NULL, 1, NULL, &out, &err) < 0) fail_msg("%s", err.text);
    for (int i = 0; i < n; i++) {
        double got = tensor_get_f64(&out, i);
        bool same = isnan(want[i]) ? isnan(got)
                                   : got == want[i] && signbit(got) == signbit(want[i]);
        if (!same)
            fail_msg("%s %s element %d: got %.17g, expected %.17g", op_def(op)->name,
                     dtype_name(dtype), i, got, want[i]);
    }
    tensor_fini(&in[0]);
    if (b) tensor_fini(&in[1]);
    tensor_fini(&out);
}

static void expect_ints(op_code_t op, dtype_t dtype, int n, const int64_t *a, const int64_t *b,
                        const int64_t *want)
{
    err_t err = {0};
    tensor_t in[2] = {help_ints(dtype, n, a)}, out;
    if (b) in[1] = help_ints(dtype, n, b);
    if (help_run(op, b ? 2 : 1, in, 0, NULL, 1, NULL, &out, &err) < 0) fail_msg("%s", err.text);
    for (int i = 0; i < n; i++)
        if (tensor_get_i64(&out, i) != want[i])
            fail_msg("%s %s element %d: got %lld, expected %lld", op_def(op)->name,
                     dtype_name(dtype), i, (long long)tensor_get_i64(&out, i), (long long)want[i]);
    tensor_fini(&in[0]);
    if (b) tensor_fini(&in[1]);
    tensor_fini(&out);
}

static void test_integers_wrap(void **state)
{
    (void)state;
    expect_ints(OP_add, DT_I8, 2, I(127, -128), I(1, -1), I(-128, 127));
    expect_ints(OP_add, DT_UI8, 1, I(255), I(2), I(1));
    expect_ints(OP_add, DT_I2, 2, I(1, -2), I(1, -1), I(-2, 1));
    expect_ints(OP_add, DT_UI4, 1, I(15), I(2), I(1));
    expect_ints(OP_add, DT_I1, 4, I(0, 0, 1, 1), I(0, 1, 0, 1), I(0, 1, 1, 1));
    expect_ints(OP_multiply, DT_I1, 4, I(0, 0, 1, 1), I(0, 1, 0, 1), I(0, 0, 0, 1));
    expect_ints(OP_subtract, DT_UI16, 1, I(0), I(1), I(65535));
    expect_ints(OP_multiply, DT_I64, 1, I(INT64_MAX), I(2), I(-2));
    expect_ints(OP_negate, DT_I32, 2, I(INT32_MIN, 5), NULL, I(INT32_MIN, -5));
    expect_ints(OP_abs, DT_I64, 2, I(INT64_MIN, -3), NULL, I(INT64_MIN, 3));
    expect_ints(OP_sign, DT_I16, 3, I(-7, 0, 9), NULL, I(-1, 0, 1));
}

static void test_integer_division(void **state)
{
    (void)state;
    expect_ints(OP_divide, DT_I32, 4, I(7, -7, 5, INT32_MIN), I(2, 2, 0, -1),
                I(3, -3, -1, INT32_MIN));
    expect_ints(OP_divide, DT_I64, 2, I(INT64_MIN, 1), I(-1, 0), I(INT64_MIN, -1));
    expect_ints(OP_divide, DT_UI8, 2, I(200, 9), I(3, 0), I(66, 255));
    expect_ints(OP_divide, DT_UI64, 1, I(-1), I(2), I(INT64_MAX));
    expect_ints(OP_remainder, DT_I32, 4, I(7, -7, 5, INT32_MIN), I(3, 3, 0, -1), I(1, -1, 5, 0));
    expect_ints(OP_remainder, DT_UI64, 2, I(-1, 6), I(10, 0), I(5, 6));
    expect_ints(OP_power, DT_I32, 5, I(3, -2, 2, -1, 0), I(4, 3, -1, -3, 0), I(81, -8, 0, -1, 1));
    expect_ints(OP_power, DT_UI8, 1, I(3), I(6), I(217));
}

static void test_shifts_and_counts(void **state)
{
    (void)state;
    expect_ints(OP_shift_left, DT_I8, 4, I(1, 1, 1, 3), I(7, 8, -1, 1), I(-128, 0, 0, 6));
    expect_ints(OP_shift_right_logical, DT_I8, 3, I(-1, -1, -128), I(1, 8, 7), I(127, 0, 1));
    expect_ints(OP_shift_right_arithmetic, DT_I8, 3, I(-128, -1, 64), I(9, 1, 100), I(-1, -1, 0));
    expect_ints(OP_shift_right_arithmetic, DT_UI8, 2, I(0x80, 0x40), I(3, 3), I(0xF0, 8));
    expect_ints(OP_shift_left, DT_UI64, 2, I(1, 1), I(63, 64), I(INT64_MIN, 0));
    expect_ints(OP_popcnt, DT_I8, 2, I(-1, 5), NULL, I(8, 2));
    expect_ints(OP_popcnt, DT_I4, 1, I(-1), NULL, I(4));
    expect_ints(OP_count_leading_zeros, DT_UI16, 3, I(0, 1, 0xFFFF), NULL, I(16, 15, 0));
    expect_ints(OP_count_leading_zeros, DT_I64, 2, I(0, -1), NULL, I(64, 0));
    expect_ints(OP_not, DT_I1, 2, I(0, 1), NULL, I(1, 0));
    expect_ints(OP_not, DT_UI4, 1, I(5), NULL, I(10));
    expect_ints(OP_xor, DT_I32, 1, I(-1), I(1), I(-2));
}

static void test_float_edges(void **state)
{
    (void)state;
    double nan = NAN, inf = INFINITY;
    for (dtype_t t = DT_F16; t <= DT_F64; t++) {
        expect_floats(OP_maximum, t, 5, D(nan, 1, -0.0, 0.0, -inf), D(1, nan, 0.0, -0.0, 2),
                      D(nan, nan, 0.0, 0.0, 2));
        expect_floats(OP_minimum, t, 5, D(nan, 1, -0.0, 0.0, inf), D(1, nan, 0.0, -0.0, 2),
                      D(nan, nan, -0.0, -0.0, 2));
        expect_floats(OP_sign, t, 4, D(nan, -0.0, 3, -inf), NULL, D(nan, -0.0, 1, -1));
        expect_floats(OP_divide, t, 3, D(1, -1, 0), D(0.0, 0.0, 0.0), D(inf, -inf, nan));
        expect_floats(OP_round_nearest_afz, t, 4, D(0.5, -0.5, 2.5, -1.25), NULL, D(1, -1, 3, -1));
        expect_floats(OP_round_nearest_even, t, 4, D(0.5, -0.5, 2.5, 3.5), NULL,
                      D(0.0, -0.0, 2, 4));
        expect_floats(OP_ceil, t, 2, D(-0.5, 1.25), NULL, D(-0.0, 2));
        expect_floats(OP_remainder, t, 3, D(5.5, -5.5, 1), D(2, 2, 0.0), D(1.5, -1.5, nan));
        expect_floats(OP_power, t, 4, D(-2, 0, nan, 4), D(3, 0, 0, 0.5), D(-8, 1, 1, 2));
        expect_floats(OP_negate, t, 2, D(0.0, nan), NULL, D(-0.0, nan));
        expect_floats(OP_log, t, 3, D(0.0, -1, 1), NULL, D(-inf, nan, 0));
    }
    /* Subnormals survive, sums round once to nearest even. */
    expect_floats(OP_add, DT_F32, 2, D(0x1p-149, 1), D(0x1p-149, 0x1p-24), D(0x1p-148, 1));
    expect_floats(OP_add, DT_BF16, 2, D(1, 256), D(0x1p-8, 1), D(1, 256));
    expect_floats(OP_multiply, DT_F16, 2, D(256, 0x1p-12), D(256, 0x1p-12), D(inf, 0x1p-24));
}

static void test_splats_and_blocks(void **state)
{
    (void)state;
    err_t err = {0};
    ir_type_t type = ir_type(DT_F32, 2, (const int64_t[]){7, 301}); /* not a multiple of a block */
    tensor_t in[2] = {tensor_new(&type), tensor_new(&type)}, out;
    for (int64_t i = 0; i < 7 * 301; i++) tensor_set_f64(&in[0], i, (double)i);
    tensor_set_f64(&in[1], 0, 0.5);
    in[1].splat = true;
    assert_int_equal(help_run(OP_multiply, 2, in, 0, NULL, 1, NULL, &out, &err), 0);
    assert_false(out.splat);
    for (int64_t i = 0; i < 7 * 301; i++)
        if (tensor_get_f64(&out, i) != 0.5 * (double)i) fail_msg("element %lld", (long long)i);
    tensor_fini(&out);
    tensor_t both[2] = {in[1], in[1]};
    assert_int_equal(help_run(OP_add, 2, both, 0, NULL, 1, NULL, &out, &err), 0);
    assert_true(tensor_get_f64(&out, 2106) == 1.0);
    tensor_fini(&out);
    tensor_fini(&in[0]);
    tensor_fini(&in[1]);
}

/* --- convert --- */
static tensor_t converted(const tensor_t *x, dtype_t to)
{
    err_t err = {0};
    ir_type_t type = ir_type_with(x->type, to);
    tensor_t out;
    if (help_run(OP_convert, 1, x, 0, NULL, 1, &type, &out, &err) < 0) fail_msg("%s", err.text);
    return out;
}

static void expect_float_to_int(dtype_t from, dtype_t to, int n, const double *x,
                                const int64_t *want)
{
    tensor_t in = help_floats(from, n, x), out = converted(&in, to);
    for (int i = 0; i < n; i++)
        if (tensor_get_i64(&out, i) != want[i])
            fail_msg("%s %g to %s: got %lld, expected %lld", dtype_name(from), x[i], dtype_name(to),
                     (long long)tensor_get_i64(&out, i), (long long)want[i]);
    tensor_fini(&in);
    tensor_fini(&out);
}

static void expect_int_to_float(dtype_t from, dtype_t to, int64_t x, double want)
{
    tensor_t in = help_ints(from, 1, &x), out = converted(&in, to);
    if (tensor_get_f64(&out, 0) != want)
        fail_msg("%s %lld to %s: got %.17g, expected %.17g", dtype_name(from), (long long)x,
                 dtype_name(to), tensor_get_f64(&out, 0), want);
    tensor_fini(&in);
    tensor_fini(&out);
}

static void test_convert(void **state)
{
    (void)state;
    expect_float_to_int(DT_F32, DT_I8, 6, D(-1.9, 1.9, 300, -300, NAN, -128.9),
                        I(-1, 1, 127, -128, 0, -128));
    expect_float_to_int(DT_F64, DT_I64, 4, D(1e19, -1e19, 0x1p62, -0x1p63),
                        I(INT64_MAX, INT64_MIN, (int64_t)1 << 62, INT64_MIN));
    expect_float_to_int(DT_F64, DT_UI64, 4, D(0x1p63, 1e20, -3, 2.9), I(INT64_MIN, -1, 0, 2));
    expect_float_to_int(DT_F32, DT_UI2, 3, D(3.5, 9, -1), I(3, 3, 0));
    expect_float_to_int(DT_F32, DT_I2, 3, D(1.5, 9, -9), I(1, 1, -2));
    expect_float_to_int(DT_BF16, DT_I1, 4, D(0, -0.0, 0.25, NAN), I(0, 0, 1, 1));
    expect_int_to_float(DT_I64, DT_F32, ((int64_t)1 << 60) + ((int64_t)1 << 36) + 1,
                        0x1.000002p60); /* just above half an ulp: one rounding goes up */
    expect_int_to_float(DT_I64, DT_F32, -(((int64_t)1 << 60) + ((int64_t)1 << 36)), -0x1p60);
    expect_int_to_float(DT_UI64, DT_F64, -1, 0x1p64);
    expect_int_to_float(DT_UI8, DT_BF16, 255, 255);
    expect_int_to_float(DT_I1, DT_F16, 1, 1);
    tensor_t wide = help_ints(DT_I32, 2, I(0x1FF, -129)), narrow = converted(&wide, DT_I8);
    assert_int_equal(tensor_get_i64(&narrow, 0), -1);
    assert_int_equal(tensor_get_i64(&narrow, 1), 127);
    tensor_fini(&wide);
    tensor_fini(&narrow);
}

static void test_reduce_precision(void **state)
{
    (void)state;
    err_t err = {0};
    help_attr_t attrs[] = {{"exponent_bits", NULL, 5}, {"mantissa_bits", NULL, 2}};
    tensor_t out, in = help_floats(DT_F32, 6, D(1.125, 1.375, 1e6, 1e-6, -NAN, -57344.0));
    assert_int_equal(help_run(OP_reduce_precision, 1, &in, 2, attrs, 1, NULL, &out, &err), 0);
    const double want[] = {1.0, 1.5, INFINITY, 0, NAN, -57344.0};
    for (int i = 0; i < 6; i++) {
        double got = tensor_get_f64(&out, i);
        if (isnan(want[i]) ? !isnan(got) : got != want[i])
            fail_msg("element %d: got %g, expected %g", i, got, want[i]);
    }
    tensor_fini(&in);
    tensor_fini(&out);
}

/* --- compare, clamp, select --- */
static void expect_compare(const char *direction, const char *kind, const double *a,
                           const double *b, int n, const int64_t *want)
{
    err_t err = {0};
    help_attr_t attrs[] = {{"comparison_direction", direction, 0}, {"compare_type", kind, 0}};
    tensor_t in[2] = {help_floats(DT_F32, n, a), help_floats(DT_F32, n, b)}, out;
    if (help_run(OP_compare, 2, in, 2, attrs, 1, NULL, &out, &err) < 0) fail_msg("%s", err.text);
    for (int i = 0; i < n; i++)
        if (tensor_get_i64(&out, i) != want[i])
            fail_msg("compare %s %s element %d", direction, kind, i);
    tensor_fini(&in[0]);
    tensor_fini(&in[1]);
    tensor_fini(&out);
}

static void test_compare(void **state)
{
    (void)state;
    const double *a = D(NAN, -0.0, 1, -INFINITY), *b = D(NAN, 0.0, NAN, -1);
    expect_compare("EQ", "FLOAT", a, b, 4, I(0, 1, 0, 0));
    expect_compare("NE", "FLOAT", a, b, 4, I(1, 0, 1, 1));
    expect_compare("LE", "FLOAT", a, b, 4, I(0, 1, 0, 1));
    expect_compare("EQ", "TOTALORDER", a, b, 4, I(1, 0, 0, 0));
    expect_compare("LT", "TOTALORDER", a, b, 4, I(0, 1, 1, 1));
    expect_compare("LT", "TOTALORDER", D(-NAN, -NAN), D(-INFINITY, NAN), 2, I(1, 1));
    err_t err = {0};
    help_attr_t gt = {"comparison_direction", "GT", 0};
    tensor_t in[2] = {help_ints(DT_UI64, 1, I(-1)), help_ints(DT_UI64, 1, I(1))}, out;
    assert_int_equal(help_run(OP_compare, 2, in, 1, &gt, 1, NULL, &out, &err), 0);
    assert_int_equal(tensor_get_i64(&out, 0), 1);
    tensor_fini(&out);
    help_attr_t wrong[] = {gt, {"compare_type", "FLOAT", 0}};
    assert_int_equal(help_run(OP_compare, 2, in, 2, wrong, 1, NULL, &out, &err), -1);
    assert_non_null(strstr(err.text, "compare_type FLOAT does not fit ui64"));
    tensor_fini(&in[0]);
    tensor_fini(&in[1]);
}

static void test_clamp_keeps_nan(void **state)
{
    (void)state;
    err_t err = {0};
    ir_type_t scalar = ir_type_scalar(DT_F32);
    tensor_t lo = tensor_new(&scalar), hi = tensor_new(&scalar), out;
    tensor_set_f64(&lo, 0, -1);
    tensor_set_f64(&hi, 0, 1);
    tensor_t in[3] = {lo, help_floats(DT_F32, 4, D(NAN, -5, 0.5, 7)), hi};
    assert_int_equal(help_run(OP_clamp, 3, in, 0, NULL, 1, NULL, &out, &err), 0);
    assert_true(isnan(tensor_get_f64(&out, 0)));
    assert_true(tensor_get_f64(&out, 1) == -1 && tensor_get_f64(&out, 2) == 0.5 &&
                tensor_get_f64(&out, 3) == 1);
    for (int i = 0; i < 3; i++) tensor_fini(&in[i]);
    tensor_fini(&out);
}

static void test_bitcast(void **state)
{
    (void)state;
    err_t err = {0};
    ir_type_t bytes = ir_type(DT_UI8, 2, (const int64_t[]){1, 4}),
              word = ir_type(DT_F32, 1, &(int64_t){1});
    tensor_t in = help_floats(DT_F32, 1, D(1)), split, back;
    assert_int_equal(help_run(OP_bitcast_convert, 1, &in, 0, NULL, 1, &bytes, &split, &err), 0);
    assert_int_equal(tensor_get_i64(&split, 3), 0x3F); /* little end first */
    assert_int_equal(tensor_get_i64(&split, 2), 0x80);
    assert_int_equal(help_run(OP_bitcast_convert, 1, &split, 0, NULL, 1, &word, &back, &err), 0);
    assert_true(tensor_get_f64(&back, 0) == 1);
    ir_type_t wrong = ir_type(DT_UI8, 1, &(int64_t){4});
    tensor_t out;
    assert_int_equal(help_run(OP_bitcast_convert, 1, &in, 0, NULL, 1, &wrong, &out, &err), -1);
    tensor_fini(&in);
    tensor_fini(&split);
    tensor_fini(&back);
}

/* --- chlo and special functions: tables of Abramowitz & Stegun --- */
static void test_special(void **state)
{
    (void)state;
    assert_true(fabs(special_digamma(1) + 0.57721566490153286) < 1e-15);
    assert_true(fabs(special_digamma(-0.5) - 0.03648997397857652) < 1e-15);
    assert_true(isnan(special_digamma(0)) && isnan(special_digamma(-3)));
    assert_true(fabs(special_lgamma(0.5) - 0.57236494292470008) < 1e-15);
    assert_true(isinf(special_erf_inv(1)) && isnan(special_erf_inv(1.5)));
    double worst = 0;
    for (int i = -999; i < 1000; i++) {
        double x = i / 1000.0;
        worst = fmax(worst, fabs(erf(special_erf_inv(x)) - x));
    }
    if (worst > 4e-16) fail_msg("erf(erf_inv(x)) is off by %g", worst);
    double tail = 1 - 0x1p-40;
    assert_true(fabs(erfc(special_erf_inv(tail)) / 0x1p-40 - 1) < 1e-13);
}

static void test_next_after(void **state)
{
    (void)state;
    expect_floats(OP_chlo_next_after, DT_F32, 5, D(0, 1, 1, -1, NAN), D(1, 2, 0, 0, 1),
                  D(0x1p-149, 0x1.000002p0, 0x1.fffffep-1, -0x1.fffffep-1, NAN));
    expect_floats(OP_chlo_next_after, DT_BF16, 2, D(1, 3), D(-1, 3), D(0x1.FEp-1, 3));
    expect_floats(OP_chlo_next_after, DT_F16, 1, D(-0.0), D(-1), D(-0x1p-24));
}

static void test_top_k(void **state)
{
    (void)state;
    err_t err = {0};
    help_attr_t k = {"k", NULL, 3};
    tensor_t in = help_floats(DT_F32, 5, D(2, 7, -1, 7, NAN)), out[2];
    assert_int_equal(help_run(OP_chlo_top_k, 1, &in, 1, &k, 2, NULL, out, &err), 0);
    assert_true(isnan(tensor_get_f64(&out[0], 0)) && tensor_get_f64(&out[0], 2) == 7);
    assert_int_equal(tensor_get_i64(&out[1], 0), 4);
    assert_int_equal(tensor_get_i64(&out[1], 1), 1); /* ties in order */
    assert_int_equal(tensor_get_i64(&out[1], 2), 3);
    tensor_fini(&in);
    tensor_fini(&out[0]);
    tensor_fini(&out[1]);
}

/* ThreeFry-2x32-20 and Philox-4x32-10 known answers of Random123's kat_vectors: all-zero input. */
static void test_random_bits(void **state)
{
    (void)state;
    err_t err = {0};
    tensor_t state2 = help_ints(DT_UI64, 2, I(0, 0)), state3 = help_ints(DT_UI64, 3, I(0, 0, 0)),
             out[2];
    ir_type_t two[] = {state2.type, ir_type(DT_UI32, 1, &(int64_t){2})};
    help_attr_t algorithm = {"rng_algorithm", "THREE_FRY", 0};
    assert_int_equal(help_run(OP_rng_bit_generator, 1, &state2, 1, &algorithm, 2, two, out, &err),
                     0);
    assert_int_equal(tensor_get_i64(&out[1], 0), 0x6b200159);
    assert_int_equal(tensor_get_i64(&out[1], 1), 0x99ba4efe);
    assert_int_equal(tensor_get_i64(&out[0], 1), 1); /* one counter used */
    for (int i = 0; i < 2; i++) tensor_fini(&out[i]);

    ir_type_t four[] = {state3.type, ir_type(DT_UI32, 1, &(int64_t){4})};
    algorithm.text = "PHILOX";
    assert_int_equal(help_run(OP_rng_bit_generator, 1, &state3, 1, &algorithm, 2, four, out, &err),
                     0);
    const int64_t want[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    for (int i = 0; i < 4; i++) assert_int_equal(tensor_get_i64(&out[1], i), want[i]);
    for (int i = 0; i < 2; i++) tensor_fini(&out[i]);
    tensor_fini(&state2);
    tensor_fini(&state3);
}

static void test_type_rules(void **state)
{
    (void)state;
    err_t err = {0};
    tensor_t out, in[2] = {help_floats(DT_F32, 2, D(1, 2)), help_floats(DT_F32, 3, D(1, 2, 3))};
    assert_int_equal(help_run(OP_add, 2, in, 0, NULL, 1, NULL, &out, &err), -1);
    assert_int_equal(err.code, ERR_SHAPE);
    assert_non_null(strstr(err.text, "stablehlo.add"));
    assert_non_null(strstr(err.text, "tensor<2xf32>"));
    assert_non_null(strstr(err.text, "tensor<3xf32>"));
    assert_int_equal(help_run(OP_and, 1, in, 0, NULL, 1, NULL, &out, &err), -1);
    assert_int_equal(err.code, ERR_TYPE);
    tensor_fini(&in[0]);
    tensor_fini(&in[1]);
    tensor_t ints = help_ints(DT_UI8, 1, I(1));
    assert_int_equal(help_run(OP_tanh, 1, &ints, 0, NULL, 1, NULL, &out, &err), -1);
    assert_int_equal(help_run(OP_sign, 1, &ints, 0, NULL, 1, NULL, &out, &err), -1);
    tensor_fini(&ints);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_wrap),
        cmocka_unit_test(test_integer_division),
        cmocka_unit_test(test_shifts_and_counts),
        cmocka_unit_test(test_float_edges),
        cmocka_unit_test(test_splats_and_blocks),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_reduce_precision),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_clamp_keeps_nan),
        cmocka_unit_test(test_bitcast),
        cmocka_unit_test(test_special),
        cmocka_unit_test(test_next_after),
        cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_random_bits),
        cmocka_unit_test(test_type_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
