/* Batches of a lease. */
#include "data/feed.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int feed_init(feed_t *self, const batch_layout_t *layout, const data_order_t *order,
              const data_range_t *range, uint32_t vocab, int n_micro, err_t *err)
{
    uint64_t per_step = layout->units * (uint64_t)n_micro;
    if (order->n_units == 0 || range->start >= order->n_units || range->count % per_step != 0)
        return err_set(err, ERR_ARG, "range of %llu units at %llu of %llu, %llu a step",
                       (unsigned long long)range->count, (unsigned long long)range->start,
                       (unsigned long long)order->n_units, (unsigned long long)per_step);
    *self = (feed_t){.layout = layout, .order = *order, .range = *range, .vocab = vocab};
    self->n_micro = n_micro;
    self->units = mem_calloc(per_step, sizeof *self->units);
    self->gathered = mem_calloc(layout->units * layout->unit_tokens, (size_t)layout->token_bytes);
    for (int i = 0; i < layout->n_arg; i++)
        self->args[i] = mem_calloc(layout->n[i] * (uint64_t)n_micro, dtype_bytes(layout->dtype[i]));
    return 0;
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
