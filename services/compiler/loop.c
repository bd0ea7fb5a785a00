/* The compiler's reactor and the job its thread does. */
#include "compiler/loop.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "codegen/target.h"
#include "compiler/sample.h"

/* --- In the thread --- */

static int do_job(const compiler_t *self, job_t *control, const Msg__Compile *job,
                  Msg__PlanReply *reply, char hash[HASH_HEX], compiler_lists_t **lists, err_t *err)
{
    data_options_t options = {
        .endpoints = job->data, .n_endpoint = job->n_data, .stopped = job_stopped, .user = control};
    data_client_t *client = data_client_new(&options, err);
    if (!client) return -1;
    bool cached = false;
    size_t n = 0;
    const compiler_stop_t stop = {job_stopped, control};
    uint8_t *plan = compiler_plan(self, job, client, &stop, &cached, &n, err);
    int rc = plan ? 0 : -1;
    if (rc == 0) {
        *lists = compiler_describe(plan, n, reply, err);
        hash_content(plan, n, hash);
        rc = *lists ? data_put_object(client, hash, plan, n, err) : -1;
    }
    reply->cached = cached;
    free(plan);
    data_client_destroy(&client);
    return rc;
}

static void run_job(void *user, job_t *control, const msg_envelope_t *message)
{
    const Msg__Compile *job = message->compile;
    Msg__PlanReply reply = MSG__PLAN_REPLY__INIT;
    char hash[HASH_HEX] = "";
    compiler_lists_t *lists = NULL;
    err_t err = {0};
    double begin = clock_mono_s();
    reply.job = job->job;
    char *seal = NULL;
    if (do_job(user, control, job, &reply, hash, &lists, &err) < 0) {
        if (!*err.text) err_set(&err, ERR_STATE, "the compiler gave no reason");
        reply.error = err.text;
        reply.target_at_fault = !target_find(job->target, NULL);
        reply.model_at_fault = !reply.target_at_fault && compiler_model_at_fault(err.code);
        reply.for_now = compiler_lacks_room(err.text);
        reply.n_params = reply.n_batch = 0;
    } else {
        reply.plan = hash;
        reply.seal = seal = compiler_seal(lists, hash);
    }
    reply.seconds = clock_mono_s() - begin;
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.in_reply_to = message->id;
    envelope.body_case = MSG__ENVELOPE__BODY_PLAN_REPLY;
    envelope.plan_reply = &reply;
    job_reply(control, &envelope);
    compiler_lists_destroy(&lists);
    free(seal);
}

static void run_sample(void *user, job_t *control, const msg_envelope_t *message)
{
    const Msg__Sample *job = message->sample;
    Msg__Sampled answer = MSG__SAMPLED__INIT;
    err_t err = {0};
    double begin = clock_mono_s();
    data_options_t options = {.endpoints = job->data,
                              .n_endpoint = job->n_data,
                              .run = job->run_hash,
                              .stopped = job_stopped,
                              .user = control};
    const compiler_stop_t stop = {job_stopped, control};
    data_client_t *client = data_client_new(&options, &err);
    char *text = client ? sample_run(user, job, client, &stop, &err) : NULL;
    if (!text && !*err.text) err_set(&err, ERR_STATE, "the compiler gave no reason");
    char *sent = mem_calloc(SAMPLE_TEXT_BYTES, 1);
    if (text) utf8_cut(sent, SAMPLE_TEXT_BYTES, text);
    answer.round = job->round;
    answer.text = sent;
    answer.error = text ? "" : err.text;
    answer.seconds = clock_mono_s() - begin;
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.in_reply_to = message->id;
    envelope.body_case = MSG__ENVELOPE__BODY_SAMPLED;
    envelope.sampled = &answer;
    job_reply(control, &envelope);
    data_client_destroy(&client);
    free(text);
    free(sent);
}

/* --- In the reactor --- */

static uint32_t credit(void *state)
{
    const loop_t *self = state;
    return jobs_busy(self->jobs) || self->leaving ? 0 : 1;
}

static void on_compile(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    loop_t *self = state;
    const Msg__Compile *job = message->compile;
    if (jobs_busy(self->jobs)) { /* more than we asked for */
        log_event(LOG_WARN, "job_refused", "job=%s", job->job);
        return;
    }
    log_event(LOG_INFO, "compile", "module=%.12s target=%s", job->module, job->target);
    self->void_job = false;
    jobs_start(self->jobs, message);
}

/* A shepherd asks for the next one when it has heard of the last, or given it up. */
static void on_sample(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    loop_t *self = state;
    if (jobs_busy(self->samples)) {
        Msg__Sampled busy = MSG__SAMPLED__INIT;
        busy.round = message->sample->round;
        busy.error = "the compiler still writes another text";
        MSG_SEND(member_out(self->member), NULL, message->id, SAMPLED, sampled, &busy);
        return;
    }
    log_event(LOG_INFO, "sample", "round=%u tokens=%u", message->sample->round,
              message->sample->tokens);
    self->void_sample = false;
    jobs_start(self->samples, message);
}

static int on_sampled(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    loop_t *self = arg;
    msg_envelope_t *reply = jobs_receive(self->samples);
    if (!reply) return 0;
    const Msg__Sampled *sampled = reply->sampled;
    log_event(*sampled->error ? LOG_WARN : LOG_INFO, "sampled",
              "round=%u seconds=%.2f error=\"%s\"", sampled->round, sampled->seconds,
              sampled->error);
    msg_out_t out = member_out(self->member);
    if (!self->void_sample) out.send(out.user, NULL, reply);
    msg_free(&reply);
    return 0;
}

static int on_reply(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    loop_t *self = arg;
    msg_envelope_t *reply = jobs_receive(self->jobs);
    if (!reply) return 0;
    const Msg__PlanReply *plan = reply->plan_reply;
    log_event(*plan->error ? LOG_ERROR : LOG_INFO, "compiled",
              "plan=%.12s cached=%d seconds=%.2f error=\"%s\"", plan->plan, plan->cached,
              plan->seconds, plan->error);
    msg_out_t out = member_out(self->member);
    if (!self->void_job) out.send(out.user, NULL, reply);
    msg_free(&reply);
    member_ask(self->member);
    return 0;
}

static void on_welcome(void *state, const Msg__Welcome *welcome)
{
    (void)welcome;
    member_ask(((loop_t *)state)->member);
}

static void on_lost(void *state, const char *reason)
{
    (void)reason;
    loop_t *self = state;
    self->void_job = self->void_sample = true;
    jobs_cancel(self->jobs);
    jobs_cancel(self->samples);
}

static void on_bye(void *state, const char *reason)
{
    loop_t *self = state;
    on_lost(state, reason);
    self->leaving = self->config->once;
}

typedef struct {
    loop_t *at;
    size_t n;
} slots_t;

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    const slots_t *slots = arg;
    bool leaving = true;
    for (size_t i = 0; i < slots->n; i++) leaving &= slots->at[i].leaving;
    return leaving ? -1 : 0;
}

static void on_signal(void *user)
{
    const slots_t *slots = user;
    for (size_t i = 0; i < slots->n; i++) {
        member_leave(slots->at[i].member, "stopped by a signal");
        slots->at[i].leaving = true;
    }
}

const msg_route_t compiler_routes[MSG_KIND_COUNT] = {
    MSG_ROUTE(COMPILE, 1 << 20, on_compile, MSG_FROM_SHEPHERD),
    MSG_ROUTE(SAMPLE, 1 << 20, on_sample, MSG_FROM_SHEPHERD),
};

static int start(loop_t *self, zloop_t *zloop, err_t *err)
{
    member_options_t options = {
        .endpoint = self->config->shepherd,
        .kind = MSG__KIND__KIND_COMPILER,
        .id = self->id,
        .routes = compiler_routes,
        .state = self,
        .on_welcome = on_welcome,
        .on_lost = on_lost,
        .on_bye = on_bye,
        .credit = credit,
    };
    self->zloop = zloop;
    self->jobs = jobs_new(run_job, &self->compiler);
    self->samples = jobs_new(run_sample, &self->compiler);
    self->member = member_new(zloop, &options, err);
    if (!self->member) return -1;
    zloop_reader(zloop, jobs_socket(self->jobs), on_reply, self);
    zloop_reader(zloop, jobs_socket(self->samples), on_sampled, self);
    return 0;
}

/* As the slot that is worst off. */
static bool how_it_is(void *user, char *text, size_t n)
{
    const slots_t *slots = user;
    for (size_t i = 0; i < slots->n; i++)
        if (!member_joined(slots->at[i].member)) return member_health(slots->at[i].member, text, n);
    return member_health(slots->at[0].member, text, n);
}

int loop_run(loop_t *slots, size_t n, int signal_fd, err_t *err)
{
    enum { TICK_MS = 50 };
    slots_t all = {slots, n};
    service_signals_t signals = {.on_signal = on_signal, .user = &all};
    zloop_t *zloop = zloop_new();
    int rc = service_on_signal(zloop, signal_fd, &signals, err);
    for (size_t i = 0; rc == 0 && i < n; i++) rc = start(&slots[i], zloop, err);
    health_t *health = NULL;
    if (rc == 0)
        rc = service_health(zloop, &slots[0].config->common, how_it_is, &all, &health, err);
    if (rc == 0) {
        zloop_timer(zloop, TICK_MS, 0, on_tick, &all);
        service_loop(zloop);
    }
    health_destroy(&health);
    for (size_t i = 0; i < n; i++) member_destroy(&slots[i].member);
    zloop_destroy(&zloop);
    for (size_t i = 0; i < n; i++) {
        jobs_destroy(&slots[i].jobs);
        jobs_destroy(&slots[i].samples);
    }
    return rc;
}
