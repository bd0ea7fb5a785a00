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
#include "base/vec.h"
#include "data/token_bytes.h"
#include "msg/limits.h"
#include "worker/room.h"

enum {
    GRAIN_BYTES = 64, /* of what is fetched: small beside a window */
    GAP_GRAINS = 4, /* between two ranges that are fetched as one: less than what a request costs */
    SMALL = MSG_CHUNK_BYTES, /* a file of so many bytes is fetched whole */
};

typedef struct { /* grains [begin, end) */
    size_t begin, end;
} run_t;
typedef VEC(run_t) runs_t;
typedef VEC(data_range_bytes_t) ranges_t;

struct tokens {
    char hash[HASH_HEX];
    char *path, *part; /* where a complete file is kept; where ours grows, NULL: nowhere */
    int part_fd;       /* open, for its lock tells others that we live; -1 */
    uint64_t n_bytes;
    size_t bytes; /* of a token */
    uint8_t *at;  /* mapping of n_bytes */
    size_t n_grain, n_have;
    uint8_t *have; /* one bit per grain */
    runs_t wanted;
    room_t room;       /* of the part */
    ahead_t *by;       /* fetches `coming` */
    runs_t coming;     /* sorted */
    uint64_t n_coming; /* bytes of them */
};

static int map(tokens_t *self, int fd, int protection, const char *path, err_t *err)
{
    void *at = mmap(NULL, self->n_bytes, protection, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return err_set_errno(err, "%s: mmap", path);
    self->at = at;
    return 0;
}

/* A file of our own, beside those of other workers that share the directory. */
static int grow_part(tokens_t *self, uint64_t limit, err_t *err)
{
    self->part_fd = file_open_temporary(self->path, 0600, &self->part, err);
    if (self->part_fd < 0) return -1;
    if (ftruncate(self->part_fd, (off_t)self->n_bytes) < 0)
        return err_set_errno(err, "%s", self->part);
    room_init(&self->room, self->part_fd, self->part, self->n_bytes, limit);
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
        if (map(self, fd, PROT_READ, self->path, &err) == 0) self->n_have = self->n_grain;
    } else {
        log_event(LOG_WARN, "cache_damaged", "path=%s bytes=%lld", self->path,
                  (long long)info.st_size);
        unlink(self->path);
    }
    close(fd);
}

tokens_t *tokens_new(const char *cache_dir, const tokens_which_t *which, err_t *err)
{
    const char *hash = which->hash;
    uint64_t n_tokens = which->n_tokens;
    int bytes = which->bytes;
    if (!hash_is_name(hash) || n_tokens == 0 || n_tokens > (uint64_t)1 << 40 ||
        (bytes != 1 && bytes != 2 && bytes != 4)) {
        err_set(err, ERR_ARG, "token object \"%.64s\" with %llu tokens of %d bytes", hash,
                (unsigned long long)n_tokens, bytes);
        return NULL;
    }
    tokens_t *self = mem_calloc(1, sizeof *self);
    memcpy(self->hash, hash, HASH_HEX);
    self->bytes = (size_t)bytes;
    self->n_bytes = n_tokens * self->bytes;
    self->n_grain = (size_t)((self->n_bytes + GRAIN_BYTES - 1) / GRAIN_BYTES);
    self->have = mem_calloc(self->n_grain / 8 + 1, 1);
    self->path = mem_printf("%s/%s.%s", cache_dir, hash, token_bytes_ending(bytes));
    self->part_fd = -1;
    use_complete(self);
    if (!self->at && grow_part(self, which->limit, err) < 0) tokens_destroy(&self);
    return self;
}

void tokens_destroy(tokens_t **self_p)
{
    tokens_t *self = *self_p;
    if (!self) return;
    if (self->by) ahead_forget(self->by); /* it writes to the mapping */
    if (self->at) munmap(self->at, self->n_bytes);
    if (self->part) unlink(self->part);
    if (self->part_fd >= 0) close(self->part_fd);
    free(self->path);
    free(self->part);
    free(self->have);
    VEC_FREE(&self->wanted);
    VEC_FREE(&self->coming);
    room_fini(&self->room);
    free(self);
    *self_p = NULL;
}

const char *tokens_hash(const tokens_t *self)
{
    return self->hash;
}

int tokens_bytes(const tokens_t *self)
{
    return (int)self->bytes;
}

static int want_feed(tokens_t *self, const feed_t *feed, err_t *err)
{
    uint64_t n = feed->layout->units * (uint64_t)feed->n_micro;
    for (uint64_t step = 0; step < feed->range.count / n; step++) {
        if (feed_units(feed, step, err) < 0) return -1;
        for (uint64_t i = 0; i < n; i++)
            if (tokens_want(self, feed->units[i] * feed->layout->unit, feed->layout->unit_tokens,
                            err) < 0)
                return -1;
    }
    return 0;
}

int tokens_fetch_feed(tokens_t *self, const feed_t *feed, data_client_t *client, err_t *err)
{
    room_next(&self->room);
    return want_feed(self, feed, err) < 0 ? -1 : tokens_fetch(self, client, err);
}

const void *tokens_at(const tokens_t *self)
{
    return self->at;
}

/* All of it is here: check the whole, and keep it for later processes. */
static int complete(tokens_t *self, err_t *err)
{
    char found[HASH_HEX];
    hash_content(self->at, self->n_bytes, found);
    if (strcmp(found, self->hash) != 0) {
        memset(self->have, 0, self->n_grain / 8 + 1);
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

/* --- What is wanted --- */

static bool has(const tokens_t *self, size_t grain)
{
    return self->have[grain / 8] >> grain % 8 & 1;
}

int tokens_want(tokens_t *self, uint64_t begin, uint64_t n, err_t *err)
{
    uint64_t all = self->n_bytes / self->bytes;
    if (begin > all || n > all - begin)
        return err_set(err, ERR_ARG, "tokens [%llu, +%llu) of %llu", (unsigned long long)begin,
                       (unsigned long long)n, (unsigned long long)all);
    if (n == 0 || self->n_have == self->n_grain) return 0;
    if (self->n_bytes <= SMALL) {
        begin = 0;
        n = all;
    }
    size_t last = (size_t)(((begin + n) * self->bytes - 1) / GRAIN_BYTES);
    room_use(&self->room, begin * self->bytes, (begin + n) * self->bytes);
    for (size_t i = (size_t)(begin * self->bytes / GRAIN_BYTES); i <= last; i++) {
        size_t end = i;
        while (end <= last && !has(self, end)) end++;
        if (end == i) continue;
        VEC_PUSH(&self->wanted, ((run_t){i, end}));
        i = end;
    }
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const run_t *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* In their order, each once. */
static void merge(runs_t *runs)
{
    size_t n = 0;
    if (runs->n > 0) qsort(runs->at, runs->n, sizeof *runs->at, by_begin);
    for (size_t i = 0; i < runs->n; i++) {
        run_t *before = n ? &runs->at[n - 1] : NULL;
        if (before && runs->at[i].begin <= before->end + GAP_GRAINS) {
            if (runs->at[i].end > before->end) before->end = runs->at[i].end;
        } else {
            runs->at[n++] = runs->at[i];
        }
    }
    runs->n = n;
}

static void push_ranges(const tokens_t *self, const run_t *run, ranges_t *ranges)
{
    uint64_t at = (uint64_t)run->begin * GRAIN_BYTES, end = (uint64_t)run->end * GRAIN_BYTES;
    if (end > self->n_bytes) end = self->n_bytes;
    for (uint64_t n; at < end; at += n) {
        n = end - at < MSG_CHUNK_BYTES ? end - at : MSG_CHUNK_BYTES;
        VEC_PUSH(ranges, ((data_range_bytes_t){at, (size_t)n}));
    }
}

static void note(tokens_t *self, const run_t *run)
{
    for (size_t i = run->begin; i < run->end; i++) {
        if (has(self, i)) continue;
        self->have[i / 8] |= (uint8_t)(1 << i % 8);
        self->n_have++;
    }
}

/* The page is empty from now on. */
static void dropped(void *user, uint64_t begin, uint64_t end)
{
    tokens_t *self = user;
    for (size_t i = (size_t)(begin / GRAIN_BYTES); i * GRAIN_BYTES < end && i < self->n_grain;
         i++) {
        if (!has(self, i)) continue;
        self->have[i / 8] &= (uint8_t) ~(1 << i % 8);
        self->n_have--;
    }
}

/* Ranges of the wanted runs, with room for them. ERR_MEMORY: they have to fit into the limit, and do not. */
static int make_ranges(tokens_t *self, bool must_fit, ranges_t *ranges, err_t *err)
{
    uint64_t more = 0;
    merge(&self->wanted);
    for (size_t i = 0; i < self->wanted.n; i++) push_ranges(self, &self->wanted.at[i], ranges);
    for (size_t i = 0; i < ranges->n; i++) more += ranges->at[i].n + ROOM_PAGE; /* at most */
    if (ranges->n) room_shrink(&self->room, more, dropped, self);
    if (must_fit && self->room.limit && self->room.used + more > self->room.limit)
        return err_set(err, ERR_MEMORY, "no room beside what is trained on");
    for (size_t i = 0; i < ranges->n; i++)
        if (room_take(&self->room, ranges->at[i].begin, ranges->at[i].begin + ranges->at[i].n,
                      err) < 0)
            return -1;
    return 0;
}

void tokens_fetch_ahead(tokens_t *self, const feed_t *feed, ahead_t *by, const ahead_which_t *from)
{
    err_t err = {0};
    ranges_t ranges = {0};
    tokens_end_ahead(self, NULL, NULL);
    if (want_feed(self, feed, &err) == 0 && make_ranges(self, true, &ranges, &err) == 0 &&
        ranges.n) {
        self->n_coming = 0;
        for (size_t i = 0; i < ranges.n; i++) self->n_coming += ranges.at[i].n;
        self->by = by;
        runs_t spare = self->coming;
        self->coming = self->wanted;
        self->wanted = spare;
        const data_ranges_t which = {self->hash, ranges.at, ranges.n, self->at};
        ahead_begin_ranges(by, from, &which);
    } else if (err.code) {
        log_event(LOG_INFO, "not_ahead", "tokens=%.12s reason=\"%s\"", self->hash, err.text);
    }
    self->wanted.n = 0;
    VEC_FREE(&ranges);
}

uint64_t tokens_end_ahead(tokens_t *self, bool (*stopped)(void *user), void *user)
{
    if (!self->by) return 0;
    bool came = ahead_end_ranges(self->by, stopped, user);
    for (size_t i = 0; came && i < self->coming.n; i++) note(self, &self->coming.at[i]);
    log_event(LOG_DEBUG, "windows_ahead", "tokens=%.12s came=%d", self->hash, came);
    self->coming.n = 0;
    self->by = NULL;
    return came ? self->n_coming : 0;
}

int tokens_fetch(tokens_t *self, data_client_t *client, err_t *err)
{
    ranges_t ranges = {0};
    int rc = make_ranges(self, false, &ranges, err);
    if (rc == 0 && ranges.n)
        rc = data_get_ranges(client, self->hash, ranges.at, ranges.n, self->at, err);
    for (size_t i = 0; rc == 0 && i < self->wanted.n; i++) note(self, &self->wanted.at[i]);
    bool filled = rc == 0 && self->part && self->n_have == self->n_grain;
    self->wanted.n = 0;
    VEC_FREE(&ranges);
    return filled ? complete(self, err) : rc;
}
