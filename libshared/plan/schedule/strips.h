/* Which elements of its operands a part of a step touches: the question behind sweeps
 * (plan/schedule/sweep.h).
 *
 * A step whose units of parallel work (rows, chunks of rows, matrices of a batch, rows of a
 * product) divide into `strips` equal, contiguous parts is *local* in an operand when part i
 * touches nothing of it but the i-th of `strips` equal, contiguous blocks of its storage. */
#ifndef PLAN_STRIPS_H
#define PLAN_STRIPS_H

#include "plan/lower/lower.h"

typedef struct {
    ir_val_t value;
    bool written, local;
    bool
        piece; /* the value of which another touch of the step is a part: nobody else writes there */
} touch_t;
typedef VEC(touch_t) touches_t;

/* The operands of step `step`, each once, and behind them the values that they are parts of; local: in all that the step reads and writes of it. With
 * strips 0 nothing is local. False, with the operands all the same, when the step's work does not
 * divide into so many strips. strips in [0, 2^16]. */
bool strips_touch(const lower_t *self, const lstep_t *step, int64_t strips, touches_t *to);

#endif
