/* Index arithmetic: sums of coefficient * term with known ranges. Division splits loop variables
 * where that makes it exact, and the two parts of a variable merge again when they meet in
 * proportion. */
#include <string.h>

#include "plan/kernel/kx_node.h"

enum { MAX_TERMS = 24 };
#define FAR ((int64_t)1 << 60) /* ranges beyond are unknown */

/* A sum under construction. */
typedef struct {
    int n;
    kx_t x[MAX_TERMS];
    int64_t coef[MAX_TERMS];
    int64_t c;
} sum_t;

bool kx_is_known(const kx_graph_t *self, kx_t x)
{
    const kx_node_t *n = &self->node.at[x];
    return !dtype_is_float(n->dtype) && n->lo > -FAR && n->hi < FAR;
}

kx_t kx_int(kx_graph_t *self, int64_t i)
{
    return kx_intern(self,
                     &(kx_node_t){.kind = KX_AFFINE, .dtype = DT_I64, .i = i, .lo = i, .hi = i});
}

static void sum_term(sum_t *s, kx_t x, int64_t coef)
{
    int at = 0;
    while (at < s->n && s->x[at] < x) at++;
    if (at < s->n && s->x[at] == x) {
        s->coef[at] += coef;
    } else {
        for (int t = s->n++; t > at; t--) s->x[t] = s->x[t - 1], s->coef[t] = s->coef[t - 1];
        s->x[at] = x;
        s->coef[at] = coef;
    }
    if (s->coef[at] == 0) {
        s->n--;
        memmove(&s->x[at], &s->x[at + 1], sizeof(kx_t) * (size_t)(s->n - at));
        memmove(&s->coef[at], &s->coef[at + 1], sizeof(int64_t) * (size_t)(s->n - at));
    }
}

static int64_t clip(__int128 x)
{
    return x >= FAR ? INT64_MAX : x <= -FAR ? INT64_MIN : (int64_t)x;
}

static void sum_range(const kx_graph_t *g, const sum_t *s, int64_t *lo, int64_t *hi)
{
    __int128 low = s->c, high = s->c;
    for (int t = 0; t < s->n; t++) {
        const kx_node_t *n = &g->node.at[s->x[t]];
        int64_t a = n->lo <= -FAR ? -FAR : n->lo, b = n->hi >= FAR ? FAR : n->hi;
        low += (__int128)s->coef[t] * (s->coef[t] > 0 ? a : b);
        high += (__int128)s->coef[t] * (s->coef[t] > 0 ? b : a);
    }
    *lo = clip(low);
    *hi = clip(high);
}

static int term_of(const sum_t *s, kx_t x)
{
    for (int t = 0; t < s->n; t++)
        if (s->x[t] == x) return t;
    return -1;
}

/* hi * (k * extent(lo)) + lo * k becomes parent * k, until nothing merges. */
static void merge_parts(const kx_graph_t *g, sum_t *s)
{
    for (int t = 0; t < s->n; t++) {
        const kx_node_t *n = &g->node.at[s->x[t]];
        if (n->kind != KX_VAR || g->var.at[n->i].parent < 0) continue;
        const kx_var_t *parent = &g->var.at[g->var.at[n->i].parent];
        if (parent->lo != n->i) continue;
        int h = term_of(s, g->var.at[parent->hi].node);
        int64_t k = s->coef[t];
        if (h < 0 || s->coef[h] != k * g->var.at[n->i].extent) continue;
        kx_t hi = s->x[h], lo = s->x[t];
        sum_term(s, hi, -s->coef[h]);
        sum_term(s, lo, -k);
        sum_term(s, parent->node, k);
        t = -1;
    }
}

static kx_t sum_node(kx_graph_t *g, sum_t *s)
{
    merge_parts(g, s);
    if (s->n == 1 && s->coef[0] == 1 && s->c == 0) return s->x[0];
    kx_node_t n = {
        .kind = KX_AFFINE, .dtype = DT_I64, .n_in = s->n, .in = s->x, .coef = s->coef, .i = s->c};
    sum_range(g, s, &n.lo, &n.hi);
    return kx_intern(g, &n);
}

/* s += k * a. A sum that would grow too long takes a as one term. */
static void sum_add(const kx_graph_t *g, sum_t *s, kx_t a, int64_t k)
{
    const kx_node_t *n = &g->node.at[a];
    if (n->kind != KX_AFFINE || n->n_in + s->n >= MAX_TERMS) {
        sum_term(s, a, k);
        return;
    }
    s->c += k * n->i;
    for (int t = 0; t < n->n_in; t++) sum_term(s, n->in[t], k * n->coef[t]);
}

static kx_t combine(kx_graph_t *self, kx_t a, int64_t ka, kx_t b, int64_t kb)
{
    sum_t s = {0};
    sum_add(self, &s, a, ka);
    sum_add(self, &s, b, kb);
    return sum_node(self, &s);
}

kx_t kx_add(kx_graph_t *self, kx_t a, kx_t b)
{
    return combine(self, a, 1, b, 1);
}

kx_t kx_sub(kx_graph_t *self, kx_t a, kx_t b)
{
    return combine(self, a, 1, b, -1);
}

kx_t kx_addi(kx_graph_t *self, kx_t a, int64_t i)
{
    return combine(self, a, 1, kx_int(self, i), 1);
}

kx_t kx_scale(kx_graph_t *self, kx_t a, int64_t k)
{
    sum_t s = {0};
    if (k != 0) sum_add(self, &s, a, k);
    return sum_node(self, &s);
}

static int64_t floor_div(int64_t a, int64_t d)
{
    return a / d - (a % d < 0);
}

/* Give v two parts, lo of extent `at`. */
static void split(kx_graph_t *g, int v, int64_t at)
{
    int hi, lo;
    kx_var(g, g->var.at[v].extent / at, &hi);
    kx_var(g, at, &lo);
    g->var.at[v].hi = hi;
    g->var.at[v].lo = lo;
    g->var.at[hi].parent = g->var.at[lo].parent = v;
}

/* Exchange one variable of `rest` for its parts where that helps to divide by d. */
static bool expand(kx_graph_t *g, sum_t *rest, int64_t d)
{
    for (int t = 0; t < rest->n; t++) {
        const kx_node_t *n = &g->node.at[rest->x[t]];
        int64_t a = rest->coef[t];
        if (n->kind != KX_VAR || a <= 0 || a >= d || rest->n + 2 >= MAX_TERMS) continue;
        int v = (int)n->i;
        int64_t at = d % a == 0 ? d / a : 0, extent = g->var.at[v].extent;
        if (g->var.at[v].hi < 0 && at > 1 && at < extent && extent % at == 0) split(g, v, at);
        if (g->var.at[v].hi < 0) continue;
        kx_t hi = g->var.at[g->var.at[v].hi].node, lo = g->var.at[g->var.at[v].lo].node;
        int64_t step = a * g->var.at[g->var.at[v].lo].extent;
        sum_term(rest, g->var.at[v].node, -a);
        sum_add(g, rest, hi, step);
        sum_add(g, rest, lo, a);
        return true;
    }
    return false;
}

/* a = d * quotient + rest with rest in [0, d); false when that needs a real division of rest. */
static bool divide(kx_graph_t *g, kx_t a, int64_t d, sum_t *quotient, sum_t *rest)
{
    sum_t all = {0};
    sum_add(g, &all, a, 1);
    *quotient = (sum_t){0};
    *rest = (sum_t){0};
    for (;;) {
        for (int t = 0; t < all.n; t++) {
            int64_t k = all.coef[t];
            if (k % d == 0)
                sum_add(g, quotient, all.x[t], k / d);
            else
                sum_term(rest, all.x[t], k);
        }
        quotient->c += floor_div(all.c, d);
        rest->c += all.c - d * floor_div(all.c, d);
        int64_t lo, hi;
        sum_range(g, rest, &lo, &hi);
        bool known = lo > -FAR && hi < FAR;
        if (known && floor_div(lo, d) == floor_div(hi, d)) {
            quotient->c += floor_div(lo, d);
            rest->c -= d * floor_div(lo, d);
            return true;
        }
        if (!expand(g, rest, d)) return false;
        all = *rest;
        *rest = (sum_t){0};
    }
}

static kx_t quotient_node(kx_graph_t *g, kx_kind_t kind, kx_t a, int64_t d)
{
    const kx_node_t *n = &g->node.at[a];
    int64_t top = n->hi < FAR ? n->hi : INT64_MAX;
    kx_node_t q = {.kind = kind, .dtype = DT_I64, .n_in = 1, .in = &a, .i = d};
    q.hi = kind == KX_MOD ? d - 1 : top == INT64_MAX ? INT64_MAX : top / d;
    return kx_intern(g, &q);
}

kx_t kx_div(kx_graph_t *self, kx_t a, int64_t d)
{
    sum_t quotient, rest;
    if (d == 1) return a;
    if (divide(self, a, d, &quotient, &rest)) return sum_node(self, &quotient);
    kx_t r = sum_node(self, &rest);
    if (self->node.at[r].lo < 0) return quotient_node(self, KX_DIV, a, d);
    kx_t q = quotient_node(self, KX_DIV, r, d);
    sum_add(self, &quotient, q, 1);
    return sum_node(self, &quotient);
}

kx_t kx_mod(kx_graph_t *self, kx_t a, int64_t d)
{
    sum_t quotient, rest;
    if (d == 1) return kx_int(self, 0);
    bool exact = divide(self, a, d, &quotient, &rest);
    kx_t r = sum_node(self, &rest);
    if (exact) return r;
    return quotient_node(self, KX_MOD, self->node.at[r].lo < 0 ? a : r, d);
}

kx_t kx_not(kx_graph_t *self, kx_t p)
{
    const kx_node_t *n = &self->node.at[p];
    if (n->kind == KX_NUMBER) return kx_number(self, DT_I1, 0, !n->i);
    if (n->kind == KX_GE0) return kx_ge0(self, kx_addi(self, kx_scale(self, n->in[0], -1), -1));
    return kx_intern(
        self,
        &(kx_node_t){
            .kind = KX_MAP, .dtype = DT_I1, .op = OP_not, .n_in = 1, .in = &p, .lo = 0, .hi = 1});
}

kx_t kx_ge0(kx_graph_t *self, kx_t a)
{
    const kx_node_t *n = &self->node.at[a];
    if (kx_is_known(self, a) && (n->lo >= 0 || n->hi < 0))
        return kx_number(self, DT_I1, 0, n->lo >= 0);
    return kx_intern(
        self, &(kx_node_t){.kind = KX_GE0, .dtype = DT_I1, .n_in = 1, .in = &a, .lo = 0, .hi = 1});
}

kx_t kx_and(kx_graph_t *self, kx_t p, kx_t q)
{
    double f;
    if (p == q) return p;
    if (kx_is_number(self, p, &f)) return f != 0 ? q : p;
    if (kx_is_number(self, q, &f)) return f != 0 ? p : q;
    return kx_intern(self, &(kx_node_t){.kind = KX_MAP,
                                        .dtype = DT_I1,
                                        .op = OP_and,
                                        .n_in = 2,
                                        .in = (kx_t[]){p < q ? p : q, p < q ? q : p},
                                        .lo = 0,
                                        .hi = 1});
}

kx_t kx_within(kx_graph_t *self, kx_t a, int64_t lo, int64_t hi)
{
    kx_t above = kx_ge0(self, kx_addi(self, a, -lo));
    return kx_and(self, above, kx_ge0(self, kx_addi(self, kx_scale(self, a, -1), hi - 1)));
}

int64_t kx_coef(const kx_graph_t *self, kx_t a, kx_t term)
{
    const kx_node_t *n = &self->node.at[a];
    if (a == term) return 1;
    for (int t = 0; n->kind == KX_AFFINE && t < n->n_in; t++)
        if (n->in[t] == term) return n->coef[t];
    return 0;
}

kx_t kx_linear(kx_graph_t *self, int rank, const int64_t *dim, const kx_t *index)
{
    kx_t at = kx_int(self, 0);
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; stride *= dim[d--])
        if (dim[d] > 1) at = kx_add(self, at, kx_scale(self, index[d], stride));
    return at;
}

void kx_unlinear(kx_graph_t *self, kx_t linear, int rank, const int64_t *dim, kx_t *index)
{
    int64_t stride = 1;
    int outer = 0;
    while (outer < rank && dim[outer] <= 1) outer++;
    for (int d = rank - 1; d >= 0; stride *= dim[d--]) {
        if (dim[d] <= 1)
            index[d] = kx_int(self, 0);
        else if (d == outer)
            index[d] = kx_div(self, linear, stride);
        else
            index[d] = kx_mod(self, kx_div(self, linear, stride), dim[d]);
    }
}
