/* Models in Hugging Face's layout, whose logits PyTorch has computed in f64 (tests/golden/published/make.py): read as
 * `pcp model --from` reads them, evaluated by the interpreter, over the window, and with keys and values kept, token by
 * token and behind a prompt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/mem.h"
#include "infer/infer.h"
#include "ir/print.h"
#include "model/family.h"
#include "ops/eval.h"
#include "pcp/hf_dir.h"
#include "temp.h"

#define HERE "tests/golden/published/"
enum { PROMPT = 5, ARGS = 64 };

static const char *const names[] = {"gpt2", "llama", "mistral", "qwen2", "qwen3", "nanochat"};

/* f32 sums of some dozens of terms of order 1, through two layers, against f64: a few 1e-6 are met. */
static const double NEAR = 2e-5;

typedef struct {
    json_t *golden, *tokens, *logits;
    size_t n, vocab;
    char *dir;
    ir_module_t *module;
    str_t text;
    safetensors_t *params;
} published_t;

static void check(bool fine, const err_t *err)
{
    if (!fine) fail_msg("%s", err->text);
}

static void open_published(published_t *self, const char *name)
{
    err_t err = {0};
    char *where = mem_printf(HERE "%s", name), *json = mem_printf(HERE "%s/logits.json", name);
    *self = (published_t){.golden = json_load_file(json, 0, NULL), .dir = temp_dir()};
    assert_non_null(self->golden);
    self->tokens = json_object_get(self->golden, "tokens");
    self->logits = json_object_get(self->golden, "logits");
    self->n = json_array_size(self->tokens);
    self->vocab = json_array_size(json_array_get(self->logits, 0));
    assert_true(self->n > PROMPT && self->vocab > 1);
    hf_dir_t *hf = hf_dir_open(where, &err);
    check(hf != NULL, &err);
    const family_run_t run = {.block = (int64_t)self->n, .batch = 1};
    self->module = family_build(hf_dir_config(hf), &run, &err);
    check(self->module != NULL, &err);
    const char *weights = temp_path(self->dir, "weights");
    check(hf_dir_write_weights(hf, self->module, weights, &err) == 0, &err);
    self->params = safetensors_open(weights, &err);
    check(self->params != NULL, &err);
    ir_print_module(self->module, &self->text);
    hf_dir_close(&hf);
    free(where);
    free(json);
}

static void close_published(published_t *self)
{
    json_decref(self->golden);
    safetensors_close(&self->params);
    ir_module_destroy(&self->module);
    str_fini(&self->text);
    temp_remove(&self->dir);
}

static uint32_t token_at(const published_t *self, size_t i)
{
    return (uint32_t)json_integer_value(json_array_get(self->tokens, i));
}

static double logit_at(const published_t *self, size_t i, size_t v)
{
    return json_number_value(json_array_get(json_array_get(self->logits, i), v));
}

/* --- the interpreter --- */

static tensor_t read_param(const published_t *self, const ir_fn_t *fn, int i)
{
    tensor_t out = tensor_new(ir_type_of(fn, ir_fn_param(fn, i)));
    const char *name = attr_text(&fn->param_attrs[i], "pcp.name", "");
    const safetensor_t *t = safetensors_find(self->params, name);
    assert_non_null(t);
    for (int64_t k = 0; k < ir_type_count(&out.type); k++)
        tensor_set_f64(&out, k,
                       t->dtype == DT_BF16 ? half_from_bf16(((const uint16_t *)t->data)[k])
                                           : ((const float *)t->data)[k]);
    return out;
}

static double by_interpreter(const published_t *self)
{
    err_t err = {0};
    double most = 0;
    tensor_t in[ARGS], out = {0};
    const ir_fn_t *fn = ir_module_find(self->module, "logits");
    int n = fn->body->n_arg;
    assert_in_range(n, 2, ARGS);
    for (int i = 0; i < n - 1; i++) in[i] = read_param(self, fn, i);
    in[n - 1] = tensor_new(ir_type_of(fn, ir_fn_param(fn, n - 1)));
    for (size_t i = 0; i < self->n; i++) tensor_set_i64(&in[n - 1], (int64_t)i, token_at(self, i));
    check(eval_fn(self->module, fn, in, &out, NULL, &err) == 0, &err);
    for (size_t i = 0; i < self->n; i++)
        for (size_t v = 0; v < self->vocab; v++) {
            double x = tensor_get_f64(&out, (int64_t)(i * self->vocab + v));
            most = fmax(most, fabs(x - logit_at(self, i, v)));
        }
    for (int i = 0; i < n; i++) tensor_fini(&in[i]);
    tensor_fini(&out);
    return most;
}

/* --- as pcp generate and pcp-gateway compute them --- */

static double by_steps(const published_t *self, bool window, size_t first)
{
    err_t err = {0};
    double most = 0;
    uint32_t tokens[64];
    const infer_source_t source = {.text = str_text(&self->text),
                                   .n_text = self->text.n,
                                   .file = "published",
                                   .params = self->params};
    const infer_options_t options = {
        .threads = 1, .cache_dir = "", .window = window, .weights = INFER_F32};
    infer_t *model = infer_open(&source, &options, &err);
    check(model != NULL, &err);
    assert_true(infer_facts(model).window == window);
    assert_int_equal(infer_facts(model).vocab, self->vocab);
    for (size_t i = 0; i < first; i++) tokens[i] = token_at(self, i);
    int sequence = infer_add(model, tokens, first, &err);
    check(sequence >= 0, &err);
    for (size_t i = first - 1;; i++) {
        while (!infer_scores(model, sequence)) check(infer_step(model, &err) == 0, &err);
        const float *scores = infer_scores(model, sequence);
        for (size_t v = 0; v < self->vocab; v++)
            most = fmax(most, fabs((double)scores[v] - logit_at(self, i, v)));
        if (i + 1 == self->n) break;
        check(infer_push(model, sequence, token_at(self, i + 1), &err) == 0, &err);
    }
    infer_close(&model);
    return most;
}

static void test_logits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        published_t model;
        open_published(&model, names[i]);
        double evaluated = by_interpreter(&model), window = by_steps(&model, true, 1);
        double kept = by_steps(&model, false, 1), prompt = by_steps(&model, false, PROMPT);
        print_message("%s: from PyTorch's logits in f64 the interpreter's differ by %.2g at most, "
                      "those of the window by %.2g, kept %.2g, behind a prompt %.2g\n",
                      names[i], evaluated, window, kept, prompt);
        assert_true(evaluated < NEAR && window < NEAR && kept < NEAR && prompt < NEAR);
        close_published(&model);
    }
}

/* The same of a module that says no family and is a loss alone: its scores are found in the loss. */
static void test_loss_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        published_t model;
        open_published(&model, names[i]);
        attr_remove(&model.module->attrs, FAMILY_CONFIG);
        ir_module_remove(model.module, ir_module_find(model.module, "logits"));
        model.text.n = 0;
        ir_print_module(model.module, &model.text);
        double window = by_steps(&model, true, 1), kept = by_steps(&model, false, PROMPT);
        print_message("%s, a loss alone: the window's differ by %.2g at most, kept %.2g\n",
                      names[i], window, kept);
        assert_true(window < NEAR && kept < NEAR);
        close_published(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_logits),
                                       cmocka_unit_test(test_loss_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
