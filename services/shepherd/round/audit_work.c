/* Audits as work: who may train a lease again, who does, and what it says. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/audit.h"
#include "shepherd/round/blame.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

/* Nobody of its name was heard; its plan may still be on the way. */
static bool may_audit(const audit_t *audit, const member_row_t *row)
{
    if (!audits_may_ask(row, audit->target)) return false;
    for (size_t i = 0; i < audit->heard.n; i++)
        if (strcmp(audit->heard.at[i].name, member_name(row)) == 0) return false;
    return true;
}

static void give(shepherd_t *self, uint32_t replica, member_row_t *row, char **endpoints)
{
    audit_t *audit = &self->audits.at[replica];
    audit->auditor = row->serial;
    audit->given_ms = self->now_ms;
    row->n_work++;
    work_give_audit(self, replica, row, endpoints);
}

/* The first who may and is free; *anybody: there is one who may and is waited for, or may come. */
static member_row_t *find(const shepherd_t *self, const audit_t *audit, bool *anybody)
{
    *anybody = audits_await_comers(self, audit->target, audit->since_ms);
    for (size_t i = 0; i < self->roster.members.n; i++) {
        member_row_t *row = self->roster.members.at[i];
        if (!may_audit(audit, row)) continue;
        if (work_free(self, row)) return row;
        *anybody = *anybody || audits_await(self, row, audit->since_ms);
    }
    return NULL;
}

void audits_give(shepherd_t *self, char **endpoints)
{
    for (int64_t k = 0; self->audits.n_open > 0 && k < self->round.replicas; k++) {
        const audit_t *audit = &self->audits.at[k];
        if (!audit->open || audit->auditor || !*audit->heard.at[0].digest) continue;
        bool anybody;
        member_row_t *row = find(self, audit, &anybody);
        if (row)
            give(self, (uint32_t)k, row, endpoints);
        else if (!anybody)
            audits_give_up(self, (uint32_t)k);
    }
}

/* The audit that the sender does under this name; NULL: it is another's by now. */
static audit_t *held_by(shepherd_t *self, const msg_peer_t *from, uint32_t round, uint32_t replica,
                        uint32_t fence)
{
    const member_row_t *row = member_by_peer(&self->roster, from);
    audit_t *audit = self->audits.at && round == self->round.number &&
                             replica < self->round.replicas
                         ? &self->audits.at[replica]
                         : NULL;
    bool held = audit && row && audit->open && audit->auditor == row->serial &&
                audit->fence == fence;
    return held ? audit : NULL;
}

/* What its auditor says, until the next one is heard; it is not asked again. */
static testimony_t *hear(shepherd_t *self, audit_t *audit)
{
    const member_row_t *row = member_by_serial(&self->roster, audit->auditor);
    testimony_t said = {0};
    snprintf(said.worker, sizeof said.worker, "%s", row->id);
    snprintf(said.name, sizeof said.name, "%s", member_name(row));
    audits_take_back(self, audit);
    audit->since_ms = self->now_ms;
    VEC_PUSH(&audit->heard, said);
    return &audit->heard.at[audit->heard.n - 1];
}

void audits_answered(shepherd_t *self, const msg_peer_t *from, const Msg__LeaseDone *done)
{
    work_acknowledge(self, from, done->round, done->replica, done->fence);
    audit_t *audit = held_by(self, from, done->round, done->replica, done->fence);
    if (!audit) return;
    member_by_serial(&self->roster, audit->auditor)->blame.overdue = 0;
    testimony_t *said = hear(self, audit);
    bool whole = done->steps == audit->steps && strlen(done->digest) == HASH_HEX - 1;
    if (whole) audits_say(said, done->digest, done->state, done->steps, done->mean_loss);
    audits_judge(self, done->replica);
}

/* Of the digests of its shards, as an auditor tells them. */
static void digest_of_shards(const shepherd_t *self, const audit_t *audit, char digest[HASH_HEX])
{
    hash_stream_t *all = hash_stream_new();
    for (int64_t s = 0; s < self->config->aggregators; s++)
        hash_stream_add(all, audit->shard[s], HASH_HEX - 1);
    hash_stream_finish(&all, digest);
}

bool audits_inspected(shepherd_t *self, const Msg__Inspected *answer)
{
    audit_t *audit = self->audits.at ? &self->audits.at[answer->replica] : NULL;
    const work_t *lease = &self->round.lease[answer->replica];
    if (!audit || !audit->open || audit->fence != answer->fence || lease->state != WORK_DONE)
        return false;
    if (strlen(answer->digest) != HASH_HEX - 1) { /* lost there, or applied, or an older program */
        audits_give_up(self, answer->replica);
        return true;
    }
    memcpy(audit->shard[answer->shard], answer->digest, HASH_HEX);
    for (int64_t s = 0; s < self->config->aggregators; s++)
        if (!*audit->shard[s]) return true;
    char digest[HASH_HEX];
    digest_of_shards(self, audit, digest);
    audits_say(&audit->heard.at[0], digest, lease->state_out, audit->steps, lease->loss);
    audit->since_ms = self->now_ms;
    audits_judge(self, answer->replica);
    return true;
}

void audits_failed(shepherd_t *self, const msg_peer_t *from, const Msg__LeaseFailed *failed)
{
    audit_t *audit = held_by(self, from, failed->round, failed->replica, failed->fence);
    if (!audit) return;
    log_event(LOG_WARN, "audit_failed", "round=%u replica=%u error=\"%s\"", failed->round,
              failed->replica, failed->error);
    hear(self, audit); /* it has nothing to say */
}

/* Another one is asked, where there is one; its auditor for none before it has ended something. */
static void end_overdue(shepherd_t *self, uint32_t replica)
{
    enum { FACTOR = 8 };
    audit_t *audit = &self->audits.at[replica];
    member_row_t *row = audit->auditor ? member_by_serial(&self->roster, audit->auditor) : NULL;
    double took = (double)(self->now_ms - audit->given_ms),
           least = self->config->work_wait_s * 1000;
    if (!row || took < least ||
        took < FACTOR * admission_expected_ms(&self->admission, row->id, audit->steps,
                                              (double)self->config->inner_steps))
        return;
    log_event(LOG_WARN, "audit_overdue", "round=%u replica=%u worker=%s", self->round.number,
              replica, row->id);
    Msg__Revoke revoke = MSG__REVOKE__INIT;
    revoke.round = self->round.number;
    revoke.replica = replica;
    revoke.fence = audit->fence;
    MSG_SEND(self->ports.out, &row->peer, 0, REVOKE, revoke, &revoke);
    blame_overdue(row, took);
    hear(self, audit);
}

void audits_forgive(shepherd_t *self, int64_t slept_ms)
{
    for (int64_t k = 0; self->audits.n_open > 0 && k < self->round.replicas; k++) {
        self->audits.at[k].given_ms += slept_ms;
        self->audits.at[k].since_ms += slept_ms;
    }
}

void audits_tick(shepherd_t *self)
{
    for (int64_t k = 0;
         self->phase == PHASE_TRAIN && self->audits.n_open > 0 && k < self->round.replicas; k++) {
        if (!self->audits.at[k].open) continue;
        audits_ask_again(self, (uint32_t)k);
        end_overdue(self, (uint32_t)k);
    }
    audits_tick_parts(self);
}
