/* A libvulkan.so.1 that loses its device once: it hands everything on to the one that REAL_VULKAN names, until
 * LOST_AFTER submissions have been made while the file LOST_FILE is not there; then it makes that file, and
 * every submission of this process fails as those of a lost device do. Built by tests/cluster/devices.sh. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vulkan/vulkan.h>

static PFN_vkQueueSubmit real_submit;
static PFN_vkGetDeviceProcAddr real_device;
static int submitted, lost;

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t n, const VkSubmitInfo *infos,
                                             VkFence fence)
{
    const char *after = getenv("LOST_AFTER"), *file = getenv("LOST_FILE");
    if (!lost && after && file && ++submitted > atoi(after) && access(file, F_OK) != 0) {
        close(open(file, O_CREAT | O_WRONLY, 0600));
        lost = 1;
    }
    return lost ? VK_ERROR_DEVICE_LOST : real_submit(queue, n, infos, fence);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char *name)
{
    PFN_vkVoidFunction found = real_device(device, name);
    if (strcmp(name, "vkQueueSubmit") != 0) return found;
    real_submit = (PFN_vkQueueSubmit)found;
    return (PFN_vkVoidFunction)submit;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance,
                                                               const char *name)
{
    void *real = dlopen(getenv("REAL_VULKAN"), RTLD_NOW);
    if (!real) return NULL;
    PFN_vkGetInstanceProcAddr get = (PFN_vkGetInstanceProcAddr)dlsym(real, "vkGetInstanceProcAddr");
    PFN_vkVoidFunction found = get(instance, name);
    if (strcmp(name, "vkGetDeviceProcAddr") != 0 || !found) return found;
    real_device = (PFN_vkGetDeviceProcAddr)found;
    return (PFN_vkVoidFunction)device_function;
}
