/* What there is to do in a round: its leases, and the parts of a validation. */
#include <string.h>

#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

void work_open_round(shepherd_t *self)
{
    for (int64_t k = 0; k < self->round.replicas; k++) {
        work_t *lease = &self->round.lease[k];
        work_t next = {.home = lease->home, .fence = self->round.fence_base + 1};
        if (lease->fence > self->round.fence_top) self->round.fence_top = lease->fence;
        memcpy(next.state_in, lease->state_in, HASH_HEX);
        memcpy(next.target, lease->target, sizeof next.target);
        memcpy(next.maker, lease->maker, sizeof next.maker);
        *lease = lease->late ? late_next(lease, next) : next;
    }
    audits_open(self);
    replicas_decide(self);
    self->round.refused.n = 0; /* no worker has refused a lease of it */
    work_settle(self);
    ranges_plan(self);
    self->round.begun_ms = self->now_ms;
}

/* In parts that do not depend on who is there, so that the mean does not either; small enough for
 * unequal workers to end at about the same time. */
void work_open_eval(shepherd_t *self)
{
    enum { PARTS = 32 };
    uint64_t batches = layout_sample(&self->bulk.layout, self->bulk.validation_tokens,
                                     self->config->validate_tokens)
                           .batches;
    size_t parts = batches < PARTS ? (size_t)batches : PARTS;
    self->progress.eval_begun_ms = self->now_ms;
    self->round.eval.n = 0;
    for (size_t i = 0; i < parts; i++) {
        uint64_t begin = batches * i / parts, end = batches * (i + 1) / parts;
        work_t part = {.begin = begin, .n = end - begin, .fence = 1};
        VEC_PUSH(&self->round.eval, part);
    }
    audits_open_parts(self);
    work_count(self);
}
