/* What this machine can do at best, for shares: multiply-adds in registers (f32; pairs of bf16, by
 * the matrix unit where there is one) and
 * streams through memory, over a pool. */
#ifndef TESTS_BENCH_CEILING_H
#define TESTS_BENCH_CEILING_H

#include "bench.h"
#include "runtime/amx.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* Independent chains enough to hide the latency of two units. */
enum { CEILING_CHAINS = 12, CEILING_LOOPS = 20000, CEILING_TILE_LOOPS = 2500 };

__attribute__((target("avx512f"))) static inline double ceiling_fma512(void)
{
    __m512 x[CEILING_CHAINS], a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(1e-3f);
#pragma GCC unroll 12
    for (int c = 0; c < CEILING_CHAINS; c++) x[c] = _mm512_set1_ps((float)c);
    for (int i = 0; i < CEILING_LOOPS; i++) {
#pragma GCC unroll 12
        for (int c = 0; c < CEILING_CHAINS; c++) x[c] = _mm512_fmadd_ps(x[c], a, b);
    }
    for (int c = 1; c < CEILING_CHAINS; c++) x[0] = _mm512_add_ps(x[0], x[c]);
    return (double)_mm512_cvtss_f32(x[0]);
}

__attribute__((target("avx2,fma"))) static inline double ceiling_fma256(void)
{
    __m256 x[CEILING_CHAINS], a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(1e-3f);
#pragma GCC unroll 12
    for (int c = 0; c < CEILING_CHAINS; c++) x[c] = _mm256_set1_ps((float)c);
    for (int i = 0; i < CEILING_LOOPS; i++) {
#pragma GCC unroll 12
        for (int c = 0; c < CEILING_CHAINS; c++) x[c] = _mm256_fmadd_ps(x[c], a, b);
    }
    for (int c = 1; c < CEILING_CHAINS; c++) x[0] = _mm256_add_ps(x[0], x[c]);
    return (double)_mm256_cvtss_f32(x[0]);
}

__attribute__((target("avx512f,avx512bf16"))) static inline double ceiling_bf16(void)
{
    __m512 x[CEILING_CHAINS];
    __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5f), _mm512_set1_ps(1e-3f)), b = a;
#pragma GCC unroll 12
    for (int c = 0; c < CEILING_CHAINS; c++) x[c] = _mm512_set1_ps((float)c);
    for (int i = 0; i < CEILING_LOOPS; i++) {
#pragma GCC unroll 12
        for (int c = 0; c < CEILING_CHAINS; c++) x[c] = _mm512_dpbf16_ps(x[c], a, b);
    }
    for (int c = 1; c < CEILING_CHAINS; c++) x[0] = _mm512_add_ps(x[0], x[c]);
    return (double)_mm512_cvtss_f32(x[0]);
}

/* Four tiles of C, as generated products have them. */
static inline double ceiling_amx(void)
{
    _Alignas(64) uint8_t config[64] = {1};
    _Alignas(64) float c[256];
    for (int t = 0; t < 8; t++) config[16 + 2 * t] = 64, config[48 + t] = 16;
    __asm__ volatile("ldtilecfg %0\n\ttilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\t"
                     "tilezero %%tmm3"
                     :
                     : "m"(config));
    for (int i = 0; i < CEILING_TILE_LOOPS; i++)
        __asm__ volatile("tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\ttdpbf16ps %%tmm7, %%tmm4, %%tmm1\n\t"
                         "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\ttdpbf16ps %%tmm7, %%tmm5, %%tmm3" ::);
    __asm__ volatile("tilestored %%tmm0, (%0,%1,1)\n\ttilerelease"
                     :
                     : "r"(c), "r"((int64_t)64)
                     : "memory");
    return (double)c[0];
}

typedef struct {
    double (*run)(void);
    double flops; /* of one call */
} ceiling_unit_t;

/* The matrix unit. */
static inline ceiling_unit_t ceiling_matrix(void)
{
    bool there = target_caps(target_host()).matrix && amx_enable(NULL) == 0;
    return there ? (ceiling_unit_t){ceiling_amx, 4.0 * 16384 * CEILING_TILE_LOOPS}
                 : (ceiling_unit_t){0};
}

typedef enum { CEILING_F32, CEILING_PAIRS, CEILING_MATRIX } ceiling_kind_t;

/* NULL run: this processor has none, or we have no loop for it. */
static inline ceiling_unit_t ceiling_unit(ceiling_kind_t kind)
{
    double loops = (double)CEILING_CHAINS * CEILING_LOOPS;
    if (kind == CEILING_MATRIX) return ceiling_matrix();
    if (kind == CEILING_PAIRS)
        return __builtin_cpu_supports("avx512bf16") ? (ceiling_unit_t){ceiling_bf16, loops * 64}
                                                    : (ceiling_unit_t){0};
    if (__builtin_cpu_supports("avx512f")) return (ceiling_unit_t){ceiling_fma512, loops * 32};
    if (__builtin_cpu_supports("fma")) return (ceiling_unit_t){ceiling_fma256, loops * 16};
    return (ceiling_unit_t){0};
}
#else
typedef struct {
    double (*run)(void);
    double flops;
} ceiling_unit_t;

typedef enum { CEILING_F32, CEILING_PAIRS, CEILING_MATRIX } ceiling_kind_t;

static inline ceiling_unit_t ceiling_unit(ceiling_kind_t kind)
{
    (void)kind;
    return (ceiling_unit_t){0};
}
#endif

static inline void ceiling_part(void *context, int64_t begin, int64_t end, int worker)
{
    const ceiling_unit_t *unit = context;
    static _Thread_local volatile double keep; /* so that the work is not removed */
    (void)worker;
    for (int64_t i = begin; i < end; i++) keep = unit->run();
    (void)keep;
}

/* GFLOP/s of multiply-adds on registers over the pool: the best of `tries` short runs. 0: unknown.
 */
static inline double ceiling_flops_by(pool_t *pool, ceiling_kind_t kind, int tries)
{
    ceiling_unit_t unit = ceiling_unit(kind);
    int64_t parts = 16 * pool_threads(pool);
    double best = 0;
    for (int r = 0; unit.run && r < tries; r++) {
        double start = clock_mono_s();
        pool_run(pool, ceiling_part, &unit, parts, 1);
        double rate = unit.flops * (double)parts / (clock_mono_s() - start) / 1e9;
        if (rate > best) best = rate;
    }
    return best;
}

/* The same by the best unit for the operands. */
static inline double ceiling_flops(pool_t *pool, bool bf16, int tries)
{
    double rate = bf16 ? ceiling_flops_by(pool, CEILING_MATRIX, tries) : 0;
    return rate > 0 ? rate : ceiling_flops_by(pool, bf16 ? CEILING_PAIRS : CEILING_F32, tries);
}

typedef struct {
    float *a, *b, *c;
} ceiling_triad_t;

static inline void ceiling_triad_part(void *context, int64_t begin, int64_t end, int worker)
{
    const ceiling_triad_t *t = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) t->a[i] = t->b[i] + 3.0f * t->c[i];
}

static inline void ceiling_copy_part(void *context, int64_t begin, int64_t end, int worker)
{
    const ceiling_triad_t *t = context;
    (void)worker;
    memcpy(t->a + begin, t->b + begin, (size_t)(end - begin) * sizeof *t->a);
}

/* GB/s moved, three (or, copying, two) streams of 64 MiB. */
static inline double ceiling_memory(pool_t *pool, bool copy)
{
    enum { N = 16 << 20 };
    ceiling_triad_t t = {mem_calloc(N, 4), mem_calloc(N, 4), mem_calloc(N, 4)};
    for (int64_t i = 0; i < N; i++) t.a[i] = t.b[i] = t.c[i] = (float)i;
    double best = 1e9;
    for (int r = 0; r < 3; r++) {
        double start = clock_mono_s();
        pool_run(pool, copy ? ceiling_copy_part : ceiling_triad_part, &t, N, 1 << 16);
        double took = clock_mono_s() - start;
        if (took < best) best = took;
    }
    free(t.a);
    free(t.b);
    free(t.c);
    return (copy ? 2 : 3) * 4.0 * N / best / 1e9;
}

#endif
