/* A sparse, memory-mapped copy of a token object. */
#include "worker/tokens.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/limits.h"

struct tokens {
    char hash[HASH_HEX];
    char *path, *part; /* where a complete file is kept; where ours grows, NULL: nowhere */
    int part_fd;       /* open, for its lock tells others that we live; -1 */
    uint64_t n_bytes;
    uint8_t *at; /* mapping of n_bytes */
    size_t n_chunk, n_have;
    uint8_t *have; /* one byte per chunk */
};

static int map(tokens_t *self, int fd, int protection, const char *path, err_t *err)
{
    void *at = mmap(NULL, self->n_bytes, protection, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return err_set_errno(err, "%s: mmap", path);
    self->at = at;
    return 0;
}

/* A file of our own, beside those of other workers that share the directory. */
static int grow_part(tokens_t *self, err_t *err)
{
    self->part_fd = file_open_temporary(self->path, 0600, &self->part, err);
    if (self->part_fd < 0) return -1;
    /* Reserved, not sparse: a full disk is an error here instead of a signal later. */
    if (posix_fallocate(self->part_fd, 0, (off_t)self->n_bytes) != 0)
        return err_set(err, ERR_IO, "%s: no room for %llu bytes", self->part,
                       (unsigned long long)self->n_bytes);
    return map(self, self->part_fd, PROT_READ | PROT_WRITE, self->part, err);
}

/* One that is complete under its name was verified by its writer, and is by us, for a disk may have
 * damaged it. Nobody writes to it again: a better one takes its name, and our mapping stays. */
static void use_complete(tokens_t *self)
{
    err_t err = {0};
    char found[HASH_HEX];
    struct stat info;
    int fd = open(self->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size == self->n_bytes &&
        hash_fd(fd, self->path, found, &err) == 0 && strcmp(found, self->hash) == 0) {
        if (map(self, fd, PROT_READ, self->path, &err) == 0) self->n_have = self->n_chunk;
    } else {
        log_event(LOG_WARN, "cache_damaged", "path=%s bytes=%lld", self->path,
                  (long long)info.st_size);
        unlink(self->path);
    }
    close(fd);
    if (self->at) memset(self->have, 1, self->n_chunk);
}

tokens_t *tokens_new(const char *cache_dir, const char *hash, uint64_t n_tokens, err_t *err)
{
    if (strlen(hash) != HASH_HEX - 1 || strspn(hash, "0123456789abcdef") != HASH_HEX - 1 ||
        n_tokens == 0 || n_tokens > (uint64_t)1 << 40) {
        err_set(err, ERR_ARG, "token object \"%.64s\" with %llu tokens", hash,
                (unsigned long long)n_tokens);
        return NULL;
    }
    tokens_t *self = mem_calloc(1, sizeof *self);
    memcpy(self->hash, hash, HASH_HEX);
    self->n_bytes = n_tokens * 2;
    self->n_chunk = (size_t)((self->n_bytes + MSG_CHUNK_BYTES - 1) / MSG_CHUNK_BYTES);
    self->have = mem_calloc(self->n_chunk, 1);
    self->path = mem_printf("%s/%s.u16", cache_dir, hash);
    self->part_fd = -1;
    use_complete(self);
    if (!self->at && grow_part(self, err) < 0) tokens_destroy(&self);
    return self;
}

void tokens_destroy(tokens_t **self_p)
{
    tokens_t *self = *self_p;
    if (!self) return;
    if (self->at) munmap(self->at, self->n_bytes);
    if (self->part) unlink(self->part);
    if (self->part_fd >= 0) close(self->part_fd);
    free(self->path);
    free(self->part);
    free(self->have);
    free(self);
    *self_p = NULL;
}

const char *tokens_hash(const tokens_t *self)
{
    return self->hash;
}

const uint16_t *tokens_at(const tokens_t *self)
{
    return (const uint16_t *)self->at;
}

/* All chunks are here: check the whole, and keep it for later processes. */
static int complete(tokens_t *self, err_t *err)
{
    char found[HASH_HEX];
    hash_content(self->at, self->n_bytes, found);
    if (strcmp(found, self->hash) != 0) {
        memset(self->have, 0, self->n_chunk);
        self->n_have = 0;
        return err_set(err, ERR_CORRUPT, "tokens %.12s: received bytes have hash %.12s", self->hash,
                       found);
    }
    mprotect(self->at, self->n_bytes, PROT_READ);
    if (rename(self->part, self->path) < 0) {
        log_event(LOG_WARN, "cache_not_written", "path=%s", self->path);
        return 0; /* it goes with us */
    }
    free(self->part);
    self->part = NULL;
    close(self->part_fd);
    self->part_fd = -1;
    return 0;
}

int tokens_need(tokens_t *self, data_client_t *client, uint64_t begin, uint64_t n, err_t *err)
{
    uint64_t all = self->n_bytes / 2;
    if (begin > all || n > all - begin)
        return err_set(err, ERR_ARG, "tokens [%llu, +%llu) of %llu", (unsigned long long)begin,
                       (unsigned long long)n, (unsigned long long)all);
    if (n == 0 || self->n_have == self->n_chunk) return 0;
    size_t first = (size_t)(begin * 2 / MSG_CHUNK_BYTES);
    size_t last = (size_t)(((begin + n) * 2 - 1) / MSG_CHUNK_BYTES);
    for (size_t i = first; i <= last; i++) {
        size_t end = i;
        while (end <= last && !self->have[end]) end++;
        if (end == i) continue;
        uint64_t at = (uint64_t)i * MSG_CHUNK_BYTES, to = (uint64_t)end * MSG_CHUNK_BYTES;
        if (to > self->n_bytes) to = self->n_bytes;
        if (data_get_range(client, self->hash, at, (size_t)(to - at), self->at + at, err) < 0)
            return -1;
        memset(self->have + i, 1, end - i);
        self->n_have += end - i;
        i = end;
    }
    return self->n_have == self->n_chunk ? complete(self, err) : 0;
}
