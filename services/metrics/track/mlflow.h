/* MLflow's REST API 2.0 (https://mlflow.org/docs/latest/rest-api.html), as much of it as a run needs.
 *
 * A run of ours has the tag pcp.run there, by which it is found again, and the tag pcp.sent, "ROUND
 * VALIDATED": the rounds up to which its losses and validations have been sent. Both come with what they
 * speak of, so that a process that follows another one goes on where that stopped; and a metric that
 * is sent twice (same key, step, timestamp and value) is one. Errors as poster_ask. */
#ifndef METRICS_TRACK_MLFLOW_H
#define METRICS_TRACK_MLFLOW_H

#include <stdint.h>

#include "metrics/track/poster.h"

enum { MLFLOW_ID = 128, MLFLOW_METRICS = 900 /* in a batch; the API takes 1000 */ };

/* The id of the experiment of this name, which is made if it is not there. */
int mlflow_experiment(poster_t *poster, const char *name, char id[MLFLOW_ID], err_t *err);

typedef struct {
    char id[MLFLOW_ID];
    char status[16]; /* RUNNING, SCHEDULED, FINISHED, FAILED, KILLED */
    bool has_cursor; /* of these, so that options were sent before */
    int64_t sent, validated;
} mlflow_run_t;

/* *found: there is one of our run `name`. */
int mlflow_find(poster_t *poster, const char *experiment, const char *name, mlflow_run_t *out,
                bool *found, err_t *err);
int mlflow_create(poster_t *poster, const char *experiment, const char *name, int64_t start_ms,
                  mlflow_run_t *out, err_t *err);
/* A JSON object as the run's parameters. They may be sent again, but not changed. */
int mlflow_options(poster_t *poster, const mlflow_run_t *run, const json_t *options, err_t *err);

/* Add a value to a batch, an array. */
void mlflow_add(json_t *batch, const char *key, double value, int64_t step, int64_t time_ms);
/* Send a batch of at most MLFLOW_METRICS; run->sent and validated are what holds with it. */
int mlflow_send(poster_t *poster, const mlflow_run_t *run, json_t *batch, err_t *err);

/* end_ms: 0: it goes on. `reason` becomes the tag pcp.reason, if it is not empty. */
int mlflow_status(poster_t *poster, mlflow_run_t *run, const char *status, int64_t end_ms,
                  const char *reason, err_t *err);

#endif
