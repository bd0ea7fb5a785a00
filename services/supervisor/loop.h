/* The supervisor's reactor: pipes and ends of workers, the shepherd, signals, time. */
#ifndef SUPERVISOR_LOOP_H
#define SUPERVISOR_LOOP_H

#include "msg/member.h"
#include "supervisor/fleet.h"
#include "supervisor/processes.h"

typedef struct loop loop_t;

/* A worker's pipe; address stays, as the reactor knows it. */
typedef struct {
    loop_t *loop;
    int worker;
    int fd; /* -1: none */
} watch_t;

struct loop {
    const supervisor_config_t *config;
    fleet_policy_t policy;
    processes_t processes;
    fleet_t fleet;
    zloop_t *zloop;
    member_t *member;
    watch_t *watch[FLEET_MAX]; /* by worker; NULL: never started */
};

/* Run until a signal, the end of the run (with --once), or until every worker is given up. *status:
 * the program's exit status. */
int loop_run(loop_t *self, int signal_fd, int *status, err_t *err);

extern const msg_route_t supervisor_routes[MSG_KIND_COUNT]; /* what a shepherd says to it */

#endif
