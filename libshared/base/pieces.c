/* Sources and sinks: memory, files, and what is done with them piece by piece. */
#include "base/pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static int read_bytes(void *user, uint64_t at, void *into, size_t n, err_t *err)
{
    (void)err;
    memcpy(into, (const uint8_t *)user + at, n);
    return 0;
}

source_t source_of_bytes(const void *bytes, size_t n)
{
    return (source_t){.n = n, .read = read_bytes, .user = (void *)(uintptr_t)bytes};
}

static int read_file(void *user, uint64_t at, void *into, size_t n, err_t *err)
{
    const file_part_t *part = user;
    for (uint8_t *to = into; n > 0;) {
        ssize_t got = pread(part->fd, to, n, (off_t)(part->begin + at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return err_set_errno(err, "%s: read", part->path);
        if (got == 0) return err_set(err, ERR_IO, "%s: it became shorter", part->path);
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

source_t source_of_file(file_part_t *part, uint64_t n)
{
    return (source_t){.n = n, .read = read_file, .user = part};
}

static int write_file(void *user, uint64_t at, const void *bytes, size_t n, err_t *err)
{
    const file_part_t *part = user;
    off_t begin = (off_t)(part->begin + at), whole = (off_t)n, place = begin;
    for (const uint8_t *from = bytes; n > 0;) {
        ssize_t done = pwrite(part->fd, from, n, place);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return err_set_errno(err, "%s: writing %zu bytes", part->path, n);
        from += done;
        place += done;
        n -= (size_t)done;
    }
    sync_file_range(part->fd, begin, whole, SYNC_FILE_RANGE_WRITE);
    return 0;
}

sink_t sink_to_file(file_part_t *part)
{
    return (sink_t){.write = write_file, .user = part};
}

int source_read(const source_t *self, uint64_t at, void *into, size_t n, err_t *err)
{
    if (at <= self->n && n <= self->n - at) return self->read(self->user, at, into, n, err);
    return err_set(err, ERR_CORRUPT, "bytes %llu + %zu of %llu", (unsigned long long)at, n,
                   (unsigned long long)self->n);
}

int source_save(const source_t *self, const sink_t *to, char hex[HASH_HEX], err_t *err)
{
    uint8_t *piece = mem_calloc(1, SOURCE_PIECE_BYTES);
    hash_stream_t *hasher = hash_stream_new();
    char found[HASH_HEX];
    int rc = 0;
    for (uint64_t at = 0; rc == 0 && at < self->n;) {
        size_t n = self->n - at < SOURCE_PIECE_BYTES ? (size_t)(self->n - at) : SOURCE_PIECE_BYTES;
        rc = self->read(self->user, at, piece, n, err);
        if (rc == 0 && to) rc = to->write(to->user, at, piece, n, err);
        if (rc == 0 && hex) hash_stream_add(hasher, piece, n);
        at += n;
    }
    hash_stream_finish(&hasher, found);
    if (rc == 0 && hex) memcpy(hex, found, HASH_HEX);
    free(piece);
    return rc;
}

int source_hash(const source_t *self, char hex[HASH_HEX], err_t *err)
{
    return source_save(self, NULL, hex, err);
}

uint8_t *source_take(const source_t *self, err_t *err)
{
    uint8_t *bytes = mem_large((size_t)self->n + 1);
    if (self->n == 0 || self->read(self->user, 0, bytes, (size_t)self->n, err) == 0) return bytes;
    free(bytes);
    return NULL;
}
