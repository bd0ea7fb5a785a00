/* Questions of the command line to supervisors, and their answers. */
#include "shepherd/roster/operators.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

const char *operators_verb(Msg__Control__Verb verb)
{
    static const char *const words[] = {
        "none", "list", "restart", "drain", "scale", "checkpoint_asked", "trust"};
    return (unsigned)verb < sizeof words / sizeof *words ? words[verb] : "unknown";
}

bool operators_is_own(Msg__Control__Verb verb)
{
    return verb == MSG__CONTROL__VERB__CHECKPOINT || verb == MSG__CONTROL__VERB__TRUST;
}

static bool is_supervisor(const member_row_t *row, const char *id)
{
    return row->kind == MSG__KIND__KIND_SUPERVISOR && (!*id || strcmp(row->id, id) == 0);
}

static const member_row_t *find(const operators_t *self, const char *id)
{
    for (size_t i = 0; i < self->n; i++)
        if (strcmp(self->rows[i]->id, id) == 0) return self->rows[i];
    return NULL;
}

/* The supervisor that a question about `member` is for; "": all of them; NULL: nobody. */
static const char *owner_of(const operators_t *self, const char *member)
{
    if (!*member) return "";
    const member_row_t *row = find(self, member);
    if (row && row->kind == MSG__KIND__KIND_SUPERVISOR) return row->id;
    if (row && *row->supervisor) return row->supervisor;
    if (row) return NULL;
    /* A worker that is away at present: its id begins with its supervisor's. */
    for (size_t i = 0; i < self->n; i++) {
        row = self->rows[i];
        size_t n = strlen(row->id);
        if (is_supervisor(row, "") && strncmp(member, row->id, n) == 0 &&
            strncmp(member + n, "-w", 2) == 0)
            return row->id;
    }
    return NULL;
}

static const char *check(const operators_t *self, const Msg__Control *control, const char *owner)
{
    if (!owner)
        return find(self, control->member) ? "no supervisor has started this member"
                                           : "no such worker or supervisor";
    for (size_t i = 0; i < self->n; i++)
        if (is_supervisor(self->rows[i], owner)) return NULL;
    if (control->verb == MSG__CONTROL__VERB__LIST) return NULL;
    return *owner ? "its supervisor is not here"
                  : "there is no supervisor: start pcp-supervisor --scale N where workers are to "
                    "run; those that were started by hand are their starter's";
}

/* The workers as we see them. Returns the rows' array; caller frees it and each row. */
static Msg__WorkerStatus **list_workers(const operators_t *self, size_t *n)
{
    Msg__WorkerStatus **rows = mem_calloc(self->n + 1, sizeof *rows);
    *n = 0;
    for (size_t i = 0; i < self->n; i++) {
        const member_row_t *row = self->rows[i];
        if (row->kind != MSG__KIND__KIND_WORKER) continue;
        Msg__WorkerStatus *status = mem_calloc(1, sizeof *status);
        msg__worker_status__init(status);
        status->id = row->id;
        status->supervisor = row->supervisor;
        status->state = (char *)(row->quarantined              ? "quarantined"
                                 : self->busy(self->user, row) ? "busy"
                                                               : "idle");
        status->pid = row->pid;
        status->threads = row->threads;
        status->target = row->target;
        status->host = row->host;
        status->device = row->device;
        status->device_name = row->device_name;
        status->device_bytes = row->device_bytes;
        status->steps_per_s = row->steps_per_s;
        rows[(*n)++] = status;
    }
    return rows;
}

static void hand_on(const operators_t *self, const Msg__Control *control,
                    const member_row_t *client, uint64_t request, const char *owner)
{
    Msg__Control copy = *control;
    copy.client = client->id;
    copy.request = request;
    for (size_t i = 0; i < self->n; i++)
        if (is_supervisor(self->rows[i], owner))
            MSG_SEND(self->out, &self->rows[i]->peer, 0, CONTROL, control, &copy);
}

void operators_ask(const operators_t *self, const member_row_t *client, uint64_t request,
                   const Msg__Control *control, const char *refusal)
{
    bool own = operators_is_own(control->verb);
    const char *owner = own ? NULL : owner_of(self, control->member);
    const char *wrong = refusal || own ? refusal : check(self, control, owner);
    log_event(wrong ? LOG_WARN : LOG_INFO, "control", "verb=%d member=%s client=%s error=\"%s\"",
              (int)control->verb, control->member, client->id, wrong ? wrong : "");
    Msg__ControlReply reply = MSG__CONTROL_REPLY__INIT;
    reply.client = client->id;
    reply.request = request;
    reply.error = (char *)(wrong ? wrong : "");
    for (size_t i = 0; !wrong && !own && i < self->n; i++)
        reply.parts += is_supervisor(self->rows[i], owner);
    if (!wrong && control->verb == MSG__CONTROL__VERB__LIST)
        reply.workers = list_workers(self, &reply.n_workers);
    MSG_SEND(self->out, &client->peer, request, CONTROL_REPLY, control_reply, &reply);
    for (size_t i = 0; i < reply.n_workers; i++) free(reply.workers[i]);
    free(reply.workers);
    if (!wrong && !own) hand_on(self, control, client, request, owner);
}

void operators_answer(const operators_t *self, const Msg__ControlReply *reply)
{
    Msg__ControlReply copy = *reply;
    copy.parts = 0;
    const member_row_t *client = find(self, copy.client);
    if (client && client->kind == MSG__KIND__KIND_CLI)
        MSG_SEND(self->out, &client->peer, copy.request, CONTROL_REPLY, control_reply, &copy);
}
