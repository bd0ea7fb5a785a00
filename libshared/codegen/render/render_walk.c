/* What the renderers of all languages share: at which depth a node can be computed, temporaries, the
 * walk over statements. Shared nodes become const temporaries at the outermost block where they are
 * known. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "codegen/render/render_expr.h"

static const kx_node_t *node(const render_t *self, kx_t x)
{
    return &self->kernel->graph.node.at[x];
}

static const kx_var_t *variable(const render_t *self, int v)
{
    return &self->kernel->graph.var.at[v];
}

/* --- Levels ----------------------------------------------------------------------------------- */

static bool in_scope(const render_t *self, int v)
{
    return self->var_depth.at[v] != NOT_IN_SCOPE;
}

static bool has_scope_below(const render_t *self, int v)
{
    const kx_var_t *x = variable(self, v);
    return x->hi >= 0 && (in_scope(self, x->hi) || in_scope(self, x->lo) ||
                          has_scope_below(self, x->hi) || has_scope_below(self, x->lo));
}

/* The innermost loop among v's parts, INNERMOST while one of them has no loop yet. */
static int parts_level(const render_t *self, int v)
{
    const kx_var_t *x = variable(self, v);
    if (x->extent == 1) return 0;
    if (in_scope(self, v)) return self->var_depth.at[v];
    if (!has_scope_below(self, v)) return INNERMOST;
    int hi = parts_level(self, x->hi), lo = parts_level(self, x->lo);
    return hi > lo ? hi : lo;
}

static int var_level(const render_t *self, int v)
{
    int level = parts_level(self, v);
    if (level != INNERMOST || has_scope_below(self, v)) return level;
    int parent = variable(self, v)->parent;
    while (parent >= 0 && !in_scope(self, parent)) parent = variable(self, parent)->parent;
    return parent >= 0 ? self->var_depth.at[parent] : INNERMOST;
}

static int node_level(render_t *self, kx_t x)
{
    const kx_node_t *n = node(self, x);
    int level = 0;
    if (n->kind == KX_VAR) return var_level(self, (int)n->i);
    if (n->kind == KX_ACC) return self->acc_depth.at[n->i];
    if (n->kind == KX_LOCAL || n->kind == KX_CELL ||
        (n->kind == KX_LOAD && self->kernel->arg.at[n->i].written))
        return INNERMOST;
    for (int t = 0; t < n->n_in; t++) {
        int in = render_level(self, n->in[t]);
        level = in > level ? in : level;
    }
    return level;
}

/* Once per walk and node: recurrences share their terms, and walking each use would take forever.
 */
int render_level(render_t *self, kx_t x)
{
    if (self->leveled.at[x] != self->walk) {
        self->level.at[x] = node_level(self, x);
        self->leveled.at[x] = self->walk;
    }
    return self->level.at[x];
}

/* --- Small indices ---------------------------------------------------------------------------- */

static bool fits(int64_t i)
{
    return i > INT32_MIN && i < INT32_MAX;
}

bool render_is_small(const render_t *self, const kx_node_t *n)
{
    if (n->dtype != DT_I64 || !fits(n->lo) || !fits(n->hi)) return false;
    if (n->kind == KX_VAR) return true;
    if (n->kind == KX_DIV || n->kind == KX_MOD) {
        const kx_node_t *in = node(self, n->in[0]);
        return fits(n->i) && render_is_small(self, in);
    }
    if (n->kind != KX_AFFINE || !fits(n->i)) return false;
    for (int t = 0; t < n->n_in; t++)
        if (!fits(n->coef[t])) return false;
    return true;
}

/* --- Declarations ----------------------------------------------------------------------------- */

/* Nodes that are written in place wherever they are used. */
static bool in_place(const render_t *self, kx_t x)
{
    const kx_node_t *n = node(self, x);
    if (n->kind == KX_VAR) return in_scope(self, (int)n->i);
    return n->kind == KX_NUMBER || n->kind == KX_AFFINE || n->kind == KX_ACC || n->kind == KX_CELL;
}

void render_indent(render_t *self)
{
    for (int i = 0; i <= self->depth; i++) str_add(self->out, "    ");
}

void render_var(render_t *self, int v, str_t *out)
{
    const kx_var_t *x = variable(self, v);
    if (x->extent == 1) {
        str_add(out, "0");
    } else if (in_scope(self, v)) {
        str_addf(out, "i%d", self->loop.at[v]);
    } else if (has_scope_below(self, v)) {
        bool wide = self->lang->wide && x->extent > INT32_MAX;
        str_addf(out, "(%s", wide ? self->lang->wide : "");
        render_var(self, x->hi, out);
        str_addf(out, " * %" PRId64 " + ", variable(self, x->lo)->extent);
        render_var(self, x->lo, out);
        str_add(out, ")");
    } else {
        const kx_var_t *parent = variable(self, x->parent);
        str_add(out, "(");
        render_var(self, x->parent, out);
        if (parent->lo == v)
            str_addf(out, " %% %" PRId64 ")", x->extent);
        else
            str_addf(out, " / %" PRId64 ")", variable(self, parent->lo)->extent);
    }
}

void render_use(render_t *self, kx_t x, str_t *out)
{
    const kx_node_t *n = node(self, x);
    if (n->kind == KX_VAR && in_place(self, x))
        render_var(self, (int)n->i, out);
    else if (n->kind == KX_AFFINE)
        self->lang->sum(self, n, out);
    else if (n->kind == KX_NUMBER)
        self->lang->number(n, out);
    else if (n->kind == KX_ACC)
        str_addf(out, "acc%" PRId64, n->i);
    else if (n->kind == KX_CELL)
        str_addf(out, "c%" PRId64, n->i);
    else
        str_addf(out, "t%d", self->named.at[x]);
}

static void declare(render_t *self, kx_t x, int limit)
{
    const kx_node_t *n = node(self, x);
    if (self->named.at[x] || self->declared.at[x] == self->walk) return;
    self->declared.at[x] = self->walk;
    for (int t = 0; t < n->n_in; t++) declare(self, n->in[t], limit);
    if (in_place(self, x) || (limit != INNERMOST && render_level(self, x) > limit)) return;
    str_t text = {0};
    self->lang->node(self, x, &text);
    render_indent(self);
    self->named.at[x] = ++self->n_name;
    str_addf(self->out, "const %s t%d = %s;\n", self->lang->type(self, n), self->n_name,
             str_text(&text));
    str_fini(&text);
    VEC_PUSH(&self->order, x);
}

void render_declare(render_t *self, kx_t x)
{
    self->walk++;
    declare(self, x, self->depth);
}

void render_forget(render_t *self)
{
    self->walk++;
    for (size_t i = 0; i < self->order.n; i++)
        if (render_level(self, self->order.at[i]) == INNERMOST)
            self->named.at[self->order.at[i]] = 0;
}

void render_declare_here(render_t *self, kx_t x)
{
    self->walk++;
    declare(self, x, INNERMOST);
}

void render_line(render_t *self, const char *text)
{
    render_indent(self);
    str_add(self->out, text);
}

/* --- Loads ahead ------------------------------------------------------------------------------ */

/* Loads under x of what the kernel does not write. Returns how many more may be declared. */
static int fetch(render_t *self, kx_t x, bool *seen, int left)
{
    const kx_node_t *n = node(self, x);
    if (seen[x] || left == 0) return left;
    seen[x] = true;
    for (int t = 0; t < n->n_in; t++) left = fetch(self, n->in[t], seen, left);
    if (n->kind != KX_LOAD || self->named.at[x] || render_level(self, x) > self->depth || left == 0)
        return left;
    declare(self, x, self->depth);
    return left - 1;
}

size_t render_fetch(render_t *self, const kblock_t *block)
{
    enum { MOST = 64 };
    size_t mark = self->order.n, stores = 0;
    int left = MOST;
    for (size_t i = 0; i < block->n; i++) stores += block->at[i]->kind == KS_STORE;
    if (stores < 2 || !kernel_is_group(self->kernel)) return mark;
    bool *seen = mem_calloc(self->kernel->graph.node.n + 1, sizeof *seen);
    self->walk++;
    self->depth++;
    for (size_t i = 0; i < block->n; i++) {
        bool plain = block->at[i]->kind == KS_STORE || block->at[i]->kind == KS_KEEP ||
                     block->at[i]->kind == KS_FOLD;
        if (plain) left = fetch(self, block->at[i]->value, seen, left);
    }
    self->depth--;
    free(seen);
    return mark;
}

void render_leave(render_t *self, size_t mark)
{
    while (self->order.n > mark) self->named.at[self->order.at[--self->order.n]] = 0;
}

/* --- Statements ------------------------------------------------------------------------------- */

/* Everything under `block` that can be computed before it. */
static void declare_block(render_t *self, const kblock_t *block)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        kx_t need[] = {s->lo, s->hi, s->index, s->value};
        for (int k = 0; k < 4; k++)
            if (need[k] != KX_NONE) render_declare(self, need[k]);
        for (size_t k = 0; k < s->set.n; k++) render_declare(self, s->set.at[k].value);
        if (s->kind != KS_IF && s->kind != KS_WHILE) declare_block(self, &s->body);
    }
}

void render_find_folds(const kblock_t *block, bool *folds)
{
    for (size_t i = 0; i < block->n; i++) {
        if (block->at[i]->kind == KS_FOLD) folds[block->at[i]->target] = true;
        render_find_folds(&block->at[i]->body, folds);
    }
}

/* Accumulators that start inside are unknown outside: their depth is the block's. */
static void set_acc_depth(render_t *self, const kblock_t *block, int depth)
{
    for (size_t i = 0; i < block->n; i++) {
        if (block->at[i]->kind == KS_START) self->acc_depth.at[block->at[i]->target] = depth;
        set_acc_depth(self, &block->at[i]->body, depth + 1);
    }
}

static void write_let(render_t *self, const kstmt_t *s)
{
    render_indent(self);
    str_addf(self->out, "%s c%d = ", self->lang->cell_type(self->kernel->cell.at[s->target]),
             s->target);
    render_use(self, s->value, self->out);
    str_add(self->out, ";\n");
}

/* All values are taken before the first cell changes. */
static void write_set(render_t *self, const kstmt_t *s)
{
    render_indent(self);
    str_add(self->out, "{\n");
    for (size_t i = 0; i < s->set.n; i++) {
        int cell = s->set.at[i].cell;
        render_indent(self);
        str_addf(self->out, "const %s n%d = ", self->lang->cell_type(self->kernel->cell.at[cell]),
                 cell);
        render_use(self, s->set.at[i].value, self->out);
        str_add(self->out, ";\n");
    }
    for (size_t i = 0; i < s->set.n; i++) {
        render_indent(self);
        str_addf(self->out, "c%d = n%d;\n", s->set.at[i].cell, s->set.at[i].cell);
    }
    render_indent(self);
    str_add(self->out, "}\n");
}

static void write_if(render_t *self, const kstmt_t *s)
{
    render_indent(self);
    str_add(self->out, "if (");
    render_use(self, s->value, self->out);
    str_add(self->out, ") {\n");
    render_block(self, &s->body);
    render_indent(self);
    str_add(self->out, "}\n");
}

/* The condition is computed anew each time. */
static void write_while(render_t *self, const kstmt_t *s)
{
    size_t mark = self->order.n;
    render_indent(self);
    str_add(self->out, "for (;;) {\n");
    self->depth++;
    render_declare_here(self, s->value);
    render_indent(self);
    str_add(self->out, "if (!");
    render_use(self, s->value, self->out);
    str_add(self->out, ") break;\n");
    self->depth--;
    render_forget(self);
    render_block(self, &s->body);
    render_leave(self, mark);
    render_indent(self);
    str_add(self->out, "}\n");
}

static void declare_statement(render_t *self, const kstmt_t *s)
{
    kx_t need[] = {s->lo, s->hi, s->index, s->value};
    if (s->kind == KS_WHILE) return;
    for (int k = 0; k < 4; k++)
        if (need[k] != KX_NONE) render_declare_here(self, need[k]);
    for (size_t k = 0; k < s->set.n; k++) render_declare_here(self, s->set.at[k].value);
    if (s->kind != KS_IF) declare_block(self, &s->body);
}

static void write_statement(render_t *self, const kstmt_t *s)
{
    if (s->kind == KS_FOR) {
        self->var_depth.at[s->var] = self->depth + 1;
        self->loop.at[s->var] = ++self->n_loop;
    }
    declare_statement(self, s);
    switch (s->kind) {
    case KS_FOR: self->lang->loop(self, s); break;
    case KS_STORE: self->lang->store(self, s, "a", self->kernel->arg.at[s->target].dtype); break;
    case KS_KEEP: self->lang->store(self, s, "l", self->kernel->array.at[s->target].dtype); break;
    case KS_START:
    case KS_FOLD: self->lang->accumulate(self, s); break;
    case KS_LET: write_let(self, s); break;
    case KS_SET: write_set(self, s); break;
    case KS_IF: write_if(self, s); break;
    case KS_WHILE: write_while(self, s); break;
    }
    if (s->kind == KS_FOR) self->var_depth.at[s->var] = NOT_IN_SCOPE;
    if (self->kernel->in_order) render_forget(self);
}

void render_block(render_t *self, const kblock_t *block)
{
    size_t mark = self->order.n;
    self->depth++;
    if (self->kernel->in_order) render_forget(self);
    for (size_t i = 0; i < block->n; i++) write_statement(self, block->at[i]);
    render_leave(self, mark);
    self->depth--;
}

void render_begin(render_t *self, const kernel_t *kernel, const render_lang_t *lang, str_t *out)
{
    *self = (render_t){.kernel = kernel, .lang = lang, .out = out, .depth = -1};
    for (size_t i = 0; i < kernel->graph.var.n; i++) {
        VEC_PUSH(&self->var_depth, NOT_IN_SCOPE);
        VEC_PUSH(&self->loop, 0);
    }
    for (size_t i = 0; i < kernel->graph.node.n; i++) {
        VEC_PUSH(&self->named, 0);
        VEC_PUSH(&self->level, 0);
        VEC_PUSH(&self->leveled, 0);
        VEC_PUSH(&self->declared, 0);
    }
    for (size_t i = 0; i < kernel->acc.n; i++) {
        VEC_PUSH(&self->acc_depth, 0);
        VEC_PUSH(&self->keyed, false);
    }
    set_acc_depth(self, &kernel->body, 0);
}

void render_end(render_t *self)
{
    VEC_FREE(&self->var_depth);
    VEC_FREE(&self->acc_depth);
    VEC_FREE(&self->keyed);
    VEC_FREE(&self->named);
    VEC_FREE(&self->loop);
    VEC_FREE(&self->order);
    VEC_FREE(&self->level);
    VEC_FREE(&self->leveled);
    VEC_FREE(&self->declared);
}
