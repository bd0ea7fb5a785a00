/* The worker's reactor: asks for work, hands leases to its thread, sends the answers and says them
 * again until they are acknowledged, outlives the shepherd, drains. */
#ifndef WORKER_LOOP_H
#define WORKER_LOOP_H

#include "msg/jobs.h"
#include "msg/member.h"
#include "runtime/device.h"
#include "worker/answers.h"
#include "worker/config.h"
#include "worker/copying.h"
#include "worker/handover.h"
#include "worker/trainer.h"

typedef struct {
    const worker_config_t *config;
    char device_id[32];   /* "vulkan:0" */
    device_info_t device; /* what that is */
    double steps_per_s;   /* of the last lease, computing alone; 0: none yet */
    trainer_t trainer;    /* the thread's, once it runs */
    zloop_t *zloop;
    zsock_t *telemetry;
    member_t *member;
    jobs_t *jobs;
    bool training;        /* the running job is a lease: */
    lease_id_t lease;     /* this one */
    bool void_job;        /* the answer of the running job is not wanted any more */
    msg_envelope_t *next; /* the same lease, to be handed in as this one; `lease` is of it */
    answers_t answers;    /* not acknowledged */
    copying_t copying;    /* of inner states */
    handover_t handover;  /* which are to be copied when we go */
    bool handed;          /* that has begun, for we drain */
    size_t unsent;        /* copies that could not be made since */
    uint64_t run;         /* that we serve; 0: none */
    Msg__Holding holding;
    int64_t lost_ms;  /* since when there is no shepherd; 0: there is one */
    int64_t drain_ms; /* since when we drain; 0: we do not */
    bool leaving;     /* the reactor ends with the next tick */
    uint64_t n_event; /* published */
} loop_t;

/* Run until a signal (or the end of the run, with --once). *busy: the thread did not end within the
 * grace period and still runs; then the process must end without waiting for it. */
int loop_run(loop_t *self, int signal_fd, bool *busy, err_t *err);

extern const msg_route_t worker_routes[MSG_KIND_COUNT]; /* what a shepherd says to it */

#endif
