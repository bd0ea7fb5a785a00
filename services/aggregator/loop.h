/* The aggregator's sockets and the loop that feeds them to its state. */
#ifndef AGGREGATOR_LOOP_H
#define AGGREGATOR_LOOP_H

#include <czmq.h>

#include "aggregator/aggregator.h"
#include "aggregator/config.h"
#include "msg/member.h"

typedef struct {
    aggregator_t state;
    const aggregator_config_t *config;
    zloop_t *zloop;
    zsock_t *data, *telemetry;
    member_t *member;
    bool working; /* a timer for the next slice is set */
    bool leaving;
    uint64_t n_event; /* published */
} loop_t;

/* Run until a signal (or the end of the run, with --once). The data socket is bound at `endpoint`.
 */
int loop_run(loop_t *self, const char *endpoint, int signal_fd, err_t *err);

#endif
