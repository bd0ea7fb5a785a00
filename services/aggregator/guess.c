/* Chunks of the next round's parameters, computed when they are asked for. */
#include "aggregator/guess.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "aggregator/step.h"
#include "base/log.h"

void guess_init(aggregator_t *self)
{
    self->guess.chunk = mem_calloc(self->n_chunk + 1, sizeof *self->guess.chunk);
}

static void drop_rows(guesses_t *guesses)
{
    for (size_t i = 0; i < MSG_AHEAD_KEEP; i++) shared_drop(&guesses->row[i].answer);
}

void guess_fini(aggregator_t *self)
{
    drop_rows(&self->guess);
    free(self->guess.chunk);
    free(self->guess.scratch);
    self->guess = (guesses_t){0};
}

void guess_clear(aggregator_t *self)
{
    guesses_t *guesses = &self->guess;
    drop_rows(guesses);
    guesses->of = guesses->n_marked = 0;
    guesses->off = false;
    guesses->n_ready = 0;
    memset(guesses->chunk, 0, self->n_chunk * sizeof *guesses->chunk);
}

static guess_row_t *find_row(guesses_t *guesses, size_t chunk)
{
    for (size_t i = 0; i < MSG_AHEAD_KEEP; i++)
        if (guesses->row[i].answer && guesses->row[i].chunk == chunk) return &guesses->row[i];
    return NULL;
}

/* What was computed of it is of an older sum. */
static void forget(guesses_t *guesses, size_t chunk)
{
    guess_row_t *row = find_row(guesses, chunk);
    if (row) shared_drop(&row->answer);
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

static shared_t *new_answer(size_t n_bytes, err_t *err)
{
    void *at = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) return shared_file((file_map_t){at, n_bytes});
    err_set_errno(err, "a chunk of %zu bytes", n_bytes);
    return NULL;
}

/* n values from `first` on: into `values`, and their change into `change`, if there is one. */
static int step_chunk(aggregator_t *self, uint64_t first, size_t n, float *values, uint8_t *change,
                      err_t *err)
{
    double norm2 = 0;
    for (size_t at = 0; at < n; at += STATE_GRAIN) {
        size_t left = n - at;
        step_t to = {.first = first + at,
                     .n = left < STATE_GRAIN ? left : STATE_GRAIN,
                     .values = values + at,
                     .change = change};
        for (size_t s = 0; s < self->n_outer; s++)
            to.outer[s] = self->guess.scratch + MSG_CHUNK_FLOATS + s * STATE_GRAIN;
        if (step_grain(self, &to, &norm2, err) < 0) return -1;
        if (change) change += codec_most(self->down, to.n);
    }
    return 0;
}

static shared_t *make(aggregator_t *self, size_t chunk, size_t n, err_t *err)
{
    enum { SCRATCH = MSG_CHUNK_FLOATS + OUTER_STATES * STATE_GRAIN };
    const codec_t *down = self->down;
    if (!self->guess.scratch) self->guess.scratch = mem_calloc(SCRATCH, sizeof(float));
    const fragment_t *part = step_fragment(self, chunk);
    shared_t *answer = new_answer(down ? change_bytes(down, n) : n * sizeof(float), err);
    if (!answer) return NULL;
    uint8_t *bytes = (uint8_t *)(uintptr_t)answer->map.at;
    float *values = down ? self->guess.scratch : (float *)(void *)bytes;
    uint64_t first = (uint64_t)chunk * MSG_CHUNK_FLOATS;
    int rc = announce(self, part, chunk, err);
    if (rc == 0) rc = step_chunk(self, first, n, values, down ? bytes + CHANGE_HEAD : NULL, err);
    fixed_sum_drop_weight(part->sum);
    if (rc == 0 && down) change_seal(values, n, bytes);
    if (rc < 0) shared_drop(&answer);
    return answer;
}

static guess_row_t *oldest_row(guesses_t *guesses)
{
    guess_row_t *oldest = &guesses->row[0];
    for (size_t i = 0; i < MSG_AHEAD_KEEP && oldest->answer; i++)
        if (!guesses->row[i].answer || guesses->row[i].used < oldest->used)
            oldest = &guesses->row[i];
    return oldest;
}

/* NULL: it is not there yet, or cannot be. */
static const guess_row_t *need(aggregator_t *self, size_t chunk, size_t n)
{
    guesses_t *guesses = &self->guess;
    guess_chunk_t *it = &guesses->chunk[chunk];
    if (!may_guess(self) || it->n_in != guesses->of) return NULL;
    guess_row_t *row = find_row(guesses, chunk);
    if (!row) {
        err_t err = {0};
        if (it->n_made >= MSG_AHEAD_TIMES) return NULL;
        it->n_made++;
        shared_t *answer = make(self, chunk, n, &err);
        if (!answer) {
            log_event(LOG_DEBUG, "no_guess", "chunk=%zu error=\"%s\"", chunk, err.text);
            return NULL;
        }
        row = oldest_row(guesses);
        shared_drop(&row->answer);
        *row = (guess_row_t){.chunk = chunk, .answer = answer};
    }
    row->used = ++guesses->clock;
    return row;
}

/* --- Answers --- */

/* A matter of course: it is not counted or logged as other refusals are. */
static void answer_not_yet(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request)
{
    wire_header_t header = *request;
    header.type = WIRE_NACK;
    header.code = NACK_NOT_READY;
    header.check = 0;
    header.total = guess_ready(self);
    self->reply(self->user, to, &header, NULL, 0, NULL);
}

static void answer_guess(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request)
{
    const guess_row_t *row = need(self, (size_t)range_chunk(self, request), request->count);
    if (!row) {
        answer_not_yet(self, to, request);
        return;
    }
    wire_header_t header = *request;
    header.type = WIRE_DATA;
    header.total = guess_ready(self);
    header.check = hash_fast(row->answer->map.at, row->answer->map.n);
    self->bytes_out += row->answer->map.n;
    self->reply(self->user, to, &header, row->answer->map.at, row->answer->map.n,
                shared_hold(row->answer));
}

/* Its round has been committed meanwhile. */
static void answer_truth(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request)
{
    wire_header_t header = *request;
    header.total = self->n_chunk;
    if (self->down)
        values_get_change(self, to, &header);
    else
        values_get(self, to, &header);
}

void guess_get(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request)
{
    if (!self->ready ||
        (request->round != self->meta.round && request->round != self->meta.round + 1))
        answer_nack(self, from, request, self->ready ? NACK_WRONG_ROUND : NACK_NOT_READY,
                    "round %u is open", self->meta.round);
    else if (range_chunk(self, request) < 0)
        answer_nack(self, from, request, NACK_BAD_RANGE, "asked ahead is by chunks of [%llu, %llu)",
                    (unsigned long long)self->meta.begin, (unsigned long long)self->meta.end);
    else if (request->codec != (self->down ? self->down->id : 0))
        answer_nack(self, from, request, NACK_NO_CHANGE, "of round %u as codec %u", request->round,
                    request->codec);
    else if (request->round == self->meta.round)
        answer_truth(self, from, request);
    else
        answer_guess(self, from, request);
}

void guess_get_checks(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request)
{
    enum { CHECK = sizeof(uint64_t) };
    shared_t *snapshot = self->ready ? values_snapshot(self, request->round) : NULL;
    uint64_t n = self->meta.end - self->meta.begin;
    if (!snapshot) {
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
        uint64_t check = values_check(self, snapshot, i);
        for (int b = 0; b < CHECK; b++) bytes[CHECK * i + (size_t)b] = (uint8_t)(check >> 8 * b);
    }
    wire_header_t header = *request;
    header.type = WIRE_DATA;
    header.check = hash_fast(bytes, self->n_chunk * CHECK);
    self->bytes_out += self->n_chunk * CHECK;
    self->reply(self->user, from, &header, bytes, self->n_chunk * CHECK, NULL);
    free(bytes);
}
