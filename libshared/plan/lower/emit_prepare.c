/* Before a group's statements: phases of its members, where each keeps its elements, and
 * expressions without references to other members. */
#include "plan/lower/emit.h"

#include <string.h>

#include "plan/kernel/kx_node.h"

/* Bytes of rows that a kernel keeps on its stack; more go to the arena. */
enum { MAX_ROW_BUFFERS = 512 << 10 };

dtype_t emit_dtype(const emit_t *e, ir_val_t v)
{
    return ir_type_of(e->lower->fn, v)->dtype;
}

/* Sums of narrow floats are kept in f32. */
dtype_t emit_wide(dtype_t dtype)
{
    return dtype_is_narrow(dtype) ? DT_F32 : dtype;
}

/* --- Phases ----------------------------------------------------------------------------------- */

static void find_phase(emit_t *e, member_t *m, kx_t x, bool *seen)
{
    const kx_node_t *n = &e->kernel->graph.node.at[x];
    if (seen[x]) return;
    seen[x] = true;
    if (n->kind == KX_REF) {
        const member_t *u = &e->group->member.at[n->i];
        bool same = u->kind == MEMBER_ROW ||
                    (u->kind == MEMBER_FULL && n->in[0] == e->group->col && m->kind != MEMBER_ROW);
        int phase = same ? u->phase : u->phase + 1;
        if (phase > m->phase) m->phase = phase;
    }
    for (int t = 0; t < n->n_in; t++) find_phase(e, m, n->in[t], seen);
}

static void mark_again(emit_t *e, member_t *m, kx_t x, bool *seen)
{
    const kx_node_t *n = &e->kernel->graph.node.at[x];
    if (seen[x]) return;
    seen[x] = true;
    if (n->kind == KX_REF && n->n_in == 1) {
        const member_t *u = &e->group->member.at[n->i];
        if (u->phase != m->phase || n->in[0] != e->group->col) e->again[n->i] = true;
        if (n->in[0] != e->group->col) e->elsewhere[n->i] = true;
    }
    for (int t = 0; t < n->n_in; t++) mark_again(e, m, n->in[t], seen);
}

static void each_expression(emit_t *e, void (*on)(emit_t *, member_t *, kx_t, bool *))
{
    size_t n = e->kernel->graph.node.n;
    for (size_t i = 0; i < e->group->member.n; i++) {
        member_t *m = &e->group->member.at[i];
        kx_t roots[] = {m->expr, m->init, m->index, m->guard};
        bool *seen = mem_calloc(n, sizeof *seen);
        for (int k = 0; k < 4; k++)
            if (roots[k] != KX_NONE) on(e, m, roots[k], seen);
        free(seen);
    }
}

void emit_assign_phases(emit_t *e)
{
    for (size_t i = 0; i < e->group->member.n; i++) e->group->member.at[i].phase = 0;
    each_expression(e, find_phase);
    each_expression(e, mark_again);
    for (size_t i = 0; i < e->group->member.n; i++)
        if (e->group->member.at[i].phase >= e->n_phase)
            e->n_phase = e->group->member.at[i].phase + 1;
}

/* --- Storage of members ----------------------------------------------------------------------- */

bool emit_is_stored(const emit_t *e, int i)
{
    return e->lower->value[e->group->member.at[i].value].stored;
}

static int new_array(emit_t *e, dtype_t dtype, int64_t n)
{
    VEC_PUSH(&e->kernel->array, ((karray_t){dtype, n}));
    return (int)e->kernel->array.n - 1;
}

/* Loads of whole matrices under x, and under members that are made again for it; more than `most` are not counted on. */
static int count_loads(const emit_t *e, kx_t x, bool *seen, int most)
{
    const kx_node_t *n = &e->kernel->graph.node.at[x];
    if (seen[x]) return 0;
    seen[x] = true;
    if (n->kind == KX_REF && n->n_in == 1) {
        int i = (int)n->i;
        bool kept = n->in[0] != e->group->col || e->array[i] >= 0 || emit_is_stored(e, i);
        return kept ? 1 : count_loads(e, e->group->member.at[i].expr, seen, most);
    }
    int64_t rows = e->group->rows, cols = e->group->cols;
    int count = n->kind == KX_LOAD && ir_type_count(ir_type_of(e->lower->fn, (ir_val_t)n->i)) >
                                          (rows > cols ? rows : cols);
    for (int t = 0; t < n->n_in && count <= most; t++)
        count += count_loads(e, n->in[t], seen, most);
    return count;
}

/* Is a member that no row buffer holds better made again where it is read than kept in the arena? Yes where threads are
 * without number, whose memory is dearer than what they compute, unless that reads more than it saves. */
static bool is_made_again(const emit_t *e, int i)
{
    enum { MOST_LOADS = 2, MOST_COST = 64 };
    const member_t *m = &e->group->member.at[i];
    if (!e->lower->caps.many || e->elsewhere[i] || e->lower->value[m->value].cost > MOST_COST)
        return false;
    bool *seen = mem_calloc(e->kernel->graph.node.n, sizeof *seen);
    int loads = count_loads(e, m->expr, seen, MOST_LOADS);
    free(seen);
    return loads <= MOST_LOADS;
}

/* Is a row of the member kept for later passes, beside the arena? Where threads are without number also of what goes there
 * anyway: they would wait for it to come back. */
static bool keeps_row(const emit_t *e, int i)
{
    return !emit_is_stored(e, i) || (e->lower->caps.many && !e->group->by_column);
}

void emit_allocate(emit_t *e)
{
    group_t *group = e->group;
    int64_t used = 0, most = e->lower->caps.row_kib * (int64_t)1024;
    if (most == 0) most = MAX_ROW_BUFFERS;
    for (size_t i = 0; i < group->member.n; i++) {
        member_t *m = &group->member.at[i];
        dtype_t dtype = emit_dtype(e, m->value);
        e->array[i] = e->acc[i] = -1;
        e->final[i] = KX_NONE;
        int64_t bytes = group->cols * (int64_t)dtype_bytes(dtype);
        if (m->kind == MEMBER_FULL && e->again[i] && keeps_row(e, (int)i)) {
            bool fits = used + bytes <= most;
            if (fits) e->array[i] = new_array(e, dtype, group->cols);
            if (fits || !e->lower->caps.many) used += bytes;
            if (!fits && !is_made_again(e, (int)i)) e->lower->value[m->value].stored = true;
        }
        if (m->kind == MEMBER_SUM) {
            e->lower->value[m->value].stored = true;
            e->array[i] = new_array(e, emit_wide(dtype), group->by_column ? e->block : group->cols);
        }
        if (m->kind == MEMBER_FOLD) {
            VEC_PUSH(&e->kernel->acc, ((kacc_t){emit_wide(dtype), m->op}));
            e->acc[i] = (int)e->kernel->acc.n - 1;
        }
        if (emit_is_stored(e, (int)i)) kernel_arg(e->kernel, m->value, dtype, true);
    }
}

kx_t emit_row_position(emit_t *e, kx_t column)
{
    kx_graph_t *g = &e->kernel->graph;
    return kx_add(g, kx_scale(g, e->group->row, e->group->cols), column);
}

int emit_load_arg(const lower_t *self, kernel_t *kernel, const kx_node_t *n, kx_t index,
                  int64_t *at)
{
    const kx_node_t *x = &kernel->graph.node.at[index];
    ir_val_t v = (ir_val_t)n->i;
    bool beside = self->value[v].order == BEFORE && x->kind == KX_AFFINE && x->n_in > 0 &&
                  x->i > 0 && x->lo >= x->i && x->i * dtype_bytes(n->dtype) % KERNEL_ALIGN == 0;
    *at = beside ? x->i : 0;
    return kernel_arg_at(kernel, v, n->dtype, false, *at);
}

/* --- Expressions without references ----------------------------------------------------------- */

static kx_t resolve_ref(resolve_t *r, const kx_node_t *n)
{
    emit_t *e = r->emit;
    kx_graph_t *g = &e->kernel->graph;
    int i = (int)n->i;
    const member_t *u = &e->group->member.at[i];
    dtype_t dtype = n->dtype;
    if (u->kind != MEMBER_FULL) return e->final[i];
    kx_t column = n->in[0];
    bool here = column == e->group->col, kept = e->array[i] >= 0 || emit_is_stored(e, i);
    if (here && (u->phase == r->phase || !kept)) return kx_rewrite(&r->rewrite, u->expr);
    column = kx_rewrite(&r->rewrite, column);
    if (e->array[i] >= 0) return kx_local(g, e->array[i], dtype, column);
    int arg = kernel_arg(e->kernel, u->value, dtype, true);
    return kx_load(g, arg, dtype, emit_row_position(e, column));
}

static kx_t resolve_node(void *user, kx_t x)
{
    resolve_t *r = user;
    kx_graph_t *g = &r->emit->kernel->graph;
    const kx_node_t n = g->node.at[x];
    if (n.kind == KX_REF) return resolve_ref(r, &n);
    if (n.kind != KX_LOAD) return KX_NONE;
    int64_t at;
    kx_t index = kx_rewrite(&r->rewrite, n.in[0]);
    int arg = emit_load_arg(r->emit->lower, r->emit->kernel, &n, index, &at);
    return kx_load(g, arg, n.dtype, kx_addi(g, index, -at));
}

void emit_resolve_begin(resolve_t *r, emit_t *e, int phase)
{
    *r = (resolve_t){.emit = e, .phase = phase};
    r->rewrite = (kx_rewrite_t){.graph = &e->kernel->graph, .replace = resolve_node, .user = r};
}

void emit_resolve_end(resolve_t *r)
{
    VEC_FREE(&r->rewrite.memo);
}

kx_t emit_resolve(resolve_t *r, kx_t x)
{
    return kx_rewrite(&r->rewrite, x);
}

/* What a finished sum is worth: the init folded in, rounded to the value's type. */
kx_t emit_finished(resolve_t *r, const member_t *m, kx_t sum)
{
    kx_graph_t *g = &r->emit->kernel->graph;
    dtype_t dtype = emit_dtype(r->emit, m->value);
    if (m->init != KX_NONE) {
        kx_t init = kx_convert(g, emit_resolve(r, m->init), emit_wide(dtype));
        sum = kx_map(g, m->op, emit_wide(dtype), 2, (kx_t[]){init, sum});
    }
    return kx_convert(g, sum, dtype);
}
