/* What each socket, timer and signal does to the state. */
#include "gateway/loop.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gateway/gateway.h"
#include "msg/control.h"
#include "msg/door.h"
#include "msg/keyring.h"

enum {
    TICK_MS = 100,
    FOLLOW_MS = 1000,
    MESSAGES_AT_ONCE = 256,
    AT_ONCE = 16,           /* steps' news before others have their turn */
    STREAM_BYTES = 4 << 20, /* that wait for a slow client */
    HEAD_BYTES = 16 << 10,  /* twice as many take four times as long to be found too many */
    REQUEST_MS = 30000,     /* for a client to say what it wants */
    ANSWER_MS = 60000,      /* to take what waits for it */
};

/* What the page may do: its own files and this service, nothing else, in no frame. */
static const char *const headers[] = {
    "Content-Security-Policy",
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options",
    "nosniff",
    "Referrer-Policy",
    "no-referrer",
    "Cross-Origin-Resource-Policy",
    "same-origin",
    "Cache-Control",
    "no-store",
    NULL,
};

typedef struct loop loop_t;

/* A model's sockets: zloop hands one pointer on. */
typedef struct {
    loop_t *loop;
    served_t *served;
    bool listens; /* to the engine */
} ear_t;

struct loop {
    gateway_t state;
    zloop_t *zloop;
    ear_t *ear;      /* [n_own] */
    zsock_t *router; /* of members; NULL: there are none */
    door_t *door;
    msg_count_t count;
    bool told_ready;
    int64_t leave_ms; /* not 0: leaving, at the latest then */
    bool failed;
    err_t err;
};

static int on_news(zloop_t *zloop, zsock_t *socket, void *user)
{
    (void)zloop, (void)socket;
    ear_t *ear = user;
    for (int i = 0; i < AT_ONCE; i++) {
        engine_news_t *news = engine_receive(ear->served->engine);
        if (!news) break;
        gateway_on_news(&ear->loop->state, ear->served, news, clock_mono_ms());
        http_turn(ear->loop->state.http);
    }
    return 0;
}

static void tell_ready(loop_t *self)
{
    bool ready = gateway_ready(&self->state);
    if (ready && !self->told_ready)
        log_event(LOG_INFO, "ready", "models=%zu port=%u", self->state.n_served,
                  http_port(self->state.http));
    self->told_ready = ready;
}

static int on_loaded(zloop_t *zloop, zsock_t *socket, void *user)
{
    (void)zloop, (void)socket;
    ear_t *ear = user;
    loop_t *self = ear->loop;
    for (loaded_t *loaded; (loaded = loader_receive(ear->served->loader));) {
        if (gateway_on_loaded(&self->state, ear->served, loaded, &self->err) < 0) {
            self->failed = true;
            return -1;
        }
        if (ear->listens || !ear->served->engine) continue;
        ear->listens = true;
        zloop_reader(self->zloop, engine_socket(ear->served->engine), on_news, ear);
        tell_ready(self);
    }
    return 0;
}

/* --- members --- */

static int on_member(zloop_t *zloop, zsock_t *socket, void *user)
{
    (void)zloop;
    loop_t *self = user;
    const msg_table_t table = members_table();
    for (int i = 0; i < MESSAGES_AT_ONCE; i++)
        if (!control_receive(socket, true, &table, self->state.members, &self->count)) break;
    http_turn(self->state.http);
    return 0;
}

static int on_read(zloop_t *zloop, zsock_t *socket, void *user)
{
    (void)zloop, (void)socket;
    members_read(((loop_t *)user)->state.members);
    return 0;
}

static void send_member(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    err_t err = {0};
    if (control_send(((loop_t *)user)->router, to, message, &err) < 0)
        log_event(LOG_DEBUG, "send_failed", "error=\"%s\"", err.text);
}

static bool reaches(void *user, const msg_peer_t *peer)
{
    return control_reaches(((loop_t *)user)->router, peer);
}

static served_t *find(void *user, const char *name)
{
    return gateway_find(&((loop_t *)user)->state, name, true);
}

static void hear(void *user, host_t *host, text_t *text, const engine_item_t *item,
                 const char *weights)
{
    gateway_hear(&((loop_t *)user)->state, host, text, item, weights, clock_mono_ms());
}

static void changed(void *user)
{
    tell_ready(user);
}

static int open_members(loop_t *self, err_t *err)
{
    const char *address = self->state.config->members;
    const members_options_t options = {.out = {send_member, self},
                                       .reaches = reaches,
                                       .find = find,
                                       .hear = hear,
                                       .changed = changed,
                                       .user = self};
    const keys_t *key = keyring_own();
    if (key && key->card.role != KEYS_GATEWAY)
        return err_set(err, ERR_ARG,
                       "--key: members join where a key of role gateway is (pcp keys issue --role "
                       "gateway), this one has the role %s",
                       keys_role_name(key->card.role));
    self->router = endpoint_open(endpoint_bind(ZMQ_ROUTER, address), err);
    if (!self->router) return err_prefix(err, "--members: ");
    char *bound = zsock_last_endpoint(self->router);
    char *endpoint = keyring_endpoint(bound ? bound : address);
    log_event(LOG_INFO, "members", "endpoint=%s", endpoint);
    free(endpoint);
    free(bound);
    self->door = door_new(self->zloop, &self->router, 1, err);
    if (!self->door) return -1;
    self->state.members = members_new(&options);
    zloop_reader(self->zloop, self->router, on_member, self);
    zloop_reader(self->zloop, members_socket(self->state.members), on_read, self);
    return 0;
}

static int on_tick(zloop_t *zloop, int timer, void *user)
{
    (void)zloop, (void)timer;
    loop_t *self = user;
    int64_t now_ms = clock_mono_ms();
    if (self->state.members) {
        on_member(zloop, self->router, self); /* who has spoken is not silent */
        members_tick(self->state.members, now_ms);
    }
    gateway_tick(&self->state, now_ms);
    if (self->leave_ms && now_ms >= self->leave_ms) {
        gateway_end_all(&self->state);
        return -1;
    }
    return self->leave_ms && gateway_idle(&self->state) ? -1 : 0;
}

static void on_signal(void *user)
{
    loop_t *self = user;
    self->leave_ms = clock_mono_ms() + self->state.config->drain_s * 1000;
    gateway_drain(&self->state);
}

/* --- start and end --- */

static int listen_at(loop_t *self, err_t *err)
{
    const gateway_config_t *c = self->state.config;
    const http_options_t options = {.address = c->http,
                                    .headers = headers,
                                    .tls_cert = c->tls_cert,
                                    .tls_key = c->tls_key,
                                    .access = self->state.access,
                                    .insecure = c->common.insecure,
                                    .connections = (int)c->connections,
                                    .request_ms = REQUEST_MS,
                                    .answer_ms = ANSWER_MS,
                                    .head_bytes = HEAD_BYTES,
                                    .body_bytes = (size_t)c->body_bytes,
                                    .stream_bytes = STREAM_BYTES,
                                    .local_names = !c->tokens,
                                    .head = gateway_on_head,
                                    .handler = gateway_on_request,
                                    .gone = gateway_on_gone,
                                    .user = &self->state};
    self->state.http = http_new(self->zloop, &options, err);
    if (!self->state.http) return err_prefix(err, "--http: ");
    log_event(LOG_INFO, "listening", "port=%u", http_port(self->state.http));
    return 0;
}

loader_options_t loop_loader_options(const gateway_config_t *c, const char *path)
{
    return (loader_options_t){
        .path = path,
        .infer = {.threads = (int)c->threads,
                  .slots = (int)c->batch,
                  .length = c->context,
                  .weights = infer_weights(c->weights),
                  .keep = infer_keep(c->keep),
                  .activations = infer_activations(c->activations),
                  .cache_limit = c->plans_limit > 0 ? (uint64_t)c->plans_limit : UINT64_MAX},
        .follow_ms = c->follow ? FOLLOW_MS : 0};
}

static int start(loop_t *self, int signal_fd, service_signals_t *signals, err_t *err)
{
    const gateway_config_t *c = self->state.config;
    if (service_on_signal(self->zloop, signal_fd, signals, err) < 0) return -1;
    if (listen_at(self, err) < 0) return -1;
    if (c->members && open_members(self, err) < 0) return -1;
    self->ear = mem_calloc(self->state.n_own + 1, sizeof *self->ear);
    for (size_t i = 0; i < self->state.n_own; i++) {
        served_t *served = self->state.served[i];
        const loader_options_t options = loop_loader_options(c, served->path);
        self->ear[i] = (ear_t){.loop = self, .served = served};
        served->loader = loader_new(&options);
        zloop_reader(self->zloop, loader_socket(served->loader), on_loaded, &self->ear[i]);
    }
    zloop_timer(self->zloop, TICK_MS, 0, on_tick, self);
    return 0;
}

int loop_run(const gateway_config_t *config, int signal_fd, err_t *err)
{
    loop_t self = {0};
    service_signals_t signals = {.on_signal = on_signal, .user = &self};
    health_t *health = NULL;
    self.zloop = zloop_new();
    int rc = gateway_init(&self.state, config, err);
    if (rc == 0) rc = start(&self, signal_fd, &signals, err);
    if (rc == 0) rc = service_health(self.zloop, &config->common, NULL, NULL, &health, err);
    if (rc == 0) service_loop(self.zloop);
    if (self.failed) {
        *err = self.err;
        rc = -1;
    }
    health_destroy(&health);
    if (self.state.http) gateway_end_all(&self.state);
    if (self.state.members) members_bye(self.state.members);
    members_destroy(&self.state.members);
    http_destroy(&self.state.http);
    zloop_destroy(&self.zloop);
    door_destroy(&self.door);
    zsock_destroy(&self.router);
    gateway_fini(&self.state);
    free(self.ear);
    return rc;
}
