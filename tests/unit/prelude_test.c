/* The prelude against libm in double, and against plain definitions for integers and
 * conversions. `prelude_test` walks the f32 inputs with a stride; `prelude_test --all [name]`
 * takes every one of the 2^32 (minutes a function) and prints the figures that the header
 * states. `scripts/bench ulp` builds this file with the flags of plans, so that it measures the
 * vectorised, fused code. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "base/rng.h"
#include "codegen/prelude/prelude.h"
#include "codegen/prelude/prelude_text.h"

enum { BLOCK = 4096 };

typedef void apply_fn(const float *x, float *y, int n);

#define UNARY(name)                                                \
    static void apply_##name(const float *x, float *y, int n)      \
    {                                                              \
        for (int i = 0; i < n; i++) y[i] = pcp_##name##_f32(x[i]); \
    }
UNARY(exp)
UNARY(expm1)
UNARY(log)
UNARY(log1p)
UNARY(logistic)
UNARY(tanh)
UNARY(erf)
UNARY(erfc)
UNARY(sin)
UNARY(cos)
UNARY(tan)
UNARY(cbrt)
UNARY(atan)
UNARY(sqrt)
UNARY(rsqrt)
UNARY(ceil)
UNARY(floor)
UNARY(round)
UNARY(rint)
UNARY(abs)
UNARY(sign)
UNARY(asinh)
UNARY(lgamma)

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static double rsqrt(double x)
{
    return 1 / sqrt(x);
}

static double sign(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static const struct {
    const char *name;
    apply_fn *apply;
    double (*want)(double);
    double bound; /* ulp, as prelude_math.h states */
} unary[] = {
    {"exp", apply_exp, exp, 1.03},
    {"expm1", apply_expm1, expm1, 1.75},
    {"log", apply_log, log, 0.86},
    {"log1p", apply_log1p, log1p, 0.91},
    {"logistic", apply_logistic, logistic, 2.42},
    {"tanh", apply_tanh, tanh, 2.57},
    {"erf", apply_erf, erf, 2.25},
    {"erfc", apply_erfc, erfc, 4.8},
    {"sin", apply_sin, sin, 1.6},
    {"cos", apply_cos, cos, 1.6},
    {"tan", apply_tan, tan, 3.9},
    {"cbrt", apply_cbrt, cbrt, 0.51},
    {"atan", apply_atan, atan, 0.51},
    {"sqrt", apply_sqrt, sqrt, 0.5001},
    {"rsqrt", apply_rsqrt, rsqrt, 1.5},
    {"ceil", apply_ceil, ceil, 0},
    {"floor", apply_floor, floor, 0},
    {"round", apply_round, round, 0},
    {"rint", apply_rint, rint, 0},
    {"abs", apply_abs, fabs, 0},
    {"sign", apply_sign, sign, 0},
    {"asinh", apply_asinh, asinh, 0.5001},
    {"lgamma", apply_lgamma, lgamma, 0.5001},
};
enum { N_UNARY = sizeof unary / sizeof unary[0] };

/* Distance of y from the true value in ulps of f32; infinite when a special value differs. */
static double ulps(float y, double want)
{
    if (isnan(want)) return isnan(y) ? 0 : INFINITY;
    float nearest = (float)want;
    if (y == nearest)
        return signbit(y) != signbit(nearest) ? INFINITY : (double)y == want ? 0 : 0.5;
    if (isnan(y) || isinf(y) || isinf(nearest)) return INFINITY;
    int exponent;
    frexp(want, &exponent);
    if (exponent < -125) exponent = -125;
    return fabs((double)y - want) / ldexp(1, exponent - 24);
}

typedef struct {
    double worst;
    float at, got;
} worst_t;

static void walk(int f, uint32_t stride, worst_t *worst)
{
    float x[BLOCK], y[BLOCK];
    uint64_t bits = 0;
    *worst = (worst_t){-1, 0, 0};
    while (bits <= UINT32_MAX) {
        int n = 0;
        for (; n < BLOCK && bits <= UINT32_MAX; bits += stride)
            x[n++] = pcp_of_bits_f32((uint32_t)bits);
        unary[f].apply(x, y, n);
        for (int i = 0; i < n; i++) {
            double off = ulps(y[i], unary[f].want((double)x[i]));
            if (off > worst->worst) *worst = (worst_t){off, x[i], y[i]};
        }
    }
}

static void test_unary(void **state)
{
    bool bad = false;
    (void)state;
    for (int f = 0; f < N_UNARY; f++) {
        worst_t worst;
        walk(f, 20011, &worst); /* a prime: every exponent, all residues of the mantissa */
        print_message("%-9s %.3f ulp at %.9g (%a)\n", unary[f].name, worst.worst, (double)worst.at,
                      (double)worst.at);
        bad = bad || !(worst.worst <= unary[f].bound);
    }
    assert_false(bad);
}

static const float specials[] = {
    0.0f,  -0.0f,  1.0f,    -1.0f,         0.5f,      -0.5f,           2,         -2,
    3,     -3,     2.5f,    -2.5f,         1e-40f,    -1e-40f,         0x1p-149f, 0x1p-126f,
    1e30f, -1e30f, 0x1p24f, 16777215,      -16777215, 0x1.fffffep127f, INFINITY,  -INFINITY,
    NAN,   87.5f,  -104,    0x1.fffffep-1f};
enum { N_SPECIAL = sizeof specials / sizeof specials[0] };

static void test_unary_specials(void **state)
{
    (void)state;
    for (int f = 0; f < N_UNARY; f++) {
        for (int i = 0; i < N_SPECIAL; i++) {
            float y;
            unary[f].apply(&specials[i], &y, 1);
            double off = ulps(y, unary[f].want((double)specials[i]));
            if (!(off <= unary[f].bound))
                fail_msg("%s(%a) = %a", unary[f].name, (double)specials[i], (double)y);
        }
    }
}

static double max_of(double a, double b)
{
    if (isnan(a) || isnan(b)) return NAN;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

static double min_of(double a, double b)
{
    return -max_of(-a, -b);
}

static void check_pair(float a, float b, double *worst)
{
    struct {
        const char *name;
        float got;
        double want, bound;
    } cases[] = {
        {"pow", pcp_pow_f32(a, b), pow(a, b), 0.51},
        {"atan2", pcp_atan2_f32(a, b), atan2(a, b), 0.51},
        {"max", pcp_max_f32(a, b), max_of(a, b), 0},
        {"min", pcp_min_f32(a, b), min_of(a, b), 0},
        {"rem", pcp_rem_f32(a, b), fmod(a, b), 0},
        {"div", pcp_div_f32(a, b), (double)a / (double)b, 0.5001},
        {"max_f64", (float)pcp_max_f64(a, b), max_of(a, b), 0},
        {"min_f64", (float)pcp_min_f64(a, b), min_of(a, b), 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double off = ulps(cases[i].got, cases[i].want);
        if (!(off <= cases[i].bound))
            fail_msg("%s(%a, %a) = %a, want %a (%g ulp)", cases[i].name, (double)a, (double)b,
                     (double)cases[i].got, cases[i].want, off);
        if (i < 2 && off > worst[i]) worst[i] = off;
    }
}

static void test_binary(void **state)
{
    double worst[2] = {0};
    (void)state;
    for (int i = 0; i < N_SPECIAL; i++)
        for (int j = 0; j < N_SPECIAL; j++) check_pair(specials[i], specials[j], worst);
    for (uint64_t i = 0; i < 400000; i++) {
        uint64_t r = rng_bits(11, i);
        float a = pcp_of_bits_f32((uint32_t)r), b = pcp_of_bits_f32((uint32_t)(r >> 32));
        check_pair(a, b, worst);
        a = (float)(4 * rng_uniform(12, i)), b = (float)(200 * rng_uniform(13, i) - 100);
        check_pair(a, b, worst); /* powers that neither overflow nor vanish */
        check_pair(-a, rintf(b / 8), worst);
    }
    print_message("pow %.4f ulp, atan2 %.4f ulp\n", worst[0], worst[1]);
}

/* --- Integers: by definition, in 128 bits ----------------------------------------------------- */

typedef __int128 wide_t;

static wide_t wrap(wide_t x, int bits, bool is_signed)
{
    wide_t top = (wide_t)1 << bits;
    x = ((x % top) + top) % top;
    return is_signed && x >= top / 2 ? x - top : x;
}

/* a b modulo 2^128, of which 2^bits is a divisor. */
static wide_t product(wide_t a, wide_t b)
{
    return (wide_t)((unsigned __int128)a * (unsigned __int128)b);
}

static wide_t power(wide_t a, wide_t b, int bits, bool is_signed)
{
    wide_t y = 1;
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    for (; b > 0; b /= 2) {
        if (b % 2) y = wrap(product(y, a), bits, is_signed);
        a = wrap(product(a, a), bits, is_signed);
    }
    return wrap(y, bits, is_signed);
}

static int leading_zeros(wide_t x, int bits)
{
    int n = 0;
    while (n < bits && !(x >> (bits - 1 - n) & 1)) n++;
    return n;
}

static int ones(wide_t x, int bits)
{
    int n = 0;
    for (int i = 0; i < bits; i++) n += (int)(x >> i & 1);
    return n;
}

#define SAME(t, name, got, want)                                                             \
    if ((wide_t)(got) != (want))                                                             \
    fail_msg("%s_%s(%" PRId64 ", %" PRId64 ") = %" PRId64, name, #t, (int64_t)a, (int64_t)b, \
             (int64_t)(got))

#define CHECK_INT(T, t, BITS, SIGNED)                                                             \
    static void check_##t(T a, T b)                                                               \
    {                                                                                             \
        wide_t x = a, y = b, top = (wide_t)1 << BITS, min = SIGNED ? -top / 2 : 0;                \
        wide_t bits = (x + top) % top, by = (y + top) % top;                                      \
        wide_t zero_div = SIGNED ? -1 : top - 1, as_signed = wrap(x, BITS, true);                 \
        SAME(t, "add", pcp_add_##t(a, b), wrap(x + y, BITS, SIGNED));                             \
        SAME(t, "sub", pcp_sub_##t(a, b), wrap(x - y, BITS, SIGNED));                             \
        SAME(t, "mul", pcp_mul_##t(a, b), wrap(wrap(x, BITS, true) * y, BITS, SIGNED));           \
        SAME(t, "neg", pcp_neg_##t(a), wrap(-x, BITS, SIGNED));                                   \
        SAME(t, "max", pcp_max_##t(a, b), x > y ? x : y);                                         \
        SAME(t, "min", pcp_min_##t(a, b), x < y ? x : y);                                         \
        SAME(t, "clamp", pcp_clamp_##t(3, a, b), (x < 3 ? 3 : x) < y ? (x < 3 ? 3 : x) : y);      \
        SAME(t, "abs", pcp_abs_##t(a), wrap(x < 0 ? -x : x, BITS, SIGNED));                       \
        SAME(t, "sign", pcp_sign_##t(a), x > 0 ? 1 : x < 0 ? -1 : 0);                             \
        SAME(t, "not", pcp_not_##t(a), wrap(-1 - x, BITS, SIGNED));                               \
        SAME(t, "popcnt", pcp_popcnt_##t(a), ones(bits, BITS));                                   \
        SAME(t, "clz", pcp_clz_##t(a), leading_zeros(bits, BITS));                                \
        SAME(t, "div", pcp_div_##t(a, b), y == 0 ? zero_div : y == -1 && x == min ? min : x / y); \
        SAME(t, "rem", pcp_rem_##t(a, b), y == 0 ? x : y == -1 ? 0 : x % y);                      \
        SAME(t, "pow", pcp_pow_##t(a, b), power(x, y, BITS, SIGNED));                             \
        SAME(t, "shl", pcp_shl_##t(a, b), by >= BITS ? 0 : wrap(bits << by, BITS, SIGNED));       \
        SAME(t, "shrl", pcp_shrl_##t(a, b), by >= BITS ? 0 : wrap(bits >> by, BITS, SIGNED));     \
        SAME(t, "shra", pcp_shra_##t(a, b),                                                       \
             wrap(as_signed >> (by >= BITS ? BITS - 1 : by), BITS, SIGNED));                      \
    }
CHECK_INT(int8_t, i8, 8, true)
CHECK_INT(int16_t, i16, 16, true)
CHECK_INT(int32_t, i32, 32, true)
CHECK_INT(int64_t, i64, 64, true)
CHECK_INT(uint8_t, u8, 8, false)
CHECK_INT(uint16_t, u16, 16, false)
CHECK_INT(uint32_t, u32, 32, false)
CHECK_INT(uint64_t, u64, 64, false)

static void check_ints(uint64_t a, uint64_t b)
{
    check_i8((int8_t)a, (int8_t)b);
    check_i16((int16_t)a, (int16_t)b);
    check_i32((int32_t)a, (int32_t)b);
    check_i64((int64_t)a, (int64_t)b);
    check_u8((uint8_t)a, (uint8_t)b);
    check_u16((uint16_t)a, (uint16_t)b);
    check_u32((uint32_t)a, (uint32_t)b);
    check_u64(a, b);
}

static void test_integers(void **state)
{
    (void)state;
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++) check_ints((uint64_t)(int8_t)a, (uint64_t)(int8_t)b);
    for (int i = 0; i < 64; i++) {
        for (int j = 0; j < 64; j++) {
            uint64_t a = 1ull << i, b = 1ull << j;
            check_ints(a, b);
            check_ints(a - 1, 0 - b);
            check_ints(0 - a, b - 1);
            check_ints(rng_bits(1, (uint64_t)(64 * i + j)), rng_bits(2, (uint64_t)j) >> i);
        }
    }
    for (int i = 0; i < 4; i++) {
        uint8_t a = i & 1, b = (uint8_t)(i >> 1);
        assert_int_equal(pcp_add_i1(a, b), a || b);
        assert_int_equal(pcp_max_i1(a, b), a || b);
        assert_int_equal(pcp_mul_i1(a, b), a && b);
        assert_int_equal(pcp_min_i1(a, b), a && b);
        assert_int_equal(pcp_xor_i1(a, b), a != b);
        assert_int_equal(pcp_not_i1(a), !a);
        assert_int_equal(pcp_popcnt_i1(a), a);
        assert_int_equal(pcp_clz_i1(a), 1 - a);
        assert_int_equal(pcp_clamp_i1(a, b, 1), a || b);
    }
}

/* --- Conversions ------------------------------------------------------------------------------ */

static wide_t saturate(double x, wide_t min, wide_t max)
{
    if (isnan(x)) return 0;
    if (x <= (double)min) return min;
    if (x >= (double)max) return max;
    return (wide_t)x;
}

static void check_to_int(double x)
{
    float f = (float)x;
    wide_t top = (wide_t)1 << 63;
#define TO(t, MIN, MAX)                                                  \
    assert_true(pcp_##t##_from_f32(f) == saturate((double)f, MIN, MAX)); \
    assert_true(pcp_##t##_from_f64(x) == saturate(x, MIN, MAX))
    TO(i8, -128, 127);
    TO(i16, -32768, 32767);
    TO(i32, INT32_MIN, INT32_MAX);
    TO(i64, -top, top - 1);
    TO(u8, 0, 255);
    TO(u16, 0, 65535);
    TO(u32, 0, UINT32_MAX);
    TO(u64, 0, 2 * top - 1);
#undef TO
}

static void test_to_int(void **state)
{
    (void)state;
    for (int i = 0; i < N_SPECIAL; i++) check_to_int((double)specials[i]);
    for (int e = -3; e < 70; e++) {
        for (int i = -3; i <= 3; i++) {
            check_to_int(ldexp(1, e) + 0.5 * i);
            check_to_int(-ldexp(1, e) + 0.5 * i);
        }
    }
}

static void test_halves(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        float b = half_from_bf16((uint16_t)h), f = half_from_f16((uint16_t)h);
        float got_b = pcp_f32_from_bf16((uint16_t)h), got_f = pcp_f32_from_f16((uint16_t)h);
        assert_true(isnan(b) ? isnan(got_b) : pcp_bits_f32(b) == pcp_bits_f32(got_b));
        assert_true(isnan(f) ? isnan(got_f) : pcp_bits_f32(f) == pcp_bits_f32(got_f));
    }
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4093) {
        float x = pcp_of_bits_f32((uint32_t)bits);
        if (pcp_bf16_from_f32(x) != half_to_bf16((double)x) ||
            pcp_f16_from_f32(x) != half_to_f16((double)x))
            fail_msg("%a: bf16 %x, f16 %x", (double)x, pcp_bf16_from_f32(x), pcp_f16_from_f32(x));
    }
    for (uint64_t i = 0; i < 1000000; i++) { /* ties and their neighbours, from double */
        double x = ldexp((double)(rng_bits(3, i) >> 40) + 0.5, (int)(i % 90) - 60);
        double near = i & 1 ? nextafter(x, i & 2 ? INFINITY : 0) : x;
        float odd = pcp_f32_odd_from_f64(i & 4 ? near : -near);
        assert_int_equal(pcp_bf16_from_f32(odd), half_to_bf16(i & 4 ? near : -near));
        assert_int_equal(pcp_f16_from_f32(odd), half_to_f16(i & 4 ? near : -near));
    }
}

static void test_order(void **state)
{
    static const float rising[] = {-NAN, -INFINITY, -1, -0x1p-149f, -0.0f,
                                   0.0f, 0x1p-149f, 1,  INFINITY,   NAN};
    (void)state;
    for (int i = 0; i + 1 < 10; i++) {
        assert_true(pcp_key_f32(rising[i]) < pcp_key_f32(rising[i + 1]));
        assert_true(pcp_key_f64(rising[i]) < pcp_key_f64(rising[i + 1]));
    }
    for (int i = 0; i < N_SPECIAL; i++) {
        for (int j = 0; j < N_SPECIAL; j++) {
            float a = specials[i], b = specials[j], max = pcp_max_f32(a, b), min;
            int32_t ka = pcp_max_key_f32(a), kb = pcp_max_key_f32(b);
            float got = pcp_of_key_f32(ka > kb ? ka : kb);
            assert_true(isnan(max) ? isnan(got) : pcp_bits_f32(max) == pcp_bits_f32(got));
            ka = pcp_min_key_f32(a), kb = pcp_min_key_f32(-b), min = pcp_min_f32(a, -b);
            got = pcp_of_key_f32(ka < kb ? ka : kb);
            assert_true(isnan(min) ? isnan(got) : pcp_bits_f32(min) == pcp_bits_f32(got));
            int64_t la = pcp_max_key_f64(-a), lb = pcp_max_key_f64(b);
            double max64 = pcp_max_f64(-a, b), got64 = pcp_of_key_f64(la > lb ? la : lb);
            assert_true(isnan(max64) ? isnan(got64) : pcp_bits_f64(max64) == pcp_bits_f64(got64));
        }
    }
}

static void test_rare(void **state)
{
    (void)state;
    /* Abramowitz & Stegun tables 6.1, 7.1 and the constants behind them */
    assert_true(fabs(pcp_digamma_f64(1) + 0.57721566490153286) < 1e-15);
    assert_true(fabs(pcp_digamma_f64(0.5) + 1.9635100260214235) < 1e-14);
    assert_true(fabs(pcp_digamma_f64(-1.5) - 0.70315664064524319) < 1e-14);
    assert_true(isnan(pcp_digamma_f64(0)) && isnan(pcp_digamma_f64(-3)));
    for (double x = -0.999; x < 1; x += 0.001)
        assert_true(fabs(erf(pcp_erf_inv_f64(x)) - x) < 4e-16);
    assert_true(fabs(erfc(pcp_erf_inv_f64(1 - 0x1p-40)) / 0x1p-40 - 1) < 1e-13);
    assert_true(pcp_erf_inv_f32(1) == INFINITY && isnan(pcp_erf_inv_f32(1.5f)));
    assert_true(pcp_isfinite_f32(3) == 1 && pcp_isfinite_f32(INFINITY) == 0);
    assert_true(pcp_isfinite_f32(NAN) == 0 && pcp_nextafter_f32(0, 1) == 0x1p-149f);
    assert_true(pcp_clamp_f32(-1, 5, 2) == 2 && isnan(pcp_clamp_f32(-1, NAN, 2)));
}

static void test_text(void **state)
{
    (void)state;
    const char *text = prelude_text();
    assert_non_null(strstr(text, "pcp_exp_f32(float x)"));
    assert_non_null(strstr(text, "pcp_f16_from_f32(float x)"));
    assert_string_equal(text + strlen(text) - 7, "#endif\n");
}

static int run_all(const char *name)
{
    bool found = false;
    for (int f = 0; f < N_UNARY; f++) {
        worst_t worst;
        if (name && strcmp(name, unary[f].name) != 0) continue;
        found = true;
        walk(f, 1, &worst);
        printf("%-9s %.4f ulp at %.9g (%a), got %a\n", unary[f].name, worst.worst, (double)worst.at,
               (double)worst.at, (double)worst.got);
        fflush(stdout);
    }
    if (!found) fprintf(stderr, "prelude_test: no function \"%s\"\n", name);
    return found ? 0 : 2;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),  cmocka_unit_test(test_unary_specials),
        cmocka_unit_test(test_binary), cmocka_unit_test(test_integers),
        cmocka_unit_test(test_to_int), cmocka_unit_test(test_halves),
        cmocka_unit_test(test_order),  cmocka_unit_test(test_rare),
        cmocka_unit_test(test_text),
    };
    if (argc > 1 && strcmp(argv[1], "--all") == 0) return run_all(argc > 2 ? argv[2] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
