/* Jobs and news as messages, both ways. What comes from the other side is checked here before anything is made of
 * it; no side trusts the other. Pure functions. */
#ifndef GATEWAY_CARRY_H
#define GATEWAY_CARRY_H

#include "base/vec.h"
#include "gateway/route.h"
#include "msg/envelope.h"

enum {
    CARRY_BYTES = MSG_CONTROL_BYTES - 256, /* of a job, or of news, with room for the envelope */
    CARRY_NEWS_BYTES = 256 << 10,          /* of news, after which they are sent */
    CARRY_WIDTH = 1 << 16,                 /* of hidden states that fit into news */
    CARRY_VOCAB = 1 << 24,
    CARRY_LENGTH = 1 << 24,
    CARRY_SLOTS = 4096,
    CARRY_STOPS = 17, /* of a request, and its template's */
    CARRY_ENDS = 64,  /* tokens that end a text */
};

/* --- a job --- */

size_t carry_job_bytes(const job_t *job);
/* weights: ""; or those that it is to be begun with. */
void carry_send_job(msg_out_t out, const msg_peer_t *to, uint32_t model, uint64_t number,
                    const char *weights, const job_t *job);
/* NULL: ERR_ARG says what is wrong with it, for a model of this context and vocabulary. */
job_t *carry_read_job(const Msg__WriteText *message, int64_t length, int64_t vocab, err_t *err);

/* --- news --- */

/* Items that are gathered until they are sent. {0} is empty. */
typedef struct {
    VEC(Msg__TextItem *) items;
    size_t bytes; /* about */
} carry_news_t;

/* Takes the item's parts. weights: that write it. */
void carry_add(carry_news_t *self, engine_item_t *item, const char *weights);
void carry_send_news(carry_news_t *self, msg_out_t out, uint32_t model, size_t loaded,
                     uint64_t reused);
void carry_drop(carry_news_t *self);

/* -1: ERR_NET says what is wrong; else engine_item_fini frees the item's parts. */
int carry_read_item(const Msg__TextItem *message, int64_t vocab, int64_t width, engine_item_t *out,
                    err_t *err);

#endif
