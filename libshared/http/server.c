/* libmicrohttpd with its epoll descriptor in our loop: what it calls, and the daemon's beginning and end. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/listen.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/memory.h"
#include "base/secret.h"
#include "http/inside.h"

enum {
    GRACE_S = 10, /* without a byte, besides the time for a request */
    PEM_BYTES = 1 << 20,
    TICK_MS = 100, /* looks after clients */
    WARN_MS = 60000,
    TIDY_MS = 10000,
    AT_ONCE = 16, /* rounds of MHD_run before others have their turn */
    SOON_MS = 1,
};

static const char ciphers[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

/* --- microhttpd's calls --- */

static enum MHD_Result queue_response(http_request_t *request)
{
    struct MHD_Response *response = request->response;
    enum MHD_Result rc = MHD_queue_response(request->connection, request->status, response);
    MHD_destroy_response(response);
    request->response = NULL;
    return rc;
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

static enum MHD_Result count_lengths(void *user, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    (void)kind, (void)value;
    if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) ++*(int *)user;
    return MHD_YES;
}

/* Where its body ends may be told in two ways, of which a proxy before us takes the other one (RFC 9112, 6.3): what we
 * take for the next request would then be somebody's body. */
static bool is_ambiguous(const http_request_t *request)
{
    int n = 0;
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_lengths, &n);
    return n > 1 || (n > 0 && http_header(request, MHD_HTTP_HEADER_TRANSFER_ENCODING));
}

static enum MHD_Result refuse_ambiguous(http_request_t *request)
{
    request->given = true;
    http_answer_text(request, MHD_HTTP_BAD_REQUEST,
                     "two lengths of one body: give Content-Length once, or Transfer-Encoding");
    MHD_add_response_header(request->response, MHD_HTTP_HEADER_CONNECTION, "close");
    return queue_response(request);
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

static bool only_reads(const http_request_t *request)
{
    return strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
}

static enum MHD_Result hand_on(http_request_t *request)
{
    http_t *self = request->http;
    const char *host = http_header(request, "Host");
    request->given = true;
    client_set_state(request->client, OWED);
    if (self->leaving)
        http_answer_text(request, HTTP_UNAVAILABLE, "this service ends");
    else if (self->options.read_only && !only_reads(request))
        http_answer_text(request, HTTP_NOT_ALLOWED, "only GET and HEAD");
    else if (self->loopback && self->options.local_names && host && !listen_is_local_name(host))
        http_answer_text(request, MHD_HTTP_MISDIRECTED_REQUEST,
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
        if (is_ambiguous(request)) return refuse_ambiguous(request);
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
    clients_make_room(self);
}

/* Over, one way or another: the time for its client's next request begins. */
static void on_over(void *user, struct MHD_Connection *connection, void **state,
                    enum MHD_RequestTerminationCode why)
{
    (void)connection, (void)why;
    http_t *self = user;
    http_request_t *request = *state, **link = &self->requests;
    if (!request) return;
    request_tell_gone(request);
    client_set_state(request->client, ASKS);
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

/* --- In the loop --- */

static void run(http_t *self);

static int on_rest(zloop_t *loop, int timer, void *user)
{
    (void)loop, (void)timer;
    http_t *self = user;
    self->rest_timer = -1;
    run(self);
    return 0;
}

static void run(http_t *self)
{
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    for (int i = 0; i < AT_ONCE; i++) {
        MHD_run(self->daemon);
        if (MHD_get_timeout(self->daemon, &wait_ms) != MHD_YES || wait_ms > 0) return;
    }
    /* Its descriptor tells of what is new alone, not of what is left. */
    if (self->rest_timer < 0) self->rest_timer = zloop_timer(self->loop, SOON_MS, 1, on_rest, self);
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

static void warn_of_others(http_t *self, int64_t now_ms)
{
    const http_options_t *o = &self->options;
    if (self->loopback || o->access || o->open || now_ms - self->warned_ms < WARN_MS) return;
    self->warned_ms = now_ms;
    log_event(LOG_WARN, "insecure",
              "port=%u text=\"other machines may ask by HTTP, and nobody is asked who they are: "
              "--insecure\"",
              http_port(self));
}

static uint64_t resident(void *user)
{
    (void)user;
    return memory_resident();
}

/* What many bodies at a time took stays with the C library, in pieces. */
static void tidy(http_t *self, int64_t now_ms)
{
    if (now_ms - self->tidied_ms < TIDY_MS) return;
    self->tidied_ms = now_ms;
    idle_give_back(&self->idle, resident, NULL);
}

static int on_tick(zloop_t *loop, int timer, void *user)
{
    (void)loop, (void)timer;
    http_t *self = user;
    int64_t now_ms = clock_mono_ms();
    clients_look(self, now_ms);
    warn_of_others(self, now_ms);
    tidy(self, now_ms);
    run(self);
    return 0;
}

/* --- Beginning and end --- */

/* `cert` and `key`: texts, or NULL. */
static int start_daemon(http_t *self, int fd, char *cert, char *key)
{
    const http_options_t *o = &self->options;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, cert},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, key},
                                   {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)ciphers},
                                   {MHD_OPTION_END, 0, NULL}};
    if (!cert) tls[0].option = MHD_OPTION_END;
    self->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (cert ? MHD_USE_TLS : 0), 0, NULL, NULL,
        on_request, self, MHD_OPTION_ARRAY, tls, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)o->connections, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)(o->request_ms / 1000 + GRACE_S), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        o->head_bytes, MHD_OPTION_NOTIFY_CONNECTION, on_connection, self,
        MHD_OPTION_NOTIFY_COMPLETED, on_over, self, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        self->daemon ? MHD_get_daemon_info(self->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) return -1;
    self->item = (zmq_pollitem_t){.fd = info->epoll_fd, .events = ZMQ_POLLIN};
    zloop_poller(self->loop, &self->item, on_readable, self);
    self->timer = zloop_timer(self->loop, TICK_MS, 0, on_tick, self);
    return 0;
}

static int start(http_t *self, int fd, err_t *err)
{
    const http_options_t *o = &self->options;
    size_t n_cert = 0, n_key = 0;
    char *cert = NULL, *key = NULL;
    int rc = -1;
    if (!o->tls_cert != !o->tls_key) {
        err_set(err, ERR_ARG, "TLS takes a certificate and its key: give --tls-cert and --tls-key");
        goto done;
    }
    if (o->tls_cert && !(cert = file_read(o->tls_cert, &n_cert, err))) goto done;
    if (o->tls_key && !(key = secret_file(o->tls_key, PEM_BYTES, &n_key, err))) goto done;
    rc = start_daemon(self, fd, cert, key);
    if (rc < 0 && cert)
        err_set(err, ERR_STATE, "%s: no HTTP server: are %s and %s a certificate and its key?",
                o->address, o->tls_cert, o->tls_key);
    else if (rc < 0)
        err_set(err, ERR_STATE, "%s: no HTTP server", o->address);
done:
    if (rc < 0 && !self->daemon) close(fd);
    if (key) explicit_bzero(key, n_key); /* microhttpd has read it */
    free(key);
    free(cert);
    return rc;
}

static int check_open(const http_t *self, err_t *err)
{
    const http_options_t *o = &self->options;
    if (self->loopback) return 0;
    if (!o->access && (o->insecure || o->open)) return 0;
    if (!o->access)
        return err_set(err, ERR_ARG,
                       "%s is open to other machines: give --tokens FILE, or say --insecure",
                       o->address);
    if (!o->tls_cert)
        log_event(LOG_WARN, "tokens_in_clear",
                  "address=%s text=\"whoever listens on the way reads the tokens: give --tls-cert "
                  "and --tls-key, or put a proxy with TLS before it\"",
                  o->address);
    return 0;
}

http_options_t http_read_only(const char *address)
{
    return (http_options_t){.address = address,
                            .read_only = true,
                            .connections = 112,
                            .streams = 32,
                            .request_ms = 5000,
                            .answer_ms = 30000,
                            .head_bytes = 16 << 10,
                            .stream_bytes = 4096};
}

http_t *http_new(zloop_t *loop, const http_options_t *options, err_t *err)
{
    char host[NI_MAXHOST];
    int fd = listen_open(options->address, err);
    if (fd < 0) return NULL;
    http_t *self = mem_calloc(1, sizeof *self);
    *self = (http_t){.loop = loop, .options = *options, .timer = -1, .rest_timer = -1};
    self->client = mem_calloc((size_t)options->connections, sizeof *self->client);
    self->poll = mem_calloc((size_t)options->connections, sizeof *self->poll);
    listen_bound(fd, host);
    self->loopback = listen_is_loopback(host);
    for (int i = 0; i < options->connections; i++) self->client[i].fd = -1;
    if (start(self, fd, err) < 0 || check_open(self, err) < 0) http_destroy(&self);
    if (self) self->warned_ms = clock_mono_ms();
    return self;
}

unsigned http_port(const http_t *self)
{
    char host[NI_MAXHOST];
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(self->daemon, MHD_DAEMON_INFO_LISTEN_FD);
    return info ? listen_bound(info->listen_fd, host) : 0;
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
        if (r->given && !r->answered) http_answer_text(r, HTTP_UNAVAILABLE, "this service ends");
        request_wake(r);
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
    if (self->rest_timer >= 0) zloop_timer_end(self->loop, self->rest_timer);
    if (self->daemon) MHD_stop_daemon(self->daemon); /* closes the listening socket */
    free(self->client);
    free(self->poll);
    free(self);
    *self_p = NULL;
}
