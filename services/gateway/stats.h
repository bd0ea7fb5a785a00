/* Counts and gauges, and their text for Prometheus. One thread. */
#ifndef GATEWAY_STATS_H
#define GATEWAY_STATS_H

#include "base/str.h"
#include "gateway/metric_list.h"

#define STATS_ID(id, ...) STATS_##id,
typedef enum { METRICS(STATS_ID) STATS_COUNT } metric_t;

typedef struct stats stats_t;
stats_t *stats_new(void);
void stats_destroy(stats_t **self_p);

/* The values of a metric's labels, in order; NULL where it has none (more). They become what
 * Prometheus can read. */
void stats_add(stats_t *self, metric_t metric, const char *a, const char *b, double by);
void stats_set(stats_t *self, metric_t metric, const char *a, const char *b, double value);
void stats_observe(stats_t *self, metric_t metric, const char *a, double seconds); /* histogram */
/* Forget series: of a metric; of a model, in all metrics. */
void stats_clear(stats_t *self, metric_t metric);
void stats_forget_model(stats_t *self, const char *model);

void stats_expose(const stats_t *self, str_t *out);
/* A table of all metrics for people. */
void stats_list(str_t *out);

#endif
