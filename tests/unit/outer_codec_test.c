/* outer/codec: sizes, errors, bytes, feedback, and bytes that are none of theirs. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "base/rng.h"
#include "outer/codec.h"

#define CODEC_NAME(word, ...) #word,
static const char *const codec_names[] = {CODECS(CODEC_NAME)};
enum { N_CODECS = sizeof codec_names / sizeof *codec_names };

/* Encoded into out, which has `space` bytes: the size, or 0 where it is refused. */
static size_t encode(const codec_t *codec, const float *values, size_t n, uint8_t *out,
                     size_t space, err_t *err)
{
    size_t n_bytes = 0;
    if (codec_encode(codec, values, n, out, space, &n_bytes, err) < 0) return 0;
    assert_true(codec_fits(codec, n, n_bytes));
    return n_bytes;
}

/* What the table of codec.h promises of a codec that sends every value. */
static double allowed_error(const char *codec, double v, double largest)
{
    if (strcmp(codec, "bf16") == 0) return fabs(v) * 0x1p-8;      /* half a unit of 8 bits */
    if (strcmp(codec, "int8") == 0) return largest / 127 * 0.501; /* half a step, f32 scale */
    if (strcmp(codec, "e3m0") == 0) return fmax(fabs(v) / 3 * 1.000001, largest * 0x1p-7);
    return 0;
}

static void round_trip(const codec_t *codec, size_t n)
{
    size_t most = codec_most(codec, n), n_bytes;
    float *values = calloc(n + 1, sizeof *values);
    float *back = calloc(n + CODEC_BLOCK, sizeof *back);
    uint8_t *bytes = calloc(most + 1, 1), *again = calloc(most + 1, 1);
    err_t err = {0};
    bytes[most] = again[most] = 0xA5;
    back[n] = 77;
    for (size_t i = 0; i < n; i++)
        values[i] = (float)(rng_normal(4, i) * pow(10, (double)(i / CODEC_BLOCK) - 4));
    n_bytes = encode(codec, values, n, bytes, most, &err);
    assert_int_equal(encode(codec, values, n, again, most, &err), n_bytes);
    assert_memory_equal(bytes, again, most + 1);
    assert_int_equal(codec_decode(codec, bytes, n_bytes, back, n, &err), 0);
    assert_true(back[n] == 77 && bytes[most] == 0xA5);
    for (size_t i = 0; i < n && codec->exact; i++) {
        double largest = 0, v = (double)values[i];
        size_t from = i / CODEC_BLOCK * CODEC_BLOCK;
        for (size_t j = from; j < n && j < from + CODEC_BLOCK; j++)
            largest = fmax(largest, fabs((double)values[j]));
        assert_true(fabs((double)back[i] - v) <= allowed_error(codec->name, v, largest));
    }
    if (most) assert_int_equal(encode(codec, values, n, bytes, most - 1, &err), 0);
    assert_int_equal(codec_decode(codec, bytes, n_bytes + 1, back, n, &err), -1);
    assert_int_equal(err.code, ERR_SHAPE);
    if (n_bytes) assert_int_equal(codec_decode(codec, bytes, n_bytes - 1, back, n, &err), -1);
    assert_int_equal(codec_decode(codec, bytes, n_bytes, back, n + CODEC_BLOCK, &err), -1);
    assert_int_equal(err.code, ERR_SHAPE);
    free(values), free(back), free(bytes), free(again);
}

static void test_codec_round_trip(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 63, 65, 4095, 4096, 4097, 10000};
    for (int k = 0; k < N_CODECS; k++) {
        const codec_t *codec = codec_find(codec_names[k], NULL);
        assert_ptr_equal(codec_find_id(codec->id, NULL), codec);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) round_trip(codec, counts[c]);
    }
}

static int by_magnitude(const void *a, const void *b)
{
    double x = fabs((double)*(const float *)a), y = fabs((double)*(const float *)b);
    return x < y ? 1 : -(x > y);
}

/* Which values topk sends and as what, found by sorting and in f64. */
static void test_codec_topk(void **state)
{
    (void)state;
    enum { N = CODEC_BLOCK, KEPT = 64 };
    const codec_t *codec = codec_find("topk", NULL);
    float values[N], sorted[N], back[N];
    uint8_t bytes[256];
    for (int i = 0; i < N; i++) sorted[i] = values[i] = (float)rng_normal(6, (uint64_t)i);
    qsort(sorted, N, sizeof *sorted, by_magnitude);
    double least = fabs((double)sorted[KEPT - 1]), mean = 0, sum[2] = {0}, n[2] = {0};
    for (int i = 0; i < KEPT; i++) mean += fabs((double)sorted[i]) / KEPT;
    for (int i = 0; i < KEPT; i++) {
        double v = fabs((double)sorted[i]);
        sum[v > mean] += v;
        n[v > mean]++;
    }
    size_t n_bytes = encode(codec, values, N, bytes, sizeof bytes, NULL);
    assert_int_equal(n_bytes, 122);
    assert_int_equal(codec_decode(codec, bytes, n_bytes, back, N, NULL), 0);
    for (int i = 0; i < N; i++) {
        double v = (double)values[i], m = fabs(v);
        double want = m < least ? 0 : copysign(sum[m > mean] / n[m > mean], v);
        if (!(fabs((double)back[i] - want) <= fabs(want) * 0x1p-23))
            fail_msg("%d: %g, not %g", i, (double)back[i], want);
    }
    /* Of equal ones the first; zeros are not sent; of a short block its 64th part. */
    for (int i = 0; i < N; i++) values[i] = i % 2 ? -3 : 3;
    n_bytes = encode(codec, values, N, bytes, sizeof bytes, NULL);
    assert_int_equal(codec_decode(codec, bytes, n_bytes, back, N, NULL), 0);
    for (int i = 0; i < N; i++) assert_true(back[i] == (i < KEPT ? values[i] : 0));
    memset(values, 0, sizeof values);
    assert_int_equal(encode(codec, values, N, bytes, sizeof bytes, NULL), 2);
    values[N - 1] = -7;
    assert_int_equal(encode(codec, values, N, bytes, sizeof bytes, NULL), 12);
    assert_int_equal(codec_decode(codec, bytes, 12, back, N, NULL), 0);
    assert_true(back[N - 1] == -7 && back[0] == 0);
    assert_int_equal(codec_most(codec, 65), 10 + 4);
    assert_int_equal(codec_most(codec, N + 1), 122 + 12);
}

/* Error feedback over rounds, beside the equations in f64; and what it is for: with it the sum of
 * what was sent follows the sum of what should have been, without it the small values never go. */
static void test_codec_feedback(void **state)
{
    (void)state;
    enum { N = CODEC_BLOCK + 100, ROUNDS = 60 };
    const codec_t *codec = codec_find("topk", NULL);
    static float d[N], a[N], error[N], sent[N];
    static double e[N], total[2], want;
    static uint8_t bytes[512], scratch[512];
    assert_true(codec->feedback == 0.95);
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < N; i++) {
            d[i] = (float)((i % 64 ? 0.1 : 1) + 0.05 * rng_normal(8, (uint64_t)(r * N + i)));
            a[i] = d[i];
        }
        codec_feedback(codec, error, a, N);
        size_t n_bytes = encode(codec, a, N, bytes, sizeof bytes, NULL);
        assert_int_equal(codec_decode(codec, bytes, n_bytes, sent, N, NULL), 0);
        assert_int_equal(codec_residual(codec, a, N, scratch, error, NULL), 0);
        for (int i = 0; i < N; i++) {
            double exact = 0.95 * e[i] + (double)d[i];
            assert_true(fabs(exact - (double)a[i]) <= 1e-5 * (1 + fabs(exact)));
            e[i] = exact - (double)sent[i];
            assert_true(fabs(e[i] - (double)error[i]) <= 1e-5 * (1 + fabs(exact)));
            if (i % 64 == 0) continue;
            want += (double)d[i];
            total[0] += (double)sent[i];
        }
        n_bytes = encode(codec, d, N, bytes, sizeof bytes, NULL);
        codec_decode(codec, bytes, n_bytes, sent, N, NULL);
        for (int i = 0; i < N; i++) total[1] += i % 64 ? (double)sent[i] : 0;
    }
    print_message("# of the small values' sum: with feedback %.3f, without %.3f\n", total[0] / want,
                  total[1] / want);
    assert_true(total[1] == 0 && total[0] > 0.02 * want);
    a[3] = INFINITY;
    assert_int_equal(codec_residual(codec, a, N, scratch, error, NULL), -1);
}

/* A chunk in which states begin at `at`: of these nothing is left out, and the rest is as without them. */
static void chunk_with_states(const codec_t *codec, uint64_t at)
{
    enum { BEGIN = 1000, N = CODEC_BLOCK + 500, MOST = 5 * N + 64 };
    static float values[N], back[N], alone[N], error[N];
    static uint8_t bytes[MOST], apart[MOST];
    const codec_chunk_t chunk = codec_chunk(codec, BEGIN, N, at);
    size_t n = N - chunk.n_exact, n_bytes = 0, n_apart = 0;
    assert_int_equal(n, at == 0 || at > BEGIN + N ? N : at < BEGIN ? 0 : at - BEGIN);
    for (size_t i = 0; i < N; i++)
        values[i] = (float)rng_normal(5, i) *
                    (i < n ? 1e-3f : 1e3f); /* as a counter beside weights */
    size_t most = codec_chunk_most(&chunk);
    assert_int_equal(codec_chunk_encode(&chunk, values, bytes, MOST, &n_bytes, NULL), 0);
    assert_true(n_bytes <= most && codec_chunk_fits(&chunk, n_bytes));
    assert_int_equal(codec_chunk_encode(&chunk, values, bytes, most - 1, &n_bytes, NULL), -1);
    assert_int_equal(codec_chunk_encode(&chunk, values, bytes, most, &n_bytes, NULL), 0);
    assert_int_equal(codec_chunk_decode(&chunk, bytes, n_bytes, back, NULL), 0);
    assert_memory_equal(back + n, values + n, chunk.n_exact * sizeof *back);
    assert_int_equal(codec_encode(codec, values, n, apart, MOST, &n_apart, NULL), 0);
    assert_int_equal(n_bytes, n_apart + 4 * chunk.n_exact);
    assert_memory_equal(bytes, apart, n_apart);
    assert_int_equal(codec_decode(codec, apart, n_apart, alone, n, NULL), 0);
    assert_memory_equal(back, alone, n * sizeof *back);
    assert_int_equal(codec_chunk_residual(&chunk, values, apart, error, NULL), 0);
    for (size_t i = 0; i < N; i++) assert_true(error[i] == values[i] - back[i]);

    err_t err = {0};
    for (size_t cut = 1; cut <= n_bytes; cut += 997) {
        assert_int_equal(codec_chunk_decode(&chunk, bytes, n_bytes - cut, back, &err), -1);
        assert_int_equal(err.code, ERR_SHAPE);
    }
    values[N - 1] = NAN;
    assert_int_equal(codec_chunk_encode(&chunk, values, bytes, MOST, &n_bytes, &err), -1);
    assert_int_equal(err.code, ERR_NUMERIC);
    assert_int_equal(codec_chunk_residual(&chunk, values, apart, error, NULL), -1);
}

static void test_codec_chunk(void **state)
{
    (void)state;
    static const uint64_t from[] = {0, 1, 1000, 1001, 5095, 5096, 5595, 5596, 9999};
    for (int c = 0; c < N_CODECS; c++)
        for (size_t i = 0; i < sizeof from / sizeof *from; i++)
            chunk_with_states(codec_find(codec_names[c], NULL), from[i]);
}

/* bf16 rounds in integers here and by way of f64 in base/half.h: the same bits for every upper
 * half, with the lower half below, at and above the middle. */
static void test_codec_bf16_rounds(void **state)
{
    (void)state;
    static const uint32_t low[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
    const codec_t *codec = codec_find("bf16", NULL);
    for (uint32_t high = 0; high < 0x7F7F; high++) {
        for (int k = 0; k < 12; k++) {
            uint32_t wide = high << 16 | low[k % 6] | (uint32_t)(k / 6) << 31;
            float value;
            uint8_t bytes[2];
            memcpy(&value, &wide, sizeof value);
            assert_int_equal(encode(codec, &value, 1, bytes, 2, NULL), 2);
            assert_int_equal(bytes[0] | bytes[1] << 8, half_to_bf16((double)value));
        }
    }
}

/* The bytes on the wire, by hand. */
static void test_codec_bytes(void **state)
{
    (void)state;
    const float values[3] = {-127, 1, 64.4f};
    uint8_t out[16];
    static const uint8_t f32[] = {0, 0, 0xFE, 0xC2, 0, 0, 0x80, 0x3F, 0xCD, 0xCC, 0x80, 0x42};
    static const uint8_t bf16[] = {0xFE, 0xC2, 0x80, 0x3F, 0x81, 0x42};
    static const uint8_t int8[] = {0, 0, 0x80, 0x3F, 0x81, 1, 64}; /* scale 127 / 127 = 1.0f */
    static const uint8_t e3m0[] = {0, 0, 0xFE, 0x42, 0x1F, 6}; /* -127 2^0, 127 2^-6, 127 2^-1 */
    /* One of three: n 1, low -127, high 0, entry 0 negative. */
    static const uint8_t topk[] = {1, 0, 0, 0, 0xFE, 0x42, 0, 0, 0, 0, 0, 0x20};
    const struct {
        const char *codec;
        size_t n;
        const uint8_t *bytes;
    } cases[] = {{"f32", sizeof f32, f32},
                 {"bf16", sizeof bf16, bf16},
                 {"int8", sizeof int8, int8},
                 {"e3m0", sizeof e3m0, e3m0},
                 {"topk", sizeof topk, topk}};
    assert_int_equal(sizeof cases / sizeof *cases, N_CODECS);
    for (int k = 0; k < N_CODECS; k++) {
        const codec_t *codec = codec_find(cases[k].codec, NULL);
        assert_int_equal(encode(codec, values, 3, out, sizeof out, NULL), cases[k].n);
        assert_memory_equal(out, cases[k].bytes, cases[k].n);
    }
    assert_int_equal(codec_most(codec_find("int8", NULL), 4097), 4097 + 8);
    assert_int_equal(codec_most(codec_find("e3m0", NULL), 4097), 2049 + 8);
    assert_int_equal(codec_most(codec_find("f32", NULL), SIZE_MAX), 0);
}

static void test_codec_extremes(void **state)
{
    (void)state;
    static const float extremes[] = {0, -0.0f, FLT_MIN, -FLT_MIN, 0x1p-149f, FLT_MAX, -FLT_MAX};
    enum { N = sizeof extremes / sizeof *extremes };
    uint8_t bytes[64];
    float back[N];
    for (int k = 0; k < N_CODECS; k++) {
        const codec_t *codec = codec_find(codec_names[k], NULL);
        for (int i = 0; i < N; i++) { /* alone, then all together */
            float one;
            size_t n_bytes = encode(codec, &extremes[i], 1, bytes, sizeof bytes, NULL);
            assert_int_equal(codec_decode(codec, bytes, n_bytes, &one, 1, NULL), 0);
            assert_true(fabs((double)one - (double)extremes[i]) <=
                        fmax(fabs((double)extremes[i]) * 0x1p-8, (double)FLT_MIN));
        }
        size_t n_bytes = encode(codec, extremes, N, bytes, sizeof bytes, NULL);
        assert_int_equal(codec_decode(codec, bytes, n_bytes, back, N, NULL), 0);
        static const float bad[] = {NAN, INFINITY, -INFINITY};
        for (int i = 0; i < 3; i++) {
            err_t err = {0};
            float values[2] = {1, bad[i]};
            assert_int_equal(encode(codec, values, 2, bytes, sizeof bytes, &err), 0);
            assert_int_equal(err.code, ERR_NUMERIC);
        }
    }
    err_t err = {0};
    assert_null(codec_find("zip", &err));
    assert_non_null(strstr(err.text, "known are f32 (1), bf16 (2), int8 (3), e3m0 (4), topk (5)"));
    assert_null(codec_find_id(0, &err));
}

/* Bytes nobody vouches for, random ones and encodings with a few bytes changed or cut off: refused,
 * or finite values; never a crash. */
static void test_codec_random_bytes(void **state)
{
    (void)state;
    enum { MOST = 300 };
    for (int k = 0; k < N_CODECS; k++) {
        const codec_t *codec = codec_find(codec_names[k], NULL);
        int refused = 0, taken = 0;
        for (uint64_t round = 0; round < 20000; round++) {
            float values[MOST];
            size_t n = 1 + rng_bits(round, 0) % MOST, n_bytes = codec_most(codec, n);
            uint8_t *bytes = malloc(n_bytes); /* of just that size: asan sees the rest */
            for (size_t i = 0; i < n_bytes; i++) bytes[i] = (uint8_t)rng_bits(round, i + 1);
            if (round % 2) {
                for (size_t i = 0; i < n; i++) values[i] = (float)rng_normal(round, i);
                n_bytes = encode(codec, values, n, bytes, n_bytes, NULL);
                bytes[rng_bits(round, 900) % n_bytes] ^= (uint8_t)(1 << rng_bits(round, 901) % 8);
                if (round % 16 == 1) n_bytes -= rng_bits(round, 902) % n_bytes;
            }
            int rc = codec_decode(codec, bytes, n_bytes, values, n, NULL);
            refused += rc < 0;
            taken += rc == 0;
            for (size_t i = 0; rc == 0 && i < n; i++) assert_true(isfinite(values[i]));
            free(bytes);
        }
        if (refused < 100 || taken < 100)
            fail_msg("%s: %d refused, %d taken", codec->name, refused, taken);
    }
}

static float random_float(uint64_t seed, size_t i, double size)
{
    double value = rng_normal(seed, i) * size;
    return (float)(fabs(value) > FLT_MAX ? copysign(FLT_MAX, value) : value);
}

/* Number by number what codec.h says, from numbers of all sizes: halves between two steps, subnormal ones, the largest. */
static void test_codec_int8_number_by_number(void **state)
{
    (void)state;
    enum { COUNT = 1003 };
    static const double sizes[] = {1, 1e-3, 1e30, 1e38, 1e-38, 1e-43, 3e-45, 0};
    const codec_t *codec = codec_find("int8", NULL);
    float values[COUNT];
    uint8_t bytes[COUNT + 4];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        float largest = 0, scale;
        for (size_t i = 0; i < COUNT; i++) values[i] = random_float(s, i, sizes[s]);
        if (sizes[s] == 1)
            for (size_t i = 0; i < 255; i++) values[i] = (float)i - 126.5f;
        if (sizes[s] == 1) values[255] = 127;
        for (size_t i = 0; i < COUNT; i++) largest = fmaxf(largest, fabsf(values[i]));
        assert_int_equal(encode(codec, values, COUNT, bytes, sizeof bytes, NULL), COUNT + 4);
        memcpy(&scale, bytes, sizeof scale);
        assert_true(scale > 0 && (largest < 1e-40f || fabsf(largest / 127 / scale - 1) < 1e-6f));
        for (size_t i = 0; i < COUNT; i++) {
            long q = lrint((double)values[i] / (double)scale);
            q = q > 127 ? 127 : q < -127 ? -127 : q;
            if ((int8_t)bytes[4 + i] != q)
                fail_msg("%g by %g: %d, not %ld", (double)values[i], (double)scale,
                         (int8_t)bytes[4 + i], q);
        }
    }
}

/* A value is the largest level that it is more than halfway to, by its share of the maximum: also right at the
 * places halfway between two levels, beside them, and among the smallest floats. */
static void test_codec_e3m0_number_by_number(void **state)
{
    (void)state;
    enum { N = 1001 };
    const codec_t *codec = codec_find("e3m0", NULL);
    for (uint64_t round = 0; round < 300; round++) {
        float values[N], largest = 0, back[N];
        uint8_t bytes[N / 2 + 1 + 4];
        for (size_t i = 0; i < N; i++) {
            uint64_t bits = rng_bits(round, i);
            float middle = ldexpf(1.5f, -(int)(bits % 8)) * (1 + (float)(round % 7) / 7);
            float near = bits & 256   ? nextafterf(middle, 0)
                         : bits & 512 ? nextafterf(middle, 9)
                                      : middle;
            float x = round % 3 == 0 ? (float)rng_normal(round, i) : near;
            if (round % 3 == 2) x = ldexpf(x, -140); /* subnormal, most of them */
            values[i] = bits & 1024 ? -x : x;
            largest = fmaxf(largest, x < 0 ? -x : x);
        }
        size_t n = encode(codec, values, N, bytes, sizeof bytes, NULL);
        assert_int_equal(codec_decode(codec, bytes, n, back, N, NULL), 0);
        for (size_t i = 0; i < N; i++) {
            double share = fabs((double)values[i]) / (double)largest;
            int code = share > 0x1p-7;
            for (int power = -6; power < 0; power++) code += share > ldexp(1.5, power);
            if (code > 0 && values[i] < 0) code |= 8;
            assert_int_equal(bytes[4 + i / 2] >> i % 2 * 4 & 15, code);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codec_round_trip),
        cmocka_unit_test(test_codec_bf16_rounds),
        cmocka_unit_test(test_codec_bytes),
        cmocka_unit_test(test_codec_extremes),
        cmocka_unit_test(test_codec_topk),
        cmocka_unit_test(test_codec_feedback),
        cmocka_unit_test(test_codec_chunk),
        cmocka_unit_test(test_codec_random_bytes),
        cmocka_unit_test(test_codec_int8_number_by_number),
        cmocka_unit_test(test_codec_e3m0_number_by_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
