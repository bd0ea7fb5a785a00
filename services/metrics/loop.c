/* What each socket, timer and signal does to the state. */
#include "metrics/loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/publish.h"
#include "store/store.h"

enum {
    TICK_MS = 100,
    AT_ONCE = 256,   /* events of one socket before others have their turn */
    LEAVE_MS = 5000, /* to write what waits */
};

/* What both listeners have in common. */
static http_options_t listener(const loop_t *self, const char *address)
{
    const metrics_config_t *c = self->config;
    http_options_t options = http_read_only(address);
    options.tls_cert = c->tls_cert;
    options.tls_key = c->tls_key;
    options.access = self->access;
    options.insecure = c->common.insecure;
    options.open = c->open;
    return options;
}

static int on_event(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    loop_t *self = arg;
    int64_t now_ms = clock_mono_ms();
    for (int i = 0; i < AT_ONCE; i++) {
        Msg__Event *event = NULL;
        err_t err = {0};
        int got = publish_receive(socket, &event, &err);
        if (got == 0) break;
        if (got < 0) {
            metrics_on_malformed(&self->state);
            log_event(LOG_WARN, "event_dropped", "error=\"%s\"", err.text);
            continue;
        }
        metrics_on_event(&self->state, event, now_ms);
        msg__event__free_unpacked(event, NULL);
    }
    return 0;
}

/* --- HTTP --- */

static unsigned ready(loop_t *self, int64_t now_ms, str_t *body)
{
    int64_t heard = self->state.heard_ms, silent = now_ms - heard;
    size_t n = sources_connected(&self->events);
    bool store = !self->writer || self->store_up, can = n > 0 && store;
    str_add(body, can ? "ready\n" : "not ready\n");
    str_addf(body, "events: connected to %zu of %zu\n", n, self->events.at.n);
    if (!heard)
        str_add(body, "shepherd: not heard yet\n");
    else if (silent <= self->config->stale_ms)
        str_addf(body, "shepherd: last heard %.1f s ago\n", (double)silent / 1000);
    else
        str_addf(body, "shepherd: silent for %.1f s: no run is active\n", (double)silent / 1000);
    str_addf(body, "store: %s\n", !self->writer ? "none" : store ? "reachable" : "not reachable");
    return can ? HTTP_OK : HTTP_UNAVAILABLE;
}

static void on_request(void *user, http_request_t *request)
{
    loop_t *self = user;
    int64_t now_ms = clock_mono_ms();
    const char *path = http_path(request);
    bool probe = strcmp(path, "/healthz") == 0 || strcmp(path, "/readyz") == 0;
    if (!probe && !http_admits(request)) return;
    http_answer_t answer = {.status = HTTP_OK, .type = "text/plain; version=0.0.4; charset=utf-8"};
    if (strcmp(path, "/metrics") == 0) {
        metrics_expose(&self->state, now_ms, &answer.body);
    } else if (strcmp(path, "/healthz") == 0) {
        str_add(&answer.body, "alive\n");
    } else if (strcmp(path, "/readyz") == 0) {
        answer.status = ready(self, now_ms, &answer.body);
    } else {
        answer.status = HTTP_NOT_FOUND;
        str_add(&answer.body, "try /metrics, /healthz, /readyz\n");
    }
    http_answer(request, &answer);
}

/* --- the store --- */

static void give(loop_t *self)
{
    if (!self->writer || !self->writer_idle || self->queue.n == 0) return;
    writer_batch_t *batch = mem_calloc(1, sizeof *batch);
    batch->n = queue_take(&self->queue, batch->at, WRITER_BATCH);
    self->writer_idle = false;
    writer_give(self->writer, batch);
}

static int on_news(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    loop_t *self = arg;
    writer_news_t news;
    while (writer_receive(self->writer, &news)) {
        series_t *own = series_self(self->state.series);
        self->writer_idle = news.idle;
        self->store_up = news.state == WRITER_UP;
        series_set(own, M_STORE_UP, self->store_up);
        series_add(own, M_STORE_WRITTEN, news.written);
        series_add(own, M_STORE_DROPPED, news.dropped);
        if (news.state == WRITER_SCHEMA) {
            self->exit_status = STORE_EXIT_SCHEMA;
            return -1;
        }
    }
    if (self->queue.n >= WRITER_BATCH || self->leave_ms) give(self);
    return 0;
}

static int on_totals(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    loop_t *self = arg;
    totals_t totals = {0};
    if (!totals_receive(self->totals, &totals)) return 0;
    totals_apply(&totals, &self->state, clock_mono_ms());
    totals_fini(&totals);
    return 0;
}

static int start_totals(loop_t *self, err_t *err)
{
    const metrics_config_t *c = self->config;
    const char *url = c->web_store ? c->web_store : c->store;
    if (!url || strcmp(c->http, "none") == 0) return 0;
    self->totals = totals_new(url, err);
    if (!self->totals) return -1;
    zloop_reader(self->zloop, totals_socket(self->totals), on_totals, self);
    return 0;
}

static void count_dropped(loop_t *self)
{
    if (!self->queue.dropped) return;
    series_add(series_self(self->state.series), M_STORE_DROPPED, (double)self->queue.dropped);
    self->queue.dropped = 0;
}

/* --- time and signals --- */

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    loop_t *self = arg;
    int64_t now_ms = clock_mono_ms();
    access_refresh(self->access);
    metrics_tick(&self->state, now_ms, clock_wall_ms());
    sources_tick(&self->events, now_ms);
    count_dropped(self);
    if (self->totals && !self->leave_ms) totals_tick(self->totals, now_ms);
    give(self);
    bool written = !self->writer || (self->writer_idle && self->queue.n == 0);
    return self->leave_ms && (written || now_ms >= self->leave_ms) ? -1 : 0;
}

static void on_signal(void *user)
{
    loop_t *self = user;
    self->leave_ms = clock_mono_ms() + LEAVE_MS;
}

/* --- start and end --- */

static int start_writer(loop_t *self, err_t *err)
{
    char *source = mem_printf("%s-%lld", self->config->id, (long long)clock_wall_ms());
    writer_options_t options = {
        .url = self->config->store, .source = source, .keep_days = self->config->store_days};
    self->writer = writer_new(&options, err);
    free(source);
    if (!self->writer) return -1;
    self->writer_idle = true;
    series_set(series_self(self->state.series), M_STORE_UP, 0);
    zloop_reader(self->zloop, zactor_sock(self->writer), on_news, self);
    return 0;
}

static int start_web(loop_t *self, err_t *err)
{
    const metrics_config_t *c = self->config;
    web_options_t options = {.http = listener(self, c->web),
                             .store = c->web_store ? c->web_store : c->store,
                             .series = self->state.series};
    if (!options.store)
        return err_set(err, ERR_ARG, "--web shows what a store has: give --store or --web-store");
    self->web = web_new(self->zloop, &options, err);
    if (!self->web) return err_prefix(err, "--web: ");
    log_event(LOG_INFO, "page", "port=%u", web_port(self->web));
    return 0;
}

static int start_track(loop_t *self, err_t *err)
{
    const metrics_config_t *c = self->config;
    const track_options_t options = {.where = c->track,
                                     .experiment = c->track_experiment,
                                     .token_file = c->track_token_file,
                                     .store = c->web_store ? c->web_store : c->store};
    self->track = track_new(&options, err);
    return self->track ? 0 : -1;
}

static int start(loop_t *self, int signal_fd, service_signals_t *signals, err_t *err)
{
    if (service_on_signal(self->zloop, signal_fd, signals, err) < 0) return -1;
    self->events = (sources_t){.loop = self->zloop, .on_event = on_event, .user = self};
    if (strcmp(self->config->events, "none") != 0 &&
        sources_open(&self->events, self->config->events, err) < 0)
        return -1;
    const metrics_config_t *c = self->config;
    if (c->tokens && !(self->access = access_open(c->tokens, err)))
        return err_prefix(err, "--tokens: ");
    http_options_t http = listener(self, c->http);
    http.handler = on_request;
    http.user = self;
    bool served = strcmp(c->http, "none") != 0;
    if (served && !(self->http = http_new(self->zloop, &http, err)))
        return err_prefix(err, "--http: ");
    if (served) log_event(LOG_INFO, "listening", "port=%u", http_port(self->http));
    if (self->config->web && start_web(self, err) < 0) return -1;
    if (self->config->store && start_writer(self, err) < 0) return -1;
    if (start_totals(self, err) < 0) return -1;
    if (self->config->track && start_track(self, err) < 0) return -1;
    zloop_timer(self->zloop, TICK_MS, 0, on_tick, self);
    return 0;
}

int loop_run(loop_t *self, int signal_fd, err_t *err)
{
    service_signals_t signals = {.on_signal = on_signal, .user = self};
    queue_init(&self->queue, (size_t)self->config->queue);
    metrics_init(&self->state, self->config->store ? &self->queue : NULL,
                 self->config->keep_s * 1000);
    self->zloop = zloop_new();
    health_t *health = NULL;
    int rc = start(self, signal_fd, &signals, err);
    if (rc == 0) rc = service_health(self->zloop, &self->config->common, NULL, NULL, &health, err);
    if (rc == 0) service_loop(self->zloop);
    health_destroy(&health);
    track_destroy(&self->track);
    web_destroy(&self->web);
    totals_destroy(&self->totals);
    http_destroy(&self->http);
    access_destroy(&self->access);
    sources_close(&self->events);
    zloop_destroy(&self->zloop);
    zactor_destroy(&self->writer);
    metrics_fini(&self->state);
    queue_fini(&self->queue);
    return rc;
}
