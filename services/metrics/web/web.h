/* The page: a server of its own beside that of /metrics, so that neither can be in the other's way.
 *
 *   /                  the page, and its files under /page/
 *   /api/runs          all runs; /api/runs/RUN one of them
 *   /api/NAME          a report of all runs (store/report.h): workers, events, queue
 *   /api/runs/RUN/NAME a report of one run: loss, validation, speed, time, wire, leases, ...
 *                      ?most=N: rows at most, of long runs so many means
 *   /api/live?run=RUN  the last values of what pcp-metrics hears, whether the store has them or not
 *   /api/stream        server-sent events: `change` when the store has changed
 *
 * All answers are JSON; errors {"error": "..."}. Nothing here writes. */
#ifndef METRICS_WEB_WEB_H
#define METRICS_WEB_WEB_H

#include <czmq.h>

#include "base/err.h"
#include "http/http.h"
#include "metrics/series.h"

typedef struct web web_t;

typedef struct {
    http_options_t http;    /* without headers, handler and its user */
    const char *store;      /* URL that is read; borrowed */
    series_table_t *series; /* borrowed */
} web_options_t;

/* Serves while the loop runs. ERR_ARG: store or address are malformed; ERR_NET. */
web_t *web_new(zloop_t *loop, const web_options_t *options, err_t *err);
void web_destroy(web_t **self_p);
unsigned web_port(const web_t *self);

#endif
