/* Initial values of a model's parameters, by rule.
 *
 * A rule is text: "zeros", "ones", "constant(V)", "normal(STD)", "uniform(LOW,HIGH)". A parameter's
 * rule is its attribute pcp.init; without one (exported models) the default goes by rank and use:
 * rank 2 and more normal(0.02); a vector that is first multiplied starts at one, any other at zero. The rank is that of a
 * layer's part where a model keeps its layers side by side (ops/stacked.h).
 * Values depend on (seed, parameter name, element index) alone: any machine makes the same ones. */
#ifndef MODEL_INIT_H
#define MODEL_INIT_H

#include "ir/ir.h"

/* The rule of parameter `param` of the entry function. Borrowed from the module or static. */
const char *init_rule(const ir_fn_t *fn, int param);

/* Fill out[0, n) by the rule. ERR_PARSE names the rule and the known forms. */
int init_fill(const char *rule, uint64_t seed, const char *name, float *out, int64_t n, err_t *err);

#endif
