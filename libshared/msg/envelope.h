/* Control messages: one protobuf Envelope per frame, checked by kind and size before anything is
 * allocated, and routed to handlers by table. Knows no sockets (msg/control.h has those). */
#ifndef MSG_ENVELOPE_H
#define MSG_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "msg/keys.h"
#include "msg/limits.h"
#include "proto/control.pb-c.h"

typedef Msg__Envelope msg_envelope_t;
typedef Msg__Envelope__BodyCase msg_kind_t;
enum { MSG_KIND_COUNT = 64 };

/* Who a message came from: the routing id that a ROUTER socket gives its connection, and where many
 * share a connection (those behind a cluster's front), the number of the one among them. */
typedef struct {
    uint8_t n;
    uint8_t at[MSG_PEER_BYTES];
    uint64_t behind; /* 0: the connection is its own */
    /* What its key is, proved by the connection (msg/keyring.h); NULL: there it needs none. */
    const keys_card_t *card;
} msg_peer_t;

static inline bool msg_peer_equal(const msg_peer_t *a, const msg_peer_t *b)
{
    return a->n == b->n && a->behind == b->behind && a->card == b->card &&
           memcmp(a->at, b->at, a->n) == 0;
}

/* "HELLO", "LEASE_DONE", ..., as proto/control.proto has them; "unknown" for a kind it has not. */
const char *msg_kind_name(msg_kind_t kind);

/* The kind of a packed envelope, found by walking its top-level fields without unpacking.
 * 0 when the bytes are no envelope. Pure. */
msg_kind_t msg_peek(const uint8_t *bytes, size_t n);

/* Unpack after msg_peek and the limits. Texts are C strings of any bytes, never NULL.
 * Returns, caller frees with msg_free; NULL with ERR_NET. */
msg_envelope_t *msg_unpack(const uint8_t *bytes, size_t n, err_t *err);
void msg_free(msg_envelope_t **self_p);

/* The name of a field whose text is not UTF-8, in the message or in one within it; NULL: all are.
 * Protobuf's texts must be, databases and JSON insist, and the library does not look. */
const char *msg_bad_text(const ProtobufCMessage *message);

/* Returns, caller frees. */
uint8_t *msg_pack(const msg_envelope_t *self, size_t *n);

/* What a peer is to us: a Msg__Kind, as which its HELLO was accepted, whatever it says of itself
 * later (KIND_NONE: it said none, or was forgotten); for a member: who welcomed it. */
typedef unsigned msg_who_t;
enum {
    MSG_WHO_VIEWER = 14, /* says HELLO as a command line, and its key lets it ask alone */
    MSG_WHO_SHEPHERD = 15,
};
/* Of one who is registered as that kind, by its key. */
msg_who_t msg_who_of(Msg__Kind kind, const msg_peer_t *peer);

/* Who may say a message: a mask of them. */
enum {
    MSG_FROM_STRANGER = 1 << MSG__KIND__KIND_NONE,
    MSG_FROM_COMPILER = 1 << MSG__KIND__KIND_COMPILER,
    MSG_FROM_AGGREGATOR = 1 << MSG__KIND__KIND_AGGREGATOR,
    MSG_FROM_WORKER = 1 << MSG__KIND__KIND_WORKER,
    MSG_FROM_CLI = 1 << MSG__KIND__KIND_CLI,
    MSG_FROM_SUPERVISOR = 1 << MSG__KIND__KIND_SUPERVISOR,
    MSG_FROM_INFERENCE = 1 << MSG__KIND__KIND_INFERENCE,
    MSG_FROM_VIEWER = 1 << MSG_WHO_VIEWER,
    MSG_FROM_SHEPHERD = 1 << MSG_WHO_SHEPHERD,
    MSG_FROM_MEMBERS = MSG_FROM_COMPILER | MSG_FROM_AGGREGATOR | MSG_FROM_WORKER | MSG_FROM_CLI |
                       MSG_FROM_SUPERVISOR | MSG_FROM_VIEWER,
    MSG_FROM_ANY = MSG_FROM_STRANGER | MSG_FROM_MEMBERS | MSG_FROM_SHEPHERD,
};

/* "worker", "shepherd", ...; "unknown". */
const char *msg_who_name(msg_who_t who);

/* One row of a service's handler table. */
typedef struct {
    size_t max_bytes; /* of the packed envelope */
    void (*handle)(void *state, const msg_peer_t *from, const msg_envelope_t *message);
    unsigned from; /* MSG_FROM_...: others are refused before the handler is called */
    unsigned asks; /* of a message with a verb: those that a viewer may say, as a mask */
} msg_route_t;

/* A row, at its place in a table: MSG_ROUTE(LEASE_DONE, 4096, on_lease_done, MSG_FROM_WORKER). */
#define MSG_ROUTE(kind, bytes, handler, from) \
    [MSG__ENVELOPE__BODY_##kind] = {(bytes), (handler), (from), 0}

/* The same of a message with a verb, some of which change nothing. */
#define MSG_ROUTE_ASKS(kind, bytes, handler, from, asks) \
    [MSG__ENVELOPE__BODY_##kind] = {(bytes), (handler), (from), (asks)}

/* A table, and whom it serves. */
typedef struct {
    const msg_route_t *routes; /* MSG_KIND_COUNT rows, indexed by kind */
    /* What the sender is registered as. NULL: everybody is a stranger. */
    msg_who_t (*who)(void *state, const msg_peer_t *from);
    /* Tell the sender that its message `id` is refused, and why. NULL: nobody is told. */
    void (*refuse)(void *state, const msg_peer_t *from, uint64_t id, msg_who_t who,
                   const char *text);
} msg_table_t;

/* What became of the messages a service received. */
typedef struct {
    uint64_t handled, dropped, refused; /* refused: not for such a sender to say */
} msg_count_t;

/* Is the n-th message that was refused or dropped worth a line of the log? Of a flood few are. */
bool msg_shows(uint64_t n);

/* The one place where it is decided who may say what: does this row admit a message (kind, id) of
 * this sender? If not it is logged, counted as refused and answered by table->refuse, and err says
 * why. For who passes messages on; msg_dispatch asks it by itself, and which verb it is. */
bool msg_admits(const msg_table_t *table, const msg_route_t *route, void *state,
                const msg_peer_t *from, msg_kind_t kind, uint64_t id, msg_count_t *count,
                err_t *err);

/* Check kind and size against the table, unpack, check that the sender may say it and that texts
 * are UTF-8 (but HELLO's, which has a handler that answers), call the handler. A bad message is
 * logged, counted and dropped: returns -1 with the reason in err (also logged). One that is not for
 * its sender to say is logged, counted as refused, and answered by table->refuse. */
int msg_dispatch(const msg_table_t *table, void *state, const msg_peer_t *from,
                 const uint8_t *bytes, size_t n, msg_count_t *count, err_t *err);

/* How handlers answer: main.c gives a function that writes to the socket, tests one that records.
 * `message` is borrowed; version and id are filled in on the way out. `to` is NULL on a DEALER. */
typedef struct {
    void (*send)(void *user, const msg_peer_t *to, msg_envelope_t *message);
    void *user;
} msg_out_t;

/* Send a body: MSG_SEND(out, to, reply_to, HELLO, hello, &hello) sets body_case and pointer. */
#define MSG_SEND(out, to, reply_to, CASE, field, body)    \
    do {                                                  \
        msg_envelope_t msg_send_ = MSG__ENVELOPE__INIT;   \
        msg_send_.in_reply_to = (reply_to);               \
        msg_send_.body_case = MSG__ENVELOPE__BODY_##CASE; \
        msg_send_.field = (body);                         \
        (out).send((out).user, (to), &msg_send_);         \
    } while (0)

#endif
