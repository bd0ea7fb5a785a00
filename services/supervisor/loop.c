/* The supervisor's reactor. */
#include "supervisor/loop.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit.h"
#include "base/log.h"
#include "base/random.h"
#include "supervisor/obey.h"

enum { TICK_MS = 20, EXIT_KILLED = 3, EXIT_CRASH_LOOP = 4 };

/* --- What the fleet asks for. --- */

static int on_pipe(zloop_t *loop, zmq_pollitem_t *item, void *arg);

static void unwatch(watch_t *watch)
{
    if (watch->fd < 0) return;
    zmq_pollitem_t item = {.fd = watch->fd, .events = ZMQ_POLLIN};
    zloop_poller_end(watch->loop->zloop, &item);
    close(watch->fd);
    watch->fd = -1;
}

static int spawn(void *user, int worker, err_t *err)
{
    loop_t *self = user;
    if (!self->watch[worker]) {
        self->watch[worker] = mem_calloc(1, sizeof *self->watch[worker]);
        *self->watch[worker] = (watch_t){self, worker, -1};
    }
    watch_t *watch = self->watch[worker];
    unwatch(watch);
    watch->fd = processes_start(&self->processes, worker, err);
    if (watch->fd < 0) return -1;
    zmq_pollitem_t item = {.fd = watch->fd, .events = ZMQ_POLLIN};
    zloop_poller(self->zloop, &item, on_pipe, watch);
    zloop_poller_set_tolerant(self->zloop, &item); /* the end of file is no error */
    return 0;
}

static void kill_worker(void *user, int worker, int signal)
{
    loop_t *self = user;
    char id[PROCESSES_ID_BYTES];
    children_signal_one(self->processes.children, processes_id(&self->processes, worker, id),
                        signal);
}

static void changed(void *user, int worker, const char *reason)
{
    loop_t *self = user;
    const slot_t *slot = &self->fleet.slots.at[worker];
    char id[PROCESSES_ID_BYTES];
    Msg__WorkerState state = MSG__WORKER_STATE__INIT;
    state.id = (char *)processes_id(&self->processes, worker, id);
    state.state = (char *)slot_state_name(slot->state);
    state.reason = (char *)reason;
    state.restarts = slot->restarts;
    bool bad = slot->killed || (*reason && slot->state == SLOT_WAITING);
    log_event(slot->state == SLOT_FAILED ? LOG_ERROR
              : bad                      ? LOG_WARN
                                         : LOG_INFO,
              "worker", "worker=%s state=%s pid=%d restarts=%u reason=\"%s\"", state.id,
              state.state, children_pid(self->processes.children, id), slot->restarts, reason);
    Msg__Event event = MSG__EVENT__INIT;
    event.body_case = MSG__EVENT__BODY_WORKER;
    event.worker = &state;
    if (self->member) MSG_SEND(member_out(self->member), NULL, 0, RUN_EVENT, run_event, &event);
}

static double chance(void *user)
{
    (void)user;
    return random_uniform();
}

/* --- What happens. --- */

static void tell_gone(loop_t *self, const char *id, int pid, const char *how)
{
    Msg__Gone gone = MSG__GONE__INIT;
    gone.member = (char *)id;
    gone.reason = (char *)how;
    gone.pid = (uint32_t)pid;
    MSG_SEND(member_out(self->member), NULL, 0, GONE, gone, &gone);
}

/* What its status says of its device, and in words what the log of the worker says in its own. */
static fleet_cause_t cause_of(const child_end_t *end, const char **words)
{
    *words = "";
    if (end->signalled) return ENDED_CRASHED;
    switch (end->code) {
    case 0: return ENDED_CLEAN;
    case EXIT_DEVICE_MISSING:
        *words = ": its device or the driver is not there, see its log; mend it, then `pcp worker "
                 "restart`";
        return ENDED_HOPELESS;
    case EXIT_DEVICE_MEMORY:
        *words = ": its device has too little memory for the run's plan, see its log";
        return ENDED_HOPELESS;
    case EXIT_DEVICE_LOST: *words = ": its device was lost"; return ENDED_LOST;
    default: return ENDED_CRASHED;
    }
}

static void reap(loop_t *self)
{
    child_end_t end;
    while (children_reap(self->processes.children, &end)) {
        char text[64], how[192];
        const char *words;
        fleet_cause_t cause = cause_of(&end, &words);
        snprintf(how, sizeof how, "%s%s", child_end_text(&end, text), words);
        tell_gone(self, end.name, end.pid, how);
        fleet_ended(&self->fleet, processes_worker(&self->processes, end.name), cause, how);
    }
}

static int on_pipe(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop, (void)item;
    watch_t *watch = arg;
    char bytes[256];
    ssize_t n = 0;
    bool any = false;
    while ((n = read(watch->fd, bytes, sizeof bytes)) > 0) any = true;
    if (any) fleet_alive(&watch->loop->fleet, watch->worker);
    if (n == 0) { /* it is ending; if it is no zombie yet, a tick will find it */
        unwatch(watch);
        reap(watch->loop);
    }
    return 0;
}

static int on_tick(zloop_t *zloop, int timer, void *arg)
{
    (void)zloop, (void)timer;
    loop_t *self = arg;
    reap(self);
    /* What waits in the pipes was said before now. */
    for (size_t i = 0; i < self->fleet.slots.n; i++)
        if (self->watch[i] && self->watch[i]->fd >= 0) on_pipe(zloop, NULL, self->watch[i]);
    fleet_tick(&self->fleet, clock_mono_ms());
    return fleet_end(&self->fleet) == FLEET_WORKS ? 0 : -1;
}

static void on_signal(void *user)
{
    fleet_stop(&((loop_t *)user)->fleet);
}

static void on_welcome(void *state, const Msg__Welcome *welcome)
{
    (void)state, (void)welcome;
}

static void on_lost(void *state, const char *reason)
{
    (void)state, (void)reason; /* the workers notice by themselves */
}

static void on_bye(void *state, const char *reason)
{
    (void)reason;
    loop_t *self = state;
    if (self->config->once) fleet_stop(&self->fleet);
}

const msg_route_t supervisor_routes[MSG_KIND_COUNT] = {
    MSG_ROUTE(CONTROL, 4096, obey, MSG_FROM_SHEPHERD),
};

static void close_loop(loop_t *self)
{
    if (self->member) member_leave(self->member, "all workers have ended");
    member_destroy(&self->member);
    for (int i = 0; i < FLEET_MAX; i++) {
        if (self->watch[i]) unwatch(self->watch[i]);
        free(self->watch[i]);
    }
    zloop_destroy(&self->zloop);
    fleet_fini(&self->fleet);
}

static bool how_it_is(void *user, char *text, size_t n)
{
    return member_health(((loop_t *)user)->member, text, n);
}

int loop_run(loop_t *self, int signal_fd, int *status, err_t *err)
{
    service_signals_t signals = {.on_signal = on_signal, .user = self};
    member_options_t options = {
        .endpoint = self->config->shepherd,
        .kind = MSG__KIND__KIND_SUPERVISOR,
        .id = self->config->id,
        .threads = (unsigned)self->processes.threads,
        .routes = supervisor_routes,
        .state = self,
        .on_welcome = on_welcome,
        .on_lost = on_lost,
        .on_bye = on_bye,
    };
    fleet_ops_t ops = {spawn, kill_worker, changed, chance, self};
    self->policy = supervisor_policy(self->config);
    fleet_init(&self->fleet, &self->policy, &ops, self->processes.scale, clock_mono_ms());
    self->zloop = zloop_new();
    if (service_on_signal(self->zloop, signal_fd, &signals, err) == 0)
        self->member = member_new(self->zloop, &options, err);
    int rc = self->member ? 0 : -1;
    health_t *health = NULL;
    if (rc == 0)
        rc = service_health(self->zloop, &self->config->common, how_it_is, self, &health, err);
    if (rc == 0) {
        zloop_timer(self->zloop, TICK_MS, 0, on_tick, self);
        service_loop(self->zloop);
        bool failed = fleet_end(&self->fleet) == FLEET_FAILED;
        *status = failed ? EXIT_CRASH_LOOP : self->fleet.n_killed ? EXIT_KILLED : 0;
        log_event(failed ? LOG_ERROR : LOG_INFO, failed ? "all_workers_failed" : "end",
                  "status=%d log_dir=%s", *status, self->config->log_dir);
    }
    health_destroy(&health);
    close_loop(self);
    return rc;
}
