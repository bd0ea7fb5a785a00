/* Steps: queued as the executor asks for them, recorded as commands when a sequence comes for the
 * first time, replayed when it comes again. Between two steps stands a barrier where one touches
 * what the other has written, or writes what it has read; the shaders say which bytes these are. */
#include "runtime/vulkan/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MAX_RECORDED = 4096 };

/* --- Arguments -------------------------------------------------------------------------------- */

/* While a plan is loaded. Of a step of n arguments `args` has, from its place on, n elements, each as its segment
 * counts, and n numbers of segments. */
typedef struct {
    device_t *device;
    VEC(int64_t) byte; /* the arguments, twice n of a step, as args */
} args_t;

static int add_args(void *user, work_t *work, int n, const int64_t *arg, err_t *err)
{
    args_t *self = user;
    const shader_t *shader = &self->device->shaders.shader[work->kernel];
    const char *name = self->device->plan->kernel_name[work->kernel];
    if (shader->n_arg != n)
        return err_set(err, ERR_CORRUPT, "kernel %s takes %d arguments, a step has %d", name,
                       shader->n_arg, n);
    work->at = self->byte.n;
    for (int i = 0; i < 2 * n; i++) VEC_PUSH(&self->byte, arg[i % n]);
    return 0;
}

/* What of the arena a step touches by argument `a` at `byte`. */
static span_t span_of(const device_t *self, const shader_arg_t *a, int64_t byte)
{
    int64_t all = (int64_t)self->plan->arena_bytes;
    bool known = a->hi >= a->lo && a->lo > -all - 1 && a->hi <= INT64_MAX / 2;
    int64_t lo = known ? byte + a->lo : 0, hi = known ? byte + a->hi : all;
    lo = lo < 0 ? 0 : lo > all ? all : lo;
    hi = hi < lo ? lo : hi > all ? all : hi;
    return (span_t){(uint64_t)lo, (uint64_t)hi};
}

static void add_copy(spans_t *out, const plan_copy_step_t *c)
{
    VEC_PUSH(out, ((span_t){(uint64_t)c->from, (uint64_t)(c->from + c->n_bytes)}));
    VEC_PUSH(out, ((span_t){(uint64_t)c->to, (uint64_t)(c->to + c->n_bytes)}));
}

/* The arena's segments, by all that steps touch. */
static int plan_segments(device_t *self, const args_t *args, err_t *err)
{
    spans_t spans = {0};
    for (size_t i = 0; i < self->steps.work.n; i++) {
        const work_t *work = &self->steps.work.at[i];
        const shader_t *shader = &self->shaders.shader[work->kernel];
        if (work->copy) add_copy(&spans, work->copy);
        for (int k = 0; !work->copy && k < shader->n_arg; k++) {
            span_t span = span_of(self, &shader->arg[k], args->byte.at[work->at + (size_t)k]);
            if (shader->arg[k].reads || shader->arg[k].writes) VEC_PUSH(&spans, span);
        }
    }
    int status = memory_plan(self, &spans, err);
    VEC_FREE(&spans);
    return status;
}

/* Arguments of one step, as its segments count elements. */
static int place_args(const device_t *self, const args_t *args, const work_t *work, int32_t *out,
                      err_t *err)
{
    const shader_t *shader = &self->shaders.shader[work->kernel];
    for (int i = 0; i < shader->n_arg; i++) {
        const shader_arg_t *a = &shader->arg[i];
        int64_t byte = args->byte.at[work->at + (size_t)i], size = a->size;
        span_t span = a->reads || a->writes ? span_of(self, a, byte) : (span_t){0, 0};
        if (span.lo == span.hi) continue; /* nothing is touched: zeros will do */
        size_t segment = segments_find(&self->segments, span.lo);
        int64_t from = (int64_t)self->segments.at[segment].lo, element = (byte - from) / size;
        int64_t last = ((int64_t)span.hi - from - 1) / size;
        if (byte % size != 0 || element > INT32_MAX || element < INT32_MIN || last > INT32_MAX)
            return err_set(
                err, ERR_CORRUPT,
                "argument %d of kernel %s at %lld: elements have %u bytes and numbers of 31 bits",
                i, self->plan->kernel_name[work->kernel], (long long)byte, a->size);
        out[work->at + (size_t)i] = (int32_t)element;
        out[work->at + (size_t)(shader->n_arg + i)] = (int32_t)segment;
    }
    return 0;
}

int steps_load(device_t *self, err_t *err)
{
    args_t args = {.device = self};
    int status = recording_load(&self->steps, self->plan, add_args, &args, err);
    size_t n_bytes = (args.byte.n + 1) * sizeof(int32_t);
    if (status == 0) status = plan_segments(self, &args, err);
    if (status == 0)
        status = memory_new(&self->api, &self->args, (n_bytes + 255) & ~255u, true, err);
    if (status == 0) memset(self->args.mapped, 0, n_bytes);
    for (size_t i = 0; status == 0 && i < self->steps.work.n; i++)
        if (!self->steps.work.at[i].copy)
            status = place_args(self, &args, &self->steps.work.at[i], self->args.mapped, err);
    VEC_FREE(&args.byte);
    return status;
}

/* As much of the arena (of its first segment) as the device lets texels have. */
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
            .buffer = self->arena[0].buffer,
            .format = each[i].format,
            .range = self->arena[0].n_bytes < most ? self->arena[0].n_bytes : most};
        if (api_check(api, api->CreateBufferView(api->device, &info, NULL, &self->texels[i]),
                      "a view of the arena", err) < 0)
            return -1;
    }
    return 0;
}

int steps_bind(device_t *self, err_t *err)
{
    const api_t *api = &self->api;
    uint32_t n = (uint32_t)self->segments.n;
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, n + 1},
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
    VkDescriptorBufferInfo *buffers = mem_calloc(n + 1, sizeof *buffers);
    for (uint32_t i = 0; i <= n; i++)
        buffers[i] = (VkDescriptorBufferInfo){i < n ? self->arena[i].buffer : self->args.buffer, 0,
                                              VK_WHOLE_SIZE};
    const VkWriteDescriptorSet writes[] = {
        {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = self->set,
         .descriptorCount = n,
         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
         .pBufferInfo = buffers},
        {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = self->set,
         .dstBinding = 1,
         .descriptorCount = 1,
         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
         .pBufferInfo = &buffers[n]},
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
    free(buffers);
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
        span_t segment = self->segments.at[arg[shader->n_arg + i]];
        span_t span = span_of(self, a, (int64_t)segment.lo + (int64_t)arg[i] * (int64_t)a->size);
        touch_t t = {(int64_t)span.lo, (int64_t)span.hi, a->writes};
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

/* What was written before is seen by what comes behind, also in later submissions: that a fence was waited for makes it
 * visible to none of them. `host`: which reads it, too. */
static void write_barrier(const api_t *api, VkCommandBuffer commands, bool host)
{
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT |
                                        VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkAccessFlags all = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                              VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT |
                                                      VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = all | (host ? VK_ACCESS_HOST_READ_BIT : 0)};
    api->CmdPipelineBarrier(commands, stages, stages | (host ? VK_PIPELINE_STAGE_HOST_BIT : 0), 0,
                            1, &barrier, 0, NULL, 0, NULL);
}

static void write_work(device_t *self, const work_t *work, VkCommandBuffer commands)
{
    const api_t *api = &self->api;
    if (work->copy) {
        uint64_t from = (uint64_t)work->copy->from, to = (uint64_t)work->copy->to;
        size_t a = segments_find(&self->segments, from), b = segments_find(&self->segments, to);
        const VkBufferCopy part = {from - self->segments.at[a].lo, to - self->segments.at[b].lo,
                                   (VkDeviceSize)work->copy->n_bytes};
        if (part.size > 0)
            api->CmdCopyBuffer(commands, self->arena[a].buffer, self->arena[b].buffer, 1, &part);
        return;
    }
    if (work->extent == 0) return;
    const shader_t *shader = &self->shaders.shader[work->kernel];
    const int32_t push[] = {(int32_t)work->at, work->begin, work->extent};
    uint64_t most = api->properties.limits.maxComputeWorkGroupCount[0];
    uint64_t groups = (uint64_t)work->extent, size = pipelines_size(self, (int)work->kernel);
    if (pipelines_panels(self, (int)work->kernel))
        groups = shader->panel_groups;
    else if (shader->how != SHADERS_GROUPS)
        groups = (groups * shader->threads + size - 1) / size;
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
            write_barrier(api, *out, false);
            before.n = 0;
        }
        for (size_t k = 0; k < now.n; k++) VEC_PUSH(&before, now.at[k]);
        write_work(self, self->steps.queue.at[i], *out);
    }
    timing_end(self, *out);
    VEC_FREE(&before);
    VEC_FREE(&now);
    write_barrier(api, *out, true);
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
        write_barrier(&self->api, commands, true);
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
