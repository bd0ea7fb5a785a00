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
#include "shepherd/shepherd.h"

enum { MOST_TIMES = 3 }; /* without a round committed in between */

/* --- Who cannot train which replica --- */

bool back_refused(const shepherd_t *self, uint32_t replica, uint32_t worker)
{
    for (size_t i = 0; i < self->refused.n; i++)
        if (self->refused.at[i].replica == replica && self->refused.at[i].worker == worker)
            return true;
    return false;
}

void back_refuse(shepherd_t *self, const Msg__LeaseFailed *failed, const member_row_t *worker)
{
    work_t *lease = &self->lease[failed->replica];
    if (strcmp(failed->lost_state, lease->state_in) != 0) return; /* not what we gave */
    refusal_t row = {failed->replica, worker->serial, self->now_ms};
    for (size_t i = 0; i < self->refused.n; i++)
        if (self->refused.at[i].replica == row.replica &&
            self->refused.at[i].since_ms < row.since_ms)
            row.since_ms = self->refused.at[i].since_ms;
    VEC_PUSH(&self->refused, row);
    lease->home = 0; /* whoever else is free */
}

void back_forget(shepherd_t *self)
{
    self->refused.n = 0;
}

/* Since when nobody who is here has its state; 0: somebody may, or nobody is here. */
static int64_t lost_since(const shepherd_t *self, uint32_t replica)
{
    int64_t since = 0;
    size_t asked = 0;
    for (size_t i = 0; i < self->refused.n; i++)
        if (self->refused.at[i].replica == replica) since = self->refused.at[i].since_ms;
    for (size_t i = 0; since && i < self->members.n; i++) {
        const member_row_t *row = &self->members.at[i];
        if (row->kind != MSG__KIND__KIND_WORKER || !plans_ready(self, row->target)) continue;
        if (row->blame.refused) continue;
        if (!back_refused(self, replica, row->serial)) return 0;
        asked++;
    }
    return asked ? since : 0;
}

/* --- The way back --- */

static void drop_work(shepherd_t *self)
{
    for (int64_t k = 0; k < self->replicas; k++) {
        work_t *lease = &self->lease[k];
        work_revoke(self, (uint32_t)k);
        if (lease->fence > self->fence_top) self->fence_top = lease->fence;
        lease->state = WORK_OPEN;
        lease->holder = lease->home = 0;
        lease->adoptable = lease->late = lease->carry = false;
        self->inspection[k].waits = false;
    }
    self->eval.n = 0;
    self->opened = self->decided = self->summary_waits = self->holding = false;
    self->started_ms = self->opened_ms = self->led_ms = self->outage_ms = 0;
    back_forget(self);
    if (!self->checkpoint_busy) courier_job_destroy(&self->checkpoint_job);
}

void back_begin(shepherd_t *self, const char *reason)
{
    free(self->back_reason);
    self->back_reason = mem_strdup(reason);
    self->back_from = self->round;
    self->backing = true;
    self->keeping = false; /* what the shards hold is not what they are to hold */
    self->back_written = self->restoring = false;
    drop_work(self);
    phase_change(&self->phase, PHASE_GATHER);
}

void back_or_fail(shepherd_t *self, const char *reason)
{
    if (++self->backs > MOST_TIMES)
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
    const char *text =
        "inner state %.12s of replica %u, which begins round %u with it, is lost: none of "
        "%zu workers has it, nor has the object service";
    char *reason = mem_printf(text, self->lease[replica].state_in, replica, self->round + 1,
                              members_count(self, MSG__KIND__KIND_WORKER));
    log_event(LOG_ERROR, "state_lost", "round=%u replica=%u state=%.12s reason=\"%s\"", self->round,
              replica, self->lease[replica].state_in, reason);
    back_or_fail(self, reason);
    free(reason);
}

void back_check(shepherd_t *self)
{
    if (self->phase != PHASE_TRAIN || self->stopping || self->refused.n == 0 ||
        !members_shards_here(self))
        return;
    for (int64_t k = 0; k < self->replicas; k++) {
        if (self->lease[k].state != WORK_OPEN) continue;
        int64_t since = lost_since(self, (uint32_t)k);
        if (!since || self->now_ms - since < self->config->timeout_ms) continue;
        lost(self, (uint32_t)k);
        return;
    }
}

void back_gather(shepherd_t *self)
{
    if (members_count(self, MSG__KIND__KIND_AGGREGATOR) < (size_t)self->config->shards) return;
    if (!self->restoring) {
        courier_job_t *job = courier_job_new(COURIER_LEDGER, NULL, 0);
        job->back = true;
        job->n_good = self->good.n;
        job->good = mem_calloc(self->good.n + 1, sizeof *job->good);
        if (self->good.n) memcpy(job->good, self->good.at, self->good.n * sizeof *job->good);
        shepherd_start(self, job);
    } else if (self->back_written) {
        shepherd_begin(self);
    }
}

static void tell(shepherd_t *self, const char *checkpoint)
{
    Msg__Rewound rewound = MSG__REWOUND__INIT;
    rewound.from = self->back_from;
    rewound.to = self->round;
    rewound.reason = self->back_reason;
    rewound.checkpoint = (char *)checkpoint;
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_REWOUND;
    event.rewound = &rewound;
    shepherd_tell(self, &event);
}

void back_found(shepherd_t *self)
{
    const char *checkpoint = self->restore_path ? self->restore_path : "";
    if (!self->backing) return;
    log_event(LOG_WARN, "rewound", "from=%u to=%u checkpoint=%s reason=\"%s\"", self->back_from,
              self->round, *checkpoint ? checkpoint : "none", self->back_reason);
    tell(self, checkpoint);
    record_t *record = record_new(RECORD_BACK, self->round);
    record->from = self->back_from;
    record->text = mem_strdup(checkpoint);
    record->detail = mem_strdup(self->back_reason);
    records_write(self, record);
}

/* A checkpoint that was whole when it was chosen: another is looked for. */
bool back_again(shepherd_t *self, const courier_result_t *result)
{
    bool damaged = result->err.code == ERR_CORRUPT || result->err.code == ERR_IO;
    if (!self->backing || result->kind != COURIER_RESTORE || !damaged || ++self->backs > MOST_TIMES)
        return false;
    log_event(LOG_WARN, "checkpoint_refused", "reason=\"%s\"", result->err.text);
    self->back_written = self->restoring = false;
    phase_change(&self->phase, PHASE_GATHER);
    return true;
}

void back_fini(shepherd_t *self)
{
    VEC_FREE(&self->refused);
    VEC_FREE(&self->good);
    free(self->back_reason);
}
