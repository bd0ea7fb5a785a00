/* A listening unix socket in a loop. Nothing is read from who connects, so nobody can hold it up.
 */
#include "msg/health.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

struct health {
    zloop_t *loop;
    char *path;
    int fd;
    health_fn *fn;
    void *user;
};

static int address_of(const char *path, struct sockaddr_un *address, err_t *err)
{
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof address->sun_path)
        return err_set(err, ERR_ARG, "health socket \"%s\": the path must have 1 to %zu bytes",
                       path, sizeof address->sun_path - 1);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, path, n + 1);
    return 0;
}

static int on_knock(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    enum { AT_ONCE = 16 };
    (void)loop;
    health_t *self = arg;
    for (int i = 0, fd; i < AT_ONCE; i++) {
        if ((fd = accept4(item->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) < 0) break;
        char text[512] = "", line[600];
        bool well = !self->fn || self->fn(self->user, text, sizeof text);
        int n = snprintf(line, sizeof line, "%s%s%s\n", well ? "ok" : "unwell", *text ? ": " : "",
                         text);
        ssize_t sent = send(fd, line, (size_t)n, MSG_NOSIGNAL); /* or it did not wait */
        (void)sent;
        close(fd);
    }
    return 0;
}

/* A socket without a process behind it goes; anything else is not ours. */
static int make_room(const char *path, const struct sockaddr_un *address, err_t *err)
{
    struct stat info;
    if (lstat(path, &info) < 0) return 0;
    if (!S_ISSOCK(info.st_mode))
        return err_set(err, ERR_STATE, "health socket %s: is in the way, and no socket", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return err_set_errno(err, "health socket %s", path);
    bool dead = connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
                errno == ECONNREFUSED;
    close(fd);
    if (!dead)
        return err_set(err, ERR_STATE,
                       "health socket %s: another process has it; give each its own --health",
                       path);
    return unlink(path) < 0 && errno != ENOENT ? err_set_errno(err, "health socket %s", path) : 0;
}

health_t *health_new(zloop_t *loop, const char *path, health_fn *fn, void *user, err_t *err)
{
    struct sockaddr_un address;
    if (address_of(path, &address, err) < 0 || make_room(path, &address, err) < 0) return NULL;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 16) < 0) {
        err_set_errno(err, "health socket %s", path);
        if (fd >= 0) close(fd);
        return NULL;
    }
    health_t *self = mem_calloc(1, sizeof *self);
    *self = (health_t){.loop = loop, .path = mem_strdup(path), .fd = fd, .fn = fn, .user = user};
    zmq_pollitem_t item = {.fd = fd, .events = ZMQ_POLLIN};
    zloop_poller(loop, &item, on_knock, self);
    zloop_poller_set_tolerant(loop, &item);
    return self;
}

void health_destroy(health_t **self_p)
{
    health_t *self = *self_p;
    if (!self) return;
    zmq_pollitem_t item = {.fd = self->fd, .events = ZMQ_POLLIN};
    zloop_poller_end(self->loop, &item);
    unlink(self->path);
    close(self->fd);
    free(self->path);
    free(self);
    *self_p = NULL;
}

/* All that comes until the other side closes. Returns how much; -1: not in time. */
static ssize_t read_line(int fd, char *text, size_t n)
{
    size_t used = 0;
    for (int64_t until_ms = clock_mono_ms() + HEALTH_MS;;) {
        struct pollfd item = {.fd = fd, .events = POLLIN};
        int64_t left = until_ms - clock_mono_ms();
        if (left <= 0 || poll(&item, 1, (int)left) == 0) return -1;
        ssize_t got = recv(fd, text + used, n - 1 - used, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got > 0) used += (size_t)got;
        if (got > 0 && used < n - 1) continue;
        text[used] = '\0';
        return (ssize_t)used;
    }
}

int health_ask(const char *path, char *text, size_t n, err_t *err)
{
    struct sockaddr_un address;
    if (address_of(path, &address, err) < 0) return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return err_set_errno(err, "health socket %s", path);
    int rc = connect(fd, (struct sockaddr *)&address, sizeof address);
    int failed = rc < 0 ? errno : 0;
    ssize_t got = rc < 0 ? -1 : read_line(fd, text, n);
    close(fd);
    if (failed && failed != EAGAIN) /* EAGAIN: many wait for an answer already */
        return err_set(err, ERR_NET, "no process answers at %s (%s)", path,
                       strerrordesc_np(failed));
    if (got <= 0)
        return err_set(
            err, ERR_NET,
            "no answer at %s within %d ms: the process is stopped, or its loop is held up", path,
            HEALTH_MS);
    text[strcspn(text, "\n")] = '\0';
    if (strncmp(text, "ok", 2) != 0) return err_set(err, ERR_STATE, "%s", text);
    return 0;
}
