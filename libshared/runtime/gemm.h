/* Matrix products of a plan on the CPU: the work is cut over a thread pool, each part is one
 * call of a single-threaded BLAS.
 *
 * The cut depends on the step and the number of threads alone, so the same step on the same
 * machine with the same thread count gives the same bits. Across thread counts nothing is
 * promised, as the BLAS chooses its kernels by size: parts end on multiples of 32 and no narrow
 * edge is left alone, with which OpenBLAS 0.3.21 gave the same bits but for a few odd shapes.
 * Machines may differ, too. */
#ifndef RUNTIME_GEMM_H
#define RUNTIME_GEMM_H

#include "plan/plan.h"
#include "runtime/pool.h"

/* Once per process before gemm_run: the BLAS must not start threads of its own. */
void gemm_init(void);

/* Run a checked step. Allocates nothing. */
void gemm_run(pool_t *pool, char *arena, const plan_gemm_step_t *step);

/* How a step is cut: entries * rows * columns parts, exposed for tests and profiles. */
typedef struct {
    int64_t rows, columns;         /* parts of each batch entry's C */
    int64_t row_step, column_step; /* size of a part; the last is what is left */
    int64_t grain;                 /* parts given out together */
} gemm_cut_t;
gemm_cut_t gemm_cut(const plan_gemm_step_t *step, int threads);

#endif
