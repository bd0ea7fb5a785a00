/* Convolutions that plans make products of, against the interpreter, which sums in double: every
 * layout, strides, dilation of both sides, padding of both signs, groups of both kinds, reversed
 * kernels, few taps or few positions, and windows that do not fit into one panel. What stays with
 * the plain loops is in plan_loops_test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "plan_help.h"

enum { SEED = 5 };

/* dim_numbers, window, groups (feature, batch), types of x, w and the result. */
static const struct {
    const char *dims, *window, *x, *w, *y;
    int features, batches;
} cases[] = {
    {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", "2x8x9x3", "3x3x3x4",
     "2x8x9x4", 1, 1},
    {"[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "stride = [2, 1], pad = [[0, 1], [2, 0]]",
     "2x5x7x6", "6x5x2x3", "2x6x4x6", 1, 1},
    {"[f, 1, 0, b]x[1, o, 0, i]->[1, f, b, 0]", "lhs_dilate = [2, 3], rhs_dilate = [2, 1]",
     "3x4x5x2", "2x4x3x3", "9x4x2x5", 1, 1},
    {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[-1, 2], [1, -2]], reverse = [true, false]",
     "2x8x9x4", "2x3x4x3", "2x8x6x3", 1, 1},
    {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [1, 2]", "2x6x7x6", "3x3x3x8", "2x4x3x8",
     2, 1},
    {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", "6x6x5x4", "2x2x4x6", "2x5x4x6", 1, 3},
    /* few positions, many taps: what the gradient of a kernel is */
    {"[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", "pad = [[1, 1], [1, 1]]", "4x8x9x3", "4x8x9x5",
     "3x3x3x5", 1, 1},
    {"[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", "rhs_dilate = [2, 2], reverse = [false, true]",
     "4x9x9x3", "4x4x4x5", "3x3x3x5", 1, 1},
    {"[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", "", "4x6x6x6", "4x5x5x6", "2x2x2x6", 1, 3},
    {"[f, 0, 1, b]x[i, 0, 1, o]->[b, 1, f, 0]", "", "8x6x6x3", "4x5x5x6", "3x2x6x2", 2, 1},
    /* one and three spatial dimensions, and none */
    {"[b, 0, f]x[0, i, o]->[b, 0, f]", "stride = [3], pad = [[2, 2]]", "3x20x4", "5x4x6", "3x7x6",
     1, 1},
    {"[b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f]", "", "2x4x5x4x2", "2x2x3x2x3", "2x3x4x2x3",
     1, 1},
    {"[b, f]x[i, o]->[b, f]", "", "5x9", "9x4", "5x4", 1, 1},
    {"[f, b]x[o, i]->[f, b]", "", "20x5", "4x10", "4x5", 2, 1},
};

static void add_convolution(str_t *text, size_t i, const char *type)
{
    str_addf(text,
             "func.func @f%zu(%%x: tensor<%sx%s>, %%w: tensor<%sx%s>) -> tensor<%sx%s> {\n"
             "  %%0 = stablehlo.convolution(%%x, %%w) dim_numbers = %s, window = {%s} "
             "{batch_group_count = %d : i64, feature_group_count = %d : i64} : (tensor<%sx%s>, "
             "tensor<%sx%s>) -> tensor<%sx%s>\n  return %%0 : tensor<%sx%s>\n}\n",
             i, cases[i].x, type, cases[i].w, type, cases[i].y, type, cases[i].dims,
             cases[i].window, cases[i].batches, cases[i].features, cases[i].x, type, cases[i].w,
             type, cases[i].y, type, cases[i].y, type);
}

static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        double tolerance;
    } types[] = {{"f32", 2e-5}, {"f64", 1e-13}, {"bf16", 1e-2}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        str_t text = {0};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            add_convolution(&text, i, types[t].type);
        plan_check_text(str_text(&text), SEED, 9, types[t].tolerance);
        str_fini(&text);
    }
}

/* 75 MB of windows: parts of the batch, and of the positions. */
static void test_panels(void **state)
{
    (void)state;
    plan_check_text(
        "func.func @taps(%x: tensor<4x512x512x2xf32>, %w: tensor<3x3x2x2xf32>) -> tensor<f32> {\n"
        "  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, "
        "f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = "
        "1 : i64} : (tensor<4x512x512x2xf32>, tensor<3x3x2x2xf32>) -> tensor<4x512x512x2xf32>\n"
        "  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.maximum across dimensions = [0, 1, "
        "2, 3] : (tensor<4x512x512x2xf32>, tensor<f32>) -> tensor<f32>\n"
        "  return %1 : tensor<f32>\n}\n"
        "func.func @positions(%x: tensor<4x512x512x2xf32>, %w: tensor<4x512x512x2xf32>) -> "
        "tensor<3x3x2x2xf32> {\n"
        "  %0 = stablehlo.convolution(%x, %w) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, "
        "f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = "
        "1 : i64} : (tensor<4x512x512x2xf32>, tensor<4x512x512x2xf32>) -> tensor<3x3x2x2xf32>\n"
        "  return %0 : tensor<3x3x2x2xf32>\n}\n",
        SEED, 9, 5e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_panels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
