/* The Llama family against plain loops in f64 that share nothing with the builder: logits, loss,
 * gradients by finite differences of those loops; 20 steps of training through a compiled plan. */
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
#include "ir/print.h"
#include "model/family.h"
#include "ops/eval.h"
#include "optim/optim.h"
#include "plan_help.h"
#include "tools/trial.h"

enum { T = 6, V = 11, MAX_PARAMS = 64, MAX_WIDTH = 64 };

static const llama_config_t PLAIN = {.layers = 2,
                                     .heads = 4,
                                     .kv_heads = 4,
                                     .width = 16,
                                     .hidden = 24,
                                     .block = T,
                                     .vocab = V,
                                     .batch = 1,
                                     .eps = 1e-5,
                                     .theta = 100,
                                     .tied = true};

/* --- the reference ---------------------------------------------------------------------------- */

typedef struct {
    const llama_config_t *c;
    int n;
    const char *name[MAX_PARAMS];
    double *value[MAX_PARAMS];
    int64_t count[MAX_PARAMS];
    int x[T], y[T];
} reference_t;

/* NULL: the model has no such parameter. */
static const double *find(const reference_t *r, const char *format, int layer)
{
    char name[96];
    snprintf(name, sizeof name, format, layer);
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->name[i], name) == 0) return r->value[i];
    return NULL;
}

/* out[rows] = W[rows, columns] in + b. */
static void product(const double *w, const double *bias, const double *in, int rows, int columns,
                    double *out)
{
    for (int i = 0; i < rows; i++) {
        out[i] = bias ? bias[i] : 0;
        for (int j = 0; j < columns; j++) out[i] += w[i * columns + j] * in[j];
    }
}

static void norm(const double *gain, double eps, int n, const double *in, double *out)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += in[i] * in[i];
    for (int i = 0; i < n; i++) out[i] = in[i] / sqrt(sum / n + eps) * gain[i];
}

/* Llama 3.1's formula as its authors wrote it, by wavelengths. */
static double frequency(const llama_config_t *c, int d, int i)
{
    double f = 1 / pow(c->theta, 2.0 * i / d), wave = 2 * M_PI / f;
    if (c->rope == ROPE_LINEAR) return f / c->rope_factor;
    if (c->rope == ROPE_PLAIN || wave < c->rope_block / c->rope_high) return f;
    if (wave > c->rope_block / c->rope_low) return f / c->rope_factor;
    double smooth = (c->rope_block / wave - c->rope_low) / (c->rope_high - c->rope_low);
    return (1 - smooth) * f / c->rope_factor + smooth * f;
}

static void turn(const llama_config_t *c, int d, int position, double *head)
{
    for (int i = 0; i < d / 2; i++) {
        double angle = position * frequency(c, d, i), a = head[i], b = head[i + d / 2];
        head[i] = a * cos(angle) - b * sin(angle);
        head[i + d / 2] = b * cos(angle) + a * sin(angle);
    }
}

#define LAYER "model.layers.%d."
static void project(const reference_t *r, int layer, char which, int heads, int d,
                    double x[T][MAX_WIDTH], double out[T][MAX_WIDTH])
{
    const llama_config_t *c = r->c;
    char weight[64], bias[64], gain[64];
    snprintf(weight, sizeof weight, LAYER "self_attn.%c_proj.weight", layer, which);
    snprintf(bias, sizeof bias, LAYER "self_attn.%c_proj.bias", layer, which);
    snprintf(gain, sizeof gain, LAYER "self_attn.%c_norm.weight", layer, which);
    for (int t = 0; t < T; t++) {
        product(find(r, weight, 0), find(r, bias, 0), x[t], heads * d, c->width, out[t]);
        for (int h = 0; h < heads && which != 'v'; h++) {
            if (find(r, gain, 0)) norm(find(r, gain, 0), c->eps, d, out[t] + h * d, out[t] + h * d);
            turn(c, d, t, out[t] + h * d);
        }
    }
}

static void attend(const reference_t *r, int layer, double x[T][MAX_WIDTH], double y[T][MAX_WIDTH])
{
    const llama_config_t *c = r->c;
    int d = c->head_width ? c->head_width : c->width / c->heads, group = c->heads / c->kv_heads;
    double q[T][MAX_WIDTH], k[T][MAX_WIDTH], v[T][MAX_WIDTH], o[T][MAX_WIDTH] = {{0}};
    project(r, layer, 'q', c->heads, d, x, q);
    project(r, layer, 'k', c->kv_heads, d, x, k);
    project(r, layer, 'v', c->kv_heads, d, x, v);
    for (int h = 0; h < c->heads; h++) {
        for (int t = 0; t < T; t++) {
            double score[T], sum = 0;
            for (int s = 0; s <= t; s++) {
                score[s] = 0;
                for (int i = 0; i < d; i++) score[s] += q[t][h * d + i] * k[s][h / group * d + i];
                sum += score[s] = exp(score[s] / sqrt(d));
            }
            for (int s = 0; s <= t; s++)
                for (int i = 0; i < d; i++)
                    o[t][h * d + i] += score[s] / sum * v[s][h / group * d + i];
        }
    }
    for (int t = 0; t < T; t++)
        product(find(r, LAYER "self_attn.o_proj.weight", layer),
                find(r, LAYER "self_attn.o_proj.bias", layer), o[t], c->width, c->heads * d, y[t]);
}

static void feed(const reference_t *r, int layer, const double *x, double *y)
{
    const llama_config_t *c = r->c;
    double gate[MAX_WIDTH], up[MAX_WIDTH];
    product(find(r, LAYER "mlp.gate_proj.weight", layer),
            find(r, LAYER "mlp.gate_proj.bias", layer), x, c->hidden, c->width, gate);
    product(find(r, LAYER "mlp.up_proj.weight", layer), find(r, LAYER "mlp.up_proj.bias", layer), x,
            c->hidden, c->width, up);
    for (int i = 0; i < c->hidden; i++) up[i] *= gate[i] / (1 + exp(-gate[i]));
    product(find(r, LAYER "mlp.down_proj.weight", layer),
            find(r, LAYER "mlp.down_proj.bias", layer), up, c->width, c->hidden, y);
}

static double forward(const reference_t *r, double logits[T][V])
{
    const llama_config_t *c = r->c;
    const double *table = find(r, "model.embed_tokens.weight", 0);
    const double *head = c->tied ? table : find(r, "lm_head.weight", 0);
    double x[T][MAX_WIDTH], in[T][MAX_WIDTH], out[T][MAX_WIDTH], loss = 0;
    for (int t = 0; t < T; t++)
        for (int i = 0; i < c->width; i++) x[t][i] = table[r->x[t] * c->width + i];
    for (int layer = 0; layer < c->layers; layer++) {
        for (int t = 0; t < T; t++)
            norm(find(r, LAYER "input_layernorm.weight", layer), c->eps, c->width, x[t], in[t]);
        attend(r, layer, in, out);
        for (int t = 0; t < T; t++) {
            for (int i = 0; i < c->width; i++) x[t][i] += out[t][i];
            norm(find(r, LAYER "post_attention_layernorm.weight", layer), c->eps, c->width, x[t],
                 in[t]);
            feed(r, layer, in[t], out[t]);
            for (int i = 0; i < c->width; i++) x[t][i] += out[t][i];
        }
    }
    for (int t = 0; t < T; t++) {
        double sum = 0;
        norm(find(r, "model.norm.weight", 0), c->eps, c->width, x[t], in[t]);
        product(head, NULL, in[t], V, c->width, logits[t]);
        for (int v = 0; v < V; v++) sum += exp(logits[t][v]);
        loss += (log(sum) - logits[t][r->y[t]]) / T;
    }
    return loss;
}

/* --- both, on the same values ----------------------------------------------------------------- */

static void reference_init(reference_t *r, const llama_config_t *c, const ir_fn_t *fn)
{
    *r = (reference_t){.c = c};
    for (int i = 0; i < fn->body->n_arg; i++) {
        const ir_type_t *type = ir_type_of(fn, ir_fn_param(fn, i));
        if (!dtype_is_float(type->dtype)) continue;
        assert_true(r->n < MAX_PARAMS);
        int64_t n = ir_type_count(type);
        r->name[r->n] = attr_text(&fn->param_attrs[i], "pcp.name", "");
        r->count[r->n] = n;
        r->value[r->n] = mem_calloc((size_t)n, sizeof(double));
        for (int64_t j = 0; j < n; j++) {
            double x = rng_normal(17 + (uint64_t)i, (uint64_t)j);
            r->value[r->n][j] = (float)(type->rank == 1 ? 1 + 0.3 * x : 0.35 * x);
        }
        r->n++;
    }
    for (int t = 0; t < T; t++) {
        r->x[t] = (int)(rng_bits(3, (uint64_t)t) % V);
        r->y[t] = (int)(rng_bits(4, (uint64_t)t) % V);
    }
}

static void reference_fini(reference_t *r)
{
    for (int i = 0; i < r->n; i++) free(r->value[i]);
}

/* The arguments of a function of the module, from the reference's values. */
static tensor_t *inputs(const reference_t *r, const ir_fn_t *fn)
{
    tensor_t *in = mem_calloc((size_t)fn->body->n_arg, sizeof *in);
    for (int i = 0, k = 0; i < fn->body->n_arg; i++) {
        in[i] = tensor_new(ir_type_of(fn, ir_fn_param(fn, i)));
        const char *name = attr_text(&fn->param_attrs[i], "pcp.name", "");
        if (dtype_is_float(in[i].type.dtype)) {
            for (int64_t j = 0; j < r->count[k]; j++) tensor_set_f64(&in[i], j, r->value[k][j]);
            k++;
        } else {
            for (int t = 0; t < T; t++) tensor_set_i64(&in[i], t, *name == 'y' ? r->y[t] : r->x[t]);
        }
    }
    return in;
}

static void inputs_free(tensor_t *in, int n)
{
    for (int i = 0; i < n; i++) tensor_fini(&in[i]);
    free(in);
}

/* f32 products of at most 64 terms of order one, over a few layers: 1e-5 leaves a factor of ten. */
static void check_forward(const llama_config_t *c, const char *what)
{
    err_t err = {0};
    ir_module_t *m = llama_build(c, &err);
    if (!m) fail_msg("%s: %s", what, err.text);
    reference_t r;
    reference_init(&r, c, ir_module_find(m, "main"));
    double want[T][V], loss = forward(&r, want), worst = 0;
    const char *names[] = {"logits", "main"};
    for (int f = 0; f < 2; f++) {
        const ir_fn_t *fn = ir_module_find(m, names[f]);
        tensor_t *in = inputs(&r, fn), out;
        if (eval_fn(m, fn, in, &out, NULL, &err) < 0) fail_msg("%s", err.text);
        for (int i = 0; i < (f ? 1 : T * V); i++) {
            double off = fabs(tensor_get_f64(&out, i) - (f ? loss : want[i / V][i % V]));
            worst = off > worst || isnan(off) ? off : worst;
        }
        tensor_fini(&out);
        inputs_free(in, fn->body->n_arg);
    }
    print_message("%-12s off by at most %.2g\n", what, worst);
    assert_true(worst < 1e-5);
    reference_fini(&r);
    ir_module_destroy(&m);
}

static void test_forward(void **state)
{
    (void)state;
    llama_config_t c = PLAIN;
    check_forward(&c, "plain");
    c.kv_heads = 2, c.tied = false;
    check_forward(&c, "grouped");
    c.kv_heads = 1, c.qkv_bias = true;
    check_forward(&c, "qwen 2");
    c.qk_norm = true, c.qkv_bias = false, c.head_width = 6, c.kv_heads = 2;
    check_forward(&c, "qwen 3");
    c = PLAIN, c.qkv_bias = c.out_bias = c.mlp_bias = true;
    check_forward(&c, "biases");
    c = PLAIN, c.rope = ROPE_LINEAR, c.rope_factor = 4;
    check_forward(&c, "linear rope");
    c = PLAIN, c.rope = ROPE_LLAMA3, c.rope_factor = 8, c.rope_low = 1, c.rope_high = 4;
    c.rope_block = 40;
    check_forward(&c, "llama 3 rope");
}

/* Every parameter, a few elements of each. */
static void test_gradient(void **state)
{
    (void)state;
    llama_config_t c = PLAIN;
    c.kv_heads = 2, c.tied = false, c.qkv_bias = true, c.qk_norm = true;
    err_t err = {0};
    ir_module_t *m = llama_build(&c, &err);
    reference_t r;
    reference_init(&r, &c, ir_module_find(m, "main"));
    if (optim_build_gradient(m, &err) < 0) fail_msg("%s", err.text);
    const ir_fn_t *fn = ir_module_find(m, "grad");
    tensor_t *in = inputs(&r, fn), out[MAX_PARAMS + 1];
    if (eval_fn(m, fn, in, out, NULL, &err) < 0) fail_msg("%s", err.text);
    double logits[T][V], worst = 0, largest = 0;
    for (int p = 0; p < r.n; p++) {
        for (uint64_t k = 0; k < 3; k++) {
            int64_t at = (int64_t)(rng_bits(8, k + 8 * (uint64_t)p) % (uint64_t)r.count[p]);
            double old = r.value[p][at], h = 1e-5;
            r.value[p][at] = old + h;
            double up = forward(&r, logits);
            r.value[p][at] = old - h;
            double want = (up - forward(&r, logits)) / (2 * h);
            r.value[p][at] = old;
            double off = fabs(tensor_get_f64(&out[1 + p], at) - want);
            worst = off > worst || isnan(off) ? off : worst;
            largest = fabs(want) > largest ? fabs(want) : largest;
        }
    }
    print_message("gradients up to %.2g, off by at most %.2g\n", largest, worst);
    assert_true(largest > 0.05);
    assert_true(worst < 1e-5);
    for (int i = 0; i <= r.n; i++) tensor_fini(&out[i]);
    inputs_free(in, fn->body->n_arg);
    reference_fini(&r);
    ir_module_destroy(&m);
}

/* The plan's gradients, with attention in one kernel, against the interpreter's. */
static void test_compiled(void **state)
{
    (void)state;
    llama_config_t c = PLAIN;
    c.kv_heads = 2, c.tied = false, c.qk_norm = true, c.batch = 2, c.qkv_bias = true;
    c.layers = 1;
    err_t err = {0};
    ir_module_t *m = llama_build(&c, &err);
    if (!m || optim_build_gradient(m, &err) < 0) fail_msg("%s", err.text);
    plan_check_module(m, &(plan_check_t){10, V, 0.3, 1e-5, 0});
}

static void test_trains(void **state)
{
    (void)state;
    llama_config_t c = PLAIN;
    c.kv_heads = 2, c.batch = 2, c.layers = 1;
    err_t err = {0};
    ir_module_t *m = llama_build(&c, &err);
    str_t text = {0};
    ir_print_module(m, &text);
    ir_module_destroy(&m);
    trial_t trial;
    trial_options_t options = {.threads = 1, .vocab = V, .seed = 5};
    float first = 0, loss = 0;
    if (trial_init(&trial, text.at, text.n, "llama", &options, &err) < 0) fail_msg("%s", err.text);
    for (int i = 0; i < 20; i++) {
        if (trial_step(&trial, &loss, &err) < 0) fail_msg("%s", err.text);
        if (i == 0) first = loss;
    }
    print_message("loss %.4f, after 20 steps %.4f\n", (double)first, (double)loss);
    assert_true(fabs(first - log(V)) < 0.1); /* small logits: all tokens alike */
    assert_true(loss < first - 0.02);
    trial_fini(&trial);
    str_fini(&text);
}

/* --- config.json ------------------------------------------------------------------------------ */

static const char *refused(const char *config)
{
    static err_t err;
    const family_run_t run = {.batch = 1};
    err_clear(&err);
    ir_module_t *m = family_build(config, &run, &err);
    assert_null(m);
    return err.text;
}

static void test_config(void **state)
{
    (void)state;
    static const struct {
        const char *config, *why;
    } cases[] = {
        {"{", "line 1"},
        {"{}", "model_type"},
        {"{\"model_type\": \"t5\"}", "t5"},
        {"{\"model_type\": \"llama\", \"hidden_size\": -4}", "hidden_size is -4"},
        {"{\"model_type\": \"llama\", \"num_attention_heads\": \"8\"}", "num_attention_heads"},
        {"{\"model_type\": \"llama\", \"hidden_act\": \"relu\"}", "relu"},
        {"{\"model_type\": \"llama\", \"rope_scaling\": {\"type\": \"yarn\"}}", "yarn"},
        {"{\"model_type\": \"llama\", \"num_key_value_heads\": 5}", "kv_heads 5"},
        {"{\"model_type\": \"mistral\", \"sliding_window\": 8}", "sliding_window is 8"},
        {"{\"model_type\": \"gpt2\", \"n_inner\": 7}", "n_inner is 7"},
        {"{\"model_type\": \"nanochat\", \"hidden_act\": \"gelu\"}", "gelu"},
        {"{\"model_type\": \"nanochat\", \"num_attention_heads\": 5}", "heads 5"},
        {"{\"model_type\": \"nanochat\", \"attention_bias\": true}", "attention_bias"},
        {"{\"model_type\": \"nanochat\", \"tie_word_embeddings\": true}", "tie_word_embeddings"},
        {"{\"model_type\": \"nanochat\", \"rms_norm_eps\": 0}", "eps 0"},
        {"{\"model_type\": \"nanochat\", \"final_logit_softcapping\": -1}", "softcap"},
        {"{\"model_type\": \"nanochat\", \"rope_table_dtype\": \"int8\"}", "int8"},
        {"{\"model_type\": \"nanochat\", \"rope_parameters\": {\"rope_type\": \"yarn\"}}", "yarn"},
        {"{\"model_type\": \"gpt2\", \"n_head\": 7}", "heads 7"},
        {"{\"model_type\": \"gpt2\", \"activation_function\": \"relu\"}", "relu"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = refused(cases[i].config);
        if (!strstr(why, cases[i].why)) fail_msg("%s: %s", cases[i].config, why);
    }
}

/* What a module says of itself builds it again; published names. */
static void test_description(void **state)
{
    (void)state;
    err_t err = {0};
    llama_config_t c = PLAIN;
    c.kv_heads = 2, c.qkv_bias = true, c.tied = false;
    gpt2_config_t g = {
        .layers = 1, .heads = 2, .width = 8, .block = T, .vocab = V, .batch = 3, .bias = true};
    nanochat_config_t n = {.layers = 2,
                           .heads = 4,
                           .kv_heads = 2,
                           .width = 16,
                           .hidden = 32,
                           .block = T,
                           .vocab = V,
                           .batch = 1,
                           .eps = 1e-6,
                           .theta = 500,
                           .rope_bf16 = true};
    nanochat_config_t capped = n;
    capped.softcap = 9, capped.rope_bf16 = false;
    enum { N = 4 };
    ir_module_t *of[N] = {family_llama(&c, &err), family_gpt2(&g, &err), family_nanochat(&n, &err),
                          family_nanochat(&capped, &err)};
    for (int i = 0; i < N; i++) {
        if (!of[i]) fail_msg("%s", err.text);
        const family_run_t run = {.batch = i == 1 ? 3 : 1};
        ir_module_t *again = family_build(family_config(of[i]), &run, &err);
        if (!again) fail_msg("%s", err.text);
        str_t a = {0}, b = {0};
        ir_print_module(of[i], &a);
        ir_print_module(again, &b);
        assert_string_equal(a.at, b.at);
        str_fini(&a);
        str_fini(&b);
        ir_module_destroy(&again);
    }
    char names[FAMILY_NAMES][FAMILY_NAME_BYTES];
    assert_int_equal(family_names(family_config(of[1]), "wte.weight", names), 2);
    assert_string_equal(names[0], "transformer.wte.weight");
    assert_string_equal(names[1], "wte.weight");
    assert_int_equal(family_names(family_config(of[0]), "model.norm.weight", names), 2);
    assert_string_equal(names[0], "model.norm.weight");
    assert_string_equal(names[1], "norm.weight");
    assert_true(family_ignores(family_config(of[1]), "h.3.attn.bias"));
    assert_false(family_ignores(family_config(of[0]), "lm_head.weight"));
    assert_int_equal(family_names(family_config(of[2]), "model.layers.0.mlp.fc1.weight", names), 2);
    assert_string_equal(names[1], "layers.0.mlp.fc1.weight");
    for (int i = 0; i < N; i++) ir_module_destroy(&of[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),  cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_compiled), cmocka_unit_test(test_trains),
        cmocka_unit_test(test_config),   cmocka_unit_test(test_description),
    };
    return cmocka_run_group_tests_name("llama", tests, NULL, NULL);
}
