/* Counted memory for zero-copy answers. */
#include "aggregator/shared.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/mem.h"

shared_t *shared_file(file_map_t map)
{
    shared_t *self = mem_calloc(1, sizeof *self);
    atomic_init(&self->holders, 1);
    self->map = map;
    return self;
}

shared_t *shared_hold(shared_t *self)
{
    atomic_fetch_add_explicit(&self->holders, 1, memory_order_relaxed);
    return self;
}

void shared_drop(shared_t **self_p)
{
    shared_t *self = *self_p;
    *self_p = NULL;
    if (!self || atomic_fetch_sub_explicit(&self->holders, 1, memory_order_acq_rel) > 1) return;
    file_unmap(&self->map);
    free(self->checks);
    free(self);
}

int shared_take_away(shared_t *self)
{
    enum { FLAGS = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };
    void *at = (void *)(uintptr_t)self->map.at;
    return mmap(at, self->map.n, PROT_READ, FLAGS, -1, 0) == MAP_FAILED ? -1 : 0;
}

bool shared_alone(shared_t *self)
{
    return atomic_load_explicit(&self->holders, memory_order_acquire) == 1;
}
