/* Windowed chunk transfer over one DEALER per aggregator. */
#include "msg/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "base/clock.h"
#include "base/hand_over.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/control.h"
#include "msg/keyring.h"
#include "msg/silence.h"

int transfer_connect(data_client_t *self, err_t *err)
{
    uint64_t since = keyring_own_since();
    for (size_t s = 0; s < self->n_shard; s++) {
        shard_t *shard = &self->shard[s];
        if (shard->socket) continue;
        endpoint_t data = endpoint_of_data(endpoint_connect(ZMQ_DEALER, shard->endpoint));
        data.linger_ms = 0;
        shard->socket = endpoint_open(data, err);
        if (!shard->socket) return -1;
        progress_begin(&shard->progress, shard->socket);
        shard->ended = 0;
        shard->key_since = since;
    }
    return 0;
}

void transfer_disconnect(shard_t *shard)
{
    progress_end(&shard->progress, shard->socket);
    zsock_destroy(&shard->socket);
}

/* Our key was renewed: connections show the card that they were made with, so others are made. What was
 * open on them is lost. */
static int show_key(data_client_t *self, err_t *err)
{
    uint64_t since = keyring_own_since();
    bool old = false;
    for (size_t s = 0; s < self->n_shard; s++) {
        shard_t *shard = &self->shard[s];
        if (!shard->socket || shard->key_since == since) continue;
        transfer_disconnect(shard);
        silence_lose(shard);
        old = true;
    }
    return old ? transfer_connect(self, err) : 0;
}

/* ZeroMQ, on one of its threads, is done with a payload: the caller's, or our copy. */
static void given_back(void *data, void *hint)
{
    (void)data;
    atomic_fetch_sub_explicit((atomic_int *)take_over(hint), 1, memory_order_release);
}

static void copy_given_back(void *data, void *hint)
{
    free(data);
    given_back(NULL, hint);
}

static double now_ms(void)
{
    return clock_mono_s() * 1000;
}

/* Connected, that is, and its queue is not full. */
static bool can_send(shard_t *shard)
{
    return zsock_events(shard->socket) & ZMQ_POLLOUT;
}

/* Under a number of its own. Once it is taken the payload will be. */
static bool send_header(data_client_t *self, shard_t *shard, wire_header_t *header)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    header->run = self->options.run;
    header->seq = ++self->seq;
    wire_pack(header, bytes);
    shard->sent_ms = clock_mono_ms();
    return zmq_send(zsock_resolve(shard->socket), bytes, sizeof bytes,
                    ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0;
}

static void send_payload(shard_t *shard, void *raw, const chunk_t *chunk)
{
    if (chunk->n_out == 0) {
        zmq_send(raw, "", 0, ZMQ_DONTWAIT);
        return;
    }
    zmq_msg_t body;
    void *bytes = (void *)chunk->out;
    if (!chunk->lend) bytes = memcpy(mem_calloc(1, chunk->n_out), chunk->out, chunk->n_out);
    atomic_fetch_add_explicit(&shard->lent, 1, memory_order_relaxed);
    zmq_msg_init_data(&body, bytes, chunk->n_out, chunk->lend ? given_back : copy_given_back,
                      hand_over(&shard->lent));
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
            if (now - begin >= PATIENCE_MS) transfer_disconnect(shard);
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

/* Over a line that is slow beside a processor, fewer bytes. */
static void pack(data_client_t *self, const shard_t *shard, chunk_t *chunk)
{
    enum { PER_S = 1000 };
    if (!self->packer) return;
    double rate = pace_rate(&shard->pace) * PER_S;
    bool slow = rate > 0 && rate < self->options.pack_below;
    chunk->header.flags = WIRE_KNOWS | (slow ? WIRE_PACK : 0);
    if (chunk->header.type != WIRE_PUT_DELTA || !slow || !shard->takes) return;
    size_t n = packer_pack(self->packer, chunk->out, chunk->n_out, self->plain);
    if (n == 0) return;
    chunk->header.flags |= WIRE_PACKED;
    chunk->out = self->plain;
    chunk->n_out = n;
    chunk->lend = false;
}

/* Header and payload, which is encoded only now. What cannot be sent stays lost. */
static int send_chunk(data_client_t *self, transfer_t *transfer, size_t s, slot_t *slot, err_t *err)
{
    shard_t *shard = &self->shard[s];
    chunk_t chunk = {0};
    slot->lost = true;
    if (slot->counted) pace_lose(&shard->pace, &slot->sending[(slot->sent - 1) % SENDINGS].pace);
    slot->counted = false;
    if (!can_send(shard)) return 0;
    if (transfer->make(self, transfer, s, slot->chunk, &chunk, err) < 0) return -1;
    pack(self, shard, &chunk);
    if (chunk.n_out) chunk.header.check = hash_fast(chunk.out, chunk.n_out);
    if (!send_header(self, shard, &chunk.header)) return 0;
    send_payload(shard, zsock_resolve(shard->socket), &chunk);
    slot->sending[slot->sent % SENDINGS].seq = self->seq;
    slot->sending[slot->sent % SENDINGS].pace = pace_send(
        &shard->pace, chunk.n_out > chunk.n_in ? chunk.n_out : chunk.n_in, now_ms());
    slot->heavy = chunk.n_out > 0;
    slot->sent++;
    slot->counted = true;
    slot->lost = false;
    slot->overtaken = 0;
    slot->again_ms = 0;
    self->sent += chunk.n_out;
    return 0;
}

/* Requests of one connection are answered in their order: one that was overtaken is lost, also
 * while the connection lives (something between us may lose messages, or change their order a
 * little: hence twice). */
static bool is_due(const transfer_t *transfer, const slot_t *slot, int64_t now)
{
    enum { OVERTAKEN_MOST = 2 };
    bool hurry = transfer->early && transfer->ahead->hurry;
    if (slot->again_ms) return hurry || now >= slot->again_ms;
    return slot->lost || slot->overtaken >= OVERTAKEN_MOST;
}

/* Silence for longer than answers take: the answer to a PING says whether those before it were
 * lost. Nothing is sent again before that, so that a link that is slow, or stands still, carries
 * everything once. */
static void ask_whether_lost(data_client_t *self, shard_t *shard, int64_t now)
{
    bool open = false;
    for (int i = 0; i < MSG_REQUESTS && !open; i++) {
        const slot_t *slot = &shard->slot[i];
        open = slot->used && !slot->lost && !slot->again_ms;
    }
    int64_t since = shard->sent_ms > shard->alive_ms ? shard->sent_ms : shard->alive_ms;
    if (!open || now - since < pace_patience(&shard->pace, shard->n_asked + 1)) return;
    wire_header_t nothing = {.type = WIRE_PING};
    if (!can_send(shard) || !send_header(self, shard, &nothing)) return;
    zmq_send(zsock_resolve(shard->socket), "", 0, ZMQ_DONTWAIT);
    shard->question = self->seq;
    shard->n_asked++;
}

/* The question was answered: what was sent before it and was not is lost. */
static void find_lost(shard_t *shard, uint32_t question)
{
    if (shard->question != question) return;
    shard->question = 0;
    for (int i = 0; i < MSG_REQUESTS; i++) {
        slot_t *slot = &shard->slot[i];
        if (!slot->used || slot->lost || slot->again_ms) continue;
        uint32_t last = slot->sending[(slot->sent - 1) % SENDINGS].seq;
        slot->lost = (int32_t)(question - last) > 0;
    }
}

size_t transfer_number(const transfer_t *transfer, size_t shard, size_t chunk)
{
    return transfer->pick ? transfer->pick[transfer->first[shard] + chunk] : chunk;
}

size_t transfer_chunks(const uint64_t *bounds, size_t shard)
{
    return (size_t)((bounds[shard + 1] - bounds[shard] + MSG_CHUNK_FLOATS - 1) / MSG_CHUNK_FLOATS);
}

transfer_chunk_t transfer_chunk(const uint64_t *bounds, size_t shard, size_t number)
{
    uint64_t begin = bounds[shard] + (uint64_t)number * MSG_CHUNK_FLOATS;
    uint64_t left = bounds[shard + 1] - begin;
    return (transfer_chunk_t){begin, left < MSG_CHUNK_FLOATS ? (size_t)left : MSG_CHUNK_FLOATS};
}

/* Of a round to come is asked what is there, and one chunk behind it: its answer tells when there is more. */
static bool is_early(const data_client_t *self, const transfer_t *transfer, size_t s)
{
    const shard_t *shard = &self->shard[s];
    return transfer->early && !transfer->ahead->hurry && shard->open > 0 &&
           transfer_number(transfer, s, shard->next) > shard->ready;
}

/* Keep the window full; send again what got no answer. */
static int pump(data_client_t *self, transfer_t *transfer, size_t s, err_t *err)
{
    shard_t *shard = &self->shard[s];
    int64_t now = clock_mono_ms();
    silence_hear_ends(shard);
    if (shard->open) silence_look(shard, now);
    silence_ask_why(shard, now);
    ask_whether_lost(self, shard, now);
    if (shard->open && now - shard->heard_ms > MSG_DATA_TIMEOUT_MS)
        return err_set(err, ERR_NET, "aggregator of shard %zu: no answer for %d s%s", s,
                       MSG_DATA_TIMEOUT_MS / 1000, shard->why);
    for (int i = 0; i < MSG_REQUESTS; i++) {
        slot_t *slot = &shard->slot[i];
        if (slot->used && !is_due(transfer, slot, now)) continue;
        if (!slot->used) {
            if (shard->next >= shard->n || is_early(self, transfer, s) ||
                !pace_allows(&shard->pace))
                continue;
            *slot = (slot_t){.used = true, .chunk = shard->next++};
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
    if (header->code == NACK_STORAGE || header->code == NACK_UNKNOWN_OBJECT ||
        header->code == NACK_NO_CHANGE)
        code = ERR_IO;
    return err_set(err, code, "aggregator refuses: %s: %.*s", wire_nack_name(header->code), (int)n,
                   (const char *)payload);
}

static int take_packed(data_client_t *self, const transfer_t *transfer, const chunk_t *chunk,
                       const wire_header_t *header, const void *payload, size_t n, err_t *err)
{
    if (!self->packer || chunk->n_in > MSG_PAYLOAD_BYTES)
        return err_set(err, ERR_NET, "an answer at %llu is packed, which nobody asked for",
                       (unsigned long long)header->begin);
    if (wire_check(header, payload, n, NULL) < 0) return 1;
    uint8_t *to = transfer->to ? self->plain : chunk->in;
    if (packer_unpack(self->packer, payload, n, to, chunk->n_in, err) < 0) return -1;
    if (!transfer->to) return 0;
    return transfer->to->write(transfer->to->user, chunk->at, to, chunk->n_in, err);
}

/* Put the payload of an answer where it belongs: 0; 1 when it is damaged, so that the room for it
 * holds nonsense; -1 when it is not what was asked for. */
static int take(data_client_t *self, transfer_t *transfer, size_t s, const slot_t *slot,
                const wire_header_t *header, const void *payload, size_t n, err_t *err)
{
    chunk_t chunk = {0};
    if (transfer->make(self, transfer, s, slot->chunk, &chunk, err) < 0) return -1;
    if (header->flags & WIRE_PACKED)
        return take_packed(self, transfer, &chunk, header, payload, n, err);
    if (n == chunk.n_in && transfer->to) {
        if (wire_check(header, payload, n, NULL) < 0) return 1;
        return transfer->to->write(transfer->to->user, chunk.at, payload, n, err);
    }
    if (n == chunk.n_in) return hash_fast_copy(chunk.in, payload, n) != header->check;
    if (wire_check(header, payload, n, NULL) < 0) return 1;
    return err_set(err, ERR_NET, "shard %zu answers %zu bytes where %zu were asked", s, n,
                   chunk.n_in);
}

/* That sending of the slot's request; NULL: it was none of its last. */
static const pace_sent_t *find_sending(const slot_t *slot, uint32_t seq)
{
    for (int i = 0; slot->used && i < SENDINGS && i < slot->sent; i++)
        if (slot->sending[i].seq == seq) return &slot->sending[i].pace;
    return NULL;
}

/* Whose answer is this? NULL: a second one to a request sent twice, or to a question. */
static slot_t *find_slot(shard_t *shard, uint32_t seq, const pace_sent_t **sent)
{
    slot_t *found = NULL;
    for (int i = 0; i < MSG_REQUESTS; i++) {
        slot_t *slot = &shard->slot[i];
        const pace_sent_t *sending = find_sending(slot, seq);
        if (sending) {
            found = slot;
            *sent = sending;
        } else if (slot->used && slot->sent && !slot->again_ms) {
            uint32_t last = slot->sending[(slot->sent - 1) % SENDINGS].seq;
            slot->overtaken += (int32_t)(seq - last) > 0;
        }
    }
    return found;
}

/* "Come again": sooner when asking costs nothing. */
static void put_off(data_client_t *self, size_t s, slot_t *slot, const wire_header_t *header,
                    const void *payload, size_t n)
{
    enum { DOUBLINGS = 3 };
    shard_t *shard = &self->shard[s];
    bool full = header->code == NACK_CANNOT_WRITE;
    int64_t wait = full ? MSG_CANNOT_WRITE_MS : MSG_NOT_READY_MS, now = clock_mono_ms();
    if (slot->heavy) wait <<= slot->put_off < DOUBLINGS ? slot->put_off : DOUBLINGS;
    slot->put_off++;
    slot->again_ms = now + wait;
    progress_skip(&shard->progress);
    if (!full) return; /* it was started again and waits for the shepherd: not for ever */
    shard->heard_ms = now;
    char *text = mem_printf("%.*s", (int)n, (const char *)payload);
    silence_waits(self, s, text);
    free(text);
}

/* As long as others train: which is no reason to give up. */
static void not_yet(shard_t *shard, slot_t *slot)
{
    int64_t wait = MSG_AHEAD_MS << (slot->put_off < 8 ? slot->put_off : 8);
    slot->put_off++;
    shard->heard_ms = clock_mono_ms();
    slot->again_ms = shard->heard_ms + (wait < MSG_AHEAD_MAX_MS ? wait : MSG_AHEAD_MAX_MS);
    progress_skip(&shard->progress);
}

static void came_early(transfer_t *transfer, size_t s, const slot_t *slot, size_t n)
{
    data_ahead_t *ahead = transfer->ahead;
    ahead->came[ahead->first[s] + transfer_number(transfer, s, slot->chunk)] = (uint32_t)n;
    ahead->received += n;
}

static void came_up(transfer_t *transfer, shard_t *shard, size_t s, const slot_t *slot,
                    const wire_header_t *header)
{
    size_t chunk = transfer->first[s] + transfer_number(transfer, s, slot->chunk);
    shard->here = header->vector == WIRE_HERE ? (size_t)header->total : 0;
    if (header->code == ACK_REFUSED) shard->here = SIZE_MAX; /* more of it is of no use */
    transfer->came[chunk] = shard->here > 0;
}

static int answer(data_client_t *self, transfer_t *transfer, size_t s, const wire_header_t *header,
                  const void *payload, size_t n, err_t *err)
{
    shard_t *shard = &self->shard[s];
    const pace_sent_t *sent = NULL;
    slot_t *slot = find_slot(shard, header->seq, &sent);
    shard->alive_ms = clock_mono_ms();
    if (!slot) {
        find_lost(shard, header->seq);
        return 0;
    }
    shard->n_asked = 0;
    shard->takes |= header->flags & WIRE_TAKES;
    if (slot->counted) pace_answer(&shard->pace, sent, header->type != WIRE_NACK, now_ms());
    slot->counted = false;
    bool damaged = header->type == WIRE_NACK && header->code == NACK_DAMAGED;
    if (header->type == WIRE_DATA) {
        int rc = take(self, transfer, s, slot, header, payload, n, err);
        if (rc < 0) return -1;
        damaged = rc > 0;
    }
    if (damaged) return send_chunk(self, transfer, s, slot, err);
    if (transfer->early && header->total > shard->ready) shard->ready = (size_t)header->total;
    if (transfer->early && header->type == WIRE_NACK && header->code == NACK_NOT_READY) {
        not_yet(shard, slot);
        return 0;
    }
    if (header->type == WIRE_NACK &&
        (header->code == NACK_NOT_READY || header->code == NACK_CANNOT_WRITE)) {
        put_off(self, s, slot, header, payload, n);
        return 0;
    }
    shard->heard_ms = shard->alive_ms;
    if (header->type == WIRE_NACK) return refusal(header, payload, n, err);
    silence_waits(self, s, "");
    if (header->type == WIRE_DATA) self->received += n;
    if (header->type == WIRE_DATA && transfer->early) came_early(transfer, s, slot, n);
    if (header->type == WIRE_DATA && transfer->wanted)
        transfer->wanted[transfer->first[s] + transfer_number(transfer, s, slot->chunk)] = 0;
    if (header->type == WIRE_ACK && transfer->came) came_up(transfer, shard, s, slot, header);
    transfer->total = header->total;
    transfer->known |= header->type == WIRE_ACK && header->code == ACK_COMPLETE;
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

static bool is_waiting(const slot_t *slot)
{
    return slot->used && slot->lost && !slot->again_ms;
}

static int poll_shards(data_client_t *self, const transfer_t *transfer, zmq_pollitem_t *items,
                       err_t *err)
{
    enum { WAIT_MS = 50, EARLY_MS = 20 };
    if (self->options.stopped && self->options.stopped(self->options.user))
        return err_set(err, ERR_STATE, "stopped");
    size_t n = 0;
    for (size_t s = 0; s < self->n_shard; s++) {
        const shard_t *shard = &self->shard[s];
        bool waits = false; /* until it is connected */
        for (int i = 0; i < MSG_REQUESTS; i++) waits |= is_waiting(&shard->slot[i]);
        items[n++] = (zmq_pollitem_t){
            .socket = zsock_resolve(shard->socket),
            .events = (short)(waits ? ZMQ_POLLIN | ZMQ_POLLOUT : ZMQ_POLLIN)};
        if (shard->progress.monitor)
            items[n++] = (zmq_pollitem_t){.socket = zsock_resolve(shard->progress.monitor),
                                          .events = ZMQ_POLLIN};
    }
    zmq_poll(items, (int)n, transfer->early ? EARLY_MS : WAIT_MS);
    return 0;
}

int transfer_run(data_client_t *self, transfer_t *transfer, err_t *err)
{
    if (show_key(self, err) < 0 || transfer_connect(self, err) < 0) return -1;
    zmq_pollitem_t *items = mem_calloc(2 * self->n_shard, sizeof *items);
    int rc = 0;
    for (size_t s = 0; s < self->n_shard; s++) {
        shard_t *shard = &self->shard[s];
        shard->next = shard->open = shard->ready = shard->here = 0;
        shard->pace.open = 0;
        shard->question = 0;
        shard->n_asked = 0;
        memset(shard->slot, 0, sizeof shard->slot);
        shard->heard_ms = shard->alive_ms = clock_mono_ms();
        progress_skip(&shard->progress);
    }
    for (;;) {
        bool busy = false;
        for (size_t s = 0; s < self->n_shard && rc >= 0; s++) {
            rc = pump(self, transfer, s, err);
            busy |= self->shard[s].open > 0;
        }
        if (rc < 0 || !busy) break;
        rc = show_key(self, err);
        if (rc >= 0) rc = poll_shards(self, transfer, items, err);
        for (size_t s = 0; s < self->n_shard && rc >= 0; s++)
            while ((rc = receive(self, transfer, s, err)) > 0) continue;
        if (rc < 0) break;
    }
    for (size_t s = 0; s < self->n_shard; s++) silence_waits(self, s, "");
    reclaim(self);
    free(items);
    return rc < 0 ? -1 : 0;
}
