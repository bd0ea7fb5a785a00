/* Who gets which work: leases of replicas, parts of a validation, audits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

/* The first from there on who is free, but not the one to be avoided while there is another to be
 * waited for; members.n: nobody. */
static size_t taker(const shepherd_t *self, const work_t *work, size_t first)
{
    size_t m = first;
    while (m < self->roster.members.n && !(work_free(self, self->roster.members.at[m]) &&
                                           self->roster.members.at[m]->serial != work->avoid))
        m++;
    if (m < self->roster.members.n || !work->avoid ||
        plans_workers(&self->plans, &self->roster) > 1)
        return m;
    return first;
}

/* The same of those who may have the part where it is under audit. */
static size_t estimator(const shepherd_t *self, const work_t *part, size_t first)
{
    size_t m = taker(self, part, first);
    while (m < self->roster.members.n &&
           !audits_may_estimate(self, part, self->roster.members.at[m]))
        m = taker(self, part, m + 1);
    return m;
}

/* Parts of a validation, to whoever has credit; true when some are left. Those under audit wait for one who may, while
 * others train. */
static bool give_evals(shepherd_t *self, char **endpoints)
{
    size_t first = 0;
    for (size_t i = 0; i < self->round.eval.n; i++) {
        const work_t *part = &self->round.eval.at[i];
        if (part->state != WORK_OPEN) continue;
        while (first < self->roster.members.n && !work_free(self, self->roster.members.at[first]))
            first++;
        size_t m = estimator(self, part, first);
        if (m < self->roster.members.n)
            work_give_eval(self, (uint32_t)i, self->roster.members.at[m], endpoints);
        else if (!audits_has_part(self, part))
            return true;
    }
    return false;
}

static bool parts_left(const shepherd_t *self)
{
    for (size_t i = 0; self->round.n_part[WORK_OPEN] > 0 && i < self->round.eval.n; i++) {
        const work_t *part = &self->round.eval.at[i];
        if (part->state == WORK_OPEN && !audits_has_part(self, part)) return true;
    }
    return false;
}

/* Late leases, to those who have them in hand under the round before, credit or not. One who is not
 * here is waited for as long as workers may come back to a new leader. */
static void give_late(shepherd_t *self, char **endpoints)
{
    for (int64_t k = 0; self->round.opened && k < self->round.replicas; k++) {
        work_t *lease = &self->round.lease[k];
        if (!lease->carry || lease->state != WORK_OPEN) continue;
        member_row_t *row = member_by_id(&self->roster, lease->worker);
        if (row && work_ready(self, row))
            work_give_lease(self, (uint32_t)k, row, endpoints);
        else
            lease->carry = self->now_ms < self->recovery.adopt_until_ms;
    }
}

/* Neither with who had it before, nor waiting for its state. */
static bool may_be_given(const work_t *lease)
{
    return lease->state == WORK_OPEN && !lease->carry && !lease->coming;
}

/* Each replica to its home; the number that have none. */
static size_t give_homes(shepherd_t *self, char **endpoints)
{
    size_t homeless = 0;
    for (int64_t k = self->round.replicas; k-- > 0;) {
        const work_t *lease = &self->round.lease[k];
        if (!may_be_given(lease)) continue;
        homeless += lease->home == 0;
        member_row_t *row = lease->home ? member_by_serial(&self->roster, lease->home) : NULL;
        if (row && work_free(self, row)) work_give_lease(self, (uint32_t)k, row, endpoints);
    }
    return homeless;
}

static bool may_take(const shepherd_t *self, uint32_t replica, const member_row_t *row)
{
    return work_free(self, row) && !round_refused(&self->round, replica, row->serial) &&
           work_suits(self, &self->round.lease[replica], row);
}

/* Those whose worker is gone, to whoever has credit left and may have the inner state. */
static void give_homeless(shepherd_t *self, char **endpoints)
{
    const work_t *left = NULL; /* one that suits nobody: nor do those like it */
    size_t first = 0;
    for (int64_t k = 0; k < self->round.replicas; k++) {
        const work_t *lease = &self->round.lease[k];
        if (!may_be_given(lease) || lease->home) continue;
        if (left && !self->round.refused.n && !lease->avoid &&
            lease->reopened_ms >= left->reopened_ms && strcmp(lease->target, left->target) == 0)
            continue;
        while (first < self->roster.members.n && !work_free(self, self->roster.members.at[first]))
            first++;
        if (first == self->roster.members.n) return;
        size_t m = taker(self, lease, first);
        while (m < self->roster.members.n &&
               !may_take(self, (uint32_t)k, self->roster.members.at[m]))
            m++;
        if (m < self->roster.members.n)
            work_give_lease(self, (uint32_t)k, self->roster.members.at[m], endpoints);
        else if (!lease->avoid)
            left = lease;
    }
}

static bool any_open(const shepherd_t *self)
{
    const round_t *round = &self->round;
    return round->n_part[WORK_OPEN] > 0 || (round->opened && round->n_lease[WORK_OPEN] > 0) ||
           self->audits.n_open > 0;
}

static bool gives_leases(const shepherd_t *self)
{
    return self->round.opened && self->round.number < self->config->rounds;
}

static void give_all(shepherd_t *self, char **endpoints)
{
    give_late(self, endpoints);
    bool evals = give_evals(self, endpoints);
    if (!evals && gives_leases(self) && give_homes(self, endpoints) > 0)
        give_homeless(self, endpoints);
}

static void give_parts_to(shepherd_t *self, member_row_t *row, char **endpoints)
{
    bool alone = plans_workers(&self->plans, &self->roster) <= 1;
    for (size_t i = 0; self->round.n_part[WORK_OPEN] > 0 && i < self->round.eval.n; i++) {
        const work_t *part = &self->round.eval.at[i];
        if (part->state != WORK_OPEN || !work_free(self, row)) continue;
        if (!audits_may_estimate(self, part, row)) continue;
        if (part->avoid != row->serial || alone) work_give_eval(self, (uint32_t)i, row, endpoints);
    }
}

/* The leases of one home, or those without: `first` and those linked to it. */
static void give_leases_to(shepherd_t *self, member_row_t *row, uint32_t first, char **endpoints)
{
    for (uint32_t at = first, next; at && work_free(self, row); at = next) {
        const work_t *lease = &self->round.lease[at - 1];
        next = lease->next;
        if (!may_be_given(lease)) continue;
        bool fits = lease->home ? lease->home == row->serial
                                : lease->avoid != row->serial && may_take(self, at - 1, row);
        if (fits) work_give_lease(self, at - 1, row, endpoints);
    }
}

static void give_to(shepherd_t *self, member_row_t *row, char **endpoints)
{
    give_parts_to(self, row, endpoints);
    if (parts_left(self) || !gives_leases(self)) return;
    give_leases_to(self, row, row->homes, endpoints);
    give_leases_to(self, row, self->round.homeless, endpoints);
}

void work_asks(shepherd_t *self, const member_row_t *worker)
{
    VEC_PUSH(&self->round.asked, worker->serial);
}

/* Once a round: an audit has to code what it makes as the lease did that it repeats. */
static void decide_exact(shepherd_t *self)
{
    if (self->shards.exact_round == self->round.number + 1) return;
    self->shards.exact_round = self->round.number + 1;
    self->shards.exact = members_exact(&self->roster);
}

/* Between two rounds most messages find nothing to give: then this looks at no lease. */
void work_dispatch(shepherd_t *self)
{
    round_t *round = &self->round;
    if (self->phase != PHASE_TRAIN || self->stopping || !any_open(self) ||
        !members_shards_here(self)) {
        round->stirred = true; /* whenever it may be given, everybody may be whom it is given to */
        round->asked.n = 0;
        return;
    }
    char **endpoints = members_endpoints(&self->roster, (size_t)self->config->aggregators);
    self->shards.ahead = members_ahead(&self->roster);
    decide_exact(self);
    if (round->stirred) give_all(self, endpoints);
    for (size_t i = 0; !round->stirred && i < round->asked.n; i++) {
        member_row_t *row = member_by_serial(&self->roster, round->asked.at[i]);
        if (row && work_free(self, row)) give_to(self, row, endpoints);
    }
    if (gives_leases(self)) audits_give(self, endpoints); /* to who has nothing else to do */
    round->stirred = false;
    round->asked.n = 0;
    free(endpoints);
}
