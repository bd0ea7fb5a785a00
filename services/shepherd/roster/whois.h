/* Who says something: serials of members by their peer, and by their id. */
#ifndef SHEPHERD_WHOIS_H
#define SHEPHERD_WHOIS_H

#include "base/index.h"
#include "msg/envelope.h"

/* Zeroed at first. Of a peer or id that several members have, the first of them. */
typedef struct {
    index_t *by_peer, *by_id;
} whois_t;

void whois_fini(whois_t *self);
void whois_add(whois_t *self, uint32_t serial, const msg_peer_t *peer, const char *id);
void whois_remove(whois_t *self, uint32_t serial, const msg_peer_t *peer, const char *id);
/* 0: nobody */
uint32_t whois_peer(const whois_t *self, const msg_peer_t *peer);
uint32_t whois_id(const whois_t *self, const char *id);

#endif
