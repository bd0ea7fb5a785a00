/* The gateway's side of its members: who has joined, which models they offer, what they write. Handlers without
 * sockets. The loop's. */
#ifndef GATEWAY_MEMBERS_H
#define GATEWAY_MEMBERS_H

#include "gateway/served.h"
#include "msg/asker.h"
#include "msg/envelope.h"

enum {
    MEMBERS_MOST = 256,
    MEMBERS_MODELS = 16, /* of one member */
    MEMBERS_NAMES = 256, /* of models that members offer */
    MEMBERS_FETCHES = 8, /* tokenizers that come at a time */
    MEMBERS_PIECE_BYTES = 256 << 10,
};

typedef struct members members_t;

typedef struct {
    msg_out_t out;
    /* Does a peer still have its connection? It is asked at each tick. */
    bool (*reaches)(void *user, const msg_peer_t *peer);
    /* The model of this name, made where there is none; NULL: there are too many. */
    served_t *(*find)(void *user, const char *name);
    /* News of a text that `host` has. */
    void (*hear)(void *user, host_t *host, text_t *text, const engine_item_t *item,
                 const char *weights);
    void (*changed)(void *user); /* somebody offers a model, or none any more */
    void *user;
} members_options_t;

members_t *members_new(const members_options_t *options);
void members_destroy(members_t **self_p);

extern const msg_route_t members_routes[MSG_KIND_COUNT];
/* The table of these; its state is the members_t. */
msg_table_t members_table(void);

zsock_t *members_socket(members_t *self); /* readable: members_read */
void members_read(members_t *self);       /* a tokenizer was read */
void members_tick(members_t *self, int64_t now_ms);
size_t members_count(const members_t *self);
void members_bye(members_t *self); /* this gateway ends */

#endif
