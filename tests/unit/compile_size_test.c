/* Long, wide and self-similar programs compile in time that grows with their size, not with its
 * square or a power of two: from text to the kernels' source, with gradients and an optimizer. CPU
 * time, so that other load does not count; an alarm ends what would never end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"
#include "compile/compile.h"

enum { GROWTH = 8, PATIENCE_S = 300 };

#define TYPE "tensor<8xf32>"

typedef void writer_t(str_t *out, int n);

/* x = x * x, n times. */
static void write_squares(str_t *out, int n)
{
    str_add(out, "func.func @main(%x0: " TYPE ") -> tensor<f32> {\n");
    for (int i = 0; i < n; i++)
        str_addf(out, "  %%x%d = stablehlo.multiply %%x%d, %%x%d : " TYPE "\n", i + 1, i, i);
    str_addf(out, "  %%y = stablehlo.add %%x%d, %%x%d : " TYPE "\n", n, n);
}

/* Each value of the last one and an older one. */
static void write_shared(str_t *out, int n)
{
    str_add(out, "func.func @main(%x0: " TYPE ", %x1: " TYPE ") -> tensor<f32> {\n");
    for (int i = 2; i < n; i++)
        str_addf(out, "  %%x%d = stablehlo.add %%x%d, %%x%d : " TYPE "\n", i, i - 1,
                 i / 2 > i - 7 ? i / 2 : i - 7);
    str_addf(out, "  %%y = stablehlo.add %%x%d, %%x0 : " TYPE "\n", n - 1);
}

static void write_arguments(str_t *out, int n)
{
    str_add(out, "func.func @main(%x0: " TYPE);
    for (int i = 1; i < n; i++) str_addf(out, ", %%x%d: " TYPE, i);
    str_add(out, ") -> tensor<f32> {\n  %s0 = stablehlo.add %x0, %x0 : " TYPE "\n");
    for (int i = 1; i < n; i++)
        str_addf(out, "  %%s%d = stablehlo.add %%s%d, %%x%d : " TYPE "\n", i, i - 1, i);
    str_addf(out, "  %%y = stablehlo.add %%s%d, %%x0 : " TYPE "\n", n - 1);
}

static void write_constants(str_t *out, int n)
{
    str_add(out, "func.func @main(%x0: " TYPE ") -> tensor<f32> {\n");
    for (int i = 0; i < n; i++) {
        str_addf(out, "  %%c%d = stablehlo.constant dense<[0.0, %d.0", i, i);
        str_add(out, ", 1.0, 2.0, 4.0, 4.5, 6.0, 7.0]> : " TYPE "\n");
        str_addf(out, "  %%x%d = stablehlo.add %%x%d, %%c%d : " TYPE "\n", i + 1, i, i);
    }
    str_addf(out, "  %%y = stablehlo.add %%x%d, %%x0 : " TYPE "\n", n);
}

static void write_products(str_t *out, int n)
{
    str_add(out, "func.func @main(%y0: " TYPE ", %m: tensor<8x8xf32>) -> tensor<f32> {\n");
    for (int i = 0; i < n; i++)
        str_addf(out,
                 "  %%y%d = stablehlo.dot_general %%m, %%y%d, contracting_dims = [1] x [0]\n"
                 "      : (tensor<8x8xf32>, " TYPE ") -> " TYPE "\n",
                 i + 1, i);
    str_addf(out, "  %%y = stablehlo.add %%y%d, %%y0 : " TYPE "\n", n);
}

/* Seconds of this process from the text to C. */
static double compile_s(writer_t *write, int n)
{
    str_t text = {0};
    err_t err = {0};
    write(&text, n);
    str_add(&text, "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
                   "  %l = stablehlo.reduce(%y init: %zero) applies stablehlo.add across "
                   "dimensions = [0]\n      : (" TYPE ", tensor<f32>) -> tensor<f32>\n"
                   "  return %l : tensor<f32>\n}\n");
    clock_t begin = clock();
    char *c = compile_emit(text.at, text.n, "large.mlir", STAGE_C, &TRAIN_SPEC_DEFAULT,
                           "cpu:x86-64-v3", &err);
    if (!c) fail_msg("%d lines: %s", n, err.text);
    free(c);
    str_fini(&text);
    return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

/* What a sanitizer makes of a short time is no measure. */
#ifdef __SANITIZE_ADDRESS__
static const double slack_s = 1.5;
#else
static const double slack_s = 0.5;
#endif

static void check_growth(const char *what, writer_t *write, int n)
{
    alarm(PATIENCE_S);
    double small = compile_s(write, n), large = compile_s(write, GROWTH * n);
    alarm(0);
    print_message("%s: %d in %.2f s, %d in %.2f s\n", what, n, small, GROWTH * n, large);
    assert_true(large <=
                4 * GROWTH * small + slack_s); /* its square would be twice that, and more */
}

static void test_growth(void **state)
{
    (void)state;
    check_growth("squares", write_squares, 250);
    check_growth("shared values", write_shared, 500);
    check_growth("arguments", write_arguments, 250);
    check_growth("constants", write_constants, 250);
    check_growth("products", write_products, 250);
}

/* Halves of halves: an element of the last value is made of all elements of the first, by 2^16
 * different ways through the slices. The source stays small. */
static void test_views_that_meet(void **state)
{
    int n = 1 << 18, k = 0;
    str_t text = {0};
    err_t err = {0};
    (void)state;
    str_addf(&text, "func.func @main(%%x0: tensor<%dxf32>) -> tensor<4xf32> {\n", n);
    for (; n > 4; k++, n /= 2)
        str_addf(&text,
                 "  %%a%d = stablehlo.slice %%x%d [0:%d:2] : (tensor<%dxf32>) -> tensor<%dxf32>\n"
                 "  %%b%d = stablehlo.slice %%x%d [1:%d:2] : (tensor<%dxf32>) -> tensor<%dxf32>\n"
                 "  %%x%d = stablehlo.add %%a%d, %%b%d : tensor<%dxf32>\n",
                 k, k, n, n, n / 2, k, k, n, n, n / 2, k + 1, k, k, n / 2);
    str_addf(&text, "  return %%x%d : tensor<4xf32>\n}\n", k);
    alarm(PATIENCE_S);
    char *c = compile_emit(text.at, text.n, "halves.mlir", STAGE_C, NULL, "cpu:x86-64-v3", &err);
    alarm(0);
    if (!c) fail_msg("%s", err.text);
    print_message("%zu bytes of C\n", strlen(c));
    assert_true(strlen(c) < 1 << 20);
    free(c);
    str_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_views_that_meet),
    };
    return cmocka_run_group_tests_name("compile_size", tests, NULL, NULL);
}
