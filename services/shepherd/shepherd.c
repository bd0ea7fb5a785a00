/* The run from its first aggregator to its checkpoint: phases, failures, the end. */
#include "shepherd/shepherd.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "msg/wire.h"
#include "outer/change.h"
#include "shepherd/joining/members.h"
#include "shepherd/roster/operators.h"
#include "shepherd/round/blame.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"

const msg_route_t shepherd_routes[MSG_KIND_COUNT] = {
    MSG_ROUTE(HELLO, 128u << 10, on_hello, MSG_FROM_STRANGER | MSG_FROM_MEMBERS),
    MSG_ROUTE(HEARTBEAT, 64, on_heartbeat, MSG_FROM_MEMBERS),
    MSG_ROUTE(BYE, 4u << 10, on_bye, MSG_FROM_STRANGER | MSG_FROM_MEMBERS),
    MSG_ROUTE(GONE, 4u << 10, on_gone, MSG_FROM_SUPERVISOR | MSG_FROM_CLI),
    MSG_ROUTE(WORK_REQUEST, 64, on_work_request, MSG_FROM_COMPILER | MSG_FROM_WORKER),
    MSG_ROUTE_ASKS(CONTROL, 4u << 10, on_control_request, MSG_FROM_CLI, OPERATORS_ASKS),
    MSG_ROUTE(CONTROL_REPLY, 1u << 20, on_control_reply, MSG_FROM_SUPERVISOR),
    MSG_ROUTE(RUN_EVENT, 4u << 10, on_run_event, MSG_FROM_SUPERVISOR),
    MSG_ROUTE(PLAN_REPLY, 1u << 20, on_plan_reply, MSG_FROM_COMPILER),
    MSG_ROUTE(SAMPLED, 1u << 20, on_sampled, MSG_FROM_COMPILER),
    MSG_ROUTE(ASSIGNED, 128u << 10, on_assigned, MSG_FROM_AGGREGATOR),
    MSG_ROUTE(COMMITTED, 128u << 10, on_committed, MSG_FROM_AGGREGATOR),
    MSG_ROUTE(INSPECTED, 1u << 10, on_inspected, MSG_FROM_AGGREGATOR),
    MSG_ROUTE(LEASE_DONE, 4u << 10, on_lease_done, MSG_FROM_WORKER),
    MSG_ROUTE(EVAL_DONE, 4u << 10, on_eval_done, MSG_FROM_WORKER),
    MSG_ROUTE(COPIED, 4u << 10, on_copied, MSG_FROM_WORKER),
    MSG_ROUTE(LEASE_FAILED, 8u << 10, on_lease_failed, MSG_FROM_WORKER),
};

const msg_table_t shepherd_hears = {shepherd_routes, member_who, member_refuse};

int shepherd_init(shepherd_t *self, const shepherd_config_t *config, err_t *err)
{
    self->config = config;
    if (shepherd_config_check(config, err) < 0) return -1;
    const codec_t *codec = codec_find(config->codec, err);
    if (!codec) return -1;
    self->codec = codec->id;
    const codec_t *down = change_codec_named(config->down_codec,
                                             NULL); /* checked with the config */
    self->down_codec = down ? down->id : 0;
    train_spec_t spec = shepherd_spec(config);
    self->spec = train_spec_print(&spec);
    self->run_hash = wire_run_hash(config->run);
    self->phase = PHASE_GATHER; /* where there is no store */
    size_t most = (size_t)shepherd_most(config);
    self->round.lease = mem_calloc(most, sizeof *self->round.lease);
    replicas_init(self);
    work_count(self);
    shards_init(&self->shards, (size_t)config->aggregators);
    admission_init(&self->admission, most);
    audits_init(&self->audits, most, config->audit);
    self->records.at_once = shepherd_on_recorder;
    return 0;
}

void shepherd_fini(shepherd_t *self)
{
    roster_fini(&self->roster);
    plans_fini(&self->plans);
    shards_fini(&self->shards, (size_t)self->config->aggregators);
    free(self->records.fault);
    checkpoint_fini(&self->checkpoints);
    copies_fini(&self->copies);
    recovery_fini(&self->recovery);
    replicas_fini(&self->sizing);
    VEC_FREE(&self->ranges.returned);
    admission_fini(&self->admission, (size_t)shepherd_most(self->config));
    audits_fini(&self->audits, (size_t)shepherd_most(self->config));
    round_fini(&self->round);
    layout_fini(&self->bulk.layout);
    free(self->spec);
}

/* Enough aggregators for a fresh beginning: they get their shards in order of arrival. */
static bool all_new(shepherd_t *self)
{
    size_t shards = (size_t)self->config->aggregators;
    if (members_count(&self->roster, MSG__KIND__KIND_AGGREGATOR) < shards) return false;
    if (members_shards_here(self)) return true; /* on the way back: their objects stay theirs */
    plans_forget(&self->plans);
    int next = 0;
    for (size_t i = 0; i < self->roster.others.n; i++) {
        bool wanted = self->roster.others.at[i]->kind == MSG__KIND__KIND_AGGREGATOR &&
                      next < (int)shards;
        self->roster.others.at[i]->shard = wanted ? next++ : -1;
    }
    plans_moved(&self->plans, members_places(&self->roster));
    return true;
}

static void publish(shepherd_t *self)
{
    phase_change(&self->phase, PHASE_PUBLISH);
    char **endpoints = members_endpoints(&self->roster, (size_t)self->config->aggregators);
    courier_job_t *job = courier_job_new(COURIER_PUBLISH, endpoints,
                                         (size_t)self->config->aggregators);
    free(endpoints);
    job->run_hash = self->run_hash;
    shepherd_start(self, job);
}

/* Enough aggregators for a fresh beginning: give them shards. */
static void begin(shepherd_t *self)
{
    if (all_new(self)) publish(self);
}

void shepherd_gather(shepherd_t *self)
{
    if (self->phase != PHASE_GATHER || self->bulk.busy) return;
    if (self->recovery.backing) {
        if (back_gather(self)) begin(self);
        return;
    }
    self->shards.keeping = self->recovery.resumed && shards_claimed(self);
    if (self->shards.keeping)
        phase_change(&self->phase, PHASE_COMPILE); /* they have the objects, too */
    else if (self->recovery.restoring && all_new(self))
        publish(self);
    else if (!self->recovery.restoring && !checkpoint_resume(self) &&
             (!self->recovery.resumed || (self->round.number == 0 && !self->round.decided)) &&
             all_new(self))
        publish(self); /* nothing is lost by beginning again */
}

/* Having slept (stopped, suspended) is no reason to believe that the others are gone. */
static void forgive_own_sleep(shepherd_t *self, int64_t gap_ms)
{
    if (gap_ms < self->config->timeout_ms / 2) return;
    log_event(LOG_WARN, "slept", "ms=%lld", (long long)gap_ms);
    for (size_t i = 0; i < self->roster.members.n; i++)
        self->roster.members.at[i]->heard_ms += gap_ms;
    for (size_t i = 0; i < self->round.eval.n; i++) self->round.eval.at[i].given_ms += gap_ms;
    for (int64_t k = 0; k < self->round.replicas; k++)
        if (self->round.lease[k].state == WORK_ISSUED) self->round.lease[k].given_ms += gap_ms;
    audits_forgive(self, gap_ms);
}

/* What there is to give, to whoever has asked. */
void shepherd_dispatch(shepherd_t *self)
{
    if (self->finished || self->phase == PHASE_DONE) return;
    members_refuse(self);
    plans_dispatch(self);
    samples_dispatch(self);
    rounds_begin(self);
    if (self->round.started_ms) work_dispatch(self);
    work_tell(self);
}

/* The last record is awaited, but not for ever. */
static void still_ending(shepherd_t *self)
{
    enum { LAST_MS = 10000 };
    if (self->now_ms - self->records.ending_ms < LAST_MS) return;
    log_event(LOG_WARN, "end_not_recorded", "reason=\"the store does not answer\"");
    self->finished = true;
}

void shepherd_tick(shepherd_t *self, int64_t now_ms)
{
    int64_t gap = self->tick_ms ? now_ms - self->tick_ms : 0;
    self->now_ms = self->tick_ms = now_ms;
    if (self->finished) return;
    if (self->phase == PHASE_DONE) {
        still_ending(self);
        return;
    }
    if (self->phase == PHASE_STANDBY) return;
    forgive_own_sleep(self, gap);
    members_expire(self);
    members_revoked(self);
    if (self->finished) return;
    shepherd_gather(self);
    members_wait_for_shards(self);
    back_check(self);
    blame_check(self);
    if (self->finished) return;
    overdue_check(self);
    audits_tick(self);
    shards_repeat(self);
    resume_expire(self);
    replicas_tick(self);
    if (copies_tick(self)) rounds_copied(self);
    coming_tick(self);
    rounds_check(self);
    self->round.stirred = true; /* rests end, and what waits for a target waits no more */
    shepherd_dispatch(self);
    rounds_waiting(self);
    status_tick(self);
}

static void published(shepherd_t *self, const courier_result_t *result)
{
    memcpy(self->bulk.module_hash, result->module_hash, HASH_HEX);
    memcpy(self->bulk.train_hash, result->train_hash, HASH_HEX);
    memcpy(self->bulk.validation_hash, result->validation_hash, HASH_HEX);
    memcpy(self->bulk.tokenizer_hash, result->tokenizer_hash, HASH_HEX);
    self->bulk.train_tokens = result->train_tokens;
    self->bulk.validation_tokens = result->validation_tokens;
    phase_change(&self->phase, PHASE_COMPILE);
    record_t *record = record_new(RECORD_OBJECTS, 0);
    store_objects_t *o = &record->objects;
    memcpy(o->module_hash, result->module_hash, HASH_HEX);
    memcpy(o->train_hash, result->train_hash, HASH_HEX);
    memcpy(o->validation_hash, result->validation_hash, HASH_HEX);
    memcpy(o->tokenizer_hash, result->tokenizer_hash, HASH_HEX);
    o->train_tokens = result->train_tokens;
    o->validation_tokens = result->validation_tokens;
    records_write(self, record);
}

/* Enough tokens for one row at least; the row's length is known from the plan. */
static void initialised(shepherd_t *self, const char *init_hash)
{
    if (layout_units(&self->bulk.layout, self->bulk.train_tokens) == 0) {
        shepherd_fail(self, "%s: %llu tokens, but one row of the model needs %llu",
                      self->config->train_tokens, (unsigned long long)self->bulk.train_tokens,
                      (unsigned long long)self->bulk.layout.batch.unit_tokens);
        return;
    }
    record_t *record = record_new(RECORD_DATA, 0);
    record->windows = layout_units(&self->bulk.layout, self->bulk.train_tokens);
    records_write(self, record);
    if (*init_hash) {
        record = record_new(RECORD_INIT, 0);
        memcpy(record->state, init_hash, HASH_HEX);
        records_write(self, record);
    }
    if (self->recovery.restoring) checkpoint_restored(self);
    if (self->recovery.resumed)
        resume_round(self);
    else
        phase_change(&self->phase, PHASE_TRAIN);
}

static void saved(shepherd_t *self, const courier_result_t *result)
{
    Msg__RunDone done = MSG__RUN_DONE__INIT;
    done.checkpoint = result->checkpoint;
    done.val_loss = self->progress.val_loss;
    done.has_val_loss = self->progress.has_val_loss;
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_RUN_DONE;
    event.run_done = &done;
    log_event(LOG_INFO, "run_done", "checkpoint=%s rounds=%u tokens=%llu", done.checkpoint,
              self->round.number, (unsigned long long)self->progress.tokens);
    if (result->kind == COURIER_SAVE) checkpoint_record(self, result);
    shepherd_finish(self, self->stopping ? 3 : 0, &event, "the run is over");
}

/* One while training goes on; or while it did, before a signal came: what it saves is what the run ends with. */
static void checkpointed(shepherd_t *self, const courier_result_t *result)
{
    bool last = self->checkpoints.last;
    self->checkpoints.last = false;
    checkpoint_done(self, result);
    if (last && result->err.code)
        rounds_save(self);
    else if (last)
        saved(self, result);
}

/* A job from before an aggregator was lost: its result is of no use any more. */
static bool is_late(const shepherd_t *self, courier_kind_t kind)
{
    static const phase_t wanted[COURIER_COUNT] = {
        [COURIER_PUBLISH] = PHASE_PUBLISH, [COURIER_INIT] = PHASE_INIT,
        [COURIER_SAVE] = PHASE_SAVE,       [COURIER_LEDGER] = PHASE_GATHER,
        [COURIER_RESTORE] = PHASE_INIT,
    };
    return self->phase != wanted[kind];
}

void shepherd_on_courier(shepherd_t *self, courier_result_t *result)
{
    if (result->kind == COURIER_WAITS) {
        snprintf(self->bulk.waits, sizeof self->bulk.waits, "%s", result->err.text);
        return;
    }
    *self->bulk.waits = '\0';
    if (result->kind == COURIER_CHECKPOINT) {
        if (!self->finished) checkpointed(self, result);
        return;
    }
    self->bulk.busy = false;
    if (self->finished || is_late(self, result->kind)) return;
    if (result->err.code != ERR_OK) {
        if (back_again(self, result)) return;
        if (result->kind == COURIER_SAVE && self->checkpoints.cut) {
            log_event(LOG_WARN, "saving_again", "error=\"%s\"", result->err.text);
            rounds_save(self);
            return;
        }
        shepherd_fail(self, "%s%s%s", self->recovery.backing ? self->recovery.reason : "",
                      self->recovery.backing ? "; and the run cannot go back: " : "",
                      result->err.text);
        return;
    }
    switch (result->kind) {
    case COURIER_PUBLISH: published(self, result); break;
    case COURIER_INIT:
    case COURIER_RESTORE: initialised(self, result->init_hash); break;
    case COURIER_SAVE: saved(self, result); break;
    case COURIER_LEDGER: checkpoint_found(self, result); break;
    default: break;
    }
    if (!self->finished) shepherd_dispatch(self);
}

void shepherd_on_signal(shepherd_t *self)
{
    self->stopping = true;
    if (self->phase == PHASE_STANDBY)
        shepherd_leave(self, 3);
    else if (self->phase == PHASE_DONE)
        self->finished = true;
    else if (self->phase < PHASE_OPEN || (self->phase <= PHASE_TRAIN && self->round.number == 0))
        shepherd_fail(self, "stopped by a signal %s",
                      self->recovery.backing   ? "on the way back to a checkpoint"
                      : self->round.number > 0 ? "before it could go on"
                                               : "before the first round was complete");
    else
        rounds_check(self);
}
