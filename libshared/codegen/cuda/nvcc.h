/* CUDA C++ to cubins by nvcc, found at run time: $PCP_NVCC, nvcc in $PATH, or
 * /usr/local/cuda/bin/nvcc. It needs no GPU. */
#ifndef CODEGEN_NVCC_H
#define CODEGEN_NVCC_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* n sources for `arch`, "sm_90", as many processes at a time as there are cores. cubin[i]: caller
 * frees, on error too; size[i]: its bytes. ERR_IO: no such program; ERR_UNSUPPORTED: what it said.
 */
int nvcc_run(const char *arch, int n, const char *const *source, uint8_t **cubin, size_t *size,
             err_t *err);

#endif
