/* Checkpoints while training goes on. When a round's result is due, its
 * COMMIT tells the shards to hold it; the courier reads it from there while the next round trains.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/bulk/at_hand.h"
#include "shepherd/shepherd.h"

/* An operator waits for it: the commit of a round may be out already, or a checkpoint still being written, so that it is
 * due until one is held. */
static bool is_asked(const shepherd_t *self, uint32_t round)
{
    return self->checkpoints.at > 0 && round >= self->checkpoints.at;
}

bool checkpoint_due(const shepherd_t *self, uint32_t round)
{
    int64_t every = self->config->checkpoint_every;
    if (round == 0) return false;
    if (is_asked(self, round)) return true;
    return every > 0 && (round % every == 0 || round == self->config->rounds);
}

static bool is_local(const shepherd_t *self)
{
    return strcmp(self->config->keep_state, "local") == 0;
}

bool checkpoint_wants_objects(const shepherd_t *self, const member_row_t *worker)
{
    bool copied = is_local(self) && (self->checkpoints.at_hand || !worker || worker->copies);
    return checkpoint_due(self, self->round.number + 1) && !copied;
}

bool checkpoint_copies(const shepherd_t *self)
{
    return is_local(self) && !self->checkpoints.at_hand && !(self->config->audit > 0);
}

/* Are copies of the states of this boundary due, before the open round? Those of a checkpoint; or of each boundary, when the
 * ones before are there. */
static bool copies_due(const shepherd_t *self, bool held, bool asked)
{
    const copies_t *copies = &self->copies;
    if (!checkpoint_copies(self)) return false;
    if (copies->every == 1) return held || copies->n_left == 0;
    return held &&
           (asked || copies->last == 0 || self->round.number - copies->last >= copies->every);
}

bool checkpoint_hold(const shepherd_t *self)
{
    uint32_t next = self->round.number + 1;
    return next < self->config->rounds && checkpoint_due(self, next) && !self->checkpoints.job;
}

const char *checkpoint_refusal(const shepherd_t *self)
{
    if (self->phase < PHASE_OPEN || self->phase >= PHASE_SAVE) return "the run is not training";
    bool last = self->round.number + 2 >= self->config->rounds;
    return last ? "the run ends with a checkpoint before there could be one" : NULL;
}

void checkpoint_ask(shepherd_t *self)
{
    bool objects = strcmp(self->config->keep_state, "memory") != 0;
    /* The leases of this round may be out already, and not keep what a checkpoint needs. */
    self->checkpoints.at = self->round.number + (objects ? 1 : 2);
    log_event(LOG_INFO, "checkpoint_asked", "round=%u", self->checkpoints.at);
}

/* The boundary before the open round draws its leases. false: an inner state is with its worker
 * only.
 */
static bool fill_ledger(const shepherd_t *self, ledger_t *ledger)
{
    size_t n = (size_t)self->round.replicas;
    *ledger = (ledger_t){.run = mem_strdup(self->config->run),
                         .round = self->round.number,
                         .tokens = self->progress.tokens,
                         .n_windows = layout_units(&self->bulk.layout, self->bulk.train_tokens),
                         .seed = (uint64_t)self->config->seed,
                         .cursor = self->ranges.cursor,
                         .n_returned = self->ranges.returned.n,
                         .n_state = n};
    ledger->returned = mem_calloc(ledger->n_returned + 1, sizeof *ledger->returned);
    if (ledger->n_returned)
        memcpy(ledger->returned, self->ranges.returned.at,
               ledger->n_returned * sizeof *ledger->returned);
    ledger->state = mem_calloc(n + 1, sizeof *ledger->state);
    /* With auto a state always has a name: none is zero moments, of a replica that is new. */
    bool all = true, any = shepherd_is_auto(self->config);
    for (size_t k = 0; k < n; k++) {
        memcpy(ledger->state[k], self->round.lease[k].state_in, HASH_HEX);
        all &= any || *ledger->state[k] != '\0';
    }
    return all;
}

courier_job_t *checkpoint_job(const shepherd_t *self, courier_kind_t kind)
{
    char **endpoints = members_endpoints(&self->roster, (size_t)self->config->aggregators);
    courier_job_t *job = courier_job_new(kind, endpoints, self->bulk.layout.n_shard);
    free(endpoints);
    job->run_hash = self->run_hash;
    job->attempt = self->shards.attempt;
    job->round = self->round.number;
    job->tokens = self->progress.tokens;
    job->loss = self->progress.summary.loss;
    job->validation = self->progress.has_val_loss ? self->progress.val_loss : (double)NAN;
    memcpy(job->module_hash, self->bulk.module_hash, HASH_HEX);
    layout_copy(&self->bulk.layout, &job->layout);
    return job;
}

void checkpoint_boundary(shepherd_t *self, bool held)
{
    if (self->checkpoints.ledger_known) ledger_fini(&self->checkpoints.ledger);
    self->checkpoints.ledger_whole = fill_ledger(self, &self->checkpoints.ledger);
    self->checkpoints.ledger_known = true;
    self->checkpoints.at_hand = at_hand_all(self->config->state_dir, &self->checkpoints.ledger);
    bool asked = held && is_asked(self, self->round.number);
    if (asked) self->checkpoints.at = 0;
    bool due = copies_due(self, held, asked);
    if (due) copies_begin(self);
    if (!held) return;
    self->checkpoints.job = checkpoint_job(self, COURIER_CHECKPOINT);
    checkpoint_ledger(self, self->checkpoints.job);
    if (checkpoint_copies(self) && !due) self->checkpoints.job->has_ledger = false;
}

void checkpoint_ledger(const shepherd_t *self, courier_job_t *job)
{
    const checkpoints_t *known = &self->checkpoints;
    if (!known->ledger_known || known->ledger.round != job->round) return;
    job->has_ledger = known->ledger_whole;
    char *text = ledger_print(&known->ledger);
    ledger_parse(text, strlen(text), &job->ledger, NULL); /* a copy */
    free(text);
    job->state_fd = at_hand_open(self->config->state_dir, &job->ledger);
}

void checkpoint_start(shepherd_t *self)
{
    const checkpoints_t *own = &self->checkpoints;
    if (!own->job || own->busy) return; /* busy: the courier may have freed it */
    if (own->job->has_ledger && self->copies.n_left > 0) return;
    self->checkpoints.busy = true;
    self->checkpoints.round = self->checkpoints.job->round;
    log_event(LOG_INFO, "checkpointing", "round=%u", self->checkpoints.job->round);
    self->ports.start(self->ports.user, self->checkpoints.job);
}

/* --- What nobody needs any more --- */

void checkpoint_forget_state(checkpoints_t *self, const char *hash)
{
    if (!*hash) return;
    forget_t row;
    memcpy(row.hash, hash, HASH_HEX);
    VEC_PUSH(&self->forget, row);
}

/* Workers name inner states, and may lie: none is what the run is made of. */
static bool is_of_run(const shepherd_t *self, const char *hash)
{
    const bulk_t *bulk = &self->bulk;
    const char *const names[] = {bulk->module_hash, bulk->train_hash, bulk->validation_hash,
                                 bulk->tokenizer_hash};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], hash) == 0) return true;
    for (size_t i = 0; i < self->plans.rows.n; i++)
        if (strcmp(self->plans.rows.at[i].hash, hash) == 0) return true;
    return false;
}

static bool is_needed(const shepherd_t *self, const char *hash)
{
    if (is_of_run(self, hash)) return true;
    for (int64_t k = 0; k < self->round.replicas; k++)
        if (strcmp(self->round.lease[k].state_in, hash) == 0 ||
            strcmp(self->round.lease[k].state_out, hash) == 0)
            return true;
    return false;
}

void checkpoint_unwanted(shepherd_t *self, const char *hash)
{
    enum { MOST = 4096 }; /* what is beyond stays there */
    if (hash_is_name(hash) && self->checkpoints.forget.n < MOST && !is_needed(self, hash))
        checkpoint_forget_state(&self->checkpoints, hash);
}

void checkpoint_forget(shepherd_t *self, bool hold)
{
    bool objects = !self->checkpoints.job &&
                   self->checkpoints.forget.n > 0; /* it may still be reading them */
    if (!objects && !hold) return;
    char **list = mem_calloc(self->checkpoints.forget.n + 1, sizeof *list);
    Msg__Forget forget = MSG__FORGET__INIT;
    forget.hold = hold;
    forget.run_hash = self->run_hash;
    forget.objects = list;
    for (size_t i = 0; objects && i < self->checkpoints.forget.n; i++)
        if (!is_needed(self, self->checkpoints.forget.at[i].hash))
            list[forget.n_objects++] = self->checkpoints.forget.at[i].hash;
    for (size_t i = 0; i < self->roster.others.n; i++)
        if (self->roster.others.at[i]->shard >= 0)
            MSG_SEND(self->ports.out, &self->roster.others.at[i]->peer, 0, FORGET, forget, &forget);
    if (objects) self->checkpoints.forget.n = 0;
    free(list);
}

void checkpoint_record(shepherd_t *self, const courier_result_t *result)
{
    if (result->round == 0) return;
    checkpoint_name_t name;
    memcpy(name.hash, result->checkpoint_hash, HASH_HEX);
    VEC_PUSH(&self->recovery.good, name);
    record_t *record = record_new(RECORD_CHECKPOINT, result->round - 1);
    memcpy(record->state, result->checkpoint_hash, HASH_HEX);
    record->text = mem_strdup(result->checkpoint);
    record->tokens = result->checkpoint_bytes;
    records_write(self, record);
    for (size_t i = 0; i < result->pruned.n; i++) {
        record = record_new(RECORD_PRUNED, result->round - 1);
        memcpy(record->state, result->pruned.at[i].hash, HASH_HEX);
        record->text = mem_printf("checkpoint_keep is %lld",
                                  (long long)self->config->checkpoint_keep);
        records_write(self, record);
    }
}

/* The run goes on without it: who looks at its events shall know, and what mends it. */
static void tell_failed(shepherd_t *self, const char *error)
{
    log_event(LOG_ERROR, "checkpoint_failed", "error=\"%s\"", error);
    bool full = strstr(error, strerror(ENOSPC)) || strstr(error, strerror(EDQUOT));
    char *fix = mem_printf("%s %s: the next checkpoint comes by itself, `pcp checkpoint now` asks "
                           "for one at once",
                           full ? "make room in" : "see to", self->config->checkpoint);
    records_failed(self, "checkpoint_failed", json_pack("{ssss}", "error", error, "fix", fix));
    free(fix);
}

void checkpoint_done(shepherd_t *self, const courier_result_t *result)
{
    self->checkpoints.job = NULL; /* the courier's, and gone */
    self->checkpoints.busy = false;
    if (result->err.code)
        tell_failed(self, result->err.text);
    else
        log_event(LOG_INFO, "checkpoint", "round=%u path=%s bytes=%llu", result->round,
                  result->checkpoint, (unsigned long long)result->checkpoint_bytes);
    checkpoint_forget(self, true);
    if (!result->err.code) checkpoint_record(self, result);
}

void checkpoint_fini(checkpoints_t *self)
{
    if (!self->busy) courier_job_destroy(&self->job);
    if (self->ledger_known) ledger_fini(&self->ledger);
    VEC_FREE(&self->forget);
}
