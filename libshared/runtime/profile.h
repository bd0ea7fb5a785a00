/* Where the time of a plan's steps goes: watches an exec turn by turn (a turn is whatever the
 * caller repeats: a training step), sums up by step, and writes a trace. One caller thread at a
 * time. */
#ifndef RUNTIME_PROFILE_H
#define RUNTIME_PROFILE_H

#include "runtime/exec.h"

typedef struct profile profile_t;

typedef struct {
    const plan_program_t *program;
    int step;            /* index into program->step */
    double calls;        /* a turn, mean: more than 1 in loops and micro-batches */
    double seconds;      /* a turn, median over turns */
    double busy;         /* share of the threads' time in which they ran the step, over all turns */
    double cpu;          /* a turn, mean: CPU seconds of all threads in the step's ranges */
    double flops, bytes; /* a turn, as the plan estimates them */
} profile_row_t;

/* The exec is borrowed; nothing is watched before profile_begin. */
profile_t *profile_new(exec_t *exec);
void profile_destroy(profile_t **self_p); /* watching ends */

/* Watch the exec from begin to end: one turn. */
void profile_begin(profile_t *self);
void profile_end(profile_t *self);

/* One row for each step that ran, in the order of programs and steps; *n of them. Returns, caller
 * frees; borrows from the plan. */
profile_row_t *profile_rows(const profile_t *self, int *n);

/* Median over turns of a turn's seconds from begin to end. */
double profile_turn_seconds(const profile_t *self);

/* All turns in the trace event format of chrome://tracing and ui.perfetto.dev: one complete event
 * ("ph":"X") for each range on the lane of the thread that ran it, one for each step on a lane of
 * its own, times in microseconds from the first turn. ERR_IO. */
int profile_write_trace(const profile_t *self, const char *path, err_t *err);

#endif
