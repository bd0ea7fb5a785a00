/* Windowed chunk transfer over one DEALER per aggregator. A transfer is a list of chunks per shard;
 * a chunk is described by a callback, so that payloads are made (encoded) only when they are sent.
 */
#include "msg/data_client.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "base/clock.h"
#include "base/hand_over.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/control.h"
#include "msg/limits.h"
#include "msg/wire.h"
#include "outer/codec.h"

typedef struct {
    bool used;
    size_t chunk; /* of this shard's list */
    uint32_t seq;
    int64_t sent_ms, resend_ms; /* when it was sent, and goes again without an answer */
    int sent;                   /* how often */
} slot_t;

typedef struct {
    char *endpoint;
    zsock_t *socket;      /* NULL: to be connected again */
    size_t n, next, open; /* chunks in all, not yet asked for, asked for and unanswered */
    slot_t slot[MSG_WINDOW];
    int64_t heard_ms;  /* the last answer that got us further */
    int64_t answer_ms; /* how long answers take, smoothed; kept from transfer to transfer */
    atomic_int lent;   /* payloads of the caller's that ZeroMQ still reads */
} shard_t;

struct data_client {
    data_options_t options;
    size_t n_shard;
    shard_t *shard;
    uint32_t seq;
    uint8_t *scratch; /* MSG_PAYLOAD_BYTES for encoded chunks */
    uint64_t sent, received;
};

/* What a chunk sends and where its answer goes. */
typedef struct {
    wire_header_t header;
    const void *out; /* payload; NULL when n_out is 0 */
    size_t n_out;
    bool lend; /* out lasts until the transfer ends: it need not be copied */
    void *in;  /* room for exactly n_in bytes of a DATA answer */
    size_t n_in;
} chunk_t;

typedef struct transfer transfer_t;
struct transfer {
    int (*make)(data_client_t *self, transfer_t *transfer, size_t shard, size_t chunk, chunk_t *out,
                err_t *err);
    const char *hash;
    uint8_t object[WIRE_HASH_BYTES];
    const uint64_t *bounds;
    const data_delta_t *delta;
    uint32_t round;
    bool outer;        /* momentum instead of parameters */
    uint64_t begin, n; /* of an object, in bytes */
    const uint8_t *from;
    uint8_t *into;
    uint64_t total; /* of the object, as the aggregator states it */
    bool known;     /* PUT_OBJECT: it was there already */
};

/* Those that have no socket. */
static int connect_all(data_client_t *self, err_t *err)
{
    for (size_t s = 0; s < self->n_shard; s++) {
        shard_t *shard = &self->shard[s];
        if (shard->socket) continue;
        shard->socket = control_connect(ZMQ_DEALER, shard->endpoint, err);
        if (!shard->socket) return -1;
        zsock_set_linger(shard->socket, 0);
    }
    return 0;
}

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
    for (size_t s = 0; s < self->n_shard; s++) {
        atomic_init(&self->shard[s].lent, 0);
        self->shard[s].endpoint = mem_strdup(options->endpoints[s]);
    }
    if (connect_all(self, err) < 0) data_client_destroy(&self);
    return self;
}

void data_client_destroy(data_client_t **self_p)
{
    data_client_t *self = *self_p;
    if (!self) return;
    for (size_t s = 0; s < self->n_shard; s++) {
        zsock_destroy(&self->shard[s].socket);
        free(self->shard[s].endpoint);
    }
    free(self->shard);
    free(self->scratch);
    free(self);
    *self_p = NULL;
}

/* Twice as long as answers take here, at least MSG_RESEND_MS, doubling each time: a link that is
 * slow must not be given more to carry (RFC 6298 in spirit). */
static int64_t resend_wait(const shard_t *shard, const slot_t *slot)
{
    int64_t wait = 2 * shard->answer_ms;
    if (wait < MSG_RESEND_MS) wait = MSG_RESEND_MS;
    for (int i = 1; i < slot->sent && wait < MSG_RESEND_MAX_MS; i++) wait *= 2;
    return wait < MSG_RESEND_MAX_MS ? wait : MSG_RESEND_MAX_MS;
}

/* ZeroMQ, on one of its threads, is done with a payload of the caller's. */
static void given_back(void *data, void *hint)
{
    (void)data;
    atomic_fetch_sub_explicit((atomic_int *)take_over(hint), 1, memory_order_release);
}

static void send_payload(shard_t *shard, void *raw, const chunk_t *chunk)
{
    if (!chunk->lend) {
        zmq_send(raw, chunk->out ? chunk->out : "", chunk->n_out, ZMQ_DONTWAIT);
        return;
    }
    zmq_msg_t body;
    atomic_fetch_add_explicit(&shard->lent, 1, memory_order_relaxed);
    zmq_msg_init_data(&body, (void *)chunk->out, chunk->n_out, given_back, hand_over(&shard->lent));
    if (zmq_msg_send(&body, raw, ZMQ_DONTWAIT) < 0) zmq_msg_close(&body);
}

/* When a transfer has ended nobody may read the caller's memory. What still waits to be sent (a
 * request sent twice, an aggregator that is away) goes with its socket. It is given back within
 * milliseconds then (the header says why), or when a name has been looked up; never does this end
 * before, for the memory cannot be freed under a thread that reads it. */
static void reclaim(data_client_t *self)
{
    enum { PATIENCE_MS = 20, SAY_MS = 10000 };
    int64_t begin = clock_mono_ms(), said = begin;
    for (size_t s = 0; s < self->n_shard; s++) {
        shard_t *shard = &self->shard[s];
        while (atomic_load_explicit(&shard->lent, memory_order_acquire) > 0) {
            int64_t now = clock_mono_ms();
            if (now - begin >= PATIENCE_MS) zsock_destroy(&shard->socket);
            if (now - said >= SAY_MS)
                log_event(LOG_ERROR, "buffers_lent",
                          "peer=%s n=%d seconds=%.0f "
                          "fix=\"an address instead of a name, or a resolver that answers\"",
                          shard->endpoint, atomic_load(&shard->lent), (double)(now - begin) / 1000);
            if (now - said >= SAY_MS) said = now;
            usleep(1000);
        }
    }
}

static int send_chunk(data_client_t *self, transfer_t *transfer, size_t s, slot_t *slot, err_t *err)
{
    chunk_t chunk = {0};
    if (transfer->make(self, transfer, s, slot->chunk, &chunk, err) < 0) return -1;
    chunk.header.run = self->options.run;
    chunk.header.seq = slot->seq;
    if (chunk.n_out) chunk.header.check = hash_fast(chunk.out, chunk.n_out);
    uint8_t header[WIRE_HEADER_BYTES];
    wire_pack(&chunk.header, header);
    void *raw = zsock_resolve(self->shard[s].socket);
    /* A full queue (aggregator away) is met by sending again later. */
    if (zmq_send(raw, header, sizeof header, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        send_payload(&self->shard[s], raw, &chunk);
    slot->sent++;
    slot->sent_ms = clock_mono_ms();
    slot->resend_ms = slot->sent_ms + resend_wait(&self->shard[s], slot);
    self->sent += chunk.n_out;
    return 0;
}

/* Keep the window full; send again what got no answer. */
static int pump(data_client_t *self, transfer_t *transfer, size_t s, err_t *err)
{
    shard_t *shard = &self->shard[s];
    int64_t now = clock_mono_ms();
    if (shard->open && now - shard->heard_ms > MSG_DATA_TIMEOUT_MS)
        return err_set(err, ERR_NET, "aggregator of shard %zu: no answer for %d s", s,
                       MSG_DATA_TIMEOUT_MS / 1000);
    for (int i = 0; i < MSG_WINDOW; i++) {
        slot_t *slot = &shard->slot[i];
        if (slot->used && now < slot->resend_ms) continue;
        if (!slot->used) {
            if (shard->next >= shard->n) continue;
            *slot = (slot_t){.used = true, .chunk = shard->next++, .seq = ++self->seq};
            shard->open++;
        }
        if (send_chunk(self, transfer, s, slot, err) < 0) return -1;
    }
    return 0;
}

static int refusal(const wire_header_t *header, const void *payload, size_t n, err_t *err)
{
    err_code_t code = ERR_NET;
    if (header->code == NACK_OLD_FENCE || header->code == NACK_WRONG_ROUND ||
        header->code == NACK_WRONG_RUN)
        code = ERR_STATE;
    if (header->code == NACK_STORAGE || header->code == NACK_UNKNOWN_OBJECT) code = ERR_IO;
    return err_set(err, code, "aggregator refuses: %s: %.*s", wire_nack_name(header->code), (int)n,
                   (const char *)payload);
}

/* Put the payload of an answer where it belongs: 0; 1 when it is damaged, so that the room for it
 * holds nonsense; -1 when it is not what was asked for. */
static int take(data_client_t *self, transfer_t *transfer, size_t s, const slot_t *slot,
                const wire_header_t *header, const void *payload, size_t n, err_t *err)
{
    chunk_t chunk = {0};
    if (transfer->make(self, transfer, s, slot->chunk, &chunk, err) < 0) return -1;
    if (n == chunk.n_in) return hash_fast_copy(chunk.in, payload, n) != header->check;
    if (wire_check(header, payload, n, NULL) < 0) return 1;
    return err_set(err, ERR_NET, "shard %zu answers %zu bytes where %zu were asked", s, n,
                   chunk.n_in);
}

static int answer(data_client_t *self, transfer_t *transfer, size_t s, const wire_header_t *header,
                  const void *payload, size_t n, err_t *err)
{
    shard_t *shard = &self->shard[s];
    slot_t *slot = NULL;
    for (int i = 0; i < MSG_WINDOW; i++)
        if (shard->slot[i].used && shard->slot[i].seq == header->seq) slot = &shard->slot[i];
    if (!slot) return 0; /* a second answer to a request sent twice */
    bool damaged = header->type == WIRE_NACK && header->code == NACK_DAMAGED;
    if (header->type == WIRE_DATA) {
        int rc = take(self, transfer, s, slot, header, payload, n, err);
        if (rc < 0) return -1;
        damaged = rc > 0;
    }
    if (damaged) return send_chunk(self, transfer, s, slot, err);
    if (header->type == WIRE_NACK && header->code == NACK_NOT_READY) {
        /* It has been started again and waits for the shepherd: no answer that gets us further. */
        slot->resend_ms = clock_mono_ms() + MSG_NOT_READY_MS;
        return 0;
    }
    shard->heard_ms = clock_mono_ms();
    if (slot->sent == 1) /* otherwise nobody knows which of them is answered */
        shard->answer_ms = (3 * shard->answer_ms + shard->heard_ms - slot->sent_ms) / 4;
    if (header->type == WIRE_NACK) return refusal(header, payload, n, err);
    if (header->type == WIRE_DATA) self->received += n;
    transfer->total = header->total;
    transfer->known = header->type == WIRE_ACK && header->code == 1;
    slot->used = false;
    shard->open--;
    return 0;
}

/* Take one answer from a shard's socket: 1, 0 when none waits, -1. */
static int receive(data_client_t *self, transfer_t *transfer, size_t s, err_t *err)
{
    zmq_msg_t frame[2];
    int n = control_frames(self->shard[s].socket, frame, 2);
    if (n == 0) return 0;
    int rc = 1;
    err_t reason = {0};
    wire_header_t header;
    size_t n_payload = n == 2 ? zmq_msg_size(&frame[1]) : 0;
    if (n != 2 || wire_unpack(zmq_msg_data(&frame[0]), zmq_msg_size(&frame[0]), n_payload, &header,
                              &reason) < 0) {
        log_event(LOG_WARN, "data_dropped", "frames=%d reason=\"%s\"", n, reason.text);
    } else {
        if (answer(self, transfer, s, &header, zmq_msg_data(&frame[1]), n_payload, err) < 0)
            rc = -1;
    }
    for (int i = 0; i < n && i < 2; i++) zmq_msg_close(&frame[i]);
    return rc;
}

static int poll_shards(data_client_t *self, zmq_pollitem_t *items, err_t *err)
{
    if (self->options.stopped && self->options.stopped(self->options.user))
        return err_set(err, ERR_STATE, "stopped");
    for (size_t s = 0; s < self->n_shard; s++)
        items[s] = (zmq_pollitem_t){.socket = zsock_resolve(self->shard[s].socket),
                                    .events = ZMQ_POLLIN};
    zmq_poll(items, (int)self->n_shard, 50);
    return 0;
}

/* Run a transfer of self->shard[s].n chunks per shard to its end. */
static int run(data_client_t *self, transfer_t *transfer, err_t *err)
{
    if (connect_all(self, err) < 0) return -1;
    zmq_pollitem_t *items = mem_calloc(self->n_shard, sizeof *items);
    int rc = 0;
    for (size_t s = 0; s < self->n_shard; s++) {
        shard_t *shard = &self->shard[s];
        shard->next = shard->open = 0;
        memset(shard->slot, 0, sizeof shard->slot);
        shard->heard_ms = clock_mono_ms();
    }
    for (;;) {
        bool busy = false;
        for (size_t s = 0; s < self->n_shard && rc >= 0; s++) {
            rc = pump(self, transfer, s, err);
            busy |= self->shard[s].open > 0;
        }
        if (rc < 0 || !busy) break;
        rc = poll_shards(self, items, err);
        for (size_t s = 0; s < self->n_shard && rc >= 0; s++)
            while ((rc = receive(self, transfer, s, err)) > 0) continue;
        if (rc < 0) break;
    }
    reclaim(self);
    free(items);
    return rc < 0 ? -1 : 0;
}

/* --- Objects: all chunks at the shard that the hash names. --- */

static size_t home(const data_client_t *self, const uint8_t object[WIRE_HASH_BYTES])
{
    return (object[0] | (size_t)object[1] << 8) % self->n_shard;
}

static int make_object(data_client_t *self, transfer_t *transfer, size_t s, size_t chunk,
                       chunk_t *out, err_t *err)
{
    (void)self, (void)s, (void)err;
    uint64_t at = (uint64_t)chunk * MSG_CHUNK_BYTES;
    uint64_t n = transfer->n - at < MSG_CHUNK_BYTES ? transfer->n - at : MSG_CHUNK_BYTES;
    wire_header_t *header = &out->header;
    header->begin = transfer->begin + at;
    header->count = n;
    memcpy(header->object, transfer->object, WIRE_HASH_BYTES);
    if (transfer->from) {
        header->type = WIRE_PUT_OBJECT;
        header->total = transfer->n;
        out->out = transfer->from + at;
        out->lend = true;
        out->n_out = n;
    } else {
        header->type = WIRE_GET_OBJECT;
        out->in = transfer->into ? transfer->into + at : NULL;
        out->n_in = n;
    }
    return 0;
}

static int run_object(data_client_t *self, transfer_t *transfer, size_t n_chunk, err_t *err)
{
    if (wire_hash_parse(transfer->hash, transfer->object, err) < 0) return -1;
    transfer->make = make_object;
    for (size_t s = 0; s < self->n_shard; s++) self->shard[s].n = 0;
    self->shard[home(self, transfer->object)].n = n_chunk;
    if (run(self, transfer, err) == 0) return 0;
    return err_prefix(err, "object %.12s: ", transfer->hash);
}

static size_t chunks_of(uint64_t n, uint64_t grain)
{
    return (size_t)((n + grain - 1) / grain);
}

int data_put_object(data_client_t *self, const char *hash, const void *bytes, size_t n, err_t *err)
{
    if (n == 0) return err_set(err, ERR_ARG, "object %.12s: empty", hash);
    transfer_t transfer = {.hash = hash, .from = bytes, .n = n};
    size_t n_chunk = chunks_of(n, MSG_CHUNK_BYTES);
    /* The first chunk alone: its answer tells whether the rest is needed. */
    if (run_object(self, &transfer, 1, err) < 0) return -1;
    if (transfer.known || n_chunk == 1) return 0;
    return run_object(self, &transfer, n_chunk, err);
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
    return run_object(self, &transfer, chunks_of(n, MSG_CHUNK_BYTES), err);
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
    uint64_t begin = transfer->bounds[s] + (uint64_t)chunk * MSG_CHUNK_FLOATS;
    uint64_t left = transfer->bounds[s + 1] - begin;
    uint64_t n = left < MSG_CHUNK_FLOATS ? left : MSG_CHUNK_FLOATS;
    const float *values = (const float *)transfer->from;
    out->header = (wire_header_t){.round = transfer->round, .begin = begin, .count = n};
    if (transfer->delta) {
        const data_delta_t *delta = transfer->delta;
        out->header.type = WIRE_PUT_DELTA;
        out->header.replica = delta->replica;
        out->header.fence = delta->fence;
        out->header.weight = delta->weight;
        out->header.codec = (uint8_t)delta->codec;
        const codec_t *codec = codec_find_id(delta->codec, err);
        if (!codec) return -1;
        out->n_out = codec_bytes(codec, (size_t)n);
        out->out = codec_view(codec, values + begin);
        out->lend = out->out != NULL;
        if (out->out) return codec_check(values + begin, (size_t)n, err);
        out->out = self->scratch;
        return codec_encode(codec, values + begin, (size_t)n, self->scratch, MSG_PAYLOAD_BYTES,
                            err);
    }
    if (values) out->header.weight = self->options.attempt;
    out->header.type = values ? (transfer->outer ? WIRE_PUT_OUTER : WIRE_PUT_INIT)
                              : (transfer->outer ? WIRE_GET_OUTER : WIRE_GET_PARAMS);
    out->out = values ? values + begin : NULL;
    out->n_out = values ? n * sizeof(float) : 0;
    out->lend = values != NULL;
    out->in = values ? NULL : transfer->into + begin * sizeof(float);
    out->n_in = values ? 0 : n * sizeof(float);
    return 0;
}

static int run_range(data_client_t *self, transfer_t *transfer, const char *what, err_t *err)
{
    transfer->make = make_range;
    for (size_t s = 0; s < self->n_shard; s++)
        self->shard[s].n = chunks_of(transfer->bounds[s + 1] - transfer->bounds[s],
                                     MSG_CHUNK_FLOATS);
    if (run(self, transfer, err) == 0) return 0;
    return err_prefix(err, "%s of round %u: ", what, transfer->round);
}

int data_get_params(data_client_t *self, const uint64_t *bounds, uint32_t round, float *theta,
                    err_t *err)
{
    transfer_t transfer = {.bounds = bounds, .round = round, .into = (uint8_t *)theta};
    return run_range(self, &transfer, "parameters", err);
}

int data_put_init(data_client_t *self, const uint64_t *bounds, uint32_t round, const float *theta,
                  err_t *err)
{
    transfer_t transfer = {.bounds = bounds, .round = round, .from = (const uint8_t *)theta};
    return run_range(self, &transfer, "initial parameters", err);
}

int data_get_outer(data_client_t *self, const uint64_t *bounds, uint32_t round, float *v,
                   err_t *err)
{
    transfer_t transfer = {.bounds = bounds, .round = round, .outer = true, .into = (uint8_t *)v};
    return run_range(self, &transfer, "outer momentum", err);
}

int data_put_outer(data_client_t *self, const uint64_t *bounds, uint32_t round, const float *v,
                   err_t *err)
{
    transfer_t transfer = {
        .bounds = bounds, .round = round, .outer = true, .from = (const uint8_t *)v};
    return run_range(self, &transfer, "outer momentum", err);
}

int data_put_delta(data_client_t *self, const uint64_t *bounds, const data_delta_t *which,
                   const float *delta, err_t *err)
{
    transfer_t transfer = {
        .bounds = bounds, .round = which->round, .delta = which, .from = (const uint8_t *)delta};
    return run_range(self, &transfer, "pseudo-gradient", err);
}

void data_client_traffic(const data_client_t *self, uint64_t *sent, uint64_t *received)
{
    *sent = self->sent;
    *received = self->received;
}
