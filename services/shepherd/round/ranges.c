/* Which windows a round's leases train: returned ones first, then fresh ones behind the cursor. */
#include <stdlib.h>

#include "shepherd/shepherd.h"

uint64_t ranges_step(const shepherd_t *self)
{
    return self->bulk.layout.batch.units * (uint64_t)self->config->accumulate;
}

uint32_t ranges_steps(const shepherd_t *self, uint64_t windows)
{
    return (uint32_t)(windows / ranges_step(self));
}

static uint64_t epoch(const shepherd_t *self)
{
    return layout_units(&self->bulk.layout, self->bulk.train_tokens);
}

/* Its place in the endless sequence of epochs. */
static uint64_t place(const shepherd_t *self, const data_range_t *range)
{
    return range->epoch * epoch(self) + range->start;
}

static data_range_t range_at(const shepherd_t *self, uint64_t at, uint64_t count)
{
    uint64_t n = epoch(self);
    return (data_range_t){.epoch = at / n, .start = at % n, .count = count};
}

/* Insert in order. Neighbours become one: the store cuts ranges at the ends of epochs, and a lease
 * must be whole steps. */
void ranges_return(shepherd_t *self, const data_range_t *range)
{
    if (range->count == 0) return;
    VEC_PUSH(&self->ranges.returned, *range);
    data_range_t *at = self->ranges.returned.at;
    size_t i = self->ranges.returned.n - 1, n = 0;
    for (; i > 0 && place(self, &at[i - 1]) > place(self, range); i--) at[i] = at[i - 1];
    at[i] = *range;
    for (size_t k = 1; k < self->ranges.returned.n; k++)
        if (place(self, &at[n]) + at[n].count == place(self, &at[k]))
            at[n].count += at[k].count;
        else
            at[++n] = at[k];
    self->ranges.returned.n = n + 1;
}

/* The first returned windows, whole steps of one range. false: there are none. */
static bool take_returned(shepherd_t *self, uint32_t steps, data_range_t *out)
{
    uint64_t step = ranges_step(self);
    for (size_t i = 0; i < self->ranges.returned.n; i++) {
        data_range_t *from = &self->ranges.returned.at[i];
        uint64_t whole = from->count / step;
        if (whole == 0) continue;
        if (whole > steps) whole = steps;
        uint64_t at = place(self, from), rest = from->count - whole * step;
        *out = range_at(self, at, whole * step);
        *from = range_at(self, at + whole * step, rest);
        if (rest == 0) {
            for (size_t k = i + 1; k < self->ranges.returned.n; k++)
                self->ranges.returned.at[k - 1] = self->ranges.returned.at[k];
            self->ranges.returned.n--;
        }
        return true;
    }
    return false;
}

/* Exactly this range, which the round before returned. false: it is not there. */
static bool take_back(shepherd_t *self, const data_range_t *range)
{
    uint64_t at = place(self, range), end = at + range->count;
    for (size_t i = 0; i < self->ranges.returned.n; i++) {
        data_range_t *from = &self->ranges.returned.at[i];
        uint64_t first = place(self, from), last = first + from->count;
        if (first > at || last < end) continue;
        data_range_t behind = range_at(self, end, last - end);
        from->count = at - first;
        if (from->count == 0) {
            for (size_t k = i + 1; k < self->ranges.returned.n; k++)
                self->ranges.returned.at[k - 1] = self->ranges.returned.at[k];
            self->ranges.returned.n--;
        }
        ranges_return(self, &behind);
        return true;
    }
    return false;
}

void ranges_plan(shepherd_t *self)
{
    for (int64_t k = 0; k < self->round.replicas; k++) { /* before others are given from there */
        work_t *lease = &self->round.lease[k];
        if (lease->lag && !take_back(self, &lease->range)) lease->lag = lease->carry = 0;
        if (lease->lag) lease->want = lease->range.count;
    }
    uint32_t *steps = mem_calloc((size_t)self->round.replicas + 1, sizeof *steps);
    ranges_share(self, steps);
    self->ranges.fresh = 0;
    for (int64_t k = 0; k < self->round.replicas; k++) {
        work_t *lease = &self->round.lease[k];
        if (lease->lag) continue;
        if (!take_returned(self, steps[k], &lease->range)) {
            uint64_t at = place(self, &self->ranges.cursor), count = steps[k] * ranges_step(self);
            lease->range = range_at(self, at, count);
            self->ranges.cursor = range_at(self, at + count, 0);
            self->ranges.fresh += count;
        }
        lease->want = lease->range.count;
    }
    free(steps);
}

/* If all replicas train as many windows again, each goes on so much further. */
data_range_t ranges_next(const shepherd_t *self, uint32_t replica)
{
    const work_t *lease = &self->round.lease[replica];
    bool last = self->round.number + 1 >= self->config->rounds;
    bool even = self->ranges.fresh > 0 && self->ranges.returned.n == 0;
    if (last || !even || lease->lag) return (data_range_t){0};
    return range_at(self, place(self, &lease->range) + self->ranges.fresh, lease->want);
}

void ranges_settle(shepherd_t *self)
{
    for (int64_t k = 0; k < self->round.replicas; k++) {
        const work_t *lease = &self->round.lease[k];
        uint64_t done = lease->state == WORK_DONE ? lease->done_windows : 0;
        data_range_t rest = range_at(self, place(self, &lease->range) + done,
                                     lease->range.count - done);
        ranges_return(self, &rest);
    }
}
