/* Room is looked for by taking it; who is a guest, and what it has said, is asked of the kernel, so
 * that nothing must be counted while all is well. */
#include "msg/door.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "msg/guest.h"

enum {
    TICK_MS = 20,
    MARGIN = 24,       /* descriptors for our own use */
    GREETING = 85,     /* bytes; who has said less has not shaken hands */
    GREETING_MS = 250, /* time for that, where others can be turned away instead */
    LOG_EVERY_MS = 10000,
};

typedef struct {
    uint16_t port;    /* tcp */
    const char *path; /* ipc; of `endpoint` */
    char *endpoint;
} entry_t;

typedef struct {
    int fd;
    uint64_t said; /* bytes; of local ones unknown: many */
    uint32_t silent_ms;
} guest_t;

struct door {
    VEC(entry_t) entries;
    int seed; /* what is copied to see how many more could be opened */
    int64_t logged_ms;
    size_t n_away; /* since the log said so */
};

static uint64_t limit(void)
{
    struct rlimit now = {0};
    getrlimit(RLIMIT_NOFILE, &now);
    return now.rlim_cur;
}

uint64_t door_raise_limit(void)
{
    const rlim_t most = 1 << 20;
    struct rlimit now = {0};
    if (getrlimit(RLIMIT_NOFILE, &now) < 0) return 0;
    rlim_t wanted = now.rlim_max < most ? now.rlim_max : most;
    if (now.rlim_cur < wanted) {
        now.rlim_cur = wanted;
        setrlimit(RLIMIT_NOFILE, &now);
    }
    return limit();
}

/* --- How many are left? --- */

static size_t room(const door_t *self, size_t most)
{
    int fds[MARGIN];
    size_t n = 0;
    while (n < most && (fds[n] = fcntl(self->seed, F_DUPFD_CLOEXEC, 0)) >= 0) n++;
    for (size_t i = 0; i < n; i++) close(fds[i]);
    return n;
}

/* Descriptors are given from below: while the highest were never reached, there is room. */
static bool is_short(const door_t *self)
{
    uint64_t highest = limit();
    if (highest > INT32_MAX || highest < 2 * MARGIN) return false;
    int wanted = (int)highest - MARGIN, fd = fcntl(self->seed, F_DUPFD_CLOEXEC, wanted);
    if (fd >= 0) close(fd);
    return fd != wanted && room(self, MARGIN) < MARGIN;
}

/* --- Who is there? --- */

static bool came_in(const door_t *self, const struct sockaddr_storage *local)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)local;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)local;
    const struct sockaddr_un *un = (const struct sockaddr_un *)local;
    uint16_t port = local->ss_family == AF_INET    ? ntohs(v4->sin_port)
                    : local->ss_family == AF_INET6 ? ntohs(v6->sin6_port)
                                                   : 0;
    for (size_t i = 0; i < self->entries.n; i++) {
        const entry_t *entry = &self->entries.at[i];
        if (port && port == entry->port) return true;
        if (local->ss_family == AF_UNIX && entry->path &&
            strncmp(un->sun_path, entry->path, sizeof un->sun_path) == 0)
            return true;
    }
    return false;
}

static bool is_guest(const door_t *self, int fd, guest_t *out)
{
    struct sockaddr_storage local = {0}, peer;
    socklen_t n = sizeof local, n_peer = sizeof peer;
    if (getsockname(fd, (struct sockaddr *)&local, &n) < 0 || !came_in(self, &local) ||
        getpeername(fd, (struct sockaddr *)&peer, &n_peer) < 0) /* the socket that listens */
        return false;
    *out = (guest_t){.fd = fd, .said = UINT64_MAX};
    guest_said(fd, &out->said, &out->silent_ms);
    return true;
}

/* Those who have said least, of these the longest silent, then the newest. */
static int by_merit(const void *a, const void *b)
{
    const guest_t *x = a, *y = b;
    bool x_new = x->said < GREETING, y_new = y->said < GREETING;
    if (x_new != y_new) return x_new ? -1 : 1;
    if (!x_new && x->said != y->said) return x->said < y->said ? -1 : 1;
    if (x->silent_ms != y->silent_ms) return x->silent_ms > y->silent_ms ? -1 : 1;
    return y->fd - x->fd;
}

/* Nobody is turned away in mid-greeting as long as others say nothing at all; nor anybody who has
 * said more, unless not even one descriptor is left. */
static bool may_stay(const guest_t *guest, size_t n_away, bool none_left)
{
    if (guest->said < GREETING) return n_away > 0 && guest->silent_ms < GREETING_MS;
    return n_away > 0 || !none_left;
}

static size_t turn_away(door_t *self)
{
    VEC(guest_t) guests = {0};
    guest_t guest;
    for (int fd = 3, end = (int)limit(); fd < end; fd++)
        if (is_guest(self, fd, &guest)) VEC_PUSH(&guests, guest);
    if (guests.n) qsort(guests.at, guests.n, sizeof *guests.at, by_merit);
    bool none_left = room(self, 2) < 2;
    size_t n = 0;
    while (n < guests.n && n < 2 * MARGIN && !may_stay(&guests.at[n], n, none_left))
        shutdown(guests.at[n++].fd, SHUT_RDWR); /* its owner notices, and closes it */
    VEC_FREE(&guests);
    return n;
}

size_t door_look(door_t *self)
{
    if (!is_short(self)) return 0;
    size_t n = turn_away(self);
    int64_t now = clock_mono_ms();
    self->n_away += n;
    if (self->logged_ms && now - self->logged_ms < LOG_EVERY_MS) return n;
    log_event(
        LOG_WARN, "descriptors_short",
        "limit=%llu turned_away=%zu text=\"nearly as many files and connections are open as may "
        "be: raise the limit (ulimit -Hn, LimitNOFILE=) if so many are wanted\"",
        (unsigned long long)limit(), self->n_away);
    self->logged_ms = now;
    self->n_away = 0;
    return n;
}

/* --- Beginning and end --- */

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    door_look(arg);
    return 0;
}

static void add(door_t *self, const char *endpoint)
{
    entry_t entry = {.endpoint = mem_strdup(endpoint)};
    const char *colon = strrchr(entry.endpoint, ':');
    if (str_starts(entry.endpoint, "tcp://") && colon)
        entry.port = (uint16_t)strtoul(colon + 1, NULL, 10);
    if (str_starts(entry.endpoint, "ipc://")) entry.path = entry.endpoint + strlen("ipc://");
    VEC_PUSH(&self->entries, entry);
}

door_t *door_new(zloop_t *loop, zsock_t *const *sockets, size_t n, err_t *err)
{
    door_t *self = mem_calloc(1, sizeof *self);
    for (size_t i = 0; i < n; i++)
        if (sockets[i] && zsock_endpoint(sockets[i])) add(self, zsock_endpoint(sockets[i]));
    self->seed = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (self->seed < 0) {
        err_set_errno(err, "/dev/null");
        door_destroy(&self);
        return NULL;
    }
    zloop_timer(loop, TICK_MS, 0, on_tick, self);
    return self;
}

void door_destroy(door_t **self_p)
{
    door_t *self = *self_p;
    if (!self) return;
    if (self->seed >= 0) close(self->seed);
    for (size_t i = 0; i < self->entries.n; i++) free(self->entries.at[i].endpoint);
    VEC_FREE(&self->entries);
    free(self);
    *self_p = NULL;
}
