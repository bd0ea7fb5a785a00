/* Candidates in order of their scores, cut one rule after another. */
#include "infer/choose.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

/* e^-50 of the likeliest's share: below what a sum of f64 can see, over any vocabulary. */
static const double UNSEEN = 50;
static const double MOST_PENALTY = 100;

struct choose {
    choose_options_t options;
    int64_t vocab;
    uint64_t drawn;
    float *score;       /* [vocab], changed */
    uint32_t *order;    /* [vocab]: candidates */
    double *share;      /* [vocab]: of the candidates, not normalized */
    uint32_t *n_chosen; /* [vocab]: how often each was; NULL: nobody asks */
};

static int check_options(const choose_options_t *o, int64_t vocab, err_t *err)
{
    const struct {
        const char *name;
        double value, most;
    } fields[] = {{"temperature", o->temperature, 100},
                  {"top_k", (double)o->top_k, 1e18},
                  {"top_p", o->top_p, 1},
                  {"min_p", o->min_p, 1},
                  {"repetition", o->repetition, 1000}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!(fields[i].value >= 0 && fields[i].value <= fields[i].most))
            return err_set(err, ERR_ARG, "%s is %g, must be 0 to %g", fields[i].name,
                           fields[i].value, fields[i].most);
    if (!(fabs(o->presence) <= MOST_PENALTY && fabs(o->frequency) <= MOST_PENALTY))
        return err_set(err, ERR_ARG, "penalties are %g and %g, must be -%g to %g", o->presence,
                       o->frequency, MOST_PENALTY, MOST_PENALTY);
    for (size_t i = 0; i < o->n_bias; i++)
        if (o->bias[i].token >= vocab || isnan(o->bias[i].add))
            return err_set(err, ERR_ARG, "bias of token %u by %g: tokens are below %lld",
                           o->bias[i].token, (double)o->bias[i].add, (long long)vocab);
    return 0;
}

choose_t *choose_new(const choose_options_t *options, int64_t vocab, err_t *err)
{
    if (check_options(options, vocab, err) < 0) return NULL;
    choose_t *self = mem_calloc(1, sizeof *self);
    self->options = *options;
    self->vocab = vocab;
    self->score = mem_calloc((size_t)vocab, sizeof *self->score);
    self->order = mem_calloc((size_t)vocab, sizeof *self->order);
    self->share = mem_calloc((size_t)vocab, sizeof *self->share);
    if (options->presence != 0 || options->frequency != 0)
        self->n_chosen = mem_calloc((size_t)vocab, sizeof *self->n_chosen);
    return self;
}

void choose_destroy(choose_t **self_p)
{
    choose_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    free(self->score);
    free(self->order);
    free(self->share);
    free(self->n_chosen);
    free(self);
}

/* --- orders --- */

static bool before(const float *scores, uint32_t a, uint32_t b)
{
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
}

static int compare(const void *a, const void *b, void *scores)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x == y ? 0 : before(scores, x, y) ? -1 : 1;
}

static void sort(const float *scores, uint32_t *tokens, int64_t n)
{
    qsort_r(tokens, (size_t)n, sizeof *tokens, compare, (void *)(uintptr_t)scores);
}

/* Of a heap whose last is on top: x comes to `at` or below it. */
static void sift(const float *scores, uint32_t *heap, int64_t n, int64_t at, uint32_t x)
{
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(scores, heap[child], heap[child + 1])) child++;
        if (!before(scores, x, heap[child])) break;
        heap[at] = heap[child];
    }
    heap[at] = x;
}

void choose_highest(const float *scores, int64_t vocab, uint32_t *tokens, int64_t n)
{
    if (n < 1) return;
    for (int64_t i = 0; i < n; i++) tokens[i] = (uint32_t)i;
    for (int64_t i = n / 2; i-- > 0;) sift(scores, tokens, n, i, tokens[i]);
    for (int64_t i = n; i < vocab; i++)
        if (before(scores, (uint32_t)i, tokens[0])) sift(scores, tokens, n, 0, (uint32_t)i);
    sort(scores, tokens, n);
}

static uint32_t highest(const float *scores, int64_t vocab)
{
    uint32_t best = 0;
    for (int64_t i = 1; i < vocab; i++)
        if (scores[i] > scores[best]) best = (uint32_t)i;
    return best;
}

/* --- rules --- */

static void change_scores(choose_t *self, const float *scores, const uint32_t *seen, size_t n)
{
    const choose_options_t *o = &self->options;
    float r = (float)o->repetition;
    memcpy(self->score, scores, (size_t)self->vocab * sizeof *scores);
    for (size_t i = 0; r > 0 && r != 1 && i < n; i++) {
        uint32_t t = seen[i]; /* from the score as it was: once, however often it is there */
        if (t < self->vocab) self->score[t] = scores[t] < 0 ? scores[t] * r : scores[t] / r;
    }
    for (int64_t i = 0; self->n_chosen && i < self->vocab; i++)
        if (self->n_chosen[i] > 0)
            self->score[i] -= (float)(o->presence + self->n_chosen[i] * o->frequency);
    for (size_t i = 0; i < o->n_bias; i++) self->score[o->bias[i].token] += o->bias[i].add;
}

/* Candidates in order, those with no visible share left out; returns how many. */
static int64_t list(choose_t *self)
{
    const choose_options_t *o = &self->options;
    int64_t n = 0;
    if (o->top_k > 0 && o->top_k < self->vocab) {
        choose_highest(self->score, self->vocab, self->order, o->top_k);
        return o->top_k;
    }
    double least = self->score[highest(self->score, self->vocab)] - UNSEEN * o->temperature;
    for (int64_t i = 0; i < self->vocab; i++)
        if (self->score[i] >= least) self->order[n++] = (uint32_t)i;
    sort(self->score, self->order, n);
    return n;
}

/* How many of the first n are left by top_p and min_p; their shares are set. */
static int64_t cut(choose_t *self, int64_t n)
{
    const choose_options_t *o = &self->options;
    double total = 0, sum = 0, top = self->score[self->order[0]];
    for (int64_t i = 0; i < n; i++) {
        self->share[i] = exp((self->score[self->order[i]] - top) / o->temperature);
        total += self->share[i];
    }
    if (o->top_p > 0 && o->top_p < 1)
        for (int64_t i = 0; i < n; i++)
            if ((sum += self->share[i]) >= o->top_p * total) n = i + 1;
    while (n > 1 && self->share[n - 1] < o->min_p) n--;
    return n;
}

/* One of the tokens that the rules leave. */
static uint32_t draw(choose_t *self)
{
    double total = 0;
    double u = rng_uniform(self->options.seed, self->drawn++);
    uint32_t best = highest(self->score, self->vocab);
    if (self->options.temperature == 0 || isinf(self->score[best])) return best;
    int64_t n = cut(self, list(self));
    for (int64_t i = 0; i < n; i++) total += self->share[i];
    double left = u * total;
    for (int64_t i = 0; i < n; i++)
        if ((left -= self->share[i]) < 0) return self->order[i];
    return self->order[n - 1];
}

uint32_t choose_next(choose_t *self, const float *scores, const uint32_t *seen, size_t n_seen)
{
    change_scores(self, scores, seen, n_seen);
    uint32_t token = draw(self);
    if (self->n_chosen) self->n_chosen[token]++;
    return token;
}

double choose_logprob(const float *scores, int64_t vocab, uint32_t token)
{
    double top = scores[highest(scores, vocab)], sum = 0;
    for (int64_t i = 0; i < vocab; i++) sum += exp(scores[i] - top);
    return scores[token] - top - log(sum);
}
