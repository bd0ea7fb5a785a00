/* Matrix products of a plan on the CPU: the work is cut over a thread pool, each part is one
 * call of a single-threaded BLAS.
 *
 * The cut depends on the step and the number of threads alone, so the same step with the same
 * thread count gives the same bits on every machine of the target that has the same version of
 * OpenBLAS (runtime/blas.h). Across thread counts nothing is promised, as the BLAS chooses its
 * kernels by size: parts end on multiples of 32 and no narrow edge is left alone, with which
 * OpenBLAS 0.3.21 gave the same bits but for a few odd shapes. */
#ifndef RUNTIME_GEMM_H
#define RUNTIME_GEMM_H

#include "plan/format/plan.h"
#include "runtime/pool.h"

/* Run a checked step. Allocates nothing. Needs blas_open (runtime/blas.h). */
void gemm_run(pool_t *pool, char *arena, const plan_gemm_step_t *step);

/* How a step is cut: entries * rows * columns parts, exposed for tests and profiles. */
typedef struct {
    int64_t rows, columns;         /* parts of each batch entry's C */
    int64_t row_step, column_step; /* size of a part; the last is what is left */
    int64_t grain;                 /* parts given out together */
} gemm_cut_t;
gemm_cut_t gemm_cut(const plan_gemm_step_t *step, int threads);

#endif
