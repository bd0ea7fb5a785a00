/* A ring of records. */
#include "metrics/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void queue_init(queue_t *self, size_t space)
{
    *self = (queue_t){.at = mem_calloc(space, sizeof *self->at), .space = space};
}

void queue_fini(queue_t *self)
{
    record_t record;
    while (queue_take(self, &record, 1)) record_fini(&record);
    free(self->at);
    *self = (queue_t){0};
}

bool queue_push(queue_t *self, record_t *record)
{
    if (self->n == self->space) {
        self->dropped++;
        record_fini(record);
        return false;
    }
    self->at[(self->first + self->n++) % self->space] = *record;
    return true;
}

size_t queue_take(queue_t *self, record_t *out, size_t most)
{
    size_t n = self->n < most ? self->n : most;
    for (size_t i = 0; i < n; i++) {
        out[i] = self->at[self->first];
        self->first = (self->first + 1) % self->space;
    }
    self->n -= n;
    return n;
}

void record_fini(record_t *self)
{
    free(self->detail);
    free(self->key);
    self->detail = self->key = NULL;
}
