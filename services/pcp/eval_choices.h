/* Multiple choice by log-likelihood: how often the likeliest choice is the right one. */
#ifndef PCP_EVAL_CHOICES_H
#define PCP_EVAL_CHOICES_H

#include <stdbool.h>

#include "base/err.h"

typedef struct {
    const char *checkpoint, *file; /* of items: pcp/choice_items.h */
    int threads, batch;            /* items at a time, 0: up to 8 */
    bool json;
} eval_choices_t;

/* Print accuracies, with their standard errors, of the choice with the largest sum of its tokens'
 * log-probabilities (acc) and of that with the largest sum / bytes (acc_norm); of equal ones the first
 * counts. ERR_ARG "FILE:LINE: ..." also where an item does not fit into the model's context. */
int eval_choices(const eval_choices_t *options, err_t *err);

#endif
