/* The choice of the next token: each rule against its definition over a small vocabulary, and how often
 * each token comes against its share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "infer/choose.h"

enum { VOCAB = 7, DRAWS = 20000 };

/* Shares e^s: 2 is the likeliest, then 5, 0, 6 and 3 alike, 1, 4. */
static const float SCORES[VOCAB] = {1.0f, 0.2f, 2.5f, 0.4f, -3.0f, 1.9f, 0.4f};
static const uint32_t ORDER[VOCAB] = {2, 5, 0, 3, 6, 1, 4};

/* How often each token is drawn. */
static void draw(const choose_options_t *options, const uint32_t *seen, size_t n, double *share)
{
    err_t err = {0};
    choose_t *choose = choose_new(options, VOCAB, &err);
    assert_non_null(choose);
    memset(share, 0, VOCAB * sizeof *share);
    for (int i = 0; i < DRAWS; i++) share[choose_next(choose, SCORES, seen, n)] += 1.0 / DRAWS;
    choose_destroy(&choose);
}

/* Shares by the definition from weights, 0 where a token is left out. */
static void check_shares(const double *share, const double *weight)
{
    double total = 0;
    for (int i = 0; i < VOCAB; i++) total += weight[i];
    for (int i = 0; i < VOCAB; i++) {
        double p = weight[i] / total;
        assert_true(fabs(share[i] - p) <= 5 * sqrt(p * (1 - p) / DRAWS) + 1e-12);
    }
}

static void weights(double temperature, double *weight)
{
    for (int i = 0; i < VOCAB; i++) weight[i] = exp(SCORES[i] / temperature);
}

static void test_temperature(void **state)
{
    (void)state;
    double share[VOCAB], weight[VOCAB];
    for (double t = 0.5; t <= 2; t *= 2) {
        weights(t, weight);
        draw(&(choose_options_t){.temperature = t, .seed = 3}, NULL, 0, share);
        check_shares(share, weight);
    }
    draw(&(choose_options_t){.temperature = 0}, NULL, 0, share);
    assert_true(share[2] > 0.999);
}

static void test_top_k(void **state)
{
    (void)state;
    double share[VOCAB], weight[VOCAB];
    for (int k = 1; k <= VOCAB; k++) {
        weights(1, weight);
        for (int i = k; i < VOCAB; i++) weight[ORDER[i]] = 0;
        draw(&(choose_options_t){.temperature = 1, .top_k = k, .seed = 4}, NULL, 0, share);
        check_shares(share, weight);
    }
}

/* The fewest whose shares reach p: an exact border is reached. */
static void test_top_p(void **state)
{
    (void)state;
    const double p[] = {0.01, 0.3, 0.6, 0.9, 0.999, 1};
    for (size_t n = 0; n < sizeof p / sizeof *p; n++) {
        double share[VOCAB], weight[VOCAB], total = 0, sum = 0;
        weights(1, weight);
        for (int i = 0; i < VOCAB; i++) total += weight[i];
        for (int i = 0; i < VOCAB; i++) {
            bool reached = sum >= p[n] * total;
            sum += weight[ORDER[i]];
            if (reached) weight[ORDER[i]] = 0;
        }
        draw(&(choose_options_t){.temperature = 1, .top_p = p[n], .seed = 5}, NULL, 0, share);
        check_shares(share, weight);
    }
}

static void test_min_p(void **state)
{
    (void)state;
    const double m[] = {0, 0.1, 0.2, 0.5, 0.9, 1};
    for (size_t n = 0; n < sizeof m / sizeof *m; n++) {
        double share[VOCAB], weight[VOCAB];
        weights(1, weight);
        for (int i = 0; i < VOCAB; i++)
            if (weight[i] < m[n] * exp(2.5)) weight[i] = 0;
        draw(&(choose_options_t){.temperature = 1, .min_p = m[n], .seed = 6}, NULL, 0, share);
        check_shares(share, weight);
    }
}

/* A score above 0 is divided, one below multiplied, once however often the token is there. */
static void test_repetition(void **state)
{
    (void)state;
    const uint32_t seen[] = {2, 4, 2, 2, 99};
    double share[VOCAB], weight[VOCAB];
    weights(1, weight);
    weight[2] = exp(2.5 / 1.5);
    weight[4] = exp(-3.0 * 1.5);
    draw(&(choose_options_t){.temperature = 1, .repetition = 1.5, .seed = 7}, seen, 5, share);
    check_shares(share, weight);
}

static void test_bias(void **state)
{
    (void)state;
    const choose_bias_t bias[] = {{2, -INFINITY}, {4, 4.0f}};
    double share[VOCAB], weight[VOCAB];
    weights(1, weight);
    weight[2] = 0;
    weight[4] = exp(1.0);
    draw(&(choose_options_t){.temperature = 1, .bias = bias, .n_bias = 2, .seed = 8}, NULL, 0,
         share);
    check_shares(share, weight);
    draw(&(choose_options_t){.temperature = 0, .bias = bias, .n_bias = 2}, NULL, 0, share);
    assert_true(share[5] > 0.999);
}

static void test_seed(void **state)
{
    (void)state;
    uint32_t drawn[3][50];
    for (int i = 0; i < 3; i++) {
        const choose_options_t options = {.temperature = 1, .seed = i < 2 ? 11 : 12};
        choose_t *choose = choose_new(&options, VOCAB, NULL);
        for (int k = 0; k < 50; k++) drawn[i][k] = choose_next(choose, SCORES, NULL, 0);
        choose_destroy(&choose);
    }
    assert_memory_equal(drawn[0], drawn[1], sizeof drawn[0]);
    assert_memory_not_equal(drawn[0], drawn[2], sizeof drawn[0]);
}

/* Against a sort of all, with many equal scores. */
static void test_highest(void **state)
{
    (void)state;
    enum { N = 300 };
    float scores[N];
    uint32_t got[N];
    for (int i = 0; i < N; i++) scores[i] = (float)(rng_bits(1, (uint64_t)i) % 40);
    for (int n = 0; n <= N; n += 7) {
        choose_highest(scores, N, got, n);
        for (int i = 0; i < n; i++) {
            int ahead = 0; /* of got[i]: as many as its place */
            for (int k = 0; k < N; k++)
                ahead += scores[k] > scores[got[i]] ||
                         (scores[k] == scores[got[i]] && k < (int)got[i]);
            assert_int_equal(ahead, i);
        }
    }
}

static void test_logprobs(void **state)
{
    (void)state;
    double sum = 0;
    for (uint32_t i = 0; i < VOCAB; i++) sum += exp(choose_logprob(SCORES, VOCAB, i));
    assert_true(fabs(sum - 1) < 1e-12);
    double apart = choose_logprob(SCORES, VOCAB, 2) - choose_logprob(SCORES, VOCAB, 0);
    assert_true(fabs(apart - 1.5) < 1e-12);
}

static void test_refused(void **state)
{
    (void)state;
    const choose_bias_t outside = {VOCAB, 1}, nan = {0, NAN};
    const choose_options_t bad[] = {{.temperature = -1},
                                    {.temperature = NAN},
                                    {.temperature = 101},
                                    {.top_k = -1},
                                    {.top_p = 1.5},
                                    {.min_p = 2},
                                    {.repetition = -1},
                                    {.bias = &outside, .n_bias = 1},
                                    {.bias = &nan, .n_bias = 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err_t err = {0};
        assert_null(choose_new(&bad[i], VOCAB, &err));
        assert_int_equal(err.code, ERR_ARG);
    }
}

/* What was chosen comes less often: the highest scores take turns, as the definition says. */
static void test_penalties(void **state)
{
    (void)state;
    err_t err = {0};
    const choose_options_t frequency = {.frequency = 0.5}, presence = {.presence = 1};
    const uint32_t turns[] = {2, 2, 5, 2, 5, 0, 2, 5}, once[] = {2, 5, 2, 2};
    choose_t *choose = choose_new(&frequency, VOCAB, &err);
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++)
        assert_int_equal(choose_next(choose, SCORES, NULL, 0), turns[i]);
    choose_destroy(&choose);
    choose = choose_new(&presence, VOCAB, &err);
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        assert_int_equal(choose_next(choose, SCORES, NULL, 0), once[i]);
    choose_destroy(&choose);
    assert_null(choose_new(&(choose_options_t){.frequency = -101}, VOCAB, &err));
    assert_int_equal(err.code, ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_temperature), cmocka_unit_test(test_penalties),
        cmocka_unit_test(test_top_k),       cmocka_unit_test(test_top_p),
        cmocka_unit_test(test_min_p),       cmocka_unit_test(test_repetition),
        cmocka_unit_test(test_bias),        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_highest),     cmocka_unit_test(test_logprobs),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
