/* A model under its name: what brings it into memory, what writes with it, and what requests need to
 * know of it. The loop's. */
#ifndef GATEWAY_SERVED_H
#define GATEWAY_SERVED_H

#include "gateway/engine.h"
#include "gateway/loader.h"
#include "serve/chat.h"
#include "serve/request.h"

typedef struct {
    char *name, *path;
    loader_t *loader;
    engine_t *engine; /* NULL: not loaded yet, as the rest */
    tokenizer_t *tokenizer;
    infer_facts_t facts;
    const chat_template_t *chat; /* NULL: none is known */
    uint32_t *end;               /* tokens that end a text */
    size_t n_end;
    char fingerprint[24];
    int64_t created, round;
    size_t open; /* texts that were given to the engine and have not ended */
    size_t models;
    uint64_t reused; /* as engine_news_t's */
} served_t;

/* "NAME=DIR"; ERR_ARG says what is wrong with it. */
int served_init(served_t *self, const char *text, err_t *err);
void served_fini(served_t *self);

/* What was loaded, taken: the first time the engine begins. */
void served_load(served_t *self, loaded_t *loaded);

size_t served_waiting(const served_t *self); /* texts beyond the slots */

/* Tokens of a text of n bytes, with what the tokenizer puts before every one unless it is whole. Returns,
 * caller frees; NULL: *refusal says why, as it does for tokens that do not fit: served_check. */
uint32_t *served_encode(const served_t *self, const char *text, size_t n, bool whole,
                        size_t *n_tokens, refusal_t *refusal);
/* The same of a chat, by the model's template. */
uint32_t *served_encode_chat(const served_t *self, const request_t *request, size_t *n_tokens,
                             refusal_t *refusal);
int served_check(const served_t *self, const uint32_t *tokens, size_t n, const char *param,
                 refusal_t *refusal);

#endif
