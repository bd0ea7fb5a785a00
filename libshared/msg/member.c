/* The joining state machine: silent -> HELLO sent -> WELCOME -> joined -> lost -> silent.
 *
 * HELLO waits for its answer with patience (1 s, doubling), for links may be slow; but a connection
 * that cannot be made or ends, and a stand-by's NOT_LEADER, are answers too: then the next endpoint
 * is asked at once, and after all of them a pause of a tenth of the outage so far. */
#include "msg/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <zmq.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "base/version.h"
#include "msg/announce.h"
#include "msg/control.h"
#include "msg/keyring.h"
#include "msg/limits.h"
#include "msg/protocol.h"
#include "msg/server_card.h"
#include "msg/service.h"
#include "msg/unanswered.h"

enum { TICK_MS = 50, PAUSE_MIN_MS = 100, TAKEN_MIN_MS = 500 };

struct member {
    member_options_t options;
    char *endpoints;                 /* comma replaced by NUL */
    size_t n_endpoint, at, refusals; /* the present one; those that refused in a row */
    char *endpoint;
    zloop_t *loop;
    zsock_t *socket, *monitor; /* monitor: news of the socket's connection */
    zmq_pollitem_t tick;       /* a timerfd */
    bool joined, left;
    bool asked;                /* HELLO was said at this endpoint */
    const char *lost;          /* why, when noticed in a handler; dealt with at the next tick */
    bool refused;              /* likewise: nobody to be asked at this endpoint */
    int64_t heard_ms, sent_ms; /* last message from and to the shepherd */
    int64_t hello_ms, hello_wait_ms; /* when to say HELLO next, and the present patience */
    int64_t lost_ms;                 /* since when nobody has welcomed us */
    int64_t heartbeat_ms, timeout_ms;
    int64_t pace_ms;    /* between two heartbeats; heartbeat_ms, or what was wanted last */
    int64_t tick_ms;    /* of the last tick */
    uint64_t key_since; /* keyring_own_since of the connection */
    msg_route_t theirs[MSG_KIND_COUNT]; /* the service's */
    msg_route_t routes[MSG_KIND_COUNT]; /* what is received, theirs among it */
    msg_count_t count;
    char *data;      /* what our HELLO announces on this connection; NULL: options.data */
    char *announced; /* the last one that was logged */
    unanswered_t *unanswered;
    char why[PROTOCOL_TEXT]; /* nobody welcomes us, as far as it is known */
    char host[SERVICE_HOST_BYTES];
    uint64_t answered;    /* our last HEARTBEAT to which an answer came; 0: none yet */
    uint64_t incarnation; /* random: tells us from another process that was given our id */
    int64_t taken_ms;     /* how long to wait when our id is in use */
};

static int on_readable(zloop_t *loop, zsock_t *socket, void *arg);
static int on_monitor(zloop_t *loop, zsock_t *socket, void *arg);

static void disconnect(member_t *self)
{
    if (self->monitor) zloop_reader_end(self->loop, self->monitor);
    if (self->socket) zloop_reader_end(self->loop, self->socket);
    if (self->socket) endpoint_unwatch(self->socket);
    zsock_destroy(&self->monitor);
    zsock_destroy(&self->socket);
}

/* Without a monitor it takes longer to notice a lost shepherd, no more. Before the connection, so
 * that none of its news is missed. */
static void watch_connection(member_t *self)
{
    self->monitor = endpoint_watch(
        self->socket, ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_CONNECTED);
    if (!self->monitor) return;
    zloop_reader(self->loop, self->monitor, on_monitor, self);
    zloop_reader_set_tolerant(self->loop, self->monitor);
}

/* A fresh connection, so that nothing said before is sent after. */
static int reconnect(member_t *self, err_t *err)
{
    disconnect(self);
    self->asked = false;
    self->answered = 0;
    self->key_since = keyring_own_since();
    free(self->data);
    self->data = NULL;
    self->endpoint = self->endpoints;
    for (size_t i = 0; i < self->at; i++) self->endpoint += strlen(self->endpoint) + 1;
    self->socket = endpoint_open(endpoint_connect(ZMQ_DEALER, NULL), err);
    if (!self->socket) return -1;
    watch_connection(self);
    if (endpoint_add(self->socket, self->endpoint, false, err) < 0) {
        disconnect(self);
        return -1;
    }
    zloop_reader(self->loop, self->socket, on_readable, self);
    zloop_reader_set_tolerant(self->loop, self->socket);
    return 0;
}

static void next_endpoint(member_t *self)
{
    err_t err = {0};
    self->at = (self->at + 1) % self->n_endpoint;
    if (reconnect(self, &err) < 0) log_event(LOG_ERROR, "reconnect", "error=\"%s\"", err.text);
}

/* A time plus up to a quarter at random, so that many members do not come at once. */
static int64_t jittered(int64_t now, int64_t wait_ms)
{
    return now + wait_ms + (int64_t)(random_uniform() * (double)wait_ms / 4);
}

/* Nobody to be asked here: go on to the next endpoint, with a pause after the last. */
static void refuse(member_t *self, int64_t now)
{
    if (self->n_endpoint > 1) next_endpoint(self);
    self->hello_ms = now;
    if (++self->refusals < self->n_endpoint) return;
    self->refusals = 0;
    int64_t pause = (now - self->lost_ms) / 10;
    if (pause < PAUSE_MIN_MS) pause = PAUSE_MIN_MS;
    if (pause > MSG_HELLO_MAX_MS) pause = MSG_HELLO_MAX_MS;
    self->hello_ms = jittered(now, pause);
}

/* What is bound to every interface is announced by the address that leads to the shepherd. */
static void announce_as(member_t *self, int fd)
{
    char *data = announce_endpoint(self->options.data, fd);
    if (!self->announced || strcmp(self->announced, data) != 0) {
        log_event(LOG_WARN, "announced",
                  "data=%s bound=%s why=\"it is our address on the way to %s\" fix=\"--advertise, "
                  "where others reach us by another one\"",
                  data, self->options.data, self->endpoint);
        free(self->announced);
        self->announced = mem_strdup(data);
    }
    free(self->data);
    self->data = data;
}

/* Is there nothing yet that could be announced? */
static bool lacks_address(const member_t *self)
{
    const char *data = self->options.data;
    return data && !self->data && control_is_wild(data) && str_starts(self->endpoint, "tcp://");
}

static void send_hello(member_t *self)
{
    const member_options_t *o = &self->options;
    if (lacks_address(self)) return; /* said when there is a connection */
    Msg__Hello hello = MSG__HELLO__INIT;
    hello.kind = o->kind;
    hello.id = (char *)o->id;
    hello.software = (char *)pcp_version;
    hello.target = (char *)(o->target ? o->target : "");
    hello.threads = o->threads;
    char *data = keyring_endpoint(self->data ? self->data : o->data ? o->data : "");
    hello.endpoint = data;
    hello.pid = (uint32_t)getpid();
    hello.supervisor = (char *)(o->supervisor ? o->supervisor : "");
    hello.host = self->host;
    hello.incarnation = self->incarnation;
    hello.protocol = MSG_PROTOCOL;
    hello.protocol_oldest = MSG_PROTOCOL_OLDEST;
    if (o->hello) o->hello(o->state, &hello);
    msg_envelope_t envelope = MSG__ENVELOPE__INIT;
    envelope.body_case = MSG__ENVELOPE__BODY_HELLO;
    envelope.hello = &hello;
    if (self->socket) control_send(self->socket, NULL, &envelope, NULL);
    free(data);
}

static void say_hello(member_t *self)
{
    int64_t now = clock_mono_ms();
    send_hello(self);
    self->asked = true;
    self->sent_ms = now;
    self->hello_ms = jittered(now, self->hello_wait_ms);
    self->hello_wait_ms *= 2;
    if (self->hello_wait_ms > MSG_HELLO_MAX_MS) self->hello_wait_ms = MSG_HELLO_MAX_MS;
}

static void on_unanswered(void *user, const char *text, int again_s)
{
    member_t *self = user;
    snprintf(self->why, sizeof self->why, "%s", text);
    if (self->options.on_unreachable)
        self->options.on_unreachable(self->options.state, text);
    else
        log_event(LOG_WARN, "unreachable", "member=%s text=\"%s\" again_s=%d", self->options.id,
                  text, again_s);
}

/* Nobody has welcomed us on the connection that comes. */
static void forget(member_t *self, const char *reason)
{
    self->joined = false;
    self->refusals = 0;
    self->lost_ms = self->hello_ms = clock_mono_ms();
    unanswered_begin(self->unanswered);
    self->hello_wait_ms = MSG_HELLO_MS;
    self->options.on_lost(self->options.state, reason);
}

/* Forget the shepherd and start over, at the next endpoint. */
static void lose(member_t *self, const char *reason)
{
    log_event(LOG_WARN, "shepherd_lost", "reason=\"%s\"", reason);
    forget(self, reason);
    next_endpoint(self);
}

/* The card is shown when a connection is made: so, with another one, it is made anew. */
static void show_key(member_t *self)
{
    err_t err = {0};
    log_event(LOG_INFO, "key_shown", "shepherd=%s", self->endpoint);
    if (self->joined) forget(self, "our key was renewed");
    if (reconnect(self, &err) < 0) log_event(LOG_ERROR, "reconnect", "error=\"%s\"", err.text);
}

static void refused(member_t *self, const char *text)
{
    snprintf(self->why, sizeof self->why, "%s", text);
    log_event(LOG_ERROR, "refused", "id=%s shepherd=%s text=\"%.300s\"", self->options.id,
              self->endpoint, text);
}

static void on_welcome(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    member_t *self = state;
    const Msg__Welcome *welcome = message->welcome;
    char wrong[PROTOCOL_TEXT];
    if (self->joined) return;
    uint32_t protocol = protocol_of_welcome(welcome, wrong);
    const char *not_it = server_card_wrong(self->endpoint, welcome->card, self->options.server,
                                           clock_wall_ms() / 1000);
    if (!protocol || not_it) {
        unanswered_heard(self->unanswered, false);
        refused(self, not_it ? not_it : wrong);
        return;
    }
    self->joined = true;
    unanswered_end(self->unanswered);
    *self->why = '\0';
    self->hello_wait_ms = MSG_HELLO_MS;
    self->taken_ms = TAKEN_MIN_MS;
    if (welcome->heartbeat_ms >= 10 && welcome->heartbeat_ms < welcome->timeout_ms) {
        self->heartbeat_ms = welcome->heartbeat_ms;
        self->timeout_ms = welcome->timeout_ms;
    }
    self->pace_ms = self->heartbeat_ms;
    log_event(LOG_INFO, "joined", "member=%s run=%s shepherd=%s protocol=%u", self->options.id,
              welcome->run, self->endpoint, protocol);
    self->options.on_welcome(self->options.state, welcome);
}

static void on_heartbeat(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from; /* any message counts as a sign of life */
    member_t *self = state;
    int64_t pace_ms = message->heartbeat->pace_ms;
    if (message->in_reply_to) self->answered = message->in_reply_to;
    if (pace_ms > self->timeout_ms / 2) pace_ms = self->timeout_ms / 2;
    self->pace_ms = pace_ms > self->heartbeat_ms ? pace_ms : self->heartbeat_ms;
}

/* Another process of our id is alive there. It may be the one that we replace, not yet given up. */
static void id_in_use(member_t *self, const char *text)
{
    int64_t now = clock_mono_ms();
    if (self->joined) return; /* an answer to a HELLO that was repeated */
    self->hello_ms = jittered(now, self->taken_ms);
    snprintf(self->why, sizeof self->why, "%s", text);
    log_event(
        LOG_ERROR, "id_in_use",
        "id=%s shepherd=%s text=\"%.300s\" again_ms=%lld fix=\"give each process its own --id, "
        "or none\"",
        self->options.id, self->endpoint, text, (long long)(self->hello_ms - now));
    self->asked = false; /* here, not at the next endpoint */
    self->taken_ms *= 2;
    if (self->taken_ms > MSG_HELLO_MAX_MS) self->taken_ms = MSG_HELLO_MAX_MS;
}

static void on_fault(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    member_t *self = state;
    const Msg__Fault *fault = message->fault;
    unanswered_heard(self->unanswered, fault->code == MSG__FAULT__CODE__NOT_LEADER);
    switch (fault->code) {
    case MSG__FAULT__CODE__UNKNOWN_PEER:
        if (self->joined && fault->hand_over && self->options.on_moved)
            self->options.on_moved(self->options.state);
        if (self->joined) self->lost = "the shepherd does not know us";
        break;
    case MSG__FAULT__CODE__NOT_LEADER:
        if (self->joined) self->lost = "it is not the leader any more";
        self->refused = !self->joined;
        break;
    case MSG__FAULT__CODE__ID_IN_USE: id_in_use(self, fault->text); break;
    case MSG__FAULT__CODE__REFUSED: refused(self, fault->text); break;
    case MSG__FAULT__CODE__NOT_ALLOWED:
        log_event(LOG_ERROR, "not_allowed", "id=%s shepherd=%s text=\"%.300s\"", self->options.id,
                  self->endpoint, fault->text);
        if (self->options.on_not_allowed)
            self->options.on_not_allowed(self->options.state, fault->text);
        break;
    default: log_event(LOG_WARN, "fault", "code=%d text=\"%s\"", (int)fault->code, fault->text);
    }
}

static void on_revoked(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)state, (void)from;
    err_t err = {0};
    const char *list = message->revoked->list;
    if (keyring_take_revoked(list, strlen(list), &err) < 0)
        log_event(LOG_WARN, "revoked_unread", "error=\"%s\"", err.text);
}

static void on_bye(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    member_t *self = state;
    log_event(LOG_INFO, "dismissed", "reason=\"%s\"", message->bye->reason);
    self->joined = false;
    self->hello_wait_ms = MSG_HELLO_MAX_MS;
    self->lost_ms = clock_mono_ms();
    unanswered_begin(self->unanswered);
    self->hello_ms = self->lost_ms + MSG_HELLO_MS;
    if (self->options.on_bye) self->options.on_bye(self->options.state, message->bye->reason);
}

/* The member's own kinds get the member, all others the service's state. */
static void hand_on(void *arg, const msg_peer_t *from, const msg_envelope_t *message)
{
    member_t *self = arg;
    announce_resolve(message, self->endpoint);
    self->theirs[message->body_case].handle(self->options.state, from, message);
}

/* Whoever has not welcomed us is nobody: what it says may be of a life before the last HELLO. */
static msg_who_t who(void *state, const msg_peer_t *from)
{
    (void)from;
    return ((const member_t *)state)->joined ? MSG_WHO_SHEPHERD : MSG__KIND__KIND_NONE;
}

static int on_readable(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    member_t *self = arg;
    const msg_table_t table = {.routes = self->routes, .who = who};
    while (control_receive(socket, false, &table, self, &self->count))
        self->heard_ms = clock_mono_ms();
    return 0;
}

/* The connection was made, or refused, or has ended. What the shepherd said before its end is read
 * first: it may be BYE. */
static int on_monitor(zloop_t *loop, zsock_t *socket, void *arg)
{
    member_t *self = arg;
    uint16_t event = 0;
    int32_t value = 0;
    for (uint16_t next; (next = control_news(socket, &value));) {
        if (next != ZMQ_EVENT_CONNECTED) event = next;
        if (next != ZMQ_EVENT_CONNECTED || !self->options.data) continue;
        if (!control_is_wild(self->options.data)) continue;
        bool waited = self->asked && lacks_address(self);
        announce_as(self, value);
        if (waited) send_hello(self);
    }
    if (!event) return 0;
    on_readable(loop, self->socket, self);
    if (self->joined)
        self->lost = "the connection has ended";
    else if (event == ZMQ_EVENT_DISCONNECTED || self->n_endpoint > 1)
        self->refused = self->asked; /* a single endpoint gets the HELLO once it is there */
    return 0;
}

static int on_tick(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop;
    member_t *self = arg;
    uint64_t n;
    if (read(item->fd, &n, sizeof n) < 0) return 0; /* none is due: EAGAIN */
    int64_t now = clock_mono_ms();
    /* Who was held up or suspended itself cannot tell how long the other was silent. */
    if (self->tick_ms && now - self->tick_ms > self->timeout_ms / 2)
        self->heard_ms += now - self->tick_ms;
    self->tick_ms = now;
    if (self->left) return 0;
    if (self->joined && now - self->heard_ms > self->timeout_ms) self->lost = "silent for too long";
    if (self->joined && self->lost)
        lose(self, self->lost);
    else if (!self->joined && self->refused)
        refuse(self, now);
    self->lost = NULL;
    self->refused = false;
    if (self->key_since != keyring_own_since()) show_key(self);
    unanswered_tick(self->unanswered);
    if (!self->joined && now >= self->hello_ms) {
        if (self->asked && self->n_endpoint > 1) next_endpoint(self); /* it kept silent */
        say_hello(self);
    }
    if (self->joined && now - self->sent_ms >= self->pace_ms) {
        Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
        beat.answered = self->answered;
        if (self->options.credit) beat.credit = self->options.credit(self->options.state);
        MSG_SEND(member_out(self), NULL, 0, HEARTBEAT, heartbeat, &beat);
    }
    return 0;
}

static void build_routes(member_t *self)
{
    if (self->options.routes) memcpy(self->theirs, self->options.routes, sizeof self->theirs);
    static const msg_route_t own[MSG_KIND_COUNT] = {
        MSG_ROUTE(WELCOME, 4096, on_welcome, MSG_FROM_STRANGER | MSG_FROM_SHEPHERD),
        MSG_ROUTE(HEARTBEAT, 64, on_heartbeat, MSG_FROM_STRANGER | MSG_FROM_SHEPHERD),
        MSG_ROUTE(FAULT, 4096, on_fault, MSG_FROM_STRANGER | MSG_FROM_SHEPHERD),
        MSG_ROUTE(BYE, 4096, on_bye, MSG_FROM_STRANGER | MSG_FROM_SHEPHERD),
        MSG_ROUTE(REVOKED, KEYS_REVOKED_BYTES + 64, on_revoked, MSG_FROM_SHEPHERD),
    };
    for (int i = 0; i < MSG_KIND_COUNT; i++) {
        const msg_route_t *row = &self->theirs[i];
        if (row->handle)
            self->routes[i] = (msg_route_t){row->max_bytes, hand_on, row->from, row->asks};
        if (own[i].handle) self->routes[i] = own[i];
    }
}

static int split_endpoints(member_t *self, err_t *err)
{
    self->endpoints = mem_strdup(self->options.endpoint);
    self->n_endpoint = 1;
    for (char *at = self->endpoints; *at; at++) {
        if (*at != ',') continue;
        *at = '\0';
        self->n_endpoint++;
    }
    const char *at = self->endpoints;
    for (size_t i = 0; i < self->n_endpoint; i++, at += strlen(at) + 1)
        if (!*at) return err_set(err, ERR_ARG, "\"%s\": an empty endpoint", self->options.endpoint);
    return 0;
}

/* A zloop timer may fire once more after it was ended from another timer's handler, on what is
 * freed then; a descriptor that was ended does not. */
static int start_ticks(member_t *self, err_t *err)
{
    self->tick.events = ZMQ_POLLIN;
    self->tick.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct timespec every = {.tv_nsec = TICK_MS * 1000000L};
    struct itimerspec times = {every, every};
    if (self->tick.fd < 0 || timerfd_settime(self->tick.fd, 0, &times, NULL) < 0)
        return err_set_errno(err, "a timer");
    zloop_poller(self->loop, &self->tick, on_tick, self);
    zloop_poller_set_tolerant(self->loop, &self->tick);
    return 0;
}

member_t *member_new(zloop_t *loop, const member_options_t *options, err_t *err)
{
    if (!*options->id || strlen(options->id) >= MSG_ID_BYTES) { /* nobody would take it */
        err_set(err, ERR_ARG, "id \"%s\": 1 to %d bytes", options->id, MSG_ID_BYTES - 1);
        return NULL;
    }
    member_t *self = mem_calloc(1, sizeof *self);
    self->options = *options;
    self->loop = loop;
    self->heartbeat_ms = self->pace_ms = MSG_HEARTBEAT_MS;
    self->timeout_ms = MSG_TIMEOUT_MS;
    self->hello_wait_ms = MSG_HELLO_MS;
    self->lost_ms = clock_mono_ms();
    self->taken_ms = TAKEN_MIN_MS;
    self->incarnation = random_u64();
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    service_host(name, self->host);
    build_routes(self);
    self->tick.fd = -1;
    self->unanswered = unanswered_new(options->endpoint, on_unanswered, self, err);
    if (self->unanswered && split_endpoints(self, err) == 0 && reconnect(self, err) == 0) {
        say_hello(self);
        if (start_ticks(self, err) == 0) return self;
    }
    member_destroy(&self);
    return NULL;
}

void member_destroy(member_t **self_p)
{
    member_t *self = *self_p;
    if (!self) return;
    if (self->tick.fd >= 0) {
        zloop_poller_end(self->loop, &self->tick);
        close(self->tick.fd);
    }
    disconnect(self);
    unanswered_destroy(&self->unanswered);
    free(self->data);
    free(self->announced);
    free(self->endpoints);
    free(self);
    *self_p = NULL;
}

static void send_out(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    (void)to;
    member_t *self = user;
    if (!self->joined || !self->socket) return;
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

bool member_health(const member_t *self, char *text, size_t n)
{
    int64_t lost_ms = clock_mono_ms() - self->lost_ms;
    if (self->joined)
        snprintf(text, n, "%s, member at %s", self->options.id, self->endpoint);
    else
        snprintf(text, n, "%s, no shepherd for %lld s%s%s", self->options.id,
                 (long long)lost_ms / 1000, *self->why ? ": " : "", self->why);
    return self->joined || lost_ms < MEMBER_LOST_MS;
}

const char *member_endpoint(const member_t *self)
{
    return self->endpoint;
}

void member_ask(member_t *self)
{
    Msg__WorkRequest request = MSG__WORK_REQUEST__INIT;
    request.credit = self->options.credit(self->options.state);
    if (request.credit) MSG_SEND(member_out(self), NULL, 0, WORK_REQUEST, work_request, &request);
}

void member_leave(member_t *self, const char *reason)
{
    Msg__Bye bye = MSG__BYE__INIT;
    bye.reason = (char *)reason;
    MSG_SEND(member_out(self), NULL, 0, BYE, bye, &bye);
    self->joined = false;
    self->left = true;
}
