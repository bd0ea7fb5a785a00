/* How rounds have changed the parameters whose snapshots are kept no longer.
 *
 * A worker behind a slow link is behind by more rounds than aggregators have snapshots of. It adds one change after the
 * other: of so many rounds as take no more bytes than the parameters (change_rounds); who is further behind takes those.
 * Copied chunk by chunk while a round is committed, to files without a name in the state directory (without one, in
 * memory). A restart loses them, and a disk that is full takes none: then parameters are asked for instead. */
#ifndef AGGREGATOR_PAST_H
#define AGGREGATOR_PAST_H

#include <stddef.h>
#include <stdint.h>

#include "aggregator/shared.h"
#include "outer/change.h"

typedef struct aggregator aggregator_t;

enum { PAST_MOST = 16 }; /* rounds, whatever the codec */

typedef struct {
    shared_t *at[PAST_MOST]; /* the youngest first; NULL: there is none */
    shared_t *next;  /* of the open round, while it is committed; NULL: its change is not kept */
    shared_t *spare; /* of one that nobody needs any more, to be filled again */
} past_t;

/* A commit begins; of each chunk in turn; it has ended, or came to nothing. */
void past_begin(aggregator_t *self);
void past_add(aggregator_t *self, size_t chunk);
void past_end(aggregator_t *self);
void past_give_up(aggregator_t *self);

/* The changes that led to that round, borrowed: `change` alone is set. NULL: they are not kept. */
shared_t *past_find(const aggregator_t *self, uint32_t round);

/* What a chunk's change says of the parameters that it makes. */
void past_head(const aggregator_t *self, const shared_t *past, size_t chunk,
               uint8_t head[CHANGE_HEAD]);

void past_clear(aggregator_t *self);

#endif
