/* Membership: who comes, who is heard, who has credit, who goes. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "msg/keyring.h"
#include "msg/protocol.h"
#include "shepherd/joining/members.h"
#include "shepherd/roster/hello.h"
#include "shepherd/roster/pace.h"
#include "shepherd/roster/revoked.h"
#include "shepherd/round/blame.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

static void announce(shepherd_t *self, const member_row_t *row, bool joined, const char *reason)
{
    if (joined)
        records_joined(self, row);
    else
        records_left(self, row, "lost", reason);
    if (row->kind == MSG__KIND__KIND_CLI) return;
    Msg__MemberChange change = MSG__MEMBER_CHANGE__INIT;
    change.id = row->id;
    change.kind = (char *)msg_who_name(row->kind);
    change.joined = joined;
    change.reason = (char *)reason;
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_MEMBER;
    event.member = &change;
    shepherd_tell(self, &event);
}

static void refuse(shepherd_t *self, const msg_peer_t *to, uint64_t reply_to, int code,
                   const char *text)
{
    Msg__Fault fault = MSG__FAULT__INIT;
    fault.code = (Msg__Fault__Code)code;
    fault.text = (char *)text;
    MSG_SEND(self->ports.out, to, reply_to, FAULT, fault, &fault);
}

void member_drop(shepherd_t *self, uint32_t serial, const char *reason)
{
    member_row_t *row = member_by_serial(&self->roster, serial);
    if (!row) return;
    member_row_t *gone = roster_remove(&self->roster, row);
    log_event(gone->kind == MSG__KIND__KIND_CLI ? LOG_INFO : LOG_WARN, "member_lost",
              "member=%s kind=%s reason=\"%s\"", gone->id, msg_who_name(gone->kind), reason);
    announce(self, gone, false, reason);
    blame_keep(&self->roster, gone);
    plan_row_t *plan = plans_find(&self->plans, gone->target);
    if (plan && gone->kind == MSG__KIND__KIND_WORKER) plan->left_ms = self->now_ms;
    if (gone->kind == MSG__KIND__KIND_WORKER) work_release(self, gone);
    if (gone->kind == MSG__KIND__KIND_COMPILER) {
        plans_forget_compiler(self, serial);
        samples_forget_compiler(self, serial);
    }
    if (gone->kind == MSG__KIND__KIND_AGGREGATOR) shards_lost(self, gone, reason);
    member_row_destroy(&gone);
}

/* Workers of this target are of no use to the run, and told so; they may come back once another
 * compiler has. */
static void refuse_workers(shepherd_t *self, const plan_row_t *plan)
{
    for (size_t i = self->roster.members.n; i-- > 0;) {
        if (i >= self->roster.members.n) continue;
        const member_row_t *row = self->roster.members.at[i];
        if (row->kind != MSG__KIND__KIND_WORKER || strcmp(row->target, plan->target) != 0) continue;
        Msg__Fault fault = MSG__FAULT__INIT;
        fault.code = MSG__FAULT__CODE__REFUSED;
        fault.text = plan->why;
        MSG_SEND(self->ports.out, &row->peer, 0, FAULT, fault, &fault);
        member_drop(self, row->serial, plan->why);
    }
}

void members_refuse(shepherd_t *self)
{
    for (size_t i = 0; i < self->plans.rows.n; i++) {
        plan_row_t *plan = &self->plans.rows.at[i];
        if (plan->refuses) refuse_workers(self, plan);
        plan->refuses = false;
    }
}

/* NULL when the HELLO is acceptable, else what is wrong with it. */
static const char *check_hello(const shepherd_t *self, const msg_peer_t *from,
                               const Msg__Hello *hello, char text[PROTOCOL_TEXT])
{
    if (!protocol_of_hello(hello, text)) return text;
    if (hello->kind == MSG__KIND__KIND_AGGREGATOR && !*hello->endpoint)
        return "an aggregator must state its data endpoint";
    if (hello->kind == MSG__KIND__KIND_WORKER && !*hello->target)
        return "a worker must state its target";
    return hello_fault(hello, from, self->roster.members.n);
}

static void welcome(shepherd_t *self, const msg_peer_t *to, const msg_envelope_t *message)
{
    const Msg__Hello *hello = message->hello;
    Msg__Welcome welcome = MSG__WELCOME__INIT;
    welcome.run = self->config->run;
    welcome.run_hash = self->run_hash;
    welcome.heartbeat_ms = (uint32_t)self->config->heartbeat_ms;
    welcome.timeout_ms = (uint32_t)self->config->timeout_ms;
    welcome.telemetry = (char *)(self->ports.telemetry ? self->ports.telemetry : "");
    welcome.protocol = protocol_common(hello->protocol_oldest, hello->protocol);
    MSG_SEND(self->ports.out, to, message->id, WELCOME, welcome, &welcome);
    revoked_send(self->ports.out, to, hello->kind);
}

void members_revoked(shepherd_t *self)
{
    uint64_t since = keyring_revoked_since();
    if (since == self->roster.revoked_since) return;
    self->roster.revoked_since = since;
    for (size_t i = 0; i < self->roster.members.n; i++) {
        const member_row_t *row = self->roster.members.at[i];
        revoked_send(self->ports.out, &row->peer, row->kind);
    }
}

/* The id belongs to somebody who lives: another process than this one, whose connection stands. One
 * that a front has passed on from the same connection is the front's to judge. Whose connection has
 * ended is gone, so that a process which was started again need not wait for a time-out. */
static bool is_taken(const shepherd_t *self, const member_row_t *old, const msg_peer_t *from,
                     const Msg__Hello *hello)
{
    if (!old || hello_same_process(old, hello)) return false;
    bool fronted = from->behind && old->peer.behind && from->n == old->peer.n &&
                   memcmp(from->at, old->peer.at, from->n) == 0;
    return !fronted && (!self->ports.reaches || self->ports.reaches(self->ports.user, &old->peer));
}

static void refuse_double(shepherd_t *self, const member_row_t *holder, const msg_peer_t *from,
                          const msg_envelope_t *message)
{
    char text[HELLO_TEXT];
    hello_taken_text(holder, text);
    log_event(LOG_WARN, "id_taken", "member=%s pid=%u other_pid=%u host=%s other_host=%s",
              holder->id, holder->pid, message->hello->pid, holder->host, message->hello->host);
    refuse(self, from, message->id, MSG__FAULT__CODE__ID_IN_USE, text);
}

/* The same id again: a connection made anew, or a new process in the place of one that is gone. The
 * lease that it still holds stays. */
static void replace(shepherd_t *self, const Msg__Hello *hello)
{
    const member_row_t *old = member_by_id(&self->roster, hello->id);
    const Msg__Holding *holding = hello->holding;
    if (!old) return;
    if (holding && holding->run_hash == self->run_hash && holding->round == self->round.number &&
        holding->replica < self->round.replicas) {
        work_t *lease = &self->round.lease[holding->replica];
        if (lease->state == WORK_ISSUED && lease->holder == old->serial &&
            lease->fence == holding->fence)
            work_move(self, lease, WORK_ISSUED, 0); /* until it is adopted */
    }
    member_drop(self, old->serial, "replaced by a new member of its id");
}

void on_hello(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const Msg__Hello *hello = message->hello;
    if (self->phase == PHASE_STANDBY) {
        refuse(self, from, message->id, MSG__FAULT__CODE__NOT_LEADER, "another shepherd leads");
        return;
    }
    char text[PROTOCOL_TEXT];
    const char *wrong = check_hello(self, from, hello, text);
    const char *key = from->card && !from->behind ? from->card->name
                                                  : NULL; /* a front has its own */
    if (!wrong && hello->kind == MSG__KIND__KIND_WORKER)
        wrong = plans_refusal(&self->plans, &self->roster, hello->target, key);
    if (wrong) {
        if (msg_shows(++self->count.refused))
            log_event(LOG_WARN, "hello_refused", "reason=\"%s\"", wrong);
        refuse(self, from, message->id, MSG__FAULT__CODE__REFUSED, wrong);
        return;
    }
    member_row_t *old = member_by_peer(&self->roster, from);
    if (old && strcmp(old->id, hello->id) == 0 && old->kind == hello->kind) {
        /* Our WELCOME came late: say it again. */
        welcome(self, from, message);
        return;
    }
    const member_row_t *holder = member_by_id(&self->roster, hello->id);
    if (is_taken(self, holder, from, hello)) {
        refuse_double(self, holder, from, message);
        return;
    }
    if (old) member_drop(self, old->serial, "took another id");
    replace(self, hello);
    if (self->finished || self->phase == PHASE_DONE) return;
    member_row_t row = member_row_of(hello, from, ++self->roster.last_serial, self->now_ms);
    blame_take(&self->roster, &row);
    roster_add(&self->roster, row);
    log_event(LOG_INFO, "member_joined",
              "member=%s kind=%s target=%s device=%s threads=%u pid=%u host=%s protocol=%u "
              "software=\"%.32s\"",
              row.id, msg_who_name(row.kind), row.target, row.device, hello->threads, hello->pid,
              hello->host, row.protocol, hello->software);
    welcome(self, from, message);
    announce(self, &row, true, "");
    member_row_t *here = member_by_serial(&self->roster, row.serial);
    if (row.kind == MSG__KIND__KIND_COMPILER) plans_retry(&self->plans);
    if (row.kind == MSG__KIND__KIND_AGGREGATOR) shards_hello(self, here, hello->shard);
    if (row.kind != MSG__KIND__KIND_WORKER) return;
    quarantine_met(self, here);
    plans_want(&self->plans, &self->roster, row.target, key);
    resume_adopt(self, here, hello->holding);
}

void member_refuse(void *state, const msg_peer_t *from, uint64_t id, msg_who_t who,
                   const char *text)
{
    shepherd_t *self = state;
    if (who != MSG__KIND__KIND_NONE)
        refuse(self, from, id, MSG__FAULT__CODE__NOT_ALLOWED, text);
    else if (self->phase == PHASE_STANDBY)
        refuse(self, from, id, MSG__FAULT__CODE__NOT_LEADER, "another shepherd leads");
    else
        refuse(self, from, id, MSG__FAULT__CODE__UNKNOWN_PEER, "say HELLO first");
}

/* It has been idle since long after we gave it work, and has heard what we said after that: the message, or
 * its answer, is lost. Who has not heard it yet is behind a slow line, or we are held up; an older member
 * does not tell. */
static bool work_is_lost(const shepherd_t *self, const member_row_t *row,
                         const Msg__Heartbeat *beat)
{
    enum { LOST_WORK_MS = 3000 };
    return self->now_ms - row->issued_ms >= LOST_WORK_MS &&
           (beat->answered == 0 || beat->answered > row->issued_beat);
}

static void asks(shepherd_t *self, member_row_t *row, uint32_t credit)
{
    row->credit = credit < MSG_CREDIT ? credit : MSG_CREDIT;
    if (credit) row->mute = false;
    if (row->kind == MSG__KIND__KIND_WORKER) work_asks(self, row);
}

void on_heartbeat(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    member_row_t *row = member_by_peer(&self->roster, from);
    Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
    beat.pace_ms = pace_ms(self->roster.members.n, self->config->heartbeat_ms,
                           self->config->timeout_ms);
    MSG_SEND(self->ports.out, from, message->id, HEARTBEAT, heartbeat, &beat);
    uint32_t credit = message->heartbeat->credit;
    row->beat = message->id;
    if (!credit) return;
    if (row->n_work > 0 || plans_asked(&self->plans, row->serial)) {
        if (!work_is_lost(self, row, message->heartbeat)) return;
        log_event(LOG_WARN, "work_lost", "member=%s", row->id);
        uint32_t serial = row->serial;
        bool held = row->n_work > 0;
        work_release(self, row);
        plans_lost(&self->plans, serial);
        if (held) blame_strike(self, serial, STRIKE_FAILED, "it has work and does not know of it");
        row = member_by_serial(&self->roster, serial);
    }
    asks(self, row, credit);
}

void on_bye(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    member_row_t *row = member_by_peer(&self->roster, from);
    if (row && message->bye->hands_over) coming_moved(self, row->id);
    if (row) records_left(self, row, "gone", message->bye->reason); /* not lost */
    if (row) member_drop(self, row->serial, message->bye->reason);
}

void on_gone(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    const member_row_t *row = member_by_peer(&self->roster, from);
    member_row_t *gone = member_by_id(&self->roster, message->gone->member);
    uint32_t pid = message->gone->pid;
    /* Another supervisor's worker has that id, or nobody's. */
    if (gone && row->kind == MSG__KIND__KIND_SUPERVISOR && strcmp(gone->supervisor, row->id) != 0) {
        log_event(LOG_WARN, "gone_refused", "member=%s of=%s reason=\"not its supervisor\"",
                  row->id, gone->id);
        return;
    }
    /* A new process under the old id may be faster than the news of the old one's end. */
    if (gone && (pid == 0 || pid == gone->pid))
        member_drop(self, gone->serial, message->gone->reason);
    if (!gone) work_gone(self, message->gone->member);
}

void on_work_request(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_t *self = state;
    member_row_t *row = member_by_peer(&self->roster, from);
    uint32_t credit = message->work_request->credit;
    asks(self, row, credit);
}
