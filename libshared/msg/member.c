/* The joining state machine: silent -> HELLO sent -> WELCOME -> joined -> (silence) -> silent. */
#include "msg/member.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "msg/control.h"
#include "msg/service.h"

enum { TICK_MS = 100 };

struct member {
    member_options_t options;
    zloop_t *loop;
    zsock_t *socket;
    int timer;
    bool joined;
    bool forgotten;                  /* the shepherd said so; handled at the next tick */
    int64_t heard_ms, sent_ms;       /* last message from and to the shepherd */
    int64_t hello_ms, hello_wait_ms; /* when to say HELLO next, and the present back-off */
    int64_t heartbeat_ms, timeout_ms;
    int64_t tick_ms;                    /* of the last tick */
    msg_route_t theirs[MSG_KIND_COUNT]; /* the service's */
    msg_route_t routes[MSG_KIND_COUNT]; /* what is received, theirs among it */
    msg_count_t count;
    char host[MSG_ID_BYTES];
};

static int on_readable(zloop_t *loop, zsock_t *socket, void *arg);

static int reconnect(member_t *self, err_t *err)
{
    if (self->socket) {
        zloop_reader_end(self->loop, self->socket);
        zsock_destroy(&self->socket);
    }
    self->socket = control_connect(ZMQ_DEALER, self->options.endpoint, err);
    if (!self->socket) return -1;
    zloop_reader(self->loop, self->socket, on_readable, self);
    zloop_reader_set_tolerant(self->loop, self->socket);
    return 0;
}

static void say_hello(member_t *self)
{
    const member_options_t *o = &self->options;
    Msg__Hello hello = MSG__HELLO__INIT;
    hello.kind = o->kind;
    hello.id = (char *)o->id;
    hello.software = SERVICE_VERSION;
    hello.target = (char *)(o->target ? o->target : "");
    hello.threads = o->threads;
    hello.endpoint = (char *)(o->data ? o->data : "");
    hello.pid = (uint32_t)getpid();
    hello.supervisor = (char *)(o->supervisor ? o->supervisor : "");
    hello.host = self->host;
    if (o->hello) o->hello(o->state, &hello);
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.body_case = MSG__ENVELOPE__BODY_HELLO;
    envelope.hello = &hello;
    control_send(self->socket, NULL, &envelope, NULL);
    int64_t now = clock_mono_ms();
    int64_t jitter = (int64_t)(rng_uniform((uint64_t)getpid(), (uint64_t)now) *
                               (double)self->hello_wait_ms / 4);
    self->sent_ms = now;
    self->hello_ms = now + self->hello_wait_ms + jitter;
    self->hello_wait_ms *= 2;
    if (self->hello_wait_ms > MSG_HELLO_MAX_MS) self->hello_wait_ms = MSG_HELLO_MAX_MS;
}

/* Forget the shepherd and start over with a fresh connection, so that nothing said before is sent
 * after. */
static void lose(member_t *self, const char *reason)
{
    bool was_joined = self->joined;
    self->joined = false;
    self->hello_wait_ms = MSG_HELLO_MS;
    self->hello_ms = clock_mono_ms();
    if (!was_joined) return;
    log_event(LOG_WARN, "shepherd_lost", "reason=\"%s\"", reason);
    self->options.on_lost(self->options.state, reason);
    err_t err = {0};
    if (reconnect(self, &err) < 0) log_event(LOG_ERROR, "reconnect", "error=\"%s\"", err.text);
}

static void on_welcome(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    member_t *self = state;
    const Msg__Welcome *welcome = message->welcome;
    if (self->joined) return;
    self->joined = true;
    self->hello_wait_ms = MSG_HELLO_MS;
    if (welcome->heartbeat_ms >= 10 && welcome->heartbeat_ms < welcome->timeout_ms) {
        self->heartbeat_ms = welcome->heartbeat_ms;
        self->timeout_ms = welcome->timeout_ms;
    }
    log_event(LOG_INFO, "joined", "run=%s shepherd=%s", welcome->run, self->options.endpoint);
    self->options.on_welcome(self->options.state, welcome);
}

static void on_heartbeat(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)state, (void)from, (void)message; /* any message counts as a sign of life */
}

static void on_fault(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    member_t *self = state;
    const Msg__Fault *fault = message->fault;
    if (fault->code == MSG__FAULT__CODE__UNKNOWN_PEER)
        self->forgotten = true;
    else
        log_event(LOG_WARN, "fault", "code=%d text=\"%s\"", (int)fault->code, fault->text);
}

static void on_bye(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    member_t *self = state;
    log_event(LOG_INFO, "dismissed", "reason=\"%s\"", message->bye->reason);
    self->joined = false;
    self->hello_wait_ms = MSG_HELLO_MAX_MS;
    self->hello_ms = clock_mono_ms() + MSG_HELLO_MS;
    if (self->options.on_bye) self->options.on_bye(self->options.state, message->bye->reason);
}

/* The member's own kinds get the member, all others the service's state. */
static void hand_on(void *arg, const msg_peer_t *from, const msg_envelope_t *message)
{
    member_t *self = arg;
    if (!self->joined) return; /* an answer to a life before the last HELLO */
    self->theirs[message->body_case].handle(self->options.state, from, message);
}

static int on_readable(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    member_t *self = arg;
    while (control_receive(socket, false, self->routes, self, &self->count))
        self->heard_ms = clock_mono_ms();
    return 0;
}

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    member_t *self = arg;
    int64_t now = clock_mono_ms();
    /* Who was held up or suspended itself cannot tell how long the other was silent. */
    if (self->tick_ms && now - self->tick_ms > self->timeout_ms / 2)
        self->heard_ms += now - self->tick_ms;
    self->tick_ms = now;
    if (self->forgotten) lose(self, "the shepherd does not know us");
    self->forgotten = false;
    if (self->joined && now - self->heard_ms > self->timeout_ms) lose(self, "silent for too long");
    if (!self->joined && now >= self->hello_ms) say_hello(self);
    if (self->joined && now - self->sent_ms >= self->heartbeat_ms) {
        Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
        if (self->options.credit) beat.credit = self->options.credit(self->options.state);
        MSG_SEND(member_out(self), NULL, 0, HEARTBEAT, heartbeat, &beat);
    }
    return 0;
}

static void build_routes(member_t *self)
{
    if (self->options.routes) memcpy(self->theirs, self->options.routes, sizeof self->theirs);
    for (int i = 0; i < MSG_KIND_COUNT; i++)
        if (self->theirs[i].handle)
            self->routes[i] = (msg_route_t){self->theirs[i].max_bytes, hand_on};
    self->routes[MSG__ENVELOPE__BODY_WELCOME] = (msg_route_t){4096, on_welcome};
    self->routes[MSG__ENVELOPE__BODY_HEARTBEAT] = (msg_route_t){64, on_heartbeat};
    self->routes[MSG__ENVELOPE__BODY_FAULT] = (msg_route_t){4096, on_fault};
    self->routes[MSG__ENVELOPE__BODY_BYE] = (msg_route_t){4096, on_bye};
}

member_t *member_new(zloop_t *loop, const member_options_t *options, err_t *err)
{
    member_t *self = mem_calloc(1, sizeof *self);
    self->options = *options;
    self->loop = loop;
    self->heartbeat_ms = MSG_HEARTBEAT_MS;
    self->timeout_ms = MSG_TIMEOUT_MS;
    self->hello_wait_ms = MSG_HELLO_MS;
    gethostname(self->host, sizeof self->host - 1);
    build_routes(self);
    self->timer = -1;
    if (reconnect(self, err) < 0) {
        member_destroy(&self);
        return NULL;
    }
    say_hello(self);
    self->timer = zloop_timer(loop, TICK_MS, 0, on_tick, self);
    return self;
}

void member_destroy(member_t **self_p)
{
    member_t *self = *self_p;
    if (!self) return;
    if (self->timer >= 0) zloop_timer_end(self->loop, self->timer);
    if (self->socket) zloop_reader_end(self->loop, self->socket);
    zsock_destroy(&self->socket);
    free(self);
    *self_p = NULL;
}

static void send_out(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    (void)to;
    member_t *self = user;
    if (!self->joined) return;
    err_t err = {0};
    if (control_send(self->socket, NULL, message, &err) < 0)
        log_event(LOG_WARN, "send_failed", "error=\"%s\"", err.text);
    self->sent_ms = clock_mono_ms();
}

msg_out_t member_out(member_t *self)
{
    return (msg_out_t){send_out, self};
}

bool member_joined(const member_t *self)
{
    return self->joined;
}

void member_leave(member_t *self, const char *reason)
{
    Msg__Bye bye = MSG__BYE__INIT;
    bye.reason = (char *)reason;
    MSG_SEND(member_out(self), NULL, 0, BYE, bye, &bye);
    self->joined = false;
    self->hello_ms = INT64_MAX;
}
