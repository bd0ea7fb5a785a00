/* How many replicas a round has: the run's number, or with "auto" one for each worker that is
 * there. Decided when a round opens, and in the store before its leases are: whoever opens it
 * again, after a step back too, follows what is written.
 *
 * More workers: more replicas at once; a new one begins with zero moments. Fewer: only when some
 * were missing all the time for shrink_s, for most come back; the youngest replicas go, with their
 * inner states. Those that stay but have lost their worker go to another one (taking.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/rounds.h"
#include "shepherd/shepherd.h"

void replicas_init(shepherd_t *self)
{
    if (!shepherd_is_auto(self->config)) self->round.replicas = shepherd_most(self->config);
}

void replicas_fini(sizing_t *self)
{
    VEC_FREE(&self->sizes);
}

void replicas_load(sizing_t *self, const store_resume_t *loaded)
{
    for (size_t i = 0; i < loaded->n_size; i++) VEC_PUSH(&self->sizes, loaded->sizes[i]);
    self->sized = (uint32_t)loaded->sized;
}

void replicas_resume(shepherd_t *self, size_t n)
{
    int64_t most = shepherd_most(self->config);
    if (shepherd_is_auto(self->config))
        self->round.replicas = (int64_t)n < most ? (int64_t)n : most;
}

/* One for each worker, within the bounds. */
static int64_t wanted(const shepherd_t *self)
{
    int64_t n = (int64_t)plans_workers(&self->plans, &self->roster),
            most = shepherd_most(self->config);
    return n < 1 ? 1 : n < most ? n : most;
}

void replicas_tick(shepherd_t *self)
{
    if (!shepherd_is_auto(self->config) || wanted(self) >= self->round.replicas)
        self->sizing.few_ms = 0;
    else if (!self->sizing.few_ms)
        self->sizing.few_ms = self->now_ms;
}

/* By what is there now. */
static int64_t decide(shepherd_t *self, char reason[96])
{
    int64_t n = wanted(self),
            missing_ms = self->sizing.few_ms ? self->now_ms - self->sizing.few_ms : 0;
    if (n < self->round.replicas && (double)missing_ms < self->config->shrink_s * 1000)
        return self->round.replicas;
    int at = snprintf(reason, 96, "%zu workers are there",
                      plans_workers(&self->plans, &self->roster));
    if (n < self->round.replicas)
        snprintf(reason + at, 96 - (size_t)at, ", for %.1f s too few", (double)missing_ms / 1000);
    return n;
}

/* As it was decided before the run went back; 0: not known here. */
static int64_t decided(const shepherd_t *self)
{
    int64_t n = 0;
    for (size_t i = 0; i < self->sizing.sizes.n; i++)
        if (self->sizing.sizes.at[i].round <= self->round.number) n = self->sizing.sizes.at[i].n;
    return n < shepherd_most(self->config) ? n : shepherd_most(self->config);
}

static void tell(shepherd_t *self, int64_t n, char *reason)
{
    log_event(LOG_INFO, "replicas", "round=%u from=%lld to=%lld reason=\"%s\"",
              self->round.number + 1, (long long)self->round.replicas, (long long)n, reason);
    Msg__Resized resized = MSG__RESIZED__INIT;
    resized.round = self->round.number;
    resized.from = (uint32_t)self->round.replicas;
    resized.to = (uint32_t)n;
    resized.reason = reason;
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_RESIZED;
    event.resized = &resized;
    shepherd_tell(self, &event);
}

static void write_down(shepherd_t *self, int64_t n, const char *reason)
{
    store_replicas_t row = {self->round.number, (uint32_t)n};
    VEC_PUSH(&self->sizing.sizes, row);
    record_t *record = record_new(RECORD_REPLICAS, self->round.number);
    record->replica = row.n;
    record->text = mem_strdup(reason);
    records_write(self, record);
}

static void resize(shepherd_t *self, int64_t n)
{
    for (int64_t k = n; k < self->round.replicas; k++)
        checkpoint_forget_state(&self->checkpoints, self->round.lease[k].state_in);
    int64_t least = n < self->round.replicas ? n : self->round.replicas;
    for (int64_t k = least; k < shepherd_most(self->config); k++)
        self->round.lease[k] = (work_t){.fence = self->round.fence_base + 1};
    self->round.replicas = n;
}

void replicas_decide(shepherd_t *self)
{
    if (!shepherd_is_auto(self->config)) return;
    char reason[96] = "as decided before the run went back";
    bool again = self->round.number < self->sizing.sized;
    replicas_tick(self);
    int64_t n = again ? decided(self) : decide(self, reason);
    if (n == 0) n = self->round.replicas ? self->round.replicas : 1;
    if (!again) self->sizing.sized = self->round.number + 1;
    if (n == self->round.replicas) return;
    tell(self, n, reason);
    if (!again) write_down(self, n, reason);
    resize(self, n);
    self->sizing.few_ms = 0;
}
