/* Groups to kernels: members get phases, references become scalars, row buffers or loads, and rows,
 * chunks and columns become loops. */
#include "plan/emit.h"

#include <stdio.h>
#include <string.h>

#include "plan/kx_node.h"

enum {
    MAX_ROW_BUFFER = 256 << 10, /* bytes of a row kept on the stack; larger ones go to the arena */
    FLAT_BLOCK = 4096,          /* elements per unit of a flat kernel */
};

typedef struct {
    lower_t *lower;
    group_t *group;
    kernel_t *kernel;
    int n_phase;
    int *array;  /* per member: its row buffer or chunk sums, -1 */
    int *acc;    /* per member: its accumulator, -1 */
    kx_t *final; /* per member: FOLD's and ROW's value once known */
    bool *again; /* per member: FULL read in a later phase or at another column */
    int unit;    /* variable of the outermost loop */
    kx_t unit_node;
    int64_t block; /* by_column: columns per unit */
    kx_t lo, hi;   /* by_column: the unit's columns */
} emit_t;

static dtype_t dtype_of(const emit_t *e, ir_val_t v)
{
    return ir_type_of(e->lower->fn, v)->dtype;
}

/* Sums of halves are kept in f32. */
static dtype_t wide(dtype_t dtype)
{
    return dtype == DT_BF16 || dtype == DT_F16 ? DT_F32 : dtype;
}

static kx_t neutral(kx_graph_t *g, op_code_t op, dtype_t dtype)
{
    int bits = dtype_bits(dtype);
    bool is_signed = dtype_is_signed(dtype);
    int64_t top = bits >= 64 ? INT64_MAX : ((int64_t)1 << (bits - is_signed)) - 1;
    if (dtype == DT_UI64) top = -1;
    switch (op) {
    case OP_multiply: return kx_number(g, dtype, 1, 1);
    case OP_maximum: return kx_number(g, dtype, -__builtin_inf(), is_signed ? -top - 1 : 0);
    case OP_minimum: return kx_number(g, dtype, __builtin_inf(), top);
    case OP_and: return kx_number(g, dtype, 0, dtype == DT_I1 ? 1 : is_signed ? -1 : top);
    default: return kx_number(g, dtype, 0, 0);
    }
}

/* --- Phases -------------------------------------------------------------------------------------- */

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

static void mark_again(emit_t *e, const member_t *m, kx_t x, bool *seen)
{
    const kx_node_t *n = &e->kernel->graph.node.at[x];
    if (seen[x]) return;
    seen[x] = true;
    if (n->kind == KX_REF && n->n_in == 1) {
        const member_t *u = &e->group->member.at[n->i];
        if (u->phase != m->phase || n->in[0] != e->group->col) e->again[n->i] = true;
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

static void mark_again_member(emit_t *e, member_t *m, kx_t x, bool *seen)
{
    mark_again(e, m, x, seen);
}

static void assign_phases(emit_t *e)
{
    for (size_t i = 0; i < e->group->member.n; i++) e->group->member.at[i].phase = 0;
    each_expression(e, find_phase);
    each_expression(e, mark_again_member);
    for (size_t i = 0; i < e->group->member.n; i++)
        if (e->group->member.at[i].phase >= e->n_phase)
            e->n_phase = e->group->member.at[i].phase + 1;
}

/* --- Storage of members ---------------------------------------------------------------------------- */

static bool is_stored(const emit_t *e, int i)
{
    return e->lower->value[e->group->member.at[i].value].stored;
}

static int new_array(emit_t *e, dtype_t dtype, int64_t n)
{
    VEC_PUSH(&e->kernel->array, ((karray_t){dtype, n}));
    return (int)e->kernel->array.n - 1;
}

static void allocate(emit_t *e)
{
    group_t *group = e->group;
    for (size_t i = 0; i < group->member.n; i++) {
        member_t *m = &group->member.at[i];
        dtype_t dtype = dtype_of(e, m->value);
        e->array[i] = e->acc[i] = -1;
        e->final[i] = KX_NONE;
        int64_t bytes = group->cols * (int64_t)dtype_bytes(dtype);
        if (m->kind == MEMBER_FULL && e->again[i] && !is_stored(e, (int)i)) {
            if (bytes > MAX_ROW_BUFFER)
                e->lower->value[m->value].stored = true;
            else
                e->array[i] = new_array(e, dtype, group->cols);
        }
        if (m->kind == MEMBER_SUM) {
            e->lower->value[m->value].stored = true;
            e->array[i] = new_array(e, wide(dtype), group->by_column ? e->block : group->cols);
        }
        if (m->kind == MEMBER_FOLD) {
            VEC_PUSH(&e->kernel->acc, ((kacc_t){wide(dtype), m->op}));
            e->acc[i] = (int)e->kernel->acc.n - 1;
        }
        if (is_stored(e, (int)i)) kernel_arg(e->kernel, m->value, dtype, true);
    }
}

static kx_t row_position(emit_t *e, kx_t column)
{
    kx_graph_t *g = &e->kernel->graph;
    return kx_add(g, kx_scale(g, e->group->row, e->group->cols), column);
}

/* --- Expressions without references ----------------------------------------------------------------- */

typedef struct {
    emit_t *emit;
    int phase;
    kx_rewrite_t rewrite;
} resolve_t;

static kx_t resolve_ref(resolve_t *r, const kx_node_t *n)
{
    emit_t *e = r->emit;
    kx_graph_t *g = &e->kernel->graph;
    int i = (int)n->i;
    const member_t *u = &e->group->member.at[i];
    dtype_t dtype = n->dtype;
    if (u->kind != MEMBER_FULL) return e->final[i];
    kx_t column = n->in[0];
    if (u->phase == r->phase && column == e->group->col) return kx_rewrite(&r->rewrite, u->expr);
    column = kx_rewrite(&r->rewrite, column);
    if (e->array[i] >= 0) return kx_local(g, e->array[i], dtype, column);
    int arg = kernel_arg(e->kernel, u->value, dtype, true);
    return kx_load(g, arg, dtype, row_position(e, column));
}

static kx_t resolve_node(void *user, kx_t x)
{
    resolve_t *r = user;
    kx_graph_t *g = &r->emit->kernel->graph;
    const kx_node_t n = g->node.at[x];
    if (n.kind == KX_REF) return resolve_ref(r, &n);
    if (n.kind != KX_LOAD) return KX_NONE;
    int arg = kernel_arg(r->emit->kernel, (ir_val_t)n.i, n.dtype, false);
    return kx_load(g, arg, n.dtype, kx_rewrite(&r->rewrite, n.in[0]));
}

static void resolve_begin(resolve_t *r, emit_t *e, int phase)
{
    *r = (resolve_t){.emit = e, .phase = phase};
    r->rewrite = (kx_rewrite_t){.graph = &e->kernel->graph, .replace = resolve_node, .user = r};
}

static void resolve_end(resolve_t *r)
{
    VEC_FREE(&r->rewrite.memo);
}

static kx_t resolve(resolve_t *r, kx_t x)
{
    return kx_rewrite(&r->rewrite, x);
}

/* What a finished sum is worth: the init folded in, rounded to the value's type. */
static kx_t finished(resolve_t *r, const member_t *m, kx_t sum)
{
    kx_graph_t *g = &r->emit->kernel->graph;
    dtype_t dtype = dtype_of(r->emit, m->value);
    if (m->init != KX_NONE) {
        kx_t init = kx_convert(g, resolve(r, m->init), wide(dtype));
        sum = kx_map(g, m->op, wide(dtype), 2, (kx_t[]){init, sum});
    }
    return kx_convert(g, sum, dtype);
}

/* --- Statements of a row ---------------------------------------------------------------------------- */

static void store(emit_t *e, kblock_t *block, int i, kx_t index, kx_t value)
{
    const member_t *m = &e->group->member.at[i];
    kstmt_t *s = kernel_stmt(e->kernel, block, KS_STORE);
    s->target = kernel_arg(e->kernel, m->value, dtype_of(e, m->value), true);
    s->index = index;
    s->value = value;
}

/* Where a chunk's sums lie: at their column, counted from the unit's first one. */
static kx_t sum_place(emit_t *e)
{
    kx_graph_t *g = &e->kernel->graph;
    return e->group->by_column ? kx_sub(g, e->group->col, e->lo) : e->group->col;
}

static void add_scatter(emit_t *e, resolve_t *r, int i, pending_list_t *list)
{
    kx_graph_t *g = &e->kernel->graph;
    const member_t *m = &e->group->member.at[i];
    dtype_t dtype = dtype_of(e, m->value);
    int arg = kernel_arg(e->kernel, m->value, dtype, true);
    kx_t index = resolve(r, m->index), old = kx_load(g, arg, dtype, index);
    kx_t fresh = resolve(r, m->expr);
    if (m->op != OP_invalid) fresh = kx_map(g, m->op, dtype, 2, (kx_t[]){old, fresh});
    pending_t p = {KS_STORE, arg, index, kx_select(g, resolve(r, m->guard), fresh, old)};
    VEC_PUSH(list, p);
}

/* The column statements of member i. */
static void add_column_work(emit_t *e, resolve_t *r, int i, pending_list_t *list)
{
    kx_graph_t *g = &e->kernel->graph;
    const member_t *m = &e->group->member.at[i];
    dtype_t dtype = dtype_of(e, m->value);
    if (m->kind == MEMBER_ROW) return;
    if (m->kind == MEMBER_SCATTER) {
        add_scatter(e, r, i, list);
        return;
    }
    kx_t x = resolve(r, m->expr);
    pending_t p = {.value = x, .index = KX_NONE};
    if (m->kind == MEMBER_FOLD) {
        p = (pending_t){KS_FOLD, e->acc[i], KX_NONE, kx_convert(g, x, wide(dtype))};
    } else if (m->kind == MEMBER_SUM) {
        kx_t at = sum_place(e), old = kx_local(g, e->array[i], wide(dtype), at);
        kx_t in[] = {old, kx_convert(g, x, wide(dtype))};
        p = (pending_t){KS_KEEP, e->array[i], at, kx_map(g, m->op, wide(dtype), 2, in)};
    } else if (is_stored(e, i)) {
        int arg = kernel_arg(e->kernel, m->value, dtype, true);
        p = (pending_t){KS_STORE, arg, row_position(e, e->group->col), x};
    } else if (e->array[i] >= 0) {
        p = (pending_t){KS_KEEP, e->array[i], e->group->col, x};
    } else {
        return;
    }
    VEC_PUSH(list, p);
}

/* A block of columns that consists of whole runs of the split column variable. */
static void emit_block_rows(emit_t *e, kblock_t *block, int hi, int lo, const pending_list_t *list)
{
    kx_graph_t *g = &e->kernel->graph;
    int64_t run = g->var.at[lo].extent, n = e->block / run;
    kstmt_t *outer = kernel_stmt(e->kernel, block, KS_FOR);
    outer->var = hi;
    outer->lo = kx_scale(g, e->unit_node, n);
    outer->hi = kx_addi(g, outer->lo, n);
    if (g->var.at[hi].extent % n != 0)
        outer->hi = kx_map(g, OP_minimum, DT_I64, 2,
                           (kx_t[]){outer->hi, kx_int(g, g->var.at[hi].extent)});
    kstmt_t *inner = kernel_stmt(e->kernel, &outer->body, KS_FOR);
    inner->var = lo;
    inner->lo = kx_int(g, 0);
    inner->hi = kx_int(g, run);
    inner->simd = true;
    emit_statements(e->kernel, &inner->body, list);
}

static void emit_column_loop(emit_t *e, kblock_t *block, const pending_list_t *list)
{
    if (list->n == 0) return;
    if (!e->group->by_column) {
        emit_columns(e->kernel, block, e->group->col_var, list);
        return;
    }
    const kx_graph_t *g = &e->kernel->graph;
    int hi = g->var.at[e->group->col_var].hi, lo = g->var.at[e->group->col_var].lo;
    if (hi >= 0 && e->block % g->var.at[lo].extent == 0) {
        emit_block_rows(e, block, hi, lo, list);
        return;
    }
    kstmt_t *loop = kernel_stmt(e->kernel, block, KS_FOR);
    loop->var = e->group->col_var;
    loop->lo = e->lo;
    loop->hi = e->hi;
    loop->simd = e->group->cols > 1;
    emit_statements(e->kernel, &loop->body, list);
}

static void emit_phase(emit_t *e, kblock_t *block, int phase)
{
    kx_graph_t *g = &e->kernel->graph;
    pending_list_t list = {0};
    resolve_t r;
    resolve_begin(&r, e, phase);
    for (size_t i = 0; i < e->group->member.n; i++) {
        const member_t *m = &e->group->member.at[i];
        if (m->phase != phase) continue;
        if (m->kind == MEMBER_ROW) {
            e->final[i] = resolve(&r, m->expr);
            if (is_stored(e, (int)i)) store(e, block, (int)i, e->group->row, e->final[i]);
        }
        if (m->kind == MEMBER_FOLD) {
            kstmt_t *s = kernel_stmt(e->kernel, block, KS_START);
            s->target = e->acc[i];
            s->value = neutral(g, m->op, e->kernel->acc.at[e->acc[i]].dtype);
        }
        add_column_work(e, &r, (int)i, &list);
    }
    emit_column_loop(e, block, &list);
    for (size_t i = 0; i < e->group->member.n; i++) {
        const member_t *m = &e->group->member.at[i];
        if (m->phase != phase || m->kind != MEMBER_FOLD) continue;
        e->final[i] = finished(&r, m, kx_acc(g, e->acc[i], wide(dtype_of(e, m->value))));
        if (is_stored(e, (int)i)) store(e, block, (int)i, e->group->row, e->final[i]);
    }
    resolve_end(&r);
    VEC_FREE(&list);
}

/* --- Loops around rows -------------------------------------------------------------------------------- */

static void emit_sums_start(emit_t *e, kblock_t *block)
{
    pending_list_t list = {0};
    for (size_t i = 0; i < e->group->member.n; i++) {
        const member_t *m = &e->group->member.at[i];
        if (m->kind != MEMBER_SUM) continue;
        kx_t zero = neutral(&e->kernel->graph, m->op, e->kernel->array.at[e->array[i]].dtype);
        VEC_PUSH(&list, ((pending_t){KS_KEEP, e->array[i], sum_place(e), zero}));
    }
    emit_column_loop(e, block, &list);
    VEC_FREE(&list);
}

static void emit_sums_end(emit_t *e, kblock_t *block)
{
    kx_graph_t *g = &e->kernel->graph;
    pending_list_t list = {0};
    resolve_t r;
    resolve_begin(&r, e, e->n_phase);
    for (size_t i = 0; i < e->group->member.n; i++) {
        const member_t *m = &e->group->member.at[i];
        if (m->kind != MEMBER_SUM) continue;
        dtype_t dtype = dtype_of(e, m->value);
        kx_t sum = kx_local(g, e->array[i], wide(dtype), sum_place(e)), at = e->group->col;
        if (!e->group->by_column) at = kx_add(g, kx_scale(g, e->unit_node, e->group->cols), at);
        int arg = kernel_arg(e->kernel, m->value, dtype, true);
        VEC_PUSH(&list, ((pending_t){KS_STORE, arg, at, finished(&r, m, sum)}));
    }
    emit_column_loop(e, block, &list);
    resolve_end(&r);
    VEC_FREE(&list);
}

static void emit_rows(emit_t *e)
{
    group_t *group = e->group;
    kx_graph_t *g = &e->kernel->graph;
    kstmt_t *outer = kernel_stmt(e->kernel, &e->kernel->body, KS_FOR);
    outer->var = e->unit;
    kblock_t *block = &outer->body;
    emit_sums_start(e, block);
    if (e->unit != group->row_var && group->rows > 1) {
        kstmt_t *rows = kernel_stmt(e->kernel, block, KS_FOR);
        rows->var = group->row_var;
        kx_t first = kx_scale(g, e->unit_node, group->chunk);
        rows->lo = group->by_column ? kx_int(g, 0) : first;
        rows->hi = group->by_column ? kx_int(g, group->rows) : kx_addi(g, first, group->chunk);
        block = &rows->body;
    }
    for (int phase = 0; phase < e->n_phase; phase++) emit_phase(e, block, phase);
    emit_sums_end(e, &outer->body);
}

/* The loop that the thread pool cuts. */
static void choose_unit(emit_t *e)
{
    group_t *group = e->group;
    kx_graph_t *g = &e->kernel->graph;
    if (group->by_column) {
        int64_t part = (group->cols / 16 + 15) / 16 * 16;
        e->block = group->rows == 1 ? FLAT_BLOCK : part < 32 ? 32 : part > 1024 ? 1024 : part;
        int lo = g->var.at[group->col_var].lo;
        if (lo >= 0)
            e->block += (g->var.at[lo].extent - e->block % g->var.at[lo].extent) %
                        g->var.at[lo].extent;
        if (e->block > group->cols) e->block = group->cols;
        e->kernel->extent = (group->cols + e->block - 1) / e->block;
        e->unit_node = kx_var(g, e->kernel->extent, &e->unit);
        e->lo = kx_scale(g, e->unit_node, e->block);
        e->hi = kx_addi(g, e->lo, e->block);
        if (group->cols % e->block != 0)
            e->hi = kx_map(g, OP_minimum, DT_I64, 2, (kx_t[]){e->hi, kx_int(g, group->cols)});
    } else if (group->chunk > 1) {
        e->kernel->extent = group->rows / group->chunk;
        e->unit_node = kx_var(g, e->kernel->extent, &e->unit);
    } else {
        e->kernel->extent = group->rows;
        e->unit = group->row_var;
        e->unit_node = group->row;
    }
}

/* Rough work: nodes per element, a vector unit's worth of them per nanosecond. */
static void estimate(emit_t *e)
{
    group_t *group = e->group;
    kernel_t *k = e->kernel;
    double elements = (double)group->rows * (double)group->cols;
    for (size_t i = 0; i < k->arg.n; i++) {
        const ir_type_t *t = ir_type_of(e->lower->fn, k->arg.at[i].value);
        k->bytes += (double)ir_type_bytes(t);
    }
    size_t maps = 0;
    for (size_t i = 0; i < k->graph.node.n; i++) maps += k->graph.node.at[i].kind == KX_MAP;
    k->flops = elements * (double)maps;
    double ns = (k->flops / 8 + k->bytes / 8) / (double)(k->extent ? k->extent : 1);
    double grain = ns > 0 ? 20000 / ns : 1e9;
    k->grain = grain < 1 ? 1 : grain > (double)k->extent ? k->extent : (int64_t)grain;
    if (k->grain < 1) k->grain = 1;
}

static const char *member_label(const emit_t *e)
{
    const group_t *group = e->group;
    const ir_op_t *op = ir_def(e->lower->fn, group->member.at[group->member.n - 1].value);
    const char *name = op ? op_def(op->code)->name : "value", *dot = strchr(name, '.');
    return dot ? dot + 1 : name;
}

int emit_group(lower_t *lower, group_t *group)
{
    size_t n = group->member.n;
    emit_t e = {.lower = lower, .group = group, .kernel = group->kernel};
    e.array = mem_calloc(n, sizeof *e.array);
    e.acc = mem_calloc(n, sizeof *e.acc);
    e.final = mem_calloc(n, sizeof *e.final);
    e.again = mem_calloc(n, sizeof *e.again);
    choose_unit(&e);
    assign_phases(&e);
    allocate(&e);
    emit_rows(&e);
    estimate(&e);
    e.kernel->label = mem_printf("%s %lldx%lld%s, %zu values", member_label(&e),
                                 (long long)group->rows, (long long)group->cols,
                                 group->by_column ? " by column" : "", n);
    free(e.array);
    free(e.acc);
    free(e.final);
    free(e.again);
    return 0;
}
