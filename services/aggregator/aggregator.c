/* Data requests: dispatch, parameters in and out, and the answers. */
#include "aggregator/aggregator.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "msg/limits.h"

int aggregator_init(aggregator_t *self, const char *object_root, err_t *err)
{
    self->object_root = object_root;
    self->objects = object_dir_open(object_root, err);
    self->scratch = mem_calloc(MSG_CHUNK_FLOATS, sizeof *self->scratch);
    return self->objects ? 0 : -1;
}

void aggregator_reset(aggregator_t *self)
{
    if (self->assigned) deltas_clear(self);
    for (uint32_t k = 0; k < self->n_replica; k++) free(self->from[k].chunk);
    for (size_t i = 0; i < self->n_slice; i++) outer_destroy(&self->outer[i]);
    free(self->from);
    free(self->outer);
    free(self->mean);
    free(self->init_have);
    fixed_sum_destroy(&self->sum);
    shared_drop(&self->now);
    shared_drop(&self->before);
    shared_drop(&self->next);
    self->from = NULL;
    self->outer = NULL;
    self->mean = NULL;
    self->init_have = NULL;
    self->n_replica = 0;
    self->n_slice = 0;
    self->assigned = self->ready = self->committing = false;
}

void aggregator_fini(aggregator_t *self)
{
    aggregator_reset(self);
    objects_fini(self);
    object_dir_close(&self->objects);
    free(self->scratch);
    self->scratch = NULL;
}

void answer_ack(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request, int code)
{
    wire_header_t header = *request;
    header.type = WIRE_ACK;
    header.code = (uint8_t)code;
    header.check = 0;
    self->reply(self->user, to, &header, NULL, 0, NULL);
}

void answer_nack(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request,
                 wire_nack_t code, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    self->refused++;
    log_event(
        LOG_WARN, "refused",
        "type=%s code=\"%s\" round=%u replica=%u fence=%u begin=%llu refused=%llu text=\"%s\"",
        wire_type_name(request->type), wire_nack_name(code), request->round, request->replica,
        request->fence, (unsigned long long)request->begin, (unsigned long long)self->refused,
        text);
    wire_header_t header = *request;
    header.type = WIRE_NACK;
    header.code = (uint8_t)code;
    header.check = hash_fast(text, strlen(text));
    self->reply(self->user, to, &header, text, strlen(text), NULL);
}

int64_t range_chunk(const aggregator_t *self, const wire_header_t *header)
{
    if (header->begin < self->begin || header->begin >= self->end) return -1;
    uint64_t at = header->begin - self->begin, left = self->end - header->begin;
    uint64_t want = left < MSG_CHUNK_FLOATS ? left : MSG_CHUNK_FLOATS;
    if (at % MSG_CHUNK_FLOATS != 0 || header->count != want) return -1;
    return (int64_t)(at / MSG_CHUNK_FLOATS);
}

static void put_init(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header,
                     const void *payload, size_t n)
{
    int64_t chunk = range_chunk(self, header);
    if (chunk < 0 || n != header->count * sizeof(float)) {
        answer_nack(self, from, header, NACK_BAD_RANGE, "%llu elements, %zu bytes",
                    (unsigned long long)header->count, n);
        return;
    }
    if (header->round != self->round || self->before || self->committing) {
        answer_nack(self, from, header, NACK_WRONG_ROUND, "round %u is open", self->round);
        return;
    }
    memcpy(self->now->values + (header->begin - self->begin), payload, n);
    if (!self->init_have[chunk]) {
        self->init_have[chunk] = 1;
        self->n_init++;
    }
    self->ready = self->n_init == self->n_chunk;
    answer_ack(self, from, header, 0);
}

static void get_params(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request)
{
    shared_t *snapshot = NULL;
    if (self->now && self->now->round == request->round) snapshot = self->now;
    if (self->before && self->before->round == request->round) snapshot = self->before;
    if (!self->ready || !snapshot) {
        answer_nack(self, from, request, self->ready ? NACK_WRONG_ROUND : NACK_NOT_READY,
                    "round %u is open", self->round);
        return;
    }
    if (request->begin < self->begin || request->count > MSG_CHUNK_FLOATS ||
        request->begin + request->count > self->end) {
        answer_nack(self, from, request, NACK_BAD_RANGE, "this shard has [%llu, %llu)",
                    (unsigned long long)self->begin, (unsigned long long)self->end);
        return;
    }
    const float *values = snapshot->values + (request->begin - self->begin);
    size_t n = request->count * sizeof(float);
    wire_header_t header = *request;
    header.type = WIRE_DATA;
    header.check = hash_fast(values, n);
    self->bytes_out += n;
    self->reply(self->user, from, &header, values, n, shared_hold(snapshot));
}

/* Requests about parameters make sense in one run only, and only after ASSIGN. */
static bool in_run(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header)
{
    if (!self->assigned)
        answer_nack(self, from, header, NACK_NOT_READY, "no range assigned");
    else if (header->run != self->run)
        answer_nack(self, from, header, NACK_WRONG_RUN, "another run is served here");
    else
        return true;
    return false;
}

void aggregator_on_data(aggregator_t *self, const msg_peer_t *from, const void *bytes,
                        size_t n_header, const void *payload, size_t n)
{
    err_t err = {0};
    wire_header_t header;
    if (wire_unpack(bytes, n_header, n, &header, &err) < 0) {
        self->data_dropped++;
        log_event(LOG_WARN, "data_dropped", "dropped=%llu reason=\"%s\"",
                  (unsigned long long)self->data_dropped, err.text);
        return;
    }
    if (n && wire_check(&header, payload, n, &err) < 0) {
        answer_nack(self, from, &header, NACK_DAMAGED, "%s", err.text);
        return;
    }
    self->bytes_in += n;
    switch (header.type) {
    case WIRE_GET_OBJECT: objects_get(self, from, &header); break;
    case WIRE_PUT_OBJECT: objects_put(self, from, &header, payload, n); break;
    case WIRE_GET_PARAMS:
        if (in_run(self, from, &header)) get_params(self, from, &header);
        break;
    case WIRE_PUT_INIT:
        if (in_run(self, from, &header)) put_init(self, from, &header, payload, n);
        break;
    case WIRE_PUT_DELTA:
        if (in_run(self, from, &header)) deltas_put(self, from, &header, payload, n);
        break;
    default: answer_nack(self, from, &header, NACK_BAD_MESSAGE, "not a request"); break;
    }
}
