/* A device of the CUDA family (api.h): plans in modules, one arena, one stream. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "runtime/cuda/steps.h"

bool cuda_info(const driver_t *driver, int ordinal, device_info_t *info)
{
    api_t api;
    size_t bytes = 0;
    bool found = cuda_api_open(&api, driver, NULL) == 0 && cuda_api_choose(&api, ordinal) &&
                 api.device_memory(&bytes, api.device) == CU_SUCCESS;
    if (found) {
        *info = (device_info_t){.memory_bytes = bytes, .target = cuda_best_target(&api)};
        snprintf(info->text, sizeof info->text, "%.60s, %s", api.name, api.arch);
    }
    cuda_api_close(&api);
    return found;
}

void cuda_close(device_t **self_p)
{
    device_t *self = *self_p;
    if (!self) return;
    if (self->begun) {
        cuda_use(self, NULL);
        if (self->stream) self->api.stream_wait(self->stream);
        cuda_steps_free(self);
        cuda_modules_free(self);
        cublas_close(&self->cublas);
        cuda_memory_free(self);
        if (self->stream) self->api.stream_free(self->stream);
        if (self->context) self->api.context_release(self->api.device);
    }
    cuda_api_close(&self->api);
    free(self);
    *self_p = NULL;
}

int cuda_use(device_t *self, err_t *err)
{
    const api_t *api = &self->api;
    cu_result_t result = api->device_use ? api->device_use(api->device)
                                         : api->context_use(self->context);
    return cuda_api_check(api, result, "its context", err);
}

static int make_context(device_t *self, err_t *err)
{
    const api_t *api = &self->api;
    cu_result_t result = CU_SUCCESS;
    if (api->context_retain) result = api->context_retain(&self->context, api->device);
    self->begun = result == CU_SUCCESS;
    if (cuda_api_check(api, result, "a context", err) < 0 || cuda_use(self, err) < 0) return -1;
    result = api->stream_new(&self->stream, CU_STREAM_NON_BLOCKING);
    return cuda_api_check(api, result, "a stream", err);
}

device_t *cuda_open(const driver_t *driver, const device_options_t *options, err_t *err)
{
    device_t *self = mem_calloc(1, sizeof *self);
    int status = cuda_api_open(&self->api, driver, err);
    self->options = *options;
    if (status == 0 && !cuda_api_choose(&self->api, options->ordinal))
        status = err_set(err, ERR_ARG, "there is no %s device %d here: `pcp devices` lists them",
                         driver->title, options->ordinal);
    if (status == 0) status = make_context(self, err);
    if (status < 0) cuda_close(&self);
    return self;
}

int cuda_threads(const device_t *self)
{
    (void)self;
    return 1;
}

static bool has_products(const plan_t *plan)
{
    for (int p = 0; p < plan->n_program; p++)
        for (int i = 0; i < plan->program[p].n_step; i++)
            if (plan->program[p].step[i].kind == STEP_GEMM) return true;
    return false;
}

int cuda_load(device_t *self, const plan_t *plan, err_t *err)
{
    self->plan = plan;
    if (cuda_use(self, err) < 0) return -1;
    if (cuda_modules_load(self, err) < 0 || cuda_steps_load(self, err) < 0) return -1;
    return has_products(plan) ? cublas_open(&self->cublas, &self->api, self->stream, err) : 0;
}

int cuda_alloc(device_t *self, uint64_t n_bytes, uint64_t alignment, err_t *err)
{
    (void)alignment; /* of offsets; memory begins at more than any */
    return cuda_memory_arena(self, n_bytes, err);
}

int cuda_kernel(device_t *self, const plan_kernel_step_t *step, err_t *err)
{
    return cuda_steps_queue(self, step, err);
}

int cuda_gemm(device_t *self, const plan_gemm_step_t *step, err_t *err)
{
    return cuda_steps_queue(self, step, err);
}

int cuda_copy(device_t *self, const plan_copy_step_t *step, err_t *err)
{
    return cuda_steps_queue(self, step, err);
}

const char *cuda_library(const device_t *self)
{
    return cublas_title(self->cublas);
}
