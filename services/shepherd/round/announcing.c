/* Aggregators are told who has which lease, under which fence: they take its update from nobody else. What was given
 * while a message was handled is told together. An aggregator of a version before that is told of fences that rise. */
#include <string.h>

#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

enum { AT_ONCE = 4096 }; /* holders in a message */

/* What a leader before us may have given is its worker's, whoever that is, until we give it. */
static bool is_known(const work_t *lease)
{
    return !lease->adoptable || lease->state != WORK_OPEN;
}

static void send_fence(shepherd_t *self, const member_row_t *aggregator, uint32_t replica)
{
    Msg__Fence fence = MSG__FENCE__INIT;
    fence.round = self->round.number;
    fence.replica = replica;
    fence.fence = self->round.lease[replica].fence;
    MSG_SEND(self->ports.out, &aggregator->peer, 0, FENCE, fence, &fence);
}

/* To one aggregator, or, NULL, to all that want to know. */
static void send_holders(shepherd_t *self, const member_row_t *only, Msg__Holder *holder, size_t n)
{
    Msg__Holder *list[AT_ONCE];
    Msg__Fence fence = MSG__FENCE__INIT;
    fence.round = self->round.number;
    fence.holders = list;
    for (size_t first = 0; first < n; first += AT_ONCE) {
        fence.n_holders = n - first < AT_ONCE ? n - first : AT_ONCE;
        for (size_t i = 0; i < fence.n_holders; i++) list[i] = &holder[first + i];
        for (size_t i = 0; i < self->roster.others.n; i++) {
            const member_row_t *row = self->roster.others.at[i];
            if (row->shard >= 0 && row->holders && (!only || row == only))
                MSG_SEND(self->ports.out, &row->peer, 0, FENCE, fence, &fence);
        }
    }
}

static void fill(const work_t *lease, uint32_t replica, Msg__Holder *holder)
{
    msg__holder__init(holder);
    holder->replica = replica;
    holder->fence = lease->fence;
    holder->worker = (char *)(lease->state == WORK_OPEN ? "" : lease->worker);
}

void work_announce(shepherd_t *self, uint32_t replica)
{
    enum { MANY = 256 }; /* who has got the first is not to wait for the last */
    VEC_PUSH(&self->round.untold, replica);
    if (self->round.untold.n >= MANY) work_tell(self);
}

void work_tell(shepherd_t *self)
{
    size_t n = self->round.untold.n;
    if (n == 0) return;
    Msg__Holder *holder = mem_calloc(n, sizeof *holder);
    for (size_t i = 0; i < n; i++) {
        uint32_t replica = self->round.untold.at[i];
        fill(&self->round.lease[replica], replica, &holder[i]);
    }
    send_holders(self, NULL, holder, n);
    free(holder);
    self->round.untold.n = 0;
}

void work_fences(shepherd_t *self, const member_row_t *aggregator)
{
    size_t most = self->round.opened ? (size_t)self->round.replicas : 0, n = 0;
    Msg__Holder *holder = mem_calloc(most + 1, sizeof *holder);
    for (uint32_t k = 0; k < most; k++) {
        if (!is_known(&self->round.lease[k])) continue;
        fill(&self->round.lease[k], k, &holder[n++]);
        if (!aggregator->holders) send_fence(self, aggregator, k);
    }
    send_holders(self, aggregator, holder, n);
    free(holder);
}

void work_raised(shepherd_t *self, uint32_t replica)
{
    for (size_t i = 0; i < self->roster.others.n; i++) {
        const member_row_t *row = self->roster.others.at[i];
        if (row->shard >= 0 && !row->holders) send_fence(self, row, replica);
    }
    work_announce(self, replica);
}
