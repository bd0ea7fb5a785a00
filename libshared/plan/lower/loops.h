/* Ops lowered to plain loops: kernels of their own, unfused, of the loop-IR with statements in
 * order (kernel_t.in_order). For whatever has no rule in inline.c: ops whose regions are more than
 * one operation, windows, sorting, convolution, bits. Not for other folders. */
#ifndef PLAN_LOOPS_H
#define PLAN_LOOPS_H

#include "plan/lower/lower.h"

/* Does the op in this form go to plain loops? Regions beyond scalar operations are refused. */
bool loops_knows(const ir_fn_t *fn, const ir_op_t *op);
/* The same whatever the regions hold. */
bool loops_has_form(const ir_fn_t *fn, const ir_op_t *op);
/* Is there a row for the code, whatever the form? */
bool loops_has_row(op_code_t code);

/* The values from outside that the op's regions read, once each, appended. */
typedef VEC(ir_val_t) value_list_t;
void loops_captures(const ir_fn_t *fn, const ir_op_t *op, value_list_t *list);

/* Operands, captured values and results get storage of their own, row-major. */
void loops_mark(lower_t *self, const ir_op_t *op);
/* The op becomes a kernel and a step. */
void loops_place(lower_t *self, const ir_op_t *op);

/* Values that sorting needs beside its operands: the function grows before lowering starts. */
ir_val_t loops_scratch(ir_fn_t *fn, const ir_op_t *op); /* IR_NONE: none */

#endif
