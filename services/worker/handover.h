/* The inner states that this worker has made last and nobody else has: which of them it leaves copies of before it goes, from
 * the machine or to another run. Knows no sockets; one thread, the reactor's. */
#ifndef WORKER_HANDOVER_H
#define WORKER_HANDOVER_H

#include "worker/copying.h"

typedef struct {
    uint32_t replica, round; /* of the lease that ended with it */
    char state[HASH_HEX];
    char before[HASH_HEX]; /* what that began with, if it was made here; "" */
} made_t;

typedef struct {
    uint64_t run; /* whose they are */
    bool wanted;  /* copies are, of who leaves */
    char **data;  /* the run's aggregators, by shard */
    size_t n_data;
    VEC(made_t) made; /* one a replica */
} handover_t;

void handover_clear(handover_t *self);
void handover_lease(handover_t *self,
                    const Msg__Lease *lease); /* one of the same run follows, or another's */
void handover_made(handover_t *self, uint32_t round, uint32_t replica, const char *state);
/* What the lease of that round ended with does not count: what it began with is the last. */
void handover_void(handover_t *self, uint32_t round, uint32_t replica);
void handover_copied(handover_t *self, const char *state); /* the object service has it */
size_t handover_count(const handover_t *self);             /* of states to be handed over */
uint64_t handover_run(const handover_t *self);             /* whose they are; 0: there are none */
/* Asks for copies of all and forgets them; how many. */
size_t handover_begin(handover_t *self, copying_t *copying);

#endif
