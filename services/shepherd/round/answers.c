/* What workers say of their leases and validations: taken, handed on, acknowledged. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/roster/blame.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

/* The work an answer is about, if the sender holds it under this fence; else NULL, counted. */
static work_t *held_by(shepherd_t *self, const msg_peer_t *from, bool eval, uint32_t round,
                       uint32_t index, uint32_t fence)
{
    const member_row_t *row = member_by_peer(&self->roster, from);
    size_t n = eval ? self->round.eval.n : (size_t)self->round.replicas;
    work_t *work = index < n ? (eval ? &self->round.eval.at[index] : &self->round.lease[index])
                             : NULL;
    if (row && work && work->state == WORK_ISSUED && work->holder == row->serial &&
        work->fence == fence && round == self->round.number)
        return work;
    self->round.stale++;
    log_event(LOG_WARN, "answer_stale", "worker=%s %s=%u round=%u fence=%u stale=%llu",
              row ? row->id : "?", eval ? "part" : "replica", index, round, fence,
              (unsigned long long)self->round.stale);
    return NULL;
}

void work_acknowledge(shepherd_t *self, const msg_peer_t *to, uint32_t round, uint32_t replica,
                      uint32_t fence)
{
    Msg__LeaseAck ack = MSG__LEASE_ACK__INIT;
    ack.round = round;
    ack.replica = replica;
    ack.fence = fence;
    MSG_SEND(self->ports.out, to, 0, LEASE_ACK, lease_ack, &ack);
}

void work_recorded(shepherd_t *self, const recorder_result_t *result)
{
    work_t *lease = &self->round.lease[result->replica];
    if (lease->fence != result->fence || self->round.number != result->round) return;
    lease->recorded = true;
    const member_row_t *row = member_by_serial(&self->roster, lease->holder);
    if (row)
        work_acknowledge(self, &row->peer, (uint32_t)result->round, result->replica, result->fence);
}

/* Windows that LEASE_DONE speaks of: the whole lease, or its first steps by a worker that drains;
 * 0: it makes no sense. */
static uint64_t windows_done(const shepherd_t *self, const work_t *lease,
                             const Msg__LeaseDone *done)
{
    uint64_t windows = done->done_count ? done->done_count : lease->want;
    if (done->tokens == 0 || done->steps == 0 || windows > lease->want) return 0;
    if (self->bulk.layout.n == 0)
        return windows == lease->want ? windows : 0; /* steps unknown yet */
    if (self->round.decided && windows != lease->want) return 0;
    return windows == done->steps * ranges_step(self) ? windows : 0;
}

/* It is recorded, or not wanted any more: in both cases the worker need not say it again. */
static void answer_stale(shepherd_t *self, const msg_peer_t *from, const Msg__LeaseDone *done)
{
    bool here = done->round == self->round.number && done->replica < self->round.replicas;
    if (late_waits(self, done->round, done->replica)) return; /* soon it gets its new name */
    const work_t *lease = here ? &self->round.lease[done->replica] : NULL;
    bool pending = lease && lease->state == WORK_DONE && lease->fence == done->fence &&
                   !lease->recorded;
    if (!pending) work_acknowledge(self, from, done->round, done->replica, done->fence);
}

void work_done(shepherd_t *self, uint32_t replica, const inspection_t *done, double norm2)
{
    work_t *lease = &self->round.lease[replica];
    lease->state = WORK_DONE;
    lease->done_windows = done->windows;
    lease->loss = done->loss;
    lease->tokens = done->tokens;
    lease->steps = done->steps;
    lease->norm2 = norm2;
    lease->compute_s = done->compute_s;
    lease->transfer_s = done->transfer_s;
    lease->download_s = done->download_s;
    lease->upload_s = done->upload_s;
    lease->sent_bytes = done->sent_bytes;
    lease->received_bytes = done->received_bytes;
    lease->done_ms = self->now_ms;
    memcpy(lease->state_out, done->state, HASH_HEX);
    log_event(
        LOG_DEBUG, "lease_done",
        "round=%u replica=%u loss=%.4f norm=%.4g compute_s=%.3f download_s=%.3f upload_s=%.3f",
        self->round.number, replica, lease->loss, sqrt(norm2), lease->compute_s, lease->download_s,
        lease->upload_s);
    if (lease->timed) admission_timed(&self->admission, lease);
    blame_clear(&self->roster, lease->holder);
    records_done(self, replica);
}

void on_lease_done(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__LeaseDone *done = message->lease_done;
    work_t *lease = held_by(self, from, false, done->round, done->replica, done->fence);
    if (!lease) {
        const member_row_t *row = member_by_peer(&self->roster, from);
        if (row) admission_stale(self, row, done);
        if (row) answer_stale(self, from, done);
        return;
    }
    uint64_t windows = windows_done(self, lease, done);
    if (windows == 0) {
        uint32_t holder = lease->holder;
        work_again(self, done->replica);
        blame_strike(self, holder, STRIKE_LIE, "LEASE_DONE makes no sense");
        return;
    }
    admission_ask(self, done, windows);
    if (!self->finished) rounds_check(self);
}

void on_eval_done(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__EvalDone *done = message->eval_done;
    work_t *part = held_by(self, from, true, done->round, done->part, done->fence);
    if (!part) return;
    member_row_t *row = member_by_serial(&self->roster, part->holder);
    if (done->tokens == 0) { /* a part has some */
        work_again_eval(part);
        if (row) blame_strike(self, row->serial, STRIKE_LIE, "it validated nothing");
        return;
    }
    if (row) row->blame.overdue = 0;
    part->state = WORK_DONE;
    part->loss = done->loss;
    part->tokens = done->tokens;
    rounds_check(self);
}

/* Again, by the same worker once, then by another if there is one. That a late lease's parameters
 * are gone is no fault of the worker's. */
static void fail_work(shepherd_t *self, work_t *work, const Msg__LeaseFailed *failed)
{
    uint32_t holder = work->holder;
    bool blameless = !failed->eval && !failed->fatal && work->lag;
    if (blameless) {
        work->failures++;
        work_reopen(self, failed->replica);
        return;
    }
    if (failed->fatal) work->failures++; /* at once by another */
    if (failed->eval)
        work_again_eval(work);
    else
        work_again(self, failed->replica);
    blame_strike(self, holder, failed->fatal ? STRIKE_FATAL : STRIKE_FAILED, failed->error);
}

void on_lease_failed(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__LeaseFailed *failed = message->lease_failed;
    /* Heard, whether it matters or not. */
    if (!failed->eval && !late_waits(self, failed->round, failed->replica))
        work_acknowledge(self, from, failed->round, failed->replica, failed->fence);
    work_t *work = held_by(self, from, failed->eval, failed->round, failed->replica, failed->fence);
    if (!work) return;
    log_event(LOG_WARN, "work_failed", "%s=%u round=%u fatal=%d error=\"%s\"",
              failed->eval ? "part" : "replica", failed->replica, failed->round, failed->fatal,
              failed->error);
    if (*failed->lost_state && !failed->eval) { /* somebody else may have it, or nobody */
        back_refuse(self, failed, member_by_peer(&self->roster, from));
        work_reopen(self, failed->replica);
        return;
    }
    if (failed->numeric && !failed->eval) { /* as if it had arrived: the round goes on without it */
        admission_reject(self, failed->replica, "finite", failed->error);
        if (!self->finished) rounds_check(self);
        return;
    }
    if (!failed->eval && !failed->fatal && late_failed(self, failed->replica, failed->error))
        return;
    fail_work(self, work, failed);
}
