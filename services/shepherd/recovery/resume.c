/* Going on with a run that another shepherd began: its round, its decisions, its leases. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

/* The state in which the replica enters the next round. */
static const char *next_state(const store_lease_t *lease)
{
    return strcmp(lease->state, "committed") == 0 ? lease->state_out : lease->state_in;
}

static void take_target(work_t *lease, const store_lease_t *from)
{
    snprintf(lease->target, sizeof lease->target, "%.*s", MSG_ID_BYTES - 1, from->target);
}

static void load_lease(shepherd_t *self, const store_lease_t *from)
{
    work_t *lease = &self->round.lease[from->replica];
    *lease = (work_t){.fence = from->fence > self->round.fence_base ? from->fence
                                                                    : self->round.fence_base + 1,
                      .range = from->range,
                      .want = from->range.count,
                      .loss = from->loss,
                      .tokens = from->tokens,
                      .steps = from->steps,
                      .norm2 = from->norm2,
                      .compute_s = from->compute_s > 0 ? from->compute_s : 0,
                      .sent_bytes = -1,
                      .received_bytes = -1,
                      .download_s = -1,
                      .upload_s = -1};
    lease->decided = self->round.decided && from->decided_windows >= 0;
    lease->late = self->round.decided && from->late;
    lease->lag = from->lag;
    if (lease->decided) lease->want = (uint64_t)from->decided_windows; /* no more counts */
    memcpy(lease->state_in, from->state_in, HASH_HEX);
    memcpy(lease->state_out, from->state_out, HASH_HEX);
    snprintf(lease->worker, sizeof lease->worker, "%.*s", MSG_ID_BYTES - 1, from->worker);
    memcpy(lease->maker, lease->worker, sizeof lease->maker); /* most likely */
    if (strcmp(from->state, "issued") == 0) lease->state = WORK_ISSUED;
    if (strcmp(from->state, "done") == 0) lease->state = WORK_DONE;
    if (lease->state != WORK_OPEN) lease->fence = from->fence;
    lease->recorded = lease->state == WORK_DONE;
    lease->floor = from->fence;
    lease->adoptable = lease->state == WORK_OPEN || lease->state == WORK_ISSUED;
    if (lease->recorded) lease->done_windows = from->done_windows;
    if (lease->recorded && lease->decided) lease->done_windows = lease->want;
    if (self->round.decided && !lease->decided) lease->state = WORK_DROPPED;
    take_target(lease, from);
    lease->first_ms = lease->given_ms = lease->done_ms = self->now_ms;
    /* Should it be given again, it costs what was done since it was given first. */
    if (lease->state == WORK_ISSUED && from->issued_age_ms > 0)
        lease->first_ms = lease->given_ms = self->now_ms - from->issued_age_ms;
}

static void load_leases(shepherd_t *self)
{
    const store_leases_t *leases = &self->recovery.loaded.leases;
    for (size_t i = 0; i < leases->n; i++) {
        const store_lease_t *from = &leases->at[i];
        if (from->replica >= shepherd_most(self->config)) continue;
        if (self->round.opened) {
            load_lease(self, from);
            continue;
        }
        work_t *lease = &self->round.lease[from->replica];
        memcpy(lease->state_in, next_state(from), HASH_HEX);
        lease->late = from->late;
        lease->lag = from->late ? from->lag : 0; /* so far */
        lease->range = from->range;
        take_target(lease, from);
        snprintf(lease->worker, sizeof lease->worker, "%.*s", MSG_ID_BYTES - 1, from->worker);
        memcpy(lease->maker, lease->worker, sizeof lease->maker); /* most likely */
    }
}

static void load_round(shepherd_t *self)
{
    const store_round_t *round = &self->recovery.loaded.round;
    bool committed = strcmp(round->state, "committed") == 0;
    self->recovery.resumed = true;
    self->round.resumed_ms = self->now_ms;
    self->round.number = self->round.first = (uint32_t)round->round + committed;
    self->round.opened = !committed;
    self->round.decided = strcmp(round->state, "decided") == 0;
    /* never 0, which says that we opened it */
    if (self->round.opened) self->round.opened_ms = (self->now_ms - round->age_ms) | 1;
    self->ranges.cursor = (data_range_t){.epoch = round->cursor.epoch,
                                         .start = round->cursor.start};
    self->progress.has_val_loss = !isnan(self->recovery.loaded.validation_loss);
    if (self->progress.has_val_loss)
        self->progress.val_loss = self->recovery.loaded.validation_loss;
    replicas_resume(self, self->recovery.loaded.leases.n);
    load_leases(self);
    work_count(self);
}

static void load_objects(shepherd_t *self)
{
    const store_objects_t *o = &self->recovery.loaded.objects;
    if (!self->recovery.loaded.has_objects) return;
    memcpy(self->bulk.module_hash, o->module_hash, HASH_HEX);
    memcpy(self->bulk.train_hash, o->train_hash, HASH_HEX);
    memcpy(self->bulk.validation_hash, o->validation_hash, HASH_HEX);
    memcpy(self->bulk.tokenizer_hash, o->tokenizer_hash, HASH_HEX);
    self->bulk.train_tokens = o->train_tokens;
    self->bulk.validation_tokens = o->validation_tokens;
}

/* A run that has ended is not begun again. */
static bool is_over(shepherd_t *self, const store_run_t *run)
{
    bool done = strcmp(run->state, "done") == 0;
    if (!done && strcmp(run->state, "cancelled") != 0) return false;
    log_event(LOG_INFO, "run_over", "state=%s reason=\"%s\"", run->state, run->reason);
    shepherd_over(self, done, run->reason);
    return true;
}

/* The leader before us was on its way back to a checkpoint; or had just arrived, and the store,
 * which has not seen the rounds before, does not know with which inner states the next one begins.
 */
static void go_back(shepherd_t *self)
{
    bool blank = self->recovery.resumed && !self->round.opened && self->round.number > 0 &&
                 self->recovery.loaded.leases.n == 0;
    if (self->recovery.loaded.rewind)
        back_begin(self, self->recovery.loaded.rewind);
    else if (blank)
        back_begin(self, "the store does not know the inner states of the round before");
    if (self->recovery.loaded.rewind)
        self->recovery.from = (uint32_t)self->recovery.loaded.rewind_from;
}

void resume_run(shepherd_t *self, recorder_result_t *result)
{
    self->round.fence_base = recorder_fence(&result->leader);
    log_event(LOG_INFO, "leads", "run=%s term=%lld", result->leader.run,
              (long long)result->leader.fence);
    if (is_over(self, &result->run)) return;
    self->recovery.loaded = result->resume; /* taken */
    result->resume = (store_resume_t){0};
    self->progress.tokens = self->recovery.loaded.tokens;
    admission_load(&self->admission, &self->recovery.loaded.updates);
    phase_change(&self->phase, PHASE_GATHER);
    self->recovery.adopt_until_ms = self->now_ms + self->config->timeout_ms;
    replicas_load(&self->sizing, &self->recovery.loaded);
    load_objects(self);
    for (size_t i = 0; i < self->recovery.loaded.good.n; i++) {
        checkpoint_name_t name;
        memcpy(name.hash, self->recovery.loaded.good.at[i].hash, HASH_HEX);
        VEC_PUSH(&self->recovery.good, name);
    }
    if (self->recovery.loaded.has_round) load_round(self);
    if (self->recovery.resumed) self->recovery.led_ms = self->now_ms;
    if (self->recovery.resumed)
        records_happened(self, "take_over", result->leader.holder,
                         json_pack("{sIss}", "term", (json_int_t)result->leader.fence, "round_is",
                                   self->recovery.loaded.round.state));
    if (self->recovery.resumed)
        log_event(LOG_INFO, "resumed", "round=%u state=%s tokens=%llu", self->round.number + 1,
                  self->recovery.loaded.round.state, (unsigned long long)self->progress.tokens);
    go_back(self);
}

void resume_round(shepherd_t *self)
{
    uint64_t written = self->recovery.loaded.written;
    self->ranges.returned.n = 0;
    for (size_t i = 0; i < self->recovery.loaded.returned.n; i++)
        ranges_return(self, &self->recovery.loaded.returned.at[i]);
    store_resume_fini(&self->recovery.loaded);
    if (self->recovery.led_ms) self->round.outage_ms += self->now_ms - self->recovery.led_ms;
    self->recovery.led_ms = 0;
    for (size_t i = 0; i < self->roster.others.n; i++) {
        member_row_t *row = self->roster.others.at[i];
        if (row->shard < 0) continue;
        work_fences(self, row);
        admission_ask_again(self, row); /* of leases that were called done before it was here */
    }
    phase_change(&self->phase, PHASE_TRAIN);
    for (int64_t k = 0; k < self->round.replicas; k++) audits_begin(self, (uint32_t)k);
    if (self->round.number > written) samples_want(self); /* the leader before us may not have */
    if (!self->round.decided && !self->progress.has_val_loss) {
        rounds_validate(self);
        msg__round_stats__init(&self->progress.summary);
        self->progress.summary.round = self->round.number;
        self->progress.summary.rounds = (uint32_t)self->config->rounds;
        self->progress.summary.loss = self->recovery.loaded.loss;
        self->progress.summary.tokens = self->progress.tokens;
        self->progress.summary_waits = self->round.eval.n > 0;
    }
    if (self->round.decided) {
        self->round.started_ms = self->round.begun_ms = self->now_ms;
        rounds_check(self);
    }
}

/* --- Leases that outlived the shepherd who gave them --- */

static void take_back(shepherd_t *self, const member_row_t *row, const Msg__Holding *holding)
{
    Msg__Revoke revoke = MSG__REVOKE__INIT;
    revoke.round = holding->round;
    revoke.replica = holding->replica;
    revoke.fence = holding->fence;
    MSG_SEND(self->ports.out, &row->peer, 0, REVOKE, revoke, &revoke);
    log_event(LOG_INFO, "lease_revoked", "round=%u replica=%u fence=%u worker=%s", holding->round,
              holding->replica, holding->fence, row->id);
}

/* Given by a shepherd that led before us, and by nobody since. Its range is the store's, for a
 * round's leases are written before any is given; that this one was given may not have been
 * written. */
static bool may_keep(const shepherd_t *self, const member_row_t *row, const Msg__Holding *holding)
{
    if (holding->run_hash != self->run_hash || holding->round != self->round.number ||
        holding->replica >= self->round.replicas || !self->round.opened)
        return false;
    const work_t *lease = &self->round.lease[holding->replica];
    bool early = holding->fence <= self->round.fence_base; /* than all fences of our term */
    if (lease->state == WORK_ISSUED && lease->holder == 0)
        return holding->fence == lease->fence ? strcmp(lease->worker, row->id) == 0
                                              : early && holding->fence > lease->fence;
    early &= holding->fence > lease->floor;
    return lease->state == WORK_OPEN && lease->adoptable && early;
}

void resume_adopt(shepherd_t *self, const member_row_t *row, const Msg__Holding *holding)
{
    bool keeps = holding && may_keep(self, row, holding);
    if (holding && !keeps && !late_held(self, row, holding)) take_back(self, row, holding);
    if (keeps) {
        work_t *lease = &self->round.lease[holding->replica];
        bool known = lease->state == WORK_ISSUED && lease->fence == holding->fence &&
                     strcmp(lease->worker, row->id) == 0;
        work_move(self, lease, WORK_ISSUED, row->serial);
        work_home(self, lease, row->serial);
        lease->fence = holding->fence;
        snprintf(lease->worker, sizeof lease->worker, "%s", row->id);
        work_note_target(self, holding->replica, row);
        if (!known) records_issue(self, holding->replica);
        work_announce(self, holding->replica);
        log_event(LOG_INFO, "lease_kept", "round=%u replica=%u fence=%u worker=%s",
                  self->round.number, holding->replica, lease->fence, row->id);
    }
    /* What it had and does not speak of any more is lost. */
    for (int64_t k = 0; self->round.n_absent && k < self->round.replicas; k++) {
        const work_t *lease = &self->round.lease[k];
        if (lease->state == WORK_ISSUED && lease->holder == 0 &&
            strcmp(lease->worker, row->id) == 0)
            work_reopen(self, (uint32_t)k);
    }
}

void resume_expire(shepherd_t *self)
{
    if (!self->recovery.adopt_until_ms || self->now_ms < self->recovery.adopt_until_ms ||
        self->phase < PHASE_TRAIN)
        return;
    self->recovery.adopt_until_ms = 0;
    for (int64_t k = 0; k < self->round.replicas; k++)
        if (self->round.lease[k].state == WORK_ISSUED && self->round.lease[k].holder == 0)
            work_reopen(self, (uint32_t)k);
}
