/* A tracker hears of runs: a thread of its own reads the records every second and sends what the tracker
 * lacks. It may be slow, refuse, or be away: then the thread tries again, less and less often, and nobody
 * else notices. Nothing waits in memory: what is to be sent is in the records. */
#ifndef METRICS_TRACK_TRACK_H
#define METRICS_TRACK_TRACK_H

#include <stdbool.h>

#include "base/err.h"

typedef struct track track_t;

typedef struct {
    const char *where;      /* "mlflow:http://HOST:PORT" or "mlflow:https://..." */
    const char *experiment; /* the name of what runs belong to there */
    const char *token_file; /* its first line is the token; NULL: MLFLOW_TRACKING_TOKEN, or none */
    const char *store;      /* URL of the records; pcp_reader is enough */
} track_options_t;

/* All are copied. ERR_ARG: no such tracker or address, no store; ERR_IO: the file. */
track_t *track_new(const track_options_t *options, err_t *err);
/* Sends what is left, for some seconds at most, and waits for the thread. */
void track_destroy(track_t **self_p);

/* Is `where` one that track_new takes? */
int track_check(const char *where, bool has_token, err_t *err);

#endif
