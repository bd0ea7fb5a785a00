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

#endif
