/* Draining: the lease in hand is handed in, then copies of inner states, then the worker says BYE. */
#include "worker/leaving.h"

#include <stdio.h>

#include "base/log.h"

static void leave(loop_t *self, const char *reason)
{
    size_t unsent = handover_count(&self->handover);
    if (self->handed) unsent += self->unsent + copying_left(&self->copying);
    char text[256];
    snprintf(text, sizeof text, "%s", reason);
    if (unsent)
        snprintf(
            text, sizeof text,
            "%s; nobody else has %zu inner states of its replicas: they are lost with its state "
            "directory; a longer --grace-ms saves them",
            reason, unsent);
    log_event(unsent ? LOG_WARN : LOG_INFO, "leaving", "reason=\"%s\" unacknowledged=%zu", text,
              self->answers.list.n);
    member_leave(self->member, text);
    self->leaving = true;
}

void leaving_hand_over(loop_t *self, const char *why)
{
    size_t n = handover_begin(&self->handover, &self->copying);
    if (n) log_event(LOG_INFO, "handing_over", "states=%zu reason=\"%s\"", n, why);
}

/* Whoever trains our replicas next has to begin with what we made of them last. */
static void hand_over(loop_t *self)
{
    self->handed = true;
    self->unsent = 0;
    leaving_hand_over(self, "we leave");
}

/* Nothing left to do or to wait for? Without a shepherd there is no point in using up the grace
 * period. */
void leaving_tick(loop_t *self, int64_t now)
{
    enum { NO_SHEPHERD_MS = 5000 };
    bool waits = self->answers.list.n > 0;
    if (!self->handed && !jobs_busy(self->jobs) && !waits) hand_over(self);
    bool busy = jobs_busy(self->jobs) || copying_busy(&self->copying);
    if (!busy && !waits)
        leave(self, self->trainer.leave ? "its device failed" : "drained");
    else if (now - self->drain_ms >= self->config->grace_ms)
        leave(self, "the grace period is over");
    else if (!member_joined(self->member) && now - self->lost_ms > NO_SHEPHERD_MS &&
             now - self->drain_ms > NO_SHEPHERD_MS)
        leave(self, "drained without a shepherd");
}
