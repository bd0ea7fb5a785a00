/* The executor on hand-made plans: loading code, kernels, GEMMs against a triple loop, training
 * steps with accumulation, profiles, and what must be refused. Kernels are compiled by the
 * system's cc. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "plan/check.h"
#include "plan/target.h"
#include "runtime/blas.h"
#include "runtime/exec.h"
#include "runtime/gemm.h"

static const char source[] =
    "#include <stdint.h>\n"
    /* y = a x + y */
    "void axpy(char *arena, const int64_t *arg, int64_t begin, int64_t end) {\n"
    "    const float *a = (const float *)(arena + arg[0]), *x = (const float *)(arena + arg[1]);\n"
    "    float *y = (float *)(arena + arg[2]);\n"
    "    for (int64_t i = begin; i < end; i++) y[i] = a[0] * x[i] + y[i];\n"
    "}\n"
    /* sum += x; loss = x[0] */
    "void gather(char *arena, const int64_t *arg, int64_t begin, int64_t end) {\n"
    "    const int32_t *x = (const int32_t *)(arena + arg[0]);\n"
    "    float *sum = (float *)(arena + arg[1]), *loss = (float *)(arena + arg[2]);\n"
    "    for (int64_t i = begin; i < end; i++) {\n"
    "        sum[i] += (float)x[i];\n"
    "        if (i == 0) loss[0] = (float)x[0];\n"
    "    }\n"
    "}\n"
    /* p -= lr step sum */
    "void update(char *arena, const int64_t *arg, int64_t begin, int64_t end) {\n"
    "    float lr = *(const float *)(arena + arg[0]);\n"
    "    int64_t step = *(const int64_t *)(arena + arg[1]);\n"
    "    const float *sum = (const float *)(arena + arg[2]);\n"
    "    float *p = (float *)(arena + arg[3]);\n"
    "    for (int64_t i = begin; i < end; i++) p[i] -= lr * (float)step * sum[i];\n"
    "}\n";

static uint8_t *code;
static size_t n_code;

static int compile_kernels(void **state)
{
    char dir[] = "/tmp/pcp-runtime-test-XXXXXX", command[256], path[64];
    (void)state;
    if (!mkdtemp(dir)) return -1;
    snprintf(command, sizeof command,
             "cc -std=c11 -O2 -ffp-contract=off -shared -fPIC -x c -o %s/k.so -", dir);
    snprintf(path, sizeof path, "%s/k.so", dir);
    FILE *cc = popen(command, "w");
    fputs(source, cc);
    if (pclose(cc) != 0) return -1;
    FILE *file = fopen(path, "rb");
    code = malloc(1 << 20);
    n_code = fread(code, 1, 1 << 20, file);
    fclose(file);
    unlink(path);
    rmdir(dir);
    return n_code > 0 ? 0 : -1;
}

static int free_kernels(void **state)
{
    (void)state;
    free(code);
    return 0;
}

static plan_tensor_t tensor(const char *name, plan_role_t role, dtype_t dtype, int64_t n,
                            uint64_t offset)
{
    ir_type_t type = n ? ir_type(dtype, 1, &n) : ir_type_scalar(dtype);
    return (plan_tensor_t){(char *)name, role, type, offset, (uint64_t)ir_type_bytes(&type)};
}

/* --- Kernels ---------------------------------------------------------------------------------- */

enum { N = 1000 };

typedef struct {
    plan_tensor_t tensor[3];
    int64_t arg[3];
    plan_step_t step[2];
    uint32_t used[3];
    plan_program_t program;
    char *kernel[1];
    float constant;
    struct plan_constant constants[1];
    plan_t plan;
} axpy_plan_t;

/* a is a constant; "main" runs axpy and then copies y over x. */
static plan_t *axpy_plan(axpy_plan_t *p)
{
    *p = (axpy_plan_t){
        .tensor = {tensor("a", ROLE_CONSTANT, DT_F32, 0, 0), tensor("x", ROLE_BATCH, DT_F32, N, 64),
                   tensor("y", ROLE_RESULT, DT_F32, N, 4160)},
        .arg = {0, 64, 4160},
        .used = {0, 1, 2},
        .kernel = {"axpy"},
        .constant = 0.5f,
    };
    p->step[0] = (plan_step_t){
        .kind = STEP_KERNEL, .label = "axpy", .flops = 2 * N, .kernel = {0, N, 16, 3, p->arg}};
    p->step[1] = (plan_step_t){.kind = STEP_COPY, .label = "copy", .copy = {4160, 64, 4 * N}};
    p->program = (plan_program_t){"main", 2, p->step, 3, p->used};
    p->constants[0] = (struct plan_constant){0, 4, (uint8_t *)&p->constant};
    p->plan = (plan_t){.target = (char *)target_host(),
                       .accumulate = 1,
                       .arena_bytes = 8192,
                       .alignment = 64,
                       .n_tensor = 3,
                       .n_program = 1,
                       .n_kernel = 1,
                       .n_constant = 1,
                       .tensor = p->tensor,
                       .program = &p->program,
                       .kernel_name = p->kernel,
                       .constant = p->constants,
                       .code = code,
                       .n_code = n_code};
    return &p->plan;
}

static exec_t *open_plan(const plan_t *plan, int threads)
{
    err_t err = {0};
    exec_t *exec = exec_new(plan, &(exec_options_t){.threads = threads}, &err);
    if (!exec) fail_msg("%s", err.text);
    return exec;
}

static void test_kernel_steps(void **state)
{
    axpy_plan_t p;
    float x[N], y[N], zero[N] = {0};
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        exec_t *exec = open_plan(axpy_plan(&p), threads);
        assert_int_equal(exec_read(exec, 2, y, sizeof y, NULL), 0);
        assert_memory_equal(y, zero, sizeof y); /* the arena starts at zero */
        for (int i = 0; i < N; i++) x[i] = (float)i;
        assert_int_equal(exec_write(exec, 1, x, sizeof x, NULL), 0);
        assert_int_equal(exec_run(exec, "main", NULL), 0);
        assert_int_equal(exec_run(exec, "main", NULL), 0);
        assert_int_equal(exec_read(exec, 2, y, sizeof y, NULL), 0);
        /* y1 = x / 2, x1 = y1, y2 = x1 / 2 + y1 */
        for (int i = 0; i < N; i++) assert_true(y[i] == 0.75f * (float)i);
        assert_int_equal(exec_zero(exec, ROLE_RESULT, NULL), 0);
        assert_int_equal(exec_read(exec, 2, y, sizeof y, NULL), 0);
        assert_memory_equal(y, zero, sizeof y);
        exec_destroy(&exec);
        assert_null(exec);
    }
}

/* Two plans at once and again after: each load must find its own code. */
static void test_several_plans(void **state)
{
    axpy_plan_t p, q;
    (void)state;
    for (int i = 0; i < 3; i++) {
        exec_t *a = open_plan(axpy_plan(&p), 1), *b = open_plan(axpy_plan(&q), 2);
        assert_int_equal(exec_run(a, "main", NULL), 0);
        exec_destroy(&a);
        a = open_plan(&p.plan, 1);
        assert_int_equal(exec_run(b, "main", NULL), 0);
        assert_int_equal(exec_run(a, "main", NULL), 0);
        exec_destroy(&b);
        exec_destroy(&a);
    }
}

static void refuse(const plan_t *plan, err_code_t want, const char *words)
{
    err_t err = {0};
    assert_null(exec_new(plan, NULL, &err));
    assert_int_equal(err.code, want);
    if (!strstr(err.text, words)) fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void test_refused_targets(void **state)
{
    axpy_plan_t p;
    bool arm = strcmp(target_host(), "cpu:aarch64") == 0;
    (void)state;
    axpy_plan(&p)->target = arm ? "cpu:x86-64-v4" : "cpu:aarch64";
    refuse(&p.plan, ERR_UNSUPPORTED, target_host());
    p.plan.target = "cuda:sm_90";
    refuse(&p.plan, ERR_UNSUPPORTED, "cuda:sm_90");
    p.plan.target = "cpu:z80";
    refuse(&p.plan, ERR_ARG, "cpu:z80");
    err_t err = {0};
    assert_null(exec_new(axpy_plan(&p), &(exec_options_t){.device = "abacus"}, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_int_equal(target_check(target_host(), NULL), 0);
    assert_int_equal(target_runs_here(target_host(), NULL), 0);
    assert_non_null(strstr(target_cflags(target_host()), "-march="));
    assert_null(target_cflags("cpu:z80"));
}

static void test_refused_code(void **state)
{
    axpy_plan_t p;
    (void)state;
    axpy_plan(&p)->kernel_name[0] = "axpyz";
    refuse(&p.plan, ERR_CORRUPT, "axpyz");
    axpy_plan(&p)->n_code = 10;
    refuse(&p.plan, ERR_CORRUPT, "ELF");
    axpy_plan(&p)->n_code = n_code / 4; /* headers that point behind the end */
    refuse(&p.plan, ERR_CORRUPT, "plan code");
    uint8_t *other = malloc(n_code);
    memcpy(other, code, n_code);
    other[18] ^= 0xFF; /* e_machine */
    axpy_plan(&p)->code = other;
    refuse(&p.plan, ERR_UNSUPPORTED, "machine");
    free(other);
}

static void test_refused_bounds(void **state)
{
    axpy_plan_t p;
    (void)state;
    axpy_plan(&p)->alignment = 48;
    refuse(&p.plan, ERR_CORRUPT, "alignment");
    axpy_plan(&p)->arena_bytes = 1ull << 60;
    refuse(&p.plan, ERR_MEMORY, "MiB");
    axpy_plan(&p)->tensor[1].n_bytes = 4;
    refuse(&p.plan, ERR_CORRUPT, "tensor x");
    axpy_plan(&p)->tensor[2].offset = UINT64_MAX - 10;
    refuse(&p.plan, ERR_CORRUPT, "tensor y");
    axpy_plan(&p)->constant[0].offset = 8189;
    refuse(&p.plan, ERR_CORRUPT, "constant 0");
    axpy_plan(&p)->program->step[0].kernel.kernel = 1;
    refuse(&p.plan, ERR_CORRUPT, "kernel 1 of 1");
    axpy_plan(&p)->program->step[0].kernel.arg[2] = -4;
    refuse(&p.plan, ERR_CORRUPT, "operand 2");
    axpy_plan(&p)->program->step[0].kernel.grain = 0;
    refuse(&p.plan, ERR_CORRUPT, "grain");
    axpy_plan(&p)->program->step[1].copy.to = 4224;
    refuse(&p.plan, ERR_CORRUPT, "step 1 (copy)");
    axpy_plan(&p)->program->step[1].copy.to = 8000;
    refuse(&p.plan, ERR_CORRUPT, "leaves the arena");
    axpy_plan(&p)->program->step[1].kind = 9;
    refuse(&p.plan, ERR_CORRUPT, "kind 9");
    axpy_plan(&p)->program->tensor[0] = 3;
    refuse(&p.plan, ERR_CORRUPT, "tensor 3");
}

static void test_refused_calls(void **state)
{
    axpy_plan_t p;
    err_t err = {0};
    float x[N];
    (void)state;
    exec_t *exec = open_plan(axpy_plan(&p), 1);
    assert_int_equal(exec_run(exec, "mian", &err), -1);
    assert_non_null(strstr(err.text, "mian"));
    assert_int_equal(exec_write(exec, 1, x, sizeof x - 4, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    assert_int_equal(exec_read(exec, 3, x, sizeof x, &err), -1);
    assert_int_equal(exec_read(exec, -1, x, sizeof x, &err), -1);
    const void *batch[] = {x};
    assert_int_equal(exec_train_step(exec, batch, 1, 1, NULL, &err), -1);
    assert_non_null(strstr(err.text, "train"));
    exec_destroy(&exec);
}

static void test_profile(void **state)
{
    axpy_plan_t p;
    exec_profile_t *rows = NULL;
    int n_rows = 0;
    (void)state;
    exec_t *exec = open_plan(axpy_plan(&p), 2);
    assert_int_equal(exec_profile(exec, "main", 5, &rows, &n_rows, NULL), 0);
    assert_int_equal(n_rows, 2);
    assert_string_equal(rows[0].label, "axpy");
    assert_string_equal(rows[1].label, "copy");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rows[i].calls, 5);
        assert_true(rows[i].seconds > 0 && rows[i].seconds < 5);
    }
    assert_true(rows[0].flops == 2 * N);
    free(rows);
    exec_destroy(&exec);
}

/* --- Training steps --------------------------------------------------------------------------- */

static void test_train_step(void **state)
{
    (void)state;
    plan_tensor_t tensors[] = {
        tensor("p", ROLE_PARAM, DT_F32, 4, 0),       tensor("sum", ROLE_ACCUMULATOR, DT_F32, 4, 64),
        tensor("x", ROLE_BATCH, DT_I32, 4, 128),     tensor("lr", ROLE_SCALAR, DT_F32, 0, 192),
        tensor("step", ROLE_SCALAR, DT_I64, 0, 256), tensor("loss", ROLE_RESULT, DT_F32, 0, 320),
    };
    int64_t gather_arg[] = {128, 64, 320}, update_arg[] = {192, 256, 64, 0};
    plan_step_t gather = {.kind = STEP_KERNEL, .label = "g", .kernel = {0, 4, 4, 3, gather_arg}};
    plan_step_t update = {.kind = STEP_KERNEL, .label = "u", .kernel = {1, 4, 4, 4, update_arg}};
    plan_step_t both[] = {gather, update};
    uint32_t all[] = {0, 1, 2, 3, 4, 5};
    plan_program_t programs[] = {{"accumulate", 1, &gather, 6, all},
                                 {"update", 1, &update, 6, all},
                                 {"train", 2, both, 6, all}};
    char *kernels[] = {"gather", "update"};
    plan_t plan = {.target = (char *)target_host(),
                   .accumulate = 3,
                   .arena_bytes = 384,
                   .alignment = 64,
                   .n_tensor = 6,
                   .n_program = 3,
                   .n_kernel = 2,
                   .tensor = tensors,
                   .program = programs,
                   .kernel_name = kernels,
                   .code = code,
                   .n_code = n_code};
    int32_t x[12] = {1, 2, 3, 4, 10, 20, 30, 40, 100, 200, 300, 400};
    const void *batch[] = {x};
    float loss = -1, p[4];
    exec_t *exec = open_plan(&plan, 2);
    for (long step = 1; step <= 2; step++)
        assert_int_equal(exec_train_step(exec, batch, 0.5, step, &loss, NULL), 0);
    assert_true(loss == 37); /* (1 + 10 + 100) / 3 */
    assert_int_equal(exec_read(exec, 0, p, sizeof p, NULL), 0);
    for (int i = 0; i < 4; i++) /* sums start afresh at each step; step is 1, then 2 */
        assert_true(p[i] == -0.5f * 111.0f * (float)(i + 1) * (1 + 2));
    exec_destroy(&exec);

    plan.accumulate = 1;
    exec = open_plan(&plan, 1);
    assert_int_equal(exec_train_step(exec, batch, 2, 3, &loss, NULL), 0);
    assert_int_equal(exec_read(exec, 0, p, sizeof p, NULL), 0);
    assert_true(loss == 1 && p[3] == -2.0f * 3.0f * 4.0f);
    exec_destroy(&exec);
}

/* --- GEMM ------------------------------------------------------------------------------------- */

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

/* The definition in plan/plan.h, in doubles. */
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
        cmocka_unit_test(test_blas_open),     cmocka_unit_test(test_kernel_steps),
        cmocka_unit_test(test_several_plans), cmocka_unit_test(test_refused_targets),
        cmocka_unit_test(test_refused_code),  cmocka_unit_test(test_refused_bounds),
        cmocka_unit_test(test_refused_calls), cmocka_unit_test(test_profile),
        cmocka_unit_test(test_train_step),    cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_gemm_cut),      cmocka_unit_test(test_gemm_threads),
        cmocka_unit_test(test_gemm_refused),
    };
    return cmocka_run_group_tests(tests, compile_kernels, free_kernels);
}
