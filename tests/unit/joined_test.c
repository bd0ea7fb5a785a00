/* Concatenations whose parts are written where the whole lies (plan/lower/joined.h): what is computed, which steps there
 * are, and that the checker of plans knows of parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/str.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "plan/build.h"
#include "plan/memory/arena.h"
#include "plan/memory/check_lifetimes.h"
#include "plan_help.h"

/* --- Texts ------------------------------------------------------------------------------------ */

typedef enum { PART_PRODUCT, PART_SUM, PART_MAP, PART_LARGER, PART_KINDS } part_t;

/* Part i of [1, rows, cols] from %a [rows, 8], %b [8, cols] and %c [4, rows, cols], each other than the others. */
static void add_part(str_t *text, int i, part_t kind, int rows, int cols)
{
    str_addf(text, "  %%k%d = stablehlo.constant dense<%d.5> : tensor<%dx8xf32>\n", i, i, rows);
    str_addf(text, "  %%n%d = stablehlo.constant dense<%d.25> : tensor<%dx%dxf32>\n", i, i, rows,
             cols);
    str_addf(text, "  %%a%d = stablehlo.multiply %%a, %%k%d : tensor<%dx8xf32>\n", i, i, rows);
    if (kind == PART_PRODUCT)
        str_addf(text,
                 "  %%m%d = stablehlo.dot_general %%a%d, %%b, contracting_dims = [1] x [0]\n"
                 "      : (tensor<%dx8xf32>, tensor<8x%dxf32>) -> tensor<%dx%dxf32>\n",
                 i, i, rows, cols, rows, cols);
    if (kind == PART_SUM)
        str_addf(text,
                 "  %%e%d = stablehlo.constant dense<%d.0> : tensor<f32>\n"
                 "  %%s%d = stablehlo.reduce(%%c init: %%e%d) applies stablehlo.add\n"
                 "      across dimensions = [0] : (tensor<4x%dx%dxf32>, tensor<f32>)\n"
                 "      -> tensor<%dx%dxf32>\n"
                 "  %%m%d = stablehlo.multiply %%s%d, %%n%d : tensor<%dx%dxf32>\n",
                 i, i, i, i, rows, cols, rows, cols, i, i, i, rows, cols);
    if (kind == PART_MAP || kind == PART_LARGER)
        str_addf(text, "  %%m%d = stablehlo.%s %%d, %%n%d : tensor<%dx%dxf32>\n", i,
                 kind == PART_MAP ? "add" : "maximum", i, rows, cols);
    str_addf(text,
             "  %%p%d = stablehlo.reshape %%%s%d : (tensor<%dx%dxf32>) -> tensor<1x%dx%dxf32>\n", i,
             kind == PART_SUM ? "s" : "m", i, rows, cols, rows, cols);
}

/* The name of what part i is made of, which has its elements. */
static void add_name(str_t *text, int i, part_t kind)
{
    str_addf(text, "%%%s%d", kind == PART_SUM ? "s" : "m", i);
}

/* The parts one above another, returned and read in other ways; `others`: the first part, and the sum of the first two, as well. */
static void add_text(str_t *text, int n, const part_t *kind, int rows, int cols, bool others)
{
    char whole[64], type[64], flat[64], more[160] = "";
    snprintf(whole, sizeof whole, "tensor<%dx%dx%dxf32>", n, rows, cols);
    snprintf(type, sizeof type, "tensor<1x%dx%dxf32>", rows, cols);
    snprintf(flat, sizeof flat, "tensor<%dx%dxf32>", rows, cols);
    if (others) snprintf(more, sizeof more, ", %s, %s", flat, flat);
    str_addf(text,
             "func.func @main(%%a: tensor<%dx8xf32>, %%b: tensor<8x%dxf32>,\n"
             "    %%c: tensor<4x%dx%dxf32>, %%d: tensor<%dx%dxf32>)\n"
             "    -> (%s, tensor<f32>, tensor<%dx%dx%dxf32>%s) {\n"
             "  %%zero = stablehlo.constant dense<0.0> : tensor<f32>\n",
             rows, cols, rows, cols, rows, cols, whole, cols, rows, n, more);
    for (int i = 0; i < n; i++) add_part(text, i, kind[i], rows, cols);
    str_add(text, "  %w = stablehlo.concatenate ");
    for (int i = 0; i < n; i++) str_addf(text, "%s%%p%d", i ? ", " : "", i);
    str_add(text, ", dim = 0 : (");
    for (int i = 0; i < n; i++) str_addf(text, "%s%s", i ? ", " : "", type);
    str_addf(text,
             ") -> %s\n"
             "  %%q = stablehlo.multiply %%w, %%w : %s\n"
             "  %%r = stablehlo.reduce(%%q init: %%zero) applies stablehlo.add\n"
             "      across dimensions = [0, 1, 2] : (%s, tensor<f32>) -> tensor<f32>\n"
             "  %%t = stablehlo.transpose %%w, dims = [2, 1, 0] : (%s) -> tensor<%dx%dx%dxf32>\n",
             whole, whole, whole, whole, cols, rows, n);
    if (others) {
        str_add(text, "  %o = stablehlo.add ");
        add_name(text, 0, kind[0]);
        str_add(text, ", ");
        add_name(text, 1, kind[1]);
        str_addf(text, " : %s\n", flat);
    }
    str_add(text, "  return %w, %r, %t");
    if (others) {
        str_add(text, ", ");
        add_name(text, 0, kind[0]);
        str_add(text, ", %o");
    }
    str_addf(text, " : %s, tensor<f32>, tensor<%dx%dx%dxf32>%s\n}\n", whole, cols, rows, n, more);
}

/* --- Results ---------------------------------------------------------------------------------- */

static void test_results(void **state)
{
    static const int sizes[][2] = {{16, 32}, {3, 16}, {5, 7}, {1, 64}, {40, 24}, {4, 4}};
    (void)state;
    for (uint64_t seed = 0; seed < 36; seed++) {
        part_t kind[6];
        int n = 2 + (int)(rng_uniform(seed, 0) * 5), size = (int)(seed % 6);
        bool same = seed % 3 != 0;
        for (int i = 0; i < n; i++)
            kind[i] = same ? (part_t)(seed % 2) : (part_t)(rng_uniform(seed, 1 + (uint64_t)i) * 4);
        str_t text = {0};
        add_text(&text, n, kind, sizes[size][0], sizes[size][1], seed % 2 == 0);
        plan_check_text(str_text(&text), seed, 3, 1e-5);
        str_fini(&text);
    }
}

/* --- Steps ------------------------------------------------------------------------------------ */

static plan_t *plan_of(int n, part_t kind, int rows, int cols)
{
    err_t err = {0};
    str_t text = {0};
    part_t kinds[8] = {kind, kind, kind, kind, kind, kind, kind, kind};
    add_text(&text, n, kinds, rows, cols, false);
    ir_module_t *module = parse_stablehlo(str_text(&text), text.n, "test", &err);
    plan_t *plan = module ? compile_module(module, "", NULL, target_host(), &err) : NULL;
    if (!plan) fail_msg("%s", err.text);
    ir_module_destroy(&module);
    str_fini(&text);
    return plan;
}

static bool is_at(const plan_t *plan, const char *name, int64_t offset)
{
    int t = plan_find_tensor(plan, ROLE_RESULT, name);
    assert_true(t >= 0);
    return (int64_t)plan->tensor[t].offset == offset;
}

/* Products write one behind another into what is returned, and nothing is copied. */
static void test_products_write_in_place(void **state)
{
    (void)state;
    plan_t *plan = plan_of(3, PART_PRODUCT, 16, 32);
    const plan_program_t *p = &plan->program[0];
    int n = 0;
    for (int i = 0; i < p->n_step; i++) {
        assert_int_not_equal(p->step[i].kind, STEP_COPY);
        if (p->step[i].kind != STEP_GEMM) continue;
        assert_true(is_at(plan, "result0", p->step[i].gemm.c - n * 16 * 32 * 4));
        n++;
    }
    assert_int_equal(n, 3);
    plan_destroy(&plan);
}

/* Parts that do not begin where kernels may begin are put together as before. */
static void test_odd_parts(void **state)
{
    (void)state;
    plan_t *plan = plan_of(3, PART_PRODUCT, 5, 7);
    const plan_program_t *p = &plan->program[0];
    for (int i = 0; i < p->n_step; i++)
        if (p->step[i].kind == STEP_GEMM) assert_int_equal(p->step[i].gemm.c % 64, 0);
    plan_destroy(&plan);
}

/* --- The checker ------------------------------------------------------------------------------ */

static plan_build_t *build_of(ir_module_t *module)
{
    err_t err = {0};
    if (passes_run(module, NULL, NULL, &err) < 0) fail_msg("%s", err.text);
    plan_build_t *build = plan_build_new(module, NULL);
    if (plan_build_program(build, module->fn[0], &err) < 0 || plan_build_lay_out(build, &err) < 0 ||
        plan_build_prove(build, &err) < 0)
        fail_msg("%s", err.text);
    return build;
}

static void expect_fault(const plan_build_t *build)
{
    uint64_t fixed;
    err_t err = {0};
    arena_assign((plan_build_t *)build, &fixed);
    assert_int_equal(check_lifetimes(build, fixed, &err), -1);
    assert_int_equal(err.code, ERR_CORRUPT);
}

/* A part that nobody writes, and one that is written over another. */
static void test_wrong_parts_are_found(void **state)
{
    (void)state;
    part_t kinds[4] = {PART_PRODUCT, PART_PRODUCT, PART_PRODUCT, PART_PRODUCT};
    str_t text = {0};
    err_t err = {0};
    add_text(&text, 4, kinds, 16, 32, false);
    ir_module_t *module = parse_stablehlo(str_text(&text), text.n, "test", &err);
    if (!module) fail_msg("%s", err.text);
    plan_build_t *build = build_of(module);
    lower_t *lower = build->program.at[0]->lower;
    int n_part = 0;
    for (uint32_t v = 0; v < lower->fn->n_value; v++) {
        lvalue_t *part = &lower->value[v];
        if (!part->whole) continue;
        int64_t right = part->whole_at;
        n_part++;
        part->whole_at = right ? 0 : 16 * 32;
        expect_fault(build);
        part->whole_at = right;
    }
    assert_int_equal(n_part, 4);
    for (size_t i = 0; i < lower->step.n; i++) {
        if (lower->step.at[i].kind != LOWER_GEMM) continue;
        lower->step.at[i] = lower->step.at[lower->step.n - 1];
        lower->step.n--;
        break;
    }
    expect_fault(build);
    plan_build_destroy(&build);
    ir_module_destroy(&module);
    str_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_products_write_in_place),
        cmocka_unit_test(test_odd_parts),
        cmocka_unit_test(test_wrong_parts_are_found),
    };
    return cmocka_run_group_tests_name("joined", tests, NULL, NULL);
}
