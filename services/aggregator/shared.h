/* Memory that outgoing messages borrow: freed when the last holder lets go, from any thread. */
#ifndef AGGREGATOR_SHARED_H
#define AGGREGATOR_SHARED_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/file.h"

typedef struct {
    atomic_int holders;
    uint32_t round; /* snapshots */
    float *values;  /* snapshots: the parameters of a range; NULL for files */
    file_map_t map; /* files */
} shared_t;

/* n zeroed parameters. One holder: the caller. */
shared_t *shared_values(uint64_t n, uint32_t round);
/* Takes the mapping. */
shared_t *shared_file(file_map_t map);

shared_t *shared_hold(shared_t *self); /* returns self */
void shared_drop(shared_t **self_p);   /* thread-safe; NULL is fine */

#endif
