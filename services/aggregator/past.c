/* Room for a round's changes goes from hand to hand: what the oldest had is filled with the newest. */
#include "aggregator/past.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aggregator/aggregator.h"
#include "base/log.h"

static size_t room_of(const aggregator_t *self)
{
    return change_room(&self->down, self->meta.begin, self->meta.end - self->meta.begin,
                       MSG_CHUNK_FLOATS);
}

/* Beside the one that the newest snapshot has. */
static size_t kept(const aggregator_t *self)
{
    size_t n = self->down.codec ? change_rounds(self->down.codec) - 1 : 0;
    return n < PAST_MOST ? n : PAST_MOST;
}

/* NULL: there is no room for it. */
static shared_t *make_room(const aggregator_t *self, size_t n_bytes)
{
    const char *dir = self->disk.dir;
    int fd = dir ? open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
                 : memfd_create("past", MFD_CLOEXEC);
    if (fd < 0) return NULL;
    void *at = MAP_FAILED;
    if (posix_fallocate(fd, 0, (off_t)n_bytes) == 0)
        at = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return at == MAP_FAILED ? NULL : shared_file((file_map_t){at, n_bytes});
}

void past_begin(aggregator_t *self)
{
    past_t *past = &self->past;
    if (kept(self) == 0 || !self->now->change || self->meta.begin == self->meta.end) return;
    if (past->spare && !shared_alone(past->spare)) shared_drop(&past->spare); /* it is still sent */
    past->next = past->spare ? past->spare : make_room(self, room_of(self));
    past->spare = NULL;
    if (!past->next) {
        log_event(LOG_DEBUG, "change_not_kept", "round=%u", self->now->round);
        return;
    }
    past->next->change = (uint8_t *)(uintptr_t)past->next->map.at;
    past->next->round = self->now->round;
}

void past_add(aggregator_t *self, size_t chunk)
{
    if (!self->past.next) return;
    size_t at = values_change_at(self, chunk), each = values_change_at(self, chunk + 1) - at;
    size_t left = self->past.next->map.n - at;
    memcpy(self->past.next->change + at, self->now->change + at, left < each ? left : each);
}

/* A round whose change was not kept leaves a gap: those before it are of no use to anybody. */
void past_end(aggregator_t *self)
{
    past_t *past = &self->past;
    size_t n = kept(self);
    if (n == 0) return;
    shared_drop(&past->spare);
    past->spare = past->at[n - 1];
    memmove(&past->at[1], &past->at[0], (n - 1) * sizeof *past->at);
    past->at[0] = past->next;
    past->next = NULL;
}

void past_give_up(aggregator_t *self)
{
    shared_drop(&self->past.next);
}

shared_t *past_find(const aggregator_t *self, uint32_t round)
{
    for (size_t i = 0; i < PAST_MOST; i++)
        if (self->past.at[i] && self->past.at[i]->round == round) return self->past.at[i];
    return NULL;
}

void past_head(const aggregator_t *self, const shared_t *past, size_t chunk,
               uint8_t head[CHANGE_HEAD])
{
    memcpy(head, past->change + values_change_at(self, chunk), CHANGE_HEAD);
}

void past_clear(aggregator_t *self)
{
    for (size_t i = 0; i < PAST_MOST; i++) shared_drop(&self->past.at[i]);
    shared_drop(&self->past.next);
    shared_drop(&self->past.spare);
}
