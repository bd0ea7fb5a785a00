/* Parameters and outer state of snapshots: in at first, out to whoever asks. */
#include "aggregator/aggregator.h"

#include <string.h>

#include "msg/limits.h"

/* A vector of a snapshot: of the outer rule's state, where the request names one, or the parameters.
 * NULL: the rule has no such state. */
static float *vector_of(const shared_t *snapshot, const wire_header_t *request)
{
    bool outer = request->type == WIRE_GET_OUTER || request->type == WIRE_PUT_OUTER;
    if (!outer) return snapshot->values;
    return request->vector < OUTER_STATES ? snapshot->outer[request->vector] : NULL;
}

/* First values: outer state (where there is one to go on from), then parameters, whose last chunk
 * makes the shard ready. */
void values_put(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header,
                const void *payload, size_t n)
{
    int64_t chunk = range_chunk(self, header);
    bool outer = header->type == WIRE_PUT_OUTER;
    if (chunk < 0 || n != header->count * sizeof(float)) {
        answer_nack(self, from, header, NACK_BAD_RANGE, "%llu elements, %zu bytes",
                    (unsigned long long)header->count, n);
        return;
    }
    if (header->round != self->meta.round || self->meta.shares || self->committing) {
        answer_nack(self, from, header, NACK_WRONG_ROUND, "round %u is open", self->meta.round);
        return;
    }
    if (!self->ready &&
        header->weight !=
            self->attempt) { /* of a shepherd that is gone: not a part of these values */
        answer_nack(self, from, header, NACK_WRONG_ROUND, "the range was given anew since");
        return;
    }
    if (outer && header->vector >= self->n_outer) {
        answer_nack(self, from, header, NACK_BAD_MESSAGE, "state %u: the outer rule %s has %zu",
                    header->vector, self->outer.rule->name, self->n_outer);
        return;
    }
    if (!self->ready) {
        float *to = vector_of(self->now, header);
        memcpy(to + (header->begin - self->meta.begin), payload, n);
        if (!outer && !self->init_have[chunk]) self->n_init++;
        if (!outer) self->init_have[chunk] = 1;
        if (self->n_init == self->n_chunk) assign_complete(self);
    }
    answer_ack(self, from, header, 0); /* sent again after the last: nothing changes */
}

shared_t *values_snapshot(const aggregator_t *self, uint32_t round)
{
    shared_t *const have[] = {self->now, self->held};
    for (size_t i = 0; i < sizeof have / sizeof *have; i++)
        if (have[i] && have[i]->round == round) return have[i];
    for (size_t i = 0; i < STATE_LATE; i++)
        if (self->before[i] && self->before[i]->round == round) return self->before[i];
    return NULL;
}

/* Every worker fetches the same chunks: each is hashed once a round. */
static uint64_t check_of(const aggregator_t *self, shared_t *snapshot, size_t vector, size_t chunk,
                         const float *values, size_t n)
{
    if (!snapshot->checks)
        snapshot->checks = mem_calloc((1 + self->n_outer) * self->n_chunk + 1,
                                      sizeof *snapshot->checks);
    uint64_t *check = &snapshot->checks[vector * self->n_chunk + chunk];
    if (!*check) *check = hash_fast(values, n * sizeof *values);
    return *check;
}

uint64_t values_check(const aggregator_t *self, shared_t *snapshot, size_t chunk)
{
    uint64_t first = (uint64_t)chunk * MSG_CHUNK_FLOATS;
    uint64_t left = self->meta.end - self->meta.begin - first;
    size_t n = left < MSG_CHUNK_FLOATS ? (size_t)left : MSG_CHUNK_FLOATS;
    return check_of(self, snapshot, 0, chunk, snapshot->values + first, n);
}

/* The check of an answer. */
static uint64_t check_answer(const aggregator_t *self, shared_t *snapshot,
                             const wire_header_t *request, const float *values)
{
    size_t vector = request->type == WIRE_GET_OUTER ? 1u + request->vector : 0;
    int64_t chunk = range_chunk(self, request);
    if (chunk < 0) return hash_fast(values, (size_t)request->count * sizeof *values);
    return check_of(self, snapshot, vector, (size_t)chunk, values, (size_t)request->count);
}

void values_get(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request)
{
    shared_t *snapshot = values_snapshot(self, request->round);
    if (!self->ready || !snapshot) {
        answer_nack(self, from, request, self->ready ? NACK_WRONG_ROUND : NACK_NOT_READY,
                    "round %u is open", self->meta.round);
        return;
    }
    if (request->begin < self->meta.begin || request->count > MSG_CHUNK_FLOATS ||
        request->begin + request->count > self->meta.end) {
        answer_nack(self, from, request, NACK_BAD_RANGE, "this shard has [%llu, %llu)",
                    (unsigned long long)self->meta.begin, (unsigned long long)self->meta.end);
        return;
    }
    const float *values = vector_of(snapshot, request);
    if (!values) {
        answer_nack(self, from, request, NACK_BAD_MESSAGE, "state %u: the outer rule %s has %zu",
                    request->vector, self->outer.rule->name, self->n_outer);
        return;
    }
    values += request->begin - self->meta.begin;
    size_t n = request->count * sizeof(float);
    answer_data(self, from, request, values, n, check_answer(self, snapshot, request, values),
                snapshot);
}

size_t values_change_at(const aggregator_t *self, size_t chunk)
{
    return change_room(&self->down, self->meta.begin, (uint64_t)chunk * MSG_CHUNK_FLOATS,
                       MSG_CHUNK_FLOATS);
}

/* How the round before changed a chunk of the parameters, for who has those of that round. */
void values_get_change(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request)
{
    shared_t *snapshot = values_snapshot(self, request->round);
    if (!snapshot) snapshot = past_find(self, request->round);
    if (!self->ready || !snapshot) {
        answer_nack(self, from, request, self->ready ? NACK_WRONG_ROUND : NACK_NOT_READY,
                    "round %u is open", self->meta.round);
        return;
    }
    int64_t chunk = range_chunk(self, request);
    if (chunk < 0) {
        answer_nack(self, from, request, NACK_BAD_RANGE,
                    "changes are given by chunks of [%llu, %llu)",
                    (unsigned long long)self->meta.begin, (unsigned long long)self->meta.end);
        return;
    }
    if (!snapshot->change || request->codec != change_word(&self->down)) {
        answer_nack(self, from, request, NACK_NO_CHANGE, "of round %u as codec %u", request->round,
                    request->codec);
        return;
    }
    const uint8_t *payload = snapshot->change + values_change_at(self, (size_t)chunk);
    size_t n = change_bytes(&self->down, request->begin, (size_t)request->count);
    answer_data(self, from, request, payload, n, hash_fast(payload, n), snapshot);
}
