/* map and reduce as a while loop over elements, for regions that nothing else takes. Inside of
 * passes/. */
#ifndef PASSES_ELEMENT_LOOP_H
#define PASSES_ELEMENT_LOOP_H

#include "ir/ir.h"

/* The op (map or reduce) of the old function, as a loop at the new one's cursor: elements of the
 * first operand in row-major order, as the interpreter takes them. The region's ops go through the
 * clone's rewrite. *counter, unless counter is NULL, is a scalar of the new function that those
 * rewrites read and set: it is carried. Returns 1, or -1 with the error. */
int element_loop(ir_clone_t *self, const ir_op_t *op, ir_val_t *counter, err_t *err);

#endif
