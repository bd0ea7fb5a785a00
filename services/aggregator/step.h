/* The outer step of a piece of the range: from the snapshot of the open round and the sums of its updates to the
 * values of the next round. Who asks says where these go, so that a commit and a guess of one are computed alike. */
#ifndef AGGREGATOR_STEP_H
#define AGGREGATOR_STEP_H

#include "aggregator/aggregator.h"

/* A grain: elements [first, first + n) of the range, STATE_GRAIN at most, from a multiple of that. */
typedef struct {
    uint64_t first;
    size_t n;
    float *values;              /* n parameters of the next round */
    float *outer[OUTER_STATES]; /* and the vectors beside them, as many as the range has */
    uint8_t
        *change; /* where the way down has a codec: the encoding of their change, without a head */
} step_t;

/* Under the weights that the grain's sum has been told. *norm2: grows by that of the mean update. */
int step_grain(aggregator_t *self, const step_t *to, double *norm2, err_t *err);

/* The fragment that a chunk of the range belongs to. */
fragment_t *step_fragment(const aggregator_t *self, size_t chunk);

#endif
