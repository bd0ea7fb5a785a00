/* Loops in which a thread takes four neighbouring columns at a time, and loads and stores them as one where they lie side by
 * side on a multiple of four. What lies otherwise goes element by element in the same loop. */
#include "codegen/render/render_fours.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

static const kx_node_t *node(const kernel_t *kernel, kx_t x)
{
    return &kernel->graph.node.at[x];
}

/* --- Where elements lie ----------------------------------------------------------------------- */

/* An index as slope * variable + rest, as it is for a multiple of four and the next three. */
typedef struct {
    bool known;
    int64_t slope;
    bool by_four; /* the rest is a multiple of four */
} place_t;

static bool is_below(const kx_graph_t *g, int v, int ancestor)
{
    for (; v >= 0; v = g->var.at[v].parent)
        if (v == ancestor) return true;
    return false;
}

/* Of x, a part of v. */
static place_t place_of_part(const kx_graph_t *g, int x, int v)
{
    if (x == v) return (place_t){true, 1, true};
    int lo = g->var.at[v].lo;
    if (g->var.at[lo].extent % 4 != 0) return (place_t){0}; /* it may jump among the four */
    return is_below(g, x, lo) ? place_of_part(g, x, lo) : (place_t){true, 0, false};
}

static place_t place_of_var(const kx_graph_t *g, int x, int v)
{
    if (g->var.at[x].extent == 1) return (place_t){true, 0, true};
    if (is_below(g, x, v)) return place_of_part(g, x, v);
    if (!is_below(g, v, x)) return (place_t){true, 0, false};
    int64_t n = g->var.at[g->var.at[x].lo].extent;
    place_t hi = place_of_var(g, g->var.at[x].hi, v), lo = place_of_var(g, g->var.at[x].lo, v);
    return (place_t){hi.known && lo.known, hi.slope * n + lo.slope,
                     (n % 4 == 0 || hi.by_four) && lo.by_four};
}

/* Four from a multiple of four on lie in one row of d. */
static place_t place_of_division(kx_kind_t kind, int64_t d, place_t in)
{
    if (in.slope == 0) return (place_t){in.known, 0, false};
    bool one = in.known && in.slope == 1 && in.by_four && d % 4 == 0;
    return kind == KX_MOD ? (place_t){one, 1, true} : (place_t){one, 0, false};
}

static bool meets(const kernel_t *k, kx_t x, int v, bool *seen)
{
    const kx_graph_t *g = &k->graph;
    const kx_node_t *n = node(k, x);
    if (seen[x]) return false;
    seen[x] = true;
    if (n->kind == KX_VAR) return is_below(g, (int)n->i, v) || is_below(g, v, (int)n->i);
    for (int t = 0; t < n->n_in; t++)
        if (meets(k, n->in[t], v, seen)) return true;
    return false;
}

static bool depends(const kernel_t *k, kx_t x, int v)
{
    bool *seen = mem_calloc(k->graph.node.n, sizeof *seen), met = meets(k, x, v, seen);
    free(seen);
    return met;
}

static place_t place_of(const kernel_t *k, kx_t x, int v)
{
    const kx_node_t *n = node(k, x);
    if (n->kind == KX_DIV || n->kind == KX_MOD)
        return place_of_division(n->kind, n->i, place_of(k, n->in[0], v));
    if (n->kind == KX_VAR) return place_of_var(&k->graph, (int)n->i, v);
    place_t sum = {true, 0, n->i % 4 == 0};
    if (n->kind == KX_NUMBER) return sum;
    if (n->kind != KX_AFFINE) return (place_t){!depends(k, x, v), 0, false};
    for (int t = 0; t < n->n_in; t++) {
        place_t in = place_of(k, n->in[t], v);
        sum.known = sum.known && in.known;
        sum.slope += n->coef[t] * in.slope;
        sum.by_four = sum.by_four && (n->coef[t] % 4 == 0 || in.by_four);
    }
    return sum;
}

/* Four neighbours in memory, the first on a multiple of four? */
static bool is_four(const kernel_t *k, kx_t index, int v)
{
    place_t p = place_of(k, index, v);
    return p.known && p.slope == 1 && p.by_four;
}

/* Is the bound a multiple of four? */
static bool is_by_four(const kernel_t *k, kx_t x)
{
    const kx_node_t *n = node(k, x);
    if (n->kind != KX_MAP || (n->op != OP_minimum && n->op != OP_maximum))
        return place_of(k, x, -1).by_four;
    for (int t = 0; t < n->n_in; t++)
        if (!is_by_four(k, n->in[t])) return false;
    return true;
}

/* --- Whether a kernel's loops go by fours ----------------------------------------------------- */

/* Does x load from the target of a store or a keep? seen: by node, zeros. */
static bool loads_from(const kernel_t *k, kx_t x, const kstmt_t *store, bool *seen)
{
    const kx_node_t *n = node(k, x);
    if (seen[x]) return false;
    seen[x] = true;
    if (n->kind == (store->kind == KS_KEEP ? KX_LOCAL : KX_LOAD) && n->i == store->target)
        return true;
    for (int t = 0; t < n->n_in; t++)
        if (loads_from(k, n->in[t], store, seen)) return true;
    return false;
}

/* Does a statement load what one before it in the same round has stored? All loads of a round come first. */
static bool loads_back(const kernel_t *k, const kstmt_t *loop)
{
    bool found = false;
    for (size_t i = 0; i < loop->body.n && !found; i++) {
        const kstmt_t *store = loop->body.at[i];
        if (store->kind == KS_FOLD) continue;
        bool *seen = mem_calloc(k->graph.node.n + 1, sizeof *seen);
        for (size_t j = i + 1; j < loop->body.n && !found; j++)
            found = loads_from(k, loop->body.at[j]->value, store, seen);
        free(seen);
    }
    return found;
}

static bool fits(const kernel_t *k, const kstmt_t *loop, bool *gains)
{
    if (!is_by_four(k, loop->lo) || !is_by_four(k, loop->hi)) return false;
    for (size_t i = 0; i < loop->body.n; i++) {
        const kstmt_t *s = loop->body.at[i];
        bool store = s->kind == KS_STORE || s->kind == KS_KEEP;
        if (!store && s->kind != KS_FOLD) return false;
        *gains = *gains || s->kind == KS_FOLD || is_four(k, s->index, loop->var);
    }
    return !loads_back(k, loop);
}

static bool all_fit(const kernel_t *k, const kblock_t *block, bool *gains)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        bool shared = s->kind == KS_FOR && s->simd;
        if (shared ? !fits(k, s, gains) : !all_fit(k, &s->body, gains)) return false;
    }
    return true;
}

bool fours_fit(const kernel_t *kernel)
{
    enum { MOST_ARGUMENTS = 24 }; /* four elements of each must be in registers */
    bool gains = false;
    return kernel->arg.n <= MOST_ARGUMENTS && all_fit(kernel, &kernel->body, &gains) && gains;
}

/* --- What a loop moves by fours --------------------------------------------------------------- */

static turns_t *own(render_t *self)
{
    return self->own;
}

void fours_begin(fours_t *self, const kernel_t *kernel)
{
    self->number = mem_calloc(kernel->graph.node.n + 1, sizeof *self->number);
    self->seen = mem_calloc(kernel->graph.node.n + 1, sizeof *self->seen);
}

void fours_end(fours_t *self)
{
    free(self->number);
    free(self->seen);
    VEC_FREE(&self->store);
}

/* Does the loop write to the target at another place? */
static bool writes_elsewhere(const kstmt_t *loop, kstmt_kind_t kind, int target, kx_t index)
{
    for (size_t i = 0; i < loop->body.n; i++) {
        const kstmt_t *s = loop->body.at[i];
        if (s->kind == kind && s->target == target && s->index != index) return true;
    }
    return false;
}

static const char *storage_of(const kernel_t *k, bool array, int target)
{
    return render_storage(array ? k->array.at[target].dtype : k->arg.at[target].dtype);
}

/* Arrays in registers are not moved at all. */
static bool can_hold(render_t *self, const kstmt_t *loop, bool array, int target, kx_t index)
{
    if (array && own(self)->plan.turns > 0) return false;
    return is_four(self->kernel, index, loop->var) &&
           !writes_elsewhere(loop, array ? KS_KEEP : KS_STORE, target, index);
}

/* A line with the four elements as one in memory, between two texts. What the place is made of is declared for this line alone: it
 * is the first column's. */
static void write_four(render_t *self, const char *before, const char *is_const, bool array,
                       int target, kx_t index, const char *behind)
{
    size_t mark = self->order.n;
    self->depth++;
    render_declare_here(self, index);
    render_indent(self);
    str_addf(self->out, "%s*(%spcp_quad_t<%s> *)(%s%d + ", before, is_const,
             storage_of(self->kernel, array, target), array ? "l" : "a", target);
    render_use(self, index, self->out);
    str_addf(self->out, ")%s;\n", behind);
    self->depth--;
    render_leave(self, mark);
}

static void load_below(render_t *self, const kstmt_t *loop, kx_t x)
{
    fours_t *f = &own(self)->fours;
    const kx_node_t *n = node(self->kernel, x);
    bool array = n->kind == KX_LOCAL;
    if (f->seen[x] == f->n_loop || self->named.at[x]) return;
    f->seen[x] = f->n_loop;
    f->number[x] = 0;
    for (int t = 0; t < n->n_in; t++) load_below(self, loop, n->in[t]);
    if (n->kind != KX_LOAD && !array) return;
    if (!can_hold(self, loop, array, (int)n->i, n->in[0])) return;
    char name[64];
    f->number[x] = ++f->n;
    snprintf(name, sizeof name,
             "const pcp_quad_t<%s> w%d = ", storage_of(self->kernel, array, (int)n->i), f->n);
    write_four(self, name, "const ", array, (int)n->i, n->in[0], "");
}

void fours_loop_begin(render_t *self, const kstmt_t *loop)
{
    fours_t *f = &own(self)->fours;
    int v = self->loop.at[loop->var];
    f->n_loop++;
    f->inside = true;
    for (size_t i = 0; i < loop->body.n; i++) {
        const kstmt_t *s = loop->body.at[i];
        load_below(self, loop, s->value);
        if (s->kind != KS_FOLD) load_below(self, loop, s->index);
    }
    for (size_t i = 0; i < loop->body.n; i++) {
        const kstmt_t *s = loop->body.at[i];
        bool array = s->kind == KS_KEEP;
        if (s->kind == KS_FOLD || !can_hold(self, loop, array, s->target, s->index)) continue;
        VEC_PUSH(&f->store, s);
        render_indent(self);
        str_addf(self->out, "    pcp_quad_t<%s> s%zu;\n",
                 storage_of(self->kernel, array, s->target), f->store.n);
    }
    render_indent(self);
    str_addf(self->out, "    const int f%d = i%d;\n", v, v);
    str_add(self->out, own(self)->lang->unroll);
    render_indent(self);
    str_addf(self->out, "    for (int u = 0; u < 4; u++) { const int i%d = f%d + u;", v, v);
    if (own(self)->plan.turns) str_addf(self->out, " const int j%d = q%d * 4 + u;", v, v);
    str_add(self->out, "\n");
}

void fours_loop_end(render_t *self)
{
    fours_t *f = &own(self)->fours;
    render_indent(self);
    str_add(self->out, "    }\n");
    for (size_t i = 0; i < f->store.n; i++) {
        char value[32];
        const kstmt_t *s = f->store.at[i];
        snprintf(value, sizeof value, " = s%zu", i + 1);
        write_four(self, "", "", s->kind == KS_KEEP, s->target, s->index, value);
    }
    f->store.n = 0;
    f->inside = false;
}

bool fours_load(render_t *self, kx_t x, str_t *out)
{
    const fours_t *f = &own(self)->fours;
    dtype_t dtype = node(self->kernel, x)->dtype;
    if (!f->inside || f->seen[x] != f->n_loop || f->number[x] == 0) return false;
    if (dtype_is_narrow(dtype))
        str_addf(out, "pcp_f32_from_%s(w%d.x[u])", dtype_name(dtype), f->number[x]);
    else
        str_addf(out, "w%d.x[u]", f->number[x]);
    return true;
}

bool fours_store(render_t *self, const kstmt_t *s, dtype_t dtype)
{
    const fours_t *f = &own(self)->fours;
    for (size_t i = 0; i < f->store.n; i++) {
        if (f->store.at[i] != s) continue;
        str_addf(self->out, "s%zu.x[u]", i + 1);
        render_stored(self, s, dtype);
        return true;
    }
    return false;
}
