/* How far the run is and how fast: what summaries, status and manifests tell. */
#ifndef SHEPHERD_PROGRESS_H
#define SHEPHERD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "msg/refusals.h"
#include "proto/control.pb-c.h"

typedef struct {
    uint64_t tokens;    /* trained in committed rounds */
    double speed;       /* tokens/s of the last round's training; 0: unknown */
    bool summary_waits; /* the last round's summary waits for its validation */
    Msg__RoundStats summary;
    double val_loss;
    bool has_val_loss;
    int64_t eval_begun_ms, eval_ms, evaluated_ms; /* it began; the last took; all took together */
    uint64_t bytes_in, bytes_out;                 /* of the shards, since the commit before */
    refusals_t refusals;                          /* of this process, as they were told */
    uint64_t refused;                             /* plans, by workers */
    int64_t status_ms;                            /* when the last status was published */
} progress_t;

#endif
