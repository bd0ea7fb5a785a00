/* Plans against the interpreter: what fuses, what becomes a product, what moves, all element types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan_help.h"

/* f32 sums of a few hundred terms in another order, and the prelude's polynomials. */
static const double F32 = 2e-5;

static void test_elementwise(void **state)
{
    (void)state;
    plan_check_text(
        "func.func @main(%a: tensor<7x33xf32>, %b: tensor<33xf32>) -> tensor<7x33xf32> {\n"
        "  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<33xf32>) -> tensor<7x33xf32>\n"
        "  %1 = stablehlo.add %a, %0 : tensor<7x33xf32>\n"
        "  %2 = stablehlo.tanh %1 : tensor<7x33xf32>\n"
        "  %3 = stablehlo.multiply %2, %a : tensor<7x33xf32>\n"
        "  return %3 : tensor<7x33xf32>\n}\n",
        1, 5, F32);
}

static void test_product(void **state)
{
    (void)state;
    plan_check_text(
        "func.func @main(%a: tensor<5x7xf32>, %b: tensor<9x7xf32>, %c: tensor<9xf32>) -> "
        "tensor<5x9xf32> {\n"
        "  %t = stablehlo.transpose %b, dims = [1, 0] : (tensor<9x7xf32>) -> tensor<7x9xf32>\n"
        "  %0 = stablehlo.exponential %a : tensor<5x7xf32>\n"
        "  %1 = stablehlo.dot_general %0, %t, contracting_dims = [1] x [0] : (tensor<5x7xf32>, "
        "tensor<7x9xf32>) -> tensor<5x9xf32>\n"
        "  %2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<9xf32>) -> tensor<5x9xf32>\n"
        "  %3 = stablehlo.add %1, %2 : tensor<5x9xf32>\n"
        "  return %3 : tensor<5x9xf32>\n}\n",
        2, 5, F32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise),
        cmocka_unit_test(test_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
