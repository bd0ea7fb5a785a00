/* Jobs over a zactor's pipe. While a job runs, only wishes can arrive on the thread's end of the
 * pipe: CANCEL, DRAIN or $TERM. They are read when the job asks, and forgotten with it. */
#include "msg/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "base/hand_over.h"
#include "base/log.h"
#include "base/mem.h"

struct jobs {
    zactor_t *actor;
    job_fn *run;
    void *user;
    bool busy;
};

struct job {
    zsock_t *pipe;
    bool cancelled, draining, outdated; /* what the reactor wishes */
    bool ends;                          /* the thread is to end */
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

/* Take one message off the pipe: a wish, or a job that is to be done. NULL: no job. */
static msg_envelope_t *take(job_t *self)
{
    char *command = NULL;
    uint8_t *bytes = NULL;
    size_t n = 0;
    msg_envelope_t *job = NULL;
    if (zsock_recv(self->pipe, "sb", &command, &bytes, &n) < 0 || !command ||
        strcmp(command, "$TERM") == 0)
        self->ends = self->cancelled = true;
    else if (strcmp(command, "CANCEL") == 0)
        self->cancelled = true;
    else if (strcmp(command, "DRAIN") == 0)
        self->draining = true;
    else if (strcmp(command, "OUTDATE") == 0)
        self->outdated = true;
    else if (strcmp(command, "JOB") == 0)
        job = msg_unpack(bytes, n, NULL);
    free(command);
    free(bytes);
    return job;
}

static void thread_main(zsock_t *pipe, void *arg)
{
    const jobs_t *self = arg;
    job_fn *run = self->run;
    void *user = self->user;
    job_t job = {.pipe = pipe};
    zsock_signal(pipe, 0);
    while (!job.ends) {
        msg_envelope_t *message = take(&job);
        if (!message) continue; /* a wish for a job that has ended */
        job.cancelled = job.draining = job.outdated = false;
        run(user, &job, message);
        msg_free(&message);
    }
    hand_over(self);
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
    take_over(self);
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

void jobs_drain(jobs_t *self)
{
    if (self->busy) zsock_send(self->actor, "sb", "DRAIN", "", (size_t)0);
}

void jobs_outdate(jobs_t *self)
{
    if (self->busy) zsock_send(self->actor, "sb", "OUTDATE", "", (size_t)0);
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

void job_reply(job_t *job, msg_envelope_t *reply)
{
    send_bytes(job->pipe, "REPLY", reply);
}

static void hear_wishes(job_t *self)
{
    while (!self->ends && (zsock_events(self->pipe) & ZMQ_POLLIN)) {
        msg_envelope_t *job = take(self);
        msg_free(&job); /* never: jobs come one at a time */
    }
}

bool job_stopped(void *job)
{
    job_t *self = job;
    hear_wishes(self);
    return self->cancelled;
}

bool job_draining(void *job)
{
    job_t *self = job;
    hear_wishes(self);
    return self->draining;
}

bool job_outdated(void *job)
{
    job_t *self = job;
    hear_wishes(self);
    return self->outdated;
}
