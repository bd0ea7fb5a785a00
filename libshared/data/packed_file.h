/* A file from its beginning to its end, unpacked on the way: gzip where its name ends in .gz, Zstandard
 * where it ends in .zst, else as it lies. Any number of members or frames in a row is one text. Memory
 * does not depend on what unpacks. One thread. */
#ifndef DATA_PACKED_FILE_H
#define DATA_PACKED_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct packed_file packed_file_t;

/* `name` is the file's in errors and tells how it is packed; `path` (NULL: the name) is opened. Both are
 * borrowed. Returns, caller closes; NULL: ERR_IO. */
packed_file_t *packed_file_open(const char *name, const char *path, err_t *err);
void packed_file_close(packed_file_t **self_p);

/* The next n bytes into to[n]; fewer only at the end, *got of them. ERR_IO; ERR_CORRUPT names the byte of
 * the file where it is damaged or cut off; ERR_MEMORY: Zstandard with a window above 128 MiB. */
int packed_file_read(packed_file_t *self, void *to, size_t n, size_t *got, err_t *err);

/* Bytes of the file that were read so far. */
uint64_t packed_file_done(const packed_file_t *self);

#endif
