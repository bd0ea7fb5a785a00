/* Rounds: when one may begin, what it waits for, when it is complete. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

/* Enough workers, or some and no more patience. What was begun already goes on with anybody. */
static bool may_begin(shepherd_t *self)
{
    size_t ready = plans_workers(&self->plans, &self->roster);
    if (self->recovery.resumed) return true;
    if (ready == 0) return false;
    if (self->recovery.reason) return true;
    if (!self->round.ready_ms) self->round.ready_ms = self->now_ms;
    return ready >= (size_t)self->config->workers ||
           self->now_ms - self->round.ready_ms >= self->config->workers_wait_s * 1000;
}

void rounds_begin(shepherd_t *self)
{
    if (self->phase != PHASE_TRAIN || self->round.started_ms || !may_begin(self)) return;
    self->round.started_ms = self->round.begun_ms = self->now_ms;
    bool opens = !self->round.opened && self->round.number < self->config->rounds;
    if (opens) work_open_round(self);
    log_event(LOG_INFO, "training",
              "replicas=%lld workers=%zu round=%u rounds=%lld inner_steps=%lld",
              (long long)self->round.replicas, plans_workers(&self->plans, &self->roster),
              self->round.number + 1, (long long)self->config->rounds,
              (long long)self->config->inner_steps);
    if (!opens) {
        rounds_check(self);
        return;
    }
    phase_change(&self->phase, PHASE_OPEN);
    self->round.awaits = RECORD_OPEN;
    records_write(self, records_open(self));
}

static void validated(shepherd_t *self)
{
    uint64_t tokens;
    if (self->round.eval.n) {
        self->progress.eval_ms = self->now_ms - self->progress.eval_begun_ms;
        self->progress.evaluated_ms += self->progress.eval_ms;
    }
    self->progress.summary.val_loss = round_loss(self->round.eval.at, self->round.eval.n, &tokens);
    self->progress.summary.has_val_loss = tokens > 0;
    self->progress.summary.val_tokens = tokens;
    self->round.eval.n = 0;
    work_count(self);
    self->round.begun_ms = self->now_ms; /* the round's own time begins after the validation */
    if (tokens > 0) {
        self->progress.val_loss = self->progress.summary.val_loss;
        self->progress.has_val_loss = true;
        record_t *record = record_new(RECORD_VALIDATION, self->round.number - 1);
        record->loss = self->progress.val_loss;
        records_write(self, record);
    }
    commit_summary(self);
}

void rounds_copied(shepherd_t *self)
{
    if (self->phase != PHASE_SAVE)
        checkpoint_start(self);
    else
        rounds_save(self);
}

/* What is not there yet calls again: copies, an aggregator that is away. */
void rounds_save(shepherd_t *self)
{
    if (self->bulk.busy || self->checkpoints.last || self->copies.n_left > 0 ||
        !members_shards_here(self))
        return;
    self->checkpoints.cut = false;
    courier_job_t *job = checkpoint_job(self, COURIER_SAVE);
    checkpoint_ledger(self, job);
    shepherd_start(self, job);
}

static void save(shepherd_t *self)
{
    phase_change(&self->phase, PHASE_SAVE);
    log_event(LOG_INFO, "saving", "round=%u", self->round.number);
    /* After a signal: what is done for the open round is void, and takes the time of what saves. */
    for (int64_t k = 0; k < self->round.replicas; k++) work_revoke(self, (uint32_t)k);
    self->checkpoints.last = self->checkpoints.busy &&
                             self->checkpoints.round == self->round.number;
    if (self->checkpoints.last) return;
    bool here = self->copies.last == self->round.number;
    if (checkpoint_copies(self) && !here) copies_begin(self);
    rounds_save(self);
}

/* All leases are in; or those that were decided on; or by the run's policy enough of them. */
static bool closes(const shepherd_t *self)
{
    const round_t *round = &self->round;
    int64_t done = round->n_lease[WORK_DONE], out = round->n_lease[WORK_DROPPED];
    if (self->audits.n_open > 0) return false;
    if (round->decided) {
        for (int64_t k = 0; k < round->replicas; k++)
            if (round->lease[k].decided && round->lease[k].state != WORK_DONE) return false;
        return true;
    }
    if (done > 0 && done + out == round->replicas) return true;
    int64_t quorum = self->config->quorum;
    return quorum > 0 && done >= quorum &&
           (double)(self->now_ms - round->begun_ms) >= self->config->deadline_s * 1000;
}

/* Validated, a round that closes, a run that ends: most messages find none of it. */
void rounds_check(shepherd_t *self)
{
    if (self->phase == PHASE_SAVE) rounds_save(self);
    if (self->phase != PHASE_TRAIN || !self->round.started_ms) return;
    bool is_valid = self->round.n_part[WORK_DONE] == self->round.eval.n;
    bool ends = self->round.number >= self->config->rounds;
    bool stops = self->stopping && !self->round.decided;
    bool summary = self->progress.summary_waits && is_valid;
    bool round = is_valid && !ends && self->round.opened && closes(self);
    if (!summary && !stops && !round && !(is_valid && ends)) return;
    if (!members_shards_here(self)) return;
    if (summary) validated(self);
    if (stops || (is_valid && ends && !samples_awaited(self)))
        save(self);
    else if (round)
        commit_decide(self);
}
