/* Which windows a round's leases train: returned ones first, then fresh ones behind the cursor. */
#ifndef SHEPHERD_RANGES_H
#define SHEPHERD_RANGES_H

#include "base/vec.h"
#include "data/range.h"

typedef struct shepherd shepherd_t;

typedef struct {
    data_range_t cursor; /* behind all windows leased so far */
    uint64_t fresh; /* windows of the open round's leases that came from the cursor; 0: unknown */
    VEC(data_range_t) returned; /* leased, not trained: leased again first; ordered, disjoint */
} ranges_t;

void ranges_plan(shepherd_t *self); /* the windows of the round's leases; moves the cursor */
/* Steps of each replica, into steps[replicas]: H, or with "balance" the share of it that lets all
 * workers finish at the same time, by the speed and the transfers of their last leases (shares.c). */
void ranges_share(const shepherd_t *self, uint32_t *steps);
/* What a replica's next lease is likely to train; count 0: nobody knows. */
data_range_t ranges_next(const shepherd_t *self, uint32_t replica);
void ranges_settle(shepherd_t *self); /* at its end: what was not trained is returned */
void ranges_return(shepherd_t *self, const data_range_t *range);
uint64_t ranges_step(const shepherd_t *self); /* windows of one step */
uint32_t ranges_steps(const shepherd_t *self, uint64_t windows);

#endif
