/* Why is there no answer from an endpoint? ZeroMQ tries again in silence; this tries once and says
 * what came of it: a name that is not known, a refused connection, no answer at all. */
#ifndef MSG_REACH_H
#define MSG_REACH_H

#include <stddef.h>

#include "base/err.h"

enum { REACH_MS = 1000 }; /* how long a connection may take */

/* Can a connection to a tcp:// or ipc:// endpoint be made? It is closed at once. Blocks for
 * REACH_MS and for the look-up of a name. -1: ERR_NET, "cannot reach ENDPOINT (reason)"; other
 * transports are not looked at: 0. Any thread. */
int reach_check(const char *endpoint, err_t *err);

/* The same without blocking: a thread asks, reach_hear tells. fault is NULL when the connection can
 * be made. One thread. */
typedef struct reach reach_t;
typedef void reach_fn(void *user, const char *endpoint, const char *fault);

reach_t *reach_new(reach_fn *tell, void *user, err_t *err);
void reach_destroy(reach_t **self_p); /* does not wait for what was asked */

void reach_ask(reach_t *self, const char *endpoint);
void reach_hear(reach_t *self);         /* tell() what has come since */
size_t reach_open(const reach_t *self); /* questions without answer */

#endif
