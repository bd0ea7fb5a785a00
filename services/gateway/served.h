/* A model under its name: what brings it into memory, who writes with it, and what requests need to
 * know of it. The loop's. */
#ifndef GATEWAY_SERVED_H
#define GATEWAY_SERVED_H

#include "base/hash.h"
#include "gateway/loader.h"
#include "gateway/route.h"
#include "serve/chat.h"
#include "serve/request.h"

typedef struct {
    char *name, *path; /* path NULL: members alone have it */
    loader_t *loader;
    engine_t *engine; /* our own; NULL: not loaded yet, or members' alone */
    bool known;       /* the rest is, but the template and who writes */
    tokenizer_t *tokenizer;
    char tokenizer_hash[HASH_HEX];
    infer_facts_t facts;                 /* length, vocab and width, of all hosts */
    const chat_template_t *chat, *given; /* NULL: none is known; given: by the configuration */
    chat_template_t *own_chat;           /* that of the model's files; NULL: none, or not_chat */
    char *not_chat; /* why that cannot be used; NULL: it can, or there is none */
    uint32_t *end;  /* tokens that end a text */
    size_t n_end;
    char fingerprint[ROUTE_WEIGHTS + 4]; /* of what came last */
    int64_t created, round;
    size_t open; /* texts that are to be written and have not ended */
    route_t route;
    host_t own;                   /* our engine */
    unsigned n_loads;             /* of our engine */
    char (*label)[ROUTE_WEIGHTS]; /* [n_loads]: names of its weights */
} served_t;

/* "NAME=DIR"; ERR_ARG says what is wrong with it. */
int served_init(served_t *self, const char *text, err_t *err);
/* One that members have. */
void served_init_named(served_t *self, const char *name);
bool served_name_valid(const char *name, size_t n);
void served_fini(served_t *self);

/* What was loaded, taken: the first time the engine begins. -1: ERR_ARG, members have another model of that name. */
int served_load(served_t *self, loaded_t *loaded, err_t *err);

/* What a model is. The tokenizer is taken the first time; -1 with ERR_ARG: it is another than that which is known by
 * the name, and somebody uses it. */
typedef struct {
    int64_t length, vocab, width;
    const char *tokenizer_hash;
} served_facts_t;
int served_agrees(const served_t *self, const served_facts_t *facts, err_t *err);
void served_learn(served_t *self, const served_facts_t *facts, tokenizer_t *tokenizer,
                  const char *chat);
void served_forget(served_t *self); /* what served_learn has taken; nobody writes, or waits */
/* Newest weights of one of its hosts. */
void served_note(served_t *self, const host_t *host);

bool served_ready(const served_t *self);     /* somebody writes */
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
