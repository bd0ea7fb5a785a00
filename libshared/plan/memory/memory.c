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

uint64_t memory_settle(uint64_t at, uint64_t n_bytes, uint64_t segment)
{
    if (segment == 0 || n_bytes == 0) return at;
    while (segment < n_bytes) segment *= 2;
    bool inside = at / segment == (at + n_bytes - 1) / segment;
    return inside ? at : (at / segment + 1) * segment;
}

typedef struct {
    uint64_t from, segment;
} place_t;

static uint64_t settle(const place_t *place, uint64_t offset, uint64_t n_bytes)
{
    return memory_settle(place->from + offset, n_bytes, place->segment) - place->from;
}

/* The placed blocks, by offset, that block meets in time leave gaps: take the tightest. */
static uint64_t best_gap(memory_block_t *const *placed, size_t n, const memory_block_t *block,
                         const place_t *place)
{
    uint64_t n_bytes = block->n_bytes, best = 0, slack = UINT64_MAX;
    uint64_t end = settle(place, 0, n_bytes);
    for (size_t i = 0; i < n; i++) {
        const memory_block_t *p = placed[i];
        if (!alive_together(p, block)) continue;
        if (p->offset >= end + n_bytes && p->offset - end - n_bytes < slack) {
            slack = p->offset - end - n_bytes;
            best = end;
        }
        uint64_t behind = memory_align(p->offset + p->n_bytes);
        if (behind > end) end = settle(place, behind, n_bytes);
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

uint64_t memory_assign(memory_block_t *blocks, size_t n, uint64_t from, uint64_t segment)
{
    const place_t place = {from, segment};
    memory_block_t **order = mem_calloc(n + 1, sizeof *order);
    memory_block_t **placed = mem_calloc(n + 1, sizeof *placed);
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) order[i] = &blocks[i];
    qsort(order, n, sizeof *order, by_size);
    for (size_t i = 0; i < n; i++) {
        memory_block_t *block = order[i];
        block->offset = best_gap(placed, i, block, &place);
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
