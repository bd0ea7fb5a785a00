/* Expression graphs: hash-consed nodes, constants, loads, maps with a few identities. Index
 * arithmetic is in kx_index.c. */
#include "plan/kernel/kernel.h"

#include <string.h>

#include "plan/kernel/kx_node.h"

void kx_init(kx_graph_t *self)
{
    *self = (kx_graph_t){.arena = arena_new(), .n_slot = 256};
    self->slot = mem_calloc(self->n_slot, sizeof *self->slot);
}

void kx_fini(kx_graph_t *self)
{
    arena_destroy(&self->arena);
    VEC_FREE(&self->node);
    VEC_FREE(&self->var);
    free(self->slot);
    self->slot = NULL;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h ^= x + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    return h * 0xff51afd7ed558ccdu;
}

static uint64_t node_hash(const kx_node_t *n)
{
    uint64_t bits;
    memcpy(&bits, &n->f, sizeof bits);
    uint64_t h = mix((uint64_t)n->kind, (uint64_t)n->dtype);
    h = mix(mix(mix(h, (uint64_t)n->op), (uint64_t)n->i), bits);
    for (int t = 0; t < n->n_in; t++)
        h = mix(h, (uint64_t)n->in[t] | (n->coef ? (uint64_t)n->coef[t] << 32 : 0));
    return h ^ h >> 29;
}

static bool node_equal(const kx_node_t *a, const kx_node_t *b)
{
    if (a->kind != b->kind || a->dtype != b->dtype || a->op != b->op || a->n_in != b->n_in ||
        a->i != b->i || memcmp(&a->f, &b->f, sizeof a->f) != 0)
        return false;
    for (int t = 0; t < a->n_in; t++)
        if (a->in[t] != b->in[t] || (a->coef && a->coef[t] != b->coef[t])) return false;
    return true;
}

static void grow(kx_graph_t *self)
{
    free(self->slot);
    self->n_slot *= 2;
    self->slot = mem_calloc(self->n_slot, sizeof *self->slot);
    for (uint32_t x = 0; x < self->node.n; x++) {
        size_t at = node_hash(&self->node.at[x]) & (self->n_slot - 1);
        while (self->slot[at]) at = (at + 1) & (self->n_slot - 1);
        self->slot[at] = x + 1;
    }
}

kx_t kx_intern(kx_graph_t *self, const kx_node_t *n)
{
    size_t at = node_hash(n) & (self->n_slot - 1);
    for (; self->slot[at]; at = (at + 1) & (self->n_slot - 1))
        if (node_equal(&self->node.at[self->slot[at] - 1], n)) return self->slot[at] - 1;
    kx_node_t copy = *n;
    if (n->n_in > 0) copy.in = arena_copy(self->arena, n->in, sizeof(kx_t) * (size_t)n->n_in);
    if (n->n_in > 0 && n->coef)
        copy.coef = arena_copy(self->arena, n->coef, sizeof(int64_t) * (size_t)n->n_in);
    VEC_PUSH(&self->node, copy);
    self->slot[at] = (uint32_t)self->node.n;
    if (self->node.n * 2 > self->n_slot) grow(self);
    return (kx_t)self->node.n - 1;
}

kx_t kx_var(kx_graph_t *self, int64_t extent, int *var)
{
    int number = (int)self->var.n;
    kx_var_t v = {.extent = extent, .parent = -1, .hi = -1, .lo = -1};
    if (var) *var = number;
    VEC_PUSH(&self->var, v);
    kx_t node = extent == 1 ? kx_int(self, 0)
                            : kx_intern(self, &(kx_node_t){.kind = KX_VAR,
                                                           .dtype = DT_I64,
                                                           .i = number,
                                                           .lo = 0,
                                                           .hi = extent - 1});
    self->var.at[number].node = node;
    return node;
}

kx_t kx_number(kx_graph_t *self, dtype_t dtype, double f, int64_t i)
{
    if (dtype == DT_I64) return kx_int(self, i);
    bool is_float = dtype_is_float(dtype);
    return kx_intern(self, &(kx_node_t){.kind = KX_NUMBER,
                                        .dtype = dtype,
                                        .f = is_float ? f : 0,
                                        .i = is_float ? 0 : i,
                                        .lo = is_float ? INT64_MIN : i,
                                        .hi = is_float ? INT64_MAX : i});
}

static kx_t element(kx_graph_t *self, kx_kind_t kind, int number, dtype_t dtype, kx_t index)
{
    kx_node_t n = {.kind = kind, .dtype = dtype, .i = number, .lo = INT64_MIN, .hi = INT64_MAX};
    n.n_in = index == KX_NONE ? 0 : 1;
    n.in = &index;
    if (dtype == DT_I1) n.lo = 0, n.hi = 1;
    return kx_intern(self, &n);
}

kx_t kx_load(kx_graph_t *self, int arg, dtype_t dtype, kx_t index)
{
    return element(self, KX_LOAD, arg, dtype, index);
}

kx_t kx_local(kx_graph_t *self, int array, dtype_t dtype, kx_t index)
{
    return element(self, KX_LOCAL, array, dtype, index);
}

kx_t kx_acc(kx_graph_t *self, int acc, dtype_t dtype)
{
    return element(self, KX_ACC, acc, dtype, KX_NONE);
}

kx_t kx_cell(kx_graph_t *self, int cell, dtype_t dtype)
{
    return element(self, KX_CELL, cell, dtype, KX_NONE);
}

kx_t kx_ref(kx_graph_t *self, int member, dtype_t dtype, kx_t column)
{
    return element(self, KX_REF, member, dtype, column);
}

bool kx_is_number(const kx_graph_t *self, kx_t x, double *f)
{
    const kx_node_t *n = &self->node.at[x];
    if (n->kind == KX_NUMBER)
        *f = dtype_is_float(n->dtype) ? n->f
             : n->dtype == DT_UI64    ? (double)(uint64_t)n->i
                                      : (double)n->i;
    else if (n->kind == KX_AFFINE && n->n_in == 0)
        *f = (double)n->i;
    else
        return false;
    return true;
}

/* x^p for the small integer powers that models write as power: products, as exact as libm's pow. */
static kx_t small_power(kx_graph_t *self, dtype_t dtype, const kx_t *in)
{
    double p;
    if (!dtype_is_float(dtype) || !kx_is_number(self, in[1], &p)) return KX_NONE;
    if (p == 1) return in[0];
    if (p == 2) return kx_map(self, OP_multiply, dtype, 2, (kx_t[]){in[0], in[0]});
    return KX_NONE;
}

static bool is_int(const kx_graph_t *self, kx_t x, int64_t *i)
{
    const kx_node_t *n = &self->node.at[x];
    *i = n->i;
    return n->kind == KX_AFFINE && n->n_in == 0;
}

/* i64 arithmetic on indices stays index arithmetic, so that masks and positions fold. */
static kx_t index_map(kx_graph_t *self, op_code_t op, const kx_t *in)
{
    if (!kx_is_known(self, in[0]) || !kx_is_known(self, in[1])) return KX_NONE;
    int64_t i;
    if (op == OP_add) return kx_add(self, in[0], in[1]);
    if (op == OP_subtract) return kx_sub(self, in[0], in[1]);
    if (op == OP_multiply && is_int(self, in[1], &i)) return kx_scale(self, in[0], i);
    if (op == OP_multiply && is_int(self, in[0], &i)) return kx_scale(self, in[1], i);
    return KX_NONE;
}

/* Bounds on an i64 that its range keeps already are no bounds: which operand remains, or KX_NONE.
 * */
static kx_t within_bounds(const kx_graph_t *self, op_code_t op, int n_in, const kx_t *in)
{
    for (int i = 0; i < n_in; i++)
        if (!kx_is_known(self, in[i]) && !(op == OP_clamp && i == 1)) return KX_NONE;
    const kx_node_t *a = &self->node.at[in[0]], *b = &self->node.at[in[1]];
    if (op == OP_clamp && b->lo >= a->hi && b->hi <= self->node.at[in[2]].lo) return in[1];
    if (op == OP_maximum && a->lo >= b->hi) return in[0];
    if (op == OP_maximum && b->lo >= a->hi) return in[1];
    if (op == OP_minimum && a->hi <= b->lo) return in[0];
    if (op == OP_minimum && b->hi <= a->lo) return in[1];
    return KX_NONE;
}

static int64_t clamped(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* clamp(lo, x, hi) between constants has a known range. */
static void clamp_range(const kx_graph_t *self, kx_node_t *n)
{
    const kx_node_t *lo = &self->node.at[n->in[0]], *x = &self->node.at[n->in[1]];
    const kx_node_t *hi = &self->node.at[n->in[2]];
    if (lo->lo == lo->hi && hi->lo == hi->hi && lo->lo <= hi->hi) {
        n->lo = clamped(x->lo, lo->lo, hi->lo);
        n->hi = clamped(x->hi, lo->lo, hi->lo);
    }
}

kx_t kx_map(kx_graph_t *self, op_code_t op, dtype_t dtype, int n_in, const kx_t *in)
{
    kx_t simple = KX_NONE;
    if (op == OP_power) simple = small_power(self, dtype, in);
    if (dtype == DT_I64 && n_in == 2) simple = index_map(self, op, in);
    if (dtype == DT_I1 && op == OP_and) return kx_and(self, in[0], in[1]);
    if (dtype == DT_I64 && simple == KX_NONE && n_in >= 2)
        simple = within_bounds(self, op, n_in, in);
    if (simple != KX_NONE) return simple;
    kx_node_t n = {.kind = KX_MAP,
                   .dtype = dtype,
                   .op = op,
                   .n_in = n_in,
                   .in = (kx_t *)in,
                   .lo = dtype == DT_I1 ? 0 : INT64_MIN,
                   .hi = dtype == DT_I1 ? 1 : INT64_MAX};
    if (op == OP_clamp && dtype == DT_I64) clamp_range(self, &n);
    if (n.lo == n.hi && dtype == DT_I64) return kx_int(self, n.lo);
    return kx_intern(self, &n);
}

/* A number to compare as a double: integers beyond 2^53 are none. */
static bool is_exact(const kx_graph_t *self, kx_t x, double *f)
{
    bool is_float = dtype_is_float(self->node.at[x].dtype);
    return kx_is_number(self, x, f) && (is_float || (*f > -0x1p53 && *f < 0x1p53));
}

static bool is_true(kx_compare_t direction, double a, double b)
{
    switch (direction) {
    case CMP_EQ: return a == b;
    case CMP_NE: return a != b;
    case CMP_LT: return a < b;
    case CMP_LE: return a <= b;
    case CMP_GT: return a > b;
    default: return a >= b;
    }
}

/* compare(select(p, 1, 0), 0): masks that exports turn into numbers and back are p or its negation.
 * */
static kx_t compare_masked(kx_graph_t *self, kx_compare_t direction, kx_t a, kx_t b)
{
    const kx_node_t *s = &self->node.at[a];
    double when, otherwise, to;
    if (s->kind != KX_SELECT || !is_exact(self, s->in[1], &when) ||
        !is_exact(self, s->in[2], &otherwise) || !is_exact(self, b, &to))
        return KX_NONE;
    bool yes = is_true(direction, when, to), no = is_true(direction, otherwise, to);
    kx_t p = s->in[0];
    if (yes == no) return kx_number(self, DT_I1, 0, yes);
    return yes ? p : kx_not(self, p);
}

/* The i64 node behind a conversion that changed no value. */
static kx_t index_behind(const kx_graph_t *self, kx_t a)
{
    const kx_node_t *n = &self->node.at[a];
    if (n->kind == KX_CONVERT && kx_is_known(self, a) && dtype_is_int(n->dtype)) return n->in[0];
    return n->dtype == DT_I64 && kx_is_known(self, a) ? a : KX_NONE;
}

kx_t kx_compare(kx_graph_t *self, kx_compare_t direction, kx_t a, kx_t b)
{
    double fa, fb;
    if (is_exact(self, a, &fa) && is_exact(self, b, &fb))
        return kx_number(self, DT_I1, 0, is_true(direction, fa, fb));
    kx_t x = index_behind(self, a), y = index_behind(self, b);
    if (x != KX_NONE && y != KX_NONE && direction >= CMP_LT) {
        kx_t d = direction <= CMP_LE ? kx_sub(self, y, x) : kx_sub(self, x, y);
        return kx_ge0(self, direction == CMP_LT || direction == CMP_GT ? kx_addi(self, d, -1) : d);
    }
    kx_t masked = compare_masked(self, direction, a, b);
    if (masked != KX_NONE) return masked;
    return kx_intern(self, &(kx_node_t){.kind = KX_MAP,
                                        .dtype = DT_I1,
                                        .op = OP_compare,
                                        .n_in = 2,
                                        .in = (kx_t[]){a, b},
                                        .i = direction,
                                        .lo = 0,
                                        .hi = 1});
}

/* Can `dtype` hold all of [lo, hi]? */
static bool holds(dtype_t dtype, int64_t lo, int64_t hi)
{
    int bits = dtype_bits(dtype) - (dtype_is_signed(dtype) ? 1 : 0);
    if (bits >= 63) return dtype_is_signed(dtype) || lo >= 0;
    int64_t top = ((int64_t)1 << bits) - 1;
    return hi <= top && lo >= (dtype_is_signed(dtype) ? -top - 1 : 0);
}

kx_t kx_convert(kx_graph_t *self, kx_t a, dtype_t to)
{
    const kx_node_t *n = &self->node.at[a];
    double f;
    if (n->dtype == to) return a;
    bool fits = dtype_is_int(to) && kx_is_known(self, a) && holds(to, n->lo, n->hi);
    if (to == DT_I64 && fits && n->kind == KX_CONVERT && self->node.at[n->in[0]].dtype == DT_I64)
        return n->in[0];
    if (fits && n->lo == n->hi) return kx_number(self, to, 0, n->lo);
    if (to == DT_F64 && kx_is_number(self, a, &f)) return kx_number(self, to, f, 0);
    if (to == DT_F32 && kx_is_number(self, a, &f) && (double)(float)f == f)
        return kx_number(self, to, f, 0);
    return kx_intern(self, &(kx_node_t){.kind = KX_CONVERT,
                                        .dtype = to,
                                        .n_in = 1,
                                        .in = &a,
                                        .lo = fits ? n->lo : INT64_MIN,
                                        .hi = fits ? n->hi : INT64_MAX});
}

static kx_t one_operand(kx_graph_t *self, kx_kind_t kind, dtype_t dtype, kx_t a, int64_t i)
{
    return kx_intern(self, &(kx_node_t){.kind = kind,
                                        .dtype = dtype,
                                        .n_in = 1,
                                        .in = &a,
                                        .i = i,
                                        .lo = INT64_MIN,
                                        .hi = INT64_MAX});
}

kx_t kx_key(kx_graph_t *self, kx_t a)
{
    dtype_t key = self->node.at[a].dtype == DT_F64 ? DT_I64 : DT_I32;
    return one_operand(self, KX_KEY, key, a, 0);
}

kx_t kx_round(kx_graph_t *self, kx_t a, int exponent_bits, int mantissa_bits)
{
    return one_operand(self, KX_ROUND, DT_F64, a, exponent_bits * 64 + mantissa_bits);
}

kx_t kx_select(kx_graph_t *self, kx_t p, kx_t a, kx_t b)
{
    double f;
    if (a == b) return a;
    if (kx_is_number(self, p, &f)) return f != 0 ? a : b;
    const kx_node_t *x = &self->node.at[a], *y = &self->node.at[b];
    kx_node_t n = {.kind = KX_SELECT, .dtype = x->dtype, .n_in = 3, .in = (kx_t[]){p, a, b}};
    n.lo = x->lo < y->lo ? x->lo : y->lo;
    n.hi = x->hi > y->hi ? x->hi : y->hi;
    return kx_intern(self, &n);
}
