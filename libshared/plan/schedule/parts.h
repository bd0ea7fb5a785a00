/* Large temporaries by parts of their rows. */
#ifndef PLAN_PARTS_H
#define PLAN_PARTS_H

#include "plan/lower/lower.h"

/* Each part reads and updates the other operands of its products anew (a vocabulary's weights and
 * their gradient, beyond any cache): parts are as few as memory that matters leaves, four of the
 * last-level caches of present machines each. GPT-2 124M, 1,024 tokens: in four parts of 64 MiB
 * products take 1 % more CPU time in f32, 6 % in bf16. */
enum { PARTS_BYTES = 128 << 20 };

/* What has more bytes than this is worth cutting into parts of `bytes`; 0: nothing is. */
static inline uint64_t parts_large(uint64_t bytes)
{
    return bytes + bytes / 2;
}

/* Where the rows of a product with more than parts_large bytes only go through steps that work on
 * each row for itself, or sum over rows, these steps run for a part of the rows after the other,
 * and the product is never there as a whole: linear layer, cross-entropy and both gradients. Sums
 * over rows are then taken part by part, which depends on sizes alone. */
void parts_cut(lower_t *lower, uint64_t bytes);

#endif
