/* Leases that a round closes without (quorum, deadline_s) and that a later one counts, where the
 * run's policy is late = "next".
 *
 *   d_k = theta_r - theta_k             what replica k makes of the parameters of round r, late
 *   theta_(r+2) = outer(theta_(r+1), sum over its shares, d_k among them, by steps)
 *
 * A delayed pseudo-gradient: as in asynchronous DiLoCo (Liu et al.,
 * "Asynchronous Local-SGD Training for Language Modeling", 2024, arXiv:2401.09135), without its
 * correction of the momentum. It stands for the replica's own update of round r + 1, which it does
 * not train: a replica counts once in a round. Rounds close without it late_rounds times at most,
 * then it is dropped.
 *
 * The late lease (r, k) becomes the lease (r+1, k): the same windows, which round r returns and
 * round r + 1 leases again, the same inner state, and `lag` 1: the parameters of round r, which
 * shards keep (COMMIT tells them for how long) beside those of the open round. That one becomes
 * (r+2, k) with lag 2, and so on. So it is as good as any other: given again where its worker dies,
 * with the same result. Its worker goes on with what it has (carry): a LEASE with lag is the one in
 * hand under a new name. That it goes on is part of round r's decision, that it lags part of round
 * r + 1's opening: the next leader reads both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

bool late_keep(shepherd_t *self, uint32_t replica)
{
    work_t *lease = &self->round.lease[replica];
    const char *policy = self->config->late;
    if (!policy || strcmp(policy, "next") != 0 || lease->state != WORK_ISSUED ||
        lease->lag >= self->config->late_rounds ||
        (int64_t)self->round.number + 1 >= self->config->rounds)
        return false;
    work_move(self, lease, WORK_DROPPED, lease->holder);
    lease->late = true;
    self->admission.inspection[replica].waits = false;
    log_event(LOG_INFO, "late", "round=%u replica=%u fence=%u lag=%u worker=%s", self->round.number,
              replica, lease->fence, lease->lag, lease->worker);
    return true;
}

work_t late_next(const work_t *late, work_t next)
{
    next.lag = late->lag + 1;
    next.carry = true;
    next.range = late->range;
    memcpy(next.worker, late->worker, sizeof next.worker);
    return next;
}

uint32_t late_longest(const round_t *round)
{
    uint32_t longest = 0;
    for (int64_t k = 0; k < round->replicas; k++) {
        const work_t *lease = &round->lease[k];
        if (lease->late && lease->lag + 1 > longest) longest = lease->lag + 1;
    }
    return longest;
}

/* Round r is decided, or committed, and this is in the next leader's or the connection's time
 * before round r + 1; or that is open. The worker may not have heard of the lease's later names. */
bool late_held(shepherd_t *self, const member_row_t *row, const Msg__Holding *holding)
{
    if (holding->run_hash != self->run_hash || holding->replica >= self->round.replicas)
        return false;
    work_t *lease = &self->round.lease[holding->replica];
    uint32_t behind = self->round.number - holding->round;
    bool ours = holding->round <= self->round.number && behind <= lease->lag + lease->late;
    bool open = lease->state == WORK_OPEN || (lease->state == WORK_ISSUED && lease->holder == 0 &&
                                              strcmp(lease->worker, row->id) == 0);
    if (!ours || !(lease->late || (lease->lag && behind && open))) return false;
    lease->carry = !lease->late;
    snprintf(lease->worker, sizeof lease->worker, "%s", row->id);
    return true;
}

bool late_waits(const shepherd_t *self, uint32_t round, uint32_t replica)
{
    return round == self->round.number && replica < self->round.replicas &&
           self->round.lease[replica].late;
}
