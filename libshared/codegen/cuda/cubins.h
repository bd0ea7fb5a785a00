/* The code of a plan for CUDA or HIP: modules (cubins, PTX or code objects, as their compilers made them), and of each
 * kernel its name, the module it is in and how it is launched. Written by the compiler, read by the
 * device, which believes nothing that is not checked here. Any thread. */
#ifndef CODEGEN_CUBINS_H
#define CODEGEN_CUBINS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct {
    const char *name; /* of the function, in the copy of the code */
    uint32_t module, n_arg;
    uint32_t threads, block; /* for each piece of the step's extent; of a block */
    uint32_t blocks;         /* 0: as many as the extent asks for */
} cubin_kernel_t;

typedef struct {
    const uint8_t *bytes; /* a byte of 0 follows, as PTX wants it */
    size_t n_bytes;
} cubin_module_t;

typedef struct {
    int n_kernel, n_module;
    cubin_kernel_t *kernel;
    cubin_module_t *module;
    uint8_t *copy;
} cubins_t;

enum { CUBINS_MAX_ARGS = 4096, CUBINS_MAX_BLOCK = 1024 };

/* A compiler (codegen/cuda/nvcc.h): n sources for an architecture to a module each, which the caller frees. */
typedef int cubins_run_fn(const char *arch, int n, const char *const *source, uint8_t **module,
                          size_t *size, err_t *err);

/* Sources (render_cuda.h) to the plan's code for `arch`, "sm_90". Returns, caller frees; NULL with err:
 * run's. */
uint8_t *cubins_compile(cubins_run_fn *run, const char *arch, int n, const char *const *source,
                        size_t *n_bytes, err_t *err);

/* From bytes that nobody vouches for: counts, sizes, names. What a module then does is the
 * compiler's word, as with all plans' code. The bytes are not kept. ERR_CORRUPT. cubins_fini is due
 * in any case. */
int cubins_load(cubins_t *self, const uint8_t *bytes, size_t n_bytes, err_t *err);
void cubins_fini(cubins_t *self);
/* NULL: there is none of that name. */
const cubin_kernel_t *cubins_find(const cubins_t *self, const char *name);

#endif
