/* Work for workers: leases of replicas and parts of a validation, opened, given, taken back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

bool work_free(const shepherd_t *self, const member_row_t *row)
{
    return row->credit > 0 && !blame_rests(row, self->now_ms) && work_ready(self, row);
}

void work_open_round(shepherd_t *self)
{
    for (int64_t k = 0; k < self->round.replicas; k++) {
        work_t *lease = &self->round.lease[k];
        work_t next = {.home = lease->home, .fence = self->round.fence_base + 1};
        if (lease->fence > self->round.fence_top) self->round.fence_top = lease->fence;
        memcpy(next.state_in, lease->state_in, HASH_HEX);
        memcpy(next.target, lease->target, sizeof next.target);
        *lease = lease->late ? late_next(lease, next) : next;
    }
    audits_open(self);
    replicas_decide(self);
    self->round.refused.n = 0; /* no worker has refused a lease of it */
    work_settle(self);
    ranges_plan(self);
    self->round.begun_ms = self->now_ms;
}

/* In parts that do not depend on who is there, so that the mean does not either; small enough for
 * unequal workers to end at about the same time. */
void work_open_eval(shepherd_t *self)
{
    enum { PARTS = 32 };
    uint64_t batches = layout_sample(&self->bulk.layout, self->bulk.validation_tokens,
                                     self->config->validate_tokens)
                           .batches;
    size_t parts = batches < PARTS ? (size_t)batches : PARTS;
    self->progress.eval_begun_ms = self->now_ms;
    self->round.eval.n = 0;
    for (size_t i = 0; i < parts; i++) {
        uint64_t begin = batches * i / parts, end = batches * (i + 1) / parts;
        work_t part = {.begin = begin, .n = end - begin, .fence = 1};
        VEC_PUSH(&self->round.eval, part);
    }
    work_count(self);
}

static void send_fence(shepherd_t *self, const member_row_t *aggregator, uint32_t replica)
{
    Msg__Fence fence = MSG__FENCE__INIT;
    fence.round = self->round.number;
    fence.replica = replica;
    fence.fence = self->round.lease[replica].fence;
    MSG_SEND(self->ports.out, &aggregator->peer, 0, FENCE, fence, &fence);
}

void work_fences(shepherd_t *self, const member_row_t *aggregator)
{
    for (int64_t k = 0; self->round.opened && k < self->round.replicas; k++)
        if (!self->round.lease[k].adoptable || self->round.lease[k].state != WORK_OPEN)
            send_fence(self, aggregator, (uint32_t)k);
}

void work_revoke(shepherd_t *self, uint32_t replica)
{
    const work_t *lease = &self->round.lease[replica];
    const member_row_t *row = lease->state == WORK_ISSUED
                                  ? member_by_serial(&self->roster, lease->holder)
                                  : NULL;
    if (!row) return;
    Msg__Revoke revoke = MSG__REVOKE__INIT;
    revoke.round = self->round.number;
    revoke.replica = replica;
    revoke.fence = lease->fence;
    MSG_SEND(self->ports.out, &row->peer, 0, REVOKE, revoke, &revoke);
}

/* Raise the fence, and have the aggregators refuse what comes under the old one. */
void work_reopen(shepherd_t *self, uint32_t replica)
{
    work_t *lease = &self->round.lease[replica];
    work_revoke(self, replica);
    work_move(self, lease, WORK_OPEN, 0);
    lease->done_windows = 0;
    lease->recorded = lease->adoptable = lease->timed = false;
    lease->reopened_ms = self->now_ms;
    lease->fence = (lease->fence > self->round.fence_base ? lease->fence : self->round.fence_base) +
                   1;
    for (size_t i = 0; i < self->roster.others.n; i++)
        if (self->roster.others.at[i]->shard >= 0)
            send_fence(self, self->roster.others.at[i], replica);
    log_event(LOG_WARN, "lease_reopened", "round=%u replica=%u fence=%u", self->round.number,
              replica, lease->fence);
}

void work_reopen_eval(shepherd_t *self, work_t *part)
{
    work_move(self, part, WORK_OPEN, 0);
    part->fence++;
}

void work_again(shepherd_t *self, uint32_t replica)
{
    work_t *lease = &self->round.lease[replica];
    uint32_t holder = lease->holder;
    if (++lease->failures > 1) lease->avoid = holder;
    work_reopen(self, replica);
    if (lease->avoid && lease->home == holder && plans_workers(&self->plans, &self->roster) > 1)
        work_home(self, lease, work_spare(self, lease, holder));
}

void work_again_eval(shepherd_t *self, work_t *part)
{
    if (++part->failures > 1) part->avoid = part->holder;
    work_reopen_eval(self, part);
}

/* Whoever holds a lease is its home. */
void work_release(shepherd_t *self, const member_row_t *holder)
{
    uint32_t serial = holder->serial;
    audits_release(self, serial);
    for (size_t i = 0; i < self->round.eval.n; i++) {
        work_t *part = &self->round.eval.at[i];
        if (part->state == WORK_ISSUED && part->holder == serial) work_reopen_eval(self, part);
    }
    for (uint32_t at = holder->homes, next; at; at = next) {
        work_t *lease = &self->round.lease[at - 1];
        next = lease->next;
        work_home(self, lease, work_spare(self, lease, serial));
        if (lease->state == WORK_ISSUED && lease->holder == serial) work_reopen(self, at - 1);
    }
}

void work_gone(shepherd_t *self, const char *worker)
{
    for (int64_t k = 0; self->round.n_absent && k < self->round.replicas; k++) {
        const work_t *lease = &self->round.lease[k];
        if (lease->state == WORK_ISSUED && lease->holder == 0 && strcmp(lease->worker, worker) == 0)
            work_reopen(self, (uint32_t)k);
    }
}

static void fill_tokens(const shepherd_t *self, bool training, Msg__TokenSource *tokens)
{
    tokens->object = (char *)(training ? self->bulk.train_hash : self->bulk.validation_hash);
    tokens->n_tokens = training ? self->bulk.train_tokens : self->bulk.validation_tokens;
    tokens->layout = self->config->layout;
    tokens->shuffle = training && self->config->shuffle;
    tokens->block = training ? (uint64_t)self->config->shuffle_block : 0;
    tokens->seed = (uint64_t)self->config->seed;
    tokens->vocab = (uint32_t)self->config->vocab;
}

static void fill_schedule(const shepherd_t *self, Msg__Schedule *schedule)
{
    const shepherd_config_t *config = self->config;
    schedule->kind = config->schedule;
    schedule->lr = config->lr;
    schedule->min_lr = config->min_lr;
    schedule->warmup = (uint64_t)config->warmup;
    schedule->total_steps = (uint64_t)config->rounds * (uint64_t)config->inner_steps;
    schedule->decay_fraction = config->decay_fraction;
}

static void issued(shepherd_t *self, work_t *work, member_row_t *worker)
{
    work_move(self, work, WORK_ISSUED, worker->serial);
    work->given_ms = self->now_ms;
    if (worker->credit) worker->credit--; /* none: it goes on with what it has (late.c) */
    worker->issued_ms = self->now_ms;
    worker->issued_beat = worker->beat;
}

Msg__StateKeep work_keep_state(const shepherd_t *self)
{
    const char *word = self->config->keep_state;
    bool others = self->config->audit > 0; /* they begin with it, too */
    if (strcmp(word, "object") == 0 || others || checkpoint_wants_objects(self))
        return MSG__STATE_KEEP__STATE_OBJECT;
    return strcmp(word, "local") == 0 ? MSG__STATE_KEEP__STATE_LOCAL
                                      : MSG__STATE_KEEP__STATE_MEMORY;
}

/* Of how many updates the next round's parameters are made, for who fetches them while these arrive; nobody
 * begins with those behind the last round. */
static uint32_t ahead(const shepherd_t *self)
{
    bool last = self->round.number + 1 >= self->config->rounds;
    return self->shards.ahead && !last ? (uint32_t)self->round.replicas : 0;
}

/* Its range and what it begins with are the store's. */
static void fill_lease(const shepherd_t *self, uint32_t replica, Msg__Lease *lease)
{
    const work_t *work = &self->round.lease[replica];
    lease->round = self->round.number;
    lease->replica = replica;
    lease->fence = work->fence;
    lease->epoch = work->range.epoch;
    lease->start = work->range.start;
    lease->count = work->want;
    lease->inner_steps = ranges_steps(self, work->want);
    lease->weight = lease->inner_steps;
    lease->lag = work->lag;
    lease->step_base = (uint64_t)(self->round.number - work->lag) *
                       (uint64_t)self->config->inner_steps;
    lease->state = (char *)work->state_in;
    lease->keep_state = work_keep_state(self);
    lease->codec = self->codec;
    lease->down_codec = self->down_codec;
    lease->ahead = ahead(self);
    lease->run_hash = self->run_hash;
}

static void send_lease(shepherd_t *self, Msg__Lease *lease, const member_row_t *worker,
                       char **endpoints)
{
    Msg__TokenSource tokens = MSG__TOKEN_SOURCE__INIT;
    Msg__Schedule schedule = MSG__SCHEDULE__INIT;
    fill_tokens(self, true, &tokens);
    fill_schedule(self, &schedule);
    lease->schedule = &schedule;
    lease->plan = (char *)plans_ready(&self->plans, worker->target);
    lease->seal = (char *)plans_seal(&self->plans, worker->target);
    lease->data = endpoints;
    lease->n_data = self->bulk.layout.n_shard;
    lease->bounds = self->bulk.layout.bounds;
    lease->n_bounds = self->bulk.layout.n_shard + 1;
    lease->tokens = &tokens;
    MSG_SEND(self->ports.out, &worker->peer, 0, LEASE, lease, lease);
    log_event(LOG_DEBUG, "lease", "round=%u replica=%u fence=%u audit=%d worker=%s", lease->round,
              lease->replica, lease->fence, lease->audit, worker->id);
}

/* The part of its range that was trained, and nothing of it counts. */
void work_give_audit(shepherd_t *self, uint32_t replica, member_row_t *worker, char **endpoints)
{
    const work_t *work = &self->round.lease[replica];
    Msg__Lease lease = MSG__LEASE__INIT;
    fill_lease(self, replica, &lease);
    lease.audit = true;
    lease.count = work->done_windows;
    lease.inner_steps = ranges_steps(self, work->done_windows);
    lease.weight = lease.inner_steps;
    if (worker->credit) worker->credit--;
    worker->issued_ms = self->now_ms;
    send_lease(self, &lease, worker, endpoints);
}

static void give_lease(shepherd_t *self, uint32_t replica, member_row_t *worker, char **endpoints)
{
    work_t *work = &self->round.lease[replica];
    Msg__Lease lease = MSG__LEASE__INIT;
    fill_lease(self, replica, &lease);
    work_home(self, work, worker->serial);
    work->adoptable = work->carry = false;
    work->timed = work->lag == 0; /* a late one may be half done */
    if (!work->first_ms) work->first_ms = self->now_ms;
    snprintf(work->worker, sizeof work->worker, "%s", worker->id);
    work_note_target(self, replica, worker);
    issued(self, work, worker);
    records_issue(self, replica);
    send_lease(self, &lease, worker, endpoints);
}

static void give_eval(shepherd_t *self, uint32_t part, member_row_t *worker, char **endpoints)
{
    Msg__TokenSource tokens = MSG__TOKEN_SOURCE__INIT;
    Msg__Eval eval = MSG__EVAL__INIT;
    fill_tokens(self, false, &tokens);
    tokens.shuffle = layout_sample(&self->bulk.layout, self->bulk.validation_tokens,
                                   self->config->validate_tokens)
                         .sampled;
    if (tokens.shuffle) tokens.seed = BATCH_SAMPLE_SEED;
    eval.round = self->round.number;
    eval.part = part;
    eval.fence = self->round.eval.at[part].fence;
    eval.first_batch = self->round.eval.at[part].begin;
    eval.n_batch = self->round.eval.at[part].n;
    eval.plan = (char *)plans_ready(&self->plans, worker->target);
    eval.seal = (char *)plans_seal(&self->plans, worker->target);
    eval.data = endpoints;
    eval.n_data = self->bulk.layout.n_shard;
    eval.bounds = self->bulk.layout.bounds;
    eval.n_bounds = self->bulk.layout.n_shard + 1;
    eval.tokens = &tokens;
    eval.run_hash = self->run_hash;
    eval.down_codec = self->down_codec;
    issued(self, &self->round.eval.at[part], worker);
    MSG_SEND(self->ports.out, &worker->peer, 0, EVAL, eval, &eval);
}

/* The first from there on who is free, but not the one to be avoided while there is another to be
 * waited for; members.n: nobody. */
static size_t taker(const shepherd_t *self, const work_t *work, size_t first)
{
    size_t m = first;
    while (m < self->roster.members.n && !(work_free(self, self->roster.members.at[m]) &&
                                           self->roster.members.at[m]->serial != work->avoid))
        m++;
    if (m < self->roster.members.n || !work->avoid ||
        plans_workers(&self->plans, &self->roster) > 1)
        return m;
    return first;
}

/* Parts of a validation, to whoever has credit; true when some are left. */
static bool give_evals(shepherd_t *self, char **endpoints)
{
    size_t first = 0;
    for (size_t i = 0; i < self->round.eval.n; i++) {
        if (self->round.eval.at[i].state != WORK_OPEN) continue;
        while (first < self->roster.members.n && !work_free(self, self->roster.members.at[first]))
            first++;
        size_t m = taker(self, &self->round.eval.at[i], first);
        if (m == self->roster.members.n) return true;
        give_eval(self, (uint32_t)i, self->roster.members.at[m], endpoints);
    }
    return false;
}

/* Late leases, to those who have them in hand under the round before, credit or not. One who is not
 * here is waited for as long as workers may come back to a new leader. */
static void give_late(shepherd_t *self, char **endpoints)
{
    for (int64_t k = 0; self->round.opened && k < self->round.replicas; k++) {
        work_t *lease = &self->round.lease[k];
        if (!lease->carry || lease->state != WORK_OPEN) continue;
        member_row_t *row = member_by_id(&self->roster, lease->worker);
        if (row && work_ready(self, row))
            give_lease(self, (uint32_t)k, row, endpoints);
        else
            lease->carry = self->now_ms < self->recovery.adopt_until_ms;
    }
}

/* Each replica to its home; the number that have none. */
static size_t give_homes(shepherd_t *self, char **endpoints)
{
    size_t homeless = 0;
    for (int64_t k = self->round.replicas; k-- > 0;) {
        const work_t *lease = &self->round.lease[k];
        if (lease->state != WORK_OPEN || lease->carry) continue;
        homeless += lease->home == 0;
        member_row_t *row = lease->home ? member_by_serial(&self->roster, lease->home) : NULL;
        if (row && work_free(self, row)) give_lease(self, (uint32_t)k, row, endpoints);
    }
    return homeless;
}

static bool may_take(const shepherd_t *self, uint32_t replica, const member_row_t *row)
{
    return work_free(self, row) && !round_refused(&self->round, replica, row->serial) &&
           work_suits(self, &self->round.lease[replica], row);
}

/* Those whose worker is gone, to whoever has credit left and may have the inner state. */
static void give_homeless(shepherd_t *self, char **endpoints)
{
    const work_t *left = NULL; /* one that suits nobody: nor do those like it */
    size_t first = 0;
    for (int64_t k = 0; k < self->round.replicas; k++) {
        const work_t *lease = &self->round.lease[k];
        if (lease->state != WORK_OPEN || lease->carry || lease->home) continue;
        if (left && !self->round.refused.n && !lease->avoid &&
            lease->reopened_ms >= left->reopened_ms && strcmp(lease->target, left->target) == 0)
            continue;
        while (first < self->roster.members.n && !work_free(self, self->roster.members.at[first]))
            first++;
        if (first == self->roster.members.n) return;
        size_t m = taker(self, lease, first);
        while (m < self->roster.members.n &&
               !may_take(self, (uint32_t)k, self->roster.members.at[m]))
            m++;
        if (m < self->roster.members.n)
            give_lease(self, (uint32_t)k, self->roster.members.at[m], endpoints);
        else if (!lease->avoid)
            left = lease;
    }
}

static bool any_open(const shepherd_t *self)
{
    const round_t *round = &self->round;
    return round->n_part[WORK_OPEN] > 0 || (round->opened && round->n_lease[WORK_OPEN] > 0) ||
           self->audits.n_open > 0;
}

static bool gives_leases(const shepherd_t *self)
{
    return self->round.opened && self->round.number < self->config->rounds;
}

static void give_all(shepherd_t *self, char **endpoints)
{
    give_late(self, endpoints);
    bool evals = give_evals(self, endpoints);
    if (!evals && gives_leases(self) && give_homes(self, endpoints) > 0)
        give_homeless(self, endpoints);
}

static void give_parts_to(shepherd_t *self, member_row_t *row, char **endpoints)
{
    bool alone = plans_workers(&self->plans, &self->roster) <= 1;
    for (size_t i = 0; self->round.n_part[WORK_OPEN] > 0 && i < self->round.eval.n; i++) {
        const work_t *part = &self->round.eval.at[i];
        if (part->state != WORK_OPEN || !work_free(self, row)) continue;
        if (part->avoid != row->serial || alone) give_eval(self, (uint32_t)i, row, endpoints);
    }
}

/* The leases of one home, or those without: `first` and those linked to it. */
static void give_leases_to(shepherd_t *self, member_row_t *row, uint32_t first, char **endpoints)
{
    for (uint32_t at = first, next; at && work_free(self, row); at = next) {
        const work_t *lease = &self->round.lease[at - 1];
        next = lease->next;
        if (lease->state != WORK_OPEN || lease->carry) continue;
        bool fits = lease->home ? lease->home == row->serial
                                : lease->avoid != row->serial && may_take(self, at - 1, row);
        if (fits) give_lease(self, at - 1, row, endpoints);
    }
}

static void give_to(shepherd_t *self, member_row_t *row, char **endpoints)
{
    give_parts_to(self, row, endpoints);
    if (self->round.n_part[WORK_OPEN] > 0 || !gives_leases(self)) return;
    give_leases_to(self, row, row->homes, endpoints);
    give_leases_to(self, row, self->round.homeless, endpoints);
}

void work_asks(shepherd_t *self, const member_row_t *worker)
{
    VEC_PUSH(&self->round.asked, worker->serial);
}

/* Between two rounds most messages find nothing to give: then this looks at no lease. */
void work_dispatch(shepherd_t *self)
{
    round_t *round = &self->round;
    if (self->phase != PHASE_TRAIN || self->stopping || !any_open(self) ||
        !members_shards_here(self)) {
        round->stirred = true; /* whenever it may be given, everybody may be whom it is given to */
        round->asked.n = 0;
        return;
    }
    char **endpoints = members_endpoints(&self->roster, (size_t)self->config->aggregators);
    self->shards.ahead = members_ahead(&self->roster);
    if (round->stirred) give_all(self, endpoints);
    for (size_t i = 0; !round->stirred && i < round->asked.n; i++) {
        member_row_t *row = member_by_serial(&self->roster, round->asked.at[i]);
        if (row && work_free(self, row)) give_to(self, row, endpoints);
    }
    if (gives_leases(self)) audits_give(self, endpoints); /* to who has nothing else to do */
    round->stirred = false;
    round->asked.n = 0;
    free(endpoints);
}
