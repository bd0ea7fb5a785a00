/* The metrics service as a whole, with peers that misbehave: a port that was another program's,
 * clients that say a byte now and then. */
#include <arpa/inet.h>
#include <czmq.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "metrics/loop.h"

typedef struct {
    metrics_config_t config;
    int stop[2], http_port;
    pthread_t thread;
} service_t;

static void *service_main(void *arg)
{
    service_t *self = arg;
    loop_t loop = {.config = &self->config};
    err_t err = {0};
    if (loop_run(&loop, self->stop[0], &err) < 0) fprintf(stderr, "# %s\n", err.text);
    return NULL;
}

/* A port that is free now. */
static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static void service_begin(service_t *self, int events_port)
{
    *self = (service_t){.http_port = free_port()};
    self->config = (metrics_config_t){.events = mem_printf("tcp://127.0.0.1:%d", events_port),
                                      .http = mem_printf("127.0.0.1:%d", self->http_port),
                                      .stale_ms = 5000,
                                      .keep_s = 3600,
                                      .queue = 64};
    assert_int_equal(pipe2(self->stop, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(pthread_create(&self->thread, NULL, service_main, self), 0);
}

static void service_stop(service_t *self)
{
    assert_int_equal(write(self->stop[1], "x", 1), 1);
    pthread_join(self->thread, NULL);
    free(self->config.events);
    free(self->config.http);
    close(self->stop[0]);
    close(self->stop[1]);
}

static int dial(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0) return fd;
    close(fd);
    return -1;
}

/* The status of a GET, or 0: no answer within a second. */
static int get(int port, const char *path)
{
    char request[128], answer[16] = {0};
    int fd = dial(port);
    if (fd < 0) return 0;
    struct timeval second = {.tv_sec = 1};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    int n = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path), status = 0;
    if (send(fd, request, (size_t)n, MSG_NOSIGNAL) == n && recv(fd, answer, 12, MSG_WAITALL) == 12)
        status = atoi(answer + 9);
    close(fd);
    return status;
}

static bool comes(int port, const char *path, int status, int64_t limit_ms)
{
    for (int64_t end = clock_mono_ms() + limit_ms; clock_mono_ms() < end; usleep(50000))
        if (get(port, path) == status) return true;
    return false;
}

/* --- A port that is another program's for a while --- */

typedef struct {
    int fd;
    _Atomic int met;
} rival_t;

/* ZeroMQ's greeting, with a way to authenticate that we do not have. */
static void *rival_main(void *arg)
{
    rival_t *self = arg;
    unsigned char greeting[64] = {0xFF, 0, 0, 0,   0,   0,   0,   0,  1,
                                  0x7F, 3, 0, 'C', 'U', 'R', 'V', 'E'};
    for (;;) {
        int fd = accept(self->fd, NULL, NULL);
        if (fd < 0) return NULL;
        unsigned char theirs[64];
        send(fd, greeting, sizeof greeting, MSG_NOSIGNAL);
        recv(fd, theirs, sizeof theirs, MSG_WAITALL);
        self->met++;
        usleep(20000);
        close(fd);
    }
}

static void test_rival(void **state)
{
    (void)state;
    int port = free_port(), on = 1;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    rival_t rival = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    setsockopt(rival.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    assert_int_equal(bind(rival.fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(rival.fd, 16), 0);
    pthread_t thread;
    pthread_create(&thread, NULL, rival_main, &rival);
    service_t service;
    service_begin(&service, port);
    for (int i = 0; i < 200 && !rival.met; i++) usleep(50000);
    assert_true(rival.met > 0);
    assert_int_equal(get(service.http_port, "/readyz"), 503);
    shutdown(rival.fd, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(rival.fd);
    zsock_t *events = zsock_new(ZMQ_PUB);
    assert_int_equal(zsock_bind(events, "tcp://127.0.0.1:%d", port), port);
    assert_true(comes(service.http_port, "/readyz", 200, 30000));
    zsock_destroy(&events);
    assert_true(comes(service.http_port, "/readyz", 503, 10000));
    events = zsock_new(ZMQ_PUB); /* and again */
    assert_int_equal(zsock_bind(events, "tcp://127.0.0.1:%d", port), port);
    assert_true(comes(service.http_port, "/readyz", 200, 30000));
    zsock_destroy(&events);
    service_stop(&service);
}

/* --- Slow clients --- */

enum { DRIPS = 200 };

typedef struct {
    int port;
    _Atomic bool stop;
} drip_t;

/* A byte of a header to each, ten times a second; who is shut comes again. */
static void *drip_main(void *arg)
{
    drip_t *self = arg;
    int fd[DRIPS];
    for (int i = 0; i < DRIPS; i++) fd[i] = -1;
    for (int round = 0; !self->stop; round++, usleep(100000))
        for (int i = 0; i < DRIPS; i++) {
            if (fd[i] < 0) {
                fd[i] = dial(self->port);
                if (fd[i] >= 0) send(fd[i], "GET / HTTP/1.1\r\nX: ", 19, MSG_NOSIGNAL);
            } else if (send(fd[i], "a", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
                close(fd[i]);
                fd[i] = -1;
            }
        }
    for (int i = 0; i < DRIPS; i++)
        if (fd[i] >= 0) close(fd[i]);
    return NULL;
}

static void test_slow_clients(void **state)
{
    (void)state;
    service_t service;
    service_begin(&service, free_port());
    assert_true(comes(service.http_port, "/healthz", 200, 10000));
    drip_t drip = {.port = service.http_port};
    pthread_t thread;
    pthread_create(&thread, NULL, drip_main, &drip);
    usleep(1000000);
    for (int i = 0; i < 20; i++, usleep(100000))
        assert_int_equal(get(service.http_port, "/healthz"), 200);
    drip.stop = true;
    pthread_join(thread, NULL);
    service_stop(&service);
}

/* A request that is begun and goes on slowly ends, even when nobody else comes. */
static void test_deadline(void **state)
{
    (void)state;
    service_t service;
    service_begin(&service, free_port());
    assert_true(comes(service.http_port, "/healthz", 200, 10000));
    int fd = dial(service.http_port);
    int64_t begin = clock_mono_ms();
    assert_int_equal(send(fd, "GET / HTTP/1.1\r\nX: ", 19, MSG_NOSIGNAL), 19);
    char byte;
    while (recv(fd, &byte, 1, MSG_DONTWAIT) != 0 && clock_mono_ms() < begin + 20000) {
        send(fd, "a", 1, MSG_NOSIGNAL);
        usleep(200000);
    }
    assert_in_range(clock_mono_ms() - begin, 1000, 12000);
    close(fd);
    service_stop(&service);
}

int main(void)
{
    log_init("metrics_service_test", LOG_OFF, LOG_LOGFMT);
    signal(SIGPIPE, SIG_IGN);
    zsys_init();
    zsys_handler_set(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rival),
        cmocka_unit_test(test_slow_clients),
        cmocka_unit_test(test_deadline),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
