/* An inference member: models of its own, whose texts a gateway asks for. Handlers without sockets but those of
 * loaders and engines. The loop's. */
#ifndef GATEWAY_JOIN_H
#define GATEWAY_JOIN_H

#include "gateway/carry.h"
#include "gateway/config.h"
#include "gateway/loader.h"
#include "gateway/members.h"

typedef struct {
    char *name, *path;
    loader_t *loader;
    engine_t *engine; /* NULL: not loaded yet, as the rest */
    tokenizer_t *tokenizer;
    char *description; /* the tokenizer's */
    char tokenizer_hash[HASH_HEX];
    const char *chat; /* word of its template; "" */
    infer_facts_t facts;
    int64_t round;
    char (*label)[ROUTE_WEIGHTS]; /* [n_loads]: names of weights, the newest last */
    unsigned n_loads;
    VEC(uint64_t) texts; /* that the gateway has asked for and have not ended */
    carry_news_t news;
    size_t models;               /* weights in memory */
    uint64_t reused, told_bytes; /* told: of the tokenizer, since we joined */
} join_model_t;

typedef struct {
    join_model_t model[MEMBERS_MODELS];
    size_t n;
    msg_out_t out;
    bool joined, draining;
    int64_t sent_ms; /* news */
} join_t;

/* Models of the configuration, not loaded yet. ERR_ARG. */
int join_init(join_t *self, const gateway_config_t *config, err_t *err);
void join_fini(join_t *self);

extern const msg_route_t join_routes[MSG_KIND_COUNT]; /* state: join_t */
void join_on_welcome(join_t *self);
void join_on_lost(join_t *self); /* what it had asked for is void */

/* Takes the weights, or why there are none: -1 with err when the model has no other. */
int join_on_loaded(join_t *self, size_t model, loaded_t *loaded, err_t *err);
void join_on_news(join_t *self, size_t model, engine_news_t *news); /* takes */
/* Send what was gathered, if it is time to; false: it is too soon, call again in JOIN_NEWS_MS. */
enum { JOIN_NEWS_MS = 2 };
bool join_flush(join_t *self, int64_t now_ms);

bool join_ready(const join_t *self); /* all models are loaded */
void join_drain(join_t *self);       /* begin nothing more */
bool join_idle(const join_t *self);  /* nothing is being written */

#endif
