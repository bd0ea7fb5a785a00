/* Rounds: when one may begin, when it is complete, its commit and its summary. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "shepherd/shepherd.h"

static size_t ready_workers(const shepherd_t *self)
{
    size_t n = 0;
    for (size_t i = 0; i < self->members.n; i++) {
        const member_row_t *row = &self->members.at[i];
        n += row->kind == MSG__KIND__KIND_WORKER && plans_ready(self, row->target) != NULL;
    }
    return n;
}

/* Enough workers, or some and no more patience. */
static bool may_begin(shepherd_t *self)
{
    size_t ready = ready_workers(self);
    if (ready == 0) return false;
    if (!self->ready_ms) self->ready_ms = self->now_ms;
    return ready >= (size_t)self->config->workers ||
           self->now_ms - self->ready_ms >= self->config->workers_wait_s * 1000;
}

void rounds_begin(shepherd_t *self)
{
    if (self->phase != PHASE_TRAIN || self->started_ms || !may_begin(self)) return;
    self->started_ms = self->now_ms;
    work_open_round(self);
    log_event(LOG_INFO, "training", "replicas=%lld workers=%zu rounds=%lld inner_steps=%lld",
              (long long)self->config->replicas, ready_workers(self),
              (long long)self->config->rounds, (long long)self->config->inner_steps);
}

static void what_is_missing(const shepherd_t *self, str_t *text)
{
    const shepherd_config_t *config = self->config;
    size_t workers = members_count(self, MSG__KIND__KIND_WORKER);
    if (self->phase == PHASE_GATHER)
        str_addf(text, "aggregators: %zu of %lld", members_count(self, MSG__KIND__KIND_AGGREGATOR),
                 (long long)config->shards);
    if (self->phase == PHASE_COMPILE)
        str_addf(text, "a plan: %zu workers, %zu compilers", workers,
                 members_count(self, MSG__KIND__KIND_COMPILER));
    if (self->phase == PHASE_TRAIN && !self->started_ms)
        str_addf(text, "workers: %zu of %lld are ready", ready_workers(self),
                 (long long)config->workers);
    if (self->phase != PHASE_TRAIN || !self->started_ms) return;
    str_addf(text, "round %u of %zu workers:", self->round + 1, workers);
    for (int64_t k = 0; k < config->replicas; k++)
        if (self->lease[k].state != WORK_DONE)
            str_addf(text, " replica %lld%s", (long long)k,
                     self->lease[k].state == WORK_OPEN ? " (nobody has it)" : "");
}

void rounds_waiting(shepherd_t *self)
{
    enum { EVERY_MS = 10000 };
    int64_t since = self->round_ms > self->waiting_ms ? self->round_ms : self->waiting_ms;
    if (!since) self->waiting_ms = self->now_ms;
    if (!since || self->now_ms - since < EVERY_MS) return;
    self->waiting_ms = self->now_ms;
    str_t text = {0};
    what_is_missing(self, &text);
    if (text.n) log_event(LOG_INFO, "waiting", "for=\"%s\"", str_text(&text));
    str_fini(&text);
}

void rounds_dispatch(shepherd_t *self)
{
    plans_dispatch(self);
    rounds_begin(self);
    if (self->started_ms) work_dispatch(self);
}

static bool all_done(const work_t *work, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (work[i].state != WORK_DONE) return false;
    return true;
}

/* Token-weighted mean loss of finished work. */
static double mean_loss(const work_t *work, size_t n, uint64_t *tokens)
{
    double sum = 0;
    *tokens = 0;
    for (size_t i = 0; i < n; i++) {
        sum += work[i].loss * (double)work[i].tokens;
        *tokens += work[i].tokens;
    }
    return *tokens ? sum / (double)*tokens : 0;
}

void rounds_summary(shepherd_t *self)
{
    Msg__RoundStats *s = &self->summary;
    self->summary_waits = false;
    s->workers = (uint32_t)ready_workers(self);
    char validation[48] = "";
    if (s->has_val_loss) snprintf(validation, sizeof validation, " val_loss=%.4f", s->val_loss);
    log_event(LOG_INFO, "round", "round=%u rounds=%u loss=%.4f%s tokens_per_s=%.0f workers=%u",
              s->round, s->rounds, s->loss, validation, s->tokens_per_s, s->workers);
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_ROUND;
    event.round = s;
    shepherd_tell(self, &event);
}

static void save(shepherd_t *self)
{
    self->phase = PHASE_SAVE;
    char **endpoints = members_endpoints(self);
    courier_job_t *job = courier_job_new(COURIER_SAVE, endpoints, self->layout.n_shard);
    free(endpoints);
    job->run_hash = self->run_hash;
    job->round = self->round;
    job->tokens = self->tokens;
    job->loss = self->summary.loss;
    job->validation = self->has_val_loss ? self->val_loss : NAN;
    memcpy(job->module_hash, self->module_hash, HASH_HEX);
    layout_copy(&self->layout, &job->layout);
    log_event(LOG_INFO, "saving", "round=%u", self->round);
    self->start(self->user, job);
}

static void commit(shepherd_t *self)
{
    size_t n = (size_t)self->config->replicas;
    Msg__Share *share = mem_calloc(n, sizeof *share);
    Msg__Share **list = mem_calloc(n, sizeof *list);
    for (size_t k = 0; k < n; k++) {
        msg__share__init(&share[k]);
        share[k].replica = (uint32_t)k;
        share[k].fence = self->lease[k].fence;
        share[k].weight = (uint64_t)self->config->inner_steps;
        list[k] = &share[k];
    }
    Msg__Commit commit = MSG__COMMIT__INIT;
    commit.round = self->round;
    commit.n_shares = n;
    commit.shares = list;
    self->phase = PHASE_COMMIT;
    for (size_t i = 0; i < self->members.n; i++) {
        if (self->members.at[i].shard < 0) continue;
        self->members.at[i].answered = false;
        MSG_SEND(self->out, &self->members.at[i].peer, 0, COMMIT, commit, &commit);
    }
    free(share);
    free(list);
}

void rounds_check(shepherd_t *self)
{
    if (self->phase != PHASE_TRAIN || !self->started_ms) return;
    bool validated = all_done(self->eval.at, self->eval.n);
    if (self->summary_waits && validated) {
        uint64_t tokens;
        self->summary.val_loss = mean_loss(self->eval.at, self->eval.n, &tokens);
        self->summary.has_val_loss = tokens > 0;
        self->val_loss = self->summary.val_loss;
        self->has_val_loss = tokens > 0;
        self->eval.n = 0;
        self->round_ms = self->now_ms; /* the round's own time begins after the validation */
        rounds_summary(self);
    }
    if (self->stopping) {
        save(self);
        return;
    }
    if (!validated) return;
    if (self->round >= self->config->rounds)
        save(self);
    else if (all_done(self->lease, (size_t)self->config->replicas))
        commit(self);
}

static bool validation_due(const shepherd_t *self)
{
    if (self->validation_tokens == 0) return false;
    int64_t every = self->config->validate_every;
    return self->round == self->config->rounds || (every > 0 && self->round % every == 0);
}

void rounds_committed(shepherd_t *self)
{
    uint64_t tokens;
    double loss = mean_loss(self->lease, (size_t)self->config->replicas, &tokens);
    double seconds = (double)(self->now_ms - self->round_ms) / 1000;
    double whole = (double)(self->now_ms - self->started_ms) / 1000;
    self->tokens += tokens;
    self->cursor += work_windows(self) * (uint64_t)self->config->replicas;
    self->round++;
    uint32_t rounds = (uint32_t)self->config->rounds;
    msg__round_stats__init(&self->summary);
    self->summary.round = self->round;
    self->summary.rounds = rounds;
    self->summary.loss = loss;
    self->summary.tokens = self->tokens;
    self->summary.seconds = seconds;
    self->summary.tokens_per_s = seconds > 0 ? (double)tokens / seconds : 0;
    self->summary.eta_s = whole / self->round * (rounds - self->round);
    self->phase = PHASE_TRAIN;
    self->summary_waits = true;
    if (validation_due(self)) work_open_eval(self);
    if (self->round < rounds) work_open_round(self);
    if (self->eval.n == 0) rounds_summary(self);
    rounds_check(self);
}

/* Mark an aggregator's answer; true when it was the last that was missing. */
static bool last_answer(shepherd_t *self, member_row_t *row)
{
    row->answered = true;
    for (size_t i = 0; i < self->members.n; i++)
        if (self->members.at[i].shard >= 0 && !self->members.at[i].answered) return false;
    return true;
}

static member_row_t *owner(shepherd_t *self, const msg_peer_t *from, uint32_t shard, phase_t phase)
{
    member_row_t *row = member_heard(self, from);
    if (row && row->shard >= 0 && (uint32_t)row->shard == shard && self->phase == phase) return row;
    log_event(LOG_WARN, "answer_ignored", "member=%s shard=%u", row ? row->id : "?", shard);
    return NULL;
}

void on_assigned(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    member_row_t *row = owner(self, from, message->assigned->shard, PHASE_ASSIGN);
    if (!row) return;
    if (*message->assigned->error) {
        shepherd_fail(self, "aggregator %s: %s", row->id, message->assigned->error);
        return;
    }
    if (!last_answer(self, row)) return;
    self->phase = PHASE_INIT;
    char **endpoints = members_endpoints(self);
    courier_job_t *job = courier_job_new(COURIER_INIT, endpoints, self->layout.n_shard);
    free(endpoints);
    job->run_hash = self->run_hash;
    job->round = self->round;
    layout_copy(&self->layout, &job->layout);
    self->start(self->user, job);
}

void on_committed(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__Committed *done = message->committed;
    member_row_t *row = owner(self, from, done->shard, PHASE_COMMIT);
    if (!row) return;
    if (*done->error || done->round != self->round) {
        shepherd_fail(self, "round %u: aggregator %s: %s", self->round + 1, row->id,
                      *done->error ? done->error : "committed another round");
        return;
    }
    if (last_answer(self, row)) rounds_committed(self);
}
