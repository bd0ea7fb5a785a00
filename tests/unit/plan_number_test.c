/* Plans of programs that mix numbers known when the plan is made with ones that are not: starts
 * outside of an operand, integers that no double holds. By compiled plan and interpreter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan_help.h"

/* A start that is a constant is clamped like any other. */
static void test_starts_outside(void **state)
{
    (void)state;
    static const char *const types[] = {"i8", "ui8", "i32", "i64", "ui64"};
    static const char program[] =
        "func.func @main(%%x: tensor<4x3xi32>, %%u: tensor<2x2xi32>) -> (tensor<4x3xi32>, "
        "tensor<4x3xi32>, tensor<2x2xi32>) {\n"
        "  %%i = stablehlo.constant dense<7> : tensor<%s>\n"
        "  %%j = stablehlo.constant dense<%d> : tensor<%s>\n"
        "  %%0 = stablehlo.dynamic_update_slice %%x, %%u, %%i, %%j : (tensor<4x3xi32>, "
        "tensor<2x2xi32>, tensor<%s>, tensor<%s>) -> tensor<4x3xi32>\n"
        "  %%1 = stablehlo.dynamic_update_slice %%x, %%u, %%j, %%i : (tensor<4x3xi32>, "
        "tensor<2x2xi32>, tensor<%s>, tensor<%s>) -> tensor<4x3xi32>\n"
        "  %%2 = stablehlo.dynamic_slice %%x, %%i, %%j, sizes = [2, 2] : (tensor<4x3xi32>, "
        "tensor<%s>, tensor<%s>) -> tensor<2x2xi32>\n"
        "  return %%0, %%1, %%2 : tensor<4x3xi32>, tensor<4x3xi32>, tensor<2x2xi32>\n}\n";
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[1400];
        const char *t = types[i];
        snprintf(text, sizeof text, program, t, t[0] == 'u' ? 90 : -7, t, t, t, t, t, t, t);
        plan_check_text(text, 3, 100, 0);
    }
}

/* Comparisons and products of integers beyond 2^53. */
static void test_large_integers(void **state)
{
    (void)state;
    plan_check_text(
        "func.func @main(%p: tensor<4xi1>, %x: tensor<4xi64>) -> (tensor<4xi1>, tensor<4xi1>, "
        "tensor<4xi64>, tensor<4xf64>) {\n"
        "  %b = stablehlo.constant dense<18446744073709551615> : tensor<4xui64>\n"
        "  %z = stablehlo.constant dense<0> : tensor<4xui64>\n"
        "  %0 = stablehlo.select %p, %b, %z : tensor<4xi1>, tensor<4xui64>\n"
        "  %1 = stablehlo.compare GT, %0, %z : (tensor<4xui64>, tensor<4xui64>) -> tensor<4xi1>\n"
        "  %c = stablehlo.constant dense<9007199254740993> : tensor<4xi64>\n"
        "  %d = stablehlo.constant dense<9007199254740992> : tensor<4xi64>\n"
        "  %2 = stablehlo.select %p, %c, %d : tensor<4xi1>, tensor<4xi64>\n"
        "  %3 = stablehlo.compare EQ, %2, %d : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>\n"
        "  %i = stablehlo.iota dim = 0 : tensor<4xi64>\n"
        "  %4 = stablehlo.multiply %i, %c : tensor<4xi64>\n"
        "  %5 = stablehlo.add %4, %x : tensor<4xi64>\n"
        "  %6 = stablehlo.convert %0 : (tensor<4xui64>) -> tensor<4xf64>\n"
        "  return %1, %3, %5, %6 : tensor<4xi1>, tensor<4xi1>, tensor<4xi64>, tensor<4xf64>\n}\n",
        4, 9, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts_outside),
        cmocka_unit_test(test_large_integers),
    };
    return cmocka_run_group_tests_name("plan_number", tests, NULL, NULL);
}
