/* Parameters, or how a round has changed them, in chunks that may come before the round is committed. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "msg/transfer.h"
#include "outer/change.h"

/* A chunk of a shard's range: what it is, and where it lies. */
typedef struct {
    uint64_t begin;
    size_t n, n_bytes;
    uint8_t *at;
} piece_t;

static size_t room_of(const data_ahead_t *self, uint64_t begin, uint64_t n)
{
    if (!self->change.codec) return (size_t)n * sizeof(float);
    return change_room(&self->change, begin, n, MSG_CHUNK_FLOATS);
}

static piece_t piece_of(const data_ahead_t *self, size_t s, size_t number)
{
    const uint64_t *bounds = self->bounds;
    const transfer_chunk_t at = transfer_chunk(bounds, s, number);
    piece_t piece = {.begin = at.begin, .n = at.n, .at = self->bytes};
    piece.n_bytes = room_of(self, piece.begin, piece.n);
    for (size_t i = 0; i < s; i++) piece.at += room_of(self, bounds[i], bounds[i + 1] - bounds[i]);
    piece.at += room_of(self, bounds[s], at.begin - bounds[s]);
    return piece;
}

void data_ahead_init(data_ahead_t *self, const uint64_t *bounds, size_t n_shard, uint32_t round,
                     const change_t *change)
{
    const data_ahead_t room = *self;
    *self = (data_ahead_t){.round = round, .change = *change, .bounds = bounds, .n_shard = n_shard};
    size_t n_bytes = 1;
    self->first = mem_calloc(n_shard + 1, sizeof *self->first);
    for (size_t s = 0; s < n_shard; s++) {
        self->first[s + 1] = self->first[s] + transfer_chunks(self->bounds, s);
        n_bytes += room_of(self, bounds[s], bounds[s + 1] - bounds[s]);
    }
    self->came = mem_calloc(self->first[n_shard] + 1, sizeof *self->came);
    bool fits = room.n_room >= n_bytes;
    if (!fits) free(room.bytes);
    self->bytes = fits ? room.bytes : mem_large(n_bytes);
    self->n_room = fits ? room.n_room : n_bytes;
}

void data_ahead_drop(data_ahead_t *self)
{
    free(self->first);
    free(self->came);
    *self = (data_ahead_t){.bytes = self->bytes, .n_room = self->n_room};
}

void data_ahead_fini(data_ahead_t *self)
{
    data_ahead_drop(self);
    free(self->bytes);
    *self = (data_ahead_t){0};
}

static int make_chunk(data_client_t *self, transfer_t *transfer, size_t s, size_t chunk,
                      chunk_t *out, err_t *err)
{
    (void)self, (void)err;
    const data_ahead_t *ahead = transfer->ahead;
    const piece_t piece = piece_of(ahead, s, transfer_number(transfer, s, chunk));
    wire_type_t type = ahead->change.codec ? WIRE_GET_CHANGE : WIRE_GET_PARAMS;
    out->header = (wire_header_t){.type = transfer->early ? WIRE_GET_AHEAD : type,
                                  .round = ahead->round,
                                  .begin = piece.begin,
                                  .count = piece.n,
                                  .codec = change_word(&ahead->change)};
    out->in = piece.at;
    out->n_in = piece.n_bytes;
    return 0;
}

/* What is missing. */
static int fetch(data_client_t *self, data_ahead_t *ahead, bool early, err_t *err)
{
    size_t *pick = mem_calloc(ahead->first[self->n_shard] + 1, sizeof *pick);
    transfer_t transfer = {
        .make = make_chunk, .ahead = ahead, .early = early, .pick = pick, .first = ahead->first};
    for (size_t s = 0; s < self->n_shard; s++) {
        size_t n = 0;
        for (size_t i = ahead->first[s]; i < ahead->first[s + 1]; i++)
            if (!ahead->came[i]) pick[ahead->first[s] + n++] = i - ahead->first[s];
        self->shard[s].n = n;
    }
    int rc = transfer_run(self, &transfer, err);
    free(pick);
    if (rc == 0) return 0;
    return err_prefix(err, "%s of round %u: ", ahead->change.codec ? "changes" : "parameters",
                      ahead->round);
}

int data_get_ahead(data_client_t *self, data_ahead_t *ahead, err_t *err)
{
    return fetch(self, ahead, true, err);
}

/* --- The truth --- */

static int make_checks(data_client_t *self, transfer_t *transfer, size_t s, size_t chunk,
                       chunk_t *out, err_t *err)
{
    (void)self, (void)chunk, (void)err;
    const data_ahead_t *ahead = transfer->ahead;
    out->header = (wire_header_t){.type = WIRE_GET_CHECKS,
                                  .round = ahead->round,
                                  .begin = ahead->bounds[s],
                                  .count = ahead->bounds[s + 1] - ahead->bounds[s]};
    out->in = transfer->into + ahead->first[s] * CHANGE_HEAD;
    out->n_in = (ahead->first[s + 1] - ahead->first[s]) * CHANGE_HEAD;
    return 0;
}

/* A change begins with the check of what it makes; parameters are hashed. */
static bool is_right(const data_ahead_t *self, const piece_t *piece, const uint8_t *check)
{
    uint8_t head[CHANGE_HEAD];
    if (self->change.codec) return memcmp(piece->at, check, CHANGE_HEAD) == 0;
    change_seal((const float *)(const void *)piece->at, piece->n, head);
    return memcmp(head, check, CHANGE_HEAD) == 0;
}

static int drop_wrong(data_client_t *self, data_ahead_t *ahead, uint64_t *used, err_t *err)
{
    uint8_t *checks = mem_calloc(ahead->first[self->n_shard] + 1, CHANGE_HEAD);
    transfer_t transfer = {.make = make_checks, .ahead = ahead, .into = checks};
    for (size_t s = 0; s < self->n_shard; s++)
        self->shard[s].n = ahead->first[s + 1] > ahead->first[s];
    int rc = transfer_run(self, &transfer, err);
    for (size_t s = 0; rc == 0 && s < self->n_shard; s++)
        for (size_t i = ahead->first[s]; i < ahead->first[s + 1]; i++) {
            const piece_t piece = piece_of(ahead, s, i - ahead->first[s]);
            if (ahead->came[i] && !is_right(ahead, &piece, checks + i * CHANGE_HEAD))
                ahead->came[i] = 0;
            *used += ahead->came[i];
        }
    free(checks);
    return rc < 0 ? err_prefix(err, "checks of round %u: ", ahead->round) : 0;
}

/* Chunk behind chunk, as they lie. */
static int apply(const data_ahead_t *self, float *theta, err_t *err)
{
    float *scratch = mem_calloc(MSG_CHUNK_FLOATS, sizeof *scratch);
    int rc = 0;
    for (size_t s = 0; rc == 0 && s < self->n_shard; s++)
        for (size_t i = 0; rc == 0 && i < transfer_chunks(self->bounds, s); i++) {
            const piece_t piece = piece_of(self, s, i);
            const change_place_t place = {piece.begin, piece.n, theta + piece.begin, scratch};
            if (self->change.codec)
                rc = change_apply(&self->change, piece.at, piece.n_bytes, &place, err);
            else
                memcpy(place.theta, piece.at, piece.n_bytes);
        }
    free(scratch);
    return rc;
}

bool data_ahead_whole(const data_ahead_t *self)
{
    for (size_t i = 0; i < self->first[self->n_shard]; i++)
        if (!self->came[i]) return false;
    return true;
}

static bool is_empty(const data_ahead_t *self)
{
    for (size_t i = 0; i < self->first[self->n_shard]; i++)
        if (self->came[i]) return false;
    return true;
}

int data_end_ahead(data_client_t *self, data_ahead_t *ahead, float *theta, uint64_t *used,
                   err_t *err)
{
    *used = 0;
    if (!is_empty(ahead) && drop_wrong(self, ahead, used, err) < 0) return -1;
    if (fetch(self, ahead, false, err) < 0) return -1;
    return apply(ahead, theta, err);
}
