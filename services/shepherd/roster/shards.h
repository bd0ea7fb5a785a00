/* Aggregators and their ranges: given at first, kept by who comes (back) with one. */
#ifndef SHEPHERD_SHARDS_H
#define SHEPHERD_SHARDS_H

#include "shepherd/roster/roster.h"

typedef struct shepherd shepherd_t;

typedef struct {
    int64_t lost_ms;          /* since when a shard has no aggregator; 0: all have */
    char *reason, **endpoint; /* why; where the lost ones were, by shard */
    bool keeping;             /* the shards hold the round: ASSIGN says keep */
    bool ahead;               /* all of them answer who asks ahead; as leases are given */
    /* Whoever trains or audits a lease of this round (less one; 0: of none) knows updates with exact states. */
    bool exact;
    uint32_t exact_round;
    uint64_t attempt; /* at giving ranges; no other process has the same */
} shards_t;

void shards_init(shards_t *self, size_t n_shard);
void shards_fini(shards_t *self, size_t n_shard);

void shards_assign(shepherd_t *self, member_row_t *row);
/* The shepherd will ask this aggregator again */
void shards_busy(member_row_t *row, const char *reason);
bool members_shards_here(const shepherd_t *self); /* every shard has its aggregator */

#endif
