/* The worker's view of a token file in the object service: ranges are fetched when they are needed
 * and kept in a file of the cache directory; a complete file is verified and found again by the
 * next process. One thread at a time. */
#ifndef WORKER_TOKENS_H
#define WORKER_TOKENS_H

#include <stdint.h>

#include "base/err.h"
#include "msg/data_client.h"

typedef struct tokens tokens_t;

/* The object `hash` of n_tokens u16 values. NULL with ERR_ARG (sizes), ERR_IO (cache). */
tokens_t *tokens_new(const char *cache_dir, const char *hash, uint64_t n_tokens, err_t *err);
void tokens_destroy(tokens_t **self_p);
const char *tokens_hash(const tokens_t *self);

/* Have tokens [begin, begin + n) at hand: fetches what is missing. ERR_ARG: outside the object. */
int tokens_need(tokens_t *self, data_client_t *client, uint64_t begin, uint64_t n, err_t *err);

/* The tokens; only what tokens_need was asked for may be read. Borrowed. */
const uint16_t *tokens_at(const tokens_t *self);

#endif
