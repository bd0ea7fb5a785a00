/* Pseudo-gradients: chunks into the fixed-point sum as they arrive, and out again when a fence
 * rises. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/aggregator.h"
#include "base/log.h"
#include "msg/limits.h"

static uint64_t chunk_count(const aggregator_t *self, size_t chunk)
{
    uint64_t begin = self->begin + (uint64_t)chunk * MSG_CHUNK_FLOATS, left = self->end - begin;
    return left < MSG_CHUNK_FLOATS ? left : MSG_CHUNK_FLOATS;
}

/* Round to nearest even is symmetric, so adding the negated values takes out exactly what was
 * added. */
static void take_out(aggregator_t *self, const contribution_t *from, size_t chunk)
{
    size_t n = (size_t)chunk_count(self, chunk);
    err_t err = {0};
    int rc = codec_decode(from->codec, from->chunk[chunk], codec_bytes(from->codec, n),
                          self->scratch, n, &err);
    for (size_t i = 0; i < n; i++) self->scratch[i] = -self->scratch[i];
    if (rc == 0)
        rc = fixed_sum_add(self->sum, chunk * MSG_CHUNK_FLOATS, self->scratch, n, from->weight,
                           &err);
    if (rc < 0) log_event(LOG_ERROR, "take_out_failed", "error=\"%s\"", err.text);
}

static void drop_chunks(aggregator_t *self, contribution_t *from, bool from_sum)
{
    for (size_t i = 0; i < self->n_chunk; i++) {
        if (!from->chunk[i]) continue;
        if (from_sum) take_out(self, from, i);
        free(from->chunk[i]);
        from->chunk[i] = NULL;
    }
    from->n_have = 0;
    from->weight = 0;
}

void deltas_forget(aggregator_t *self, uint32_t replica)
{
    drop_chunks(self, &self->from[replica], true);
}

void deltas_clear(aggregator_t *self)
{
    for (uint32_t k = 0; k < self->n_replica; k++) {
        drop_chunks(self, &self->from[k], false);
        self->from[k].fence = self->from[k].min_fence = 0;
    }
    if (self->sum) fixed_sum_reset(self->sum);
}

bool deltas_complete(const aggregator_t *self, uint32_t replica, uint32_t fence, uint64_t weight)
{
    const contribution_t *from = &self->from[replica];
    if (self->n_chunk == 0) return true;
    return from->n_have == self->n_chunk && from->fence == fence && from->weight == weight;
}

/* Everything about a delta's header except its range. True when the chunk may be added. */
static bool admit(aggregator_t *self, const msg_peer_t *peer, const wire_header_t *header)
{
    if (header->round != self->round || self->committing || !self->ready) {
        answer_nack(self, peer, header, NACK_WRONG_ROUND, "round %u is open", self->round);
        return false;
    }
    if (header->replica >= self->n_replica) {
        answer_nack(self, peer, header, NACK_BAD_MESSAGE, "the run has %u replicas",
                    self->n_replica);
        return false;
    }
    contribution_t *from = &self->from[header->replica];
    if (header->fence < from->min_fence || header->fence < from->fence || header->fence == 0) {
        answer_nack(self, peer, header, NACK_OLD_FENCE, "fence %u holds",
                    from->fence > from->min_fence ? from->fence : from->min_fence);
        return false;
    }
    if (header->weight == 0 || header->weight > self->weight_max) {
        answer_nack(self, peer, header, NACK_BAD_MESSAGE, "weight must be 1 to %llu",
                    (unsigned long long)self->weight_max);
        return false;
    }
    if (header->fence > from->fence) {
        deltas_forget(self, header->replica);
        from->fence = header->fence;
    }
    if (from->n_have && (from->weight != header->weight || from->codec->id != header->codec)) {
        answer_nack(self, peer, header, NACK_BAD_MESSAGE, "weight or codec changed on the way");
        return false;
    }
    return true;
}

void deltas_put(aggregator_t *self, const msg_peer_t *peer, const wire_header_t *header,
                const void *payload, size_t n)
{
    err_t err = {0};
    int64_t chunk = range_chunk(self, header);
    const codec_t *codec = codec_find_id(header->codec, &err);
    if (chunk < 0 || !codec || n != codec_bytes(codec, (size_t)header->count)) {
        answer_nack(self, peer, header, chunk < 0 ? NACK_BAD_RANGE : NACK_BAD_MESSAGE,
                    "%llu elements in %zu bytes %s", (unsigned long long)header->count, n,
                    err.text);
        return;
    }
    if (!admit(self, peer, header)) return;
    contribution_t *from = &self->from[header->replica];
    if (from->chunk[chunk]) { /* sent twice: once counts */
        answer_ack(self, peer, header, 0);
        return;
    }
    size_t count = (size_t)header->count;
    if (codec_decode(codec, payload, n, self->scratch, count, &err) < 0 ||
        fixed_sum_add(self->sum, (size_t)chunk * MSG_CHUNK_FLOATS, self->scratch, count,
                      header->weight, &err) < 0) {
        answer_nack(self, peer, header, NACK_BAD_MESSAGE, "%s", err.text);
        return;
    }
    from->codec = codec;
    from->weight = header->weight;
    from->chunk[chunk] = mem_calloc(1, n);
    memcpy(from->chunk[chunk], payload, n);
    from->n_have++;
    answer_ack(self, peer, header, 0);
}
