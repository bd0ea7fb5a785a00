/* Locality by interval arithmetic: the indices of every load and store of a kernel, for each strip.
 */
#include "plan/schedule/strips.h"

#include "plan/kernel/kx_node.h"
#include "plan/lower/attention.h"
#include "plan/schedule/steps.h"

typedef struct {
    int64_t lo, hi; /* inclusive */
} span_t;

static const span_t anything = {INT64_MIN / 4, INT64_MAX / 4};

static bool is_known(span_t s)
{
    return s.lo > anything.lo && s.hi < anything.hi;
}

/* --- Kernels of the loop-IR ------------------------------------------------------------------- */

typedef struct {
    const kernel_t *kernel;
    VEC(span_t) var;    /* by variable, where set */
    VEC(bool) set;      /* by variable: inside a loop over it */
    VEC(unsigned) seen; /* by node: the last walk that met it */
    unsigned walk;
    VEC(span_t) touched; /* by argument */
} probe_t;

static span_t node_span(probe_t *p, kx_t x);

static bool set_below(const probe_t *p, int v)
{
    const kx_var_t *x = &p->kernel->graph.var.at[v];
    return x->hi >= 0 &&
           (p->set.at[x->hi] || p->set.at[x->lo] || set_below(p, x->hi) || set_below(p, x->lo));
}

/* A part of a variable whose span is known. */
static span_t part_span(const probe_t *p, int v, span_t whole)
{
    const kx_var_t *x = &p->kernel->graph.var.at[v];
    const kx_var_t *parent = &p->kernel->graph.var.at[x->parent];
    int64_t n = p->kernel->graph.var.at[parent->lo].extent;
    if (parent->hi == v) return (span_t){whole.lo / n, whole.hi / n};
    if (whole.lo / n == whole.hi / n) return (span_t){whole.lo % n, whole.hi % n};
    return (span_t){0, n - 1};
}

static span_t var_span(const probe_t *p, int v)
{
    const kx_var_t *x = &p->kernel->graph.var.at[v];
    if (x->extent == 1) return (span_t){0, 0};
    if (p->set.at[v]) return p->var.at[v];
    if (set_below(p, v)) {
        span_t hi = var_span(p, x->hi), lo = var_span(p, x->lo);
        int64_t n = p->kernel->graph.var.at[x->lo].extent;
        return (span_t){hi.lo * n + lo.lo, hi.hi * n + lo.hi};
    }
    int at = x->parent;
    while (at >= 0 && !p->set.at[at]) at = p->kernel->graph.var.at[at].parent;
    if (at < 0) return (span_t){0, x->extent - 1};
    return part_span(p, v, x->parent == at ? p->var.at[at] : var_span(p, x->parent));
}

static span_t affine_span(probe_t *p, const kx_node_t *n)
{
    span_t sum = {n->i, n->i};
    for (int t = 0; t < n->n_in; t++) {
        span_t x = node_span(p, n->in[t]);
        int64_t a, b;
        if (!is_known(x) || !i64_mul(x.lo, n->coef[t], &a) || !i64_mul(x.hi, n->coef[t], &b))
            return anything;
        sum.lo += a < b ? a : b;
        sum.hi += a < b ? b : a;
        if (!is_known(sum)) return anything;
    }
    return sum;
}

static span_t compute_span(probe_t *p, const kx_node_t *n)
{
    span_t own = {n->lo, n->hi}, a, b;
    switch (n->kind) {
    case KX_NUMBER: return (span_t){n->i, n->i};
    case KX_VAR: return var_span(p, (int)n->i);
    case KX_AFFINE: return affine_span(p, n);
    case KX_DIV:
    case KX_MOD:
        a = node_span(p, n->in[0]);
        if (!is_known(a) || a.lo < 0) break;
        if (n->kind == KX_DIV) return (span_t){a.lo / n->i, a.hi / n->i};
        if (a.lo / n->i == a.hi / n->i) return (span_t){a.lo % n->i, a.hi % n->i};
        return (span_t){0, n->i - 1};
    case KX_MAP:
        if (n->op != OP_minimum && n->op != OP_maximum) break;
        a = node_span(p, n->in[0]);
        b = node_span(p, n->in[1]);
        if (n->op == OP_minimum)
            return (span_t){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
        return (span_t){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    default: break;
    }
    return is_known(own) ? own : anything;
}

/* Of an index, inside the loops that are set. */
static span_t node_span(probe_t *p, kx_t x)
{
    const kx_node_t *n = &p->kernel->graph.node.at[x];
    if (n->dtype != DT_I64) return anything;
    return compute_span(p, n);
}

static void touch(probe_t *p, int arg, kx_t index)
{
    span_t at = node_span(p, index), *all = &p->touched.at[arg];
    if (at.lo < all->lo) all->lo = at.lo;
    if (at.hi > all->hi) all->hi = at.hi;
}

static void visit(probe_t *p, kx_t x)
{
    const kx_node_t *n = &p->kernel->graph.node.at[x];
    if (p->seen.at[x] == p->walk) return;
    p->seen.at[x] = p->walk;
    if (n->kind == KX_LOAD) touch(p, (int)n->i, n->in[0]);
    for (int t = 0; t < n->n_in; t++) visit(p, n->in[t]);
}

static void probe_block(probe_t *p, const kblock_t *block, span_t outermost)
{
    p->walk++;
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        const kx_t need[] = {s->lo, s->hi, s->index, s->value};
        for (int k = 0; k < 4; k++)
            if (need[k] != KX_NONE) visit(p, need[k]);
        if (s->kind == KS_STORE) touch(p, s->target, s->index);
    }
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        if (s->kind != KS_FOR) continue;
        span_t range = outermost;
        if (s->lo != KX_NONE) range = (span_t){node_span(p, s->lo).lo, node_span(p, s->hi).hi - 1};
        p->var.at[s->var] = range;
        p->set.at[s->var] = true;
        probe_block(p, &s->body, outermost);
        p->set.at[s->var] = false;
    }
}

static bool lies_in(span_t at, int64_t count, int64_t strips, int64_t strip)
{
    int64_t block = count / strips;
    if (at.lo > at.hi) return true; /* nothing */
    return count % strips == 0 && at.lo >= strip * block && at.hi < (strip + 1) * block;
}

static int64_t count_of(const lower_t *self, ir_val_t v)
{
    return ir_type_count(ir_type_of(self->fn, v));
}

static void probe_init(probe_t *p, const kernel_t *k)
{
    *p = (probe_t){.kernel = k};
    for (size_t v = 0; v < k->graph.var.n; v++) {
        VEC_PUSH(&p->var, anything);
        VEC_PUSH(&p->set, false);
    }
    for (size_t x = 0; x < k->graph.node.n; x++) VEC_PUSH(&p->seen, 0);
    for (size_t a = 0; a < k->arg.n; a++) VEC_PUSH(&p->touched, anything);
}

static void probe_fini(probe_t *p)
{
    VEC_FREE(&p->var);
    VEC_FREE(&p->set);
    VEC_FREE(&p->seen);
    VEC_FREE(&p->touched);
}

/* Arguments of one value come one after another in to[]; each value is there once. */
static touch_t *touch_of(touches_t *to, ir_val_t v)
{
    for (size_t i = 0; i < to->n; i++)
        if (to->at[i].value == v) return &to->at[i];
    VEC_PUSH(to, ((touch_t){v, false, true, false}));
    return &to->at[to->n - 1];
}

static bool kernel_touch(const lower_t *self, const kernel_t *k, int64_t strips, touches_t *to)
{
    for (size_t a = 0; a < k->arg.n; a++) {
        touch_t *t = touch_of(to, k->arg.at[a].value);
        t->written = t->written || k->arg.at[a].written;
        t->local = false;
    }
    if (strips == 0 || !kernel_is_group(k) || k->extent % strips || k->extent < 1) return false;
    probe_t p;
    probe_init(&p, k);
    for (size_t i = 0; i < to->n; i++) to->at[i].local = true;
    for (int64_t strip = 0; strip < strips; strip++) {
        int64_t n = k->extent / strips;
        for (size_t a = 0; a < k->arg.n; a++) p.touched.at[a] = (span_t){INT64_MAX, INT64_MIN};
        probe_block(&p, &k->body, (span_t){strip * n, strip * n + n - 1});
        for (size_t a = 0; a < k->arg.n; a++) {
            ir_val_t v = k->arg.at[a].value;
            span_t at = p.touched.at[a];
            if (at.lo <= at.hi) at.lo += k->arg.at[a].at, at.hi += k->arg.at[a].at;
            if (!lies_in(at, count_of(self, v), strips, strip)) touch_of(to, v)->local = false;
        }
    }
    probe_fini(&p);
    return true;
}

/* --- Products and attention ------------------------------------------------------------------- */

/* Matrices o * n_inner + i at offset + o * outer + i * inner, of `reach` elements each. */
typedef struct {
    int64_t offset, n_inner, outer, inner, reach;
} entries_t;

static span_t entries_span(const entries_t *x, int64_t first, int64_t last)
{
    int64_t o0 = first / x->n_inner, o1 = last / x->n_inner;
    int64_t i0 = o0 == o1 ? first % x->n_inner : 0;
    int64_t i1 = o0 == o1 ? last % x->n_inner : x->n_inner - 1;
    return (span_t){x->offset + o0 * x->outer + i0 * x->inner,
                    x->offset + o1 * x->outer + i1 * x->inner + x->reach - 1};
}

static void touch_entries(const lower_t *self, const entries_t *x, int64_t n, int64_t strips,
                          touch_t *to)
{
    for (int64_t strip = 0; strip < strips; strip++) {
        span_t at = entries_span(x, n / strips * strip, n / strips * (strip + 1) - 1);
        if (!lies_in(at, count_of(self, to->value), strips, strip)) to->local = false;
    }
}

static bool attention_touch(const lower_t *self, const kernel_t *k, int64_t strips, touches_t *to)
{
    const attention_t *a = k->attention;
    bool divides = strips > 0 && k->extent % strips == 0;
    for (int i = 0; i < a->n_view; i++) {
        const attention_view_t *view = &a->view[i];
        const karg_t *arg = &k->arg.at[view->arg];
        const ir_val_t v = i < k->op->n_in ? k->op->in[i]
                                           : k->op->out + (ir_val_t)(i - k->op->n_in);
        const ir_type_t *type = ir_type_of(self->fn, v);
        touch_t *t = touch_of(to, arg->value);
        t->written = t->written || arg->written;
        t->local = t->local && divides;
        if (!divides) continue;
        int64_t cols = type->rank > 2 ? type->dim[2] : 1;
        entries_t x = {view->offset, view->n_inner, view->outer, view->inner,
                       (type->dim[1] - 1) * view->row + cols};
        touch_entries(self, &x, k->extent, strips, t);
    }
    return divides;
}

static void touch_matrix(const lower_t *self, ir_val_t v, bool written, bool local,
                         const entries_t *x, int64_t n, int64_t strips, touches_t *to)
{
    touch_t *t = touch_of(to, v);
    t->written = t->written || written;
    t->local = t->local && local;
    if (local) touch_entries(self, x, n, strips, t);
}

/* One product is cut into rows of C, which are rows of A; many into whole ones. */
static bool product_touch(const lower_t *self, const lstep_t *s, int64_t strips, touches_t *to)
{
    const plan_gemm_step_t *g = &s->gemm;
    int64_t entries = g->batch * g->inner, n = entries > 1 ? entries : g->m;
    bool divides = strips > 0 && n % strips == 0 && g->m > 0 && g->n > 0 && g->k > 0,
         one = entries == 1;
    int64_t a_rows = g->trans_a ? g->k : g->m, a_cols = g->trans_a ? g->m : g->k;
    int64_t b_rows = g->trans_b ? g->n : g->k, b_cols = g->trans_b ? g->k : g->n;
    entries_t a = {g->a, g->inner, g->stride_a, g->inner_a, (a_rows - 1) * g->lda + a_cols};
    entries_t b = {g->b, g->inner, g->stride_b, g->inner_b, (b_rows - 1) * g->ldb + b_cols};
    entries_t c = {g->c, g->inner, g->stride_c, g->inner_c, (g->m - 1) * g->ldc + g->n};
    if (one) { /* rows as matrices */
        a = (entries_t){g->a, 1, g->lda, 0, g->k};
        c = (entries_t){g->c, 1, g->ldc, 0, g->n};
    }
    touch_matrix(self, s->value, true, divides, &c, n, strips, to);
    touch_matrix(self, s->lhs, false, divides && !(one && g->trans_a), &a, n, strips, to);
    touch_matrix(self, s->rhs, false, divides && !one, &b, n, strips, to);
    return divides;
}

/* Steps that other passes have moved within their kernel's work, or given other operands. */
static bool is_changed(const lstep_t *step)
{
    return step->arg || step->shift || step->extent > 0;
}

static void any_touch(const lower_t *self, const lstep_t *step, touches_t *to)
{
    for (int i = 0; i < steps_n_use(self, step); i++) {
        step_use_t use = steps_use(self, step, i);
        touch_t *t = touch_of(to, use.part);
        t->written = t->written || use.written;
        t->local = false;
    }
}

static bool touch_all(const lower_t *self, const lstep_t *step, int64_t strips, touches_t *to)
{
    if (strips == 0 || step->kind != LOWER_GROUP || is_changed(step)) {
        bool product = strips > 0 && step->kind == LOWER_GEMM;
        if (!product) any_touch(self, step, to);
        return product && product_touch(self, step, strips, to);
    }
    const kernel_t *k = self->group.at[step->group]->kernel;
    bool kept = k->kind == KERNEL_ATTENTION && k->attention->kept;
    if (k->kind == KERNEL_ATTENTION && !kept) return attention_touch(self, k, strips, to);
    if (k->kind == KERNEL_STREAM || k->kind == KERNEL_LINES || k->kind == KERNEL_WEAVE || kept) {
        any_touch(self, step, to);
        return false;
    }
    return kernel_touch(self, k, strips, to);
}

bool strips_touch(const lower_t *self, const lstep_t *step, int64_t strips, touches_t *to)
{
    to->n = 0;
    bool divides = touch_all(self, step, strips, to);
    for (size_t i = 0, n = to->n; i < n; i++) {
        const touch_t t = to->at[i];
        const lvalue_t *lv = &self->value[t.value];
        if (lv->whole) VEC_PUSH(to, ((touch_t){lv->whole, t.written, false, true}));
        if (!t.written || lv->over == IR_NONE) continue;
        touch_t *over = touch_of(to, lv->over);
        over->written = true;
        over->local = false;
    }
    return divides;
}
