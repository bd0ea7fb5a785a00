/* libvulkan by dlopen, an instance, one device of it. */
#include "runtime/vulkan/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static VKAPI_ATTR VkBool32 VKAPI_CALL on_complaint(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                   VkDebugUtilsMessageTypeFlagsEXT type,
                                                   const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                   void *user)
{
    api_t *self = user;
    (void)severity, (void)type;
    if (self->n_complaint++ == 0)
        snprintf(self->complaint, sizeof self->complaint, "%s", data->pMessage);
    return VK_FALSE;
}

static const VkDebugUtilsMessengerCreateInfoEXT complaints = {
    .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
    .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
    .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
    .pfnUserCallback = on_complaint,
};

static bool is_set(const char *variable)
{
    const char *wanted = getenv(variable);
    return wanted && strcmp(wanted, "1") == 0;
}

static bool validates(void)
{
    return is_set("PCP_VULKAN_VALIDATE");
}

static void *instance_function(const api_t *self, const char *name)
{
    void *at;
    PFN_vkVoidFunction found = self->get(self->instance, name);
    memcpy(&at, &found, sizeof at);
    return at;
}

static int load_instance(api_t *self, err_t *err)
{
#define X(name)                                                                  \
    {                                                                            \
        void *at = instance_function(self, "vk" #name);                          \
        memcpy(&self->name, &at, sizeof at);                                     \
        if (!at) return err_set(err, ERR_UNSUPPORTED, "Vulkan has no vk" #name); \
    }
    API_INSTANCE(X)
#undef X
    return 0;
}

static int make_instance(api_t *self, err_t *err)
{
    static const char *const layers[] = {"VK_LAYER_KHRONOS_validation"};
    static const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    VkDebugUtilsMessengerCreateInfoEXT told = complaints;
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .pApplicationName = "pcp",
                                   .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &app};
    if (validates()) {
        told.pUserData = self;
        info.pNext = &told;
        info.enabledLayerCount = info.enabledExtensionCount = 1;
        info.ppEnabledLayerNames = layers;
        info.ppEnabledExtensionNames = extensions;
    }
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)self->get(NULL, "vkCreateInstance");
    VkResult result = create ? create(&info, NULL, &self->instance)
                             : VK_ERROR_INITIALIZATION_FAILED;
    if (result == VK_ERROR_LAYER_NOT_PRESENT)
        return err_set(err, ERR_UNSUPPORTED,
                       "PCP_VULKAN_VALIDATE=1 wants VK_LAYER_KHRONOS_validation: install "
                       "vulkan-validationlayers");
    if (result != VK_SUCCESS)
        return err_set(err, ERR_UNSUPPORTED,
                       "no Vulkan driver can be used here (vkCreateInstance: %d): install the "
                       "device's driver, or mesa-vulkan-drivers",
                       (int)result);
    if (load_instance(self, err) < 0) return -1;
    if (!validates()) return 0;
    PFN_vkCreateDebugUtilsMessengerEXT hear = (PFN_vkCreateDebugUtilsMessengerEXT)self->get(
        self->instance, "vkCreateDebugUtilsMessengerEXT");
    return hear ? api_check(self, hear(self->instance, &told, NULL, &self->messenger),
                            "listening to validation", err)
                : err_set(err, ERR_UNSUPPORTED, "validation layers cannot be heard");
}

int api_open(api_t *self, err_t *err)
{
    *self = (api_t){.library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL)};
    if (!self->library)
        return err_set(err, ERR_UNSUPPORTED,
                       "there is no libvulkan.so.1 here: install libvulkan1 and the device's "
                       "driver");
    void *at = dlsym(self->library, "vkGetInstanceProcAddr");
    memcpy(&self->get, &at, sizeof at);
    if (!self->get) return err_set(err, ERR_UNSUPPORTED, "libvulkan.so.1 is none");
    return make_instance(self, err);
}

void api_close(api_t *self)
{
    if (self->device) self->DestroyDevice(self->device, NULL);
    if (self->messenger) {
        PFN_vkDestroyDebugUtilsMessengerEXT forget = (PFN_vkDestroyDebugUtilsMessengerEXT)self->get(
            self->instance, "vkDestroyDebugUtilsMessengerEXT");
        if (forget) forget(self->instance, self->messenger, NULL);
    }
    if (self->instance && self->DestroyInstance) self->DestroyInstance(self->instance, NULL);
    /* The library stays: drivers leave threads and thread-local data behind. */
    *self = (api_t){0};
}

bool api_choose(api_t *self, int ordinal)
{
    enum { MAX_DEVICES = 64 };
    VkPhysicalDevice all[MAX_DEVICES];
    uint32_t n = MAX_DEVICES;
    VkResult result = self->EnumeratePhysicalDevices(self->instance, &n, all);
    if ((result != VK_SUCCESS && result != VK_INCOMPLETE) || ordinal < 0 || (uint32_t)ordinal >= n)
        return false;
    self->physical = all[ordinal];
    self->limits.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
    self->id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    self->id.pNext = &self->limits;
    self->subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    self->subgroup.pNext = &self->id;
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    self->GetPhysicalDeviceProperties(self->physical, &self->properties);
    if (self->properties.apiVersion >= VK_API_VERSION_1_1) {
        properties.pNext = &self->subgroup;
        self->GetPhysicalDeviceProperties2(self->physical, &properties);
    }
    self->GetPhysicalDeviceMemoryProperties(self->physical, &self->memory);
    self->processor = self->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU &&
                      !is_set("PCP_VULKAN_AS_GPU");
    return true;
}

static bool find_family(api_t *self)
{
    enum { MAX_FAMILIES = 64 };
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t n = MAX_FAMILIES;
    self->GetPhysicalDeviceQueueFamilyProperties(self->physical, &n, families);
    for (self->family = 0; self->family < n; self->family++)
        if (families[self->family].queueFlags & VK_QUEUE_COMPUTE_BIT) {
            self->clock_bits = families[self->family].timestampValidBits;
            return true;
        }
    return false;
}

enum {
    SHARED_BYTES = 32 << 10
}; /* of a group: what kernels keep (codegen/render/render_share.c) */

const char *api_lacks(api_t *self)
{
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceVulkan11Features v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &v12};
    VkPhysicalDeviceFeatures2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                     .pNext = &v11};
    if (self->properties.apiVersion < VK_API_VERSION_1_2) return "Vulkan 1.2";
    if (!find_family(self)) return "compute queues";
    self->GetPhysicalDeviceFeatures2(self->physical, &all);
    self->f64 = all.features.shaderFloat64;
    self->indexes = all.features.shaderStorageBufferArrayDynamicIndexing;
    if (self->properties.limits.maxComputeSharedMemorySize < SHARED_BYTES)
        return "32 KiB of memory that a group shares";
    if (!all.features.robustBufferAccess) return "robustBufferAccess";
    if (!all.features.shaderInt64) return "64-bit integers";
    if (!v11.storageBuffer16BitAccess) return "16-bit storage";
    return v12.storageBuffer8BitAccess ? NULL : "8-bit storage";
}

static int load_device(api_t *self, err_t *err)
{
#define X(name)                                                                                \
    {                                                                                          \
        PFN_vkVoidFunction found = self->GetDeviceProcAddr(self->device, "vk" #name);          \
        memcpy(&self->name, &found, sizeof found);                                             \
        if (!found) return err_set(err, ERR_UNSUPPORTED, "the Vulkan device has no vk" #name); \
    }
    API_DEVICE(X)
#undef X
    return 0;
}

int api_make_device(api_t *self, err_t *err)
{
    const char *lacks = api_lacks(self);
    if (lacks)
        return err_set(err, ERR_UNSUPPORTED, "Vulkan device %s has no %s",
                       self->properties.deviceName, lacks);
    const float priority = 1;
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .storageBuffer8BitAccess = VK_TRUE};
    VkPhysicalDeviceVulkan11Features v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
        .pNext = &v12,
        .storageBuffer16BitAccess = VK_TRUE};
    VkPhysicalDeviceFeatures2 features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &v11,
        .features = {.robustBufferAccess = VK_TRUE,
                     .shaderInt64 = VK_TRUE,
                     .shaderFloat64 = self->f64,
                     .shaderStorageBufferArrayDynamicIndexing = self->indexes}};
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = self->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
    if (api_check(self, self->CreateDevice(self->physical, &info, NULL, &self->device),
                  "making the device", err) < 0)
        return -1;
    PFN_vkVoidFunction destroy = self->GetDeviceProcAddr(self->device, "vkDestroyDevice");
    memcpy(&self->DestroyDevice, &destroy, sizeof destroy);
    if (load_device(self, err) < 0) return -1;
    self->GetDeviceQueue(self->device, self->family, 0, &self->queue);
    return 0;
}

uint64_t api_memory_bytes(const api_t *self)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < self->memory.memoryHeapCount; i++) {
        const VkMemoryHeap *heap = &self->memory.memoryHeaps[i];
        if ((heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) && heap->size > most) most = heap->size;
    }
    return most;
}

int api_memory_type(const api_t *self, uint32_t types, VkMemoryPropertyFlags wanted)
{
    for (uint32_t i = 0; i < self->memory.memoryTypeCount; i++)
        if ((types >> i & 1) && (self->memory.memoryTypes[i].propertyFlags & wanted) == wanted)
            return (int)i;
    return -1;
}

int api_check(const api_t *self, VkResult result, const char *what, err_t *err)
{
    const char *name = self->properties.deviceName;
    switch (result) {
    case VK_SUCCESS: return 0;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return err_set(err, ERR_MEMORY, "Vulkan device %s: %s: out of memory", name, what);
    case VK_ERROR_DEVICE_LOST:
        return err_set(err, ERR_DEVICE,
                       "Vulkan device %s is lost (%s): its driver gave it up; what it had is gone "
                       "and the process has to start again",
                       name, what);
    default:
        return err_set(err, ERR_UNSUPPORTED, "Vulkan device %s: %s: error %d", name, what,
                       (int)result);
    }
}
