/* An update on its way up, in a thread of its own, so that what a lease leaves behind can be written down
 * meanwhile. A part of the trainer (worker/trainer.h). */
#ifndef WORKER_UPLOAD_H
#define WORKER_UPLOAD_H

#include <pthread.h>

#include "worker/trainer.h"

typedef struct {
    trainer_t *trainer;
    const Msg__Lease *lease;
    uint64_t steps;
    pthread_t thread;
    bool apart;     /* there is a thread */
    double seconds; /* that it took, known at its end */
    int rc;
    err_t err;
} upload_t;

/* The pseudo-gradient of a lease of which so many steps were done, from the trainer's `start`. Until upload_end the thread
 * has the trainer's client, its `stopped` hook and `start`; the engine stays with the caller. Where there can be no thread it
 * is sent before this returns. */
void upload_begin(upload_t *self, trainer_t *trainer, const Msg__Lease *lease, uint64_t steps);

/* Wait for its end: 0, or -1 and why. */
int upload_end(upload_t *self, err_t *err);

#endif
