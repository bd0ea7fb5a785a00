/* The parameters of a round on their way down: whole, or as changes of those of rounds before (outer/change.h). Each chunk
 * has its own round, so that nothing that came is lost when a lease ends before it began. One thread. */
#ifndef WORKER_PARAMS_H
#define WORKER_PARAMS_H

#include "base/err.h"
#include "msg/data_client.h"

/* Zeroed: none yet. */
typedef struct {
    float *base;     /* what has come, where the way down has a codec; NULL: nothing */
    uint32_t *round; /* by chunk: its values are of this round's parameters; PARAMS_NONE: of none */
    size_t n_round;
    uint64_t *bounds; /* that it is cut by, of so many shards */
    size_t n_shard;
    uint64_t used; /* bytes that were at hand and right, since somebody set this to 0 */
} params_t;
enum { PARAMS_NONE = UINT32_MAX };

/* Which ones: `n` of a round, cut by `bounds` into n_shard ranges; down_codec: id of outer/change.h, 0 or f32's: none;
 * down_exact_from: change_t's. */
typedef struct {
    const uint64_t *bounds;
    size_t n_shard, n;
    uint32_t round, down_codec;
    uint64_t down_exact_from;
    data_ahead_t *
        ahead; /* what is at hand of that round, or of one before (worker/ahead.h); NULL: nothing */
    bool (*stopped)(void *user); /* the client's */
    void *user;
} params_which_t;

/* Fetch them to out[n]. Errors: data_client.h's; ERR_ARG: an unknown codec. */
int params_fetch(params_t *self, data_client_t *client, const params_which_t *which, float *out,
                 err_t *err);

/* The round that all of it is of; PARAMS_NONE: there is no such. */
uint32_t params_round(const params_t *self);

/* Is what is at hand of use: the change of just what has come? */
bool params_follow(const params_t *self, const data_ahead_t *ahead);

/* Add that change, whose round is committed. Errors as above; what has come goes on being of use. */
int params_advance(params_t *self, data_client_t *client, data_ahead_t *ahead, err_t *err);

void params_forget(params_t *self); /* those that follow are of another run or model */

#endif
