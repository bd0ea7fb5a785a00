/* The front's sockets, actors and loop. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hand_over.h"
#include "base/log.h"
#include "base/scratch.h"
#include "base/secret.h"
#include "base/str.h"
#include "msg/control.h"
#include "msg/door.h"
#include "shepherd/front/front.h"

static void send_control(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    front_t *self = user;
    err_t err = {0};
    if (control_send(self->control, to, message, &err) < 0)
        log_event(LOG_DEBUG, "send_failed", "error=\"%s\"", err.text);
}

static int after(const front_t *self)
{
    return self->finished ? -1 : 0; /* -1 ends the loop */
}

static int on_control(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    front_t *self = arg;
    self->now_ms = clock_mono_ms();
    front_receive(self);
    return after(self);
}

static int on_news(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    for (int i = 0; i < 256 && front_event(arg); i++) continue;
    return 0;
}

static int on_clerk(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    front_t *self = arg;
    self->now_ms = clock_mono_ms();
    clerk_result_t *result = clerk_take(self->clerk);
    if (result) front_on_clerk(self, result);
    clerk_result_destroy(&result);
    return after(self);
}

static int on_files(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    front_t *self = arg;
    self->now_ms = clock_mono_ms();
    front_job_t *job = front_files_take(self->files);
    if (job) front_on_file(self, job);
    front_job_destroy(&job);
    return after(self);
}

/* Time is a message to ourselves: a tick ends runs' links, which have timers, and zloop may still
 * call a timer that was ended by another one's handler. */
static int on_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    const front_t *self = arg;
    uint64_t one = 1;
    return write(self->wake, &one, sizeof one) < 0 && errno != EAGAIN ? -1 : 0;
}

static int on_wake(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop;
    uint64_t ticks;
    front_t *self = arg;
    if (read(item->fd, &ticks, sizeof ticks) < 0) return 0;
    self->now_ms = clock_mono_ms();
    front_receive(self); /* who has spoken is not silent */
    front_tick(self, self->now_ms);
    return after(arg);
}

static void on_signal(void *user)
{
    front_on_signal(user);
}

static int open_sockets(front_t *self, err_t *err)
{
    self->control = endpoint_open(endpoint_bind(ZMQ_ROUTER, self->config->bind), err);
    if (!self->control) return -1;
    self->events = endpoint_open(endpoint_bind(ZMQ_PUB, self->config->events), err);
    if (!self->events) return -1;
    self->news = endpoint_open(endpoint_connect(ZMQ_SUB, NULL), err);
    return self->news ? 0 : -1;
}

static int open_children(front_t *self, err_t *err)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0) return err_set_errno(err, "/proc/self/exe");
    path[n] = '\0';
    self->program = mem_strdup(path);
    /* Whoever takes over starts its own: ours must not outlive us. */
    self->children = children_new(self->config->runs_dir, SIGKILL);
    children_limit_logs(self->children, self->config->log_mib << 20);
    /* No flags: command lines are for all to see, and URLs may have passwords. Who was told a file tells the file. */
    const char *store = secret_origin(self->config->store);
    if (!store) store = self->config->store;
    const char *liveness = self->config->liveness ? self->config->liveness : "";
    if (setenv("PCP_STORE", store, 1) < 0 || setenv("PCP_LIVENESS", liveness, 1) < 0)
        return err_set_errno(err, "environment");
    return 0;
}

static int start(front_t *self, service_signals_t *signals, int signal_fd,
                 const clerk_options_t *clerk, err_t *err)
{
    enum { TICK_MS = 20 };
    self->out = (msg_out_t){send_control, self};
    self->now_ms = clock_mono_ms();
    self->loop = zloop_new();
    self->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->wake < 0) return err_set_errno(err, "eventfd");
    if (open_sockets(self, err) < 0 || open_children(self, err) < 0 ||
        service_on_signal(self->loop, signal_fd, signals, err) < 0)
        return -1;
    self->clerk = clerk_new(clerk);
    self->files = front_files_new();
    if (!self->clerk || !self->files) return err_set(err, ERR_STATE, "no actors");
    zloop_reader(self->loop, self->control, on_control, self);
    zloop_reader(self->loop, self->news, on_news, self);
    zloop_reader(self->loop, zactor_sock(self->clerk), on_clerk, self);
    zloop_reader(self->loop, zactor_sock(self->files), on_files, self);
    zmq_pollitem_t wake = {.fd = self->wake, .events = ZMQ_POLLIN};
    zloop_poller(self->loop, &wake, on_wake, self);
    zloop_timer(self->loop, TICK_MS, 0, on_tick, self);
    zsock_t *const doors[] = {self->control, self->events};
    self->door = door_new(self->loop, doors, 2, err);
    return self->door ? 0 : -1;
}

static void stop(front_t *self)
{
    front_fini(self);
    clerk_destroy(&self->clerk); /* others may lead at once */
    front_files_destroy(&self->files);
    zloop_destroy(&self->loop);
    door_destroy(&self->door);
    if (self->wake >= 0) close(self->wake);
    zsock_destroy(&self->control);
    zsock_destroy(&self->events);
    zsock_destroy(&self->news);
}

/* Unix sockets allow 107 bytes of path, directories of runs more. Returns, caller frees. `own`: one
 * that nobody asked for, to be removed at the end, or by the next front if this one is killed. */
static char *make_socket_dir(const front_config_t *config, scratch_t *own, err_t *err)
{
    if (config->socket_dir && *config->socket_dir)
        return file_make_dirs(config->socket_dir, err) < 0 ? NULL : mem_strdup(config->socket_dir);
    scratch_sweep("/tmp", "front");
    return scratch_make(own, "/tmp", "front", err) < 0 ? NULL : mem_strdup(own->dir);
}

static void remove_sockets(char *dir, const front_t *self)
{
    static const char *const kinds[] = {"control", "events", "telemetry"};
    for (size_t i = 0; i < self->runs.n; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            char *path = mem_printf("%s/%lld.%s", dir, (long long)self->runs.at[i]->row.number,
                                    kinds[k]);
            unlink(path);
            free(path);
        }
    rmdir(dir);
}

int front_run_all(front_config_t *config, err_t *err)
{
    front_config_fill(config);
    if (front_config_check(config, err) < 0) return -1;
    int signal_fd = service_start("shepherd", &config->common, &front_table, config, err);
    if (signal_fd < 0 || file_make_dirs(config->runs_dir, err) < 0) return -1;
    scratch_t own = {0};
    char *sockets = make_socket_dir(config, &own, err);
    if (!sockets) return -1;
    front_t front = {.config = config, .config_dir = sockets, .wake = -1};
    clerk_options_t clerk = {.url = config->store,
                             .holder = config->id,
                             .ttl_ms = config->leader_ttl_ms,
                             .migrate = str_starts(config->store, "sqlite:")};
    service_signals_t signals = {on_signal, &front};
    int rc = start(&front, &signals, signal_fd, &clerk, err);
    health_t *health = NULL;
    if (rc == 0) rc = service_health(front.loop, &config->common, NULL, NULL, &health, err);
    if (rc == 0) service_loop(front.loop);
    health_destroy(&health);
    children_destroy(&front.children);
    remove_sockets(sockets, &front);
    scratch_remove(&own);
    stop(&front);
    take_over(&clerk); /* what its thread borrowed */
    free(sockets);
    return rc < 0 ? -1 : front.exit_status;
}
