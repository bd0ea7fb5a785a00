/* Generation: what is kept between tokens changes nothing. Sequences with kept keys and values against
 * @logits over the whole window, alone and side by side, with long prompts, and until the context is
 * full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "infer/infer.h"
#include "ir/print.h"
#include "model/family.h"
#include "temp.h"

enum { VOCAB = 97, BLOCK = 40, LAYERS = 2 };

typedef struct {
    str_t text;
    uint8_t *bytes; /* of the parameters' file */
    safetensors_t *params;
    infer_source_t source;
} model_t;

static void check(int status, const err_t *err)
{
    if (status < 0) print_message("%s\n", err->text);
    assert_true(status >= 0);
}

/* Random parameters, large enough that scores differ by far more than rounding. */
static void fill(model_t *self, const ir_fn_t *fn)
{
    safetensor_t *list = mem_calloc((size_t)fn->body->n_arg, sizeof *list);
    size_t n = 0, size, at;
    err_t err = {0};
    for (int i = 0; i < fn->body->n_arg - 1; i++) {
        const ir_type_t *t = ir_type_of(fn, ir_fn_param(fn, i));
        safetensor_t x = {.name = attr_text(&fn->param_attrs[i], "pcp.name", NULL),
                          .dtype = DT_F32,
                          .rank = t->rank,
                          .n_bytes = (size_t)ir_type_count(t) * 4};
        memcpy(x.dims, t->dim, (size_t)t->rank * sizeof *x.dims);
        list[n++] = x;
    }
    self->bytes = safetensors_pack(list, n, NULL, 0, &size, &at, &err);
    assert_non_null(self->bytes);
    for (size_t i = at; i + 4 <= size; i += 4) {
        float x = (float)(0.15 * rng_normal(7, i));
        memcpy(self->bytes + i, &x, 4);
    }
    self->params = safetensors_view(self->bytes, size, &err);
    check(self->params ? 0 : -1, &err);
    free(list);
}

static void model_init(model_t *self, ir_module_t *module, const err_t *err)
{
    *self = (model_t){0};
    check(module ? 0 : -1, err);
    ir_print_module(module, &self->text);
    fill(self, ir_module_find(module, "logits"));
    self->source = (infer_source_t){.text = str_text(&self->text),
                                    .n_text = self->text.n,
                                    .file = "test.mlir",
                                    .params = self->params};
    ir_module_destroy(&module);
}

static void gpt2_init(model_t *self, bool bf16)
{
    err_t err = {0};
    const gpt2_config_t c = {.layers = LAYERS,
                             .heads = 3,
                             .width = 48,
                             .block = BLOCK,
                             .vocab = VOCAB,
                             .batch = 1,
                             .bias = true,
                             .bf16 = bf16};
    model_init(self, family_gpt2(&c, &err), &err);
}

static void llama_init(model_t *self)
{
    err_t err = {0};
    const llama_config_t c = {.layers = LAYERS,
                              .heads = 4,
                              .kv_heads = 2,
                              .width = 48,
                              .block = BLOCK,
                              .vocab = VOCAB,
                              .batch = 1,
                              .hidden = 80,
                              .eps = 1e-5,
                              .theta = 10000,
                              .qk_norm = true};
    model_init(self, family_llama(&c, &err), &err);
}

static void model_fini(model_t *self)
{
    str_fini(&self->text);
    safetensors_close(&self->params);
    free(self->bytes);
}

static infer_t *open_as(const model_t *model, const infer_options_t *options)
{
    err_t err = {0};
    infer_t *self = infer_open(&model->source, options, &err);
    check(self ? 0 : -1, &err);
    return self;
}

static uint32_t likeliest(const float *scores)
{
    uint32_t best = 0;
    for (uint32_t v = 1; v < VOCAB; v++)
        if (scores[v] > scores[best]) best = v;
    return best;
}

static void prompt_of(uint32_t *tokens, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) tokens[i] = (uint32_t)(rng_bits(seed, i) % VOCAB);
}

static const float *scores_of(infer_t *self, int sequence)
{
    err_t err = {0};
    while (!infer_scores(self, sequence)) check(infer_step(self, &err), &err);
    return infer_scores(self, sequence);
}

/* Both go on from a prompt of n tokens to the end of the context; the largest distance of scores. */
static double compare(infer_t *a, infer_t *b, size_t n)
{
    uint32_t prompt[BLOCK];
    err_t err = {0};
    double most = 0;
    prompt_of(prompt, n, n);
    int i = infer_add(a, prompt, n, &err), k = infer_add(b, prompt, n, &err);
    check(i, &err);
    check(k, &err);
    for (size_t at = n;; at++) {
        const float *x = scores_of(a, i), *y = scores_of(b, k);
        for (int v = 0; v < VOCAB; v++) most = fmax(most, fabs((double)x[v] - y[v]));
        assert_int_equal(likeliest(x), likeliest(y));
        if (at == BLOCK) break;
        uint32_t token = likeliest(x);
        check(infer_push(a, i, token, &err), &err);
        check(infer_push(b, k, token, &err), &err);
    }
    infer_end(a, i);
    infer_end(b, k);
    return most;
}

static void compare_all(model_t *model, const char *name)
{
    const infer_options_t keep = {.threads = 2, .cache_dir = ""};
    const infer_options_t window = {.threads = 2, .cache_dir = "", .window = true};
    infer_t *a = open_as(model, &keep), *b = open_as(model, &window);
    assert_false(infer_facts(a).window);
    assert_true(infer_facts(b).window);
    double most = 0;
    const size_t n[] = {1, 2, 15, 16, 17, 18, 33, 34, BLOCK};
    for (size_t i = 0; i < sizeof n / sizeof *n; i++) most = fmax(most, compare(a, b, n[i]));
    print_message("%s: scores differ by %.3g at most\n", name, most);
    assert_true(most < 1e-5); /* the same sums in another order */
    infer_close(&a);
    infer_close(&b);
    model_fini(model);
}

static void test_gpt2(void **state)
{
    (void)state;
    model_t model;
    gpt2_init(&model, false);
    compare_all(&model, "gpt2");
}

static void test_llama(void **state)
{
    (void)state;
    model_t model;
    llama_init(&model);
    compare_all(&model, "llama");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2),
        cmocka_unit_test(test_llama),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
