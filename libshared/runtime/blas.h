/* OpenBLAS, loaded on first use: with the kernels of the plan's target instead of those it would
 * pick for this very processor, so that machines of one target compute the same bits; and without
 * the threads it starts in every process that merely links it. */
#ifndef RUNTIME_BLAS_H
#define RUNTIME_BLAS_H

#include <cblas.h>

#include "base/err.h"

typedef struct {
    __typeof__(cblas_sgemm) *sgemm;
    __typeof__(cblas_dgemm) *dgemm;
} blas_t;

/* Load the library for `target`; later calls do nothing, whatever their target. An environment
 * variable OPENBLAS_CORETYPE of the user's wins over the target. ERR_IO names the missing library.
 * Changes the environment for a moment: no other thread may read it meanwhile. */
int blas_open(const char *target, err_t *err);

/* After blas_open. Every function runs on the caller's thread alone; any thread may call. */
const blas_t *blas(void);

#endif
