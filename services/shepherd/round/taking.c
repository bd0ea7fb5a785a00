/* Work taken back from who failed at it, is lost or lied: opened again under a higher fence. */
#include <string.h>

#include "base/log.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

void work_revoke(shepherd_t *self, uint32_t replica)
{
    const work_t *lease = &self->round.lease[replica];
    const member_row_t *row = lease->state == WORK_ISSUED
                                  ? member_by_serial(&self->roster, lease->holder)
                                  : NULL;
    if (!row) return;
    Msg__Revoke revoke = MSG__REVOKE__INIT;
    revoke.round = self->round.number;
    revoke.replica = replica;
    revoke.fence = lease->fence;
    MSG_SEND(self->ports.out, &row->peer, 0, REVOKE, revoke, &revoke);
}

/* Raise the fence, and have the aggregators refuse what comes under the old one. */
void work_reopen(shepherd_t *self, uint32_t replica)
{
    work_t *lease = &self->round.lease[replica];
    work_revoke(self, replica);
    work_move(self, lease, WORK_OPEN, 0);
    lease->done_windows = 0;
    lease->recorded = lease->adoptable = lease->timed = lease->coming = false;
    lease->reopened_ms = self->now_ms;
    lease->fence = (lease->fence > self->round.fence_base ? lease->fence : self->round.fence_base) +
                   1;
    work_raised(self, replica);
    log_event(LOG_WARN, "lease_reopened", "round=%u replica=%u fence=%u", self->round.number,
              replica, lease->fence);
}

void work_again(shepherd_t *self, uint32_t replica)
{
    work_t *lease = &self->round.lease[replica];
    uint32_t holder = lease->holder;
    if (++lease->failures > 1) lease->avoid = holder;
    work_reopen(self, replica);
    if (lease->avoid && lease->home == holder && plans_workers(&self->plans, &self->roster) > 1)
        work_home(self, lease, work_spare(self, lease, holder));
}

void work_again_eval(shepherd_t *self, work_t *part)
{
    audits_part_failed(self, part);
    if (++part->failures > 1) part->avoid = part->holder;
    work_reopen_eval(self, part);
}

/* Whoever holds a lease is its home. */
void work_release(shepherd_t *self, const member_row_t *holder)
{
    uint32_t serial = holder->serial;
    audits_release(self, serial);
    for (size_t i = 0; i < self->round.eval.n; i++) {
        work_t *part = &self->round.eval.at[i];
        if (part->state == WORK_ISSUED && part->holder == serial) work_reopen_eval(self, part);
    }
    for (uint32_t at = holder->homes, next; at; at = next) {
        work_t *lease = &self->round.lease[at - 1];
        next = lease->next;
        work_home(self, lease, work_spare(self, lease, serial));
        if (lease->state == WORK_ISSUED && lease->holder == serial) work_reopen(self, at - 1);
    }
}

void work_gone(shepherd_t *self, const char *worker)
{
    for (int64_t k = 0; self->round.n_absent && k < self->round.replicas; k++) {
        const work_t *lease = &self->round.lease[k];
        if (lease->state == WORK_ISSUED && lease->holder == 0 && strcmp(lease->worker, worker) == 0)
            work_reopen(self, (uint32_t)k);
    }
}
