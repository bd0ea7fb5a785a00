/* outer: rules against hand-computed steps, sums in any order, admission. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "outer/admission.h"
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
        cmocka_unit_test(test_admission),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
