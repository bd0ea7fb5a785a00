/* Execute a plan on this machine: load once, then step without allocating.
 *
 * An exec owns one arena with the plan's tensors. Parameters and state live in it across runs
 * and are updated in place. One caller thread at a time; the exec's own thread pool works inside
 * exec_run. */
#ifndef RUNTIME_EXEC_H
#define RUNTIME_EXEC_H

#include <stddef.h>

#include "plan/format/plan.h"
#include "runtime/device.h"

typedef struct exec exec_t;

typedef device_options_t exec_options_t; /* the device's kind is the plan's target's */

/* Check the target, load the code, allocate the arena (zeroed, constants in place). The plan is
 * borrowed for the life of the exec. ERR_UNSUPPORTED: foreign instruction set; ERR_MEMORY: says how
 * much the arena needs. */
exec_t *exec_new(const plan_t *plan, const exec_options_t *options, err_t *err);
void exec_destroy(exec_t **self_p);

/* Copy a tensor in or out (n_bytes must be the tensor's size). `tensor` as plan_find_tensor has
 * it. Large results of a program are lost when another one runs (plan_t.fixed_bytes). */
int exec_write(exec_t *self, int tensor, const void *bytes, size_t n_bytes, err_t *err);
int exec_read(exec_t *self, int tensor, void *bytes, size_t n_bytes, err_t *err);
/* n_bytes of it from byte `at` on. ERR_ARG: it has not so many. */
int exec_write_part(exec_t *self, int tensor, uint64_t at, const void *bytes, size_t n_bytes,
                    err_t *err);
int exec_read_part(exec_t *self, int tensor, uint64_t at, void *bytes, size_t n_bytes, err_t *err);
/* The same bytes where they are, until something is written or runs. NULL: they cannot be reached, or there are not so many. */
const void *exec_peek(exec_t *self, int tensor, uint64_t at, size_t n_bytes);
int exec_zero(exec_t *self, plan_role_t role, err_t *err); /* every tensor of that role */

/* The seed of the rng ops (ops/draw_rule.h), 0 at first: exec_run runs with it as it is.
 * exec_train_step derives another from it for each micro-batch, rng_bits(seed, step * accumulate +
 * micro-batch), so that every step draws afresh, and the same seed, step and micro-batch draw the
 * same. */
void exec_seed(exec_t *self, uint64_t seed);

/* Run a program to its end. ERR_ARG: no such program. Same inputs, target and thread count give the
 * same bits. */
int exec_run(exec_t *self, const char *program, err_t *err);

/* One optimizer step over `accumulate` micro-batches: writes lr and step, runs "train", or
 * zeroes the accumulators and runs "accumulate" for each micro-batch and then "update". batch[i]
 * points at the i-th batch tensor's values for all micro-batches, one after another. *loss: mean
 * over micro-batches. */
int exec_train_step(exec_t *self, const void *const *batch, double lr, long step, float *loss,
                    err_t *err);

/* For who serves an exec to another process (runtime/runner): a program by its place in the plan, with the seed
 * that is in the arena; the device, borrowed. */
int exec_serve_run(exec_t *self, int program, err_t *err);
device_t *exec_device(const exec_t *self, const device_ops_t **ops);

/* What a watched exec tells: a step of a program (loops by their bodies' steps), or a range of it
 * that one thread ran. Times are seconds of clock_mono_s. */
typedef struct {
    const plan_program_t *program; /* borrowed from the plan */
    int step;                      /* index into program->step */
    int thread;                    /* of the range; -1: the whole step, as the caller sees it */
    double begin, end;
    double cpu; /* of a range: what its thread was given of that time; -1 of a step */
} exec_event_t;
typedef void exec_watch_fn(void *user, const exec_event_t *event);

/* Tell `watch` of every step from the next run on; NULL: no more. Ranges are told by the threads
 * that ran them, several at a time. Costs a program one comparison when off. */
void exec_watch(exec_t *self, exec_watch_fn *watch, void *user);
int exec_threads(const exec_t *self);         /* threads that share the work */
const char *exec_library(const exec_t *self); /* device_ops_t.library */

#endif
