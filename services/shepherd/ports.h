/* What a shepherd says to the world: handlers have no sockets, they call these. */
#ifndef SHEPHERD_PORTS_H
#define SHEPHERD_PORTS_H

#include "msg/envelope.h"
#include "shepherd/bulk/courier.h"
#include "shepherd/records/record.h"

typedef struct {
    msg_out_t out;
    void (*publish)(void *user, Msg__Event *event);      /* telemetry out; may be NULL */
    void (*start)(void *user, courier_job_t *job);       /* takes the job */
    void (*record)(void *user, record_t *record);        /* takes it; NULL: no store */
    bool (*reaches)(void *user, const msg_peer_t *peer); /* its connection stands; NULL: it does */
    void *user;                                          /* of these */
    const char *telemetry;                               /* told in WELCOME */
} ports_t;

#endif
