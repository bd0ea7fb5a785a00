/* A sparse, memory-mapped copy of a token object. */
#include "worker/tokens.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/limits.h"

struct tokens {
    char hash[HASH_HEX];
    char *path, *part; /* where a complete file is kept; where it grows */
    uint64_t n_bytes;
    uint8_t *at; /* mapping of n_bytes */
    size_t n_chunk, n_have;
    uint8_t *have; /* one byte per chunk */
};

static int map_file(tokens_t *self, const char *path, bool grow, err_t *err)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | (grow ? O_CREAT | O_TRUNC : 0), 0644);
    if (fd < 0) return err_set_errno(err, "%s", path);
    int rc = 0;
    /* Reserved, not sparse: a full disk is an error here instead of a signal later. */
    if (grow && posix_fallocate(fd, 0, (off_t)self->n_bytes) != 0)
        rc = err_set(err, ERR_IO, "%s: no room for %llu bytes", path,
                     (unsigned long long)self->n_bytes);
    if (rc == 0) {
        void *at = mmap(NULL, self->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED)
            rc = err_set_errno(err, "%s: mmap", path);
        else
            self->at = at;
    }
    close(fd);
    if (rc < 0 && grow) unlink(path);
    return rc;
}

static void use_complete(tokens_t *self)
{
    err_t err = {0};
    char found[HASH_HEX];
    if (file_size(self->path) != (int64_t)self->n_bytes) return;
    if (hash_file(self->path, found, &err) < 0 || strcmp(found, self->hash) != 0) {
        log_event(LOG_WARN, "cache_damaged", "path=%s", self->path);
        unlink(self->path);
        return;
    }
    if (map_file(self, self->path, false, &err) < 0) return;
    memset(self->have, 1, self->n_chunk);
    self->n_have = self->n_chunk;
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
    self->part = mem_printf("%s/%s.part.%d", cache_dir, hash, (int)getpid());
    use_complete(self);
    if (!self->at && map_file(self, self->part, true, err) < 0) tokens_destroy(&self);
    return self;
}

void tokens_destroy(tokens_t **self_p)
{
    tokens_t *self = *self_p;
    if (!self) return;
    if (self->at) munmap(self->at, self->n_bytes);
    if (self->n_have < self->n_chunk) unlink(self->part);
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
    if (rename(self->part, self->path) < 0)
        log_event(LOG_WARN, "cache_not_written", "path=%s", self->path);
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
