/* Leases and parts change their state and their home here: what each member has of them is counted,
 * and linked, as it changes, so that no message looks at them all. */
#include <string.h>

#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

static void hold(shepherd_t *self, const work_t *work, int change)
{
    member_row_t *row = work->state == WORK_ISSUED && work->holder
                            ? member_by_serial(&self->roster, work->holder)
                            : NULL;
    if (row) row->n_work = (uint32_t)((int64_t)row->n_work + change);
    if (work->state == WORK_ISSUED && !work->holder)
        self->round.n_absent = (uint32_t)((int64_t)self->round.n_absent + change);
}

void work_move(shepherd_t *self, work_t *work, work_state_t state, uint32_t holder)
{
    round_t *round = &self->round;
    bool is_lease = work >= round->lease && work < round->lease + round->replicas;
    uint32_t *n = is_lease ? round->n_lease : round->n_part;
    hold(self, work, -1);
    n[work->state]--;
    work->state = state;
    work->holder = holder;
    n[state]++;
    hold(self, work, 1);
    if (state == WORK_OPEN) round->stirred = true;
}

/* --- Homes --- */

static void link_in(shepherd_t *self, work_t *lease)
{
    member_row_t *row = lease->home ? member_by_serial(&self->roster, lease->home) : NULL;
    uint32_t *first = row ? &row->homes : &self->round.homeless;
    uint32_t own = (uint32_t)(lease - self->round.lease) + 1;
    if (row) row->n_home++;
    lease->before = 0;
    lease->next = *first;
    if (lease->next) self->round.lease[lease->next - 1].before = own;
    *first = own;
}

static void link_out(shepherd_t *self, work_t *lease)
{
    member_row_t *row = lease->home ? member_by_serial(&self->roster, lease->home) : NULL;
    uint32_t own = (uint32_t)(lease - self->round.lease) + 1;
    if (row) row->n_home--;
    if (lease->before)
        self->round.lease[lease->before - 1].next = lease->next;
    else if (row)
        row->homes = lease->next;
    else if (self->round.homeless == own) /* else its home's row is on its way out */
        self->round.homeless = lease->next;
    if (lease->next) self->round.lease[lease->next - 1].before = lease->before;
}

void work_home(shepherd_t *self, work_t *lease, uint32_t worker)
{
    link_out(self, lease);
    lease->home = worker;
    link_in(self, lease);
}

void work_count(shepherd_t *self)
{
    round_t *round = &self->round;
    memset(round->n_lease, 0, sizeof round->n_lease);
    memset(round->n_part, 0, sizeof round->n_part);
    round->homeless = round->n_absent = 0;
    for (size_t i = 0; i < self->roster.members.n; i++) {
        member_row_t *row = self->roster.members.at[i];
        row->n_work = row->n_home = row->homes = 0;
    }
    for (int64_t k = 0; k < round->replicas; k++) {
        round->n_lease[round->lease[k].state]++;
        hold(self, &round->lease[k], 1);
        link_in(self, &round->lease[k]);
    }
    for (int64_t k = 0; self->audits.at && k < round->replicas; k++) {
        uint32_t auditor = self->audits.at[k].auditor;
        member_row_t *row = auditor ? member_by_serial(&self->roster, auditor) : NULL;
        if (row) row->n_work++;
    }
    for (size_t i = 0; i < round->eval.n; i++) {
        round->n_part[round->eval.at[i].state]++;
        hold(self, &round->eval.at[i], 1);
    }
    round->stirred = true;
}

void work_reopen_eval(shepherd_t *self, work_t *part)
{
    work_move(self, part, WORK_OPEN, 0);
    part->fence++;
}
