/* Steps: queued as the executor asks for them, recorded as commands when a sequence comes for the
 * first time, replayed when it comes again. Between two steps stands a barrier where one touches
 * what the other has written, or writes what it has read; the shaders say which bytes these are. */
#include "runtime/vulkan/steps.h"

#include <string.h>

enum { MAX_RECORDED = 4096 };

/* --- Arguments -------------------------------------------------------------------------------- */

typedef struct {
    device_t *device;
    VEC(int32_t) at;
} args_t;

static int add_args(void *user, work_t *work, int n, const int64_t *arg, err_t *err)
{
    args_t *self = user;
    const shader_t *shader = &self->device->shaders.shader[work->kernel];
    const char *name = self->device->plan->kernel_name[work->kernel];
    if (shader->n_arg != n)
        return err_set(err, ERR_CORRUPT, "kernel %s takes %d arguments, a step has %d", name,
                       shader->n_arg, n);
    work->at = self->at.n;
    for (int i = 0; i < n; i++) {
        int64_t size = (int64_t)shader->arg[i].size, element = arg[i] / size;
        if (arg[i] % size != 0 || element > INT32_MAX || element < INT32_MIN)
            return err_set(err, ERR_CORRUPT,
                           "argument %d of kernel %s at %lld: elements have %u bytes", i, name,
                           (long long)arg[i], shader->arg[i].size);
        VEC_PUSH(&self->at, (int32_t)element);
    }
    return 0;
}

int steps_load(device_t *self, err_t *err)
{
    args_t args = {.device = self};
    int status = recording_load(&self->steps, self->plan, add_args, &args, err);
    VEC_PUSH(&args.at, 0);
    size_t n_bytes = args.at.n * sizeof(int32_t);
    if (status == 0)
        status = memory_new(&self->api, &self->args, (n_bytes + 255) & ~255u, true, err);
    if (status == 0) memcpy(self->args.mapped, args.at.at, n_bytes);
    VEC_FREE(&args.at);
    return status;
}

/* As much of the arena as the device lets texels have. */
static int view_texels(device_t *self, err_t *err)
{
    static const struct {
        VkFormat format;
        VkDeviceSize bytes;
    } each[] = {{VK_FORMAT_R32_UINT, 4}, {VK_FORMAT_R32G32B32A32_UINT, 16}};
    const api_t *api = &self->api;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        VkDeviceSize most = api->properties.limits.maxTexelBufferElements * each[i].bytes;
        const VkBufferViewCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
            .buffer = self->arena.buffer,
            .format = each[i].format,
            .range = self->arena.n_bytes < most ? self->arena.n_bytes : most};
        if (api_check(api, api->CreateBufferView(api->device, &info, NULL, &self->texels[i]),
                      "a view of the arena", err) < 0)
            return -1;
    }
    return 0;
}

int steps_bind(device_t *self, err_t *err)
{
    const api_t *api = &self->api;
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2},
                                          {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, 2},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, 2}};
    if (view_texels(self, err) < 0) return -1;
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 1,
                                             .poolSizeCount = sizeof sizes / sizeof *sizes,
                                             .pPoolSizes = sizes};
    if (api_check(api, api->CreateDescriptorPool(api->device, &pool, NULL, &self->pool),
                  "a descriptor pool", err) < 0)
        return -1;
    const VkDescriptorSetAllocateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = self->pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &self->set_layout};
    if (api_check(api, api->AllocateDescriptorSets(api->device, &set, &self->set), "a descriptor",
                  err) < 0)
        return -1;
    const VkDescriptorBufferInfo buffers[] = {{self->arena.buffer, 0, VK_WHOLE_SIZE},
                                              {self->args.buffer, 0, VK_WHOLE_SIZE}};
    const VkWriteDescriptorSet writes[] = {
        {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = self->set,
         .descriptorCount = 2,
         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
         .pBufferInfo = buffers},
        {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = self->set,
         .dstBinding = 2,
         .descriptorCount = 2,
         .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
         .pTexelBufferView = self->texels},
        {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = self->set,
         .dstBinding = 4,
         .descriptorCount = 2,
         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER,
         .pTexelBufferView = self->texels}};
    api->UpdateDescriptorSets(api->device, sizeof writes / sizeof *writes, writes, 0, NULL);
    return 0;
}

/* --- Dependencies ----------------------------------------------------------------------------- */

typedef struct {
    int64_t lo, hi;
    bool writes;
} touch_t;

typedef VEC(touch_t) touches_t;

static void find_touches(const device_t *self, const work_t *work, touches_t *out)
{
    int64_t all = (int64_t)self->arena_bytes;
    if (work->copy) {
        const plan_copy_step_t *c = work->copy;
        VEC_PUSH(out, ((touch_t){c->from, c->from + c->n_bytes, false}));
        VEC_PUSH(out, ((touch_t){c->to, c->to + c->n_bytes, true}));
        return;
    }
    const shader_t *shader = &self->shaders.shader[work->kernel];
    const int32_t *arg = (const int32_t *)self->args.mapped + work->at;
    for (int i = 0; i < shader->n_arg; i++) {
        const shader_arg_t *a = &shader->arg[i];
        int64_t base = (int64_t)arg[i] * (int64_t)a->size;
        bool known = a->hi >= a->lo && a->lo > -all - 1 && a->hi <= INT64_MAX / 2;
        touch_t t = {known ? base + a->lo : 0, known ? base + a->hi : all, a->writes};
        if (a->reads || a->writes) VEC_PUSH(out, t);
    }
}

static bool conflict(const touches_t *before, const touches_t *now)
{
    for (size_t i = 0; i < before->n; i++)
        for (size_t k = 0; k < now->n; k++) {
            const touch_t *a = &before->at[i], *b = &now->at[k];
            if ((a->writes || b->writes) && a->lo < b->hi && b->lo < a->hi) return true;
        }
    return false;
}

/* --- Recording -------------------------------------------------------------------------------- */

static void write_barrier(const api_t *api, VkCommandBuffer commands)
{
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT |
                                        VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkAccessFlags all = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                              VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT |
                                                      VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = all};
    api->CmdPipelineBarrier(commands, stages, stages, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static void write_work(device_t *self, const work_t *work, VkCommandBuffer commands)
{
    const api_t *api = &self->api;
    if (work->copy) {
        const VkBufferCopy part = {(VkDeviceSize)work->copy->from, (VkDeviceSize)work->copy->to,
                                   (VkDeviceSize)work->copy->n_bytes};
        if (part.size > 0)
            api->CmdCopyBuffer(commands, self->arena.buffer, self->arena.buffer, 1, &part);
        return;
    }
    if (work->extent == 0) return;
    const shader_t *shader = &self->shaders.shader[work->kernel];
    const int32_t push[] = {(int32_t)work->at, work->begin, work->extent};
    uint64_t most = api->properties.limits.maxComputeWorkGroupCount[0];
    uint64_t groups = (uint64_t)work->extent, size = pipelines_size(self, (int)work->kernel);
    if (shader->how != SHADERS_GROUPS) groups = (groups * shader->threads + size - 1) / size;
    uint32_t x = (uint32_t)(groups < most ? groups : most);
    api->CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, self->pipeline[work->kernel]);
    api->CmdPushConstants(commands, self->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push,
                          push);
    api->CmdDispatch(commands, x, (uint32_t)((groups + x - 1) / x), 1);
}

static int begin(device_t *self, VkCommandBuffer *commands, err_t *err)
{
    const api_t *api = &self->api;
    const VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = self->commands,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1};
    const VkCommandBufferBeginInfo how = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    if (api_check(api, api->AllocateCommandBuffers(api->device, &info, commands),
                  "a command buffer", err) < 0)
        return -1;
    return api_check(api, api->BeginCommandBuffer(*commands, &how), "recording", err);
}

static int record(device_t *self, VkCommandBuffer *out, err_t *err)
{
    const api_t *api = &self->api;
    touches_t before = {0}, now = {0};
    if (begin(self, out, err) < 0) return -1;
    api->CmdBindDescriptorSets(*out, VK_PIPELINE_BIND_POINT_COMPUTE, self->layout, 0, 1, &self->set,
                               0, NULL);
    timing_begin(self, *out);
    for (size_t i = 0; i < self->steps.queue.n; i++) {
        now.n = 0;
        find_touches(self, self->steps.queue.at[i], &now);
        if (conflict(&before, &now)) {
            write_barrier(api, *out);
            before.n = 0;
        }
        for (size_t k = 0; k < now.n; k++) VEC_PUSH(&before, now.at[k]);
        write_work(self, self->steps.queue.at[i], *out);
    }
    timing_end(self, *out);
    VEC_FREE(&before);
    VEC_FREE(&now);
    /* What the host reads next. */
    const VkMemoryBarrier last = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                  .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT |
                                                   VK_ACCESS_TRANSFER_WRITE_BIT,
                                  .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    api->CmdPipelineBarrier(*out,
                            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                            VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &last, 0, NULL, 0, NULL);
    return api_check(api, api->EndCommandBuffer(*out), "recording", err);
}

static int submit(device_t *self, VkCommandBuffer commands, err_t *err)
{
    const api_t *api = &self->api;
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands};
    VkResult result = api->QueueSubmit(api->queue, 1, &info, self->fence);
    if (result == VK_SUCCESS)
        result = api->WaitForFences(api->device, 1, &self->fence, VK_TRUE, UINT64_MAX);
    if (result == VK_SUCCESS) result = api->ResetFences(api->device, 1, &self->fence);
    if (result == VK_ERROR_DEVICE_LOST) self->lost = true;
    if (api_check(api, result, "running steps", err) < 0) return -1;
    if (api->n_complaint > 0)
        return err_set(err, ERR_STATE, "Vulkan's validation layer has %d complaints: %s",
                       api->n_complaint, api->complaint);
    return 0;
}

int steps_submit_once(device_t *self, steps_fill_fn *fill, void *user, err_t *err)
{
    VkCommandBuffer commands = NULL;
    int status = begin(self, &commands, err);
    if (status == 0) {
        fill(self, commands, user);
        write_barrier(&self->api, commands);
        status = api_check(&self->api, self->api.EndCommandBuffer(commands), "recording", err);
    }
    if (status == 0) status = submit(self, commands, err);
    if (commands) self->api.FreeCommandBuffers(self->api.device, self->commands, 1, &commands);
    return status;
}

/* --- The queue -------------------------------------------------------------------------------- */

int steps_queue(device_t *self, const void *step, err_t *err)
{
    return recording_queue(&self->steps, step, err);
}

static void forget(void *user, void *made)
{
    device_t *self = user;
    VkCommandBuffer commands = made;
    if (commands) self->api.FreeCommandBuffers(self->api.device, self->commands, 1, &commands);
}

int steps_run(device_t *self, err_t *err)
{
    if (self->steps.queue.n == 0) return 0;
    VkCommandBuffer commands = recording_find(&self->steps);
    int status = 0;
    if (!commands) {
        status = record(self, &commands, err);
        if (status < 0)
            forget(self, commands);
        else
            recording_keep(&self->steps, commands, MAX_RECORDED, forget, self);
    }
    if (status == 0) status = submit(self, commands, err);
    self->steps.queue.n = 0;
    return status;
}

void steps_free(device_t *self)
{
    recording_fini(&self->steps, forget, self);
    for (int i = 0; i < 2; i++)
        if (self->texels[i]) self->api.DestroyBufferView(self->api.device, self->texels[i], NULL);
    if (self->pool) self->api.DestroyDescriptorPool(self->api.device, self->pool, NULL);
}
