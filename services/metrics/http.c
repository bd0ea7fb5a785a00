/* libmicrohttpd with its epoll descriptor in our loop. Connections are few and bounded: one that has
 * not said what it wants in time, does not take its answer in time, or is the oldest when there are
 * many, is shut, so that clients that say or take a byte now and then keep nobody else waiting. */
#include "metrics/http.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/listen.h"
#include "base/mem.h"

enum {
    CONNECTIONS = 128, /* more than KEPT and STREAMS, for those that come at once */
    KEPT = 48,         /* besides streams */
    STREAMS = 32,
    TIMEOUT_S = 10,    /* without a byte */
    REQUEST_MS = 5000, /* from the connection, or the answer before, to the end of a request */
    ANSWER_MS = 30000, /* to take an answer */
    MEMORY_BYTES = 16 << 10, /* of a connection: request line and headers */
    TICK_MS = 100,           /* time-outs */
    AT_ONCE = 16,            /* rounds of MHD_run before others have their turn */
    SAID_BYTES = 4096,       /* that wait for a stream to take them */
};

/* ASKS: the client is to say what it wants; OWED: we are to answer; TAKES: the client is to take the
 * answer; STREAMS_ON: it does, until one side ends it. */
typedef enum { ASKS, OWED, TAKES, STREAMS_ON } client_state_t;

/* A connection; free when fd is negative. */
typedef struct {
    int fd;
    bool shut;
    client_state_t state;
    int64_t since_ms; /* of the state */
} client_t;

struct http_request {
    http_t *http;
    struct MHD_Connection *connection;
    client_t *client;
    char *path;
    struct MHD_Response *response; /* that was given; NULL: none yet */
    unsigned status;
    bool suspended, ending;
    str_t said; /* of a stream: what it has not taken */
    bool streams;
    http_request_t *next; /* in http_t's list */
};

struct http {
    zloop_t *loop;
    client_t client[CONNECTIONS];
    struct MHD_Daemon *daemon;
    zmq_pollitem_t item;
    int timer;
    http_options_t options;
    http_request_t *requests; /* all that are open */
    bool loopback, leaving;
};

/* --- requests and their answers --- */

static void set_state(client_t *client, client_state_t state)
{
    if (!client) return;
    client->state = state;
    client->since_ms = clock_mono_ms();
}

const char *http_path(const http_request_t *request)
{
    return request->path;
}

const char *http_query(const http_request_t *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *http_header(const http_request_t *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

static void wake(http_request_t *request)
{
    if (!request->suspended) return;
    request->suspended = false;
    MHD_resume_connection(request->connection);
}

static void give(http_request_t *request, unsigned status, struct MHD_Response *response)
{
    const char *const *header = request->http->options.headers;
    for (; header && *header; header += 2) MHD_add_response_header(response, header[0], header[1]);
    request->response = response;
    request->status = status;
    set_state(request->client, request->streams ? STREAMS_ON : TAKES);
    wake(request);
}

void http_answer(http_request_t *request, http_answer_t *answer)
{
    struct MHD_Response *response =
        answer->fixed ? MHD_create_response_from_buffer(answer->n_fixed, (void *)answer->fixed,
                                                        MHD_RESPMEM_PERSISTENT)
                      : MHD_create_response_from_buffer(answer->body.n, answer->body.at,
                                                        MHD_RESPMEM_MUST_FREE);
    assert(response); /* else there is no memory */
    if (answer->fixed) str_fini(&answer->body);
    answer->body = (str_t){0};
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    if (answer->etag) MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, answer->etag);
    if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    give(request, answer->status, response);
}

void http_answer_text(http_request_t *request, unsigned status, const char *format, ...)
{
    va_list args;
    char line[512];
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    http_answer_t answer = {.status = status, .type = "text/plain; charset=utf-8"};
    str_addf(&answer.body, "%s\n", line);
    http_answer(request, &answer);
}

/* --- streams --- */

static ssize_t read_stream(void *user, uint64_t at, char *out, size_t space)
{
    (void)at;
    http_request_t *request = user;
    size_t n = request->said.n < space ? request->said.n : space;
    if (n == 0 && request->ending) return MHD_CONTENT_READER_END_OF_STREAM;
    if (n == 0) {
        request->suspended = true;
        MHD_suspend_connection(request->connection);
        return 0;
    }
    memcpy(out, request->said.at, n);
    memmove(request->said.at, request->said.at + n, request->said.n - n + 1);
    request->said.n -= n;
    return (ssize_t)n;
}

size_t http_streams(const http_t *self)
{
    size_t n = 0;
    for (http_request_t *r = self->requests; r; r = r->next) n += r->streams && !r->ending;
    return n;
}

static void end_stream(http_request_t *request)
{
    request->ending = true;
    wake(request);
}

void http_stream(http_request_t *request, const char *first)
{
    http_t *self = request->http;
    if (http_streams(self) >= STREAMS) { /* new ones come first in the list */
        http_request_t *oldest = NULL;
        for (http_request_t *r = self->requests; r; r = r->next)
            if (r->streams && !r->ending) oldest = r;
        end_stream(oldest);
    }
    struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, SAID_BYTES,
                                                                      read_stream, request, NULL);
    assert(response);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
    request->streams = true;
    str_add(&request->said, first);
    give(request, MHD_HTTP_OK, response);
}

/* --- microhttpd's calls --- */

static void handle(http_request_t *request, const char *method)
{
    http_t *self = request->http;
    const char *host = http_header(request, "Host");
    if (self->leaving)
        http_answer_text(request, MHD_HTTP_SERVICE_UNAVAILABLE, "this service ends");
    else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        http_answer_text(request, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
    else if (self->loopback && self->options.local_names && host && !listen_is_local_name(host))
        http_answer_text(request, MHD_HTTP_MISDIRECTED_REQUEST,
                         "this page is for this machine: ask for localhost, not for another name");
    else
        self->options.handler(self->options.user, request);
}

static enum MHD_Result queue_response(http_request_t *request)
{
    struct MHD_Response *response = request->response;
    enum MHD_Result rc = MHD_queue_response(request->connection, request->status, response);
    MHD_destroy_response(response);
    request->response = NULL;
    return rc;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *n_upload, void **state)
{
    (void)version, (void)upload, (void)n_upload;
    http_t *self = user;
    http_request_t *request = *state;
    if (request) /* resumed */
        return request->response ? queue_response(request) : MHD_NO;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    *state = request = mem_calloc(1, sizeof *request);
    *request = (http_request_t){.http = self,
                                .connection = connection,
                                .client = info ? info->socket_context : NULL,
                                .path = mem_strdup(url),
                                .next = self->requests};
    self->requests = request;
    set_state(request->client, OWED);
    handle(request, method);
    if (request->response) return queue_response(request);
    request->suspended = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
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
        if (one->fd < 0 || one->shut || one->state == STREAMS_ON) continue;
        n++;
        if (one->state == OWED) continue;
        if (!oldest || one->since_ms < oldest->since_ms) oldest = one;
    }
    if (n > KEPT && oldest) shut(oldest);
}

static void shut_slow(http_t *self, int64_t now_ms)
{
    for (size_t i = 0; i < CONNECTIONS; i++) {
        client_t *one = &self->client[i];
        if (one->fd < 0 || one->shut || one->state == OWED || one->state == STREAMS_ON) continue;
        if (now_ms - one->since_ms > (one->state == ASKS ? REQUEST_MS : ANSWER_MS)) shut(one);
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

/* Over, one way or another: the time for its client's next request begins. */
static void on_over(void *user, struct MHD_Connection *connection, void **state,
                    enum MHD_RequestTerminationCode why)
{
    (void)connection, (void)why;
    http_t *self = user;
    http_request_t *request = *state;
    if (!request) return;
    set_state(request->client, ASKS);
    http_request_t **link = &self->requests;
    while (*link != request) link = &(*link)->next;
    *link = request->next;
    if (request->response) MHD_destroy_response(request->response);
    str_fini(&request->said);
    free(request->path);
    free(request);
    *state = NULL;
}

/* --- In the loop --- */

void http_stream_say(http_t *self, const char *text)
{
    for (http_request_t *r = self->requests; r; r = r->next) {
        if (!r->streams || r->ending || r->said.n + strlen(text) > SAID_BYTES) continue;
        str_add(&r->said, text);
        wake(r);
    }
}

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

static int start_daemon(http_t *self, int fd)
{
    self->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, self,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY_BYTES, MHD_OPTION_NOTIFY_CONNECTION, on_connection, self,
        MHD_OPTION_NOTIFY_COMPLETED, on_over, self, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        self->daemon ? MHD_get_daemon_info(self->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) return -1;
    self->item = (zmq_pollitem_t){.fd = info->epoll_fd, .events = ZMQ_POLLIN};
    zloop_poller(self->loop, &self->item, on_readable, self);
    self->timer = zloop_timer(self->loop, TICK_MS, 0, on_tick, self);
    return 0;
}

http_t *http_new(zloop_t *loop, const http_options_t *options, err_t *err)
{
    char host[NI_MAXHOST];
    int fd = listen_open(options->address, err);
    if (fd < 0) return NULL;
    http_t *self = mem_calloc(1, sizeof *self);
    *self = (http_t){.loop = loop, .options = *options, .timer = -1};
    listen_bound(fd, host);
    self->loopback = listen_is_loopback(host);
    for (size_t i = 0; i < CONNECTIONS; i++) self->client[i].fd = -1;
    if (start_daemon(self, fd) < 0) {
        err_set(err, ERR_STATE, "%s: no HTTP server", options->address);
        if (!self->daemon) close(fd);
        http_destroy(&self);
    }
    return self;
}

unsigned http_port(const http_t *self)
{
    char host[NI_MAXHOST];
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(self->daemon, MHD_DAEMON_INFO_LISTEN_FD);
    return info ? listen_bound(info->listen_fd, host) : 0;
}

/* Nothing may be suspended when the daemon stops. */
static void end_requests(http_t *self)
{
    self->leaving = true;
    for (http_request_t *r = self->requests; r; r = r->next) {
        if (r->streams)
            end_stream(r);
        else if (r->suspended)
            http_answer_text(r, MHD_HTTP_SERVICE_UNAVAILABLE, "this service ends");
    }
    run(self);
}

void http_destroy(http_t **self_p)
{
    http_t *self = *self_p;
    if (!self) return;
    if (self->timer >= 0) {
        zloop_timer_end(self->loop, self->timer);
        zloop_poller_end(self->loop, &self->item);
    }
    if (self->daemon) end_requests(self);
    if (self->daemon) MHD_stop_daemon(self->daemon); /* closes the listening socket */
    free(self);
    *self_p = NULL;
}
