/* The object service: content-addressed files, put in chunks and served from mappings. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/aggregator.h"
#include "base/log.h"
#include "msg/limits.h"

enum { MAX_OPEN = 32, MAX_UPLOADS = 64 };
#define MAX_OBJECT_BYTES ((uint64_t)1 << 40)

/* The mapping of an object, opened and verified once; the least used makes room. NULL on error. */
static shared_t *open_object(aggregator_t *self, const char *hash, err_t *err)
{
    for (size_t i = 0; i < self->open.n; i++) {
        if (strcmp(self->open.at[i].hash, hash) != 0) continue;
        self->open.at[i].used = ++self->clock;
        return self->open.at[i].file;
    }
    file_map_t map;
    if (object_map(self->objects, hash, &map, err) < 0) return NULL;
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

void objects_get(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request)
{
    char hash[HASH_HEX];
    wire_hash_print(request->object, hash);
    err_t err = {0};
    if (!object_has(self->objects, hash)) {
        answer_nack(self, from, request, NACK_UNKNOWN_OBJECT, "%.12s is not here", hash);
        return;
    }
    shared_t *file = open_object(self, hash, &err);
    if (!file) {
        answer_nack(self, from, request, NACK_STORAGE, "%s", err.text);
        return;
    }
    if (request->begin > file->map.n || request->count > MSG_CHUNK_BYTES) {
        answer_nack(self, from, request, NACK_BAD_RANGE, "%.12s has %zu bytes", hash, file->map.n);
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

static void end_upload(aggregator_t *self, upload_t *upload)
{
    close(upload->fd);
    unlink(upload->path);
    free(upload->path);
    free(upload->have);
    *upload = self->uploads.at[--self->uploads.n];
}

void objects_fini(aggregator_t *self)
{
    while (self->uploads.n) end_upload(self, &self->uploads.at[0]);
    for (size_t i = 0; i < self->open.n; i++) shared_drop(&self->open.at[i].file);
    VEC_FREE(&self->uploads);
    VEC_FREE(&self->open);
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
    VEC_PUSH(&self->uploads, row);
    return &self->uploads.at[self->uploads.n - 1];
}

static int write_chunk(const upload_t *upload, uint64_t at, const uint8_t *bytes, size_t n,
                       err_t *err)
{
    while (n > 0) {
        ssize_t done = pwrite(upload->fd, bytes, n, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return err_set_errno(err, "%s", upload->path);
        bytes += done;
        at += (uint64_t)done;
        n -= (size_t)done;
    }
    return 0;
}

/* All bytes are there: keep them under the name of what they are. */
static int keep(aggregator_t *self, upload_t *upload, err_t *err)
{
    char found[HASH_HEX];
    if (object_put_file(self->objects, upload->path, found, err) < 0) return -1;
    log_event(LOG_INFO, "object", "hash=%.12s bytes=%llu", found,
              (unsigned long long)upload->total);
    if (strcmp(found, upload->hash) == 0) return 0;
    return err_set(err, ERR_CORRUPT, "bytes announced as %.12s have hash %.12s", upload->hash,
                   found);
}

void objects_put(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header,
                 const void *payload, size_t n)
{
    char hash[HASH_HEX];
    wire_hash_print(header->object, hash);
    if (object_has(self->objects, hash)) {
        answer_ack(self, from, header, ACK_COMPLETE);
        return;
    }
    uint64_t left = header->total - header->begin;
    if (header->total == 0 || header->total > MAX_OBJECT_BYTES || header->begin >= header->total ||
        header->begin % MSG_CHUNK_BYTES != 0 || n != header->count ||
        n != (left < MSG_CHUNK_BYTES ? left : MSG_CHUNK_BYTES)) {
        answer_nack(self, from, header, NACK_BAD_RANGE, "%zu bytes at %llu of %llu", n,
                    (unsigned long long)header->begin, (unsigned long long)header->total);
        return;
    }
    err_t err = {0};
    upload_t *upload = find_upload(self, hash, header->total, &err);
    if (!upload) {
        answer_nack(self, from, header, NACK_STORAGE, "%s", err.text);
        return;
    }
    uint8_t *have = &upload->have[header->begin / MSG_CHUNK_BYTES];
    int rc = *have ? 0 : write_chunk(upload, header->begin, payload, n, &err);
    if (rc == 0 && !*have) {
        *have = 1;
        upload->n_have += n;
    }
    bool complete = rc == 0 && upload->n_have == upload->total;
    if (complete) rc = keep(self, upload, &err);
    if (complete || rc < 0) end_upload(self, upload);
    if (rc < 0)
        answer_nack(self, from, header, NACK_STORAGE, "%s", err.text);
    else
        answer_ack(self, from, header, complete ? ACK_COMPLETE : ACK_TAKEN);
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
    err_t err = {0};
    if (object_remove(self->objects, hash, &err) < 0)
        log_event(LOG_WARN, "forget", "error=\"%s\"", err.text);
}
