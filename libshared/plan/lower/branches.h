/* Control flow of a program. if and case: every branch runs, a select keeps one result. while: the
 * regions become programs of their own; a loop step runs them over tensors that carry values from
 * one iteration to the next. Not for other folders. */
#ifndef PLAN_BRANCHES_H
#define PLAN_BRANCHES_H

#include "plan/lower/loops.h"
#include "plan/lower/lower.h"

/* --- branches.c: during legalization ---------------------------------------------------------- */

/* if and case as selects; a while inside a branch iterates only where the branch is taken. The
 * clone's user is a branches_t. As the rewrite hooks: 1 done, 0 not such an op, -1. */
typedef struct {
    ir_val_t taken; /* i1: does the code under construction count? IR_NONE: always */
    caps_t caps;    /* of the target: legalize.c keeps it here for the same clone */
    uint64_t large; /* legalize.c: as in lower_t */
} branches_t;
int branches_rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err);

/* --- while.c: during lowering ----------------------------------------------------------------- */

/* What the loop reads beside its carries, in the order of the programs' parameters; constants are
 * left out, they are repeated inside. */
void while_captures(const ir_fn_t *fn, const ir_op_t *op, value_list_t *list);
/* Operands, captures and results get storage. */
void while_mark(lower_t *self, const ir_op_t *op);
/* Steps: copies of initial values and captures, then the loop. */
void while_place(lower_t *self, const ir_op_t *op);
/* Region r (0: condition, 1: body) as a function of carries and captures. Parameters and results
 * name the tensors <name>.<i>; the condition's result is <name>.more. NULL on error. */
ir_fn_t *while_region_fn(const lower_t *lower, const ir_op_t *op, int r, const char *name,
                         err_t *err);

#endif
