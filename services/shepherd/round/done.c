/* Work that is with its worker, and what follows when it is done. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/blame.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

/* The work an answer is about, if the sender holds it under this fence; else NULL, counted. */
work_t *work_held_by(shepherd_t *self, const msg_peer_t *from, bool eval, uint32_t round,
                     uint32_t index, uint32_t fence)
{
    const member_row_t *row = member_by_peer(&self->roster, from);
    size_t n = eval ? self->round.eval.n : (size_t)self->round.replicas;
    work_t *work = index < n ? (eval ? &self->round.eval.at[index] : &self->round.lease[index])
                             : NULL;
    bool holds = row && work && work->holder == row->serial && work->fence == fence &&
                 round == self->round.number;
    if (holds && work->state == WORK_ISSUED) return work;
    /* Said again until its row is written: while the database is away, all the time. */
    if (holds && work->state == WORK_DONE) return NULL;
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

static void note_speed(shepherd_t *self, const work_t *lease)
{
    member_row_t *row = member_by_serial(&self->roster, lease->holder);
    if (row && lease->steps > 0 && lease->compute_s > 0)
        row->steps_per_s = lease->steps / lease->compute_s;
}

void work_done(shepherd_t *self, uint32_t replica, const inspection_t *done, double norm2)
{
    work_t *lease = &self->round.lease[replica];
    work_move(self, lease, WORK_DONE, lease->holder);
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
    note_speed(self, lease);
    if (lease->timed) admission_timed(&self->admission, lease);
    blame_clear(&self->roster, lease->holder);
    records_done(self, replica);
    audits_begin(self, replica);
}
