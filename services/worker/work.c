/* Jobs of the worker's thread. */
#include "worker/work.h"

#include "base/exit.h"
#include "worker/caged.h"
#include "worker/trainer.h"

typedef struct {
    job_t *job;
    const Msg__Lease *lease;
    const trainer_t *trainer;
} news_t;

static bool stopped(void *user)
{
    return job_stopped(((news_t *)user)->job);
}

static bool draining(void *user)
{
    return job_draining(((news_t *)user)->job);
}

static bool outdated(void *user)
{
    return job_outdated(((news_t *)user)->job);
}

static void stepped(void *user, uint64_t step, float loss, double tokens_per_s)
{
    const news_t *news = user;
    Msg__StepStats stats = MSG__STEP_STATS__INIT;
    stats.round = news->lease->round;
    stats.replica = news->lease->replica;
    stats.step = step;
    stats.loss = loss;
    stats.tokens_per_s = tokens_per_s;
    stats.cage_refusals = caged_refusals(news->trainer);
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_STEP;
    event.step = &stats;
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.body_case = MSG__ENVELOPE__BODY_RUN_EVENT;
    envelope.run_event = &event;
    job_reply(news->job, &envelope);
}

static void degraded(void *user, const char *text, bool over)
{
    const news_t *news = user;
    Msg__Degraded change = MSG__DEGRADED__INIT;
    change.kind = "worker";
    change.text = (char *)text;
    change.over = over;
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_DEGRADED;
    event.degraded = &change;
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.body_case = MSG__ENVELOPE__BODY_RUN_EVENT;
    envelope.run_event = &event;
    job_reply(news->job, &envelope);
}

static void reply_failed(job_t *control, const msg_envelope_t *job, const trainer_t *trainer,
                         const err_t *err)
{
    bool eval = job->body_case == MSG__ENVELOPE__BODY_EVAL;
    Msg__LeaseFailed failed = MSG__LEASE_FAILED__INIT;
    failed.round = eval ? job->eval->round : job->lease->round;
    failed.replica = eval ? job->eval->part : job->lease->replica;
    failed.fence = eval ? job->eval->fence : job->lease->fence;
    failed.eval = eval;
    failed.audit = !eval && job->lease->audit;
    failed.fatal = trainer_is_fatal(err->code);
    failed.numeric = err->code == ERR_NUMERIC;
    failed.plan_refused = trainer->plan_refused;
    failed.lost_state = (char *)(eval ? "" : trainer->states.lost);
    failed.error = (char *)err->text;
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.body_case = MSG__ENVELOPE__BODY_LEASE_FAILED;
    envelope.lease_failed = &failed;
    job_reply(control, &envelope);
}

void work_run(void *user, job_t *control, const msg_envelope_t *job)
{
    trainer_t *trainer = user;
    bool eval = job->body_case == MSG__ENVELOPE__BODY_EVAL;
    news_t news = {control, eval ? NULL : job->lease, trainer};
    trainer->hooks = (trainer_hooks_t){stopped,  draining, outdated, eval ? NULL : stepped,
                                       degraded, &news};
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    Msg__LeaseDone lease_done = MSG__LEASE_DONE__INIT;
    Msg__EvalDone eval_done = MSG__EVAL_DONE__INIT;
    err_t err = {0};
    int rc;
    if (eval) {
        envelope.body_case = MSG__ENVELOPE__BODY_EVAL_DONE;
        envelope.eval_done = &eval_done;
        rc = trainer_eval(trainer, job->eval, &eval_done, &err);
    } else {
        envelope.body_case = MSG__ENVELOPE__BODY_LEASE_DONE;
        envelope.lease_done = &lease_done;
        rc = trainer_lease(trainer, job->lease, &lease_done, &err);
    }
    caged_after(trainer, eval ? job->eval->plan : job->lease->plan,
                eval ? job->eval->seal : job->lease->seal, &err);
    if (rc < 0 && err.code == ERR_DEVICE) trainer->leave = EXIT_DEVICE_LOST;
    if (rc < 0)
        reply_failed(control, job, trainer, &err);
    else
        job_reply(control, &envelope);
}
