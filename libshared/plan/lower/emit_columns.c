/* Column loops: which parts of a split column variable to loop over, and where guards cut them. */
#include "plan/lower/emit.h"

#include "plan/kernel/kx_node.h"

enum { MAX_LEAVES = 16, MAX_CUTS = 12 };

typedef struct {
    kernel_t *kernel;
    int leaf[MAX_LEAVES]; /* variables to loop over, outermost first */
    int n_leaf;
} nest_t;

typedef VEC(bool) flags_t;

/* Every node under x that was not visited before. */
static void visit(const kx_graph_t *g, flags_t *seen, kx_t x, void (*on)(void *, const kx_node_t *),
                  void *user)
{
    while (seen->n <= x) VEC_PUSH(seen, false);
    if (seen->at[x]) return;
    seen->at[x] = true;
    on(user, &g->node.at[x]);
    for (int t = 0; t < g->node.at[x].n_in; t++) visit(g, seen, g->node.at[x].in[t], on, user);
}

static void visit_list(const kx_graph_t *g, const pending_list_t *list,
                       void (*on)(void *, const kx_node_t *), void *user)
{
    flags_t seen = {0};
    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i].index != KX_NONE) visit(g, &seen, list->at[i].index, on, user);
        visit(g, &seen, list->at[i].value, on, user);
        if (list->at[i].only != KX_NONE) visit(g, &seen, list->at[i].only, on, user);
    }
    VEC_FREE(&seen);
}

static void mark_variable(void *user, const kx_node_t *n)
{
    flags_t *used = user;
    if (n->kind == KX_VAR) used->at[n->i] = true;
}

static bool uses_below(const kx_graph_t *g, const flags_t *used, int v)
{
    const kx_var_t *x = &g->var.at[v];
    if (x->hi < 0) return false;
    return used->at[x->hi] || used->at[x->lo] || uses_below(g, used, x->hi) ||
           uses_below(g, used, x->lo);
}

static void find_leaves(nest_t *nest, const flags_t *used, int v)
{
    const kx_graph_t *g = &nest->kernel->graph;
    if (nest->n_leaf + 2 >= MAX_LEAVES || !uses_below(g, used, v)) {
        nest->leaf[nest->n_leaf++] = v;
        return;
    }
    int lo = g->var.at[v].lo;
    find_leaves(nest, used, g->var.at[v].hi);
    find_leaves(nest, used, lo);
}

/* Rows of v's ancestors that one step of leaf v spans, or 0 when v is not on the outer side of x.
 * */
static int64_t span_in(const kx_graph_t *g, int v, int x)
{
    int64_t span = 1;
    while (v != x) {
        int parent = g->var.at[v].parent;
        if (parent < 0 || g->var.at[parent].hi != v) return 0;
        span *= g->var.at[g->var.at[parent].lo].extent;
        v = parent;
    }
    return span;
}

typedef struct {
    const kx_graph_t *graph;
    int var;
    int n;
    int64_t at[MAX_CUTS];
} cuts_t;

/* k * x + c >= 0 with k = 1 or -1 changes its value at one place of x. */
static void find_cut(void *user, const kx_node_t *n)
{
    cuts_t *cuts = user;
    const kx_graph_t *g = cuts->graph;
    if (n->kind != KX_GE0) return;
    const kx_node_t *sum = &g->node.at[n->in[0]];
    bool plain = sum->kind == KX_VAR;
    if (!plain && (sum->kind != KX_AFFINE || sum->n_in != 1)) return;
    const kx_node_t *term = plain ? sum : &g->node.at[sum->in[0]];
    int64_t k = plain ? 1 : sum->coef[0], c = plain ? 0 : sum->i;
    if (term->kind != KX_VAR || (k != 1 && k != -1)) return;
    int64_t span = span_in(g, cuts->var, (int)term->i), at = k == 1 ? -c : c + 1;
    if (span == 0 || at % span != 0 || at <= 0 || at >= g->var.at[cuts->var].extent * span) return;
    at /= span;
    for (int i = 0; i < cuts->n; i++)
        if (cuts->at[i] == at) return;
    if (cuts->n < MAX_CUTS) cuts->at[cuts->n++] = at;
}

static void sort_cuts(cuts_t *cuts)
{
    for (int i = 1; i < cuts->n; i++)
        for (int k = i; k > 0 && cuts->at[k] < cuts->at[k - 1]; k--) {
            int64_t t = cuts->at[k];
            cuts->at[k] = cuts->at[k - 1];
            cuts->at[k - 1] = t;
        }
}

/* Variable `var` stands for `with`; its ancestors are put together from their parts. */
typedef struct {
    kx_graph_t *graph;
    int var;
    kx_t with;
} exchange_t;

static bool is_ancestor(const kx_graph_t *g, int x, int v)
{
    for (; v >= 0; v = g->var.at[v].parent)
        if (v == x) return true;
    return false;
}

static kx_t exchange_variable(exchange_t *e, int x)
{
    kx_graph_t *g = e->graph;
    if (x == e->var) return e->with;
    if (!is_ancestor(g, x, e->var)) return g->var.at[x].node;
    int hi = g->var.at[x].hi, lo = g->var.at[x].lo;
    kx_t high = kx_scale(g, exchange_variable(e, hi), g->var.at[lo].extent);
    return kx_add(g, high, exchange_variable(e, lo));
}

static kx_t exchange(void *user, kx_t x)
{
    exchange_t *e = user;
    const kx_node_t *n = &e->graph->node.at[x];
    if (n->kind != KX_VAR || !is_ancestor(e->graph, (int)n->i, e->var)) return KX_NONE;
    return exchange_variable(e, (int)n->i);
}

void emit_exchange(kernel_t *kernel, const pending_list_t *from, pending_list_t *to, int var,
                   kx_t with)
{
    exchange_t e = {&kernel->graph, var, with};
    kx_rewrite_t r = {.graph = &kernel->graph, .replace = exchange, .user = &e};
    for (size_t i = 0; i < from->n; i++) {
        pending_t p = from->at[i];
        p.index = p.index == KX_NONE ? KX_NONE : kx_rewrite(&r, p.index);
        p.value = kx_rewrite(&r, p.value);
        p.only = p.only == KX_NONE ? KX_NONE : kx_rewrite(&r, p.only);
        VEC_PUSH(to, p);
    }
    VEC_FREE(&r.memo);
}

void emit_statements(kblock_t *block, const pending_list_t *list)
{
    for (size_t i = 0; i < list->n; i++) {
        kblock_t *where = block;
        if (list->at[i].only != KX_NONE) {
            kstmt_t *only = kernel_stmt(block, KS_IF);
            only->value = list->at[i].only;
            where = &only->body;
        }
        kstmt_t *s = kernel_stmt(where, list->at[i].kind);
        s->target = list->at[i].target;
        s->index = list->at[i].index;
        s->value = list->at[i].value;
    }
}

static void emit_leaf(nest_t *nest, kblock_t *block, int depth, const pending_list_t *list);

static void emit_loop(nest_t *nest, kblock_t *block, int depth, int var, const pending_list_t *list)
{
    kstmt_t *loop = kernel_stmt(block, KS_FOR);
    loop->var = var;
    loop->lo = kx_int(&nest->kernel->graph, 0);
    loop->hi = kx_int(&nest->kernel->graph, nest->kernel->graph.var.at[var].extent);
    loop->simd = depth + 1 == nest->n_leaf;
    if (loop->simd)
        emit_statements(&loop->body, list);
    else
        emit_leaf(nest, &loop->body, depth + 1, list);
}

static void emit_leaf(nest_t *nest, kblock_t *block, int depth, const pending_list_t *list)
{
    kx_graph_t *g = &nest->kernel->graph;
    int var = nest->leaf[depth];
    int64_t extent = g->var.at[var].extent;
    cuts_t cuts = {.graph = g, .var = var};
    visit_list(g, list, find_cut, &cuts);
    if (cuts.n == 0) {
        emit_loop(nest, block, depth, var, list);
        return;
    }
    sort_cuts(&cuts);
    for (int i = 0; i <= cuts.n; i++) {
        int64_t from = i == 0 ? 0 : cuts.at[i - 1], to = i == cuts.n ? extent : cuts.at[i];
        int part;
        kx_t node = kx_var(g, to - from, &part);
        pending_list_t inside = {0};
        emit_exchange(nest->kernel, list, &inside, var, kx_addi(g, node, from));
        emit_loop(nest, block, depth, part, &inside);
        VEC_FREE(&inside);
    }
}

static bool uses_parts(const kx_graph_t *g, const pending_list_t *list, int var)
{
    flags_t used = {0};
    for (size_t v = 0; v < g->var.n; v++) VEC_PUSH(&used, false);
    visit_list(g, list, mark_variable, &used);
    bool uses = uses_below(g, &used, var);
    VEC_FREE(&used);
    return uses;
}

/* Columns from + [max(lo - from, 0), min(hi - from, extent)). */
static void emit_clipped(kx_graph_t *g, kblock_t *block, int part, int64_t from, kx_t lo, kx_t hi,
                         const pending_list_t *list)
{
    kx_t end = kx_int(g, g->var.at[part].extent);
    kstmt_t *loop = kernel_stmt(block, KS_FOR);
    loop->var = part;
    loop->lo = kx_map(g, OP_maximum, DT_I64, 2, (kx_t[]){kx_addi(g, lo, -from), kx_int(g, 0)});
    loop->hi = kx_map(g, OP_minimum, DT_I64, 2, (kx_t[]){kx_addi(g, hi, -from), end});
    loop->simd = true;
    emit_statements(&loop->body, list);
}

bool emit_clipped_columns(kernel_t *kernel, kblock_t *block, int col, kx_t lo, kx_t hi,
                          const pending_list_t *list)
{
    kx_graph_t *g = &kernel->graph;
    cuts_t cuts = {.graph = g, .var = col};
    pending_list_t inside[MAX_CUTS + 1] = {0};
    int part[MAX_CUTS + 1];
    bool fits = !uses_parts(g, list, col);
    visit_list(g, list, find_cut, &cuts);
    sort_cuts(&cuts);
    if (cuts.n == 0 || !fits) return false;
    for (int i = 0; i <= cuts.n; i++) {
        int64_t from = i == 0 ? 0 : cuts.at[i - 1];
        int64_t to = i == cuts.n ? g->var.at[col].extent : cuts.at[i];
        kx_t node = kx_var(g, to - from, &part[i]);
        emit_exchange(kernel, list, &inside[i], col, kx_addi(g, node, from));
        fits = fits && !uses_parts(g, &inside[i], part[i]);
    }
    for (int i = 0; i <= cuts.n; i++) {
        if (fits) emit_clipped(g, block, part[i], i == 0 ? 0 : cuts.at[i - 1], lo, hi, &inside[i]);
        VEC_FREE(&inside[i]);
    }
    return fits;
}

void emit_columns(kernel_t *kernel, kblock_t *block, int col, const pending_list_t *list)
{
    nest_t nest = {.kernel = kernel};
    flags_t used = {0};
    for (size_t v = 0; v < kernel->graph.var.n; v++) VEC_PUSH(&used, false);
    visit_list(&kernel->graph, list, mark_variable, &used);
    find_leaves(&nest, &used, col);
    VEC_FREE(&used);
    emit_leaf(&nest, block, 0, list);
}
