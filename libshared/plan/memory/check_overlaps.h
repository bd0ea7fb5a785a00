/* Accesses that may happen at once: of one step, or of steps that run in one go. Inside of plan/.
 */
#ifndef PLAN_CHECK_OVERLAPS_H
#define PLAN_CHECK_OVERLAPS_H

#include "ir/ir.h"
#include "plan/memory/owners.h"

typedef struct {
    span_bytes_t span; /* all that the value takes */
    ir_val_t value;
    dtype_t dtype;
    int step;
    bool written;
    bool local; /* in a step: elements are read where they are written; in a sweep: by strips */
} access_t;

/* Do two of the accesses meet that may not: spans that overlap without being equal, one of them
 * written; in equal spans, one of them written,
 * - several == false (one step): another value, but for elements of one type that a single value
 *   replaces at their places;
 * - several == true (steps of a sweep): another step, but for strips that both keep to.
 * Fills pair[2] then. Sorts the accesses: n log n. */
bool overlaps_find(access_t *access, size_t n, bool several, access_t pair[2]);

#endif
