/* Signs of life from a service's reactor to the process that started it: a byte into a pipe every
 * ALIVE_MS. A stopped process writes none, and neither does one whose reactor hangs while its
 * threads compute. The pipe's end of file tells that the process is ending. */
#ifndef MSG_ALIVE_H
#define MSG_ALIVE_H

#include <czmq.h>

#include "base/err.h"

enum { ALIVE_MS = 100 };

/* Write to `fd` from the loop for the rest of the process; a negative fd: nothing to do. Processes
 * started later do not inherit fd. ERR_IO: fd is no open descriptor. */
int alive_start(zloop_t *loop, int fd, err_t *err);

#endif
