/* Guests are turned away before the process runs out of descriptors, or of memory (msg/ration.h).
 *
 * A connection costs a descriptor, and anybody can make connections. At the limit the library would
 * try to accept the next one for ever, at full speed, and this process could open no file. It
 * cannot be told to stop: to unbind a socket ends all its connections. So when few descriptors are
 * left, some connections are ended: those that have said least, the longest silent of them first. A
 * flood of connections that say nothing then makes room for who says HELLO, and members, who have
 * said much, stay. It is logged, with the limit. */
#ifndef MSG_DOOR_H
#define MSG_DOOR_H

#include <czmq.h>

#include "base/err.h"

typedef struct door door_t;

/* Watch the connections that come in at these sockets, each bound to a tcp or ipc endpoint, from a
 * timer of the loop's. NULL sockets are left out; they are borrowed until door_destroy. Returns, caller destroys
 * after the loop has ended; NULL with ERR_IO. */
door_t *door_new(zloop_t *loop, zsock_t *const *sockets, size_t n, err_t *err);
void door_destroy(door_t **self_p);

/* What the timer does. Returns how many were turned away. */
size_t door_look(door_t *self);

/* This process may have as many open files as its hard limit allows, up to a million. Returns the
 * limit. */
uint64_t door_raise_limit(void);

#endif
