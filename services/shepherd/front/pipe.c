/* One connection to the shepherd of each run, which all its members share: before each envelope
 * goes a frame with the member's number (msg/control.h). No number is given again, so what comes
 * late for one that has left reaches nobody. */
#include <stdlib.h>
#include <zmq.h>

#include "base/log.h"
#include "msg/control.h"
#include "shepherd/front/front.h"

int front_pipe_open(front_run_t *run, zloop_reader_fn *on_pipe, err_t *err)
{
    if (run->pipe) return 0;
    endpoint_t shared = endpoint_connect(ZMQ_DEALER, run->control);
    shared.send_queue = shared.receive_queue = MSG_SHARED_QUEUE;
    shared.linger_ms = 0; /* the next shepherd at that endpoint is not to read it */
    zsock_t *pipe = endpoint_open(shared, err);
    if (!pipe) return -1;
    run->pipe = pipe;
    run->choked = false;
    zloop_reader(run->front->loop, pipe, on_pipe, run);
    zloop_reader_set_tolerant(run->front->loop, pipe);
    return 0;
}

void front_pipe_close(front_run_t *run)
{
    if (!run->pipe) return;
    zloop_reader_end(run->front->loop, run->pipe);
    /* Closing alone is left to a thread of the library's: on a busy machine the connection could be
     * made once more before that, with a shepherd that has begun meanwhile. */
    zsock_disconnect(run->pipe, "%s", run->control);
    zsock_destroy(&run->pipe);
}

void front_seat(front_member_t *member)
{
    front_t *self = member->front;
    size_t seat = self->free_seats.n ? self->free_seats.at[--self->free_seats.n] : self->seats.n;
    if (seat == self->seats.n) VEC_PUSH(&self->seats, NULL);
    self->seats.at[seat] = member;
    if (++self->n_seated == 0) self->n_seated = 1; /* no number is 0 */
    member->number = (uint64_t)self->n_seated << 32 | seat;
}

void front_unseat(front_member_t *member)
{
    if (!member->number) return;
    uint32_t seat = (uint32_t)member->number;
    member->front->seats.at[seat] = NULL;
    VEC_PUSH(&member->front->free_seats, seat);
    member->number = 0;
}

front_member_t *front_seated(front_t *self, uint64_t number)
{
    uint32_t seat = (uint32_t)number;
    front_member_t *member = seat < self->seats.n ? self->seats.at[seat] : NULL;
    return member && member->number == number ? member : NULL;
}

int front_pipe_send(front_member_t *member, zmq_msg_t *body)
{
    front_run_t *run = member->run;
    const msg_peer_t to = {.behind = member->number};
    int rc = run->pipe ? control_pass(run->pipe, &to, body) : 0;
    bool choked = rc < 0;
    if (choked && !run->choked) /* once, not for each message */
        log_event(LOG_WARN, "not_relayed", "run=%s member=%s error=\"%s\"", run->row.id,
                  member->is.id, zmq_strerror(zmq_errno()));
    run->choked = choked;
    return rc;
}
