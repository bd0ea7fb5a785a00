/* Listening TCP sockets of programs that speak HTTP. Any thread. */
#ifndef BASE_LISTEN_H
#define BASE_LISTEN_H

#include <netdb.h>
#include <stdbool.h>

#include "base/err.h"

/* A socket, not blocking, that listens at "HOST:PORT" or "[::1]:PORT" (port 0: any); of "fd:N" the
 * descriptor N, which listens already. The caller closes it. -1: ERR_ARG, the address is malformed or
 * its host not known; ERR_IO: the address is taken, or none of this machine's. */
int listen_open(const char *address, err_t *err);

/* The port that a listening socket is bound to, and its address as numbers. */
unsigned listen_bound(int fd, char host[NI_MAXHOST]);

/* Can only this machine connect to an address that listen_bound tells? */
bool listen_is_loopback(const char *host);

/* Does a Host header (may be NULL: no) name this machine by a name that no other machine has:
 * "localhost", 127.*, [::1], with a port or without? Pages of other places come with other names. */
bool listen_is_local_name(const char *host);

#endif
