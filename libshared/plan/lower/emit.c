/* Groups to kernels: members become statements; rows, chunks and columns become loops. */
#include "plan/lower/emit.h"

#include <stdio.h>
#include <string.h>

#include "plan/kernel/kx_node.h"

/* Elements per unit of a flat kernel; of devices of threads without number, some of which share a unit: FLAT_FEW, or a row
 * of FLAT_ROW and more. */
enum { FLAT_BLOCK = 4096, FLAT_FEW = 256, FLAT_ROW = 64 };

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
/* --- Statements of a row ---------------------------------------------------------------------- */

static void store(emit_t *e, kblock_t *block, int i, kx_t index, kx_t value)
{
    const member_t *m = &e->group->member.at[i];
    kstmt_t *s = kernel_stmt(block, KS_STORE);
    s->target = kernel_arg(e->kernel, m->value, emit_dtype(e, m->value), true);
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
    dtype_t dtype = emit_dtype(e, m->value);
    int arg = kernel_arg(e->kernel, m->value, dtype, true);
    kx_t index = emit_resolve(r, m->index), old = kx_load(g, arg, dtype, index);
    kx_t fresh = emit_resolve(r, m->expr);
    if (m->op != OP_invalid) fresh = kx_map(g, m->op, dtype, 2, (kx_t[]){old, fresh});
    pending_t p = {KS_STORE, arg, index, kx_select(g, emit_resolve(r, m->guard), fresh, old),
                   KX_NONE};
    if (e->part > 0) p.only = kx_within(g, kx_sub(g, index, e->part_at), 0, e->part);
    VEC_PUSH(list, p);
}

/* Element x of member i: to the arena, to its row buffer, to both or to neither. */
static void add_element(emit_t *e, int i, kx_t x, pending_list_t *list)
{
    const member_t *m = &e->group->member.at[i];
    kx_t col = e->group->col;
    if (emit_is_stored(e, i)) {
        int arg = kernel_arg(e->kernel, m->value, emit_dtype(e, m->value), true);
        VEC_PUSH(list, ((pending_t){KS_STORE, arg, emit_row_position(e, col), x, KX_NONE}));
    }
    if (e->array[i] >= 0) VEC_PUSH(list, ((pending_t){KS_KEEP, e->array[i], col, x, KX_NONE}));
}

/* The column statements of member i. */
static void add_column_work(emit_t *e, resolve_t *r, int i, pending_list_t *list)
{
    kx_graph_t *g = &e->kernel->graph;
    const member_t *m = &e->group->member.at[i];
    dtype_t dtype = emit_dtype(e, m->value);
    if (m->kind == MEMBER_ROW) return;
    if (m->kind == MEMBER_SCATTER) {
        add_scatter(e, r, i, list);
        return;
    }
    kx_t x = emit_resolve(r, m->expr);
    if (m->kind == MEMBER_FULL) {
        add_element(e, i, x, list);
        return;
    }
    pending_t p;
    if (m->kind == MEMBER_FOLD) {
        p = (pending_t){KS_FOLD, e->acc[i], KX_NONE, kx_convert(g, x, emit_wide(dtype)), KX_NONE};
    } else {
        kx_t at = sum_place(e), old = kx_local(g, e->array[i], emit_wide(dtype), at);
        kx_t in[] = {old, kx_convert(g, x, emit_wide(dtype))};
        p = (pending_t){KS_KEEP, e->array[i], at, kx_map(g, m->op, emit_wide(dtype), 2, in),
                        KX_NONE};
    }
    VEC_PUSH(list, p);
}

static void emit_run(emit_t *e, kblock_t *block, int lo, const pending_list_t *list)
{
    kx_graph_t *g = &e->kernel->graph;
    kstmt_t *inner = kernel_stmt(block, KS_FOR);
    inner->var = lo;
    inner->lo = kx_int(g, 0);
    inner->hi = kx_int(g, g->var.at[lo].extent);
    inner->simd = true;
    emit_statements(&inner->body, list);
}

/* A block of columns that consists of whole runs of the split column variable. */
static void emit_block_rows(emit_t *e, kblock_t *block, int hi, int lo, const pending_list_t *list)
{
    kx_graph_t *g = &e->kernel->graph;
    int64_t run = g->var.at[lo].extent, n = e->block / run;
    if (n == 1) { /* places in it are then columns of the run, and plainly so */
        pending_list_t inside = {0};
        emit_exchange(e->kernel, list, &inside, hi, e->unit_node);
        emit_run(e, block, lo, &inside);
        VEC_FREE(&inside);
        return;
    }
    kstmt_t *outer = kernel_stmt(block, KS_FOR);
    outer->var = hi;
    outer->lo = kx_scale(g, e->unit_node, n);
    outer->hi = kx_addi(g, outer->lo, n);
    if (g->var.at[hi].extent % n != 0)
        outer->hi = kx_map(g, OP_minimum, DT_I64, 2,
                           (kx_t[]){outer->hi, kx_int(g, g->var.at[hi].extent)});
    emit_run(e, &outer->body, lo, list);
}

void emit_column_loop(emit_t *e, kblock_t *block, const pending_list_t *list)
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
    if (emit_clipped_columns(e->kernel, block, e->group->col_var, e->lo, e->hi, list)) return;
    kstmt_t *loop = kernel_stmt(block, KS_FOR);
    loop->var = e->group->col_var;
    loop->lo = e->lo;
    loop->hi = e->hi;
    loop->simd = e->group->cols > 1;
    emit_statements(&loop->body, list);
}

static void emit_phase(emit_t *e, kblock_t *block, int phase)
{
    kx_graph_t *g = &e->kernel->graph;
    pending_list_t list = {0};
    resolve_t r;
    emit_resolve_begin(&r, e, phase);
    for (size_t i = 0; i < e->group->member.n; i++) {
        const member_t *m = &e->group->member.at[i];
        if (m->phase != phase) continue;
        if (m->kind == MEMBER_ROW) {
            e->final[i] = emit_resolve(&r, m->expr);
            if (emit_is_stored(e, (int)i)) store(e, block, (int)i, e->group->row, e->final[i]);
        }
        if (m->kind == MEMBER_FOLD) {
            kstmt_t *s = kernel_stmt(block, KS_START);
            s->target = e->acc[i];
            s->value = neutral(g, m->op, e->kernel->acc.at[e->acc[i]].dtype);
        }
        add_column_work(e, &r, (int)i, &list);
    }
    emit_column_loop(e, block, &list);
    for (size_t i = 0; i < e->group->member.n; i++) {
        const member_t *m = &e->group->member.at[i];
        if (m->phase != phase || m->kind != MEMBER_FOLD) continue;
        e->final[i] = emit_finished(&r, m,
                                    kx_acc(g, e->acc[i], emit_wide(emit_dtype(e, m->value))));
        if (emit_is_stored(e, (int)i)) store(e, block, (int)i, e->group->row, e->final[i]);
    }
    emit_resolve_end(&r);
    VEC_FREE(&list);
}

/* --- Loops around rows ------------------------------------------------------------------------ */

static void emit_sums_start(emit_t *e, kblock_t *block)
{
    pending_list_t list = {0};
    for (size_t i = 0; i < e->group->member.n; i++) {
        const member_t *m = &e->group->member.at[i];
        if (m->kind != MEMBER_SUM) continue;
        kx_t zero = neutral(&e->kernel->graph, m->op, e->kernel->array.at[e->array[i]].dtype);
        VEC_PUSH(&list, ((pending_t){KS_KEEP, e->array[i], sum_place(e), zero, KX_NONE}));
    }
    emit_column_loop(e, block, &list);
    VEC_FREE(&list);
}

static void emit_sums_end(emit_t *e, kblock_t *block)
{
    kx_graph_t *g = &e->kernel->graph;
    pending_list_t list = {0};
    resolve_t r;
    emit_resolve_begin(&r, e, e->n_phase);
    for (size_t i = 0; i < e->group->member.n; i++) {
        const member_t *m = &e->group->member.at[i];
        if (m->kind != MEMBER_SUM) continue;
        dtype_t dtype = emit_dtype(e, m->value);
        kx_t sum = kx_local(g, e->array[i], emit_wide(dtype), sum_place(e)), at = e->group->col;
        if (!e->group->by_column) at = kx_add(g, kx_scale(g, e->unit_node, e->group->cols), at);
        int arg = kernel_arg(e->kernel, m->value, dtype, true);
        VEC_PUSH(&list, ((pending_t){KS_STORE, arg, at, emit_finished(&r, m, sum), KX_NONE}));
    }
    emit_column_loop(e, block, &list);
    emit_resolve_end(&r);
    VEC_FREE(&list);
}

static void emit_rows(emit_t *e)
{
    group_t *group = e->group;
    kx_graph_t *g = &e->kernel->graph;
    kstmt_t *outer = kernel_stmt(&e->kernel->body, KS_FOR);
    outer->var = e->unit;
    kblock_t *block = &outer->body;
    emit_sums_start(e, block);
    if (e->unit != group->row_var && group->rows > 1) {
        kstmt_t *rows = kernel_stmt(block, KS_FOR);
        rows->var = group->row_var;
        kx_t first = kx_scale(g, e->unit_node, group->chunk);
        rows->lo = group->by_column ? kx_int(g, 0) : first;
        rows->hi = group->by_column ? kx_int(g, group->rows) : kx_addi(g, first, group->chunk);
        block = &rows->body;
    }
    for (int phase = 0; phase < e->n_phase; phase++) emit_phase(e, block, phase);
    emit_sums_end(e, &outer->body);
}

/* On devices of threads without number, where a scatter's columns are few: how many parts its operand has. Each
 * part's units look at all updates, in their order, and take those that go there. */
static int64_t scatter_parts(emit_t *e)
{
    enum { ENOUGH_ROWS = 1024, EACH = 512, MOST = 32 };
    const group_t *group = e->group;
    const member_t *m = &group->member.at[0];
    if (!e->lower->caps.many || m->kind != MEMBER_SCATTER || group->rows < ENOUGH_ROWS) return 1;
    int64_t parts = group->rows / EACH < MOST ? group->rows / EACH : MOST;
    int64_t n = ir_type_count(ir_type_of(e->lower->fn, m->value));
    if (n < parts) return 1;
    e->part = (n + parts - 1) / parts;
    return (n + e->part - 1) / e->part;
}

/* Columns of a unit, before they are whole rows of what the columns are split into. */
static int64_t wanted_block(const emit_t *e)
{
    const group_t *group = e->group;
    const kx_graph_t *g = &e->kernel->graph;
    int lo = g->var.at[group->col_var].lo;
    bool many = e->lower->caps.many;
    int64_t part = many ? 0 : (group->cols / 16 + 15) / 16 * 16;
    if (group->rows > 1) return part < 32 ? 32 : part > 1024 ? 1024 : part;
    if (!many) return FLAT_BLOCK;
    return lo >= 0 && g->var.at[lo].extent >= FLAT_ROW ? g->var.at[lo].extent : FLAT_FEW;
}

/* The loop that the thread pool cuts. */
static void choose_unit(emit_t *e)
{
    group_t *group = e->group;
    kx_graph_t *g = &e->kernel->graph;
    if (group->by_column) {
        e->block = wanted_block(e);
        int lo = g->var.at[group->col_var].lo;
        bool few = e->lower->caps.many && group->rows > 1; /* columns, for many units */
        if (lo >= 0 && !few)
            e->block += (g->var.at[lo].extent - e->block % g->var.at[lo].extent) %
                        g->var.at[lo].extent;
        if (e->block > group->cols) e->block = group->cols;
        int64_t parts = scatter_parts(e), blocks = (group->cols + e->block - 1) / e->block;
        e->kernel->extent = blocks * parts;
        e->unit_node = kx_var(g, e->kernel->extent, &e->unit);
        if (parts > 1) e->part_at = kx_scale(g, kx_div(g, e->unit_node, blocks), e->part);
        if (parts > 1) e->unit_node = kx_mod(g, e->unit_node, blocks);
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

static void emit_loops(emit_t *e)
{
    choose_unit(e);
    emit_assign_phases(e);
    emit_allocate(e);
    emit_rows(e);
}

int emit_group(lower_t *lower, group_t *group)
{
    size_t n = group->member.n;
    emit_t e = {.lower = lower, .group = group, .kernel = group->kernel};
    e.array = mem_calloc(n, sizeof *e.array);
    e.acc = mem_calloc(n, sizeof *e.acc);
    e.final = mem_calloc(n, sizeof *e.final);
    e.again = mem_calloc(n, sizeof *e.again);
    e.elsewhere = mem_calloc(n, sizeof *e.elsewhere);
    if (!emit_scatter(&e)) emit_loops(&e);
    estimate(&e);
    e.kernel->label = mem_printf("%s %lldx%lld%s, %zu values", member_label(&e),
                                 (long long)group->rows, (long long)group->cols,
                                 group->by_column ? " by column" : "", n);
    free(e.array);
    free(e.acc);
    free(e.final);
    free(e.again);
    free(e.elsewhere);
    return 0;
}
