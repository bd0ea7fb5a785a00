/* A member's side of the control conversation: HELLO with back-off, heartbeats both ways, noticing
 * a lost shepherd (silence, an ended connection, FAULT) and joining again, at the next endpoint if
 * there are several. Compilers, aggregators, workers and the CLI use it; it runs in their zloop and
 * never blocks. One thread. */
#ifndef MSG_MEMBER_H
#define MSG_MEMBER_H

#include <czmq.h>

#include "msg/envelope.h"
#include "msg/keys.h"

typedef struct member member_t;

typedef struct {
    const char *endpoint; /* of the shepherd; "A,B": of the leader and its stand-bys */
    Msg__Kind kind;
    const char *id;
    const char *target; /* workers; NULL otherwise */
    unsigned threads;
    keys_role_t server; /* what the card in WELCOME must say; KEYS_NONE: we know it by its key */
    /* Aggregators: endpoint of the data socket; NULL otherwise. Of one that is bound to every
     * interface (tcp://0.0.0.0:PORT) the HELLO names our address on the way to the shepherd; as it
     * stands where the shepherd is on this machine, and then whoever is given it puts the host
     * there by which it reaches the shepherd. */
    const char *data;
    const char *supervisor; /* workers: who started us; NULL: nobody */
    const msg_route_t
        *routes; /* MSG_KIND_COUNT rows, copied; WELCOME, HEARTBEAT, FAULT, BYE, REVOKED are ours */
    void *state; /* for routes and the functions below */
    void (*on_welcome)(void *state, const Msg__Welcome *welcome); /* joined, or joined again */
    void (*on_lost)(void *state, const char *reason);             /* on_welcome follows, one day */
    /* Another run is to have us, and ours, which goes on, needs what we keep of it; on_lost follows. May be NULL. */
    void (*on_moved)(void *state);
    void (*on_bye)(void *state, const char *reason); /* the shepherd dismisses us; may be NULL */
    uint32_t (*credit)(void *state);                 /* for heartbeats; may be NULL */
    /* Nobody answers our HELLO, and this is why: "cannot reach ENDPOINT (reason)". Within 2 s, then
     * after 2, 4, 8 ... 60 s; NULL: it is logged. */
    void (*on_unreachable)(void *state, const char *text);
    /* What we have said is not for the holder of our key to say, and this is why; may be NULL. */
    void (*on_not_allowed)(void *state, const char *text);
    /* Add to a HELLO what is held (Hello.holding, Hello.shard: borrowed until the next call); may
     * be NULL. */
    void (*hello)(void *state, Msg__Hello *hello);
} member_options_t;

/* Strings are borrowed for the member's life. NULL with ERR_NET, or ERR_ARG: an empty endpoint, an id that no
 * shepherd takes. */
member_t *member_new(zloop_t *loop, const member_options_t *options, err_t *err);
void member_destroy(member_t **self_p);

/* For handlers to answer with; `to` is ignored. Messages while not joined are dropped. */
msg_out_t member_out(member_t *self);

bool member_joined(const member_t *self);

/* How is it, for health probes: into text[n] where it is a member, or for how long of nobody and
 * why. False: for more than MEMBER_LOST_MS. */
enum { MEMBER_LOST_MS = 30000 };
bool member_health(const member_t *self, char *text, size_t n);
const char *member_endpoint(
    const member_t *self);       /* the present one; borrowed until the next tick */
void member_ask(member_t *self); /* WORK_REQUEST with the present credit, if there is any */
void member_leave(member_t *self, const char *reason); /* BYE; then destroy */

#endif
