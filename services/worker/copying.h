/* Inner states on their way to the object service, at the shepherd's wish (COPY), while the next leases train: from the
 * state directory, in a thread with a data client of its own, which holds still while an update goes up. */
#ifndef WORKER_COPYING_H
#define WORKER_COPYING_H

#include <stdatomic.h>

#include "base/vec.h"
#include "msg/data_client.h"
#include "msg/jobs.h"
#include "worker/states.h"

/* The thread's. */
typedef struct {
    states_t states;          /* of the directory alone */
    const atomic_bool *yield; /* something that others wait for is being sent */
    data_client_t *client;    /* for the endpoints and the run below */
    char **endpoints;
    size_t n_endpoint;
    uint64_t run;
    job_t *job; /* the present one */
} copier_t;

/* The reactor's. */
typedef struct {
    copier_t copier;
    jobs_t *jobs;
    VEC(msg_envelope_t *) waits; /* behind the one in hand, oldest first; owned */
    char now[HASH_HEX];          /* the state in hand */
} copying_t;

void copying_init(copying_t *self, const char *dir, const atomic_bool *yield);
void copying_fini(copying_t *self); /* what is under way is broken off */
void copying_ask(copying_t *self, const msg_envelope_t *copy);
/* COPIED, to be sent; caller frees. NULL: none is ready. The next one begins. */
msg_envelope_t *copying_take(copying_t *self);
bool copying_busy(const copying_t *self);
size_t copying_left(const copying_t *self); /* copies that are not made yet */

void copying_run(void *user, job_t *job, const msg_envelope_t *message); /* the thread's job */

#endif
