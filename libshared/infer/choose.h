/* Which token comes next, from the scores of all of them.
 *
 * Scores are changed and tokens left out in this order; what is left is drawn from:
 *   repetition    the score s of a token that the sequence has already becomes s / r, or s r where s is
 *                 below 0 (Keskar et al., "CTRL", 2019)
 *   presence, frequency   of a token that this choose_t has chosen c times already, the score is less
 *                 by presence + c frequency (OpenAI's reference of its interface)
 *   bias          is added to the scores of the tokens it names
 *   temperature   p_i = e^(s_i / T) / sum_j e^(s_j / T); 0: the token of the highest score
 *   top_k         the k likeliest
 *   top_p         the fewest likeliest whose shares reach p (Holtzman et al. 2020)
 *   min_p         those at least m times as likely as the likeliest (Nguyen et al. 2024)
 * Of equal scores that of the lower number comes first. The same options, seed and scores choose the
 * same tokens. One thread at a time per choose_t. */
#ifndef INFER_CHOOSE_H
#define INFER_CHOOSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct {
    uint32_t token;
    float add;
} choose_bias_t;

typedef struct {
    double temperature;         /* 0 to 100 */
    int64_t top_k;              /* 0: all */
    double top_p;               /* above 0 to 1; 0: as 1, all */
    double min_p;               /* 0, all, to 1 */
    double repetition;          /* above 0; 0: as 1, nothing changes */
    double presence, frequency; /* -100 to 100 */
    uint64_t seed;
    const choose_bias_t *bias; /* borrowed as long as the choose_t is used */
    size_t n_bias;
} choose_options_t;

typedef struct choose choose_t;

/* ERR_ARG names the option that is out of range, or a bias outside of the vocabulary. */
choose_t *choose_new(const choose_options_t *options, int64_t vocab, err_t *err);
void choose_destroy(choose_t **self_p);

/* The next token, by scores[vocab] without NaN; seen[n]: the sequence so far. */
uint32_t choose_next(choose_t *self, const float *scores, const uint32_t *seen, size_t n);

/* ln of the token's share of the softmax of scores[vocab] as they are. */
double choose_logprob(const float *scores, int64_t vocab, uint32_t token);

/* The n tokens of the highest scores, the highest first; n at most vocab. */
void choose_highest(const float *scores, int64_t vocab, uint32_t *tokens, int64_t n);

#endif
