/* The worker's reactor: asks for work, hands leases to its thread, sends the answers. */
#ifndef WORKER_LOOP_H
#define WORKER_LOOP_H

#include "msg/jobs.h"
#include "msg/member.h"
#include "worker/config.h"
#include "worker/trainer.h"

typedef struct {
    const worker_config_t *config;
    trainer_t trainer; /* the thread's, once it runs */
    zloop_t *zloop;
    zsock_t *telemetry;
    member_t *member;
    jobs_t *jobs;
    bool void_job; /* the answer of the running job is not wanted any more */
    bool leaving;
    uint64_t n_event; /* published */
} loop_t;

/* Run until a signal (or the end of the run, with --once). */
int loop_run(loop_t *self, int signal_fd, err_t *err);

#endif
