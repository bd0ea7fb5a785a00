/* libcuda's driver functions, loaded at run time ($PCP_LIBCUDA names another library than
 * libcuda.so.1): no header of NVIDIA's is needed to build. Types and numbers are those of its
 * documented, stable ABI. Nothing here is global; one thread at a time per api_t. */
#ifndef RUNTIME_CUDA_API_H
#define RUNTIME_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef int cu_result_t, cu_device_t;
typedef uint64_t cu_address_t; /* in the device's memory */
typedef struct CUctx_st *cu_context_t;
typedef struct CUmod_st *cu_module_t;
typedef struct CUfunc_st *cu_function_t;
typedef struct CUstream_st *cu_stream_t;
typedef struct CUgraph_st *cu_graph_t;
typedef struct CUgraphExec_st *cu_graph_exec_t;

enum {
    CU_SUCCESS = 0,
    CU_OUT_OF_MEMORY = 2,
    CU_NO_DEVICE = 100,
    CU_NO_BINARY_FOR_GPU = 209,
    CU_FIRST_LOST = 700, /* illegal address, launch timeout, ...: the context is gone */
    CU_LAST_LOST = 719,
    CU_MAJOR = 75, /* attributes of a device: its compute capability */
    CU_MINOR = 76,
    CU_STREAM_NON_BLOCKING = 1,
    CU_CAPTURE_RELAXED = 2,
};

/* X(name, symbol, parameters) */
#define CU_FUNCTIONS(X)                                                                     \
    X(init, cuInit, (unsigned))                                                             \
    X(error_name, cuGetErrorName, (cu_result_t, const char **))                             \
    X(error_text, cuGetErrorString, (cu_result_t, const char **))                           \
    X(device_count, cuDeviceGetCount, (int *))                                              \
    X(device_get, cuDeviceGet, (cu_device_t *, int))                                        \
    X(device_name, cuDeviceGetName, (char *, int, cu_device_t))                             \
    X(device_memory, cuDeviceTotalMem_v2, (size_t *, cu_device_t))                          \
    X(device_attribute, cuDeviceGetAttribute, (int *, int, cu_device_t))                    \
    X(context_retain, cuDevicePrimaryCtxRetain, (cu_context_t *, cu_device_t))              \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (cu_device_t))                         \
    X(context_use, cuCtxSetCurrent, (cu_context_t))                                         \
    X(memory_info, cuMemGetInfo_v2, (size_t *, size_t *))                                   \
    X(memory_new, cuMemAlloc_v2, (cu_address_t *, size_t))                                  \
    X(memory_free, cuMemFree_v2, (cu_address_t))                                            \
    X(pinned_new, cuMemAllocHost_v2, (void **, size_t))                                     \
    X(pinned_free, cuMemFreeHost, (void *))                                                 \
    X(upload, cuMemcpyHtoDAsync_v2, (cu_address_t, const void *, size_t, cu_stream_t))      \
    X(download, cuMemcpyDtoHAsync_v2, (void *, cu_address_t, size_t, cu_stream_t))          \
    X(copy, cuMemcpyDtoDAsync_v2, (cu_address_t, cu_address_t, size_t, cu_stream_t))        \
    X(fill, cuMemsetD8Async, (cu_address_t, unsigned char, size_t, cu_stream_t))            \
    X(module_load, cuModuleLoadData, (cu_module_t *, const void *))                         \
    X(module_free, cuModuleUnload, (cu_module_t))                                           \
    X(module_function, cuModuleGetFunction, (cu_function_t *, cu_module_t, const char *))   \
    X(stream_new, cuStreamCreate, (cu_stream_t *, unsigned))                                \
    X(stream_free, cuStreamDestroy_v2, (cu_stream_t))                                       \
    X(stream_wait, cuStreamSynchronize, (cu_stream_t))                                      \
    X(launch, cuLaunchKernel,                                                               \
      (cu_function_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
       cu_stream_t, void **, void **))

/* What drivers before CUDA 11.4 lack: without them, steps are launched one by one. */
#define CU_GRAPH_FUNCTIONS(X)                                       \
    X(capture_begin, cuStreamBeginCapture_v2, (cu_stream_t, int))   \
    X(capture_end, cuStreamEndCapture, (cu_stream_t, cu_graph_t *)) \
    X(graph_make, cuGraphInstantiateWithFlags,                      \
      (cu_graph_exec_t *, cu_graph_t, unsigned long long))          \
    X(graph_launch, cuGraphLaunch, (cu_graph_exec_t, cu_stream_t))  \
    X(graph_exec_free, cuGraphExecDestroy, (cu_graph_exec_t))       \
    X(graph_free, cuGraphDestroy, (cu_graph_t))

typedef struct {
    void *library;
    cu_device_t device;
    char name[64]; /* of the device */
    int major, minor;
    bool has_graphs;
#define X(name, symbol, parameters) cu_result_t(*name) parameters;
    CU_FUNCTIONS(X)
    CU_GRAPH_FUNCTIONS(X)
#undef X
} api_t;

/* Load the library and start it. ERR_UNSUPPORTED: no driver. cuda_api_close is due in any case. */
int cuda_api_open(api_t *self, err_t *err);
void cuda_api_close(api_t *self);

/* The ordinal-th device; false: there is none. */
bool cuda_api_choose(api_t *self, int ordinal);

/* result as an error that says what to do about it: memory, a lost device, ... Returns 0 for
 * CU_SUCCESS, else -1. */
int cuda_api_check(const api_t *self, cu_result_t result, const char *what, err_t *err);

#endif
