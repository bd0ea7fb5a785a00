/* What each socket, timer and signal does to the state. */
#include "gateway/loop_join.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "gateway/join.h"
#include "gateway/loop.h"
#include "msg/member.h"

enum { TICK_MS = 50, AT_ONCE = 16 };

typedef struct loop_join loop_join_t;

/* A model's sockets: zloop hands one pointer on. */
typedef struct {
    loop_join_t *loop;
    size_t model;
    bool listens; /* to the engine */
} ear_t;

struct loop_join {
    const gateway_config_t *config;
    join_t state;
    zloop_t *zloop;
    member_t *member;
    ear_t ear[MEMBERS_MODELS];
    bool flushes;     /* a timer is set */
    int64_t leave_ms; /* not 0: leaving, at the latest then */
    bool failed;
    err_t err;
};

static int on_flush(zloop_t *zloop, int timer, void *user);

static void flush(loop_join_t *self)
{
    if (self->flushes || join_flush(&self->state, clock_mono_ms())) return;
    self->flushes = true;
    zloop_timer(self->zloop, JOIN_NEWS_MS, 1, on_flush, self);
}

static int on_flush(zloop_t *zloop, int timer, void *user)
{
    (void)zloop, (void)timer;
    loop_join_t *self = user;
    self->flushes = false;
    flush(self);
    return 0;
}

static int on_news(zloop_t *zloop, zsock_t *socket, void *user)
{
    (void)zloop, (void)socket;
    ear_t *ear = user;
    loop_join_t *self = ear->loop;
    engine_t *engine = self->state.model[ear->model].engine;
    for (int i = 0; i < AT_ONCE; i++) {
        engine_news_t *news = engine_receive(engine);
        if (!news) break;
        join_on_news(&self->state, ear->model, news);
    }
    flush(self);
    return 0;
}

static int on_loaded(zloop_t *zloop, zsock_t *socket, void *user)
{
    (void)zloop, (void)socket;
    ear_t *ear = user;
    loop_join_t *self = ear->loop;
    join_model_t *model = &self->state.model[ear->model];
    for (loaded_t *loaded; (loaded = loader_receive(model->loader));) {
        if (join_on_loaded(&self->state, ear->model, loaded, &self->err) < 0) {
            self->failed = true;
            return -1;
        }
        if (ear->listens || !model->engine) continue;
        ear->listens = true;
        zloop_reader(self->zloop, engine_socket(model->engine), on_news, ear);
        if (join_ready(&self->state)) log_event(LOG_INFO, "ready", "models=%zu", self->state.n);
    }
    return 0;
}

static int on_tick(zloop_t *zloop, int timer, void *user)
{
    (void)zloop, (void)timer;
    loop_join_t *self = user;
    flush(self); /* what was refused meanwhile */
    if (!self->leave_ms) return 0;
    bool idle = join_idle(&self->state) || !member_joined(self->member);
    return idle || clock_mono_ms() >= self->leave_ms ? -1 : 0;
}

static void on_signal(void *user)
{
    loop_join_t *self = user;
    self->leave_ms = clock_mono_ms() + self->config->drain_s * 1000;
    join_drain(&self->state);
}

/* --- the gateway --- */

static void on_welcome(void *state, const Msg__Welcome *welcome)
{
    (void)welcome;
    join_on_welcome(state);
}

static void on_lost(void *state, const char *reason)
{
    (void)reason;
    join_on_lost(state);
}

static void on_bye(void *state, const char *reason)
{
    on_lost(state, reason); /* and again HELLO: another gateway may come there */
}

static bool how_it_is(void *user, char *text, size_t n)
{
    loop_join_t *self = user;
    return member_health(self->member, text, n);
}

static int start(loop_join_t *self, int signal_fd, service_signals_t *signals, err_t *err)
{
    const gateway_config_t *c = self->config;
    const member_options_t options = {.endpoint = c->join,
                                      .kind = MSG__KIND__KIND_INFERENCE,
                                      .server = KEYS_GATEWAY,
                                      .id = c->id,
                                      .threads = (unsigned)c->threads,
                                      .routes = join_routes,
                                      .state = &self->state,
                                      .on_welcome = on_welcome,
                                      .on_lost = on_lost,
                                      .on_bye = on_bye};
    if (service_on_signal(self->zloop, signal_fd, signals, err) < 0) return -1;
    self->member = member_new(self->zloop, &options, err);
    if (!self->member) return -1;
    self->state.out = member_out(self->member);
    for (size_t i = 0; i < self->state.n; i++) {
        join_model_t *model = &self->state.model[i];
        const loader_options_t loads = loop_loader_options(c, model->path);
        self->ear[i] = (ear_t){.loop = self, .model = i};
        model->loader = loader_new(&loads);
        zloop_reader(self->zloop, loader_socket(model->loader), on_loaded, &self->ear[i]);
    }
    zloop_timer(self->zloop, TICK_MS, 0, on_tick, self);
    return 0;
}

int loop_join_run(const gateway_config_t *config, int signal_fd, err_t *err)
{
    loop_join_t self = {.config = config};
    service_signals_t signals = {.on_signal = on_signal, .user = &self};
    health_t *health = NULL;
    self.zloop = zloop_new();
    int rc = join_init(&self.state, config, err);
    if (rc == 0) rc = start(&self, signal_fd, &signals, err);
    if (rc == 0) rc = service_health(self.zloop, &config->common, how_it_is, &self, &health, err);
    if (rc == 0) service_loop(self.zloop);
    if (self.failed) {
        *err = self.err;
        rc = -1;
    }
    health_destroy(&health);
    if (self.member) member_leave(self.member, "this member ends");
    member_destroy(&self.member);
    zloop_destroy(&self.zloop);
    join_fini(&self.state);
    return rc;
}
