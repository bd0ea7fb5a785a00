/* What the backward half of a program makes anew in the place of keeping it. */
#ifndef PLAN_RECOMPUTE_H
#define PLAN_RECOMPUTE_H

#include "plan/lower.h"

enum { RECOMPUTE_KEEP = 128 << 20 }; /* usual `keep`: for less, time is not worth it */

/* Behind the loss of self->fn (the result named "loss"; without one nothing happens), what maps and
 * views make of values that are kept anyway is made again from these: normalised rows from the rows
 * and their mean and variance, the result of GELU from its operand and tanh. Dear functions, tanh
 * itself among them, only where they are next to nothing beside the products. The ops are copied to
 * where they are needed, and products that read them (gradients of weights) wait until the row pass
 * that reads the same values, so that one kernel does both. What is made of a parameter alone,
 * weights rounded for products above all, is made again right before its use, for itself: where the
 * products have rows enough for that to be next to nothing (GPT-2 with 1,024 rows, not with 256:
 * 8 % of the step). `keep`: nothing is done that would not
 * save more bytes than these; 0: everything is, and dear functions as well. Called once, before
 * values have places; sets self->turn and self->again. */
void recompute_late(lower_t *self, uint64_t keep);

#endif
