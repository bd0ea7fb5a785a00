/* A program of our own in a process that can be stopped at any time: limits of time and memory, and
 * what it started ends with it. For a thread beside others; several threads may at once. */
#ifndef COMPILER_CHILD_H
#define COMPILER_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef struct {
    int64_t seconds;  /* of wall time, and of CPU time for each process; 0: any */
    int64_t bytes;    /* of address space for each process; 0: any */
    const char *work; /* for errors, static; NULL: "compiling" */
} child_limits_t;

/* The descriptors that the program begins with beside the usual ones. */
enum { CHILD_IN_FD = 3, CHILD_OUT_FD = 4 };

/* Run argv[0] (a path) with `in` and `out` as these descriptors (borrowed), in a process group of
 * its own, until it ends with status 0. -1, and none of the group is left: ERR_STATE when `stopped`
 * said so (asked every some ten milliseconds), ERR_UNSUPPORTED naming the limit, the signal or the
 * status it ended with, ERR_IO. Dies with the calling thread. */
int child_run(const child_limits_t *limits, char *const argv[], int in, int out,
              bool (*stopped)(void *user), void *user, err_t *err);

#endif
