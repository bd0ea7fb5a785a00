/* Chunks of the next round, computed when they are asked for, in the slot that the commit goes on with. */
#include "aggregator/guess.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/step.h"
#include "base/log.h"

void guess_init(aggregator_t *self)
{
    self->guess.chunk = mem_calloc(self->n_chunk + 1, sizeof *self->guess.chunk);
}

void guess_fini(aggregator_t *self)
{
    shared_drop(&self->guess.next);
    free(self->guess.chunk);
    self->guess = (guesses_t){0};
}

void guess_clear(aggregator_t *self)
{
    guesses_t *guesses = &self->guess;
    shared_drop(&guesses->next);
    guesses->of = guesses->n_marked = 0;
    guesses->off = false;
    guesses->n_ready = 0;
    memset(guesses->chunk, 0, self->n_chunk * sizeof *guesses->chunk);
}

shared_t *guess_take(aggregator_t *self)
{
    shared_t *next = self->guess.next;
    self->guess.next = NULL;
    return next;
}

bool guess_is_made(const aggregator_t *self, size_t chunk)
{
    return self->guess.chunk[chunk].made;
}

void guess_unmake(aggregator_t *self)
{
    for (size_t i = 0; i < self->n_chunk; i++) self->guess.chunk[i].made = false;
}

/* What was computed of it is of an older sum. An answer with it that is still on its way may be overwritten, and fails its
 * check then. */
static void forget(guesses_t *guesses, size_t chunk)
{
    guesses->chunk[chunk].made = false;
    if (chunk < guesses->n_ready) guesses->n_ready = chunk;
}

void guess_add(aggregator_t *self, const wire_header_t *header, size_t chunk)
{
    guesses_t *guesses = &self->guess;
    uint32_t of = header->total > UINT32_MAX ? 0 : (uint32_t)header->total;
    guesses->off |= of == 0 || (guesses->of && guesses->of != of);
    guesses->of = of;
    guesses->chunk[chunk].n_in++;
    forget(guesses, chunk);
}

void guess_take_out(aggregator_t *self, size_t chunk)
{
    self->guess.chunk[chunk].n_in--;
    forget(&self->guess, chunk);
}

/* While a commit is on its way its sums are not ours to look at; what it makes is there in a moment. */
static bool may_guess(const aggregator_t *self)
{
    const guesses_t *guesses = &self->guess;
    return !self->committing && !self->broken && guesses->of && !guesses->off &&
           guesses->n_marked == 0;
}

size_t guess_ready(aggregator_t *self)
{
    guesses_t *guesses = &self->guess;
    if (!may_guess(self)) return 0;
    while (guesses->n_ready < self->n_chunk && guesses->chunk[guesses->n_ready].n_in == guesses->of)
        guesses->n_ready++;
    return guesses->n_ready;
}

/* --- Making a chunk --- */

/* Those that the chunk came from, as if the commit had named them. */
static int announce(aggregator_t *self, const fragment_t *part, size_t chunk, err_t *err)
{
    uint32_t fragment = (uint32_t)(part - self->fragment);
    fixed_sum_drop_weight(part->sum);
    for (uint32_t k = 0; k < self->meta.replicas; k++) {
        const contribution_t *from = contribution(self, k, fragment);
        if (from->chunk[chunk - part->first].at &&
            fixed_sum_add_weight(part->sum, from->weight, err) < 0)
            return -1;
    }
    return 0;
}

static int make(aggregator_t *self, size_t chunk, err_t *err)
{
    const fragment_t *part = step_fragment(self, chunk);
    shared_t **next = &self->guess.next;
    if (!*next && !(*next = step_slot(self, err))) return -1;
    int rc = announce(self, part, chunk, err);
    if (rc == 0) rc = step_chunk(self, *next, chunk, err);
    fixed_sum_drop_weight(part->sum);
    return rc;
}

/* False: it is not there yet, or cannot be. */
static bool need(aggregator_t *self, size_t chunk)
{
    guess_chunk_t *it = &self->guess.chunk[chunk];
    err_t err = {0};
    if (!may_guess(self) || it->n_in != self->guess.of) return false;
    if (it->made) return true;
    if (it->n_made >= MSG_AHEAD_TIMES) return false;
    it->n_made++;
    it->made = make(self, chunk, &err) == 0;
    if (!it->made) log_event(LOG_DEBUG, "no_guess", "chunk=%zu error=\"%s\"", chunk, err.text);
    return it->made;
}

/* --- Answers --- */

/* A matter of course: it is not counted or logged as other refusals are. */
static void answer_not_yet(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request)
{
    wire_header_t header = *request;
    header.type = WIRE_NACK;
    header.code = NACK_NOT_READY;
    header.flags = 0;
    header.check = 0;
    header.total = guess_ready(self);
    self->reply(self->user, to, &header, NULL, 0, NULL);
}

static void answer_guess(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request)
{
    size_t chunk = (size_t)range_chunk(self, request), count = (size_t)request->count;
    if (!need(self, chunk)) {
        answer_not_yet(self, to, request);
        return;
    }
    shared_t *next = self->guess.next;
    size_t n = count * sizeof(float);
    const void *payload = next->values + chunk * MSG_CHUNK_FLOATS;
    if (self->down.codec) {
        n = change_bytes(&self->down, request->begin, count);
        payload = next->change + values_change_at(self, chunk);
    }
    wire_header_t header = *request;
    header.total = guess_ready(self);
    answer_data(self, to, &header, payload, n, hash_fast(payload, n), next);
}

/* Its round has been committed meanwhile. */
static void answer_truth(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request)
{
    wire_header_t header = *request;
    header.total = self->n_chunk;
    if (self->down.codec)
        values_get_change(self, to, &header);
    else
        values_get(self, to, &header);
}

void guess_get(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request)
{
    if (!self->ready || request->round > self->meta.round + 1)
        answer_nack(self, from, request, self->ready ? NACK_WRONG_ROUND : NACK_NOT_READY,
                    "round %u is open", self->meta.round);
    else if (range_chunk(self, request) < 0)
        answer_nack(self, from, request, NACK_BAD_RANGE, "asked ahead is by chunks of [%llu, %llu)",
                    (unsigned long long)self->meta.begin, (unsigned long long)self->meta.end);
    else if (request->codec != change_word(&self->down))
        answer_nack(self, from, request, NACK_NO_CHANGE, "of round %u as codec %u", request->round,
                    request->codec);
    else if (request->round <= self->meta.round)
        answer_truth(self, from, request);
    else
        answer_guess(self, from, request);
}

void guess_get_checks(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request)
{
    enum { CHECK = sizeof(uint64_t) };
    shared_t *snapshot = self->ready ? values_snapshot(self, request->round) : NULL;
    const shared_t *past = self->ready && !snapshot ? past_find(self, request->round) : NULL;
    uint64_t n = self->meta.end - self->meta.begin;
    if (!snapshot && !past) {
        answer_nack(self, from, request, self->ready ? NACK_WRONG_ROUND : NACK_NOT_READY,
                    "round %u is open", self->meta.round);
        return;
    }
    if (request->begin != self->meta.begin || request->count != n ||
        self->n_chunk > MSG_CHUNK_BYTES / CHECK) {
        answer_nack(self, from, request, NACK_BAD_RANGE, "checks are given of [%llu, %llu), whole",
                    (unsigned long long)self->meta.begin, (unsigned long long)self->meta.end);
        return;
    }
    uint8_t *bytes = mem_calloc(self->n_chunk + 1, CHECK);
    for (size_t i = 0; i < self->n_chunk; i++) {
        if (past) {
            past_head(self, past, i, bytes + CHECK * i);
            continue;
        }
        uint64_t check = values_check(self, snapshot, i);
        for (int b = 0; b < CHECK; b++) bytes[CHECK * i + (size_t)b] = (uint8_t)(check >> 8 * b);
    }
    size_t n_bytes = self->n_chunk * CHECK;
    answer_data(self, from, request, bytes, n_bytes, hash_fast(bytes, n_bytes), NULL);
    free(bytes);
}
