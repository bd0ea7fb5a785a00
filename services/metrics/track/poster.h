/* JSON over HTTP to one server, by libcurl: a request at a time, each bounded in time and size. No redirects,
 * no protocols but http and https, whose certificates are checked. For a thread of its own. */
#ifndef METRICS_TRACK_POSTER_H
#define METRICS_TRACK_POSTER_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

typedef struct poster poster_t;

typedef struct {
    const char *base;  /* "https://host/prefix"; all are copied */
    const char *token; /* "Authorization: Bearer"; NULL: none */
    bool (*stopped)(
        void *user); /* asked several times a second: give the request up; may be NULL */
    void *user;
} poster_options_t;

/* Is this an address that we may speak to? ERR_ARG: another scheme, a password within (it would be seen), or
 * (has_token) http to another machine than this one, where everybody on the way would read the token. */
int poster_check(const char *base, bool has_token, err_t *err);

poster_t *poster_new(const poster_options_t *options, err_t *err);
void poster_destroy(poster_t **self_p);

/* POST `body`, or (NULL) GET, to base/path. *answer (may be NULL): caller json_decref's; NULL on errors.
 * ERR_NET: no answer, no JSON, a status of 5xx or 429: try again later. ERR_IO: 404, what is named is not
 * there. ERR_ARG: any other 4xx, the server does not want it. ERR_STATE: stopped. The text has the status
 * and the server's words, never the token. */
int poster_ask(poster_t *self, const char *path, const json_t *body, json_t **answer, err_t *err);
/* A text as part of a query. Returns, caller frees by poster_free. */
char *poster_escape(poster_t *self, const char *text);
void poster_free(char *escaped);

#endif
