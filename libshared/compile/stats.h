/* What a compiled module costs: the text of `pcp compile --stats`. */
#ifndef COMPILE_STATS_H
#define COMPILE_STATS_H

#include "base/str.h"
#include "ir/ir.h"
#include "plan/format/plan.h"

/* Append, for each program of `plan`: ops of the function of its name in `module` (after the
 * passes), by kind of step their number, FLOPs and bytes moved, what was recomputed, and the peak
 * of its temporaries; then kernels, constants and the arena by role. FLOPs count a multiply and an
 * add as two; bytes are what steps read and write, not what misses a cache. */
void stats_print(const ir_module_t *module, const plan_t *plan, str_t *out);

#endif
