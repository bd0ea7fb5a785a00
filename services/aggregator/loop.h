/* The aggregator's sockets and the loop that feeds them to its state. */
#ifndef AGGREGATOR_LOOP_H
#define AGGREGATOR_LOOP_H

#include <czmq.h>

#include "aggregator/aggregator.h"
#include "aggregator/config.h"
#include "aggregator/peers.h"
#include "msg/member.h"
#include "msg/refusals.h"

typedef struct {
    aggregator_t state;
    const aggregator_config_t *config;
    zloop_t *zloop;
    zsock_t *data, *telemetry;
    member_t *member;
    peers_t peers;
    bool working; /* a timer for the next slice is set */
    bool leaving;
    uint64_t n_event; /* published */
    refusals_t refusals;
    bool told_degraded, told_cannot;
} loop_t;

/* Join a cluster from this zloop (borrowed); the data socket is reached at `endpoint`. End with
 * loop_stop, also after an error. */
int loop_start(loop_t *self, zloop_t *zloop, const char *endpoint, err_t *err);
void loop_stop(loop_t *self);

/* Now and then; true: there is nothing left to do here. */
bool loop_tick(loop_t *self);
void loop_leave(loop_t *self); /* a signal came: say BYE */

#endif
