/* Batches of a lease. */
#include "data/feed.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Room for count elements; how much that is comes from a plan, so it may be too much. */
static void *room(uint64_t count, uint64_t times, size_t element, bool *fits)
{
    size_t n = 0, n_bytes = 0;
    void *at = NULL;
    if (size_mul(count, times, &n) && size_mul(n, element, &n_bytes))
        at = calloc(n_bytes ? n_bytes : 1, 1);
    *fits = *fits && at;
    return at;
}

static int make_room(feed_t *self, err_t *err)
{
    const batch_layout_t *layout = self->layout;
    uint64_t n_micro = (uint64_t)self->n_micro;
    bool fits = true;
    self->units = room(layout->units, n_micro, sizeof *self->units, &fits);
    self->gathered = room(layout->units, layout->unit_tokens, (size_t)layout->token_bytes, &fits);
    for (int i = 0; i < layout->n_arg; i++)
        self->args[i] = room(layout->n[i], n_micro, dtype_bytes(layout->dtype[i]), &fits);
    if (fits) return 0;
    int n = self->n_micro;
    feed_fini(self);
    return err_set(err, ERR_MEMORY,
                   "there is no memory for a step's %d micro-batches of %llu units of %llu tokens: "
                   "use a smaller batch, or fewer of them",
                   n, (unsigned long long)layout->units, (unsigned long long)layout->unit_tokens);
}

int feed_init(feed_t *self, const batch_layout_t *layout, const data_order_t *order,
              const data_range_t *range, uint32_t vocab, int n_micro, err_t *err)
{
    uint64_t per_step;
    bool whole = !__builtin_mul_overflow(layout->units, (uint64_t)n_micro, &per_step) &&
                 range->count >= per_step && range->count % per_step == 0;
    if (order->n_units == 0 || range->start >= order->n_units || !whole)
        return err_set(err, ERR_ARG, "range of %llu units at %llu of %llu, %llu a step",
                       (unsigned long long)range->count, (unsigned long long)range->start,
                       (unsigned long long)order->n_units, (unsigned long long)per_step);
    *self = (feed_t){.layout = layout, .order = *order, .range = *range, .vocab = vocab};
    self->n_micro = n_micro;
    return make_room(self, err);
}

void feed_fini(feed_t *self)
{
    free(self->units);
    free(self->gathered);
    for (int i = 0; i < BATCH_MAX_ARGS; i++) free(self->args[i]);
    *self = (feed_t){0};
}

int feed_units(const feed_t *self, uint64_t step, err_t *err)
{
    uint64_t n = self->layout->units * (uint64_t)self->n_micro;
    return data_range_units(&self->order, &self->range, step * n, n, self->units, err);
}

int feed_step(feed_t *self, const void *tokens, uint64_t step, err_t *err)
{
    const batch_layout_t *layout = self->layout;
    size_t bytes = (size_t)layout->token_bytes;
    if (feed_units(self, step, err) < 0) return -1;
    for (int micro = 0; micro < self->n_micro; micro++) {
        const uint64_t *units = self->units + (uint64_t)micro * layout->units;
        for (uint64_t i = 0; i < layout->units; i++)
            memcpy(self->gathered + i * layout->unit_tokens * bytes,
                   (const char *)tokens + units[i] * layout->unit * bytes,
                   layout->unit_tokens * bytes);
        void *args[BATCH_MAX_ARGS];
        for (int i = 0; i < layout->n_arg; i++)
            args[i] = (char *)self->args[i] +
                      (uint64_t)micro * layout->n[i] * dtype_bytes(layout->dtype[i]);
        if (batch_fill(layout, self->gathered, layout->units * layout->unit_tokens, self->vocab,
                       args, err) < 0)
            return -1;
    }
    return 0;
}
