/* The GPT-2 builder and initial values. The loss is checked against a cross-entropy computed here
 * from
 * @logits, and causality by changing a later token. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "ir/build.h"
#include "model/gpt2.h"
#include "model/init.h"
#include "ops/eval.h"
#include "ops/stacked.h"
#include "parse/parse.h"

enum { BLOCK_TOKENS = 5, VOCAB = 7 };
static const gpt2_config_t SMALL = {.layers = 2,
                                    .heads = 2,
                                    .width = 8,
                                    .block = BLOCK_TOKENS,
                                    .vocab = VOCAB,
                                    .batch = 1,
                                    .bias = true};

/* Values for every argument: parameters by their rules, enlarged so that logits differ; tokens
 * random. */
static tensor_t *make_inputs(const ir_fn_t *fn)
{
    int n = fn->body->n_arg;
    tensor_t *in = mem_calloc((size_t)n, sizeof *in);
    for (int i = 0; i < n; i++) {
        ir_val_t v = ir_fn_param(fn, i);
        in[i] = tensor_new(ir_type_of(fn, v));
        int64_t count = ir_type_count(&in[i].type);
        if (!dtype_is_float(in[i].type.dtype)) {
            for (int64_t j = 0; j < count; j++)
                tensor_set_i64(&in[i], j,
                               (int64_t)(rng_bits(7 + (uint64_t)i, (uint64_t)j) % VOCAB));
            continue;
        }
        float *values = mem_calloc((size_t)count, sizeof *values);
        const char *name = attr_text(&fn->param_attrs[i], "pcp.name", "");
        err_t err = {0};
        assert_int_equal(init_fill(init_rule(fn, i), 3, name, values, count, &err), 0);
        for (int64_t j = 0; j < count; j++)
            tensor_set_f64(&in[i], j, in[i].type.rank > 1 ? 10 * values[j] : values[j]);
        free(values);
    }
    return in;
}

static void free_inputs(tensor_t *in, int n)
{
    for (int i = 0; i < n; i++) tensor_fini(&in[i]);
    free(in);
}

static double cross_entropy(const tensor_t *logits, const tensor_t *targets)
{
    double total = 0;
    for (int t = 0; t < BLOCK_TOKENS; t++) {
        double sum = 0;
        for (int v = 0; v < VOCAB; v++) sum += exp(tensor_get_f64(logits, t * VOCAB + v));
        total += log(sum) - tensor_get_f64(logits, t * VOCAB + tensor_get_i64(targets, t));
    }
    return total / BLOCK_TOKENS;
}

static void check_loss(const gpt2_config_t *config, double tolerance)
{
    err_t err = {0};
    ir_module_t *m = gpt2_build(config, &err);
    if (!m) fail_msg("%s", err.text);
    ir_fn_t *main_fn = ir_module_find(m, "main"), *logits_fn = ir_module_find(m, "logits");
    int n = main_fn->body->n_arg;
    tensor_t *in = make_inputs(main_fn), loss, logits, later;
    assert_int_equal(eval_fn(m, main_fn, in, &loss, NULL, &err), 0);
    assert_int_equal(eval_fn(m, logits_fn, in, &logits, NULL, &err), 0);
    double want = cross_entropy(&logits, &in[n - 1]), got = tensor_get_f64(&loss, 0);
    if (!(fabs(got - want) <= tolerance)) fail_msg("loss %.9g, from logits %.9g", got, want);

    /* A changed last token must not reach earlier positions, and must reach its own. */
    tensor_t *x = &in[n - 2];
    int64_t last = tensor_get_i64(x, BLOCK_TOKENS - 1);
    tensor_set_i64(x, BLOCK_TOKENS - 1, (last + 1) % VOCAB);
    assert_int_equal(eval_fn(m, logits_fn, in, &later, NULL, &err), 0);
    int64_t edge = (BLOCK_TOKENS - 1) * VOCAB;
    for (int64_t i = 0; i < edge; i++)
        assert_true(tensor_get_f64(&logits, i) == tensor_get_f64(&later, i));
    int n_changed = 0;
    for (int64_t i = edge; i < edge + VOCAB; i++)
        n_changed += tensor_get_f64(&logits, i) != tensor_get_f64(&later, i);
    assert_true(n_changed > 0);

    tensor_fini(&loss);
    tensor_fini(&logits);
    tensor_fini(&later);
    free_inputs(in, n);
    ir_module_destroy(&m);
}

static void test_loss_is_cross_entropy_of_logits(void **state)
{
    (void)state;
    gpt2_config_t no_bias = SMALL, bf16 = SMALL;
    no_bias.bias = false;
    bf16.bf16 = true;
    check_loss(&SMALL, 1e-5);
    check_loss(&no_bias, 1e-5);
    check_loss(&bf16, 1e-5); /* both functions round alike */
}

/* By the definition, in f64: of targets with other weights, with none that counts, and with all of them, where it is
 * the plain loss. */
static void test_weighted_loss(void **state)
{
    (void)state;
    static const double rows[][BLOCK_TOKENS] = {
        {0, 1, 1, 0, 1}, {0, 0, 0, 0, 1}, {0, 0, 0, 0, 0}, {0.25, 0, 3, 0.5, 0}, {1, 1, 1, 1, 1}};
    err_t err = {0};
    gpt2_config_t config = SMALL;
    config.weighted = true;
    ir_module_t *m = gpt2_build(&config, &err), *plain = gpt2_build(&SMALL, &err);
    if (!m || !plain) fail_msg("%s", err.text);
    ir_fn_t *main_fn = ir_module_find(m, "main");
    int n = main_fn->body->n_arg;
    tensor_t *in = make_inputs(main_fn), loss, logits;
    assert_int_equal(eval_fn(m, ir_module_find(m, "logits"), in, &logits, NULL, &err), 0);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        double sum = 0, weight = 0;
        for (int t = 0; t < BLOCK_TOKENS; t++) {
            double all = 0;
            for (int v = 0; v < VOCAB; v++) all += exp(tensor_get_f64(&logits, t * VOCAB + v));
            int64_t target = tensor_get_i64(&in[n - 2], t);
            sum += rows[r][t] * (log(all) - tensor_get_f64(&logits, t * VOCAB + target));
            weight += rows[r][t];
            tensor_set_f64(&in[n - 1], t, rows[r][t]);
        }
        double want = sum / (weight > 1 ? weight : 1);
        assert_int_equal(eval_fn(m, main_fn, in, &loss, NULL, &err), 0);
        double got = tensor_get_f64(&loss, 0);
        if (!(fabs(got - want) <= 1e-5)) fail_msg("row %zu: loss %.9g, want %.9g", r, got, want);
        tensor_fini(&loss);
    }
    assert_int_equal(eval_fn(plain, ir_module_find(plain, "main"), in, &loss, NULL, &err), 0);
    double whole = tensor_get_f64(&loss, 0);
    tensor_fini(&loss);
    assert_int_equal(eval_fn(m, main_fn, in, &loss, NULL, &err), 0);
    assert_true(fabs(tensor_get_f64(&loss, 0) - whole) <= 1e-6); /* a sum in another order */
    tensor_fini(&loss);
    tensor_fini(&logits);
    free_inputs(in, n);
    ir_module_destroy(&m);
    ir_module_destroy(&plain);
}

static void test_config_is_checked(void **state)
{
    (void)state;
    err_t err = {0};
    gpt2_config_t bad = SMALL;
    bad.heads = 3;
    assert_null(gpt2_build(&bad, &err));
    assert_non_null(strstr(err.text, "heads 3"));
    bad = SMALL;
    bad.layers = 0;
    assert_null(gpt2_build(&bad, &err));
    assert_non_null(strstr(err.text, "layers"));
}

static void test_init_rules(void **state)
{
    (void)state;
    err_t err = {0};
    enum { N = 20000 };
    float *x = mem_calloc(N, sizeof *x);
    assert_int_equal(init_fill("normal(0.5)", 1, "w", x, N, &err), 0);
    double sum = 0, square = 0;
    for (int i = 0; i < N; i++) sum += x[i], square += x[i] * x[i];
    assert_true(fabs(sum / N) < 0.02);             /* 5.6 standard errors */
    assert_true(fabs(square / N - 0.25) < 0.0125); /* 5 standard errors */
    float first = x[0];
    assert_int_equal(init_fill("normal(0.5)", 1, "v", x, N, &err), 0);
    assert_true(x[0] != first); /* another name, other values */
    assert_int_equal(init_fill("uniform(-1,3)", 1, "w", x, N, &err), 0);
    for (int i = 0; i < N; i++) assert_true(x[i] >= -1 && x[i] < 3);
    assert_int_equal(init_fill("constant(2.5)", 1, "w", x, 3, &err), 0);
    assert_true(x[2] == 2.5f);
    assert_int_equal(init_fill("constant(nan)", 1, "w", x, 3, &err), -1);
    assert_int_equal(init_fill("uniform(0,1e999)", 1, "w", x, 3, &err), -1);
    assert_int_equal(init_fill("normal(0.5", 1, "w", x, 3, &err), -1);
    assert_non_null(strstr(err.text, "normal(0.5"));
    free(x);
}

/* loss = sum((x * gain + shift) * m): gain is first multiplied, shift added, m is a matrix. */
static void test_default_rules_follow_use(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *mod = ir_module_new();
    ir_type_t v = ir_type(DT_F32, 1, (int64_t[]){4}), mat = ir_type(DT_F32, 2, (int64_t[]){3, 4});
    ir_fn_t *fn = ir_fn_new(mod, "main", 3, (ir_type_t[]){v, v, mat});
    ir_val_t gain = ir_broadcast(fn, ir_fn_param(fn, 0), &mat, (int64_t[]){1});
    ir_val_t shift = ir_broadcast(fn, ir_fn_param(fn, 1), &mat, (int64_t[]){1});
    ir_val_t m = ir_fn_param(fn, 2);
    ir_val_t y = ir_op2(fn, OP_add, ir_op2(fn, OP_multiply, m, gain), shift);
    y = ir_reduce_all(fn, OP_add, ir_op2(fn, OP_multiply, y, m));
    assert_int_equal(ir_fn_finish(fn, 1, &y, &err), 0);
    assert_string_equal(init_rule(fn, 0), "ones");
    assert_string_equal(init_rule(fn, 1), "zeros");
    assert_string_equal(init_rule(fn, 2), "normal(0.02)");
    ir_module_destroy(&mod);
}

/* Three layers in a loop, and two of them one behind another. */
static const char *const stacked_texts[] = {
    "  %z = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %loop:5 = stablehlo.while(%gs = %gain, %bs = %bias, %ws = %w, %i = %z, %h = %x)\n"
    "      : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4x4xf32>, tensor<i32>, "
    "tensor<2x4xf32>\n"
    "  cond {\n"
    "    %n = stablehlo.constant dense<3> : tensor<i32>\n"
    "    %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %go : tensor<i1>\n  } do {\n"
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %o = stablehlo.constant dense<0> : tensor<i32>\n"
    "    %sg = stablehlo.dynamic_slice %gs, %i, %o, sizes = [1, 4]\n"
    "        : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>\n"
    "    %sb = stablehlo.dynamic_slice %bs, %i, %o, sizes = [1, 4]\n"
    "        : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>\n"
    "    %sw = stablehlo.dynamic_slice %ws, %i, %o, %o, sizes = [1, 4, 4]\n"
    "        : (tensor<3x4x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> "
    "tensor<1x4x4xf32>\n"
    "    %y = func.call @layer(%sg, %sb, %sw, %h) : (tensor<1x4xf32>, tensor<1x4xf32>,\n"
    "        tensor<1x4x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    stablehlo.return %gs, %bs, %ws, %j, %y : tensor<3x4xf32>, tensor<3x4xf32>,\n"
    "        tensor<3x4x4xf32>, tensor<i32>, tensor<2x4xf32>\n  }\n"
    "  %r = stablehlo.multiply %loop#4, %plain : tensor<2x4xf32>\n",
    "  %g0 = stablehlo.slice %gain [0:1, 0:4] : (tensor<3x4xf32>) -> tensor<1x4xf32>\n"
    "  %b0 = stablehlo.slice %bias [0:1, 0:4] : (tensor<3x4xf32>) -> tensor<1x4xf32>\n"
    "  %w0 = stablehlo.slice %w [0:1, 0:4, 0:4] : (tensor<3x4x4xf32>) -> tensor<1x4x4xf32>\n"
    "  %g1 = stablehlo.slice %gain [1:2, 0:4] : (tensor<3x4xf32>) -> tensor<1x4xf32>\n"
    "  %b1 = stablehlo.slice %bias [1:2, 0:4] : (tensor<3x4xf32>) -> tensor<1x4xf32>\n"
    "  %w1 = stablehlo.slice %w [1:2, 0:4, 0:4] : (tensor<3x4x4xf32>) -> tensor<1x4x4xf32>\n"
    "  %y0 = func.call @layer(%g0, %b0, %w0, %x) : (tensor<1x4xf32>, tensor<1x4xf32>,\n"
    "      tensor<1x4x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>\n"
    "  %y1 = func.call @layer(%g1, %b1, %w1, %y0) : (tensor<1x4xf32>, tensor<1x4xf32>,\n"
    "      tensor<1x4x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>\n"
    "  %r = stablehlo.multiply %y1, %plain : tensor<2x4xf32>\n"};

/* A scan over three layers, or the layers one behind another: gains and biases lie side by side as matrices, and are vectors. */
static void test_default_rules_of_stacked_layers(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        err_t err = {0};
        str_t text = {0};
        str_addf(&text,
                 "func.func @main(%%gain: tensor<3x4xf32>, %%bias: tensor<3x4xf32>,\n"
                 "    %%w: tensor<3x4x4xf32>, %%plain: tensor<2x4xf32>, %%x: tensor<2x4xf32>)\n"
                 "    -> tensor<2x4xf32> {\n%s  return %%r : tensor<2x4xf32>\n}\n"
                 "func.func private @layer(%%sg: tensor<1x4xf32>, %%sb: tensor<1x4xf32>,\n"
                 "    %%sw: tensor<1x4x4xf32>, %%h: tensor<2x4xf32>) -> tensor<2x4xf32> {\n"
                 "  %%w = stablehlo.reshape %%sw : (tensor<1x4x4xf32>) -> tensor<4x4xf32>\n"
                 "  %%g = stablehlo.broadcast_in_dim %%sg, dims = [0, 1]\n"
                 "      : (tensor<1x4xf32>) -> tensor<2x4xf32>\n"
                 "  %%b = stablehlo.broadcast_in_dim %%sb, dims = [0, 1]\n"
                 "      : (tensor<1x4xf32>) -> tensor<2x4xf32>\n"
                 "  %%n = stablehlo.multiply %%h, %%g : tensor<2x4xf32>\n"
                 "  %%p = stablehlo.dot_general %%n, %%w, contracting_dims = [1] x [0]\n"
                 "      : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>\n"
                 "  %%y = stablehlo.add %%p, %%b : tensor<2x4xf32>\n"
                 "  return %%y : tensor<2x4xf32>\n}\n",
                 stacked_texts[k]);
        ir_module_t *module = parse_stablehlo(str_text(&text), text.n, "stacked", &err);
        if (!module) fail_msg("%s", err.text);
        const ir_fn_t *fn = ir_module_find(module, "main");
        static const int rank[] = {1, 1, 2, 2};
        static const char *const rule[] = {"ones", "zeros", "normal(0.02)", "normal(0.02)"};
        for (int i = 0; i < 4; i++) {
            assert_int_equal(stacked_layer_rank(fn, i), rank[i]);
            assert_string_equal(init_rule(fn, i), rule[i]);
        }
        ir_module_destroy(&module);
        str_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss_is_cross_entropy_of_logits),
        cmocka_unit_test(test_weighted_loss),
        cmocka_unit_test(test_config_is_checked),
        cmocka_unit_test(test_init_rules),
        cmocka_unit_test(test_default_rules_follow_use),
        cmocka_unit_test(test_default_rules_of_stacked_layers),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
