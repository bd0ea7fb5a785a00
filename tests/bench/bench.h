/* What every bench needs: repeats, medians, and this machine's ceilings. */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codegen/target.h"
#include "runtime/blas.h"
#include "runtime/gemm.h"
#include "runtime/pool.h"

static int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts x. */
static inline double bench_median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, bench_compare);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* CPU time of all threads of this process. */
static inline double bench_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* GFLOP/s of the runtime's own matrix product of size^3, over the pool, for about `seconds`; by
 * `clock`: clock_mono_s or bench_cpu_s. */
static inline double bench_sgemm_by(double (*clock)(void), pool_t *pool, int size, double seconds)
{
    int64_t n = size, bytes = n * n * 4;
    plan_gemm_step_t step = {.dtype = DT_F32,
                             .batch = 1,
                             .inner = 1,
                             .m = n,
                             .n = n,
                             .k = n,
                             .b = bytes,
                             .c = 2 * bytes,
                             .lda = n,
                             .ldb = n,
                             .ldc = n};
    char *arena = aligned_alloc(64, (size_t)(3 * bytes + 63) / 64 * 64);
    if (!arena) mem_fail((size_t)(3 * bytes));
    for (int64_t i = 0; i < 3 * n * n; i++) ((float *)arena)[i] = (float)(i % 13) - 6;
    if (blas_open(target_host(), NULL) < 0) return 0;
    gemm_run(pool, arena, &step); /* packing buffers, page faults */
    double start = clock(), now = start;
    int runs = 0;
    for (; now - start < seconds || runs < 2; runs++) {
        gemm_run(pool, arena, &step);
        now = clock();
    }
    free(arena);
    return 2.0 * (double)n * (double)n * (double)n * runs / (now - start) / 1e9;
}

static inline double bench_sgemm(pool_t *pool, int size, double seconds)
{
    return bench_sgemm_by(clock_mono_s, pool, size, seconds);
}

/* The best of a few sizes: which one is best depends on the caches. */
static inline double bench_sgemm_peak(pool_t *pool, double seconds)
{
    static const int sizes[] = {256, 512, 768, 1536};
    double best = 0;
    for (int i = 0; i < 4; i++) {
        double rate = bench_sgemm(pool, sizes[i], seconds / 4);
        if (rate > best) best = rate;
    }
    return best;
}

#endif
