/* Directories that the system compiler works in, under $TMPDIR (else /tmp): "pcp-cc-PID-XXXXXX".
 * Its owner holds a lock on it, so that the one of a killed process can be told from one in use.
 * Any thread. */
#ifndef CODEGEN_SCRATCH_H
#define CODEGEN_SCRATCH_H

#include "base/err.h"

typedef struct {
    char *dir; /* NULL: none */
    int lock;
} scratch_t;

/* A new, empty one. ERR_IO. */
int scratch_make(scratch_t *self, err_t *err);
/* With all files in it. A zeroed struct, or one that was not made, is left alone. */
void scratch_remove(scratch_t *self);

/* Remove those whose process was killed. Returns how many. */
int scratch_sweep(void);

#endif
