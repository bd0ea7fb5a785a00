/* The loops over elements that the aggregator's speed depends on, compiled for several kinds of
 * processor from one text: the results are the same bits on all. Internal to outer/. Pure. */
#ifndef OUTER_KERNELS_H
#define OUTER_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    /* All |values[i]| <= limit; false for NaN. */
    bool (*within)(const float *values, size_t n, float limit);
    /* sum[i] += weight * round(values[i] * factor), nearest even; |values[i] * factor| <= 2^62. */
    void (*add)(uint64_t *sum, const float *values, size_t n, uint64_t weight, double factor);
    /* out[i] = (double)sum[i] / divisor. */
    void (*mean)(const int64_t *sum, float *out, size_t n, double divisor);
    double (*squares)(const float *values, size_t n); /* admission.h: admission_norm2 */
    /* outer.h: the rule nesterov */
    void (*nesterov)(const float *theta, const float *v, const float *d, size_t n, double lr,
                     double mu, float *theta_next, float *v_next);
    float (*largest)(const float *values,
                     size_t n); /* of all |values[i]|, which are finite; 0: none */
    /* out[i] = round(values[i] / scale), nearest even, as a double; at most 127 in size. */
    void (*quantise)(const float *values, size_t n, float scale, int8_t *out);
    /* out[i]: values[i], which are finite, as bf16, nearest even; never infinite */
    void (*halve)(const float *values, size_t n, uint16_t *out);
    /* out[i]: above how many of the rising thresholds |values[i]| is, and 8 more if it is above one and negative */
    void (*rank)(const float *values, size_t n, const float threshold[7], uint8_t *out);
    /* How many |values[i]| have bits of `least` or more; sizes of finite floats are in the order of their bits. */
    size_t (*reaching)(const float *values, size_t n, uint32_t least);
} outer_kernels_t;

const outer_kernels_t *outer_kernels(void); /* the best for this processor; static storage */

#endif
