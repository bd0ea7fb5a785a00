/* The worker's reactor and the jobs of its thread. */
#include "worker/loop.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "msg/alive.h"
#include "msg/control.h"
#include "msg/publish.h"

/* --- In the thread --- */

typedef struct {
    zsock_t *pipe;
    const Msg__Lease *lease;
} news_t;

static bool news_stopped(void *user)
{
    return job_stopped(((news_t *)user)->pipe);
}

static void news_stepped(void *user, uint64_t step, float loss, double tokens_per_s)
{
    const news_t *news = user;
    Msg__StepStats stats = MSG__STEP_STATS__INIT;
    stats.round = news->lease->round;
    stats.replica = news->lease->replica;
    stats.step = step;
    stats.loss = loss;
    stats.tokens_per_s = tokens_per_s;
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_STEP;
    event.step = &stats;
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.body_case = MSG__ENVELOPE__BODY_RUN_EVENT;
    envelope.run_event = &event;
    job_reply(news->pipe, &envelope);
}

static void reply_failed(zsock_t *pipe, const msg_envelope_t *job, const err_t *err)
{
    bool eval = job->body_case == MSG__ENVELOPE__BODY_EVAL;
    Msg__LeaseFailed failed = MSG__LEASE_FAILED__INIT;
    failed.round = eval ? job->eval->round : job->lease->round;
    failed.replica = eval ? job->eval->part : job->lease->replica;
    failed.fence = eval ? job->eval->fence : job->lease->fence;
    failed.eval = eval;
    failed.fatal = trainer_is_fatal(err->code);
    failed.error = (char *)err->text;
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.body_case = MSG__ENVELOPE__BODY_LEASE_FAILED;
    envelope.lease_failed = &failed;
    job_reply(pipe, &envelope);
}

static void run_job(void *user, zsock_t *pipe, const msg_envelope_t *job)
{
    trainer_t *trainer = user;
    bool eval = job->body_case == MSG__ENVELOPE__BODY_EVAL;
    news_t news = {pipe, eval ? NULL : job->lease};
    trainer->hooks = (trainer_hooks_t){news_stopped, eval ? NULL : news_stepped, &news};
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
    if (rc < 0)
        reply_failed(pipe, job, &err);
    else
        job_reply(pipe, &envelope);
}

/* --- In the reactor --- */

static uint32_t credit(void *state)
{
    const loop_t *self = state;
    return jobs_busy(self->jobs) || self->leaving ? 0 : 1;
}

static void ask(loop_t *self)
{
    Msg__WorkRequest request = MSG__WORK_REQUEST__INIT;
    request.credit = credit(self);
    if (request.credit)
        MSG_SEND(member_out(self->member), NULL, 0, WORK_REQUEST, work_request, &request);
}

static void on_work(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    loop_t *self = state;
    if (jobs_busy(self->jobs) || self->leaving) { /* more than we asked for */
        log_event(LOG_WARN, "work_refused", "kind=%s", msg_kind_name(message->body_case));
        return;
    }
    self->void_job = false;
    jobs_start(self->jobs, message);
}

static void log_done(const msg_envelope_t *reply)
{
    if (reply->body_case == MSG__ENVELOPE__BODY_LEASE_DONE) {
        const Msg__LeaseDone *done = reply->lease_done;
        log_event(LOG_INFO, "lease_done",
                  "round=%u replica=%u loss=%.4f tokens_per_s=%.0f transfer_s=%.3f fresh=%d",
                  done->round, done->replica, done->mean_loss,
                  done->compute_s > 0 ? (double)done->tokens / done->compute_s : 0,
                  done->transfer_s, done->fresh_state);
    } else if (reply->body_case == MSG__ENVELOPE__BODY_EVAL_DONE) {
        log_event(LOG_INFO, "eval_done", "round=%u part=%u loss=%.4f", reply->eval_done->round,
                  reply->eval_done->part, reply->eval_done->loss);
    } else if (reply->body_case == MSG__ENVELOPE__BODY_LEASE_FAILED) {
        const Msg__LeaseFailed *failed = reply->lease_failed;
        log_event(LOG_WARN, "work_failed", "round=%u %s=%u error=\"%s\"", failed->round,
                  failed->eval ? "part" : "replica", failed->replica, failed->error);
    }
}

static int on_reply(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    loop_t *self = arg;
    msg_envelope_t *reply = jobs_receive(self->jobs);
    if (!reply) return 0;
    if (reply->body_case == MSG__ENVELOPE__BODY_RUN_EVENT) {
        char *unset = reply->run_event->source;
        reply->run_event->source = self->config->id;
        reply->run_event->sequence = ++self->n_event;
        publish_event(self->telemetry, reply->run_event);
        reply->run_event->source = unset;
    } else {
        log_done(reply);
        msg_out_t out = member_out(self->member);
        if (!self->void_job) out.send(out.user, NULL, reply);
        ask(self);
    }
    msg_free(&reply);
    return 0;
}

static void on_welcome(void *state, const Msg__Welcome *welcome)
{
    loop_t *self = state;
    zsock_destroy(&self->telemetry);
    char *endpoint = control_resolve(welcome->telemetry, self->config->shepherd);
    err_t err = {0};
    if (*endpoint) self->telemetry = control_connect(ZMQ_PUB, endpoint, &err);
    if (err.code) log_event(LOG_WARN, "no_telemetry", "error=\"%s\"", err.text);
    free(endpoint);
    ask(self);
}

static void on_lost(void *state, const char *reason)
{
    (void)reason;
    loop_t *self = state;
    self->void_job = true;
    jobs_cancel(self->jobs);
}

static void on_bye(void *state, const char *reason)
{
    loop_t *self = state;
    on_lost(state, reason);
    self->leaving = self->config->once;
}

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    return ((loop_t *)arg)->leaving ? -1 : 0;
}

static void on_signal(void *user)
{
    loop_t *self = user;
    member_leave(self->member, "stopped by a signal");
    self->leaving = true;
}

static const msg_route_t routes[MSG_KIND_COUNT] = {
    [MSG__ENVELOPE__BODY_LEASE] = {1 << 20, on_work},
    [MSG__ENVELOPE__BODY_EVAL] = {1 << 20, on_work},
};

static member_options_t member_options(loop_t *self)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return (member_options_t){
        .endpoint = self->config->shepherd,
        .kind = MSG__KIND__KIND_WORKER,
        .id = self->config->id,
        .target = self->config->target,
        .supervisor = self->config->supervisor,
        .threads = (unsigned)(self->config->threads ? self->config->threads : cores),
        .routes = routes,
        .state = self,
        .on_welcome = on_welcome,
        .on_lost = on_lost,
        .on_bye = on_bye,
        .credit = credit,
    };
}

int loop_run(loop_t *self, int signal_fd, err_t *err)
{
    enum { TICK_MS = 50 };
    service_signals_t signals = {.on_signal = on_signal, .user = self};
    member_options_t options = member_options(self);
    self->zloop = zloop_new();
    self->jobs = jobs_new(run_job, &self->trainer);
    if (service_on_signal(self->zloop, signal_fd, &signals, err) == 0 &&
        alive_start(self->zloop, (int)self->config->alive_fd, err) == 0)
        self->member = member_new(self->zloop, &options, err);
    int rc = self->member ? 0 : -1;
    if (rc == 0) {
        zloop_reader(self->zloop, jobs_socket(self->jobs), on_reply, self);
        zloop_timer(self->zloop, TICK_MS, 0, on_tick, self);
        service_loop(self->zloop);
    }
    member_destroy(&self->member);
    zloop_destroy(&self->zloop);
    jobs_destroy(&self->jobs); /* the thread ends its step */
    zsock_destroy(&self->telemetry);
    return rc;
}
