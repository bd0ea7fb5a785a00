/* Products with matrices in panels: against sums in f64, with edges in every direction, more rows and more terms than are taken
 * at a time, weights of f32, bf16 and i8, rows of A as they are and rounded; and a row's bits do not depend on the rows beside
 * it. By the instructions where this machine has them, and emulated everywhere. The view that panels are means the same to targets
 * that know of none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "codegen/c/compiler.h"
#include "codegen/c/pack_amx.h"
#include "codegen/c/stream_panels.h"
#include "codegen/c/tile.h"
#include "codegen/prelude/prelude_text.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "compile/stages.h"
#include "derive/derive.h"
#include "infer_rig.h"
#include "ir/panels.h"
#include "plan/lower/stream_panels.h"
#include "runtime/code.h"
#include "runtime/exec.h"

static const char panelled[] = "cpu:x86-64-v4-bf16-wide";

typedef struct {
    int64_t m, n, k;
    dtype_t weight;
} case_t;

enum { N_M = 10, N_SHAPE = 3, MOST = 3 * N_M * N_SHAPE, MOST_ROWS = 133 };
static const int64_t row_counts[N_M] = {1, 2, 3, 4, 5, 8, 9, 13, 16, MOST_ROWS};
static case_t cases[MOST];
static int n_case;

static void list_cases(void)
{
    const int64_t shape[N_SHAPE][2] = {{21, 64}, {641, 68}, {37, 4164}};
    const dtype_t weight[] = {DT_F32, DT_BF16, DT_I8};
    n_case = 0;
    for (int s = 0; s < N_SHAPE; s++)
        for (int w = 0; w < 3; w++)
            for (int i = 0; i < N_M; i++)
                cases[n_case++] = (case_t){row_counts[i], shape[s][0], shape[s][1], weight[w]};
}

static ir_type_t type_of(const case_t *c)
{
    return ir_type(c->weight, 2, (int64_t[]){c->n, c->k});
}

static void add_case(ir_module_t *module, int i)
{
    const case_t *c = &cases[i];
    err_t err = {0};
    char name[16];
    snprintf(name, sizeof name, "f%d", i);
    ir_type_t matrix = type_of(c);
    assert_true(ir_panels_suit(&matrix));
    ir_type_t types[] = {ir_type(DT_F32, 2, (int64_t[]){c->m, c->k}), ir_panels_type(&matrix)};
    ir_fn_t *fn = ir_fn_new(module, name, 2, types);
    const ir_dot_t dims = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    ir_val_t w = ir_convert(fn, ir_panels_view(fn, ir_fn_param(fn, 1), c->n), DT_F32);
    ir_val_t y = ir_dot(fn, ir_fn_param(fn, 0), w, &dims, DT_NONE);
    assert_int_equal(ir_fn_finish(fn, 1, &y, &err), 0);
}

static plan_t *make_plan(const char *target, bool rounded)
{
    err_t err = {0};
    ir_module_t *module = ir_module_new();
    for (int i = 0; i < n_case; i++) add_case(module, i);
    attr_set_int(module->arena, &module->attrs, "pcp.stream", STREAM_ROWS);
    if (rounded) attr_set_int(module->arena, &module->attrs, "pcp.rounded", 1);
    plan_t *plan = compile_module(module, "test", NULL, target, &err);
    if (!plan) fail_msg("%s", err.text);
    ir_module_destroy(&module);
    return plan;
}

static int count_panels(const plan_t *plan)
{
    int n = 0;
    for (int p = 0; p < plan->n_program; p++)
        for (int i = 0; i < plan->program[p].n_step; i++)
            n += strstr(plan->program[p].step[i].label, "in panels") != NULL;
    return n;
}

/* Numbers of all cases, drawn once: drawing one takes far longer than what is done with it. */
enum { MOST_COLUMNS = 641, MOST_TERMS = 4164 };
static float rows[MOST_ROWS][MOST_TERMS], columns[MOST_COLUMNS][MOST_TERMS];
static int8_t whole_columns[MOST_COLUMNS][MOST_TERMS];

/* Every seventh row has a number far larger than the others. */
static int draw_numbers(void **state)
{
    (void)state;
    uint64_t n = 0;
    for (int r = 0; r < MOST_ROWS; r++)
        for (int p = 0; p < MOST_TERMS; p++)
            rows[r][p] = (r % 7 == 3 && p == 11 ? 3000 : 1) * (float)rng_normal(1, n++);
    for (int j = 0; j < MOST_COLUMNS; j++)
        for (int p = 0; p < MOST_TERMS; p++, n++) {
            columns[j][p] = half_from_bf16(half_to_bf16((float)rng_normal(2, n)));
            whole_columns[j][p] = (int8_t)((int)(rng_bits(3, n) % 255) - 127);
        }
    return 0;
}

static float w_at(const case_t *c, int64_t j, int64_t p)
{
    return c->weight == DT_I8 ? whole_columns[j][p] : columns[j][p];
}

/* The matrix in panels, *n bytes; caller frees. */
static void *make_panels(const case_t *c, size_t *n)
{
    ir_type_t matrix = type_of(c), panels = ir_panels_type(&matrix);
    size_t size = dtype_bytes(c->weight);
    *n = (size_t)ir_type_count(&panels) * size;
    char *w = mem_calloc(*n, 1);
    for (int64_t j = 0; j < c->n; j++)
        for (int64_t p = 0; p < c->k; p++) {
            float x = w_at(c, j, p);
            uint16_t half = half_to_bf16(x);
            int8_t whole = (int8_t)x;
            memcpy(w + (size_t)ir_panels_place(c->weight, c->k, j, p) * size,
                   c->weight == DT_BF16 ? (void *)&half
                   : c->weight == DT_I8 ? (void *)&whole
                                        : (void *)&x,
                   size);
        }
    return w;
}

static float *make_rows(const case_t *c)
{
    float *x = mem_calloc((size_t)(c->m * c->k), sizeof *x);
    for (int64_t r = 0; r < c->m; r++)
        for (int64_t p = 0; p < c->k; p++) x[r * c->k + p] = rows[r][p];
    return x;
}

/* The result of case i, [m, n]; caller frees. */
static float *run_case(exec_t *exec, const plan_t *plan, int i)
{
    const case_t *c = &cases[i];
    size_t n_x = (size_t)(c->m * c->k) * 4, n_y = (size_t)(c->m * c->n) * 4;
    size_t n_w = 0;
    float *x = make_rows(c), *y = mem_calloc(n_y, 1);
    void *w = make_panels(c, &n_w);
    char name[32];
    err_t err = {0};
    snprintf(name, sizeof name, "f%d.arg1", i);
    assert_int_equal(exec_write(exec, plan_find_tensor(plan, ROLE_BATCH, name), w, n_w, &err), 0);
    snprintf(name, sizeof name, "f%d.arg0", i);
    assert_int_equal(exec_write(exec, plan_find_tensor(plan, ROLE_BATCH, name), x, n_x, &err), 0);
    snprintf(name, sizeof name, "f%d", i);
    assert_int_equal(exec_run(exec, name, &err), 0);
    snprintf(name, sizeof name, "f%d.result0", i);
    assert_int_equal(exec_read(exec, plan_find_tensor(plan, ROLE_RESULT, name), y, n_y, &err), 0);
    free(x);
    free(w);
    return y;
}

/* The sums of the most rows in f64 and what is allowed beside each: [MOST_ROWS][n]. */
static void expect(const case_t *c, bool rounded, double *sum, double *limit)
{
    for (int64_t r = 0; r < MOST_ROWS; r++) {
        double most = 0;
        for (int64_t p = 0; p < c->k; p++) most = fmax(most, fabs((double)rows[r][p]));
        for (int64_t j = 0; j < c->n; j++) {
            double size = 0, weights = 0, all = 0;
            for (int64_t p = 0; p < c->k; p++) {
                double w = w_at(c, j, p), x = rows[r][p];
                all += x * w, size += fabs(x * w), weights += fabs(w);
            }
            sum[r * c->n + j] = all;
            limit[r * c->n + j] = c->weight == DT_I8 && rounded
                                      ? weights * most / 250 + size * 0x1p-20
                                  : c->weight == DT_I8 ? size * 0x1p-14 + weights * most * 0x1p-15
                                  : c->weight == DT_BF16 && rounded ? size * 0x1.1p-8
                                                                    : size * 0x1p-18;
        }
    }
}

/* The cases [first, first + N_M), of one matrix. */
static double check_matrix(exec_t *exec, const plan_t *plan, int first, bool rounded)
{
    const case_t *c = &cases[first];
    double *sum = mem_calloc((size_t)(2 * MOST_ROWS * c->n), sizeof *sum), most = 0;
    double *limit = sum + MOST_ROWS * c->n;
    expect(c, rounded, sum, limit);
    float *whole = run_case(exec, plan, first + N_M - 1);
    for (int i = 0; i < N_M; i++) {
        int64_t n = cases[first + i].m * c->n;
        float *y = run_case(exec, plan, first + i);
        for (int64_t e = 0; e < n; e++) most = fmax(most, fabs(y[e] - sum[e]) / limit[e]);
        assert_memory_equal(y, whole, (size_t)n * 4);
        free(y);
    }
    free(whole);
    free(sum);
    return most;
}

static void check_target(const char *target, bool rounded)
{
    err_t err = {0};
    plan_t *plan = make_plan(target, rounded);
    double most = 0;
    bool panels = target_caps(target).panels;
    assert_int_equal(count_panels(plan), panels ? n_case : 0);
    for (int threads = 1; threads <= 3; threads += 2) {
        exec_t *exec = exec_new(plan, &(exec_options_t){.threads = threads}, &err);
        assert_non_null(exec);
        for (int i = 0; i < n_case; i += N_M)
            most = fmax(most, check_matrix(exec, plan, i, rounded));
        exec_destroy(&exec);
    }
    print_message("%s, %s: largest error %.3g of what is allowed\n", target,
                  rounded ? "rounded" : "as they are", most);
    assert_true(most < 1);
    plan_destroy(&plan);
}

static void test_sums(void **state)
{
    (void)state;
    list_cases();
    if (target_runs_here(panelled, NULL) != 0) skip();
    check_target(panelled, false);
}

static void test_rounded(void **state)
{
    (void)state;
    list_cases();
    if (target_runs_here(panelled, NULL) != 0) skip();
    check_target(panelled, true);
}

/* A target that knows of no panels takes the matrix out of them. */
static void test_view(void **state)
{
    (void)state;
    list_cases();
    n_case = 3 * N_M;
    check_target("c:scalar", false);
}

/* --- a result that is read transposed alone: right, by whatever way --- */

enum { SQUARE = 16, DEEP = 64 };
static const case_t square = {.m = SQUARE, .n = SQUARE, .k = DEEP, .weight = DT_F32};

static plan_t *plan_of_transposed(void)
{
    err_t err = {0};
    ir_module_t *module = ir_module_new();
    ir_type_t matrix = type_of(&square);
    ir_type_t types[] = {ir_type(DT_F32, 2, (int64_t[]){SQUARE, DEEP}), ir_panels_type(&matrix)};
    ir_fn_t *fn = ir_fn_new(module, "f", 2, types);
    const ir_dot_t dims = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    ir_val_t w = ir_panels_view(fn, ir_fn_param(fn, 1), SQUARE);
    ir_val_t y = ir_dot(fn, ir_fn_param(fn, 0), w, &dims, DT_NONE);
    ir_val_t out = ir_transpose(fn, ir_op1(fn, OP_sine, y), (int64_t[]){1, 0});
    assert_int_equal(ir_fn_finish(fn, 1, &out, &err), 0);
    attr_set_int(module->arena, &module->attrs, "pcp.stream", STREAM_ROWS);
    plan_t *plan = compile_module(module, "test", NULL, panelled, &err);
    if (!plan) fail_msg("%s", err.text);
    ir_module_destroy(&module);
    return plan;
}

static void test_transposed(void **state)
{
    (void)state;
    float y[SQUARE * SQUARE], *x = make_rows(&square);
    err_t err = {0};
    size_t n_w = 0;
    if (target_runs_here(panelled, NULL) != 0) skip();
    void *w = make_panels(&square, &n_w);
    plan_t *plan = plan_of_transposed();
    exec_t *exec = exec_new(plan, &(exec_options_t){.threads = 2}, &err);
    exec_write(exec, plan_find_tensor(plan, ROLE_BATCH, "f.arg0"), x, SQUARE * DEEP * 4, &err);
    exec_write(exec, plan_find_tensor(plan, ROLE_BATCH, "f.arg1"), w, n_w, &err);
    assert_int_equal(exec_run(exec, "f", &err), 0);
    int status = exec_read(exec, plan_find_tensor(plan, ROLE_RESULT, "f.result0"), y, sizeof y,
                           &err);
    assert_int_equal(status, 0);
    for (int i = 0; i < SQUARE; i++)
        for (int j = 0; j < SQUARE; j++) {
            double sum = 0, size = 0;
            for (int p = 0; p < DEEP; p++) {
                sum += (double)x[i * DEEP + p] * w_at(&square, j, p);
                size += fabs((double)x[i * DEEP + p] * w_at(&square, j, p));
            }
            assert_true(fabs(y[j * SQUARE + i] - sin(sum)) < 0x1p-18 * (1 + size));
        }
    free(x);
    free(w);
    exec_destroy(&exec);
    plan_destroy(&plan);
}

/* --- which products are in panels --- */

/* Of each program, which the module is not without, so many products in panels. */
static void check_products(ir_module_t *module, int wanted, const char *name)
{
    err_t err = {0};
    if (!module) fail_msg("%s", name);
    attr_set_int(module->arena, &module->attrs, "pcp.stream", 4);
    stages_t stages = {.goal = GOAL_PLAN, .module = module, .target = target_find(panelled, &err)};
    if (stages_run(&stages, &err) < 0) fail_msg("%s: %s", name, err.text);
    print_message("%s: %d products in panels\n", name, count_panels(stages.plan));
    assert_int_equal(count_panels(stages.plan), wanted * stages.plan->n_program);
    stages_fini(&stages);
    ir_module_destroy(&module);
}

/* A matrix that is rounded on its way out of panels is not read as it lies there. */
static void test_rounded_view(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *module = ir_module_new();
    ir_type_t matrix = type_of(&square);
    ir_type_t types[] = {ir_type(DT_F32, 2, (int64_t[]){SQUARE, DEEP}), ir_panels_type(&matrix)};
    ir_fn_t *fn = ir_fn_new(module, "f", 2, types);
    const ir_dot_t dims = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    ir_val_t w = ir_convert(fn, ir_panels_view(fn, ir_fn_param(fn, 1), SQUARE), DT_BF16);
    ir_val_t y = ir_dot(fn, ir_fn_param(fn, 0), ir_convert(fn, w, DT_F32), &dims, DT_NONE);
    assert_int_equal(ir_fn_finish(fn, 1, &y, &err), 0);
    check_products(module, 0, "rounded");
}

/* The steps of a model, by its family and as derived of its graph. Takes the module. */
static void check_model(ir_module_t *module, int wanted, dtype_t weights, const char *name)
{
    err_t err = {0};
    const model_step_t list[] = {
        {.name = "a", .rows = 1, .time = 1, .span = BLOCK},
        {.name = "b", .rows = 3, .time = 1, .span = BLOCK},
        {.name = "c", .rows = 1, .time = 20, .span = BLOCK, .one_slot = true}};
    const model_steps_t how = {.slots = 4,
                               .length = BLOCK,
                               .weights = weights,
                               .kept = DT_F32,
                               .panels = true,
                               .program = list,
                               .n_program = 3};
    const family_run_t run = {.block = BLOCK, .batch = 1, .steps = &how};
    check_products(family_build(family_config(module), &run, &err), wanted, name);
    derive_t *derived = derive_new(module, &err);
    if (!derived) fail_msg("%s", err.text);
    check_products(derive_steps(&derived, &how, &err), wanted, name);
}

/* Of each layer four products or more, and the head. */
static void test_models(void **state)
{
    (void)state;
    const dtype_t weights[] = {DT_F32, DT_BF16, DT_I8};
    for (int i = 0; i < 3; i++) {
        check_model(rig_gpt2(false), 4 * LAYERS + 1, weights[i], "gpt2");
        check_model(rig_llama(), 7 * LAYERS + 1, weights[i], "llama");
    }
}

/* --- emulated --- */

/* VPDPBUSD and VDPBF16PS as the manual defines them. */
static const char emulation[] =
    "static kc_i16 emu_fours(kc_i16 c, kc_i16 a, kc_i16 b)\n{\n"
    "    const uint8_t *x = (const uint8_t *)&a;\n"
    "    const int8_t *y = (const int8_t *)&b;\n"
    "    for (int i = 0; i < 64; i++) c[i / 4] += x[i] * y[i];\n"
    "    return c;\n}\n"
    "#define KC_FOURS emu_fours\n"
    "static kc_v16 emu_pairs(kc_v16 c, kc_i16 a, kc_i16 b)\n{\n"
    "    uint16_t x[32], y[32];\n"
    "    __builtin_memcpy(x, &a, 64);\n"
    "    __builtin_memcpy(y, &b, 64);\n"
    "    for (int i = 31; i >= 0; i--)\n"
    "        c[i / 2] += pcp_f32_from_bf16(x[i]) * pcp_f32_from_bf16(y[i]);\n"
    "    return c;\n}\n"
    "#define KC_PAIRS_DOT emu_pairs\n";

typedef void lines_fn(const float *a, void *lines, int64_t begin, int64_t end);
typedef void product_fn(const void *a, const void *b, float *c, int64_t begin, int64_t end);

static stream_t stream_of(const case_t *c, bool rounded)
{
    stream_t s = {.arg_b = 1, .arg_c = 2, .weight = c->weight, .panels = true, .rounded = rounded};
    s.step = (plan_gemm_step_t){
        .batch = 1, .inner = 1, .m = c->m, .n = c->n, .k = c->k, .lda = c->k, .ldc = c->n};
    s.part_cols = stream_panels_columns(&s);
    return s;
}

static void write_functions(const stream_t *s, int i, str_t *out)
{
    const kernel_t kernel = {.stream = s};
    str_addf(out, "void lines%d(const float *a0, int *a1, int64_t begin, int64_t end)\n{\n", i);
    if (!stream_panels_direct(s)) stream_panels_render_lines(&kernel, out);
    str_addf(out,
             "}\nvoid product%d(const float *a0, const char *a1, float *a2, int64_t begin, int64_t "
             "end)\n{\n",
             i);
    stream_panels_render(&kernel, out);
    str_add(out, "}\n");
}

static code_t *compile_functions(int n, const stream_t *list)
{
    str_t text = {0};
    err_t err = {0};
    size_t size = 0;
    str_add(&text, prelude_text());
    str_add(&text, tile_head);
    str_add(&text, emulation);
    str_add(&text, pack_amx_head);
    str_add(&text, prelude_stream_text());
    for (int i = 0; i < n; i++) write_functions(&list[i], i, &text);
    const char *unit = str_text(&text);
    uint8_t *bytes = compiler_run(NULL, 1, &unit, "", &size, &err);
    code_t *code = bytes ? code_load(bytes, size, &err) : NULL;
    if (!code) fail_msg("%s", err.text);
    str_fini(&text);
    free(bytes);
    return code;
}

/* What the functions of number i make of a case, a block of lines and a part of columns at a time; caller frees. */
static float *run_functions(const code_t *code, const stream_t *s, const case_t *c, int i)
{
    const stream_form_t form = stream_panels_form(s);
    char name[32];
    size_t n_w = 0;
    void *w = make_panels(c, &n_w), *lines = mem_calloc((size_t)(form.sections * form.next) + 1, 1);
    float *x = make_rows(c), *y = mem_calloc((size_t)(c->m * c->n), sizeof *y);
    lines_fn *make_lines;
    product_fn *product;
    snprintf(name, sizeof name, "lines%d", i);
    void *address = code_symbol((code_t *)(uintptr_t)code, name, NULL);
    memcpy(&make_lines, &address, sizeof address);
    snprintf(name, sizeof name, "product%d", i);
    address = code_symbol((code_t *)(uintptr_t)code, name, NULL);
    memcpy(&product, &address, sizeof address);
    for (int64_t b = 0; b < form.blocks; b++) make_lines(x, lines, b, b + 1);
    for (int64_t part = 0; part * s->part_cols < c->n; part++)
        product(stream_panels_direct(s) ? (void *)x : lines, w, y, part, part + 1);
    free(x);
    free(w);
    free(lines);
    return y;
}

/* Of the cases of the first matrix and each type of weights, those with these numbers: gcc takes long for vectors in parts. */
enum { N_EMULATED = 5 };
static const int emulated[N_EMULATED] = {0, 2, 5, 7, N_M - 1};

static void check_emulated(bool rounded)
{
    stream_t list[3 * N_EMULATED];
    double most = 0;
    list_cases();
    for (int i = 0; i < 3 * N_EMULATED; i++)
        list[i] = stream_of(&cases[i / N_EMULATED * N_M + emulated[i % N_EMULATED]], rounded);
    code_t *code = compile_functions(3 * N_EMULATED, list);
    for (int w = 0; w < 3; w++) {
        const case_t *c = &cases[w * N_M];
        double *sum = mem_calloc((size_t)(2 * MOST_ROWS * c->n), sizeof *sum);
        double *limit = sum + MOST_ROWS * c->n;
        expect(c, rounded, sum, limit);
        for (int i = 0; i < N_EMULATED; i++) {
            const int at = w * N_EMULATED + i;
            float *y = run_functions(code, &list[at], &c[emulated[i]], at);
            for (int64_t e = 0; e < c[emulated[i]].m * c->n; e++)
                most = fmax(most, fabs(y[e] - sum[e]) / limit[e]);
            free(y);
        }
        free(sum);
    }
    code_destroy(&code);
    print_message("emulated%s: largest error %.3g of what is allowed\n", rounded ? ", rounded" : "",
                  most);
    assert_true(most < 1);
}

static void test_emulated(void **state)
{
    (void)state;
    check_emulated(false);
    check_emulated(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),         cmocka_unit_test(test_rounded),
        cmocka_unit_test(test_view),         cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_rounded_view), cmocka_unit_test(test_models),
        cmocka_unit_test(test_emulated),
    };
    return cmocka_run_group_tests(tests, draw_numbers, NULL);
}
