/* What is in memory less what is in use. The rule goes by what is idle, not by growth: what a flood had left at the moment
 * of a trim would stand for ever. */
#include "base/idle.h"

#include <malloc.h>

enum { KEPT_BYTES = 4 << 20 };

static uint64_t idle_bytes(uint64_t resident)
{
    struct mallinfo2 all = mallinfo2();
    uint64_t used = all.uordblks + all.hblkhd;
    return resident > used ? resident - used : 0;
}

bool idle_give_back(idle_t *self, uint64_t (*resident)(void *user), void *user)
{
    uint64_t idle = idle_bytes(resident(user));
    if (idle < self->least || !self->least) self->least = idle;
    if (idle < self->least + self->least / 16 + KEPT_BYTES) return false;
    malloc_trim(0);
    self->least = idle_bytes(resident(user));
    return true;
}
