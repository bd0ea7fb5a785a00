/* A small HTTP server inside a zloop: GET and HEAD, no threads. A request is answered at once or
 * later; or its answer is a stream of events that goes on until one side ends it.
 *
 * Bounded: connections, the time a client may take to say what it wants and to take the answer, and
 * streams. Who is beyond a bound, the oldest first, is shut, so that others need not wait. */
#ifndef METRICS_HTTP_H
#define METRICS_HTTP_H

#include <czmq.h>

#include "base/err.h"
#include "base/str.h"

typedef struct http http_t;
typedef struct http_request http_request_t;

typedef struct {
    unsigned status;
    const char *type;  /* Content-Type; static */
    const char *etag;  /* quoted; NULL: none. Static */
    const char *fixed; /* the body, static, of n_fixed bytes; NULL: `body` */
    size_t n_fixed;
    str_t body; /* taken */
} http_answer_t;

/* Called for each GET or HEAD; answers now, or later from the loop's thread: exactly once. Or calls
 * http_stream. `request` is borrowed until then. */
typedef void http_handler_fn(void *user, http_request_t *request);

typedef struct {
    const char *address;        /* "HOST:PORT", "[::1]:9464", port 0: any; "fd:3": a descriptor
                                     that listens already */
    const char *const *headers; /* of all answers: name, value, ..., NULL; static. May be NULL */
    bool local_names;           /* refuse, on a loopback address, requests for a Host that is not
                                     this machine: pages of others must not read what is here */
    http_handler_fn *handler;
    void *user;
} http_options_t;

/* Listen; serves while the loop runs. Strings of `options` are borrowed until http_destroy, but for
 * `address`. ERR_ARG, ERR_NET. http_destroy answers what is open with status 503. */
http_t *http_new(zloop_t *loop, const http_options_t *options, err_t *err);
void http_destroy(http_t **self_p);

unsigned http_port(const http_t *self); /* that was bound */

/* Of a request: path without "?...", decoded; a value of the query, NULL: none; a header. Borrowed. */
const char *http_path(const http_request_t *request);
const char *http_query(const http_request_t *request, const char *name);
const char *http_header(const http_request_t *request, const char *name);

void http_answer(http_request_t *request, http_answer_t *answer);
/* An answer of one line of text. */
void http_answer_text(http_request_t *request, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The answer is a stream (text/event-stream) that begins with `first`. The oldest stream ends when
 * there are too many. */
void http_stream(http_request_t *request, const char *first);
/* Say this to all streams; nothing to one that has not taken much of what was said before. */
void http_stream_say(http_t *self, const char *text);
size_t http_streams(const http_t *self);

#endif
