/* Homes: which worker has which replica. */
#include <stdlib.h>

#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

bool work_ready(const shepherd_t *self, const member_row_t *row)
{
    return row->kind == MSG__KIND__KIND_WORKER && !row->blame.refused &&
           plans_ready(&self->plans, row->target);
}

/* Replicas of each member, by its place in the table. Caller frees. */
static uint32_t *loads(const shepherd_t *self)
{
    uint32_t *load = mem_calloc(self->roster.members.n + 1, sizeof *load); /* the last: of nobody */
    for (int64_t k = 0; k < self->round.replicas; k++)
        load[member_place(&self->roster, self->round.lease[k].home)]++;
    return load;
}

/* Workers from the least loaded on (the longest here among equals), each taking a replica when it is
 * next. Nobody's load falls to `level`, so that every worker is looked at once a level. */
typedef struct {
    uint32_t *load; /* by place in the table of members */
    size_t *who;    /* places of those that can work */
    size_t n_who, at;
    uint32_t level; /* the least load */
} seats_t;

static size_t seats_next(seats_t *self)
{
    while (self->load[self->who[self->at]] != self->level) {
        if (++self->at < self->n_who) continue;
        self->at = 0;
        self->level++;
    }
    return self->who[self->at];
}

/* The next seat; among those that are as good, one of the lease's target. */
static size_t seats_for(const shepherd_t *self, seats_t *seats, const work_t *lease)
{
    size_t next = seats_next(seats);
    if (work_same_target(lease, &self->roster.members.at[next])) return next;
    for (size_t i = 0; i < seats->n_who; i++)
        if (seats->load[seats->who[i]] == seats->level &&
            work_same_target(lease, &self->roster.members.at[seats->who[i]]))
            return seats->who[i];
    return next;
}

static void seats_begin(const shepherd_t *self, seats_t *seats)
{
    size_t n = self->roster.members.n;
    *seats = (seats_t){.load = loads(self), .who = mem_calloc(n + 1, sizeof *seats->who)};
    for (size_t i = 0; i < n; i++)
        if (work_ready(self, &self->roster.members.at[i])) seats->who[seats->n_who++] = i;
    seats->level = UINT32_MAX;
    for (size_t i = 0; i < seats->n_who; i++)
        if (seats->load[seats->who[i]] < seats->level) seats->level = seats->load[seats->who[i]];
}

/* Give every replica a home; move one only where that lowers the largest load, for a moved replica
 * loses its inner state. One whose target has lost a worker of late waits where it is, or without a home,
 * which whoever suits it may end (give_homeless). */
void work_settle(shepherd_t *self)
{
    seats_t seats;
    seats_begin(self, &seats);
    size_t n = (size_t)self->round.replicas;
    size_t fair = seats.n_who ? (n + seats.n_who - 1) / seats.n_who : 0;
    for (size_t k = 0; seats.n_who > 0 && k < n; k++) {
        size_t home = member_place(&self->roster, self->round.lease[k].home);
        bool housed = home < self->roster.members.n;
        if (housed && seats.load[home] <= fair) continue;
        work_t *lease = &self->round.lease[k];
        size_t next = seats_for(self, &seats, lease);
        bool suits = work_suits(self, lease, &self->roster.members.at[next]);
        if (!suits && !housed) lease->home = 0;
        if (!suits) continue;
        if (housed && seats.load[next] >= fair) continue;
        if (housed) seats.load[home]--;
        seats.load[next]++;
        lease->home = self->roster.members.at[next].serial;
    }
    free(seats.load);
    free(seats.who);
}

/* A replica whose worker is gone goes to an idle spare of its target, which then keeps it; if there is
 * none, to whoever is free first (home 0), and finds its place when the next round opens. */
uint32_t work_spare(const shepherd_t *self, const work_t *lease, uint32_t lost)
{
    uint32_t *load = loads(self), home = 0;
    for (size_t i = 0; home == 0 && i < self->roster.members.n; i++) {
        const member_row_t *row = &self->roster.members.at[i];
        if (row->serial != lost && load[i] == 0 && work_ready(self, row) &&
            work_same_target(lease, row))
            home = row->serial;
    }
    free(load);
    return home;
}
