/* Which states are on their way from which worker. */
#include "shepherd/bulk/copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/shepherd.h"

void copies_fini(copies_t *self)
{
    VEC_FREE(&self->list);
}

void copies_drop(copies_t *self)
{
    self->list.n = self->n_left = 0;
    self->failed = false;
}

static void ask(shepherd_t *self, copy_t *copy)
{
    const member_row_t *row = member_by_id(&self->roster, copy->worker);
    copy->asked_ms = self->now_ms;
    copy->missed = row ? 0 : copy->missed + 1;
    if (!row || !members_shards_here(self)) return; /* an aggregator that is away takes none */
    char **endpoints = members_endpoints(&self->roster, (size_t)self->config->aggregators);
    Msg__Copy message = MSG__COPY__INIT;
    message.run_hash = self->run_hash;
    message.state = copy->state;
    message.data = endpoints;
    message.n_data = self->bulk.layout.n_shard;
    MSG_SEND(self->ports.out, &row->peer, 0, COPY, copy, &message);
    free(endpoints);
}

/* Who has the state that the replica's lease begins with; NULL: nobody who could be asked. */
static const member_row_t *keeper(const shepherd_t *self, const work_t *lease)
{
    const member_row_t *maker = *lease->maker ? member_by_id(&self->roster, lease->maker) : NULL;
    if (maker && maker->copies) return maker;
    const member_row_t *home = lease->home ? member_by_serial(&self->roster, lease->home) : NULL;
    const member_row_t *row = home ? home : member_by_id(&self->roster, lease->worker);
    return row && row->copies ? row : NULL;
}

void copies_begin(shepherd_t *self)
{
    copies_t *copies = &self->copies;
    copies_drop(copies);
    copies->round = self->round.number;
    copies->begun_ms = self->now_ms;
    for (int64_t k = 0; k < self->round.replicas; k++) {
        const work_t *lease = &self->round.lease[k];
        const member_row_t *row = keeper(self, lease);
        copy_t copy = {.done = false};
        if (!row || !*lease->state_in) continue; /* an older worker's is an object already */
        memcpy(copy.state, lease->state_in, HASH_HEX);
        snprintf(copy.worker, sizeof copy.worker, "%s", row->id);
        VEC_PUSH(&copies->list, copy);
    }
    copies->n_left = copies->list.n;
    for (size_t i = 0; i < copies->list.n; i++) ask(self, &copies->list.at[i]);
    log_event(LOG_DEBUG, "copying", "round=%u states=%zu", copies->round, copies->n_left);
}

/* true: it was the last. */
static bool settle(shepherd_t *self, copy_t *copy, const char *error)
{
    copies_t *copies = &self->copies;
    copy->done = true;
    copies->n_left--;
    if (*error) {
        copies->failed = true;
        log_event(LOG_WARN, "state_not_copied", "round=%u state=%.12s worker=%s error=\"%s\"",
                  copies->round, copy->state, copy->worker, error);
    }
    if (copies->n_left) return false;
    if (!copies->failed) copies->last = copies->round;
    log_event(LOG_INFO, "states_copied", "round=%u states=%zu whole=%d every=%u", copies->round,
              copies->list.n, !copies->failed, copies->every);
    return true;
}

/* Why this one is not waited for any more; NULL: it is. Who stops a run waits for its end. A worker that is here and
 * sends nothing, ever, must not keep the run from saving its parameters. */
static const char *given_up(const shepherd_t *self, const copy_t *copy)
{
    enum { MOST_MISSED = 5, STOPPING_MS = 30000, MOST_ROUNDS = 100, AT_LEAST_MS = 1800000 };
    const copies_t *copies = &self->copies;
    int64_t since_ms = self->now_ms - copies->begun_ms;
    uint32_t every = copies->every ? copies->every : 1;
    if (copy->missed >= MOST_MISSED) return "its worker is gone";
    if (self->stopping && since_ms > STOPPING_MS) return "the run stops, and it takes too long";
    bool late = (self->round.number - copies->round) / every >= MOST_ROUNDS;
    return late && since_ms > AT_LEAST_MS ? "it does not come" : NULL;
}

bool copies_tick(shepherd_t *self)
{
    enum { AGAIN_MS = 2000 };
    copies_t *copies = &self->copies;
    for (size_t i = 0; copies->n_left && i < copies->list.n; i++) {
        copy_t *copy = &copies->list.at[i];
        if (copy->done || self->now_ms - copy->asked_ms < AGAIN_MS) continue;
        ask(self, copy);
        const char *error = given_up(self, copy);
        if (error && settle(self, copy, error)) return true;
    }
    return false;
}

bool copies_awaits(const copies_t *self, const char *state)
{
    for (size_t i = 0; i < self->list.n; i++)
        if (strcmp(self->list.at[i].state, state) == 0) return true;
    return false;
}

bool copies_heard(shepherd_t *self, const char *worker, const Msg__Copied *copied)
{
    copies_t *copies = &self->copies;
    if (copied->run_hash != self->run_hash || strlen(copied->state) != HASH_HEX - 1) return false;
    log_event(LOG_DEBUG, "copied", "state=%.12s bytes=%llu seconds=%.3f error=\"%s\"",
              copied->state, (unsigned long long)copied->bytes, copied->seconds, copied->error);
    bool last = false;
    for (size_t i = 0; i < copies->list.n; i++) {
        copy_t *copy = &copies->list.at[i];
        if (strcmp(copy->state, copied->state) != 0 || strcmp(copy->worker, worker) != 0) continue;
        if (*copied->error && !members_shards_here(self)) continue; /* it is asked for again */
        if (!copy->done && settle(self, copy, copied->error)) last = true;
    }
    return last;
}
