/* Mixed precision: which products are rewritten, their values against sums over rounded operands in
 * f64, plans against the interpreter, and gradients of a small GPT-2 against those in f32. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ir/print.h"
#include "model/gpt2.h"
#include "model/init.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "plan_help.h"
#include "runtime/exec.h"

static const char product_text[] =
    "func.func @main(%a: tensor<7x33xf32>, %b: tensor<33x5xf32>) -> tensor<7x5xf32> {\n"
    "  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]\n"
    "      : (tensor<7x33xf32>, tensor<33x5xf32>) -> tensor<7x5xf32>\n"
    "  return %y : tensor<7x5xf32>\n}\n";
enum { ROWS = 7, SUM = 33, COLUMNS = 5 };

static const char convolution_text[] =
    "func.func @main(%a: tensor<2x9x3xf32>, %b: tensor<4x3x5xf32>) -> tensor<2x6x5xf32> {\n"
    "  %y = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],\n"
    "      window = {stride = [1]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64}\n"
    "      : (tensor<2x9x3xf32>, tensor<4x3x5xf32>) -> tensor<2x6x5xf32>\n"
    "  return %y : tensor<2x6x5xf32>\n}\n";

/* None of these is a product of f32 tensors. */
static const char others_text[] =
    "func.func @main(%a: tensor<3x3xf64>, %b: tensor<3x3xi32>, %c: tensor<3x3xf16>,\n"
    "    %d: tensor<3x3xf32>) -> (tensor<3x3xf64>, tensor<3x3xi32>, tensor<3x3xf16>,\n"
    "    tensor<3x3xf32>) {\n"
    "  %p = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]\n"
    "      : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>\n"
    "  %q = stablehlo.dot_general %b, %b, contracting_dims = [1] x [0]\n"
    "      : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi32>\n"
    "  %r = stablehlo.dot_general %c, %c, contracting_dims = [1] x [0]\n"
    "      : (tensor<3x3xf16>, tensor<3x3xf16>) -> tensor<3x3xf16>\n"
    "  %s = stablehlo.multiply %d, %d : tensor<3x3xf32>\n"
    "  return %p, %q, %r, %s : tensor<3x3xf64>, tensor<3x3xi32>, tensor<3x3xf16>, "
    "tensor<3x3xf32>\n}\n";

static ir_module_t *rewritten(const char *text, precision_t precision)
{
    err_t err = {0};
    ir_module_t *module = parse_stablehlo(text, strlen(text), "test", &err);
    if (!module || pass_precision(module, &(pass_options_t){precision}, &err) < 0)
        fail_msg("%s", err.text);
    return module;
}

static char *print(ir_module_t *module)
{
    str_t out = {0};
    ir_print_module(module, &out);
    ir_module_destroy(&module);
    return out.at;
}

static void test_what_is_rewritten(void **state)
{
    (void)state;
    char *plain = print(rewritten(product_text, PRECISION_F32));
    char *half = print(rewritten(product_text, PRECISION_BF16));
    char *three = print(rewritten(product_text, PRECISION_BF16X3));
    assert_null(strstr(plain, "bf16"));
    assert_non_null(strstr(half, "(tensor<7x33xbf16>, tensor<33x5xbf16>) -> tensor<7x5xf32>"));
    int n = 0;
    for (const char *at = three; (at = strstr(at, "stablehlo.dot_general")); at++) n++;
    assert_int_equal(n, 3);
    char *before = print(rewritten(others_text, PRECISION_F32));
    char *after = print(rewritten(others_text, PRECISION_BF16));
    assert_string_equal(before, after);
    free(plain);
    free(half);
    free(three);
    free(before);
    free(after);
}

/* --- values ----------------------------------------------------------------------------------- */

static tensor_t random_tensor(int64_t rows, int64_t columns, uint64_t seed)
{
    ir_type_t type = ir_type(DT_F32, 2, (int64_t[]){rows, columns});
    tensor_t t = tensor_new(&type);
    for (int64_t i = 0; i < rows * columns; i++)
        tensor_set_f64(&t, i, rng_normal(seed, (uint64_t)i));
    return t;
}

static double rounded(double x)
{
    return half_from_bf16(half_to_bf16((float)x));
}

/* Largest deviation of the product in `precision` from sum of a b in f64, over the largest sum of
 * |a b|; with `round`, a and b are rounded to bf16 first. */
static double deviation(precision_t precision, bool round)
{
    err_t err = {0};
    ir_module_t *module = rewritten(product_text, precision);
    tensor_t in[2] = {random_tensor(ROWS, SUM, 1), random_tensor(SUM, COLUMNS, 2)}, out;
    if (eval_fn(module, module->fn[0], in, &out, NULL, &err) < 0) fail_msg("%s", err.text);
    double worst = 0, largest = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double sum = 0, size = 0;
            for (int k = 0; k < SUM; k++) {
                double a = tensor_get_f64(&in[0], i * SUM + k);
                double b = tensor_get_f64(&in[1], k * COLUMNS + j);
                sum += round ? rounded(a) * rounded(b) : a * b;
                size += fabs(a * b);
            }
            worst = fmax(worst, fabs(sum - tensor_get_f64(&out, i * COLUMNS + j)));
            largest = fmax(largest, size);
        }
    tensor_fini(&in[0]);
    tensor_fini(&in[1]);
    tensor_fini(&out);
    ir_module_destroy(&module);
    return worst / largest;
}

/* One rounding of the f32 result for bf16; for bf16x3 each factor is short of 2^-17 of itself and
 * the product of both low parts, 2^-16 together, is left out: below 3 * 2^-17. */
static void test_values(void **state)
{
    (void)state;
    double exact = deviation(PRECISION_BF16, true), half = deviation(PRECISION_BF16, false);
    double three = deviation(PRECISION_BF16X3, false), plain = deviation(PRECISION_F32, false);
    print_message("bf16: %.2g of its own sum, %.2g of the true one; bf16x3 %.2g; f32 %.2g\n", exact,
                  half, three, plain);
    assert_true(exact < 1e-7 && plain < 1e-7);
    assert_true(half > 1e-4 && half < 0x1p-8);
    assert_true(three > 1e-8 && three < 3 * 0x1p-17);
}

static void test_plans(void **state)
{
    (void)state;
    static const char *const texts[] = {product_text, convolution_text};
    for (int i = 0; i < 2; i++)
        for (precision_t p = PRECISION_BF16; p <= PRECISION_BF16X3; p++)
            plan_check_module(rewritten(texts[i], p), &(plan_check_t){3, 2, 2, 2e-6, 1});
}

/* A training plan for the target, as text. Returns, caller frees. */
static char *training_plan(const char *target, const char *precision)
{
    static const char text[] =
        "func.func @main(%w: tensor<33x40xf32> {pcp.name = \"w\"}, %x: tensor<20x33xf32>)\n"
        "    -> tensor<f32> {\n"
        "  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]\n"
        "      : (tensor<20x33xf32>, tensor<33x40xf32>) -> tensor<20x40xf32>\n"
        "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1]\n"
        "      : (tensor<20x40xf32>, tensor<f32>) -> tensor<f32>\n"
        "  return %s : tensor<f32>\n}\n";
    err_t err = {0};
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.precision = precision;
    char *plan = compile_emit(text, strlen(text), "test", STAGE_PLAN, &spec, target, &err);
    if (!plan) fail_msg("%s", err.text);
    return plan;
}

/* What gains nothing by bf16 has the plan of f32, but for the reference. */
static void test_targets(void **state)
{
    (void)state;
    const target_t *t;
    for (int i = 0; (t = target_row(i)); i++) {
        char *plain = training_plan(t->name, "f32"), *half = training_plan(t->name, "bf16");
        char *three = training_plan(t->name, "bf16x3");
        bool rounds = t->caps.bf16 || strcmp(t->name, "c:scalar") == 0;
        assert_int_equal(strcmp(plain, half) != 0, rounds);
        assert_int_equal(strcmp(plain, three) != 0, rounds);
        free(plain);
        free(half);
        free(three);
    }
    assert_true(target_caps("cpu:x86-64-v4-amx").bf16 && !target_caps("cpu:x86-64-v3").bf16);
}

/* --- gradients -------------------------------------------------------------------------------- */

static const gpt2_config_t small = {2, 2, 32, 16, 48, 3, true, false, false};

/* Attention of lengths and widths that leave parts of blocks, tiles and pairs, and of several chunks
 * of keys. */
static const gpt2_config_t odd[] = {
    {1, 2, 32, 37, 48, 2, true, false, false},   {1, 1, 48, 100, 48, 1, true, false, false},
    {1, 2, 80, 150, 48, 1, true, false, false},  {1, 2, 18, 67, 48, 1, true, false, false},
    {1, 1, 128, 450, 48, 1, true, false, false},
};

/* The plan of @grad, run on the model's initial values (weights ten times as large, so that the
 * attention is no mean) and random tokens. */
static exec_t *run_gradient(const gpt2_config_t *config, precision_t precision, plan_t **plan)
{
    err_t err = {0};
    ir_module_t *module = gpt2_build(config, &err);
    if (!module || optim_build_gradient(module, &err) < 0 ||
        pass_precision(module, &(pass_options_t){precision}, &err) < 0)
        fail_msg("%s", err.text);
    *plan = compile_module(module, "", NULL, target_host(), &err);
    exec_options_t options = {.threads = 1};
    exec_t *exec = *plan ? exec_new(*plan, &options, &err) : NULL;
    if (!exec) fail_msg("%s", err.text);
    for (int i = 0; i < (*plan)->n_tensor; i++) {
        const plan_tensor_t *t = &(*plan)->tensor[i];
        int64_t n = ir_type_count(&t->type);
        if (t->role != ROLE_PARAM && t->role != ROLE_BATCH) continue;
        float *values = mem_calloc((size_t)n, sizeof *values);
        if (t->role == ROLE_PARAM)
            init_fill(t->type.rank > 1 ? "normal(0.2)" : "uniform(0.5,1.5)", 5, t->name, values, n,
                      NULL);
        for (int64_t k = 0; t->role == ROLE_BATCH && k < n; k++)
            ((int32_t *)(void *)values)[k] = (int32_t)(rng_bits((uint64_t)i, (uint64_t)k) %
                                                       (uint64_t)config->vocab);
        if (exec_write(exec, i, values, (size_t)t->n_bytes, &err) < 0) fail_msg("%s", err.text);
        free(values);
    }
    if (exec_run(exec, "grad", &err) < 0) fail_msg("%s", err.text);
    ir_module_destroy(&module);
    return exec;
}

static float *read_tensor(exec_t *exec, const plan_t *plan, int i)
{
    float *values = mem_calloc((size_t)plan->tensor[i].n_bytes, 1);
    if (exec_read(exec, i, values, (size_t)plan->tensor[i].n_bytes, NULL) < 0) fail();
    return values;
}

/* Over all parameters, the largest difference of a gradient from f32's, over that gradient's
 * largest element. */
static double gradient_deviation(const gpt2_config_t *config, precision_t precision)
{
    plan_t *plan_a, *plan_b;
    exec_t *a = run_gradient(config, PRECISION_F32, &plan_a);
    exec_t *b = run_gradient(config, precision, &plan_b);
    double worst = 0;
    int n_grad = 0;
    for (int i = 0; i < plan_a->n_tensor; i++) {
        const plan_tensor_t *t = &plan_a->tensor[i];
        if (t->role != ROLE_RESULT || strncmp(t->name, "grad.", 5) != 0) continue;
        int other = plan_find_tensor(plan_b, ROLE_RESULT, t->name);
        assert_true(other >= 0);
        float *x = read_tensor(a, plan_a, i), *y = read_tensor(b, plan_b, other);
        double off = 0, largest = 0;
        for (int64_t k = 0; k < ir_type_count(&t->type); k++) {
            off = fmax(off, fabs((double)x[k] - (double)y[k]));
            largest = fmax(largest, fabs((double)x[k]));
        }
        assert_true(isfinite(off) && largest > 0);
        worst = fmax(worst, off / largest);
        n_grad++;
        free(x);
        free(y);
    }
    assert_int_equal(n_grad, 2 + 12 * config->layers + 2);
    exec_destroy(&a);
    exec_destroy(&b);
    plan_destroy(&plan_a);
    plan_destroy(&plan_b);
    return worst;
}

/* The bounds that plans of mixed precision promise (docs/plans.md). */
static void test_gradients(void **state)
{
    (void)state;
    double half = gradient_deviation(&small, PRECISION_BF16);
    double three = gradient_deviation(&small, PRECISION_BF16X3);
    print_message("gradients: bf16 off by %.2g of max|g|, bf16x3 by %.2g\n", half, three);
    assert_true(half > 1e-5 && half <= 2e-2);
    assert_true(three > 0 && three <= 1e-4);
}

static void test_lengths(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        double half = gradient_deviation(&odd[i], PRECISION_BF16);
        print_message("%d tokens, %d columns: off by %.2g of max|g|\n", (int)odd[i].block,
                      (int)(odd[i].width / odd[i].heads), half);
        assert_true(half > 1e-5 && half <= 3e-2); /* 0.026 with attention in f32, too */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_rewritten),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
