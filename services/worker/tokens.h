/* The worker's view of a token file in the object service: of it is fetched what is needed, and little
 * else (64 bytes at a time), and kept in a file of the cache directory, whose pages that were used longest
 * ago go where it would become too large (room.h). A complete file is verified and found again by the next
 * process. One thread at a time. */
#ifndef WORKER_TOKENS_H
#define WORKER_TOKENS_H

#include <stdint.h>

#include "base/err.h"
#include "data/feed.h"
#include "msg/data_client.h"
#include "worker/ahead.h"

typedef struct tokens tokens_t;

/* An object of tokens (data/token_bytes.h). */
typedef struct {
    const char *hash;
    uint64_t n_tokens;
    int bytes;      /* of each */
    uint64_t limit; /* bytes of the disk that it may take, but for what one lease needs; 0: any */
} tokens_which_t;

/* The strings are copied. NULL with ERR_ARG (sizes), ERR_IO (cache). */
tokens_t *tokens_new(const char *cache_dir, const tokens_which_t *which, err_t *err);
void tokens_destroy(tokens_t **self_p);
const char *tokens_hash(const tokens_t *self);
int tokens_bytes(const tokens_t *self); /* of a token */

/* Tokens [begin, begin + n) are wanted; ERR_ARG: outside the object. Then fetch what is wanted and
 * missing, all of it at once. */
int tokens_want(tokens_t *self, uint64_t begin, uint64_t n, err_t *err);
int tokens_fetch(tokens_t *self, data_client_t *client, err_t *err);

/* Have the tokens of all steps of the feed's range. What was fetched for earlier ranges may go. */
int tokens_fetch_feed(tokens_t *self, const feed_t *feed, data_client_t *client, err_t *err);

/* Fetch those of another range meanwhile, by `by`, whose endpoints and run `from` has, for the next
 * tokens_fetch_feed. Nothing, if all of it is here or there is no room. */
void tokens_fetch_ahead(tokens_t *self, const feed_t *feed, ahead_t *by, const ahead_which_t *from);
/* Wait for them; `stopped` (may be NULL) is asked meanwhile. Returns how many bytes have come. */
uint64_t tokens_end_ahead(tokens_t *self, bool (*stopped)(void *user), void *user);

/* The tokens; only what was fetched may be read. Borrowed. */
const void *tokens_at(const tokens_t *self);

#endif
