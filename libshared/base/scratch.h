/* Directories for one process's time: "ROOT/pcp-KIND-PID-XXXXXX", for the system compiler ("cc"),
 * for sockets, for what is about to be sent. Their owner holds a lock on each, so that the one of a
 * killed process can be told from one in use, and goes when the next process of its kind starts.
 * Any thread. */
#ifndef BASE_SCRATCH_H
#define BASE_SCRATCH_H

#include "base/err.h"

typedef struct {
    char *dir; /* NULL: none */
    int lock;
} scratch_t;

/* A new, empty one. root: NULL is $TMPDIR, else /tmp; sockets need a short one (a path may have 107
 * bytes). kind: letters. ERR_IO. */
int scratch_make(scratch_t *self, const char *root, const char *kind, err_t *err);
/* With all that is in it. A zeroed struct, or one that was not made, is left alone. */
void scratch_remove(scratch_t *self);

/* Remove those of this kind whose process was killed. Returns how many. */
int scratch_sweep(const char *root, const char *kind);

#endif
