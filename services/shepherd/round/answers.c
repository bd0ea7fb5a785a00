/* What workers say of their leases and validations: taken, handed on, acknowledged. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/blame.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

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

void on_lease_done(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__LeaseDone *done = message->lease_done;
    if (done->audit) {
        audits_answered(self, from, done);
        if (!self->finished) rounds_check(self);
        return;
    }
    work_t *lease = work_held_by(self, from, false, done->round, done->replica, done->fence);
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

void on_copied(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const char *worker = member_by_peer(&self->roster, from)->id;
    if (message->copied->run_hash != self->run_hash) return; /* of the run that it served before */
    coming_heard(self, worker, message->copied);
    if (!copies_awaits(&self->copies, message->copied->state))
        checkpoint_unwanted(self, message->copied->state);
    if (copies_heard(self, worker, message->copied)) rounds_copied(self);
}

void on_eval_done(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__EvalDone *done = message->eval_done;
    work_t *part = work_held_by(self, from, true, done->round, done->part, done->fence);
    if (!part) return;
    member_row_t *row = member_by_serial(&self->roster, part->holder);
    if (done->tokens == 0) { /* a part has some */
        work_again_eval(self, part);
        if (row) blame_strike(self, row->serial, STRIKE_LIE, "it validated nothing");
        return;
    }
    if (row) row->blame.overdue = 0;
    audits_estimated(self, part, done);
    rounds_check(self);
}
