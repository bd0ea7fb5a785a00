/* Subscriptions: opened, watched, opened again. */
#include "metrics/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/control.h"
#include "msg/keyring.h"

enum { RECONNECT_MS = 100, RECONNECT_MAX_MS = 2000, CONNECT_MS = 5000 };

static void went_down(source_t *self, int64_t now_ms)
{
    self->connected = false;
    self->down_ms = now_ms;
    self->tell_wait_ms = SOURCE_TELL_MS;
    self->renew_wait_ms = SOURCE_RENEW_MS;
    self->tell_ms = now_ms + self->tell_wait_ms;
    self->renew_ms = now_ms + self->renew_wait_ms;
}

static void news(source_t *self, uint16_t event)
{
    bool up = event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    if (up && !self->connected) log_event(LOG_INFO, "connected", "endpoint=%s", self->endpoint);
    if (!up && self->connected) log_event(LOG_WARN, "disconnected", "endpoint=%s", self->endpoint);
    if (up)
        self->connected = true;
    else if (self->connected)
        went_down(self, clock_mono_ms());
}

/* A connection that comes or goes; events themselves tell only of runs that are active. */
static int on_monitor(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    sources_t *self = arg;
    int32_t value;
    for (uint16_t event; (event = control_news(socket, &value));)
        for (size_t i = 0; i < self->at.n; i++)
            if (self->at.at[i].monitor == socket) news(&self->at.at[i], event);
    return 0;
}

static void watch(sources_t *self, source_t *source)
{
    source->monitor = endpoint_watch(source->socket,
                                     ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED);
    if (!source->monitor) return;
    zloop_reader(self->loop, source->monitor, on_monitor, self);
    zloop_reader_set_tolerant(self->loop, source->monitor);
}

static void disconnect(sources_t *self, source_t *source)
{
    if (source->monitor) zloop_reader_end(self->loop, source->monitor);
    if (source->socket) zloop_reader_end(self->loop, source->socket);
    if (source->socket) endpoint_unwatch(source->socket);
    zsock_destroy(&source->monitor);
    zsock_destroy(&source->socket);
}

static int connect_source(sources_t *self, source_t *source, err_t *err)
{
    endpoint_t events = endpoint_connect(ZMQ_SUB, NULL);
    events.retry_ms = RECONNECT_MS;
    events.retry_max_ms = RECONNECT_MAX_MS;
    events.connect_ms = CONNECT_MS;
    events.ping_ms = SOURCE_BEAT_MS;
    events.pong_ms = SOURCE_BEAT_OUT_MS;
    source->key_since = keyring_own_since();
    source->socket = endpoint_open(events, err);
    if (!source->socket) return -1;
    watch(self, source); /* before the connection, so that it misses nothing */
    if (endpoint_add(source->socket, source->endpoint, false, err) < 0) {
        disconnect(self, source);
        return -1;
    }
    zloop_reader(self->loop, source->socket, self->on_event, self->user);
    zloop_reader_set_tolerant(self->loop, source->socket);
    return 0;
}

int sources_open(sources_t *self, const char *endpoints, err_t *err)
{
    char *list = mem_strdup(endpoints), *rest = list;
    int rc = 0;
    for (char *one; rc == 0 && (one = strsep(&rest, ", "));) {
        if (!*one) continue;
        source_t source = {.endpoint = mem_strdup(one)};
        went_down(&source, clock_mono_ms());
        rc = connect_source(self, &source, err);
        VEC_PUSH(&self->at, source);
    }
    free(list);
    if (rc == 0 && self->at.n == 0)
        rc = err_set(err, ERR_ARG, "--events names no endpoint of a shepherd");
    return rc;
}

void sources_close(sources_t *self)
{
    for (size_t i = 0; i < self->at.n; i++) {
        disconnect(self, &self->at.at[i]);
        free(self->at.at[i].endpoint);
    }
    VEC_FREE(&self->at);
}

size_t sources_connected(const sources_t *self)
{
    size_t n = 0;
    for (size_t i = 0; i < self->at.n; i++) n += self->at.at[i].connected;
    return n;
}

static int64_t twice(int64_t wait_ms, int64_t most_ms)
{
    return 2 * wait_ms < most_ms ? 2 * wait_ms : most_ms;
}

void sources_tick(sources_t *self, int64_t now_ms)
{
    for (size_t i = 0; i < self->at.n; i++) {
        source_t *source = &self->at.at[i];
        bool stale = source->key_since != keyring_own_since();
        if (source->connected && !stale) continue;
        if (source->connected) went_down(source, now_ms); /* so that our new card is shown */
        if (now_ms >= source->tell_ms) {
            log_event(LOG_WARN, "unreachable", "endpoint=%s seconds=%.0f error=\"cannot reach %s\"",
                      source->endpoint, (double)(now_ms - source->down_ms) / 1000,
                      source->endpoint);
            source->tell_wait_ms = twice(source->tell_wait_ms, SOURCE_TELL_MAX_MS);
            source->tell_ms = now_ms + source->tell_wait_ms;
        }
        bool watched = !source->socket || source->monitor;
        if (!stale && (now_ms < source->renew_ms || !watched)) continue;
        err_t err = {0};
        disconnect(self, source);
        if (connect_source(self, source, &err) < 0)
            log_event(LOG_ERROR, "reconnect", "error=\"%s\"", err.text);
        source->renew_wait_ms = twice(source->renew_wait_ms, SOURCE_RENEW_MAX_MS);
        source->renew_ms = now_ms + source->renew_wait_ms;
    }
}
