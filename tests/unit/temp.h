/* A scratch directory for tests that write files, and a disk that is full. */
#ifndef TESTS_TEMP_H
#define TESTS_TEMP_H

#include <stddef.h>

/* A new empty directory; temp_remove deletes it with everything in it and frees the name. */
char *temp_dir(void);
void temp_remove(char **dir_p);

/* DIR/NAME; valid until the eighth next call. */
const char *temp_path(const char *dir, const char *name);

/* Number of entries in a directory, without . and .. */
int temp_count(const char *dir);

void temp_write(const char *path, const void *bytes, size_t n); /* fails the test on error */

/* From now on files cannot grow beyond `n_bytes` (a write fails with EFBIG), until temp_disk_free.
 */
void temp_disk_full(size_t n_bytes);
void temp_disk_free(void);

#endif
