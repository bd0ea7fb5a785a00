/* The last values of everything that is measured, in memory, bounded, and their Prometheus text.
 *
 * A series is a row of one scope (a run, a worker, a shard ...) with a value for each metric of
 * that scope. metric_list.h is the one place where metrics are. */
#ifndef METRICS_SERIES_H
#define METRICS_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "metrics/metric_list.h"

enum { SERIES_LABEL = 64, SERIES_MOST = 16384, SERIES_BUCKETS = 14 };

#define METRIC_SCOPE(scope, run, label, label2) SCOPE_##scope,
#define METRIC_ID(id, name, type, scope, stored, source, help) M_##id,
typedef enum { SCOPES(METRIC_SCOPE) SCOPE_COUNT } scope_t;
typedef enum { METRICS(METRIC_ID) M_COUNT } metric_t;

/* A row of metric_list.h; texts are static. */
typedef struct {
    const char *name, *type, *help; /* name: as exposed and as stored */
    scope_t scope;
    bool stored;
} metric_row_t;

const metric_row_t *metric_row(metric_t metric);
const char *const *scope_labels(scope_t scope); /* three: run, and two more; NULL: none */

/* The values of a histogram. */
typedef struct histogram {
    struct histogram *next; /* of the same row */
    metric_t metric;
    double sum;
    uint64_t n, in[SERIES_BUCKETS]; /* in: of each bucket alone */
} histogram_t;

typedef struct {
    scope_t scope;
    char run[SERIES_LABEL], label[SERIES_LABEL]; /* label: "busy", or "kind state" */
    double value[M_COUNT];
    uint64_t has; /* bit m: value[m] is set */
    int64_t heard_ms;
    uint64_t sequence; /* SCOPE_SOURCE, which has no metrics: of the last event */
    bool fresh;        /* changed since the caller cleared it */
    bool over;         /* SCOPE_RUN: the run is done or has failed */
    histogram_t *histograms;
} series_t;

typedef struct series_table series_table_t;

series_table_t *series_table_new(void);
void series_table_destroy(series_table_t **self_p);

/* Find or make a row. Labels are cut to SERIES_LABEL - 1 bytes; bytes outside printable ASCII
 * become
 * '_'. NULL when the table is full (counted in M_SERIES_REFUSED). Borrowed until the next
 * series_forget. */
series_t *series_get(series_table_t *self, scope_t scope, const char *run, const char *label,
                     int64_t now_ms);
/* Row NULL: nothing happens. A histogram counts the value. */
void series_set(series_t *row, metric_t metric, double value);
series_t *series_self(series_table_t *self); /* the one row of SCOPE_SELF */
void series_add(series_t *row, metric_t metric, double amount);

/* Remove rows (never SCOPE_SELF): those last heard before `before_ms`, those of a run and scope. */
void series_forget(series_table_t *self, int64_t before_ms);
void series_forget_scope(series_table_t *self, scope_t scope, const char *run);
/* All of runs that are over and were last heard before `before_ms`. */
void series_forget_over(series_table_t *self, int64_t before_ms);

size_t series_count(const series_table_t *self);
series_t *series_first(series_table_t *self); /* iteration in no particular order */
series_t *series_next(series_table_t *self);

/* Append Prometheus' text format, version 0.0.4: HELP and TYPE of each metric that has a value,
 * then its rows sorted by their labels. */
void series_expose(series_table_t *self, str_t *out);

#endif
