/* Names, loading, prompts to tokens. */
#include "gateway/served.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum { NAME_BYTES = 100, BAD_REQUEST = 400 };
static const char invalid[] = "invalid_request_error";

int served_init(served_t *self, const char *text, err_t *err)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/-";
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    if (n == 0 || n > NAME_BYTES || !equals[1])
        return err_set(err, ERR_ARG, "--model %s: expected NAME=DIR", text);
    if (strspn(text, letters) < n)
        return err_set(err, ERR_ARG, "--model %s: a name has letters, digits and . _ : / -", text);
    *self = (served_t){.name = mem_printf("%.*s", (int)n, text), .path = mem_strdup(equals + 1)};
    return 0;
}

/* The engine before the tokenizer, which it borrows. */
void served_fini(served_t *self)
{
    loader_destroy(&self->loader);
    engine_destroy(&self->engine);
    tokenizer_destroy(&self->tokenizer);
    free(self->end);
    free(self->name);
    free(self->path);
    *self = (served_t){0};
}

void served_load(served_t *self, loaded_t *loaded)
{
    if (!self->engine) {
        self->tokenizer = loaded->tokenizer;
        loaded->tokenizer = NULL;
        self->end = chat_end_tokens(self->tokenizer, &self->n_end);
        if (!self->chat) self->chat = chat_recognise(self->tokenizer);
        self->engine = engine_new(self->tokenizer);
    }
    self->facts = loaded->facts;
    self->created = clock_wall_ms() / 1000;
    self->round = loaded->round;
    snprintf(self->fingerprint, sizeof self->fingerprint, "pcp-%s", loaded->hash);
    engine_load(self->engine, loaded->model);
    loaded->model = NULL;
    log_event(LOG_INFO, "model",
              "name=\"%s\" checkpoint=\"%s\" round=%lld context=%lld vocabulary=%lld slots=%d "
              "compiled=%d chat=%s",
              self->name, loaded->path, (long long)loaded->round, (long long)self->facts.length,
              (long long)self->facts.vocab, self->facts.slots, self->facts.compiled,
              self->chat ? chat_name(self->chat) : "none");
    loaded_free(loaded);
}

size_t served_waiting(const served_t *self)
{
    size_t slots = (size_t)self->facts.slots;
    return self->open > slots ? self->open - slots : 0;
}

uint32_t *served_encode(const served_t *self, const char *text, size_t n, bool whole,
                        size_t *n_tokens, refusal_t *refusal)
{
    err_t err = {0};
    size_t n_before = 0, count = 0;
    const uint32_t *before = tokenizer_before(self->tokenizer, &n_before);
    if (whole) n_before = 0;
    uint32_t *tokens = tokenizer_encode(self->tokenizer, text, n, &count, &err);
    if (!tokens) {
        refuse(refusal, BAD_REQUEST, invalid, "prompt", NULL, "the prompt: %s", err.text);
        return NULL;
    }
    uint32_t *all = mem_calloc(n_before + count + 1, sizeof *all);
    if (n_before > 0) memcpy(all, before, n_before * sizeof *all);
    if (count > 0) memcpy(all + n_before, tokens, count * sizeof *all);
    *n_tokens = n_before + count;
    free(tokens);
    return all;
}

uint32_t *served_encode_chat(const served_t *self, const request_t *request, size_t *n_tokens,
                             refusal_t *refusal)
{
    str_t text = {0};
    err_t err = {0};
    uint32_t *tokens = NULL;
    if (chat_render(self->chat, request->message, request->n_message, clock_wall_ms() / 1000, &text,
                    &err) < 0)
        refuse(refusal, BAD_REQUEST, invalid, "messages", NULL, "%s", err.text);
    else
        tokens = served_encode(self, str_text(&text), text.n, chat_is_whole(self->chat), n_tokens,
                               refusal);
    str_fini(&text);
    return tokens;
}

int served_check(const served_t *self, const uint32_t *tokens, size_t n, const char *param,
                 refusal_t *refusal)
{
    if (n == 0)
        return refuse(refusal, BAD_REQUEST, invalid, param, NULL,
                      "%s is empty: the model goes on from at least one token", param);
    if ((int64_t)n > self->facts.length)
        return refuse(refusal, BAD_REQUEST, invalid, param, "context_length_exceeded",
                      "%s has %zu tokens, the model's context (its block size) has %lld", param, n,
                      (long long)self->facts.length);
    for (size_t i = 0; i < n; i++)
        if (tokens[i] >= self->facts.vocab)
            return refuse(refusal, BAD_REQUEST, invalid, param, NULL,
                          "%s: token %u is outside of the model's vocabulary of %lld", param,
                          tokens[i], (long long)self->facts.vocab);
    return 0;
}
