/* Weighted sum of f32 vectors that does not depend on the order of arrival.
 *
 * Each value becomes q = round(value * 2^scale) (to nearest even), and weight * q is added to a
 * 64-bit integer: integer addition is associative, so any order, any grouping and any machine give
 * the same bits. The scale is the largest that cannot overflow:
 *
 *   scale = 62 - ceil(log2 range) - ceil(log2 weight_max)
 *
 * so |sum| <= range * 2^scale * weight_max <= 2^62. With range 64 and weight_max 2^20 that is scale
 * 36, an absolute rounding error of at most 2^-37 = 7e-12 per value before weighting, and the same
 * for the mean. Weights are integers (steps or tokens): counting in the largest common unit keeps
 * the scale high. One thread at a time. */
#ifndef OUTER_FIXED_SUM_H
#define OUTER_FIXED_SUM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct fixed_sum fixed_sum_t;

/* Zero sum of n values, each |value| <= range, all weights together <= weight_max. Peers must agree
 * on both numbers: they are part of a round's definition. ERR_ARG: range not in [2^-20, 2^20],
 * weight_max not in [1, 2^40], or a scale below 8. */
fixed_sum_t *fixed_sum_new(size_t n, double range, uint64_t weight_max, err_t *err);
void fixed_sum_destroy(fixed_sum_t **self_p);
void fixed_sum_reset(fixed_sum_t *self); /* zero sum, zero weight */

int fixed_sum_scale(const fixed_sum_t *self); /* bits behind the binary point */

/* Announce one contribution's weight (>= 1), once, before or after its values: fixed_sum_mean
 * divides by the total. ERR_ARG if the total would pass weight_max; nothing changes then. */
int fixed_sum_add_weight(fixed_sum_t *self, uint64_t weight, err_t *err);

void fixed_sum_drop_weight(fixed_sum_t *self); /* announced weights are void; the values stay */

/* Add weight * values[0, count) to elements [offset, offset + count). A contribution may come in
 * any number of chunks, each once. ERR_NUMERIC: NaN, Inf or |value| > range (names the element);
 * ERR_ARG: outside [0, n) or weight above weight_max. On error nothing is added. */
int fixed_sum_add(fixed_sum_t *self, size_t offset, const float *values, size_t count,
                  uint64_t weight, err_t *err);

uint64_t fixed_sum_weight(const fixed_sum_t *self);

/* out[i] = sum[offset + i] / total weight, for i in [0, count). ERR_STATE when the weight is 0. */
int fixed_sum_mean(const fixed_sum_t *self, size_t offset, float *out, size_t count, err_t *err);

#endif
