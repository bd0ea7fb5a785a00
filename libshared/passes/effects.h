/* What an op does besides making its results; shared by the passes. Pure functions. */
#ifndef PASSES_EFFECTS_H
#define PASSES_EFFECTS_H

#include "ir/op.h"

/* The op, or an op in its regions, must stay even when nobody reads its results: checks, custom
 * calls that declare a side effect, and calls (whose callee is not looked at: inline first). */
bool effects_any(const ir_op_t *op);

/* Running the op twice on equal operands gives equal results, so one may stand for the other. False
 * for random numbers, barriers and whatever has effects. */
bool effects_mergeable(const ir_op_t *op);

#endif
