/* What the kernel knows of a connection. */
#ifndef MSG_GUEST_H
#define MSG_GUEST_H

#include <stdbool.h>
#include <stdint.h>

/* How many bytes have come in on a TCP connection, and how long ago the last of them, or the
 * connection. false: it is none. */
bool guest_said(int fd, uint64_t *bytes, uint32_t *silent_ms);

/* How many of them were not read yet. */
uint64_t guest_unread(int fd);
/* The kernel's name of a socket, which is never given again; 0: none. */
uint64_t guest_cookie(int fd);
/* A number that stands for the address at its other end (of IPv6 the network, its first 64 bits, which one machine has
 * whole); 0: it has none. */
uint64_t guest_address(int fd);

/* End a connection from our side, whoever owns it: it is reset (connect(2), AF_UNSPEC), or shut down if it is a local one.
 * What was not read yet is gone at once, so that nobody reads what follows a gap as if it followed what had been read; its
 * owner reads an error, and closes it. That is a hangup: where libzmq 4.3.4 does not read a connection, since a queue is full,
 * and is told of a hangup, it ends the process at a ping in what it had read. No socket that this is used for may have a
 * limit of messages, therefore (msg/endpoint.h). */
void guest_cut(int fd);

#endif
