/* Products of few rows that read their matrix once: against sums in f64, with edges in every direction,
 * both layouts, weights of f32, bf16 and i8; and a row's bits do not depend on the rows beside it, nor on where it is among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "base/mem.h"
#include "base/rng.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ir/build.h"
#include "ir/build_index.h"
#include "plan/lower/stream.h"
#include "runtime/exec.h"

typedef struct {
    int64_t m, n, k;
    bool turned; /* the matrix is [n, k] */
    dtype_t weight;
} case_t;

enum {
    N_M = 5,
    N_SHAPE = 5,
    MOST = N_M * N_SHAPE * 6,
    MOST_COLS = 130,
    MOST_TERMS = 704,
    MOST_COUNT = STREAM_ROWS * MOST_TERMS,
    MOST_WEIGHTS = 21 * MOST_TERMS
};
static case_t cases[MOST];
static int n_case;

static void list_cases(void)
{
    const int64_t m[N_M] = {1, 3, 8, 11, STREAM_ROWS},
                  shape[N_SHAPE][2] = {{97, 64}, {130, 37}, {50, 121}, {21, 700}, {21, 704}};
    const dtype_t weight[] = {DT_F32, DT_BF16, DT_I8};
    n_case = 0;
    for (int s = 0; s < N_SHAPE; s++)
        for (int form = 0; form < 6; form++)
            for (int i = 0; i < N_M; i++)
                cases[n_case++] = (case_t){m[i], shape[s][0], shape[s][1], form % 2,
                                           weight[form / 2]};
}

static void add_case(ir_module_t *module, int i)
{
    const case_t *c = &cases[i];
    err_t err = {0};
    char name[16];
    snprintf(name, sizeof name, "f%d", i);
    ir_type_t types[] = {
        ir_type(DT_F32, 2, (int64_t[]){c->m, c->k}),
        ir_type(c->weight, 2, c->turned ? (int64_t[]){c->n, c->k} : (int64_t[]){c->k, c->n})};
    ir_fn_t *fn = ir_fn_new(module, name, 2, types);
    const ir_dot_t dims = {
        .n_contract = 1, .lhs_contract = {1}, .rhs_contract = {c->turned ? 1 : 0}};
    ir_val_t w = ir_convert(fn, ir_fn_param(fn, 1), DT_F32);
    ir_val_t y = ir_dot(fn, ir_fn_param(fn, 0), w, &dims, DT_NONE);
    assert_int_equal(ir_fn_finish(fn, 1, &y, &err), 0);
}

static plan_t *make_plan(int rows, const char *target)
{
    err_t err = {0};
    ir_module_t *module = ir_module_new();
    for (int i = 0; i < n_case; i++) add_case(module, i);
    if (rows > 0) attr_set_int(module->arena, &module->attrs, "pcp.stream", rows);
    plan_t *plan = compile_module(module, "test", NULL, target, &err);
    if (!plan) fail_msg("%s", err.text);
    ir_module_destroy(&module);
    return plan;
}

static int count_streams(const plan_t *plan)
{
    int n = 0;
    for (int p = 0; p < plan->n_program; p++)
        for (int i = 0; i < plan->program[p].n_step; i++)
            n += strncmp(plan->program[p].step[i].label, "stream", 6) == 0;
    return n;
}

/* Numbers of all cases, drawn once: drawing one takes far longer than what is done with it. */
static float rows_of_x[STREAM_ROWS][MOST_TERMS], drawn[MOST_TERMS][MOST_COLS];
static int8_t drawn_whole[MOST_TERMS][MOST_COLS];

static int draw_numbers(void **state)
{
    (void)state;
    uint64_t n = 0;
    for (int r = 0; r < STREAM_ROWS; r++)
        for (int p = 0; p < MOST_TERMS; p++) rows_of_x[r][p] = (float)rng_normal(1, n++);
    for (int p = 0; p < MOST_TERMS; p++)
        for (int j = 0; j < MOST_COLS; j++, n++) {
            drawn[p][j] = half_from_bf16(half_to_bf16((float)rng_normal(2, n)));
            drawn_whole[p][j] = (int8_t)((int)(rng_bits(3, n) % 256) - 128);
        }
    return 0;
}

/* Element (p, j) of the matrix, as its type has it. */
static float w_at(const case_t *c, int64_t p, int64_t j)
{
    return c->weight == DT_I8 ? drawn_whole[p][j] : drawn[p][j];
}

/* Rows of x from `first` on. */
static void write_inputs(exec_t *exec, const plan_t *plan, int i, int64_t first)
{
    static float x[MOST_COUNT], w[MOST_WEIGHTS];
    static uint16_t half[MOST_WEIGHTS];
    static int8_t whole[MOST_WEIGHTS];
    const case_t *c = &cases[i];
    char name[32];
    err_t err = {0};
    for (int64_t r = 0; r < c->m; r++)
        for (int64_t p = 0; p < c->k; p++) x[r * c->k + p] = rows_of_x[first + r][p];
    for (int64_t p = 0; p < c->k; p++)
        for (int64_t j = 0; j < c->n; j++) {
            int64_t at = c->turned ? j * c->k + p : p * c->n + j;
            w[at] = w_at(c, p, j);
            half[at] = half_to_bf16(w[at]);
            whole[at] = (int8_t)w[at];
        }
    snprintf(name, sizeof name, "f%d.arg0", i);
    assert_int_equal(exec_write(exec, plan_find_tensor(plan, ROLE_BATCH, name), x,
                                (size_t)(c->m * c->k) * 4, &err),
                     0);
    snprintf(name, sizeof name, "f%d.arg1", i);
    assert_int_equal(exec_write(exec, plan_find_tensor(plan, ROLE_BATCH, name),
                                c->weight == DT_BF16 ? (void *)half
                                : c->weight == DT_I8 ? (void *)whole
                                                     : (void *)w,
                                (size_t)(c->k * c->n) * dtype_bytes(c->weight), &err),
                     0);
}

/* The result of case i into y; the largest error beside the sum of |x w|. */
static double run_case(exec_t *exec, const plan_t *plan, int i, int64_t first, float *y)
{
    const case_t *c = &cases[i];
    char name[32];
    err_t err = {0};
    double most = 0;
    write_inputs(exec, plan, i, first);
    snprintf(name, sizeof name, "f%d", i);
    assert_int_equal(exec_run(exec, name, &err), 0);
    snprintf(name, sizeof name, "f%d.result0", i);
    assert_int_equal(exec_read(exec, plan_find_tensor(plan, ROLE_RESULT, name), y,
                               (size_t)(c->m * c->n) * 4, &err),
                     0);
    for (int64_t r = 0; r < c->m; r++)
        for (int64_t j = 0; j < c->n; j++) {
            double sum = 0, size = 0;
            for (int64_t p = 0; p < c->k; p++) {
                sum += (double)rows_of_x[first + r][p] * w_at(c, p, j);
                size += fabs((double)rows_of_x[first + r][p] * w_at(c, p, j));
            }
            most = fmax(most, fabs(y[r * c->n + j] - sum) / size);
        }
    return most;
}

/* How far a result may be from the sum, of the sum of |x w|: as many roundings as there are, or x rounded to 16 bits. */
static double limit_of(const case_t *c, const char *target)
{
    const caps_t caps = target_caps(target);
    return c->weight == DT_I8 && (caps.fours || caps.matrix) ? 0x1p-14 : 0x1p-18;
}

/* rows: what the plan is to be good for; many take a matrix unit. */
static void check_target(const char *target, int rows)
{
    err_t err = {0};
    plan_t *plan = make_plan(rows, target);
    assert_int_equal(count_streams(plan), n_case);
    static float y[STREAM_ROWS * MOST_COLS], alone[STREAM_ROWS * MOST_COLS]; /* each row */
    double most = 0;
    for (int threads = 1; threads <= 3; threads += 2) {
        exec_t *exec = exec_new(plan, &(exec_options_t){.threads = threads}, &err);
        assert_non_null(exec);
        for (int i = 0; i < n_case; i++) {
            const case_t *c = &cases[i];
            const double limit = limit_of(c, target);
            for (int64_t r = 0; c->m == 1 && r < STREAM_ROWS; r++)
                most = fmax(most, run_case(exec, plan, i, r, alone + r * c->n) / limit);
            if (c->m == 1) continue;
            most = fmax(most, run_case(exec, plan, i, 0, y) / limit);
            assert_memory_equal(y, alone, (size_t)(c->m * c->n) * 4);
        }
        exec_destroy(&exec);
    }
    print_message("%s, %d rows: largest error %.3g of what is allowed\n", target, rows, most);
    assert_true(most < 1);
    plan_destroy(&plan);
}

/* Vectors of 16, 8 and 4, where this machine has them. */
static void test_sums(void **state)
{
    (void)state;
    const char *const targets[] = {target_host(), "cpu:x86-64-v3", "cpu:x86-64"};
    list_cases();
    if (!target_caps(target_host()).stream) skip();
    for (int i = 0; i < 3; i++)
        if (target_runs_here(targets[i], NULL) == 0) check_target(targets[i], 1);
    if (target_caps(target_host()).matrix) check_target(target_host(), STREAM_ROWS);
}

/* As attention reads what is kept: x [2, 3, m, k] times w [2, n, 3, k] or [2, k, 3, n], entry by entry. */
static void check_entries(int64_t m, bool turned)
{
    enum { OUTER = 2, INNER = 3, N = 70, K = 37 };
    static float x[OUTER * INNER * 4 * K], w[OUTER * INNER * N * K], y[OUTER * INNER * 4 * N];
    err_t err = {0};
    ir_module_t *module = ir_module_new();
    const int64_t rows = turned ? N : K, cols = turned ? K : N;
    ir_type_t types[] = {ir_type(DT_F32, 4, (int64_t[]){OUTER, INNER, m, K}),
                         ir_type(DT_F32, 4, (int64_t[]){OUTER, rows, INNER, cols})};
    ir_fn_t *fn = ir_fn_new(module, "f", 2, types);
    const ir_dot_t dims = {.n_batch = 2,
                           .n_contract = 1,
                           .lhs_batch = {0, 1},
                           .rhs_batch = {0, 2},
                           .lhs_contract = {3},
                           .rhs_contract = {turned ? 3 : 1}};
    ir_val_t out = ir_dot(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1), &dims, DT_NONE);
    assert_int_equal(ir_fn_finish(fn, 1, &out, &err), 0);
    attr_set_int(module->arena, &module->attrs, "pcp.stream", 1);
    plan_t *plan = compile_module(module, "test", NULL, target_host(), &err);
    assert_non_null(plan);
    assert_int_equal(count_streams(plan), 1);
    exec_t *exec = exec_new(plan, &(exec_options_t){.threads = 2}, &err);
    assert_non_null(exec);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)rng_normal(3, i);
    for (size_t i = 0; i < sizeof w / sizeof *w; i++) w[i] = (float)rng_normal(4, i);
    size_t n_x = (size_t)(OUTER * INNER * m * K), n_y = (size_t)(OUTER * INNER * m * N);
    assert_int_equal(
        exec_write(exec, plan_find_tensor(plan, ROLE_BATCH, "f.arg0"), x, 4 * n_x, &err), 0);
    assert_int_equal(
        exec_write(exec, plan_find_tensor(plan, ROLE_BATCH, "f.arg1"), w, sizeof w, &err), 0);
    assert_int_equal(exec_run(exec, "f", &err), 0);
    assert_int_equal(
        exec_read(exec, plan_find_tensor(plan, ROLE_RESULT, "f.result0"), y, 4 * n_y, &err), 0);
    double most = 0;
    for (int64_t e = 0; e < OUTER * INNER; e++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < N; j++) {
                double sum = 0;
                for (int64_t p = 0; p < K; p++) {
                    int64_t row = turned ? j : p, col = turned ? p : j;
                    int64_t at = ((e / INNER * rows + row) * INNER + e % INNER) * cols + col;
                    sum += (double)x[(e * m + i) * K + p] * w[at];
                }
                most = fmax(most, fabs(y[(e * m + i) * N + j] - sum));
            }
    print_message("%d entries of %d rows: off by %.3g at most\n", OUTER * INNER, (int)m, most);
    assert_true(most < 64 * 0x1p-24 * 16); /* of as many roundings of sums below 16 */
    exec_destroy(&exec);
    plan_destroy(&plan);
    ir_module_destroy(&module);
}

static void test_entries(void **state)
{
    (void)state;
    if (!target_caps(target_host()).stream) skip();
    for (int i = 0; i < 4; i++) check_entries(i / 2 ? 4 : 1, i % 2);
}

/* Products of modules that do not ask stay what they are. */
static void test_only_when_asked(void **state)
{
    (void)state;
    list_cases();
    n_case = 4;
    plan_t *plan = make_plan(0, target_host());
    assert_int_equal(count_streams(plan), 0);
    plan_destroy(&plan);
}

/* The product of 16 rows with a matrix [64, 128], or with what the program keeps, one row of which it writes before. */
static plan_t *plan_of_rows(const char *target, dtype_t weight, bool kept)
{
    err_t err = {0};
    ir_module_t *module = ir_module_new();
    ir_type_t types[] = {
        ir_type(DT_F32, 2, (int64_t[]){16, 128}), ir_type(weight, 2, (int64_t[]){64, 128}),
        ir_type(DT_I32, 2, (int64_t[]){1, 1}), ir_type(weight, 2, (int64_t[]){1, 128})};
    ir_fn_t *fn = ir_fn_new(module, "f", 4, types);
    const ir_dot_t dims = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    ir_val_t w = ir_fn_param(fn, 1);
    const ir_gather_t row = {.n_offset = 1,
                             .n_collapsed = 1,
                             .n_start = 1,
                             .offset_dims = {1},
                             .index_vector_dim = 1,
                             .slice = {1, 128}};
    if (kept) w = ir_scatter(fn, OP_invalid, w, ir_fn_param(fn, 2), ir_fn_param(fn, 3), &row);
    ir_val_t y = ir_dot(fn, ir_fn_param(fn, 0), ir_convert(fn, w, DT_F32), &dims, DT_NONE);
    assert_int_equal(ir_fn_finish(fn, 1, &y, &err), 0);
    attr_set_int(module->arena, &module->attrs, "pcp.stream", STREAM_ROWS);
    plan_t *plan = compile_module(module, "test", NULL, target, &err);
    if (!plan) fail_msg("%s", err.text);
    ir_module_destroy(&module);
    return plan;
}

static bool goes_by(const char *what, const char *target, dtype_t weight, bool kept)
{
    plan_t *plan = plan_of_rows(target, weight, kept);
    bool found = false;
    assert_int_equal(count_streams(plan), 1);
    for (int i = 0; i < plan->program[0].n_step; i++)
        found = found || strstr(plan->program[0].step[i].label, what);
    plan_destroy(&plan);
    return found;
}

static bool by_matrix(dtype_t weight, bool kept)
{
    return goes_by("by the matrix unit", "cpu:x86-64-v4-amx", weight, kept);
}

/* Where there is a matrix unit, it reads weights of 16 rows, and not what is kept of texts. No such machine is
 * needed to see it. */
static void test_matrix_unit(void **state)
{
    (void)state;
    assert_true(by_matrix(DT_I8, false));
    assert_true(by_matrix(DT_BF16, false));
    assert_false(by_matrix(DT_F32, false));
    assert_false(by_matrix(DT_BF16, true));
}

/* Where there is none, vectors that add products of four numbers read i8. */
static void test_fours(void **state)
{
    static const char *const targets[] = {"cpu:x86-64-v4-vnni", "cpu:x86-64-v4-2m",
                                          "cpu:x86-64-v4-bf16", "cpu:x86-64-v4-bf16-wide"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_true(goes_by("by fours", targets[i], DT_I8, false));
        assert_false(goes_by("by fours", targets[i], DT_BF16, false));
        assert_false(goes_by("by fours", targets[i], DT_I8, true));
    }
    assert_false(goes_by("by fours", "cpu:x86-64-v4", DT_I8, false));
    assert_false(goes_by("by fours", "cpu:x86-64-v4-amx", DT_I8, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_only_when_asked),
        cmocka_unit_test(test_matrix_unit),
        cmocka_unit_test(test_fours),
    };
    return cmocka_run_group_tests(tests, draw_numbers, NULL);
}
