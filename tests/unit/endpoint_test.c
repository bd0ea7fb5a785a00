/* Sockets that other processes reach: who greets as ZeroMQ's versions before 3 did is turned away, for libzmq 4.3.4 ends
 * the process where such a greeting and the end of its socket meet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "msg/endpoint.h"
#include "msg/guest.h"
#include "temp.h"

/* The beginnings of ZMTP 1.0, of 1.0 with a version, of 2.0, each with an identity of three bytes; and of 3.0. */
#define SIGNATURE "\xff\0\0\0\0\0\0\0\x01\x7f"
#define NULLS_16 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define READY                                    \
    "\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06" \
    "DEALER"
enum { OLD = 3, GREETINGS = 4 };
static const struct {
    const char *bytes;
    size_t n;
} greetings[GREETINGS] = {
    {"\x04\x00you", 5},
    {SIGNATURE "\x00\x05\x04\x00you", 16},
    {SIGNATURE "\x01\x05\x00\x03you", 16},
    {SIGNATURE "\x03\x00NULL" NULLS_16 NULLS_16 NULLS_16 READY, 94},
};

static int dial(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = 10};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
    close(fd);
    return -1;
}

static zsock_t *open_router(uint16_t *port)
{
    err_t err = {0};
    zsock_t *router = endpoint_open(endpoint_bind(ZMQ_ROUTER, "tcp://127.0.0.1:*"), &err);
    if (!router) fail_msg("%s", err.text);
    *port = (uint16_t)atoi(strrchr(zsock_endpoint(router), ':') + 1);
    return router;
}

static void old_greetings_end_the_connection(void **state)
{
    (void)state;
    uint16_t port;
    zsock_t *router = open_router(&port);
    for (size_t i = 0; i < OLD; i++) {
        int fd = dial(port);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, greetings[i].bytes, greetings[i].n), (ssize_t)greetings[i].n);
        char answer[256];
        ssize_t n;
        while ((n = read(fd, answer, sizeof answer)) > 0) continue;
        if (n < 0 && errno != ECONNRESET) fail_msg("greeting %zu: the connection stays", i);
        close(fd);
    }
    char *address = strdup(zsock_endpoint(router));
    zsock_t *dealer = endpoint_open(endpoint_connect(ZMQ_DEALER, address), NULL);
    zstr_send(dealer, "hello");
    zmsg_t *message = zmsg_recv(router);
    assert_int_equal(zmsg_size(message), 2);
    zmsg_destroy(&message);
    free(address);
    zsock_destroy(&dealer);
    zsock_destroy(&router);
}

enum { CALLERS = 4, AT_ONCE = 64, OPENINGS = 60 };

typedef struct {
    _Atomic int port; /* 0: all is over */
} callers_t;

/* The identity comes after the greeting, one connection after the other, so that a socket's end meets some. */
static void *call_and_call(void *arg)
{
    callers_t *self = arg;
    for (int port, i = 0; (port = self->port) != 0; i++) {
        size_t which = (size_t)i % GREETINGS, n = greetings[which].n;
        int fds[AT_ONCE], n_fds = 0;
        for (; n_fds < AT_ONCE && (fds[n_fds] = dial((uint16_t)port)) >= 0; n_fds++)
            if (send(fds[n_fds], greetings[which].bytes, n - 2, MSG_NOSIGNAL) < 0) continue;
        for (int k = 0; k < n_fds; k++) {
            if (send(fds[k], greetings[which].bytes + n - 2, 2, MSG_NOSIGNAL) < 0) continue;
            usleep(100);
        }
        for (int k = 0; k < n_fds; k++) close(fds[k]);
    }
    return NULL;
}

static int open_and_close(void)
{
    callers_t callers;
    pthread_t threads[CALLERS];
    uint16_t port;
    zsock_t *router = open_router(&port);
    callers.port = port;
    for (int i = 0; i < CALLERS; i++) pthread_create(&threads[i], NULL, call_and_call, &callers);
    for (int i = 0; i < OPENINGS; i++) {
        zclock_sleep(20);
        zsock_destroy(&router);
        router = open_router(&port);
        callers.port = port;
    }
    callers.port = 0;
    for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
    zsock_destroy(&router);
    zsys_shutdown();
    return 0;
}

static void greetings_at_the_end_of_a_socket(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) _exit(open_and_close());
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Our end of a connection, by the other one's port. */
static int end_of(int other)
{
    struct sockaddr_in at, peer;
    socklen_t n = sizeof at;
    getsockname(other, (struct sockaddr *)&at, &n);
    for (int fd = 3; fd < 256; fd++) {
        n = sizeof peer;
        if (fd != other && getpeername(fd, (struct sockaddr *)&peer, &n) == 0 &&
            peer.sin_family == AF_INET && peer.sin_port == at.sin_port)
            return fd;
    }
    return -1;
}

static void reset(int fd)
{
    const struct linger none = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(fd);
}

/* It reads the end of its connection; dial has set how long it is waited for. */
static bool is_told(int fd)
{
    char bytes[64];
    ssize_t end;
    while ((end = read(fd, bytes, sizeof bytes)) > 0) continue;
    bool is = end == 0 || errno == ECONNRESET;
    close(fd);
    return is;
}

/* A peer that says more than is read, with a ping behind each message, is cut, or resets its connection: what has come is
 * read, who is cut is told, and the descriptor is free again. (Where libzmq 4.3.4 has stopped to read, since a queue was
 * full, and is told of a hangup, it ends the process at such a ping.) */
static int read_of_one(bool data, bool resets)
{
    static const char ping[] = "\x04\x07\x04PING\x00\x00", text[] = "\x00\x02hi";
    enum { MESSAGES = 20000 };
    uint16_t port;
    err_t err = {0};
    endpoint_t at = endpoint_bind(ZMQ_ROUTER, "tcp://127.0.0.1:*");
    zsock_t *router = endpoint_open(data ? endpoint_of_data(at) : at, &err);
    if (!router) return 2;
    port = (uint16_t)atoi(strrchr(zsock_endpoint(router), ':') + 1);
    int fd = dial(port), left = 0;
    if (fd < 0 || write(fd, greetings[OLD].bytes, greetings[OLD].n) != (ssize_t)greetings[OLD].n)
        return 3;
    char bytes[64];
    while (left < 94 && read(fd, bytes, 1) == 1) left++; /* its greeting and READY */
    for (int i = 0; i < MESSAGES; i++) {
        if (send(fd, text, 4, MSG_NOSIGNAL | MSG_DONTWAIT) != 4) break;
        if (send(fd, ping, 9, MSG_NOSIGNAL | MSG_DONTWAIT) != 9) break;
    }
    zclock_sleep(200);
    int ours = end_of(fd);
    if (ours < 0) return 5;
    if (resets)
        reset(fd);
    else
        guest_cut(ours);
    zclock_sleep(200);
    zsock_set_rcvtimeo(router, 500);
    int n = 0;
    for (zmsg_t *message; (message = zmsg_recv(router)); n++) zmsg_destroy(&message);
    if (!resets && !is_told(fd)) return 6;
    for (int i = 0; i < 500 && fcntl(ours, F_GETFD) >= 0; i++) zclock_sleep(10);
    if (fcntl(ours, F_GETFD) >= 0) return 7; /* the library has not closed it */
    zsock_destroy(&router);
    zsys_shutdown();
    return n > 0 ? 0 : 4;
}

static void connections_that_are_cut_or_reset(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        pid_t pid = fork();
        if (pid == 0) _exit(read_of_one(i & 1, i & 2));
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

/* A path at which a process listens is its own; the file of one that was killed is nobody's. */
static void paths_that_are_taken(void **state)
{
    (void)state;
    char *dir = temp_dir(), *address = mem_printf("ipc://%s/door", dir);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s/door", dir);
    int left = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(left, (struct sockaddr *)&at, sizeof at), 0);
    close(left);

    err_t err = {0};
    zsock_t *first = endpoint_open(endpoint_bind(ZMQ_ROUTER, address), &err);
    if (!first) fail_msg("%s", err.text);
    assert_null(endpoint_open(endpoint_bind(ZMQ_ROUTER, address), &err));
    assert_int_equal(err.code, ERR_NET);
    assert_non_null(strstr(err.text, "another process listens there"));
    zsock_t *dealer = endpoint_open(endpoint_connect(ZMQ_DEALER, address), NULL);
    zstr_send(dealer, "hello");
    zmsg_t *message = zmsg_recv(first);
    assert_int_equal(zmsg_size(message), 2);
    zmsg_destroy(&message);
    zsock_destroy(&dealer);
    zsock_destroy(&first);
    first = endpoint_open(endpoint_bind(ZMQ_ROUTER, address), &err);
    assert_non_null(first);
    zsock_destroy(&first);
    first = endpoint_open(endpoint_bind(ZMQ_PUB, address), &err); /* a leader, and its stand-by */
    zsock_t *second = endpoint_open(endpoint_bind(ZMQ_PUB, address), &err);
    assert_non_null(second);
    zsock_destroy(&first);
    zsock_destroy(&second);
    free(address);
    temp_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greetings_at_the_end_of_a_socket), /* forks: before any thread */
        cmocka_unit_test(connections_that_are_cut_or_reset),
        cmocka_unit_test(old_greetings_end_the_connection),
        cmocka_unit_test(paths_that_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
