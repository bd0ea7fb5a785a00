/* One connection, tried and closed. Threads are detached, for a name server that is away holds them
 * up longer than anybody wants to wait: they own what they work with, and answer into a socket. */
#include "msg/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hand_over.h"
#include "base/mem.h"
#include "base/str.h"
#include "msg/keyring.h"

/* 0, or what errno would be. */
static int try_connect(int family, const struct sockaddr *address, socklen_t n, int64_t until_ms)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), fault = 0;
    if (fd < 0) return errno;
    if (connect(fd, address, n) < 0) fault = errno;
    if (fault == EINPROGRESS) {
        struct pollfd item = {.fd = fd, .events = POLLOUT};
        int64_t left = until_ms - clock_mono_ms();
        socklen_t size = sizeof fault;
        if (poll(&item, 1, left > 0 ? (int)left : 0) != 1)
            fault = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &size) < 0)
            fault = errno;
    }
    close(fd);
    return fault;
}

static int unreachable(const char *endpoint, const char *reason, err_t *err)
{
    return err_set(err, ERR_NET, "cannot reach %s (%s)", endpoint, reason);
}

static const char *fault_text(int fault)
{
    return fault == ETIMEDOUT ? "no answer" : strerrordesc_np(fault);
}

static int check_ipc(const char *endpoint, const char *path, err_t *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return unreachable(endpoint, "the path is too long", err);
    memcpy(address.sun_path, path, strlen(path));
    int fault = try_connect(AF_UNIX, (struct sockaddr *)&address, sizeof address,
                            clock_mono_ms() + REACH_MS);
    if (fault == 0 || fault == EAGAIN) return 0; /* its queue is full: somebody listens */
    return unreachable(endpoint, fault == ENOENT ? "no such socket" : fault_text(fault), err);
}

static int check_tcp(const char *endpoint, const char *place, err_t *err)
{
    const char *colon = strrchr(place, ':');
    if (!colon || colon == place) return unreachable(endpoint, "want tcp://HOST:PORT", err);
    bool bracketed = *place == '[' && colon[-1] == ']';
    char *host = mem_printf("%.*s", (int)(colon - place) - 2 * bracketed, place + bracketed);
    struct addrinfo *list = NULL, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    int bad = getaddrinfo(host, colon + 1, &hints, &list), fault = bad ? 0 : ETIMEDOUT;
    int64_t until_ms = clock_mono_ms() + REACH_MS;
    for (struct addrinfo *a = list; a; a = a->ai_next)
        if ((fault = try_connect(a->ai_family, a->ai_addr, a->ai_addrlen, until_ms)) == 0) break;
    if (list) freeaddrinfo(list);
    free(host);
    if (bad) return unreachable(endpoint, gai_strerror(bad), err);
    return fault ? unreachable(endpoint, fault_text(fault), err) : 0;
}

int reach_check(const char *endpoint, err_t *err)
{
    if (str_starts(endpoint, "ipc://")) return check_ipc(endpoint, endpoint + 6, err);
    if (!str_starts(endpoint, "tcp://")) return 0;
    char *place = mem_printf("%.*s", (int)keyring_bare(endpoint) - 6, endpoint + 6);
    int rc = check_tcp(endpoint, place, err);
    free(place);
    return rc;
}

/* --- By threads --- */

struct reach {
    reach_fn *tell;
    void *user;
    int in, out; /* a pair of sockets: answers come in, threads have copies of `out` */
    size_t n_open;
};

typedef struct {
    char *endpoint;
    int out;
} question_t;

/* An answer: the endpoint, NUL, the fault (empty: none). */
static void *thread_main(void *arg)
{
    question_t *self = take_over(arg);
    err_t err = {0};
    reach_check(self->endpoint, &err);
    size_t at = strlen(self->endpoint) + 1, n = at + strlen(err.text) + 1;
    char *text = mem_calloc(n, 1);
    memcpy(text, self->endpoint, at);
    memcpy(text + at, err.text, n - at);
    ssize_t sent = send(self->out, text, n, MSG_NOSIGNAL); /* or nobody waits any more */
    (void)sent;
    close(self->out);
    free(text);
    free(self->endpoint);
    free(self);
    return NULL;
}

void reach_hear(reach_t *self)
{
    char text[8192];
    for (ssize_t n; (n = recv(self->in, text, sizeof text - 1, MSG_DONTWAIT)) > 0;) {
        text[n] = '\0';
        const char *fault = text + strlen(text) + 1;
        self->n_open--;
        if (fault <= text + n) self->tell(self->user, text, *fault ? fault : NULL);
    }
}

reach_t *reach_new(reach_fn *tell, void *user, err_t *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        err_set_errno(err, "a pair of sockets");
        return NULL;
    }
    reach_t *self = mem_calloc(1, sizeof *self);
    *self = (reach_t){.tell = tell, .user = user, .in = pair[0], .out = pair[1]};
    return self;
}

void reach_destroy(reach_t **self_p)
{
    reach_t *self = *self_p;
    if (!self) return;
    close(self->in);
    close(self->out);
    free(self);
    *self_p = NULL;
}

void reach_ask(reach_t *self, const char *endpoint)
{
    question_t *question = mem_calloc(1, sizeof *question);
    *question = (question_t){mem_strdup(endpoint), fcntl(self->out, F_DUPFD_CLOEXEC, 0)};
    pthread_attr_t detached;
    pthread_t thread;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (question->out >= 0 &&
        pthread_create(&thread, &detached, thread_main, hand_over(question)) == 0) {
        self->n_open++;
    } else { /* no descriptors or threads left: another time */
        if (question->out >= 0) close(question->out);
        free(question->endpoint);
        free(question);
    }
    pthread_attr_destroy(&detached);
}

size_t reach_open(const reach_t *self)
{
    return self->n_open;
}
