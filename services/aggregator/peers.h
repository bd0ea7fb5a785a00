/* Who has how many answers on the way. A peer that asks and does not read gets no more than
 * PEER_LENT of them lent at a time; what it asks for beyond is dropped, and it may ask again. */
#ifndef AGGREGATOR_PEERS_H
#define AGGREGATOR_PEERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "aggregator/shared.h"
#include "base/vec.h"
#include "msg/envelope.h"
#include "msg/limits.h"

enum { PEER_LENT = MSG_REQUESTS + 16 }; /* its window, and what it may have asked for again */

typedef struct {
    atomic_int holders; /* the table, and each answer on the way */
    msg_peer_t id;
    int64_t used_ms;
    uint64_t n_dropped;
} peer_row_t;

typedef struct {
    VEC(peer_row_t *) rows;
} peers_t;

/* Its row, made when there is none; borrowed until the next peers_tick. */
peer_row_t *peers_find(peers_t *self, const msg_peer_t *id, int64_t now_ms);
/* May it be lent another answer? If not, that is counted and said. */
bool peers_may_lend(peer_row_t *row);

/* Lend it what `keep` (taken) holds: a ticket to give back, from any thread, when ZeroMQ is done
 * with it. */
void *peers_lend(peer_row_t *row, shared_t *keep);
void peers_give_back(void *ticket);

void peers_tick(peers_t *self, int64_t now_ms); /* now and then: forget who is quiet */
void peers_fini(peers_t *self);                 /* answers may still be on the way */

#endif
