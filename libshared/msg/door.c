/* Room is looked for by taking it; who is a guest, and what it has said, is asked of the kernel. */
#include "msg/door.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/idle.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "msg/control.h"
#include "msg/guest.h"
#include "msg/keyring.h"
#include "msg/limits.h"
#include "msg/ration.h"
#include "msg/refusals.h"

enum {
    TICK_MS = 20,
    HURRY_MS = 5,      /* of the guard, as long as it cuts */
    AWAY_MS = 60,      /* without a look of the loop's, after which the guard looks */
    MARGIN = 24,       /* descriptors for our own use */
    GREETING = 85,     /* bytes; who has said less has not shaken hands */
    GREETING_MS = 250, /* time for that, where others can be turned away instead */
    LOG_EVERY_MS = 10000,
    TRIM_BUSY_MS = 60000,
};

typedef struct {
    uint16_t port;    /* tcp */
    const char *path; /* ipc; of `endpoint` */
    char *endpoint;
    zsock_t *socket;
    bool listens;     /* who comes in there hears what we publish */
    bool drained;     /* no whole message waits there */
    zsock_t *monitor; /* news of connections that end; NULL: there is none */
} entry_t;

typedef struct {
    int fd;
    size_t entry;
    uint64_t said; /* bytes; of local ones unknown: many */
    uint32_t silent_ms;
} guest_t;

struct door {
    VEC(entry_t) entries;
    VEC(bool)
    cut; /* by descriptor: we have ended the connection that has it, and counted that; under the lock */
    size_t n_denied; /* whose keys were refused, and counted: their connections are about to end */
    int seed;        /* what is copied to see how many more could be opened */
    ration_t *ration;
    int64_t logged_ms, cut_logged_ms, tidied_ms;
    idle_t idle;          /* what was given back then */
    size_t n_away, n_cut; /* since the log said so */
    ration_guest_t worst; /* of those that were cut since, the last */
    pthread_mutex_t lock; /* one looks at a time */
    pthread_t guard;      /* looks while the loop does not */
    bool guarded, bulk;
    _Atomic bool ends;
    _Atomic int64_t looked_ms;
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

/* Which entry a socket came in at; as many as there are: none. */
static size_t entry_of(const door_t *self, const struct sockaddr_storage *local)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)local;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)local;
    const struct sockaddr_un *un = (const struct sockaddr_un *)local;
    uint16_t port = local->ss_family == AF_INET    ? ntohs(v4->sin_port)
                    : local->ss_family == AF_INET6 ? ntohs(v6->sin6_port)
                                                   : 0;
    for (size_t i = 0; i < self->entries.n; i++) {
        const entry_t *entry = &self->entries.at[i];
        if (port && port == entry->port) return i;
        if (local->ss_family == AF_UNIX && entry->path &&
            strncmp(un->sun_path, entry->path, sizeof un->sun_path) == 0)
            return i;
    }
    return self->entries.n;
}

static bool is_guest(const door_t *self, int fd, guest_t *out)
{
    struct sockaddr_storage local = {0}, peer;
    socklen_t n = sizeof local, n_peer = sizeof peer;
    if (getsockname(fd, (struct sockaddr *)&local, &n) < 0) return false;
    size_t entry = entry_of(self, &local);
    if (entry == self->entries.n ||
        getpeername(fd, (struct sockaddr *)&peer, &n_peer) < 0) /* the socket that listens */
        return false;
    *out = (guest_t){.fd = fd, .entry = entry, .said = UINT64_MAX};
    guest_said(fd, &out->said, &out->silent_ms);
    return true;
}

typedef VEC(guest_t) guests_t;

static void find_guests(const door_t *self, guests_t *out)
{
    guest_t guest;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *one; dir && (one = readdir(dir));)
        if (*one->d_name != '.' && is_guest(self, atoi(one->d_name), &guest)) VEC_PUSH(out, guest);
    for (int fd = 3, end = dir ? 0 : (int)limit(); fd < end; fd++) /* none is left to look with */
        if (is_guest(self, fd, &guest)) VEC_PUSH(out, guest);
    if (dir) closedir(dir);
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

/* Under the lock. */
static void cut(door_t *self, int fd)
{
    while (self->cut.n <= (size_t)fd) VEC_PUSH(&self->cut, false);
    self->cut.at[fd] = true;
    guest_cut(fd);
}

static size_t turn_away(door_t *self)
{
    guests_t guests = {0};
    find_guests(self, &guests);
    if (guests.n) qsort(guests.at, guests.n, sizeof *guests.at, by_merit);
    bool none_left = room(self, 2) < 2;
    size_t n = 0;
    pthread_mutex_lock(&self->lock);
    while (n < guests.n && n < 2 * MARGIN && !may_stay(&guests.at[n], n, none_left))
        cut(self, guests.at[n++].fd);
    pthread_mutex_unlock(&self->lock);
    VEC_FREE(&guests);
    return n;
}

/* --- Who makes us hold too much, or says too much? --- */

/* Behind what was asked of the connections: a message that has ended since would be seen. A socket is its loop's:
 * nobody else may ask it. */
static void see_drained(door_t *self, bool by_loop)
{
    for (size_t i = 0; i < self->entries.n; i++) {
        entry_t *entry = &self->entries.at[i];
        entry->drained = entry->listens || (by_loop && !(zsock_events(entry->socket) & ZMQ_POLLIN));
        ration_entry(self->ration, i, entry->drained);
    }
}

/* By the loop alone: whoever reads the log may be what it waits for. */
static void log_cut(door_t *self, int64_t now)
{
    pthread_mutex_lock(&self->lock);
    bool says = self->n_cut > 0 &&
                (!self->cut_logged_ms || now - self->cut_logged_ms >= LOG_EVERY_MS);
    ration_guest_t worst = self->worst;
    size_t n = self->n_cut;
    if (says) self->n_cut = 0;
    pthread_mutex_unlock(&self->lock);
    if (!says) return;
    self->cut_logged_ms = now;
    log_event(LOG_WARN, "guest_cut", "connections=%zu bytes=%llu reason=\"%s\"", n,
              (unsigned long long)worst.held, worst.wrong);
}

/* With keys, whoever has none yet answers with all others of its address. */
static uint64_t owner_of(int fd, uint64_t cookie)
{
    if (!keyring_own()) return 0;
    uint32_t key = keyring_number_at(fd, cookie);
    return key ? key : RATION_STRANGER | guest_address(fd) >> 2;
}

static size_t cut_greedy(door_t *self, bool by_loop, int64_t now)
{
    guests_t guests = {0};
    VEC(ration_guest_t) judged = {0};
    find_guests(self, &guests);
    for (size_t i = 0; i < guests.n; i++) {
        int fd = guests.at[i].fd;
        if (guests.at[i].said == UINT64_MAX) continue; /* local ones: their directory guards us */
        uint64_t unread = guest_unread(fd), said = 0;
        ration_guest_t one = {.fd = fd, .cookie = guest_cookie(fd)};
        guest_said(fd, &said, &guests.at[i].silent_ms);
        one.owner = owner_of(fd, one.cookie);
        one.came = said > unread ? said - unread : 0;
        one.entry = guests.at[i].entry;
        one.listens = self->entries.at[one.entry].listens;
        VEC_PUSH(&judged, one);
    }
    see_drained(self, by_loop);
    for (size_t i = 0; i < judged.n; i++)
        judged.at[i].drained = self->entries.at[judged.at[i].entry].drained;
    size_t n = ration_judge(self->ration, judged.at, judged.n, now);
    self->n_cut += n;
    for (size_t i = 0; i < judged.n && n > 0; i++) {
        if (!judged.at[i].wrong) continue;
        self->worst = judged.at[i];
        refusals_count(judged.at[i].counts);
        cut(self, judged.at[i].fd);
    }
    VEC_FREE(&guests);
    VEC_FREE(&judged);
    return n;
}

/* Who has no key does not get through the handshake, and the library tells nobody else. It would tell of what failed
 * (ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL), but libzmq 4.3.4 forgets why as it tells so, if that was behind the handshake: it
 * closes the connection no more, and keeps it, and what it has queued, for ever. So it tells of each end, and whose
 * connection ends without a message has not shaken hands. */
static bool is_stranger(door_t *self, int fd)
{
    bool cut = (size_t)fd < self->cut.n && self->cut.at[fd];
    bool silent = !ration_spoke(fd) && !cut;
    if (cut) self->cut.at[fd] = false;
    if (!silent || self->n_denied == 0) return silent;
    self->n_denied--;
    return false;
}

static void count_strangers(door_t *self, zsock_t *monitor)
{
    int32_t fd = -1;
    for (uint16_t event; monitor && (event = control_news(monitor, &fd));) {
        if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
            self->n_denied++;
        else if (fd >= 0 && is_stranger(self, fd))
            refusals_count(REFUSAL_NO_KEY);
    }
}

static size_t make_room(door_t *self)
{
    if (!is_short(self)) return 0;
    size_t n = turn_away(self);
    int64_t now = clock_mono_ms();
    self->n_away += n;
    for (size_t i = 0; i < n; i++) refusals_count(REFUSAL_CONNECTIONS);
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

static uint64_t own_bytes(void *ration)
{
    return ration_own_bytes(ration);
}

/* The C library keeps what floods made it take, in pieces between what lives: given back when none of it waits, or, in
 * a flood without end, now and then. */
static void give_back(door_t *self, int64_t now)
{
    bool empty = true;
    for (size_t i = 0; i < self->entries.n; i++) empty = empty && self->entries.at[i].drained;
    if (now - self->tidied_ms < (empty ? LOG_EVERY_MS : TRIM_BUSY_MS)) return;
    self->tidied_ms = now;
    idle_give_back(&self->idle, own_bytes, self->ration);
}

size_t door_look(door_t *self)
{
    int64_t now = clock_mono_ms();
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < self->entries.n; i++) count_strangers(self, self->entries.at[i].monitor);
    bool due = ration_due(self->ration, now);
    size_t n = due ? cut_greedy(self, true, now) : 0;
    if (due) give_back(self, now);
    pthread_mutex_unlock(&self->lock);
    log_cut(self, now);
    n += make_room(self);
    self->looked_ms = clock_mono_ms();
    return n;
}

/* While the loop is at something else the library's threads go on reading. */
static void *guard_main(void *arg)
{
    door_t *self = arg;
    bool hurries = false;
    while (!self->ends) {
        const struct timespec tick = {.tv_nsec = (hurries ? HURRY_MS : TICK_MS) * 1000000L};
        nanosleep(&tick, NULL);
        hurries = false;
        int64_t now = clock_mono_ms();
        if (now - self->looked_ms < AWAY_MS) continue;
        pthread_mutex_lock(&self->lock);
        if (ration_due(self->ration, now)) hurries = cut_greedy(self, false, now) > 0;
        pthread_mutex_unlock(&self->lock);
    }
    return NULL;
}

/* --- Beginning and end --- */

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    door_look(arg);
    return 0;
}

static void add(door_t *self, zsock_t *socket)
{
    int type = zsock_type(socket);
    entry_t entry = {.endpoint = mem_strdup(zsock_endpoint(socket)),
                     .socket = socket,
                     .listens = type == ZMQ_PUB || type == ZMQ_XPUB};
    const char *colon = strrchr(entry.endpoint, ':');
    if (str_starts(entry.endpoint, "tcp://") && colon)
        entry.port = (uint16_t)strtoul(colon + 1, NULL, 10);
    if (str_starts(entry.endpoint, "ipc://")) entry.path = entry.endpoint + strlen("ipc://");
    VEC_PUSH(&self->entries, entry);
    self->bulk |= type == ZMQ_ROUTER && zsock_sndhwm(socket) == MSG_SEND_QUEUE;
}

door_t *door_new(zloop_t *loop, zsock_t *const *sockets, size_t n, err_t *err)
{
    door_t *self = mem_calloc(1, sizeof *self);
    pthread_mutex_init(&self->lock, NULL);
    for (size_t i = 0; i < n; i++)
        if (sockets[i] && zsock_endpoint(sockets[i])) add(self, sockets[i]);
    for (size_t i = 0; i < self->entries.n; i++)
        if (keyring_guards(self->entries.at[i].endpoint))
            self->entries.at[i].monitor = endpoint_watch(self->entries.at[i].socket,
                                                         ZMQ_EVENT_DISCONNECTED |
                                                             ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    uint64_t half = limit() / 2;
    const ration_limits_t limits = {.connections = half < MSG_KEY_CONNECTIONS ? (size_t)half
                                                                              : MSG_KEY_CONNECTIONS,
                                    .total = self->bulk ? MSG_HELD_BULK : MSG_HELD_TOTAL,
                                    .curve = keyring_own() != NULL,
                                    .alone = !self->bulk};
    self->ration = ration_new(&limits);
    self->seed = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (self->seed < 0) {
        err_set_errno(err, "/dev/null");
        door_destroy(&self);
        return NULL;
    }
    zloop_timer(loop, TICK_MS, 0, on_tick, self);
    self->looked_ms = clock_mono_ms();
    self->guarded = pthread_create(&self->guard, NULL, guard_main, self) == 0;
    return self;
}

void door_destroy(door_t **self_p)
{
    door_t *self = *self_p;
    if (!self) return;
    self->ends = true;
    if (self->guarded) pthread_join(self->guard, NULL);
    pthread_mutex_destroy(&self->lock);
    if (self->seed >= 0) close(self->seed);
    ration_destroy(&self->ration);
    for (size_t i = 0; i < self->entries.n; i++) {
        if (self->entries.at[i].monitor) endpoint_unwatch(self->entries.at[i].socket);
        zsock_destroy(&self->entries.at[i].monitor);
        free(self->entries.at[i].endpoint);
    }
    VEC_FREE(&self->entries);
    VEC_FREE(&self->cut);
    free(self);
    *self_p = NULL;
}
