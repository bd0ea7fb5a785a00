/* Next-token sampling: a checkpoint's @logits compiled for this machine, run over the last tokens.
 */
#ifndef PCP_SAMPLER_H
#define PCP_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "ckpt/checkpoint.h"

typedef struct sampler sampler_t;

typedef struct {
    double temperature; /* logits are divided by it; 0: the likeliest token */
    int64_t top_k;      /* 0: all */
    uint64_t seed;
} sampler_choice_t;

/* Compile the checkpoint's model.mlir (seconds) and load its parameters. The checkpoint may be
 * closed after. ERR_ARG: no @logits; ERR_SHAPE: not [1, length] tokens to [1, length, vocabulary].
 */
sampler_t *sampler_new(const checkpoint_t *checkpoint, int threads, err_t *err);
void sampler_destroy(sampler_t **self_p);

/* Append tokens to the context. ERR_ARG: a token outside the vocabulary. */
int sampler_feed(sampler_t *self, const uint32_t *tokens, size_t n, err_t *err);

/* Draw the next token and append it. The k-th draw depends on (seed, k, context) alone. */
int sampler_next(sampler_t *self, const sampler_choice_t *choice, uint32_t *token, err_t *err);

#endif
