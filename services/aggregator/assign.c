/* ASSIGN: a range to begin with, or one that is held already and goes on. */
#include <stdlib.h>
#include <string.h>

#include "aggregator/aggregator.h"
#include "base/log.h"
#include "base/memory.h"
#include "msg/limits.h"

static int check_assign(const Msg__Assign *assign, err_t *err)
{
    uint64_t memory = memory_bytes();
    if (assign->begin > assign->end || assign->end > assign->total ||
        assign->total > INT64_MAX / 16)
        return err_set(err, ERR_ARG, "range [%llu, %llu) of %llu",
                       (unsigned long long)assign->begin, (unsigned long long)assign->end,
                       (unsigned long long)assign->total);
    const outer_rule_t *rule = outer_rule_find_id(assign->outer_rule, err);
    if (!rule) return -1;
    err_t why = {0};
    const codec_t *down = change_codec(assign->down_codec, &why);
    if (why.code) return err_set(err, why.code, "%s", why.text);
    if (assign->replicas < 1 || assign->replicas > 65536)
        return err_set(err, ERR_ARG, "%u replicas", assign->replicas);
    if (assign->fragments < 1 || assign->fragments > STATE_FRAGMENTS)
        return err_set(err, ERR_ARG, "%u fragments, 1 to %d", assign->fragments, STATE_FRAGMENTS);
    /* Three slots of parameters and outer state, and the sum. */
    uint64_t n_vector = 1 + outer_vectors(rule, down);
    uint64_t n = assign->end - assign->begin, need = n * (3 * 4 * n_vector + 8) + n / 64;
    if (need > memory)
        return err_set(err, ERR_MEMORY, "%llu parameters need %llu MB, this machine has %llu MB",
                       (unsigned long long)n, (unsigned long long)(need >> 20),
                       (unsigned long long)(memory >> 20));
    return 0;
}

/* States as they are, where the shepherd knows that: a worker that does not asks for parameters instead. */
static uint16_t down_of(const Msg__Assign *assign)
{
    const change_t down = {change_codec(assign->down_codec, NULL),
                           assign->down_exact ? assign->averaged_from : 0};
    return change_word(&down);
}

static state_meta_t meta_of(const Msg__Assign *assign)
{
    return (state_meta_t){
        .run = assign->run_hash,
        .begin = assign->begin,
        .end = assign->end,
        .total = assign->total,
        .averaged_from = assign->averaged_from,
        .weight_max = assign->weight_max,
        .lr = assign->outer_lr,
        .momentum = assign->outer_momentum,
        .range = assign->delta_range,
        .rule = (uint16_t)assign->outer_rule,
        .down = down_of(assign),
        .shard = assign->shard,
        .shards = assign->shards,
        .replicas = assign->replicas,
        .fragments = assign->fragments,
        .round = assign->round,
    };
}

/* Cut the range, and make room for what is summed. */
static int make_fragments(aggregator_t *self, const state_meta_t *meta, err_t *err)
{
    uint64_t n = meta->end - meta->begin;
    size_t n_fragment = meta->fragments;
    self->fragment = mem_calloc(n_fragment, sizeof *self->fragment);
    self->from = mem_calloc(meta->replicas * n_fragment, sizeof *self->from);
    self->holder = mem_calloc(meta->replicas, sizeof *self->holder);
    for (size_t f = 0; f < n_fragment; f++) {
        fragment_t *part = &self->fragment[f];
        part->first = self->n_chunk * f / n_fragment;
        part->n_chunk = self->n_chunk * (f + 1) / n_fragment - part->first;
        for (uint32_t k = 0; k < meta->replicas; k++)
            contribution(self, k, (uint32_t)f)->chunk = mem_calloc(part->n_chunk + 1,
                                                                   sizeof(held_chunk_t));
        if (part->n_chunk == 0) continue;
        uint64_t first = (uint64_t)part->first * MSG_CHUNK_FLOATS;
        uint64_t count = (uint64_t)part->n_chunk * MSG_CHUNK_FLOATS;
        if (count > n - first) count = n - first;
        part->sum = fixed_sum_new((size_t)count, meta->range, meta->weight_max, err);
        if (!part->sum) return -1;
    }
    return 0;
}

/* Everything but the values: the same for a new range and one read back. */
static int take_up(aggregator_t *self, const state_meta_t *meta, err_t *err)
{
    uint64_t n = meta->end - meta->begin;
    self->meta = *meta;
    self->assigned = true;
    self->n_chunk = (size_t)((n + MSG_CHUNK_FLOATS - 1) / MSG_CHUNK_FLOATS);
    self->init_have = mem_calloc(self->n_chunk + 1, 1);
    self->n_init = 0;
    self->block_norm2 = mem_calloc((size_t)(n / AGGREGATOR_BLOCK) + 1, sizeof *self->block_norm2);
    guess_init(self);
    self->outer = (outer_options_t){outer_rule_find_id(meta->rule, err), meta->lr, meta->momentum};
    if (!self->outer.rule || outer_check(&self->outer, err) < 0) return -1;
    if (change_of_word(meta->down, meta->averaged_from, &self->down, err) < 0) return -1;
    self->n_outer = outer_vectors(self->outer.rule, self->down.codec);
    return make_fragments(self, meta, err);
}

int assign_resume(aggregator_t *self, const state_meta_t *meta, err_t *err)
{
    if (take_up(self, meta, err) < 0) return -1;
    self->ready = true;
    deltas_replay(self);
    log_event(LOG_INFO, "resumed",
              "shard=%u begin=%llu end=%llu round=%u complete=%zu journal_bytes=%llu", meta->shard,
              (unsigned long long)meta->begin, (unsigned long long)meta->end, meta->round,
              aggregator_holds(self)->n_shares, (unsigned long long)self->disk.journal.end);
    return 0;
}

void assign_complete(aggregator_t *self)
{
    self->ready = true;
    state_publish(self->now, &self->meta,
                  state_check_all(self->now, self->meta.end - self->meta.begin));
}

/* 1: not now, for want of memory or of a disk that takes it; the shepherd asks again. */
static int begin(aggregator_t *self, const Msg__Assign *assign, err_t *err)
{
    /* Said again, because our answer was late or lost: values may have come since. */
    if (self->assigned && assign->attempt && assign->attempt == self->attempt) return 0;
    aggregator_reset(self);
    if (check_assign(assign, err) < 0) return -1;
    if (state_clear(&self->disk, err) < 0) return 1; /* a disk that is read-only, for now */
    state_meta_t meta = meta_of(assign);
    state_shape_t shape;
    if (state_shape(&meta, &shape, err) < 0 || take_up(self, &meta, err) < 0) return -1;
    uint64_t n = shape.n;
    shared_t *keep[STATE_KEEPS] = {0};
    self->now = state_slot(&self->disk, &shape, keep, err);
    if (!self->now) return 1;
    if (self->now->in_memory)
        aggregator_degraded(self, "parameters and outer state", &self->disk.fault);
    self->now->round = meta.round;
    self->attempt = assign->attempt;
    for (size_t s = 0; s < self->n_outer; s++) /* unless PUT_OUTER follows */
        memset(self->now->outer[s], 0, (size_t)n * sizeof(float));
    if (n == 0) assign_complete(self);
    return 0;
}

/* "Go on": nothing changes. The shepherd may not know yet that its last commit was applied. */
static int go_on(const aggregator_t *self, const Msg__Assign *assign, err_t *err)
{
    if (!self->assigned || !self->ready || self->meta.run != assign->run_hash)
        return err_set(err, ERR_STATE, "nothing of this run is held here");
    const state_meta_t *have = &self->meta;
    state_meta_t want = meta_of(assign);
    if (have->round != want.round && have->round != want.round + 1)
        return err_set(err, ERR_STATE, "round %u is open here, not %u", have->round, want.round);
    want.round = have->round;
    want.norm2 = have->norm2;
    want.seconds = have->seconds;
    want.shares = have->shares;
    /* Of a shepherd of before, or after: it hears which. */
    if (((want.down ^ have->down) & ~CHANGE_EXACT) == 0) want.down = have->down;
    if (memcmp(&want, have, sizeof want) == 0) return 0;
    return err_set(err, ERR_STATE,
                   "shard %u of %u, [%llu, %llu) of %llu under other options is held here",
                   have->shard, have->shards, (unsigned long long)have->begin,
                   (unsigned long long)have->end, (unsigned long long)have->total);
}

void on_assign(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    aggregator_t *self = state;
    const Msg__Assign *assign = message->assign;
    err_t err = {0};
    Msg__Assigned assigned = MSG__ASSIGNED__INIT;
    if (assign->keep) {
        if (go_on(self, assign, &err) == 0) assigned.state = aggregator_holds(self);
    } else {
        int rc = begin(self, assign, &err);
        if (rc) aggregator_reset(self);
        assigned.busy = rc > 0;
    }
    if (self->assigned) fences_assigned(self, assign->holders);
    assigned.shard = assign->shard;
    assigned.down_codec = self->assigned && self->down.codec ? self->down.codec->id : 0;
    assigned.down_exact = self->assigned && self->down.exact_from;
    assigned.ahead = assigned.holders = assigned.exact = true;
    assigned.error = err.text;
    MSG_SEND(self->out, from, message->id, ASSIGNED, assigned, &assigned);
    log_event(err.code ? LOG_ERROR : LOG_INFO, "assigned",
              "shard=%u begin=%llu end=%llu keep=%d round=%u error=\"%s\"", assign->shard,
              (unsigned long long)assign->begin, (unsigned long long)assign->end, assign->keep,
              self->meta.round, err.text);
}
