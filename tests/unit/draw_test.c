/* stablehlo.rng (ops/draw_rule.h): the rule, the same numbers before and after the passes and in
 * plans, none drawn twice by gradients, fresh ones in every training step. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ad/ad.h"
#include "base/file.h"
#include "base/str.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ops/eval.h"
#include "optim/optim.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "plan_help.h"
#include "runtime/exec.h"

static ir_module_t *parsed(const char *text)
{
    err_t err = {0};
    ir_module_t *module = parse_stablehlo(text, strlen(text), "test", &err);
    if (!module) fail_msg("%s", err.text);
    return module;
}

static void run_passes(ir_module_t *module)
{
    err_t err = {0};
    if (passes_run(module, NULL, NULL, &err) < 0) fail_msg("%s", err.text);
}

/* The first result of the entry, which takes nothing. */
static tensor_t drawn(const ir_module_t *module, uint64_t seed)
{
    err_t err = {0};
    tensor_t out[4];
    const eval_options_t options = {.seed = seed};
    const ir_fn_t *fn = ir_module_entry(module, &err);
    if (eval_fn(module, fn, NULL, out, &options, &err) < 0) fail_msg("%s", err.text);
    for (int i = 1; i < fn->body->n_result; i++) tensor_fini(&out[i]);
    return out[0];
}

static bool same(tensor_t a, tensor_t b)
{
    bool equal = tensor_equal(&a, &b);
    tensor_fini(&a);
    tensor_fini(&b);
    return equal;
}

/* --- The rule --------------------------------------------------------------------------------- */

/* Draw 1 of [2, 6) by hand: key 5, counter 2^32. Halves, quarters and their like round nowhere. */
static void test_rule(void **state)
{
    (void)state;
    ir_module_t *by_rng = parsed(
        "func.func @main() -> (tensor<4x3xf32>, tensor<f32>) {\n"
        "  %a = stablehlo.constant dense<2.0> : tensor<f32>\n"
        "  %b = stablehlo.constant dense<6.0> : tensor<f32>\n"
        "  %n = stablehlo.constant dense<> : tensor<0xi64>\n"
        "  %s = stablehlo.constant dense<[4, 3]> : tensor<2xi64>\n"
        "  %0 = stablehlo.rng %a, %b, %n, distribution = NORMAL : (tensor<f32>, tensor<f32>, "
        "tensor<0xi64>) -> tensor<f32>\n"
        "  %1 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, "
        "tensor<2xi64>) -> tensor<4x3xf32>\n"
        "  return %1, %0 : tensor<4x3xf32>, tensor<f32>\n}\n");
    ir_module_t *by_hand = parsed(
        "func.func @main() -> tensor<4x3xf32> {\n"
        "  %state = stablehlo.constant dense<[5, 4294967296]> : tensor<2xui64>\n"
        "  %a = stablehlo.constant dense<2.0> : tensor<4x3xf64>\n"
        "  %scale = stablehlo.constant dense<9.3132257461547852e-10> : tensor<4x3xf64>\n"
        "  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : "
        "(tensor<2xui64>) -> (tensor<2xui64>, tensor<4x3xui32>)\n"
        "  %0 = stablehlo.convert %bits : (tensor<4x3xui32>) -> tensor<4x3xf64>\n"
        "  %1 = stablehlo.multiply %0, %scale : tensor<4x3xf64>\n"
        "  %2 = stablehlo.add %a, %1 : tensor<4x3xf64>\n"
        "  %3 = stablehlo.convert %2 : (tensor<4x3xf64>) -> tensor<4x3xf32>\n"
        "  return %3 : tensor<4x3xf32>\n}\n");
    assert_true(same(drawn(by_rng, 5), drawn(by_hand, 0)));
    assert_false(same(drawn(by_rng, 6), drawn(by_hand, 0)));
    run_passes(by_rng);
    assert_true(same(drawn(by_rng, 5), drawn(by_hand, 0)));
    ir_module_destroy(&by_rng);
    ir_module_destroy(&by_hand);
}

/* One draw of 20000 numbers of a type. */
static tensor_t numbers(const char *type, const char *kind, const char *a, const char *b)
{
    str_t text = {0};
    str_addf(&text,
             "func.func @main() -> tensor<20000x%s> {\n"
             "  %%a = stablehlo.constant dense<%s> : tensor<%s>\n"
             "  %%b = stablehlo.constant dense<%s> : tensor<%s>\n"
             "  %%s = stablehlo.constant dense<20000> : tensor<1xi64>\n"
             "  %%0 = stablehlo.rng %%a, %%b, %%s, distribution = %s : (tensor<%s>, tensor<%s>, "
             "tensor<1xi64>) -> tensor<20000x%s>\n"
             "  return %%0 : tensor<20000x%s>\n}\n",
             type, a, type, b, type, kind, type, type, type, type);
    ir_module_t *module = parsed(str_text(&text));
    tensor_t x = drawn(module, 1);
    ir_module_destroy(&module);
    str_fini(&text);
    return x;
}

typedef struct {
    double low, high, mean, deviation;
} moments_t;

static moments_t moments(tensor_t x)
{
    int64_t n = ir_type_count(&x.type);
    moments_t m = {INFINITY, -INFINITY, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        double v = tensor_get_f64(&x, i);
        m.low = fmin(m.low, v), m.high = fmax(m.high, v);
        m.mean += v / (double)n, m.deviation += v * v / (double)n;
    }
    m.deviation = sqrt(m.deviation - m.mean * m.mean);
    tensor_fini(&x);
    return m;
}

/* Means of 20000 numbers lie within 4 deviations / sqrt(20000) = 0.029 of theirs. */
static void test_distributions(void **state)
{
    (void)state;
    static const char *const floats[] = {"f64", "f32", "bf16", "f16"};
    static const char *const ints[] = {"i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64"};
    for (int t = 0; t < 4; t++) {
        moments_t m = moments(numbers(floats[t], "NORMAL", "1.0", "2.0"));
        assert_true(fabs(m.mean - 1) < 0.06 && fabs(m.deviation - 2) < 0.06);
        assert_true(m.low < -5 && m.high > 7);
        m = moments(numbers(floats[t], "UNIFORM", "-1.0", "3.0"));
        assert_true(fabs(m.mean - 1) < 0.035 && fabs(m.deviation - 4 / sqrt(12)) < 0.03);
        assert_true(m.low >= -1 && m.low < -0.99 && m.high < 3 && m.high > 2.98);
    }
    for (int t = 0; t < 8; t++) {
        bool is_signed = ints[t][0] == 'i';
        moments_t m = moments(numbers(ints[t], "UNIFORM", is_signed ? "-7" : "1", "9"));
        assert_true(m.low == (is_signed ? -7 : 1) && m.high == 8);
        assert_true(fabs(m.mean - (is_signed ? 0.5 : 4.5)) < 0.14);
        m = moments(numbers(ints[t], "UNIFORM", "9", "9"));
        assert_true(m.low == 9 && m.high == 9);
    }
}

/* --- The same numbers everywhere -------------------------------------------------------------- */

#define DRAW(result, type, kind)                                                      \
    "%" result " = stablehlo.rng %a, %b, %s, distribution = " kind " : (tensor<" type \
    ">, tensor<" type ">, tensor<1xi64>) -> tensor<5x" type ">\n"
#define BOUNDS(type, lo, hi)                                     \
    "%a = stablehlo.constant dense<" lo "> : tensor<" type ">\n" \
    "%b = stablehlo.constant dense<" hi "> : tensor<" type ">\n" \
    "%s = stablehlo.constant dense<5> : tensor<1xi64>\n"

/* Draws before, in and behind every kind of control flow, and in what decides on it. */
static const char *const flows[] = {"tests/models/draws.mlir", "tests/models/draws_condition.mlir"};

static void run_flow(const ir_module_t *module, int64_t take, int64_t which, int64_t n,
                     tensor_t *out)
{
    err_t err = {0};
    ir_type_t types[3] = {ir_type_scalar(DT_I1), ir_type_scalar(DT_I32), ir_type_scalar(DT_I64)};
    const int64_t values[3] = {take, which, n};
    const eval_options_t options = {.seed = 77};
    tensor_t in[3];
    for (int i = 0; i < 3; i++) {
        in[i] = tensor_new(&types[i]);
        tensor_set_i64(&in[i], 0, values[i]);
    }
    if (eval_fn(module, ir_module_entry(module, &err), in, out, &options, &err) < 0)
        fail_msg("%s", err.text);
    for (int i = 0; i < 3; i++) tensor_fini(&in[i]);
}

static void check_flow(const char *path)
{
    err_t err = {0};
    size_t n = 0;
    char *flow = file_read(path, &n, &err);
    if (!flow) fail_msg("%s", err.text);
    ir_module_t *before = parsed(flow), *after = parsed(flow);
    int64_t turns = 0;
    run_passes(after);
    for (int64_t k = 0; k < 8; k++) {
        tensor_t want[5], got[5];
        run_flow(before, k % 2, k / 2 % 2, 3 + 3 * k, want);
        run_flow(after, k % 2, k / 2 % 2, 3 + 3 * k, got);
        turns += tensor_get_i64(&want[4], 0);
        for (int i = 0; i < 5; i++) assert_true(same(want[i], got[i]));
    }
    assert_true(turns > 8);
    ir_module_destroy(&before);
    ir_module_destroy(&after);
    for (uint64_t seed = 0; seed < 4; seed++) plan_check_text(flow, seed, 9, 0);
    free(flow);
}

static void test_control_flow(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof flows / sizeof *flows; i++) check_flow(flows[i]);
}

typedef struct {
    const char *types[8], *kind;
    double tolerance;
} group_t;

/* Straight lines of every element type: functions of one program per tolerance. Uniform numbers
 * agree to the bit, those of f64 to the rounding of a product and a sum; erf_inv is a series of its
 * own in f32, of which halves show one unit. */
static void test_plans(void **state)
{
    (void)state;
    static const group_t groups[] = {
        {{"f32", "bf16", "f16", "i1", "i8", "i32", "ui16", "ui64"}, "UNIFORM", 0},
        {{"f64"}, "UNIFORM", 1e-15},
        {{"f64"}, "NORMAL", 1e-14},
        {{"f32"}, "NORMAL", 1e-6},
        {{"bf16", "f16"}, "NORMAL", 8e-3},
    };
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        str_t text = {0};
        for (int k = 0; k < 8 && groups[g].types[k]; k++) {
            const char *t = groups[g].types[k];
            str_addf(&text,
                     "func.func @f%d(%%a: tensor<%s>, %%b: tensor<%s>) -> tensor<7x6x%s> {\n"
                     "  %%s = stablehlo.constant dense<[7, 6]> : tensor<2xi64>\n"
                     "  %%0 = stablehlo.rng %%a, %%b, %%s, distribution = %s : (tensor<%s>, "
                     "tensor<%s>, tensor<2xi64>) -> tensor<7x6x%s>\n"
                     "  return %%0 : tensor<7x6x%s>\n}\n",
                     k, t, t, t, groups[g].kind, t, t, t, t);
        }
        plan_check_text(str_text(&text), 3, 90, groups[g].tolerance);
        str_fini(&text);
    }
}

/* --- Gradients -------------------------------------------------------------------------------- */

/* Noise in a loop and in a branch: what is run again on the way back must not draw again. */
static const char noisy[] = "func.func @main(%x: tensor<5xf64>) -> tensor<f64> {\n" BOUNDS(
    "f64", "0.5",
    "1.5") "%zero = stablehlo.constant dense<0> : tensor<i64>\n"
           "%one = stablehlo.constant dense<1> : tensor<i64>\n"
           "%n = stablehlo.constant dense<70> : tensor<i64>\n"
           "%half = stablehlo.constant dense<0.5> : tensor<f64>\n"
           "%w:2 = stablehlo.while(%k = %zero, %c = %x) : tensor<i64>, tensor<5xf64> cond {\n"
           "  %m = stablehlo.compare LT, %k, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
           "  stablehlo.return %m : tensor<i1>\n} do {\n" DRAW(
               "y", "f64",
               "UNIFORM") "  %coin = stablehlo.slice %y [0:1] : (tensor<5xf64>) -> tensor<1xf64>\n"
                          "  %coin0 = stablehlo.reshape %coin : (tensor<1xf64>) -> tensor<f64>\n"
                          "  %p = stablehlo.compare LT, %coin0, %b : (tensor<f64>, tensor<f64>) -> "
                          "tensor<i1>\n"
                          "  %z = \"stablehlo.if\"(%p) ({\n" DRAW(
                              "u", "f64",
                              "NORMAL") "    %t0 = stablehlo.multiply %c, %y : tensor<5xf64>\n"
                                        "    %t1 = stablehlo.sine %t0 : tensor<5xf64>\n"
                                        "    %t2 = stablehlo.multiply %t1, %u : tensor<5xf64>\n"
                                        "    stablehlo.return %t2 : tensor<5xf64>\n  }, {\n"
                                        "    stablehlo.return %c : tensor<5xf64>\n  }) : "
                                        "(tensor<i1>) -> tensor<5xf64>\n"
                                        "  %r = stablehlo.add %z, %x : tensor<5xf64>\n"
                                        "  %next = stablehlo.add %k, %one : tensor<i64>\n"
                                        "  stablehlo.return %next, %r : tensor<i64>, "
                                        "tensor<5xf64>\n}\n"
                                        "%init = stablehlo.constant dense<0.0> : tensor<f64>\n"
                                        "%loss = stablehlo.reduce(%w#1 init: %init) applies "
                                        "stablehlo.add across dimensions = [0] : "
                                        "(tensor<5xf64>, tensor<f64>) -> tensor<f64>\n"
                                        "return %loss : tensor<f64>\n}\n";

static double loss_at(const ir_module_t *module, const ir_fn_t *fn, const tensor_t *x)
{
    tensor_t y;
    err_t err = {0};
    if (eval_fn(module, fn, x, &y, &(eval_options_t){.seed = 9}, &err) < 0)
        fail_msg("%s", err.text);
    double loss = tensor_get_f64(&y, 0);
    tensor_fini(&y);
    return loss;
}

/* Central differences of step 1e-6, each with the seed of the gradient's run: good to 1e-8 of the
 * loss, which is of order ten. */
static void test_gradient(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *module = parsed(noisy);
    const ir_fn_t *fn = ir_module_entry(module, &err), *grad;
    bool wanted = true;
    assert_null(ad_gradient(module, fn, "grad", &wanted, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "stablehlo.rng"));
    run_passes(module);
    fn = ir_module_entry(module, &err);
    grad = ad_gradient(module, fn, "grad", &wanted, &err);
    if (!grad) fail_msg("%s", err.text);
    const ir_type_t type = *ir_type_of(fn, ir_fn_param(fn, 0));
    tensor_t x = tensor_new(&type), out[2];
    for (int i = 0; i < 5; i++) tensor_set_f64(&x, i, 0.1 + 0.1 * i);
    if (eval_fn(module, grad, &x, out, &(eval_options_t){.seed = 9}, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(tensor_get_f64(&out[0], 0) == loss_at(module, fn, &x));
    double *at = x.data, worst = 0;
    for (int i = 0; i < 5; i++) {
        double kept = at[i];
        at[i] = kept + 1e-6;
        double above = loss_at(module, fn, &x);
        at[i] = kept - 1e-6;
        double difference = (above - loss_at(module, fn, &x)) / 2e-6;
        at[i] = kept;
        worst = fmax(worst, fabs(difference - tensor_get_f64(&out[1], i)));
    }
    print_message("gradient off by %.1e\n", worst);
    assert_true(worst < 1e-6);
    for (int i = 0; i < 2; i++) tensor_fini(&out[i]);
    tensor_fini(&x);
    plan_check_module(module, &(plan_check_t){4, 10, 0.5, 1e-9, 1});
}

/* The exported model's gradient, as a plan. */
static void test_dropout_gradient(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *module = parse_stablehlo_file("tests/models/dropout.mlir", &err);
    if (!module) fail_msg("%s", err.text);
    run_passes(module);
    if (optim_build_gradient(module, &err) < 0) fail_msg("%s", err.text);
    plan_check_module(module, &(plan_check_t){5, 7, 0.4, 1e-12, 1});
}

/* --- Training --------------------------------------------------------------------------------- */

/* Two layers with dropout of one in four, on 32 fixed points of a saddle. */
static const char mlp[] =
    "func.func @main(%x: tensor<32x2xf32> {pcp.role = \"batch\", pcp.name = \"x\"}, "
    "%y: tensor<32x1xf32> {pcp.role = \"batch\", pcp.name = \"y\"}, %w1: tensor<2x64xf32>, "
    "%b1: tensor<64xf32>, %w2: tensor<64x1xf32>) -> tensor<f32> {\n"
    "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %one = stablehlo.constant dense<1.0> : tensor<f32>\n"
    "  %shape = stablehlo.constant dense<[32, 64]> : tensor<2xi64>\n"
    "  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<32x2xf32>, "
    "tensor<2x64xf32>) -> tensor<32x64xf32>\n"
    "  %1 = stablehlo.broadcast_in_dim %b1, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>\n"
    "  %2 = stablehlo.add %0, %1 : tensor<32x64xf32>\n"
    "  %h = stablehlo.tanh %2 : tensor<32x64xf32>\n"
    "  %u = stablehlo.rng %zero, %one, %shape, distribution = UNIFORM : (tensor<f32>, "
    "tensor<f32>, tensor<2xi64>) -> tensor<32x64xf32>\n"
    "  %rate = stablehlo.constant dense<0.75> : tensor<32x64xf32>\n"
    "  %none = stablehlo.constant dense<0.0> : tensor<32x64xf32>\n"
    "  %keep = stablehlo.compare LT, %u, %rate : (tensor<32x64xf32>, tensor<32x64xf32>) -> "
    "tensor<32x64xi1>\n"
    "  %scaled = stablehlo.divide %h, %rate : tensor<32x64xf32>\n"
    "  %d = stablehlo.select %keep, %scaled, %none : tensor<32x64xi1>, tensor<32x64xf32>\n"
    "  %z = stablehlo.dot_general %d, %w2, contracting_dims = [1] x [0] : (tensor<32x64xf32>, "
    "tensor<64x1xf32>) -> tensor<32x1xf32>\n"
    "  %e = stablehlo.subtract %z, %y : tensor<32x1xf32>\n"
    "  %q = stablehlo.multiply %e, %e : tensor<32x1xf32>\n"
    "  %loss = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] "
    ": (tensor<32x1xf32>, tensor<f32>) -> tensor<f32>\n"
    "  return %loss : tensor<f32>\n}\n";

typedef struct {
    plan_t *plan;
    exec_t *exec;
    float x[2][64], y[2][32]; /* two micro-batches of the same points */
} trial_t;

static void write_values(trial_t *t, plan_role_t role, const char *name, int n, double scale)
{
    err_t err = {0};
    float values[128];
    for (int i = 0; i < n; i++) values[i] = (float)(scale * sin(1 + 2.7 * i + name[1]));
    int at = plan_find_tensor(t->plan, role, name);
    assert_true(at >= 0);
    if (exec_write(t->exec, at, values, (size_t)n * sizeof *values, &err) < 0)
        fail_msg("%s", err.text);
}

static void trial_open(trial_t *t, int accumulate)
{
    err_t err = {0};
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.accumulate = accumulate;
    ir_module_t *module = parsed(mlp);
    t->plan = compile_module(module, "", &spec, target_host(), &err);
    if (!t->plan) fail_msg("%s", err.text);
    t->exec = exec_new(t->plan, &(exec_options_t){.threads = 1}, &err);
    if (!t->exec) fail_msg("%s", err.text);
    ir_module_destroy(&module);
    write_values(t, ROLE_PARAM, "arg2", 128, 0.7);
    write_values(t, ROLE_PARAM, "arg3", 64, 0.5);
    write_values(t, ROLE_PARAM, "arg4", 64, 0.1);
    for (int i = 0; i < 64; i++) {
        double px = cos(2.0 * (i % 32)), py = sin(3.0 * (i % 32));
        t->x[i / 32][i % 32 * 2] = (float)px, t->x[i / 32][i % 32 * 2 + 1] = (float)py;
        t->y[i / 32][i % 32] = (float)(px * py);
    }
}

static void trial_close(trial_t *t)
{
    exec_destroy(&t->exec);
    plan_destroy(&t->plan);
}

static float step(trial_t *t, double lr, long number)
{
    err_t err = {0};
    float loss;
    if (exec_train_step(t->exec, (const void *const[]){t->x, t->y}, lr, number, &loss, &err) < 0)
        fail_msg("%s", err.text);
    return loss;
}

static void test_training(void **state)
{
    (void)state;
    for (int accumulate = 1; accumulate <= 2; accumulate++) {
        trial_t t;
        trial_open(&t, accumulate);
        /* Nothing moves at a rate of zero: what differs is drawn. */
        float first = step(&t, 0, 1), second = step(&t, 0, 2), again = step(&t, 0, 1);
        assert_true(first == again && first != second);
        exec_seed(t.exec, 1);
        assert_true(step(&t, 0, 1) != first);
        exec_zero(t.exec, ROLE_STATE, NULL);
        double early = 0, late = 0;
        for (int i = 1; i <= 300; i++) {
            float loss = step(&t, 1e-2, i);
            early += i <= 20 ? loss / 20 : 0;
            late += i > 280 ? loss / 20 : 0;
        }
        print_message("accumulate %d: loss %.3f -> %.3f\n", accumulate, early, late);
        assert_true(late < 0.5 * early);
        trial_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule),         cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_control_flow), cmocka_unit_test(test_plans),
        cmocka_unit_test(test_gradient),     cmocka_unit_test(test_dropout_gradient),
        cmocka_unit_test(test_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
