/* What a step still reads is not written over: programs that were compiled wrongly, and plans made
 * wrong on purpose, which the checker of plans has to find. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ad/ad.h"
#include "corpus.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "plan/build.h"
#include "plan/memory/arena.h"
#include "plan/memory/check_lifetimes.h"
#include "plan/memory/owners.h"
#include "plan_help.h"
#include "random_loops.h"
#include "random_mix.h"

/* The old square is read when the new one, which a later temporary was made of, is there already;
 * what is carried must be the square, not that temporary. */
static void test_carried_value(void **state)
{
    static const char text[] =
        "func.func @main(%m: tensor<3x3xf32>, %k: tensor<3xf32>, %f: tensor<3x3xf32>)\n"
        "    -> (tensor<3x3xf32>, tensor<3x3xf32>) {\n"
        "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
        "  %end = stablehlo.constant dense<4> : tensor<i32>\n"
        "  %0:3 = stablehlo.while(%n = %zero, %old = %m, %sum = %f)\n"
        "      : tensor<i32>, tensor<3x3xf32>, tensor<3x3xf32>\n"
        "  cond {\n"
        "    %go = stablehlo.compare LT, %n, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %go : tensor<i1>\n  } do {\n"
        "    %a = stablehlo.subtract %sum, %old : tensor<3x3xf32>\n"
        "    %square = stablehlo.sine %a : tensor<3x3xf32>\n"
        "    %row = stablehlo.dot_general %square, %k, contracting_dims = [0] x [0]\n"
        "        : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>\n"
        "    %rows = stablehlo.broadcast_in_dim %row, dims = [1]\n"
        "        : (tensor<3xf32>) -> tensor<3x3xf32>\n"
        "    %less = stablehlo.subtract %square, %rows : tensor<3x3xf32>\n"
        "    %turned = stablehlo.dot_general %f, %less, contracting_dims = [1] x [0]\n"
        "        : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>\n"
        "    %b = stablehlo.add %turned, %old : tensor<3x3xf32>\n"
        "    %c = stablehlo.tanh %b : tensor<3x3xf32>\n"
        "    %next = stablehlo.add %n, %one : tensor<i32>\n"
        "    stablehlo.return %next, %square, %c\n"
        "        : tensor<i32>, tensor<3x3xf32>, tensor<3x3xf32>\n  }\n"
        "  return %0#1, %0#2 : tensor<3x3xf32>, tensor<3x3xf32>\n}\n";
    (void)state;
    plan_check_text(text, 5, 3, 1e-5);
}

/* Whole and with its gradient, where it is there. */
static void test_exports(void **state)
{
    int n;
    (void)state;
    char **paths = corpus_shared_list("exports", ".mlir", &n);
    for (int i = 0; i < n; i++) {
        if (!strstr(paths[i], "/carry_overwritten_")) continue;
        err_t err = {0};
        bool wanted[16] = {false};
        ir_module_t *module = parse_stablehlo_file(paths[i], &err);
        if (!module || passes_run(module, NULL, NULL, &err) < 0) fail_msg("%s", err.text);
        const ir_fn_t *fn = ir_module_entry(module, &err);
        assert_true(fn->body->n_arg <= 16);
        for (int a = 0; a < fn->body->n_arg; a++) wanted[a] = true;
        ir_fn_t *grad = ad_gradient(module, fn, "grad", wanted, &err);
        if (!grad) fail_msg("%s: %s", paths[i], err.text);
        grad->is_private = false;
        plan_check_module(module, &(plan_check_t){7, 3, 1, 1e-4, 1});
    }
    corpus_free(paths);
}

/* --- Plans made wrong ------------------------------------------------------------------------- */

static plan_build_t *built(ir_module_t *module)
{
    err_t err = {0};
    if (passes_run(module, NULL, NULL, &err) < 0) fail_msg("%s", err.text);
    attr_set_int(module->arena, &module->attrs, "pcp.sweeps", 0);
    plan_build_t *build = plan_build_new(module, NULL);
    for (int i = 0, n = module->n_fn; i < n; i++)
        if (!module->fn[i]->is_private && plan_build_program(build, module->fn[i], &err) < 0)
            fail_msg("%s", err.text);
    if (plan_build_lay_out(build, &err) < 0 || plan_build_prove(build, &err) < 0)
        fail_msg("%s", err.text);
    return build;
}

/* Is b begun while a is still to be read? Both for longer than a step. */
static bool alive_together(const memory_block_t *a, const memory_block_t *b)
{
    return a->n_bytes > 0 && b->n_bytes > 0 && a->first <= b->first && b->first < a->last &&
           b->first < b->last;
}

/* Each temporary in the place of each other one that it lives beside. */
static void confuse(const plan_build_t *build, int *n_wrong)
{
    uint64_t fixed;
    err_t err = {0};
    arena_assign((plan_build_t *)build, &fixed);
    for (size_t i = 0; i < build->program.n; i++) {
        program_t *p = build->program.at[i];
        for (size_t a = 0; a < p->block.n; a++)
            for (size_t b = 0; b < p->block.n; b++) {
                memory_block_t *block = &p->block.at[b];
                if (a == b || !alive_together(&p->block.at[a], block)) continue;
                uint64_t right = block->offset;
                block->offset = p->block.at[a].offset;
                ++*n_wrong;
                if (check_lifetimes(build, fixed, &err) == 0)
                    fail_msg("%s: temporary %zu in the place of %zu is not found", p->name, b, a);
                assert_int_equal(err.code, ERR_CORRUPT);
                block->offset = right;
            }
        if (check_lifetimes(build, fixed, &err) < 0) fail_msg("%s", err.text);
    }
}

static void test_wrong_plans_are_found(void **state)
{
    int n_wrong = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        ir_module_t *module = ir_module_new();
        if (!(seed % 3 ? random_loops : random_mix)(module, "main", seed)) fail();
        plan_build_t *build = built(module);
        confuse(build, &n_wrong);
        plan_build_destroy(&build);
        ir_module_destroy(&module);
    }
    print_message("%d wrong places found\n", n_wrong);
    assert_true(n_wrong > 100);
}

/* --- Owners of bytes -------------------------------------------------------------------------- */

static void test_owners(void **state)
{
    const span_bytes_t all = {0, 100}, low = {0, 40}, middle = {30, 60}, high = {60, 100};
    const span_bytes_t spans[] = {all, low, middle, high};
    (void)state;
    owners_t *owners = owners_new(spans, 4);
    assert_int_equal(owners_other(owners, all, 7), OWNER_NOBODY);
    owners_set(owners, all, 1);
    assert_int_equal(owners_other(owners, middle, 1), 1);
    owners_set(owners, middle, 2);
    assert_int_equal(owners_other(owners, low, 1), 2);
    assert_int_equal(owners_other(owners, low, 2), 1);
    assert_int_equal(owners_other(owners, high, 1), 1);
    owners_set(owners, low, 1);
    owners_set(owners, high, 2);
    assert_int_equal(owners_other(owners, middle, 2), 1);
    owners_destroy(&owners);
    assert_null(owners);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_carried_value),
        cmocka_unit_test(test_exports),
        cmocka_unit_test(test_wrong_plans_are_found),
        cmocka_unit_test(test_owners),
    };
    return cmocka_run_group_tests_name("lifetimes", tests, NULL, NULL);
}
