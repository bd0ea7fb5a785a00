/* Where an arena may be cut: a device that has no buffer of its size gets several, its segments, so that no step
 * touches two of them by one argument. Numbers alone, nothing of Vulkan. Any thread. */
#ifndef RUNTIME_VULKAN_SEGMENTS_H
#define RUNTIME_VULKAN_SEGMENTS_H

#include "base/err.h"
#include "base/vec.h"

enum { SEGMENTS_ALIGN = 256 }; /* bytes: of cuts, at least what elements of any kind ask for */

/* Bytes [lo, hi) of the arena. */
typedef struct {
    uint64_t lo, hi;
} span_t;

typedef VEC(span_t) spans_t;

/* The fewest segments (caller frees) of [0, n_bytes) in order, none of which ends inside a touched span and none
 * of which is larger than `usual`, or, where that cannot be, than `most`. touched: sorted here. ERR_MEMORY names the
 * bytes that would have to be together: more than `most`. */
int segments_cut(spans_t *touched, uint64_t n_bytes, uint64_t usual, uint64_t most, spans_t *out,
                 err_t *err);

/* Index of the segment that has byte `at`; the last one for bytes behind the end. */
size_t segments_find(const spans_t *segments, uint64_t at);

#endif
