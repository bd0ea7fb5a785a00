/* Supervisors and the command line: the shepherd hands questions and answers on, keeps none. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shepherd/shepherd.h"

static bool is_supervisor(const member_row_t *row, const char *id)
{
    return row->kind == MSG__KIND__KIND_SUPERVISOR && (!*id || strcmp(row->id, id) == 0);
}

/* The supervisor that a question about `member` is for; "": all of them; NULL: nobody. */
static const char *owner_of(shepherd_t *self, const char *member)
{
    if (!*member) return "";
    const member_row_t *row = member_by_id(self, member);
    if (row && row->kind == MSG__KIND__KIND_SUPERVISOR) return row->id;
    if (row && *row->supervisor) return row->supervisor;
    if (row) return NULL;
    /* A worker that is away at present: its id begins with its supervisor's. */
    for (size_t i = 0; i < self->members.n; i++) {
        row = &self->members.at[i];
        size_t n = strlen(row->id);
        if (is_supervisor(row, "") && strncmp(member, row->id, n) == 0 &&
            strncmp(member + n, "-w", 2) == 0)
            return row->id;
    }
    return NULL;
}

static const char *check(shepherd_t *self, const Msg__Control *control, const char *owner)
{
    if (!owner) {
        const member_row_t *row = member_by_id(self, control->member);
        return row ? "no supervisor has started this member" : "no such worker or supervisor";
    }
    for (size_t i = 0; i < self->members.n; i++)
        if (is_supervisor(&self->members.at[i], owner)) return NULL;
    if (control->verb == MSG__CONTROL__VERB__LIST) return NULL;
    return *owner ? "its supervisor is not here" : "there is no supervisor";
}

/* The workers as the shepherd sees them. Returns the rows' array; caller frees it and each row. */
static Msg__WorkerStatus **list_workers(shepherd_t *self, size_t *n)
{
    Msg__WorkerStatus **rows = mem_calloc(self->members.n + 1, sizeof *rows);
    *n = 0;
    for (size_t i = 0; i < self->members.n; i++) {
        const member_row_t *row = &self->members.at[i];
        if (row->kind != MSG__KIND__KIND_WORKER) continue;
        Msg__WorkerStatus *status = mem_calloc(1, sizeof *status);
        msg__worker_status__init(status);
        status->id = row->id;
        status->supervisor = row->supervisor;
        status->state = (char *)(work_held(self, row->serial) ? "busy" : "idle");
        status->pid = row->pid;
        status->threads = row->threads;
        status->target = row->target;
        status->host = row->host;
        rows[(*n)++] = status;
    }
    return rows;
}

static void hand_on(shepherd_t *self, const Msg__Control *control, const member_row_t *client,
                    uint64_t request, const char *owner)
{
    Msg__Control copy = *control;
    copy.client = client->id;
    copy.request = request;
    for (size_t i = 0; i < self->members.n; i++)
        if (is_supervisor(&self->members.at[i], owner))
            MSG_SEND(self->out, &self->members.at[i].peer, 0, CONTROL, control, &copy);
}

void on_control_request(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    member_row_t *client = member_known(self, from, message->id);
    if (!client) return;
    const Msg__Control *control = message->control;
    bool own = control->verb == MSG__CONTROL__VERB__CHECKPOINT; /* no supervisor has a part in it */
    const char *owner = own ? NULL : owner_of(self, control->member);
    const char *wrong = own ? checkpoint_refusal(self) : check(self, control, owner);
    if (client->kind != MSG__KIND__KIND_CLI) wrong = "only the command line may ask this";
    log_event(wrong ? LOG_WARN : LOG_INFO, "control", "verb=%d member=%s client=%s error=\"%s\"",
              (int)control->verb, control->member, client->id, wrong ? wrong : "");
    Msg__ControlReply reply = MSG__CONTROL_REPLY__INIT;
    reply.client = client->id;
    reply.request = message->id;
    reply.error = (char *)(wrong ? wrong : "");
    for (size_t i = 0; !wrong && !own && i < self->members.n; i++)
        reply.parts += is_supervisor(&self->members.at[i], owner);
    if (!wrong && control->verb == MSG__CONTROL__VERB__LIST)
        reply.workers = list_workers(self, &reply.n_workers);
    MSG_SEND(self->out, from, message->id, CONTROL_REPLY, control_reply, &reply);
    for (size_t i = 0; i < reply.n_workers; i++) free(reply.workers[i]);
    free(reply.workers);
    if (wrong) return;
    if (own)
        checkpoint_ask(self);
    else
        hand_on(self, control, client, message->id, owner);
}

void on_control_reply(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    member_row_t *row = member_known(self, from, message->id);
    if (!row || row->kind != MSG__KIND__KIND_SUPERVISOR) return;
    Msg__ControlReply copy = *message->control_reply;
    copy.parts = 0;
    const member_row_t *client = member_by_id(self, copy.client);
    if (client && client->kind == MSG__KIND__KIND_CLI)
        MSG_SEND(self->out, &client->peer, copy.request, CONTROL_REPLY, control_reply, &copy);
}

void on_run_event(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    member_row_t *row = member_known(self, from, message->id);
    if (!row || row->kind != MSG__KIND__KIND_SUPERVISOR ||
        message->run_event->body_case != MSG__EVENT__BODY_WORKER)
        return;
    Msg__Event event = MSG__EVENT__INIT; /* a copy: telling fills in who and when */
    event.body_case = MSG__EVENT__BODY_WORKER;
    event.worker = message->run_event->worker;
    shepherd_tell(self, &event);
}
