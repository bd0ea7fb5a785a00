/* Aggregators and their ranges: given at first, kept by who comes (back) with one. */
#ifndef SHEPHERD_SHARDS_H
#define SHEPHERD_SHARDS_H

#include "shepherd/roster/roster.h"

typedef struct shepherd shepherd_t;

typedef struct {
    int64_t lost_ms;          /* since when a shard has no aggregator; 0: all have */
    char *reason, **endpoint; /* why; where the lost ones were, by shard */
    bool keeping;             /* the shards hold the round: ASSIGN says keep */
    uint64_t attempt;         /* at giving ranges; no other process has the same */
} shards_t;

void shards_init(shards_t *self, size_t n_shard);
void shards_fini(shards_t *self, size_t n_shard);

void shards_assign(shepherd_t *self, member_row_t *row);
void shards_hello(shepherd_t *self, member_row_t *row, const Msg__ShardState *held);
void shards_lost(shepherd_t *self, const member_row_t *gone, const char *reason);
/* The shepherd will ask this aggregator again */
void shards_busy(member_row_t *row, const char *reason);
void shards_repeat(shepherd_t *self);  /* ASSIGN or COMMIT, where the answer is long in coming */
bool shards_claimed(shepherd_t *self); /* resumed runs: every range is here, given to its holder */
bool members_shards_here(const shepherd_t *self); /* every shard has its aggregator */
void members_wait_for_shards(shepherd_t *self);   /* the run fails when they do not come in time */
void on_assigned(void *state, const msg_peer_t *from, const msg_envelope_t *message);

#endif
