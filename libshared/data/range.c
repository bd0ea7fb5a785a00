/* Leases of data: positions in the endless sequence of epochs. */
#include "data/range.h"

#include "data/shuffle.h"

/* The position `by` behind (epoch, start); false when the epoch number overflows. */
static bool advance(data_range_t *at, uint64_t n_units, uint64_t by)
{
    uint64_t epochs = by / n_units,
             within = at->start + by % n_units; /* both below n_units <= 2^62 */
    if (within >= n_units) {
        within -= n_units;
        epochs++;
    }
    at->start = within;
    return !__builtin_add_overflow(at->epoch, epochs, &at->epoch);
}

static int check_range(const data_range_t *range, uint64_t n_units, err_t *err)
{
    if (n_units == 0 || n_units > (uint64_t)1 << 62)
        return err_set(err, ERR_ARG, "data range: %llu units of data", (unsigned long long)n_units);
    if (range->start >= n_units)
        return err_set(err, ERR_ARG, "data range: start %llu lies outside the epoch's %llu units",
                       (unsigned long long)range->start, (unsigned long long)n_units);
    return 0;
}

int data_range_take(data_range_t *cursor, uint64_t n_units, uint64_t count, data_range_t *out,
                    err_t *err)
{
    if (check_range(cursor, n_units, err) < 0) return -1;
    if (count == 0) return err_set(err, ERR_ARG, "data range: a lease of no units");
    data_range_t taken = {cursor->epoch, cursor->start, count}, next = *cursor;
    if (!advance(&next, n_units, count))
        return err_set(err, ERR_ARG, "data range: %llu units pass the last epoch",
                       (unsigned long long)count);
    *cursor = next;
    *out = taken;
    return 0;
}

int data_range_rest(const data_range_t *range, uint64_t n_units, uint64_t done, data_range_t *rest,
                    err_t *err)
{
    if (check_range(range, n_units, err) < 0) return -1;
    if (done > range->count)
        return err_set(err, ERR_ARG, "data range: %llu of %llu units are reported done",
                       (unsigned long long)done, (unsigned long long)range->count);
    data_range_t left = *range;
    if (!advance(&left, n_units, done))
        return err_set(err, ERR_ARG, "data range: %llu units pass the last epoch",
                       (unsigned long long)done);
    left.count = range->count - done;
    *rest = left;
    return 0;
}

/* The order of one epoch. */
typedef struct {
    shuffle_t all;
    block_shuffle_t blocks;
} epoch_t;

static epoch_t epoch_of(const data_order_t *order, uint64_t epoch)
{
    epoch_t self = {0};
    if (order->block)
        block_shuffle_init(&self.blocks, order->seed, epoch, order->n_units, order->block);
    else
        shuffle_init(&self.all, order->seed, epoch, order->n_units);
    return self;
}

static uint64_t unit_at(const data_order_t *order, const epoch_t *epoch, uint64_t position)
{
    if (order->sequential) return position;
    return order->block ? block_shuffle_at(&epoch->blocks, position)
                        : shuffle_at(&epoch->all, position);
}

int data_range_units(const data_order_t *order, const data_range_t *range, uint64_t first,
                     uint64_t n, uint64_t *units, err_t *err)
{
    data_range_t at = *range;
    if (check_range(range, order->n_units, err) < 0) return -1;
    if (first > range->count || n > range->count - first)
        return err_set(err, ERR_ARG, "data range: positions [%llu, +%llu) of %llu",
                       (unsigned long long)first, (unsigned long long)n,
                       (unsigned long long)range->count);
    if (!advance(&at, order->n_units, first))
        return err_set(err, ERR_ARG, "data range: position %llu passes the last epoch",
                       (unsigned long long)first);
    epoch_t epoch = epoch_of(order, at.epoch);
    for (uint64_t i = 0; i < n; i++) {
        units[i] = unit_at(order, &epoch, at.start);
        if (++at.start < order->n_units) continue;
        at.start = 0;
        epoch = epoch_of(order, ++at.epoch);
    }
    return 0;
}
