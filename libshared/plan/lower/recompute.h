/* What the backward half of a program makes anew in the place of keeping it. */
#ifndef PLAN_RECOMPUTE_H
#define PLAN_RECOMPUTE_H

#include "plan/lower/lower.h"

/* Usual `keep`: for less, time is not worth it. Threads without number would wait for the memory. */
enum { RECOMPUTE_KEEP = 128 << 20, RECOMPUTE_KEEP_MANY = 32 << 20 };

/* The backward half of self->fn, behind the result named "loss", reads values of the forward half.
 * Where maps and views make such a value from others that are kept anyway, this copies those ops to
 * the place where the value is needed, so that nobody has to keep it: normalised rows are made
 * again from the rows and their mean and variance, the result of GELU from its operand and tanh.
 * Without a loss nothing happens.
 *
 * Dear functions (tanh itself) are repeated only where they cost next to nothing beside the
 * products. Products that read a repeated value (gradients of weights) wait for the row pass that
 * reads the same value, so that one kernel makes it for both. A value that is made of a parameter
 * alone (weights rounded for products) is made again by itself, right before its use, where the
 * products have so many rows that this costs next to nothing (GPT-2 with 1,024 rows; with 256 it is
 * 8 % of the step).
 *
 * `keep`: a repetition must save more bytes than this; 0: every repetition is done, and those of
 * dear functions as well. Called once, before values have places; it sets self->turn and
 * self->again. */
void recompute_late(lower_t *self, uint64_t keep);

#endif
