/* Cutting matrix products over threads, and the calls of cblas. Batch entries are dealt out first;
 * where they do not go evenly into the threads, each entry's C is cut into panels. */
#include "runtime/gemm.h"

#include <cblas.h>
#include <limits.h>

#include "base/mem.h"

/* Panels end on multiples of this, so that a cut falls between the BLAS's own register tiles. */
enum { PANEL = 32 };
/* Below this many multiply-adds (a few microseconds) waking a thread costs more than it saves. */
static const double SMALL = 1 << 18;

void gemm_init(void)
{
    openblas_set_num_threads(1);
}

typedef struct {
    const char *name;
    int64_t rows, columns, ld, stride, inner_stride, offset;
} operand_t;

/* Elements from the first to behind the last of an operand; -1 on overflow. */
static int64_t operand_reach(const operand_t *x, int64_t batch, int64_t inner)
{
    int64_t part[3], reach = x->columns;
    if (__builtin_mul_overflow(batch - 1, x->stride, &part[0]) ||
        __builtin_mul_overflow(inner - 1, x->inner_stride, &part[1]) ||
        __builtin_mul_overflow(x->rows - 1, x->ld, &part[2]))
        return -1;
    for (int i = 0; i < 3; i++) {
        if (__builtin_add_overflow(reach, part[i], &reach)) return -1;
    }
    return reach;
}

static int check_operand(const operand_t *x, const plan_gemm_step_t *s, uint64_t arena, err_t *err)
{
    int64_t width = s->dtype == DT_F64 ? 8 : 4, bytes;
    if (x->ld < x->columns || x->ld < 1 || x->ld > INT_MAX)
        return err_set(err, ERR_CORRUPT, "gemm: operand %s: leading dimension %lld of %lld columns",
                       x->name, (long long)x->ld, (long long)x->columns);
    if (x->stride < 0 || x->inner_stride < 0 || x->offset < 0 || x->offset % width ||
        (uint64_t)x->offset > arena)
        return err_set(err, ERR_CORRUPT, "gemm: operand %s: strides %lld and %lld, offset %lld",
                       x->name, (long long)x->stride, (long long)x->inner_stride,
                       (long long)x->offset);
    if (x->rows == 0 || x->columns == 0) return 0;
    int64_t reach = operand_reach(x, s->batch, s->inner);
    if (reach < 0 || __builtin_mul_overflow(reach, width, &bytes) ||
        __builtin_add_overflow(bytes, x->offset, &bytes) || (uint64_t)bytes > arena)
        return err_set(err, ERR_CORRUPT, "gemm: operand %s ends beyond the arena of %llu bytes",
                       x->name, (unsigned long long)arena);
    return 0;
}

/* Entries of C are written by several threads, so no element may belong to two: with the dimensions
 * in the order of their strides, each steps over all that the smaller ones span. */
static int check_disjoint(const plan_gemm_step_t *s, err_t *err)
{
    struct {
        int64_t extent, stride;
    } dim[3] = {{s->m, s->ldc}, {s->inner, s->inner_c}, {s->batch, s->stride_c}}, swap;
    int64_t span = s->n;
    if (s->m == 0 || s->n == 0) return 0;
    for (int i = 0; i < 3; i++) {
        for (int j = i + 1; j < 3; j++) {
            if (dim[j].stride >= dim[i].stride) continue;
            swap = dim[i];
            dim[i] = dim[j];
            dim[j] = swap;
        }
        if (dim[i].extent == 1) continue;
        if (dim[i].stride < span)
            return err_set(err, ERR_CORRUPT, "gemm: entries of C overlap (stride %lld of %lld)",
                           (long long)dim[i].stride, (long long)span);
        span += (dim[i].extent - 1) * dim[i].stride;
    }
    return 0;
}

int gemm_check(const plan_gemm_step_t *s, uint64_t arena_bytes, err_t *err)
{
    int64_t entries;
    if (s->dtype != DT_F32 && s->dtype != DT_F64)
        return err_set(err, ERR_CORRUPT, "gemm: element type %d, want f32 or f64", (int)s->dtype);
    if (s->batch < 1 || s->inner < 1 || s->m < 0 || s->n < 0 || s->k < 0 || s->m > INT_MAX ||
        s->n > INT_MAX || s->k > INT_MAX || !i64_mul(s->batch, s->inner, &entries) ||
        entries > INT_MAX)
        return err_set(err, ERR_CORRUPT, "gemm: sizes %lld x %lld of [%lld x %lld x %lld]",
                       (long long)s->batch, (long long)s->inner, (long long)s->m, (long long)s->n,
                       (long long)s->k);
    const operand_t a = {
        "A", s->trans_a ? s->k : s->m, s->trans_a ? s->m : s->k, s->lda, s->stride_a, s->inner_a,
        s->a};
    const operand_t b = {
        "B", s->trans_b ? s->n : s->k, s->trans_b ? s->k : s->n, s->ldb, s->stride_b, s->inner_b,
        s->b};
    const operand_t c = {"C", s->m, s->n, s->ldc, s->stride_c, s->inner_c, s->c};
    if (check_operand(&a, s, arena_bytes, err) < 0 || check_operand(&b, s, arena_bytes, err) < 0 ||
        check_operand(&c, s, arena_bytes, err) < 0)
        return -1;
    return check_disjoint(s, err);
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Whole panels of a dimension; what is left over goes with the last one, so that an edge is never
 * alone: the BLAS sums a lone edge by other kernels, and bits would depend on the number of threads. */
static int64_t panels(int64_t size)
{
    return size < 2 * PANEL ? 1 : size / PANEL;
}

/* Size of a part but the last when a dimension is cut into about `parts`. */
static int64_t part_step(int64_t size, int64_t parts)
{
    return (panels(size) + parts - 1) / parts * PANEL;
}

static int64_t part_count(int64_t size, int64_t step)
{
    return (panels(size) * PANEL + step - 1) / step;
}

gemm_cut_t gemm_cut(const plan_gemm_step_t *s, int threads)
{
    gemm_cut_t cut = {1, 1, s->m, s->n, 1};
    int64_t entries = s->batch * s->inner;
    double work = (double)s->m * (double)s->n * (double)s->k;
    if (work > 0 && work * (double)entries < SMALL) {
        cut.grain = entries;
        return cut;
    }
    /* Many entries: whole ones, several at a time when they are small. */
    if (work > 0 && work < SMALL) cut.grain = (int64_t)(SMALL / work) + 1;
    if (entries >= 8 * (int64_t)threads || threads == 1) return cut;
    int64_t parts = threads / gcd(threads, entries);
    /* Of the ways to cut C into `parts` tiles, the one that packs least: every row panel reads all of
     * its columns' B and every column panel all of its rows' A. */
    double best = 0;
    for (int64_t rows = 1; rows <= parts; rows++) {
        if (parts % rows) continue;
        int64_t columns = parts / rows;
        int64_t row_step = part_step(s->m, rows), column_step = part_step(s->n, columns);
        double busy = (double)row_step * (double)column_step; /* the largest tile ends last */
        double cost = busy * (double)s->k + 8.0 * (double)s->k * (double)(row_step + column_step);
        if (best > 0 && cost >= best) continue;
        best = cost;
        cut.row_step = row_step;
        cut.column_step = column_step;
    }
    cut.rows = part_count(s->m, cut.row_step);
    cut.columns = part_count(s->n, cut.column_step);
    return cut;
}

typedef struct {
    const plan_gemm_step_t *step;
    char *arena;
    gemm_cut_t cut;
} run_t;

/* Rows [i, i + m), columns [j, j + n) of entry b. */
static void run_tile(const run_t *run, int64_t b, int64_t i, int64_t j, int64_t m, int64_t n)
{
    const plan_gemm_step_t *s = run->step;
    int64_t o = b / s->inner, e = b % s->inner;
    int64_t width = s->dtype == DT_F64 ? 8 : 4;
    int64_t at_a = 0, at_b = 0, at_c = o * s->stride_c + e * s->inner_c + i * s->ldc + j;
    if (s->k > 0) { /* else neither is read, and their strides were not bounded */
        at_a = o * s->stride_a + e * s->inner_a + (s->trans_a ? i : i * s->lda);
        at_b = o * s->stride_b + e * s->inner_b + (s->trans_b ? j * s->ldb : j);
    }
    const void *a = run->arena + s->a + width * at_a, *bb = run->arena + s->b + width * at_b;
    void *c = run->arena + s->c + width * at_c;
    CBLAS_TRANSPOSE ta = s->trans_a ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE tb = s->trans_b ? CblasTrans : CblasNoTrans;
    double beta = s->accumulate ? 1 : 0;
    blasint k = (blasint)s->k, lda = (blasint)s->lda, ldb = (blasint)s->ldb, ldc = (blasint)s->ldc;
    if (s->dtype == DT_F64)
        cblas_dgemm(CblasRowMajor, ta, tb, (blasint)m, (blasint)n, k, 1, a, lda, bb, ldb, beta, c,
                    ldc);
    else
        cblas_sgemm(CblasRowMajor, ta, tb, (blasint)m, (blasint)n, k, 1, a, lda, bb, ldb,
                    (float)beta, c, ldc);
}

static void run_parts(void *context, int64_t begin, int64_t end, int worker)
{
    const run_t *run = context;
    const gemm_cut_t *cut = &run->cut;
    (void)worker;
    for (int64_t part = begin; part < end; part++) {
        int64_t b = part / (cut->rows * cut->columns), tile = part % (cut->rows * cut->columns);
        int64_t row = tile / cut->columns, column = tile % cut->columns;
        int64_t i = row * cut->row_step, j = column * cut->column_step;
        run_tile(run, b, i, j, row == cut->rows - 1 ? run->step->m - i : cut->row_step,
                 column == cut->columns - 1 ? run->step->n - j : cut->column_step);
    }
}

void gemm_run(pool_t *pool, char *arena, const plan_gemm_step_t *step)
{
    if (step->m == 0 || step->n == 0) return;
    run_t run = {step, arena, gemm_cut(step, pool_threads(pool))};
    pool_run(pool, run_parts, &run, step->batch * step->inner * run.cut.rows * run.cut.columns,
             run.cut.grain);
}
