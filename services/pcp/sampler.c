/* Next-token sampling with temperature and top-k over a window of the last tokens. */
#include "pcp/sampler.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "pcp/scorer.h"

struct sampler {
    scorer_t *scorer;
    VEC(uint32_t) context;
    uint64_t drawn;
    int *order; /* token numbers, likeliest first */
};

sampler_t *sampler_new(const checkpoint_t *checkpoint, int threads, err_t *err)
{
    scorer_t *scorer = scorer_new(checkpoint, threads, err);
    if (!scorer) return NULL;
    sampler_t *self = mem_calloc(1, sizeof *self);
    self->scorer = scorer;
    self->order = mem_calloc((size_t)scorer_vocab(scorer), sizeof *self->order);
    return self;
}

void sampler_destroy(sampler_t **self_p)
{
    sampler_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    scorer_destroy(&self->scorer);
    VEC_FREE(&self->context);
    free(self->order);
    free(self);
    *self_p = NULL;
}

int sampler_feed(sampler_t *self, const uint32_t *tokens, size_t n, err_t *err)
{
    if (scorer_check(self->scorer, tokens, n, err) < 0) return -1;
    for (size_t i = 0; i < n; i++) VEC_PUSH(&self->context, tokens[i]);
    return 0;
}

/* Scores of the token after the context, of which the model reads the last. */
static const float *score(sampler_t *self, err_t *err)
{
    size_t n = self->context.n, length = (size_t)scorer_length(self->scorer);
    size_t from = n > length ? n - length : 0;
    const float *all = scorer_run(self->scorer, self->context.at + from, n - from, err);
    return all ? all + (int64_t)(n - from - 1) * scorer_vocab(self->scorer) : NULL;
}

static int compare_scores(const void *a, const void *b, void *scores)
{
    float x = ((const float *)scores)[*(const int *)a],
          y = ((const float *)scores)[*(const int *)b];
    if (x != y) return x < y ? 1 : -1;
    return *(const int *)a - *(const int *)b;
}

/* The token whose share of the softmax over the first k holds `u` in [0, 1). */
static int choose(const sampler_t *self, const float *scores, int64_t k, double temperature,
                  double u)
{
    double total = 0, top = scores[self->order[0]];
    for (int64_t i = 0; i < k; i++) total += exp((scores[self->order[i]] - top) / temperature);
    double left = u * total;
    for (int64_t i = 0; i < k; i++) {
        left -= exp((scores[self->order[i]] - top) / temperature);
        if (left < 0) return self->order[i];
    }
    return self->order[k - 1];
}

int sampler_next(sampler_t *self, const sampler_choice_t *choice, uint32_t *token, err_t *err)
{
    int64_t vocab = scorer_vocab(self->scorer);
    if (self->context.n == 0) return err_set(err, ERR_STATE, "nothing to go on from");
    const float *scores = score(self, err);
    if (!scores) return -1;
    for (int i = 0; i < vocab; i++) {
        self->order[i] = i;
        if (isnan(scores[i]))
            return err_set(err, ERR_NUMERIC, "the model's score of token %d is not a number", i);
    }
    qsort_r(self->order, (size_t)vocab, sizeof *self->order, compare_scores,
            (void *)(uintptr_t)scores);
    int64_t k = choice->top_k > 0 && choice->top_k < vocab ? choice->top_k : vocab;
    double u = rng_uniform(choice->seed, self->drawn++);
    int chosen = choice->temperature > 0 ? choose(self, scores, k, choice->temperature, u)
                                         : self->order[0];
    *token = (uint32_t)chosen;
    VEC_PUSH(&self->context, *token);
    return 0;
}
