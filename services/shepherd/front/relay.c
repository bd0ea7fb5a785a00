/* Frames between members and the shepherds of their runs, passed on as they are. What the front
 * needs to know it sees from their kinds. */
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "base/log.h"
#include "msg/control.h"
#include "msg/publish.h"
#include "shepherd/front/front.h"

#define BODY(x) MSG__ENVELOPE__BODY_##x

static int on_pipe(zloop_t *loop, zsock_t *socket, void *arg);

/* Kinds of machines that the run must compile for. */
static void note_target(front_run_t *run, const char *target)
{
    for (size_t i = 0; i < run->targets.n; i++)
        if (strcmp(run->targets.at[i], target) == 0) return;
    VEC_PUSH(&run->targets, mem_strdup(target));
}

int front_attach(front_t *self, front_member_t *member, front_run_t *run, err_t *err)
{
    member->pipe = control_connect(ZMQ_DEALER, run->control, err);
    if (!member->pipe) return -1;
    member->run = run;
    zloop_reader(self->loop, member->pipe, on_pipe, member);
    zloop_reader_set_tolerant(self->loop, member->pipe);
    if (member->is.kind == MSG__KIND__KIND_WORKER) note_target(run, member->is.target);
    return 0;
}

/* --- Up --- */

static bool plan_is_good(const void *bytes, size_t n)
{
    msg_envelope_t *message = msg_unpack(bytes, n, NULL);
    bool good = message && message->body_case == BODY(PLAN_REPLY) && !*message->plan_reply->error;
    msg_free(&message);
    return good;
}

/* False: it has left, or moved on. */
static bool note_up(front_member_t *member, msg_kind_t kind, const zmq_msg_t *body)
{
    zmq_msg_t *bytes = (zmq_msg_t *)body;
    if (kind == BODY(PLAN_REPLY)) {
        member->busy = false;
        if (plan_is_good(zmq_msg_data(bytes), zmq_msg_size(bytes))) member->run->n_plan++;
    }
    if (kind != BODY(EVAL_DONE) && kind != BODY(LEASE_FAILED)) return true;
    member->busy = false;
    return !member->moving_ms;
}

void front_up(front_member_t *member, msg_kind_t kind, zmq_msg_t *body)
{
    front_t *self = member->front;
    bool stays = note_up(member, kind, body);
    zmq_msg_t copy;
    zmq_msg_init(&copy);
    zmq_msg_copy(&copy, body);
    if (zmq_msg_send(&copy, zsock_resolve(member->pipe), ZMQ_DONTWAIT) < 0) {
        zmq_msg_close(&copy);
        log_event(LOG_WARN, "not_relayed", "member=%s kind=%s error=\"%s\"", member->is.id,
                  msg_kind_name(kind), zmq_strerror(zmq_errno()));
    }
    if (kind == BODY(BYE))
        front_drop(self, member);
    else if (!stays)
        front_kick(self, member, true, "another run needs it more");
}

/* To one that waits here, or is the front's own: supervisors, the command line. */
static void on_own(front_t *self, const msg_peer_t *from, front_member_t *member, msg_kind_t kind,
                   zmq_msg_t *body)
{
    if (kind == BODY(BYE)) {
        front_drop(self, member);
    } else if (kind == BODY(HEARTBEAT)) {
        Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
        MSG_SEND(self->out, from, 0, HEARTBEAT, heartbeat, &beat);
    } else if (front_routes[kind].handle) {
        msg_dispatch(front_routes, self, from, zmq_msg_data(body), zmq_msg_size(body), &self->count,
                     NULL);
    } /* anything else is of a run that it has left */
}

static void receive(front_t *self, const msg_peer_t *from, zmq_msg_t *body)
{
    size_t n = zmq_msg_size(body);
    msg_kind_t kind = n <= MSG_CONTROL_BYTES ? msg_peek(zmq_msg_data(body), n) : 0;
    if (!kind) {
        self->count.dropped++;
        log_event(LOG_WARN, "message_dropped", "dropped=%llu bytes=%zu",
                  (unsigned long long)self->count.dropped, n);
        return;
    }
    if (kind == BODY(HELLO)) {
        front_on_hello(self, from, body);
        return;
    }
    front_member_t *member = kind == BODY(BYE) ? front_by_peer(self, from)
                                               : front_known(self, from);
    if (!member) return;
    if (member->run)
        front_up(member, kind, body);
    else
        on_own(self, from, member, kind, body);
}

void front_receive(front_t *self)
{
    zmq_msg_t frame[2];
    for (int n; (n = control_frames(self->control, frame, 2)) > 0;) {
        msg_peer_t from = {.n = (uint8_t)zmq_msg_size(&frame[0])};
        if (n == 2 && zmq_msg_size(&frame[0]) <= sizeof from.at) {
            memcpy(from.at, zmq_msg_data(&frame[0]), from.n);
            receive(self, &from, &frame[1]);
        } else {
            self->count.dropped++;
        }
        for (int i = 0; i < n && i < 2; i++) zmq_msg_close(&frame[i]);
    }
}

/* --- Down --- */

/* Its run is over or does not know it: the member stays with us. */
static bool ends_here(front_member_t *member, msg_kind_t kind)
{
    if (kind != BODY(BYE)) return false;
    front_kick(member->front, member, false, "its run is over");
    return true;
}

static void note_down(front_member_t *member, msg_kind_t kind)
{
    switch (kind) {
    case BODY(LEASE):
    case BODY(EVAL):
    case BODY(COMPILE): member->busy = true; break;
    case BODY(ASSIGN): member->assigned = true; break;
    case BODY(LEASE_ACK):
    case BODY(REVOKE): member->busy = false; break;
    default: break;
    }
}

static void send_down(front_member_t *member, zmq_msg_t *body)
{
    void *raw = zsock_resolve(member->front->control);
    const msg_peer_t *to = &member->is.peer;
    zmq_msg_t copy;
    zmq_msg_init(&copy);
    zmq_msg_copy(&copy, body);
    int rc = zmq_send(raw, to->at, to->n, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    if (rc >= 0) rc = zmq_msg_send(&copy, raw, ZMQ_DONTWAIT);
    if (rc < 0) zmq_msg_close(&copy); /* it is gone, or does not read: it will ask again */
}

/* False: the member is not connected to this pipe any more. */
static bool pass_down(front_member_t *member, zmq_msg_t *body)
{
    size_t n = zmq_msg_size(body);
    msg_kind_t kind = n <= MSG_CONTROL_BYTES ? msg_peek(zmq_msg_data(body), n) : 0;
    if (!kind) return true;
    if (ends_here(member, kind)) return false;
    send_down(member, body);
    note_down(member, kind);
    if (kind != BODY(LEASE_ACK) || !member->moving_ms) return true;
    front_kick(member->front, member, true, "another run needs it more");
    return false;
}

static int on_pipe(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    front_member_t *member = arg;
    zmq_msg_t frame;
    bool here = true;
    for (int n; here && (n = control_frames(socket, &frame, 1)) > 0;) {
        if (n == 1) here = pass_down(member, &frame);
        zmq_msg_close(&frame);
    }
    return 0;
}

/* --- Events of the runs, for everybody --- */

bool front_event(front_t *self)
{
    Msg__Event *event = NULL;
    int rc = publish_receive(self->news, &event, NULL);
    if (rc > 0) {
        front_run_t *run = front_run_find(self, event->run);
        if (run && event->body_case == MSG__EVENT__BODY_STATUS) {
            snprintf(run->news.phase, sizeof run->news.phase, "%s", event->status->phase);
            run->news.rounds = event->status->rounds;
        }
        publish_event(self->events, event);
        msg__event__free_unpacked(event, NULL);
    }
    return rc != 0;
}
