/* The end of a round: decided, committed by the shards, closed in the store; the next one opens. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/links.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

/* --- The decision --- */

void commit_decide(shepherd_t *self)
{
    for (int64_t k = 0; k < self->round.replicas; k++) {
        work_t *lease = &self->round.lease[k];
        if (lease->state == WORK_DONE || lease->state == WORK_DROPPED) continue;
        if (late_keep(self, (uint32_t)k)) continue;
        work_revoke(self, (uint32_t)k);
        rejection_t late = {(uint32_t)k, lease->fence, lease->worker, "late",
                            "the round closed without it"};
        records_reject(self, &late);
        work_move(self, lease, WORK_DROPPED, lease->holder);
    }
    phase_change(&self->phase, PHASE_DECIDE);
    records_write(self, records_decide(self));
}

void commit_send(shepherd_t *self, const member_row_t *only)
{
    size_t n = (size_t)self->round.replicas, n_share = 0;
    Msg__Share *share = mem_calloc(n, sizeof *share);
    Msg__Share **list = mem_calloc(n, sizeof *list);
    for (size_t k = 0; k < n; k++) {
        const work_t *lease = &self->round.lease[k];
        if (lease->state != WORK_DONE) continue;
        msg__share__init(&share[n_share]);
        share[n_share].replica = (uint32_t)k;
        share[n_share].fence = lease->fence;
        share[n_share].weight = ranges_steps(self, lease->done_windows);
        list[n_share] = &share[n_share];
        n_share++;
    }
    Msg__Commit commit = MSG__COMMIT__INIT;
    commit.round = self->round.number;
    commit.n_shares = n_share;
    commit.shares = list;
    if (!only) self->checkpoints.holding = checkpoint_hold(self);
    commit.hold = self->checkpoints.holding;
    commit.lag = late_longest(&self->round);
    for (size_t i = 0; i < self->roster.others.n; i++) {
        member_row_t *row = self->roster.others.at[i];
        if (row->shard < 0 || (only && row != only)) continue;
        row->answered = false;
        row->asked_ms = self->now_ms;
        MSG_SEND(self->ports.out, &row->peer, 0, COMMIT, commit, &commit);
    }
    free(share);
    free(list);
}

/* --- The next round --- */

/* Of the open round; where another leader opened it, since then by the store's clock. */
static double seconds_open(const shepherd_t *self)
{
    int64_t since = self->round.opened_ms ? self->round.opened_ms : self->round.begun_ms;
    return (double)(self->now_ms - since) / 1000;
}

static void summarise(shepherd_t *self)
{
    uint64_t tokens;
    double loss = round_loss(self->round.lease, (size_t)self->round.replicas, &tokens);
    double seconds = seconds_open(self);
    uint32_t rounds = (uint32_t)self->config->rounds;
    self->progress.tokens += tokens;
    self->progress.speed = rounds_speed(self);
    msg__round_stats__init(&self->progress.summary);
    self->progress.summary.round = self->round.number + 1;
    self->progress.summary.rounds = rounds;
    self->progress.summary.loss = loss;
    self->progress.summary.tokens = self->progress.tokens;
    self->progress.summary.seconds = seconds;
    self->progress.summary.tokens_per_s = seconds > 0 ? (double)tokens / seconds : 0;
    self->progress.summary_waits = true;
}

/* All shards have applied the decision: close the round, open the next. */
static void committed(shepherd_t *self)
{
    uint64_t tokens;
    double loss = round_loss(self->round.lease, (size_t)self->round.replicas, &tokens);
    record_t *commit = records_commit(self, loss, tokens), *open = NULL;
    admission_committed(&self->admission, &self->round);
    self->progress.bytes_in = self->progress.bytes_out = 0;
    summarise(self);
    links_tell(self);
    work_measure_copies(self);
    ranges_settle(self);
    for (int64_t k = 0; k < self->round.replicas; k++) {
        work_t *lease = &self->round.lease[k];
        if (lease->state != WORK_DONE) continue;
        checkpoint_forget_state(&self->checkpoints, lease->state_in);
        memcpy(lease->state_in, lease->state_out, HASH_HEX);
        memcpy(lease->maker, lease->worker, sizeof lease->maker);
    }
    self->round.number++;
    self->recovery.backs = 0;
    self->round.opened_ms = self->round.outage_ms = 0;
    self->round.decided = self->round.opened = false;
    phase_change(&self->phase, PHASE_OPEN);
    checkpoint_boundary(self, self->checkpoints.holding);
    self->round.awaits = RECORD_COMMIT;
    if (self->round.number < self->config->rounds) {
        work_open_round(self);
        open = records_open(self);
        self->round.awaits = RECORD_OPEN;
    }
    records_write(self, commit);
    if (open) records_write(self, open);
}

/* The store has closed the last round and opened this one, if there is another. */
static void opened(shepherd_t *self)
{
    self->round.opened = self->round.number < self->config->rounds;
    phase_change(&self->phase, PHASE_TRAIN);
    checkpoint_start(self);
    checkpoint_forget(self, false);
    samples_want(self);
    if (self->progress.summary_waits) {
        rounds_validate(self);
        if (self->round.eval.n == 0) commit_summary(self);
    }
    self->round.begun_ms = self->now_ms;
}

bool commit_recorded(shepherd_t *self, const recorder_result_t *result)
{
    if (result->kind == RECORD_DECIDE && self->phase == PHASE_DECIDE) {
        self->round.decided = true;
        for (int64_t k = 0; k < self->round.replicas; k++)
            self->round.lease[k].decided = self->round.lease[k].state == WORK_DONE;
        phase_change(&self->phase, PHASE_COMMIT);
        commit_send(self, NULL);
    }
    if (self->phase != PHASE_OPEN || result->kind != self->round.awaits) return false;
    opened(self);
    return true;
}

/* A shard has lost contributions (its power was cut): these leases are given again. */
static void give_again(shepherd_t *self, const member_row_t *row, const Msg__Committed *answer)
{
    log_event(LOG_WARN, "contributions_missing", "round=%u member=%s n=%zu", self->round.number,
              row->id, answer->n_missing);
    phase_change(&self->phase, PHASE_TRAIN);
    for (size_t i = 0; i < answer->n_missing; i++) {
        uint32_t k = answer->missing[i];
        if (k >= self->round.replicas || self->round.lease[k].state != WORK_DONE) continue;
        records_reopen(self, k);
        work_reopen(self, k);
    }
}

void on_committed(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__Committed *answer = message->committed;
    member_row_t *row = member_by_peer(&self->roster, from);
    if (!row || row->shard < 0 || (uint32_t)row->shard != answer->shard ||
        self->phase != PHASE_COMMIT || answer->round != self->round.number) {
        log_event(LOG_WARN, "answer_ignored", "member=%s shard=%u round=%u", row ? row->id : "?",
                  answer->shard, answer->round);
        return;
    }
    if (*answer->error && answer->n_missing > 0) {
        give_again(self, row, answer);
        return;
    }
    if (*answer->error && answer->busy) {
        shards_busy(row, answer->error);
        return;
    }
    if (*answer->error) {
        shepherd_fail(self, "round %u: aggregator %s: %s", self->round.number + 1, row->id,
                      answer->error);
        return;
    }
    if (!row->answered) {
        self->progress.bytes_in += answer->bytes_in;
        self->progress.bytes_out += answer->bytes_out;
    }
    row->answered = true;
    *row->busy = '\0';
    row->held.round = self->round.number + 1;
    if (members_shards_here(self) && members_answered(&self->roster)) committed(self);
}
