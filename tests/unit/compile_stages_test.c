/* What pcp compile prints beside plain stages: the IR after a pass, and the counts of --stats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/target.h"
#include "compile/compile.h"
#include "passes/passes.h"

/* Two equal products (2 * 4 * 8 * 16 = 1024 FLOPs each), one of them through x * 1. */
static const char text[] =
    "func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {\n"
    "  %one = stablehlo.constant dense<1.0> : tensor<4x8xf32>\n"
    "  %x1 = stablehlo.multiply %x, %one : tensor<4x8xf32>\n"
    "  %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : "
    "(tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>\n"
    "  %b = stablehlo.dot_general %x1, %w, contracting_dims = [1] x [0] : "
    "(tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>\n"
    "  %y = stablehlo.subtract %a, %b : tensor<4x16xf32>\n"
    "  return %y : tensor<4x16xf32>\n}\n";

static int count(const char *in, const char *what)
{
    int n = 0;
    for (; (in = strstr(in, what)); in++) n++;
    return n;
}

static char *after(const char *pass)
{
    err_t err = {0};
    char *out = compile_after_pass(text, strlen(text), "t", STAGE_IR, NULL, pass, &err);
    if (!out) fail_msg("%s", err.text);
    return out;
}

static void test_after_pass(void **state)
{
    (void)state;
    char *fold = after("fold"), *simplify = after("simplify"), *cse = after("cse");
    assert_int_equal(count(fold, "stablehlo.multiply"), 1);
    assert_int_equal(count(simplify, "dot_general %arg0"), 2);
    assert_int_equal(count(cse, "dot_general"), 1);
    free(fold);
    free(simplify);
    free(cse);
}

/* A loss through a call: every stage cleans the model up before it makes gradients of it. */
static const char calling[] =
    "func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %y = stablehlo.multiply %x, %x : tensor<4xf32>\n  return %y : tensor<4xf32>\n}\n"
    "func.func @main(%w: tensor<4xf32>) -> tensor<f32> {\n"
    "  %y = func.call @square(%w) : (tensor<4xf32>) -> tensor<4xf32>\n"
    "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0]\n"
    "      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>\n  return %s : tensor<f32>\n}\n";

/* Each pass can be looked at on the way to each stage that has it; elsewhere it is refused. */
static void test_after_each_pass_of_each_stage(void **state)
{
    static const compile_stage_t stages[] = {STAGE_IR, STAGE_GRAD, STAGE_TRAIN, STAGE_PLAN};
    static const int n_passes[] = {7, 8, 9, 14};
    const pass_t *pass;
    (void)state;
    for (int s = 0; s < 4; s++) {
        int n = 0;
        for (int i = 0; (pass = pass_row(i)); i++) {
            err_t err = {0};
            char *out = compile_after_pass(calling, strlen(calling), "t", stages[s], NULL,
                                           pass->name, &err);
            n += out != NULL;
            if (out) assert_non_null(strstr(out, "func.func"));
            if (!out) assert_int_equal(err.code, ERR_ARG);
            if (!out) assert_non_null(strstr(err.text, pass->name));
            if (out && stages[s] == STAGE_GRAD) assert_non_null(strstr(out, "@grad"));
            free(out);
        }
        assert_int_equal(n, n_passes[s]);
    }
}

static void test_unknown_pass(void **state)
{
    (void)state;
    err_t err = {0};
    assert_null(compile_after_pass(text, strlen(text), "t", STAGE_IR, NULL, "magic", &err));
    assert_int_equal(err.code, ERR_ARG);
    assert_non_null(strstr(err.text, "inline, draw, expand, fold"));
}

static void test_stats(void **state)
{
    (void)state;
    err_t err = {0};
    char *out = compile_emit(text, strlen(text), "t", STAGE_STATS, NULL, target_host(), &err);
    if (!out) fail_msg("%s", err.text);
    assert_non_null(strstr(out, "program main\n"));
    assert_non_null(strstr(out, "1 dot_general"));
    assert_non_null(strstr(out, "products        1 steps           1024 FLOPs"));
    assert_non_null(strstr(out, "arena "));
    free(out);
}

/* As many elements as the concatenation, in other rows, and nothing in common with it. */
static const char strangers[] =
    "func.func @main(%a: tensor<64x96xf32>, %b: tensor<64x96xf32>, %x: tensor<96x128xf32>)\n"
    "    -> (tensor<64x192xf32>, tensor<96xf32>) {\n"
    "  %c = stablehlo.concatenate %a, %b, dim = 1\n"
    "      : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x192xf32>\n"
    "  %y = stablehlo.multiply %x, %x : tensor<96x128xf32>\n"
    "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1]\n"
    "      : (tensor<96x128xf32>, tensor<f32>) -> tensor<96xf32>\n"
    "  return %c, %s : tensor<64x192xf32>, tensor<96xf32>\n}\n";

/* A value that was tried in a group and does not belong there must not change the group's rows:
 * another split would cost divisions for every element. */
static void test_strangers_leave_no_trace(void **state)
{
    (void)state;
    err_t err = {0};
    char *plan = compile_emit(strangers, strlen(strangers), "t", STAGE_PLAN, NULL, target_host(),
                              &err);
    if (!plan) fail_msg("%s", err.text);
    assert_non_null(strstr(plan, "concatenate 64x192, 1 values"));
    free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_after_pass),
        cmocka_unit_test(test_after_each_pass_of_each_stage),
        cmocka_unit_test(test_unknown_pass),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_strangers_leave_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
