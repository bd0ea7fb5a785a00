/* What has come of updates that a round closed without.
 *
 * A late lease becomes the lease of the next round, and its update is the same, to the bit (docs/recovery.md, "Late deltas"). Chunks
 * that are here when the round closes are kept, and count under the new name from the moment when their worker sends another
 * chunk so and says that it is the same update (PUT_DELTA with vector WIRE_LATE): as if they had been sent again. Whoever sends
 * without saying so has another update, and what was kept is dropped. So a link may take longer for an update than a round lasts.
 *
 * Of LATE_MOST updates at a time, in files without a name in the state directory (without one, in memory). A restart
 * loses them, and a disk that is full takes none: then they are sent again. */
#ifndef AGGREGATOR_LATE_H
#define AGGREGATOR_LATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/journal.h"
#include "base/vec.h"
#include "msg/limits.h"
#include "msg/wire.h"

typedef struct aggregator aggregator_t;

enum { LATE_MOST = 16 };

typedef struct {
    uint32_t round, replica, fragment; /* its last name */
    char worker[MSG_ID_BYTES];
    uint8_t codec;
    uint64_t weight;
    wire_header_t claim; /* of the chunk that came under a new name; type 0: none has */
    journal_t file;
    held_chunk_t *chunk;  /* of the fragment, as they lie there */
    size_t n_chunk, next; /* and the first that was not looked at since it was claimed */
    size_t n_left;        /* chunks in the file that are not counted yet */
} late_t;

typedef struct {
    VEC(late_t) all;
} lates_t;

/* The open round closes without this contribution: before it is taken out of the sum. */
void late_keep(aggregator_t *self, uint32_t replica, uint32_t fragment);

/* A chunk of an update comes: the same one, or another. */
void late_hear(aggregator_t *self, const wire_header_t *header);

/* Was its round closed without it, just now? */
bool late_closed(const aggregator_t *self, const wire_header_t *header);

/* Chunks of the contribution that are here, those that will be counted with them; 0 of another round. */
size_t late_here(const aggregator_t *self, const wire_header_t *header);

bool late_busy(const aggregator_t *self);
void late_work(aggregator_t *self); /* count a few */
void late_finish(
    aggregator_t *self); /* count all that are claimed: somebody asks for complete ones */
void late_clear(aggregator_t *self); /* drop all */

#endif
