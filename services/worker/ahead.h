/* What the next lease needs, fetched before it comes, in a thread with a data client of its own.
 *
 * The next round's parameters on their way down while this round's update goes up, and while others still train
 * (msg/data_client.h, data_get_ahead). What has come may turn out to be wrong;
 * the lease of that round, which begins with data_end_ahead, finds that out.
 *
 * Or ranges of an object: the next lease's windows, while this one trains.
 *
 * One thread at a time uses it, for the one or the other. Nothing here blocks but ahead_take and
 * ahead_end_ranges, as they say. */
#ifndef WORKER_AHEAD_H
#define WORKER_AHEAD_H

#include <stdbool.h>

#include "base/err.h"
#include "msg/data_client.h"

typedef struct ahead ahead_t;

/* Whose, and of which round. */
typedef struct {
    char *const *endpoints; /* aggregators by shard; copied, as all else */
    size_t n_endpoint;
    const uint64_t *bounds; /* n_endpoint + 1; of parameters */
    uint64_t run;
    uint32_t round, down_codec;
    uint64_t down_exact_from; /* outer/change.h */
} ahead_which_t;

ahead_t *ahead_new(void); /* one that does nothing yet; no thread */
void ahead_destroy(ahead_t **self_p);

/* Fetch from now on, or go on with what is here of it; anything else is forgotten. */
void ahead_begin(ahead_t *self, const ahead_which_t *which);

/* That round is committed: all of it that comes, waiting for what is on the way; or, of changes, of a round before, if it is
 * that which was fetched. `stopped` (may be NULL) is asked meanwhile. NULL: neither was, and nothing is fetched any more.
 * Borrowed until the next call. */
data_ahead_t *ahead_take(ahead_t *self, const ahead_which_t *which, bool (*stopped)(void *user),
                         void *user);

/* The same of what has come already, without waiting. *busy: something of it is still on the way, NULL is returned. */
data_ahead_t *ahead_look(ahead_t *self, const ahead_which_t *which, bool *busy);

/* Ranges of an object, to their places in whole[]. */
typedef struct {
    const char *hash;
    const data_range_bytes_t *at;
    size_t n;
    void *whole;
} data_ranges_t;

/* Fetch them from now on; `which` has endpoints and run. All but `whole` is copied; that is written to until
 * ahead_end_ranges or ahead_forget. */
void ahead_begin_ranges(ahead_t *self, const ahead_which_t *which, const data_ranges_t *ranges);
/* Wait for what is on the way; `stopped` as above. true: all of them have come. */
bool ahead_end_ranges(ahead_t *self, bool (*stopped)(void *user), void *user);

void ahead_used(ahead_t *self);   /* stop, and keep the memory for the next round's */
void ahead_forget(ahead_t *self); /* stop, and free it */

#endif
