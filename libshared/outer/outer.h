/* Outer optimizers: what the aggregator does with the mean pseudo-gradient of a round.
 *
 * Sign: d = theta_start - theta_end, so descent subtracts. Every rule is element-wise and keeps no
 * state of its own, so any piece of the flat parameter vector can be stepped in any order. A rule
 * is one row of the table in outer.c. Thread-safe. */
#ifndef OUTER_OUTER_H
#define OUTER_OUTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

typedef struct outer outer_t;

typedef struct {
    const char *rule; /* "nesterov", "sgd" (theta -= lr d; lr 1 is plain averaging) */
    double lr;        /* 0.7 in DiLoCo; finite, > 0 */
    double momentum;  /* 0.9 in DiLoCo; 0 <= momentum < 1; "sgd" has none */
} outer_options_t;

/* ERR_ARG names the option, its value and what is allowed. */
outer_t *outer_new(const outer_options_t *options, err_t *err);
void outer_destroy(outer_t **self_p);

/* One outer step of n elements:
 *   nesterov: v_next = mu v + d; theta_next = theta - lr (d + mu v_next)   (PyTorch's
 *             SGD(nesterov=True); DiLoCo, arXiv 2311.08105, Algorithm 1)
 *   d[n]                    f32, weighted mean pseudo-gradient
 *   theta[n], theta_next[n] f32; may be the same
 *   v[n], v_next[n]         f32, momentum, zero before the first step; may be the same; rules
 *                           without momentum do not touch them
 * Computed in f64 and rounded once to f32 for v and once for theta. All borrowed. Returns 0; -1 with
 * ERR_NUMERIC, nothing written, if d holds NaN or Inf. */
int outer_step(const outer_t *self, const float *theta, const float *v, const float *d, size_t n,
               float *theta_next, float *v_next, err_t *err);

#endif
