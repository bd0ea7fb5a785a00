/* Ops that others define (ops/expand.h): gradients by what they stand for, also where pass_expand
 * has not run; what the pass leaves; wrong types. Values are in tests/checks/defined.mlir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gradient_text.h"
#include "ir/op.h"
#include "parse/parse.h"
#include "passes/passes.h"

static ir_module_t *parsed(const char *text)
{
    err_t err = {0};
    ir_module_t *module = parse_stablehlo(text, strlen(text), "test", &err);
    if (!module) fail_msg("%s", err.text);
    return module;
}

/* Normalised over dimensions 0 and 2; %r is a 2x3x2 made of %x, %s and %o. */
static void check_norm(const char *what, const char *ops)
{
    char text[4096];
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<2x3x2xf64>, %%s: tensor<3xf64>, %%o: tensor<3xf64>) -> "
             "tensor<f64> {\n"
             "  %%zero = stablehlo.constant dense<0.0> : tensor<f64>\n%s"
             "  %%z = stablehlo.sine %%r : tensor<2x3x2xf64>\n"
             "  %%loss = stablehlo.reduce(%%z init: %%zero) applies stablehlo.add across "
             "dimensions = [0, 1, 2] : (tensor<2x3x2xf64>, tensor<f64>) -> tensor<f64>\n"
             "  return %%loss : tensor<f64>\n}\n",
             ops);
    gradient_text_check(what, text, 0.3, 1.2);
}

#define ATTRS "<{epsilon = 0.125 : f32, feature_index = 1 : i64}>"
#define X "tensor<2x3x2xf64>"
#define F "tensor<3xf64>"

static void test_norm(void **state)
{
    (void)state;
    check_norm("inference",
               "  %m = stablehlo.sine %s : " F "\n  %v = stablehlo.exponential %o : " F "\n"
               "  %r = \"stablehlo.batch_norm_inference\"(%x, %s, %o, %m, %v) " ATTRS " : (" X
               ", " F ", " F ", " F ", " F ") -> " X "\n");
    check_norm("training, whose moments are used",
               "  %t:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) " ATTRS " : (" X ", " F
               ", " F ") -> (" X ", " F ", " F ")\n"
               "  %m = stablehlo.multiply %t#1, %t#2 : " F "\n"
               "  %b = stablehlo.broadcast_in_dim %m, dims = [1] : (" F ") -> " X "\n"
               "  %r = stablehlo.multiply %t#0, %b : " X "\n");
    check_norm("grad",
               "  %g = stablehlo.cosine %x : " X "\n  %v = stablehlo.exponential %o : " F "\n"
               "  %t:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %o, %v, %g) " ATTRS " : (" X ", " F
               ", " F ", " F ", " X ") -> (" X ", " F ", " F ")\n"
               "  %m = stablehlo.multiply %t#1, %t#2 : " F "\n"
               "  %b = stablehlo.broadcast_in_dim %m, dims = [1] : (" F ") -> " X "\n"
               "  %r = stablehlo.multiply %t#0, %b : " X "\n");
}

/* A function of a and b, of the same shape. */
static void check_map(const char *ops, double lo, double hi)
{
    char text[2048];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<6xf64>, %%b: tensor<6xf64>) -> tensor<f64> {\n"
             "  %%zero = stablehlo.constant dense<0.0> : tensor<f64>\n%s"
             "  %%z = stablehlo.multiply %%r, %%b : tensor<6xf64>\n"
             "  %%loss = stablehlo.reduce(%%z init: %%zero) applies stablehlo.add across "
             "dimensions = [0] : (tensor<6xf64>, tensor<f64>) -> tensor<f64>\n"
             "  return %%loss : tensor<f64>\n}\n",
             ops);
    gradient_text_check(ops, text, lo, hi);
}

static void test_maps(void **state)
{
    (void)state;
    check_map("  %r = chlo.bessel_i1e %a : tensor<6xf64> -> tensor<6xf64>\n", -3, 3);
    check_map("  %r = chlo.bessel_i1e %a : tensor<6xf64> -> tensor<6xf64>\n", 9, 30);
    check_map("  %r = chlo.zeta %a, %b : tensor<6xf64>, tensor<6xf64> -> tensor<6xf64>\n", 1.5, 3);
    check_map("  %n = stablehlo.constant dense<[0.0, 1.0, 2.0, 3.0, 0.0, 5.0]> : tensor<6xf64>\n"
              "  %r = chlo.polygamma %n, %a : tensor<6xf64>, tensor<6xf64> -> tensor<6xf64>\n",
              0.7, 3);
    check_map("  %c = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = "
              "[0] : (tensor<6xf64>, tensor<f64>) -> tensor<f64>\n"
              "  %r = chlo.broadcast_divide %b, %c : (tensor<6xf64>, tensor<f64>) -> "
              "tensor<6xf64>\n",
              0.7, 3);
}

/* One process: each is its operand, or zeros where nobody sends. */
static const char collectives[] =
    "func.func @main(%x: tensor<2x3xf64>, %y: tensor<2x3xf64>) -> tensor<f64> {\n"
    "  %zero = stablehlo.constant dense<0.0> : tensor<f64>\n"
    "  %r:2 = \"stablehlo.all_reduce\"(%x, %y) ({\n  ^bb0(%p: tensor<f64>, %q: tensor<f64>):\n"
    "    %s = stablehlo.add %p, %q : tensor<f64>\n    stablehlo.return %s : tensor<f64>\n"
    "  }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2x3xf64>, tensor<2x3xf64>) -> "
    "(tensor<2x3xf64>, tensor<2x3xf64>)\n"
    "  %0 = stablehlo.multiply %r#0, %r#1 : tensor<2x3xf64>\n"
    "  %1 = \"stablehlo.reduce_scatter\"(%0) ({\n  ^bb0(%p: tensor<f64>, %q: tensor<f64>):\n"
    "    %s = stablehlo.add %p, %q : tensor<f64>\n    stablehlo.return %s : tensor<f64>\n"
    "  }) {scatter_dimension = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : "
    "(tensor<2x3xf64>) -> tensor<2x3xf64>\n"
    "  %2 = \"stablehlo.all_gather\"(%y) <{all_gather_dim = 1 : i64, replica_groups = dense<0> : "
    "tensor<1x1xi64>}> : (tensor<2x3xf64>) -> tensor<2x3xf64>\n"
    "  %3 = \"stablehlo.all_to_all\"(%2) {split_dimension = 1 : i64, concat_dimension = 0 : i64, "
    "split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2x3xf64>) -> "
    "tensor<2x3xf64>\n"
    "  %4 = \"stablehlo.collective_permute\"(%3) {source_target_pairs = dense<0> : "
    "tensor<1x2xi64>} : (tensor<2x3xf64>) -> tensor<2x3xf64>\n"
    "  %5 = \"stablehlo.collective_broadcast\"(%1) {replica_groups = dense<0> : "
    "tensor<1x1xi64>} : (tensor<2x3xf64>) -> tensor<2x3xf64>\n"
    "  %6 = \"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<> : "
    "tensor<0x2xi64>} : (tensor<2x3xf64>) -> tensor<2x3xf64>\n"
    "  %7 = stablehlo.sine %4 : tensor<2x3xf64>\n"
    "  %8 = stablehlo.multiply %5, %7 : tensor<2x3xf64>\n"
    "  %9 = stablehlo.add %8, %6 : tensor<2x3xf64>\n"
    "  %loss = stablehlo.reduce(%9 init: %zero) applies stablehlo.add across dimensions = [0, 1] : "
    "(tensor<2x3xf64>, tensor<f64>) -> tensor<f64>\n"
    "  return %loss : tensor<f64>\n}\n";

static void test_collectives(void **state)
{
    (void)state;
    gradient_text_check("collectives of one process", collectives, 0.3, 1.2);
    gradient_text_plan("collectives of one process", collectives);
}

/* None is left in a function or a region, and what came in their place bears their line. */
static void test_pass(void **state)
{
    (void)state;
    ir_module_t *module = parsed(
        "func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {\n"
        "  %0 = \"stablehlo.if\"(%p) ({\n"
        "    %1 = chlo.bessel_i1e %x : tensor<4xf32> -> tensor<4xf32>\n"
        "    stablehlo.return %1 : tensor<4xf32>\n  }, {\n"
        "    stablehlo.return %x : tensor<4xf32>\n  }) : (tensor<i1>) -> tensor<4xf32>\n"
        "  return %0 : tensor<4xf32>\n}\n");
    err_t err = {0};
    if (passes_run_one(module, "expand", &err) < 0) fail_msg("%s", err.text);
    const ir_fn_t *fn = ir_module_entry(module, &err);
    const ir_region_t *branch = fn->body->op[0]->region[0];
    assert_true(branch->n_op > 50);
    for (int i = 0; i < branch->n_op; i++) {
        assert_null(op_def(branch->op[i]->code)->expand);
        assert_int_equal(branch->op[i]->line, 3);
    }
    ir_module_destroy(&module);
}

static void refused(const char *op, const char *words)
{
    char text[1024];
    err_t err = {0};
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<2x3xf32>, %%f: tensor<2xf32>, %%i: tensor<2x3xi32>) {\n"
             "  %s\n  return\n}\n",
             op);
    ir_module_t *module = parse_stablehlo(text, strlen(text), "test", &err);
    assert_null(module);
    if (!strstr(err.text, words)) fail_msg("\"%s\" lacks \"%s\"", err.text, words);
}

static void test_types(void **state)
{
    (void)state;
    refused("%0 = \"stablehlo.batch_norm_inference\"(%x, %f, %f, %f, %f) <{epsilon = 0.1 : f32, "
            "feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>, "
            "tensor<2xf32>, tensor<2xf32>) -> tensor<2x3xf32>",
            "operand 1 is tensor<2xf32>, expected tensor<3xf32>");
    refused("%0:3 = \"stablehlo.batch_norm_training\"(%x, %f, %f) <{epsilon = 0.1 : f32, "
            "feature_index = 2 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> "
            "(tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)",
            "feature_index 2 is outside");
    refused("%0 = chlo.broadcast_add %x, %f : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>",
            "do not broadcast");
    refused("%0 = chlo.zeta %i, %i : tensor<2x3xi32>, tensor<2x3xi32> -> tensor<2x3xi32>",
            "chlo.zeta");
    refused("%0 = \"chlo.constant_like\"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
            "value is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norm),        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_collectives), cmocka_unit_test(test_pass),
        cmocka_unit_test(test_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
