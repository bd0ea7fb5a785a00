/* The worker's reactor. */
#include "worker/loop.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/log.h"
#include "msg/alive.h"
#include "msg/control.h"
#include "msg/publish.h"
#include "worker/leaving.h"
#include "worker/work.h"

enum { TICK_MS = 50 };

/* Credit in a heartbeat tells the shepherd that a lease it still counts as ours is lost: so none
 * before it has acknowledged the answer. */
static uint32_t credit(void *state)
{
    const loop_t *self = state;
    bool waits = self->answers.list.n > 0;
    return jobs_busy(self->jobs) || self->leaving || self->drain_ms || waits ? 0 : 1;
}

/* The lease in hand is void. */
static void give_up_job(loop_t *self)
{
    self->void_job = true;
    msg_free(&self->next);
    jobs_cancel(self->jobs);
}

/* --- Work in --- */

/* Is `late` what `lease` is called now: rounds closed without it? */
static bool is_late(const Msg__Lease *late, const lease_id_t *lease)
{
    return late->lag && late->run_hash == lease->run && late->replica == lease->replica &&
           late->round > lease->round && late->round - late->lag == lease->round - lease->lag;
}

/* The lease in hand counts in a later round: when it ends it is handed in under its new name, for
 * which the trainer needs not train it again. */
static bool rename_job(loop_t *self, const Msg__Lease *late, const msg_envelope_t *message)
{
    if (!self->training || self->void_job || !is_late(late, &self->lease)) return false;
    size_t n = 0;
    uint8_t *bytes = msg_pack(message, &n);
    msg_free(&self->next);
    self->next = msg_unpack(bytes, n, NULL);
    free(bytes);
    self->lease = lease_id(late);
    jobs_outdate(self->jobs);
    log_event(LOG_INFO, "lease_late", "round=%u replica=%u fence=%u lag=%u", late->round,
              late->replica, late->fence, late->lag);
    return true;
}

static void start_job(loop_t *self, const msg_envelope_t *message)
{
    self->void_job = self->handed = false;
    jobs_start(self->jobs, message);
    if (self->drain_ms) jobs_drain(self->jobs);
}

/* A drained worker's answer came too late for its round. */
static bool is_answer_late(const loop_t *self, const Msg__Lease *late)
{
    for (size_t i = 0; i < self->answers.list.n; i++)
        if (is_late(late, &self->answers.list.at[i].lease)) return true;
    return false;
}

static void on_work(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    loop_t *self = state;
    bool training = message->body_case == MSG__ENVELOPE__BODY_LEASE;
    lease_id_t lease = training ? lease_id(message->lease) : (lease_id_t){0};
    bool busy = jobs_busy(self->jobs);
    if (training && busy && rename_job(self, message->lease, message)) return;
    bool late = training && is_answer_late(self, message->lease);
    if (busy || self->leaving || (self->drain_ms && !late)) { /* more than we asked for */
        bool again = training && self->training && lease_id_equal(&lease, &self->lease);
        if (!again)
            log_event(LOG_WARN, "work_refused", "kind=%s", msg_kind_name(message->body_case));
        return;
    }
    const answer_t *known = training ? answers_find(&self->answers, &lease) : NULL;
    if (known) { /* the message came twice */
        msg_out_t out = member_out(self->member);
        out.send(out.user, NULL, known->message);
        return;
    }
    if (training) answers_drop_replica(&self->answers, lease.replica);
    if (training) handover_lease(&self->handover, message->lease);
    self->training = training;
    self->lease = lease;
    start_job(self, message);
}

static void on_ack(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    loop_t *self = state;
    const Msg__LeaseAck *ack = message->lease_ack;
    if (answers_drop(&self->answers, ack->round, ack->replica, ack->fence))
        member_ask(self->member);
}

static void on_revoke(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    loop_t *self = state;
    const Msg__Revoke *revoke = message->revoke;
    bool ours = jobs_busy(self->jobs) && self->training && self->lease.round == revoke->round &&
                self->lease.replica == revoke->replica && self->lease.fence <= revoke->fence;
    size_t n = answers_drop(&self->answers, revoke->round, revoke->replica, revoke->fence);
    log_event(LOG_INFO, "revoked", "round=%u replica=%u fence=%u held=%d", revoke->round,
              revoke->replica, revoke->fence, ours || n);
    if (ours) give_up_job(self);
    if (n) handover_void(&self->handover, revoke->round, revoke->replica);
    if (n) member_ask(self->member);
}

static void on_copy(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    copying_ask(&((loop_t *)state)->copying, message);
}

/* --- Answers out --- */

static void log_done(const msg_envelope_t *reply)
{
    if (reply->body_case == MSG__ENVELOPE__BODY_LEASE_DONE) {
        const Msg__LeaseDone *done = reply->lease_done;
        log_event(LOG_INFO, "lease_done",
                  "round=%u replica=%u steps=%u loss=%.4f tokens_per_s=%.0f compute_s=%.3f "
                  "download_s=%.3f upload_s=%.3f "
                  "received_bytes=%llu ahead_bytes=%llu sent_bytes=%llu fresh=%d state=%.12s",
                  done->round, done->replica, done->steps, done->mean_loss,
                  done->compute_s > 0 ? (double)done->tokens / done->compute_s : 0, done->compute_s,
                  done->download_s, done->upload_s, (unsigned long long)done->received_bytes,
                  (unsigned long long)done->ahead_bytes, (unsigned long long)done->sent_bytes,
                  done->fresh_state, done->state);
    } else if (reply->body_case == MSG__ENVELOPE__BODY_EVAL_DONE) {
        log_event(LOG_INFO, "eval_done", "round=%u part=%u loss=%.4f", reply->eval_done->round,
                  reply->eval_done->part, reply->eval_done->loss);
    } else if (reply->body_case == MSG__ENVELOPE__BODY_LEASE_FAILED) {
        const Msg__LeaseFailed *failed = reply->lease_failed;
        log_event(LOG_WARN, "work_failed", "round=%u %s=%u error=\"%s\"", failed->round,
                  failed->eval ? "part" : "replica", failed->replica, failed->error);
    }
}

/* A process knows its speed by what it has trained: nothing is run for the measure alone. */
static void note_speed(loop_t *self, const msg_envelope_t *reply)
{
    if (reply->body_case != MSG__ENVELOPE__BODY_LEASE_DONE) return;
    const Msg__LeaseDone *done = reply->lease_done;
    if (done->steps && done->compute_s > 0) self->steps_per_s = done->steps / done->compute_s;
}

static void publish(loop_t *self, Msg__Event *event)
{
    char *unset = event->source;
    event->source = self->config->id;
    event->sequence = ++self->n_event;
    publish_event(self->telemetry, event);
    event->source = unset;
}

/* The work is given to others, without blame for it: this process has nothing to train on. */
static void lose_device(loop_t *self, msg_envelope_t *reply)
{
    bool failed = reply->body_case == MSG__ENVELOPE__BODY_LEASE_FAILED;
    if (failed) reply->lease_failed->fatal = false;
    log_event(LOG_ERROR, "device_failed", "status=%d error=\"%s\"", self->trainer.leave,
              failed ? reply->lease_failed->error : "");
    if (!self->drain_ms) self->drain_ms = clock_mono_ms();
    msg_free(&self->next);
}

static void note_state(loop_t *self, const msg_envelope_t *reply)
{
    const Msg__LeaseDone *done = reply->lease_done;
    if (reply->body_case == MSG__ENVELOPE__BODY_LEASE_DONE && !done->audit)
        handover_made(&self->handover, done->round, done->replica, done->state);
}

/* Takes the reply. What is broken off by a drain is given again when BYE comes: no failure. */
static void finish_job(loop_t *self, msg_envelope_t *reply)
{
    bool failed = reply->body_case == MSG__ENVELOPE__BODY_LEASE_FAILED;
    if (self->trainer.leave) lose_device(self, reply);
    bool broken_off = self->drain_ms && failed && !reply->lease_failed->fatal;
    note_speed(self, reply);
    if (self->next && !self->void_job) { /* it is heard of once more, under its new name */
        start_job(self, self->next);
        msg_free(&self->next);
        msg_free(&reply);
        return;
    }
    log_done(reply);
    int64_t now = clock_mono_ms();
    if (!self->void_job) note_state(self, reply);
    if (self->void_job || broken_off) {
        msg_free(&reply);
    } else if (self->training) {
        answers_add(&self->answers, &self->lease, reply, now);
        if (member_joined(self->member))
            answers_say(&self->answers, member_out(self->member), now, false);
    } else {
        msg_out_t out = member_out(self->member);
        out.send(out.user, NULL, reply);
        msg_free(&reply);
    }
    member_ask(self->member);
}

static int on_reply(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    loop_t *self = arg;
    msg_envelope_t *reply = jobs_receive(self->jobs);
    if (!reply) return 0;
    if (reply->body_case != MSG__ENVELOPE__BODY_RUN_EVENT) {
        finish_job(self, reply);
        return 0;
    }
    publish(self, reply->run_event);
    msg_free(&reply);
    return 0;
}

/* Not told while there is no shepherd: the next one asks again. */
static int on_copied(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    loop_t *self = arg;
    msg_envelope_t *copied = copying_take(&self->copying);
    if (!copied) return 0;
    msg_out_t out = member_out(self->member);
    if (*copied->copied->error)
        self->unsent++;
    else
        handover_copied(&self->handover, copied->copied->state);
    if (member_joined(self->member) && copied->copied->run_hash == self->run)
        out.send(out.user, NULL, copied);
    msg_free(&copied);
    return 0;
}

/* --- The shepherd comes and goes --- */

static void fill_device(loop_t *self, Msg__Hello *hello)
{
    uint64_t limit = (uint64_t)self->config->memory_limit, all = self->device.memory_bytes;
    hello->device = self->device_id;
    hello->device_name = self->device.text;
    hello->device_bytes = limit && limit < all ? limit : all;
    hello->steps_per_s = self->steps_per_s;
}

static void hello(void *state, Msg__Hello *hello)
{
    loop_t *self = state;
    fill_device(self, hello);
    hello->copies = hello->exact = hello->down_exact = true;
    hello->keeps_run = handover_run(&self->handover);
    bool trains = self->jobs && jobs_busy(self->jobs) && self->training && !self->void_job;
    if (!trains && self->answers.list.n == 0) return;
    const lease_id_t *lease = trains ? &self->lease : &self->answers.list.at[0].lease;
    msg__holding__init(&self->holding);
    self->holding.run_hash = lease->run;
    self->holding.round = lease->round;
    self->holding.replica = lease->replica;
    self->holding.fence = lease->fence;
    self->holding.done = !trains;
    hello->holding = &self->holding;
}

static void on_welcome(void *state, const Msg__Welcome *welcome)
{
    loop_t *self = state;
    zsock_destroy(&self->telemetry);
    char *endpoint = control_resolve(welcome->telemetry, member_endpoint(self->member));
    err_t err = {0};
    if (*endpoint) self->telemetry = endpoint_open(endpoint_connect(ZMQ_PUB, endpoint), &err);
    if (err.code) log_event(LOG_WARN, "no_telemetry", "error=\"%s\"", err.text);
    free(endpoint);
    self->lost_ms = 0;
    self->run = welcome->run_hash;
    answers_drop_others(&self->answers, welcome->run_hash);
    bool other = self->training && self->lease.run != welcome->run_hash;
    if (jobs_busy(self->jobs) && other) give_up_job(self);
    answers_say(&self->answers, member_out(self->member), clock_mono_ms(), true);
    member_ask(self->member);
}

/* A lease is trained on: its inputs are at the aggregators. A validation is cheap to give again. */
static void on_lost(void *state, const char *reason)
{
    (void)reason;
    loop_t *self = state;
    self->lost_ms = clock_mono_ms();
    if (jobs_busy(self->jobs) && !self->training) give_up_job(self);
}

/* What we have made is needed where we were, by whoever trains these replicas next. */
static void on_moved(void *state)
{
    leaving_hand_over(state, "another run has us");
}

static void on_bye(void *state, const char *reason)
{
    (void)reason;
    loop_t *self = state;
    handover_clear(&self->handover);
    self->lost_ms = clock_mono_ms();
    answers_clear(&self->answers);
    give_up_job(self);
    self->leaving = self->config->once || self->drain_ms;
}

/* --- Signals and time --- */

static void on_signal(void *user)
{
    loop_t *self = user;
    self->drain_ms = clock_mono_ms();
    if (jobs_busy(self->jobs) && self->training)
        jobs_drain(self->jobs);
    else
        give_up_job(self);
}

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    loop_t *self = arg;
    int64_t now = clock_mono_ms();
    if (self->leaving) return -1;
    if (member_joined(self->member))
        answers_say(&self->answers, member_out(self->member), now, false);
    if (self->drain_ms) leaving_tick(self, now);
    return 0;
}

const msg_route_t worker_routes[MSG_KIND_COUNT] = {
    MSG_ROUTE(LEASE, 1 << 20, on_work, MSG_FROM_SHEPHERD),
    MSG_ROUTE(EVAL, 1 << 20, on_work, MSG_FROM_SHEPHERD),
    MSG_ROUTE(LEASE_ACK, 256, on_ack, MSG_FROM_SHEPHERD),
    MSG_ROUTE(COPY, 1 << 20, on_copy, MSG_FROM_SHEPHERD),
    MSG_ROUTE(REVOKE, 256, on_revoke, MSG_FROM_SHEPHERD),
};

static member_options_t member_options(loop_t *self)
{
    return (member_options_t){
        .endpoint = self->config->shepherd,
        .kind = MSG__KIND__KIND_WORKER,
        .id = self->config->id,
        .target = self->config->target,
        .supervisor = self->config->supervisor,
        .threads = (unsigned)(self->config->threads ? self->config->threads : cpus_count()),
        .routes = worker_routes,
        .state = self,
        .on_welcome = on_welcome,
        .on_lost = on_lost,
        .on_moved = on_moved,
        .on_bye = on_bye,
        .credit = credit,
        .hello = hello,
    };
}

static bool how_it_is(void *user, char *text, size_t n)
{
    return member_health(((loop_t *)user)->member, text, n);
}

int loop_run(loop_t *self, int signal_fd, bool *busy, err_t *err)
{
    health_t *health = NULL;
    service_signals_t signals = {.on_signal = on_signal, .user = self};
    member_options_t options = member_options(self);
    self->zloop = zloop_new();
    self->jobs = jobs_new(work_run, &self->trainer);
    copying_init(&self->copying, self->config->state_dir, &self->trainer.sends);
    self->lost_ms = clock_mono_ms();
    if (service_on_signal(self->zloop, signal_fd, &signals, err) == 0 &&
        alive_start(self->zloop, (int)self->config->alive_fd, err) == 0)
        self->member = member_new(self->zloop, &options, err);
    int rc = self->member ? 0 : -1;
    if (rc == 0)
        rc = service_health(self->zloop, &self->config->common, how_it_is, self, &health, err);
    if (rc == 0) {
        zloop_reader(self->zloop, jobs_socket(self->jobs), on_reply, self);
        zloop_reader(self->zloop, jobs_socket(self->copying.jobs), on_copied, self);
        zloop_timer(self->zloop, TICK_MS, 0, on_tick, self);
        service_loop(self->zloop);
    }
    *busy = self->drain_ms && jobs_busy(self->jobs);
    if (*busy) return rc;
    health_destroy(&health);
    member_destroy(&self->member);
    zloop_destroy(&self->zloop);
    copying_fini(&self->copying);
    jobs_destroy(&self->jobs); /* the thread ends its step */
    zsock_destroy(&self->telemetry);
    answers_fini(&self->answers);
    handover_clear(&self->handover);
    msg_free(&self->next);
    return rc;
}
