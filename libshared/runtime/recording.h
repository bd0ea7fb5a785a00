/* A plan's steps on a device that records them: what each step launches, the queue of those that were asked
 * for, and the sequences that came before, with what the device has made of each. One thread. */
#ifndef RUNTIME_RECORDING_H
#define RUNTIME_RECORDING_H

#include "base/err.h"
#include "base/vec.h"
#include "plan/format/plan.h"

/* What a step launches: its kernel over [begin, begin + extent), or a copy. */
typedef struct {
    const void *step;             /* the plan's own, by which it is found: kernel, gemm or copy */
    const plan_copy_step_t *copy; /* or NULL: a kernel */
    const plan_gemm_step_t *gemm; /* the kernel's, when it is a product's; or NULL */
    uint32_t kernel;              /* index into plan->kernel_name */
    int32_t begin, extent;
    size_t at; /* where the device has put its arguments */
} work_t;

/* A sequence of steps. */
typedef struct {
    size_t n;
    const work_t **work;
    void *made;
} recorded_t;

typedef struct {
    VEC(work_t) work;          /* of every step, by address */
    VEC(const work_t *) queue; /* what was asked for since the last run */
    VEC(recorded_t) recorded;
} recording_t;

/* Puts away the n arguments of the kernel step that `work` describes, and sets work->at. */
typedef int recording_args_fn(void *user, work_t *work, int n, const int64_t *arg, err_t *err);

/* All steps of a plan, which must live as long. ERR_CORRUPT: numbers beyond 31 bits;
 * ERR_UNSUPPORTED: a product without a kernel; or what `args` says. */
int recording_load(recording_t *self, const plan_t *plan, recording_args_fn *args, void *user,
                   err_t *err);

/* ERR_STATE: none of the plan's. */
int recording_queue(recording_t *self, const void *step, err_t *err);

/* What was kept of a sequence like the queue; NULL: it has not come before. */
void *recording_find(const recording_t *self);

/* Keep what was made of the queue. With `most` sequences all of them are forgotten first. */
typedef void recording_forget_fn(void *user, void *made);
void recording_keep(recording_t *self, void *made, size_t most, recording_forget_fn *forget,
                    void *user);
void recording_fini(recording_t *self, recording_forget_fn *forget, void *user);

#endif
