/* Candidates: the usual kernel, other register tiles, other blocks of the sum, finer and coarser
 * parts, the library. Each product's candidates run in turn, several rounds; the least time counts,
 * which load from elsewhere disturbs least. The usual one stays unless another is clearly faster,
 * so that noise decides nothing. */
#include "tools/tuning_measure.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codegen/codegen.h"
#include "runtime/amx.h"
#include "runtime/blas.h"
#include "runtime/code.h"
#include "runtime/gemm.h"
#include "runtime/pool.h"

enum { MAX_CANDIDATE = 12, ROUNDS = 9, MOST_ROUNDS = 7 };
static const double clearly = 0.97, round_seconds = 1e-3, most_bytes = 1 << 30;

typedef struct {
    product_t product;
    tile_choice_t choice;
    kernel_t *kernel; /* NULL: the library */
    plan_kernel_fn *fn;
    double best, last; /* seconds: the least, and in the last round */
    int wins;          /* rounds in which it was clearly faster than the usual one */
} candidate_t;

typedef struct {
    plan_gemm_step_t step; /* operands one after another */
    int64_t n_bytes;
    candidate_t candidate[MAX_CANDIDATE]; /* the usual one first */
    int n;
} product_case_t;

static int64_t extent(const plan_gemm_step_t *s, int64_t rows, int64_t cols, int64_t ld,
                      int64_t stride, int64_t inner)
{
    int64_t n = (s->batch - 1) * stride + (s->inner - 1) * inner + (rows - 1) * ld + cols;
    return (n * (s->dtype == DT_F64 ? 8 : 4) + 4095) / 4096 * 4096;
}

static void lay_out(product_case_t *c)
{
    plan_gemm_step_t *s = &c->step;
    s->a = 0;
    s->b = extent(s, s->trans_a ? s->k : s->m, s->trans_a ? s->m : s->k, s->lda, s->stride_a,
                  s->inner_a);
    s->c = s->b + extent(s, s->trans_b ? s->n : s->k, s->trans_b ? s->k : s->n, s->ldb, s->stride_b,
                         s->inner_b);
    c->n_bytes = s->c + extent(s, s->m, s->n, s->ldc, s->stride_c, s->inner_c);
}

static bool same_tiles(const tiles_t *a, const tiles_t *b)
{
    return a->rows == b->rows && a->cols == b->cols && a->sum_block == b->sum_block &&
           a->part_rows == b->part_rows && a->part_cols == b->part_cols;
}

/* Unless it comes to the same as one that is there. */
static void add(product_case_t *c, caps_t caps, const tile_choice_t *choice)
{
    candidate_t x = {.product.step = c->step, .choice = *choice};
    if (c->n == MAX_CANDIDATE) return;
    if (!choice->library) {
        if (!tiles_cut_as(&x.product.tiles, &c->step, caps, choice)) return;
        for (int i = 0; i < c->n; i++)
            if (!c->candidate[i].choice.library &&
                same_tiles(&c->candidate[i].product.tiles, &x.product.tiles))
                return;
        x.product.step.parts = tiles_n_part(&x.product);
    }
    c->candidate[c->n++] = x;
}

/* The usual way comes first, be it a kernel or the library. */
static void list_candidates(product_case_t *c, caps_t caps)
{
    const tile_choice_t usual = {0}, library = {.library = true};
    static const int64_t sums[] = {128, 384, 512}, parts[] = {8, 128};
    tiles_t tiles;
    bool own = tiles_choose(&tiles, &c->step, caps);
    if (own) add(c, caps, &usual);
    if (!c->step.bf16) add(c, caps, &library);
    if (!own) add(c, caps, &usual);
    for (int vectors = 1; c->step.dtype == DT_F32 && vectors <= 4; vectors++) {
        int rows = (caps.registers - 2 - vectors) / vectors;
        if (c->step.m < rows) rows = (int)c->step.m;
        add(c, caps, &(tile_choice_t){.rows = rows, .cols = vectors * caps.lanes});
    }
    for (int i = 0; i < 3; i++) add(c, caps, &(tile_choice_t){.sum_block = sums[i]});
    for (int i = 0; i < 2; i++) add(c, caps, &(tile_choice_t){.parts = parts[i]});
}

/* All kernels of all products, in one object. */
static code_t *compile(product_case_t *cases, int n, const char *target, err_t *err)
{
    const kernel_t **kernel = mem_calloc((size_t)n * MAX_CANDIDATE + 1, sizeof *kernel);
    codegen_t gen = {0};
    int count = 0;
    size_t n_bytes = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < cases[i].n; k++) {
            candidate_t *x = &cases[i].candidate[k];
            if (x->choice.library) continue;
            x->kernel = kernel_new();
            x->kernel->kind = KERNEL_PRODUCT;
            x->kernel->product = &x->product;
            kernel[count++] = x->kernel;
        }
    const target_t *row = target_find(target, err);
    int status = row ? codegen_init(&gen, row, count, kernel, err) : -1;
    uint8_t *bytes = status == 0 ? codegen_compile(&gen, &n_bytes, err) : NULL;
    code_t *code = bytes && n_bytes > 0 ? code_load(bytes, n_bytes, err) : NULL;
    count = 0;
    for (int i = 0; code && i < n; i++)
        for (int k = 0; code && k < cases[i].n; k++) {
            if (!cases[i].candidate[k].kernel) continue;
            void *address = code_symbol(code, gen.name[gen.symbol[count++]], err);
            if (address)
                memcpy(&cases[i].candidate[k].fn, &address, sizeof address);
            else
                code_destroy(&code);
        }
    codegen_fini(&gen);
    free(bytes);
    free(kernel);
    return code;
}

typedef struct {
    const candidate_t *candidate;
    char *arena;
} run_t;

static void run_part(void *context, int64_t begin, int64_t end, int worker)
{
    const run_t *run = context;
    const plan_gemm_step_t *s = &run->candidate->product.step;
    (void)worker;
    run->candidate->fn(run->arena, (const int64_t[]){s->a, s->b, s->c}, begin, end);
}

static void run_once(const candidate_t *x, pool_t *pool, char *arena)
{
    run_t run = {x, arena};
    if (x->choice.library)
        gemm_run(pool, arena, &x->product.step);
    else
        pool_run(pool, run_part, &run, x->product.step.parts, 1);
}

static void measure(candidate_t *x, pool_t *pool, char *arena)
{
    double start = clock_mono_s(), now = start;
    int runs = 0;
    for (; now - start < round_seconds || runs == 0; runs++, now = clock_mono_s())
        run_once(x, pool, arena);
    x->last = (now - start) / runs;
    if (x->best == 0 || x->last < x->best) x->best = x->last;
}

/* Ordinary numbers in either width: 0x3F003F00 is 0.5006 in f32 and 0.5 twice in bf16; in f64 small
 * but normal. */
static void fill(char *arena, int64_t n_bytes)
{
    static const uint32_t word = 0x3F003F00;
    for (int64_t i = 0; i + 4 <= n_bytes; i += 4) memcpy(arena + i, &word, sizeof word);
}

static void choose(tune_t *table, product_case_t *c, pool_t *pool)
{
    int best = 0;
    char *arena = c->n > 1 && (double)c->n_bytes <= most_bytes
                      ? aligned_alloc(4096, (size_t)c->n_bytes)
                      : NULL;
    if (arena) {
        fill(arena, c->n_bytes);
        for (int i = 0; i < c->n; i++) run_once(&c->candidate[i], pool, arena);
        for (int round = 0; round < ROUNDS; round++)
            for (int i = 0; i < c->n; i++) {
                candidate_t *x = &c->candidate[i];
                measure(x, pool, arena);
                x->wins += x->last < clearly * c->candidate[0].last;
            }
        for (int i = 1; i < c->n; i++) {
            const candidate_t *x = &c->candidate[i];
            if (x->wins >= MOST_ROUNDS && x->best < clearly * c->candidate[0].best &&
                x->best < c->candidate[best].best)
                best = i;
        }
        free(arena);
    }
    if (c->n > 0) tune_set(table, &c->step, &c->candidate[best].choice);
}

static bool has_kernels(const product_case_t *cases, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < cases[i].n; k++)
            if (!cases[i].candidate[k].choice.library) return true;
    return false;
}

int tuning_measure(tune_t *table, const plan_gemm_step_t *product, int n, const char *target,
                   int threads, err_t *err)
{
    caps_t caps = target_caps(target);
    product_case_t *cases = mem_calloc((size_t)n + 1, sizeof *cases);
    int status = caps.matrix ? amx_enable(err) : 0;
    if (status == 0) status = blas_open(target, err);
    pool_t *pool = status == 0 ? pool_new(threads, false, err) : NULL;
    int n_case = 0;
    for (int i = 0; i < n; i++) { /* empty products have no way to choose */
        if (product[i].m < 1 || product[i].n < 1 || product[i].k < 1) continue;
        cases[n_case].step = product[i];
        lay_out(&cases[n_case]);
        list_candidates(&cases[n_case++], caps);
    }
    bool kernels = has_kernels(cases, n_case);
    code_t *code = pool && kernels ? compile(cases, n_case, target, err) : NULL;
    status = pool && (code || !kernels) ? 0 : -1;
    for (int i = 0; status == 0 && i < n_case; i++) choose(table, &cases[i], pool);
    for (int i = 0; i < n_case; i++)
        for (int k = 0; k < cases[i].n; k++) kernel_destroy(&cases[i].candidate[k].kernel);
    pool_destroy(&pool);
    code_destroy(&code);
    free(cases);
    return status;
}
