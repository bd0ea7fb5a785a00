/* map and reduce whose regions are no plain scalar code (passes/element_loop.h): draws, branches,
 * loops and sums in them, on real and complex numbers; plans against the interpreter, and gradients
 * against differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "gradient_text.h"
#include "ir/print.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "plan_help.h"

#define UNIFORM(name, low, high)                                                                   \
    "  %" name " = stablehlo.rng %" low ", %" high ", %e, distribution = UNIFORM : (tensor<f32>, " \
    "tensor<f32>, tensor<0xi64>) -> tensor<f32>\n"
#define BOUNDS                                              \
    "  %lo = stablehlo.constant dense<0.5> : tensor<f32>\n" \
    "  %hi = stablehlo.constant dense<1.5> : tensor<f32>\n" \
    "  %e = stablehlo.constant dense<> : tensor<0xi64>\n"

/* Every element draws its own number, in a branch of some as well, and the numbers go on behind. */
static const char draws_in_map[] =
    "func.func @f(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<f32>) {\n" BOUNDS UNIFORM(
        "before", "lo", "hi") "  %0 = \"stablehlo.map\"(%x) <{dimensions = array<i64: 0, 1>}> ({\n"
                              "  ^bb0(%a: tensor<f32>):\n" UNIFORM(
                                  "u", "lo",
                                  "hi") "  %p = stablehlo.compare GT, %a, %before : (tensor<f32>, "
                                        "tensor<f32>) -> tensor<i1>\n"
                                        "  %w = \"stablehlo.if\"(%p) ({\n" UNIFORM(
                                            "v", "lo",
                                            "hi") "    stablehlo.return %v : tensor<f32>\n  }, {\n "
                                                  "   stablehlo.return %a : tensor<f32>\n"
                                                  "  }) : (tensor<i1>) -> tensor<f32>\n"
                                                  "  %y = stablehlo.multiply %u, %w : tensor<f32>\n"
                                                  "  stablehlo.return %y : tensor<f32>\n  }) : "
                                                  "(tensor<3x4xf32>) -> tensor<3x4xf32>\n" UNIFORM(
                                                      "after", "lo",
                                                      "hi") "  return %0, %after : "
                                                            "tensor<3x4xf32>, tensor<f32>\n}\n";

/* In the order of the operand's elements, whichever dimensions go. */
static const char draws_in_reduce[] =
    "func.func @f(%x: tensor<3x4x2xf32>, %i: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, "
    "tensor<f32>) {\n" BOUNDS "  %z = stablehlo.constant dense<0.25> : tensor<f32>\n"
    "  %0:2 = \"stablehlo.reduce\"(%x, %x, %i, %z) <{dimensions = array<i64: 0, 2>}> ({\n"
    "  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):\n" UNIFORM(
        "u", "lo", "hi") "  %s = stablehlo.add %a, %c : tensor<f32>\n"
                         "  %t = stablehlo.multiply %b, %u : tensor<f32>\n"
                         "  %m = stablehlo.maximum %t, %d : tensor<f32>\n"
                         "  stablehlo.return %s, %m : tensor<f32>, tensor<f32>\n"
                         "  }) : (tensor<3x4x2xf32>, tensor<3x4x2xf32>, tensor<f32>, tensor<f32>) "
                         "-> (tensor<4xf32>, tensor<4xf32>)\n" UNIFORM(
                             "after", "lo", "hi") "  return %0#0, %0#1, %after : tensor<4xf32>, "
                                                  "tensor<4xf32>, tensor<f32>\n}\n";

static void test_draws(void **state)
{
    (void)state;
    plan_check_text(draws_in_map, 3, 9, 2e-7);
    plan_check_text(draws_in_reduce, 3, 9, 1e-6);
}

/* T: the type. A branch, a sum over a tensor from outside, and a loop for each element. */
#define GENERAL(T)                                                                             \
    "func.func @main(%x: tensor<2x3x" T ">, %w: tensor<4x" T ">) -> tensor<2x3x" T "> {\n"     \
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"                                    \
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"                                     \
    "  %three = stablehlo.constant dense<3> : tensor<i32>\n"                                   \
    "  %0 = \"stablehlo.map\"(%x) <{dimensions = array<i64: 0, 1>}> ({\n"                      \
    "  ^bb0(%a: tensor<" T ">):\n"                                                             \
    "    %b = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<" T ">) -> tensor<4x" T ">\n" \
    "    %p = stablehlo.multiply %b, %w : tensor<4x" T ">\n"                                   \
    "    %q = stablehlo.slice %p [1:2] : (tensor<4x" T ">) -> tensor<1x" T ">\n"               \
    "    %r = stablehlo.reshape %q : (tensor<1x" T ">) -> tensor<" T ">\n"                     \
    "    %l:2 = stablehlo.while(%i = %zero, %c = %r) : tensor<i32>, tensor<" T ">\n"           \
    "    cond {\n"                                                                             \
    "      %m = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>\n" \
    "      stablehlo.return %m : tensor<i1>\n    } do {\n"                                     \
    "      %n = stablehlo.add %i, %one : tensor<i32>\n"                                        \
    "      %s = stablehlo.sine %c : tensor<" T ">\n"                                           \
    "      %t = stablehlo.add %s, %a : tensor<" T ">\n"                                        \
    "      stablehlo.return %n, %t : tensor<i32>, tensor<" T ">\n    }\n"                      \
    "    stablehlo.return %l#1 : tensor<" T ">\n"                                              \
    "  }) : (tensor<2x3x" T ">) -> tensor<2x3x" T ">\n"                                        \
    "  return %0 : tensor<2x3x" T ">\n}\n"

static void test_general_map(void **state)
{
    (void)state;
    plan_check_text(GENERAL("f32"), 5, 9, 1e-6);
    plan_check_text(GENERAL("f64"), 5, 9, 1e-14);
    plan_check_text(GENERAL("complex<f32>"), 5, 9, 4e-6);
    plan_check_text(GENERAL("complex<f64>"), 5, 9, 1e-13);
}

static void test_gradient(void **state)
{
    static const char loss[] =
        "func.func @main(%x: tensor<2x3xf64>, %w: tensor<f64>) -> tensor<f64> {\n"
        "  %zero = stablehlo.constant dense<0.0> : tensor<f64>\n"
        "  %half = stablehlo.constant dense<0.6> : tensor<f64>\n"
        "  %0 = \"stablehlo.map\"(%x) <{dimensions = array<i64: 0, 1>}> ({\n"
        "  ^bb0(%a: tensor<f64>):\n"
        "    %p = stablehlo.compare LT, %a, %half : (tensor<f64>, tensor<f64>) -> tensor<i1>\n"
        "    %r = \"stablehlo.if\"(%p) ({\n"
        "      %s = stablehlo.sine %a : tensor<f64>\n"
        "      stablehlo.return %s : tensor<f64>\n    }, {\n"
        "      %m = stablehlo.multiply %a, %w : tensor<f64>\n"
        "      stablehlo.return %m : tensor<f64>\n    }) : (tensor<i1>) -> tensor<f64>\n"
        "    stablehlo.return %r : tensor<f64>\n"
        "  }) : (tensor<2x3xf64>) -> tensor<2x3xf64>\n"
        "  %1 = stablehlo.multiply %0, %0 : tensor<2x3xf64>\n"
        "  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] "
        ": (tensor<2x3xf64>, tensor<f64>) -> tensor<f64>\n"
        "  return %2 : tensor<f64>\n}\n";
    (void)state;
    err_t err = {0};
    str_t text = {0};
    ir_module_t *module = parse_stablehlo(loss, strlen(loss), "test", &err);
    if (!module || passes_run_one(module, "expand", &err) < 0) fail_msg("%s", err.text);
    ir_print_module(module, &text);
    ir_module_destroy(&module);
    gradient_text_check("a branch for each element", str_text(&text), 0.1, 1.3);
    gradient_text_plan("a branch for each element", str_text(&text));
    str_fini(&text);
}

static void test_refused(void **state)
{
    static const char in_sort[] =
        "func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {\n" BOUNDS
        "  %r = \"stablehlo.sort\"(%x) ({\n"
        "  ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n" UNIFORM(
            "u", "lo",
            "hi") "  %m = stablehlo.compare LT, %p, %u : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                  "  stablehlo.return %m : tensor<i1>\n  }) {dimension = 0 : i64} : "
                  "(tensor<5xf32>) -> "
                  "tensor<5xf32>\n  return %r : tensor<5xf32>\n}\n";
    (void)state;
    err_t err = {0};
    ir_module_t *module = parse_stablehlo(in_sort, strlen(in_sort), "test", &err);
    if (!module) fail_msg("%s", err.text);
    assert_int_equal(passes_run(module, NULL, NULL, &err), -1);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "line 5"));
    assert_non_null(strstr(err.text, "stablehlo.rng inside of stablehlo.sort"));
    ir_module_destroy(&module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_general_map),
        cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
