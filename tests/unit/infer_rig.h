/* Small models with random parameters for tests of generation, and how two ways of it are compared. */
#ifndef TEST_INFER_RIG_H
#define TEST_INFER_RIG_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "infer/infer.h"
#include "ir/print.h"
#include "model/family.h"
#include "parse/parse.h"

typedef struct {
    str_t text;
    uint8_t *bytes; /* of the parameters' file */
    safetensors_t *params;
    infer_source_t source;
} model_t;

static inline void check(int status, const err_t *err)
{
    if (status < 0) print_message("%s\n", err->text);
    assert_true(status >= 0);
}

/* Random parameters of the entry, large enough that scores differ by far more than rounding. */
static inline void fill(model_t *self, const ir_fn_t *fn, double scale)
{
    safetensor_t *list = mem_calloc((size_t)fn->body->n_arg, sizeof *list);
    char(*names)[32] = mem_calloc((size_t)fn->body->n_arg, sizeof *names);
    size_t n = 0, size, at;
    err_t err = {0};
    for (int i = 0; i < fn->body->n_arg; i++) {
        const ir_type_t *t = ir_type_of(fn, ir_fn_param(fn, i));
        if (!dtype_is_float(t->dtype)) continue;
        snprintf(names[i], sizeof names[i], "arg%d", i);
        safetensor_t x = {.name = attr_text(&fn->param_attrs[i], "pcp.name", names[i]),
                          .dtype = DT_F32,
                          .rank = t->rank,
                          .n_bytes = (size_t)ir_type_count(t) * 4};
        memcpy(x.dims, t->dim, (size_t)t->rank * sizeof *x.dims);
        list[n++] = x;
    }
    self->bytes = safetensors_pack(list, n, NULL, 0, &size, &at, &err);
    assert_non_null(self->bytes);
    for (size_t i = at; i + 4 <= size; i += 4) {
        float x = (float)(scale * rng_normal(7, i));
        memcpy(self->bytes + i, &x, 4);
    }
    self->params = safetensors_view(self->bytes, size, &err);
    check(self->params ? 0 : -1, &err);
    free(names);
    free(list);
}

static inline void model_of_text(model_t *self, const char *text, size_t n, double scale)
{
    err_t err = {0};
    *self = (model_t){0};
    str_addn(&self->text, text, n);
    ir_module_t *module = parse_stablehlo(text, n, "test.mlir", &err);
    check(module ? 0 : -1, &err);
    const ir_fn_t *fn = ir_module_find(module, "logits");
    fill(self, fn ? fn : ir_module_entry(module, &err), scale);
    self->source = (infer_source_t){.text = str_text(&self->text),
                                    .n_text = self->text.n,
                                    .file = "test.mlir",
                                    .params = self->params};
    ir_module_destroy(&module);
}

static inline void model_fini(model_t *self)
{
    str_fini(&self->text);
    safetensors_close(&self->params);
    free(self->bytes);
}

/* --- Models of the families --- */

enum { VOCAB = 97, BLOCK = 40, LAYERS = 2 };

static inline ir_module_t *rig_gpt2(bool bf16)
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
    return family_gpt2(&c, &err);
}

static inline ir_module_t *rig_llama(void)
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
    return family_llama(&c, &err);
}

static inline ir_module_t *rig_nanochat(bool rope_bf16)
{
    err_t err = {0};
    const nanochat_config_t c = {.layers = LAYERS,
                                 .heads = 4,
                                 .kv_heads = 2,
                                 .width = 48,
                                 .hidden = 96,
                                 .block = BLOCK,
                                 .vocab = VOCAB,
                                 .batch = 1,
                                 .eps = 1e-5,
                                 .theta = 10000,
                                 .softcap = 15,
                                 .rope_bf16 = rope_bf16};
    return family_nanochat(&c, &err);
}

/* Takes the module. */
static inline void model_of_family(model_t *self, ir_module_t *module)
{
    str_t text = {0};
    assert_non_null(module);
    ir_print_module(module, &text);
    ir_module_destroy(&module);
    model_of_text(self, str_text(&text), text.n, 0.15);
    str_fini(&text);
}

/* Each number of a matrix as whole numbers with a scale for each row of what is kept have it. */
static inline void round_to_whole(const safetensor_t *t, bool turned)
{
    float *x = (float *)(uintptr_t)t->data;
    int64_t rows = t->dims[turned], cols = t->dims[!turned], row = turned ? 1 : cols,
            col = turned ? rows : 1;
    for (int64_t r = 0; r < rows; r++) {
        float most = 0;
        for (int64_t k = 0; k < cols; k++) most = fmaxf(most, fabsf(x[r * row + k * col]));
        float scale = most / 127;
        for (int64_t k = 0; k < cols; k++)
            x[r * row + k * col] = scale * rintf(x[r * row + k * col] / scale);
    }
}

/* --- Two ways --- */

static inline uint32_t likeliest(int vocab, const float *scores)
{
    uint32_t best = 0;
    for (uint32_t v = 1; v < (uint32_t)vocab; v++)
        if (scores[v] > scores[best]) best = v;
    return best;
}

static inline void prompt_of(uint32_t *tokens, size_t n, int vocab, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) tokens[i] = (uint32_t)(rng_bits(seed, i) % (uint64_t)vocab);
}

static inline const float *scores_of(infer_t *self, int sequence)
{
    err_t err = {0};
    while (!infer_scores(self, sequence)) check(infer_step(self, &err), &err);
    return infer_scores(self, sequence);
}

/* Both go on from a prompt of n tokens as the first one does, `more` times or to the end of the context; the largest
 * distance of scores. same: the second one would go on so, too. */
static inline double follow(infer_t *a, infer_t *b, size_t n, size_t more, bool same)
{
    uint32_t prompt[1024];
    err_t err = {0};
    double most = 0;
    prompt_of(prompt, n, infer_facts(a).vocab, n);
    int i = infer_add(a, prompt, n, &err), k = infer_add(b, prompt, n, &err);
    check(i, &err);
    check(k, &err);
    for (size_t at = n;; at++) {
        const float *x = scores_of(a, i), *y = scores_of(b, k);
        for (int v = 0; v < infer_facts(a).vocab; v++) most = fmax(most, fabs((double)x[v] - y[v]));
        uint32_t token = likeliest(infer_facts(a).vocab, x);
        if (same) assert_int_equal(token, likeliest(infer_facts(b).vocab, y));
        if (at == (size_t)infer_facts(a).length || at == n + more) break;
        check(infer_push(a, i, token, &err), &err);
        check(infer_push(b, k, token, &err), &err);
    }
    infer_end(a, i);
    infer_end(b, k);
    return most;
}

static inline double compare(infer_t *a, infer_t *b, size_t n, size_t more)
{
    return follow(a, b, n, more, true);
}

#endif
