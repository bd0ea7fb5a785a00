/* Ops lowered to plain loops: compiled plans against the interpreter, over element types and odd
 * shapes. In the programs below T stands for the element type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ad/ad.h"
#include "base/str.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "plan_help.h"

/* Every step rounds as in the interpreter; only contraction of a product and a sum may differ. */
static const double EXACT = 0, NEAR = 2e-6;

/* The program with every "xT>" and "<T>" made of one of the types; one module, a function each. */
static void check_types(const char *const *types, const char *program, double tolerance)
{
    str_t text = {0};
    for (int t = 0; types[t]; t++) {
        for (const char *p = program; *p; p++) {
            if (p[0] == '@' && p[1] == 'f')
                str_addf(&text, "@f%d", t), p++;
            else if (*p == 'T' && (p[-1] == 'x' || p[-1] == '<') && p[1] == '>')
                str_add(&text, types[t]);
            else
                str_addn(&text, p, 1);
        }
    }
    plan_check_text(str_text(&text), 7, 100, tolerance);
    str_fini(&text);
}

static const char *const all_types[] = {
    "f32",           "f64",        "bf16",     "f16", "f8E4M3FN", "f8E5M2", "f8E3M4",
    "f8E4M3B11FNUZ", "f8E5M2FNUZ", "f4E2M1FN", "i8",  "i32",      "ui16",   NULL};
static const char *const floats[] = {"f32",    "f64",        "bf16",     "f16", "f8E4M3FN",
                                     "f8E5M2", "f8E4M3FNUZ", "f6E2M3FN", NULL};

static void test_windows(void **state)
{
    (void)state;
    check_types(
        all_types,
        "func.func public @f(%x: tensor<5x7xT>, %i: tensor<T>) -> tensor<4x4xT> {\n"
        "  %0 = \"stablehlo.reduce_window\"(%x, %i) <{window_dimensions = array<i64: 2, 3>, "
        "window_strides = array<i64: 2, 2>, base_dilations = array<i64: 2, 1>, window_dilations = "
        "array<i64: 2, 1>, padding = dense<[[1, 0], [2, 0]]> : tensor<2x2xi64>}> ({\n"
        "  ^bb0(%a: tensor<T>, %b: tensor<T>):\n"
        "    %1 = stablehlo.add %a, %b : tensor<T>\n"
        "    stablehlo.return %1 : tensor<T>\n"
        "  }) : (tensor<5x7xT>, tensor<T>) -> tensor<4x4xT>\n"
        "  return %0 : tensor<4x4xT>\n}\n",
        EXACT);
    check_types(
        all_types,
        "func.func public @f(%x: tensor<6x9xT>, %s: tensor<3x4xT>, %i: tensor<T>) -> "
        "tensor<6x9xT> {\n"
        "  %0 = \"stablehlo.select_and_scatter\"(%x, %s, %i) <{window_dimensions = array<i64: 3, "
        "2>, window_strides = array<i64: 2, 3>, padding = dense<[[0, 1], [1, 1]]> : "
        "tensor<2x2xi64>}> ({\n"
        "  ^bb0(%a: tensor<T>, %b: tensor<T>):\n"
        "    %1 = stablehlo.compare GE, %a, %b : (tensor<T>, tensor<T>) -> tensor<i1>\n"
        "    stablehlo.return %1 : tensor<i1>\n  }, {\n"
        "  ^bb0(%a: tensor<T>, %b: tensor<T>):\n"
        "    %1 = stablehlo.add %a, %b : tensor<T>\n"
        "    stablehlo.return %1 : tensor<T>\n"
        "  }) : (tensor<6x9xT>, tensor<3x4xT>, tensor<T>) -> tensor<6x9xT>\n"
        "  return %0 : tensor<6x9xT>\n}\n",
        EXACT);
}

/* An arg-max with a captured threshold: two operands, a region of several ops. */
static void test_reduce_of_pairs(void **state)
{
    (void)state;
    check_types(
        all_types,
        "func.func public @f(%x: tensor<3x5x4xT>, %y: tensor<3x5x4xi32>, %i: tensor<T>, %j: "
        "tensor<i32>) -> (tensor<5xT>, tensor<5xi32>) {\n"
        "  %0:2 = \"stablehlo.reduce\"(%x, %y, %i, %j) <{dimensions = array<i64: 0, 2>}> ({\n"
        "  ^bb0(%a: tensor<T>, %p: tensor<i32>, %b: tensor<T>, %q: tensor<i32>):\n"
        "    %1 = stablehlo.compare GE, %a, %b : (tensor<T>, tensor<T>) -> tensor<i1>\n"
        "    %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<T>\n"
        "    %3 = stablehlo.select %1, %p, %q : tensor<i1>, tensor<i32>\n"
        "    %4 = stablehlo.maximum %3, %j : tensor<i32>\n"
        "    stablehlo.return %2, %4 : tensor<T>, tensor<i32>\n"
        "  }) : (tensor<3x5x4xT>, tensor<3x5x4xi32>, tensor<T>, tensor<i32>) -> (tensor<5xT>, "
        "tensor<5xi32>)\n"
        "  return %0#0, %0#1 : tensor<5xT>, tensor<5xi32>\n}\n",
        EXACT);
}

static void test_scatter_of_pairs(void **state)
{
    (void)state;
    check_types(
        all_types,
        "func.func public @f(%x: tensor<6x3xT>, %y: tensor<6x3xi64>, %at: tensor<4x1xui8>, %u: "
        "tensor<4x3xT>, %v: tensor<4x3xi64>) -> (tensor<6x3xT>, tensor<6x3xi64>) {\n"
        "  %c = stablehlo.constant dense<9> : tensor<4x1xui8>\n"
        "  %k = stablehlo.remainder %at, %c : tensor<4x1xui8>\n"
        "  %0:2 = \"stablehlo.scatter\"(%x, %y, %k, %u, %v) <{scatter_dimension_numbers = "
        "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n"
        "  ^bb0(%a: tensor<T>, %p: tensor<i64>, %b: tensor<T>, %q: tensor<i64>):\n"
        "    %1 = stablehlo.add %a, %b : tensor<T>\n"
        "    %2 = stablehlo.subtract %p, %q : tensor<i64>\n"
        "    stablehlo.return %1, %2 : tensor<T>, tensor<i64>\n"
        "  }) : (tensor<6x3xT>, tensor<6x3xi64>, tensor<4x1xui8>, tensor<4x3xT>, tensor<4x3xi64>) "
        "-> (tensor<6x3xT>, tensor<6x3xi64>)\n"
        "  return %0#0, %0#1 : tensor<6x3xT>, tensor<6x3xi64>\n}\n",
        EXACT);
}

static void test_convolution(void **state)
{
    (void)state;
    check_types(
        all_types,
        "func.func public @f(%x: tensor<2x6x5x4xT>, %w: tensor<3x2x2x6xT>) -> tensor<2x5x3x6xT> "
        "{\n"
        "  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, "
        "f], window = {stride = [2, 1], pad = [[1, 2], [-1, 1]], lhs_dilate = [2, 1], rhs_dilate = "
        "[2, 2], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : "
        "i64} : (tensor<2x6x5x4xT>, tensor<3x2x2x6xT>) -> tensor<2x5x3x6xT>\n"
        "  return %0 : tensor<2x5x3x6xT>\n}\n",
        NEAR);
}

static void test_order(void **state)
{
    (void)state;
    check_types(
        all_types,
        "func.func public @f(%x: tensor<3x17x2xT>, %y: tensor<3x17x2xi32>) -> (tensor<3x17x2xT>, "
        "tensor<3x17x2xi32>) {\n"
        "  %0:2 = \"stablehlo.sort\"(%x, %y) <{dimension = 1 : i64, is_stable = true}> ({\n"
        "  ^bb0(%a: tensor<T>, %b: tensor<T>, %p: tensor<i32>, %q: tensor<i32>):\n"
        "    %1 = stablehlo.compare GT, %a, %b : (tensor<T>, tensor<T>) -> tensor<i1>\n"
        "    stablehlo.return %1 : tensor<i1>\n"
        "  }) : (tensor<3x17x2xT>, tensor<3x17x2xi32>) -> (tensor<3x17x2xT>, "
        "tensor<3x17x2xi32>)\n"
        "  return %0#0, %0#1 : tensor<3x17x2xT>, tensor<3x17x2xi32>\n}\n",
        EXACT);
    check_types(all_types,
                "func.func public @f(%x: tensor<3x40xT>) -> (tensor<3x7xT>, tensor<3x7xi32>) {\n"
                "  %0:2 = chlo.top_k(%x, k = 7) : tensor<3x40xT> -> (tensor<3x7xT>, "
                "tensor<3x7xi32>)\n"
                "  return %0#0, %0#1 : tensor<3x7xT>, tensor<3x7xi32>\n}\n",
                EXACT);
    check_types(floats,
                "func.func public @f(%x: tensor<9xT>) -> (tensor<9xi1>, tensor<9xi1>) {\n"
                "  %z = stablehlo.constant dense<-0.0> : tensor<9xT>\n"
                "  %s = stablehlo.sign %x : tensor<9xT>\n"
                "  %m = stablehlo.multiply %s, %z : tensor<9xT>\n"
                "  %0 = stablehlo.compare LT, %m, %z, TOTALORDER : (tensor<9xT>, tensor<9xT>) -> "
                "tensor<9xi1>\n"
                "  %1 = stablehlo.compare LE, %m, %z, TOTALORDER : (tensor<9xT>, tensor<9xT>) -> "
                "tensor<9xi1>\n"
                "  return %0, %1 : tensor<9xi1>, tensor<9xi1>\n}\n",
                EXACT);
}

static void test_bits(void **state)
{
    (void)state;
    plan_check_text(
        "func.func public @bits(%x: tensor<3x5xf32>, %y: tensor<4x2xbf16>, %z: tensor<6x2xi4>) -> "
        "(tensor<3x5xi32>, tensor<3x5x4xi8>, tensor<4xi32>, tensor<6xi8>, tensor<3x5x8xui4>) {\n"
        "  %0 = stablehlo.bitcast_convert %x : (tensor<3x5xf32>) -> tensor<3x5xi32>\n"
        "  %1 = stablehlo.bitcast_convert %x : (tensor<3x5xf32>) -> tensor<3x5x4xi8>\n"
        "  %2 = stablehlo.bitcast_convert %y : (tensor<4x2xbf16>) -> tensor<4xi32>\n"
        "  %3 = stablehlo.bitcast_convert %z : (tensor<6x2xi4>) -> tensor<6xi8>\n"
        "  %4 = stablehlo.bitcast_convert %x : (tensor<3x5xf32>) -> tensor<3x5x8xui4>\n"
        "  return %0, %1, %2, %3, %4 : tensor<3x5xi32>, tensor<3x5x4xi8>, tensor<4xi32>, "
        "tensor<6xi8>, tensor<3x5x8xui4>\n}\n",
        3, 5, EXACT);
    check_types(floats,
                "func.func public @f(%x: tensor<4x5xT>) -> (tensor<4x5xT>, tensor<4x5xT>) {\n"
                "  %0 = stablehlo.reduce_precision %x, format = e3m2 : tensor<4x5xT>\n"
                "  %1 = stablehlo.reduce_precision %x, format = e8m7 : tensor<4x5xT>\n"
                "  return %0, %1 : tensor<4x5xT>, tensor<4x5xT>\n}\n",
                EXACT);
}

static void test_random_bits(void **state)
{
    (void)state;
    static const char *const widths[] = {"ui64", "ui32", "i16", "ui8", "i4", "i1", NULL};
    check_types(
        widths,
        "func.func public @f(%s: tensor<2xui64>, %p: tensor<3xui64>) -> (tensor<2xui64>, "
        "tensor<3x5x7xT>, tensor<3xui64>, tensor<3x5xT>, tensor<5x4xT>) {\n"
        "  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> "
        "(tensor<2xui64>, tensor<3x5x7xT>)\n"
        "  %2, %3 = stablehlo.rng_bit_generator %p, algorithm = PHILOX : (tensor<3xui64>) -> "
        "(tensor<3xui64>, tensor<3x5xT>)\n"
        "  %4, %5 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> "
        "(tensor<2xui64>, tensor<5x4xT>)\n"
        "  return %0, %1, %2, %3, %5 : tensor<2xui64>, tensor<3x5x7xT>, tensor<3xui64>, "
        "tensor<3x5xT>, tensor<5x4xT>\n}\n",
        EXACT);
}

/* Carries that change places, counts that data decide, a loop in a loop, captured values. */
static void test_while(void **state)
{
    (void)state;
    check_types(
        all_types,
        "func.func public @f(%a: tensor<3xT>, %b: tensor<3xT>, %n: tensor<i32>) -> (tensor<3xT>, "
        "tensor<3xT>, tensor<3xT>, tensor<i32>) {\n"
        "  %c4 = stablehlo.constant dense<4> : tensor<i32>\n"
        "  %m = stablehlo.remainder %n, %c4 : tensor<i32>\n"
        "  %0:4 = stablehlo.while(%i = %m, %x = %a, %y = %b, %z = %b) : tensor<i32>, tensor<3xT>, "
        "tensor<3xT>, tensor<3xT>\n"
        "  cond {\n"
        "    %1 = stablehlo.compare LT, %i, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %1 : tensor<i1>\n  } do {\n"
        "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
        "    %1 = stablehlo.add %i, %one : tensor<i32>\n"
        "    %2:2 = stablehlo.while(%j = %1, %u = %x) : tensor<i32>, tensor<3xT>\n"
        "    cond {\n"
        "      %3 = stablehlo.compare LE, %j, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "      stablehlo.return %3 : tensor<i1>\n    } do {\n"
        "      %3 = stablehlo.add %j, %one : tensor<i32>\n"
        "      %4 = stablehlo.maximum %u, %b : tensor<3xT>\n"
        "      %5 = stablehlo.add %4, %a : tensor<3xT>\n"
        "      stablehlo.return %3, %5 : tensor<i32>, tensor<3xT>\n    }\n"
        "    stablehlo.return %1, %y, %z, %2#1 : tensor<i32>, tensor<3xT>, tensor<3xT>, "
        "tensor<3xT>\n  }\n"
        "  return %0#1, %0#2, %0#3, %0#0 : tensor<3xT>, tensor<3xT>, tensor<3xT>, tensor<i32>\n"
        "}\n",
        EXACT);
}

/* Products and sums inside; the loop's results go on into others and come out. */
static void test_recurrence(void **state)
{
    (void)state;
    plan_check_text(
        "func.func public @scan(%xs: tensor<6x4x8xf32>, %w: tensor<8x8xf32>, %h: tensor<4x8xf32>) "
        "-> (tensor<f32>, tensor<6x4x8xf32>) {\n"
        "  %zero = stablehlo.constant dense<0> : tensor<i64>\n"
        "  %one = stablehlo.constant dense<1> : tensor<i64>\n"
        "  %six = stablehlo.constant dense<6> : tensor<i64>\n"
        "  %f = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %ys = stablehlo.constant dense<0.0> : tensor<6x4x8xf32>\n"
        "  %0:3 = stablehlo.while(%i = %zero, %s = %h, %y = %ys) : tensor<i64>, tensor<4x8xf32>, "
        "tensor<6x4x8xf32>\n"
        "  cond {\n"
        "    %1 = stablehlo.compare LT, %i, %six : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
        "    stablehlo.return %1 : tensor<i1>\n  } do {\n"
        "    %1 = stablehlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, 4, 8] : "
        "(tensor<6x4x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x4x8xf32>\n"
        "    %2 = stablehlo.reshape %1 : (tensor<1x4x8xf32>) -> tensor<4x8xf32>\n"
        "    %3 = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, "
        "tensor<8x8xf32>) -> tensor<4x8xf32>\n"
        "    %4 = stablehlo.add %3, %2 : tensor<4x8xf32>\n"
        "    %5 = stablehlo.tanh %4 : tensor<4x8xf32>\n"
        "    %6 = stablehlo.reshape %5 : (tensor<4x8xf32>) -> tensor<1x4x8xf32>\n"
        "    %7 = stablehlo.dynamic_update_slice %y, %6, %i, %zero, %zero : (tensor<6x4x8xf32>, "
        "tensor<1x4x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<6x4x8xf32>\n"
        "    %8 = stablehlo.add %i, %one : tensor<i64>\n"
        "    stablehlo.return %8, %5, %7 : tensor<i64>, tensor<4x8xf32>, tensor<6x4x8xf32>\n  }\n"
        "  %9 = stablehlo.reduce(%0#1 init: %f) applies stablehlo.add across dimensions = [0, 1] : "
        "(tensor<4x8xf32>, tensor<f32>) -> tensor<f32>\n"
        "  return %9, %0#2 : tensor<f32>, tensor<6x4x8xf32>\n}\n",
        11, 5, 2e-5);
}

/* A loop that would not end where its branch is not taken. */
static void test_case(void **state)
{
    (void)state;
    static const char text[] =
        "func.func public @choose(%p: tensor<i32>, %a: tensor<4xi32>, %q: tensor<i1>) -> "
        "(tensor<4xi32>, tensor<4xi32>) {\n"
        "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %0 = \"stablehlo.case\"(%p) ({\n"
        "    %1 = stablehlo.while(%x = %a) : tensor<4xi32>\n"
        "    cond {\n"
        "      %2 = stablehlo.compare NE, %p, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "      stablehlo.return %2 : tensor<i1>\n    } do {\n"
        "      stablehlo.return %x : tensor<4xi32>\n    }\n"
        "    stablehlo.return %1 : tensor<4xi32>\n  }, {\n"
        "    %1 = stablehlo.add %a, %a : tensor<4xi32>\n"
        "    stablehlo.return %1 : tensor<4xi32>\n  }, {\n"
        "    %1 = stablehlo.negate %a : tensor<4xi32>\n"
        "    stablehlo.return %1 : tensor<4xi32>\n"
        "  }) : (tensor<i32>) -> tensor<4xi32>\n"
        "  %3 = \"stablehlo.if\"(%q) ({\n"
        "    %t = stablehlo.constant dense<true> : tensor<i1>\n"
        "    %1:2 = stablehlo.while(%x = %a, %go = %t) : tensor<4xi32>, tensor<i1>\n"
        "    cond {\n"
        "      stablehlo.return %go : tensor<i1>\n    } do {\n"
        "      %2 = stablehlo.add %x, %x : tensor<4xi32>\n"
        "      %4 = stablehlo.not %q : tensor<i1>\n"
        "      stablehlo.return %2, %4 : tensor<4xi32>, tensor<i1>\n    }\n"
        "    stablehlo.return %1#0 : tensor<4xi32>\n  }, {\n"
        "    stablehlo.return %a : tensor<4xi32>\n"
        "  }) : (tensor<i1>) -> tensor<4xi32>\n"
        "  return %0, %3 : tensor<4xi32>, tensor<4xi32>\n}\n";
    for (uint64_t seed = 1; seed <= 4; seed++) plan_check_text(text, seed, 3, EXACT);
}

/* Whole models with their gradients: convolution and pooling, a recurrence by while. In f64, where
 * only the order of sums differs. */
static void test_models(void **state)
{
    (void)state;
    static const char *const paths[] = {"tests/models/cnn.mlir", "tests/models/gru.mlir"};
    for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
        err_t err = {0};
        bool wanted[16];
        ir_module_t *module = parse_stablehlo_file(paths[k], &err);
        if (!module || passes_run(module, NULL, NULL, &err) < 0) fail_msg("%s", err.text);
        const ir_fn_t *fn = ir_module_entry(module, &err);
        for (int i = 0; i < fn->body->n_arg; i++)
            wanted[i] = dtype_is_float(ir_type_of(fn, ir_fn_param(fn, i))->dtype);
        ir_fn_t *grad = ad_gradient(module, fn, "grad", wanted, &err);
        if (!grad) fail_msg("%s: %s", paths[k], err.text);
        grad->is_private = false;
        const plan_check_t how = {
            .seed = 3, .int_top = 3, .scale = 0.5, .tolerance = 1e-12, .least = 1};
        plan_check_module(module, &how);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_reduce_of_pairs),
        cmocka_unit_test(test_scatter_of_pairs),
        cmocka_unit_test(test_convolution),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_random_bits),
        cmocka_unit_test(test_while),
        cmocka_unit_test(test_recurrence),
        cmocka_unit_test(test_case),
        cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
