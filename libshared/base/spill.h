/* Large blocks of bytes with one lifetime: in memory up to a limit, behind it in a temporary file without
 * a name, which is mapped, so that the kernel may take its pages out of memory and bring them back.
 *
 * The file lies in $TMPDIR, else in the cache's directory, else in /tmp; it is gone when its last user is,
 * however that one ends. Room on the disk is taken before a block is handed out: a full disk is an error,
 * never a signal. One thread at a time. */
#ifndef BASE_SPILL_H
#define BASE_SPILL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

typedef struct spill spill_t;

/* The first keep_bytes stay in memory. */
spill_t *spill_new(size_t keep_bytes);
/* One owner more or less; the last one frees every block. NULL does nothing. */
spill_t *spill_share(spill_t *self);
void spill_release(spill_t **self_p);

/* n_bytes (at least 1) of zeroed memory, aligned to 16. NULL: ERR_IO names the directory and says what to
 * do, ERR_MEMORY. */
void *spill_alloc(spill_t *self, size_t n_bytes, err_t *err);

/* Whole pages of [at, at + n_bytes) of a block were written and are not needed soon. */
void spill_rest(const spill_t *self, const void *at, size_t n_bytes);

/* Is it in one of the blocks? */
bool spill_holds(const spill_t *self, const void *at);

/* Bytes that went to the file. */
size_t spill_file_bytes(const spill_t *self);

#endif
