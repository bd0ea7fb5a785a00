/* LEASE_DONE and LEASE_FAILED that the shepherd has not acknowledged yet: said again until it has,
 * through lost messages, lost shepherds and their successors. Knows no sockets. One thread. */
#ifndef WORKER_ANSWERS_H
#define WORKER_ANSWERS_H

#include <stdbool.h>

#include "base/vec.h"
#include "msg/envelope.h"

enum { ANSWERS_EVERY_MS = 2000 };

/* Which lease: of a run, a round, a replica, under a fence. */
typedef struct {
    uint64_t run;
    uint32_t round, replica, fence;
    uint32_t lag; /* it was of so many rounds before: part of no comparison */
} lease_id_t;

lease_id_t lease_id(const Msg__Lease *lease);
bool lease_id_equal(const lease_id_t *a, const lease_id_t *b);

typedef struct {
    lease_id_t lease;
    msg_envelope_t *message;
    int64_t said_ms; /* last */
} answer_t;

typedef struct {
    VEC(answer_t) list; /* oldest first */
} answers_t;

void answers_fini(answers_t *self);

/* Takes the message. */
void answers_add(answers_t *self, const lease_id_t *lease, msg_envelope_t *message, int64_t now_ms);

/* NULL: none for this lease. */
const answer_t *answers_find(const answers_t *self, const lease_id_t *lease);

/* Drop those of a round's replica up to a fence (acknowledged, revoked); of all fences and rounds
 * of a replica (it has a new lease); of all runs but one; all. Returns how many. */
size_t answers_drop(answers_t *self, uint32_t round, uint32_t replica, uint32_t fence);
size_t answers_drop_replica(answers_t *self, uint32_t replica);
size_t answers_drop_others(answers_t *self, uint64_t run);
void answers_clear(answers_t *self);

/* Say through `out` what is due, or everything. */
void answers_say(answers_t *self, msg_out_t out, int64_t now_ms, bool all);

#endif
