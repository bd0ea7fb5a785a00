/* The workers of one supervisor as a state machine: who should run, who does, who starts next when,
 * who is hung, who is given up. Knows neither processes nor sockets nor clocks: the caller starts
 * and kills through fleet_ops_t, reports ends and signs of life, and passes the time in. One
 * thread.
 *
 *   WAITING -> STARTING -> RUNNING -> (end) -> WAITING | FAILED
 *                 any of these -> DRAINING -> (end) -> WAITING (restart) | DRAINED */
#ifndef SUPERVISOR_FLEET_H
#define SUPERVISOR_FLEET_H

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"
#include "supervisor/restart.h"

enum { FLEET_MAX = 4096 };

typedef enum {
    SLOT_WAITING,  /* starts at start_ms */
    SLOT_STARTING, /* a process without a sign of life yet */
    SLOT_RUNNING,
    SLOT_DRAINING, /* got SIGTERM */
    SLOT_DRAINED,  /* stays away until told otherwise */
    SLOT_FAILED,   /* ended too often */
} slot_state_t;

typedef struct {
    slot_state_t state;
    slot_state_t next; /* DRAINING: WAITING or DRAINED */
    bool process;      /* there is one */
    bool killed;       /* it got SIGKILL from us */
    int64_t start_ms;  /* WAITING: when to start; otherwise when it started */
    int64_t beat_ms;   /* last sign of life */
    int64_t kill_ms;   /* DRAINING: end of the grace period */
    uint32_t restarts;
    restart_t restart;
} slot_t;

typedef struct {
    restart_policy_t restart;
    int64_t stagger_ms;    /* between the first starts */
    int64_t first_beat_ms; /* a process that never showed life for so long is hung */
    int64_t timeout_ms;    /* so is one that falls silent for so long */
    int64_t grace_ms;      /* from SIGTERM to SIGKILL */
    bool once;             /* a worker that ends with status 0 has done its work */
} fleet_policy_t;

typedef struct {
    int (*spawn)(void *user, int worker, err_t *err);
    void (*kill)(void *user, int worker, int signal);
    /* A worker's state is now another; how its process ended or why it must, or "". */
    void (*changed)(void *user, int worker, const char *reason);
    double (*chance)(void *user); /* uniform in [0, 1) */
    void *user;
} fleet_ops_t;

typedef struct {
    const fleet_policy_t *policy;
    fleet_ops_t ops;
    int64_t now_ms;
    VEC(slot_t) slots;
    bool stopping;
    int n_killed; /* workers that did not leave in time */
} fleet_t;

/* Wants n workers, none of which runs yet. Zeroed struct; policy is borrowed. */
void fleet_init(fleet_t *self, const fleet_policy_t *policy, const fleet_ops_t *ops, int n,
                int64_t now_ms);
void fleet_fini(fleet_t *self);

/* What happened. */
void fleet_tick(fleet_t *self, int64_t now_ms); /* often: starts, kills what hangs */
void fleet_alive(fleet_t *self, int worker);
/* Its process ended; `how` in words. */
typedef enum {
    ENDED_CRASHED,
    ENDED_CLEAN,    /* with status 0 */
    ENDED_HOPELESS, /* starting again changes nothing: it is given up */
    ENDED_LOST,     /* its device is lost: starts again, but never at once */
} fleet_cause_t;
void fleet_ended(fleet_t *self, int worker, fleet_cause_t cause, const char *how);

/* What is wished. A restarted or scaled worker's past is forgiven. */
void fleet_scale(fleet_t *self, int n);
void fleet_restart(fleet_t *self, int worker);
void fleet_drain(fleet_t *self, int worker);
void fleet_stop(fleet_t *self); /* drain all for good */

typedef enum {
    FLEET_WORKS,
    FLEET_EMPTY,  /* stopping, or (once) all work is done, and no process is left */
    FLEET_FAILED, /* no worker is left but those given up, and one at least */
} fleet_end_t;
fleet_end_t fleet_end(const fleet_t *self);

/* "waiting", "starting", "running", "draining", "drained", "failed" */
const char *slot_state_name(slot_state_t state);

#endif
