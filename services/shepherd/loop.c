/* The shepherd's reactor: what each socket, timer and signal does to the state. */
#include "shepherd/loop.h"

#include "base/clock.h"
#include "base/log.h"
#include "msg/control.h"
#include "msg/door.h"
#include "msg/publish.h"
#include "shepherd/round/rounds.h"

enum { AT_ONCE = 256 }; /* events of members, before others have their turn */

static void send_control(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    loop_t *self = user;
    err_t err = {0};
    if (control_send(self->control, to, message, &err) < 0 && msg_shows(++self->n_unsent))
        log_event(LOG_WARN, "send_failed", "error=\"%s\"", err.text);
}

static void publish(void *user, Msg__Event *event)
{
    loop_t *self = user;
    event->source = "shepherd";
    event->run = self->state.config->run;
    event->sequence = ++self->n_event;
    publish_event(self->events, event);
}

static void start_job(void *user, courier_job_t *job)
{
    courier_start(((loop_t *)user)->courier, job);
}

static void record(void *user, record_t *record)
{
    recorder_write(((loop_t *)user)->recorder, record);
}

static bool reaches(void *user, const msg_peer_t *peer)
{
    return control_reaches(((loop_t *)user)->control, peer);
}

static int after(loop_t *self)
{
    return self->state.finished ? -1 : 0; /* -1 ends the loop */
}

/* What members have said, or some of it: others have their turn, too, and for what is left the loop comes back
 * at once. */
static void receive(loop_t *self)
{
    enum { BURST = 512 };
    shepherd_t *state = &self->state;
    int n = 0;
    while (n < BURST && !state->finished &&
           control_receive(self->control, true, &shepherd_hears, state, &state->count))
        n++;
    state->unread = n == BURST;
}

static int on_control(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    loop_t *self = arg;
    self->state.now_ms = clock_mono_ms();
    receive(self);
    if (!self->state.finished) shepherd_dispatch(&self->state);
    return after(self);
}

/* Who says HELLO is answered only when it is known whether we lead. */
static void open_door(zloop_t *loop, loop_t *self)
{
    if (self->listening) return;
    self->listening = true;
    zloop_reader(loop, self->control, on_control, self);
}

static int on_recorder(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)socket;
    loop_t *self = arg;
    recorder_result_t *result = recorder_take(self->recorder);
    self->state.now_ms = clock_mono_ms();
    if (result) shepherd_on_recorder(&self->state, result);
    if (result && !self->state.finished) shepherd_dispatch(&self->state);
    recorder_result_destroy(&result);
    open_door(loop, self);
    return after(self);
}

static int on_courier(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    loop_t *self = arg;
    courier_result_t *result = courier_take(self->courier);
    if (result) shepherd_on_courier(&self->state, result);
    courier_result_destroy(&result);
    return after(self);
}

static int on_herald(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    loop_t *self = arg;
    herald_heard(self->herald);
    self->herald_busy = false;
    return 0;
}

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    loop_t *self = arg;
    int64_t now = clock_mono_ms();
    self->state.now_ms = now;
    if (self->listening) receive(self); /* who has spoken is not silent */
    if (self->state.finished) return after(self);
    shepherd_tick(&self->state, now);
    if (self->herald && !self->herald_busy && now - self->herald_ms >= HERALD_EVERY_MS) {
        self->herald_ms = now;
        self->herald_busy = true;
        herald_tell(self->herald, herald_news(&self->state, self->state.config->id));
    }
    return after(self);
}

/* Members' telemetry is handed on as it is; its run is ours. */
static int on_telemetry(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    loop_t *self = arg;
    Msg__Event *event = NULL;
    for (int i = 0; i < AT_ONCE && publish_receive(socket, &event, NULL) > 0; i++) {
        shepherd_on_event(&self->state, event);
        char *unset = event->run;
        event->run = self->state.config->run;
        publish_event(self->events, event);
        if (event->body_case == MSG__EVENT__BODY_DEGRADED) records_event(&self->state, event);
        event->run = unset;
        msg__event__free_unpacked(event, NULL);
    }
    return 0;
}

static void on_signal(void *user)
{
    shepherd_on_signal(&((loop_t *)user)->state);
}

int loop_run(loop_t *self, int signal_fd, err_t *err)
{
    enum { TICK_MS = 50 };
    shepherd_t *state = &self->state;
    state->ports.out = (msg_out_t){send_control, self};
    state->ports.publish = publish;
    state->ports.start = start_job;
    state->ports.reaches = reaches;
    if (self->recorder) {
        state->ports.record = record;
        state->phase = PHASE_STANDBY; /* from the beginning */
    }
    state->ports.user = self;
    service_signals_t signals = {.on_signal = on_signal, .user = self};
    zloop_t *loop = zloop_new();
    health_t *health = NULL;
    int rc = service_on_signal(loop, signal_fd, &signals, err);
    if (rc == 0) rc = service_health(loop, &state->config->common, NULL, NULL, &health, err);
    if (rc == 0) {
        if (self->recorder)
            zloop_reader(loop, zactor_sock(self->recorder), on_recorder, self);
        else
            open_door(loop, self);
        zloop_reader(loop, self->telemetry, on_telemetry, self);
        zloop_reader(loop, zactor_sock(self->courier), on_courier, self);
        if (self->herald) zloop_reader(loop, zactor_sock(self->herald), on_herald, self);
        zloop_timer(loop, TICK_MS, 0, on_tick, self);
        zsock_t *const doors[] = {self->control, self->telemetry, self->events};
        door_t *door = door_new(loop, doors, 3, err);
        rc = door ? 0 : -1;
        if (door) service_loop(loop);
        door_destroy(&door);
    }
    health_destroy(&health);
    zloop_destroy(&loop);
    return rc;
}
