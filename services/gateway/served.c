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

bool served_name_valid(const char *name, size_t n)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/-";
    return n > 0 && n <= NAME_BYTES && strspn(name, letters) >= n;
}

int served_init(served_t *self, const char *text, err_t *err)
{
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    if (n == 0 || n > NAME_BYTES || !equals[1])
        return err_set(err, ERR_ARG, "--model %s: expected NAME=DIR", text);
    if (!served_name_valid(text, n))
        return err_set(err, ERR_ARG, "--model %s: a name has letters, digits and . _ : / -", text);
    char *name = mem_printf("%.*s", (int)n, text);
    served_init_named(self, name);
    self->path = mem_strdup(equals + 1);
    free(name);
    return 0;
}

void served_init_named(served_t *self, const char *name)
{
    *self = (served_t){.name = mem_strdup(name)};
    route_init(&self->route);
}

void served_forget(served_t *self)
{
    tokenizer_destroy(&self->tokenizer);
    chat_destroy(&self->own_chat);
    free(self->not_chat);
    free(self->end);
    self->chat = NULL;
    self->not_chat = NULL;
    self->end = NULL;
    self->n_end = 0;
    self->known = false;
}

/* The engine before the tokenizer, which it borrows. */
void served_fini(served_t *self)
{
    loader_destroy(&self->loader);
    route_leave(&self->own);
    engine_destroy(&self->engine);
    served_forget(self);
    free(self->label);
    free(self->name);
    free(self->path);
    *self = (served_t){0};
}

/* --- what it is --- */

int served_agrees(const served_t *self, const served_facts_t *facts, err_t *err)
{
    if (!self->known || (route_hosts(&self->route) == 0 && self->open == 0)) return 0;
    if (strcmp(self->tokenizer_hash, facts->tokenizer_hash) != 0)
        return err_set(err, ERR_ARG, "the model %s is served with another tokenizer already",
                       self->name);
    if (self->facts.length != facts->length || self->facts.vocab != facts->vocab ||
        self->facts.width != facts->width)
        return err_set(err, ERR_ARG,
                       "the model %s is served already, with a context of %lld (here %lld), a "
                       "vocabulary of %lld (%lld) and a width of %lld (%lld)",
                       self->name, (long long)self->facts.length, (long long)facts->length,
                       (long long)self->facts.vocab, (long long)facts->vocab,
                       (long long)self->facts.width, (long long)facts->width);
    return 0;
}

/* The template that came with the model. A model whose template asks for more than is known is served all the
 * same: only its chats are refused. */
static void find_own_chat(served_t *self)
{
    err_t err = {0};
    self->own_chat = chat_of_tokenizer(self->tokenizer, &err);
    if (err.code == ERR_OK) return;
    self->not_chat = mem_strdup(err.text);
    if (!self->given)
        log_event(LOG_WARN, "chat_refused", "name=\"%s\" error=\"%s\"", self->name, err.text);
}

/* The configuration's, a member's word, the model's own, or one whose marks the tokenizer has. */
static const chat_template_t *choose_chat(const served_t *self, const char *word)
{
    const chat_template_t *named = word && *word ? chat_find(word) : NULL;
    if (self->given) return self->given;
    if (named) return named;
    if (self->own_chat || self->not_chat) return self->own_chat;
    return chat_recognise(self->tokenizer);
}

void served_learn(served_t *self, const served_facts_t *facts, tokenizer_t *tokenizer,
                  const char *chat)
{
    if (self->known && strcmp(self->tokenizer_hash, facts->tokenizer_hash) == 0) {
        tokenizer_destroy(&tokenizer);
    } else {
        served_forget(self);
        self->tokenizer = tokenizer;
        self->end = chat_end_tokens(self->tokenizer, &self->n_end);
        find_own_chat(self);
        snprintf(self->tokenizer_hash, sizeof self->tokenizer_hash, "%s", facts->tokenizer_hash);
    }
    self->chat = choose_chat(self, chat);
    self->facts.length = facts->length;
    self->facts.vocab = facts->vocab;
    self->facts.width = facts->width;
    self->known = true;
}

void served_note(served_t *self, const host_t *host)
{
    self->created = clock_wall_ms() / 1000;
    self->round = host->round;
    snprintf(self->fingerprint, sizeof self->fingerprint, "pcp-%s", host->weights);
}

/* --- our own engine --- */

/* By its own thread, with a copy: the text may have to be written again. */
static bool give_own(host_t *host, const text_t *text)
{
    served_t *self = host->user;
    job_t *job = job_copy(text->job, text->number);
    job->weights = *text->weights ? self->n_loads : 0;
    engine_add(self->engine, job);
    return true;
}

static void stop_own(host_t *host, uint64_t number)
{
    engine_cancel(((served_t *)host->user)->engine, number);
}

static int learn_own(served_t *self, loaded_t *loaded, err_t *err)
{
    const served_facts_t facts = {loaded->facts.length, loaded->facts.vocab, loaded->facts.width,
                                  loaded->tokenizer_hash};
    if (served_agrees(self, &facts, err) < 0) return -1;
    served_learn(self, &facts, loaded->tokenizer, NULL);
    loaded->tokenizer = NULL;
    self->own = (host_t){.id = "gateway", .own = true, .give = give_own, .stop = stop_own};
    self->engine = engine_new(self->tokenizer);
    return 0;
}

int served_load(served_t *self, loaded_t *loaded, err_t *err)
{
    if (!self->engine && learn_own(self, loaded, err) < 0) {
        loaded_free(loaded);
        return -1;
    }
    self->label = mem_realloc(self->label, (self->n_loads + 1) * sizeof *self->label);
    snprintf(self->label[self->n_loads++], ROUTE_WEIGHTS, "%s", loaded->hash);
    host_t *own = &self->own;
    own->user = self;
    own->slots = loaded->facts.slots;
    own->round = loaded->round;
    own->models++;
    snprintf(own->weights, sizeof own->weights, "%s", loaded->hash);
    engine_load(self->engine, loaded->model);
    loaded->model = NULL;
    served_note(self, own);
    if (own->route)
        route_changed(own);
    else
        route_join(&self->route, own);
    log_event(LOG_INFO, "model",
              "name=\"%s\" checkpoint=\"%s\" round=%lld context=%lld vocabulary=%lld slots=%d "
              "compiled=%d chat=%s",
              self->name, loaded->path, (long long)loaded->round, (long long)self->facts.length,
              (long long)self->facts.vocab, own->slots, loaded->facts.compiled,
              self->chat ? chat_name(self->chat) : "none");
    loaded_free(loaded);
    return 0;
}

bool served_ready(const served_t *self)
{
    return self->known && self->route.hosts;
}

size_t served_waiting(const served_t *self)
{
    size_t slots = route_slots(&self->route);
    return self->open > slots ? self->open - slots : 0;
}

/* --- prompts --- */

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
