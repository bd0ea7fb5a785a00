/* Outer optimizers: what the aggregator does with the mean pseudo-gradient of a round.
 *
 * Sign: d = theta_start - theta_end, so descent subtracts. An outer_t serves one range of the flat
 * parameter vector; every rule is element-wise, so shards need not agree on anything. A rule is one
 * row of the table in outer.c. One thread at a time. */
#ifndef OUTER_OUTER_H
#define OUTER_OUTER_H

#include <stddef.h>

#include "base/err.h"

typedef struct outer outer_t;

typedef struct {
    const char *rule; /* "nesterov", "sgd" (theta -= lr d; lr 1 is plain averaging) */
    double lr;        /* 0.7 in DiLoCo; finite, > 0 */
    double momentum;  /* 0.9 in DiLoCo; 0 <= momentum < 1; "sgd" has none */
} outer_options_t;

/* State for n parameters, zero. ERR_ARG names the option, its value and what is allowed. */
outer_t *outer_new(const outer_options_t *options, size_t n, err_t *err);
void outer_destroy(outer_t **self_p);

/* One outer step in place:
 *   nesterov: v <- mu v + d; theta <- theta - lr (d + mu v)   (PyTorch's SGD(nesterov=True);
 *             DiLoCo, arXiv 2311.08105, Algorithm 1)
 *   theta[n]  f32, updated; borrowed
 *   d[n]      f32, weighted mean pseudo-gradient; borrowed
 * Computed in f64 and rounded once to f32 for v and once for theta. Returns 0; -1 with ERR_NUMERIC,
 * theta and state untouched, if d holds NaN or Inf. */
int outer_step(outer_t *self, float *theta, const float *d, err_t *err);

/* The rule's state (momentum v) for checkpoints: *n values, 0 for rules without. Borrowed; writing
 * to it before the first step restores a run. */
float *outer_state(outer_t *self, size_t *n);

#endif
