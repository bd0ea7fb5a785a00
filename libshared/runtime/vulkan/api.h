/* Between the files of this folder: libvulkan's functions, loaded at run time, and one device with
 * what was asked of it. Nothing here is global; one thread at a time per api_t. */
#ifndef RUNTIME_VULKAN_API_H
#define RUNTIME_VULKAN_API_H

#define VK_NO_PROTOTYPES
#include <stdbool.h>
#include <vulkan/vulkan.h>

#include "base/err.h"

/* X(name): of the instance, of the device. */
#define API_INSTANCE(X)                       \
    X(DestroyInstance)                        \
    X(EnumeratePhysicalDevices)               \
    X(GetPhysicalDeviceProperties)            \
    X(GetPhysicalDeviceProperties2)           \
    X(GetPhysicalDeviceFeatures2)             \
    X(GetPhysicalDeviceMemoryProperties)      \
    X(GetPhysicalDeviceQueueFamilyProperties) \
    X(CreateDevice)                           \
    X(GetDeviceProcAddr)
#define API_DEVICE(X)              \
    X(DestroyDevice)               \
    X(GetDeviceQueue)              \
    X(CreateBuffer)                \
    X(DestroyBuffer)               \
    X(GetBufferMemoryRequirements) \
    X(CreateBufferView)            \
    X(DestroyBufferView)           \
    X(AllocateMemory)              \
    X(FreeMemory)                  \
    X(BindBufferMemory)            \
    X(MapMemory)                   \
    X(CreateShaderModule)          \
    X(DestroyShaderModule)         \
    X(CreateDescriptorSetLayout)   \
    X(DestroyDescriptorSetLayout)  \
    X(CreatePipelineLayout)        \
    X(DestroyPipelineLayout)       \
    X(CreatePipelineCache)         \
    X(DestroyPipelineCache)        \
    X(GetPipelineCacheData)        \
    X(CreateComputePipelines)      \
    X(DestroyPipeline)             \
    X(CreateDescriptorPool)        \
    X(DestroyDescriptorPool)       \
    X(AllocateDescriptorSets)      \
    X(UpdateDescriptorSets)        \
    X(CreateCommandPool)           \
    X(DestroyCommandPool)          \
    X(AllocateCommandBuffers)      \
    X(FreeCommandBuffers)          \
    X(BeginCommandBuffer)          \
    X(EndCommandBuffer)            \
    X(CmdBindPipeline)             \
    X(CmdBindDescriptorSets)       \
    X(CmdPushConstants)            \
    X(CmdDispatch)                 \
    X(CmdCopyBuffer)               \
    X(CmdPipelineBarrier)          \
    X(CreateFence)                 \
    X(DestroyFence)                \
    X(ResetFences)                 \
    X(WaitForFences)               \
    X(CreateQueryPool)             \
    X(DestroyQueryPool)            \
    X(CmdResetQueryPool)           \
    X(CmdWriteTimestamp)           \
    X(GetQueryPoolResults)         \
    X(QueueSubmit)                 \
    X(DeviceWaitIdle)

typedef struct {
    void *library;
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger; /* with PCP_VULKAN_VALIDATE=1 */
    int n_complaint;                    /* of the validation layer */
    char complaint[512];                /* its first one */
    VkPhysicalDevice physical;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceIDProperties id;
    VkPhysicalDeviceMaintenance3Properties limits;
    VkPhysicalDeviceMemoryProperties memory;
    bool processor;              /* the machine's own; no, for tests, with PCP_VULKAN_AS_GPU=1 */
    bool f64;                    /* the device has doubles */
    bool indexes;                /* shaders may choose among buffers: the arena's segments */
    uint32_t family, clock_bits; /* of the queue's timestamps; 0: it has none */
    VkDevice device;
    VkQueue queue;
#define X(name) PFN_vk##name name;
    API_INSTANCE(X)
    API_DEVICE(X)
#undef X
} api_t;

/* Load libvulkan and make an instance. ERR_UNSUPPORTED: no libvulkan, or no driver behind it.
 * api_close is due in any case. */
int api_open(api_t *self, err_t *err);
void api_close(api_t *self);

/* The ordinal-th device's properties; false: there is none. */
bool api_choose(api_t *self, int ordinal);
/* What the chosen device lacks of what all our shaders need; NULL: nothing. Static storage. */
const char *api_lacks(api_t *self);
/* Make the chosen device and its queue. ERR_UNSUPPORTED names what it lacks. */
int api_make_device(api_t *self, err_t *err);

/* The largest heap of the device's own memory, in bytes. */
uint64_t api_memory_bytes(const api_t *self);
/* A memory type among `types` with all flags of `wanted`; -1: none. */
int api_memory_type(const api_t *self, uint32_t types, VkMemoryPropertyFlags wanted);

/* result as an error that says what to do about it: memory, a lost device, ... Returns 0 for
 * VK_SUCCESS, else -1. */
int api_check(const api_t *self, VkResult result, const char *what, err_t *err);

#endif
