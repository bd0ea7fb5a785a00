/* What is done otherwise because it is large: sums of products in parts, long sums by blocks, kernels and results that
 * no cache holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/target.h"
#include "compile/compile.h"
#include "plan_help.h"
#include "runtime/amx.h"

static const char amx[] = "cpu:x86-64-v4-amx";

/* The stage's text for `target`; the caller frees. */
static char *emit(const char *text, compile_stage_t stage, const char *target)
{
    err_t err = {0};
    char *out = compile_emit(text, strlen(text), "t", stage, NULL, target, &err);
    if (!out) fail_msg("%s", err.text);
    return out;
}

static void check_has(const char *text, compile_stage_t stage, const char *target, const char *what,
                      bool has)
{
    char *out = emit(text, stage, target);
    if ((strstr(out, what) != NULL) != has)
        fail_msg("%s: \"%s\" is %s", target, what, has ? "missing" : "there");
    free(out);
}

#define PRODUCT(m, n, k, contract_a, contract_b, a, b)                                     \
    "func.func public @f(%x: tensor<" a "xf32>, %y: tensor<" b "xf32>) -> tensor<" m "x" n \
    "xf32> {\n  %0 = stablehlo.dot_general %x, %y, contracting_dims = [" contract_a        \
    "] x [" contract_b "] : (tensor<" a "xf32>, tensor<" b "xf32>) -> tensor<" m "x" n     \
    "xf32>\n  return %0 : tensor<" m "x" n "xf32>\n}\n"

/* In parts for a matrix unit and for threads without number, whole for others; the same numbers either way and anywhere. */
static void test_sums_in_parts(void **state)
{
    static const char *const texts[] = {
        PRODUCT("128", "256", "8192", "0", "0", "8192x128", "8192x256"),
        PRODUCT("128", "256", "8192", "1", "1", "128x8192", "256x8192"),
        PRODUCT("128", "256", "8192", "1", "0", "128x8192", "8192x256"),
    };
    static const char *const many[] = {"cuda:sm_90", "hip:gfx90a", "vulkan:spirv1.3"};
    (void)state;
    if (target_runs_here(amx, NULL) == 0) assert_int_equal(amx_enable(NULL), 0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_has(texts[i], STAGE_PLAN, amx, "128x256x1024 x8", true);
        check_has(texts[i], STAGE_PLAN, "cpu:x86-64-v4", "128x256x8192", true);
        for (size_t t = 0; t < sizeof many / sizeof many[0]; t++)
            check_has(texts[i], STAGE_PLAN, many[t], "128x256x512 x16", true);
        plan_check_text(texts[i], i, 5, 2e-5);
    }
    /* rows that come by parts, since they are large; */
    check_has(PRODUCT("64", "64", "1048576", "1", "0", "64x1048576", "1048576x64"), STAGE_PLAN, amx,
              "64x64x1048576", true);
    /* results of parts would be more than a quarter of what is copied; fewer terms than pay for it */
    check_has(PRODUCT("4096", "2048", "8192", "0", "0", "8192x4096", "8192x2048"), STAGE_PLAN, amx,
              "4096x2048x8192", true);
    check_has(PRODUCT("64", "64", "1024", "0", "0", "1024x64", "1024x64"), STAGE_PLAN, amx,
              "64x64x1024", true);
    /* few rows, which read their matrix once (plan/lower/stream.h) */
    check_has(PRODUCT("16", "4096", "16384", "1", "0", "16x16384", "16384x4096"), STAGE_PLAN, amx,
              "16x4096x16384", true);
    check_has(PRODUCT("16", "64", "16384", "1", "0", "16x16384", "16384x64"), STAGE_PLAN,
              "cuda:sm_90", "16x64x16384", true);
    /* tiles for a whole device without parts, or with some; terms that do not come in parts */
    check_has(PRODUCT("2048", "1024", "8192", "0", "0", "8192x2048", "8192x1024"), STAGE_PLAN,
              "cuda:sm_90", "2048x1024x8192", true);
    check_has(PRODUCT("768", "768", "16384", "0", "0", "16384x768", "16384x768"), STAGE_PLAN,
              "cuda:sm_90", "768x768x4096 x4", true);
    check_has(PRODUCT("64", "64", "8191", "0", "0", "8191x64", "8191x64"), STAGE_PLAN, "cuda:sm_90",
              "64x64x8191", true);
}

/* 65,536 numbers of one size: a lane that adds every sixteenth is off by 1e-5, one that adds blocks by a tenth of it. */
static void test_long_sums(void **state)
{
    static const char text[] =
        "func.func public @f(%x: tensor<8x65536xf32>) -> tensor<8xf32> {\n"
        "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %c = stablehlo.constant dense<0.1> : tensor<8x65536xf32>\n"
        "  %t = stablehlo.constant dense<1.0e-6> : tensor<8x65536xf32>\n"
        "  %0 = stablehlo.multiply %x, %t : tensor<8x65536xf32>\n"
        "  %1 = stablehlo.add %0, %c : tensor<8x65536xf32>\n"
        "  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [1] : "
        "(tensor<8x65536xf32>, tensor<f32>) -> tensor<8xf32>\n"
        "  return %2 : tensor<8xf32>\n}\n";
    (void)state;
    plan_check_text(text, 3, 5, 1e-6);
}

#define ROUNDED(rows, cols)                                                                    \
    "func.func public @f(%x: tensor<" rows "x" cols "xf32>, %y: tensor<" rows "x" cols         \
    "xf32>) -> (tensor<" rows "x" cols "xbf16>, tensor<" rows "x" cols                         \
    "xf32>) {\n  %0 = stablehlo.add %x, %y : tensor<" rows "x" cols                            \
    "xf32>\n  %1 = stablehlo.convert %0 : (tensor<" rows "x" cols "xf32>) -> tensor<" rows     \
    "x" cols "xbf16>\n  return %1, %0 : tensor<" rows "x" cols "xbf16>, tensor<" rows "x" cols \
    "xf32>\n}\n"

/* Whole lines and others, rows that are cut within a block and at its end. */
static void test_beyond_caches(void **state)
{
    static const char *const texts[] = {ROUNDED("2048", "1536"), ROUNDED("1023", "2051"),
                                        ROUNDED("3", "700001")};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_has(texts[i], STAGE_C, amx, "kc_past(&", true);
        check_has(texts[i], STAGE_C, "cpu:x86-64-v4-2m", "kc_past(&", true);
        check_has(texts[i], STAGE_C, "cpu:x86-64-v4", "kc_past(&", false);
        plan_check_text(texts[i], 7 + i, 5, 0);
    }
    check_has(ROUNDED("256", "1024"), STAGE_C, amx, "kc_past(&", false);
}

/* c = x^T y in bf16, and the sum of its squares, as norms of gradients are made. */
#define SQUARES(m, n)                                                                           \
    "func.func public @f(%x: tensor<64x" m "xbf16>, %y: tensor<64x" n "xbf16>) -> (tensor<" m   \
    "x" n "xf32>, tensor<f32>) {\n  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"         \
    "  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<64x" m         \
    "xbf16>, tensor<64x" n "xbf16>) -> tensor<" m "x" n "xf32>\n  %1 = stablehlo.multiply %0, " \
    "%0 : tensor<" m "x" n "xf32>\n  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add " \
    "across dimensions = [0, 1] : (tensor<" m "x" n "xf32>, tensor<f32>) -> tensor<f32>\n"      \
    "  return %0, %2 : tensor<" m "x" n "xf32>, tensor<f32>\n}\n"

/* Sums of each row's squares, of as many numbers as a tile has, which are a result beside their sum. */
static const char rows_of_squares[] =
    "func.func public @f(%x: tensor<64x1056xbf16>, %y: tensor<64x1024xbf16>) -> "
    "(tensor<1056xf32>, tensor<f32>) {\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<64x1056xbf16>, "
    "tensor<64x1024xbf16>) -> tensor<1056x1024xf32>\n"
    "  %1 = stablehlo.multiply %0, %0 : tensor<1056x1024xf32>\n"
    "  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [1] : "
    "(tensor<1056x1024xf32>, tensor<f32>) -> tensor<1056xf32>\n"
    "  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0] : "
    "(tensor<1056xf32>, tensor<f32>) -> tensor<f32>\n"
    "  return %2, %3 : tensor<1056xf32>, tensor<f32>\n}\n";

/* By the product itself, where its result goes past the caches in whole tiles. */
static void test_squares(void **state)
{
    static const char large[] = SQUARES("1024", "1056");
    (void)state;
    if (target_runs_here(amx, NULL) == 0) assert_int_equal(amx_enable(NULL), 0);
    check_has(large, STAGE_PLAN, amx, "1024x1056x64 and squares", true);
    check_has(large, STAGE_PLAN, "cpu:x86-64-v4-bf16", "squares", false);
    check_has(SQUARES("256", "512"), STAGE_PLAN, amx, "squares", false); /* small */
    check_has(SQUARES("1024", "1040"), STAGE_PLAN, amx, "squares", false);
    check_has(rows_of_squares, STAGE_PLAN, amx, "squares", false);
    plan_check_text(rows_of_squares, 13, 5, 2e-5);
    plan_check_text(large, 11, 5, 2e-5);
    plan_check_text(SQUARES("1024", "1040"), 12, 5, 2e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_in_parts),
        cmocka_unit_test(test_long_sums),
        cmocka_unit_test(test_beyond_caches),
        cmocka_unit_test(test_squares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
