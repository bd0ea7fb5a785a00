/* The journal's file: append, read back, replay. */
#include "aggregator/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "msg/limits.h"

enum { CHECK_BYTES = 8, HEAD_BYTES = CHECK_BYTES + WIRE_HEADER_BYTES };

/* Places in memory have the highest bit, and count from 1. */
static const uint64_t SPARE = (uint64_t)1 << 63;

static void drop_spare(journal_t *self)
{
    for (size_t i = 0; i < self->spare.n; i++) free(self->spare.at[i].bytes);
    self->spare.n = 0;
}

int journal_open(journal_t *self, const char *path, err_t *err)
{
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644)
                  : memfd_create("journal", MFD_CLOEXEC);
    if (fd < 0) return err_set_errno(err, "%s", path ? path : "journal in memory");
    *self = (journal_t){.fd = fd, .path = mem_strdup(path ? path : "journal in memory")};
    return 0;
}

int journal_open_unnamed(journal_t *self, const char *dir, err_t *err)
{
    if (!dir) return journal_open(self, NULL, err);
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) return err_set_errno(err, "%s: a file without a name", dir);
    *self = (journal_t){.fd = fd, .path = mem_strdup(dir)};
    return 0;
}

void journal_close(journal_t *self)
{
    if (!self->path) return;
    drop_spare(self);
    VEC_FREE(&self->spare);
    close(self->fd);
    free(self->path);
    *self = (journal_t){0};
}

static int append(journal_t *self, const wire_header_t *header, const void *payload, size_t n,
                  uint64_t *at, err_t *err)
{
    uint8_t head[HEAD_BYTES];
    wire_header_t record = *header;
    record.total = n;
    wire_pack(&record, head + CHECK_BYTES);
    uint64_t check = hash_fast(head + CHECK_BYTES, WIRE_HEADER_BYTES);
    memcpy(head, &check, CHECK_BYTES);
    struct iovec parts[2] = {{head, sizeof head}, {(void *)(uintptr_t)payload, n}};
    size_t done = 0, total = sizeof head + n;
    while (done < total) {
        ssize_t wrote = pwritev(self->fd, parts, 2, (off_t)(self->end + done));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return err_set_errno(err, "%s: append", self->path);
        done += (size_t)wrote;
        for (int i = 0; i < 2 && wrote > 0; i++) {
            size_t step = (size_t)wrote < parts[i].iov_len ? (size_t)wrote : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + step;
            parts[i].iov_len -= step;
            wrote -= (ssize_t)step;
        }
    }
    *at = self->end + HEAD_BYTES;
    self->end += total;
    return 0;
}

int journal_append(journal_t *self, const wire_header_t *header, const void *payload, size_t n,
                   uint64_t *at, err_t *err)
{
    if (append(self, header, payload, n, at, err) == 0) return 0;
    journal_spare_t row = {.bytes = mem_calloc(n + 1, 1), .n = n};
    if (n) memcpy(row.bytes, payload, n);
    VEC_PUSH(&self->spare, row);
    *at = SPARE + self->spare.n;
    return 1;
}

/* All n bytes, or false: an error, or the file ends before. */
static bool read_all(const journal_t *self, uint64_t at, void *into, size_t n)
{
    char *to = into;
    while (n > 0) {
        ssize_t got = pread(self->fd, to, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

int journal_read(const journal_t *self, uint64_t at, void *into, size_t n, err_t *err)
{
    if (at > SPARE) {
        const journal_spare_t *row = &self->spare.at[at - SPARE - 1];
        memcpy(into, row->bytes, n < row->n ? n : row->n);
        return 0;
    }
    if (read_all(self, at, into, n)) return 0;
    return err_set_errno(err, "%s: %zu bytes at %llu", self->path, n, (unsigned long long)at);
}

void journal_rewind(journal_t *self)
{
    drop_spare(self);
    self->end = 0;
}

int journal_clear(journal_t *self, err_t *err)
{
    drop_spare(self);
    self->end = 0;
    return ftruncate(self->fd, 0) < 0 ? err_set_errno(err, "%s: empty it", self->path) : 0;
}

/* The record at self->end, if it is whole and right; its payload into `space`. */
static bool next(const journal_t *self, wire_header_t *header, uint8_t *space, size_t *n)
{
    uint8_t head[HEAD_BYTES];
    uint64_t check;
    if (!read_all(self, self->end, head, sizeof head)) return false;
    memcpy(&check, head, CHECK_BYTES);
    if (hash_fast(head + CHECK_BYTES, WIRE_HEADER_BYTES) != check ||
        wire_unpack(head + CHECK_BYTES, WIRE_HEADER_BYTES, 0, header, NULL) < 0)
        return false;
    if (header->count > MSG_CHUNK_FLOATS || header->total > MSG_PAYLOAD_BYTES) return false;
    *n = (size_t)header->total;
    return read_all(self, self->end + HEAD_BYTES, space, *n) &&
           (*n == 0 || hash_fast(space, *n) == header->check);
}

int64_t journal_replay(journal_t *self, uint64_t run, uint32_t round, journal_take_fn *take,
                       void *user, err_t *err)
{
    uint8_t *space = mem_calloc(1, MSG_PAYLOAD_BYTES);
    wire_header_t header;
    size_t n;
    int64_t count = 0;
    self->end = 0;
    while (next(self, &header, space, &n) && header.run == run && header.round == round) {
        take(user, &header, space, n, self->end + HEAD_BYTES);
        self->end += HEAD_BYTES + n;
        count++;
    }
    free(space);
    if (ftruncate(self->fd, (off_t)self->end) < 0)
        return err_set_errno(err, "%s: cut it at %llu", self->path, (unsigned long long)self->end);
    return count;
}
