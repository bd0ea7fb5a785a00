/* Modules run both by the interpreter and as compiled plans, results compared. */
#ifndef PLAN_HELP_H
#define PLAN_HELP_H

#include "ir/ir.h"

/* How inputs are drawn (floats in [-scale, scale], integers in [0, int_top)) and results compared:
 * a float may differ by tolerance * max(least, largest |value|), anything else not at all. */
typedef struct {
    uint64_t seed;
    int64_t int_top;
    double scale, tolerance, least;
} plan_check_t;

/* Compare every public function's results; fails the running test. The module is consumed. One with loops is compiled
 * twice, for once with its loops as they are. The plan
 * is for target_host(): with PCP_TARGET=cpu:aarch64 it runs in an emulator (plan_emulate.h). */
void plan_check_module(ir_module_t *module, const plan_check_t *how);
/* The same for text, with scale 2 and least 1. */
void plan_check_text(const char *text, uint64_t seed, int64_t int_top, double tolerance);

#endif
