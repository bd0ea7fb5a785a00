/* The code of a plan for Vulkan: one SPIR-V module for each kernel, in the order of the plan's kernel
 * names, and what a device must know of each: how many threads it takes, and which bytes it reads
 * and writes from its arguments on, so that steps wait for those alone whose results they need.
 *
 * Written by the compiler, read by the device, which believes nothing that is not checked here. Any
 * thread. */
#ifndef CODEGEN_SHADERS_H
#define CODEGEN_SHADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct {
    bool reads, writes;
    uint32_t size;  /* of an element, bytes: what the step's argument is divided by */
    int64_t lo, hi; /* touches bytes [lo, hi) from the argument on; hi < lo: any of the arena */
} shader_arg_t;

/* How the threads of a piece of work come. */
typedef enum {
    SHADERS_APART,  /* anywhere */
    SHADERS_GROUPS, /* as a group */
    SHADERS_LANES,  /* side by side in a subgroup, whose threads see each other's values */
} shader_threads_t;

typedef struct {
    const uint32_t *word; /* SPIR-V, borrowed from the code */
    size_t n_word;
    /* Threads for each piece of the step's extent; of GROUPS, 0: as many as the device likes. */
    uint32_t threads;
    shader_threads_t how;
    /* Another way for GPUs: a module for groups of so many threads with panels in shared memory, in so many groups whatever
     * the step's extent is; 0: there is none. */
    const uint32_t *panel_word;
    size_t n_panel_word;
    uint32_t panel_threads, panel_groups;
    uint32_t rounds; /* of loops, that a thread makes at most, as far as is known */
    int n_arg;
    shader_arg_t *arg;
} shader_t;

typedef struct {
    int n;
    shader_t *shader;
    uint32_t *word;  /* a copy of the code, aligned */
    bool one_buffer; /* the arena is one: shaders from before it had segments */
} shaders_t;

enum { SHADERS_MAX_ARGS = 4096, SHADERS_MAX_THREADS = 1024 };

/* GLSL sources (render_glsl.h) to the plan's code (codegen/vulkan/glslc.h). Returns, caller frees; NULL with
 * err. */
uint8_t *shaders_compile(int n, const char *const *source, size_t *n_bytes, err_t *err);

/* From bytes that nobody vouches for: counts, sizes, SPIR-V's magic, the length of each of its
 * instructions and an entry point. What a module then does is the compiler's word, as with all
 * plans' code; it cannot leave the arena (robustBufferAccess). The bytes are not kept.
 * ERR_CORRUPT. shaders_fini is due in any case. */
int shaders_load(shaders_t *self, const uint8_t *bytes, size_t n_bytes, err_t *err);
void shaders_fini(shaders_t *self);

#endif
