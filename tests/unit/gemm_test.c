/* Matrix products of plans against a triple loop: transposes, strides, batches, accumulation, any
 * number of threads; how they are cut; what must be refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "codegen/target.h"
#include "plan/format/check.h"
#include "runtime/blas.h"
#include "runtime/gemm.h"

typedef struct {
    int64_t batch, inner, m, n, k;
    bool heads; /* [batch, rows, inner, columns] buffers instead of [batch, inner, rows, columns] */
    int64_t pad; /* added to each leading dimension */
} gemm_case_t;

static const gemm_case_t gemm_cases[] = {
    {1, 1, 1, 1, 1, false, 0},      {1, 1, 5, 7, 3, false, 2},     {1, 1, 64, 192, 64, false, 0},
    {1, 1, 257, 130, 65, false, 1}, {1, 1, 1, 300, 64, false, 0},  {1, 1, 300, 1, 64, false, 0},
    {3, 1, 33, 34, 35, false, 0},   {3, 1, 100, 40, 50, false, 3}, {4, 3, 32, 32, 16, true, 0},
    {2, 5, 9, 31, 8, true, 0},      {64, 4, 8, 8, 8, true, 0},     {2, 2, 40, 50, 0, false, 0},
    {5, 1, 70, 90, 20, true, 0},    {1, 7, 16, 48, 33, false, 5},
};

/* Sets ld and strides of one operand; returns elements it needs. */
static int64_t lay_out(const gemm_case_t *c, int64_t rows, int64_t columns, int64_t *ld,
                       int64_t *stride, int64_t *inner)
{
    *inner = c->heads ? columns : rows * (columns + c->pad);
    *ld = c->heads ? columns * c->inner : columns + c->pad;
    if (*ld < 1) *ld = 1;
    *stride = c->heads ? rows * columns * c->inner : *inner * c->inner;
    return *stride * c->batch + 64;
}

static double element(const char *base, dtype_t dtype, int64_t i)
{
    return dtype == DT_F64 ? ((const double *)base)[i] : (double)((const float *)base)[i];
}

static void set_element(char *base, dtype_t dtype, int64_t i, double value)
{
    if (dtype == DT_F64)
        ((double *)base)[i] = value;
    else
        ((float *)base)[i] = (float)value;
}

/* The definition in plan/format/plan.h, in doubles. */
static double entry(const char *arena, const plan_gemm_step_t *s, int64_t o, int64_t e, int64_t i,
                    int64_t j)
{
    double sum = 0;
    for (int64_t p = 0; p < s->k; p++) {
        int64_t a = o * s->stride_a + e * s->inner_a +
                    (s->trans_a ? p * s->lda + i : i * s->lda + p);
        int64_t b = o * s->stride_b + e * s->inner_b +
                    (s->trans_b ? j * s->ldb + p : p * s->ldb + j);
        sum += element(arena + s->a, s->dtype, a) * element(arena + s->b, s->dtype, b);
    }
    return sum;
}

static plan_gemm_step_t gemm_step(const gemm_case_t *c, dtype_t dtype, int variant,
                                  int64_t *n_bytes)
{
    int64_t width = dtype == DT_F64 ? 8 : 4;
    plan_gemm_step_t s = {.dtype = dtype,
                          .batch = c->batch,
                          .inner = c->inner,
                          .m = c->m,
                          .n = c->n,
                          .k = c->k,
                          .trans_a = variant & 1,
                          .trans_b = variant & 2,
                          .accumulate = variant & 4};
    int64_t n_a = lay_out(c, s.trans_a ? c->k : c->m, s.trans_a ? c->m : c->k, &s.lda, &s.stride_a,
                          &s.inner_a);
    int64_t n_b = lay_out(c, s.trans_b ? c->n : c->k, s.trans_b ? c->k : c->n, &s.ldb, &s.stride_b,
                          &s.inner_b);
    int64_t n_c = lay_out(c, c->m, c->n, &s.ldc, &s.stride_c, &s.inner_c);
    if (variant & 8) s.stride_b = s.inner_b = 0; /* one B for all entries */
    s.b = n_a * width;
    s.c = s.b + n_b * width;
    *n_bytes = s.c + n_c * width;
    return s;
}

static void check_gemm(const gemm_case_t *c, dtype_t dtype, int variant, int threads, double *worst)
{
    int64_t n_bytes, width = dtype == DT_F64 ? 8 : 4;
    plan_gemm_step_t s = gemm_step(c, dtype, variant, &n_bytes);
    char *arena = malloc((size_t)n_bytes), *before = malloc((size_t)n_bytes);
    for (int64_t i = 0; i < n_bytes / width; i++)
        set_element(before, dtype, i, rng_uniform(7, (uint64_t)i) - 0.5);
    err_t err = {0};
    if (plan_check_gemm(&s, (uint64_t)n_bytes, &err) < 0) fail_msg("%s", err.text);
    memcpy(arena, before, (size_t)n_bytes);
    pool_t *pool = pool_new(threads, false, NULL);
    gemm_run(pool, arena, &s);
    char *again = malloc((size_t)n_bytes);
    memcpy(again, before, (size_t)n_bytes);
    gemm_run(pool, again, &s);
    assert_memory_equal(arena, again, (size_t)n_bytes); /* the same bits each time */
    pool_destroy(&pool);

    double tolerance = (dtype == DT_F64 ? 1e-15 : 6e-7) * (double)(c->k + 4);
    for (int64_t o = 0; o < c->batch; o++) {
        for (int64_t e = 0; e < c->inner; e++) {
            for (int64_t i = 0; i < c->m * c->n; i++) {
                int64_t at = o * s.stride_c + e * s.inner_c + i / c->n * s.ldc + i % c->n;
                double want = entry(before, &s, o, e, i / c->n, i % c->n);
                if (s.accumulate) want += element(before + s.c, dtype, at);
                double off = fabs(element(arena + s.c, dtype, at) - want) / tolerance;
                if (off > *worst) *worst = off;
                set_element(arena + s.c, dtype, at, element(before + s.c, dtype, at));
            }
        }
    }
    assert_memory_equal(arena, before, (size_t)n_bytes); /* nothing else was touched */
    free(arena);
    free(before);
    free(again);
}

static void test_gemm(void **state)
{
    (void)state;
    double worst = 0;
    assert_int_equal(blas_open(target_host(), NULL), 0);
    for (size_t i = 0; i < sizeof gemm_cases / sizeof gemm_cases[0]; i++) {
        for (int variant = 0; variant < 16; variant++) {
            check_gemm(&gemm_cases[i], DT_F32, variant, 1 + variant % 3, &worst);
            check_gemm(&gemm_cases[i], DT_F64, variant, 1 + variant % 5, &worst);
        }
    }
    print_message("largest deviation from a triple loop: %.3f of k rounding errors\n", worst);
    assert_true(worst < 1);
}

/* Runs first: what is loaded stays. */
static void test_blas_open(void **state)
{
    (void)state;
    setenv("OPENBLAS_NUM_THREADS", "3", 1);
    assert_int_equal(blas_open(target_host(), NULL), 0);
    assert_string_equal(getenv("OPENBLAS_NUM_THREADS"), "3"); /* as it was */
    assert_non_null(blas()->sgemm);
    assert_non_null(blas()->dgemm);
    assert_int_equal(blas_open("cpu:another", NULL), 0); /* once is enough */
}

/* Across thread counts equal bits are usual and not promised: close is. */
static void test_gemm_threads(void **state)
{
    const gemm_case_t c = {1, 1, 96, 65, 256, false, 0};
    int64_t n_bytes, differ = 0;
    (void)state;
    plan_gemm_step_t s = gemm_step(&c, DT_F32, 0, &n_bytes);
    float *arena = malloc((size_t)n_bytes), *first = malloc((size_t)n_bytes);
    for (int64_t i = 0; i < n_bytes / 4; i++) arena[i] = (float)rng_uniform(9, (uint64_t)i) - 0.5f;
    for (int threads = 1; threads <= 6; threads++) {
        pool_t *pool = pool_new(threads, false, NULL);
        gemm_run(pool, (char *)arena, &s);
        pool_destroy(&pool);
        if (threads == 1) memcpy(first, arena, (size_t)n_bytes);
        for (int64_t i = 0; i < n_bytes / 4; i++) {
            differ += first[i] != arena[i];
            assert_true(fabsf(first[i] - arena[i]) < 1e-5f);
        }
    }
    print_message("%d elements differ in their last bits across 1 to 6 threads\n", (int)differ);
    free(arena);
    free(first);
}

/* Parts cover C exactly once for any shape and thread count, and depend on nothing else. */
static void test_gemm_cut(void **state)
{
    static const int64_t sizes[] = {1, 31, 32, 33, 100, 1000, 4097};
    (void)state;
    for (int t = 1; t <= 12; t++) {
        for (int i = 0; i < 7 * 7 * 4; i++) {
            plan_gemm_step_t s = {.dtype = DT_F32,
                                  .batch = i / 49 + 1,
                                  .inner = 1 + i % 3,
                                  .m = sizes[i % 7],
                                  .n = sizes[i / 7 % 7],
                                  .k = 64};
            gemm_cut_t cut = gemm_cut(&s, t);
            /* the last part takes what is left: something, and less than a panel more */
            int64_t rest_m = s.m - cut.row_step * (cut.rows - 1);
            int64_t rest_n = s.n - cut.column_step * (cut.columns - 1);
            assert_true(rest_m > 0 && (cut.rows == 1 || rest_m < cut.row_step + 32));
            assert_true(rest_n > 0 && (cut.columns == 1 || rest_n < cut.column_step + 32));
            assert_true(cut.rows * cut.columns <= 2 * t);
            assert_true(cut.grain >= 1);
        }
    }
}

static void test_gemm_refused(void **state)
{
    const gemm_case_t c = {2, 3, 8, 9, 10, true, 0};
    int64_t n;
    (void)state;
    const plan_gemm_step_t good = gemm_step(&c, DT_F32, 0, &n);
    plan_gemm_step_t s;
    err_t err;
    assert_int_equal(plan_check_gemm(&good, (uint64_t)n, NULL), 0);
#define REFUSED(change)                                           \
    s = good;                                                     \
    s.change;                                                     \
    assert_int_equal(plan_check_gemm(&s, (uint64_t)n, &err), -1); \
    assert_int_equal(err.code, ERR_CORRUPT)
    REFUSED(dtype = DT_BF16);
    REFUSED(batch = 0);
    REFUSED(inner = -1);
    REFUSED(m = -1);
    REFUSED(n = 1ll << 40);
    REFUSED(k = 31);
    REFUSED(lda = 9);
    REFUSED(stride_a = -1);
    REFUSED(stride_a = INT64_MAX / 2);
    REFUSED(inner_b = INT64_MAX);
    REFUSED(batch = 1ll << 40);
    REFUSED(stride_c = 1);
    REFUSED(inner_c = 8);
    REFUSED(b = 2);
    REFUSED(c = n);
    REFUSED(c = n - 64);
#undef REFUSED
    assert_int_equal(plan_check_gemm(&good, (uint64_t)n / 2, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blas_open),    cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_gemm_cut),     cmocka_unit_test(test_gemm_threads),
        cmocka_unit_test(test_gemm_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
