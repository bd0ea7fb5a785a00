/* The parameters of the next round before they are committed, chunk by chunk.
 *
 * Updates go up in chunks. As soon as a chunk has come from all replicas of the open round its outer step can be
 * computed, as the commit will compute it if these updates are what it names. A worker that asks (GET_AHEAD) takes the
 * result down while the rest still goes up; whether it became true it learns from the checks of the committed
 * parameters (GET_CHECKS). Chunks are made in the slot of the next round. It does not count before the commit, which
 * takes it over: what was made of the updates that it names is done then, and what was made of others is made again.
 *
 * How many replicas the round has each update says; where two disagree, or one will not be admitted, nothing is
 * guessed. Each chunk is made MSG_AHEAD_TIMES times a round at most, so that no asking costs more time than that. */
#ifndef AGGREGATOR_GUESS_H
#define AGGREGATOR_GUESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/shared.h"
#include "msg/envelope.h"
#include "msg/limits.h"
#include "msg/wire.h"

typedef struct aggregator aggregator_t;

typedef struct {
    uint32_t n_in;   /* updates of the open round that it has come from */
    uint32_t n_made; /* how often it was computed */
    bool made;       /* from the sum as it is: `next` has it */
} guess_chunk_t;

typedef struct {
    uint32_t of;          /* replicas of the open round, as its updates say; 0: unknown */
    bool off;             /* they do not agree */
    uint32_t n_marked;    /* updates that will not be admitted */
    guess_chunk_t *chunk; /* of the range */
    size_t n_ready;       /* so many in front have all come, at least */
    shared_t *next; /* the slot that they are made in; NULL: none so far, or the commit has it */
} guesses_t;

void guess_init(aggregator_t *self); /* for self->n_chunk chunks */
void guess_fini(aggregator_t *self);
void guess_clear(aggregator_t *self); /* another round is open */

/* For the commit, which goes on in the slot with what was made of its updates and does the rest: the slot, held for the caller,
 * or NULL. From then until guess_unmake or guess_clear nothing is guessed. */
shared_t *guess_take(aggregator_t *self);
bool guess_is_made(const aggregator_t *self, size_t chunk);
void guess_unmake(aggregator_t *self); /* nothing is: what was made is gone */

/* A chunk of the range was added to its sum by the update that `header` is of; or taken out of it. */
void guess_add(aggregator_t *self, const wire_header_t *header, size_t chunk);
void guess_take_out(aggregator_t *self, size_t chunk);

/* How many chunks in front are there to be asked for. */
size_t guess_ready(aggregator_t *self);

/* GET_AHEAD, GET_CHECKS. */
void guess_get(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request);
void guess_get_checks(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request);

#endif
