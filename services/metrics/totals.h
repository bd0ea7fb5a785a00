/* What no event tells but the records do: runs that wait, where time was lost, updates that were refused, how old
 * checkpoints are. A thread of its own reads them now and then, so that the reactor never waits for a store. */
#ifndef METRICS_TOTALS_H
#define METRICS_TOTALS_H

#include <czmq.h>

#include "base/err.h"
#include "metrics/metrics.h"
#include "store/report.h"

enum { TOTALS_MS = 5000 }; /* between two readings */

typedef struct {
    report_t waiting, lost, rejected, saved; /* store/report.c */
} totals_t;

typedef struct totals_reader totals_reader_t;

/* ERR_ARG: malformed URL. totals_destroy waits for the reading at hand, some seconds at most. */
totals_reader_t *totals_new(const char *url, err_t *err);
void totals_destroy(totals_reader_t **self_p);
zsock_t *totals_socket(totals_reader_t *self); /* readable: there is an answer */

/* Read, if the last reading was TOTALS_MS ago and has been received. */
void totals_tick(totals_reader_t *self, int64_t now_ms);
/* False: there is nothing, or the store did not answer. Caller: totals_fini. */
bool totals_receive(totals_reader_t *self, totals_t *out);
void totals_fini(totals_t *self);

/* Values for /metrics. */
void totals_apply(const totals_t *self, metrics_t *metrics, int64_t now_ms);

#endif
