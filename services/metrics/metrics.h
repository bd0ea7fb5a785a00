/* What the metrics service knows, and what an event does to it. Handlers take the state and an
 * event and run in tests without sockets. */
#ifndef METRICS_METRICS_H
#define METRICS_METRICS_H

#include "metrics/queue.h"
#include "metrics/series.h"
#include "proto/telemetry.pb-c.h"

typedef struct {
    series_table_t *series;
    queue_t *queue;       /* of records for the store; NULL: no store. Borrowed */
    int64_t keep_ms;      /* series silent for longer are forgotten */
    int64_t keep_over_ms; /* those of a run that is over, sooner */
    int64_t heard_ms;     /* last event of any shepherd, monotonic; 0: none yet */
    int64_t second_ms;    /* when metrics_tick last did its work */
} metrics_t;

void metrics_init(metrics_t *self, queue_t *queue, int64_t keep_ms);
void metrics_fini(metrics_t *self);

/* now_ms: monotonic. The event is borrowed. */
void metrics_on_event(metrics_t *self, const Msg__Event *event, int64_t now_ms);
void metrics_on_malformed(metrics_t *self);

/* Once a second: a sample of each worker that was heard, series that are forgotten. */
void metrics_tick(metrics_t *self, int64_t now_ms, int64_t wall_ms);

/* The text of /metrics. */
void metrics_expose(metrics_t *self, int64_t now_ms, str_t *out);

#endif
