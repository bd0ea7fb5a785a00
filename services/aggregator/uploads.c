/* Uploads: objects that arrive in chunks, in any order, until all of one is here and hashed.
 *
 * Each is a temporary file of a random name, its own alone (base/file.h), so that no other process
 * or object in the same directory touches its bytes; it is renamed once, and never written to
 * afterwards. Who begins one and leaves does not keep the place: uploads that nobody sends chunks
 * of end after a while, and a peer has room for a few at a time. A disk that takes nothing, for
 * now, is no end: what is here stays, and the sender is told to come again (NACK_CANNOT_WRITE). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/aggregator.h"
#include "base/log.h"
#include "msg/limits.h"

enum { SLICE_CHUNKS = OBJECTS_SLICE_CHUNKS };
#define MAX_OBJECT_BYTES ((uint64_t)1 << 40)

void uploads_init(aggregator_t *self)
{
    size_t n = file_sweep_temporaries(self->object_root);
    if (n) log_event(LOG_INFO, "uploads_swept", "dir=%s n=%zu", self->object_root, n);
}

static void end_upload(aggregator_t *self, upload_t *upload)
{
    char unused[HASH_HEX];
    if (upload->hasher) hash_stream_finish(&upload->hasher, unused);
    unlink(upload->path); /* gone already when it was kept */
    close(upload->fd);
    free(upload->path);
    free(upload->have);
    *upload = self->uploads.at[--self->uploads.n];
}

void uploads_fini(aggregator_t *self)
{
    while (self->uploads.n) end_upload(self, &self->uploads.at[0]);
    VEC_FREE(&self->uploads);
}

static void expire(aggregator_t *self, upload_t *upload, const char *reason)
{
    log_event(LOG_WARN, "upload_ended",
              "hash=%.12s have=%llu bytes=%llu idle_ms=%lld reason=\"%s\"", upload->hash,
              (unsigned long long)upload->n_have, (unsigned long long)upload->total,
              (long long)(self->now_ms - upload->used_ms), reason);
    end_upload(self, upload);
}

void uploads_tick(aggregator_t *self)
{
    for (size_t i = self->uploads.n; i-- > 0;)
        if (self->now_ms - self->uploads.at[i].used_ms > MSG_UPLOAD_IDLE_MS)
            expire(self, &self->uploads.at[i], "nobody sends the rest");
}

static bool same_peer(const msg_peer_t *a, const msg_peer_t *b)
{
    return a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
}

/* On whatever connections. */
static bool same_key(const msg_peer_t *a, const msg_peer_t *b)
{
    return a->card && b->card && memcmp(a->card->public_key, b->card->public_key, KEYS_BYTES) == 0;
}

/* Those of a peer, of a key, or all: how many, and the one that has been idle for longest. */
typedef struct {
    size_t n;
    upload_t *oldest;
} some_t;

static void add(some_t *self, bool belongs, upload_t *row)
{
    if (!belongs) return;
    self->n++;
    if (!self->oldest || row->used_ms < self->oldest->used_ms) self->oldest = row;
}

/* Room for one more of that peer's: its own oldest goes when it or its key has its share, and one that has
 * been idle for long when there are too many in all. */
static int make_room(aggregator_t *self, const msg_peer_t *from, err_t *err)
{
    some_t mine = {0}, keys = {0}, all = {0};
    for (size_t i = 0; i < self->uploads.n; i++) {
        upload_t *row = &self->uploads.at[i];
        add(&mine, same_peer(&row->owner, from), row);
        add(&keys, same_key(&row->owner, from), row);
        add(&all, true, row);
    }
    if (mine.n >= MSG_PEER_UPLOADS) {
        expire(self, mine.oldest, "its sender began too many others");
    } else if (keys.n >= MSG_KEY_UPLOADS) {
        expire(self, keys.oldest, "its sender's key began too many others");
    } else if (all.n >= MSG_UPLOADS) {
        if (self->now_ms - all.oldest->used_ms < MSG_UPLOAD_ROOM_MS)
            return err_set(err, ERR_MEMORY, "%d uploads are going on already", MSG_UPLOADS);
        expire(self, all.oldest, "others need the room");
    }
    return 0;
}

static upload_t *find_upload(aggregator_t *self, const char *hash, uint64_t total)
{
    for (size_t i = 0; i < self->uploads.n; i++) {
        upload_t *upload = &self->uploads.at[i];
        if (strcmp(upload->hash, hash) == 0 && upload->total == total) return upload;
    }
    return NULL;
}

static upload_t *begin_upload(aggregator_t *self, const msg_peer_t *from, const char *hash,
                              uint64_t total, err_t *err)
{
    if (make_room(self, from, err) < 0) return NULL;
    upload_t row = {.total = total, .owner = *from};
    memcpy(row.hash, hash, HASH_HEX);
    char *name = mem_printf("%s/upload.%s", self->object_root, hash);
    row.fd = file_open_temporary(name, 0644, &row.path, err);
    free(name);
    if (row.fd < 0) return NULL;
    row.have = mem_calloc((size_t)((total + MSG_CHUNK_BYTES - 1) / MSG_CHUNK_BYTES), 1);
    row.hasher = hash_stream_new();
    VEC_PUSH(&self->uploads, row);
    return &self->uploads.at[self->uploads.n - 1];
}

static int write_chunk(const upload_t *upload, uint64_t at, const uint8_t *bytes, size_t n,
                       err_t *err)
{
    uint64_t begin = at, whole = n;
    while (n > 0) {
        ssize_t done = pwrite(upload->fd, bytes, n, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return err_set_errno(err, "%s", upload->path);
        bytes += done;
        at += (uint64_t)done;
        n -= (size_t)done;
    }
    /* To the disk meanwhile, so that little is left to sync at the end. */
    sync_file_range(upload->fd, (off_t)begin, (off_t)whole, SYNC_FILE_RANGE_WRITE);
    return 0;
}

/* Hash a few chunks behind what is hashed that came before it could be. */
static int catch_up(aggregator_t *self, upload_t *upload, err_t *err)
{
    uint8_t *space = (uint8_t *)self->scratch; /* holds a chunk */
    for (int i = 0; i < SLICE_CHUNKS && upload->hashed < upload->total &&
                    upload->have[upload->hashed / MSG_CHUNK_BYTES];
         i++) {
        uint64_t left = upload->total - upload->hashed;
        size_t n = left < MSG_CHUNK_BYTES ? (size_t)left : MSG_CHUNK_BYTES;
        ssize_t got = pread(upload->fd, space, n, (off_t)upload->hashed);
        if (got != (ssize_t)n)
            return err_set_errno(err, "%s: read back %zu bytes", upload->path, n);
        hash_stream_add(upload->hasher, space, n);
        upload->hashed += n;
    }
    return 0;
}

/* Are these the bytes that were announced? Then they reach the disk, once. */
static int settle(upload_t *upload, err_t *err)
{
    char found[HASH_HEX];
    hash_stream_finish(&upload->hasher, found);
    if (strcmp(found, upload->hash) != 0)
        return err_set(err, ERR_CORRUPT, "bytes announced as %.12s have hash %.12s", upload->hash,
                       found);
    /* What failed to reach the disk may be gone from memory as well: it is sent again. */
    if (fsync(upload->fd) < 0) return err_set_errno(err, "%s: sync", upload->path);
    upload->settled = true;
    return 0;
}

/* All is well: keep it under the name of what it is. */
static int keep(aggregator_t *self, upload_t *upload, err_t *err)
{
    if (object_adopt(self->objects, upload->path, upload->hash, err) < 0) return -1;
    log_event(LOG_INFO, "object", "hash=%.12s bytes=%llu", upload->hash,
              (unsigned long long)upload->total);
    objects_remember(self, upload->hash, upload->fd);
    end_upload(self, upload);
    return 1;
}

/* 1: it is an object now, 0: not yet, -1: ERR_CORRUPT, it was another one; else the disk refuses.
 */
static int advance(aggregator_t *self, upload_t *upload, err_t *err)
{
    if (!upload->settled) {
        int rc = catch_up(self, upload, err);
        if (rc == 0 && upload->hashed < upload->total) return 0;
        if (rc == 0) rc = settle(upload, err);
        if (rc < 0) {
            end_upload(self, upload);
            return -1;
        }
    }
    return keep(self, upload, err);
}

static bool has_good_place(const wire_header_t *header, size_t n)
{
    if (header->total == 0 || header->total > MAX_OBJECT_BYTES || header->begin >= header->total)
        return false;
    uint64_t left = header->total - header->begin;
    return header->begin % MSG_CHUNK_BYTES == 0 && n == header->count &&
           n == (left < MSG_CHUNK_BYTES ? left : MSG_CHUNK_BYTES);
}

/* As advance. *shared: others had sent parts of it, who may have been wrong. */
static int put_chunk(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header,
                     const void *payload, bool *shared, err_t *err)
{
    char hash[HASH_HEX];
    wire_hash_print(header->object, hash);
    upload_t *upload = find_upload(self, hash, header->total);
    if (!upload) upload = begin_upload(self, from, hash, header->total, err);
    if (!upload) return -1;
    upload->used_ms = self->now_ms;
    upload->shared |= !same_peer(&upload->owner, from);
    *shared = upload->shared;
    uint8_t *have = &upload->have[header->begin / MSG_CHUNK_BYTES];
    size_t n = (size_t)header->count;
    if (!*have && write_chunk(upload, header->begin, payload, n, err) < 0) return -1;
    if (!*have) upload->n_have += n;
    if (!*have && header->begin == upload->hashed) {
        hash_stream_add(upload->hasher, payload, n);
        upload->hashed += n;
    }
    *have = 1;
    return advance(self, upload, err);
}

/* All of it is here but not hashed: the answer to this chunk waits, for it says that it is kept. */
static bool is_behind(const upload_t *upload)
{
    return upload->n_have == upload->total && !upload->settled;
}

void uploads_put(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header,
                 const void *payload, size_t n)
{
    err_t err = {0};
    bool shared = false;
    char hash[HASH_HEX];
    if (!has_good_place(header, n)) {
        answer_nack(self, from, header, NACK_BAD_RANGE, "%zu bytes at %llu of %llu", n,
                    (unsigned long long)header->begin, (unsigned long long)header->total);
        return;
    }
    int rc = put_chunk(self, from, header, payload, &shared, &err);
    wire_hash_print(header->object, hash);
    const upload_t *upload = find_upload(self, hash, header->total);
    if (rc < 0 && err.code == ERR_CORRUPT)
        answer_nack(self, from, header, shared ? NACK_NOT_READY : NACK_STORAGE, "%s", err.text);
    else if (rc < 0)
        aggregator_cannot_write(self, from, header, &err);
    else if (rc == 0 && upload && is_behind(upload))
        answer_nack(self, from, header, NACK_NOT_READY, "%.12s is being verified", hash);
    else
        answer_ack(self, from, header, rc ? ACK_COMPLETE : ACK_TAKEN);
    if (rc > 0) aggregator_can_write(self);
}

bool uploads_has(const aggregator_t *self, const char *hash)
{
    for (size_t i = 0; i < self->uploads.n; i++)
        if (strcmp(self->uploads.at[i].hash, hash) == 0) return true;
    return false;
}

bool uploads_busy(const aggregator_t *self)
{
    for (size_t i = 0; i < self->uploads.n; i++)
        if (is_behind(&self->uploads.at[i])) return true;
    return false;
}

void uploads_work(aggregator_t *self)
{
    for (size_t i = self->uploads.n; i-- > 0;) {
        err_t err = {0};
        upload_t *upload = &self->uploads.at[i];
        if (!is_behind(upload)) continue;
        if (advance(self, upload, &err) < 0)
            log_event(LOG_ERROR, "object", "error=\"%s\"", err.text);
        return; /* one at a time */
    }
}
