/* The object service: content-addressed files, put in chunks and served from mappings.
 *
 * No call hashes more than a few chunks, whatever the size of the object, so that heartbeats are
 * not kept waiting: an upload is hashed as its chunks arrive, in order or not, and what lies here
 * since before this process is verified in slices (objects_work) before it is served. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/aggregator.h"
#include "base/log.h"
#include "msg/limits.h"

enum { MAX_OPEN = 32, MAX_UPLOADS = 64, MAX_KNOWN = 4096, SLICE_CHUNKS = 4 };
#define MAX_OBJECT_BYTES ((uint64_t)1 << 40)

/* --- What is verified --- */

static bool is_known(const aggregator_t *self, const char *hash)
{
    for (size_t i = 0; i < self->known.n; i++)
        if (strcmp(self->known.at[i].hash, hash) == 0) return true;
    return false;
}

static void remember(aggregator_t *self, const char *hash)
{
    known_object_t row;
    memcpy(row.hash, hash, HASH_HEX);
    if (self->known.n == MAX_KNOWN) /* the oldest is verified once more if it is asked for */
        memmove(self->known.at, self->known.at + 1, --self->known.n * sizeof row);
    VEC_PUSH(&self->known, row);
}

/* An object that is not what its name says is none: it can be put again. */
static void discard(aggregator_t *self, const char *hash, const char *fault)
{
    err_t err = {0};
    log_event(LOG_ERROR, "object_damaged", "hash=%.12s fault=\"%s\"", hash, fault);
    if (object_remove(self->objects, hash, &err) < 0)
        log_event(LOG_ERROR, "object_damaged", "error=\"%s\"", err.text);
}

static void end_check(aggregator_t *self)
{
    char found[HASH_HEX];
    if (self->check_of.hasher) hash_stream_finish(&self->check_of.hasher, found);
    file_unmap(&self->check_of.map);
    self->check_of = (object_check_t){0};
}

/* Is it verified? If not, it will be, one after another. */
static bool verify(aggregator_t *self, const char *hash)
{
    object_check_t *check = &self->check_of;
    err_t err = {0};
    if (is_known(self, hash)) return true;
    if (check->hasher) return false;
    char *path = object_path(self->objects, hash, &err);
    if (path && file_map(path, &check->map, &err) == 0) {
        memcpy(check->hash, hash, HASH_HEX);
        check->hasher = hash_stream_new();
    } else {
        log_event(LOG_ERROR, "object", "error=\"%s\"", err.text);
    }
    free(path);
    return false;
}

static void check_slice(aggregator_t *self)
{
    object_check_t *check = &self->check_of;
    size_t left = check->map.n - check->at, most = (size_t)SLICE_CHUNKS * MSG_CHUNK_BYTES;
    size_t n = left < most ? left : most;
    hash_stream_add(check->hasher, check->map.at + check->at, n);
    check->at += n;
    if (check->at < check->map.n) return;
    char found[HASH_HEX];
    hash_stream_finish(&check->hasher, found);
    if (strcmp(found, check->hash) == 0)
        remember(self, check->hash);
    else
        discard(self, check->hash, "the content has another hash");
    end_check(self);
}

/* --- Serving --- */

/* The mapping of a verified object; the least used makes room. NULL on error. */
static shared_t *open_object(aggregator_t *self, const char *hash, err_t *err)
{
    file_map_t map;
    char *path = object_path(self->objects, hash, err);
    int rc = path ? file_map(path, &map, err) : -1;
    free(path);
    if (rc < 0) return NULL;
    if (self->open.n == MAX_OPEN) {
        size_t oldest = 0;
        for (size_t i = 1; i < self->open.n; i++)
            if (self->open.at[i].used < self->open.at[oldest].used) oldest = i;
        shared_drop(&self->open.at[oldest].file);
        self->open.at[oldest] = self->open.at[--self->open.n];
    }
    open_object_t row = {.file = shared_file(map), .used = ++self->clock};
    memcpy(row.hash, hash, HASH_HEX);
    VEC_PUSH(&self->open, row);
    return row.file;
}

static shared_t *find_open(aggregator_t *self, const char *hash)
{
    for (size_t i = 0; i < self->open.n; i++) {
        if (strcmp(self->open.at[i].hash, hash) != 0) continue;
        self->open.at[i].used = ++self->clock;
        return self->open.at[i].file;
    }
    return NULL;
}

static void serve(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request,
                  shared_t *file)
{
    if (request->begin > file->map.n || request->count > MSG_CHUNK_BYTES) {
        answer_nack(self, from, request, NACK_BAD_RANGE, "it has %zu bytes", file->map.n);
        return;
    }
    uint64_t left = file->map.n - request->begin;
    size_t n = (size_t)(request->count < left ? request->count : left);
    const uint8_t *bytes = file->map.at + request->begin;
    wire_header_t header = *request;
    header.type = WIRE_DATA;
    header.count = n;
    header.total = file->map.n;
    header.check = hash_fast(bytes, n);
    self->bytes_out += n;
    self->reply(self->user, from, &header, bytes, n, shared_hold(file));
}

/* Small ones at once, so that nobody has to ask twice. */
static bool verify_now(aggregator_t *self, const char *hash)
{
    bool known = verify(self, hash), ours = strcmp(self->check_of.hash, hash) == 0;
    if (known || !ours || self->check_of.map.n > (size_t)SLICE_CHUNKS * MSG_CHUNK_BYTES)
        return known;
    check_slice(self);
    return is_known(self, hash);
}

void objects_get(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request)
{
    char hash[HASH_HEX];
    wire_hash_print(request->object, hash);
    err_t err = {0};
    shared_t *file = find_open(self, hash);
    if (!file && object_has(self->objects, hash) && !verify_now(self, hash) &&
        object_has(self->objects, hash)) {
        answer_nack(self, from, request, NACK_NOT_READY, "%.12s is being verified", hash);
        return;
    }
    if (!file && !object_has(self->objects, hash)) {
        answer_nack(self, from, request, NACK_UNKNOWN_OBJECT, "%.12s is not here", hash);
        return;
    }
    if (!file) file = open_object(self, hash, &err);
    if (file)
        serve(self, from, request, file);
    else
        answer_nack(self, from, request, NACK_STORAGE, "%s", err.text);
}

/* --- Uploads --- */

static void end_upload(aggregator_t *self, upload_t *upload)
{
    char unused[HASH_HEX];
    if (upload->hasher) hash_stream_finish(&upload->hasher, unused);
    close(upload->fd);
    unlink(upload->path); /* gone already when it was kept */
    free(upload->path);
    free(upload->have);
    *upload = self->uploads.at[--self->uploads.n];
}

void objects_fini(aggregator_t *self)
{
    while (self->uploads.n) end_upload(self, &self->uploads.at[0]);
    for (size_t i = 0; i < self->open.n; i++) shared_drop(&self->open.at[i].file);
    end_check(self);
    VEC_FREE(&self->uploads);
    VEC_FREE(&self->open);
    VEC_FREE(&self->known);
}

static upload_t *find_upload(aggregator_t *self, const char *hash, uint64_t total, err_t *err)
{
    for (size_t i = 0; i < self->uploads.n; i++) {
        upload_t *upload = &self->uploads.at[i];
        if (strcmp(upload->hash, hash) != 0) continue;
        if (upload->total == total) return upload;
        err_set(err, ERR_NET, "%.12s: two sizes for one object", hash);
        return NULL;
    }
    if (self->uploads.n >= MAX_UPLOADS) {
        err_set(err, ERR_MEMORY, "%d uploads are open already", MAX_UPLOADS);
        return NULL;
    }
    upload_t row = {.total = total};
    memcpy(row.hash, hash, HASH_HEX);
    row.path = mem_printf("%s/upload.%.16s.%d", self->object_root, hash, (int)getpid());
    row.fd = open(row.path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (row.fd < 0) {
        err_set_errno(err, "%s", row.path);
        free(row.path);
        return NULL;
    }
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

/* All bytes are there and hashed: keep them under the name of what they are. */
static int keep(aggregator_t *self, upload_t *upload, err_t *err)
{
    char found[HASH_HEX];
    hash_stream_finish(&upload->hasher, found);
    if (strcmp(found, upload->hash) != 0)
        return err_set(err, ERR_CORRUPT, "bytes announced as %.12s have hash %.12s", upload->hash,
                       found);
    if (object_adopt(self->objects, upload->path, found, err) < 0) return -1;
    log_event(LOG_INFO, "object", "hash=%.12s bytes=%llu", found,
              (unsigned long long)upload->total);
    remember(self, found);
    return 0;
}

/* 1: it is an object now, 0: not yet, -1. Whatever ends it frees it. */
static int advance(aggregator_t *self, upload_t *upload, err_t *err)
{
    int rc = catch_up(self, upload, err);
    if (rc == 0 && upload->hashed < upload->total) return 0;
    if (rc == 0) rc = keep(self, upload, err);
    end_upload(self, upload);
    return rc < 0 ? -1 : 1;
}

static bool has_good_place(const wire_header_t *header, size_t n)
{
    if (header->total == 0 || header->total > MAX_OBJECT_BYTES || header->begin >= header->total)
        return false;
    uint64_t left = header->total - header->begin;
    return header->begin % MSG_CHUNK_BYTES == 0 && n == header->count &&
           n == (left < MSG_CHUNK_BYTES ? left : MSG_CHUNK_BYTES);
}

/* It is there, or seems so: 1, for a damaged one is none; 0: not yet known; -1: it is not. */
static int is_here(aggregator_t *self, const char *hash)
{
    if (!object_has(self->objects, hash)) return -1;
    if (verify_now(self, hash)) return 1;
    return object_has(self->objects, hash) ? 0 : -1;
}

static int put_chunk(aggregator_t *self, const wire_header_t *header, const char *hash,
                     const void *payload, size_t n, err_t *err)
{
    upload_t *upload = find_upload(self, hash, header->total, err);
    if (!upload) return -1;
    uint8_t *have = &upload->have[header->begin / MSG_CHUNK_BYTES];
    if (!*have && write_chunk(upload, header->begin, payload, n, err) < 0) {
        end_upload(self, upload);
        return -1;
    }
    if (!*have) upload->n_have += n;
    if (!*have && header->begin == upload->hashed) {
        hash_stream_add(upload->hasher, payload, n);
        upload->hashed += n;
    }
    *have = 1;
    return advance(self, upload, err);
}

/* All of it is here but not hashed: the answer to this chunk waits, for it says that it is kept. */
static bool is_behind(const aggregator_t *self, const char *hash)
{
    for (size_t i = 0; i < self->uploads.n; i++)
        if (strcmp(self->uploads.at[i].hash, hash) == 0)
            return self->uploads.at[i].n_have == self->uploads.at[i].total;
    return false;
}

void objects_put(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header,
                 const void *payload, size_t n)
{
    char hash[HASH_HEX];
    wire_hash_print(header->object, hash);
    err_t err = {0};
    int here = is_here(self, hash);
    if (here < 0 && !has_good_place(header, n)) {
        answer_nack(self, from, header, NACK_BAD_RANGE, "%zu bytes at %llu of %llu", n,
                    (unsigned long long)header->begin, (unsigned long long)header->total);
        return;
    }
    int rc = here < 0 ? put_chunk(self, header, hash, payload, n, &err) : here;
    if (rc < 0)
        answer_nack(self, from, header, NACK_STORAGE, "%s", err.text);
    else if (rc == 0 && (here == 0 || is_behind(self, hash)))
        answer_nack(self, from, header, NACK_NOT_READY, "%.12s is being verified", hash);
    else
        answer_ack(self, from, header, rc ? ACK_COMPLETE : ACK_TAKEN);
}

bool objects_busy(const aggregator_t *self)
{
    for (size_t i = 0; i < self->uploads.n; i++)
        if (self->uploads.at[i].n_have == self->uploads.at[i].total) return true;
    return self->check_of.hasher != NULL;
}

void objects_work(aggregator_t *self)
{
    if (self->check_of.hasher) check_slice(self);
    for (size_t i = self->uploads.n; i-- > 0;) {
        err_t err = {0};
        upload_t *upload = &self->uploads.at[i];
        if (upload->n_have < upload->total) continue;
        if (advance(self, upload, &err) < 0)
            log_event(LOG_ERROR, "object", "error=\"%s\"", err.text);
        return; /* one at a time */
    }
}

void objects_forget(aggregator_t *self, const char *hash)
{
    for (size_t i = 0; i < self->uploads.n; i++)
        if (strcmp(self->uploads.at[i].hash, hash) == 0) return;
    for (size_t i = 0; i < self->open.n; i++) {
        if (strcmp(self->open.at[i].hash, hash) != 0) continue;
        shared_drop(&self->open.at[i].file); /* answers on their way keep their mapping */
        self->open.at[i] = self->open.at[--self->open.n];
        break;
    }
    for (size_t i = 0; i < self->known.n; i++)
        if (strcmp(self->known.at[i].hash, hash) == 0)
            memmove(&self->known.at[i], &self->known.at[i + 1],
                    (--self->known.n - i) * sizeof *self->known.at);
    if (self->check_of.hasher && strcmp(self->check_of.hash, hash) == 0) end_check(self);
    err_t err = {0};
    if (object_remove(self->objects, hash, &err) < 0)
        log_event(LOG_WARN, "forget", "error=\"%s\"", err.text);
}
