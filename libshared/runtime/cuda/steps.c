/* Steps: queued as the executor asks for them; a sequence that comes for the first time is captured from the
 * stream as a graph, which is launched when it comes again: one launch for a training step. Steps of
 * a stream run one after another. */
#include "runtime/cuda/steps.h"

#include <stdlib.h>

#include "base/mem.h"

enum { MAX_RECORDED = 256 };

/* --- Steps of the plan ------------------------------------------------------------------------ */

typedef VEC(int64_t) args_t;

static int add_kernel(device_t *self, args_t *args, work_t *work, uint32_t kernel, int n,
                      const int64_t *arg, err_t *err)
{
    const cubin_kernel_t *launch = self->launch[kernel];
    if (launch->n_arg != (uint32_t)n)
        return err_set(err, ERR_CORRUPT, "kernel %s takes %u arguments, a step has %d",
                       launch->name, launch->n_arg, n);
    uint64_t blocks = launch->blocks > 0
                          ? launch->blocks
                          : ((uint64_t)work->extent * launch->threads + launch->block - 1) /
                                launch->block;
    if (work->begin < 0 || work->extent < 0 || work->begin > INT32_MAX - work->extent ||
        blocks > INT32_MAX)
        return err_set(err, ERR_CORRUPT, "kernel %s: a step of %d pieces of work from %d on",
                       launch->name, work->extent, work->begin);
    work->kernel = kernel;
    work->at = args->n;
    for (int i = 0; i < n; i++) VEC_PUSH(args, arg[i]);
    return 0;
}

static bool fits(int64_t i)
{
    return i >= 0 && i <= INT32_MAX;
}

static int add_step(device_t *self, args_t *args, const plan_step_t *step, err_t *err)
{
    const plan_gemm_step_t *g = &step->gemm;
    const plan_kernel_step_t *k = &step->kernel;
    const int64_t abc[] = {g->a, g->b, g->c};
    work_t work = {.copy = step->kind == STEP_COPY ? &step->copy : NULL};
    int status = 0;
    if (step->kind == STEP_LOOP) return 0;
    if (step->kind == STEP_KERNEL) {
        work.step = k;
        if (!fits(k->begin) || !fits(k->extent))
            return err_set(err, ERR_CORRUPT, "a step of %lld pieces", (long long)k->extent);
        work.begin = (int32_t)k->begin;
        work.extent = (int32_t)k->extent;
        status = add_kernel(self, args, &work, k->kernel, k->n_arg, k->arg, err);
    } else if (step->kind == STEP_GEMM) {
        work.step = g;
        if (g->parts <= 0 || !fits(g->parts))
            return err_set(err, ERR_UNSUPPORTED,
                           "a product without a kernel: this device has no library");
        work.extent = (int32_t)g->parts;
        status = add_kernel(self, args, &work, g->kernel, 3, abc, err);
    } else {
        work.step = work.copy;
    }
    if (status == 0) VEC_PUSH(&self->work, work);
    return status;
}

static int by_address(const void *a, const void *b)
{
    const work_t *x = a, *y = b;
    return x->step < y->step ? -1 : x->step > y->step;
}

int cuda_steps_load(device_t *self, err_t *err)
{
    const api_t *api = &self->api;
    args_t args = {0};
    int status = 0;
    for (int p = 0; p < self->plan->n_program; p++)
        for (int i = 0; status == 0 && i < self->plan->program[p].n_step; i++)
            status = add_step(self, &args, &self->plan->program[p].step[i], err);
    VEC_PUSH(&args, 0);
    size_t n_bytes = args.n * sizeof *args.at;
    if (status == 0)
        status = cuda_api_check(api, api->memory_new(&self->args, n_bytes), "arguments", err);
    if (status == 0) {
        cu_result_t result = api->upload(self->args, args.at, n_bytes, self->stream);
        if (result == CU_SUCCESS) result = api->stream_wait(self->stream);
        status = cuda_api_check(api, result, "arguments", err);
    }
    VEC_FREE(&args);
    if (self->work.n > 0) qsort(self->work.at, self->work.n, sizeof(work_t), by_address);
    return status;
}

int cuda_steps_queue(device_t *self, const void *step, err_t *err)
{
    const work_t key = {.step = step};
    const work_t *work = self->work.n == 0 ? NULL
                                           : bsearch(&key, self->work.at, self->work.n,
                                                     sizeof(work_t), by_address);
    if (!work) return err_set(err, ERR_STATE, "a step that is none of the plan's");
    VEC_PUSH(&self->queue, work);
    return 0;
}

/* --- Launches --------------------------------------------------------------------------------- */

static int launch_copy(device_t *self, const plan_copy_step_t *c, err_t *err)
{
    if (c->n_bytes == 0) return 0;
    return cuda_api_check(&self->api,
                          self->api.copy(self->arena + (uint64_t)c->to,
                                         self->arena + (uint64_t)c->from, (size_t)c->n_bytes,
                                         self->stream),
                          "a copy", err);
}

static int launch_kernel(device_t *self, const work_t *work, err_t *err)
{
    const cubin_kernel_t *k = self->launch[work->kernel];
    cu_address_t arena = self->arena, args = self->args + work->at * sizeof(int64_t);
    int32_t begin = work->begin, extent = work->extent;
    void *parameter[] = {&arena, &args, &begin, &extent};
    uint64_t blocks = k->blocks;
    if (work->extent == 0) return 0;
    if (blocks == 0) blocks = ((uint64_t)extent * k->threads + k->block - 1) / k->block;
    return cuda_api_check(&self->api,
                          self->api.launch(self->function[work->kernel], (unsigned)blocks, 1, 1,
                                           k->block, 1, 1, 0, self->stream, parameter, NULL),
                          k->name, err);
}

static int launch_all(device_t *self, err_t *err)
{
    for (size_t i = 0; i < self->queue.n; i++) {
        const work_t *work = self->queue.at[i];
        int status = work->copy ? launch_copy(self, work->copy, err)
                                : launch_kernel(self, work, err);
        if (status < 0) return -1;
    }
    return 0;
}

/* --- Graphs ----------------------------------------------------------------------------------- */

static recorded_t *find_recorded(device_t *self)
{
    for (size_t i = 0; i < self->recorded.n; i++) {
        recorded_t *r = &self->recorded.at[i];
        bool same = (size_t)r->n == self->queue.n;
        for (int k = 0; same && k < r->n; k++) same = r->work[k] == self->queue.at[k];
        if (same) return r;
    }
    return NULL;
}

static void forget_all(device_t *self)
{
    for (size_t i = 0; i < self->recorded.n; i++) {
        recorded_t *r = &self->recorded.at[i];
        if (r->graph) self->api.graph_exec_free(r->graph);
        free(r->work);
    }
    self->recorded.n = 0;
}

static int record(device_t *self, recorded_t *r, err_t *err)
{
    const api_t *api = &self->api;
    cu_graph_t graph = NULL;
    cu_result_t result = api->capture_begin(self->stream, CU_CAPTURE_RELAXED);
    if (cuda_api_check(api, result, "recording steps", err) < 0) return -1;
    int status = launch_all(self, err);
    result = api->capture_end(self->stream, &graph);
    if (status == 0) status = cuda_api_check(api, result, "recording steps", err);
    if (status == 0)
        status = cuda_api_check(api, api->graph_make(&r->graph, graph, 0), "a graph", err);
    if (graph) api->graph_free(graph);
    return status;
}

/* The queue as a graph, made when it comes for the first time; NULL with err. */
static recorded_t *recall(device_t *self, err_t *err)
{
    recorded_t *found = find_recorded(self), new = {.n = (int)self->queue.n};
    if (found) return found;
    if (record(self, &new, err) < 0) return NULL;
    new.work = mem_calloc(self->queue.n, sizeof *new.work);
    for (int k = 0; k < new.n; k++) new.work[k] = self->queue.at[k];
    if (self->recorded.n >= MAX_RECORDED) forget_all(self);
    VEC_PUSH(&self->recorded, new);
    return &self->recorded.at[self->recorded.n - 1];
}

int cuda_steps_run(device_t *self, err_t *err)
{
    const api_t *api = &self->api;
    int status = 0;
    if (self->queue.n == 0) return 0;
    if (cuda_use(self, err) < 0) return -1;
    if (!api->has_graphs || self->queue.n == 1) {
        status = launch_all(self, err);
    } else {
        recorded_t *r = recall(self, err);
        status = r ? cuda_api_check(api, api->graph_launch(r->graph, self->stream), "a graph", err)
                   : -1;
    }
    if (status == 0)
        status = cuda_api_check(api, api->stream_wait(self->stream), "running steps", err);
    self->queue.n = 0;
    return status;
}

void cuda_steps_free(device_t *self)
{
    forget_all(self);
    VEC_FREE(&self->recorded);
    VEC_FREE(&self->queue);
    VEC_FREE(&self->work);
}
