/* libvulkan's place in tests of a lost device: the system's own library, but that the first process that gets to
 * its N-th submission loses its device there, as a driver does that gives it up: from then on submissions and waits
 * are VK_ERROR_DEVICE_LOST. PCP_VULKAN_LOST is "N:FILE"; FILE is made by the process that loses it, so that no other
 * one does, and not that worker's next process.
 *
 *     cc -shared -fPIC -o DIR/libvulkan.so.1 vulkan.c -ldl; LD_LIBRARY_PATH=DIR PCP_VULKAN_LOST=20:DIR/lost ... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

static PFN_vkGetInstanceProcAddr next_instance;
static PFN_vkGetDeviceProcAddr next_device;
static PFN_vkQueueSubmit next_submit;
static PFN_vkWaitForFences next_wait;
static bool lost;

static bool loses_now(void)
{
    static long n;
    const char *text = getenv("PCP_VULKAN_LOST"), *file = text ? strchr(text, ':') : NULL;
    if (lost || !file || ++n != strtol(text, NULL, 10)) return lost;
    int fd = open(file + 1, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd >= 0) close(fd);
    lost = fd >= 0;
    return lost;
}

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t n, const VkSubmitInfo *what,
                                             VkFence fence)
{
    return loses_now() ? VK_ERROR_DEVICE_LOST : next_submit(queue, n, what, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_for(VkDevice device, uint32_t n, const VkFence *fences,
                                               VkBool32 all, uint64_t ns)
{
    return lost ? VK_ERROR_DEVICE_LOST : next_wait(device, n, fences, all, ns);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char *name)
{
    PFN_vkVoidFunction found = next_device(device, name);
    if (strcmp(name, "vkQueueSubmit") == 0) {
        next_submit = (PFN_vkQueueSubmit)found;
        return (PFN_vkVoidFunction)submit;
    }
    if (strcmp(name, "vkWaitForFences") == 0) {
        next_wait = (PFN_vkWaitForFences)found;
        return (PFN_vkVoidFunction)wait_for;
    }
    return found;
}

/* By its full name: this file has the short one. */
static void open_next(void)
{
    static const char *const places[] = {"/usr/lib/x86_64-linux-gnu/libvulkan.so.1",
                                         "/usr/lib/aarch64-linux-gnu/libvulkan.so.1",
                                         "/usr/lib64/libvulkan.so.1", "/usr/lib/libvulkan.so.1"};
    for (size_t i = 0; i < sizeof places / sizeof *places && !next_instance; i++) {
        void *library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
        void *at = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
        memcpy(&next_instance, &at, sizeof at);
    }
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance,
                                                               const char *name)
{
    if (!next_instance) open_next();
    if (!next_instance) return NULL;
    PFN_vkVoidFunction found = next_instance(instance, name);
    if (strcmp(name, "vkGetDeviceProcAddr") != 0) return found;
    next_device = (PFN_vkGetDeviceProcAddr)found;
    return (PFN_vkVoidFunction)device_function;
}
