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
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, (uint32_t)self->segments.n,
         VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {2, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {3, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {4, VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {5, VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = sizeof bindings / sizeof *bindings,
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

/* GPUs have groups that wait for each other at no great cost, and memory for each that a processor has not. */
bool pipelines_panels(const device_t *self, int kernel)
{
    const shader_t *shader = &self->shaders.shader[kernel];
    const VkPhysicalDeviceLimits *limits = &self->api.properties.limits;
    return shader->panel_threads > 0 && !self->api.processor &&
           shader->panel_threads <= limits->maxComputeWorkGroupInvocations &&
           shader->panel_threads <= limits->maxComputeWorkGroupSize[0];
}

/* A processor has few threads: a group is one subgroup, where it has much to do, and as many as a
 * GPU's else. */
uint32_t pipelines_size(const device_t *self, int kernel)
{
    enum { USUAL = 64 };
    const api_t *api = &self->api;
    bool apart = self->shaders.shader[kernel].how == SHADERS_APART;
    return api->processor && !apart && api->subgroup.subgroupSize > 0 ? api->subgroup.subgroupSize
                                                                      : USUAL;
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

static bool asks_for_shuffles(const shader_t *shader, bool panels)
{
    enum { OP_CAPABILITY = 17, SHUFFLE = 65, FIRST = 5 };
    const uint32_t *word = panels ? shader->panel_word : shader->word;
    size_t n_word = panels ? shader->n_panel_word : shader->n_word;
    for (size_t i = FIRST; i + 1 < n_word && (word[i] & 0xFFFF) == OP_CAPABILITY; i += 2)
        if (word[i + 1] == SHUFFLE) return true;
    return false;
}

/* Threads that see each other's values: the device shuffles, and a subgroup holds all of a piece's. */
static int check_shuffles(const device_t *self, const shader_t *shader, bool panels, err_t *err)
{
    const VkPhysicalDeviceSubgroupProperties *subgroup = &self->api.subgroup;
    bool shuffles = (subgroup->supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) &&
                    (subgroup->supportedStages & VK_SHADER_STAGE_COMPUTE_BIT);
    if (asks_for_shuffles(shader, panels) && !shuffles)
        return err_set(err, ERR_UNSUPPORTED, "Vulkan device %s has no shuffles in subgroups",
                       self->api.properties.deviceName);
    if (!panels && shader->how == SHADERS_LANES && subgroup->subgroupSize < shader->threads)
        return err_set(err, ERR_UNSUPPORTED, "Vulkan device %s has subgroups of %u threads, not %u",
                       self->api.properties.deviceName, subgroup->subgroupSize, shader->threads);
    return 0;
}

enum { FOUR = 16 }; /* bytes of four elements */

static bool all_by_fours(const plan_kernel_step_t *s)
{
    for (int i = 0; i < s->n_arg; i++)
        if (s->arg[i] % FOUR != 0) return false;
    return true;
}

/* Do the arguments of all steps that use the kernel begin where four elements do? */
static bool is_wide(const device_t *self, int kernel)
{
    const plan_t *plan = self->plan;
    for (int p = 0; p < plan->n_program; p++)
        for (int i = 0; i < plan->program[p].n_step; i++) {
            const plan_step_t *step = &plan->program[p].step[i];
            const plan_gemm_step_t *s = &step->gemm;
            if (step->kind == STEP_GEMM && s->kernel == (uint32_t)kernel &&
                (s->a % FOUR != 0 || s->b % FOUR != 0 || s->c % FOUR != 0))
                return false;
            if (step->kind == STEP_KERNEL && step->kernel.kernel == (uint32_t)kernel &&
                !all_by_fours(&step->kernel))
                return false;
        }
    return true;
}

/* Mesa's driver for processors loads from buffers thread by thread, each behind branches of its own; it
 * fetches texels of a whole subgroup at once. GPUs have no such difference. */
static bool has_texels(const device_t *self)
{
    const VkPhysicalDeviceProperties *p = &self->api.properties;
    uint64_t most = (uint64_t)p->limits.maxTexelBufferElements * sizeof(float);
    return self->segments.n == 1 && self->api.processor && most >= p->limits.maxStorageBufferRange;
}

static int make_pipeline(device_t *self, int i, err_t *err)
{
    const api_t *api = &self->api;
    const shader_t *shader = &self->shaders.shader[i];
    bool own_size = shader->how == SHADERS_GROUPS && shader->threads > 0;
    bool panels = pipelines_panels(self, i);
    size_t n_word = panels ? shader->n_panel_word : shader->n_word;
    uint32_t usual = own_size ? shader->threads : pipelines_size(self, i);
    uint32_t size = panels ? shader->panel_threads : usual;
    const uint32_t known[] = {size, api->subgroup.subgroupSize, is_wide(self, i), has_texels(self),
                              (uint32_t)self->segments.n};
    const VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = n_word * sizeof(uint32_t),
                                           .pCode = panels ? shader->panel_word : shader->word};
    const VkSpecializationMapEntry entries[] = {
        {0, 0, 4}, {1, 4, 4}, {2, 8, 4}, {3, 12, 4}, {4, 16, 4}};
    const VkSpecializationInfo special = {sizeof entries / sizeof *entries, entries, sizeof known,
                                          known};
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
    if (check_rounds(self, shader, err) < 0 || check_shuffles(self, shader, panels, err) < 0)
        return -1;
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
