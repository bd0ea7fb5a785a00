/* The thread that reads the store for the page: one question at a time, in order. The reactor asks
 * and hears answers; it never waits. */
#ifndef METRICS_WEB_READER_H
#define METRICS_WEB_READER_H

#include <czmq.h>

#include "base/err.h"
#include "base/str.h"
#include "store/store.h"

typedef struct {
    bool stamp; /* only: has the store changed? */
    char report[STORE_WORD], run[STORE_ID];
    int64_t most;
    void *user; /* the asker's */
    /* the answer */
    unsigned status; /* HTTP's */
    str_t body;      /* JSON */
    int64_t stamp_is;
} reader_job_t;

typedef struct reader reader_t;

/* ERR_ARG: malformed URL. reader_destroy waits for the question at hand; all others are dropped. */
reader_t *reader_new(const char *url, err_t *err);
void reader_destroy(reader_t **self_p);
zsock_t *reader_socket(reader_t *self); /* readable: there is an answer */

/* Ask. The job (from mem_calloc) is the reader's, until reader_receive gives it back; caller:
 * reader_job_free. NULL: there is no answer yet. */
void reader_ask(reader_t *self, reader_job_t *job);
reader_job_t *reader_receive(reader_t *self);
void reader_job_free(reader_job_t *job);

#endif
