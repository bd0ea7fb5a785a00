/* Back to a checkpoint: an inner state that a lease begins with is lost. Nothing is ever trained in
 * its place: the round, and those since the last checkpoint with all inner states, are trained
 * again.
 *
 *   every worker has refused the lease, and nobody came with the state within the time-out
 *   -> leases revoked, nothing is open     (PHASE_GATHER, `backing`)
 *   -> which checkpoint                    the courier; none: the beginning of the run
 *   -> the store: from where to where, why; a stand-by that takes over from here on does it again
 *   -> parameters, momentum and states to the shards; the store forgets the rounds: training */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

enum { MOST_TIMES = 3 }; /* without a round committed in between */

/* --- Who cannot train which replica --- */

/* Since when nobody who is here has its state; 0: somebody may, or nobody is here. */
static int64_t lost_since(const shepherd_t *self, uint32_t replica)
{
    int64_t since = 0;
    size_t asked = 0;
    for (size_t i = 0; i < self->round.refused.n; i++)
        if (self->round.refused.at[i].replica == replica)
            since = self->round.refused.at[i].since_ms;
    for (size_t i = 0; since && i < self->roster.members.n; i++) {
        const member_row_t *row = self->roster.members.at[i];
        if (row->kind != MSG__KIND__KIND_WORKER || !plans_ready(&self->plans, row->target))
            continue;
        if (row->blame.refused) continue;
        if (!round_refused(&self->round, replica, row->serial)) return 0;
        asked++;
    }
    return asked ? since : 0;
}

/* --- The way back --- */

static void drop_work(shepherd_t *self)
{
    for (int64_t k = 0; k < self->round.replicas; k++) {
        work_t *lease = &self->round.lease[k];
        work_revoke(self, (uint32_t)k);
        if (lease->fence > self->round.fence_top) self->round.fence_top = lease->fence;
        lease->state = WORK_OPEN;
        lease->holder = lease->home = 0;
        lease->adoptable = lease->late = lease->carry = false;
        self->admission.inspection[k].waits = false;
    }
    self->round.eval.n = 0;
    work_count(self);
    self->round.opened = self->round.decided = self->progress.summary_waits =
        self->checkpoints.holding = false;
    self->round.started_ms = self->round.opened_ms = self->recovery.led_ms = self->round.outage_ms =
        0;
    self->round.refused.n = 0;
    if (!self->checkpoints.busy) courier_job_destroy(&self->checkpoints.job);
    copies_drop(&self->copies);
}

void back_begin(shepherd_t *self, const char *reason)
{
    free(self->recovery.reason);
    self->recovery.reason = mem_strdup(reason);
    self->recovery.from = self->round.number;
    self->recovery.backing = true;
    self->shards.keeping = false; /* what the shards hold is not what they are to hold */
    self->recovery.written = self->recovery.restoring = false;
    drop_work(self);
    phase_change(&self->phase, PHASE_GATHER);
}

void back_or_fail(shepherd_t *self, const char *reason)
{
    if (++self->recovery.backs > MOST_TIMES)
        shepherd_fail(
            self,
            "%s; the run went back %d times and did not get beyond that round: see to the "
            "disks of workers and aggregators, then start it again with resume",
            reason, MOST_TIMES);
    else
        back_begin(self, reason);
}

static void lost(shepherd_t *self, uint32_t replica)
{
    const work_t *lease = &self->round.lease[replica];
    const char *text =
        "inner state %.12s of replica %u, which begins round %u with it, is lost: none of "
        "%zu workers has it, nor has the object service%s%s";
    char *reason = mem_printf(text, lease->state_in, replica, self->round.number + 1,
                              members_count(&self->roster, MSG__KIND__KIND_WORKER),
                              *lease->maker ? "; it was named by " : "", lease->maker);
    log_event(LOG_ERROR, "state_lost", "round=%u replica=%u state=%.12s reason=\"%s\"",
              self->round.number, replica, lease->state_in, reason);
    back_or_fail(self, reason);
    free(reason);
}

void back_check(shepherd_t *self)
{
    if (self->phase != PHASE_TRAIN || self->stopping || self->round.refused.n == 0 ||
        !members_shards_here(self))
        return;
    for (int64_t k = 0; k < self->round.replicas; k++) {
        if (self->round.lease[k].state != WORK_OPEN) continue;
        int64_t since = lost_since(self, (uint32_t)k);
        if (!since || self->now_ms - since < self->config->timeout_ms) continue;
        lost(self, (uint32_t)k);
        return;
    }
}

bool back_gather(shepherd_t *self)
{
    if (members_count(&self->roster, MSG__KIND__KIND_AGGREGATOR) <
        (size_t)self->config->aggregators)
        return false;
    if (!self->recovery.restoring) {
        courier_job_t *job = courier_job_new(COURIER_LEDGER, NULL, 0);
        job->back = true;
        job->n_good = self->recovery.good.n;
        job->good = mem_calloc(self->recovery.good.n + 1, sizeof *job->good);
        if (self->recovery.good.n)
            memcpy(job->good, self->recovery.good.at, self->recovery.good.n * sizeof *job->good);
        shepherd_start(self, job);
        return false;
    }
    return self->recovery.written;
}

static void tell(shepherd_t *self, const char *checkpoint)
{
    Msg__Rewound rewound = MSG__REWOUND__INIT;
    rewound.from = self->recovery.from;
    rewound.to = self->round.number;
    rewound.reason = self->recovery.reason;
    rewound.checkpoint = (char *)checkpoint;
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_REWOUND;
    event.rewound = &rewound;
    shepherd_tell(self, &event);
}

void back_found(shepherd_t *self)
{
    const char *checkpoint = self->recovery.path ? self->recovery.path : "";
    if (!self->recovery.backing) return;
    log_event(LOG_WARN, "rewound", "from=%u to=%u checkpoint=%s reason=\"%s\"", self->recovery.from,
              self->round.number, *checkpoint ? checkpoint : "none", self->recovery.reason);
    tell(self, checkpoint);
    record_t *record = record_new(RECORD_BACK, self->round.number);
    record->from = self->recovery.from;
    record->text = mem_strdup(checkpoint);
    record->detail = mem_strdup(self->recovery.reason);
    records_write(self, record);
}

/* A checkpoint that was whole when it was chosen: another is looked for. */
bool back_again(shepherd_t *self, const courier_result_t *result)
{
    bool damaged = result->err.code == ERR_CORRUPT || result->err.code == ERR_IO;
    if (!self->recovery.backing || result->kind != COURIER_RESTORE || !damaged ||
        ++self->recovery.backs > MOST_TIMES)
        return false;
    log_event(LOG_WARN, "checkpoint_refused", "reason=\"%s\"", result->err.text);
    self->recovery.written = self->recovery.restoring = false;
    phase_change(&self->phase, PHASE_GATHER);
    return true;
}

void recovery_fini(recovery_t *self)
{
    store_resume_fini(&self->loaded);
    free(self->path);
    free(self->reason);
    VEC_FREE(&self->good);
}
