/* Jobs over a zactor's pipe. While a job runs, the only thing that can arrive on the thread's end
 * of the pipe is a wish that it ends (CANCEL or $TERM), so that readability is the signal to stop.
 */
#include "msg/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

struct jobs {
    zactor_t *actor;
    job_fn *run;
    void *user;
    bool busy;
};

static void send_bytes(zsock_t *pipe, const char *command, const msg_envelope_t *envelope)
{
    msg_envelope_t versioned = *envelope;
    versioned.version = MSG_VERSION;
    size_t n;
    uint8_t *bytes = msg_pack(&versioned, &n);
    zsock_send(pipe, "sb", command, bytes, n);
    free(bytes);
}

static void thread_main(zsock_t *pipe, void *arg)
{
    const jobs_t *self = arg;
    job_fn *run = self->run;
    void *user = self->user;
    zsock_signal(pipe, 0);
    for (bool going = true; going;) {
        char *command = NULL;
        uint8_t *bytes = NULL;
        size_t n = 0;
        if (zsock_recv(pipe, "sb", &command, &bytes, &n) < 0 || !command ||
            strcmp(command, "$TERM") == 0)
            going = false;
        else if (strcmp(command, "JOB") == 0) {
            msg_envelope_t *job = msg_unpack(bytes, n, NULL);
            if (job) run(user, pipe, job);
            msg_free(&job);
        }
        free(command);
        free(bytes);
    }
}

jobs_t *jobs_new(job_fn *run, void *user)
{
    jobs_t *self = mem_calloc(1, sizeof *self);
    self->run = run;
    self->user = user;
    self->actor = zactor_new(thread_main, self);
    return self;
}

void jobs_destroy(jobs_t **self_p)
{
    jobs_t *self = *self_p;
    if (!self) return;
    zactor_destroy(&self->actor); /* sends $TERM */
    free(self);
    *self_p = NULL;
}

zsock_t *jobs_socket(jobs_t *self)
{
    return zactor_sock(self->actor);
}

void jobs_start(jobs_t *self, const msg_envelope_t *job)
{
    self->busy = true;
    send_bytes(jobs_socket(self), "JOB", job);
}

void jobs_cancel(jobs_t *self)
{
    if (self->busy) zsock_send(self->actor, "sb", "CANCEL", "", (size_t)0);
}

bool jobs_busy(const jobs_t *self)
{
    return self->busy;
}

msg_envelope_t *jobs_receive(jobs_t *self)
{
    if (!(zsock_events(self->actor) & ZMQ_POLLIN)) return NULL;
    char *command = NULL;
    uint8_t *bytes = NULL;
    size_t n = 0;
    msg_envelope_t *reply = NULL;
    if (zsock_recv(self->actor, "sb", &command, &bytes, &n) == 0 && bytes)
        reply = msg_unpack(bytes, n, NULL);
    free(command);
    free(bytes);
    if (reply && reply->body_case != MSG__ENVELOPE__BODY_RUN_EVENT) self->busy = false;
    return reply;
}

void job_reply(zsock_t *pipe, msg_envelope_t *reply)
{
    send_bytes(pipe, "REPLY", reply);
}

bool job_stopped(void *pipe)
{
    return (zsock_events(pipe) & ZMQ_POLLIN) != 0;
}
