/* A file of its own: the kernel's header, which has the newer figures, clashes with the C
 * library's. */
#ifndef MSG_TCP_BYTES_H
#define MSG_TCP_BYTES_H

#include <stdint.h>

/* Bytes that the other end of a TCP connection has acknowledged, and those received from it; 0 when
 * the descriptor is none. */
uint64_t tcp_bytes(int fd);

#endif
