/* libmicrohttpd with its epoll descriptor in our loop. A request whose answer is being made is
 * suspended; whether its client is still there is looked after by a poll of all those, ten times a
 * second, as microhttpd does not watch suspended connections. */
#include "gateway/http.h"

#include <assert.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/listen.h"
#include "base/mem.h"

enum {
    SPARE = 16,         /* connections for those that come at once */
    TIMEOUT_S = 40,     /* without a byte */
    REQUEST_MS = 30000, /* from the connection, or the answer before, to the end of a request */
    ANSWER_MS = 60000,  /* to take an answer, or what waits of a stream */
    MEMORY_BYTES = 32 << 10, /* of a connection: request line, headers, a piece of the body */
    BLOCK_BYTES = 16 << 10,  /* of a stream */
    TICK_MS = 100,           /* looks after clients */
    AT_ONCE = 16,            /* rounds of MHD_run before others have their turn */
    GONE_STATUS = 500,       /* nobody reads it */
};

/* ASKS: the client is to say what it wants; OWED: we are to answer; TAKES: the client is to take the
 * answer or the rest of a stream; STREAMS: we go on saying. */
typedef enum { ASKS, OWED, TAKES, STREAMS } client_state_t;

/* A connection; free when fd is negative. */
typedef struct {
    int fd;
    bool shut;
    client_state_t state;
    int64_t since_ms; /* of the state; STREAMS: when something was taken last, or nothing waited */
} client_t;

struct http_request {
    http_t *http;
    struct MHD_Connection *connection;
    client_t *client;
    char *method, *path;
    str_t body;
    bool too_long, given;          /* to the handler */
    struct MHD_Response *response; /* that was given; NULL: none yet */
    unsigned status;
    bool suspended, streams, ending, answered, gone;
    str_t said; /* of a stream: what was not taken */
    void *state;
    http_request_t *next; /* in http_t's list */
};

struct http {
    zloop_t *loop;
    client_t *client; /* [connections] */
    struct MHD_Daemon *daemon;
    zmq_pollitem_t item;
    int timer;
    http_options_t options;
    http_request_t *requests; /* all that are open */
    struct pollfd *poll;      /* [connections] */
    bool loopback, draining, leaving;
};

/* --- a request --- */

const char *http_method(const http_request_t *request)
{
    return request->method;
}

const char *http_path(const http_request_t *request)
{
    return request->path;
}

const char *http_header(const http_request_t *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const str_t *http_body(const http_request_t *request)
{
    return &request->body;
}

bool http_body_too_long(const http_request_t *request)
{
    return request->too_long;
}

void **http_state(http_request_t *request)
{
    return &request->state;
}

static void set_state(client_t *client, client_state_t state)
{
    if (!client) return;
    client->state = state;
    client->since_ms = clock_mono_ms();
}

/* --- answers --- */

static void wake(http_request_t *request)
{
    if (!request->suspended) return;
    request->suspended = false;
    MHD_resume_connection(request->connection);
}

static void give(http_request_t *request, unsigned status, struct MHD_Response *response)
{
    assert(response); /* else there is no memory */
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    if (request->http->draining)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    request->response = response;
    request->status = status;
    request->answered = true;
    set_state(request->client, request->streams ? STREAMS : TAKES);
    wake(request);
}

void http_answer(http_request_t *request, http_answer_t *answer)
{
    char seconds[16];
    struct MHD_Response *response = MHD_create_response_from_buffer(answer->body.n, answer->body.at,
                                                                    MHD_RESPMEM_MUST_FREE);
    assert(response);
    answer->body = (str_t){0};
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    snprintf(seconds, sizeof seconds, "%d", answer->retry_s);
    if (answer->retry_s > 0)
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    if (answer->bearer) MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    give(request, answer->status, response);
}

static ssize_t read_stream(void *user, uint64_t at, char *out, size_t space)
{
    (void)at;
    http_request_t *request = user;
    size_t n = request->said.n < space ? request->said.n : space;
    if (request->gone) return MHD_CONTENT_READER_END_WITH_ERROR;
    if (n == 0 && request->ending) return MHD_CONTENT_READER_END_OF_STREAM;
    if (n == 0) {
        request->suspended = true;
        MHD_suspend_connection(request->connection);
        return 0;
    }
    memcpy(out, request->said.at, n);
    memmove(request->said.at, request->said.at + n, request->said.n - n + 1);
    request->said.n -= n;
    if (request->client) request->client->since_ms = clock_mono_ms();
    return (ssize_t)n;
}

void http_stream(http_request_t *request)
{
    struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
                                                                      read_stream, request, NULL);
    assert(response);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
    request->streams = true;
    give(request, MHD_HTTP_OK, response);
}

static void shut(client_t *client)
{
    if (!client || client->shut || client->fd < 0) return;
    shutdown(client->fd, SHUT_RDWR); /* microhttpd notices, and closes it */
    client->shut = true;
}

int http_say(http_request_t *request, const str_t *text)
{
    if (request->gone) return -1;
    if (request->said.n + text->n > request->http->options.stream_bytes) {
        request->gone = request->ending = true;
        shut(request->client);
        wake(request);
        return -1;
    }
    if (request->said.n == 0 && request->client) request->client->since_ms = clock_mono_ms();
    str_addn(&request->said, str_text(text), text->n);
    wake(request);
    return 0;
}

void http_end(http_request_t *request)
{
    request->ending = true;
    set_state(request->client, TAKES);
    wake(request);
}

/* --- microhttpd's calls --- */

static enum MHD_Result queue_response(http_request_t *request)
{
    struct MHD_Response *response = request->response;
    enum MHD_Result rc = MHD_queue_response(request->connection, request->status, response);
    MHD_destroy_response(response);
    request->response = NULL;
    return rc;
}

static void answer_line(http_request_t *request, unsigned status, const char *line)
{
    http_answer_t answer = {.status = status, .type = "text/plain; charset=utf-8"};
    str_addf(&answer.body, "%s\n", line);
    http_answer(request, &answer);
}

static http_request_t *new_request(http_t *self, struct MHD_Connection *connection, const char *url,
                                   const char *method)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    http_request_t *request = mem_calloc(1, sizeof *request);
    *request = (http_request_t){.http = self,
                                .connection = connection,
                                .client = info ? info->socket_context : NULL,
                                .method = mem_strdup(method),
                                .path = mem_strdup(url),
                                .next = self->requests};
    self->requests = request;
    return request;
}

/* What is said to be longer than we read is refused before it is sent. */
static bool says_too_much(const http_request_t *request)
{
    const char *length = http_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return length && strtoull(length, NULL, 10) > request->http->options.body_bytes;
}

static void take_body(http_request_t *request, const char *bytes, size_t n)
{
    if (request->body.n + n > request->http->options.body_bytes) {
        request->too_long = true;
        str_fini(&request->body);
    } else if (!request->too_long) {
        str_addn(&request->body, bytes, n);
    }
}

static enum MHD_Result hand_on(http_request_t *request)
{
    http_t *self = request->http;
    const char *host = http_header(request, "Host");
    request->given = true;
    set_state(request->client, OWED);
    if (self->leaving)
        answer_line(request, MHD_HTTP_SERVICE_UNAVAILABLE, "this service ends");
    else if (self->loopback && self->options.local_names && host && !listen_is_local_name(host))
        answer_line(request, MHD_HTTP_MISDIRECTED_REQUEST,
                    "this is for this machine: ask for localhost, not for another name");
    else
        self->options.handler(self->options.user, request);
    if (request->response) return queue_response(request);
    request->suspended = true;
    MHD_suspend_connection(request->connection);
    return MHD_YES;
}

/* Who may not ask is told before the body is read. */
static enum MHD_Result read_head(http_request_t *request)
{
    http_t *self = request->http;
    if (self->options.head && !self->leaving) self->options.head(self->options.user, request);
    if (!request->response) return MHD_YES;
    request->given = true;
    return queue_response(request);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *n_upload, void **state)
{
    (void)version;
    http_request_t *request = *state;
    if (!request) {
        *state = request = new_request(user, connection, url, method);
        request->too_long = says_too_much(request);
        return request->too_long ? hand_on(request) : read_head(request);
    }
    if (*n_upload > 0) {
        take_body(request, upload, *n_upload);
        *n_upload = 0;
        return MHD_YES;
    }
    if (!request->given) return hand_on(request);
    return request->response ? queue_response(request) : MHD_NO; /* resumed */
}

static void shut_oldest(http_t *self)
{
    client_t *oldest = NULL;
    int n = 0;
    for (int i = 0; i < self->options.connections; i++) {
        client_t *one = &self->client[i];
        if (one->fd < 0 || one->shut) continue;
        n++;
        if (one->state == ASKS && (!oldest || one->since_ms < oldest->since_ms)) oldest = one;
    }
    if (n > self->options.connections - SPARE && oldest) shut(oldest);
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
    for (int i = 0; info && i < self->options.connections; i++) {
        if (self->client[i].fd >= 0) continue;
        self->client[i] = (client_t){.fd = info->connect_fd, .since_ms = clock_mono_ms()};
        *context = &self->client[i];
        break;
    }
    shut_oldest(self);
}

/* The handler hears that there is nobody to answer to; once. */
static void tell_gone(http_request_t *request)
{
    bool waits = request->given && (!request->answered || (request->streams && !request->ending));
    if (!waits || request->gone) return;
    request->gone = request->ending = true;
    if (!request->http->leaving) request->http->options.gone(request->http->options.user, request);
}

/* Over, one way or another: the time for its client's next request begins. */
static void on_over(void *user, struct MHD_Connection *connection, void **state,
                    enum MHD_RequestTerminationCode why)
{
    (void)connection, (void)why;
    http_t *self = user;
    http_request_t *request = *state, **link = &self->requests;
    if (!request) return;
    tell_gone(request);
    set_state(request->client, ASKS);
    while (*link != request) link = &(*link)->next;
    *link = request->next;
    if (request->response) MHD_destroy_response(request->response);
    str_fini(&request->said);
    str_fini(&request->body);
    free(request->method);
    free(request->path);
    free(request);
    *state = NULL;
}

/* --- clients that are slow, or gone --- */

static void shut_slow(http_t *self, int64_t now_ms)
{
    for (http_request_t *r = self->requests; r; r = r->next)
        if (r->client && r->client->state == STREAMS && r->said.n == 0)
            r->client->since_ms = now_ms;
    for (int i = 0; i < self->options.connections; i++) {
        client_t *one = &self->client[i];
        if (one->fd < 0 || one->shut || one->state == OWED) continue;
        if (now_ms - one->since_ms > (one->state == ASKS ? REQUEST_MS : ANSWER_MS)) shut(one);
    }
}

/* A suspended request's client has hung up. */
static void drop(http_request_t *request)
{
    tell_gone(request);
    if (!request->answered) answer_line(request, GONE_STATUS, "nobody is there");
    shut(request->client);
    wake(request);
}

static void drop_gone(http_t *self)
{
    nfds_t n = 0;
    for (http_request_t *r = self->requests; r; r = r->next)
        if (r->suspended && r->client && !r->client->shut)
            self->poll[n++] = (struct pollfd){.fd = r->client->fd, .events = POLLRDHUP};
    if (n == 0 || poll(self->poll, n, 0) <= 0) return;
    for (nfds_t i = 0; i < n; i++)
        for (http_request_t *r = self->requests; r && self->poll[i].revents; r = r->next)
            if (r->suspended && r->client && r->client->fd == self->poll[i].fd) {
                drop(r);
                break;
            }
}

/* --- in the loop --- */

static void run(http_t *self)
{
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    for (int i = 0; i < AT_ONCE; i++) {
        MHD_run(self->daemon);
        if (MHD_get_timeout(self->daemon, &wait_ms) != MHD_YES || wait_ms > 0) return;
    }
}

void http_turn(http_t *self)
{
    run(self);
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
    http_t *self = user;
    shut_slow(self, clock_mono_ms());
    drop_gone(self);
    run(self);
    return 0;
}

static int start_daemon(http_t *self, int fd)
{
    self->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, self,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)self->options.connections, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, self, MHD_OPTION_NOTIFY_COMPLETED, on_over, self, MHD_OPTION_END);
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
    self->client = mem_calloc((size_t)options->connections, sizeof *self->client);
    self->poll = mem_calloc((size_t)options->connections, sizeof *self->poll);
    listen_bound(fd, host);
    self->loopback = listen_is_loopback(host);
    for (int i = 0; i < options->connections; i++) self->client[i].fd = -1;
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

bool http_loopback(const http_t *self)
{
    return self->loopback;
}

size_t http_connections(const http_t *self)
{
    size_t n = 0;
    for (int i = 0; i < self->options.connections; i++) n += self->client[i].fd >= 0;
    return n;
}

void http_drain(http_t *self)
{
    self->draining = true;
}

bool http_idle(const http_t *self)
{
    return self->requests == NULL;
}

/* Nothing may be suspended when the daemon stops. */
static void end_requests(http_t *self)
{
    self->leaving = true;
    for (http_request_t *r = self->requests; r; r = r->next) {
        r->ending = true;
        if (r->given && !r->answered)
            answer_line(r, MHD_HTTP_SERVICE_UNAVAILABLE, "this service ends");
        wake(r);
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
    free(self->client);
    free(self->poll);
    free(self);
    *self_p = NULL;
}
