/* Shaders to pipelines. What the driver makes of them is kept on disk, by device and driver, so that
 * the next process starts at once; a file that the driver does not know is none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "runtime/vulkan/steps.h"

enum { CACHE_MAX_BYTES = 64 << 20 };

/* NULL: there is no place for it. */
static char *cache_path(const api_t *api)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char name[2 * VK_UUID_SIZE + 1], driver[2 * VK_UUID_SIZE + 1];
    for (size_t i = 0; i < VK_UUID_SIZE; i++) {
        snprintf(name + 2 * i, 3, "%02x", api->id.deviceUUID[i]);
        snprintf(driver + 2 * i, 3, "%02x", api->id.driverUUID[i]);
    }
    if (cache && *cache == '/') return mem_printf("%s/pcp/vulkan-%s-%s", cache, name, driver);
    if (home && *home == '/') return mem_printf("%s/.cache/pcp/vulkan-%s-%s", home, name, driver);
    return NULL;
}

/* The driver checks the header of what it wrote itself (vendor, device, version). */
static int make_cache(device_t *self, err_t *err)
{
    char *path = cache_path(&self->api), *bytes = NULL;
    size_t n = 0;
    if (path && file_size(path) > 0 && file_size(path) <= CACHE_MAX_BYTES)
        bytes = file_read(path, &n, NULL);
    const VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                            .initialDataSize = bytes ? n : 0,
                                            .pInitialData = bytes};
    int status = api_check(
        &self->api, self->api.CreatePipelineCache(self->api.device, &info, NULL, &self->cache),
        "a pipeline cache", err);
    free(bytes);
    free(path);
    return status;
}

/* Without a place, or room there, the next process compiles anew. */
static void keep_cache(device_t *self)
{
    char *path = cache_path(&self->api), *dir = path ? mem_strdup(path) : NULL;
    size_t n = 0;
    VkResult known = self->api.GetPipelineCacheData(self->api.device, self->cache, &n, NULL);
    bool grown = known == VK_SUCCESS && path && (int64_t)n > file_size(path);
    if (grown && n <= CACHE_MAX_BYTES) {
        void *bytes = mem_calloc(1, n + 1);
        *strrchr(dir, '/') = 0;
        if (self->api.GetPipelineCacheData(self->api.device, self->cache, &n, bytes) ==
                VK_SUCCESS &&
            file_make_dirs(dir, NULL) == 0)
            file_write_atomic(path, bytes, n, NULL);
        free(bytes);
    }
    free(dir);
    free(path);
}

static int make_layout(device_t *self, err_t *err)
{
    const api_t *api = &self->api;
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 2,
        .pBindings = bindings};
    if (api_check(api, api->CreateDescriptorSetLayout(api->device, &set, NULL, &self->set_layout),
                  "a descriptor layout", err) < 0)
        return -1;
    const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 3 * sizeof(int32_t)};
    const VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = &self->set_layout,
                                             .pushConstantRangeCount = 1,
                                             .pPushConstantRanges = &push};
    return api_check(api, api->CreatePipelineLayout(api->device, &info, NULL, &self->layout),
                     "a pipeline layout", err);
}

/* Threads of a group where the module leaves it to the device. */
static uint32_t usual_size(const api_t *api)
{
    bool processor = api->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    return processor && api->subgroup.subgroupSize > 0 ? api->subgroup.subgroupSize : 64;
}

/* Mesa's driver for processors ends a thread's loops for good after 65,535 rounds of all of them
 * together (LP_MAX_TGSI_LOOP_ITERATIONS), and says nothing. */
static int check_rounds(const device_t *self, const shader_t *shader, err_t *err)
{
    enum { LLVMPIPE_MOST = 65535 };
    const api_t *api = &self->api;
    bool llvmpipe = strstr(api->properties.deviceName, "llvmpipe") != NULL;
    if (!llvmpipe || shader->rounds <= LLVMPIPE_MOST) return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "Vulkan device %s runs %d rounds of loops in a thread at most, not %u",
                   api->properties.deviceName, LLVMPIPE_MOST, shader->rounds);
}

static int make_pipeline(device_t *self, int i, err_t *err)
{
    const api_t *api = &self->api;
    const shader_t *shader = &self->shaders.shader[i];
    uint32_t size = shader->in_groups && shader->threads ? shader->threads : self->local_size;
    const VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = shader->n_word * sizeof(uint32_t),
                                           .pCode = shader->word};
    const VkSpecializationMapEntry entry = {.constantID = 0, .offset = 0, .size = sizeof size};
    const VkSpecializationInfo special = {1, &entry, sizeof size, &size};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .layout = self->layout,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .pName = "main",
                  .pSpecializationInfo = &special}};
    if (size > api->properties.limits.maxComputeWorkGroupInvocations)
        return err_set(err, ERR_UNSUPPORTED, "Vulkan device %s has groups of %u threads, not %u",
                       api->properties.deviceName,
                       api->properties.limits.maxComputeWorkGroupInvocations, size);
    if (check_rounds(self, shader, err) < 0) return -1;
    if (api_check(api, api->CreateShaderModule(api->device, &code, NULL, &info.stage.module),
                  "a shader", err) < 0)
        return -1;
    VkResult result = api->CreateComputePipelines(api->device, self->cache, 1, &info, NULL,
                                                  &self->pipeline[i]);
    api->DestroyShaderModule(api->device, info.stage.module, NULL);
    return api_check(api, result, "a pipeline", err);
}

int pipelines_new(device_t *self, err_t *err)
{
    self->local_size = usual_size(&self->api);
    if (make_cache(self, err) < 0 || make_layout(self, err) < 0) return -1;
    self->pipeline = mem_calloc((size_t)self->shaders.n + 1, sizeof(VkPipeline));
    for (int i = 0; i < self->shaders.n; i++)
        if (make_pipeline(self, i, err) < 0)
            return err_prefix(err, "kernel %s: ", self->plan->kernel_name[i]);
    return 0;
}

void pipelines_free(device_t *self)
{
    const api_t *api = &self->api;
    for (int i = 0; self->pipeline && i < self->shaders.n; i++)
        if (self->pipeline[i]) api->DestroyPipeline(api->device, self->pipeline[i], NULL);
    if (self->cache && !self->lost) keep_cache(self);
    if (self->cache) api->DestroyPipelineCache(api->device, self->cache, NULL);
    if (self->layout) api->DestroyPipelineLayout(api->device, self->layout, NULL);
    if (self->set_layout) api->DestroyDescriptorSetLayout(api->device, self->set_layout, NULL);
    free(self->pipeline);
    self->pipeline = NULL;
}
