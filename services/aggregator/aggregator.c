/* Data requests: dispatch and refusals; what the aggregator says of itself. */
#include "aggregator/aggregator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "msg/limits.h"
#include "msg/refusals.h"

int aggregator_init(aggregator_t *self, const char *object_root, const char *state_dir, err_t *err)
{
    state_meta_t meta;
    self->object_root = object_root;
    self->objects = object_dir_open(object_root, err);
    self->scratch = mem_calloc(MSG_CHUNK_FLOATS, sizeof *self->scratch);
    if (!self->objects || state_open(&self->disk, state_dir, err) < 0) return -1;
    uploads_init(self);
    if (state_load(&self->disk, &self->now, self->before, &meta) &&
        assign_resume(self, &meta, err) < 0)
        return err_prefix(err, "%s: ", state_dir);
    return 0;
}

void aggregator_reset(aggregator_t *self)
{
    for (uint32_t f = 0; self->fragment && f < self->meta.fragments; f++)
        fixed_sum_destroy(&self->fragment[f].sum);
    free(self->fragment);
    for (size_t i = 0; self->from && i < (size_t)self->meta.replicas * self->meta.fragments; i++)
        free(self->from[i].chunk);
    free(self->from);
    free(self->holder);
    guess_fini(self);
    late_clear(self);
    past_clear(self);
    free(self->block_norm2);
    free(self->init_have);
    free(self->share);
    free(self->share_list);
    digest_forget(self);
    packing_forget(self);
    shared_drop(&self->now);
    for (size_t i = 0; i < STATE_LATE; i++) shared_drop(&self->before[i]);
    shared_drop(&self->held);
    shared_drop(&self->next);
    self->from = NULL;
    self->holder = NULL;
    self->fragment = NULL;
    self->init_have = NULL;
    self->block_norm2 = NULL;
    self->share = NULL;
    self->share_list = NULL;
    self->meta = (state_meta_t){0};
    self->attempt = 0;
    self->assigned = self->ready = self->committing = self->broken = false;
}

void aggregator_fini(aggregator_t *self)
{
    aggregator_reset(self);
    uploads_fini(self);
    objects_fini(self);
    object_dir_close(&self->objects);
    state_close(&self->disk);
    free(self->scratch);
    self->scratch = NULL;
    packing_fini(self);
}

void aggregator_degraded(aggregator_t *self, const char *what, const err_t *err)
{
    if (self->degraded) return;
    self->degraded = true;
    snprintf(self->degraded_text, sizeof self->degraded_text,
             "%s in memory only: %s; free space in the state directory: until then the end of this "
             "process costs leases a repeat or the run a step back to its checkpoint",
             what, err->text);
    log_event(LOG_ERROR, "degraded", "round=%u text=\"%s\"", self->meta.round, self->degraded_text);
}

void aggregator_healed(aggregator_t *self)
{
    if (!self->degraded) return;
    self->degraded = false;
    log_event(LOG_INFO, "healed", "round=%u", self->meta.round);
}

void aggregator_cannot_write(aggregator_t *self, const msg_peer_t *from,
                             const wire_header_t *request, const err_t *err)
{
    answer_nack(self, from, request, NACK_CANNOT_WRITE, "%s", err->text);
    if (self->cannot_write || err->code != ERR_IO) return;
    self->cannot_write = true;
    snprintf(self->cannot_text, sizeof self->cannot_text,
             "an object cannot be kept: %s; make room, or the directory writable: who sends it "
             "waits, and goes on by itself",
             err->text);
    log_event(LOG_ERROR, "waiting", "for=\"%s\"", self->cannot_text);
}

void aggregator_can_write(aggregator_t *self)
{
    if (!self->cannot_write) return;
    self->cannot_write = false;
    log_event(LOG_INFO, "can_write", "dir=%s", self->object_root);
}

Msg__ShardState *aggregator_holds(aggregator_t *self)
{
    if (!self->assigned || !self->ready) return NULL;
    const state_meta_t *meta = &self->meta;
    Msg__ShardState *holds = &self->holds;
    msg__shard_state__init(holds);
    holds->run_hash = meta->run;
    holds->shard = meta->shard;
    holds->shards = meta->shards;
    holds->begin = meta->begin;
    holds->end = meta->end;
    holds->round = meta->round;
    size_t most = (size_t)meta->replicas * meta->fragments;
    self->share = mem_realloc(self->share, most * sizeof *self->share);
    self->share_list = mem_realloc(self->share_list, most * sizeof *self->share_list);
    holds->shares = self->share_list;
    for (size_t i = 0; i < most; i++) {
        uint32_t fragment = (uint32_t)(i % meta->fragments);
        size_t n_chunk = self->fragment[fragment].n_chunk;
        const contribution_t *from = &self->from[i];
        if (n_chunk == 0 || from->n_have < n_chunk) continue;
        Msg__Share *share = &self->share[holds->n_shares];
        msg__share__init(share);
        share->replica = (uint32_t)(i / meta->fragments);
        share->fragment = fragment;
        share->fence = from->fence;
        share->weight = from->weight;
        self->share_list[holds->n_shares++] = share;
    }
    return holds;
}

int64_t range_chunk(const aggregator_t *self, const wire_header_t *header)
{
    if (header->begin < self->meta.begin || header->begin >= self->meta.end) return -1;
    uint64_t at = header->begin - self->meta.begin, left = self->meta.end - header->begin;
    uint64_t want = left < MSG_CHUNK_FLOATS ? left : MSG_CHUNK_FLOATS;
    if (at % MSG_CHUNK_FLOATS != 0 || header->count != want) return -1;
    return (int64_t)(at / MSG_CHUNK_FLOATS);
}

/* Requests about parameters make sense in one run only, and only after ASSIGN. */
static bool in_run(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header)
{
    if (!self->assigned)
        answer_nack(self, from, header, NACK_NOT_READY, "no range assigned");
    else if (header->run != self->meta.run)
        answer_nack(self, from, header, NACK_WRONG_RUN, "another run is served here");
    else
        return true;
    return false;
}

/* Who may ask what, where peers have keys: the roles, as a mask. */
static bool may_ask(const keys_card_t *card, wire_type_t type)
{
    enum {
        SHEPHERD = 1 << KEYS_SHEPHERD,
        WORKER = 1 << KEYS_WORKER | 1 << KEYS_SUPERVISOR, /* and its workers */
        COMPILER = 1 << KEYS_COMPILER,
    };
    static const unsigned from[WIRE_TYPE_COUNT] = {
        [WIRE_GET_OBJECT] = SHEPHERD | WORKER | COMPILER,
        [WIRE_PUT_OBJECT] = SHEPHERD | WORKER | COMPILER,
        [WIRE_GET_PARAMS] = SHEPHERD | WORKER | COMPILER, /* samples */
        [WIRE_PUT_DELTA] = WORKER,
        [WIRE_PUT_INIT] = SHEPHERD,
        [WIRE_GET_OUTER] = SHEPHERD,
        [WIRE_GET_CHANGE] = SHEPHERD | WORKER,
        [WIRE_GET_AHEAD] = WORKER,
        [WIRE_GET_CHECKS] = WORKER,
        [WIRE_PUT_OUTER] = SHEPHERD,
    };
    return !card || (from[type] >> card->role & 1);
}

static void refuse(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header,
                   const char *why)
{
    if (msg_shows(++self->data_refused))
        log_event(LOG_WARN, "data_refused", "refused=%llu type=%s name=%s reason=\"%s\"",
                  (unsigned long long)self->data_refused, wire_type_name(header->type),
                  from->card ? from->card->name : "", why);
    answer_nack(self, from, header, NACK_NOT_ALLOWED, "%s", why);
}

void aggregator_refuse(aggregator_t *self, const msg_peer_t *from, const void *bytes,
                       size_t n_header, size_t n, const char *why)
{
    wire_header_t header;
    if (wire_unpack(bytes, n_header, n, &header, NULL) == 0) refuse(self, from, &header, why);
}

void aggregator_on_data(aggregator_t *self, const msg_peer_t *from, const void *bytes,
                        size_t n_header, const void *payload, size_t n)
{
    err_t err = {0};
    wire_header_t header;
    if (wire_unpack(bytes, n_header, n, &header, &err) < 0) {
        if (msg_shows(++self->data_dropped))
            log_event(LOG_WARN, "data_dropped", "dropped=%llu reason=\"%s\"",
                      (unsigned long long)self->data_dropped, err.text);
        return;
    }
    if (!may_ask(from->card, header.type)) {
        refusals_count(REFUSAL_ROLE);
        refuse(self, from, &header, "not for a key of this role");
        return;
    }
    if (header.type == WIRE_PUT_DELTA && !fences_admit(self, from, &header)) return;
    if (n && wire_check(&header, payload, n, &err) < 0) {
        if (header.type == WIRE_PUT_DELTA && deltas_damaged(self, &header, err.text))
            answer_ack(self, from, &header, ACK_REFUSED);
        else
            answer_nack(self, from, &header, NACK_DAMAGED, "%s", err.text);
        return;
    }
    self->bytes_in += n;
    switch (header.type) {
    case WIRE_GET_OBJECT: objects_get(self, from, &header); break;
    case WIRE_PUT_OBJECT: objects_put(self, from, &header, payload, n); break;
    case WIRE_GET_PARAMS:
    case WIRE_GET_OUTER:
        if (in_run(self, from, &header)) values_get(self, from, &header);
        break;
    case WIRE_GET_CHANGE:
        if (in_run(self, from, &header)) values_get_change(self, from, &header);
        break;
    case WIRE_GET_AHEAD:
        if (in_run(self, from, &header)) guess_get(self, from, &header);
        break;
    case WIRE_GET_CHECKS:
        if (in_run(self, from, &header)) guess_get_checks(self, from, &header);
        break;
    case WIRE_PUT_INIT:
    case WIRE_PUT_OUTER:
        if (in_run(self, from, &header)) values_put(self, from, &header, payload, n);
        break;
    case WIRE_PUT_DELTA:
        if (in_run(self, from, &header)) deltas_put(self, from, &header, payload, n);
        break;
    case WIRE_PING: answer_ack(self, from, &header, 0); break;
    default: answer_nack(self, from, &header, NACK_BAD_MESSAGE, "not a request"); break;
    }
}
