/* Pseudo-gradients: chunks into the fixed-point sum and the journal as they arrive, and out again
 * when a fence rises. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/aggregator.h"
#include "base/log.h"
#include "msg/limits.h"
#include "outer/admission.h"

static const uint64_t NOT_YET = UINT64_MAX; /* a chunk that is not in the journal */

static uint64_t chunk_count(const aggregator_t *self, size_t chunk)
{
    uint64_t begin = self->meta.begin + (uint64_t)chunk * MSG_CHUNK_FLOATS;
    uint64_t left = self->meta.end - begin;
    return left < MSG_CHUNK_FLOATS ? left : MSG_CHUNK_FLOATS;
}

contribution_t *contribution(const aggregator_t *self, uint32_t replica, uint32_t fragment)
{
    return &self->from[(size_t)replica * self->meta.fragments + fragment];
}

/* How `count` elements from `begin` on are encoded, as PUT_DELTA's `codec` says. */
static int chunk_code(const aggregator_t *self, uint8_t codec, uint64_t begin, size_t count,
                      codec_chunk_t *out, err_t *err)
{
    const codec_t *found = codec_find_id(codec & ~(uint32_t)WIRE_EXACT, err);
    if (!found) return -1;
    *out = codec_chunk(found, begin, count, codec & WIRE_EXACT ? self->meta.averaged_from : 0);
    return 0;
}

/* Round to nearest even is symmetric, so adding the negated values takes out exactly what was
 * added. `bytes` is the encoded chunk, `chunk` one of the fragment's. */
static int subtract(aggregator_t *self, const fragment_t *part, const contribution_t *from,
                    size_t chunk, const uint8_t *bytes, err_t *err)
{
    size_t of_range = part->first + chunk, n = (size_t)chunk_count(self, of_range);
    uint64_t begin = self->meta.begin + (uint64_t)of_range * MSG_CHUNK_FLOATS;
    codec_chunk_t as;
    if (chunk_code(self, from->codec, begin, n, &as, err) < 0 ||
        codec_chunk_decode(&as, bytes, from->chunk[chunk].n, self->scratch, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) self->scratch[i] = -self->scratch[i];
    return fixed_sum_add(part->sum, chunk * MSG_CHUNK_FLOATS, self->scratch, n, from->weight, err);
}

static void take_out(aggregator_t *self, const fragment_t *part, const contribution_t *from,
                     size_t chunk)
{
    const held_chunk_t *held = &from->chunk[chunk];
    uint8_t *bytes = mem_calloc(1, held->n);
    err_t err = {0};
    int rc = journal_read(&self->disk.journal, held->at, bytes, held->n, &err);
    if (rc == 0) rc = subtract(self, part, from, chunk, bytes, &err);
    /* The sum is wrong now and nobody would notice: better a process that is started again. */
    if (rc < 0) log_event(LOG_ERROR, "take_out_failed", "error=\"%s\"", err.text);
    if (rc < 0) self->broken = true;
    free(bytes);
}

static void drop_chunks(aggregator_t *self, const fragment_t *part, contribution_t *from,
                        bool from_sum)
{
    for (size_t i = 0; i < part->n_chunk; i++) {
        if (from->chunk[i].at && from_sum) take_out(self, part, from, i);
        if (from->chunk[i].at) guess_take_out(self, part->first + i);
        from->chunk[i].at = 0;
    }
    from->n_have = 0;
    from->weight = 0;
    from->damaged = 0;
    if (from->reason) self->guess.n_marked--;
    from->reason = NULL;
}

void deltas_forget(aggregator_t *self, uint32_t replica, uint32_t fragment)
{
    drop_chunks(self, &self->fragment[fragment], contribution(self, replica, fragment), true);
}

void deltas_clear(aggregator_t *self)
{
    for (uint32_t f = 0; f < self->meta.fragments; f++) {
        for (uint32_t k = 0; k < self->meta.replicas; k++) {
            contribution_t *from = contribution(self, k, f);
            drop_chunks(self, &self->fragment[f], from, false);
            from->fence = from->min_fence = 0;
        }
        if (self->fragment[f].sum) fixed_sum_reset(self->fragment[f].sum);
    }
    fences_clear(self);
    guess_clear(self);
    journal_rewind(&self->disk.journal);
}

void deltas_fence(aggregator_t *self, uint32_t replica, uint32_t fence, bool exactly)
{
    for (uint32_t f = 0; f < self->meta.fragments; f++) {
        contribution_t *from = contribution(self, replica, f);
        if (exactly ? fence == from->fence : fence <= from->min_fence) continue;
        from->min_fence = fence;
        if (!exactly && from->fence >= fence) continue;
        deltas_forget(self, replica, f);
        from->fence = fence;
    }
}

bool deltas_complete(const aggregator_t *self, uint32_t replica, uint32_t fragment, uint32_t fence,
                     uint64_t weight)
{
    const contribution_t *from = contribution(self, replica, fragment);
    size_t n_chunk = self->fragment[fragment].n_chunk;
    if (n_chunk == 0) return true;
    return from->n_have == n_chunk && from->fence == fence && from->weight == weight;
}

/* Everything about a delta's header except its range. The code to refuse it with; 0: it may be
 * added. */
static wire_nack_t admit(aggregator_t *self, const wire_header_t *header, err_t *err)
{
    if (header->round != self->meta.round || self->committing || !self->ready) {
        err_set(err, ERR_STATE, "round %u is open", self->meta.round);
        return NACK_WRONG_ROUND;
    }
    if (header->replica >= self->meta.replicas) {
        err_set(err, ERR_ARG, "the run has %u replicas", self->meta.replicas);
        return NACK_BAD_MESSAGE;
    }
    if (header->fragment >= self->meta.fragments) {
        err_set(err, ERR_ARG, "fragment %u: the range has %u", header->fragment,
                self->meta.fragments);
        return NACK_BAD_MESSAGE;
    }
    contribution_t *from = contribution(self, header->replica, header->fragment);
    if (header->fence < from->min_fence || header->fence < from->fence || header->fence == 0) {
        err_set(err, ERR_STATE, "a higher one holds");
        return NACK_OLD_FENCE;
    }
    if (header->weight == 0 || header->weight > self->meta.weight_max) {
        err_set(err, ERR_ARG, "weight must be 1 to %llu",
                (unsigned long long)self->meta.weight_max);
        return NACK_BAD_MESSAGE;
    }
    if (header->fence > from->fence) {
        deltas_forget(self, header->replica, header->fragment);
        from->fence = header->fence;
    }
    return 0;
}

/* What is wrong with the form of a chunk, in words; false: nothing. */
static bool is_misshapen(const aggregator_t *self, const wire_header_t *header, size_t n,
                         err_t *err)
{
    const contribution_t *from = contribution(self, header->replica, header->fragment);
    const fragment_t *part = &self->fragment[header->fragment];
    codec_chunk_t as;
    if (chunk_code(self, header->codec, header->begin, (size_t)header->count, &as, err) < 0)
        return true;
    int64_t chunk = range_chunk(self, header);
    if (chunk < 0)
        err_set(err, ERR_ARG, "%llu elements at %llu are no chunk of [%llu, %llu)",
                (unsigned long long)header->count, (unsigned long long)header->begin,
                (unsigned long long)self->meta.begin, (unsigned long long)self->meta.end);
    else if ((size_t)chunk < part->first || (size_t)chunk >= part->first + part->n_chunk)
        err_set(err, ERR_ARG, "%llu elements at %llu are no chunk of fragment %u",
                (unsigned long long)header->count, (unsigned long long)header->begin,
                header->fragment);
    else if (!codec_chunk_fits(&as, n))
        err_set(err, ERR_ARG, "%llu elements in %zu bytes", (unsigned long long)header->count, n);
    else if (from->n_have && (from->weight != header->weight || from->codec != header->codec))
        err_set(err, ERR_ARG, "weight or codec changed on the way");
    else
        return false;
    return true;
}

/* Why the sum does not take these values. */
static const char *fault_of(const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i])) return "finite";
    return "outlier"; /* beyond what any training gives: the sum has no room for it */
}

/* Into the sum and, unless it comes from there (`at`), the journal. */
static wire_nack_t add(aggregator_t *self, const wire_header_t *header, size_t chunk,
                       const void *payload, size_t n, uint64_t at, err_t *err)
{
    contribution_t *from = contribution(self, header->replica, header->fragment);
    size_t count = (size_t)header->count;
    codec_chunk_t as;
    if (chunk_code(self, header->codec, header->begin, count, &as, err) < 0)
        return NACK_BAD_MESSAGE;
    const float *values = codec_chunk_view(&as, payload); /* the sum refuses NaN and Inf itself */
    if (!values && codec_chunk_decode(&as, payload, n, self->scratch, err) < 0) {
        /* Of no layout of the codec's, or a block's scale is not finite. */
        inspect_refuse(self, header, err->code == ERR_SHAPE ? "shape" : "finite", err->text);
        return 0;
    }
    if (!values) values = self->scratch;
    if (fixed_sum_add(self->fragment[header->fragment].sum, chunk * MSG_CHUNK_FLOATS, values, count,
                      header->weight, err) < 0) {
        inspect_refuse(self, header, fault_of(values, count), err->text);
        return 0;
    }
    double norm2 = admission_norm2(values, count); /* before scratch is used again */
    if (at == NOT_YET && journal_append(&self->disk.journal, header, payload, n, &at, err) > 0)
        aggregator_degraded(self, "deltas of the open round", err);
    from->codec = header->codec;
    from->weight = header->weight;
    from->chunk[chunk] = (held_chunk_t){at, (uint32_t)n, norm2};
    from->n_have++;
    guess_add(self, header, self->fragment[header->fragment].first + chunk);
    return 0;
}

static wire_nack_t take(aggregator_t *self, const wire_header_t *header, const void *payload,
                        size_t n, uint64_t at, err_t *err)
{
    /* Applied already: another shard had lost it, and the lease was given again. */
    bool closed = self->ready && self->meta.shares && header->round + 1 == self->meta.round;
    if (closed && !late_closed(self, header)) return 0;
    wire_nack_t code = admit(self, header, err);
    const contribution_t *from = code ? NULL
                                      : contribution(self, header->replica, header->fragment);
    if (code || from->reason) return code;
    err_t shape = {0};
    if (is_misshapen(self, header, n, &shape)) {
        inspect_refuse(self, header, "shape", shape.text);
        return 0;
    }
    size_t chunk = (size_t)range_chunk(self, header) - self->fragment[header->fragment].first;
    if (from->chunk[chunk].at) return 0; /* sent twice: once counts */
    return add(self, header, chunk, payload, n, at, err);
}

wire_nack_t deltas_take(aggregator_t *self, const wire_header_t *header, const void *payload,
                        size_t n, err_t *err)
{
    return take(self, header, payload, n, NOT_YET, err);
}

void deltas_place(const aggregator_t *self, wire_header_t *header, size_t chunk)
{
    size_t of_range = self->fragment[header->fragment].first + chunk;
    header->begin = self->meta.begin + (uint64_t)of_range * MSG_CHUNK_FLOATS;
    header->count = chunk_count(self, of_range);
}

static bool is_refused(const aggregator_t *self, const wire_header_t *header)
{
    return header->replica < self->meta.replicas && header->fragment < self->meta.fragments &&
           contribution(self, header->replica, header->fragment)->reason &&
           header->round == self->meta.round;
}

/* It was sent before. */
static bool is_there(const aggregator_t *self, const wire_header_t *header)
{
    if (header->replica >= self->meta.replicas || header->fragment >= self->meta.fragments ||
        header->round != self->meta.round)
        return false;
    const contribution_t *from = contribution(self, header->replica, header->fragment);
    const fragment_t *part = &self->fragment[header->fragment];
    int64_t chunk = range_chunk(self, header);
    return chunk >= 0 && (size_t)chunk >= part->first &&
           (size_t)chunk < part->first + part->n_chunk && from->fence == header->fence &&
           from->chunk[(size_t)chunk - part->first].at != 0;
}

/* From here on it is as if it had come as it was. What is there is not opened again: that takes longer than to send it. */
static wire_nack_t put(aggregator_t *self, const wire_header_t *header, const void *payload,
                       size_t n, err_t *err)
{
    wire_header_t plain = *header;
    plain.flags = 0;
    if (header->flags & WIRE_PACKED) {
        if (is_there(self, header)) return 0;
        if (packing_open(self, &payload, &n, err) < 0)
            return deltas_damaged(self, header, err->text) ? 0 : NACK_DAMAGED;
    }
    return take(self, &plain, payload, n, NOT_YET, err);
}

void deltas_put(aggregator_t *self, const msg_peer_t *peer, const wire_header_t *header,
                const void *payload, size_t n)
{
    err_t err = {0};
    wire_nack_t code = put(self, header, payload, n, &err);
    if (code) {
        answer_nack(self, peer, header, code, "%s", err.text);
        return;
    }
    late_hear(self, header);
    wire_header_t answer = *header;
    answer.vector = WIRE_HERE;
    answer.total = late_here(self, header);
    answer_ack(self, peer, &answer, is_refused(self, header) ? ACK_REFUSED : ACK_TAKEN);
}

/* Once is a matter of the line; again and again the sender's memory is to blame. */
bool deltas_damaged(aggregator_t *self, const wire_header_t *header, const char *detail)
{
    enum { DAMAGED_MOST = 64 };
    err_t err = {0};
    if (!self->assigned || header->run != self->meta.run || admit(self, header, &err)) return false;
    contribution_t *from = contribution(self, header->replica, header->fragment);
    if (++from->damaged < DAMAGED_MOST) return false;
    inspect_refuse(self, header, "hash", detail);
    return true;
}

static void replay_one(void *user, const wire_header_t *header, const void *payload, size_t n,
                       uint64_t at)
{
    aggregator_t *self = user;
    err_t err = {0};
    wire_header_t update = *header;
    update.total = 0; /* of how many replicas the journal does not know */
    if (header->count == 0) {
        fences_replay(self, header, payload, n);
    } else if (take(self, &update, payload, n, at, &err)) {
        log_event(LOG_WARN, "journal_record", "at=%llu error=\"%s\"", (unsigned long long)at,
                  err.text);
    }
}

void deltas_replay(aggregator_t *self)
{
    err_t err = {0};
    if (journal_replay(&self->disk.journal, self->meta.run, self->meta.round, replay_one, self,
                       &err) < 0)
        log_event(LOG_ERROR, "journal", "error=\"%s\"", err.text);
}
