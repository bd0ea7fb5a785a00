/* HTTP inside a zloop, without threads: requests with a body or without, and answers that are whole or
 * stream; over TLS where there is a certificate.
 *
 * Bounded: connections, bodies, streams, the time a client may take to say what it wants and to take the
 * answer, and what waits for a client that takes a stream too slowly. Who is beyond a bound, the oldest
 * first, is shut, so that others need not wait. A client that is gone is noticed while its answer is still
 * being made. */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <czmq.h>

#include "base/err.h"
#include "base/str.h"
#include "http/access.h"

typedef struct http http_t;
typedef struct http_request http_request_t;

enum {
    HTTP_OK = 200,
    HTTP_NOT_MODIFIED = 304,
    HTTP_BAD_REQUEST = 400,
    HTTP_UNAUTHORIZED = 401,
    HTTP_NOT_FOUND = 404,
    HTTP_NOT_ALLOWED = 405,
    HTTP_UNAVAILABLE = 503,
};

typedef struct {
    const char *address;        /* as listen_open's; borrowed during http_new */
    const char *const *headers; /* of all answers: name, value, ..., NULL; static. May be NULL */
    const char *tls_cert,
        *tls_key;           /* PEM files, borrowed during http_new; NULL: no TLS. The key is its
                                       owner's alone */
    const access_t *access; /* who may ask; borrowed; NULL: everybody who can connect */
    bool insecure;          /* other machines may connect, though nobody is asked who they are */
    bool open;              /* the same, and the log need not say so each minute */
    bool read_only;         /* GET and HEAD alone */
    int connections;        /* at most */
    int streams;            /* at most; then the oldest ends. 0: as many as connections */
    int request_ms;         /* from the connection, or the answer before, to the end of a request */
    int answer_ms;          /* to take an answer, or what waits of a stream */
    size_t head_bytes;      /* of a connection: request line, headers, a piece of the body */
    size_t body_bytes;   /* of a request at most; a longer one is given to `handler` as too long */
    size_t stream_bytes; /* that wait for a client at most */
    bool local_names;    /* refuse, on a loopback address, requests for a Host that is not this
                             * machine: pages of others must not use what is here */
    /* The headers are there, the body is not: an answer now (http_answer) spares reading it. May be NULL. */
    void (*head)(void *user, http_request_t *request);
    /* Each request is answered exactly once, now or later: http_answer, or http_stream and later
     * http_end. `request` is borrowed until then, or until gone() tells of it. */
    void (*handler)(void *user, http_request_t *request);
    /* The client has left; no answer any more. NULL: answers come in any case. */
    void (*gone)(void *user, http_request_t *request);
    void *user;
} http_options_t;

/* Bounds of a server that only shows something, to few; everything else is nothing. */
http_options_t http_read_only(const char *address);

/* Listen; serves while the loop runs. ERR_ARG: also where other machines could connect, and there is
 * neither `access` nor leave to go without; ERR_IO; ERR_STATE: no server, the certificate is none or not the
 * key's. http_destroy ends what is open, without telling gone(). */
http_t *http_new(zloop_t *loop, const http_options_t *options, err_t *err);
void http_destroy(http_t **self_p);

unsigned http_port(const http_t *self);
size_t http_connections(const http_t *self);

/* Of a request; borrowed. The path is decoded, without "?..."; a value of the query, a header: NULL: none. */
const char *http_method(const http_request_t *request);
const char *http_path(const http_request_t *request);
const char *http_query(const http_request_t *request, const char *name);
const char *http_header(const http_request_t *request, const char *name);
const str_t *http_body(const http_request_t *request);
bool http_body_too_long(const http_request_t *request);
void **http_state(http_request_t *request); /* the handler's own; NULL at first */

/* The name that its token has in `access`; "": nobody is asked; NULL: it has no token of those. */
const char *http_who(const http_request_t *request);
/* May it ask? Else it has been told to say a token, as a program or in a browser's dialogue. */
bool http_admits(http_request_t *request);

typedef struct {
    unsigned status;
    const char *type;   /* Content-Type; static */
    const char *etag;   /* quoted; NULL: none. Static */
    int retry_s;        /* Retry-After; 0: none */
    bool bearer, basic; /* say that a token is wanted, and how */
    const char *fixed;  /* the body, static, of n_fixed bytes; NULL: `body` */
    size_t n_fixed;
    str_t body; /* taken */
} http_answer_t;
void http_answer(http_request_t *request, http_answer_t *answer);
/* An answer of one line of text. */
void http_answer_text(http_request_t *request, unsigned status, const char *line);

/* The answer is a stream of events (text/event-stream). http_say: -1 when more than stream_bytes would
 * wait: the client is too slow, and is shut; gone() is not told. */
void http_stream(http_request_t *request);
int http_say(http_request_t *request, const str_t *text);
void http_end(http_request_t *request);
/* Say this to all streams, but to those that have not taken much of what was said before. */
void http_say_all(http_t *self, const char *text);
size_t http_streams(const http_t *self);
/* Send what clients take now: after each round of http_say, so that only slow clients' streams grow. */
void http_turn(http_t *self);

/* New requests are answered to as before, but their connections end with the answer. */
void http_drain(http_t *self);
/* Nothing is on its way to a client. */
bool http_idle(const http_t *self);

#endif
