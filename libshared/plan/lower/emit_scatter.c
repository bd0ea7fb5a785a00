/* A scatter whose updates are rows, an embedding's gradient, by rows of its operand: a unit has some columns of one row,
 * looks through the updates for those that go there, and folds them into what it keeps, in their order: the same
 * bits as with one update after the other. Not for narrow floats, which would be rounded only once. */
#include "plan/lower/emit.h"

enum {
    ENOUGH_UPDATES = 256,
    LEAST_COLUMNS = 8,   /* of a row: threads of a unit have one each at least */
    FEW_COLUMNS = 32,    /* of a unit at least ... */
    MOST_COLUMNS = 1024, /* ... and at most */
    WANTED_UNITS = 4096, /* units have fewer columns until there are so many */
    MOST_LOOKS =
        1 << 28, /* at 32 updates, of all units: more take longer than the updates themselves */
};

/* The row of the operand that an update goes to; KX_NONE: updates are not whole rows of it. */
static kx_t target_row(emit_t *e, const member_t *m)
{
    kx_graph_t *g = &e->kernel->graph;
    int64_t cols = e->group->cols;
    pending_list_t first = {0}, list = {0};
    VEC_PUSH(&list, ((pending_t){KS_STORE, 0, m->index, m->guard, KX_NONE}));
    emit_exchange(e->kernel, &list, &first, e->group->col_var, kx_int(g, 0));
    kx_t at = first.at[0].index, row = kx_div(g, at, cols);
    bool whole = kx_sub(g, m->index, at) == e->group->col && kx_scale(g, row, cols) == at &&
                 first.at[0].value == m->guard;
    VEC_FREE(&list);
    VEC_FREE(&first);
    return whole ? row : KX_NONE;
}

static int64_t round_up(int64_t n)
{
    return (n + FEW_COLUMNS - 1) / FEW_COLUMNS * FEW_COLUMNS;
}

static int64_t count_blocks(const emit_t *e)
{
    return (e->group->cols + e->block - 1) / e->block;
}

/* Units of so many columns; returns how many blocks of them a row has. */
static int64_t choose_block(emit_t *e, int64_t rows)
{
    int64_t cols = e->group->cols, n = (cols + MOST_COLUMNS - 1) / MOST_COLUMNS;
    e->block = round_up((cols + n - 1) / n);
    while (rows * count_blocks(e) < WANTED_UNITS && e->block > FEW_COLUMNS)
        e->block = round_up(e->block / 2);
    return count_blocks(e);
}

static void choose_unit(emit_t *e, int64_t rows, int64_t blocks)
{
    kx_graph_t *g = &e->kernel->graph;
    e->kernel->extent = rows * blocks;
    e->unit_node = kx_var(g, e->kernel->extent, &e->unit);
    e->lo = kx_scale(g, kx_mod(g, e->unit_node, blocks), e->block);
    e->hi = kx_addi(g, e->lo, e->block);
    if (e->group->cols % e->block != 0)
        e->hi = kx_map(g, OP_minimum, DT_I64, 2, (kx_t[]){e->hi, kx_int(g, e->group->cols)});
}

/* Does an update for `row` go to the unit's own? One that is clamped into the operand and dropped where that changes it need not be
 * looked at twice. */
static kx_t is_mine(emit_t *e, const member_t *m, kx_t row, kx_t own, int64_t rows)
{
    kx_graph_t *g = &e->kernel->graph;
    const kx_node_t *n = &g->node.at[row];
    bool clamped = n->kind == KX_MAP && n->op == OP_clamp;
    kx_t inner = clamped ? n->in[1] : row, top = clamped ? n->in[2] : KX_NONE;
    if (clamped && top == kx_int(g, rows - 1) && m->guard == kx_within(g, inner, 0, rows))
        return kx_compare(g, CMP_EQ, inner, own);
    return kx_and(g, kx_compare(g, CMP_EQ, row, own), m->guard);
}

static void add(emit_t *e, kblock_t *block, kstmt_kind_t kind, int target, kx_t index, kx_t value)
{
    pending_list_t list = {0};
    VEC_PUSH(&list, ((pending_t){kind, target, index, value, KX_NONE}));
    emit_column_loop(e, block, &list);
    VEC_FREE(&list);
}

/* What is kept begins as the operand's row, which earlier steps have put where the result is. */
static void emit_row(emit_t *e, const member_t *m, kx_t row, int64_t rows, int64_t blocks)
{
    kx_graph_t *g = &e->kernel->graph;
    const group_t *group = e->group;
    dtype_t dtype = emit_dtype(e, m->value);
    resolve_t r;
    emit_resolve_begin(&r, e, 0);
    int arg = kernel_arg(e->kernel, m->value, dtype, true);
    kx_t own = kx_div(g, e->unit_node, blocks), place = kx_sub(g, group->col, e->lo);
    kx_t at = kx_add(g, kx_scale(g, own, group->cols), group->col);
    kx_t sum = kx_local(g, 0, dtype, place), fresh = emit_resolve(&r, m->expr);
    VEC_PUSH(&e->kernel->array, ((karray_t){dtype, e->block}));
    kstmt_t *outer = kernel_stmt(&e->kernel->body, KS_FOR);
    outer->var = e->unit;
    add(e, &outer->body, KS_KEEP, 0, place, kx_load(g, arg, dtype, at));
    kstmt_t *updates = kernel_stmt(&outer->body, KS_FOR);
    updates->var = group->row_var;
    updates->lo = kx_int(g, 0);
    updates->hi = kx_int(g, group->rows);
    kstmt_t *mine = kernel_stmt(&updates->body, KS_IF);
    mine->value = emit_resolve(&r, is_mine(e, m, row, own, rows));
    add(e, &mine->body, KS_KEEP, 0, place, kx_map(g, m->op, dtype, 2, (kx_t[]){sum, fresh}));
    add(e, &outer->body, KS_STORE, arg, at, sum);
    emit_resolve_end(&r);
}

bool emit_scatter(emit_t *e)
{
    const group_t *group = e->group;
    const member_t *m = &group->member.at[0];
    if (!e->lower->caps.votes || m->kind != MEMBER_SCATTER || m->op == OP_invalid) return false;
    if (group->rows < ENOUGH_UPDATES || group->cols < LEAST_COLUMNS) return false;
    if (dtype_is_narrow(emit_dtype(e, m->value))) return false;
    if (e->kernel->graph.var.at[group->col_var].hi >= 0) return false;
    kx_t row = target_row(e, m);
    if (row == KX_NONE) return false;
    int64_t rows = ir_type_count(ir_type_of(e->lower->fn, m->value)) / group->cols;
    int64_t blocks = choose_block(e, rows);
    if (rows * blocks > MOST_LOOKS || rows * blocks * (group->rows / 32) > MOST_LOOKS) return false;
    choose_unit(e, rows, blocks);
    emit_row(e, m, row, rows, blocks);
    return true;
}
