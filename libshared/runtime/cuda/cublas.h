/* Products by the vendor's library, cuBLAS, where a device's machine has one: found at run time, no header of NVIDIA's.
 * Without it a plan's own kernels do them. One version of cuBLAS gives the same bits in every run on
 * one kind of device (cuBLAS, "Results reproducibility": one stream, a workspace of our own); another version,
 * or the plan's own kernels, adds the terms of a sum in another order.
 * One thread at a time, with the device's context. */
#ifndef RUNTIME_CUDA_CUBLAS_H
#define RUNTIME_CUDA_CUBLAS_H

#include "plan/format/plan.h"
#include "runtime/cuda/api.h"

typedef struct cublas cublas_t;

/* The library and a handle whose work goes to `stream`. Leaves *out NULL where there is none that works, and where none is
 * wanted (the driver's blas_variable is "none"). ERR_UNSUPPORTED, ERR_DEVICE, ERR_MEMORY: the one that the variable names
 * cannot be used. */
int cublas_open(cublas_t **out, const api_t *api, cu_stream_t stream, err_t *err);
void cublas_close(cublas_t **self); /* the stream's work is done */

/* "cuBLAS 13.1.0"; NULL: there is none. */
const char *cublas_title(const cublas_t *self);

/* Does it do such a product? f32 and bf16 with f32 sums. */
bool cublas_takes(const cublas_t *self, const plan_gemm_step_t *step);

/* Queue one that it takes, in an arena at `arena`; also while the stream is captured. */
int cublas_queue(const cublas_t *self, cu_address_t arena, const plan_gemm_step_t *step,
                 err_t *err);

#endif
