/* What workers say of their leases and validations: taken, refused, acknowledged. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/shepherd.h"

enum { MAX_FAILURES = 5, FEW_NORMS = 4, MOST_NORMS = 64 };

/* The work an answer is about, if the sender holds it under this fence; else NULL, counted. */
static work_t *held_by(shepherd_t *self, const msg_peer_t *from, bool eval, uint32_t round,
                       uint32_t index, uint32_t fence)
{
    const member_row_t *row = member_heard(self, from);
    size_t n = eval ? self->eval.n : (size_t)self->config->replicas;
    work_t *work = index < n ? (eval ? &self->eval.at[index] : &self->lease[index]) : NULL;
    if (row && work && work->state == WORK_ISSUED && work->holder == row->serial &&
        work->fence == fence && round == self->round)
        return work;
    self->stale++;
    log_event(LOG_WARN, "answer_stale", "worker=%s %s=%u round=%u fence=%u stale=%llu",
              row ? row->id : "?", eval ? "part" : "replica", index, round, fence,
              (unsigned long long)self->stale);
    return NULL;
}

static void acknowledge(shepherd_t *self, const msg_peer_t *to, uint32_t round, uint32_t replica,
                        uint32_t fence)
{
    Msg__LeaseAck ack = MSG__LEASE_ACK__INIT;
    ack.round = round;
    ack.replica = replica;
    ack.fence = fence;
    MSG_SEND(self->out, to, 0, LEASE_ACK, lease_ack, &ack);
}

void work_recorded(shepherd_t *self, const recorder_result_t *result)
{
    work_t *lease = &self->lease[result->replica];
    if (lease->fence != result->fence || self->round != result->round) return;
    lease->recorded = true;
    const member_row_t *row = member_by_serial(self, lease->holder);
    if (row) acknowledge(self, &row->peer, (uint32_t)result->round, result->replica, result->fence);
}

/* Windows that LEASE_DONE speaks of: the whole lease, or its first steps by a worker that drains;
 * 0: it makes no sense. */
static uint64_t windows_done(const shepherd_t *self, const work_t *lease,
                             const Msg__LeaseDone *done)
{
    uint64_t windows = done->done_count ? done->done_count : lease->want;
    if (done->tokens == 0 || done->steps == 0 || windows > lease->want) return 0;
    if (self->layout.n == 0) return windows == lease->want ? windows : 0; /* steps unknown yet */
    if (self->decided && windows != lease->want) return 0;
    return windows == done->steps * ranges_step(self) ? windows : 0;
}

/* It is recorded, or not wanted any more: in both cases the worker need not say it again. */
static void answer_stale(shepherd_t *self, const msg_peer_t *from, const Msg__LeaseDone *done)
{
    bool here = done->round == self->round && done->replica < self->config->replicas;
    const work_t *lease = here ? &self->lease[done->replica] : NULL;
    bool pending = lease && lease->state == WORK_DONE && lease->fence == done->fence &&
                   !lease->recorded;
    if (!pending) acknowledge(self, from, done->round, done->replica, done->fence);
}

static void take_answer(shepherd_t *self, work_t *lease, const Msg__LeaseDone *done,
                        uint64_t windows)
{
    lease->state = WORK_DONE;
    lease->done_windows = windows;
    lease->loss = done->mean_loss;
    lease->tokens = done->tokens;
    lease->compute_s = done->compute_s;
    lease->transfer_s = done->transfer_s;
    lease->done_ms = self->now_ms;
    bool hash = strlen(done->state) == HASH_HEX - 1;
    snprintf(lease->state_out, sizeof lease->state_out, "%s", hash ? done->state : "");
    if (done->compute_s > 0)
        member_by_serial(self, lease->holder)->speed = done->steps / done->compute_s;
    log_event(LOG_DEBUG, "lease_done",
              "round=%u replica=%u loss=%.4f compute_s=%.3f transfer_s=%.3f fresh=%d", done->round,
              done->replica, done->mean_loss, done->compute_s, done->transfer_s, done->fresh_state);
}

/* --- Admission --- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(const double *values, size_t n)
{
    double *sorted = mem_calloc(n, sizeof *sorted);
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    double middle = sorted[n / 2];
    free(sorted);
    return middle;
}

static void remember_norm(shepherd_t *self, double norm)
{
    if (self->norms.n == MOST_NORMS) {
        memmove(self->norms.at, self->norms.at + 1, --self->norms.n * sizeof *self->norms.at);
    }
    VEC_PUSH(&self->norms, norm);
}

/* Why an update is not admitted, with the numbers in `detail`; NULL: it is. Norms are compared per
 * step, with those of the last updates that were admitted. */
static const char *refuse_update(shepherd_t *self, const Msg__LeaseDone *done, char detail[128])
{
    double norm = sqrt(done->delta_norm2) / done->steps;
    if (!isfinite(done->delta_norm2) || !isfinite(done->mean_loss)) {
        snprintf(detail, 128, "loss %g, squared norm %g", done->mean_loss, done->delta_norm2);
        return "finite";
    }
    if (self->config->outlier <= 0 || done->delta_norm2 <= 0) return NULL;
    double usual = self->norms.n >= FEW_NORMS ? median(self->norms.at, self->norms.n) : INFINITY;
    if (norm > self->config->outlier * usual) {
        snprintf(detail, 128, "norm per step %g, usual is %g", norm, usual);
        return "outlier";
    }
    remember_norm(self, norm);
    return NULL;
}

/* The round goes on without it; if nothing else is left of the round, it is trained again. */
static void reject(shepherd_t *self, const Msg__LeaseDone *done, const char *reason,
                   const char *detail)
{
    work_t *lease = &self->lease[done->replica];
    const member_row_t *row = member_by_serial(self, lease->holder);
    size_t out = 0;
    records_reject(self, done->replica, reason, detail);
    acknowledge(self, &row->peer, done->round, done->replica, done->fence);
    for (int64_t k = 0; k < self->config->replicas; k++)
        out += self->lease[k].state == WORK_DROPPED;
    if (self->decided || out + 1 == (size_t)self->config->replicas) {
        if (++lease->failures >= MAX_FAILURES)
            shepherd_fail(self, "round %u: replica %u: rejected again and again: %s",
                          done->round + 1, done->replica, detail);
        else
            work_reopen(self, done->replica);
        return;
    }
    lease->state = WORK_DROPPED;
}

void on_lease_done(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__LeaseDone *done = message->lease_done;
    work_t *lease = held_by(self, from, false, done->round, done->replica, done->fence);
    if (!lease) {
        if (member_by_peer(self, from)) answer_stale(self, from, done);
        return;
    }
    uint64_t windows = windows_done(self, lease, done);
    if (windows == 0) {
        work_reopen(self, done->replica);
        return;
    }
    char detail[128];
    const char *refused = refuse_update(self, done, detail);
    if (refused) {
        reject(self, done, refused, detail);
        rounds_check(self);
        return;
    }
    take_answer(self, lease, done, windows);
    records_done(self, done->replica);
    rounds_check(self);
}

void on_eval_done(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__EvalDone *done = message->eval_done;
    work_t *part = held_by(self, from, true, done->round, done->part, done->fence);
    if (!part) return;
    part->state = WORK_DONE;
    part->loss = done->loss;
    part->tokens = done->tokens;
    rounds_check(self);
}

void on_lease_failed(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__LeaseFailed *failed = message->lease_failed;
    if (!failed->eval) /* heard, whether it matters or not */
        acknowledge(self, from, failed->round, failed->replica, failed->fence);
    work_t *work = held_by(self, from, failed->eval, failed->round, failed->replica, failed->fence);
    if (!work) return;
    log_event(LOG_WARN, "work_failed", "%s=%u round=%u fatal=%d error=\"%s\"",
              failed->eval ? "part" : "replica", failed->replica, failed->round, failed->fatal,
              failed->error);
    if (failed->fatal || ++work->failures >= MAX_FAILURES) {
        shepherd_fail(self, "round %u: %s", failed->round + 1, failed->error);
        return;
    }
    if (failed->eval)
        work_reopen_eval(work);
    else
        work_reopen(self, failed->replica);
}
