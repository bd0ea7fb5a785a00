/* Pages of a file, least recently used. */
#include "worker/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

void room_init(room_t *self, int fd, const char *path, uint64_t n_bytes, uint64_t limit)
{
    *self = (room_t){.fd = fd, .path = path, .n_bytes = n_bytes, .limit = limit, .turn = 1};
    self->n_page = (size_t)((n_bytes + ROOM_PAGE - 1) / ROOM_PAGE);
    self->turn_of = mem_calloc(self->n_page, sizeof *self->turn_of);
}

void room_fini(room_t *self)
{
    free(self->turn_of);
    *self = (room_t){.fd = -1};
}

void room_next(room_t *self)
{
    self->turn++;
}

void room_use(room_t *self, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin / ROOM_PAGE; i * ROOM_PAGE < end; i++)
        if (self->turn_of[i]) self->turn_of[i] = self->turn;
}

int room_take(room_t *self, uint64_t begin, uint64_t end, err_t *err)
{
    uint64_t last = (end + ROOM_PAGE - 1) / ROOM_PAGE;
    for (uint64_t i = begin / ROOM_PAGE, to; i < last; i = to) {
        to = i + 1;
        if (self->turn_of[i]) continue;
        while (to < last && !self->turn_of[to]) to++;
        uint64_t bytes = (to * ROOM_PAGE < self->n_bytes ? to * ROOM_PAGE : self->n_bytes) -
                         i * ROOM_PAGE;
        int rc = posix_fallocate(self->fd, (off_t)(i * ROOM_PAGE), (off_t)bytes);
        if (rc != 0)
            return err_set(err, ERR_IO, "%s: no room for %llu bytes more: %s", self->path,
                           (unsigned long long)bytes, strerror(rc));
        for (uint64_t p = i; p < to; p++) self->turn_of[p] = self->turn;
        self->used += (to - i) * ROOM_PAGE;
    }
    room_use(self, begin, end);
    return 0;
}

typedef struct {
    uint32_t turn;
    size_t page;
} old_t;

static int by_turn(const void *a, const void *b)
{
    const old_t *x = a, *y = b;
    if (x->turn != y->turn) return x->turn < y->turn ? -1 : 1;
    return (x->page > y->page) - (x->page < y->page);
}

/* false: this file system cannot. */
static bool give_back(room_t *self, size_t page)
{
    if (fallocate(self->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)page * ROOM_PAGE,
                  ROOM_PAGE) == 0)
        return true;
    log_event(LOG_WARN, "cache_limit_off", "path=%s reason=\"%s\"", self->path, strerror(errno));
    self->limit = 0;
    return false;
}

void room_shrink(room_t *self, uint64_t more, room_drop_fn *dropped, void *user)
{
    size_t n = 0;
    uint64_t before = self->used;
    if (self->limit == 0 || self->used + more <= self->limit) return;
    old_t *old = mem_calloc((size_t)(self->used / ROOM_PAGE) + 1, sizeof *old);
    for (size_t i = 0; i < self->n_page; i++)
        if (self->turn_of[i] && self->turn_of[i] < self->turn)
            old[n++] = (old_t){self->turn_of[i], i};
    qsort(old, n, sizeof *old, by_turn);
    for (size_t i = 0; i < n && self->used + more > self->limit; i++) {
        if (!give_back(self, old[i].page)) break;
        self->turn_of[old[i].page] = 0;
        self->used -= ROOM_PAGE;
        dropped(user, (uint64_t)old[i].page * ROOM_PAGE, (uint64_t)(old[i].page + 1) * ROOM_PAGE);
    }
    free(old);
    log_event(LOG_DEBUG, "cache_shrunk", "path=%s bytes=%llu to=%llu", self->path,
              (unsigned long long)before, (unsigned long long)self->used);
}
