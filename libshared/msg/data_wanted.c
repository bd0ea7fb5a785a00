/* Chunks of a vector that are wanted, as they are or as changes of what is there. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "msg/transfer.h"
#include "outer/change.h"

size_t data_chunks(const uint64_t *bounds, size_t n_shard)
{
    size_t n = 0;
    for (size_t s = 0; s < n_shard; s++) n += transfer_chunks(bounds, s);
    return n;
}

static int make_wanted(data_client_t *self, transfer_t *transfer, size_t s, size_t chunk,
                       chunk_t *out, err_t *err)
{
    (void)self, (void)err;
    const transfer_chunk_t at = transfer_chunk(transfer->bounds, s,
                                               transfer_number(transfer, s, chunk));
    const change_t *change = transfer->change;
    out->header = (wire_header_t){.type = change ? WIRE_GET_CHANGE : WIRE_GET_PARAMS,
                                  .round = transfer->round,
                                  .begin = at.begin,
                                  .count = at.n,
                                  .codec = change ? change_word(change) : 0};
    out->at = at.begin;
    out->in = change ? NULL : transfer->into + at.begin * sizeof(float);
    out->n_in = change ? change_bytes(change, at.begin, at.n) : at.n * sizeof(float);
    return 0;
}

/* Changes are made where they belong as they come: together they would be a vector more. */
typedef struct {
    const transfer_t *transfer;
    float *theta, *scratch;
} changing_t;

static int apply_change(void *user, uint64_t begin, const void *bytes, size_t n, err_t *err)
{
    const changing_t *self = user;
    const uint64_t *bounds = self->transfer->bounds;
    size_t s = 0;
    while (begin >= bounds[s + 1]) s++;
    size_t number = (size_t)((begin - bounds[s]) / MSG_CHUNK_FLOATS);
    const change_place_t to = {begin, transfer_chunk(bounds, s, number).n, self->theta + begin,
                               self->scratch};
    return change_apply(self->transfer->change, bytes, n, &to, err);
}

static void choose(data_client_t *self, const uint64_t *bounds, const uint8_t *wanted,
                   size_t *first, size_t *pick)
{
    for (size_t s = 0; s < self->n_shard; s++) {
        size_t n = 0, all = transfer_chunks(bounds, s);
        for (size_t i = 0; i < all; i++)
            if (wanted[first[s] + i]) pick[first[s] + n++] = i;
        self->shard[s].n = n;
        first[s + 1] = first[s] + all;
    }
}

int data_get_wanted(data_client_t *self, const uint64_t *bounds, uint32_t round,
                    const change_t *change, uint8_t *wanted, float *theta, err_t *err)
{
    size_t *first = mem_calloc(self->n_shard + 1, sizeof *first);
    size_t *pick = mem_calloc(data_chunks(bounds, self->n_shard) + 1, sizeof *pick);
    transfer_t transfer = {.make = make_wanted,
                           .bounds = bounds,
                           .round = round,
                           .change = change,
                           .first = first,
                           .pick = pick,
                           .wanted = wanted,
                           .into = (uint8_t *)theta};
    changing_t changing = {&transfer, theta,
                           change ? mem_calloc(MSG_CHUNK_FLOATS, sizeof *changing.scratch) : NULL};
    const sink_t to = {.write = apply_change, .user = &changing};
    if (change) transfer.to = &to;
    choose(self, bounds, wanted, first, pick);
    int rc = transfer_run(self, &transfer, err);
    free(changing.scratch);
    free(pick);
    free(first);
    if (rc == 0) return 0;
    return err_prefix(err, "%s of round %u: ", change ? "changes" : "parameters", round);
}
