/* A request for texts or embeddings, from its body to the end of its answer. The loop's. */
#ifndef GATEWAY_ASK_H
#define GATEWAY_ASK_H

#include "gateway/served.h"
#include "gateway/stats.h"
#include "http/http.h"
#include "serve/answer.h"

typedef struct ask ask_t;
struct ask {
    http_request_t *http; /* NULL: answered, or nobody is there any more */
    served_t *served;
    stats_t *stats;
    const char *who, *path; /* path: static */
    request_t request;
    answer_head_t head;
    answer_choice_t *choice; /* [n] */
    text_t *text;            /* [n] */
    float **vector;          /* [n], of embeddings */
    char fingerprint[ROUTE_WEIGHTS + 4];
    size_t n, n_open;
    answer_usage_t usage;
    int64_t since_ms;
    bool first; /* a token has come */
    ask_t *next;
};

/* Give the request's texts to those who write for the model, and begin the answer if it streams. Takes the
 * request's parts. NULL: *refusal says why. `who` is borrowed until ask_free. */
ask_t *ask_new(http_request_t *http, served_t *served, stats_t *stats, request_t *request,
               const char *who, int64_t now_ms, refusal_t *refusal);
/* What a host tells of its text `index`, written with `weights` ("": not known). The ask is over
 * (ask_over) when all have ended. */
void ask_hear(ask_t *self, size_t index, const engine_item_t *item, const char *weights,
              int64_t now_ms);
bool ask_over(const ask_t *self);

/* Answer that it failed, as far as the client can still be told, and stop its texts. */
void ask_refuse(ask_t *self, const refusal_t *refusal);
void ask_cancel(ask_t *self); /* nobody is there */
void ask_free(ask_t *self);   /* one that is over */

/* An answer of errors as JSON; counted. */
void ask_answer_refusal(http_request_t *http, stats_t *stats, const char *path,
                        const refusal_t *refusal);

#endif
