/* Executing a plan for replicas: the only file of the worker that knows plans and devices.
 *
 * An engine holds one plan, its exec and, for each replica it has trained, the inner optimizer
 * state at the end of that replica's last lease. Parameters come and go as one flat f32 vector: the
 * tensors of role param in the plan's order. One thread at a time. */
#ifndef WORKER_ENGINE_H
#define WORKER_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "data/batch.h"

typedef struct engine engine_t;

/* From a packed plan, which the engine takes (frees). threads 0: one per core. ERR_UNSUPPORTED: a
 * plan for another machine or without the programs of training; ERR_CORRUPT; ERR_MEMORY. */
engine_t *engine_new(uint8_t *plan, size_t n, int threads, err_t *err);
void engine_destroy(engine_t **self_p);

uint64_t engine_params(const engine_t *self); /* elements of the flat vector */
int engine_accumulate(const engine_t *self);  /* micro-batches per step */

/* The layout of the batch arguments for a kind of data. */
int engine_layout(const engine_t *self, data_kind_t kind, batch_layout_t *out, err_t *err);

/* Begin a lease: parameters, and the replica's inner state if its last lease here was the round
 * before; else zeros, and *fresh is set. A lease that is not finished by engine_finish changes
 * nothing. */
int engine_begin(engine_t *self, uint32_t replica, uint32_t round, const float *theta, bool *fresh,
                 err_t *err);

/* The seed of what the steps and losses after it draw (runtime/exec.h). */
void engine_seed(engine_t *self, uint64_t seed);

/* One optimizer step. batch[i]: the i-th argument's values of all micro-batches. */
int engine_step(engine_t *self, const void *const *batch, double lr, float *loss, err_t *err);

/* End a lease: the parameters into theta, the inner state kept for the next round. */
int engine_finish(engine_t *self, float *theta, err_t *err);

/* Load parameters for validation, and the loss of one micro-batch under them. */
int engine_load(engine_t *self, const float *theta, err_t *err);
int engine_loss(engine_t *self, const void *const *batch, float *loss, err_t *err);

#endif
