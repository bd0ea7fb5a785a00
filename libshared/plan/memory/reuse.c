/* One pass over a sweep's steps: a block that begins takes the place of one of its size that has
 * ended. */
#include "plan/memory/reuse.h"

#include <limits.h>
#include <stdlib.h>

#include "plan/schedule/sweep.h"

typedef struct {
    program_t *program;
    int *moved;    /* by block: the one whose memory it has */
    VEC(int) slot; /* blocks of the present sweep that keep their memory */
} reuse_t;

static bool lives_within(const memory_block_t *b, int first, int last)
{
    return b->first >= first && b->last <= last && b->first <= b->last && b->n_bytes > 0;
}

static void take_slot(reuse_t *r, int number)
{
    memory_block_t *block = r->program->block.at, *fresh = &block[number];
    for (size_t i = 0; i < r->slot.n; i++) {
        memory_block_t *old = &block[r->slot.at[i]];
        if (old->n_bytes != fresh->n_bytes || old->last >= fresh->first) continue;
        old->last = fresh->last;
        r->moved[number] = r->slot.at[i];
        *fresh = (memory_block_t){.first = INT_MAX, .last = -1};
        return;
    }
    VEC_PUSH(&r->slot, number);
}

/* In the order of their first steps. */
static void visit_sweep(reuse_t *r, int first, int last)
{
    const program_t *p = r->program;
    r->slot.n = 0;
    for (int step = first; step <= last; step++)
        for (size_t b = 0; b < p->block.n; b++)
            if (p->block.at[b].first == step && lives_within(&p->block.at[b], first, last))
                take_slot(r, (int)b);
}

void reuse_in_strips(program_t *p)
{
    const lower_t *lower = p->lower;
    reuse_t r = {.program = p, .moved = mem_calloc(p->block.n + 1, sizeof *r.moved)};
    for (size_t b = 0; b < p->block.n; b++) r.moved[b] = (int)b;
    for (int i = 0; i < (int)lower->step.n; i = sweep_last(lower, i) + 1)
        if (lower->step.at[i].strips > 0) visit_sweep(&r, i, sweep_last(lower, i));
    for (uint32_t v = 0; v < lower->fn->n_value; v++)
        if (p->home[v].kind == HOME_BLOCK) p->home[v].number = r.moved[p->home[v].number];
    free(r.moved);
    VEC_FREE(&r.slot);
}
