/* The checks of StableHLO's test files (ops/check_expect.h) with what they check computed by a
 * compiled plan instead of the interpreter. */
#ifndef TOOLS_CHECK_COMPILED_H
#define TOOLS_CHECK_COMPILED_H

#include "ops/eval.h"

/* As check_module: 0 every check of the entry holds, 1 one does not (err says where, what was found
 * and what was expected), -1 not valid, or not supported by the plan compiler, which err names. The
 * results of @inputs and the entry's constants are inputs of the plan, so that no pass folds what
 * is to be checked; expected values are the interpreter's. Adds functions to the module. Needs the
 * C compiler; one thread at a time per module. */
int check_module_on_cpu(ir_module_t *module, err_t *err);
/* The same within limits (ops/eval.h; NULL: its defaults): max_bytes bounds the plan's arena and,
 * besides, the checked values. */
int check_module_on_cpu_within(ir_module_t *module, const eval_options_t *limits, err_t *err);

#endif
