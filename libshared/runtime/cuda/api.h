/* The driver functions of libcuda and of AMD's libamdhip64, which are the same ones under other names, loaded at run
 * time: no header of either is needed to build. Types and numbers are those of their documented, stable
 * ABIs; where the two differ there is a row (driver_t) in cuda.c and in hip.c. Nothing here is global;
 * one thread at a time per api_t. */
#ifndef RUNTIME_CUDA_API_H
#define RUNTIME_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "codegen/target.h"

typedef int cu_result_t, cu_device_t;
typedef uint64_t cu_address_t; /* in the device's memory */
typedef struct CUctx_st *cu_context_t;
typedef struct CUmod_st *cu_module_t;
typedef struct CUfunc_st *cu_function_t;
typedef struct CUstream_st *cu_stream_t;
typedef struct CUevent_st *cu_event_t;
typedef struct CUgraph_st *cu_graph_t;
typedef struct CUgraphExec_st *cu_graph_exec_t;

/* Of both libraries. */
enum {
    CU_SUCCESS = 0,
    CU_OUT_OF_MEMORY = 2,
    CU_NO_DEVICE = 100,
    CU_INVALID_DEVICE = 101,
    CU_FIRST_LOST = 700, /* illegal address, launch timeout, ...: the context is gone, ... */
    CU_LAST_LOST = 721,
    CU_TOO_LARGE = 701,  /* but not: a launch that asks for more than a block has */
    CU_BAD_MEMORY = 214, /* ... and behind these: an error of ECC, of NVLink that was not */
    CU_BAD_LINK = 220,   /* corrected, one that was contained, ... */
    CU_CONTAINED = 226,
    CU_UNKNOWN = 999, /* ... a device that fell off the bus */
    CU_STREAM_NON_BLOCKING = 1,
    CU_CAPTURE_RELAXED = 2,
};

/* X(name, symbol of CUDA, symbol of HIP, parameters); "": a library has no such function */
#define CU_FUNCTIONS(X)                                                                     \
    X(init, "cuInit", "hipInit", (unsigned))                                                \
    X(device_count, "cuDeviceGetCount", "hipGetDeviceCount", (int *))                       \
    X(device_get, "cuDeviceGet", "hipDeviceGet", (cu_device_t *, int))                      \
    X(device_name, "cuDeviceGetName", "hipDeviceGetName", (char *, int, cu_device_t))       \
    X(device_memory, "cuDeviceTotalMem_v2", "hipDeviceTotalMem", (size_t *, cu_device_t))   \
    X(device_attribute, "cuDeviceGetAttribute", "", (int *, int, cu_device_t))              \
    X(device_properties, "", "hipGetDeviceProperties", (void *, int))                       \
    X(device_use, "", "hipSetDevice", (int))                                                \
    X(context_retain, "cuDevicePrimaryCtxRetain", "", (cu_context_t *, cu_device_t))        \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", "", (cu_device_t))                   \
    X(context_use, "cuCtxSetCurrent", "", (cu_context_t))                                   \
    X(memory_info, "cuMemGetInfo_v2", "hipMemGetInfo", (size_t *, size_t *))                \
    X(memory_new, "cuMemAlloc_v2", "hipMalloc", (cu_address_t *, size_t))                   \
    X(memory_free, "cuMemFree_v2", "hipFree", (cu_address_t))                               \
    X(pinned_new, "cuMemHostAlloc", "hipHostMalloc", (void **, size_t, unsigned))           \
    X(pinned_free, "cuMemFreeHost", "hipHostFree", (void *))                                \
    X(upload, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync",                                 \
      (cu_address_t, const void *, size_t, cu_stream_t))                                    \
    X(download, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync",                               \
      (void *, cu_address_t, size_t, cu_stream_t))                                          \
    X(copy, "cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync",                                   \
      (cu_address_t, cu_address_t, size_t, cu_stream_t))                                    \
    X(fill, "cuMemsetD8Async", "hipMemsetD8Async",                                          \
      (cu_address_t, unsigned char, size_t, cu_stream_t))                                   \
    X(module_load, "cuModuleLoadData", "hipModuleLoadData", (cu_module_t *, const void *))  \
    X(module_free, "cuModuleUnload", "hipModuleUnload", (cu_module_t))                      \
    X(module_function, "cuModuleGetFunction", "hipModuleGetFunction",                       \
      (cu_function_t *, cu_module_t, const char *))                                         \
    X(stream_new, "cuStreamCreate", "hipStreamCreateWithFlags", (cu_stream_t *, unsigned))  \
    X(stream_free, "cuStreamDestroy_v2", "hipStreamDestroy", (cu_stream_t))                 \
    X(stream_wait, "cuStreamSynchronize", "hipStreamSynchronize", (cu_stream_t))            \
    X(launch, "cuLaunchKernel", "hipModuleLaunchKernel",                                    \
      (cu_function_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       cu_stream_t, void **, void **))

/* What old drivers lack (CUDA before 11.4): without them, steps are launched one by one. */
#define CU_GRAPH_FUNCTIONS(X)                                                                \
    X(capture_begin, "cuStreamBeginCapture_v2", "hipStreamBeginCapture", (cu_stream_t, int)) \
    X(capture_end, "cuStreamEndCapture", "hipStreamEndCapture", (cu_stream_t, cu_graph_t *)) \
    X(graph_make, "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags",             \
      (cu_graph_exec_t *, cu_graph_t, unsigned long long))                                   \
    X(graph_launch, "cuGraphLaunch", "hipGraphLaunch", (cu_graph_exec_t, cu_stream_t))       \
    X(graph_exec_free, "cuGraphExecDestroy", "hipGraphExecDestroy", (cu_graph_exec_t))       \
    X(graph_free, "cuGraphDestroy", "hipGraphDestroy", (cu_graph_t))

/* Without them the host's clock has to do. */
#define CU_EVENT_FUNCTIONS(X)                                                          \
    X(event_new, "cuEventCreate", "hipEventCreateWithFlags", (cu_event_t *, unsigned)) \
    X(event_free, "cuEventDestroy_v2", "hipEventDestroy", (cu_event_t))                \
    X(event_record, "cuEventRecord", "hipEventRecord", (cu_event_t, cu_stream_t))      \
    X(event_ms, "cuEventElapsedTime", "hipEventElapsedTime", (float *, cu_event_t, cu_event_t))

/* Words for errors (ROCm before 5.5 has none): without them, numbers. */
#define CU_ERROR_FUNCTIONS(X)                                                           \
    X(error_name, "cuGetErrorName", "hipDrvGetErrorName", (cu_result_t, const char **)) \
    X(error_text, "cuGetErrorString", "hipDrvGetErrorString", (cu_result_t, const char **))

typedef struct api api_t;

/* What one library does otherwise than others. */
typedef struct {
    const char *prefix, *title; /* "cuda", of its targets; "CUDA" */
    const char *variable;       /* names another library */
    const char *library[5];     /* the first that there is; NULL behind the last */
    const char *package;        /* "NVIDIA's driver" */
    const char *blas_variable;  /* names its library for products (cublas.h); NULL: there is none */
    const char *blas_library[6]; /* as library */
    bool is_hip;                 /* which column of symbols */
    uint64_t max_threads;        /* of a launch */
    bool (*look)(api_t *self);   /* arch (and major, minor) of self->device */
    bool (*runs)(const api_t *self, const target_t *t); /* one of its own targets */
} driver_t;

struct api {
    const driver_t *driver;
    void *library;
    cu_device_t device;
    char name[64], arch[32]; /* of the device; "sm_90" or "gfx90a" */
    int major, minor;        /* CUDA's */
    bool has_graphs, has_events;
#define X(name, cuda, hip, parameters) cu_result_t(*name) parameters;
    CU_FUNCTIONS(X)
    CU_GRAPH_FUNCTIONS(X)
    CU_EVENT_FUNCTIONS(X)
    CU_ERROR_FUNCTIONS(X)
#undef X
};

/* Load the library and start it. ERR_UNSUPPORTED: no driver. cuda_api_close is due in any case. */
int cuda_api_open(api_t *self, const driver_t *driver, err_t *err);
void cuda_api_close(api_t *self);

/* The ordinal-th device; false: there is none. */
bool cuda_api_choose(api_t *self, int ordinal);

/* result as an error that says what to do about it: memory, a lost device, ... Returns 0 for
 * CU_SUCCESS, else -1. */
int cuda_api_check(const api_t *self, cu_result_t result, const char *what, err_t *err);

#endif
