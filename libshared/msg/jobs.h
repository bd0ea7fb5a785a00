/* A thread for long jobs beside a reactor: one job at a time, in and out as envelopes, so that the
 * two share nothing. The reactor's side and the job's side are named apart below. */
#ifndef MSG_JOBS_H
#define MSG_JOBS_H

#include <czmq.h>

#include "msg/envelope.h"

typedef struct jobs jobs_t;
typedef struct job job_t; /* the job in hand, as its thread sees it */

/* Does one job in the thread; says what came of it by job_reply, the last time with the final
 * answer. `user` belongs to the thread while it lives. */
typedef void job_fn(void *user, job_t *job, const msg_envelope_t *message);

/* --- Reactor's side. --- */
jobs_t *jobs_new(job_fn *run, void *user);
void jobs_destroy(jobs_t **self_p); /* cancels, waits for the thread to end */
zsock_t *jobs_socket(jobs_t *self); /* readable when a reply waits; for zloop_reader */

/* Give it a job (copied); only while none runs. */
void jobs_start(jobs_t *self, const msg_envelope_t *job);
void jobs_cancel(jobs_t *self); /* the running job ends soon; nothing if none runs */
void jobs_drain(jobs_t *self);  /* the same, but it hands in what it has done */
void jobs_outdate(
    jobs_t *self); /* what it hands in is wanted under another name: a job after it says which */
bool jobs_busy(const jobs_t *self);

/* The next reply; caller frees by msg_free. RUN_EVENT replies are news of a job that goes on, any
 * other kind is its end and makes the thread free. NULL when none waits. */
msg_envelope_t *jobs_receive(jobs_t *self);

/* --- Job's side: `job` is a job_t, void so that these fit callbacks like data_options_t.stopped.
 * --- */
void job_reply(job_t *job, msg_envelope_t *reply);
bool job_stopped(void *job);  /* cancelled */
bool job_draining(void *job); /* asked to hand in what is done */
bool job_outdated(void *job); /* nobody waits for what it hands in under its name */

#endif
