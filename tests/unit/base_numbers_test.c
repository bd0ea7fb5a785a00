/* base: half precision (every value and every rounding border), random numbers, hashes, clocks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/half.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "temp.h"

typedef struct {
    int exp_bits, man_bits;
    float (*from)(uint16_t);
    uint16_t (*to)(double);
} format_t;

static const format_t formats[] = {
    {5, 10, half_from_f16, half_to_f16},
    {8, 7, half_from_bf16, half_to_bf16},
};

/* The value of a bit pattern by the definition of IEEE 754-2019, 3.4. */
static double value_of(const format_t *f, int bits)
{
    int exp = bits >> f->man_bits & ((1 << f->exp_bits) - 1), man = bits & ((1 << f->man_bits) - 1);
    int bias = (1 << (f->exp_bits - 1)) - 1;
    double sign = bits >> 15 ? -1 : 1;
    if (exp == (1 << f->exp_bits) - 1) return man ? (double)NAN : sign * (double)INFINITY;
    if (exp == 0) return sign * man * pow(2, 1 - bias - f->man_bits);
    return sign * (1 + man * pow(2, -f->man_bits)) * pow(2, exp - bias);
}

static void test_half_values(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const format_t *f = &formats[k];
        for (int bits = 0; bits < 65536; bits++) {
            double want = value_of(f, bits), got = (double)f->from((uint16_t)bits);
            if (isnan(want)) {
                assert_true(isnan(got));
                assert_true(isnan((double)f->from(f->to(got))));
                continue;
            }
            assert_true(want == got && signbit(want) == signbit(got));
            assert_int_equal(f->to(want), bits); /* exact values come back, -0 and Inf too */
        }
    }
}

/* Between neighbours: the middle goes to the even one, anything beside it to the nearer one. That
 * is every rounding decision there is; the step above the largest finite value decides infinity. */
static void test_half_borders(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const format_t *f = &formats[k];
        int inf = ((1 << f->exp_bits) - 1) << f->man_bits;
        for (int low = 0; low < inf; low++) {
            double a = value_of(f, low), b = value_of(f, low + 1);
            if (low + 1 == inf) b = a + (a - value_of(f, low - 1));
            double middle = a + (b - a) / 2; /* exact in f64 */
            int even = low % 2 == 0 ? low : low + 1;
            for (int sign = 0; sign < 2; sign++) {
                double s = sign ? -1 : 1;
                int top = sign << 15;
                assert_int_equal(f->to(s * middle), top | even);
                assert_int_equal(f->to(s * nextafter(middle, 0)), top | low);
                assert_int_equal(f->to(s * nextafter(middle, (double)INFINITY)), top | (low + 1));
            }
        }
        assert_int_equal(f->to(1e300), inf);
        assert_int_equal(f->to(-1e300), inf | 0x8000);
        assert_int_equal(f->to(5e-324), 0);
        assert_int_equal(f->to(-5e-324), 0x8000);
    }
}

/* splitmix64 from state 0: the reference implementation's first outputs. */
static void test_rng_reference(void **state)
{
    (void)state;
    static const uint64_t want[] = {0xE220A8397B1DCDAFu, 0x6E789E6AA1B965F4u, 0x06C45D188009454Fu,
                                    0xF88BB8A8724C81ECu, 0x1B39896A51A8749Bu};
    for (uint64_t i = 0; i < 5; i++) assert_true(rng_mix(i + 1) == want[i]);
}

static void test_rng_distribution(void **state)
{
    (void)state;
    enum { N = 200000 };
    double sum = 0, squares = 0, normal = 0, normal2 = 0, product = 0, previous = 0;
    for (uint64_t i = 0; i < N; i++) {
        double u = rng_uniform(5, i), z = rng_normal(5, i);
        assert_true(u >= 0 && u < 1);
        assert_true(isfinite(z));
        sum += u;
        squares += u * u;
        normal += z;
        normal2 += z * z;
        product += (u - 0.5) * (previous - 0.5);
        previous = u;
    }
    /* Five standard deviations of each estimate. */
    assert_true(fabs(sum / N - 0.5) < 5 * sqrt(1.0 / 12 / N));
    assert_true(fabs(squares / N - 1.0 / 3) < 5 * sqrt(4.0 / 45 / N));
    assert_true(fabs(normal / N) < 5 * sqrt(1.0 / N));
    assert_true(fabs(normal2 / N - 1) < 5 * sqrt(2.0 / N));
    assert_true(fabs(product / N) < 5 * sqrt(1.0 / 144 / N));
}

static void test_rng_streams(void **state)
{
    (void)state;
    assert_true(rng_bits(1, 0) != rng_bits(2, 0));
    assert_true(rng_bits(1, 0) != rng_bits(1, 1));
    assert_true(rng_derive(1, "init") != rng_derive(1, "data"));
    assert_true(rng_derive(1, "init") != rng_derive(2, "init"));
    assert_true(rng_derive(1, "init") == rng_derive(1, "init"));
}

static void test_hash(void **state)
{
    (void)state;
    /* Of coreutils' b2sum -l 256. */
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
        {"abc", "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"},
    };
    char hex[HASH_HEX];
    for (int i = 0; i < 2; i++) {
        hash_content(cases[i].text, strlen(cases[i].text), hex);
        assert_string_equal(hex, cases[i].hex);
    }
    hash_stream_t *stream = hash_stream_new();
    hash_stream_add(stream, "a", 1);
    hash_stream_add(stream, NULL, 0);
    hash_stream_add(stream, "bc", 2);
    hash_stream_finish(&stream, hex);
    assert_null(stream);
    assert_string_equal(hex, cases[1].hex);
    assert_true(hash_fast("", 0) ==
                0x2D06800538D394C2u); /* XXH3_64bits of nothing, by its authors */
    assert_true(hash_fast("abc", 3) != hash_fast("abd", 3));
    enum { LONG = 100003 }; /* several steps, and a rest */
    char *from = mem_calloc(LONG, 1), *to = mem_calloc(LONG, 1);
    for (int i = 0; i < LONG; i++) from[i] = (char)(i * 7 + i / 256);
    for (size_t n = 0; n <= LONG; n = n < 600 ? n + 1 : 3 * n + 1) {
        memset(to, 0, LONG);
        assert_true(hash_fast_copy(n ? to : NULL, from, n) == hash_fast(from, n));
        assert_memory_equal(to, from, n);
    }
    free(from);
    free(to);
}

static void test_hash_file(void **state)
{
    (void)state;
    char *dir = temp_dir(), whole[HASH_HEX], pieces[HASH_HEX];
    size_t n = 200001; /* more than one read */
    char *bytes = malloc(n);
    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++) bytes[i] = (char)rng_bits(1, i);
    temp_write(temp_path(dir, "f"), bytes, n);
    err_t err = {0};
    hash_content(bytes, n, whole);
    assert_int_equal(hash_file(temp_path(dir, "f"), pieces, &err), 0);
    assert_string_equal(whole, pieces);
    assert_int_equal(hash_file(temp_path(dir, "absent"), pieces, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, "absent"));
    assert_int_equal(hash_file(dir, pieces, &err), -1); /* a directory opens, but cannot be read */
    assert_string_equal(whole, pieces);
    free(bytes);
    temp_remove(&dir);
}

static void test_clock(void **state)
{
    (void)state;
    int64_t ms = clock_mono_ms();
    double s = clock_mono_s();
    assert_true(clock_mono_s() >= s && s * 1000 >= (double)ms && clock_mono_ms() >= ms);
    assert_true(s * 1000 - (double)ms < 60000);
    assert_true(clock_wall_ms() > 1700000000000); /* after 2023 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_values),   cmocka_unit_test(test_half_borders),
        cmocka_unit_test(test_rng_reference), cmocka_unit_test(test_rng_distribution),
        cmocka_unit_test(test_rng_streams),   cmocka_unit_test(test_hash),
        cmocka_unit_test(test_hash_file),     cmocka_unit_test(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
