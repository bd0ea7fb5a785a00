/* libmicrohttpd with its epoll descriptor in our loop. Connections are few, short-lived and
 * bounded: one that has not said what it wants in time, or is the oldest when there are many, is
 * shut, so that clients that say a byte now and then keep nobody else waiting. */
#include "metrics/http.h"

#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"

enum {
    CONNECTIONS = 128, /* more than KEPT, for those that come at once */
    KEPT = 48,
    BACKLOG = 512,
    TIMEOUT_S = 10,    /* without a byte */
    REQUEST_MS = 5000, /* from the connection, or the answer before, to the end of a request */
    MEMORY_BYTES = 16 << 10, /* of a connection: request line and headers */
    TICK_MS = 100,           /* time-outs */
    AT_ONCE = 16,            /* rounds of MHD_run before others have their turn */
};

/* A connection; free when fd is negative. */
typedef struct {
    int fd;
    bool shut;
    int64_t since_ms; /* it came, or had its last answer */
} client_t;

struct http {
    zloop_t *loop;
    client_t client[CONNECTIONS];
    struct MHD_Daemon *daemon;
    zmq_pollitem_t item;
    int timer;
    http_answer_fn *answer;
    void *user;
};

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, str_t *body)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(body->n, body->at,
                                                                    MHD_RESPMEM_MUST_FREE);
    if (!response) {
        str_fini(body);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                            "text/plain; version=0.0.4; charset=utf-8");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result rc = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return rc;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *n_upload, void **state)
{
    (void)version, (void)upload, (void)n_upload, (void)state;
    http_t *self = user;
    str_t body = {0};
    unsigned status = MHD_HTTP_METHOD_NOT_ALLOWED;
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        status = self->answer(self->user, url, &body);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) str_add(&body, "only GET and HEAD\n");
    if (status == MHD_HTTP_NOT_FOUND) str_add(&body, "try /metrics, /healthz, /readyz\n");
    return reply(connection, status, &body);
}

/* --- Clients that are slow --- */

static void shut(client_t *client)
{
    shutdown(client->fd, SHUT_RDWR); /* microhttpd notices, and closes it */
    client->shut = true;
}

static void shut_oldest(http_t *self)
{
    client_t *oldest = NULL;
    size_t n = 0;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        client_t *one = &self->client[i];
        if (one->fd < 0 || one->shut) continue;
        n++;
        if (!oldest || one->since_ms < oldest->since_ms) oldest = one;
    }
    if (n > KEPT) shut(oldest);
}

static void shut_slow(http_t *self, int64_t now_ms)
{
    for (size_t i = 0; i < CONNECTIONS; i++) {
        client_t *one = &self->client[i];
        if (one->fd >= 0 && !one->shut && now_ms - one->since_ms > REQUEST_MS) shut(one);
    }
}

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    http_t *self = user;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*context) ((client_t *)*context)->fd = -1;
        return;
    }
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    for (size_t i = 0; info && i < CONNECTIONS; i++) {
        if (self->client[i].fd >= 0) continue;
        self->client[i] = (client_t){.fd = info->connect_fd, .since_ms = clock_mono_ms()};
        *context = &self->client[i];
        break;
    }
    shut_oldest(self);
}

/* Answered: the time for its next request begins. */
static void on_answered(void *user, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode why)
{
    (void)user, (void)state, (void)why;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    client_t *client = info ? info->socket_context : NULL;
    if (client) client->since_ms = clock_mono_ms();
}

/* --- In the loop --- */

static void run(http_t *self)
{
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    for (int i = 0; i < AT_ONCE; i++) {
        MHD_run(self->daemon);
        if (MHD_get_timeout(self->daemon, &wait_ms) != MHD_YES || wait_ms > 0) return;
    }
}

static int on_readable(zloop_t *loop, zmq_pollitem_t *item, void *user)
{
    (void)loop, (void)item;
    run(user);
    return 0;
}

static int on_tick(zloop_t *loop, int timer, void *user)
{
    (void)loop, (void)timer;
    shut_slow(user, clock_mono_ms());
    run(user);
    return 0;
}

/* "HOST:PORT" or "[HOST]:PORT" to a listening socket, or -1. */
static int listen_at(const char *address, err_t *err)
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address || !colon[1])
        return err_set(err, ERR_ARG, "\"%s\" is not HOST:PORT", address);
    bool brackets = *address == '[' && colon[-1] == ']';
    char *host = mem_printf("%.*s", (int)(colon - address) - 2 * brackets, address + brackets);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list = NULL;
    int found = getaddrinfo(host, colon + 1, &hints, &list), fd = -1, on = 1;
    free(host);
    if (found != 0) return err_set(err, ERR_ARG, "%s: %s", address, gai_strerror(found));
    fd = socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, list->ai_addr, list->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
        err_set_errno(err, "cannot listen on %s", address);
        if (fd >= 0) close(fd);
        fd = -1;
    }
    freeaddrinfo(list);
    return fd;
}

http_t *http_new(zloop_t *loop, const char *address, http_answer_fn *answer, void *user, err_t *err)
{
    int fd = listen_at(address, err);
    if (fd < 0) return NULL;
    http_t *self = mem_calloc(1, sizeof *self);
    *self = (http_t){.loop = loop, .answer = answer, .user = user, .timer = -1};
    for (size_t i = 0; i < CONNECTIONS; i++) self->client[i].fd = -1;
    self->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, on_request, self, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, self, MHD_OPTION_NOTIFY_COMPLETED, on_answered,
        self, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        self->daemon ? MHD_get_daemon_info(self->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) {
        err_set(err, ERR_STATE, "%s: no HTTP server", address);
        if (!self->daemon) close(fd);
        http_destroy(&self);
        return NULL;
    }
    self->item = (zmq_pollitem_t){.fd = info->epoll_fd, .events = ZMQ_POLLIN};
    zloop_poller(loop, &self->item, on_readable, self);
    self->timer = zloop_timer(loop, TICK_MS, 0, on_tick, self);
    return self;
}

unsigned http_port(const http_t *self)
{
    struct sockaddr_storage at = {0};
    socklen_t n = sizeof at;
    char port[16] = "0";
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(self->daemon, MHD_DAEMON_INFO_LISTEN_FD);
    if (info && getsockname(info->listen_fd, (struct sockaddr *)&at, &n) == 0)
        getnameinfo((struct sockaddr *)&at, n, NULL, 0, port, sizeof port, NI_NUMERICSERV);
    return (unsigned)strtoul(port, NULL, 10);
}

void http_destroy(http_t **self_p)
{
    http_t *self = *self_p;
    if (!self) return;
    if (self->timer >= 0) {
        zloop_timer_end(self->loop, self->timer);
        zloop_poller_end(self->loop, &self->item);
    }
    if (self->daemon) MHD_stop_daemon(self->daemon); /* closes the listening socket */
    free(self);
    *self_p = NULL;
}
