/* Carries of while loops that nothing comes of; a part of pass_dce. */
#ifndef PASSES_CARRIES_H
#define PASSES_CARRIES_H

#include "ir/ir.h"

/* Drop every carry that neither the loop's condition, nor what is read of its results, nor an effect
 * depends on: such carries feed only themselves and each other. fn is replaced in its module by a
 * copy without them, if there are any. Returns 0; -1 on an error of the builder. */
int carries_drop(ir_module_t *module, ir_fn_t *fn, err_t *err);

#endif
