#include "aggregator/packing.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/aggregator.h"
#include "msg/limits.h"

static void need(packing_t *self)
{
    if (!self->packer) self->packer = packer_new();
    if (!self->payload) self->payload = mem_calloc(1, MSG_PAYLOAD_BYTES);
}

/* The same change goes to every worker: it is known by its check, and replaced by the next round's. */
static void pack(packing_t *self, packed_chunk_t *chunk, const void *payload, size_t n,
                 uint64_t check)
{
    need(self);
    free(chunk->bytes);
    *chunk = (packed_chunk_t){.of = check};
    chunk->n = packer_pack(self->packer, payload, n, self->payload);
    if (chunk->n == 0) return;
    chunk->check = hash_fast(self->payload, chunk->n);
    chunk->bytes = memcpy(mem_calloc(1, chunk->n), self->payload, chunk->n);
}

const packed_chunk_t *packing_chunk(aggregator_t *self, const wire_header_t *request,
                                    const void *payload, size_t n, uint64_t check)
{
    bool change = request->type == WIRE_GET_CHANGE || request->type == WIRE_GET_AHEAD;
    int64_t at = change && request->codec ? range_chunk(self, request) : -1;
    if (at < 0 || !(request->flags & WIRE_PACK)) return NULL;
    packing_t *packing = &self->packing;
    if (!packing->chunk) {
        packing->n_chunk = self->n_chunk;
        packing->chunk = mem_calloc(self->n_chunk, sizeof *packing->chunk);
    }
    packed_chunk_t *chunk = &packing->chunk[at];
    if (chunk->of != check) pack(packing, chunk, payload, n, check);
    return chunk->bytes ? chunk : NULL;
}

int packing_open(aggregator_t *self, const void **payload, size_t *n, err_t *err)
{
    packing_t *packing = &self->packing;
    need(packing);
    size_t got = packer_unpack_most(packing->packer, *payload, *n, packing->payload,
                                    MSG_PAYLOAD_BYTES, err);
    if (got == 0) return -1;
    *payload = packing->payload;
    *n = got;
    return 0;
}

void packing_forget(aggregator_t *self)
{
    packing_t *packing = &self->packing;
    for (size_t i = 0; i < packing->n_chunk; i++) free(packing->chunk[i].bytes);
    free(packing->chunk);
    packing->chunk = NULL;
    packing->n_chunk = 0;
}

void packing_fini(aggregator_t *self)
{
    packing_forget(self);
    packer_destroy(&self->packing.packer);
    free(self->packing.payload);
    self->packing.payload = NULL;
}
