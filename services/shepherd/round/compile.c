/* Plans are compiled once, by whichever compiler asks for work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "msg/keyring.h"
#include "msg/vouch.h"
#include "shepherd/round/blame.h"
#include "shepherd/shepherd.h"

enum { MAX_ATTEMPTS = 3 };

/* No plan for this target. The run fails if that is so for every target that somebody has, unless
 * the targets alone are to blame: then others are waited for. */
static void give_up(shepherd_t *self, plan_row_t *plan, const char *why)
{
    bool other = plan->unknown;
    plan->state = PLAN_FAILED;
    free(plan->why);
    plan->why = mem_printf("no plan for target %s: %s", plan->target, why);
    for (size_t i = 0; i < self->plans.rows.n; i++)
        other |= self->plans.rows.at[i].state != PLAN_FAILED;
    if (other)
        plan->refuses = true;
    else
        shepherd_fail(self, "compiling for %s: %s", plan->target, why);
}

void plans_forget_compiler(shepherd_t *self, uint32_t serial)
{
    for (size_t i = 0; i < self->plans.rows.n; i++) {
        plan_row_t *row = &self->plans.rows.at[i];
        if (row->state != PLAN_ASKED || row->compiler != serial) continue;
        row->state = PLAN_WANTED;
        char why[64];
        snprintf(why, sizeof why, "%d compilers were lost on it", row->attempts);
        if (row->attempts >= MAX_ATTEMPTS) give_up(self, row, why);
    }
}

static void ask(shepherd_t *self, plan_row_t *plan, member_row_t *compiler)
{
    char **endpoints = members_endpoints(&self->roster, (size_t)self->config->aggregators);
    Msg__Compile job = MSG__COMPILE__INIT;
    job.job = plan->target;
    job.module = self->bulk.module_hash;
    job.file = self->config->model;
    job.spec = self->spec;
    job.target = plan->target;
    job.data = endpoints;
    job.n_data = (size_t)self->config->aggregators;
    MSG_SEND(self->ports.out, &compiler->peer, 0, COMPILE, compile, &job);
    free(endpoints);
    plan->state = PLAN_ASKED;
    plan->places = members_places(&self->roster);
    plan->moved = false;
    plan->compiler = compiler->serial;
    plan->attempts++;
    compiler->credit--;
    compiler->issued_ms = self->now_ms;
    compiler->issued_beat = compiler->beat;
    log_event(LOG_INFO, "compile", "target=%s compiler=%s", plan->target, compiler->id);
}

static bool other_compiler(const shepherd_t *self, uint32_t serial)
{
    for (size_t i = 0; i < self->roster.others.n; i++) {
        const member_row_t *row = self->roster.others.at[i];
        if (row->kind == MSG__KIND__KIND_COMPILER && !row->blame.refused && row->serial != serial)
            return true;
    }
    return false;
}

static bool any_ready(const shepherd_t *self)
{
    for (size_t i = 0; i < self->plans.rows.n; i++)
        if (self->plans.rows.at[i].state == PLAN_READY) return true;
    return false;
}

static void assign(shepherd_t *self)
{
    phase_change(&self->phase, PHASE_ASSIGN);
    self->shards.attempt = random_u64(); /* a process number is that of others, too */
    for (size_t i = 0; i < self->roster.others.n; i++)
        if (self->roster.others.at[i]->shard >= 0) shards_assign(self, self->roster.others.at[i]);
    const batch_layout_t *batch = &self->bulk.layout.batch;
    log_event(LOG_INFO, "layout", "params=%zu elements=%llu batch_tokens=%llu shards=%zu",
              self->bulk.layout.n, (unsigned long long)self->bulk.layout.total,
              (unsigned long long)batch->tokens, self->bulk.layout.n_shard);
}

static int judge(const shepherd_t *self, const plan_row_t *plan, const char *hash, const char *seal,
                 err_t *err)
{
    const vouch_plan_t what = {hash, plan->target, self->bulk.module_hash, self->spec};
    return vouch_check_plan(seal, &what, err);
}

bool plans_void(shepherd_t *self)
{
    uint64_t since = keyring_revoked_since();
    bool any = false;
    for (size_t i = 0; i < self->plans.rows.n; i++) {
        plan_row_t *plan = &self->plans.rows.at[i];
        err_t err = {0};
        if (plan->state != PLAN_READY || plan->revoked_since == since) continue;
        plan->revoked_since = since;
        if (judge(self, plan, plan->hash, plan->seal, &err) == 0) continue;
        log_event(LOG_WARN, "plan_void", "target=%s error=\"%s\"", plan->target, err.text);
        plan->state = PLAN_WANTED;
        plan->attempts = 0;
        any = true;
    }
    return any;
}

void plans_dispatch(shepherd_t *self)
{
    if (self->phase < PHASE_COMPILE || self->phase >= PHASE_SAVE) return;
    plans_void(self);
    if (self->phase == PHASE_COMPILE && self->bulk.layout.n > 0 &&
        any_ready(self)) /* since before */
        assign(self);
    if (!members_shards_here(self)) return; /* which have the module */
    for (size_t i = 0; i < self->plans.rows.n; i++) {
        if (self->plans.rows.at[i].state != PLAN_WANTED) continue;
        for (size_t m = 0; m < self->roster.others.n; m++) {
            member_row_t *row = self->roster.others.at[m];
            if (row->kind != MSG__KIND__KIND_COMPILER || row->credit == 0 || row->blame.refused)
                continue;
            if (row->serial == self->plans.rows.at[i].failed &&
                (self->now_ms < self->plans.rows.at[i].rest_ms ||
                 other_compiler(self, row->serial)))
                continue;
            ask(self, &self->plans.rows.at[i], row);
            break;
        }
    }
}

/* A plan that cannot be had. What is wrong with the model may be so for this target alone, which lacks f64, say: others
 * go on. Otherwise another compiler is asked, or the same one again. */
static void again(shepherd_t *self, plan_row_t *plan, const char *why, bool never)
{
    log_event(LOG_ERROR, "compile_failed", "target=%s error=\"%s\"", plan->target, why);
    plan->state = PLAN_WANTED;
    plan->failed = plan->compiler;
    if (never || plan->attempts >= MAX_ATTEMPTS) give_up(self, plan, why);
}

/* Its disk is full: that is no fault of the run's. Another one is asked, or the same one as long as it takes. */
static void wait_for_room(shepherd_t *self, plan_row_t *plan, const member_row_t *compiler,
                          const char *error)
{
    enum { AGAIN_MS = 5000 };
    bool told = plan->rest_ms > 0;
    plan->state = PLAN_WANTED;
    plan->failed = plan->compiler;
    plan->attempts--;
    plan->rest_ms = self->now_ms + AGAIN_MS;
    free(plan->why);
    plan->why = mem_printf("compiler %s has no room to compile for %s: %s; make room there: it is "
                           "asked again by itself",
                           compiler->id, plan->target, error);
    if (!told) log_event(LOG_ERROR, "waiting", "for=\"%s\"", plan->why);
}

/* It is no compiler of ours, or somebody speaks for it: it gets no more work on this connection. */
static void refuse(plan_row_t *plan, member_row_t *compiler, const err_t *err)
{
    log_event(LOG_ERROR, "plan_refused", "target=%s compiler=%s error=\"%s\"", plan->target,
              compiler->id, err->text);
    compiler->blame.refused = true;
    plan->state = PLAN_WANTED;
    plan->attempts--;
}

/* The first plan gives the layout, the later ones must have the same. */
static int take_layout(shepherd_t *self, const Msg__PlanReply *reply, err_t *err)
{
    if (!hash_is_name(reply->plan)) return err_set(err, ERR_NET, "a plan without content hash");
    layout_t layout = {0};
    data_kind_t kind = batch_kind(self->config->layout);
    if (layout_from_plan(reply, kind, (size_t)self->config->aggregators, &layout, err) < 0)
        return -1;
    if (self->bulk.layout.n == 0) {
        self->bulk.layout = layout;
        return 0;
    }
    bool same = layout_equal(&layout, &self->bulk.layout);
    layout_fini(&layout);
    if (same) return 0;
    return err_set(err, ERR_SHAPE, "its parameters differ from those of the first plan");
}

void on_plan_reply(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__PlanReply *reply = message->plan_reply;
    member_row_t *compiler = member_by_peer(&self->roster, from);
    plan_row_t *plan = plans_find(&self->plans, reply->job);
    if (!compiler || !plan || plan->state != PLAN_ASKED || plan->compiler != compiler->serial) {
        log_event(LOG_WARN, "plan_ignored", "job=\"%.64s\"", reply->job);
        return;
    }
    if (plan->moved && !reply->model_at_fault) { /* where workers will not look: once more */
        plan->state = PLAN_WANTED;
        plan->attempts--;
        return;
    }
    if (*reply->error && reply->for_now) {
        wait_for_room(self, plan, compiler, reply->error);
        return;
    }
    plan->rest_ms = 0;
    if (*reply->error) {
        plan->unknown = reply->target_at_fault;
        again(self, plan, reply->error, reply->model_at_fault || reply->target_at_fault);
        return;
    }
    err_t err = {0};
    if (judge(self, plan, reply->plan, reply->seal, &err) < 0) {
        refuse(plan, compiler, &err);
        return;
    }
    plan->unknown = false;
    if (take_layout(self, reply, &err) < 0) {
        if (self->bulk.layout.n > 0) /* others train by it: this compiler is to blame */
            again(self, plan, err.text, false);
        else
            shepherd_fail(self, "plan for %s: %s", plan->target, err.text);
        return;
    }
    memcpy(plan->hash, reply->plan, HASH_HEX);
    free(plan->seal);
    plan->seal = mem_strdup(reply->seal);
    plan->revoked_since = keyring_revoked_since();
    plan->state = PLAN_READY;
    for (size_t i = 0; i < self->roster.members.n; i++) { /* what they failed at is gone */
        const member_row_t *row = self->roster.members.at[i];
        bool uses = row->kind == MSG__KIND__KIND_WORKER && strcmp(row->target, plan->target) == 0;
        if (uses) blame_clear(&self->roster, row->serial);
    }
    self->round.stirred = true;
    log_event(LOG_INFO, "plan_ready", "target=%s plan=%.12s cached=%d seconds=%.2f", plan->target,
              plan->hash, reply->cached, reply->seconds);
    if (self->phase == PHASE_COMPILE) assign(self);
}
