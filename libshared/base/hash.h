/* Content hashes. hash_content names plans, modules, data and checkpoints (BLAKE2b-256, libsodium);
 * hash_fast guards chunks on the wire against damage (XXH3 64-bit), not against malice.
 * Thread-safe. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { HASH_HEX = 65 }; /* 64 lower-case hex digits and NUL */

/* A name as hash_content gives it, for names from outside. */
bool hash_is_name(const char *text);

/* BLAKE2b-256 of the bytes as hex. */
void hash_content(const void *bytes, size_t n_bytes, char hex[HASH_HEX]);

/* The same for a file, read in pieces; hash_fd: from where the descriptor stands to the end, an
 * error names `path`. -1 with ERR_IO if it cannot be read. */
int hash_file(const char *path, char hex[HASH_HEX], err_t *err);
int hash_fd(int fd, const char *path, char hex[HASH_HEX], err_t *err);

/* SHA-256 as hex, which sha256sum (coreutils) checks, too: from where the descriptor stands to the
 * end, copied to the descriptor `to` at the same time (negative: nowhere). Errors (ERR_IO) name
 * `path` and `to_path`. *n_bytes (may be NULL): how many there were. */
int hash_sha256(int fd, const char *path, int to, const char *to_path, char hex[HASH_HEX],
                int64_t *n_bytes, err_t *err);

/* hash_content over several pieces, in order. */
typedef struct hash_stream hash_stream_t;
hash_stream_t *hash_stream_new(void);
void hash_stream_add(hash_stream_t *self, const void *bytes, size_t n_bytes);
void hash_stream_finish(hash_stream_t **self_p, char hex[HASH_HEX]);

uint64_t hash_fast(const void *bytes, size_t n_bytes);

/* Copy and hash in one pass. Returns hash_fast of the bytes. `to` may be NULL when there are none.
 */
uint64_t hash_fast_copy(void *to, const void *bytes, size_t n_bytes);

#endif
