/* A small HTTP server inside a zloop: GET and HEAD of a few paths, no threads. */
#ifndef METRICS_HTTP_H
#define METRICS_HTTP_H

#include <czmq.h>

#include "base/err.h"
#include "base/str.h"

typedef struct http http_t;

/* Append the body of `path` and return its status (200, 503 ...); 404: there is no such path. */
typedef unsigned http_answer_fn(void *user, const char *path, str_t *body);

/* Listen on "HOST:PORT" ("[::1]:9464", port 0: any). Serves while the loop runs. ERR_ARG, ERR_NET.
 */
http_t *http_new(zloop_t *loop, const char *address, http_answer_fn *answer, void *user,
                 err_t *err);
void http_destroy(http_t **self_p);

unsigned http_port(const http_t *self); /* that was bound */

#endif
