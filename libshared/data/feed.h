/* Batches for a range of data: positions -> units -> tokens -> batch arguments. One thread at a time. */
#ifndef DATA_FEED_H
#define DATA_FEED_H

#include "data/batch.h"
#include "data/range.h"

typedef struct {
    const batch_layout_t *layout;
    data_order_t order;
    data_range_t range;
    uint32_t vocab;
    int n_micro;     /* micro-batches per step */
    uint64_t *units; /* of one step */
    char *gathered;  /* tokens of one micro-batch */
    void *args[BATCH_MAX_ARGS];
} feed_t;

/* Borrow layout. -1 with ERR_ARG: no unit in so many tokens, or the range is no whole steps, one at least;
 * ERR_MEMORY: a step of so many micro-batches has no room. Nothing to free then. */
int feed_init(feed_t *self, const batch_layout_t *layout, const data_order_t *order,
              const data_range_t *range, uint32_t vocab, int n_micro, err_t *err);
void feed_fini(feed_t *self);

/* The units of step `step`, into self->units. ERR_ARG: the range has no such step. */
int feed_units(const feed_t *self, uint64_t step, err_t *err);

/* Fill args with step `step`'s micro-batches, one after another. `tokens` is the whole text, of which the
 * step's windows are read. */
int feed_step(feed_t *self, const void *tokens, uint64_t step, err_t *err);

#endif
