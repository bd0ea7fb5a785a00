/* Random functions as models have them, for comparing two ways to run them: chains of maps, views,
 * reductions, products, normalisations, attention, lookups, regions and gradients, over all element
 * types. Float values stay within a few units and no decision (comparison, rounding to an integer,
 * order) hangs on a float that rounding may change, so that integers and booleans must agree to the
 * bit and floats up to rounding. */
#ifndef TESTS_RANDOM_MIX_H
#define TESTS_RANDOM_MIX_H

#include "ir/ir.h"

/* Append the public function @name to `module`: the same seed gives the same. One in four is the
 * gradient of a scalar function. Integer inputs are meant to lie in [0, 9). NULL after an error,
 * which is on stderr. */
ir_fn_t *random_mix(ir_module_t *module, const char *name, uint64_t seed);

/* How far a float result may be off: 0 for one that takes no rounding that a plan may do otherwise,
 * else the unit roundoff of the narrowest type on its way. */
double random_mix_roundoff(const ir_fn_t *fn, int result);

#endif
