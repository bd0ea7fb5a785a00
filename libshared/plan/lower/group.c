/* Roots to groups: each root joins the latest group of its shape that it depends on or shares
 * operands with, as long as all it needs exists there and lies in the same row; else it opens a
 * group. */
#include <limits.h>
#include <string.h>

#include "ir/build.h"
#include "plan/kernel/kx_node.h"
#include "plan/lower/lower.h"

enum {
    LOOK_BACK = 32, /* groups tried before a new one is opened */
    MAX_MEMBERS = 40,
    MAX_NODES = 6000, /* of a group's graph: bounds the compiler's work on one kernel */
    MAX_ARGS = 60,
    SMALL = 4096,         /* elements up to which kernels of equal shape merge without sharing */
    MANY_SMALL = 1 << 20, /* the same of sums over rows where threads are without number */
    MAX_SUMS =
        1 << 16, /* column sums that a chunk keeps on its stack (lower.h: of other devices) */
};

/* What a root asks for. */
typedef struct {
    member_kind_t kind;
    int64_t rows, cols, chunk;
    bool by_column;
} shape_t;

static int64_t count_of(const lower_t *self, ir_val_t v)
{
    return ir_type_count(ir_type_of(self->fn, v));
}

/* Extents before, of, and behind the reduced dimensions (legalize.c made them adjacent). */
static void reduce_extents(const lower_t *self, const ir_op_t *op, int64_t *before, int64_t *of,
                           int64_t *behind)
{
    const ir_type_t *x = ir_type_of(self->fn, op->in[0]);
    int n;
    const int64_t *dims = attr_ints(&op->attrs, "dimensions", &n);
    bool reduced[IR_MAX_RANK] = {false};
    *before = *of = *behind = 1;
    for (int i = 0; i < n; i++) reduced[dims[i]] = true;
    for (int d = 0; d < x->rank; d++) {
        if (reduced[d])
            *of *= x->dim[d];
        else if (*of == 1)
            *before *= x->dim[d];
        else
            *behind *= x->dim[d];
    }
}

static shape_t shape_of_reduce(const lower_t *self, const ir_op_t *op)
{
    int64_t a, b, c;
    reduce_extents(self, op, &a, &b, &c);
    if (c == 1) return (shape_t){MEMBER_FOLD, a, b, 1, false};
    return (shape_t){MEMBER_SUM, a * b, c, b, a == 1};
}

/* Windows of whole trailing dimensions whose place does not depend on the window's position never
 * collide between columns. */
static shape_t shape_of_scatter(const lower_t *self, const ir_op_t *op)
{
    const ir_type_t *u = ir_type_of(self->fn, op->in[2]);
    int n_window, n_inserted, n_map;
    const int64_t *window = attr_ints(&op->attrs, "update_window_dims", &n_window);
    const int64_t *inserted = attr_ints(&op->attrs, "inserted_window_dims", &n_inserted);
    const int64_t *map = attr_ints(&op->attrs, "scatter_dims_to_operand_dims", &n_map);
    int64_t cols = 1;
    bool apart = true;
    for (int i = 0; i < n_window; i++) {
        apart = apart && window[i] == u->rank - n_window + i;
        cols *= u->dim[window[i]];
    }
    for (int k = 0; k < n_map; k++) {
        bool found = false;
        for (int i = 0; i < n_inserted; i++) found = found || inserted[i] == map[k];
        apart = apart && found;
    }
    int64_t n = ir_type_count(u);
    if (!apart || cols == 0) cols = 1;
    return (shape_t){MEMBER_SCATTER, n / cols, cols, n / cols, true};
}

static shape_t shape_of_full(const lower_t *self, ir_val_t v)
{
    const ir_type_t *t = ir_type_of(self->fn, v);
    int64_t n = ir_type_count(t), cols = 1;
    for (int d = t->rank - 1; d >= 0 && cols == 1; d--) cols = t->dim[d];
    return (shape_t){MEMBER_FULL, n / (cols ? cols : 1), cols, 1, false};
}

/* --- Building a member's expression ----------------------------------------------------------- */

/* The element of v itself, although v is a root. */
static kx_t own_element(inline_t *in, ir_val_t v, kx_t linear)
{
    lvalue_t *lv = &in->lower->value[v];
    lv->root = false;
    kx_t x = inline_at(in, v, linear);
    lv->root = true;
    return x;
}

static bool is_neutral(const kx_graph_t *g, op_code_t op, dtype_t dtype, kx_t x)
{
    double f;
    if (!kx_is_number(g, x, &f)) return false;
    bool floats = dtype_is_float(dtype);
    switch (op) {
    case OP_add:
    case OP_or:
    case OP_xor: return f == 0;
    case OP_multiply: return f == 1;
    case OP_maximum: return floats && f == -__builtin_inf();
    case OP_minimum: return floats && f == __builtin_inf();
    default: return false;
    }
}

static void build_scatter(inline_t *in, group_t *group, member_t *m, const ir_op_t *op)
{
    const ir_type_t *u = ir_type_of(in->lower->fn, op->in[2]);
    kx_t index[IR_MAX_RANK];
    kx_t linear = kx_add(in->graph, kx_scale(in->graph, group->row, group->cols), group->col);
    kx_unlinear(in->graph, linear, u->rank, u->dim, index);
    m->op = ir_reducer_op(op->region[0]);
    m->expr = inline_value(in, op->in[2], index);
    inline_scatter_target(in, op, index, &m->index, &m->guard);
}

bool group_build_member(lower_t *self, group_t *group, member_t *m)
{
    kx_graph_t *g = &group->kernel->graph;
    inline_t in = {.lower = self, .graph = g, .group = group, .attempt = ++group->n_attempt};
    const ir_op_t *op = ir_def(self->fn, m->value);
    kx_t linear = kx_add(g, kx_scale(g, group->row, group->cols), group->col);
    kx_t element = m->kind == MEMBER_ROW ? group->row : linear;
    m->init = m->index = m->guard = KX_NONE;
    if (m->kind == MEMBER_SCATTER) {
        build_scatter(&in, group, m, op);
    } else if (m->kind == MEMBER_FOLD || m->kind == MEMBER_SUM) {
        dtype_t dtype = ir_type_of(self->fn, m->value)->dtype;
        m->op = ir_reducer_op(op->region[0]);
        m->expr = inline_at(&in, op->in[0], linear);
        m->init = inline_value(&in, op->in[1], NULL);
        if (is_neutral(g, m->op, dtype, m->init)) m->init = KX_NONE;
    } else if (op && op->code == OP_scatter && !inline_scatter_is_direct(self, op)) {
        m->expr = inline_at(&in, op->in[0], element);
    } else {
        m->expr = own_element(&in, m->value, element);
    }
    return !in.failed;
}

/* --- Joining ---------------------------------------------------------------------------------- */

/* Visit the nodes under x once each. */
typedef struct {
    lower_t *lower;
    group_t *group;
    VEC(bool) seen;
    bool refers; /* meets a member, or an operand of the group's */
    bool late;   /* meets what steps make */
    int loads;
} walk_t;

static bool group_reads(const group_t *group, ir_val_t v)
{
    for (size_t i = 0; i < group->kernel->arg.n; i++)
        if (group->kernel->arg.at[i].value == v) return true;
    return false;
}

static void walk(walk_t *w, kx_t x, void (*visit)(walk_t *, const kx_node_t *))
{
    while (w->seen.n <= x) VEC_PUSH(&w->seen, false);
    if (x == KX_NONE || w->seen.at[x]) return;
    w->seen.at[x] = true;
    const kx_node_t *n = &w->group->kernel->graph.node.at[x];
    visit(w, n);
    for (int t = 0; t < n->n_in; t++) walk(w, n->in[t], visit);
}

static void visit_related(walk_t *w, const kx_node_t *n)
{
    if (n->kind == KX_REF) w->refers = true;
    if (n->kind != KX_LOAD) return;
    w->loads++;
    if (count_of(w->lower, (ir_val_t)n->i) >= w->group->rows &&
        group_reads(w->group, (ir_val_t)n->i))
        w->refers = true;
}

static void visit_late(walk_t *w, const kx_node_t *n)
{
    if (n->kind == KX_LOAD && w->lower->value[n->i].order != BEFORE) w->late = true;
    if (n->kind == KX_REF && w->group->member.at[n->i].late) w->late = true;
}

/* Loads become arguments; what they read lives in memory. */
static void visit_record(walk_t *w, const kx_node_t *n)
{
    if (n->kind != KX_LOAD) return;
    w->lower->value[n->i].stored = true;
    int64_t at;
    emit_load_arg(w->lower, w->group->kernel, n, n->in[0], &at);
}

static void walk_member(walk_t *w, const member_t *m, void (*visit)(walk_t *, const kx_node_t *))
{
    kx_t roots[] = {m->expr, m->init, m->index, m->guard};
    for (int i = 0; i < 4; i++)
        if (roots[i] != KX_NONE) walk(w, roots[i], visit);
}

/* Does the member share operands with the group? Copies need not, between the same two products. */
static bool is_related(lower_t *self, int number, const member_t *m)
{
    group_t *group = self->group.at[number];
    bool same_pass = m->value >= self->again && number >= self->n_before;
    walk_t w = {.lower = self, .group = group};
    walk_member(&w, m, visit_related);
    VEC_FREE(&w.seen);
    bool fits = (int)group->kernel->arg.n + w.loads <= MAX_ARGS;
    bool sums = self->caps.many && m->kind == MEMBER_SUM && group->by_column;
    int64_t small = sums ? MANY_SMALL : SMALL;
    return fits && (w.refers || same_pass || group->rows * group->cols <= small);
}

static bool is_late(lower_t *self, group_t *group, const member_t *m)
{
    walk_t w = {.lower = self, .group = group};
    walk_member(&w, m, visit_late);
    VEC_FREE(&w.seen);
    return w.late;
}

/* A number that is known from the start, like that of targets that count, does not wait for one
 * that is made of large temporaries: these come by parts, each of which may need the first. */
static bool waits_in_vain(const lower_t *self, const group_t *group, const member_t *m)
{
    return self->large > 0 && count_of(self, m->value) == 1 && group->member.n > 0 &&
           group->member.at[0].late != m->late;
}

static void record(lower_t *self, group_t *group, const member_t *m)
{
    walk_t w = {.lower = self, .group = group};
    walk_member(&w, m, visit_record);
    VEC_FREE(&w.seen);
}

static void set_space(group_t *group, int64_t rows, int64_t cols)
{
    kx_graph_t *g = &group->kernel->graph;
    group->rows = rows;
    group->cols = cols;
    group->row = kx_var(g, rows, &group->row_var);
    group->col = kx_var(g, cols, &group->col_var);
    group->memo.n = 0;
}

static bool rebuild(lower_t *self, group_t *group)
{
    for (size_t i = 0; i < group->member.n; i++)
        if (!group_build_member(self, group, &group->member.at[i])) return false;
    return true;
}

/* Only elements so far: the split into rows and columns may still change. */
static bool respace(lower_t *self, group_t *group, int64_t rows, int64_t cols)
{
    int64_t old_rows = group->rows, old_cols = group->cols;
    for (size_t i = 0; i < group->member.n; i++)
        if (group->member.at[i].kind != MEMBER_FULL) return false;
    if (group->by_column) return false;
    set_space(group, rows, cols);
    if (rebuild(self, group)) return true;
    set_space(group, old_rows, old_cols);
    rebuild(self, group);
    return false;
}

static int64_t n_sums(const group_t *group)
{
    int64_t n = 0;
    for (size_t i = 0; i < group->member.n; i++) n += group->member.at[i].kind == MEMBER_SUM;
    return n;
}

/* The kind the member would have in the group, or -1. */
static int kind_in(lower_t *self, group_t *group, const shape_t *s)
{
    int64_t n = s->rows * s->cols;
    if (s->kind == MEMBER_SCATTER || group->member.n >= MAX_MEMBERS ||
        group->kernel->graph.node.n > MAX_NODES)
        return -1;
    if (s->kind == MEMBER_FULL) {
        if (n == group->rows * group->cols) return MEMBER_FULL;
        return n == group->rows && !group->by_column ? MEMBER_ROW : -1;
    }
    if (n != group->rows * group->cols || s->by_column != group->by_column) return -1;
    if (s->kind == MEMBER_SUM && s->chunk != group->chunk && group->chunk > 1) return -1;
    int64_t most = self->caps.many ? LOWER_MANY_SUMS : MAX_SUMS;
    if (s->kind == MEMBER_SUM && !s->by_column && (n_sums(group) + 1) * s->cols > most) return -1;
    bool fits = s->rows == group->rows && s->cols == group->cols;
    return fits || respace(self, group, s->rows, s->cols) ? (int)s->kind : -1;
}

static void add_member(lower_t *self, int number, const member_t *m)
{
    group_t *group = self->group.at[number];
    record(self, group, m);
    lvalue_t *lv = &self->value[m->value];
    lv->group = number;
    lv->member = (int)group->member.n;
    lv->order = group->order;
    VEC_PUSH(&group->member, *m);
}

/* Asking for the kind may have split the group's elements as the member wants them; members that do
 * not join leave no trace. */
static bool try_join(lower_t *self, int number, ir_val_t v, const shape_t *s)
{
    group_t *group = self->group.at[number];
    int64_t rows = group->rows, cols = group->cols;
    int kind = kind_in(self, group, s);
    if (kind < 0) return false;
    member_t m = {.value = v, .kind = (member_kind_t)kind};
    bool fits = group_build_member(self, group, &m) && is_related(self, number, &m);
    if (fits) m.late = is_late(self, group, &m);
    if (!fits || waits_in_vain(self, group, &m)) {
        if (group->rows != rows || group->cols != cols) respace(self, group, rows, cols);
        return false;
    }
    if (kind == MEMBER_SUM) group->chunk = s->chunk;
    add_member(self, number, &m);
    return true;
}

static int open_group(lower_t *self, ir_val_t v, const shape_t *s)
{
    group_t *group = mem_calloc(1, sizeof *group);
    group->kernel = kernel_new();
    group->order = (int)self->step.n;
    group->chunk = s->chunk;
    group->by_column = s->by_column;
    set_space(group, s->rows, s->cols);
    int number = (int)self->group.n;
    VEC_PUSH(&self->group, group);
    lstep_t step = {.kind = LOWER_GROUP, .group = number, .value = v};
    VEC_PUSH(&self->step, step);
    member_t m = {.value = v, .kind = s->kind};
    if (!group_build_member(self, group, &m)) {
        const ir_op_t *op = ir_def(self->fn, v);
        return err_set(self->err, ERR_UNSUPPORTED,
                       "line %d: %s reads something that has no storage", op ? op->line : 0,
                       op ? op_def(op->code)->name : "argument");
    }
    m.late = is_late(self, group, &m);
    add_member(self, number, &m);
    return 0;
}

/* Copies of forward values (recompute.h) do not join those that made these. */
static int place(lower_t *self, ir_val_t v, const shape_t *s)
{
    int last = (int)self->group.n - 1, first = v >= self->again ? self->n_early : 0;
    for (int i = last; i >= first && i > last - LOOK_BACK; i--)
        if (try_join(self, i, v, s)) return 0;
    return open_group(self, v, s);
}

int group_place(lower_t *self, const ir_op_t *op, ir_val_t v)
{
    shape_t s;
    if (op->code == OP_reduce) {
        s = shape_of_reduce(self, op);
        return place(self, v, &s);
    }
    s = shape_of_full(self, v);
    if (place(self, v, &s) < 0) return -1;
    if (op->code != OP_scatter || inline_scatter_is_direct(self, op)) return 0;
    self->value[v].stored = true; /* the elements above are only where the scatter starts */
    if (!ir_def(self->fn, op->in[0])) self->value[v].over = op->in[0];
    s = shape_of_scatter(self, op);
    return open_group(self, v, &s);
}

/* Does a member ask for a part of the column variable? */
static void visit_column_part(walk_t *w, const kx_node_t *n)
{
    const kx_graph_t *g = &w->group->kernel->graph;
    if (n->kind == KX_VAR && g->var.at[n->i].parent >= 0) w->refers = true;
}

void group_flatten(lower_t *self, group_t *group)
{
    int64_t rows = group->rows, cols = group->cols;
    walk_t w = {.lower = self, .group = group};
    for (size_t i = 0; i < group->member.n; i++)
        if (group->member.at[i].kind != MEMBER_FULL) return;
    if (group->by_column || rows == 1) return;
    group->by_column = true;
    set_space(group, 1, rows * cols);
    bool fits = rebuild(self, group);
    for (size_t i = 0; fits && i < group->member.n; i++)
        walk_member(&w, &group->member.at[i], visit_column_part);
    VEC_FREE(&w.seen);
    if (fits && !w.refers) return;
    group->by_column = false;
    set_space(group, rows, cols);
    rebuild(self, group);
}

void group_destroy(group_t **self_p)
{
    group_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    kernel_destroy(&self->kernel);
    VEC_FREE(&self->member);
    VEC_FREE(&self->memo);
    free(self);
}
