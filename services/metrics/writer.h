/* The thread that writes records to the store: one batch at a time, repeated with back-off until
 * the store answers. The service's reactor gives batches and hears news; it never waits. */
#ifndef METRICS_WRITER_H
#define METRICS_WRITER_H

#include <czmq.h>

#include "base/err.h"
#include "metrics/queue.h"

enum { WRITER_BATCH = 512 };

typedef struct {
    const char *url;    /* of the store */
    const char *source; /* unique for each start of the service */
    int64_t keep_days;  /* the store forgets what is older; 0: nothing */
} writer_options_t;

typedef struct {
    size_t n;
    record_t at[WRITER_BATCH];
} writer_batch_t;

typedef enum { WRITER_UP, WRITER_DOWN, WRITER_SCHEMA } writer_state_t;

typedef struct {
    writer_state_t state;
    bool idle;                 /* wants the next batch */
    uint32_t written, dropped; /* records since the last news; dropped: the store refuses them */
} writer_news_t;

/* Options are copied. ERR_ARG: malformed URL. */
zactor_t *writer_new(const writer_options_t *options, err_t *err);

/* Only while idle; takes the batch. */
void writer_give(zactor_t *self, writer_batch_t *batch);

/* False when there is no news. */
bool writer_receive(zactor_t *self, writer_news_t *news);

#endif
