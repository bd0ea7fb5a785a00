/* Windows of the stride method and their sums, in f64. */
#include "pcp/eval_text.h"

#include <math.h>

int eval_next_window(size_t n_tokens, size_t length, size_t stride, eval_window_t *last)
{
    size_t most = n_tokens > 0 ? n_tokens - 1 : 0, done = last->from + last->n;
    if (done >= most) return 0;
    size_t end = last->n == 0 ? length : done + stride;
    if (end > most) end = most;
    *last = (eval_window_t){.from = end > length ? end - length : 0, .counted = end - done};
    last->n = end - last->from;
    return 1;
}

/* -ln of the softmax's share of `token`. */
static double surprise(const float *scores, int64_t vocab, uint32_t token)
{
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < vocab; i++) top = scores[i] > top ? scores[i] : top;
    for (int64_t i = 0; i < vocab; i++) sum += exp(scores[i] - top);
    return log(sum) + top - scores[token];
}

int eval_tokens(const uint32_t *tokens, size_t n, size_t length, size_t stride, int64_t vocab,
                eval_scores_fn *scores, void *scores_user, eval_watch_fn *watch, void *watch_user,
                eval_sum_t *out, err_t *err)
{
    eval_sum_t sum = {0};
    eval_window_t w = {0};
    if (n < 2) return err_set(err, ERR_ARG, "%zu tokens: at least 2 are needed", n);
    while (eval_next_window(n, length, stride, &w)) {
        const float *all = scores(scores_user, tokens + w.from, w.n, err);
        if (!all) return -1;
        for (size_t i = w.n - w.counted; i < w.n; i++) {
            double nats = surprise(all + (int64_t)i * vocab, vocab, tokens[w.from + i + 1]);
            if (!isfinite(nats))
                return err_set(err, ERR_NUMERIC,
                               "the model's scores at token %zu are no numbers, or rule out what "
                               "stands there",
                               w.from + i + 1);
            sum.nats += nats;
        }
        sum.counted += w.counted;
        if (watch) watch(watch_user, sum.counted);
    }
    *out = sum;
    return 0;
}
