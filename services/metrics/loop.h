/* The metrics service's reactor: event sockets, HTTP, the writer's news, time. */
#ifndef METRICS_LOOP_H
#define METRICS_LOOP_H

#include <czmq.h>

#include "http/http.h"
#include "metrics/config.h"
#include "metrics/metrics.h"
#include "metrics/source.h"
#include "metrics/totals.h"
#include "metrics/track/track.h"
#include "metrics/web/web.h"
#include "metrics/writer.h"

typedef struct {
    const metrics_config_t *config;
    metrics_t state;
    queue_t queue;
    sources_t events; /* one per shepherd or front */
    access_t *access; /* NULL: nobody is asked who they are */
    http_t *http;
    web_t *web;              /* NULL: there is no page */
    totals_reader_t *totals; /* NULL: no store */
    track_t *track;          /* NULL: there is no tracker */
    zloop_t *zloop;
    writer_options_t writer_options;
    zactor_t *writer; /* NULL: no store */
    bool writer_idle, store_up;
    int64_t leave_ms; /* not 0: leaving, at the latest then */
    int exit_status;
} loop_t;

/* Run until a signal or a store of another schema; sets exit_status. */
int loop_run(loop_t *self, int signal_fd, err_t *err);

#endif
