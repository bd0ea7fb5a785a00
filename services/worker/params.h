/* The parameters of a round on their way down: whole, or as changes of those of a round before (outer/change.h). One
 * thread. */
#ifndef WORKER_PARAMS_H
#define WORKER_PARAMS_H

#include "base/err.h"
#include "msg/data_client.h"

/* Zeroed: none yet. */
typedef struct {
    float
        *base; /* of the round that was fetched last, where the way down has a codec; NULL: none */
    uint32_t base_round;
    uint64_t used; /* bytes that were at hand when params_fetch was called last, and right */
} params_t;

/* Which ones: `n` of a round, cut by `bounds`; down_codec: id of outer/change.h, 0 or f32's: none. */
typedef struct {
    const uint64_t *bounds;
    uint32_t round, down_codec;
    size_t n;
    data_ahead_t *ahead; /* what is at hand of that round (worker/ahead.h); NULL: nothing */
} params_which_t;

/* Fetch them to out[n]. Errors: data_client.h's; ERR_ARG: an unknown codec. */
int params_fetch(params_t *self, data_client_t *client, const params_which_t *which, float *out,
                 err_t *err);
void params_forget(params_t *self); /* those that follow are of another run or model */

#endif
