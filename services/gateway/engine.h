/* The thread that owns a model's weights: jobs in, news out, in lists of what one step made. */
#ifndef GATEWAY_ENGINE_H
#define GATEWAY_ENGINE_H

#include <czmq.h>

#include "gateway/sched.h"

/* As sched_news_t, owned. */
typedef struct {
    uint64_t id;
    char *piece;
    size_t n;
    writer_token_t *token;
    float *hidden; /* [width] */
    size_t width;
    writer_end_t end;
    char *error;
    bool again;
    uint32_t number;
    unsigned weights;
} engine_item_t;

typedef struct {
    engine_item_t *at;
    size_t n, space;
    size_t models;   /* weights in memory */
    uint64_t reused; /* tokens of prompts, from the beginning */
} engine_news_t;

typedef struct engine engine_t;

/* The tokenizer is borrowed until engine_destroy, which waits for the step that is being made. */
engine_t *engine_new(const tokenizer_t *tokenizer);
void engine_destroy(engine_t **self_p);

void engine_load(engine_t *self, infer_t *model); /* takes; the first one, or newer weights */
void engine_add(engine_t *self, job_t *job);      /* takes */
void engine_cancel(engine_t *self, uint64_t id);

zsock_t *engine_socket(engine_t *self);        /* readable: there is news */
engine_news_t *engine_receive(engine_t *self); /* NULL: no more; caller frees by engine_news_free */
void engine_news_free(engine_news_t *news);
void engine_item_fini(engine_item_t *item);

#endif
