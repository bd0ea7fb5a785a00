/* Steps found by their address; sequences compared step by step. */
#include "runtime/recording.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int describe(work_t *out, uint32_t kernel, int64_t begin, int64_t extent, err_t *err)
{
    out->kernel = kernel;
    out->begin = (int32_t)begin;
    out->extent = (int32_t)extent;
    if (begin >= 0 && extent >= 0 && begin <= INT32_MAX && extent <= INT32_MAX - begin) return 0;
    return err_set(err, ERR_CORRUPT, "a step of %lld pieces of work", (long long)extent);
}

static int add_step(recording_t *self, const plan_step_t *step, recording_args_fn *args, void *user,
                    err_t *err)
{
    const plan_gemm_step_t *g = &step->gemm;
    const plan_kernel_step_t *k = &step->kernel;
    const int64_t abc[] = {g->a, g->b, g->c};
    work_t work = {0};
    int status = 0;
    if (step->kind == STEP_KERNEL) {
        work.step = k;
        status = describe(&work, k->kernel, k->begin, k->extent, err);
        if (status == 0) status = args(user, &work, k->n_arg, k->arg, err);
    } else if (step->kind == STEP_GEMM) {
        work.step = work.gemm = g;
        if (g->parts == 0)
            return err_set(err, ERR_UNSUPPORTED,
                           "a product without a kernel: this device has no library");
        status = describe(&work, g->kernel, 0, g->parts, err);
        if (status == 0) status = args(user, &work, 3, abc, err);
    } else if (step->kind == STEP_COPY) {
        work.step = work.copy = &step->copy;
    } else {
        return 0;
    }
    if (status == 0) VEC_PUSH(&self->work, work);
    return status;
}

static int by_address(const void *a, const void *b)
{
    const work_t *x = a, *y = b;
    return x->step < y->step ? -1 : x->step > y->step;
}

int recording_load(recording_t *self, const plan_t *plan, recording_args_fn *args, void *user,
                   err_t *err)
{
    for (int p = 0; p < plan->n_program; p++)
        for (int i = 0; i < plan->program[p].n_step; i++)
            if (add_step(self, &plan->program[p].step[i], args, user, err) < 0) return -1;
    if (self->work.n > 0) qsort(self->work.at, self->work.n, sizeof(work_t), by_address);
    return 0;
}

int recording_queue(recording_t *self, const void *step, err_t *err)
{
    const work_t key = {.step = step}, *work = NULL;
    if (self->work.n > 0)
        work = bsearch(&key, self->work.at, self->work.n, sizeof(work_t), by_address);
    if (!work) return err_set(err, ERR_STATE, "a step that is none of the plan's");
    VEC_PUSH(&self->queue, work);
    return 0;
}

void *recording_find(const recording_t *self)
{
    size_t n = self->queue.n;
    for (size_t i = 0; i < self->recorded.n; i++) {
        const recorded_t *r = &self->recorded.at[i];
        if (r->n == n && memcmp(r->work, self->queue.at, n * sizeof *r->work) == 0) return r->made;
    }
    return NULL;
}

static void forget_all(recording_t *self, recording_forget_fn *forget, void *user)
{
    for (size_t i = 0; i < self->recorded.n; i++) {
        forget(user, self->recorded.at[i].made);
        free(self->recorded.at[i].work);
    }
    self->recorded.n = 0;
}

void recording_keep(recording_t *self, void *made, size_t most, recording_forget_fn *forget,
                    void *user)
{
    recorded_t new = {.n = self->queue.n, .made = made};
    new.work = mem_calloc(new.n + 1, sizeof *new.work);
    for (size_t i = 0; i < new.n; i++) new.work[i] = self->queue.at[i];
    if (self->recorded.n >= most) forget_all(self, forget, user);
    VEC_PUSH(&self->recorded, new);
}

void recording_fini(recording_t *self, recording_forget_fn *forget, void *user)
{
    forget_all(self, forget, user);
    VEC_FREE(&self->recorded);
    VEC_FREE(&self->queue);
    VEC_FREE(&self->work);
}
