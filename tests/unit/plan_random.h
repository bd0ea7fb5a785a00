/* Random programs of reductions, products, views and indices, for compiled plans. */
#ifndef PLAN_RANDOM_H
#define PLAN_RANDOM_H

#include "ir/ir.h"

/* A module of n_fn public functions @f0.. over f32 and i64 parameters; the same seed gives the
 * same. */
ir_module_t *plan_random(uint64_t seed, int n_fn, int n_op);

#endif
