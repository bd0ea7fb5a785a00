/* Records to a tracker: what it lacks of each run. All that is known of a run is in the records and in the
 * tracker; here is only what need not be asked twice. */
#ifndef METRICS_TRACK_SYNC_H
#define METRICS_TRACK_SYNC_H

#include "metrics/track/mlflow.h"
#include "store/store.h"

typedef struct sync sync_t;

sync_t *sync_new(const char *experiment);
void sync_destroy(sync_t **self_p);

/* Send what is missing, the oldest run first. A run that the tracker does not take is told once in the log
 * and left alone. -1 with the poster's or the store's error: the pass is to be tried again, later. */
int sync_pass(sync_t *self, poster_t *poster, store_t *store, err_t *err);

#endif
