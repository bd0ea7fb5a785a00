/* Spans sorted by where they begin: equal ones are a group, and a group meets an earlier one that
 * ends behind its beginning. */
#include "plan/memory/check_overlaps.h"

#include <stdlib.h>

static int by_span(const void *a, const void *b)
{
    const access_t *x = a, *y = b;
    if (x->span.begin != y->span.begin) return x->span.begin < y->span.begin ? -1 : 1;
    if (x->span.end != y->span.end) return x->span.end < y->span.end ? -1 : 1;
    return x->step != y->step ? (x->step < y->step ? -1 : 1) : (int)y->written - (int)x->written;
}

static bool same_span(const access_t *a, const access_t *b)
{
    return a->span.begin == b->span.begin && a->span.end == b->span.end;
}

/* Of one step: b is another access to the bytes that a writes. */
static bool replaces(const access_t *a, const access_t *b)
{
    return !b->written && a->local && b->local && a->dtype == b->dtype;
}

/* Accesses to equal spans, those of a step together, its writes first. */
static bool find_in_group(const access_t *at, size_t n, bool several, access_t pair[2])
{
    const access_t *written = NULL, *foreign = NULL; /* not by strips */
    for (size_t i = 0; i < n; i++) {
        if (at[i].written) written = &at[i];
        if (!at[i].local) foreign = &at[i];
    }
    if (!written || (several && (!foreign || at[0].step == at[n - 1].step))) return false;
    const access_t *a = written, *b = foreign;
    if (several) {
        if (a->step == b->step) b = a->step == at[0].step ? &at[n - 1] : &at[0];
    } else {
        b = NULL;
        for (size_t i = 0; i < n && !b; i++)
            if (at[i].value != a->value && !replaces(a, &at[i])) b = &at[i];
    }
    if (!b) return false;
    pair[0] = *a;
    pair[1] = *b;
    return true;
}

bool overlaps_find(access_t *access, size_t n, bool several, access_t pair[2])
{
    const access_t *last = NULL, *last_written = NULL; /* those that end last so far */
    if (n > 0) qsort(access, n, sizeof *access, by_span);
    for (size_t i = 0, m; i < n; i += m) {
        const access_t *at = &access[i], *written = NULL;
        for (m = 0; i + m < n && same_span(at, &at[m]); m++)
            if (at[m].written) written = &at[m];
        const access_t *met = written ? last : last_written;
        if (met && met->span.end > at->span.begin) {
            pair[0] = *met;
            pair[1] = written ? *written : *at;
            return true;
        }
        if (find_in_group(at, m, several, pair)) return true;
        if (!last || at->span.end > last->span.end) last = at;
        if (written && (!last_written || at->span.end > last_written->span.end))
            last_written = written;
    }
    return false;
}
