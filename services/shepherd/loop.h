/* The shepherd's sockets and the loop that feeds them to its state. */
#ifndef SHEPHERD_LOOP_H
#define SHEPHERD_LOOP_H

#include <czmq.h>

#include "shepherd/roster/herald.h"
#include "shepherd/shepherd.h"

typedef struct {
    shepherd_t state;
    zsock_t *control, *telemetry, *events;
    zactor_t *courier, *recorder; /* recorder NULL: nothing is kept */
    bool listening;               /* control messages are read */
    zactor_t *herald;             /* NULL: nobody is told who is alive */
    bool herald_busy;
    int64_t herald_ms; /* when it was told last */
    uint64_t n_event;  /* published */
    uint64_t n_unsent; /* messages to members who have gone, or do not read */
} loop_t;

/* Run until the state is finished. The sockets are open; the state is initialised. */
int loop_run(loop_t *self, int signal_fd, err_t *err);

#endif
