/* Buffers of the device. Where the host sees the device's memory (a processor's own graphics, or a
 * driver on the processor itself), the arena is written and read as it lies; else by a buffer of a
 * few MiB that both see. */
#include <string.h>

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
        {"one buffer of its shaders may have (maxStorageBufferRange)",
         api->properties.limits.maxStorageBufferRange},
        {"it allocates at once (maxMemoryAllocationSize)", api->limits.maxMemoryAllocationSize},
        {"the limit it was given is",
         self->options.memory_limit ? self->options.memory_limit : UINT64_MAX},
        {"element numbers reach", (uint64_t)INT32_MAX},
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

static bool host_sees_all(const api_t *api)
{
    VkPhysicalDeviceType type = api->properties.deviceType;
    return type == VK_PHYSICAL_DEVICE_TYPE_CPU || type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
}

int memory_arena(device_t *self, uint64_t n_bytes, err_t *err)
{
    enum { SMALLEST = 256 };
    uint64_t rounded = n_bytes < SMALLEST ? SMALLEST : (n_bytes + 15) & ~UINT64_C(15);
    bool staged = !host_sees_all(&self->api) || self->options.staged;
    if (check_limits(self, rounded, err) < 0 ||
        memory_new(&self->api, &self->arena, rounded, !staged, err) < 0)
        return -1;
    self->arena_bytes = n_bytes;
    if (!staged) {
        memset(self->arena.mapped, 0, rounded);
        return 0;
    }
    if (memory_new(&self->api, &self->staging, STAGING_BYTES, true, err) < 0) return -1;
    memset(self->staging.mapped, 0, STAGING_BYTES);
    for (uint64_t at = 0; at < rounded; at += STAGING_BYTES) {
        uint64_t left = rounded - at;
        if (memory_write(self, at, NULL, left < STAGING_BYTES ? left : STAGING_BYTES, err) < 0)
            return -1;
    }
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

/* bytes NULL: what the staging buffer holds. */
int memory_write(device_t *self, uint64_t offset, const void *bytes, size_t n_bytes, err_t *err)
{
    if (steps_run(self, err) < 0) return -1;
    if (self->arena.mapped) {
        memcpy((char *)self->arena.mapped + offset, bytes, n_bytes);
        return 0;
    }
    for (size_t at = 0; at < n_bytes; at += STAGING_BYTES) {
        size_t n = n_bytes - at < STAGING_BYTES ? n_bytes - at : STAGING_BYTES;
        if (bytes) memcpy(self->staging.mapped, (const char *)bytes + at, n);
        copy_t copy = {self->staging.buffer, self->arena.buffer, {0, offset + at, n}};
        if (steps_submit_once(self, fill_copy, &copy, err) < 0) return -1;
    }
    return 0;
}

int memory_read(device_t *self, uint64_t offset, void *bytes, size_t n_bytes, err_t *err)
{
    if (steps_run(self, err) < 0) return -1;
    if (self->arena.mapped) {
        memcpy(bytes, (const char *)self->arena.mapped + offset, n_bytes);
        return 0;
    }
    for (size_t at = 0; at < n_bytes; at += STAGING_BYTES) {
        size_t n = n_bytes - at < STAGING_BYTES ? n_bytes - at : STAGING_BYTES;
        copy_t copy = {self->arena.buffer, self->staging.buffer, {offset + at, 0, n}};
        if (steps_submit_once(self, fill_copy, &copy, err) < 0) return -1;
        memcpy((char *)bytes + at, self->staging.mapped, n);
    }
    return 0;
}
