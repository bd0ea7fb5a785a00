/* Where everything lies in the arena, and how it is made to fit into a budget. */
#include "plan/memory/arena.h"

#include "plan/format/check.h"

/* --- Results of one program ------------------------------------------------------------------- */

enum { LARGE_RESULT = 1 << 20 }; /* bytes from which a result shares memory with other programs */
enum { NOBODY = -1, SEVERAL = -2 };

/* For each tensor the program, of several, that alone has it, as a large result; NOBODY: it keeps
 * its memory while other programs run. */
static int *find_owners(const plan_build_t *self)
{
    int *owner = mem_calloc(self->tensor.n + 1, sizeof *owner);
    for (size_t t = 0; t < self->tensor.n; t++) {
        const plan_tensor_t *tensor = &self->tensor.at[t];
        bool large = tensor->role == ROLE_RESULT && tensor->n_bytes >= LARGE_RESULT;
        owner[t] = large && self->program.n > 1 ? NOBODY : SEVERAL;
    }
    for (size_t i = 0; i < self->program.n; i++) {
        const program_t *p = self->program.at[i];
        const ir_region_t *body = p->lower->fn->body;
        for (int a = 0; a < body->n_arg; a++) owner[p->param[a]] = SEVERAL;
        for (int r = 0; r < body->n_result; r++) {
            int *own = &owner[p->result[r]];
            *own = *own == NOBODY && p->depth == 0 ? (int)i : SEVERAL;
        }
    }
    for (size_t t = 0; t < self->tensor.n; t++)
        if (owner[t] == SEVERAL) owner[t] = NOBODY;
    return owner;
}

/* Results that program number `i` alone has, from `at` on; where they end. */
static uint64_t assign_results(plan_build_t *self, const int *owner, int i, uint64_t at)
{
    uint64_t from = at;
    for (size_t t = 0; t < self->tensor.n; t++) {
        if (owner[t] != i) continue;
        at = memory_settle(at, self->tensor.at[t].n_bytes, plan_segment(self));
        self->tensor.at[t].offset = at;
        at += memory_align(self->tensor.at[t].n_bytes);
    }
    self->program.at[i]->own_bytes = at - from;
    return at;
}

/* --- The layout ------------------------------------------------------------------------------- */

/* The temporaries of the programs inside `depth` loops, which share memory, behind results that
 * these programs alone have; where they end. */
static uint64_t assign_depth(plan_build_t *self, const int *owner, int depth, uint64_t at)
{
    uint64_t end = at;
    for (size_t i = 0; i < self->program.n; i++) {
        program_t *p = self->program.at[i];
        if (p->depth != depth) continue;
        uint64_t from = p->from = assign_results(self, owner, (int)i, at);
        memory_peak(p->block.at, p->block.n, &p->peak);
        p->n_bytes = memory_assign(p->block.at, p->block.n, from, plan_segment(self));
        end = from + p->n_bytes > end ? from + p->n_bytes : end;
        for (size_t b = 0; b < p->block.n; b++) p->block.at[b].offset += from;
    }
    return end;
}

uint64_t arena_assign(plan_build_t *self, uint64_t *fixed)
{
    uint64_t at = 0;
    int *owner = find_owners(self);
    for (size_t i = 0; i < self->tensor.n; i++) {
        if (owner[i] != NOBODY) continue;
        self->tensor.at[i].offset = at;
        at += memory_align(self->tensor.at[i].n_bytes);
    }
    for (size_t i = 0; i < self->constant.n; i++) {
        self->constant.at[i].offset = at;
        at += memory_align(self->constant.at[i].n_bytes);
    }
    *fixed = at;
    for (int depth = 0; depth <= MAX_LOOP_DEPTH; depth++) at = assign_depth(self, owner, depth, at);
    free(owner);
    return at;
}

/* --- A budget --------------------------------------------------------------------------------- */

/* Which parts of the arena no repetition changes, and of these what a training step keeps. */
static uint64_t unchanging_bytes(plan_build_t *self, uint64_t *kept)
{
    uint64_t fixed, total = arena_assign(self, &fixed), most = 0;
    *kept = 0;
    for (size_t i = 0; i < self->program.n; i++) {
        const program_t *p = self->program.at[i];
        if (p->depth == 0 && p->own_bytes + p->n_bytes > most) most = p->own_bytes + p->n_bytes;
    }
    for (size_t i = 0; i < self->tensor.n; i++) {
        plan_role_t role = self->tensor.at[i].role;
        if (role == ROLE_PARAM || role == ROLE_STATE || role == ROLE_ACCUMULATOR)
            *kept += self->tensor.at[i].n_bytes;
    }
    return total - most;
}

int arena_fit(plan_build_t *self, err_t *err)
{
    const double mib = 1 << 20;
    uint64_t kept, fixed = unchanging_bytes(self, &kept), least = fixed;
    uint64_t limit = self->budget > fixed ? self->budget - fixed : 0;
    for (size_t i = 0; i < self->program.n; i++) {
        program_t *p = self->program.at[i];
        if (p->depth > 0 || p->own_bytes + p->n_bytes <= limit) continue;
        uint64_t room = limit > p->own_bytes ? limit - p->own_bytes : 0;
        uint64_t reached = fixed + p->own_bytes + remat_fit(self, p, room);
        if (reached > least) least = reached;
    }
    if (least <= self->budget) return 0;
    return err_set(
        err, ERR_MEMORY,
        "the plan needs %.1f MiB (%llu bytes) with all recomputed that helps, the budget "
        "is %.1f: parameters, state and sums of gradients take %.1f, which no batch "
        "changes; the rest shrinks with fewer sequences in the model's batch (and more "
        "micro-batches, --accumulate)",
        (double)least / mib, (unsigned long long)least, (double)self->budget / mib,
        (double)kept / mib);
}
