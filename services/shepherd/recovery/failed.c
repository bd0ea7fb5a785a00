/* Work that its worker could not do: given again, left out, or the run goes back. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/blame.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

/* A late lease failed again and nobody can train it any more: the round drops it, with a row in the
 * records. false: it is no such lease.
 * Of all that it needs only the parameters of its first round can be gone: a shard lost power. */
static bool late_failed(shepherd_t *self, uint32_t replica, const char *error)
{
    enum { MOST_FAILURES = 3 };
    work_t *lease = &self->round.lease[replica];
    if (!lease->lag || lease->failures + 1 < MOST_FAILURES) return false;
    bool others = false;
    for (int64_t k = 0; k < self->round.replicas; k++)
        others |= k != replica && self->round.lease[k].state != WORK_DROPPED;
    if (self->round.decided || !others) {
        char *reason = mem_printf("round %u counts a lease of %u rounds before, replica %u, which "
                                  "nobody can train again: %s",
                                  self->round.number + 1, lease->lag, replica, error);
        back_or_fail(self, reason);
        free(reason);
        return true;
    }
    rejection_t late = {replica, lease->fence, lease->worker, "late", error};
    records_reject(self, &late);
    work_move(self, lease, WORK_DROPPED, lease->holder);
    rounds_check(self);
    return true;
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
        work_again_eval(self, work);
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
    if (failed->audit && !failed->eval) {
        audits_failed(self, from, failed);
        return;
    }
    work_t *work = work_held_by(self, from, failed->eval, failed->round, failed->replica,
                                failed->fence);
    if (!work) return;
    log_event(LOG_WARN, "work_failed", "%s=%u round=%u fatal=%d error=\"%s\"",
              failed->eval ? "part" : "replica", failed->replica, failed->round, failed->fatal,
              failed->error);
    self->progress.refused += failed->plan_refused;
    if (failed->plan_refused && plans_void(self)) { /* it waits for another plan, as others do */
        if (failed->eval)
            work_reopen_eval(self, work);
        else
            work_reopen(self, failed->replica);
        return;
    }
    if (*failed->lost_state && !failed->eval) { /* somebody else may have it, or nobody */
        uint32_t serial = member_by_peer(&self->roster, from)->serial;
        bool known = strcmp(failed->lost_state, work->state_in) == 0;
        if (known && coming_wait(self, failed->replica, serial)) return;
        if (round_refuse(&self->round, failed->replica, serial, failed->lost_state, self->now_ms))
            work_home(self, work, 0); /* whoever else is free */
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
