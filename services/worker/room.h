/* The room that a sparse file takes on the disk: pages of it are reserved, and those that were used longest
 * ago are given back when there are more than may be. One thread. */
#ifndef WORKER_ROOM_H
#define WORKER_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { ROOM_PAGE = 4096 };

typedef struct {
    int fd; /* borrowed */
    const char *path;
    uint64_t n_bytes;
    uint64_t limit; /* bytes; 0: none */
    uint64_t used;
    size_t n_page;
    uint32_t *turn_of; /* each page was used last in; 0: it is not there */
    uint32_t turn;     /* now; from 1 */
} room_t;

/* Nothing is reserved of a file of n_bytes, whose length is set. */
void room_init(room_t *self, int fd, const char *path, uint64_t n_bytes, uint64_t limit);
void room_fini(room_t *self);

/* What is used from now on is newer than what was used before. */
void room_next(room_t *self);

/* Bytes [begin, end) are used in this turn. */
void room_use(room_t *self, uint64_t begin, uint64_t end);

/* Reserve the pages of bytes [begin, end), so that a full disk is an error here instead of a signal later.
 * ERR_IO. */
int room_take(room_t *self, uint64_t begin, uint64_t end, err_t *err);

/* Give back pages of turns before this one, the oldest first, until `more` bytes fit into the limit or there
 * are none. dropped: called with the bytes [begin, end) of each, whose content is gone. */
typedef void room_drop_fn(void *user, uint64_t begin, uint64_t end);
void room_shrink(room_t *self, uint64_t more, room_drop_fn *dropped, void *user);

#endif
