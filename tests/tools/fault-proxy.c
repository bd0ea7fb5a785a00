/* fault-proxy: stands between members and one service, and does to their messages what bad networks
 * do: some are lost, some come twice, some late and hence in another order, some with their whole
 * connection. Which ones is decided by a seed and the number of the message.
 *
 * Members connect to --listen (ROUTER), each gets a DEALER of its own to --target. One thread. */
#include <czmq.h>
#include <math.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "msg/control.h"
#include "msg/service.h"

typedef struct {
    char *listen, *target;
    int64_t seed, delay_ms, cut_ms;
    double drop, duplicate, delay;
    service_options_t common;
} options_t;

#define ROW(key, what, text, high, words)                                                          \
    {                                                                                              \
        .name = #key, .kind = CONFIG_##what, .offset = offsetof(options_t, key), .fallback = text, \
        .help = words, .min = 0, .max = high                                                       \
    }
static const config_field_t fields[] = {
    ROW(listen, STRING, NULL, 0, "where members connect"),
    ROW(target, STRING, NULL, 0, "the service behind"),
    ROW(seed, INT, "1", 1e15, "of all decisions"),
    ROW(drop, FLOAT, "0", 1, "share of messages that are lost"),
    ROW(duplicate, FLOAT, "0", 1, "share that arrives twice"),
    ROW(delay, FLOAT, "0", 1, "share that arrives late, after others"),
    ROW(delay_ms, INT, "200", 60000, "the longest delay"),
    ROW(cut_ms, INT, "0", 3.6e6, "mean time between two cut connections; 0: none"),
    SERVICE_FIELDS(options_t),
};
static const config_table_t table = {
    .usage = "fault-proxy --listen ENDPOINT --target ENDPOINT [FLAGS]\n"
             "Passes ZeroMQ messages on, with faults. Prints what it did when it is asked to end.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

typedef struct {
    zframe_t *id;  /* the member's routing id at our ROUTER */
    zsock_t *back; /* its DEALER to the service; NULL: cut, made again by the next message */
    int64_t heard_ms;
} client_t;

typedef struct {
    int64_t due_ms;
    client_t *client;
    bool to_service;
    zmsg_t *message;
} late_t;

typedef struct {
    options_t options;
    zloop_t *loop;
    zsock_t *front;
    VEC(client_t *) clients;
    VEC(late_t) late;
    uint64_t n, n_dropped, n_doubled, n_late, n_cut;
    int64_t next_cut_ms;
    bool stopping;
} proxy_t;

static int on_back(zloop_t *loop, zsock_t *socket, void *arg);

static double chance(const proxy_t *self, const char *purpose)
{
    return rng_uniform(rng_derive((uint64_t)self->options.seed, purpose), self->n);
}

static zsock_t *connect_back(proxy_t *self)
{
    err_t err = {0};
    zsock_t *back = endpoint_open(endpoint_connect(ZMQ_DEALER, self->options.target), &err);
    if (back)
        zloop_reader(self->loop, back, on_back, self);
    else
        log_event(LOG_ERROR, "connect", "error=\"%s\"", err.text);
    return back;
}

static void send_on(proxy_t *self, client_t *client, bool to_service, zmsg_t *message)
{
    if (to_service && !client->back) client->back = connect_back(self);
    if (!to_service) {
        zframe_t *id = zframe_dup(client->id);
        zmsg_prepend(message, &id);
    }
    zsock_t *socket = to_service ? client->back : self->front;
    if (!socket || zmsg_send(&message, socket) < 0) zmsg_destroy(&message); /* it has gone */
}

static void keep_late(proxy_t *self, client_t *client, bool to_service, zmsg_t *message)
{
    double wait = chance(self, "how late") * (double)self->options.delay_ms;
    late_t late = {clock_mono_ms() + (int64_t)wait, client, to_service, message};
    VEC_PUSH(&self->late, late);
}

static void pass(proxy_t *self, client_t *client, bool to_service, zmsg_t *message)
{
    self->n++;
    if (chance(self, "drop") < self->options.drop) {
        self->n_dropped++;
        zmsg_destroy(&message);
        return;
    }
    if (chance(self, "duplicate") < self->options.duplicate) {
        self->n_doubled++;
        keep_late(self, client, to_service, zmsg_dup(message));
    }
    if (chance(self, "delay") < self->options.delay) {
        self->n_late++;
        keep_late(self, client, to_service, message);
    } else {
        send_on(self, client, to_service, message);
    }
}

static client_t *find(proxy_t *self, zframe_t *id)
{
    for (size_t i = 0; i < self->clients.n; i++)
        if (zframe_eq(self->clients.at[i]->id, id)) return self->clients.at[i];
    client_t *client = mem_calloc(1, sizeof *client);
    client->id = zframe_dup(id);
    VEC_PUSH(&self->clients, client);
    return client;
}

/* Messages that wait; dropped when their client is cut. */
static void forget_late(proxy_t *self, const client_t *client)
{
    size_t n = 0;
    for (size_t i = 0; i < self->late.n; i++) {
        if (self->late.at[i].client == client)
            zmsg_destroy(&self->late.at[i].message);
        else
            self->late.at[n++] = self->late.at[i];
    }
    self->late.n = n;
}

static void cut(proxy_t *self, client_t *client)
{
    forget_late(self, client);
    if (!client->back) return;
    zloop_reader_end(self->loop, client->back);
    zsock_set_linger(client->back, 0);
    zsock_destroy(&client->back);
}

static int on_front(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    proxy_t *self = arg;
    zmsg_t *message = zmsg_recv(socket);
    if (!message) return 0;
    zframe_t *id = zmsg_pop(message);
    client_t *client = find(self, id);
    client->heard_ms = clock_mono_ms();
    pass(self, client, true, message);
    zframe_destroy(&id);
    return 0;
}

static int on_back(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    proxy_t *self = arg;
    for (size_t i = 0; i < self->clients.n; i++) {
        if (self->clients.at[i]->back != socket) continue;
        zmsg_t *message = zmsg_recv(socket);
        if (message) pass(self, self->clients.at[i], false, message);
        break;
    }
    return 0;
}

static void release_due(proxy_t *self, int64_t now)
{
    for (size_t i = 0; i < self->late.n;) {
        late_t late = self->late.at[i];
        if (late.due_ms > now) {
            i++;
            continue;
        }
        self->late.at[i] = self->late.at[--self->late.n];
        send_on(self, late.client, late.to_service, late.message);
    }
}

static void destroy_client(proxy_t *self, client_t *client)
{
    cut(self, client);
    zframe_destroy(&client->id);
    free(client);
}

static void cut_one(proxy_t *self, int64_t now)
{
    if (!self->options.cut_ms || now < self->next_cut_ms) return;
    bool first = self->next_cut_ms == 0;
    self->n++;
    double wait = -log(1 - chance(self, "next cut")) * (double)self->options.cut_ms;
    self->next_cut_ms = now + 1 + (int64_t)wait;
    if (first || self->clients.n == 0) return;
    self->n_cut++;
    cut(self, self->clients.at[(size_t)(chance(self, "whom") * (double)self->clients.n)]);
}

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    enum { IDLE_MS = 60000 }; /* a member that came back has another id */
    (void)loop, (void)timer;
    proxy_t *self = arg;
    int64_t now = clock_mono_ms();
    release_due(self, now);
    cut_one(self, now);
    for (size_t i = 0; i < self->clients.n;) {
        if (now - self->clients.at[i]->heard_ms <= IDLE_MS) {
            i++;
            continue;
        }
        destroy_client(self, self->clients.at[i]);
        self->clients.at[i] = self->clients.at[--self->clients.n];
    }
    return self->stopping ? -1 : 0;
}

static void on_signal(void *user)
{
    ((proxy_t *)user)->stopping = true;
}

static void report(const proxy_t *self)
{
    log_event(LOG_INFO, "proxy_done", "messages=%llu dropped=%llu doubled=%llu late=%llu cut=%llu",
              (unsigned long long)self->n, (unsigned long long)self->n_dropped,
              (unsigned long long)self->n_doubled, (unsigned long long)self->n_late,
              (unsigned long long)self->n_cut);
}

static void proxy_fini(proxy_t *self)
{
    for (size_t i = 0; i < self->clients.n; i++) destroy_client(self, self->clients.at[i]);
    VEC_FREE(&self->clients);
    VEC_FREE(&self->late);
    zloop_destroy(&self->loop);
    zsock_destroy(&self->front);
}

static int run(proxy_t *self, err_t *err)
{
    enum { TICK_MS = 2 };
    const options_t *o = &self->options;
    if (!o->listen || !o->target) return err_set(err, ERR_ARG, "--listen and --target are needed");
    int signal_fd = service_start("fault-proxy", &o->common, &table, o, err);
    if (signal_fd < 0) return -1;
    self->front = endpoint_open(endpoint_bind(ZMQ_ROUTER, o->listen), err);
    if (!self->front) return -1;
    service_signals_t signals = {.on_signal = on_signal, .user = self};
    self->loop = zloop_new();
    int rc = service_on_signal(self->loop, signal_fd, &signals, err);
    if (rc == 0) {
        zloop_reader(self->loop, self->front, on_front, self);
        zloop_timer(self->loop, TICK_MS, 0, on_tick, self);
        service_loop(self->loop);
        report(self);
    }
    return rc;
}

int main(int argc, char **argv)
{
    proxy_t self = {0};
    err_t err = {0};
    int go = service_configure(&table, &self.options, argc, argv),
        status = go == SERVICE_BAD ? 2 : 0;
    if (go == SERVICE_GO && run(&self, &err) < 0) {
        fprintf(stderr, "fault-proxy: %s\n", err.text);
        status = 1;
    }
    proxy_fini(&self);
    config_fini(&table, &self.options);
    service_end();
    return status;
}
