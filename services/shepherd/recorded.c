/* What the store says: records that are in, who leads, that it is gone and back. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/round/rounds.h"
#include "shepherd/shepherd.h"

static void recorded(shepherd_t *self, const recorder_result_t *result)
{
    switch (result->kind) {
    case RECORD_OPEN:
    case RECORD_DECIDE:
    case RECORD_COMMIT:
        if (commit_recorded(self, result)) rounds_check(self);
        break;
    case RECORD_DONE: work_recorded(self, result); break;
    case RECORD_BACK: self->recovery.written = self->recovery.backing; break;
    case RECORD_RUN: self->finished |= self->phase == PHASE_DONE; break;
    default: break;
    }
}

static void recorder_failed(shepherd_t *self, const err_t *err)
{
    self->records.gone = true;
    if (err->code == ERR_FENCE || err->code == ERR_SCHEMA) {
        log_event(LOG_ERROR, err->code == ERR_FENCE ? "deposed" : "schema", "error=\"%s\"",
                  err->text);
        shepherd_leave(self, err->code == ERR_FENCE ? SHEPHERD_EXIT_DEPOSED : STORE_EXIT_SCHEMA);
    } else {
        shepherd_fail(self, "%s", err->text);
    }
}

/* A namesake that leads is our predecessor, and its term runs out; or it lives, and no log tells
 * who is who. */
static void standby(const shepherd_t *self, const char *leader)
{
    log_event(LOG_INFO, "standby", "leader=%s", leader);
    if (self->config->id && strcmp(self->config->id, leader) == 0)
        log_event(LOG_WARN, "same_id",
                  "leader=%s text=\"a shepherd of our id leads, or has died just now; if it lives, "
                  "start this one with another --id\"",
                  leader);
}

static void tell_degraded(shepherd_t *self, bool over)
{
    Msg__Degraded change = MSG__DEGRADED__INIT;
    change.kind = "shepherd";
    change.text = self->records.fault;
    change.over = over;
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_DEGRADED;
    event.degraded = &change;
    shepherd_tell(self, &event);
}

/* The run pauses where it would have to be recorded; nothing is lost, and nobody is asked. Told again for another reason:
 * a server that was ended and then takes our password no more wants another remedy. */
static void store_lost(shepherd_t *self, const err_t *err)
{
    bool before = self->records.lost;
    self->records.lost = true;
    free(self->records.fault);
    self->records.fault = mem_strdup(err->text);
    log_event(LOG_WARN, "store_lost", "error=\"%s\"", err->text);
    if (!before) tell_degraded(self, false);
}

static void store_back(shepherd_t *self)
{
    self->records.lost = false;
    log_event(LOG_WARN, "store_back", "round=%u", self->round.number);
    if (self->records.fault) tell_degraded(self, true);
}

void shepherd_on_recorder(shepherd_t *self, recorder_result_t *result)
{
    if (self->finished) return;
    switch (result->event) {
    case RECORDED: recorded(self, result); break;
    case RECORDER_STANDBY: standby(self, result->holder); break;
    case RECORDER_LEADS:
        memcpy(self->audits.seed, result->audit_seed, HASH_HEX);
        resume_run(self, result);
        break;
    case RECORDER_QUARANTINE: quarantine_listed(self, result->names); break;
    case RECORDER_LOST: store_lost(self, &result->err); break;
    case RECORDER_BACK: store_back(self); break;
    case RECORDER_FAILED: recorder_failed(self, &result->err); break;
    }
}
