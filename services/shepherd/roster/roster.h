/* The roster: who is there, and what is held against workers. No sockets, no rounds: a table. */
#ifndef SHEPHERD_ROSTER_H
#define SHEPHERD_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "msg/envelope.h"
#include "shepherd/roster/whois.h"

/* What the shepherd holds against a worker (round/blame.c, round/overdue.c). It counts failures
 * that follow each other without a success. */
typedef struct {
    uint8_t strikes, lies; /* failures; failures that it hid, or that are no accident */
    uint8_t overdue;       /* pieces of work that it did not end in time */
    bool refused;          /* it gets no more work */
    int64_t rest_ms;       /* it gets no work before this time */
    char why[160];         /* the reason for the last strike */
} blame_t;

typedef struct {
    char id[MSG_ID_BYTES];
    uint64_t incarnation;
    blame_t blame;
} blamed_t;

typedef struct {
    uint32_t serial; /* never used twice; leases refer to members by it */
    char *id, *target, *endpoint, *supervisor, *host;
    char *device, *device_name; /* workers: "vulkan:0", and what it is; "": it told none */
    uint64_t device_bytes;      /* workers: of its memory; 0: unknown */
    double steps_per_s;         /* workers: of the last lease, as it says; 0: unknown */
    uint32_t pid, threads;
    uint64_t incarnation; /* random number of its process; 0: it told none */
    uint32_t protocol;    /* version of the conversation with it */
    Msg__Kind kind;
    msg_peer_t peer;
    int64_t heard_ms, issued_ms; /* last sign of life, last work given */
    uint64_t beat, issued_beat;  /* its last HEARTBEAT's id; the same when work was given last */
    uint32_t credit;
    int shard;  /* aggregators: which, -1: spare */
    bool ahead; /* aggregators: workers may ask this one for the next round's parameters */
    bool exact; /* aggregators, workers: this one knows updates with exact states */
    bool
        down_exact; /* aggregators: states go down from this one as they are; workers: it knows that */
    bool holders;     /* aggregators: FENCE may tell this one who has which lease */
    bool assigned;    /* aggregators: this one has answered ASSIGN */
    bool answered;    /* aggregators: ASSIGNED or COMMITTED of the present phase */
    int64_t asked_ms; /* aggregators: when ASSIGN or COMMIT was sent last */
    char busy[256];   /* aggregators: why this one cannot answer yet; "" */
    char waits[256];  /* aggregators: why this one keeps others waiting; "" */
    bool holds;       /* aggregators: the state files hold the shard and round in `held` */
    struct {
        uint32_t shard, round;
    } held;
    uint32_t n_work; /* workers: pieces of the open round that are issued to it (round/move.c) */
    uint32_t n_home,
        homes;    /* workers: leases that have it as their home, and the first of them, plus
                               one (round/homes.c) */
    uint32_t kin; /* workers: which of the roster's targets is its own */
    int64_t
        mute_ms; /* workers: with a lease waiting for it, and asking for nothing, since then; 0: not */
    bool mute; /* workers: for so long that it gets no replica until it asks (round/overdue.c) */
    blame_t blame;    /* workers */
    bool copies;      /* workers: this one knows COPY */
    bool quarantined; /* workers: refused for what an audit has found, until it is trusted again */
} member_row_t;

/* Workers of one target. */
typedef struct {
    char *name;
    uint32_t n_able; /* those that are here and not refused */
} kin_t;

/* How members are listened to (joining/silence.c); times. */
typedef struct {
    int64_t looked_ms; /* for those that are silent */
    int64_t unread_ms; /* since when messages wait that are not read; 0: none do */
    int64_t doubt_ms;  /* since when many were silent at once; 0: they are not */
    int64_t back_ms;   /* when one of those spoke last, after that */
} silence_t;

typedef struct {
    VEC(member_row_t *) members; /* by serial */
    VEC(member_row_t *) others;  /* those of them that are no workers, by serial: few */
    VEC(kin_t) kins;             /* a row for each target that workers have had */
    whois_t whois;
    uint32_t last_serial;
    VEC(blamed_t) blamed;   /* of workers that are away */
    uint64_t revoked_since; /* keyring_revoked_since when members were told */
    silence_t silence;
    int64_t barren_ms; /* since when no worker can do anything; 0: some can */
} roster_t;

/* A row of one who says HELLO; its texts are copies. */
member_row_t member_row_of(const Msg__Hello *hello, const msg_peer_t *from, uint32_t serial,
                           int64_t now_ms);
void member_row_fini(member_row_t *row);
void member_row_destroy(member_row_t **row_p);

void roster_fini(roster_t *self);
/* Take the row, whose serial is the highest and whose peer and id no other has; and out again: the
 * caller frees it (member_row_destroy). */
void roster_add(roster_t *self, member_row_t row);
member_row_t *roster_remove(roster_t *self, member_row_t *row);
void roster_refuse(roster_t *self, member_row_t *row); /* it gets no more work */
void roster_trust(roster_t *self, member_row_t *row);  /* it does, and nothing is held against it */
/* Rows are borrowed until their member goes; NULL: unknown. */
member_row_t *member_by_peer(const roster_t *self, const msg_peer_t *peer);
member_row_t *member_by_serial(const roster_t *self, uint32_t serial);
member_row_t *member_by_id(const roster_t *self, const char *id);
size_t member_place(const roster_t *self, uint32_t serial); /* in the table; its n: unknown */
size_t members_count(const roster_t *self, Msg__Kind kind);
/* Aggregators that have a shard; whether all of these have answered. */
size_t members_with_shard(const roster_t *self);
bool members_ahead(const roster_t *self); /* workers may ask ahead of all of these */
bool members_exact(const roster_t *self); /* these and all workers know updates with exact states */
bool members_down_exact(const roster_t *self); /* from all of these states go down as they are */
bool members_answered(const roster_t *self);
/* Endpoints of the assigned aggregators by shard, of one that is lost "": n strings, borrowed; caller frees the array. */
char **members_endpoints(const roster_t *self, size_t n_shard);

void members_dismiss(const roster_t *self, msg_out_t out, const char *reason); /* BYE to all */

/* Whom we know it as: by its key's name; without a key by its id, of which anybody has many. */
const char *member_name(const member_row_t *row);
/* A number for the endpoints of all shards, in their order: others have another. */
uint64_t members_places(const roster_t *self);
/* Keep the blame of a member that leaves; blame_take gives it to the member when it comes back. */
void blame_keep(roster_t *self, const member_row_t *gone);
void blame_take(roster_t *self, member_row_t *come);
bool blame_rests(const member_row_t *row, int64_t now_ms);
/* Names the workers that get no work, and why */
void blame_missing(const roster_t *self, int64_t now_ms, str_t *text);

#endif
