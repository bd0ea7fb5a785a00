/* Spans that overlap stay together; between two that do not a segment may end. */
#include "runtime/vulkan/segments.h"

#include <stdlib.h>

static int by_place(const void *a, const void *b)
{
    const span_t *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* [from, end) becomes a segment. */
static int add(spans_t *out, uint64_t from, uint64_t end, uint64_t most, err_t *err)
{
    if (end - from > most)
        return err_set(err, ERR_MEMORY,
                       "bytes %llu to %llu of the arena, %.1f MiB, have to be in one buffer, and "
                       "one has %.1f at "
                       "most",
                       (unsigned long long)from, (unsigned long long)end,
                       (double)(end - from) / (1 << 20), (double)most / (1 << 20));
    VEC_PUSH(out, ((span_t){from, end}));
    return 0;
}

int segments_cut(spans_t *touched, uint64_t n_bytes, uint64_t usual, uint64_t most, spans_t *out,
                 err_t *err)
{
    uint64_t from = 0, cut = 0,
             reached = 0; /* of this segment: its last place for an end; what is touched */
    if (touched->n > 0) qsort(touched->at, touched->n, sizeof *touched->at, by_place);
    for (size_t i = 0; i <= touched->n; i++) {
        bool behind = i == touched->n;
        uint64_t lo = behind ? n_bytes : touched->at[i].lo;
        uint64_t here = behind ? n_bytes : lo / SEGMENTS_ALIGN * SEGMENTS_ALIGN;
        if (here >= reached) { /* a segment may end here */
            if (here - from > usual && cut > from) {
                if (add(out, from, cut, most, err) < 0) return -1;
                from = cut;
            }
            cut = here;
        }
        if (!behind && touched->at[i].hi > reached) reached = touched->at[i].hi;
    }
    return add(out, from, n_bytes, most, err);
}

size_t segments_find(const spans_t *segments, uint64_t at)
{
    size_t i = segments->n - 1;
    while (i > 0 && segments->at[i].lo > at) i--;
    return i;
}
