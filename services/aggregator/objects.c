/* The object service: content-addressed files, put in chunks (uploads.c) and served from mappings.
 *
 * No call hashes more than a few chunks, whatever the size of the object, so that heartbeats are
 * not kept waiting: an upload is hashed as its chunks arrive, in order or not, and what lies here
 * since before this process is verified in slices (objects_work) before it is served. So is a file
 * that is not the one that was verified: others may share the directory. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "aggregator/aggregator.h"
#include "base/entries.h"
#include "base/log.h"
#include "msg/limits.h"

enum { MAX_OPEN = 32, MAX_KNOWN = 4096, SLICE_CHUNKS = OBJECTS_SLICE_CHUNKS };

/* --- What is verified --- */

static stamp_t stamp_of(const struct stat *info)
{
    return (stamp_t){
        .device = (uint64_t)info->st_dev,
        .inode = (uint64_t)info->st_ino,
        .bytes = info->st_size,
        .written_s = info->st_mtim.tv_sec,
        .written_ns = info->st_mtim.tv_nsec,
        .changed_s = info->st_ctim.tv_sec,
        .changed_ns = info->st_ctim.tv_nsec,
    };
}

/* Which file has that name now; all zero: none. */
static stamp_t stamp_now(const aggregator_t *self, const char *hash)
{
    struct stat info;
    char *path = object_path(self->objects, hash, NULL);
    stamp_t stamp = {0};
    if (path && stat(path, &info) == 0) stamp = stamp_of(&info);
    free(path);
    return stamp;
}

static void forget_known(aggregator_t *self, const char *hash)
{
    for (size_t i = self->known.n; i-- > 0;)
        if (strcmp(self->known.at[i].hash, hash) == 0)
            memmove(&self->known.at[i], &self->known.at[i + 1],
                    (--self->known.n - i) * sizeof *self->known.at);
}

/* The file of that name, as it is now, was verified by this process. */
static bool is_known(const aggregator_t *self, const char *hash)
{
    for (size_t i = 0; i < self->known.n; i++) {
        if (strcmp(self->known.at[i].hash, hash) != 0) continue;
        stamp_t now = stamp_now(self, hash);
        return memcmp(&now, &self->known.at[i].stamp, sizeof now) == 0;
    }
    return false;
}

static void remember(aggregator_t *self, const char *hash, stamp_t stamp)
{
    known_object_t row = {.stamp = stamp};
    memcpy(row.hash, hash, HASH_HEX);
    forget_known(self, hash);
    if (self->known.n == MAX_KNOWN) /* the oldest is verified once more if it is asked for */
        memmove(self->known.at, self->known.at + 1, --self->known.n * sizeof row);
    VEC_PUSH(&self->known, row);
}

void objects_remember(aggregator_t *self, const char *hash, int fd)
{
    struct stat info;
    if (fstat(fd, &info) == 0) remember(self, hash, stamp_of(&info));
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
    check->stamp = stamp_now(self, hash);
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
        remember(self, check->hash, check->stamp); /* of before it was read */
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
    if (!is_known(self, hash)) { /* it was replaced just now */
        file_unmap(&map);
        err_set(err, ERR_IO, "%.12s changes while it is opened", hash);
        return NULL;
    }
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
    header.count = n;
    header.total = file->map.n;
    answer_data(self, from, &header, bytes, n, hash_fast(bytes, n), file);
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

/* It is there, or seems so: 1, for a damaged one is none; 0: not yet known; -1: it is not. */
static int is_here(aggregator_t *self, const char *hash)
{
    if (!object_has(self->objects, hash)) return -1;
    if (verify_now(self, hash)) return 1;
    return object_has(self->objects, hash) ? 0 : -1;
}

void objects_put(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header,
                 const void *payload, size_t n)
{
    char hash[HASH_HEX];
    err_t err = {0};
    wire_hash_print(header->object, hash);
    /* The first chunk of each sender; before we look whether it is here: nobody deletes it in between. */
    if (header->begin == 0 && object_claim(self->objects, header->run, hash, &err) < 0) {
        aggregator_cannot_write(self, from, header, &err);
        return;
    }
    int here = is_here(self, hash);
    if (here < 0)
        uploads_put(self, from, header, payload, n);
    else if (here == 0)
        answer_nack(self, from, header, NACK_NOT_READY, "%.12s is being verified", hash);
    else
        answer_ack(self, from, header, ACK_COMPLETE);
}

void objects_fini(aggregator_t *self)
{
    for (size_t i = 0; i < self->open.n; i++) shared_drop(&self->open.at[i].file);
    end_check(self);
    VEC_FREE(&self->open);
    VEC_FREE(&self->known);
}

bool objects_busy(const aggregator_t *self)
{
    return self->check_of.hasher || uploads_busy(self);
}

void objects_work(aggregator_t *self)
{
    if (self->check_of.hasher) check_slice(self);
    uploads_work(self);
}

void objects_forget(aggregator_t *self, uint64_t run, const char *hash)
{
    err_t err = {0};
    if (uploads_has(self, hash)) return;
    int rc = object_release(self->objects, run, hash, &err);
    if (rc < 0) log_event(LOG_WARN, "forget", "error=\"%s\"", err.text);
    if (rc <= 0) return;
    for (size_t i = 0; i < self->open.n; i++) {
        if (strcmp(self->open.at[i].hash, hash) != 0) continue;
        shared_drop(&self->open.at[i].file); /* answers on their way keep their mapping */
        self->open.at[i] = self->open.at[--self->open.n];
        break;
    }
    forget_known(self, hash);
    if (self->check_of.hasher && strcmp(self->check_of.hash, hash) == 0) end_check(self);
}

void objects_forget_run(aggregator_t *self, uint64_t run)
{
    char *dir = object_claims(self->objects, run);
    entries_t list = entries_list(dir, "", "");
    for (size_t i = 0; i < list.n; i++) {
        const char *hash = strrchr(list.at[i].path, '/') + 1;
        if (hash_is_name(hash)) objects_forget(self, run, hash);
    }
    entries_fini(&list);
    free(dir);
}
