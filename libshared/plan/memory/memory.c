/* Greedy by size, best fit (as in "Efficient Memory Management for Deep Neural Net Inference",
 * Pisarchyk and Lee 2020, section 5). */
#include "plan/memory/memory.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

static int by_size(const void *a, const void *b)
{
    const memory_block_t *x = *(memory_block_t *const *)a, *y = *(memory_block_t *const *)b;
    if (x->n_bytes != y->n_bytes) return x->n_bytes < y->n_bytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

static bool alive_together(const memory_block_t *a, const memory_block_t *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The placed blocks, by offset, that block meets in time leave gaps: take the tightest. */
static uint64_t best_gap(memory_block_t *const *placed, size_t n, const memory_block_t *block)
{
    uint64_t end = 0, best = 0, slack = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const memory_block_t *p = placed[i];
        if (!alive_together(p, block)) continue;
        if (p->offset >= end + block->n_bytes && p->offset - end - block->n_bytes < slack) {
            slack = p->offset - end - block->n_bytes;
            best = end;
        }
        uint64_t behind = memory_align(p->offset + p->n_bytes);
        if (behind > end) end = behind;
    }
    return slack == UINT64_MAX ? end : best;
}

uint64_t memory_peak(const memory_block_t *blocks, size_t n, int *step)
{
    int last = -1;
    for (size_t i = 0; i < n; i++)
        if (blocks[i].last > last) last = blocks[i].last;
    int64_t *change = mem_calloc((size_t)last + 3, sizeof *change), now = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        if (blocks[i].first > blocks[i].last) continue;
        change[blocks[i].first] += (int64_t)memory_align(blocks[i].n_bytes);
        change[blocks[i].last + 1] -= (int64_t)memory_align(blocks[i].n_bytes);
    }
    *step = 0;
    for (int i = 0; i <= last; i++) {
        now += change[i];
        if (now > most) most = now, *step = i;
    }
    free(change);
    return (uint64_t)most;
}

uint64_t memory_assign(memory_block_t *blocks, size_t n)
{
    memory_block_t **order = mem_calloc(n + 1, sizeof *order);
    memory_block_t **placed = mem_calloc(n + 1, sizeof *placed);
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) order[i] = &blocks[i];
    qsort(order, n, sizeof *order, by_size);
    for (size_t i = 0; i < n; i++) {
        memory_block_t *block = order[i];
        block->offset = best_gap(placed, i, block);
        size_t at = i;
        for (; at > 0 && placed[at - 1]->offset > block->offset; at--) placed[at] = placed[at - 1];
        placed[at] = block;
        uint64_t end = memory_align(block->offset + block->n_bytes);
        if (end > total) total = end;
    }
    free(order);
    free(placed);
    return total;
}
