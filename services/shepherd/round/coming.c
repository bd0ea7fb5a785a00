/* Leases that wait for a copy of the inner state they begin with, which its maker keeps (keep_state local): a replica has got
 * another worker, because one came, or went to another run. Who refused the lease, or another, gets it when the copy is there.
 *
 *   the maker is here          COPY to it, COPIED ends the wait
 *   it went to another run     it sends the copy by itself and cannot tell us: the lease is offered now and then
 *   it is gone for good        nothing is on its way: recovery/back.c */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

enum { AGAIN_MS = 2000, TRY_MS = 1000, AT_LEAST_MS = 30000, AT_MOST_MS = 1800000 };

/* Four times what the worker's link should take, by its last uploads. */
static int64_t patience_ms(const shepherd_t *self, const char *maker)
{
    const speed_t *row = admission_measured(&self->admission, maker);
    double most = row ? 4000 * row->up_s * (double)work_state_bytes(self) : 0;
    if (most > AT_MOST_MS) return AT_MOST_MS;
    return (most > AT_LEAST_MS ? (int64_t)most : AT_LEAST_MS) + self->config->timeout_ms;
}

static const moved_t *moved_of(const shepherd_t *self, const char *worker)
{
    for (size_t i = 0; i < self->round.moved.n; i++)
        if (strcmp(self->round.moved.at[i].id, worker) == 0) return &self->round.moved.at[i];
    return NULL;
}

void coming_moved(shepherd_t *self, const char *worker)
{
    enum { MOST = 256 };
    moved_t *list = self->round.moved.at, row = {.since_ms = self->now_ms};
    const moved_t *old = moved_of(self, worker);
    size_t at = old ? (size_t)(old - list) : 0;
    if (old || self->round.moved.n == MOST)
        memmove(&list[at], &list[at + 1], (--self->round.moved.n - at) * sizeof *list);
    snprintf(row.id, sizeof row.id, "%s", worker);
    VEC_PUSH(&self->round.moved, row);
}

/* An aggregator that is away takes no copy: then the maker is asked later (coming_tick). */
static void ask(shepherd_t *self, work_t *lease, const member_row_t *maker)
{
    if (!members_shards_here(self)) return;
    char **endpoints = members_endpoints(&self->roster, (size_t)self->config->aggregators);
    Msg__Copy copy = MSG__COPY__INIT;
    copy.run_hash = self->run_hash;
    copy.state = lease->state_in;
    copy.data = endpoints;
    copy.n_data = self->bulk.layout.n_shard;
    MSG_SEND(self->ports.out, &maker->peer, 0, COPY, copy, &copy);
    free(endpoints);
}

/* Is it on its way, by all that we know? */
static bool is_coming(const shepherd_t *self, const work_t *lease, const member_row_t *maker)
{
    const moved_t *moved = maker ? NULL : moved_of(self, lease->maker);
    int64_t since = moved ? moved->since_ms : lease->coming_ms;
    bool sent = moved || (maker && maker->copies);
    return sent && self->now_ms - since < patience_ms(self, lease->maker);
}

bool coming_wait(shepherd_t *self, uint32_t replica, uint32_t refuser)
{
    work_t *lease = &self->round.lease[replica];
    const member_row_t *maker = *lease->maker ? member_by_id(&self->roster, lease->maker) : NULL;
    if (!lease->coming_ms) lease->coming_ms = self->now_ms;
    if (!*lease->maker || (maker && maker->serial == refuser) || !is_coming(self, lease, maker))
        return false;
    log_event(LOG_INFO, "state_awaited", "round=%u replica=%u state=%.12s from=%s here=%d",
              self->round.number, replica, lease->state_in, lease->maker, maker != NULL);
    work_reopen(self, replica);
    lease->coming = true;
    lease->asked_ms = self->now_ms;
    if (maker) ask(self, lease, maker);
    return true;
}

static void end_wait(shepherd_t *self, work_t *lease)
{
    lease->coming = false;
    self->round.stirred = true;
}

void coming_heard(shepherd_t *self, const char *worker, const Msg__Copied *copied)
{
    for (int64_t k = 0; k < self->round.replicas; k++) {
        work_t *lease = &self->round.lease[k];
        if (!lease->coming || strcmp(lease->state_in, copied->state) != 0) continue;
        if (strcmp(lease->maker, worker) != 0) continue; /* it was not asked */
        if (*copied->error && !members_shards_here(self)) continue;
        if (*copied->error) *lease->maker = '\0'; /* it has not got it either */
        end_wait(self, lease);
    }
}

/* The news may be lost, as who sends it. */
void coming_tick(shepherd_t *self)
{
    for (int64_t k = 0; self->round.n_lease[WORK_OPEN] > 0 && k < self->round.replicas; k++) {
        work_t *lease = &self->round.lease[k];
        if (!lease->coming) continue;
        const member_row_t *maker = member_by_id(&self->roster, lease->maker);
        bool due = self->now_ms - lease->asked_ms >= (maker ? AGAIN_MS : TRY_MS);
        if (!maker || !is_coming(self, lease, maker)) {
            if (due) end_wait(self, lease);
        } else if (due) {
            lease->asked_ms = self->now_ms;
            ask(self, lease, maker);
        }
    }
}
