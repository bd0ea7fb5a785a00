/* Who gets how many: the pure part of sharing a cluster out among its runs. */
#ifndef SHEPHERD_FRONT_SHARE_H
#define SHEPHERD_FRONT_SHARE_H

#include <stddef.h>

/* Share `total` workers among n runs in order of submission, which want `want[i]` each (at least
 * 1): first one for each run, earlier ones first; then one after the other to whoever has the
 * smallest part of what it wants, earlier ones first. No run gets more than it wants. O(total n).
 */
void share_workers(size_t n, const unsigned *want, unsigned total, unsigned *share);

/* The run that is furthest below its share, earlier ones first; -1: none is below. */
int share_pick(size_t n, const unsigned *share, const unsigned *have);

/* How much is missing in all, runs above their share not counted. */
unsigned share_missing(size_t n, const unsigned *share, const unsigned *have);

#endif
