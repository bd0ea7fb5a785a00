/* Temporaries that end where others begin share memory when elements are replaced in place, and
 * only then; the results are the interpreter's either way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/target.h"
#include "compile/compile.h"
#include "plan/format/plan.h"
#include "plan_help.h"

/* A product of 256 KiB, what `middle` makes of %s, and a product with that over dimension `over`.
 */
static char *program(const char *middle, int over)
{
    static const char before[] =
        "func.func @main(%x: tensor<256x8xf32>, %w: tensor<8x256xf32>, %v: tensor<256x8xf32>)\n"
        "    -> tensor<256x8xf32> {\n"
        "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "  %s = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]\n"
        "      : (tensor<256x8xf32>, tensor<8x256xf32>) -> tensor<256x256xf32>\n";
    static const char after[] = /* a format */
        "  %%y = stablehlo.dot_general %%p, %%v, contracting_dims = [%d] x [0]\n"
        "      : (tensor<256x256xf32>, tensor<256x8xf32>) -> tensor<256x8xf32>\n"
        "  return %%y : tensor<256x8xf32>\n}\n";
    size_t n = sizeof before + strlen(middle) + sizeof after;
    char *text = malloc(n);
    int used = snprintf(text, n, "%s%s", before, middle);
    snprintf(text + used, n - (size_t)used, after, over);
    return text;
}

/* Rows read three times before they are written. */
static const char softmax[] =
    "  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [1]\n"
    "      : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>\n"
    "  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<256xf32>) -> tensor<256x256xf32>\n"
    "  %d = stablehlo.subtract %s, %mb : tensor<256x256xf32>\n"
    "  %e = stablehlo.exponential %d : tensor<256x256xf32>\n"
    "  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]\n"
    "      : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>\n"
    "  %tb = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<256xf32>) -> tensor<256x256xf32>\n"
    "  %p = stablehlo.divide %e, %tb : tensor<256x256xf32>\n";

static const char sigmoid[] = "  %p = stablehlo.logistic %s : tensor<256x256xf32>\n";

/* Elements of other rows are read. */
static const char symmetric[] =
    "  %t = stablehlo.transpose %s, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>\n"
    "  %a = stablehlo.add %s, %t : tensor<256x256xf32>\n"
    "  %p = stablehlo.logistic %a : tensor<256x256xf32>\n";

/* Elements are read once more when their place is taken: a sum over the columns before, in reverse.
 */
static const char reversed[] = "  %r = stablehlo.reverse %s, dims = [1] : tensor<256x256xf32>\n"
                               "  %a = stablehlo.logistic %s : tensor<256x256xf32>\n"
                               "  %p = stablehlo.multiply %a, %r : tensor<256x256xf32>\n";

static plan_t *plan_of(const char *text)
{
    err_t err = {0};
    size_t n;
    uint8_t *bytes = compile_text(text, strlen(text), "test", NULL, target_host(), &n, &err);
    if (!bytes) fail_msg("%s", err.text);
    plan_t *plan = plan_unpack(bytes, n, &err);
    if (!plan) fail_msg("%s", err.text);
    free(bytes);
    return plan;
}

static uint64_t arena_of(const char *text)
{
    plan_t *plan = plan_of(text);
    uint64_t arena = plan->arena_bytes;
    plan_destroy(&plan);
    return arena;
}

static void test_sharing(void **state)
{
    static const struct {
        const char *middle;
        int over;     /* 0 for softmax, which would be attention else */
        int matrices; /* of 256 KiB */
    } cases[] = {{softmax, 0, 1}, {sigmoid, 1, 1}, {symmetric, 1, 2}, {reversed, 1, 2}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        char *text = program(cases[i].middle, cases[i].over);
        print_message("arena %llu\n", (unsigned long long)arena_of(text));
        assert_int_equal(arena_of(text) >> 18, cases[i].matrices);
        plan_check_text(text, 5 + (uint64_t)i, 1, 1e-5);
        free(text);
    }
}

/* Rows added to a product: no step but the product and the additions, which work on its memory. */
static void test_scatter_in_place(void **state)
{
    static const char text[] =
        "func.func @main(%x: tensor<64x8xf32>, %w: tensor<8x32xf32>, %i: tensor<9x1xi32>,\n"
        "    %u: tensor<9x32xf32>, %v: tensor<32x4xf32>) -> tensor<64x4xf32> {\n"
        "  %s = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]\n"
        "      : (tensor<64x8xf32>, tensor<8x32xf32>) -> tensor<64x32xf32>\n"
        "  %t = \"stablehlo.scatter\"(%s, %i, %u) <{scatter_dimension_numbers = "
        "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n"
        "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "    %c = stablehlo.add %a, %b : tensor<f32>\n"
        "    stablehlo.return %c : tensor<f32>\n"
        "  }) : (tensor<64x32xf32>, tensor<9x1xi32>, tensor<9x32xf32>) -> tensor<64x32xf32>\n"
        "  %y = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0]\n"
        "      : (tensor<64x32xf32>, tensor<32x4xf32>) -> tensor<64x4xf32>\n"
        "  return %y : tensor<64x4xf32>\n}\n";
    (void)state;
    plan_t *plan = plan_of(text);
    int n_scatter = 0, n_other = 0;
    for (int i = 0; i < plan->program[0].n_step; i++) {
        const char *label = plan->program[0].step[i].label;
        n_scatter += strncmp(label, "scatter", 7) == 0;
        n_other += strncmp(label, "scatter", 7) != 0 && strncmp(label, "gemm", 4) != 0;
    }
    assert_int_equal(n_scatter, 1);
    assert_true(n_other <= 1); /* the result, where it is no product's own place */
    plan_destroy(&plan);
    plan_check_text(text, 3, 64, 1e-5);
}

/* A value per row that is written before the loop over the columns, which still reads the old one:
 * its memory stays. */
static void test_rows_read_later(void **state)
{
    (void)state;
    plan_check_text(
        "func.func @main(%x: tensor<15x7xf32>, %w: tensor<7x7xf32>) -> (tensor<15x7xf32>, "
        "tensor<7xf32>) {\n"
        "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %a = stablehlo.abs %x : tensor<15x7xf32>\n"
        "  %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : "
        "(tensor<15x7xf32>, tensor<f32>) -> tensor<15xf32>\n"
        "  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<15xf32>) -> tensor<15x7xf32>\n"
        "  %h = stablehlo.multiply %x, %sb : tensor<15x7xf32>\n"
        "  %g = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<15x7xf32>, "
        "tensor<7x7xf32>) -> tensor<15x7xf32>\n"
        "  %t = stablehlo.dot_general %g, %x, batching_dims = [0] x [0], contracting_dims = [1] x "
        "[1] : (tensor<15x7xf32>, tensor<15x7xf32>) -> tensor<15xf32>\n"
        "  %y = stablehlo.divide %g, %sb : tensor<15x7xf32>\n"
        "  %v = stablehlo.tanh %t : tensor<15xf32>\n"
        "  %z = stablehlo.dot_general %v, %x, contracting_dims = [0] x [0] : (tensor<15xf32>, "
        "tensor<15x7xf32>) -> tensor<7xf32>\n"
        "  return %y, %z : tensor<15x7xf32>, tensor<7xf32>\n"
        "}\n",
        5, 9, 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sharing),
                                       cmocka_unit_test(test_scatter_in_place),
                                       cmocka_unit_test(test_rows_read_later)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
