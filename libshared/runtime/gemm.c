/* Cutting matrix products over threads, and the calls of cblas. Batch entries are dealt out first;
 * where they do not go evenly into the threads, each entry's C is cut into panels. */
#include "runtime/gemm.h"

#include "runtime/blas.h"

/* Panels end on multiples of this, so that a cut falls between the BLAS's own register tiles. */
enum { PANEL = 32 };
/* Below this many multiply-adds (a few microseconds) waking a thread costs more than it saves. */
static const double SMALL = 1 << 18;

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Whole panels of a dimension; what is left over goes with the last one, so that an edge is
 * never alone: the BLAS sums a lone edge by other kernels, and bits would depend on the number
 * of threads. */
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

/* Multiply-adds that one element of A or B costs when a part packs it. */
static const double PACK = 8;

/* Of the ways to cut C into `parts` tiles, the cheapest; *cost is the time of all of it on
 * `parts` equal threads, in multiply-adds: the largest tile ends last, every row panel packs all
 * of its columns' B and every column panel all of its rows' A. */
static gemm_cut_t cut_into(const plan_gemm_step_t *s, int64_t parts, double *cost)
{
    gemm_cut_t cut = {1, 1, s->m, s->n, 1};
    *cost = -1;
    for (int64_t rows = 1; rows <= parts; rows++) {
        if (parts % rows) continue;
        int64_t row_step = part_step(s->m, rows), column_step = part_step(s->n, parts / rows);
        double tile = (double)row_step * (double)column_step +
                      PACK * (double)(row_step + column_step);
        if (*cost >= 0 && tile >= *cost) continue;
        *cost = tile;
        cut.row_step = row_step;
        cut.column_step = column_step;
    }
    cut.rows = part_count(s->m, cut.row_step);
    cut.columns = part_count(s->n, cut.column_step);
    return cut;
}

gemm_cut_t gemm_cut(const plan_gemm_step_t *s, int threads)
{
    gemm_cut_t whole = {1, 1, s->m, s->n, 1};
    int64_t entries = s->batch * s->inner;
    double work = (double)s->m * (double)s->n * (double)s->k, cost, finer_cost;
    if (work > 0 && work * (double)entries < SMALL) {
        whole.grain = entries;
        return whole;
    }
    /* Many entries: whole ones, several at a time when they are small. */
    if (work > 0 && work < SMALL) whole.grain = (int64_t)(SMALL / work) + 1;
    if (entries >= 8 * (int64_t)threads || threads == 1) return whole;
    int64_t parts = threads / gcd(threads, entries);
    gemm_cut_t cut = cut_into(s, parts, &cost);
    /* Twice as many parts when that costs little: a thread that is held up then leaves less
     * behind. */
    gemm_cut_t finer = cut_into(s, 2 * parts, &finer_cost);
    if (2 * finer_cost < 1.04 * cost && work / (double)(2 * parts) > SMALL) cut = finer;
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
        blas()->dgemm(CblasRowMajor, ta, tb, (blasint)m, (blasint)n, k, 1, a, lda, bb, ldb, beta, c,
                      ldc);
    else
        blas()->sgemm(CblasRowMajor, ta, tb, (blasint)m, (blasint)n, k, 1, a, lda, bb, ldb,
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
