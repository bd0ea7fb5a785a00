/* Content hashes: BLAKE2b-256 by libsodium, XXH3 by libxxhash. */
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/mem.h"

enum { HASH_BYTES = 32, PIECE_BYTES = 1 << 16 };

struct hash_stream {
    crypto_generichash_state state; /* 64-byte aligned by its type */
};

bool hash_is_name(const char *text)
{
    size_t n = strspn(text, "0123456789abcdef");
    return n == HASH_HEX - 1 && !text[n];
}

hash_stream_t *hash_stream_new(void)
{
    hash_stream_t *self = aligned_alloc(_Alignof(hash_stream_t), sizeof *self);
    if (!self) mem_fail(sizeof *self);
    crypto_generichash_init(&self->state, NULL, 0, HASH_BYTES);
    return self;
}

void hash_stream_add(hash_stream_t *self, const void *bytes, size_t n_bytes)
{
    if (n_bytes) crypto_generichash_update(&self->state, bytes, n_bytes);
}

void hash_stream_finish(hash_stream_t **self_p, char hex[HASH_HEX])
{
    unsigned char digest[HASH_BYTES];
    crypto_generichash_final(&(*self_p)->state, digest, sizeof digest);
    sodium_bin2hex(hex, HASH_HEX, digest, sizeof digest);
    free(*self_p);
    *self_p = NULL;
}

void hash_content(const void *bytes, size_t n_bytes, char hex[HASH_HEX])
{
    unsigned char digest[HASH_BYTES];
    crypto_generichash(digest, sizeof digest, bytes, n_bytes, NULL, 0);
    sodium_bin2hex(hex, HASH_HEX, digest, sizeof digest);
}

int hash_fd(int fd, const char *path, char hex[HASH_HEX], err_t *err)
{
    hash_stream_t *stream = hash_stream_new();
    unsigned char *piece = mem_calloc(PIECE_BYTES, 1);
    char result[HASH_HEX];
    ssize_t n;
    while ((n = read(fd, piece, PIECE_BYTES)) != 0) {
        if (n < 0 && errno != EINTR) break;
        if (n > 0) hash_stream_add(stream, piece, (size_t)n);
    }
    int rc = n < 0 ? err_set_errno(err, "%s: read", path) : 0;
    hash_stream_finish(&stream, result);
    if (rc == 0) memcpy(hex, result, HASH_HEX);
    free(piece);
    return rc;
}

int hash_file(const char *path, char hex[HASH_HEX], err_t *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return err_set_errno(err, "%s", path);
    int rc = hash_fd(fd, path, hex, err);
    close(fd);
    return rc;
}

int hash_sha256(int fd, const char *path, int to, const char *to_path, char hex[HASH_HEX],
                int64_t *n_bytes, err_t *err)
{
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    unsigned char *piece = mem_calloc(PIECE_BYTES, 1), digest[crypto_hash_sha256_BYTES];
    int64_t total = 0;
    ssize_t n;
    int rc = 0;
    while (rc == 0 && (n = read(fd, piece, PIECE_BYTES)) != 0) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            rc = err_set_errno(err, "%s: read", path);
            break;
        }
        crypto_hash_sha256_update(&state, piece, (unsigned long long)n);
        total += n;
        if (to >= 0) rc = file_write_all(to, piece, (size_t)n, to_path, err);
    }
    free(piece);
    if (rc < 0) return -1;
    crypto_hash_sha256_final(&state, digest);
    sodium_bin2hex(hex, HASH_HEX, digest, sizeof digest);
    if (n_bytes) *n_bytes = total;
    return 0;
}

uint64_t hash_fast(const void *bytes, size_t n_bytes)
{
    return XXH3_64bits(bytes, n_bytes);
}

uint64_t hash_fast_copy(void *to, const void *bytes, size_t n_bytes)
{
    enum { STEP_BYTES = 1 << 15 }; /* stays in the first cache between copy and hash */
    XXH3_state_t *state = XXH3_createState();
    if (!state) mem_fail(0);
    XXH3_64bits_reset(state);
    for (size_t at = 0; at < n_bytes; at += STEP_BYTES) {
        size_t n = n_bytes - at < STEP_BYTES ? n_bytes - at : STEP_BYTES;
        memcpy((char *)to + at, (const char *)bytes + at, n);
        XXH3_64bits_update(state, (const char *)to + at, n);
    }
    uint64_t hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return hash;
}
