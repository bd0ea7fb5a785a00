/* What the worker's thread does with a LEASE or an EVAL: the trainer's work as a job (msg/jobs.h).
 */
#ifndef WORKER_WORK_H
#define WORKER_WORK_H

#include "msg/jobs.h"

/* A job_fn whose user is a trainer_t. Replies RUN_EVENT (news of steps), at last LEASE_DONE,
 * EVAL_DONE or LEASE_FAILED. */
void work_run(void *trainer, job_t *job, const msg_envelope_t *message);

#endif
