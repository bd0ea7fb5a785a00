/* What becomes of the connection of a socket: has it ended, and do bytes pass, either way? While
 * they do its peer is not silent, however long a message takes. One thread: the socket's. */
#ifndef MSG_PROGRESS_H
#define MSG_PROGRESS_H

#include <czmq.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    zsock_t *monitor; /* news of the connection; NULL: nothing is known */
    int fd;           /* the connection's, libzmq's; -1: there is none */
    unsigned ended;   /* connections that have */
    uint64_t seen;    /* bytes at the last look */
} progress_t;

/* A socket that has one connection at most. Where no monitor can be made there is never any
 * progress, and over ipc no bytes are counted. Ends with progress_end, before the socket does. */
void progress_begin(progress_t *self, zsock_t *socket);
void progress_end(progress_t *self, zsock_t *socket);

/* Take the news: self->ended. */
void progress_hear(progress_t *self);

/* More bytes than a few heartbeats since this was last true (or progress_skip was called). */
bool progress_made(progress_t *self);
void progress_skip(progress_t *self);

#endif
