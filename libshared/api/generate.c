/* Generators: a model that writes behind prompts, one text at a time. */
#include <stdlib.h>
#include <string.h>

#include "api/text.h"
#include "base/mem.h"
#include "base/options.h"
#include "infer/writer.h"
#include "ir/print.h"

struct pcp_generator {
    infer_t *model;
    const tokenizer_t *tokenizer;
    size_t held;
};

/* --- opening --- */

static pcp_generator_t *open_model(const pcp_graph_t *model, const safetensors_t *params,
                                   const pcp_tokenizer_t *tokenizer, int threads, err_t *err)
{
    str_t text = {0};
    if (model->fn) {
        err_set(err, ERR_STATE, "@%s is not finished", model->fn->name);
        return NULL;
    }
    ir_print_module(model->module, &text);
    const infer_source_t source = {
        .text = text.at, .n_text = text.n, .file = "graph", .params = params};
    const infer_options_t options = {.threads = threads, .slots = 1, .slide = true};
    infer_t *infer = infer_open(&source, &options, err);
    str_fini(&text);
    if (!infer) return NULL;
    infer_facts_t facts = infer_facts(infer);
    if (facts.vocab < tokenizer_vocab(tokenizer->inner)) {
        err_set(err, ERR_SHAPE, "the tokenizer has %d tokens, the model scores %lld",
                tokenizer_vocab(tokenizer->inner), (long long)facts.vocab);
        infer_close(&infer);
        return NULL;
    }
    pcp_generator_t *self = api_alloc(sizeof *self);
    self->model = infer;
    self->tokenizer = tokenizer->inner;
    self->held = facts.weight_bytes;
    api_hold(self->held);
    return self;
}

pcp_generator_t *pcp_generator_new(const pcp_graph_t *model, pcp_session_t *session,
                                   const pcp_tokenizer_t *tokenizer, int threads,
                                   pcp_error_t *error)
{
    err_t *err = api_err(error);
    size_t n = 0;
    uint8_t *bytes = api_session_pack(session, false, &n, err);
    safetensors_t *params = bytes ? safetensors_view(bytes, n, err) : NULL;
    pcp_generator_t *self = params ? open_model(model, params, tokenizer, threads, err) : NULL;
    safetensors_close(&params);
    free(bytes);
    return self;
}

pcp_generator_t *pcp_generator_open(const pcp_graph_t *model, const char *path,
                                    const pcp_tokenizer_t *tokenizer, int threads,
                                    pcp_error_t *error)
{
    err_t *err = api_err(error);
    safetensors_t *params = safetensors_open(path, err);
    pcp_generator_t *self = params ? open_model(model, params, tokenizer, threads, err) : NULL;
    safetensors_close(&params);
    return self;
}

void pcp_generator_destroy(pcp_generator_t **self_p)
{
    pcp_generator_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    *self_p = NULL;
    infer_close(&self->model);
    api_let_go(self->held);
    api_free(self, sizeof *self);
}

/* --- writing --- */

#define GENERATE_OPTIONS(X, T)                             \
    X(T, INT, tokens, 100, 1, 1e9, NULL, true, "")         \
    X(T, FLOAT, temperature, 1, 0, 100, NULL, true, "")    \
    X(T, INT, top_k, 0, 0, 1e9, NULL, true, "")            \
    X(T, FLOAT, top_p, 1, 1e-9, 1, NULL, true, "")         \
    X(T, FLOAT, min_p, 0, 0, 1, NULL, true, "")            \
    X(T, FLOAT, repetition, 1, 1e-3, 1000, NULL, true, "") \
    X(T, INT, seed, 1, 0, 0, NULL, true, "")
typedef struct {
    GENERATE_OPTIONS(OPTION_MEMBER, )
} generate_options_t;
static const config_field_t fields[] = {GENERATE_OPTIONS(OPTION_FIELD, generate_options_t)};
static const config_table_t table = {
    .fields = fields, .n_fields = sizeof fields / sizeof *fields, .no_env = true};

typedef struct {
    str_t text;
    void (*told)(void *user, const char *piece, size_t n);
    void *user;
} listener_t;

static void hear(void *user, const writer_told_t *told)
{
    listener_t *self = user;
    str_addn(&self->text, told->piece, told->n);
    if (self->told && told->n > 0) self->told(self->user, told->piece, told->n);
}

static int write_text(pcp_generator_t *self, const char *prompt, const generate_options_t *o,
                      listener_t *listener, err_t *err)
{
    const writer_options_t how = {.choose = {.temperature = o->temperature,
                                             .top_k = o->top_k,
                                             .top_p = o->top_p,
                                             .min_p = o->min_p,
                                             .repetition = o->repetition,
                                             .seed = (uint64_t)o->seed},
                                  .tokens = o->tokens,
                                  .logprobs = -1};
    writer_t *writer = writer_new(self->model, self->tokenizer);
    int status = writer_add(writer, prompt, &how, hear, listener, err) < 0 ? -1 : 0;
    while (status == 0 && writer_active(writer) > 0) status = writer_step(writer, err);
    writer_destroy(&writer);
    return status;
}

char *pcp_generate(pcp_generator_t *self, const char *prompt, const char *options,
                   void (*told)(void *user, const char *piece, size_t n), void *user,
                   pcp_error_t *error)
{
    err_t *err = api_err(error);
    generate_options_t o = {0};
    listener_t listener = {.told = told, .user = user};
    int status = api_options(&table, &o, options, err);
    if (status == 0) status = write_text(self, prompt, &o, &listener, err);
    config_fini(&table, &o);
    if (status == 0) return listener.text.at ? listener.text.at : mem_calloc(1, 1);
    str_fini(&listener.text);
    return NULL;
}
