/* The kernel's own figures of the connection (TCP_INFO), which a ZeroMQ monitor names. The
 * descriptor belongs to libzmq's thread and may be another's by the time it is asked: the answer is
 * wrong then, once, and nothing else happens. */
#include "msg/progress.h"

#include <string.h>
#include <zmq.h>

#include "msg/control.h"
#include "msg/tcp_bytes.h"

enum { LITTLE_BYTES = 4096 }; /* heartbeats, and answers that say nothing */

void progress_begin(progress_t *self, zsock_t *socket)
{
    *self = (progress_t){.fd = -1};
    self->monitor = endpoint_watch(socket, ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED);
}

void progress_end(progress_t *self, zsock_t *socket)
{
    if (socket && self->monitor) endpoint_unwatch(socket);
    zsock_destroy(&self->monitor);
    self->fd = -1;
}

void progress_hear(progress_t *self)
{
    int32_t value = -1;
    if (!self->monitor) return;
    for (uint16_t event; (event = control_news(self->monitor, &value));) {
        self->fd = event == ZMQ_EVENT_CONNECTED ? value : -1;
        self->ended += event == ZMQ_EVENT_DISCONNECTED;
        self->seen = 0;
    }
}

static uint64_t bytes_passed(progress_t *self)
{
    progress_hear(self);
    return tcp_bytes(self->fd);
}

bool progress_made(progress_t *self)
{
    uint64_t passed = bytes_passed(self);
    if (passed < self->seen + LITTLE_BYTES) return false;
    self->seen = passed;
    return true;
}

void progress_skip(progress_t *self)
{
    self->seen = bytes_passed(self);
}
