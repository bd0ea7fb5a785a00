/* Who is at the front: HELLO, silence, leaving. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "msg/control.h"
#include "msg/keyring.h"
#include "msg/protocol.h"
#include "shepherd/front/front.h"
#include "shepherd/roster/hello.h"
#include "shepherd/roster/pace.h"
#include "shepherd/roster/revoked.h"

/* In the table; its n: unknown. */
static size_t place_of(const front_t *self, uint32_t serial)
{
    size_t low = 0, high = self->members.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (self->members.at[middle]->is.serial < serial)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < self->members.n && self->members.at[low]->is.serial == serial;
    return found ? low : self->members.n;
}

front_member_t *front_by_serial(front_t *self, uint32_t serial)
{
    size_t at = place_of(self, serial);
    return at < self->members.n ? self->members.at[at] : NULL;
}

front_member_t *front_by_peer(front_t *self, const msg_peer_t *peer)
{
    return front_by_serial(self, whois_peer(&self->whois, peer));
}

front_member_t *front_by_id(front_t *self, const char *id)
{
    return front_by_serial(self, whois_id(&self->whois, id));
}

void front_fault(front_t *self, const msg_peer_t *to, int code, const char *text)
{
    Msg__Fault fault = MSG__FAULT__INIT;
    fault.code = (Msg__Fault__Code)code;
    fault.text = (char *)text;
    MSG_SEND(self->out, to, 0, FAULT, fault, &fault);
}

/* --- Leaving --- */

/* BYE in the member's name, so that its work is given again at once. */
static void say_bye(const front_member_t *member, const char *why, bool hands_over)
{
    Msg__Bye bye = MSG__BYE__INIT;
    bye.reason = (char *)why;
    bye.hands_over = hands_over && member->is.kind == MSG__KIND__KIND_WORKER;
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.body_case = MSG__ENVELOPE__BODY_BYE;
    envelope.bye = &bye;
    const msg_peer_t to = {.behind = member->number};
    if (member->run->pipe) control_send(member->run->pipe, &to, &envelope, NULL);
}

static void detach(front_member_t *member, const char *bye, bool hands_over)
{
    if (member->number && bye) say_bye(member, bye, hands_over);
    front_unseat(member);
    if (member->run) member->run->n_kind[member->is.kind]--;
    member->run = NULL;
    member->busy = member->assigned = false;
    member->moving_ms = 0;
}

void front_drop(front_t *self, front_member_t *member)
{
    detach(member, NULL, false);
    front_upload_leave(self, member);
    size_t at = place_of(self, member->is.serial);
    if (at < self->members.n) { /* else it is not in the table yet */
        whois_remove(&self->whois, member->is.serial, &member->is.peer, member->is.id);
        self->n_kind[member->is.kind]--;
        memmove(&self->members.at[at], &self->members.at[at + 1],
                (--self->members.n - at) * sizeof *self->members.at);
    }
    member_row_fini(&member->is);
    free(member);
}

void front_kick(front_t *self, front_member_t *member, bool bye, const char *why)
{
    log_event(LOG_DEBUG, "moved", "member=%s run=%s reason=\"%s\"", member->is.id,
              member->run ? member->run->row.id : "", why);
    detach(member, bye ? why : NULL, true);
    member->kicked = true;
    Msg__Fault fault = MSG__FAULT__INIT;
    fault.code = MSG__FAULT__CODE__UNKNOWN_PEER;
    fault.text = (char *)why;
    fault.hand_over = bye;
    MSG_SEND(self->out, &member->is.peer, 0, FAULT, fault, &fault);
}

void front_kick_all(front_t *self, const front_run_t *run, const char *why)
{
    for (size_t i = 0; i < self->members.n; i++)
        if (self->members.at[i]->run == run) front_kick(self, self->members.at[i], false, why);
}

/* The run's shepherd does its own counting, sooner. */
void front_expire(front_t *self)
{
    enum { EVERY_MS = 250 };
    if (self->now_ms - self->expire_ms < EVERY_MS) return;
    int64_t gap = self->expire_ms ? self->now_ms - self->expire_ms : 0;
    self->expire_ms = self->now_ms;
    /* Having slept ourselves is no reason to believe that the others are gone. */
    for (size_t i = 0; gap >= self->config->timeout_ms / 2 && i < self->members.n; i++)
        self->members.at[i]->is.heard_ms += gap;
    for (size_t i = self->members.n; i-- > 0;) {
        front_member_t *member = self->members.at[i];
        if (self->now_ms - member->is.heard_ms <= 4 * self->config->timeout_ms) continue;
        log_event(LOG_INFO, "member_lost", "member=%s kind=%s reason=\"silent for too long\"",
                  member->is.id, msg_who_name(member->is.kind));
        front_drop(self, member);
    }
}

/* --- HELLO --- */

/* To no run: it waits here. */
static void welcome(front_t *self, const front_member_t *member)
{
    Msg__Welcome welcome = MSG__WELCOME__INIT;
    welcome.heartbeat_ms = (uint32_t)self->config->heartbeat_ms;
    welcome.timeout_ms = (uint32_t)self->config->timeout_ms;
    welcome.protocol = member->is.protocol;
    MSG_SEND(self->out, &member->is.peer, 0, WELCOME, welcome, &welcome);
    revoked_send(self->out, &member->is.peer, member->is.kind);
    front_tell_deleted(self, member);
}

void front_revoked(front_t *self)
{
    uint64_t since = keyring_revoked_since();
    if (since == self->revoked_since) return;
    self->revoked_since = since;
    for (size_t i = 0; i < self->members.n; i++)
        revoked_send(self->out, &self->members.at[i]->is.peer, self->members.at[i]->is.kind);
}

static front_member_t *row_new(front_t *self, const msg_peer_t *from, const Msg__Hello *hello)
{
    front_member_t *member = mem_calloc(1, sizeof *member);
    member->front = self;
    member->is = member_row_of(hello, from, ++self->last_serial, self->now_ms);
    member->holds = hello->keeps_run;
    if (hello->holding) member->holds = hello->holding->run_hash;
    if (hello->shard) member->holds = hello->shard->run_hash;
    return member;
}

/* Of another process that lives. One that was told to say HELLO again lives, too. */
static bool is_taken(front_t *self, const front_member_t *holder, const Msg__Hello *hello)
{
    return holder && !hello_same_process(&holder->is, hello) &&
           control_reaches(self->control, &holder->is.peer);
}

static void refuse_double(front_t *self, const front_member_t *holder, const msg_peer_t *from,
                          const Msg__Hello *hello)
{
    char text[HELLO_TEXT];
    hello_taken_text(&holder->is, text);
    log_event(LOG_WARN, "id_taken", "member=%s pid=%u other_pid=%u host=%s other_host=%s",
              holder->is.id, holder->is.pid, hello->pid, holder->is.host, hello->host);
    front_fault(self, from, MSG__FAULT__CODE__ID_IN_USE, text);
}

/* One of that id was here: a connection made anew, or a new process. The shepherd of its run, if it
 * is to have it again, sees to what it holds; another's is told that it has left. */
static void replace(front_t *self, const char *id, const front_run_t *run)
{
    front_member_t *old = front_by_id(self, id);
    if (!old) return;
    if (old->run != run) detach(old, "it has joined another run", false);
    front_drop(self, old);
}

static void take_in(front_t *self, front_member_t *member, zmq_msg_t *hello)
{
    err_t err = {0};
    bool works = member->is.kind != MSG__KIND__KIND_CLI &&
                 member->is.kind != MSG__KIND__KIND_SUPERVISOR;
    front_run_t *run = works ? front_choose(self, member) : NULL;
    replace(self, member->is.id, run);
    VEC_PUSH(&self->members, member);
    whois_add(&self->whois, member->is.serial, &member->is.peer, member->is.id);
    self->n_kind[member->is.kind]++;
    log_event(LOG_INFO, "member_joined", "member=%s kind=%s run=%s target=%s pid=%u host=%s",
              member->is.id, msg_who_name(member->is.kind), run ? run->row.id : "",
              member->is.target, member->is.pid, member->is.host);
    if (run && front_attach(member, run, &err) < 0) {
        log_event(LOG_ERROR, "not_attached", "member=%s error=\"%s\"", member->is.id, err.text);
        run = NULL;
    }
    if (run)
        front_up(member, MSG__ENVELOPE__BODY_HELLO, hello);
    else
        welcome(self, member);
}

static void hello_again(front_t *self, front_member_t *member, zmq_msg_t *body)
{
    member->is.heard_ms = self->now_ms;
    if (member->run)
        front_up(member, MSG__ENVELOPE__BODY_HELLO, body);
    else
        welcome(self, member);
}

void front_on_hello(front_t *self, const msg_peer_t *from, zmq_msg_t *body)
{
    enum { HELLO_BYTES = 128 << 10 };
    size_t n = zmq_msg_size(body);
    msg_envelope_t *message = n <= HELLO_BYTES ? msg_unpack(zmq_msg_data(body), n, NULL) : NULL;
    const Msg__Hello *hello = NULL;
    if (message && message->body_case == MSG__ENVELOPE__BODY_HELLO) hello = message->hello;
    char text[PROTOCOL_TEXT];
    const char *wrong = hello && !protocol_of_hello(hello, text) ? text : NULL;
    if (hello && !wrong) wrong = hello_fault(hello, from, self->members.n);
    front_member_t *old = hello && !wrong ? front_by_peer(self, from) : NULL;
    front_member_t *holder = hello && !wrong ? front_by_id(self, hello->id) : NULL;
    if (!hello) {
        self->count.dropped++;
    } else if (!self->leads || self->stopping) {
        front_fault(self, from, MSG__FAULT__CODE__NOT_LEADER, "another front leads");
    } else if (wrong) {
        if (msg_shows(++self->count.refused))
            log_event(LOG_WARN, "hello_refused", "reason=\"%s\"", wrong);
        front_fault(self, from, MSG__FAULT__CODE__REFUSED, wrong);
    } else if (old && !old->kicked && strcmp(old->is.id, hello->id) == 0 &&
               old->is.kind == hello->kind) {
        hello_again(self, old, body);
    } else if (holder != old && is_taken(self, holder, hello)) {
        refuse_double(self, holder, from, hello);
    } else {
        if (old) front_drop(self, old);
        take_in(self, row_new(self, from, hello), body);
    }
    msg_free(&message);
}

front_member_t *front_heard(front_t *self, const msg_peer_t *from)
{
    front_member_t *member = front_by_peer(self, from);
    if (!member || member->kicked) return NULL;
    member->is.heard_ms = self->now_ms;
    return member;
}

msg_who_t front_who(void *state, const msg_peer_t *from)
{
    const front_member_t *member = front_heard(state, from);
    return member ? msg_who_of(member->is.kind, &member->is.peer) : MSG__KIND__KIND_NONE;
}

void front_refuse(void *state, const msg_peer_t *from, uint64_t id, msg_who_t who, const char *text)
{
    (void)id;
    front_t *self = state;
    if (who != MSG__KIND__KIND_NONE)
        front_fault(self, from, MSG__FAULT__CODE__NOT_ALLOWED, text);
    else if (self->leads && !self->stopping)
        front_fault(self, from, MSG__FAULT__CODE__UNKNOWN_PEER, "say HELLO first");
    else
        front_fault(self, from, MSG__FAULT__CODE__NOT_LEADER, "another front leads");
}

void front_on_heartbeat(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)message;
    front_t *self = state;
    Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
    beat.pace_ms = pace_ms(self->members.n, self->config->heartbeat_ms, self->config->timeout_ms);
    MSG_SEND(self->out, from, 0, HEARTBEAT, heartbeat, &beat);
}

void front_on_bye(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)message;
    front_member_t *member = front_by_peer(state, from);
    if (member) front_drop(state, member);
}

/* --- What supervisors see --- */

void front_on_gone(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    front_t *self = state;
    const front_member_t *sender = front_by_peer(self, from);
    front_member_t *gone = front_by_id(self, message->gone->member);
    uint32_t pid = message->gone->pid;
    if (gone && pid != 0 && pid != gone->is.pid) return; /* a new process has the id by now */
    if (gone && sender->is.kind == MSG__KIND__KIND_SUPERVISOR &&
        strcmp(gone->is.supervisor, sender->is.id) != 0)
        return; /* another's worker */
    for (size_t i = 0; i < self->runs.n; i++) {
        front_run_t *run = self->runs.at[i];
        if (run->link && (!gone || gone->run == run))
            MSG_SEND(member_out(run->link), NULL, 0, GONE, gone, message->gone);
    }
    if (gone) front_drop(self, gone);
}

static bool busy(void *user, const member_row_t *row)
{
    (void)user;
    return ((const front_member_t *)((const char *)row - offsetof(front_member_t, is)))->busy;
}

operators_t front_roster(front_t *self)
{
    member_row_t **rows = mem_calloc(self->members.n + 1, sizeof *rows);
    for (size_t i = 0; i < self->members.n; i++) rows[i] = &self->members.at[i]->is;
    return (operators_t){rows, self->members.n, self->out, busy, self};
}
