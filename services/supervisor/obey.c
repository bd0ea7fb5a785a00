/* LIST, RESTART, DRAIN, SCALE. */
#include "supervisor/obey.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "supervisor/loop.h"

/* Carry it out on the workers [first, last). */
static void carry_out(fleet_t *fleet, const Msg__Control *control, int first, int last)
{
    if (control->verb == MSG__CONTROL__VERB__SCALE) fleet_scale(fleet, (int)control->scale);
    for (int i = first; i < last; i++) {
        if (control->verb == MSG__CONTROL__VERB__RESTART) fleet_restart(fleet, i);
        if (control->verb == MSG__CONTROL__VERB__DRAIN) fleet_drain(fleet, i);
    }
}

static const char *check(const loop_t *self, const Msg__Control *control, int worker, bool all)
{
    if (control->verb < MSG__CONTROL__VERB__LIST || control->verb > MSG__CONTROL__VERB__SCALE)
        return "unknown verb";
    if (!all && (worker < 0 || (size_t)worker >= self->fleet.slots.n)) return "no such worker here";
    if (control->verb == MSG__CONTROL__VERB__SCALE && control->scale > FLEET_MAX)
        return "more workers than a supervisor may have";
    if (control->verb != MSG__CONTROL__VERB__LIST && self->fleet.stopping)
        return "this supervisor is stopping";
    return NULL;
}

static void add_status(const loop_t *self, Msg__ControlReply *reply, int worker)
{
    const slot_t *slot = &self->fleet.slots.at[worker];
    char id[PROCESSES_ID_BYTES];
    Msg__WorkerStatus *status = mem_calloc(1, sizeof *status);
    msg__worker_status__init(status);
    status->id = mem_strdup(processes_id(&self->processes, worker, id));
    status->supervisor = self->config->id;
    status->state = (char *)slot_state_name(slot->state);
    status->pid = (uint32_t)children_pid(self->processes.children, id);
    status->restarts = slot->restarts;
    status->threads = (uint32_t)self->processes.threads;
    reply->workers[reply->n_workers++] = status;
}

void obey(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    loop_t *self = state;
    const Msg__Control *control = message->control;
    Msg__ControlReply reply = MSG__CONTROL_REPLY__INIT;
    reply.client = control->client;
    reply.request = control->request;
    bool all = !*control->member || strcmp(control->member, self->config->id) == 0;
    int worker = all ? -1 : processes_worker(&self->processes, control->member);
    const char *wrong = check(self, control, worker, all);
    log_event(wrong ? LOG_WARN : LOG_INFO, "control",
              "verb=%d member=%s scale=%u client=%s error=\"%s\"", (int)control->verb,
              control->member, control->scale, control->client, wrong ? wrong : "");
    if (wrong) {
        reply.error = (char *)wrong;
    } else {
        carry_out(&self->fleet, control, all ? 0 : worker,
                  all ? (int)self->fleet.slots.n : worker + 1);
        /* Scaling up has made more of them. */
        int first = all ? 0 : worker, last = all ? (int)self->fleet.slots.n : worker + 1;
        reply.workers = mem_calloc((size_t)(last - first) + 1, sizeof *reply.workers);
        for (int i = first; i < last; i++) add_status(self, &reply, i);
    }
    MSG_SEND(member_out(self->member), NULL, message->id, CONTROL_REPLY, control_reply, &reply);
    for (size_t i = 0; i < reply.n_workers; i++) {
        free(reply.workers[i]->id);
        free(reply.workers[i]);
    }
    free(reply.workers);
}
