/* Where each value of a program lives, for how long, and which results may overwrite the parameters
 * they replace. */
#include <limits.h>
#include <string.h>

#include "plan/memory/build_in.h"
#include "plan/memory/reuse.h"
#include "plan/schedule/steps.h"
#include "plan/schedule/strips.h"
#include "plan/schedule/sweep.h"

static uint64_t bytes_of(const program_t *p, ir_val_t v)
{
    return (uint64_t)ir_type_bytes(ir_type_of(p->lower->fn, v));
}

/* The index keeps a copy of its keys: large constants are few, and looked at one by one. */
static int find_constant(const plan_build_t *self, const tensor_t *t, size_t n, bool large)
{
    if (!large) return index_find(self->constants, t->data, n);
    for (size_t i = 0; i < self->constant.n; i++)
        if (self->constant.at[i].n_bytes == n && !memcmp(self->constant.at[i].bytes, t->data, n))
            return (int)i;
    return -1;
}

static int add_constant(plan_build_t *self, const tensor_t *t)
{
    enum { LARGE = 1 << 20 };
    size_t n = (size_t)tensor_data_bytes(t);
    int known = find_constant(self, t, n, n >= LARGE);
    if (known >= 0) return known;
    if (n < LARGE) index_add(self->constants, t->data, n, (int)self->constant.n);
    struct plan_constant c = {.n_bytes = n, .bytes = mem_calloc(1, n)};
    memcpy(c.bytes, t->data, n);
    VEC_PUSH(&self->constant, c);
    return (int)self->constant.n - 1;
}

/* --- When values are written and read --------------------------------------------------------- */

typedef struct {
    int first_write, last_read; /* steps; INT_MAX and -1 when never */
} use_t;

static void note(use_t *use, ir_val_t v, int step, bool written)
{
    if (written && step < use[v].first_write) use[v].first_write = step;
    if (step > use[v].last_read) use[v].last_read = step;
}

static use_t *find_uses(const program_t *p)
{
    const lower_t *lower = p->lower;
    use_t *use = mem_calloc(lower->fn->n_value, sizeof *use);
    for (uint32_t v = 0; v < lower->fn->n_value; v++) use[v] = (use_t){INT_MAX, -1};
    for (size_t i = 0; i < lower->step.n; i++) {
        const lstep_t *s = &lower->step.at[i];
        for (int a = 0; a < steps_n_use(lower, s); a++) {
            step_use_t access = steps_use(lower, s, a);
            note(use, access.value, (int)i, access.written);
        }
    }
    return use;
}

/* --- In-place updates ------------------------------------------------------------------------- */

/* Loads of one argument and stores to another, loop by loop. */
typedef struct {
    const kernel_t *kernel;
    int from, to;
    kx_t only; /* the place of all stores to `to`, or KX_NONE when there are several */
    bool bad, stored;
    bool *seen; /* by node */
} overwrite_t;

static void find_loads(overwrite_t *o, kx_t x, kx_t at, bool *loads)
{
    const kx_node_t *n = &o->kernel->graph.node.at[x];
    if (o->seen[x]) return;
    o->seen[x] = true;
    if (n->kind == KX_LOAD && n->i == o->from) {
        *loads = true;
        if (n->in[0] != at) o->bad = true;
    }
    for (int t = 0; t < n->n_in; t++) find_loads(o, n->in[t], at, loads);
}

static kx_t store_in(const kblock_t *block, int target)
{
    for (size_t i = 0; i < block->n; i++)
        if (block->at[i]->kind == KS_STORE && block->at[i]->target == target)
            return block->at[i]->index;
    return KX_NONE;
}

/* The one place that a kernel stores `target` at; several: KX_NONE with *n > 1. */
static kx_t only_store(const kblock_t *block, int target, int *n)
{
    kx_t at = store_in(block, target);
    *n += at != KX_NONE;
    for (size_t i = 0; i < block->n; i++) {
        if (block->at[i]->kind != KS_FOR) continue;
        kx_t inner = only_store(&block->at[i]->body, target, n);
        if (inner != KX_NONE && at != KX_NONE && inner != at) *n = 2;
        if (inner != KX_NONE) at = inner;
    }
    return *n > 1 ? KX_NONE : at;
}

/* In every block: what loads the old value does so at the place where the new one is stored, be it
 * by another block (an earlier pass over the same row); and no block loads after another one
 * stored.
 */
static void check_block(overwrite_t *o, const kblock_t *block)
{
    kx_t own = store_in(block, o->to), at = own != KX_NONE ? own : o->only;
    bool loads = false, before = o->stored;
    bool blind = false; /* stored, and the old value is not in a temporary yet */
    memset(o->seen, 0, o->kernel->graph.node.n * sizeof *o->seen);
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        kx_t need[] = {s->index, s->value, s->lo, s->hi};
        bool here = false;
        for (int k = 0; k < 4; k++)
            if (need[k] != KX_NONE) find_loads(o, need[k], at, &here);
        if (here && blind) o->bad = true;
        loads = loads || here;
        blind = blind || (s->kind == KS_STORE && s->target == o->to && !loads);
    }
    if (loads && own == KX_NONE) o->bad = o->bad || before;
    for (size_t i = 0; i < block->n; i++) { /* in order: loops behind a store come after it */
        const kstmt_t *s = block->at[i];
        if (s->kind == KS_FOR) check_block(o, &s->body);
        o->stored = o->stored || (s->kind == KS_STORE && s->target == o->to);
    }
}

/* May the step of a group write value `fresh` over the storage of value `old`, which it also reads?
 */
static bool may_overwrite(const lower_t *lower, const lstep_t *s, ir_val_t fresh, ir_val_t old)
{
    const kernel_t *k = lower->group.at[s->group]->kernel;
    overwrite_t o = {.kernel = k, .from = -1, .to = -1};
    for (int i = 0; i < (int)k->arg.n; i++) {
        step_use_t use = steps_use(lower, s, i);
        if (use.value == old) o.from = i;
        if (use.value == fresh) o.to = i;
        bool elsewhere = use.at != 0 || use.part != use.value;
        if ((use.value == old || use.value == fresh) && elsewhere) return false;
    }
    if (o.from < 0) return true;
    if (s->shift && s->shift[o.from] != s->shift[o.to]) return false;
    if (!kernel_is_group(k)) return false;
    int n_store = 0;
    o.seen = mem_calloc(k->graph.node.n, sizeof *o.seen);
    o.only = only_store(&k->body, o.to, &n_store);
    check_block(&o, &k->body);
    free(o.seen);
    return !o.bad;
}

/* Steps of a sweep run at the same time. May step i write over u, which nobody reads after it and
 * no other step of its sweep touches but those that agree with it on strips? */
static bool free_in_sweep(const program_t *p, int i, ir_val_t u)
{
    const lower_t *lower = p->lower;
    touches_t touch = {0};
    bool others = false, written = false;
    for (int k = sweep_first(lower, i); k <= sweep_last(lower, i); k++) {
        if (k == i) continue;
        strips_touch(lower, &lower->step.at[k], 0, &touch);
        for (size_t t = 0; t < touch.n; t++) {
            if (touch.at[t].value != u) continue;
            others = true;
            written = written || touch.at[t].written;
        }
    }
    VEC_FREE(&touch);
    return !others || (written && lower->step.at[i].strips > 0);
}

/* By tensor: the parameter of the program that it is, or IR_NONE. */
static ir_val_t *old_values(const plan_build_t *self, const program_t *p)
{
    const ir_region_t *body = p->lower->fn->body;
    ir_val_t *old = mem_calloc(self->tensor.n + 1, sizeof *old);
    for (size_t t = 0; t < self->tensor.n; t++) old[t] = IR_NONE;
    for (int i = body->n_arg; i-- > 0;) old[p->param[i]] = body->arg + (ir_val_t)i;
    return old;
}

/* May v be written over `old`, the parameter (IR_NONE: none) in the place of its result? */
static bool fits_in_place(const program_t *p, const use_t *use, ir_val_t v, ir_val_t old)
{
    int write = use[v].first_write;
    if (p->home[v].kind != HOME_NONE || write == INT_MAX) return false;
    if (old == IR_NONE || use[old].last_read < sweep_first(p->lower, write)) return true;
    const lstep_t *s = &p->lower->step.at[write];
    if (use[old].last_read != write || s->kind != LOWER_GROUP || !free_in_sweep(p, write, old))
        return false;
    return may_overwrite(p->lower, s, v, old);
}

/* --- Homes ------------------------------------------------------------------------------------ */

static void add_block(program_t *p, ir_val_t v)
{
    p->home[v] = (home_t){HOME_BLOCK, (int)p->block.n};
    VEC_PUSH(&p->block,
             ((memory_block_t){.n_bytes = bytes_of(p, v), .first = INT_MAX, .last = -1}));
}

/* Is v, which step i writes, of the type of u, a temporary that nobody reads after the step, and
 * may it be written over it? */
static bool replaces(const program_t *p, const use_t *use, int i, ir_val_t v, ir_val_t u)
{
    const ir_fn_t *fn = p->lower->fn;
    const ir_type_t *a = ir_type_of(fn, v), *b = ir_type_of(fn, u);
    return u != v && p->home[u].kind == HOME_BLOCK && use[u].last_read == i &&
           use[u].first_write < i && a->dtype == b->dtype && ir_type_count(a) == ir_type_count(b) &&
           free_in_sweep(p, i, u) && may_overwrite(p->lower, &p->lower->step.at[i], v, u);
}

/* Temporaries of step i take the blocks of temporaries that end there, where they can. */
static void share_blocks(program_t *p, use_t *use, int i)
{
    const lstep_t *s = &p->lower->step.at[i];
    if (s->kind != LOWER_GROUP) return;
    int n = steps_n_use(p->lower, s);
    for (int a = 0; a < n; a++) {
        step_use_t to = steps_use(p->lower, s, a);
        ir_val_t v = to.value;
        if (!to.written || p->home[v].kind != HOME_NONE || use[v].first_write != i) continue;
        for (int b = 0; b < n && p->home[v].kind == HOME_NONE; b++) {
            step_use_t from = steps_use(p->lower, s, b);
            ir_val_t u = from.value;
            if (from.written || !replaces(p, use, i, v, u)) continue;
            p->home[v] = p->home[u];
            use[u].last_read = -1; /* taken */
        }
    }
}

/* Results of a loop stay in the tensors that carried them. */
static void assign_loop(program_t *p, const lstep_t *s)
{
    if (s->kind != LOWER_LOOP) return;
    const lstep_t *carry = s - s->n_carry;
    for (int i = 0; i < s->loop->n_out; i++)
        p->home[s->loop->out + (ir_val_t)i] = (home_t){HOME_TENSOR, carry[i].to_tensor};
}

static void assign_fixed(plan_build_t *self, program_t *p, const use_t *use)
{
    const ir_region_t *body = p->lower->fn->body;
    for (int i = 0; i < body->n_arg; i++)
        p->home[body->arg + (ir_val_t)i] = (home_t){HOME_TENSOR, p->param[i]};
    for (int i = 0; i < body->n_op; i++) {
        ir_val_t v = body->op[i]->out;
        const tensor_t *t = body->op[i]->code == OP_constant ? ir_const_of(p->lower->fn, v) : NULL;
        if (t && p->lower->value[v].order == BEFORE && p->lower->value[v].root)
            p->home[v] = (home_t){HOME_CONSTANT, add_constant(self, t)};
    }
    for (size_t i = 0; i < p->lower->step.n; i++) assign_loop(p, &p->lower->step.at[i]);
    ir_val_t *old = old_values(self, p);
    for (int i = 0; i < body->n_result; i++)
        if (fits_in_place(p, use, body->result[i], old[p->result[i]]))
            p->home[body->result[i]] = (home_t){HOME_TENSOR, p->result[i]};
    free(old);
}

/* All results are copied to their tensors when all else is done. The copies are steps from the
 * start, so that lifetimes know of them. */
static void add_copies(program_t *p)
{
    const ir_region_t *body = p->lower->fn->body;
    for (int i = 0; i < body->n_result; i++) {
        lstep_t step = {.kind = LOWER_COPY, .from = body->result[i], .to_result = i};
        VEC_PUSH(&p->lower->step, step);
    }
}

/* Except for those that are where they belong. */
static void drop_copies(program_t *p)
{
    lower_t *lower = p->lower;
    size_t n = 0;
    for (size_t i = 0; i < lower->step.n; i++) {
        const lstep_t *s = &lower->step.at[i];
        const home_t *home = &p->home[s->from];
        bool there = s->kind == LOWER_COPY && home->kind == HOME_TENSOR &&
                     home->number == p->result[s->to_result];
        if (!there) lower->step.at[n++] = *s;
    }
    lower->step.n = n;
}

/* Blocks for what step i writes and has no home. */
static void add_written(program_t *p, const use_t *use, int i)
{
    const lstep_t *s = &p->lower->step.at[i];
    for (int a = 0; a < steps_n_use(p->lower, s); a++) {
        step_use_t to = steps_use(p->lower, s, a);
        if (to.written && use[to.value].first_write == i && p->home[to.value].kind == HOME_NONE)
            add_block(p, to.value);
    }
}

static void extend(memory_block_t *block, const use_t *use)
{
    if (use->first_write < block->first) block->first = use->first_write;
    if (use->last_read > block->last) block->last = use->last_read;
}

/* A sweep needs the memory of all its steps from its first to its last one. */
static void extend_to_sweeps(program_t *p)
{
    for (size_t b = 0; b < p->block.n; b++) {
        memory_block_t *block = &p->block.at[b];
        if (block->first < (int)p->lower->step.n)
            block->first = sweep_first(p->lower, block->first);
        if (block->last >= 0) block->last = sweep_last(p->lower, block->last);
    }
}

/* All that the statements do is to store elements of `from` where they are. */
static bool only_copies(const kernel_t *k, const kblock_t *block, int from)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        if (s->kind == KS_FOR && only_copies(k, &s->body, from)) continue;
        if (s->kind != KS_STORE) return false;
        const kx_node_t *n = &k->graph.node.at[s->value];
        if (n->kind != KX_LOAD || n->i != from || n->in[0] != s->index) return false;
    }
    return true;
}

/* A step that copies a value over itself: a scatter that starts from what ends there, a temporary or a
 * tensor that is updated in place. */
static bool is_idle(const program_t *p, const lstep_t *s)
{
    if (s->kind != LOWER_GROUP) return false;
    const kernel_t *k = p->lower->group.at[s->group]->kernel;
    if (!kernel_is_group(k) || k->arg.n != 2 || k->arg.at[0].written == k->arg.at[1].written)
        return false;
    const home_t *a = &p->home[steps_use(p->lower, s, 0).value];
    const home_t *b = &p->home[steps_use(p->lower, s, 1).value];
    return (a->kind == HOME_BLOCK || a->kind == HOME_TENSOR) && a->kind == b->kind &&
           a->number == b->number && only_copies(k, &k->body, k->arg.at[0].written ? 1 : 0);
}

static void take_over(program_t *p, const lstep_t *s, int at)
{
    step_use_t a = steps_use(p->lower, s, 0), b = steps_use(p->lower, s, 1);
    VEC_PUSH(&p->takeover,
             ((takeover_t){at, a.written ? b.value : a.value, a.written ? a.value : b.value}));
}

void storage_finish(program_t *p)
{
    lower_t *lower = p->lower;
    size_t n = 0;
    int *place = mem_calloc(lower->step.n + 1, sizeof *place);
    for (size_t i = 0; i < lower->step.n; i++) {
        place[i] = (int)n;
        if (is_idle(p, &lower->step.at[i]))
            take_over(p, &lower->step.at[i], (int)n);
        else
            lower->step.at[n++] = lower->step.at[i];
    }
    for (size_t b = 0; b < p->block.n; b++) {
        memory_block_t *block = &p->block.at[b];
        if (block->first > block->last) continue;
        block->first = place[block->first];
        block->last = place[block->last];
    }
    lower->step.n = n;
    free(place);
}

/* As before the first storage_assign. */
static void storage_reset(program_t *p)
{
    lower_t *lower = p->lower;
    free(p->home);
    p->home = NULL;
    p->block.n = 0;
    while (lower->step.n > 0 && lower->step.at[lower->step.n - 1].kind == LOWER_COPY)
        lower->step.n--;
}

void storage_assign(plan_build_t *self, program_t *p)
{
    const lower_t *lower = p->lower;
    storage_reset(p);
    add_copies(p);
    p->home = mem_calloc(lower->fn->n_value, sizeof *p->home);
    use_t *use = find_uses(p);
    assign_fixed(self, p, use);
    for (size_t i = 0; i < lower->step.n; i++) {
        share_blocks(p, use, (int)i);
        add_written(p, use, (int)i);
    }
    drop_copies(p);
    free(use);
    use = find_uses(p);
    for (uint32_t v = 0; v < lower->fn->n_value; v++)
        if (p->home[v].kind == HOME_BLOCK) extend(&p->block.at[p->home[v].number], &use[v]);
    free(use);
    reuse_in_strips(p);
    extend_to_sweeps(p);
}
