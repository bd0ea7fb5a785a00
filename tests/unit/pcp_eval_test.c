/* The stride method: each token counted once, with the context that is promised; sums against the
 * definition, token by token, over scores that depend on what was read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "pcp/eval_text.h"

static void test_windows(void **state)
{
    (void)state;
    for (size_t n = 0; n < 40; n++)
        for (size_t length = 1; length <= 9; length++)
            for (size_t stride = 1; stride <= length; stride++) {
                eval_window_t w = {0};
                size_t next = 1; /* token to be counted */
                while (eval_next_window(n, length, stride, &w)) {
                    size_t first = w.from + w.n - w.counted + 1;
                    assert_true(w.n >= 1 && w.n <= length && w.counted >= 1);
                    assert_int_equal(first, next);
                    next = w.from + w.n + 1;
                    assert_true(next <= n);
                    bool all = w.from == 0, enough = first - w.from > length - stride;
                    assert_true(all || enough);
                }
                assert_int_equal(next, n > 1 ? n : 1);
            }
}

enum { VOCAB = 5, N = 23, LENGTH = 6 };

/* Behind place i: made of the tokens read so far in this window. */
static void made_up(const uint32_t *tokens, size_t i, float *scores)
{
    uint64_t seen = 1;
    for (size_t k = 0; k <= i; k++) seen = seen * 31 + tokens[k];
    for (uint64_t v = 0; v < VOCAB; v++) scores[v] = (float)rng_normal(seen, v) + 40;
}

static const float *window_scores(void *user, const uint32_t *tokens, size_t n, err_t *err)
{
    float *all = user;
    (void)err;
    assert_true(n <= LENGTH);
    for (size_t i = 0; i < n; i++) made_up(tokens, i, all + i * VOCAB);
    return all;
}

/* The window of token t, by the definition: the first counts LENGTH, each other `stride` more; the
 * last ends with the text. */
static double by_definition(const uint32_t *tokens, size_t stride)
{
    double nats = 0;
    for (size_t t = 1; t < N; t++) {
        size_t end = LENGTH;
        while (end < t) end += stride;
        if (end > N - 1) end = N - 1;
        size_t from = end > LENGTH ? end - LENGTH : 0;
        float scores[VOCAB];
        double sum = 0;
        made_up(tokens + from, t - 1 - from, scores);
        for (int v = 0; v < VOCAB; v++) sum += exp((double)scores[v]);
        nats -= log(exp((double)scores[tokens[t]]) / sum);
    }
    return nats;
}

static void test_sums(void **state)
{
    (void)state;
    uint32_t tokens[N];
    float room[LENGTH * VOCAB];
    for (uint64_t i = 0; i < N; i++) tokens[i] = (uint32_t)(rng_bits(1, i) % VOCAB);
    for (size_t stride = 1; stride <= LENGTH; stride++) {
        eval_sum_t sum;
        err_t err = {0};
        if (eval_tokens(tokens, N, LENGTH, stride, VOCAB, window_scores, room, NULL, NULL, &sum,
                        &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(sum.counted, N - 1);
        assert_true(fabs(sum.nats - by_definition(tokens, stride)) < 1e-9);
    }
}

static const float *no_number(void *user, const uint32_t *tokens, size_t n, err_t *err)
{
    float *all = user;
    (void)tokens, (void)n, (void)err;
    all[2] = NAN;
    return all;
}

static void test_refused(void **state)
{
    (void)state;
    uint32_t tokens[3] = {0, 1, 2};
    float room[LENGTH * VOCAB] = {0};
    eval_sum_t sum = {.counted = 77};
    err_t err = {0};
    assert_int_equal(
        eval_tokens(tokens, 1, LENGTH, 2, VOCAB, window_scores, room, NULL, NULL, &sum, &err), -1);
    assert_int_equal(
        eval_tokens(tokens, 3, LENGTH, 2, VOCAB, no_number, room, NULL, NULL, &sum, &err), -1);
    assert_int_equal(err.code, ERR_NUMERIC);
    assert_int_equal(sum.counted, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("pcp_eval", tests, NULL, NULL);
}
