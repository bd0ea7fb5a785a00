/* Bytes that are too many to lie in memory a second time: read, or written, piece by piece. */
#ifndef BASE_PIECES_H
#define BASE_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

enum { SOURCE_PIECE_BYTES = 1 << 20 }; /* what the functions below ask for at once, at most */

/* n bytes that can be read at any place, and again: bytes [at, at + n) of them, which are there. */
typedef struct {
    uint64_t n;
    int (*read)(void *user, uint64_t at, void *into, size_t n, err_t *err);
    void *user;
} source_t;

/* Takes bytes for any place, in any order, each place once. */
typedef struct {
    int (*write)(void *user, uint64_t at, const void *bytes, size_t n, err_t *err);
    void *user;
} sink_t;

/* Of bytes in memory, borrowed. */
source_t source_of_bytes(const void *bytes, size_t n);

/* A part of a file from `begin` on. What is written to it is on its way to the disk at once, so that
 * a later fsync has little left to do. Errors (ERR_IO) name `path`. */
typedef struct {
    int fd;
    const char *path;
    uint64_t begin;
} file_part_t;
source_t source_of_file(file_part_t *part, uint64_t n); /* borrows the part */
sink_t sink_to_file(file_part_t *part);

/* Read [at, at + n) of it with a check that it has so many. ERR_CORRUPT. */
int source_read(const source_t *self, uint64_t at, void *into, size_t n, err_t *err);

/* hash_content of all of it. */
int source_hash(const source_t *self, char hex[HASH_HEX], err_t *err);

/* All of it, and its hash_content in the same pass (hex may be NULL). */
int source_save(const source_t *self, const sink_t *to, char hex[HASH_HEX], err_t *err);

/* All of it into memory. Returns, caller frees (NUL behind the last byte). */
uint8_t *source_take(const source_t *self, err_t *err);

#endif
