/* Fair shares: the next worker goes where the smallest part of the wanted ones is. A run without
 * any has part zero, so each gets one before another gets a second. */
#include "shepherd/front/share.h"

#include <stdbool.h>
#include <stdint.h>

/* have/want of one run below that of another. */
static bool poorer(unsigned have, unsigned want, unsigned other_have, unsigned other_want)
{
    return (uint64_t)have * other_want < (uint64_t)other_have * want;
}

void share_workers(size_t n, const unsigned *want, unsigned total, unsigned *share)
{
    for (size_t i = 0; i < n; i++) share[i] = 0;
    if (n == 1) {
        share[0] = total < want[0] ? total : want[0];
        return;
    }
    for (; total > 0; total--) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (share[i] < want[i] &&
                (best == n || poorer(share[i], want[i], share[best], want[best])))
                best = i;
        if (best == n) return;
        share[best]++;
    }
}

int share_pick(size_t n, const unsigned *share, const unsigned *have)
{
    int best = -1;
    unsigned most = 0;
    for (size_t i = 0; i < n; i++) {
        if (have[i] >= share[i] || share[i] - have[i] <= most) continue;
        most = share[i] - have[i];
        best = (int)i;
    }
    return best;
}

unsigned share_missing(size_t n, const unsigned *share, const unsigned *have)
{
    unsigned missing = 0;
    for (size_t i = 0; i < n; i++)
        if (have[i] < share[i]) missing += share[i] - have[i];
    return missing;
}
