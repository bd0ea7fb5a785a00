/* The front's own part: leading, what operators and supervisors say, ticks, the end. */
#include "shepherd/front/front.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "msg/publish.h"
#include "msg/wire.h"

enum {
    EXIT_DEPOSED = 5,
    EXPIRE_MS = 3600000, /* between two looks at submissions that broke off */
};

/* --- Supervisors and the command line --- */

/* Of the run that is named; of the only active one. */
static front_run_t *run_of_checkpoint(front_t *self, const char *id, const char **wrong)
{
    front_run_t *found = *id ? front_run_find(self, id) : NULL;
    size_t n = 0;
    for (size_t i = 0; !*id && i < self->runs.n; i++)
        if (self->runs.at[i]->active) {
            found = self->runs.at[i];
            n++;
        }
    *wrong = n > 1                            ? "several runs are active: name one"
             : !found && !*id                 ? "no run is active"
             : !found                         ? "there is no such run"
             : !found->active || !found->link ? "the run is not active"
                                              : NULL;
    return found;
}

clerk_actor_t front_actor(const front_member_t *client)
{
    clerk_actor_t actor = {0};
    if (!client || client->is.kind != MSG__KIND__KIND_CLI) return actor;
    const keys_card_t *card = client->is.peer.card;
    utf8_cut(actor.id, sizeof actor.id, client->is.id);
    if (!card) return actor;
    utf8_cut(actor.key_name, sizeof actor.key_name, card->name);
    keys_hex(card->public_key, KEYS_BYTES, actor.public_key);
    return actor;
}

/* Whose question this write answers. */
static clerk_actor_t asked_by(const front_t *self, const front_run_t *run, clerk_verb_t verb,
                              uint64_t ticket)
{
    if (verb == CLERK_DELETE) return run->deleted_by;
    for (size_t i = 0; ticket && i < self->members.n; i++)
        if (self->members.at[i]->ticket == ticket) return front_actor(self->members.at[i]);
    return front_actor(NULL);
}

/* What operators ask of the cluster's machines is an event of no run. */
static void note_request(front_t *self, const front_member_t *client, const Msg__Control *control,
                         uint64_t ticket)
{
    if (!self->clerk || !self->leads || control->verb == MSG__CONTROL__VERB__LIST) return;
    json_t *detail = json_pack("{sssI}", "member", control->member, "scale",
                               (json_int_t)control->scale);
    char *text = detail ? json_dumps(detail, JSON_COMPACT) : NULL;
    json_decref(detail);
    clerk_note_t *note = mem_calloc(1, sizeof *note);
    note->ticket = ticket;
    note->verb = control->verb == MSG__CONTROL__VERB__TRUST ? CLERK_TRUST : CLERK_TELL;
    utf8_cut(note->name, sizeof note->name, control->member);
    note->actor = front_actor(client);
    note->row.created_ms = clock_wall_ms();
    utf8_cut(note->row.id, sizeof note->row.id, client->is.id);
    utf8_cut(note->row.key, sizeof note->row.key, operators_verb(control->verb));
    note->row.reason = text ? text : mem_strdup("{}");
    clerk_write(self->clerk, note);
}

static void answer_control(front_t *self, const front_member_t *client, uint64_t question,
                           const Msg__Control *control, const char *wrong)
{
    operators_t roster = front_roster(self);
    operators_ask(&roster, &client->is, question, control, wrong);
    free((void *)roster.rows);
}

/* The store knows who is in quarantine. */
static void trusted(front_t *self, front_member_t *client, const clerk_result_t *result)
{
    Msg__Control control = MSG__CONTROL__INIT;
    control.verb = MSG__CONTROL__VERB__TRUST;
    control.member = (char *)result->name;
    const char *wrong = result->err.code ? result->err.text
                        : result->lifted ? NULL
                                         : "no worker or key of that name is in quarantine";
    answer_control(self, client, client->question, &control, wrong);
}

static void on_control(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    front_t *self = state;
    front_member_t *client = front_by_peer(self, from);
    const Msg__Control *control = message->control;
    const char *wrong = NULL;
    front_run_t *run = NULL;
    if (control->verb == MSG__CONTROL__VERB__TRUST && self->clerk && self->leads) {
        client->ticket = ++self->last_ticket;
        client->question = message->id;
        note_request(self, client, control, client->ticket);
        return;
    }
    if (control->verb == MSG__CONTROL__VERB__CHECKPOINT)
        run = run_of_checkpoint(self, control->member, &wrong);
    if (!run || wrong) {
        answer_control(self, client, message->id, control, wrong);
        note_request(self, client, control, 0);
        return;
    }
    run->asker = client->is.serial; /* its shepherd answers */
    run->question = message->id;
    Msg__Control copy = MSG__CONTROL__INIT;
    copy.verb = control->verb;
    MSG_SEND(member_out(run->link), NULL, 0, CONTROL, control, &copy);
}

static void on_control_reply_here(void *state, const msg_peer_t *from,
                                  const msg_envelope_t *message)
{
    front_t *self = state;
    (void)from;
    operators_t roster = front_roster(self);
    operators_answer(&roster, message->control_reply);
    free((void *)roster.rows);
}

/* A worker started or ended: news for everybody. */
static void on_event(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    front_t *self = state;
    (void)from;
    if (message->run_event->body_case != MSG__EVENT__BODY_WORKER) return;
    const front_member_t *worker = front_by_id(self, message->run_event->worker->id);
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_WORKER;
    event.worker = message->run_event->worker;
    event.source = (char *)self->config->id;
    event.sequence = ++self->n_event;
    if (worker && worker->run) event.run = worker->run->row.id;
    publish_event(self->events, &event);
}

/* What an operator's question may be that changes nothing: a viewer's, too. */
enum {
    FRONT_ASKS = 1 << MSG__RUN_ASK__VERB__LIST | 1 << MSG__RUN_ASK__VERB__GET |
                 1 << MSG__RUN_ASK__VERB__WATCH | 1 << MSG__RUN_ASK__VERB__LOGS,
};

const msg_route_t front_routes[MSG_KIND_COUNT] = {
    MSG_ROUTE(HEARTBEAT, 64, front_on_heartbeat, MSG_FROM_MEMBERS),
    MSG_ROUTE(BYE, 4u << 10, front_on_bye, MSG_FROM_STRANGER | MSG_FROM_MEMBERS),
    MSG_ROUTE(GONE, 4u << 10, front_on_gone, MSG_FROM_SUPERVISOR | MSG_FROM_CLI),
    MSG_ROUTE_ASKS(CONTROL, 4u << 10, on_control, MSG_FROM_CLI, OPERATORS_ASKS),
    MSG_ROUTE(CONTROL_REPLY, 1u << 20, on_control_reply_here, MSG_FROM_SUPERVISOR),
    MSG_ROUTE(RUN_EVENT, 4u << 10, on_event, MSG_FROM_SUPERVISOR),
    MSG_ROUTE_ASKS(RUN_ASK, 16u << 10, front_on_ask, MSG_FROM_CLI, FRONT_ASKS),
    MSG_ROUTE(RUN_PIECE, FRONT_PIECE_BYTES + 256, front_on_piece, MSG_FROM_CLI),
};
const msg_table_t front_hears = {front_routes, front_who, front_refuse};

/* --- The store --- */

void front_write(front_t *self, const front_run_t *run, clerk_verb_t verb, uint64_t ticket)
{
    clerk_note_t *note = mem_calloc(1, sizeof *note);
    note->ticket = ticket;
    if (ticket) ((front_run_t *)run)->ticket = ticket;
    note->verb = verb;
    note->actor = asked_by(self, run, verb, ticket);
    note->row = run->row;
    note->row.reason = mem_strdup(run->row.reason);
    clerk_write(self->clerk, note);
}

/* Runs that were running go on; what the front before us was sent in pieces waits for the rest. */
static void lead(front_t *self, const store_submissions_t *runs, const store_ids_t *deleted)
{
    for (size_t i = 0; i < deleted->n; i++) VEC_PUSH(&self->deleted, wire_run_hash(deleted->at[i]));
    self->leads = true;
    log_event(LOG_INFO, "leads", "runs=%zu", runs->n);
    front_uploads_expire(self, FILES_SWEEP);
    for (size_t i = 0; i < runs->n; i++) {
        front_run_t *run = front_run_new(self, &runs->at[i]);
        run->stored = true;
        if (front_run_is(run, "running")) front_run_start(run);
    }
}

static front_run_t *run_of_ticket(front_t *self, uint64_t ticket)
{
    for (size_t i = 0; i < self->runs.n; i++)
        if (self->runs.at[i]->ticket == ticket) return self->runs.at[i];
    return NULL;
}

void front_forget_run(front_t *self, front_run_t *run)
{
    for (size_t i = 0; i < self->members.n; i++)
        if (self->members.at[i]->watches == run) {
            self->members.at[i]->watches = NULL;
            front_answer(self, self->members.at[i], NULL, "the run was deleted");
        }
    for (size_t i = 0; i < self->runs.n; i++) {
        if (self->runs.at[i] != run) continue;
        self->runs.n--;
        memmove(&self->runs.at[i], &self->runs.at[i + 1],
                (self->runs.n - i) * sizeof *self->runs.at);
        break;
    }
    front_run_destroy(run);
}

static void written(front_t *self, const clerk_result_t *result)
{
    front_run_t *run = result->ticket ? run_of_ticket(self, result->ticket) : NULL;
    if (run && run->deleting) {
        front_deleted(self, run, result);
        return;
    }
    front_member_t *client = NULL;
    for (size_t i = 0; result->ticket && i < self->members.n; i++)
        if (self->members.at[i]->ticket == result->ticket) client = self->members.at[i];
    bool refused = result->err.code != ERR_OK;
    if (refused) log_event(LOG_ERROR, "not_recorded", "error=\"%s\"", result->err.text);
    if (run && !refused) run->stored = true;
    if (client) client->ticket = 0;
    if (client && *result->name)
        trusted(self, client, result);
    else if (client)
        front_answer(self, client, refused ? NULL : run, refused ? result->err.text : NULL);
    if (run && refused && !run->stored) front_forget_run(self, run);
}

void front_on_clerk(front_t *self, clerk_result_t *result)
{
    switch (result->event) {
    case CLERK_STANDBY: log_event(LOG_INFO, "standby", "leader=%s", result->holder); break;
    case CLERK_LEADS: lead(self, &result->runs, &result->deleted); break;
    case CLERK_WRITTEN: written(self, result); break;
    case CLERK_LOST: log_event(LOG_WARN, "store_lost", "error=\"%s\"", result->err.text); break;
    case CLERK_BACK: log_event(LOG_INFO, "store_back", "runs=%zu", self->runs.n); break;
    case CLERK_FAILED:
        log_event(LOG_ERROR, "store_failed", "error=\"%s\"", result->err.text);
        front_leave(self, result->err.code == ERR_FENCE    ? EXIT_DEPOSED
                          : result->err.code == ERR_SCHEMA ? STORE_EXIT_SCHEMA
                                                           : 1);
        break;
    }
}

/* --- Time, and the end --- */

static void tell_refusals(front_t *self)
{
    Msg__Event event = MSG__EVENT__INIT;
    if (!self->events || !refusals_event(&self->refusals, self->now_ms, &event)) return;
    event.source = (char *)self->config->id;
    event.sequence = ++self->n_event;
    publish_event(self->events, &event);
}

void front_tick(front_t *self, int64_t now_ms)
{
    self->now_ms = now_ms;
    tell_refusals(self);
    front_runs_reap(self);
    front_runs_tick(self);
    front_expire(self);
    front_revoked(self);
    front_balance(self);
    if (self->leads && now_ms - self->uploads_ms > EXPIRE_MS)
        front_uploads_expire(self, FILES_EXPIRE);
    /* Those that do not end in time are killed (front_runs_tick). */
    if (self->stopping && children_count(self->children, "") == 0) front_leave(self, 0);
}

void front_leave(front_t *self, int exit_status)
{
    self->finished = true;
    self->exit_status = exit_status;
}

/* Active runs save and end; whoever leads next goes on with them. */
void front_on_signal(front_t *self)
{
    self->stopping = true;
    for (size_t i = 0; i < self->runs.n; i++) front_run_stop(self->runs.at[i]);
}

void front_fini(front_t *self)
{
    children_destroy(&self->children); /* kills what is left */
    while (self->members.n) front_drop(self, self->members.at[0]);
    front_uploads_fini(self);
    for (size_t i = 0; i < self->runs.n; i++) front_run_destroy(self->runs.at[i]);
    VEC_FREE(&self->members);
    VEC_FREE(&self->seats);
    VEC_FREE(&self->free_seats);
    whois_fini(&self->whois);
    VEC_FREE(&self->runs);
    VEC_FREE(&self->deleted);
    free(self->program);
}
