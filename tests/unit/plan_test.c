/* Plans against the interpreter: what fuses, what becomes a product, what moves, all element types.
 * */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ir/build.h"
#include "plan_help.h"
#include "plan_random.h"
#include "random_program.h"

/* f32 sums of a few hundred terms in another order, and the prelude's polynomials. */
static const double F32 = 2e-5;

static void test_maps_and_views(void **state)
{
    (void)state;
    plan_check_text(
        "func.func public @bias(%a: tensor<7x33xf32>, %b: tensor<33xf32>) -> tensor<7x33xf32> {\n"
        "  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<33xf32>) -> tensor<7x33xf32>\n"
        "  %1 = stablehlo.add %a, %0 : tensor<7x33xf32>\n"
        "  %2 = stablehlo.tanh %1 : tensor<7x33xf32>\n"
        "  %3 = stablehlo.multiply %2, %a : tensor<7x33xf32>\n"
        "  return %3 : tensor<7x33xf32>\n}\n"
        "func.func public @views(%a: tensor<4x6x10xf32>) -> (tensor<10x4x3x2xf32>, "
        "tensor<5x7x13xf32>) {\n"
        "  %z = stablehlo.constant dense<3.0> : tensor<f32>\n"
        "  %0 = stablehlo.reshape %a : (tensor<4x6x10xf32>) -> tensor<4x3x2x10xf32>\n"
        "  %1 = stablehlo.transpose %0, dims = [3, 0, 1, 2] : (tensor<4x3x2x10xf32>) -> "
        "tensor<10x4x3x2xf32>\n"
        "  %2 = stablehlo.negate %1 : tensor<10x4x3x2xf32>\n"
        "  %3 = stablehlo.reverse %a, dims = [0, 2] : tensor<4x6x10xf32>\n"
        "  %4 = stablehlo.slice %3 [0:4:2, 1:6, 0:10:3] : (tensor<4x6x10xf32>) -> "
        "tensor<2x5x4xf32>\n"
        "  %5 = stablehlo.pad %4, %z, low = [1, 2, -1], high = [1, 0, 2], interior = [1, 0, 3] : "
        "(tensor<2x5x4xf32>, tensor<f32>) -> tensor<5x7x14xf32>\n"
        "  %6 = stablehlo.slice %5 [0:5, 0:7, 0:13] : (tensor<5x7x14xf32>) -> tensor<5x7x13xf32>\n"
        "  return %2, %6 : tensor<10x4x3x2xf32>, tensor<5x7x13xf32>\n}\n"
        "func.func public @join(%a: tensor<3x8xf32>, %b: tensor<3x4xf32>, %c: tensor<3x12xf32>) -> "
        "tensor<6x24xf32> {\n"
        "  %0 = stablehlo.concatenate %a, %b, %c, dim = 1 : (tensor<3x8xf32>, tensor<3x4xf32>, "
        "tensor<3x12xf32>) -> tensor<3x24xf32>\n"
        "  %1 = stablehlo.exponential %0 : tensor<3x24xf32>\n"
        "  %2 = stablehlo.concatenate %1, %0, dim = 0 : (tensor<3x24xf32>, tensor<3x24xf32>) -> "
        "tensor<6x24xf32>\n"
        "  return %2 : tensor<6x24xf32>\n}\n"
        "func.func public @same(%a: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, "
        "tensor<2xf32>) {\n"
        "  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
        "  return %a, %a, %0 : tensor<3xf32>, tensor<3xf32>, tensor<2xf32>\n}\n",
        1, 5, F32);
}

static void test_masks(void **state)
{
    (void)state;
    plan_check_text(
        "func.func public @causal(%a: tensor<2x9x9xf32>) -> tensor<2x9x9xf32> {\n"
        "  %inf = stablehlo.constant dense<0xFF800000> : tensor<2x9x9xf32>\n"
        "  %one = stablehlo.constant dense<1> : tensor<9x9xi64>\n"
        "  %i = stablehlo.iota dim = 0 : tensor<9x9xi64>\n"
        "  %j = stablehlo.iota dim = 1 : tensor<9x9xi64>\n"
        "  %i1 = stablehlo.add %i, %one : tensor<9x9xi64>\n"
        "  %p = stablehlo.compare LT, %j, %i1, SIGNED : (tensor<9x9xi64>, tensor<9x9xi64>) -> "
        "tensor<9x9xi1>\n"
        "  %q = stablehlo.broadcast_in_dim %p, dims = [1, 2] : (tensor<9x9xi1>) -> "
        "tensor<2x9x9xi1>\n"
        "  %0 = stablehlo.select %q, %a, %inf : tensor<2x9x9xi1>, tensor<2x9x9xf32>\n"
        "  return %0 : tensor<2x9x9xf32>\n}\n"
        "func.func public @branch(%p: tensor<i1>, %a: tensor<5xf32>) -> tensor<5xf32> {\n"
        "  %0 = \"stablehlo.if\"(%p) ({\n"
        "    %1 = stablehlo.negate %a : tensor<5xf32>\n"
        "    stablehlo.return %1 : tensor<5xf32>\n"
        "  }, {\n    stablehlo.return %a : tensor<5xf32>\n  }) : (tensor<i1>) -> tensor<5xf32>\n"
        "  return %0 : tensor<5xf32>\n}\n",
        2, 2, F32);
}

static void test_products(void **state)
{
    (void)state;
    plan_check_text(
        "func.func public @fused(%a: tensor<5x7xf32>, %b: tensor<9x7xf32>, %c: tensor<9xf32>) -> "
        "tensor<5x9xf32> {\n"
        "  %t = stablehlo.transpose %b, dims = [1, 0] : (tensor<9x7xf32>) -> tensor<7x9xf32>\n"
        "  %0 = stablehlo.exponential %a : tensor<5x7xf32>\n"
        "  %1 = stablehlo.dot_general %0, %t, contracting_dims = [1] x [0] : (tensor<5x7xf32>, "
        "tensor<7x9xf32>) -> tensor<5x9xf32>\n"
        "  %2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<9xf32>) -> tensor<5x9xf32>\n"
        "  %3 = stablehlo.add %1, %2 : tensor<5x9xf32>\n"
        "  return %3 : tensor<5x9xf32>\n}\n"
        "func.func public @transposed(%a: tensor<6x5xf32>, %b: tensor<6x8xf32>) -> tensor<8x5xf32> "
        "{\n"
        "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<6x5xf32>, "
        "tensor<6x8xf32>) -> tensor<5x8xf32>\n"
        "  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<5x8xf32>) -> tensor<8x5xf32>\n"
        "  %2 = stablehlo.tanh %1 : tensor<8x5xf32>\n"
        "  return %2 : tensor<8x5xf32>\n}\n"
        "func.func public @wide(%a: tensor<3x4x5xf64>, %b: tensor<5x2x4xf64>) -> tensor<3x2xf64> "
        "{\n"
        "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1, 2] x [2, 0] : "
        "(tensor<3x4x5xf64>, tensor<5x2x4xf64>) -> tensor<3x2xf64>\n"
        "  return %0 : tensor<3x2xf64>\n}\n"
        "func.func public @integers(%a: tensor<3x4xi32>, %b: tensor<4x2xi32>) -> tensor<3x2xi32> "
        "{\n"
        "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xi32>, "
        "tensor<4x2xi32>) -> tensor<3x2xi32>\n"
        "  return %0 : tensor<3x2xi32>\n}\n"
        "func.func public @reversed(%a: tensor<6x8xf32>, %b: tensor<6x8xf32>) -> (tensor<6xf32>, "
        "tensor<6x5x5xf32>) {\n"
        "  %r = stablehlo.reverse %a, dims = [0] : tensor<6x8xf32>\n"
        "  %0 = stablehlo.dot_general %r, %b, batching_dims = [0] x [0], contracting_dims = [1] x "
        "[1] : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6xf32>\n"
        "  %s = stablehlo.slice %r [0:6, 0:5] : (tensor<6x8xf32>) -> tensor<6x5xf32>\n"
        "  %t = stablehlo.slice %b [0:6, 0:5] : (tensor<6x8xf32>) -> tensor<6x5xf32>\n"
        "  %1 = stablehlo.dot_general %t, %s, batching_dims = [0] x [0], contracting_dims = [] x "
        "[] : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5x5xf32>\n"
        "  return %0, %1 : tensor<6xf32>, tensor<6x5x5xf32>\n"
        "}\n"
        "func.func public @outer(%a: tensor<3xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {\n"
        "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<3xf32>, "
        "tensor<4xf32>) -> tensor<3x4xf32>\n"
        "  return %0 : tensor<3x4xf32>\n}\n",
        3, 5, F32);
}

/* Pieces side by side, stored and summed over rows by blocks of columns that none of them ends
 * with: plain loops over each piece's share of a block. */
static void test_pieces(void **state)
{
    static const char text[] =
        "func.func public @main(%x: tensor<40x48xf32>, %y: tensor<40x50xf32>, %z: "
        "tensor<40x48xf32>)"
        " -> (tensor<40x146xbf16>, tensor<146xf32>) {\n"
        "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %0 = stablehlo.concatenate %x, %y, %z, dim = 1 : (tensor<40x48xf32>, tensor<40x50xf32>, "
        "tensor<40x48xf32>) -> tensor<40x146xf32>\n"
        "  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : "
        "(tensor<40x146xf32>, tensor<f32>) -> tensor<146xf32>\n"
        "  %2 = stablehlo.convert %0 : (tensor<40x146xf32>) -> tensor<40x146xbf16>\n"
        "  return %2, %1 : tensor<40x146xbf16>, tensor<146xf32>\n}\n";
    err_t err = {0};
    (void)state;
    char *code = compile_emit(text, strlen(text), "test", STAGE_C, NULL, target_host(), &err);
    if (!code) fail_msg("%s", err.text);
    const char *kernels = strstr(code, "\nvoid k");
    assert_non_null(kernels);
    assert_null(strstr(kernels, ">= 0")); /* no element asks where it is */
    free(code);
    plan_check_text(text, 12, 1, F32);
}

/* Heads of a [batch, time, head, depth] buffer, both ways, and a backward product into it. */
static void test_attention(void **state)
{
    (void)state;
    plan_check_text(
        "func.func public @main(%x: tensor<16x24xf32>, %w: tensor<72x24xf32>) -> tensor<16x24xf32> "
        "{\n"
        "  %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<72x24xf32>) -> tensor<24x72xf32>\n"
        "  %0 = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<16x24xf32>, "
        "tensor<24x72xf32>) -> tensor<16x72xf32>\n"
        "  %1 = stablehlo.reshape %0 : (tensor<16x72xf32>) -> tensor<2x8x72xf32>\n"
        "  %q0 = stablehlo.slice %1 [0:2, 0:8, 0:24] : (tensor<2x8x72xf32>) -> tensor<2x8x24xf32>\n"
        "  %k0 = stablehlo.slice %1 [0:2, 0:8, 24:48] : (tensor<2x8x72xf32>) -> "
        "tensor<2x8x24xf32>\n"
        "  %v0 = stablehlo.slice %1 [0:2, 0:8, 48:72] : (tensor<2x8x72xf32>) -> "
        "tensor<2x8x24xf32>\n"
        "  %q1 = stablehlo.reshape %q0 : (tensor<2x8x24xf32>) -> tensor<2x8x3x8xf32>\n"
        "  %k1 = stablehlo.reshape %k0 : (tensor<2x8x24xf32>) -> tensor<2x8x3x8xf32>\n"
        "  %v1 = stablehlo.reshape %v0 : (tensor<2x8x24xf32>) -> tensor<2x8x3x8xf32>\n"
        "  %q2 = stablehlo.transpose %q1, dims = [0, 2, 1, 3] : (tensor<2x8x3x8xf32>) -> "
        "tensor<2x3x8x8xf32>\n"
        "  %k2 = stablehlo.transpose %k1, dims = [0, 2, 3, 1] : (tensor<2x8x3x8xf32>) -> "
        "tensor<2x3x8x8xf32>\n"
        "  %v2 = stablehlo.transpose %v1, dims = [0, 2, 1, 3] : (tensor<2x8x3x8xf32>) -> "
        "tensor<2x3x8x8xf32>\n"
        "  %q3 = stablehlo.reshape %q2 : (tensor<2x3x8x8xf32>) -> tensor<6x8x8xf32>\n"
        "  %k3 = stablehlo.reshape %k2 : (tensor<2x3x8x8xf32>) -> tensor<6x8x8xf32>\n"
        "  %v3 = stablehlo.reshape %v2 : (tensor<2x3x8x8xf32>) -> tensor<6x8x8xf32>\n"
        "  %s = stablehlo.dot_general %q3, %k3, batching_dims = [0] x [0], contracting_dims = [2] "
        "x [1] : (tensor<6x8x8xf32>, tensor<6x8x8xf32>) -> tensor<6x8x8xf32>\n"
        "  %m = stablehlo.reduce(%s init: %ninf) applies stablehlo.maximum across dimensions = [2] "
        ": (tensor<6x8x8xf32>, tensor<f32>) -> tensor<6x8xf32>\n"
        "  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<6x8xf32>) -> "
        "tensor<6x8x8xf32>\n"
        "  %d = stablehlo.subtract %s, %mb : tensor<6x8x8xf32>\n"
        "  %e = stablehlo.exponential %d : tensor<6x8x8xf32>\n"
        "  %n = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : "
        "(tensor<6x8x8xf32>, tensor<f32>) -> tensor<6x8xf32>\n"
        "  %nb = stablehlo.broadcast_in_dim %n, dims = [0, 1] : (tensor<6x8xf32>) -> "
        "tensor<6x8x8xf32>\n"
        "  %p = stablehlo.divide %e, %nb : tensor<6x8x8xf32>\n"
        "  %o = stablehlo.dot_general %p, %v3, batching_dims = [0] x [0], contracting_dims = [2] x "
        "[1] : (tensor<6x8x8xf32>, tensor<6x8x8xf32>) -> tensor<6x8x8xf32>\n"
        "  %o1 = stablehlo.reshape %o : (tensor<6x8x8xf32>) -> tensor<2x3x8x8xf32>\n"
        "  %o2 = stablehlo.transpose %o1, dims = [0, 2, 1, 3] : (tensor<2x3x8x8xf32>) -> "
        "tensor<2x8x3x8xf32>\n"
        "  %o3 = stablehlo.reshape %o2 : (tensor<2x8x3x8xf32>) -> tensor<16x24xf32>\n"
        "  return %o3 : tensor<16x24xf32>\n}\n",
        4, 5, F32);
}

static void test_reductions(void **state)
{
    static const struct {
        const char *x, *y, *dims, *op, *init;
    } cases[] = {
        {"2048x40xf32", "40xf32", "0", "add", "0.0"},
        {"2048x40xf32", "2048xf32", "1", "maximum", "-3.0"},
        {"3x5x7x2xf32", "5x2xf32", "0, 2", "add", "1.5"},
        {"3x5x7x2xf32", "3x2xf32", "1, 2", "minimum", "9.0"},
        {"131x300xf32", "f32", "0, 1", "add", "0.0"},
        {"6x4xf32", "f32", "0, 1", "multiply", "1.0"},
        {"9x3000xf32", "3000xf32", "0", "add", "0.0"},
        {"40x50xi32", "40xi32", "1", "add", "0"},
        {"40x50xi64", "50xi64", "0", "maximum", "-5"},
        {"12x9xi1", "12xi1", "1", "or", "false"},
        {"600x16xbf16", "16xbf16", "0", "add", "0.0"},
        {"70x90xf64", "70xf64", "1", "add", "0.0"},
        {"1x70000xf32", "1xf32", "1", "add", "0.25"},
        {"5x1x6xf32", "5x6xf32", "1", "add", "0.0"},
        {"4x5x6xui8", "4x6xui8", "1", "add", "7"},
        {"4x5x6xf16", "4x5xf16", "2", "maximum", "0xFC00"},
    };
    (void)state;
    str_t text = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *dtype = strrchr(cases[i].x, 'x') + 1;
        str_addf(&text,
                 "func.func public @r%zu(%%x: tensor<%s>) -> tensor<%s> {\n"
                 "  %%i = stablehlo.constant dense<%s> : tensor<%s>\n"
                 "  %%0 = stablehlo.reduce(%%x init: %%i) applies stablehlo.%s across dimensions = "
                 "[%s] : "
                 "(tensor<%s>, tensor<%s>) -> tensor<%s>\n  return %%0 : tensor<%s>\n}\n",
                 i, cases[i].x, cases[i].y, cases[i].init, dtype, cases[i].op, cases[i].dims,
                 cases[i].x, dtype, cases[i].y, cases[i].y);
    }
    /* bf16 sums: the interpreter rounds after every addition, the plan once; 600 terms of up to 2.
     * */
    plan_check_text(str_text(&text), 5, 2, 0.03);
    str_fini(&text);
}

/* A layer norm as exports write it, partly in f64, with column sums of its product. */
static void test_row_group(void **state)
{
    (void)state;
    plan_check_text("func.func public @main(%x: tensor<1024x48xf32>, %g: tensor<48xf32>) -> "
                    "(tensor<1024x48xf32>, tensor<48xf32>) {\n"
                    "  %z = stablehlo.constant dense<0.0> : tensor<f64>\n  %zf = "
                    "stablehlo.constant dense<0.0> : tensor<f32>\n"
                    "  %n = stablehlo.constant dense<48.0> : tensor<1024xf64>\n  %eps = "
                    "stablehlo.constant dense<1.0e-5> : tensor<1024xf32>\n"
                    "  %0 = stablehlo.convert %x : (tensor<1024x48xf32>) -> tensor<1024x48xf64>\n"
                    "  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions "
                    "= [1] : (tensor<1024x48xf64>, tensor<f64>) -> tensor<1024xf64>\n"
                    "  %2 = stablehlo.divide %1, %n : tensor<1024xf64>\n"
                    "  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<1024xf64>) -> "
                    "tensor<1024x48xf64>\n"
                    "  %4 = stablehlo.subtract %0, %3 : tensor<1024x48xf64>\n  %5 = "
                    "stablehlo.multiply %4, %4 : tensor<1024x48xf64>\n"
                    "  %6 = stablehlo.reduce(%5 init: %z) applies stablehlo.add across dimensions "
                    "= [1] : (tensor<1024x48xf64>, tensor<f64>) -> tensor<1024xf64>\n"
                    "  %7 = stablehlo.divide %6, %n : tensor<1024xf64>\n  %8 = stablehlo.convert "
                    "%7 : (tensor<1024xf64>) -> tensor<1024xf32>\n"
                    "  %9 = stablehlo.add %8, %eps : tensor<1024xf32>\n  %10 = stablehlo.rsqrt %9 "
                    ": tensor<1024xf32>\n"
                    "  %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<1024xf32>) -> "
                    "tensor<1024x48xf32>\n"
                    "  %12 = stablehlo.convert %4 : (tensor<1024x48xf64>) -> tensor<1024x48xf32>\n"
                    "  %13 = stablehlo.multiply %12, %11 : tensor<1024x48xf32>\n"
                    "  %14 = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<48xf32>) -> "
                    "tensor<1024x48xf32>\n"
                    "  %15 = stablehlo.multiply %13, %14 : tensor<1024x48xf32>\n"
                    "  %16 = stablehlo.reduce(%15 init: %zf) applies stablehlo.add across "
                    "dimensions = [0] : (tensor<1024x48xf32>, tensor<f32>) -> tensor<48xf32>\n"
                    "  return %15, %16 : tensor<1024x48xf32>, tensor<48xf32>\n}\n",
                    6, 5, F32);
}

static void test_indices(void **state)
{
    (void)state;
    plan_check_text(
        "func.func public @embed(%w: tensor<11x6xf32>, %t: tensor<3x4xi64>) -> tensor<3x4x6xf32> "
        "{\n"
        "  %0 = \"stablehlo.gather\"(%w, %t) <{dimension_numbers = #stablehlo.gather<offset_dims = "
        "[2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, "
        "indices_are_sorted = false, slice_sizes = array<i64: 1, 6>}> : (tensor<11x6xf32>, "
        "tensor<3x4xi64>) -> tensor<3x4x6xf32>\n"
        "  return %0 : tensor<3x4x6xf32>\n}\n"
        "func.func public @embed_back(%w: tensor<11x6xf32>, %t: tensor<40x1xi64>, %u: "
        "tensor<40x6xf32>) -> tensor<11x6xf32> {\n"
        "  %0 = \"stablehlo.scatter\"(%w, %t, %u) <{scatter_dimension_numbers = "
        "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n"
        "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    %1 = stablehlo.add %a, %b : tensor<f32>\n  "
        "  stablehlo.return %1 : tensor<f32>\n"
        "  }) : (tensor<11x6xf32>, tensor<40x1xi64>, tensor<40x6xf32>) -> tensor<11x6xf32>\n"
        "  return %0 : tensor<11x6xf32>\n}\n"
        "func.func public @pick_back(%t: tensor<9xi64>, %u: tensor<9xf32>) -> tensor<9x13xf32> {\n"
        "  %z = stablehlo.constant dense<0.0> : tensor<9x13xf32>\n"
        "  %i = stablehlo.iota dim = 0 : tensor<9x1xi64>\n  %j = stablehlo.reshape %t : "
        "(tensor<9xi64>) -> tensor<9x1xi64>\n"
        "  %ij = stablehlo.concatenate %i, %j, dim = 1 : (tensor<9x1xi64>, tensor<9x1xi64>) -> "
        "tensor<9x2xi64>\n"
        "  %0 = \"stablehlo.scatter\"(%z, %ij, %u) <{scatter_dimension_numbers = "
        "#stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], "
        "index_vector_dim = 1>}> ({\n"
        "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    %1 = stablehlo.add %a, %b : tensor<f32>\n  "
        "  stablehlo.return %1 : tensor<f32>\n"
        "  }) : (tensor<9x13xf32>, tensor<9x2xi64>, tensor<9xf32>) -> tensor<9x13xf32>\n"
        "  return %0 : tensor<9x13xf32>\n}\n"
        "func.func public @beside_rows(%w: tensor<11x2xf32>, %s: tensor<3xf32>, %t: "
        "tensor<3x1xi64>) -> (tensor<3x2xf32>, tensor<3xf32>) {\n"
        "  %0 = \"stablehlo.gather\"(%w, %t) <{dimension_numbers = #stablehlo.gather<offset_dims = "
        "[1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
        "slice_sizes = array<i64: 1, 2>}> : (tensor<11x2xf32>, tensor<3x1xi64>) -> "
        "tensor<3x2xf32>\n"
        "  %1 = stablehlo.negate %s : tensor<3xf32>\n"
        "  %2 = \"stablehlo.scatter\"(%1, %t, %s) <{scatter_dimension_numbers = "
        "#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
        "index_vector_dim = 1>}> ({\n"
        "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    %3 = stablehlo.add %a, %b : tensor<f32>\n  "
        "  stablehlo.return %3 : tensor<f32>\n"
        "  }) : (tensor<3xf32>, tensor<3x1xi64>, tensor<3xf32>) -> tensor<3xf32>\n"
        "  return %0, %2 : tensor<3x2xf32>, tensor<3xf32>\n}\n"
        "func.func public @windows(%x: tensor<8x9xf32>, %i: tensor<i64>, %j: tensor<i64>, %u: "
        "tensor<2x3xf32>) -> (tensor<4x5xf32>, tensor<8x9xf32>) {\n"
        "  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [4, 5] : (tensor<8x9xf32>, "
        "tensor<i64>, tensor<i64>) -> tensor<4x5xf32>\n"
        "  %1 = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<8x9xf32>, tensor<2x3xf32>, "
        "tensor<i64>, tensor<i64>) -> tensor<8x9xf32>\n"
        "  return %0, %1 : tensor<4x5xf32>, tensor<8x9xf32>\n}\n",
        7, 14, F32); /* indices run beyond the tables: gather clamps, scatter drops */
}

/* T stands for the type. Integers stay small enough for i4's products to wrap too. */
static const char every_type[] =
    "func.func public @binary_T(%a: tensor<5x19xT>, %b: tensor<5x19xT>) -> (tensor<5x19xT>, "
    "tensor<5x19xT>, tensor<5x19xi1>) {\n"
    "  %0 = stablehlo.multiply %a, %b : tensor<5x19xT>\n  %1 = stablehlo.add %0, %a : "
    "tensor<5x19xT>\n"
    "  %2 = stablehlo.maximum %1, %b : tensor<5x19xT>\n  %3 = stablehlo.subtract %b, %a : "
    "tensor<5x19xT>\n"
    "  %4 = stablehlo.minimum %3, %2 : tensor<5x19xT>\n"
    "  %5 = stablehlo.compare LE, %a, %b : (tensor<5x19xT>, tensor<5x19xT>) -> tensor<5x19xi1>\n"
    "  %6 = stablehlo.select %5, %4, %2 : tensor<5x19xi1>, tensor<5x19xT>\n"
    "  return %6, %1, %5 : tensor<5x19xT>, tensor<5x19xT>, tensor<5x19xi1>\n}\n"
    "func.func public @convert_T(%a: tensor<77xT>) -> (tensor<77xf32>, tensor<77xi32>, "
    "tensor<77xbf16>, tensor<77xi1>) {\n"
    "  %0 = stablehlo.convert %a : (tensor<77xT>) -> tensor<77xf32>\n  %1 = stablehlo.convert %a : "
    "(tensor<77xT>) -> tensor<77xi32>\n"
    "  %2 = stablehlo.convert %a : (tensor<77xT>) -> tensor<77xbf16>\n  %3 = stablehlo.convert %a "
    ": (tensor<77xT>) -> tensor<77xi1>\n"
    "  return %0, %1, %2, %3 : tensor<77xf32>, tensor<77xi32>, tensor<77xbf16>, tensor<77xi1>\n}\n";

static void test_types(void **state)
{
    static const char *const types[] = {"f32", "f64", "bf16", "f16", "i2",  "i4",   "i8",   "i16",
                                        "i32", "i64", "ui2",  "ui4", "ui8", "ui16", "ui32", "ui64"};
    (void)state;
    str_t text = {0};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (const char *p = every_type; *p; p++) {
            if (*p == 'T')
                str_add(&text, types[t]);
            else
                str_addn(&text, p, 1);
        }
    plan_check_text(str_text(&text), 8, 4, 1e-6);
    str_fini(&text);
}

/* Expressions are walked by recursion, and so must not grow as long as programs do. */
static void test_long_chain(void **state)
{
    (void)state;
    ir_module_t *m = ir_module_new();
    ir_type_t type = ir_type(DT_I32, 1, (int64_t[]){7}), types[2] = {type, type};
    ir_fn_t *fn = ir_fn_new(m, "main", 2, types);
    ir_val_t x = ir_fn_param(fn, 0), y = ir_fn_param(fn, 1);
    for (int i = 0; i < 30000; i++) x = ir_op2(fn, i % 3 ? OP_add : OP_xor, x, y);
    assert_int_equal(ir_fn_finish(fn, 1, &x, NULL), 0);
    plan_check_module(m, &(plan_check_t){3, 100, 1, 0, 1});
}

static void test_random_programs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++)
        plan_check_module(random_program(seed, 60), &(plan_check_t){seed, 6, 2, F32, 1});
    for (uint64_t seed = 1; seed <= 6; seed++)
        plan_check_module(plan_random(seed, 6, 30), &(plan_check_t){seed, 5, 1.5, 3e-5, 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps_and_views), cmocka_unit_test(test_masks),
        cmocka_unit_test(test_products),       cmocka_unit_test(test_attention),
        cmocka_unit_test(test_pieces),         cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_row_group),      cmocka_unit_test(test_indices),
        cmocka_unit_test(test_types),          cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_long_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
