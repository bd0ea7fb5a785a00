/* The list and the table of a module's functions. Internal to ir/. */
#ifndef IR_FUNCTIONS_H
#define IR_FUNCTIONS_H

#include "ir/ir.h"

/* Behind the others, found by its name unless one before has the same. fn->module is `self`, and keeps it. */
void ir_module_add(ir_module_t *self, ir_fn_t *fn);

#endif
