/* Rounds: when one may begin, what it waits for, when it is complete. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "shepherd/roster/members.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

size_t rounds_workers(const shepherd_t *self)
{
    size_t n = 0;
    for (size_t i = 0; i < self->roster.members.n; i++) {
        const member_row_t *row = &self->roster.members.at[i];
        n += row->kind == MSG__KIND__KIND_WORKER && !row->blame.refused &&
             plans_ready(&self->plans, row->target) != NULL;
    }
    return n;
}

/* Enough workers, or some and no more patience. What was begun already goes on with anybody. */
static bool may_begin(shepherd_t *self)
{
    size_t ready = rounds_workers(self);
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
              (long long)self->round.replicas, rounds_workers(self), self->round.number + 1,
              (long long)self->config->rounds, (long long)self->config->inner_steps);
    if (!opens) {
        rounds_check(self);
        return;
    }
    phase_change(&self->phase, PHASE_OPEN);
    self->round.awaits = RECORD_OPEN;
    records_write(self, records_open(self));
}

static void leases_missing(const shepherd_t *self, size_t workers, str_t *text)
{
    str_addf(text, "round %u of %zu workers:", self->round.number + 1, workers);
    for (int64_t k = 0; k < self->round.replicas; k++) {
        const work_t *lease = &self->round.lease[k];
        if (lease->state == WORK_OPEN)
            str_addf(text, " replica %lld (nobody has it)", (long long)k);
        if (lease->state == WORK_ISSUED)
            str_addf(text, " replica %lld on %s%s", (long long)k, lease->worker,
                     lease->lag ? " (late, of the round before)" : "");
    }
}

/* Several things may be missing. */
static str_t *next_of(str_t *text)
{
    if (text->n) str_add(text, "; ");
    return text;
}

static void evals_missing(const shepherd_t *self, str_t *text)
{
    if (self->round.eval.n)
        str_addf(next_of(text), "the validation of round %u:", self->round.number);
    for (size_t i = 0; i < self->round.eval.n; i++) {
        const work_t *part = &self->round.eval.at[i];
        const member_row_t *row = member_by_serial(&self->roster, part->holder);
        if (part->state == WORK_OPEN) str_addf(text, " part %zu (nobody has it)", i);
        if (part->state == WORK_ISSUED)
            str_addf(text, " part %zu on %s, for %.0f s", i, row ? row->id : "?",
                     (double)(self->now_ms - part->given_ms) / 1000);
    }
}

static void shards_missing(const shepherd_t *self, str_t *text)
{
    bool step = self->phase == PHASE_COMMIT;
    if (step) str_addf(text, "round %u:", self->round.number + 1);
    for (size_t i = 0; i < self->roster.members.n; i++) {
        const member_row_t *row = &self->roster.members.at[i];
        if (row->shard < 0 || row->answered) continue;
        str_addf(text, " the %s of shard %d on %s", step ? "outer step" : "range", row->shard,
                 row->id);
        if (*row->busy) str_addf(text, " (%s)", row->busy);
    }
}

static void what_is_missing(const shepherd_t *self, str_t *text)
{
    const shepherd_config_t *config = self->config;
    size_t workers = members_count(&self->roster, MSG__KIND__KIND_WORKER);
    if (self->records.lost) str_addf(text, "the store (%s)", self->records.fault);
    if (self->phase == PHASE_GATHER)
        str_addf(next_of(text), "aggregators: %zu of %lld%s",
                 members_count(&self->roster, MSG__KIND__KIND_AGGREGATOR),
                 (long long)config->shards, self->recovery.resumed ? " that hold the run" : "");
    if (self->phase == PHASE_COMPILE)
        str_addf(next_of(text), "a plan: %zu workers, %zu compilers", workers,
                 members_count(&self->roster, MSG__KIND__KIND_COMPILER));
    if (self->phase > PHASE_GATHER && self->shards.lost_ms)
        str_add(next_of(text), "a lost aggregator");
    if ((self->phase == PHASE_ASSIGN || self->phase == PHASE_COMMIT) && !self->shards.lost_ms)
        shards_missing(self, next_of(text));
    if (*self->bulk.waits) str_add(next_of(text), self->bulk.waits);
    for (size_t i = 0; i < self->roster.members.n; i++)
        if (*self->roster.members.at[i].waits)
            str_addf(next_of(text), "aggregator %s: %s", self->roster.members.at[i].id,
                     self->roster.members.at[i].waits);
    if (self->phase == PHASE_TRAIN && !self->round.started_ms)
        str_addf(next_of(text), "workers: %zu of %lld are ready", rounds_workers(self),
                 (long long)config->workers);
    if (self->phase == PHASE_TRAIN) evals_missing(self, text);
    if (self->phase == PHASE_TRAIN && self->round.started_ms && self->round.number < config->rounds)
        leases_missing(self, workers, next_of(text));
    if (self->phase == PHASE_TRAIN) blame_missing(&self->roster, self->now_ms, text);
    plans_missing(&self->plans, text);
}

void rounds_waiting(shepherd_t *self)
{
    enum { EVERY_MS = 10000 };
    int64_t since = self->round.begun_ms > self->round.waiting_ms ? self->round.begun_ms
                                                                  : self->round.waiting_ms;
    if (!since) self->round.waiting_ms = self->now_ms;
    if (!since || self->now_ms - since < EVERY_MS) return;
    self->round.waiting_ms = self->now_ms;
    str_t text = {0};
    what_is_missing(self, &text);
    if (text.n) log_event(LOG_INFO, "waiting", "for=\"%s\"", str_text(&text));
    if (text.n && self->round.opened && !self->records.lost) {
        record_t *record = record_new(RECORD_WAITS, self->round.number);
        record->text = mem_strdup(str_text(&text));
        records_write(self, record);
    }
    str_fini(&text);
}

void rounds_dispatch(shepherd_t *self)
{
    if (self->finished || self->phase == PHASE_DONE) return;
    plans_dispatch(self);
    rounds_begin(self);
    if (self->round.started_ms) work_dispatch(self);
}

static bool all_done(const work_t *work, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (work[i].state != WORK_DONE) return false;
    return true;
}

static bool validation_due(const shepherd_t *self)
{
    if (self->bulk.validation_tokens == 0 || self->round.number == 0) return false;
    int64_t every = self->config->validate_every;
    return self->round.number == self->config->rounds ||
           (every > 0 && self->round.number % every == 0);
}

void rounds_validate(shepherd_t *self)
{
    if (validation_due(self)) work_open_eval(self);
}

/* Of those behind the open round's beginning. */
static int64_t validations_left(const shepherd_t *self)
{
    int64_t every = self->config->validate_every, rounds = self->config->rounds;
    if (self->bulk.validation_tokens == 0 || self->round.number >= rounds) return 0;
    return 1 + (every > 0 ? (rounds - 1) / every - self->round.number / every : 0);
}

/* Tokens/s that workers train, without what they send and wait for; 0: unknown. Of the round that
 * has just ended, while its leases are there. */
double rounds_speed(const shepherd_t *self)
{
    double busy_s = 0, tokens = 0;
    size_t n = 0, most = rounds_workers(self);
    for (int64_t k = 0; k < self->round.replicas; k++) {
        const work_t *lease = &self->round.lease[k];
        if (lease->state != WORK_DONE || lease->compute_s <= 0) continue;
        busy_s += lease->compute_s;
        tokens += (double)lease->tokens;
        n++;
    }
    return busy_s > 0 ? tokens / busy_s * (double)(n < most ? n : most) : 0;
}

/* Before the first one: it takes a token a third of the time that training does. */
static double validation_s(const shepherd_t *self)
{
    if (self->progress.eval_ms) return (double)self->progress.eval_ms / 1000;
    uint64_t batches = layout_sample(&self->bulk.layout, self->bulk.validation_tokens,
                                     self->config->validate_tokens)
                           .batches;
    double speed = 3 * (self->progress.speed > 0 ? self->progress.speed
                                                 : self->progress.summary.tokens_per_s);
    return speed > 0 ? (double)(batches * self->bulk.layout.batch.tokens) / speed : 0;
}

double rounds_eta(const shepherd_t *self)
{
    double trained = (double)(self->now_ms - self->round.started_ms - self->progress.evaluated_ms) /
                     1000;
    uint32_t done = self->round.number - self->round.first;
    if (done == 0 || trained < 0) return 0;
    return trained / done * (double)(self->config->rounds - self->round.number) +
           validation_s(self) * (double)validations_left(self);
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

static void save(shepherd_t *self)
{
    phase_change(&self->phase, PHASE_SAVE);
    courier_job_t *job = checkpoint_job(self, COURIER_SAVE);
    checkpoint_ledger(&self->checkpoints, job);
    log_event(LOG_INFO, "saving", "round=%u", self->round.number);
    shepherd_start(self, job);
}

/* All leases are in; or those that were decided on; or by the run's policy enough of them. */
static bool closes(const shepherd_t *self)
{
    int64_t n = self->round.replicas, done = 0, out = 0, open = 0;
    for (int64_t k = 0; k < n; k++) {
        const work_t *lease = &self->round.lease[k];
        done += lease->state == WORK_DONE;
        out += lease->state == WORK_DROPPED;
        open += lease->decided && lease->state != WORK_DONE;
    }
    if (self->round.decided) return open == 0;
    if (done > 0 && done + out == n) return true;
    int64_t quorum = self->config->quorum;
    return quorum > 0 && done >= quorum &&
           (double)(self->now_ms - self->round.begun_ms) >= self->config->deadline_s * 1000;
}

void rounds_check(shepherd_t *self)
{
    if (self->phase != PHASE_TRAIN || !self->round.started_ms || !members_shards_here(self)) return;
    bool is_valid = all_done(self->round.eval.at, self->round.eval.n);
    if (self->progress.summary_waits && is_valid) validated(self);
    if (self->stopping && !self->round.decided) {
        save(self);
        return;
    }
    if (!is_valid) return;
    if (self->round.number >= self->config->rounds)
        save(self);
    else if (self->round.opened && closes(self))
        commit_decide(self);
}
