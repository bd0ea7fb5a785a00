/* Why is there no answer from an endpoint? ZeroMQ tries again in silence; this tries once and says
 * what came of it: a name that is not known, a refused connection, no answer at all. It never holds
 * up the loop: look-ups of names and connections are made by threads of their own. */
#ifndef MSG_REACH_H
#define MSG_REACH_H

#include <czmq.h>

#include "base/err.h"

enum { REACH_MS = 1000 }; /* how long a connection may take */

/* Can a connection to a tcp:// or ipc:// endpoint be made? It is closed at once. Blocks for
 * REACH_MS and for the look-up of a name. -1: ERR_NET, "cannot reach ENDPOINT (reason)"; other
 * transports are not looked at: 0. Any thread. */
int reach_check(const char *endpoint, err_t *err);

/* The same beside a loop. fault is NULL when the connection can be made. */
typedef struct reach reach_t;
typedef void reach_fn(void *user, const char *endpoint, const char *fault);

reach_t *reach_new(zloop_t *loop, reach_fn *tell, void *user, err_t *err);
void reach_destroy(reach_t **self_p); /* does not wait for what was asked; nothing is told then */

/* tell() follows; when a name is still being looked up after REACH_MS, reach_open says so. */
void reach_ask(reach_t *self, const char *endpoint);
size_t reach_open(const reach_t *self); /* questions without answer */

#endif
