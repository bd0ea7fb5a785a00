/* The back-off of one worker. */
#include "supervisor/restart.h"

int64_t restart_wait(restart_t *self, const restart_policy_t *policy, int64_t now_ms,
                     int64_t life_ms, double chance)
{
    /* Also stable lives count: a worker that dies every few seconds for a minute does no work. */
    int64_t *slot = &self->exits_ms[self->n_exits % policy->max_exits];
    *slot = now_ms;
    self->n_exits++;
    int64_t *oldest = &self->exits_ms[self->n_exits % policy->max_exits];
    if (self->n_exits >= policy->max_exits && now_ms - *oldest < policy->window_ms)
        return RESTART_NEVER;
    if (life_ms >= policy->stable_ms) self->short_lives = 0;
    int doublings = self->short_lives++ - 1;
    if (doublings < 0) return 0;
    int64_t wait = policy->base_ms;
    for (int i = 0; i < doublings && wait < policy->max_ms; i++) wait *= 2;
    if (wait > policy->max_ms) wait = policy->max_ms;
    return wait / 2 + (int64_t)(chance * (double)(wait - wait / 2));
}
