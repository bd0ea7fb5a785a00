/* The outer step of a piece of the range: from the snapshot of the open round and the sums of its updates to the
 * values of the next round. Who asks says where these go, so that a commit and a guess of one are computed alike. */
#ifndef AGGREGATOR_STEP_H
#define AGGREGATOR_STEP_H

#include "aggregator/aggregator.h"

/* A slot for the next round's values, with room for the checks of its chunks; held for the caller. NULL: ERR_MEMORY, as
 * state_slot. */
shared_t *step_slot(aggregator_t *self, err_t *err);

/* A chunk of the range into that slot: parameters, the vectors beside them, their change and its head, the check. Under the
 * weights that the chunk's sum has been told. Of each AGGREGATOR_BLOCK of it the mean update's square goes to
 * self->block_norm2. */
int step_chunk(aggregator_t *self, shared_t *next, size_t chunk, err_t *err);

uint64_t step_chunk_count(const aggregator_t *self, size_t chunk); /* elements */

/* The fragment that a chunk of the range belongs to. */
fragment_t *step_fragment(const aggregator_t *self, size_t chunk);

#endif
