/* Gradients of scatters of several inputs and of any element-wise region, first and second order,
 * by the interpreter and as plans. Updates meet, lie outside and in part outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gradient_text.h"

#define ZERO "  %zero = stablehlo.constant dense<0.0> : tensor<f64>\n"
#define ZERO_ "  %%zero = stablehlo.constant dense<0.0> : tensor<f64>\n"

/* Rows of three, five of them, at starts of which one lies outside and, unless unique, two
 * coincide. region: %c, %d (the update), %s and %k (from outside) -> %r */
static void check_rows(const char *what, const char *region, const char *unique)
{
    char text[4096];
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<4x3xf64>, %%u: tensor<5x3xf64>, %%s: tensor<f64>) -> "
             "tensor<f64> {\n" ZERO_
             "  %%at = stablehlo.constant dense<[[1], [3], [%d], [9], [0]]> : tensor<5x1xi32>\n"
             "  %%k = stablehlo.exponential %%s : tensor<f64>\n"
             "  %%y = \"stablehlo.scatter\"(%%x, %%at, %%u) <{scatter_dimension_numbers = "
             "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
             "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = %s}> ({\n"
             "  ^bb0(%%c: tensor<f64>, %%d: tensor<f64>):\n%s"
             "    stablehlo.return %%r : tensor<f64>\n"
             "  }) : (tensor<4x3xf64>, tensor<5x1xi32>, tensor<5x3xf64>) -> tensor<4x3xf64>\n"
             "  %%z = stablehlo.sine %%y : tensor<4x3xf64>\n"
             "  %%loss = stablehlo.reduce(%%z init: %%zero) applies stablehlo.add across "
             "dimensions = [0, 1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<f64>\n"
             "  return %%loss : tensor<f64>\n}\n",
             *unique == 't' ? 7 : 1, unique, region);
    gradient_text_check(what, text, 0.3, 1.2);
    if (strcmp(what, "any region") == 0) gradient_text_plan(what, text);
}

static void test_one_input(void **state)
{
    (void)state;
    static const char general[] = "    %a = stablehlo.sine %c : tensor<f64>\n"
                                  "    %h = stablehlo.constant dense<0.5> : tensor<f64>\n"
                                  "    %b = stablehlo.multiply %a, %d : tensor<f64>\n"
                                  "    %e = stablehlo.multiply %b, %k : tensor<f64>\n"
                                  "    %r = stablehlo.add %e, %h : tensor<f64>\n";
    check_rows("any region", general, "false");
    check_rows("any region, unique", general, "true");
    check_rows("division", "    %r = stablehlo.divide %c, %d : tensor<f64>\n", "false");
    check_rows("division of the update", "    %r = stablehlo.divide %d, %c : tensor<f64>\n",
               "false");
    check_rows("subtraction", "    %r = stablehlo.subtract %c, %d : tensor<f64>\n", "false");
    check_rows("subtraction from it", "    %r = stablehlo.subtract %d, %c : tensor<f64>\n",
               "false");
    check_rows("a function of the input", "    %r = stablehlo.tanh %c : tensor<f64>\n", "true");
    check_rows("a captured value", "    %r = stablehlo.multiply %d, %s : tensor<f64>\n", "false");
    check_rows("nothing", "    %r = stablehlo.multiply %c, %c : tensor<f64>\n", "false");
}

/* Windows that hang over the edges, and a batching dimension in which none meet. */
static void test_windows(void **state)
{
    (void)state;
    gradient_text_check(
        "windows in batches",
        "func.func @main(%x: tensor<2x4x3xf64>, %u: tensor<2x3x2xf64>) -> tensor<f64> {\n" ZERO
        "  %at = stablehlo.constant dense<[[[2, 0], [0, 1]], [[-1, 0], [3, 1]], [[2, 1], [1, 1]]]>"
        " : tensor<3x2x2xi64>\n"
        "  %t = stablehlo.transpose %u, dims = [2, 1, 0] : (tensor<2x3x2xf64>) -> "
        "tensor<2x3x2xf64>\n"
        "  %y = \"stablehlo.scatter\"(%x, %at, %t) <{scatter_dimension_numbers = "
        "#stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [2], "
        "input_batching_dims = [0], scatter_indices_batching_dims = [1], "
        "scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 2>}> ({\n"
        "  ^bb0(%c: tensor<f64>, %d: tensor<f64>):\n"
        "    %p = stablehlo.power %d, %c : tensor<f64>\n"
        "    stablehlo.return %p : tensor<f64>\n"
        "  }) : (tensor<2x4x3xf64>, tensor<3x2x2xi64>, tensor<2x3x2xf64>) -> tensor<2x4x3xf64>\n"
        "  %z = stablehlo.sine %y : tensor<2x4x3xf64>\n"
        "  %loss = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = "
        "[0, 1, 2] : (tensor<2x4x3xf64>, tensor<f64>) -> tensor<f64>\n"
        "  return %loss : tensor<f64>\n}\n",
        0.3, 1.2);
}

/* Two f64 inputs and one of integers between; the region makes what `give` lists. */
static void check_three(const char *what, const char *region, const char *give)
{
    char text[4096];
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<6xf64>, %%y: tensor<6xf64>, %%u: tensor<5xf64>, %%v: "
             "tensor<5xf64>) -> tensor<f64> {\n" ZERO_
             "  %%at = stablehlo.constant dense<[1, 4, 1, -1, 4]> : tensor<5xi32>\n"
             "  %%n = stablehlo.iota dim = 0 : tensor<6xi32>\n"
             "  %%m = stablehlo.iota dim = 0 : tensor<5xi32>\n"
             "  %%r:3 = \"stablehlo.scatter\"(%%x, %%n, %%y, %%at, %%u, %%m, %%v) "
             "<{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], "
             "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n"
             "  ^bb0(%%a: tensor<f64>, %%i: tensor<i32>, %%b: tensor<f64>, %%c: tensor<f64>, %%j: "
             "tensor<i32>, %%d: tensor<f64>):\n%s"
             "    stablehlo.return %s : tensor<f64>, tensor<i32>, tensor<f64>\n"
             "  }) : (tensor<6xf64>, tensor<6xi32>, tensor<6xf64>, tensor<5xi32>, tensor<5xf64>, "
             "tensor<5xi32>, tensor<5xf64>) -> (tensor<6xf64>, tensor<6xi32>, tensor<6xf64>)\n"
             "  %%f = stablehlo.convert %%r#1 : (tensor<6xi32>) -> tensor<6xf64>\n"
             "  %%s = stablehlo.sine %%r#0 : tensor<6xf64>\n"
             "  %%t = stablehlo.multiply %%r#2, %%s : tensor<6xf64>\n"
             "  %%w = stablehlo.multiply %%t, %%f : tensor<6xf64>\n"
             "  %%loss = stablehlo.reduce(%%w init: %%zero) applies stablehlo.add across "
             "dimensions = [0] : (tensor<6xf64>, tensor<f64>) -> tensor<f64>\n"
             "  return %%loss : tensor<f64>\n}\n",
             region, give);
    gradient_text_check(what, text, 0.3, 1.2);
    if (strcmp(what, "sum, product") == 0) gradient_text_plan(what, text);
}

static void test_several_inputs(void **state)
{
    (void)state;
    check_three("sum, product",
                "    %p = stablehlo.add %a, %c : tensor<f64>\n"
                "    %k = stablehlo.maximum %i, %j : tensor<i32>\n"
                "    %q = stablehlo.multiply %d, %b : tensor<f64>\n",
                "%p, %k, %q");
    check_three("maximum, replaced",
                "    %p = stablehlo.maximum %a, %c : tensor<f64>\n"
                "    %k = stablehlo.add %i, %j : tensor<i32>\n",
                "%p, %k, %d");
    check_three("kept, difference", "    %p = stablehlo.subtract %b, %d : tensor<f64>\n",
                "%a, %j, %p");
}

static void test_coupled_inputs(void **state)
{
    (void)state;
    check_three("the larger, its number and its companion",
                "    %g = stablehlo.compare GE, %a, %c : (tensor<f64>, tensor<f64>) -> tensor<i1>\n"
                "    %p = stablehlo.select %g, %a, %c : tensor<i1>, tensor<f64>\n"
                "    %k = stablehlo.select %g, %i, %j : tensor<i1>, tensor<i32>\n"
                "    %q = stablehlo.select %g, %b, %d : tensor<i1>, tensor<f64>\n",
                "%p, %k, %q");
    check_three("complex product",
                "    %ac = stablehlo.multiply %a, %c : tensor<f64>\n"
                "    %bd = stablehlo.multiply %b, %d : tensor<f64>\n"
                "    %ad = stablehlo.multiply %a, %d : tensor<f64>\n"
                "    %bc = stablehlo.multiply %b, %c : tensor<f64>\n"
                "    %p = stablehlo.subtract %ac, %bd : tensor<f64>\n"
                "    %q = stablehlo.add %ad, %bc : tensor<f64>\n"
                "    %k = stablehlo.add %i, %j : tensor<i32>\n",
                "%p, %k, %q");
}

/* Windows that overlap, some entries of which lie in the padding. */
static void test_select_and_scatter(void **state)
{
    (void)state;
    static const char *const regions[][2] = {
        {"product", "    %r = stablehlo.multiply %c, %d : tensor<f64>\n"},
        {"maximum", "    %r = stablehlo.maximum %c, %d : tensor<f64>\n"},
        {"quotient of sines", "    %e = stablehlo.sine %d : tensor<f64>\n"
                              "    %r = stablehlo.divide %c, %e : tensor<f64>\n"},
    };
    for (int i = 0; i < 3; i++) {
        char text[4096];
        snprintf(text, sizeof text,
                 "func.func @main(%%x: tensor<4x5xf64>, %%u: tensor<3x3xf64>, %%i: tensor<f64>) -> "
                 "tensor<f64> {\n" ZERO_
                 "  %%y = \"stablehlo.select_and_scatter\"(%%x, %%u, %%i) <{window_dimensions = "
                 "array<i64: 2, 3>, window_strides = array<i64: 1, 2>, padding = dense<[[0, 0], "
                 "[1, 1]]> : tensor<2x2xi64>}> ({\n"
                 "  ^bb0(%%a: tensor<f64>, %%b: tensor<f64>):\n"
                 "    %%g = stablehlo.compare GE, %%a, %%b : (tensor<f64>, tensor<f64>) -> "
                 "tensor<i1>\n"
                 "    stablehlo.return %%g : tensor<i1>\n  }, {\n"
                 "  ^bb0(%%c: tensor<f64>, %%d: tensor<f64>):\n%s"
                 "    stablehlo.return %%r : tensor<f64>\n"
                 "  }) : (tensor<4x5xf64>, tensor<3x3xf64>, tensor<f64>) -> tensor<4x5xf64>\n"
                 "  %%z = stablehlo.sine %%y : tensor<4x5xf64>\n"
                 "  %%loss = stablehlo.reduce(%%z init: %%zero) applies stablehlo.add across "
                 "dimensions = [0, 1] : (tensor<4x5xf64>, tensor<f64>) -> tensor<f64>\n"
                 "  return %%loss : tensor<f64>\n}\n",
                 regions[i][1]);
        gradient_text_check(regions[i][0], text, 0.3, 1.2);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const char many[] =
        "func.func @main(%x: tensor<9xf64>, %u: tensor<2000xf64>) -> tensor<f64> {\n" ZERO
        "  %at = stablehlo.constant dense<1> : tensor<2000x1xi32>\n"
        "  %y = \"stablehlo.scatter\"(%x, %at, %u) <{scatter_dimension_numbers = "
        "#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
        "index_vector_dim = 1>}> ({\n"
        "  ^bb0(%c: tensor<f64>, %d: tensor<f64>):\n"
        "    %p = stablehlo.divide %c, %d : tensor<f64>\n"
        "    stablehlo.return %p : tensor<f64>\n"
        "  }) : (tensor<9xf64>, tensor<2000x1xi32>, tensor<2000xf64>) -> tensor<9xf64>\n"
        "  %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] "
        ": (tensor<9xf64>, tensor<f64>) -> tensor<f64>\n"
        "  return %loss : tensor<f64>\n}\n";
    gradient_text_refused(many, "line 4: gradient of stablehlo.scatter");
    gradient_text_refused(many, "2000 updates");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_input),          cmocka_unit_test(test_windows),
        cmocka_unit_test(test_several_inputs),     cmocka_unit_test(test_coupled_inputs),
        cmocka_unit_test(test_select_and_scatter), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
