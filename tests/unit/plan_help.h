/* Modules run both by the interpreter and as compiled plans, results compared. */
#ifndef PLAN_HELP_H
#define PLAN_HELP_H

#include "ir/ir.h"

/* Parse `text` and compare every public function's results, inputs drawn from `seed` (floats in
 * [-2, 2], integers in [0, int_top)). Fails the running test when a float result differs by more than
 * tolerance * max(1, largest |value|), or another result at all. The module is consumed. */
void plan_check_module(ir_module_t *module, uint64_t seed, int64_t int_top, double tolerance);
void plan_check_text(const char *text, uint64_t seed, int64_t int_top, double tolerance);

#endif
