/* Is this process well? Its own loop answers on a unix socket: one that is stopped, or whose loop
 * is held up, does not. Whoever connects gets a line, "ok: ..." or "unwell: ...", and the end. */
#ifndef MSG_HEALTH_H
#define MSG_HEALTH_H

#include <czmq.h>

#include "base/err.h"

enum { HEALTH_MS = 2000 }; /* how long an answer may take */

/* Writes how it is into text[n] and returns whether it is well. Called from the loop. */
typedef bool health_fn(void *user, char *text, size_t n);

typedef struct health health_t;

/* Answer at `path` from the loop; fn NULL: a loop that turns is well. What an earlier process left
 * there is replaced. NULL with ERR_IO, ERR_ARG (a path of more than 107 bytes), or ERR_STATE:
 * another process has it. */
health_t *health_new(zloop_t *loop, const char *path, health_fn *fn, void *user, err_t *err);
void health_destroy(health_t **self_p); /* and remove the socket */

/* Ask the process at `path`; blocks for at most HEALTH_MS. 0 with its line in text[n], without the
 * line's end; -1: ERR_NET (no process, no answer) or ERR_STATE (it is unwell), err says why. */
int health_ask(const char *path, char *text, size_t n, err_t *err);

#endif
