/* A relay that cuts connections at a COMMIT. */
#include "cut_proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct cut_proxy {
    int listener, port, server_port;
    cut_t cut;
    atomic_int stop, cuts;
    pthread_t thread;
};

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int server_connect(const cut_proxy_t *self)
{
    struct sockaddr_in to = loopback(self->server_port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
    close(fd);
    return -1;
}

static int readable(const cut_proxy_t *self, struct pollfd *fds, nfds_t n)
{
    while (!self->stop)
        if (poll(fds, n, 50) > 0) return 1;
    return 0;
}

/* Relay what is there; 0: the connection has ended. */
static int relay(int from, int to, char *buffer, size_t size, ssize_t *n)
{
    *n = recv(from, buffer, size, 0);
    if (*n <= 0) return 0;
    return to < 0 || send(to, buffer, (size_t)*n, MSG_NOSIGNAL) == *n;
}

/* The driver sends "Parse COMMIT", waits, then sends "Bind, Execute": the message after the one
 * that holds the word is the COMMIT itself. */
static void serve(cut_proxy_t *self, int client, int server)
{
    char buffer[65536];
    ssize_t n;
    int parsed = 0;
    for (;;) {
        struct pollfd fds[2] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
        if (!readable(self, fds, 2)) return;
        if (fds[1].revents && !relay(server, client, buffer, sizeof buffer, &n)) return;
        if (!fds[0].revents) continue;
        if (parsed && self->cut != CUT_NOT && self->cuts == 0) {
            self->cuts++;
            while (self->cut == CUT_STALL && !self->stop) usleep(10000);
            if (self->cut != CUT_AFTER) return;
            if (!relay(client, server, buffer, sizeof buffer, &n)) return;
            if (readable(self, &fds[1], 1)) relay(server, -1, buffer, sizeof buffer, &n);
            return;
        }
        if (!relay(client, server, buffer, sizeof buffer, &n)) return;
        parsed = memmem(buffer, (size_t)n, "COMMIT", 7) != NULL;
    }
}

static void *run(void *user)
{
    cut_proxy_t *self = user;
    struct pollfd p = {.fd = self->listener, .events = POLLIN};
    while (readable(self, &p, 1)) {
        int client = accept(self->listener, NULL, NULL);
        int server = server_connect(self);
        if (client >= 0 && server >= 0) serve(self, client, server);
        if (client >= 0) close(client);
        if (server >= 0) close(server);
    }
    return NULL;
}

cut_proxy_t *cut_proxy_new(int server_port, cut_t cut)
{
    cut_proxy_t *self = calloc(1, sizeof *self);
    struct sockaddr_in at = loopback(0);
    socklen_t n = sizeof at;
    self->server_port = server_port;
    self->cut = cut;
    self->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(self->listener, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(self->listener, 4), 0);
    assert_int_equal(getsockname(self->listener, (struct sockaddr *)&at, &n), 0);
    self->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&self->thread, NULL, run, self), 0);
    return self;
}

int cut_proxy_port(const cut_proxy_t *self)
{
    return self->port;
}

int cut_proxy_cuts(const cut_proxy_t *self)
{
    return self->cuts;
}

void cut_proxy_destroy(cut_proxy_t **self_p)
{
    cut_proxy_t *self = *self_p;
    if (!self) return;
    self->stop = 1;
    pthread_join(self->thread, NULL);
    close(self->listener);
    free(self);
    *self_p = NULL;
}
