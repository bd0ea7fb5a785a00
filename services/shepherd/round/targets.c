/* Which target trains a replica. A lease is a function for one target: trained again by the same one it
 * gives the same bits, by another one almost the same numbers. So what a worker leaves behind waits for
 * another one of its target for a while, and what a worker of another one trains is said. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

bool work_same_target(const work_t *lease, const member_row_t *row)
{
    return !*lease->target || strcmp(lease->target, row->target) == 0;
}

bool work_waits_for(const shepherd_t *self, const char *target, int64_t since_ms)
{
    const plan_row_t *plan = plans_find(&self->plans, target);
    if (plan && plan->left_ms > since_ms) since_ms = plan->left_ms;
    if (self->round.resumed_ms > since_ms) since_ms = self->round.resumed_ms;
    return since_ms > 0 && (double)(self->now_ms - since_ms) < self->config->target_wait_s * 1000;
}

bool work_suits(const shepherd_t *self, const work_t *lease, const member_row_t *row)
{
    return work_same_target(lease, row) || !work_waits_for(self, lease->target, lease->reopened_ms);
}

void work_note_target(shepherd_t *self, uint32_t replica, const member_row_t *worker)
{
    work_t *lease = &self->round.lease[replica];
    if (!work_same_target(lease, worker)) {
        log_event(LOG_WARN, "target_changed",
                  "round=%u replica=%u fence=%u worker=%s target=%s before=%s", self->round.number,
                  replica, lease->fence, worker->id, worker->target, lease->target);
        records_happened(self, "target_changed", worker->id,
                         json_pack("{sIssss}", "replica", (json_int_t)replica, "target",
                                   worker->target, "before", lease->target));
    }
    snprintf(lease->target, sizeof lease->target, "%s", worker->target);
}
