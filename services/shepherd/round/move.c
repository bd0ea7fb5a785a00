/* Leases and parts change their state here, and are counted. */
#include <string.h>

#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

static void hold(shepherd_t *self, const work_t *work, int change)
{
    member_row_t *row = work->state == WORK_ISSUED && work->holder
                            ? member_by_serial(&self->roster, work->holder)
                            : NULL;
    if (row) row->n_work = (uint32_t)((int64_t)row->n_work + change);
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
}

void work_count(shepherd_t *self)
{
    round_t *round = &self->round;
    memset(round->n_lease, 0, sizeof round->n_lease);
    memset(round->n_part, 0, sizeof round->n_part);
    for (size_t i = 0; i < self->roster.members.n; i++) self->roster.members.at[i].n_work = 0;
    for (int64_t k = 0; k < round->replicas; k++) {
        round->n_lease[round->lease[k].state]++;
        hold(self, &round->lease[k], 1);
    }
    for (size_t i = 0; i < round->eval.n; i++) {
        round->n_part[round->eval.at[i].state]++;
        hold(self, &round->eval.at[i], 1);
    }
}
