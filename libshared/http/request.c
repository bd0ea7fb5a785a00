/* Requests and their answers. A request whose answer is being made is suspended. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "http/inside.h"

enum { BLOCK_BYTES = 16 << 10 }; /* of a stream */

/* --- What a request says --- */

const char *http_method(const http_request_t *request)
{
    return request->method;
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

/* --- Who asks --- */

const char *http_who(const http_request_t *request)
{
    const access_t *access = request->http->options.access;
    return access ? access_name(access, http_header(request, "Authorization")) : "";
}

bool http_admits(http_request_t *request)
{
    if (http_who(request)) return true;
    http_answer_t answer = {.status = HTTP_UNAUTHORIZED,
                            .type = "text/plain; charset=utf-8",
                            .bearer = true,
                            .basic = true};
    str_add(&answer.body,
            "say \"Authorization: Bearer TOKEN\" with a token of this service, or give the token "
            "as the password\n");
    http_answer(request, &answer);
    return false;
}

/* --- Answers --- */

void request_wake(http_request_t *request)
{
    if (!request->suspended) return;
    request->suspended = false;
    MHD_resume_connection(request->connection);
}

static void give(http_request_t *request, unsigned status, struct MHD_Response *response)
{
    const char *const *header = request->http->options.headers;
    for (; header && *header; header += 2) MHD_add_response_header(response, header[0], header[1]);
    if (request->http->draining)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    request->response = response;
    request->status = status;
    request->answered = true;
    client_set_state(request->client, request->streams ? STREAMS : TAKES);
    request_wake(request);
}

static struct MHD_Response *whole(http_answer_t *answer)
{
    struct MHD_Response *response =
        answer->fixed ? MHD_create_response_from_buffer(answer->n_fixed, (void *)answer->fixed,
                                                        MHD_RESPMEM_PERSISTENT)
                      : MHD_create_response_from_buffer(answer->body.n, answer->body.at,
                                                        MHD_RESPMEM_MUST_FREE);
    assert(response); /* else there is no memory */
    if (answer->fixed) str_fini(&answer->body);
    answer->body = (str_t){0};
    return response;
}

void http_answer(http_request_t *request, http_answer_t *answer)
{
    char seconds[16];
    struct MHD_Response *response = whole(answer);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    if (answer->etag) MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, answer->etag);
    snprintf(seconds, sizeof seconds, "%d", answer->retry_s);
    if (answer->retry_s > 0)
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    if (answer->bearer) MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (answer->basic)
        MHD_add_response_header(response, "WWW-Authenticate",
                                "Basic realm=\"PCP: a token as the password\"");
    if (answer->status == HTTP_NOT_ALLOWED && request->http->options.read_only)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    give(request, answer->status, response);
}

void http_answer_text(http_request_t *request, unsigned status, const char *line)
{
    http_answer_t answer = {.status = status, .type = "text/plain; charset=utf-8"};
    str_addf(&answer.body, "%s\n", line);
    http_answer(request, &answer);
}

/* --- Streams --- */

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

static bool goes_on(const http_request_t *request)
{
    return request->streams && !request->ending;
}

size_t http_streams(const http_t *self)
{
    size_t n = 0;
    for (http_request_t *r = self->requests; r; r = r->next) n += goes_on(r);
    return n;
}

static void end_oldest_stream(http_t *self)
{
    http_request_t *oldest = NULL;
    for (http_request_t *r = self->requests; r; r = r->next)
        if (goes_on(r)) oldest = r;
    if (oldest) http_end(oldest);
}

void http_stream(http_request_t *request)
{
    int most = request->http->options.streams;
    if (most > 0 && http_streams(request->http) >= (size_t)most) end_oldest_stream(request->http);
    struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
                                                                      read_stream, request, NULL);
    assert(response);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
    request->streams = true;
    give(request, HTTP_OK, response);
}

int http_say(http_request_t *request, const str_t *text)
{
    if (request->gone) return -1;
    if (request->said.n + text->n > request->http->options.stream_bytes) {
        request->gone = request->ending = true;
        client_shut(request->client);
        request_wake(request);
        return -1;
    }
    if (request->said.n == 0 && request->client) request->client->since_ms = clock_mono_ms();
    str_addn(&request->said, str_text(text), text->n);
    request_wake(request);
    return 0;
}

void http_say_all(http_t *self, const char *text)
{
    str_t line = {0};
    str_add(&line, text);
    for (http_request_t *r = self->requests; r; r = r->next)
        if (goes_on(r) && r->said.n + line.n <= self->options.stream_bytes) http_say(r, &line);
    str_fini(&line);
}

void http_end(http_request_t *request)
{
    request->ending = true;
    client_set_state(request->client, TAKES);
    request_wake(request);
}

void request_tell_gone(http_request_t *request)
{
    const http_t *self = request->http;
    bool waits = request->given && (!request->answered || goes_on(request));
    if (!waits || request->gone) return;
    request->gone = request->ending = true;
    if (!self->leaving && self->options.gone) self->options.gone(self->options.user, request);
}
