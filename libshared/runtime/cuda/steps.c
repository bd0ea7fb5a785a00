/* Steps: queued as the executor asks for them; a sequence that comes for the first time is captured from the
 * stream as a graph, which is launched when it comes again: one launch for a training step. Steps of
 * a stream run one after another. */
#include "runtime/cuda/steps.h"

enum { MAX_RECORDED = 256 };

/* --- Steps of the plan ------------------------------------------------------------------------ */

static uint64_t blocks_of(const cubin_kernel_t *kernel, const work_t *work)
{
    if (kernel->blocks > 0) return kernel->blocks;
    return ((uint64_t)work->extent * kernel->threads + kernel->block - 1) / kernel->block;
}

typedef struct {
    device_t *device;
    VEC(int64_t) at;
} args_t;

static int add_args(void *user, work_t *work, int n, const int64_t *arg, err_t *err)
{
    args_t *self = user;
    const cubin_kernel_t *launch = self->device->launch[work->kernel];
    if (launch->n_arg != (uint32_t)n)
        return err_set(err, ERR_CORRUPT, "kernel %s takes %u arguments, a step has %d",
                       launch->name, launch->n_arg, n);
    uint64_t blocks = blocks_of(launch, work);
    if (blocks > INT32_MAX || blocks * launch->block > self->device->api.driver->max_threads)
        return err_set(err, ERR_CORRUPT, "kernel %s: a step of %d pieces of work", launch->name,
                       work->extent);
    work->at = self->at.n;
    for (int i = 0; i < n; i++) VEC_PUSH(&self->at, arg[i]);
    return 0;
}

int cuda_steps_load(device_t *self, err_t *err)
{
    const api_t *api = &self->api;
    args_t args = {.device = self};
    int status = recording_load(&self->steps, self->plan, add_args, &args, err);
    VEC_PUSH(&args.at, 0);
    size_t n_bytes = args.at.n * sizeof *args.at.at;
    if (status == 0)
        status = cuda_api_check(api, api->memory_new(&self->args, n_bytes), "arguments", err);
    if (status == 0) {
        cu_result_t result = api->upload(self->args, args.at.at, n_bytes, self->stream);
        if (result == CU_SUCCESS) result = api->stream_wait(self->stream);
        status = cuda_api_check(api, result, "arguments", err);
    }
    VEC_FREE(&args.at);
    return status;
}

int cuda_steps_queue(device_t *self, const void *step, err_t *err)
{
    return recording_queue(&self->steps, step, err);
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
    if (work->extent == 0) return 0;
    return cuda_api_check(&self->api,
                          self->api.launch(self->function[work->kernel],
                                           (unsigned)blocks_of(k, work), 1, 1, k->block, 1, 1, 0,
                                           self->stream, parameter, NULL),
                          k->name, err);
}

static int launch(device_t *self, const work_t *work, err_t *err)
{
    if (work->copy) return launch_copy(self, work->copy, err);
    if (work->gemm && cublas_takes(self->cublas, work->gemm))
        return cublas_queue(self->cublas, self->arena, work->gemm, err);
    return launch_kernel(self, work, err);
}

static int launch_all(device_t *self, err_t *err)
{
    for (size_t i = 0; i < self->steps.queue.n; i++)
        if (launch(self, self->steps.queue.at[i], err) < 0) return -1;
    return 0;
}

/* --- Graphs ----------------------------------------------------------------------------------- */

static void forget(void *user, void *graph)
{
    ((device_t *)user)->api.graph_exec_free(graph);
}

static int record(device_t *self, cu_graph_exec_t *out, err_t *err)
{
    const api_t *api = &self->api;
    cu_graph_t graph = NULL;
    cu_result_t result = api->capture_begin(self->stream, CU_CAPTURE_RELAXED);
    if (cuda_api_check(api, result, "recording steps", err) < 0) return -1;
    int status = launch_all(self, err);
    result = api->capture_end(self->stream, &graph);
    if (status == 0) status = cuda_api_check(api, result, "recording steps", err);
    if (status == 0) status = cuda_api_check(api, api->graph_make(out, graph, 0), "a graph", err);
    if (graph) api->graph_free(graph);
    return status;
}

/* The queue as a graph, made when it comes for the first time; NULL with err. */
static cu_graph_exec_t recall(device_t *self, err_t *err)
{
    cu_graph_exec_t graph = recording_find(&self->steps);
    if (graph) return graph;
    if (record(self, &graph, err) < 0) return NULL;
    recording_keep(&self->steps, graph, MAX_RECORDED, forget, self);
    return graph;
}

/* An event in the stream; where there is none, the host's clock has to do. */
static void note(device_t *self, cu_event_t *event)
{
    const api_t *api = &self->api;
    if (!api->has_events) return;
    if (!*event && api->event_new(event, 0) != CU_SUCCESS) *event = NULL;
    if (*event) api->event_record(*event, self->stream);
}

double cuda_steps_took(device_t *self)
{
    float ms = 0;
    if (!self->begun_at || !self->ended_at ||
        self->api.event_ms(&ms, self->begun_at, self->ended_at) != CU_SUCCESS)
        return -1;
    return (double)ms / 1e3;
}

int cuda_steps_run(device_t *self, err_t *err)
{
    const api_t *api = &self->api;
    int status = 0;
    if (self->steps.queue.n == 0) return 0;
    if (cuda_use(self, err) < 0) return -1;
    note(self, &self->begun_at);
    if (!api->has_graphs || self->steps.queue.n == 1) {
        status = launch_all(self, err);
    } else {
        cu_graph_exec_t graph = recall(self, err);
        status = graph ? cuda_api_check(api, api->graph_launch(graph, self->stream), "a graph", err)
                       : -1;
    }
    note(self, &self->ended_at);
    if (status == 0)
        status = cuda_api_check(api, api->stream_wait(self->stream), "running steps", err);
    self->steps.queue.n = 0;
    return status;
}

void cuda_steps_free(device_t *self)
{
    recording_fini(&self->steps, forget, self);
    if (self->begun_at) self->api.event_free(self->begun_at);
    if (self->ended_at) self->api.event_free(self->ended_at);
}
