/* How fast a run is, what is left of it, and the summary of a round. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/rounds.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

static bool validation_due(const shepherd_t *self)
{
    if (self->bulk.validation_tokens == 0 || self->round.number == 0) return false;
    int64_t every = self->config->validate_every;
    return self->round.number == self->config->rounds ||
           (every > 0 && self->round.number % every == 0);
}

void rounds_validate(shepherd_t *self)
{
    if (validation_due(self)) work_open_eval(self);
}

/* Of those behind the open round's beginning. */
static int64_t validations_left(const shepherd_t *self)
{
    int64_t every = self->config->validate_every, rounds = self->config->rounds;
    if (self->bulk.validation_tokens == 0 || self->round.number >= rounds) return 0;
    return 1 + (every > 0 ? (rounds - 1) / every - self->round.number / every : 0);
}

/* Tokens/s that workers train, without what they send and wait for; 0: unknown. Of the round that
 * has just ended, while its leases are there. */
double rounds_speed(const shepherd_t *self)
{
    double busy_s = 0, tokens = 0;
    size_t n = 0, most = plans_workers(&self->plans, &self->roster);
    for (int64_t k = 0; k < self->round.replicas; k++) {
        const work_t *lease = &self->round.lease[k];
        if (lease->state != WORK_DONE || lease->compute_s <= 0) continue;
        busy_s += lease->compute_s;
        tokens += (double)lease->tokens;
        n++;
    }
    return busy_s > 0 ? tokens / busy_s * (double)(n < most ? n : most) : 0;
}

/* Before the first one: it takes a token a third of the time that training does. */
static double validation_s(const shepherd_t *self)
{
    if (self->progress.eval_ms) return (double)self->progress.eval_ms / 1000;
    uint64_t batches = layout_sample(&self->bulk.layout, self->bulk.validation_tokens,
                                     self->config->validate_tokens)
                           .batches;
    double speed = 3 * (self->progress.speed > 0 ? self->progress.speed
                                                 : self->progress.summary.tokens_per_s);
    return speed > 0 ? (double)(batches * self->bulk.layout.batch.tokens) / speed : 0;
}

double rounds_eta(const shepherd_t *self)
{
    double trained = (double)(self->now_ms - self->round.started_ms - self->progress.evaluated_ms) /
                     1000;
    uint32_t done = self->round.number - self->round.first;
    if (done == 0 || trained < 0) return 0;
    return trained / done * (double)(self->config->rounds - self->round.number) +
           validation_s(self) * (double)validations_left(self);
}

void commit_summary(shepherd_t *self)
{
    Msg__RoundStats *s = &self->progress.summary;
    self->progress.summary_waits = false;
    s->workers = (uint32_t)members_count(&self->roster, MSG__KIND__KIND_WORKER);
    s->eta_s = rounds_eta(self);
    if (s->has_val_loss)
        log_event(LOG_INFO, "round",
                  "round=%u rounds=%u loss=%.4f val_loss=%.4f tokens_per_s=%.0f workers=%u",
                  s->round, s->rounds, s->loss, s->val_loss, s->tokens_per_s, s->workers);
    else
        log_event(LOG_INFO, "round", "round=%u rounds=%u loss=%.4f tokens_per_s=%.0f workers=%u",
                  s->round, s->rounds, s->loss, s->tokens_per_s, s->workers);
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_ROUND;
    event.round = s;
    shepherd_tell(self, &event);
}
