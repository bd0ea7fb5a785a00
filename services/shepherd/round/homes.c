/* Homes: which worker has which replica. */
#include <stdlib.h>

#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

bool work_ready(const shepherd_t *self, const member_row_t *row)
{
    return row->kind == MSG__KIND__KIND_WORKER && !row->blame.refused &&
           plans_ready(&self->plans, row->target);
}

static bool may_have(const shepherd_t *self, const member_row_t *row)
{
    return work_ready(self, row) && !row->mute;
}

/* Workers of one target, or of all, the longest here first; `at` is behind those that have more leases
 * than `level`. No load falls to the present level, so that each worker is looked at once a level. */
typedef struct {
    VEC(member_row_t *) who;
    size_t at;
    uint32_t level;
} queue_t;

/* Workers from the least loaded on, each taking a replica when it is next. */
typedef struct {
    queue_t all, *of; /* of: by the roster's targets */
    size_t n_of;
    uint32_t level; /* the least load */
} seats_t;

/* The first with that many leases; NULL: none. */
static member_row_t *queue_next(queue_t *self, uint32_t level)
{
    if (self->level != level) self->at = 0;
    self->level = level;
    while (self->at < self->who.n && self->who.at[self->at]->n_home != level) self->at++;
    return self->at < self->who.n ? self->who.at[self->at] : NULL;
}

/* The next seat; among those that are as good, one of the lease's target. */
static member_row_t *seats_for(seats_t *seats, const work_t *lease)
{
    member_row_t *next;
    while (!(next = queue_next(&seats->all, seats->level))) seats->level++;
    for (size_t i = 0; *lease->target && i < seats->n_of; i++) {
        queue_t *of = &seats->of[i];
        if (of->who.n == 0 || !work_same_target(lease, of->who.at[0])) continue;
        member_row_t *kin = queue_next(of, seats->level);
        return kin ? kin : next;
    }
    return next;
}

static void seats_begin(const shepherd_t *self, seats_t *seats)
{
    *seats = (seats_t){.n_of = self->roster.kins.n, .level = UINT32_MAX};
    seats->of = mem_calloc(seats->n_of + 1, sizeof *seats->of);
    for (size_t i = 0; i < self->roster.members.n; i++) {
        member_row_t *row = self->roster.members.at[i];
        if (!may_have(self, row)) continue;
        VEC_PUSH(&seats->all.who, row);
        VEC_PUSH(&seats->of[row->kin].who, row);
        if (row->n_home < seats->level) seats->level = row->n_home;
    }
}

static void seats_end(seats_t *seats)
{
    for (size_t i = 0; i < seats->n_of; i++) VEC_FREE(&seats->of[i].who);
    VEC_FREE(&seats->all.who);
    free(seats->of);
}

/* Give every replica a home; move one only where that lowers the largest load, for a moved replica
 * loses its inner state. One whose target has lost a worker of late waits where it is, or without a home,
 * which whoever suits it may end (give_homeless). */
void work_settle(shepherd_t *self)
{
    seats_t seats;
    work_count(self);
    seats_begin(self, &seats);
    size_t n = (size_t)self->round.replicas, n_who = seats.all.who.n;
    size_t fair = n_who ? (n + n_who - 1) / n_who : 0;
    for (size_t k = 0; n_who > 0 && k < n; k++) {
        work_t *lease = &self->round.lease[k];
        const member_row_t *home = member_by_serial(&self->roster, lease->home);
        if (home && home->n_home <= fair) continue;
        const member_row_t *next = seats_for(&seats, lease);
        bool suits = work_suits(self, lease, next);
        if (!suits && !home) work_home(self, lease, 0);
        if (!suits || (home && next->n_home >= fair)) continue;
        work_home(self, lease, next->serial);
    }
    seats_end(&seats);
}

/* A replica whose worker is gone goes to an idle spare of its target, which then keeps it; if there is
 * none, to whoever is free first (home 0), and finds its place when the next round opens. */
uint32_t work_spare(const shepherd_t *self, const work_t *lease, uint32_t lost)
{
    for (size_t i = 0; i < self->roster.members.n; i++) {
        const member_row_t *row = self->roster.members.at[i];
        if (row->n_home == 0 && row->serial != lost && may_have(self, row) &&
            !blame_rests(row, self->now_ms) && work_same_target(lease, row))
            return row->serial;
    }
    return 0;
}
