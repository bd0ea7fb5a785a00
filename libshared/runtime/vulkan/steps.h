/* Between the files of this folder: the device, its memory, its pipelines, and steps that are
 * recorded once and replayed. */
#ifndef RUNTIME_VULKAN_STEPS_H
#define RUNTIME_VULKAN_STEPS_H

#include "base/vec.h"
#include "codegen/vulkan/shaders.h"
#include "runtime/device.h"
#include "runtime/recording.h"
#include "runtime/vulkan/api.h"
#include "runtime/vulkan/segments.h"

typedef struct {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize n_bytes;
    void *mapped; /* NULL: the host does not see it */
} memory_t;

struct device {
    device_options_t options;
    api_t api;
    const plan_t *plan; /* borrowed while it is loaded: steps are its own as long as it lives */
    shaders_t shaders;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipelineCache cache;
    VkPipeline *pipeline; /* by index of plan->kernel_name */
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkCommandPool commands;
    VkFence fence;
    VkQueryPool clock; /* NULL: none */
    memory_t args, staging;
    spans_t segments; /* of the arena, and the buffer of each */
    memory_t *arena;
    VkBufferView
        texels[2]; /* the arena as single elements of 32 bits, as fours of them; of one segment */
    recording_t steps; /* their arguments' place in args; sequences as VkCommandBuffer */
    bool lost;
};

/* --- memory.c --- */
/* A buffer; `seen` by the host, else the device's own where it has some. */
int memory_new(const api_t *api, memory_t *self, VkDeviceSize n_bytes, bool seen, err_t *err);
void memory_free(const api_t *api, memory_t *self);
/* The plan's arena by the steps' spans of it: how many segments the device needs (self->segments). ERR_MEMORY:
 * it is more than the device has, or than it can have so. */
int memory_plan(device_t *self, spans_t *touched, err_t *err);
/* The arena: zeroed. */
int memory_arena(device_t *self, err_t *err);
int memory_write(device_t *self, uint64_t offset, const void *bytes, size_t n_bytes, err_t *err);
int memory_read(device_t *self, uint64_t offset, void *bytes, size_t n_bytes, err_t *err);

/* --- pipelines.c --- */
int pipelines_new(device_t *self, err_t *err); /* of all shaders */
/* Threads of a group of the kernel's, where its module leaves them to the device. */
uint32_t pipelines_size(const device_t *self, int kernel);
bool pipelines_panels(const device_t *self, int kernel); /* does it go by panels (shader_t)? */
void pipelines_free(device_t *self); /* and keep what the driver has made, on disk */

/* --- steps.c --- */
/* The arguments of every step of the plan, and the arena's segments by what they touch. */
int steps_load(device_t *self, err_t *err);
int steps_bind(device_t *self, err_t *err); /* the arena is there */
void steps_free(device_t *self);
int steps_queue(device_t *self, const void *step, err_t *err);
int steps_run(device_t *self, err_t *err); /* all that is queued, to its end */
/* Record and submit by `fill`, and wait. */
typedef void steps_fill_fn(device_t *self, VkCommandBuffer commands, void *user);
int steps_submit_once(device_t *self, steps_fill_fn *fill, void *user, err_t *err);

/* --- timing.c: the device's clock around a sequence of steps --- */
void timing_new(device_t *self); /* without one where the device has none */
void timing_free(device_t *self);
void timing_begin(const device_t *self, VkCommandBuffer commands);
void timing_end(const device_t *self, VkCommandBuffer commands);
double timing_took(device_t *self); /* device_ops_t.took */

#endif
