/* outer: rules against hand-computed steps, sums in any order, codecs, admission. */
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
#include "outer/admission.h"
#include "outer/codec.h"
#include "outer/fixed_sum.h"
#include "outer/kernels.h"
#include "outer/outer.h"

/* ---- outer rules ---- */

/* One step of n elements from vectors into vectors; v NULL: the rule keeps nothing. */
static int step(const outer_options_t *options, const float *theta, const float *v, const float *d,
                size_t n, float *theta_next, float *v_next, err_t *err)
{
    const outer_slice_t slice = {.n = n,
                                 .d = d,
                                 .theta = theta,
                                 .theta_next = theta_next,
                                 .state = {v},
                                 .state_next = {v_next}};
    return outer_step(options, &slice, err);
}

/* By hand, lr 0.5, mu 0.5, theta 1, d 1 then -2 (all exact in binary):
 *   v = 1;        theta = 1 - 0.5 (1 + 0.5)        = 0.25
 *   v = 0.5 - 2;  theta = 0.25 - 0.5 (-2 - 0.75)   = 1.625 */
static void test_nesterov_by_hand(void **state)
{
    (void)state;
    const outer_options_t options = {outer_rule_find("nesterov", NULL), 0.5, 0.5};
    err_t err = {0};
    assert_int_equal(outer_check(&options, &err), 0);
    float theta[2] = {1, 0}, v[2] = {0}, d1[2] = {1, 0}, d2[2] = {-2, 4};
    assert_int_equal(step(&options, theta, v, d1, 2, theta, v, &err), 0);
    assert_true(theta[0] == 0.25f && theta[1] == 0);
    assert_int_equal(step(&options, theta, v, d2, 2, theta, v, &err), 0);
    assert_true(theta[0] == 1.625f && theta[1] == -3); /* 0 - 0.5 (4 + 0.5 4) */
    assert_true(v[0] == -1.5f && v[1] == 4);

    /* NaN or Inf: refused, nothing moves. */
    float before[2] = {theta[0], theta[1]}, bad[2] = {1, NAN};
    assert_int_equal(step(&options, theta, v, bad, 2, theta, v, &err), -1);
    assert_int_equal(err.code, ERR_NUMERIC);
    assert_non_null(strstr(err.text, "element 1 of 2"));
    bad[1] = INFINITY;
    assert_int_equal(step(&options, theta, v, bad, 2, theta, v, &err), -1);
    assert_memory_equal(theta, before, sizeof before);
    assert_true(v[0] == -1.5f);
}

/* Every rule over many steps, beside the same in f64. nesterov: PyTorch's SGD(nesterov=True), buf =
 * mu buf + g; p -= lr (g + mu buf). average: not the rule's own words but what it stands for, the
 * weighted mean of three replicas' parameters. */
static void test_rules_in_f64(void **state)
{
    (void)state;
    enum { N = 100, STEPS = 50, REPLICAS = 3 };
    static const double weight[REPLICAS] = {3, 1, 2};
    static const char *const names[] = {"nesterov", "average"};
    for (int r = 0; r < 2; r++) {
        const outer_options_t options = {outer_rule_find(names[r], NULL), 0.7, 0.9};
        float theta[N], v[N] = {0}, d[N];
        double p[N], buf[N] = {0}, worst = 0;
        for (int i = 0; i < N; i++) p[i] = theta[i] = (float)rng_normal(1, (uint64_t)i);
        for (int s = 0; s < STEPS; s++) {
            for (int i = 0; i < N; i++) {
                double end[REPLICAS], mean = 0, moved = 0;
                for (int k = 0; k < REPLICAS; k++) {
                    end[k] = p[i] - 0.01 * rng_normal(2, (uint64_t)((s * N + i) * REPLICAS + k));
                    mean += weight[k] / 6 * end[k];
                    moved += weight[k] / 6 * (p[i] - end[k]);
                }
                d[i] = (float)moved;
                buf[i] = 0.9 * buf[i] + moved;
                p[i] = r ? mean : p[i] - 0.7 * (moved + 0.9 * buf[i]);
            }
            assert_int_equal(step(&options, theta, v, d, N, theta, v, NULL), 0);
        }
        for (int i = 0; i < N; i++) worst = fmax(worst, fabs(p[i] - (double)theta[i]));
        print_message("# %s: largest deviation after %d steps: %.3g\n", names[r], STEPS, worst);
        /* 50 roundings of values below 4, half a unit of 2^-22 each. */
        assert_true(worst < STEPS * 0x1p-23);
        assert_true((v[0] != 0) == (outer_states(options.rule) == 1));
    }
}

static void test_average_and_places(void **state)
{
    (void)state;
    const outer_options_t average = {outer_rule_find("average", NULL), 0, 0};
    const outer_options_t nesterov = {outer_rule_find("nesterov", NULL), 0.7, 0.9};
    float theta[2] = {3, -1}, d[2] = {0.5f, -0.25f};
    assert_int_equal(step(&average, theta, NULL, d, 2, theta, NULL, NULL), 0);
    assert_true(theta[0] == 2.5f && theta[1] == -0.75f);

    /* In place, or from one pair of vectors into another: the same bits. */
    float ta[2] = {0.3f, 0.1f}, va[2] = {0}, tb[2], vb[2];
    for (int s = 0; s < 2; s++) {
        step(&nesterov, ta, va, d, 2, tb, vb, NULL);
        step(&nesterov, ta, va, d, 2, ta, va, NULL);
        assert_memory_equal(ta, tb, sizeof ta);
        assert_memory_equal(va, vb, sizeof va);
    }
}

static void test_outer_options(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        double lr, momentum;
        const char *says; /* NULL: it is good */
    } cases[] = {
        {"nesterov", 0.7, 0.9, NULL},
        {"nesterov", 0, 0.9, "lr 0"},
        {"nesterov", -1, 0.9, "lr -1"},
        {"nesterov", (double)INFINITY, 0.9, "lr inf"},
        {"nesterov", 1, 1, "momentum 1"},
        {"nesterov", 1, -0.1, "momentum -0.1"},
        {"nesterov", 1, (double)NAN, "momentum"},
        {"average", 0, 1, NULL}, /* it does not look at them */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t err = {0};
        const outer_options_t options = {outer_rule_find(cases[i].rule, NULL), cases[i].lr,
                                         cases[i].momentum};
        assert_int_equal(outer_check(&options, &err), cases[i].says ? -1 : 0);
        if (!cases[i].says) continue;
        assert_int_equal(err.code, ERR_ARG);
        assert_non_null(strstr(err.text, cases[i].says));
    }
    err_t err = {0};
    assert_null(outer_rule_find("adam", &err));
    assert_non_null(strstr(err.text, "adam is unknown; known are nesterov (1), average (2)"));
    assert_null(outer_rule_find_id(0, &err));
    assert_int_equal(err.code, ERR_ARG);
    assert_string_equal(outer_rule_find_id(2, NULL)->name, "average");
    assert_string_equal(outer_rule_find("nesterov", NULL)->state[0], "momentum");
}

/* The vector loops against the plain words: every bit, also of ties and of the largest values. */
static void test_kernels(void **state)
{
    (void)state;
    enum { COUNT = 1003 };
    const outer_kernels_t *k = outer_kernels();
    static const int scales[] = {8, 30, 36, 56, 61};
    for (int s = 0; s < 5; s++) {
        float values[COUNT], mean[COUNT];
        uint64_t sum[COUNT];
        int64_t whole[COUNT];
        double factor = ldexp(1.0, scales[s]), divisor = 37 * factor;
        for (int i = 0; i < COUNT; i++) {
            uint64_t bits = rng_bits(4, (uint64_t)(s * COUNT + i));
            float tie = (float)(((double)(bits % 4096) + 0.5) / factor);
            values[i] = i % 3 ? (float)(rng_uniform(5, bits) * 2 - 1) : tie;
            if (fabsf(values[i]) > 1) values[i] = 1;
            sum[i] = bits;
            whole[i] = (int64_t)(i % 2 ? bits : bits >> (i % 64));
        }
        k->add(sum, values, COUNT, 12345, factor);
        k->mean(whole, mean, COUNT, divisor);
        for (int i = 0; i < COUNT; i++) {
            uint64_t bits = rng_bits(4, (uint64_t)(s * COUNT + i));
            uint64_t want = bits + 12345 * (uint64_t)(int64_t)llrint((double)values[i] * factor);
            if (sum[i] != want) fail_msg("scale %d: %a", scales[s], (double)values[i]);
            float plain = (float)((double)whole[i] / divisor);
            if (memcmp(&plain, &mean[i], sizeof plain) != 0) fail_msg("%lld", (long long)whole[i]);
        }
        assert_true(k->within(values, COUNT, 1));
        for (int i = 0; i < COUNT; i += 97) {
            float kept = values[i];
            values[i] = i % 2 ? NAN : 1.0001f;
            assert_false(k->within(values, COUNT, 1));
            values[i] = kept;
        }
    }
}

/* ---- order-free sums ---- */

enum { WORKERS = 7, VALUES = 1000, CHUNKS = 5 };

typedef struct {
    int worker, chunk;
} piece_t;

static float value_at(int worker, int i)
{
    return (float)(rng_normal(3, (uint64_t)(worker * VALUES + i)) * pow(10, -(i % 8)));
}

static uint64_t weight_of(int worker)
{
    return 500 + 37 * (uint64_t)worker;
}

/* All chunks of all workers, in an order shuffled by `seed`. */
static void sum_in_order(uint64_t seed, float *mean)
{
    piece_t pieces[WORKERS * CHUNKS];
    float values[VALUES];
    fixed_sum_t *sum = fixed_sum_new(VALUES, 64, 1 << 14, NULL);
    assert_non_null(sum);
    for (int i = 0; i < WORKERS * CHUNKS; i++) {
        int j = (int)(rng_bits(seed, (uint64_t)i) % (uint64_t)(i + 1));
        pieces[i] = pieces[j];
        pieces[j] = (piece_t){i / CHUNKS, i % CHUNKS};
    }
    for (int p = 0; p < WORKERS * CHUNKS; p++) {
        int w = pieces[p].worker, from = pieces[p].chunk * (VALUES / CHUNKS);
        for (int i = 0; i < VALUES; i++) values[i] = value_at(w, i);
        if (pieces[p].chunk == 2)
            assert_int_equal(fixed_sum_add_weight(sum, weight_of(w), NULL), 0);
        assert_int_equal(
            fixed_sum_add(sum, (size_t)from, values + from, VALUES / CHUNKS, weight_of(w), NULL),
            0);
    }
    assert_int_equal(fixed_sum_mean(sum, 0, mean, VALUES, NULL), 0);
    fixed_sum_destroy(&sum);
}

static void test_sum_any_order(void **state)
{
    (void)state;
    float first[VALUES], other[VALUES];
    sum_in_order(0, first);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        sum_in_order(seed, other);
        assert_memory_equal(first, other, sizeof first);
    }
    double worst = 0;
    for (int i = 0; i < VALUES; i++) {
        double sum = 0, total = 0;
        for (int w = 0; w < WORKERS; w++) {
            sum += (double)weight_of(w) * (double)value_at(w, i);
            total += (double)weight_of(w);
        }
        double allowed = 0x1p-43 + fabs(sum / total) * 0x1p-24; /* scale 42, and rounding to f32 */
        assert_true(fabs((double)first[i] - sum / total) <= allowed);
        worst = fmax(worst, fabs((double)first[i] - sum / total));
    }
    print_message("# largest deviation from the f64 mean: %.3g\n", worst);
}

static void test_sum_exact(void **state)
{
    (void)state;
    err_t err = {0};
    fixed_sum_t *sum = fixed_sum_new(3, 1, 4, &err);
    assert_int_equal(fixed_sum_scale(sum), 60); /* 62 - log2 1 - log2 4 */
    float out[3], a[3] = {1, -1, 0.25f}, b[3] = {1, 0.5f, 0x1p-60f};
    assert_int_equal(fixed_sum_mean(sum, 0, out, 3, &err), -1);
    assert_int_equal(err.code, ERR_STATE);
    assert_int_equal(fixed_sum_add(sum, 0, a, 3, 3, &err), 0);
    assert_int_equal(fixed_sum_add_weight(sum, 3, &err), 0);
    assert_int_equal(fixed_sum_add(sum, 0, b, 3, 1, &err), 0);
    assert_int_equal(fixed_sum_add_weight(sum, 1, &err), 0);
    assert_true(fixed_sum_weight(sum) == 4);
    assert_int_equal(fixed_sum_mean(sum, 0, out, 3, &err), 0); /* the extreme case: no overflow */
    assert_true(out[0] == 1 && out[1] == -0.625f && out[2] == 0.1875f);
    assert_int_equal(fixed_sum_mean(sum, 2, out, 1, &err), 0);
    assert_true(out[0] == 0.1875f);
    fixed_sum_reset(sum);
    assert_true(fixed_sum_weight(sum) == 0);
    assert_int_equal(fixed_sum_add_weight(sum, 1, &err), 0);
    assert_int_equal(fixed_sum_mean(sum, 0, out, 3, &err), 0);
    assert_true(out[0] == 0 && out[1] == 0 && out[2] == 0);
    fixed_sum_destroy(&sum);
    assert_null(sum);
}

static void test_sum_refuses(void **state)
{
    (void)state;
    err_t err = {0};
    fixed_sum_t *sum = fixed_sum_new(4, 8, 10, &err);
    static const float bad[] = {8.0001f, -8.0001f, NAN, INFINITY, -INFINITY, FLT_MAX};
    for (int i = 0; i < 6; i++) {
        float values[4] = {1, 1, bad[i], 1};
        assert_int_equal(fixed_sum_add(sum, 0, values, 4, 1, &err), -1);
        assert_int_equal(err.code, ERR_NUMERIC);
        assert_non_null(strstr(err.text, "element 2"));
    }
    float ones[5] = {1, 1, 1, 1, 1}, out[4];
    assert_int_equal(fixed_sum_add(sum, 1, ones, 4, 1, &err), -1);
    assert_int_equal(fixed_sum_add(sum, SIZE_MAX, ones, 2, 1, &err), -1);
    assert_int_equal(fixed_sum_add(sum, 0, ones, 4, 0, &err), -1);
    assert_int_equal(fixed_sum_add(sum, 0, ones, 4, 11, &err), -1);
    assert_int_equal(fixed_sum_add_weight(sum, 0, &err), -1);
    assert_int_equal(fixed_sum_add_weight(sum, 11, &err), -1);
    assert_int_equal(fixed_sum_add_weight(sum, 6, &err), 0);
    assert_int_equal(fixed_sum_add_weight(sum, 5, &err), -1);
    assert_int_equal(fixed_sum_add_weight(sum, UINT64_MAX, &err), -1);
    assert_int_equal(fixed_sum_mean(sum, 1, out, 4, &err), -1);
    assert_int_equal(fixed_sum_mean(sum, 0, out, 4, &err), 0); /* nothing was added */
    for (int i = 0; i < 4; i++) assert_true(out[i] == 0);
    fixed_sum_destroy(&sum);

    assert_null(fixed_sum_new(1, 0, 1, &err));
    assert_null(fixed_sum_new(1, (double)NAN, 1, &err));
    assert_null(fixed_sum_new(1, 1e9, 1, &err));
    assert_null(fixed_sum_new(1, 1, 0, &err));
    assert_null(fixed_sum_new(1, 1, UINT64_MAX, &err));
    assert_null(fixed_sum_new(1, 0x1p20, (uint64_t)1 << 40, &err));
    assert_non_null(strstr(err.text, "2 bits behind the point"));
}

/* ---- codecs ---- */

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

static void test_admission(void **state)
{
    (void)state;
    float values[4] = {3, -4, 0, 12};
    assert_true(admission_norm2(values, 4) == 169);
    assert_true(admission_norm2(NULL, 0) == 0);
    float huge[2] = {FLT_MAX, FLT_MAX};
    assert_true(isfinite(admission_norm2(huge, 2)));
    values[1] = NAN;
    assert_false(isfinite(admission_norm2(values, 4)));
    values[1] = INFINITY;
    assert_false(isfinite(admission_norm2(values, 4)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nesterov_by_hand),
        cmocka_unit_test(test_rules_in_f64),
        cmocka_unit_test(test_average_and_places),
        cmocka_unit_test(test_outer_options),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_sum_any_order),
        cmocka_unit_test(test_sum_exact),
        cmocka_unit_test(test_sum_refuses),
        cmocka_unit_test(test_codec_round_trip),
        cmocka_unit_test(test_codec_bf16_rounds),
        cmocka_unit_test(test_codec_bytes),
        cmocka_unit_test(test_codec_extremes),
        cmocka_unit_test(test_codec_topk),
        cmocka_unit_test(test_codec_feedback),
        cmocka_unit_test(test_codec_random_bytes),
        cmocka_unit_test(test_admission),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
