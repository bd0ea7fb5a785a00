/* HTTP inside a zloop, without threads: requests with a body, and answers that are whole or stream.
 *
 * Bounded: connections, bodies, the time a client may take to say what it wants and to take the answer,
 * and what waits for a client that takes a stream too slowly. A client that is gone is noticed while its
 * answer is still being made. */
#ifndef GATEWAY_HTTP_H
#define GATEWAY_HTTP_H

#include <czmq.h>

#include "base/err.h"
#include "base/str.h"

typedef struct http http_t;
typedef struct http_request http_request_t;

typedef struct {
    const char *address; /* as listen_open's; borrowed during http_new */
    int connections;     /* at most */
    size_t body_bytes;   /* of a request at most; a longer one is given to `handler` as too long */
    size_t stream_bytes; /* that wait for a client at most */
    bool local_names;    /* refuse, on a loopback address, requests for a Host that is not this
                          * machine: pages of others must not use what is here */
    /* The headers are there, the body is not: an answer now (http_answer) spares reading it. May be NULL. */
    void (*head)(void *user, http_request_t *request);
    /* Each request is answered exactly once, now or later: http_answer, or http_stream and later
     * http_end. `request` is borrowed until then, or until gone() tells of it. */
    void (*handler)(void *user, http_request_t *request);
    void (*gone)(void *user, http_request_t *request); /* the client has left; no answer any more */
    void *user;
} http_options_t;

/* Listen; serves while the loop runs. ERR_ARG, ERR_IO; ERR_STATE: no server. http_destroy ends what is
 * open, without telling gone(). */
http_t *http_new(zloop_t *loop, const http_options_t *options, err_t *err);
void http_destroy(http_t **self_p);

unsigned http_port(const http_t *self);
bool http_loopback(const http_t *self); /* only this machine can connect */
size_t http_connections(const http_t *self);

/* Of a request; borrowed. The path is decoded, without "?...". */
const char *http_method(const http_request_t *request);
const char *http_path(const http_request_t *request);
const char *http_header(const http_request_t *request, const char *name);
const str_t *http_body(const http_request_t *request);
bool http_body_too_long(const http_request_t *request);
void **http_state(http_request_t *request); /* the handler's own; NULL at first */

typedef struct {
    unsigned status;
    const char *type; /* Content-Type; static */
    int retry_s;      /* Retry-After; 0: none */
    bool bearer;      /* say that a token is wanted */
    str_t body;       /* taken */
} http_answer_t;
void http_answer(http_request_t *request, http_answer_t *answer);

/* The answer is a stream of events. http_say: -1 when more than stream_bytes would wait: the client is
 * too slow, and is shut; gone() is not told. */
void http_stream(http_request_t *request);
int http_say(http_request_t *request, const str_t *text);
void http_end(http_request_t *request);
/* Send what clients take now: after each round of http_say, so that only slow clients' streams grow. */
void http_turn(http_t *self);

/* New requests are answered to as before, but their connections end with the answer. */
void http_drain(http_t *self);
/* Nothing is on its way to a client. */
bool http_idle(const http_t *self);

#endif
