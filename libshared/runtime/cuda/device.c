/* The CUDA device: plans in cubins, one arena, one stream. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "runtime/cuda/steps.h"

static bool cuda_info(int ordinal, device_info_t *info)
{
    api_t api;
    size_t bytes = 0;
    bool found = cuda_api_open(&api, NULL) == 0 && cuda_api_choose(&api, ordinal) &&
                 api.device_memory(&bytes, api.device) == CU_SUCCESS;
    if (found) {
        *info = (device_info_t){.memory_bytes = bytes, .target = cuda_best_target(&api)};
        snprintf(info->text, sizeof info->text, "%.60s, sm_%d%d", api.name, api.major, api.minor);
    }
    cuda_api_close(&api);
    return found;
}

static void cuda_close(device_t **self_p)
{
    device_t *self = *self_p;
    if (!self) return;
    if (self->context) {
        cuda_use(self, NULL);
        if (self->stream) self->api.stream_wait(self->stream);
        cuda_steps_free(self);
        cuda_modules_free(self);
        cuda_memory_free(self);
        if (self->stream) self->api.stream_free(self->stream);
        self->api.context_release(self->api.device);
    }
    cuda_api_close(&self->api);
    free(self);
    *self_p = NULL;
}

int cuda_use(device_t *self, err_t *err)
{
    return cuda_api_check(&self->api, self->api.context_use(self->context), "its context", err);
}

static int make_context(device_t *self, err_t *err)
{
    const api_t *api = &self->api;
    cu_result_t result = api->context_retain(&self->context, api->device);
    if (cuda_api_check(api, result, "a context", err) < 0 || cuda_use(self, err) < 0) return -1;
    result = api->stream_new(&self->stream, CU_STREAM_NON_BLOCKING);
    return cuda_api_check(api, result, "a stream", err);
}

static device_t *cuda_open(const device_options_t *options, err_t *err)
{
    device_t *self = mem_calloc(1, sizeof *self);
    int status = cuda_api_open(&self->api, err);
    self->options = *options;
    if (status == 0 && !cuda_api_choose(&self->api, options->ordinal))
        status = err_set(err, ERR_ARG, "there is no CUDA device %d here: `pcp devices` lists them",
                         options->ordinal);
    if (status == 0) status = make_context(self, err);
    if (status < 0) cuda_close(&self);
    return self;
}

static int cuda_threads(const device_t *self)
{
    (void)self;
    return 1;
}

static int cuda_load(device_t *self, const plan_t *plan, err_t *err)
{
    self->plan = plan;
    if (cuda_use(self, err) < 0) return -1;
    return cuda_modules_load(self, err) < 0 || cuda_steps_load(self, err) < 0 ? -1 : 0;
}

static int cuda_alloc(device_t *self, uint64_t n_bytes, uint64_t alignment, err_t *err)
{
    (void)alignment; /* of offsets; memory begins at more than any */
    return cuda_memory_arena(self, n_bytes, err);
}

static int cuda_kernel(device_t *self, const plan_kernel_step_t *step, err_t *err)
{
    return cuda_steps_queue(self, step, err);
}

static int cuda_gemm(device_t *self, const plan_gemm_step_t *step, err_t *err)
{
    return cuda_steps_queue(self, step, err);
}

static int cuda_copy(device_t *self, const plan_copy_step_t *step, err_t *err)
{
    return cuda_steps_queue(self, step, err);
}

const device_ops_t device_cuda = {
    .prefix = "cuda",
    .info = cuda_info,
    .open = cuda_open,
    .close = cuda_close,
    .threads = cuda_threads,
    .load = cuda_load,
    .alloc = cuda_alloc,
    .upload = cuda_memory_write,
    .download = cuda_memory_read,
    .zero = cuda_memory_zero,
    .kernel = cuda_kernel,
    .gemm = cuda_gemm,
    .copy = cuda_copy,
    .sync = cuda_steps_run,
};
