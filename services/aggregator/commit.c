/* Control messages of an aggregator: range, fences, and the outer step in slices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/aggregator.h"
#include "base/clock.h"
#include "base/log.h"
#include "msg/limits.h"

/* --- ASSIGN --- */

static int check_assign(const Msg__Assign *assign, err_t *err)
{
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (assign->begin > assign->end || assign->end > assign->total ||
        assign->total > INT64_MAX / 16)
        return err_set(err, ERR_ARG, "range [%llu, %llu) of %llu",
                       (unsigned long long)assign->begin, (unsigned long long)assign->end,
                       (unsigned long long)assign->total);
    if (assign->replicas < 1 || assign->replicas > 65536)
        return err_set(err, ERR_ARG, "%u replicas", assign->replicas);
    /* Two snapshots and the next one, momentum, the sum; then each replica's chunks. */
    uint64_t n = assign->end - assign->begin, need = n * (3 * 4 + 4 + 8) + n / 64;
    if (need > memory)
        return err_set(err, ERR_MEMORY, "%llu parameters need %llu MB, this machine has %llu MB",
                       (unsigned long long)n, (unsigned long long)(need >> 20),
                       (unsigned long long)(memory >> 20));
    return 0;
}

static int make_outer(aggregator_t *self, const Msg__Assign *assign, err_t *err)
{
    outer_options_t options = {"nesterov", assign->outer_lr, assign->outer_momentum};
    uint64_t n = self->end - self->begin;
    size_t n_slice = (size_t)((n + AGGREGATOR_SLICE - 1) / AGGREGATOR_SLICE);
    self->outer = mem_calloc(n_slice ? n_slice : 1, sizeof *self->outer);
    self->mean = mem_calloc(n < AGGREGATOR_SLICE ? n + 1 : AGGREGATOR_SLICE, sizeof *self->mean);
    for (size_t i = 0; i < n_slice; i++) {
        uint64_t left = n - (uint64_t)i * AGGREGATOR_SLICE;
        self->outer[i] = outer_new(&options, left < AGGREGATOR_SLICE ? left : AGGREGATOR_SLICE,
                                   err);
        if (!self->outer[i]) return -1;
        self->n_slice++;
    }
    return 0;
}

static int take_range(aggregator_t *self, const Msg__Assign *assign, err_t *err)
{
    if (check_assign(assign, err) < 0) return -1;
    uint64_t n = assign->end - assign->begin;
    self->assigned = true;
    self->run = assign->run_hash;
    self->shard = assign->shard;
    self->round = assign->round;
    self->begin = assign->begin;
    self->end = assign->end;
    self->weight_max = assign->weight_max;
    self->n_chunk = (size_t)((n + MSG_CHUNK_FLOATS - 1) / MSG_CHUNK_FLOATS);
    self->n_replica = assign->replicas;
    self->from = mem_calloc(self->n_replica, sizeof *self->from);
    for (uint32_t k = 0; k < self->n_replica; k++)
        self->from[k].chunk = mem_calloc(self->n_chunk + 1, sizeof *self->from[k].chunk);
    self->init_have = mem_calloc(self->n_chunk + 1, 1);
    self->n_init = 0;
    self->ready = n == 0;
    self->now = shared_values(n, self->round);
    if (n == 0) return 0;
    self->sum = fixed_sum_new((size_t)n, assign->delta_range, assign->weight_max, err);
    return self->sum ? make_outer(self, assign, err) : -1;
}

static void on_assign(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    aggregator_t *self = state;
    const Msg__Assign *assign = message->assign;
    err_t err = {0};
    aggregator_reset(self);
    if (take_range(self, assign, &err) < 0) aggregator_reset(self);
    Msg__Assigned assigned = MSG__ASSIGNED__INIT;
    assigned.shard = assign->shard;
    assigned.error = err.text;
    MSG_SEND(self->out, from, message->id, ASSIGNED, assigned, &assigned);
    log_event(err.code ? LOG_ERROR : LOG_INFO, "assigned",
              "shard=%u begin=%llu end=%llu error=\"%s\"", assign->shard,
              (unsigned long long)assign->begin, (unsigned long long)assign->end, err.text);
}

/* --- FENCE --- */

static void on_fence(void *state, const msg_peer_t *peer, const msg_envelope_t *message)
{
    (void)peer;
    aggregator_t *self = state;
    const Msg__Fence *fence = message->fence;
    if (!self->assigned || fence->round != self->round || fence->replica >= self->n_replica ||
        self->committing)
        return;
    contribution_t *from = &self->from[fence->replica];
    if (fence->fence <= from->min_fence) return;
    from->min_fence = fence->fence;
    if (from->fence >= fence->fence) return;
    deltas_forget(self, fence->replica);
    from->fence = fence->fence;
}

/* --- COMMIT --- */

static void committed(aggregator_t *self, const char *error)
{
    Msg__Committed done = MSG__COMMITTED__INIT;
    done.round = self->round;
    done.shard = self->shard;
    done.error = (char *)error;
    done.delta_norm2 = self->norm2;
    done.refused = self->refused;
    done.seconds = (double)(clock_mono_ms() - self->commit_ms) / 1000;
    MSG_SEND(self->out, NULL, 0, COMMITTED, committed, &done);
    log_event(*error ? LOG_ERROR : LOG_INFO, "committed",
              "round=%u delta_norm=%.5g refused=%llu seconds=%.3f error=\"%s\"", self->round,
              sqrt(self->norm2), (unsigned long long)self->refused, done.seconds, error);
}

/* Exactly the named contributions are in the sum, each complete; then the weights are announced. */
static int close_sum(aggregator_t *self, const Msg__Commit *commit, err_t *err)
{
    if (!self->assigned || !self->ready || self->committing || commit->round != self->round)
        return err_set(err, ERR_STATE, "round %u is not open here", commit->round);
    uint8_t *named = mem_calloc(self->n_replica, 1);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < commit->n_shares; i++) {
        const Msg__Share *share = commit->shares[i];
        if (share->replica >= self->n_replica || named[share->replica] ||
            !deltas_complete(self, share->replica, share->fence, share->weight))
            rc = err_set(err, ERR_STATE, "replica %u under fence %u is not complete here",
                         share->replica, share->fence);
        else
            named[share->replica] = 1;
    }
    for (uint32_t k = 0; rc == 0 && k < self->n_replica; k++)
        if (!named[k]) deltas_forget(self, k);
    for (size_t i = 0; rc == 0 && self->sum && i < commit->n_shares; i++)
        rc = fixed_sum_add_weight(self->sum, commit->shares[i]->weight, err);
    if (rc == 0 && commit->n_shares == 0) rc = err_set(err, ERR_ARG, "nothing to commit");
    free(named);
    return rc;
}

static void on_commit(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    aggregator_t *self = state;
    err_t err = {0};
    self->commit_ms = clock_mono_ms();
    self->norm2 = 0;
    if (close_sum(self, message->commit, &err) < 0) {
        committed(self, err.text);
        return;
    }
    self->committing = true;
    self->at_slice = 0;
    self->next = shared_values(self->end - self->begin, self->round + 1);
}

static int step_slice(aggregator_t *self, err_t *err)
{
    size_t first = self->at_slice * AGGREGATOR_SLICE;
    size_t left = (size_t)(self->end - self->begin) - first;
    size_t n = left < AGGREGATOR_SLICE ? left : AGGREGATOR_SLICE;
    float *theta = self->next->values + first;
    memcpy(theta, self->now->values + first, n * sizeof *theta);
    if (fixed_sum_mean(self->sum, first, self->mean, n, err) < 0) return -1;
    for (size_t i = 0; i < n; i++) self->norm2 += (double)self->mean[i] * self->mean[i];
    return outer_step(self->outer[self->at_slice], theta, self->mean, err);
}

bool aggregator_work(aggregator_t *self)
{
    if (!self->committing) return false;
    err_t err = {0};
    if (self->at_slice < self->n_slice) {
        if (step_slice(self, &err) == 0) {
            self->at_slice++;
            return true;
        }
        self->committing = false;
        shared_drop(&self->next);
        committed(self, err.text);
        return false;
    }
    shared_drop(&self->before);
    self->before = self->now;
    self->now = self->next;
    self->next = NULL;
    deltas_clear(self);
    self->committing = false;
    committed(self, "");
    self->round++;
    return false;
}

const msg_route_t aggregator_routes[MSG_KIND_COUNT] = {
    [MSG__ENVELOPE__BODY_ASSIGN] = {4096, on_assign},
    [MSG__ENVELOPE__BODY_FENCE] = {64, on_fence},
    [MSG__ENVELOPE__BODY_COMMIT] = {1 << 20, on_commit},
};
