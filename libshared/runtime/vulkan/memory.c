/* Buffers of the device. Where the host sees the device's memory (a processor's own graphics, or a
 * driver on the processor itself), the arena is written and read as it lies; else by a buffer of a
 * few MiB that both see. */
#include <string.h>

#include "base/mem.h"
#include "runtime/vulkan/steps.h"

enum { STAGING_BYTES = 8 << 20 };

int memory_new(const api_t *api, memory_t *self, VkDeviceSize n_bytes, bool seen, err_t *err)
{
    const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                       VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = n_bytes,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
                 VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    VkMemoryRequirements wants;
    *self = (memory_t){.n_bytes = n_bytes};
    if (api_check(api, api->CreateBuffer(api->device, &info, NULL, &self->buffer), "a buffer",
                  err) < 0)
        return -1;
    api->GetBufferMemoryRequirements(api->device, self->buffer, &wants);
    int type = -1;
    if (seen) /* memory that the processor caches is read at its speed */
        type = api_memory_type(api, wants.memoryTypeBits,
                               host | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    if (type < 0)
        type = api_memory_type(api, wants.memoryTypeBits,
                               seen ? host : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    if (type < 0) type = api_memory_type(api, wants.memoryTypeBits, 0);
    const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .allocationSize = wants.size,
                                           .memoryTypeIndex = (uint32_t)type};
    if (api_check(api, api->AllocateMemory(api->device, &allocate, NULL, &self->memory), "memory",
                  err) < 0 ||
        api_check(api, api->BindBufferMemory(api->device, self->buffer, self->memory, 0),
                  "binding memory", err) < 0)
        return -1;
    if (!seen) return 0;
    return api_check(api,
                     api->MapMemory(api->device, self->memory, 0, VK_WHOLE_SIZE, 0, &self->mapped),
                     "mapping memory", err);
}

void memory_free(const api_t *api, memory_t *self)
{
    if (self->buffer) api->DestroyBuffer(api->device, self->buffer, NULL);
    if (self->memory) api->FreeMemory(api->device, self->memory, NULL);
    *self = (memory_t){0};
}

/* Before anything is allocated: what the device cannot have is said with its own numbers. */
static int check_limits(const device_t *self, uint64_t n_bytes, err_t *err)
{
    const api_t *api = &self->api;
    const struct {
        const char *what;
        uint64_t bytes;
    } limits[] = {
        {"the device's memory has", api_memory_bytes(api)},
        {"the limit it was given is",
         self->options.memory_limit ? self->options.memory_limit : UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (n_bytes > limits[i].bytes)
            return err_set(err, ERR_MEMORY,
                           "the plan needs an arena of %.1f MiB on Vulkan device %s; %s %.1f: use "
                           "a smaller batch, or --memory-budget",
                           (double)n_bytes / (1 << 20), api->properties.deviceName, limits[i].what,
                           (double)limits[i].bytes / (1 << 20));
    return 0;
}

typedef struct {
    VkBuffer from, to;
    VkBufferCopy part;
} copy_t;

static void fill_copy(device_t *self, VkCommandBuffer commands, void *user)
{
    const copy_t *copy = user;
    self->api.CmdCopyBuffer(commands, copy->from, copy->to, 1, &copy->part);
}

static bool host_sees_all(const api_t *api)
{
    return api->processor || api->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
}

/* What has a name and no buffer that could hold it. */
static int check_tensors(const device_t *self, uint64_t most, err_t *err)
{
    const api_t *api = &self->api;
    for (int i = 0; i < self->plan->n_tensor; i++) {
        const plan_tensor_t *t = &self->plan->tensor[i];
        if (t->n_bytes > most)
            return err_set(
                err, ERR_MEMORY,
                "%s %s has %.1f MiB, and a buffer of Vulkan device %s has %.1f at most "
                "(maxStorageBufferRange, maxMemoryAllocationSize): it takes another device",
                plan_role_name(t->role), t->name, (double)t->n_bytes / (1 << 20),
                api->properties.deviceName, (double)most / (1 << 20));
    }
    return 0;
}

/* A segment of no more than 2 GiB can have elements of any size: their numbers are 31 bits. */
int memory_plan(device_t *self, spans_t *touched, err_t *err)
{
    const api_t *api = &self->api;
    const uint64_t usual = UINT64_C(1) << 31, n_bytes = self->plan->arena_bytes;
    uint64_t most = api->limits.maxMemoryAllocationSize;
    if (most > api->properties.limits.maxStorageBufferRange)
        most = api->properties.limits.maxStorageBufferRange;
    if (self->options.segment_bytes && most > self->options.segment_bytes)
        most = self->options.segment_bytes;
    most &= ~UINT64_C(15); /* sizes are whole fours of elements */
    if (check_limits(self, n_bytes, err) < 0 || check_tensors(self, most, err) < 0) return -1;
    if (segments_cut(touched, n_bytes, most < usual ? most : usual, most, &self->segments, err) < 0)
        return err_prefix(
            err, "Vulkan device %s: maxStorageBufferRange %u, maxMemoryAllocationSize %llu: ",
            api->properties.deviceName, api->properties.limits.maxStorageBufferRange,
            (unsigned long long)api->limits.maxMemoryAllocationSize);
    uint32_t buffers = api->indexes ? api->properties.limits.maxPerStageDescriptorStorageBuffers
                                    : 2;
    if (self->shaders.one_buffer) buffers = 2;
    if (self->segments.n < buffers) return 0;
    return err_set(err, ERR_MEMORY,
                   "the plan's arena of %.1f MiB takes %zu buffers on Vulkan device %s, whose "
                   "shaders see %u%s: "
                   "use a smaller batch, or --memory-budget",
                   (double)n_bytes / (1 << 20), self->segments.n, api->properties.deviceName,
                   buffers - 1,
                   self->shaders.one_buffer ? " in plans of this version (compile it again)" : "");
}

/* A segment of the arena, zeroed: by the host, or through the staging buffer, which holds zeros. */
static int make_segment(device_t *self, size_t i, bool staged, err_t *err)
{
    enum { SMALLEST = 256 };
    span_t span = self->segments.at[i];
    uint64_t n = (span.hi - span.lo + 15) & ~UINT64_C(15);
    if (n < SMALLEST) n = SMALLEST;
    if (memory_new(&self->api, &self->arena[i], n, !staged, err) < 0) return -1;
    if (!staged) memset(self->arena[i].mapped, 0, n);
    for (uint64_t at = 0; staged && at < n; at += STAGING_BYTES) {
        copy_t copy = {self->staging.buffer,
                       self->arena[i].buffer,
                       {0, at, n - at < STAGING_BYTES ? n - at : STAGING_BYTES}};
        if (steps_submit_once(self, fill_copy, &copy, err) < 0) return -1;
    }
    return 0;
}

int memory_arena(device_t *self, err_t *err)
{
    bool staged = !host_sees_all(&self->api) || self->options.staged;
    self->arena = mem_calloc(self->segments.n, sizeof *self->arena);
    if (staged) {
        if (memory_new(&self->api, &self->staging, STAGING_BYTES, true, err) < 0) return -1;
        memset(self->staging.mapped, 0, STAGING_BYTES);
    }
    for (size_t i = 0; i < self->segments.n; i++)
        if (make_segment(self, i, staged, err) < 0) return -1;
    return 0;
}

/* Of [offset, offset + n_bytes) what lies in one segment and, staged, in one buffer of staging: its bytes, the
 * segment's memory and the place there. */
static size_t next_part(const device_t *self, uint64_t offset, size_t n_bytes,
                        const memory_t **memory, uint64_t *place)
{
    size_t i = segments_find(&self->segments, offset);
    span_t span = self->segments.at[i];
    *memory = &self->arena[i];
    *place = offset - span.lo;
    if (i + 1 < self->segments.n && n_bytes > span.hi - offset) n_bytes = span.hi - offset;
    return (*memory)->mapped || n_bytes < STAGING_BYTES ? n_bytes : STAGING_BYTES;
}

int memory_write(device_t *self, uint64_t offset, const void *bytes, size_t n_bytes, err_t *err)
{
    if (steps_run(self, err) < 0) return -1;
    for (size_t at = 0, n; at < n_bytes; at += n) {
        const memory_t *memory;
        uint64_t place;
        n = next_part(self, offset + at, n_bytes - at, &memory, &place);
        if (memory->mapped) {
            memcpy((char *)memory->mapped + place, (const char *)bytes + at, n);
            continue;
        }
        memcpy(self->staging.mapped, (const char *)bytes + at, n);
        copy_t copy = {self->staging.buffer, memory->buffer, {0, place, n}};
        if (steps_submit_once(self, fill_copy, &copy, err) < 0) return -1;
    }
    return 0;
}

int memory_read(device_t *self, uint64_t offset, void *bytes, size_t n_bytes, err_t *err)
{
    if (steps_run(self, err) < 0) return -1;
    for (size_t at = 0, n; at < n_bytes; at += n) {
        const memory_t *memory;
        uint64_t place;
        n = next_part(self, offset + at, n_bytes - at, &memory, &place);
        if (memory->mapped) {
            memcpy((char *)bytes + at, (const char *)memory->mapped + place, n);
            continue;
        }
        copy_t copy = {memory->buffer, self->staging.buffer, {place, 0, n}};
        if (steps_submit_once(self, fill_copy, &copy, err) < 0) return -1;
        memcpy((char *)bytes + at, self->staging.mapped, n);
    }
    return 0;
}
