/* A shard's state directory: what outlives the aggregator's process.
 *
 *   DIR/lock      held by the one process that uses the directory
 *       slot-0    parameters and outer state of a round, and what a codec has made of their
 *                 change where the way down has one, behind a header that says of what
 *       slot-1    those of the round before; more while late leases begin with older ones, or answers
 *                 or a checkpoint still read them, STATE_READ at most beside the former: who reads an
 *                 older one by then loses it
 *       journal   the deltas of the open round, chunk by chunk (journal.h)
 *
 * Slots are mapped and written in place, so what was stored survives the process at any instant. A
 * slot counts when its header's check and the check over its data are right; the header is written
 * last and struck out before the slot is written again, so a commit that was cut short leaves the
 * slot before it. Nothing is synced: after a power cut, what had not reached the disk fails its
 * check, and the run goes back to its checkpoint. Native byte order: a state directory stays on its
 * machine. One thread (readers of slots excepted). */
#ifndef AGGREGATOR_STATE_H
#define AGGREGATOR_STATE_H

#include "aggregator/journal.h"
#include "aggregator/shared.h"
#include "base/err.h"
#include "outer/change.h"

enum {
    STATE_GRAIN = 1 << 16, /* elements of one step of the data check */
    STATE_FRAGMENTS = 64,  /* of a range, at most */
    STATE_LATE = 16, /* rounds before the open one whose parameters are kept (LATE_MOST_ROUNDS) */
    STATE_READ =
        6, /* snapshots at a time where late leases want but the last of these: see there */
    STATE_SLOTS = STATE_READ + STATE_LATE - 1,
};

/* What a slot says of itself. Plain numbers without padding: it is hashed and compared. */
typedef struct {
    uint64_t run; /* wire_run_hash */
    uint64_t begin, end, total;
    uint64_t averaged_from; /* elements from here on are averaged, whatever the rule; 0: none */
    uint64_t weight_max;
    double lr, momentum, range; /* outer options, delta_range */
    uint16_t rule,
        down; /* its id (outer/outer.h), and how the way down is encoded (change_word); 0: it is not */
    uint32_t shard, shards, replicas;
    uint32_t fragments;
    uint32_t round; /* these parameters enter it */
    /* The commit that made them. */
    double norm2, seconds;
    uint64_t shares; /* hash of its shares; 0: initial values */
} state_meta_t;

typedef struct {
    char *dir; /* NULL: in memory, for tests */
    int lock;
    shared_t *slots[STATE_SLOTS]; /* by number, NULL: no file; each is held once for this list */
    journal_t journal;
    err_t fault; /* why a slot is in memory */
} state_t;

/* Make or open the directory and lock it. ERR_STATE: another process uses it; ERR_IO. */
int state_open(state_t *self, const char *dir, err_t *err);
void state_close(state_t *self);

/* Forget everything: no slots, an empty journal. Who still reads a slot finds zeros. */
int state_clear(state_t *self, err_t *err);

/* The newest slot that counts, held for the caller, and those of the rounds before it that count,
 * too: before[i] of so many and one (else NULL). Slots that do not count are reported as events, by
 * name. False: none. */
bool state_load(state_t *self, shared_t **now, shared_t *before[STATE_LATE], state_meta_t *meta);

/* What a slot has room for: n parameters, each with n_outer numbers of state, and their change. */
typedef struct {
    uint64_t n;
    size_t n_outer; /* OUTER_STATES at most */
    uint64_t begin; /* of them, in all of the model's */
    change_t down;  /* its codec NULL: no change */
} state_shape_t;

/* The shape that belongs to it. ERR_ARG: a rule or codec that this program does not know. */
int state_shape(const state_meta_t *meta, state_shape_t *out, err_t *err);

/* A slot that nobody reads, struck out, held for the caller; its contents are of
 * no account. It never waits for a reader: when all slots are read, the oldest but those in `keep`
 * (each may be NULL) is taken away from whoever does (shared_take_away). The room is reserved
 * before it is written; where the disk has none the slot lies in memory (in_memory, `fault` says
 * why), and the next one is tried on the disk again. NULL: ERR_MEMORY, no memory or address space
 * at this time. */
enum { STATE_KEEPS = 2 + STATE_LATE };
shared_t *state_slot(state_t *self, const state_shape_t *shape, shared_t *const keep[STATE_KEEPS],
                     err_t *err);

/* The slot is complete: from now on it counts. `check` is that of its data (state_check). */
void state_publish(shared_t *slot, const state_meta_t *meta, uint64_t check);

/* The check over elements [begin, begin + n) of all its vectors, block by block of STATE_GRAIN: begin
 * with 0, call for each block in order. It leaves out the change, which says itself what it makes. */
uint64_t state_check(uint64_t before, const shared_t *slot, uint64_t begin, uint64_t n);
uint64_t state_check_all(const shared_t *slot, uint64_t n);

#endif
