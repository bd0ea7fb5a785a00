/* Shards of tokens as llm.c writes them (dev/data/data_common.py), and with them FineWeb's: 256 int32 as
 * header, little-endian (magic number, version, number of tokens, zeros), then the tokens:
 *
 *   20240520, version 1   u16
 *   20240801, version 7   u32
 *
 * Pure. */
#ifndef DATA_TOKEN_SHARD_H
#define DATA_TOKEN_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { TOKEN_SHARD_HEADER = 1024 };

typedef struct {
    int token_bytes; /* 2 or 4 */
    uint64_t n_tokens;
} token_shard_t;

/* Do these bytes begin as a shard does? */
bool token_shard_is(const void *bytes, size_t n);

/* ERR_PARSE: another version, no tokens at all; ERR_CORRUPT: no whole header. */
int token_shard_read(const void *bytes, size_t n, token_shard_t *out, err_t *err);

#endif
