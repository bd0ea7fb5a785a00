/* Aggregators that come, come back with a range, and are lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "outer/outer.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

static bool taken(const shepherd_t *self, uint32_t shard)
{
    for (size_t i = 0; i < self->roster.others.n; i++)
        if (self->roster.others.at[i]->shard == (int)shard) return true;
    return false;
}

/* It has the parameters we need: of the open round, or of the next when this one is decided. */
static bool fits(const shepherd_t *self, const member_row_t *row)
{
    return row->holds && row->shard < 0 && !taken(self, row->held.shard) &&
           (row->held.round == self->round.number ||
            (self->round.decided && row->held.round == self->round.number + 1));
}

/* Its data may now lie elsewhere: leases that name the old place are void. */
static void came_back(shepherd_t *self, member_row_t *row)
{
    row->shard = (int)row->held.shard;
    log_event(LOG_INFO, "shard_back", "member=%s shard=%d round=%u", row->id, row->shard,
              row->held.round);
    if (members_shards_here(self)) {
        if (self->shards.lost_ms) self->round.outage_ms += self->now_ms - self->shards.lost_ms;
        self->shards.lost_ms = 0;
    }
    const char *old = self->shards.endpoint[row->shard];
    if (old && strcmp(old, row->endpoint) != 0)
        for (int64_t k = 0; k < self->round.replicas; k++)
            if (self->round.lease[k].state == WORK_ISSUED) work_reopen(self, (uint32_t)k);
    self->shards.keeping = true;
    shards_assign(self, row);
}

void shards_hello(shepherd_t *self, member_row_t *row, const Msg__ShardState *held)
{
    if (!held || held->run_hash != self->run_hash || held->shards != self->config->aggregators ||
        held->shard >= held->shards)
        return;
    row->holds = true;
    row->held.shard = held->shard;
    row->held.round = held->round;
    bool running = self->phase >= PHASE_OPEN && self->phase < PHASE_DONE;
    if (running && fits(self, row)) came_back(self, row);
}

void shards_lost(shepherd_t *self, const member_row_t *gone, const char *reason)
{
    if (gone->shard < 0 || self->phase == PHASE_DONE) return;
    if (self->phase < PHASE_OPEN) { /* nothing is trained yet: start over */
        for (size_t i = 0; i < self->roster.others.n; i++) self->roster.others.at[i]->shard = -1;
        plans_forget(&self->plans);
        phase_change(&self->phase, PHASE_GATHER);
        return;
    }
    self->shards.lost_ms = self->now_ms;
    self->checkpoints.cut = true;
    free(self->shards.reason);
    self->shards.reason = mem_printf(
        "aggregator %s, which holds shard %d of the parameters, is lost: %s", gone->id, gone->shard,
        reason);
    free(self->shards.endpoint[gone->shard]);
    self->shards.endpoint[gone->shard] = mem_strdup(gone->endpoint);
}

/* Who stops a run waits for its end, and nothing is lost with a checkpoint that is not written. */
static double patience_ms(const shepherd_t *self)
{
    enum { STOPPING_MS = 10000 };
    double most = self->config->shard_wait_s * 1000;
    return self->stopping && most > STOPPING_MS ? STOPPING_MS : most;
}

void members_wait_for_shards(shepherd_t *self)
{
    if (self->phase < PHASE_OPEN || !self->shards.lost_ms) return;
    if ((double)(self->now_ms - self->shards.lost_ms) >= patience_ms(self))
        shepherd_fail(self, "%s", self->shards.reason);
}

void shepherd_on_event(shepherd_t *self, const Msg__Event *event)
{
    if (event->body_case != MSG__EVENT__BODY_DEGRADED || !event->degraded->waits) return;
    member_row_t *row = member_by_id(&self->roster, event->source);
    if (!row || row->kind != MSG__KIND__KIND_AGGREGATOR) return;
    snprintf(row->waits, sizeof row->waits, "%s",
             event->degraded->over ? "" : event->degraded->text);
}

void shards_repeat(shepherd_t *self)
{
    if (self->phase < PHASE_ASSIGN || self->phase == PHASE_INIT || self->phase == PHASE_DONE)
        return;
    for (size_t i = 0; i < self->roster.others.n; i++) {
        member_row_t *row = self->roster.others.at[i];
        bool assign = !row->assigned, commit = self->phase == PHASE_COMMIT && !row->answered;
        if (row->shard < 0 || !(assign || commit) || self->now_ms - row->asked_ms < MSG_RESEND_MS)
            continue;
        log_event(LOG_WARN, "said_again", "member=%s what=%s round=%u", row->id,
                  assign ? "ASSIGN" : "COMMIT", self->round.number);
        if (assign) /* in the middle of a round, too: leases are told behind its answer */
            shards_assign(self, row);
        else
            commit_send(self, row);
    }
}

bool shards_claimed(shepherd_t *self)
{
    for (size_t i = 0; i < self->roster.others.n; i++) {
        member_row_t *row = self->roster.others.at[i];
        if (fits(self, row)) row->shard = (int)row->held.shard;
    }
    return members_shards_here(self);
}

static void all_assigned(shepherd_t *self)
{
    if (self->shards.keeping) {
        resume_round(self);
        return;
    }
    phase_change(&self->phase, PHASE_INIT);
    shepherd_start(self, self->recovery.restoring ? checkpoint_restore(self)
                                                  : checkpoint_job(self, COURIER_INIT));
}

void on_assigned(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__Assigned *answer = message->assigned;
    member_row_t *row = member_by_peer(&self->roster, from);
    if (!row || row->shard < 0 || (uint32_t)row->shard != answer->shard ||
        self->phase < PHASE_ASSIGN || self->phase == PHASE_INIT) {
        log_event(LOG_WARN, "answer_ignored", "member=%s shard=%u", row ? row->id : "?",
                  answer->shard);
        return;
    }
    if (*answer->error && answer->busy) {
        shards_busy(row, answer->error);
        return;
    }
    *row->busy = '\0';
    row->ahead = answer->ahead;
    row->holders = answer->holders;
    row->exact = answer->exact;
    row->down_exact = answer->down_exact;
    if (*answer->error) {
        shepherd_fail(self, "aggregator %s: %s", row->id, answer->error);
        return;
    }
    if (answer->down_codec != self->down_codec) {
        shepherd_fail(
            self,
            "aggregator %s knows no codec for the way down: it is of a version before this "
            "shepherd's; upgrade it, or leave --down-codec at f32",
            row->id);
        return;
    }
    row->assigned = true;
    if (self->phase > PHASE_ASSIGN) { /* back in the middle of a round */
        work_fences(self, row);
        admission_ask_again(self, row);
        if (self->phase == PHASE_COMMIT) commit_send(self, row);
        return;
    }
    row->answered = true;
    if (members_answered(&self->roster)) all_assigned(self);
}
