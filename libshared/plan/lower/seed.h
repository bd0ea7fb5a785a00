/* The seed of random numbers (ops/draw_rule.h) as a parameter of a program. Inside of plan/. */
#ifndef PLAN_SEED_H
#define PLAN_SEED_H

#include "ir/ir.h"

/* fn itself when nothing in it reads the seed; else a copy, private in the module, with one more
 * parameter behind the others: ui64, role scalar, name "seed". NULL on error. */
const ir_fn_t *seed_parameter(ir_module_t *module, const ir_fn_t *fn, err_t *err);

#endif
