/* Serials by peer and by id, in constant time. */
#include "shepherd/roster/whois.h"

#include <string.h>

/* A peer as bytes, which are equal where msg_peer_equal says so: under another key the same routing
 * id is another peer. Their number tells where the routing id ends. */
enum { PEER_KEY = MSG_PEER_BYTES + sizeof(uint64_t) + sizeof(void *) };
static size_t peer_key(const msg_peer_t *peer, uint8_t key[PEER_KEY])
{
    memcpy(key, peer->at, peer->n);
    memcpy(key + peer->n, &peer->behind, sizeof peer->behind);
    memcpy(key + peer->n + sizeof peer->behind, &peer->card, sizeof peer->card);
    return peer->n + sizeof peer->behind + sizeof peer->card;
}

static void note(index_t **index, const void *key, size_t n, uint32_t serial)
{
    if (!*index) *index = index_new();
    if (index_find(*index, key, n) < 0) index_add(*index, key, n, (int)serial);
}

static void forget(index_t *index, const void *key, size_t n, uint32_t serial)
{
    if (index_find(index, key, n) == (int)serial) index_remove(index, key, n);
}

static uint32_t look_up(const index_t *index, const void *key, size_t n)
{
    int serial = index ? index_find(index, key, n) : -1;
    return serial < 0 ? 0 : (uint32_t)serial;
}

void whois_fini(whois_t *self)
{
    index_destroy(&self->by_peer);
    index_destroy(&self->by_id);
}

void whois_add(whois_t *self, uint32_t serial, const msg_peer_t *peer, const char *id)
{
    uint8_t key[PEER_KEY];
    note(&self->by_peer, key, peer_key(peer, key), serial);
    note(&self->by_id, id, strlen(id), serial);
}

void whois_remove(whois_t *self, uint32_t serial, const msg_peer_t *peer, const char *id)
{
    uint8_t key[PEER_KEY];
    forget(self->by_peer, key, peer_key(peer, key), serial);
    forget(self->by_id, id, strlen(id), serial);
}

uint32_t whois_peer(const whois_t *self, const msg_peer_t *peer)
{
    uint8_t key[PEER_KEY];
    return look_up(self->by_peer, key, peer_key(peer, key));
}

uint32_t whois_id(const whois_t *self, const char *id)
{
    return look_up(self->by_id, id, strlen(id));
}
