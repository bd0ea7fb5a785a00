/* Admission: a lease that its worker calls done is admitted, refused or given again by what arrived
 * at the shards, not by what the worker says of itself. The norm of an update is the sum of what
 * the shards measured, and is judged by those of the updates that were committed before; these, and
 * the workers' speeds, are in the store, so that the next leader judges in the same way. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/blame.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

/* --- Rejection --- */

static void blame(shepherd_t *self, uint32_t worker, const char *reason, const char *detail)
{
    char why[160];
    snprintf(why, sizeof why, "its updates are rejected: %s: %.120s", reason, detail);
    blame_strike(self, worker, STRIKE_LIE, why);
}

/* The round goes on without it; if nothing else is left of the round, it is trained again. */
void admission_reject(shepherd_t *self, uint32_t replica, const char *reason, const char *detail)
{
    work_t *lease = &self->round.lease[replica];
    const member_row_t *row = member_by_serial(&self->roster, lease->holder);
    rejection_t rejected = {replica, lease->fence, lease->worker, reason, detail};
    uint32_t holder = lease->holder;
    records_reject(self, &rejected);
    if (row) work_acknowledge(self, &row->peer, self->round.number, replica, lease->fence);
    self->admission.inspection[replica].waits = false;
    int64_t out = self->round.n_lease[WORK_DROPPED];
    if (!self->round.decided && out + 1 < self->round.replicas) {
        work_move(self, lease, WORK_DROPPED, lease->holder);
        blame(self, holder, reason, detail);
        return;
    }
    if (blame_agreed(self, replica, row)) {
        shepherd_fail(self, "round %u: replica %u: rejected from worker after worker: %s: %s",
                      self->round.number + 1, replica, reason, detail);
        return;
    }
    work_again(self, replica);
    blame(self, holder, reason, detail);
}

/* Under a fence that another has replaced: it counts for nothing, and there is a row that says so.
 */
void admission_stale(shepherd_t *self, const member_row_t *worker, const Msg__LeaseDone *done)
{
    if (done->round != self->round.number || done->replica >= self->round.replicas ||
        !self->round.opened)
        return;
    const work_t *lease = &self->round.lease[done->replica];
    if (done->fence >= lease->fence) return;
    char detail[64];
    snprintf(detail, sizeof detail, "fence %u holds", lease->fence);
    rejection_t rejected = {done->replica, done->fence, worker->id, "fence", detail};
    records_reject(self, &rejected);
}

/* --- Inspection --- */

static void ask(const shepherd_t *self, uint32_t replica, const member_row_t *aggregator)
{
    const inspection_t *i = &self->admission.inspection[replica];
    Msg__Inspect inspect = MSG__INSPECT__INIT;
    inspect.round = i->round;
    inspect.replica = replica;
    inspect.fence = i->fence;
    inspect.weight = i->steps;
    MSG_SEND(self->ports.out, &aggregator->peer, 0, INSPECT, inspect, &inspect);
}

/* The lease is still the one that we ask about. */
bool admission_waits(const shepherd_t *self, uint32_t replica)
{
    const inspection_t *i = &self->admission.inspection[replica];
    const work_t *lease = &self->round.lease[replica];
    return i->waits && lease->state == WORK_ISSUED && i->round == self->round.number &&
           i->fence == lease->fence;
}

void admission_ask_again(shepherd_t *self, const member_row_t *aggregator)
{
    for (int64_t k = 0; k < self->round.replicas; k++)
        if (admission_waits(self, (uint32_t)k) &&
            self->admission.inspection[k].norm2[aggregator->shard] < 0)
            ask(self, (uint32_t)k, aggregator);
}

static void begin(shepherd_t *self, const Msg__LeaseDone *done, uint64_t windows)
{
    inspection_t *i = &self->admission.inspection[done->replica];
    double *norm2 = i->norm2;
    size_t shards = (size_t)self->config->aggregators;
    if (!norm2) norm2 = mem_calloc(shards, sizeof *norm2);
    for (size_t s = 0; s < shards; s++) norm2[s] = -1;
    *i = (inspection_t){.waits = true,
                        .round = done->round,
                        .fence = done->fence,
                        .steps = done->steps,
                        .windows = windows,
                        .tokens = done->tokens,
                        .loss = done->mean_loss,
                        .compute_s = done->compute_s,
                        .transfer_s = done->transfer_s,
                        .download_s = done->download_s,
                        .upload_s = done->upload_s,
                        .sent_bytes = (int64_t)(done->sent_bytes & INT64_MAX),
                        .received_bytes = (int64_t)(done->received_bytes & INT64_MAX),
                        .norm2 = norm2};
    snprintf(i->state, sizeof i->state, "%s", hash_is_name(done->state) ? done->state : "");
}

void admission_ask(shepherd_t *self, const Msg__LeaseDone *done, uint64_t windows)
{
    if (!isfinite(done->mean_loss)) {
        char detail[64];
        snprintf(detail, sizeof detail, "the loss is %g", done->mean_loss);
        admission_reject(self, done->replica, "finite", detail);
        return;
    }
    if (!admission_waits(self, done->replica)) begin(self, done, windows);
    for (size_t i = 0; i < self->roster.others.n; i++) {
        const member_row_t *row = self->roster.others.at[i];
        if (row->shard >= 0 && self->admission.inspection[done->replica].norm2[row->shard] < 0)
            ask(self, done->replica, row);
    }
}

/* All shards have it. Compared per step with what is usual; a decision that was made stands. */
static void judge(shepherd_t *self, uint32_t replica)
{
    inspection_t *i = &self->admission.inspection[replica];
    work_t *lease = &self->round.lease[replica];
    double norm2 = 0;
    for (int64_t s = 0; s < self->config->aggregators; s++) norm2 += i->norm2[s];
    /* Of a part that was applied already there is no norm; but the lease had the same before. */
    if (isnan(norm2) && lease->steps == i->steps) norm2 = lease->norm2;
    double norm = sqrt(norm2) / i->steps,
           limit = self->config->outlier * admission_usual_norm(&self->admission);
    i->waits = false;
    if (!self->round.decided && self->config->outlier > 0 && norm > limit) {
        char detail[96];
        snprintf(detail, sizeof detail, "norm per step %g, usual is %g", norm,
                 admission_usual_norm(&self->admission));
        admission_reject(self, replica, "outlier", detail);
        return;
    }
    carried_t carried = {i->received_bytes, i->sent_bytes, records_ms(i->download_s),
                         records_ms(i->upload_s)};
    admission_remember(&self->admission, lease->worker, i->steps, i->compute_s);
    admission_carried(&self->admission, lease->worker, &carried);
    work_done(self, replica, i, norm2);
}

/* A shard has not all of it (it was started again, and had lost some): the lease is given again. */
static void lacks(shepherd_t *self, const Msg__Inspected *answer)
{
    log_event(LOG_WARN, "contribution_missing", "round=%u replica=%u shard=%u fence=%u",
              answer->round, answer->replica, answer->shard, answer->fence);
    uint32_t holder = self->round.lease[answer->replica].holder;
    work_again(self, answer->replica);
    blame_strike(self, holder, STRIKE_LIE, "what it calls done has not arrived");
}

void on_inspected(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__Inspected *answer = message->inspected;
    const member_row_t *row = member_by_peer(&self->roster, from);
    if (!row || row->shard < 0 || (uint32_t)row->shard != answer->shard ||
        answer->replica >= self->round.replicas || answer->round != self->round.number)
        return;
    if (audits_inspected(self, answer)) {
        if (!self->finished) rounds_check(self);
        return;
    }
    if (!admission_waits(self, answer->replica) ||
        answer->fence != self->round.lease[answer->replica].fence)
        return; /* asked twice, or the lease is another's by now */
    inspection_t *i = &self->admission.inspection[answer->replica];
    bool good = isfinite(answer->norm2) && answer->norm2 >= 0;
    if (*answer->reason || (answer->complete && !good)) {
        char detail[256];
        snprintf(detail, sizeof detail, "shard %u: %s", answer->shard, answer->detail);
        admission_reject(self, answer->replica, *answer->reason ? answer->reason : "finite",
                         detail);
    } else if (!answer->complete) {
        lacks(self, answer);
    } else {
        i->norm2[answer->shard] = answer->applied ? (double)NAN : answer->norm2;
        for (int64_t s = 0; s < self->config->aggregators; s++)
            if (i->norm2[s] < 0) return;
        judge(self, answer->replica);
    }
    if (!self->finished) rounds_check(self);
}
