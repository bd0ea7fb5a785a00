/* COMMIT with its outer step in slices, FORGET. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/step.h"
#include "base/clock.h"
#include "base/log.h"
#include "msg/limits.h"

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0];
}

/* Names what a commit summed, whatever the order of its shares; never 0. Not their fences: a lease
 * that is given again, because another shard lost it, has the same result. */
static uint64_t shares_hash(const Msg__Commit *commit)
{
    uint64_t(*row)[2] = mem_calloc(commit->n_shares + 1, sizeof *row);
    for (size_t i = 0; i < commit->n_shares; i++) {
        row[i][0] = commit->shares[i]->replica | (uint64_t)commit->shares[i]->fragment << 32;
        row[i][1] = commit->shares[i]->weight;
    }
    qsort(row, commit->n_shares, sizeof *row, by_number);
    uint64_t hash = hash_fast(row, commit->n_shares * sizeof *row);
    free(row);
    return hash ? hash : 1;
}

static void tell(aggregator_t *self, Msg__Committed *done)
{
    done->shard = self->meta.shard;
    done->refused = self->refused;
    MSG_SEND(self->out, NULL, 0, COMMITTED, committed, done);
    log_event(*done->error ? LOG_ERROR : LOG_INFO, "committed",
              "round=%u delta_norm=%.5g refused=%llu seconds=%.3f missing=%zu error=\"%s\"",
              done->round, sqrt(done->delta_norm2), (unsigned long long)self->refused,
              done->seconds, done->n_missing, done->error);
}

/* What the commit before the open round came to, from memory or from the slot. */
static void tell_applied(aggregator_t *self)
{
    Msg__Committed done = MSG__COMMITTED__INIT;
    done.round = self->meta.round - 1;
    done.delta_norm2 = self->meta.norm2;
    done.seconds = self->meta.seconds;
    done.bytes_in = self->round_bytes.in;
    done.bytes_out = self->round_bytes.out;
    tell(self, &done);
}

typedef struct {
    uint32_t *missing; /* contributions */
    size_t n_missing;
    bool busy; /* it may be asked again */
} refusal_t;

static void refuse(aggregator_t *self, uint32_t round, const char *error, const refusal_t *why)
{
    Msg__Committed done = MSG__COMMITTED__INIT;
    done.round = round;
    done.error = (char *)error;
    done.missing = why->missing;
    done.n_missing = why->n_missing;
    done.busy = why->busy;
    tell(self, &done);
}

/* Each share names another contribution, and the weights fit the sums. */
static int check_shares(aggregator_t *self, const Msg__Commit *commit, err_t *err)
{
    if (commit->n_shares == 0) return err_set(err, ERR_ARG, "nothing to commit");
    if (self->broken)
        return err_set(err, ERR_IO, "the sum is damaged: see the log, start this aggregator again");
    uint64_t *total = mem_calloc(self->meta.fragments, sizeof *total);
    uint8_t *named = mem_calloc((size_t)self->meta.replicas * self->meta.fragments, 1);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < commit->n_shares; i++) {
        const Msg__Share *share = commit->shares[i];
        uint32_t f = share->fragment;
        size_t at = (size_t)share->replica * self->meta.fragments + f;
        if (f >= self->meta.fragments) {
            rc = err_set(err, ERR_ARG, "fragment %u of replica %u: the range has %u", f,
                         share->replica, self->meta.fragments);
        } else if (share->replica >= self->meta.replicas || named[at]) {
            rc = err_set(err, ERR_ARG, "replica %u is named twice or is none of %u", share->replica,
                         self->meta.replicas);
        } else if (share->weight < 1 || share->weight > self->meta.weight_max - total[f]) {
            rc = err_set(err, ERR_ARG, "replica %u: weight %llu, %llu are taken of %llu",
                         share->replica, (unsigned long long)share->weight,
                         (unsigned long long)total[f], (unsigned long long)self->meta.weight_max);
        } else {
            named[at] = 1;
            total[f] += share->weight;
        }
    }
    free(named);
    free(total);
    return rc;
}

/* Replicas of whose named contributions one is not complete here. Returns how many; caller frees the
 * list. */
static size_t find_missing(const aggregator_t *self, const Msg__Commit *commit, uint32_t **list)
{
    size_t n = 0;
    *list = mem_calloc(commit->n_shares + 1, sizeof **list);
    for (size_t i = 0; i < commit->n_shares; i++) {
        const Msg__Share *share = commit->shares[i];
        if (deltas_complete(self, share->replica, share->fragment, share->fence, share->weight))
            continue;
        bool listed = false; /* for another fragment */
        for (size_t j = 0; j < n; j++) listed |= (*list)[j] == share->replica;
        if (!listed) (*list)[n++] = share->replica;
    }
    return n;
}

/* Exactly the named contributions are in the fragment's sum; then their weights are announced. weight: of each replica's, 0
 * where it is not named. */
static int close_sum(aggregator_t *self, uint32_t fragment, const uint64_t *weight, err_t *err)
{
    fixed_sum_t *sum = self->fragment[fragment].sum;
    if (!sum) return 0;
    fixed_sum_drop_weight(sum);
    for (uint32_t k = 0; k < self->meta.replicas; k++) {
        if (!weight[k]) {
            late_keep(self, k, fragment);
            deltas_forget(self, k, fragment);
        } else if (fixed_sum_add_weight(sum, weight[k], err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int close_sums(aggregator_t *self, const Msg__Commit *commit, err_t *err)
{
    size_t n = self->meta.replicas;
    uint64_t *weight = mem_calloc(n * self->meta.fragments, sizeof *weight);
    int rc = 0;
    for (size_t i = 0; i < commit->n_shares; i++) {
        const Msg__Share *share = commit->shares[i];
        weight[share->fragment * n + share->replica] = share->weight;
    }
    for (uint32_t f = 0; rc == 0 && f < self->meta.fragments; f++)
        rc = close_sum(self, f, weight + f * n, err);
    free(weight);
    return rc;
}

/* For a checkpoint, until FORGET; one at a time. */
static void keep_result(aggregator_t *self)
{
    shared_drop(&self->held);
    self->held = shared_hold(self->now);
}

/* The commit comes to nothing, and what was made for it goes. */
static void drop_next(aggregator_t *self)
{
    shared_drop(&self->next);
    past_give_up(self);
    guess_unmake(self);
}

/* 1: not now, for want of memory; the shepherd asks again. */
static int begin_commit(aggregator_t *self, const Msg__Commit *commit, err_t *err)
{
    /* Those that no lease of the next round begins with make room for it: of these the present one
     * is the round before. */
    for (uint32_t i = 0; i < STATE_LATE; i++)
        if (i + 1 >= commit->lag) shared_drop(&self->before[i]);
    self->next = guess_take(self);
    if (!self->next) self->next = step_slot(self, err);
    if (!self->next) return 1;
    if (close_sums(self, commit, err) < 0) {
        drop_next(self);
        return -1;
    }
    past_begin(self);
    self->shares = shares_hash(commit);
    self->hold = commit->hold;
    self->commit_ms = clock_mono_ms();
    self->norm2 = 0;
    self->at_chunk = 0;
    self->check = 0;
    self->committing = true;
    return 0;
}

static void on_commit(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    aggregator_t *self = state;
    const Msg__Commit *commit = message->commit;
    err_t err = {0};
    refusal_t why = {0};
    bool here = self->assigned && self->ready;
    if (here && !self->committing) late_finish(self);
    if (here && self->committing && commit->round == self->meta.round)
        return; /* it is on the way */
    if (here && commit->round + 1 == self->meta.round && self->meta.shares) {
        if (shares_hash(commit) == self->meta.shares) {
            if (commit->hold) keep_result(self);
            tell_applied(self);
            return;
        }
        err_set(&err, ERR_STATE, "round %u was committed with other shares", commit->round);
    } else if (!here || commit->round != self->meta.round) {
        err_set(&err, ERR_STATE, "round %u is not open here", commit->round);
    } else if (check_shares(self, commit, &err) == 0) {
        why.n_missing = find_missing(self, commit, &why.missing);
        if (why.n_missing)
            err_set(&err, ERR_STATE, "the contribution of replica %u is not complete here",
                    why.missing[0]);
        else
            why.busy = begin_commit(self, commit, &err) > 0;
    }
    if (err.code) refuse(self, commit->round, err.text, &why);
    free(why.missing);
}

/* --- The outer step --- */

/* A chunk that was made ahead, of the same updates, is done but for what goes over all of them. */
static int step_next(aggregator_t *self, size_t chunk, err_t *err)
{
    uint64_t first = (uint64_t)chunk * MSG_CHUNK_FLOATS, n = step_chunk_count(self, chunk);
    if (!guess_is_made(self, chunk) && step_chunk(self, self->next, chunk, err) < 0) return -1;
    for (uint64_t at = first; at < first + n; at += AGGREGATOR_BLOCK)
        self->norm2 += self->block_norm2[at / AGGREGATOR_BLOCK];
    self->check = state_check(self->check, self->next, first, n);
    past_add(self, chunk);
    return 0;
}

static void finish_commit(aggregator_t *self)
{
    self->meta.round++;
    self->meta.norm2 = self->norm2;
    self->meta.seconds = (double)(clock_mono_ms() - self->commit_ms) / 1000;
    self->meta.shares = self->shares;
    /* From here on the round is applied, whatever happens; its deltas are of no more use. */
    state_publish(self->next, &self->meta, self->check);
    self->round_bytes.in = self->bytes_in - self->bytes_before.in;
    self->round_bytes.out = self->bytes_out - self->bytes_before.out;
    self->bytes_before.in = self->bytes_in;
    self->bytes_before.out = self->bytes_out;
    deltas_clear(self);
    past_end(self);
    shared_drop(&self->before[STATE_LATE - 1]);
    memmove(&self->before[1], &self->before[0], (STATE_LATE - 1) * sizeof *self->before);
    self->before[0] = self->now;
    self->now = self->next;
    self->next = NULL;
    if (self->now->in_memory)
        aggregator_degraded(self, "parameters and outer state", &self->disk.fault);
    else
        aggregator_healed(self);
    if (self->hold) keep_result(self);
    self->committing = false;
    tell_applied(self);
}

static void commit_slice(aggregator_t *self)
{
    err_t err = {0};
    for (int i = 0; i < AGGREGATOR_SLICE && self->at_chunk < self->n_chunk && !err.code; i++)
        if (step_next(self, self->at_chunk, &err) == 0) self->at_chunk++;
    if (err.code) {
        self->committing = false;
        drop_next(self);
        refuse(self, self->meta.round, err.text, &(refusal_t){0});
    } else if (self->at_chunk == self->n_chunk) {
        finish_commit(self);
    }
}

bool aggregator_busy(const aggregator_t *self)
{
    return self->committing || self->digests.n > 0 || objects_busy(self) || late_busy(self);
}

bool aggregator_work(aggregator_t *self)
{
    if (self->committing)
        commit_slice(self);
    else
        objects_work(self);
    if (!self->committing) late_work(self);
    if (!self->committing) digest_work(self);
    return aggregator_busy(self);
}

static void on_forget(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    aggregator_t *self = state;
    const Msg__Forget *forget = message->forget;
    uint64_t run = forget->run_hash ? forget->run_hash : self->assigned ? self->meta.run : 0;
    for (size_t i = 0; i < forget->n_objects; i++) objects_forget(self, run, forget->objects[i]);
    if (forget->all && forget->run_hash) objects_forget_run(self, forget->run_hash);
    for (size_t i = 0; i < forget->n_deleted; i++) objects_forget_run(self, forget->deleted[i]);
    if (forget->hold) shared_drop(&self->held);
}

const msg_route_t aggregator_routes[MSG_KIND_COUNT] = {
    MSG_ROUTE(ASSIGN, 4096, on_assign, MSG_FROM_SHEPHERD),
    MSG_ROUTE(FENCE, 1 << 20, on_fence, MSG_FROM_SHEPHERD),
    MSG_ROUTE(INSPECT, 96, on_inspect, MSG_FROM_SHEPHERD),
    MSG_ROUTE(COMMIT, 1 << 20, on_commit, MSG_FROM_SHEPHERD),
    MSG_ROUTE(FORGET, 1 << 20, on_forget, MSG_FROM_SHEPHERD),
};
