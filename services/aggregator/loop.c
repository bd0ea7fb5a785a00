/* The aggregator's reactor: what each socket, timer and signal does to the state. */
#include "aggregator/loop.h"

#include <stdlib.h>
#include <zmq.h>

#include "base/clock.h"
#include "base/hand_over.h"
#include "base/log.h"
#include "msg/control.h"
#include "msg/keyring.h"
#include "msg/publish.h"
#include "msg/ration.h"

/* ZeroMQ is done with a payload it sent without copying. */
static void sent(void *data, void *hint)
{
    (void)data;
    peers_give_back(take_over(hint));
}

static void fill_body(zmq_msg_t *body, peer_row_t *peer, const void *payload, size_t n,
                      shared_t *keep)
{
    if (keep) {
        zmq_msg_init_data(body, (void *)payload, n, sent, hand_over(peers_lend(peer, keep)));
        return;
    }
    zmq_msg_init_size(body, n);
    if (n) memcpy(zmq_msg_data(body), payload, n);
}

static void reply(void *user, const msg_peer_t *to, const wire_header_t *header,
                  const void *payload, size_t n, shared_t *keep)
{
    loop_t *self = user;
    void *raw = zsock_resolve(self->data);
    peer_row_t *peer = peers_find(&self->peers, to, self->state.now_ms);
    /* A peer that is gone or does not read loses its answer; it will ask again. */
    if (keep && !peers_may_lend(peer)) {
        shared_drop(&keep);
        return;
    }
    uint8_t bytes[WIRE_HEADER_BYTES];
    wire_pack(header, bytes);
    zmq_msg_t body;
    fill_body(&body, peer, payload, n, keep);
    int rc = zmq_send(raw, to->at, to->n, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    if (rc >= 0) rc = zmq_send(raw, bytes, sizeof bytes, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    if (rc >= 0) rc = zmq_msg_send(&body, raw, ZMQ_DONTWAIT);
    if (rc < 0) {
        zmq_msg_close(&body);
        log_event(LOG_WARN, "answer_lost", "type=%s error=\"%s\"", wire_type_name(header->type),
                  zmq_strerror(zmq_errno()));
    }
}

static int on_slice(zloop_t *loop, int timer, void *arg);

/* A commit, or hashing, goes on between other messages. */
static void go_on(loop_t *self)
{
    if (!aggregator_busy(&self->state) || self->working) return;
    self->working = true;
    zloop_timer(self->zloop, 1, 1, on_slice, self);
}

static void tell_commit(loop_t *self)
{
    Msg__CommitStats stats = MSG__COMMIT_STATS__INIT;
    stats.round = self->state.meta.round;
    stats.shard = self->state.meta.shard;
    stats.bytes_in = self->state.bytes_in;
    stats.bytes_out = self->state.bytes_out;
    stats.refused = self->state.refused;
    stats.seconds = (double)(clock_mono_ms() - self->state.commit_ms) / 1000;
    Msg__Event event = MSG__EVENT__INIT;
    event.source = self->config->id;
    event.sequence = ++self->n_event;
    event.body_case = MSG__EVENT__BODY_COMMIT;
    event.commit = &stats;
    publish_event(self->telemetry, &event);
}

/* Once a change. */
static void tell_degraded(loop_t *self, bool is, bool *told, char *text, bool waits)
{
    if (*told == is) return;
    *told = is;
    Msg__Degraded degraded = MSG__DEGRADED__INIT;
    degraded.kind = "aggregator";
    degraded.text = text;
    degraded.over = !is;
    degraded.waits = waits;
    Msg__Event event = MSG__EVENT__INIT;
    event.source = self->config->id;
    event.sequence = ++self->n_event;
    event.body_case = MSG__EVENT__BODY_DEGRADED;
    event.degraded = &degraded;
    publish_event(self->telemetry, &event);
}

static int on_slice(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    loop_t *self = arg;
    self->working = false;
    bool committing = self->state.committing;
    aggregator_work(&self->state);
    if (committing && !self->state.committing) tell_commit(self);
    go_on(self);
    return 0;
}

static bool receive_data(loop_t *self)
{
    zmq_msg_t frame[3];
    int n = control_frames(self->data, frame, 3);
    if (n == 0) return false;
    msg_peer_t from = {.n = (uint8_t)zmq_msg_size(&frame[0])};
    if (n == 3 && zmq_msg_size(&frame[0]) <= sizeof from.at) {
        const char *why = NULL;
        memcpy(from.at, zmq_msg_data(&frame[0]), from.n);
        from.card = keyring_card(&frame[1], &why);
        uint64_t bad = self->state.data_dropped + self->state.data_refused;
        if (why)
            aggregator_refuse(&self->state, &from, zmq_msg_data(&frame[1]), zmq_msg_size(&frame[1]),
                              zmq_msg_size(&frame[2]), why);
        else
            aggregator_on_data(&self->state, &from, zmq_msg_data(&frame[1]),
                               zmq_msg_size(&frame[1]), zmq_msg_data(&frame[2]),
                               zmq_msg_size(&frame[2]));
        if (why || self->state.data_dropped + self->state.data_refused > bad)
            ration_refused(zmq_msg_get(&frame[1], ZMQ_SRCFD));
    } else {
        self->state.data_dropped++;
        ration_refused(zmq_msg_get(&frame[n < 3 ? n - 1 : 2], ZMQ_SRCFD));
        if (msg_shows(self->state.data_dropped))
            log_event(LOG_WARN, "data_dropped", "dropped=%llu frames=%d",
                      (unsigned long long)self->state.data_dropped, n);
    }
    for (int i = 0; i < n && i < 3; i++) zmq_msg_close(&frame[i]);
    return true;
}

static int on_data(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    loop_t *self = arg;
    self->state.now_ms = clock_mono_ms();
    /* A few at a time, so that heartbeats are not kept waiting. */
    for (int i = 0; i < 32 && receive_data(self); i++) continue;
    go_on(self);
    return 0;
}

static void on_welcome(void *state, const Msg__Welcome *welcome)
{
    loop_t *self = state;
    zsock_destroy(&self->telemetry);
    if (!*welcome->telemetry) return;
    char *endpoint = control_resolve(welcome->telemetry, member_endpoint(self->member));
    err_t err = {0};
    self->telemetry = endpoint_open(endpoint_connect(ZMQ_PUB, endpoint), &err);
    if (!self->telemetry) log_event(LOG_WARN, "no_telemetry", "error=\"%s\"", err.text);
    free(endpoint);
}

/* What is held stays: the next shepherd may go on with it. */
static void on_lost(void *state, const char *reason)
{
    (void)state, (void)reason;
}

static void hello(void *state, Msg__Hello *hello)
{
    loop_t *self = state;
    hello->shard = aggregator_holds(&self->state);
}

static void on_bye(void *state, const char *reason)
{
    loop_t *self = state;
    (void)reason;
    self->leaving = self->config->once;
}

static void tell_refusals(loop_t *self)
{
    Msg__Event event = MSG__EVENT__INIT;
    if (!self->telemetry || !refusals_event(&self->refusals, self->state.now_ms, &event)) return;
    event.source = self->config->id;
    event.sequence = ++self->n_event;
    publish_event(self->telemetry, &event);
}

bool loop_tick(loop_t *self)
{
    go_on(self); /* a COMMIT came on the control socket */
    aggregator_t *state = &self->state;
    state->now_ms = clock_mono_ms();
    tell_degraded(self, state->degraded, &self->told_degraded, state->degraded_text, false);
    tell_degraded(self, state->cannot_write, &self->told_cannot, state->cannot_text, true);
    tell_refusals(self);
    uploads_tick(state);
    peers_tick(&self->peers, state->now_ms);
    return self->leaving;
}

void loop_leave(loop_t *self)
{
    member_leave(self->member, "stopped by a signal");
    self->leaving = true;
}

/* Control messages reach the state through these, so that a commit starts at once. */
static void on_control(void *arg, const msg_peer_t *from, const msg_envelope_t *message)
{
    loop_t *self = arg;
    aggregator_routes[message->body_case].handle(&self->state, from, message);
    go_on(self);
}

int loop_start(loop_t *self, zloop_t *zloop, const char *endpoint, err_t *err)
{
    self->zloop = zloop;
    self->state.reply = reply;
    self->state.user = self;
    msg_route_t routes[MSG_KIND_COUNT] = {0};
    for (int i = 0; i < MSG_KIND_COUNT; i++)
        if (aggregator_routes[i].handle)
            routes[i] = (msg_route_t){aggregator_routes[i].max_bytes, on_control,
                                      aggregator_routes[i].from, 0};
    member_options_t options = {
        .endpoint = self->config->shepherd,
        .kind = MSG__KIND__KIND_AGGREGATOR,
        .id = self->config->id,
        .data = endpoint,
        .routes = routes,
        .state = self,
        .on_welcome = on_welcome,
        .on_lost = on_lost,
        .on_bye = on_bye,
        .hello = hello,
    };
    self->member = member_new(self->zloop, &options, err);
    if (!self->member) return -1;
    self->state.out = member_out(self->member);
    zloop_reader(self->zloop, self->data, on_data, self);
    return 0;
}

void loop_stop(loop_t *self)
{
    member_destroy(&self->member);
    zsock_destroy(&self->telemetry);
    peers_fini(&self->peers);
}
