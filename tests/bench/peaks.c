/* bench-peaks: what this machine can do at best: multiply-adds on registers, sgemm by size and
 * threads, memory bandwidth.
 * Rows are measured in turn, several times over, and reported as medians. */
#include <stdio.h>

#include "ceiling.h"

enum { REPEATS = 5 };

static double sgemm_384(pool_t *pool)
{
    return bench_sgemm(pool, 384, 0.15);
}

static double sgemm_768(pool_t *pool)
{
    return bench_sgemm(pool, 768, 0.15);
}

static double sgemm_1536(pool_t *pool)
{
    return bench_sgemm(pool, 1536, 0.15);
}

static double fma_f32(pool_t *pool)
{
    return ceiling_flops(pool, false, 3);
}

static double fma_bf16(pool_t *pool)
{
    return ceiling_flops_by(pool, CEILING_PAIRS, 3);
}

static double matrix_bf16(pool_t *pool)
{
    return ceiling_flops_by(pool, CEILING_MATRIX, 3);
}

static double triad(pool_t *pool)
{
    return ceiling_memory(pool, false);
}

static double copy(pool_t *pool)
{
    return ceiling_memory(pool, true);
}

static const struct {
    const char *name, *unit;
    double (*run)(pool_t *pool);
} rows[] = {
    {"f32 multiply-adds", "GFLOP/s", fma_f32},    {"bf16 dot products", "GFLOP/s", fma_bf16},
    {"bf16 matrix unit", "GFLOP/s", matrix_bf16}, {"sgemm 384^3", "GFLOP/s", sgemm_384},
    {"sgemm 768^3", "GFLOP/s", sgemm_768},        {"sgemm 1536^3", "GFLOP/s", sgemm_1536},
    {"triad 3 x 64 MiB", "GB/s", triad},          {"memcpy 2 x 64 MiB", "GB/s", copy},
};
enum { N_ROW = sizeof rows / sizeof rows[0] };

int main(int argc, char **argv)
{
    double result[2][N_ROW][REPEATS];
    if (argc > 1) {
        printf("usage: %s\nsgemm and memory peaks with one thread and with all cores.\n", argv[0]);
        return strcmp(argv[1], "--help") != 0;
    }
    int threads[2] = {1, pool_cores()};
    pool_t *pool[2] = {pool_new(threads[0], false, NULL), pool_new(threads[1], false, NULL)};
    if (!pool[0] || !pool[1]) return 1;
    for (int r = 0; r < REPEATS; r++)
        for (int i = 0; i < N_ROW; i++)
            for (int p = 0; p < 2; p++) result[p][i][r] = rows[i].run(pool[p]);
    printf("%-20s %10s %10s\n", "", "1 thread", threads[1] == 1 ? "1 thread" : "all cores");
    for (int i = 0; i < N_ROW; i++)
        printf("%-20s %10.1f %10.1f %s\n", rows[i].name, bench_median(result[0][i], REPEATS),
               bench_median(result[1][i], REPEATS), rows[i].unit);
    pool_destroy(&pool[0]);
    pool_destroy(&pool[1]);
    return 0;
}
