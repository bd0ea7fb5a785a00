/* Values made again behind the loss (plan/lower/recompute.h): training takes the same steps as with all
 * of them kept, in less memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "codegen/target.h"
#include "ir/print.h"
#include "model/gpt2.h"
#include "tools/trial.h"

enum { STEPS = 3, VOCAB = 16, SEED = 5 };

/* Copies are contracted with other neighbours than what they are copies of: the last bits of
 * gradients differ, and Adam's first steps divide by their size. */
static const double TOLERANCE = 1e-4;

static char *transformer(int keep)
{
    err_t err = {0};
    const gpt2_config_t config = {.layers = 2,
                                  .heads = 2,
                                  .width = 64,
                                  .block = 64,
                                  .vocab = VOCAB,
                                  .batch = 4,
                                  .bias = true};
    ir_module_t *module = gpt2_build(&config, &err);
    if (!module) fail_msg("%s", err.text);
    attr_set_int(module->arena, &module->attrs, "pcp.keep_bytes", keep);
    str_t text = {0};
    ir_print_module(module, &text);
    ir_module_destroy(&module);
    return text.at;
}

#define ROWS "tensor<128x64xf32>"
#define MORE "tensor<128x96xf32>"

/* Three layers y + (silu(n A) * (n B)) C, n = y / rms(y), and the mean of squares. */
static char *gated(int keep)
{
    str_t t = {0};
    str_addf(&t, "module attributes {pcp.keep_bytes = %d : i64} {\n", keep);
    str_add(&t, "func.func @main(%x: tensor<128x64xi32>");
    for (int l = 0; l < 3; l++)
        str_addf(&t,
                 ", %%a%d: tensor<64x96xf32>, %%b%d: tensor<64x96xf32>, %%c%d: tensor<96x64xf32>",
                 l, l, l);
    str_add(&t, ") -> tensor<f32> {\n"
                "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
                "  %part = stablehlo.constant dense<1.0e-4> : tensor<f32>\n"
                "  %some = stablehlo.constant dense<1.5625e-2> : tensor<128xf32>\n"
                "  %y0 = stablehlo.convert %x : (tensor<128x64xi32>) -> " ROWS "\n");
    for (int l = 0; l < 3; l++) {
        str_addf(
            &t,
            "  %%q%d = stablehlo.multiply %%y%d, %%y%d : " ROWS "\n"
            "  %%s%d = stablehlo.reduce(%%q%d init: %%zero) applies stablehlo.add across "
            "dimensions = [1] : (" ROWS ", tensor<f32>) -> tensor<128xf32>\n"
            "  %%m%d = stablehlo.multiply %%s%d, %%some : tensor<128xf32>\n"
            "  %%e%d = stablehlo.add %%m%d, %%some : tensor<128xf32>\n"
            "  %%r%d = stablehlo.rsqrt %%e%d : tensor<128xf32>\n"
            "  %%w%d = stablehlo.broadcast_in_dim %%r%d, dims = [0] : (tensor<128xf32>) -> " ROWS
            "\n"
            "  %%n%d = stablehlo.multiply %%y%d, %%w%d : " ROWS "\n",
            l, l, l, l, l, l, l, l, l, l, l, l, l, l, l, l);
        str_addf(
            &t,
            "  %%g%d = stablehlo.dot_general %%n%d, %%a%d, contracting_dims = [1] x [0] : (" ROWS
            ", tensor<64x96xf32>) -> " MORE "\n"
            "  %%u%d = stablehlo.dot_general %%n%d, %%b%d, contracting_dims = [1] x [0] : (" ROWS
            ", tensor<64x96xf32>) -> " MORE "\n"
            "  %%l%d = stablehlo.logistic %%g%d : " MORE "\n"
            "  %%h%d = stablehlo.multiply %%g%d, %%l%d : " MORE "\n"
            "  %%k%d = stablehlo.multiply %%h%d, %%u%d : " MORE "\n"
            "  %%z%d = stablehlo.dot_general %%k%d, %%c%d, contracting_dims = [1] x [0] : (" MORE
            ", tensor<96x64xf32>) -> " ROWS "\n"
            "  %%y%d = stablehlo.add %%y%d, %%z%d : " ROWS "\n",
            l, l, l, l, l, l, l, l, l, l, l, l, l, l, l, l, l, l + 1, l, l);
    }
    str_add(&t, "  %p = stablehlo.multiply %y3, %y3 : " ROWS "\n"
                "  %v = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = "
                "[0, 1] : (" ROWS ", tensor<f32>) -> tensor<f32>\n"
                "  %loss = stablehlo.multiply %v, %part : tensor<f32>\n"
                "  return %loss : tensor<f32>\n}\n}\n");
    return t.at;
}

enum { LAYERS = 9, WEIGHT_BYTES = 96 * 96 * 2 /* of one layer, rounded */ };

/* The mean of squares of x W1 W2 ...: no maps but the rounding of operands; without sweeps, which
 * change places. */
static char *chain(int rows, int keep)
{
    str_t t = {0};
    str_addf(&t,
             "module attributes {pcp.keep_bytes = %d : i64, pcp.sweeps = 0 : i64} {\n"
             "func.func @main(%%x: tensor<%dxi32>",
             keep, rows);
    for (int l = 0; l < LAYERS; l++) str_addf(&t, ", %%w%d: tensor<96x96xf32>", l);
    str_addf(&t,
             ") -> tensor<f32> {\n"
             "  %%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
             "  %%f = stablehlo.convert %%x : (tensor<%dxi32>) -> tensor<%dxf32>\n"
             "  %%y0 = stablehlo.broadcast_in_dim %%f, dims = [0] : (tensor<%dxf32>) -> "
             "tensor<%dx96xf32>\n",
             rows, rows, rows, rows);
    for (int l = 0; l < LAYERS; l++)
        str_addf(&t,
                 "  %%y%d = stablehlo.dot_general %%y%d, %%w%d, contracting_dims = [1] x [0] : "
                 "(tensor<%dx96xf32>, tensor<96x96xf32>) -> tensor<%dx96xf32>\n",
                 l + 1, l, l, rows, rows);
    str_addf(&t,
             "  %%p = stablehlo.multiply %%y%d, %%y%d : tensor<%dx96xf32>\n"
             "  %%loss = stablehlo.reduce(%%p init: %%zero) applies stablehlo.add across "
             "dimensions = [0, 1] : (tensor<%dx96xf32>, tensor<f32>) -> tensor<f32>\n"
             "  return %%loss : tensor<f32>\n}\n}\n",
             LAYERS, LAYERS, rows, rows);
    return t.at;
}

static trial_t start(char *text, const train_spec_t *spec)
{
    const trial_options_t options = {.spec = spec, .threads = 2, .vocab = VOCAB, .seed = SEED};
    trial_t trial;
    err_t err = {0};
    if (trial_init(&trial, text, strlen(text), "model", &options, &err) < 0)
        fail_msg("%s", err.text);
    free(text);
    return trial;
}

static double distance(const trial_t *a, const trial_t *b, int t)
{
    err_t err = {0};
    const plan_tensor_t *x = &a->plan->tensor[t];
    int u = plan_find_tensor(b->plan, x->role, x->name);
    size_t n = (size_t)x->n_bytes;
    float *mine = mem_calloc(1, n), *theirs = mem_calloc(1, n);
    double worst = 0, most = 0;
    if (exec_read(a->exec, t, mine, n, &err) < 0 || exec_read(b->exec, u, theirs, n, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < n / sizeof *mine; i++) {
        worst = fmax(worst, fabs((double)mine[i] - (double)theirs[i]));
        most = fmax(most, fabs((double)mine[i]));
    }
    free(mine);
    free(theirs);
    return most > 0 ? worst / most : worst;
}

/* First moments say most: they are sums of gradients. */
static void check_same(char *kept, char *again, const train_spec_t *spec, double tolerance)
{
    err_t err = {0};
    trial_t a = start(kept, spec), b = start(again, spec);
    double worst = 0;
    int n = 0;
    print_message("%llu bytes instead of %llu\n", (unsigned long long)b.plan->arena_bytes,
                  (unsigned long long)a.plan->arena_bytes);
    assert_true(b.plan->arena_bytes < a.plan->arena_bytes);
    for (int i = 0; i < STEPS; i++) {
        float want, got;
        if (trial_step(&a, &want, &err) < 0 || trial_step(&b, &got, &err) < 0)
            fail_msg("%s", err.text);
        worst = fmax(worst, fabs((double)want - (double)got) / fabs((double)want));
    }
    for (int t = 0; t < a.plan->n_tensor; t++) {
        const plan_tensor_t *x = &a.plan->tensor[t];
        if (x->role != ROLE_STATE || strncmp(x->name, "m.", 2) != 0) continue;
        worst = fmax(worst, distance(&a, &b, t));
        n++;
    }
    print_message("%d moments and the losses: relative deviation %g\n", n, worst);
    assert_true(n >= 9 && worst <= tolerance);
    trial_fini(&a);
    trial_fini(&b);
}

static void test_transformer(void **state)
{
    (void)state;
    const train_spec_t spec = TRAIN_SPEC_DEFAULT;
    check_same(transformer(INT32_MAX), transformer(0), &spec, TOLERANCE);
}

/* Rounded operands of products are made again as well. */
static void test_bf16(void **state)
{
    (void)state;
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.precision = "bf16";
    check_same(transformer(INT32_MAX), transformer(0), &spec, 1e-2);
}

/* Takes a target whose products have bf16 as it is, where this machine runs one: elsewhere the plan is
 * the one of f32, and there is nothing rounded to make again. True: to be given back by unsetenv. */
static bool take_bf16(void)
{
    static const char pairs[] = "cpu:x86-64-v4-bf16";
    if (target_caps(target_host()).bf16) return false;
    if (getenv("PCP_TARGET") || target_runs_here(pairs, NULL) < 0) skip();
    setenv("PCP_TARGET", pairs, 1);
    return true;
}

/* Weights rounded for products are rounded again, where a weight has rows enough: that moves values
 * only. */
static void test_rounded_weights(void **state)
{
    (void)state;
    const bool taken = take_bf16();
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.precision = "bf16";
    check_same(chain(1024, INT32_MAX), chain(1024, WEIGHT_BYTES), &spec, 0);
    check_same(chain(256, INT32_MAX), chain(256, 0), &spec, 0);
    trial_t kept = start(chain(256, INT32_MAX), &spec), few = start(chain(256, 1), &spec);
    assert_int_equal(few.plan->arena_bytes, kept.plan->arena_bytes);
    trial_fini(&kept);
    trial_fini(&few);
    if (taken) unsetenv("PCP_TARGET");
}

/* A budget that the usual plan keeps to changes nothing: values are kept. */
static void test_generous(void **state)
{
    (void)state;
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    trial_t usual = start(transformer(-1), &spec);
    spec.memory_budget = usual.plan->arena_bytes;
    trial_t within = start(transformer(-1), &spec);
    assert_int_equal(within.plan->arena_bytes, usual.plan->arena_bytes);
    assert_int_equal(within.plan->n_program, usual.plan->n_program);
    for (int p = 0; p < usual.plan->n_program; p++)
        assert_int_equal(within.plan->program[p].n_step, usual.plan->program[p].n_step);
    spec.memory_budget--;
    trial_t below = start(transformer(-1), &spec);
    assert_true(below.plan->arena_bytes <= spec.memory_budget);
    trial_fini(&usual);
    trial_fini(&within);
    trial_fini(&below);
}

static void test_accumulate(void **state)
{
    (void)state;
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.accumulate = 2;
    check_same(gated(INT32_MAX), gated(0), &spec, TOLERANCE);
}

static void test_gated(void **state)
{
    (void)state;
    const train_spec_t spec = TRAIN_SPEC_DEFAULT;
    check_same(gated(INT32_MAX), gated(0), &spec, TOLERANCE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transformer),     cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_rounded_weights), cmocka_unit_test(test_generous),
        cmocka_unit_test(test_accumulate),      cmocka_unit_test(test_gated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
