/* The HTTP server and clients that send much: what comes faster than it is read waits for nothing else, and what many
 * bodies took is given back when they are gone. The clients are a process of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/memory.h"
#include "http/http.h"

enum {
    MIB = 1 << 20,
    TICK_MS = 100, /* of the server's */
    PIECE = 16 << 10,
    MOST_CLIENTS = 128,
    PATIENCE_MS = 60000,
};

typedef struct {
    zloop_t *loop;
    http_t *http;
    int ticks;
    int answered, wanted; /* requests */
    size_t n_body;        /* bytes of the last one */
    uint64_t after;       /* to have no more than; 0: memory does not matter */
    int64_t since_ms;
} rig_t;

static void on_request(void *user, http_request_t *request)
{
    rig_t *self = user;
    self->n_body = http_body(request)->n;
    self->answered++;
    http_answer_text(request, HTTP_OK, "read");
}

static int on_tick(zloop_t *loop, int timer, void *user)
{
    (void)loop, (void)timer;
    rig_t *self = user;
    self->ticks++;
    bool done = self->answered == self->wanted && http_connections(self->http) == 0 &&
                (!self->after || memory_resident() <= self->after);
    return done || clock_mono_ms() - self->since_ms > PATIENCE_MS ? -1 : 0;
}

static void setup(rig_t *self, size_t body_bytes)
{
    err_t err = {0};
    http_options_t options = http_read_only("127.0.0.1:0");
    options.read_only = false;
    options.request_ms = options.answer_ms = PATIENCE_MS;
    options.connections = MOST_CLIENTS * 2;
    options.body_bytes = body_bytes;
    options.handler = on_request;
    options.user = self;
    *self = (rig_t){.loop = zloop_new(), .since_ms = clock_mono_ms()};
    self->http = http_new(self->loop, &options, &err);
    if (!self->http) fail_msg("%s", err.text);
    zloop_timer(self->loop, TICK_MS, 0, on_tick, self);
}

static void teardown(rig_t *self)
{
    http_destroy(&self->http);
    zloop_destroy(&self->loop);
}

/* --- the clients --- */

static void say(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0) _exit(1);
        bytes += sent;
        n -= (size_t)sent;
    }
}

static int ask(unsigned port, size_t n_body)
{
    char head[128];
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0) _exit(1);
    snprintf(head, sizeof head, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n",
             n_body);
    say(fd, head, strlen(head));
    return fd;
}

/* All at the same time, piece by piece in turn. */
static pid_t clients(const rig_t *self, size_t n_body)
{
    unsigned port = http_port(self->http);
    pid_t child = fork();
    if (child != 0) return child;
    static const char piece[PIECE];
    char answer[1024];
    int fd[MOST_CLIENTS];
    for (int i = 0; i < self->wanted; i++) fd[i] = ask(port, n_body);
    for (size_t at = 0; at < n_body; at += PIECE)
        for (int i = 0; i < self->wanted; i++) say(fd[i], piece, PIECE);
    for (int i = 0; i < self->wanted; i++)
        if (recv(fd[i], answer, sizeof answer, 0) <= 0) _exit(1);
    _exit(0);
}

static void serve(rig_t *self, size_t n_body)
{
    int status;
    pid_t child = clients(self, n_body);
    zloop_start(self->loop);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(self->answered, self->wanted);
    assert_int_equal(self->n_body, n_body);
}

/* --- the tests --- */

/* More than a turn of the server's reads: 16 times 8 KiB. If the rest had to wait for a tick there would be 128. */
static void a_long_body_waits_for_no_tick(void **unused)
{
    (void)unused;
    const size_t n_body = 16 * MIB;
    rig_t self;
    setup(&self, n_body);
    self.wanted = 1;
    serve(&self, n_body);
    assert_in_range(self.ticks, 1, 60);
    teardown(&self);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void bodies_leave_nothing_in_memory(void **unused)
{
    (void)unused;
    rig_t self;
    setup(&self, MIB);
    self.wanted = MOST_CLIENTS;
    self.after = memory_resident() + MOST_CLIENTS / 4 * (uint64_t)MIB;
    serve(&self, MIB);
    assert_true(memory_resident() <= self.after);
    teardown(&self);
}
#else /* another allocator, which keeps what is freed */
static void bodies_leave_nothing_in_memory(void **unused)
{
    (void)unused;
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_long_body_waits_for_no_tick),
                                       cmocka_unit_test(bodies_leave_nothing_in_memory)};
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
