/* Offsets for buffers that live at different times. */
#ifndef PLAN_MEMORY_H
#define PLAN_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "plan/kernel/kernel.h"

enum { MEMORY_ALIGN = KERNEL_ALIGN };

typedef struct {
    int first, last; /* steps, inclusive, in which the buffer is alive */
    uint64_t n_bytes;
    uint64_t offset; /* result */
} memory_block_t;

/* Where n bytes from `at` of the arena on come to lie, there or behind, so that no multiple of `segment` (bytes; 0:
 * it does not matter) is inside of them. Where a segment is too small, it is two, four, ... that no multiple is inside of: so an
 * arena can be cut at the multiples of any of these that holds its largest value. */
uint64_t memory_settle(uint64_t at, uint64_t n_bytes, uint64_t segment);

/* Give each block an offset so that no two that are alive together overlap: largest first, each
 * into the tightest gap that holds it. Offset 0 is byte `from` of the arena, where blocks settle. Returns the
 * bytes that all need. */
uint64_t memory_assign(memory_block_t *blocks, size_t n, uint64_t from, uint64_t segment);

/* Most bytes that are alive at one step, which is *step (the first such): what all blocks need at
 * least. */
uint64_t memory_peak(const memory_block_t *blocks, size_t n, int *step);

static inline uint64_t memory_align(uint64_t n)
{
    return (n + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
}

#endif
