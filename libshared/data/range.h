/* Leases of data: a range is `count` consecutive positions of the endless sequence of epochs 0, 1,
 * ...; each epoch visits all n_units units (windows or records) once, in its own order. A range may
 * run over the end of an epoch into the next, so nothing is dropped. Pure functions. */
#ifndef DATA_RANGE_H
#define DATA_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef struct {
    uint64_t epoch, start, count; /* first position: `start` < n_units within `epoch` */
} data_range_t;

/* The order in which a run visits its data. Open, plain data. */
typedef struct {
    uint64_t seed;
    uint64_t n_units;
    bool sequential; /* no shuffling: position i reads unit i */
    uint64_t block;  /* shuffled by blocks of so many units (data/shuffle.h); 0: all at once */
} data_order_t;

/* Take the next `count` positions at the cursor (its count is ignored; {0} is the beginning) and
 * move the cursor behind them. ERR_ARG: n_units or count is 0, or the cursor lies outside. */
int data_range_take(data_range_t *cursor, uint64_t n_units, uint64_t count, data_range_t *out,
                    err_t *err);

/* What is left of a range after its first `done` positions (count 0: nothing): requeued when a
 * worker banks partial work. ERR_ARG: done > count. */
int data_range_rest(const data_range_t *range, uint64_t n_units, uint64_t done, data_range_t *rest,
                    err_t *err);

/* Units of positions [first, first + n) of the range, written to units[0, n). ERR_ARG: outside the
 * range. */
int data_range_units(const data_order_t *order, const data_range_t *range, uint64_t first,
                     uint64_t n, uint64_t *units, err_t *err);

#endif
