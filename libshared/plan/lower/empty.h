/* Operands without elements. Inside of plan/. */
#ifndef PLAN_EMPTY_H
#define PLAN_EMPTY_H

#include "ir/ir.h"

/* A rewrite of legalize.c: an op that makes elements although an operand has none becomes one that
 * does not read that operand, so that no kernel meets a dimension of 0. 1: done, 0: another op. */
int empty_rewrite(ir_clone_t *self, const ir_op_t *op);

#endif
