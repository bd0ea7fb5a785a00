/* Records for the store that wait their turn: first in, first out, bounded; what does not fit is
 * dropped and counted. One thread. */
#ifndef METRICS_QUEUE_H
#define METRICS_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metrics/series.h"

typedef struct {
    bool is_event;
    int64_t time_ms, round; /* round negative: none */
    const char *name;       /* static */
    char run[SERIES_LABEL], member[SERIES_LABEL];
    double value; /* samples */
    /* events */
    const char *level, *service; /* static */
    char *detail;                /* JSON, owned; NULL: {} */
    char *key;                   /* store_event_t; owned */
} record_t;

typedef struct {
    record_t *at;
    size_t space, first, n;
    uint64_t dropped;
} queue_t;

void queue_init(queue_t *self, size_t space);
void queue_fini(queue_t *self);

/* Takes the record; false when it was dropped. */
bool queue_push(queue_t *self, record_t *record);

/* Move up to `most` of the oldest to out[]; returns how many. The caller owns them: record_fini. */
size_t queue_take(queue_t *self, record_t *out, size_t most);

void record_fini(record_t *self);

#endif
