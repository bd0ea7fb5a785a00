/* Files of a directory that is kept small: which there are, how large, and when each was used last. */
#ifndef BASE_ENTRIES_H
#define BASE_ENTRIES_H

#include <stdint.h>
#include <time.h>

#include "base/vec.h"

typedef struct {
    char *path;
    struct timespec used; /* entries_touch, or when it was written */
    uint64_t bytes;
} entry_t;
typedef VEC(entry_t) entries_t;

/* Files whose names begin and end so, in no order; none of a directory that cannot be read. Returns, caller
 * entries_fini. */
entries_t entries_list(const char *dir, const char *begin, const char *end);
void entries_fini(entries_t *self);

/* For qsort: who was used last comes first. */
int entries_newest_first(const void *a, const void *b);

/* It is used now. What may not be written to keeps its time. */
void entries_touch(const char *path);

#endif
