/* What a run tells everybody, and its end, one way or the other. */
#include "shepherd/telling.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "shepherd/shepherd.h"

void shepherd_tell(shepherd_t *self, Msg__Event *event)
{
    event->source = "shepherd";
    event->run = self->config->run;
    if (!event->time_ms) event->time_ms = clock_wall_ms();
    if (self->ports.publish) self->ports.publish(self->ports.user, event);
    records_event(self, event);
    for (size_t i = 0; i < self->roster.others.n; i++)
        if (self->roster.others.at[i]->kind == MSG__KIND__KIND_CLI)
            MSG_SEND(self->ports.out, &self->roster.others.at[i]->peer, 0, RUN_EVENT, run_event,
                     event);
}

void shepherd_finish(shepherd_t *self, int exit_status, Msg__Event *event, const char *reason)
{
    bool leads = self->phase != PHASE_STANDBY;
    phase_change(&self->phase, PHASE_DONE);
    self->exit_status = exit_status;
    shepherd_tell(self, event);
    if (leads) members_dismiss(&self->roster, self->ports.out, reason);
    self->records.ending_ms = self->now_ms ? self->now_ms : 1;
    if (!leads || exit_status == 3 || self->records.gone)
        self->finished = true;
    else
        records_run(self, exit_status == 0 ? "done" : "failed", exit_status == 0 ? "" : reason);
}

void shepherd_leave(shepherd_t *self, int exit_status)
{
    phase_change(&self->phase, PHASE_DONE);
    self->exit_status = exit_status;
    self->finished = true;
}

void shepherd_start(shepherd_t *self, courier_job_t *job)
{
    self->bulk.busy = true;
    self->ports.start(self->ports.user, job);
}

void shepherd_fail(shepherd_t *self, const char *format, ...)
{
    if (self->finished || self->phase == PHASE_DONE) return;
    char reason[1536];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    log_event(LOG_ERROR, "run_failed", "reason=\"%s\"", reason);
    Msg__RunFailed failed = MSG__RUN_FAILED__INIT;
    failed.reason = reason;
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_RUN_FAILED;
    event.run_failed = &failed;
    shepherd_finish(self, self->stopping ? 3 : 1, &event, reason);
}

void shepherd_over(shepherd_t *self, bool done, const char *reason)
{
    Msg__RunDone end = MSG__RUN_DONE__INIT;
    Msg__RunFailed failed = MSG__RUN_FAILED__INIT;
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = done ? MSG__EVENT__BODY_RUN_DONE : MSG__EVENT__BODY_RUN_FAILED;
    if (done)
        event.run_done = &end;
    else
        event.run_failed = &failed;
    end.checkpoint = self->config->checkpoint ? self->config->checkpoint : "";
    failed.reason = (char *)reason;
    shepherd_tell(self, &event);
    shepherd_leave(self, done ? 0 : 1);
}
