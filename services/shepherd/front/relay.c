/* Frames between members and the shepherds of their runs, passed on as they are. What the front
 * needs to know it sees from their kinds. */
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "base/log.h"
#include "msg/control.h"
#include "msg/keyring.h"
#include "msg/publish.h"
#include "msg/ration.h"
#include "shepherd/front/front.h"
#include "shepherd/shepherd.h"

#define BODY(x) MSG__ENVELOPE__BODY_##x

/* Messages that are passed on before others have their turn; for what is left a socket that the
 * loop polls is ready again at once. */
enum { BURST = 256 };

static int on_pipe(zloop_t *loop, zsock_t *socket, void *arg);

/* Kinds of machines that the run must compile for. */
static void note_target(front_run_t *run, const char *target)
{
    for (size_t i = 0; i < run->targets.n; i++)
        if (strcmp(run->targets.at[i], target) == 0) return;
    VEC_PUSH(&run->targets, mem_strdup(target));
}

int front_attach(front_member_t *member, front_run_t *run, err_t *err)
{
    if (front_pipe_open(run, on_pipe, err) < 0) return -1;
    member->run = run;
    run->n_kind[member->is.kind]++;
    front_seat(member);
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
    if (kind == BODY(SAMPLED)) member->busy = false;
    if (kind != BODY(EVAL_DONE) && kind != BODY(LEASE_FAILED)) return true;
    member->busy = false;
    return !member->moving_ms;
}

void front_up(front_member_t *member, msg_kind_t kind, zmq_msg_t *body)
{
    front_t *self = member->front;
    bool stays = note_up(member, kind, body);
    front_pipe_send(member, body); /* not taken: who waits for an answer will say it again */
    if (kind == BODY(BYE))
        front_drop(self, member);
    else if (!stays)
        front_kick(self, member, true, "another run needs it more");
}

/* What a member says to its run's shepherd is judged here, too: that table says who may say it, and
 * all else is said to the front itself. */
static const msg_route_t *route_of(msg_kind_t kind)
{
    return front_routes[kind].handle ? &front_routes[kind] : &shepherd_routes[kind];
}

static bool drop(front_t *self, const char *why, size_t n)
{
    if (msg_shows(++self->count.dropped))
        log_event(LOG_WARN, "message_dropped", "dropped=%llu bytes=%zu reason=\"%s\"",
                  (unsigned long long)self->count.dropped, n, why);
    return false;
}

/* false: it is not for such a sender to say, or nobody's. */
static bool receive(front_t *self, const msg_peer_t *from, zmq_msg_t *body)
{
    size_t n = zmq_msg_size(body);
    msg_kind_t kind = n <= MSG_CONTROL_BYTES ? msg_peek(zmq_msg_data(body), n) : 0;
    const msg_route_t *route = route_of(kind);
    if (!kind) return drop(self, "no control message", n);
    if (kind == BODY(HELLO)) {
        front_on_hello(self, from, body);
        return true;
    }
    if (!route->handle) return drop(self, "its kind is not for this service", n);
    if (!msg_admits(&front_hears, route, self, from, kind, 0, &self->count, NULL)) return false;
    front_member_t *member = front_by_peer(self, from);
    if (member && member->run && !member->kicked && member->is.kind != MSG__KIND__KIND_CLI)
        front_up(member, kind, body);
    else if (front_routes[kind].handle)
        return msg_dispatch(&front_hears, self, from, zmq_msg_data(body), n, &self->count, NULL) ==
               0;
    return true; /* or it is of a run that the member has left */
}

void front_receive(front_t *self)
{
    zmq_msg_t frame[2];
    for (int n, i = 0; i < BURST && (n = control_frames(self->control, frame, 2)) > 0; i++) {
        msg_peer_t from = {.n = (uint8_t)zmq_msg_size(&frame[0])};
        if (n == 2 && zmq_msg_size(&frame[0]) <= sizeof from.at) {
            memcpy(from.at, zmq_msg_data(&frame[0]), from.n);
            int fd = zmq_msg_get(&frame[1], ZMQ_SRCFD);
            bool taken = control_admits(self->control, &frame[1], &from, &self->count) &&
                         receive(self, &from, &frame[1]);
            if (!taken) ration_refused(fd);
            if (!taken) ration_key_refused(keyring_number(from.card));
        } else {
            self->count.dropped++;
            ration_refused(zmq_msg_get(&frame[n < 2 ? n - 1 : 1], ZMQ_SRCFD));
        }
        for (int k = 0; k < n && k < 2; k++) zmq_msg_close(&frame[k]);
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
    case BODY(SAMPLE):
    case BODY(COMPILE): member->busy = true; break;
    case BODY(ASSIGN): member->assigned = true; break;
    case BODY(WELCOME): front_tell_deleted(member->front, member); break;
    case BODY(LEASE_ACK):
    case BODY(REVOKE): member->busy = false; break;
    default: break;
    }
}

static void pass_down(front_member_t *member, zmq_msg_t *body)
{
    size_t n = zmq_msg_size(body);
    msg_kind_t kind = n <= MSG_CONTROL_BYTES ? msg_peek(zmq_msg_data(body), n) : 0;
    if (!kind || ends_here(member, kind)) return;
    /* Not taken: the member is gone, or does not read, and will ask again. */
    control_pass(member->front->control, &member->is.peer, body);
    note_down(member, kind);
    if (kind == BODY(LEASE_ACK) && member->moving_ms)
        front_kick(member->front, member, true, "another run needs it more");
}

static int on_pipe(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    front_t *self = ((front_run_t *)arg)->front;
    zmq_msg_t frame[2];
    for (int n, i = 0; i < BURST && (n = control_frames(socket, frame, 2)) > 0; i++) {
        front_member_t *member = n == 2 ? front_seated(self, control_number(&frame[0])) : NULL;
        if (member) pass_down(member, &frame[1]);
        for (int k = 0; k < n && k < 2; k++) zmq_msg_close(&frame[k]);
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
            snprintf(run->news.waits, sizeof run->news.waits, "%s", event->status->waits);
            run->news.rounds = event->status->rounds;
        }
        publish_event(self->events, event);
        msg__event__free_unpacked(event, NULL);
    }
    return rc != 0;
}
