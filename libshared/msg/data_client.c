/* Objects, parameters and pseudo-gradients as transfers (msg/transfer.h). */
#include "msg/data_client.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "msg/transfer.h"

data_client_t *data_client_new(const data_options_t *options, err_t *err)
{
    if (options->n_endpoint == 0 || options->n_endpoint > MSG_MAX_SHARDS) {
        err_set(err, ERR_ARG, "%zu aggregators, need 1 to %d", options->n_endpoint, MSG_MAX_SHARDS);
        return NULL;
    }
    data_client_t *self = mem_calloc(1, sizeof *self);
    self->options = *options;
    self->options.endpoints = NULL;
    self->n_shard = options->n_endpoint;
    self->shard = mem_calloc(self->n_shard, sizeof *self->shard);
    self->scratch = mem_calloc(1, MSG_PAYLOAD_BYTES);
    if (options->pack_below > 0) {
        self->plain = mem_calloc(1, MSG_PAYLOAD_BYTES);
        self->packer = packer_new();
    }
    for (size_t s = 0; s < self->n_shard; s++) {
        atomic_init(&self->shard[s].lent, 0);
        pace_init(&self->shard[s].pace);
        self->shard[s].endpoint = mem_strdup(options->endpoints[s]);
    }
    if (transfer_connect(self, err) < 0) data_client_destroy(&self);
    return self;
}

void data_client_destroy(data_client_t **self_p)
{
    data_client_t *self = *self_p;
    if (!self) return;
    for (size_t s = 0; s < self->n_shard; s++) {
        transfer_disconnect(&self->shard[s]);
        unanswered_destroy(&self->shard[s].unanswered);
        free(self->shard[s].endpoint);
    }
    free(self->shard);
    free(self->scratch);
    free(self->plain);
    packer_destroy(&self->packer);
    free(self);
    *self_p = NULL;
}

/* --- Objects: all chunks at the shard that the hash names. --- */

static size_t home(const data_client_t *self, const uint8_t object[WIRE_HASH_BYTES])
{
    return (object[0] | (size_t)object[1] << 8) % self->n_shard;
}

/* n bytes of what the caller sends, lent or read. */
static int give(data_client_t *self, const transfer_t *transfer, uint64_t at, size_t n,
                chunk_t *out, err_t *err)
{
    out->n_out = n;
    out->lend = transfer->from != NULL;
    out->out = out->lend ? transfer->from + at : self->scratch;
    return out->lend ? 0 : source_read(transfer->source, at, self->scratch, n, err);
}

static int make_object(data_client_t *self, transfer_t *transfer, size_t s, size_t chunk,
                       chunk_t *out, err_t *err)
{
    (void)s;
    uint64_t at = (uint64_t)(transfer->skip + chunk) * MSG_CHUNK_BYTES;
    uint64_t n = transfer->n - at < MSG_CHUNK_BYTES ? transfer->n - at : MSG_CHUNK_BYTES;
    wire_header_t *header = &out->header;
    if (transfer->ranges) {
        at = transfer->ranges[chunk].begin;
        n = transfer->ranges[chunk].n;
    }
    header->begin = transfer->begin + at;
    header->count = n;
    memcpy(header->object, transfer->object, WIRE_HASH_BYTES);
    if (transfer->from || transfer->source) {
        header->type = WIRE_PUT_OBJECT;
        header->total = transfer->n;
        return give(self, transfer, at, n, out, err);
    }
    header->type = WIRE_GET_OBJECT;
    out->in = transfer->into ? transfer->into + at : NULL;
    out->n_in = n;
    out->at = at;
    return 0;
}

static int run_object(data_client_t *self, transfer_t *transfer, size_t n_chunk, err_t *err)
{
    if (wire_hash_parse(transfer->hash, transfer->object, err) < 0) return -1;
    transfer->make = make_object;
    for (size_t s = 0; s < self->n_shard; s++) self->shard[s].n = 0;
    self->shard[home(self, transfer->object)].n = n_chunk;
    if (transfer_run(self, transfer, err) == 0) return 0;
    return err_prefix(err, "object %.12s: ", transfer->hash);
}

static size_t chunks_of(uint64_t n)
{
    return (size_t)((n + MSG_CHUNK_BYTES - 1) / MSG_CHUNK_BYTES);
}

enum { PASSES = 8 };

static int put_object(data_client_t *self, transfer_t *transfer, err_t *err)
{
    if (transfer->n == 0) return err_set(err, ERR_ARG, "object %.12s: empty", transfer->hash);
    size_t n_chunk = chunks_of(transfer->n);
    /* The first chunk alone: its answer tells whether the rest is needed. An aggregator that was
     * started again meanwhile, or gave up on us, has forgotten what it acknowledged. */
    for (int i = 0; i < PASSES; i++) {
        transfer->skip = 0;
        if (run_object(self, transfer, 1, err) < 0) return -1;
        if (transfer->known) return 0;
        transfer->skip = 1;
        if (n_chunk > 1 && run_object(self, transfer, n_chunk - 1, err) < 0) return -1;
        if (transfer->known) return 0;
    }
    return err_set(err, ERR_NET, "object %.12s: %llu bytes were acknowledged %d times and not kept",
                   transfer->hash, (unsigned long long)transfer->n, PASSES);
}

int data_put_object(data_client_t *self, const char *hash, const void *bytes, size_t n, err_t *err)
{
    transfer_t transfer = {.hash = hash, .from = bytes, .n = n};
    return put_object(self, &transfer, err);
}

int data_put_object_from(data_client_t *self, const char *hash, const source_t *from, err_t *err)
{
    transfer_t transfer = {.hash = hash, .source = from, .n = from->n};
    return put_object(self, &transfer, err);
}

int data_object_size(data_client_t *self, const char *hash, uint64_t *n, err_t *err)
{
    transfer_t transfer = {.hash = hash};
    if (run_object(self, &transfer, 1, err) < 0) return -1;
    *n = transfer.total;
    return 0;
}

int data_get_range(data_client_t *self, const char *hash, uint64_t begin, size_t n, void *into,
                   err_t *err)
{
    transfer_t transfer = {.hash = hash, .begin = begin, .n = n, .into = into};
    return run_object(self, &transfer, chunks_of(n), err);
}

int data_get_object_to(data_client_t *self, const char *hash, uint64_t n, const sink_t *to,
                       err_t *err)
{
    transfer_t transfer = {.hash = hash, .n = n, .to = to};
    return run_object(self, &transfer, chunks_of(n), err);
}

int data_get_ranges(data_client_t *self, const char *hash, const data_range_bytes_t *ranges,
                    size_t n_range, void *whole, err_t *err)
{
    transfer_t transfer = {.hash = hash, .ranges = ranges, .into = whole};
    for (size_t i = 0; i < n_range; i++)
        if (ranges[i].n == 0 || ranges[i].n > MSG_CHUNK_BYTES)
            return err_set(err, ERR_ARG, "object %.12s: a range of %zu bytes", hash, ranges[i].n);
    return run_object(self, &transfer, n_range, err);
}

char *data_get_object(data_client_t *self, const char *hash, size_t limit, size_t *n, err_t *err)
{
    uint64_t size;
    if (data_object_size(self, hash, &size, err) < 0) return NULL;
    if (size > limit) {
        err_set(err, ERR_MEMORY, "object %.12s: %llu bytes, limit %zu", hash,
                (unsigned long long)size, limit);
        return NULL;
    }
    char *bytes = mem_calloc(1, (size_t)size + 1);
    char found[HASH_HEX];
    if (data_get_range(self, hash, 0, (size_t)size, bytes, err) < 0) goto fail;
    hash_content(bytes, (size_t)size, found);
    if (strcmp(found, hash) != 0) {
        err_set(err, ERR_CORRUPT, "object %.12s: received bytes have hash %.12s", hash, found);
        goto fail;
    }
    *n = (size_t)size;
    return bytes;
fail:
    free(bytes);
    return NULL;
}

/* --- Ranges of the flat parameter vector: each shard has its own. --- */

static int make_range(data_client_t *self, transfer_t *transfer, size_t s, size_t chunk,
                      chunk_t *out, err_t *err)
{
    size_t number = transfer_number(transfer, s, chunk);
    const transfer_chunk_t at = transfer_chunk(transfer->bounds, s, number);
    uint64_t begin = at.begin, n = at.n;
    const float *values = (const float *)transfer->from;
    out->header = (wire_header_t){.round = transfer->round, .begin = begin, .count = n};
    if (transfer->delta) {
        const data_delta_t *delta = transfer->delta;
        out->header.type = WIRE_PUT_DELTA;
        out->header.replica = delta->replica;
        out->header.fence = delta->fence;
        out->header.weight = delta->weight;
        out->header.codec = (uint8_t)(delta->codec | (delta->exact_from ? WIRE_EXACT : 0));
        out->header.total = delta->of;
        out->header.vector = transfer->pick ? WIRE_LATE : 0;
        const codec_t *codec = codec_find_id(delta->codec, err);
        if (!codec) return -1;
        const codec_chunk_t as = codec_chunk(codec, begin, (size_t)n, delta->exact_from);
        out->n_out = codec_chunk_most(&as);
        out->out = codec_chunk_view(&as, values + begin);
        out->lend = out->out != NULL;
        if (out->out) return codec_check(values + begin, (size_t)n, err);
        out->out = self->scratch;
        return codec_chunk_encode(&as, values + begin, self->scratch, MSG_PAYLOAD_BYTES,
                                  &out->n_out, err);
    }
    bool sends = values || transfer->source;
    out->header.vector = transfer->vector;
    if (sends) {
        out->header.type = transfer->outer ? WIRE_PUT_OUTER : WIRE_PUT_INIT;
        out->header.weight = self->options.attempt;
        return give(self, transfer, begin * sizeof(float), n * sizeof(float), out, err);
    }
    out->header.type = transfer->outer ? WIRE_GET_OUTER : WIRE_GET_PARAMS;
    out->at = begin * sizeof(float);
    out->in = transfer->into ? transfer->into + out->at : NULL;
    out->n_in = n * sizeof(float);
    return 0;
}

static int run_range(data_client_t *self, transfer_t *transfer, transfer_make_fn *make,
                     const char *what, err_t *err)
{
    transfer->make = make;
    for (size_t s = 0; s < self->n_shard; s++)
        self->shard[s].n = transfer_chunks(transfer->bounds, s);
    if (transfer_run(self, transfer, err) == 0) return 0;
    return err_prefix(err, "%s of round %u: ", what, transfer->round);
}

int data_get_params(data_client_t *self, const uint64_t *bounds, uint32_t round, float *theta,
                    err_t *err)
{
    transfer_t transfer = {.bounds = bounds, .round = round, .into = (uint8_t *)theta};
    return run_range(self, &transfer, make_range, "parameters", err);
}

int data_put_init(data_client_t *self, const uint64_t *bounds, uint32_t round, const float *theta,
                  err_t *err)
{
    transfer_t transfer = {.bounds = bounds, .round = round, .from = (const uint8_t *)theta};
    return run_range(self, &transfer, make_range, "initial parameters", err);
}

static transfer_t vector_transfer(const uint64_t *bounds, const data_vector_t *which)
{
    return (transfer_t){.bounds = bounds,
                        .round = which->round,
                        .outer = which->outer,
                        .vector = which->outer ? which->state : 0};
}

int data_get_vector(data_client_t *self, const uint64_t *bounds, const data_vector_t *which,
                    const sink_t *to, err_t *err)
{
    transfer_t transfer = vector_transfer(bounds, which);
    transfer.to = to;
    return run_range(self, &transfer, make_range, which->outer ? "outer state" : "parameters", err);
}

int data_put_vector(data_client_t *self, const uint64_t *bounds, const data_vector_t *which,
                    const source_t *from, err_t *err)
{
    transfer_t transfer = vector_transfer(bounds, which);
    transfer.source = from;
    return run_range(self, &transfer, make_range,
                     which->outer ? "outer state" : "initial parameters", err);
}

/* --- Pseudo-gradients --- */

void data_sent_clear(data_sent_t *self)
{
    free(self->came);
    *self = (data_sent_t){0};
}

static void make_room(data_sent_t *self, size_t n)
{
    if (self->n == n) return;
    data_sent_clear(self);
    self->came = mem_calloc(n + 1, sizeof *self->came);
    self->n = n;
}

/* What has not come; of a shard that has all of it the last chunk, whose answer tells whether it still has. */
static size_t pick_rest(const data_sent_t *sent, size_t first, size_t n, size_t *pick)
{
    size_t picked = 0;
    for (size_t i = 0; i < n; i++)
        if (!sent->came[first + i]) pick[picked++] = i;
    if (picked == 0 && n > 0) pick[picked++] = n - 1;
    return picked;
}

/* Under the new name of a late lease: the rest; then, where not all is here, what had come, too. */
static int put_late(data_client_t *self, transfer_t *transfer, data_sent_t *sent, err_t *err)
{
    const size_t *first = transfer->first;
    size_t *pick = mem_calloc(sent->n + 1, sizeof *pick), again = 0;
    transfer->pick = pick;
    transfer->make = make_range;
    for (size_t s = 0; s < self->n_shard; s++)
        self->shard[s].n = pick_rest(sent, first[s], first[s + 1] - first[s], pick + first[s]);
    int rc = transfer_run(self, transfer, err);
    for (size_t s = 0; rc == 0 && s < self->n_shard; s++) {
        size_t n = first[s + 1] - first[s];
        self->shard[s].n = self->shard[s].here < n ? n : 0;
        again += self->shard[s].n;
        for (size_t i = 0; i < n; i++) pick[first[s] + i] = i;
    }
    if (rc == 0 && again) rc = transfer_run(self, transfer, err);
    free(pick);
    return rc < 0 ? err_prefix(err, "pseudo-gradient of round %u: ", transfer->round) : 0;
}

int data_put_delta(data_client_t *self, const uint64_t *bounds, const data_delta_t *which,
                   const float *delta, err_t *err)
{
    transfer_t transfer = {
        .bounds = bounds, .round = which->round, .delta = which, .from = (const uint8_t *)delta};
    if (!which->sent) return run_range(self, &transfer, make_range, "pseudo-gradient", err);
    size_t *first = mem_calloc(self->n_shard + 1, sizeof *first);
    for (size_t s = 0; s < self->n_shard; s++) first[s + 1] = first[s] + transfer_chunks(bounds, s);
    make_room(which->sent, first[self->n_shard]);
    bool some = which->late && memchr(which->sent->came, 1, which->sent->n);
    if (!some) memset(which->sent->came, 0, which->sent->n);
    transfer.first = first;
    transfer.came = which->sent->came;
    int rc = some ? put_late(self, &transfer, which->sent, err)
                  : run_range(self, &transfer, make_range, "pseudo-gradient", err);
    free(first);
    return rc;
}

void data_client_traffic(const data_client_t *self, uint64_t *sent, uint64_t *received)
{
    *sent = self->sent;
    *received = self->received;
}
