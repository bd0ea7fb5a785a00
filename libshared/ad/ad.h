/* Reverse-mode differentiation, graph to graph: the reverse walk over the op table's rules.
 *
 * The cotangent of z = x + iy is dL/dx - i dL/dy (as JAX has it: the transpose, not conjugated), so
 * that the rule of a holomorphic op is that of real numbers; the direction of steepest descent is
 * minus its conjugate.
 *
 * Activity analysis: only values on a path from a wanted float or complex parameter to the
 * differentiated result get cotangents; integers and constants get none; unused parameters get
 * zeros. Contributions to bf16 and f16 values are summed in f32. The walk names no op. */
#ifndef AD_AD_H
#define AD_AD_H

#include "ir/ir.h"

/* A new function `name` in fn's module: fn's parameters, fn's results followed by d result[0] /
 * d param[i] for every i with wanted[i] (same type as the parameter). result[0] must be a float
 * scalar (ERR_TYPE otherwise). Calls are inlined first (passes do it; a remaining call needs a
 * rule). ERR_UNSUPPORTED names the op without a rule and its line. */
ir_fn_t *ad_gradient(ir_module_t *module, const ir_fn_t *fn, const char *name, const bool *wanted,
                     err_t *err);

/* Vector-Jacobian product of any results: parameters are fn's, then one cotangent per float result;
 * results are fn's, then the cotangents of wanted parameters. For tests and higher order. */
ir_fn_t *ad_vjp(ir_module_t *module, const ir_fn_t *fn, const char *name, const bool *wanted,
                err_t *err);

#endif
