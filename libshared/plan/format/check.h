/* Does a plan keep to its own arena and tables? Checked when a plan is loaded, whoever made it, so
 * that running it checks nothing. What a kernel does inside cannot be checked, and plans carry no
 * signature: a worker runs the plans that its shepherd names by their hash. */
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H

#include "plan/format/plan.h"

enum { MAX_LOOP_DEPTH = 16 }; /* loops inside each other */

/* -1 with ERR_CORRUPT naming the tensor, constant or step and the bound it breaks. Pure. */
int plan_check(const plan_t *plan, err_t *err);

/* Bytes of the arena a step touches: checks sizes, leading dimensions, strides and offsets against
 * arena_bytes. -1 with ERR_CORRUPT naming the operand and the bound it breaks. */
int plan_check_gemm(const plan_gemm_step_t *step, uint64_t arena_bytes, err_t *err);

#endif
