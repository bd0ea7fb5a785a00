/* bench-peaks: what this machine can do at best: sgemm by size and threads, memory bandwidth.
 * Rows are measured in turn, several times over, and reported as medians. */
#include <stdio.h>

#include "bench.h"

enum { REPEATS = 5, TRIAD_N = 16 << 20 };

typedef struct {
    float *a, *b, *c;
} triad_t;

static void triad_part(void *context, int64_t begin, int64_t end, int worker)
{
    const triad_t *t = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) t->a[i] = t->b[i] + 3.0f * t->c[i];
}

static void copy_part(void *context, int64_t begin, int64_t end, int worker)
{
    const triad_t *t = context;
    (void)worker;
    memcpy(t->a + begin, t->b + begin, (size_t)(end - begin) * sizeof *t->a);
}

/* GB/s moved, three or two streams of 64 MiB. */
static double bandwidth(pool_t *pool, pool_fn *fn, int streams)
{
    triad_t t = {mem_calloc(TRIAD_N, 4), mem_calloc(TRIAD_N, 4), mem_calloc(TRIAD_N, 4)};
    for (int64_t i = 0; i < TRIAD_N; i++) t.a[i] = t.b[i] = t.c[i] = (float)i;
    double best = 1e9;
    for (int r = 0; r < 3; r++) {
        double start = clock_mono_s();
        pool_run(pool, fn, &t, TRIAD_N, 1 << 16);
        double took = clock_mono_s() - start;
        if (took < best) best = took;
    }
    free(t.a);
    free(t.b);
    free(t.c);
    return streams * 4.0 * TRIAD_N / best / 1e9;
}

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

static double triad(pool_t *pool)
{
    return bandwidth(pool, triad_part, 3);
}

static double copy(pool_t *pool)
{
    return bandwidth(pool, copy_part, 2);
}

static const struct {
    const char *name, *unit;
    double (*run)(pool_t *pool);
} rows[] = {
    {"sgemm 384^3", "GFLOP/s", sgemm_384},   {"sgemm 768^3", "GFLOP/s", sgemm_768},
    {"sgemm 1536^3", "GFLOP/s", sgemm_1536}, {"triad 3 x 64 MiB", "GB/s", triad},
    {"memcpy 2 x 64 MiB", "GB/s", copy},
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
