/* Between the files of this folder: a device, its memory and its steps. */
#ifndef RUNTIME_CUDA_STEPS_H
#define RUNTIME_CUDA_STEPS_H

#include "codegen/cuda/cubins.h"
#include "runtime/cuda/api.h"
#include "runtime/cuda/cublas.h"
#include "runtime/device.h"
#include "runtime/recording.h"

struct device {
    api_t api;
    device_options_t options;
    const plan_t *plan;
    bool begun;           /* the device is this process' */
    cu_context_t context; /* NULL where devices have none */
    cu_stream_t stream;
    cu_event_t begun_at, ended_at; /* of what was run last; NULL: the driver has none */
    cubins_t cubins;
    cu_module_t *module;           /* cubins.n_module */
    void **image;                  /* the same number: a driver may read them as long */
    cu_function_t *function;       /* plan->n_kernel */
    const cubin_kernel_t **launch; /* plan->n_kernel */
    cu_address_t arena, args;      /* args: the steps' arguments one after another */
    uint64_t arena_bytes;
    cublas_t *cublas;  /* NULL: products by the plan's kernels */
    void *staging;     /* memory of the host that the device copies from and to by itself */
    recording_t steps; /* their arguments' number in args; sequences as cu_graph_exec_t */
};

/* device.c: device_ops_t's for a row of drivers. */
bool cuda_info(const driver_t *driver, int ordinal, device_info_t *info);
device_t *cuda_open(const driver_t *driver, const device_options_t *options, err_t *err);
void cuda_close(device_t **self_p);
int cuda_threads(const device_t *self);
int cuda_load(device_t *self, const plan_t *plan, err_t *err);
int cuda_alloc(device_t *self, uint64_t n_bytes, uint64_t alignment, err_t *err);
int cuda_kernel(device_t *self, const plan_kernel_step_t *step, err_t *err);
int cuda_gemm(device_t *self, const plan_gemm_step_t *step, err_t *err);
int cuda_copy(device_t *self, const plan_copy_step_t *step, err_t *err);
const char *cuda_library(const device_t *self);

/* What all of them have alike. */
#define CUDA_OPS                                                                          \
    .close = cuda_close, .threads = cuda_threads, .load = cuda_load, .alloc = cuda_alloc, \
    .upload = cuda_memory_write, .download = cuda_memory_read, .zero = cuda_memory_zero,  \
    .kernel = cuda_kernel, .gemm = cuda_gemm, .copy = cuda_copy, .sync = cuda_steps_run,  \
    .took = cuda_steps_took, .library = cuda_library

/* What this thread asks of the driver from now on is about the device. A context belongs to
 * threads; our callers may change. */
int cuda_use(device_t *self, err_t *err);

/* memory.c: the arena, zeroed; what is queued runs before it is read or written. */
int cuda_memory_arena(device_t *self, uint64_t n_bytes, err_t *err);
void cuda_memory_free(device_t *self);
int cuda_memory_write(device_t *self, uint64_t offset, const void *bytes, size_t n_bytes,
                      err_t *err);
int cuda_memory_read(device_t *self, uint64_t offset, void *bytes, size_t n_bytes, err_t *err);
int cuda_memory_zero(device_t *self, uint64_t offset, size_t n_bytes, err_t *err);

/* modules.c: the best target that the chosen device runs (NULL: none); the plan's code, and its kernels by
 * name. */
const char *cuda_best_target(const api_t *api);
int cuda_modules_load(device_t *self, err_t *err);
void cuda_modules_free(device_t *self);

/* steps.c */
int cuda_steps_load(device_t *self, err_t *err); /* behind modules_load */
void cuda_steps_free(device_t *self);
int cuda_steps_queue(device_t *self, const void *step, err_t *err);
int cuda_steps_run(device_t *self, err_t *err); /* all that is queued, to its end */
double cuda_steps_took(device_t *self);         /* device_ops_t.took */

#endif
