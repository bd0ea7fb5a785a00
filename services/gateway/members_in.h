/* What members.c (who has joined) and offers.c (what they offer) share. */
#ifndef GATEWAY_MEMBERS_IN_H
#define GATEWAY_MEMBERS_IN_H

#include "gateway/members.h"

typedef enum {
    OFFER_NONE,
    OFFER_WAITS,   /* for others whose tokenizers come, or a model of ours that is being loaded */
    OFFER_FETCHES, /* its tokenizer comes */
    OFFER_READS,   /* it is being read */
    OFFER_SERVES,
    OFFER_REFUSED,
} offer_state_t;

typedef struct one one_t;

typedef struct {
    offer_state_t state;
    one_t *member;
    uint32_t number;
    char name[104], weights[ROUTE_WEIGHTS], tokenizer_hash[HASH_HEX], chat[32];
    served_facts_t facts;
    int64_t round;
    int slots;
    size_t bytes;  /* of its tokenizer */
    str_t fetched; /* of them */
    int64_t asked_ms;
    host_t host;
} offer_t;

struct one {
    members_t *all;
    msg_peer_t peer;
    char id[MSG_ID_BYTES];
    uint64_t incarnation, serial;
    int64_t heard_ms;
    offer_t *offer; /* [MEMBERS_MODELS] */
    one_t *next;
};

struct members {
    members_options_t options;
    one_t *first;
    size_t n, n_fetches;
    uint64_t serial, n_refused; /* n_refused: HELLOs and offers */
    asker_t *asker;
    int64_t tick_ms;
};

/* The member of this connection, or NULL. */
one_t *members_by_peer(const members_t *self, const msg_peer_t *peer);
void members_fault(members_t *self, const msg_peer_t *to, uint64_t id, Msg__Fault__Code code,
                   const char *text);
/* It has gone: its texts wait for others. Frees it. */
void members_lose(members_t *self, one_t *one, const char *reason);

void offers_on_offer(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void offers_on_piece(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void offers_on_news(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void offers_end(one_t *one); /* all of them leave their routes */
void offers_tick(one_t *one, int64_t now_ms);
asker_t *offers_reader(void); /* of tokenizers */

#endif
