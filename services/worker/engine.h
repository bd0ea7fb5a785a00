/* Executing a plan for replicas: the only file of the worker that knows plans and devices.
 *
 * Parameters come and go as one flat f32 vector: the tensors of role param in the plan's order. The
 * inner optimizer state comes and goes as the bytes of a safetensors file: every tensor of role
 * state by name, "steps", the number of steps since the moments were zero, and, where the codec of
 * pseudo-gradients has error feedback (outer/codec.h), "codec.error", what it has left out so far, as
 * long as the parameters. Equal states are equal bytes, and plans of different targets understand
 * each other's. One thread at a time. */
#ifndef WORKER_ENGINE_H
#define WORKER_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pieces.h"
#include "data/batch.h"
#include "runtime/exec.h"

typedef struct engine engine_t;

/* From a packed plan, which the engine takes (frees). options: of the device of its target,
 * borrowed. ERR_UNSUPPORTED: a plan for another machine or without the programs of training;
 * ERR_CORRUPT; ERR_MEMORY. */
engine_t *engine_new(uint8_t *plan, size_t n, const exec_options_t *options, err_t *err);
void engine_destroy(engine_t **self_p);

uint64_t engine_params(const engine_t *self); /* elements of the flat vector */
int engine_accumulate(const engine_t *self);  /* micro-batches per step */

/* The layout of the batch arguments for a kind of data. */
int engine_layout(const engine_t *self, data_kind_t kind, batch_layout_t *out, err_t *err);

/* Begin a lease: parameters and inner state (as engine_state has it; NULL: zero moments), which is read
 * piece by piece. error (NULL: of no interest): gets the state's codec.error, zeros where it has none.
 * ERR_CORRUPT, ERR_SHAPE: no state of this model and optimizer. */
int engine_begin(engine_t *self, const float *theta, const source_t *state, float *error,
                 err_t *err);

/* The seed of what the steps and losses after it draw (runtime/exec.h). */
void engine_seed(engine_t *self, uint64_t seed);

/* One optimizer step. batch[i]: the i-th argument's values of all micro-batches. */
int engine_step(engine_t *self, const void *const *batch, double lr, float *loss, err_t *err);

/* values[i] becomes values[i] minus the present parameter i. */
int engine_fall(engine_t *self, float *values, err_t *err);

/* The inner state with this codec.error (NULL: none): its file, whose bytes come from where the tensors lie.
 * *out and error are borrowed, and good until the engine steps or loads again. */
int engine_state(engine_t *self, const float *error, source_t *out, err_t *err);
size_t engine_state_limit(const engine_t *self); /* no good state has more bytes */

/* Load parameters: for validation, or for a lease with the inner state that the engine has, which is the one that
 * the lease before ended with, if nothing but evaluations came in between. */
int engine_load(engine_t *self, const float *theta, err_t *err);
/* The loss of one micro-batch under them. */
int engine_loss(engine_t *self, const void *const *batch, float *loss, err_t *err);

#endif
