/* How well a model foretells tokens, by the stride method: windows of the model's length, each
 * `stride` further than the one before; a window counts the tokens that none before it has counted,
 * so each but the first few has at least length - stride tokens before it. */
#ifndef PCP_EVAL_TEXT_H
#define PCP_EVAL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* One window: it reads tokens [from, from + n) and counts the scores behind its last `counted`. */
typedef struct {
    size_t from, n, counted;
} eval_window_t;

/* The window after `last` ({0} before the first) over n_tokens, of which the first is only read. 1:
 * there is one, 0: all are counted. length and stride from 1, stride at most length. */
int eval_next_window(size_t n_tokens, size_t length, size_t stride, eval_window_t *last);

/* What stands behind each token of a window: [n, vocab] scores, natural logarithms up to a
 * constant; NULL: err. scorer_run is one. */
typedef const float *eval_scores_fn(void *user, const uint32_t *tokens, size_t n, err_t *err);

typedef struct {
    size_t counted; /* tokens */
    double nats;    /* sum of -ln p(token | those before it) */
} eval_sum_t;

/* Called after each window, with how many tokens are counted; may be NULL. */
typedef void eval_watch_fn(void *user, size_t counted);

/* Count tokens[1, n). ERR_NUMERIC: a score is no number; ERR_ARG: fewer than two tokens. */
int eval_tokens(const uint32_t *tokens, size_t n, size_t length, size_t stride, int64_t vocab,
                eval_scores_fn *scores, void *scores_user, eval_watch_fn *watch, void *watch_user,
                eval_sum_t *out, err_t *err);

#endif
