/* The compiler's reactor: asks for work, hands jobs to its thread, sends the answers; samples have a
 * thread of their own, so that no compilation waits for a text. */
#ifndef COMPILER_LOOP_H
#define COMPILER_LOOP_H

#include "compiler/compiler.h"
#include "compiler/config.h"
#include "msg/jobs.h"
#include "msg/member.h"

typedef struct {
    const compiler_config_t *config;
    const char *id;      /* of this slot */
    compiler_t compiler; /* the threads', once they run: they only read it */
    zloop_t *zloop;
    member_t *member;
    jobs_t *jobs, *samples;
    bool void_job, void_sample; /* the answer of the running one is not wanted any more */
    bool leaving;
} loop_t;

/* Run n slots, each a member of its own with a thread for its jobs, until a signal (or, with
 * --once, until all are dismissed). */
int loop_run(loop_t *slots, size_t n, int signal_fd, err_t *err);

extern const msg_route_t compiler_routes[MSG_KIND_COUNT]; /* what a shepherd says to it */

#endif
