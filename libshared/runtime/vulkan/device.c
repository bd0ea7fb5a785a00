/* The Vulkan device: plans in SPIR-V, one arena in as few buffers as the device allows, one queue. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "runtime/vulkan/steps.h"

static bool vulkan_info(int ordinal, device_info_t *info)
{
    api_t api;
    bool found = api_open(&api, NULL) == 0 && api_choose(&api, ordinal);
    if (found) {
        const char *lacks = api_lacks(&api);
        *info = (device_info_t){.memory_bytes = api_memory_bytes(&api)};
        info->borrowed = api.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
        memcpy(info->uuid, api.id.deviceUUID, sizeof info->uuid);
        if (!lacks) info->target = api.f64 ? "vulkan:spirv1.3-f64" : "vulkan:spirv1.3";
        snprintf(info->text, sizeof info->text, "%.60s%s%.32s%s", api.properties.deviceName,
                 lacks ? ", useless: no " : "", lacks ? lacks : "",
                 !lacks && api.f64 ? ", f64" : "");
    }
    api_close(&api);
    return found;
}

static void vulkan_close(device_t **self_p)
{
    device_t *self = *self_p;
    if (!self) return;
    const api_t *api = &self->api;
    if (api->device && api->DeviceWaitIdle) {
        api->DeviceWaitIdle(api->device);
        steps_free(self);
        pipelines_free(self);
        timing_free(self);
        if (self->fence) api->DestroyFence(api->device, self->fence, NULL);
        if (self->commands) api->DestroyCommandPool(api->device, self->commands, NULL);
        for (size_t i = 0; self->arena && i < self->segments.n; i++)
            memory_free(api, &self->arena[i]);
        memory_free(api, &self->args);
        memory_free(api, &self->staging);
    }
    shaders_fini(&self->shaders);
    VEC_FREE(&self->segments);
    free(self->arena);
    api_close(&self->api);
    free(self);
    *self_p = NULL;
}

static int make_queue(device_t *self, err_t *err)
{
    const api_t *api = &self->api;
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = api->family};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (api_check(api, api->CreateCommandPool(api->device, &pool, NULL, &self->commands),
                  "a command pool", err) < 0)
        return -1;
    if (api_check(api, api->CreateFence(api->device, &fence, NULL, &self->fence), "a fence", err) <
        0)
        return -1;
    timing_new(self);
    return 0;
}

static device_t *vulkan_open(const device_options_t *options, err_t *err)
{
    device_t *self = mem_calloc(1, sizeof *self);
    int status = api_open(&self->api, err);
    self->options = *options;
    if (status == 0 && !api_choose(&self->api, options->ordinal))
        status = err_set(err, ERR_ARG,
                         "there is no Vulkan device %d here: `pcp devices` lists them",
                         options->ordinal);
    if (status == 0) status = api_make_device(&self->api, err);
    if (status == 0) status = make_queue(self, err);
    if (status < 0) vulkan_close(&self);
    return self;
}

static int vulkan_threads(const device_t *self)
{
    (void)self;
    return 1;
}

static int vulkan_load(device_t *self, const plan_t *plan, err_t *err)
{
    bool wants_f64 = strstr(plan->target, "-f64") != NULL;
    self->plan = plan;
    if (wants_f64 && !self->api.f64)
        return err_set(err, ERR_UNSUPPORTED,
                       "the plan is for %s, Vulkan device %s has no f64: compile it again for "
                       "vulkan:spirv1.3",
                       plan->target, self->api.properties.deviceName);
    if (plan->n_kernel > 0 && shaders_load(&self->shaders, plan->code, plan->n_code, err) < 0)
        return -1;
    if (self->shaders.n != plan->n_kernel)
        return err_set(err, ERR_CORRUPT, "the plan names %d kernels, its code has %d",
                       plan->n_kernel, self->shaders.n);
    return steps_load(self, err) < 0 || pipelines_new(self, err) < 0 ? -1 : 0;
}

static int vulkan_alloc(device_t *self, uint64_t n_bytes, uint64_t alignment, err_t *err)
{
    (void)n_bytes;   /* as the plan says */
    (void)alignment; /* of offsets; a buffer begins at more than any */
    return memory_arena(self, err) < 0 ? -1 : steps_bind(self, err);
}

static int vulkan_zero(device_t *self, uint64_t offset, size_t n_bytes, err_t *err)
{
    if (n_bytes == 0) return 0;
    void *zeros = mem_calloc(1, n_bytes);
    int status = memory_write(self, offset, zeros, n_bytes, err);
    free(zeros);
    return status;
}

static int vulkan_kernel(device_t *self, const plan_kernel_step_t *step, err_t *err)
{
    return steps_queue(self, step, err);
}

static int vulkan_gemm(device_t *self, const plan_gemm_step_t *step, err_t *err)
{
    return steps_queue(self, step, err);
}

static int vulkan_copy(device_t *self, const plan_copy_step_t *step, err_t *err)
{
    return steps_queue(self, step, err);
}

const device_ops_t device_vulkan = {
    .prefix = "vulkan",
    .info = vulkan_info,
    .open = vulkan_open,
    .close = vulkan_close,
    .threads = vulkan_threads,
    .load = vulkan_load,
    .alloc = vulkan_alloc,
    .upload = memory_write,
    .download = memory_read,
    .zero = vulkan_zero,
    .kernel = vulkan_kernel,
    .gemm = vulkan_gemm,
    .copy = vulkan_copy,
    .sync = steps_run,
    .took = timing_took,
};
