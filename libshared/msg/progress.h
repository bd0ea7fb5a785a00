/* Do bytes pass through the TCP connection of a socket, either way? While they do its peer is not
 * silent, however long a message takes. One thread: the socket's. */
#ifndef MSG_PROGRESS_H
#define MSG_PROGRESS_H

#include <czmq.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    zsock_t *monitor; /* news of the connection; NULL: no TCP, so nothing is known */
    int fd;           /* the connection's, libzmq's; -1: there is none */
    uint64_t seen;    /* bytes at the last look */
} progress_t;

/* A socket that has one TCP connection at most. For others, and where no monitor can be made, there
 * is never any progress. Ends with progress_end, before the socket does. */
void progress_begin(progress_t *self, zsock_t *socket, const char *endpoint);
void progress_end(progress_t *self, zsock_t *socket);

/* More bytes than a few heartbeats since this was last true (or progress_skip was called). */
bool progress_made(progress_t *self);
void progress_skip(progress_t *self);

#endif
