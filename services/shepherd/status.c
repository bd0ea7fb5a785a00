/* The shepherd's sign of life on telemetry out: phase, round, members by kind and state. */
#include "shepherd/shepherd.h"

#include <string.h>

#include "msg/vouch.h"

static bool compiler_busy(const shepherd_t *self, uint32_t serial)
{
    for (size_t i = 0; i < self->plans.rows.n; i++)
        if (self->plans.rows.at[i].state == PLAN_ASKED && self->plans.rows.at[i].compiler == serial)
            return true;
    return false;
}

static const char *member_state(const shepherd_t *self, const member_row_t *row)
{
    switch (row->kind) {
    case MSG__KIND__KIND_WORKER:
        if (row->blame.refused) return "refused";
        if (row->n_work > 0) return "busy";
        return plans_ready(&self->plans, row->target) ? "idle" : "preparing";
    case MSG__KIND__KIND_COMPILER: return compiler_busy(self, row->serial) ? "busy" : "idle";
    case MSG__KIND__KIND_AGGREGATOR: return row->shard < 0 ? "spare" : "active";
    default: return "present";
    }
}

void status_tick(shepherd_t *self)
{
    enum { PERIOD_MS = 1000, MOST = 16 }; /* kinds times their states are fewer than MOST */
    if (!self->ports.publish || self->now_ms - self->progress.status_ms < PERIOD_MS) return;
    self->progress.status_ms = self->now_ms;
    Msg__MemberCount count[MOST], *list[MOST];
    size_t n = 0;
    for (size_t i = 0; i < self->roster.members.n; i++) {
        const char *kind = msg_who_name(self->roster.members.at[i]->kind);
        const char *state = member_state(self, self->roster.members.at[i]);
        size_t k = 0;
        while (k < n && (strcmp(count[k].kind, kind) != 0 || strcmp(count[k].state, state) != 0))
            k++;
        if (k == MOST) continue;
        if (k == n) {
            msg__member_count__init(&count[n]);
            count[n].kind = (char *)kind;
            count[n].state = (char *)state;
            list[n] = &count[n];
            n++;
        }
        count[k].count++;
    }
    Msg__Status status = MSG__STATUS__INIT;
    status.phase = (char *)phase_name(self->phase);
    status.round = self->round.number;
    status.rounds = (uint32_t)self->config->rounds;
    status.evals = (uint32_t)self->round.eval.n;
    for (size_t i = 0; i < self->round.eval.n; i++)
        status.evals_done += self->round.eval.at[i].state == WORK_DONE;
    status.refused = vouch_refused() + self->progress.refused;
    status.audits = self->audits.n_leases;
    status.audited_parts = self->audits.n_parts;
    status.audits_skipped = self->audits.n_skipped;
    for (size_t i = 0; i < self->roster.members.n; i++)
        status.quarantined += self->roster.members.at[i]->quarantined;
    if (self->round.waiting_ms > self->round.begun_ms) status.waits = self->round.waits;
    status.n_members = n;
    status.members = list;
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_STATUS;
    event.status = &status;
    self->ports.publish(self->ports.user, &event);
    Msg__Event refused = MSG__EVENT__INIT;
    if (refusals_event(&self->progress.refusals, self->now_ms, &refused))
        self->ports.publish(self->ports.user, &refused);
}
