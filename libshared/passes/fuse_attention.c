/* Attention, however it is spelled: the product with v is the end of the pattern; from there back
 * through the softmax, masks that do not depend on data, scales and views to the product of q and
 * k. Groups are formed where positions are all seen or causally so. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/fused.h"
#include "passes/fuse.h"

/* Added to or put in the place of a score, this hides the position: e^x is 0 beside any score that
 * f32 softmax could tell from it. Half precision models use -65504. */
static const double HIDDEN = -60000;

typedef struct {
    const ir_fn_t *fn;
    const uint32_t *uses;
    double scale;
    int64_t t, s;  /* rows of q, rows of k */
    uint8_t *seen; /* [t, s]; NULL: all */
    const ir_op_t *qk;
    int q_side; /* operand of qk */
} match_t;

/* --- Masks ------------------------------------------------------------------------------------ */

/* Behind broadcasts and reshapes that only repeat whole [t, s] masks. */
static ir_val_t one_mask(const match_t *m, ir_val_t v)
{
    for (const ir_op_t *op; (op = ir_def(m->fn, v)) && op->n_in == 1; v = op->in[0]) {
        const ir_type_t *from = ir_type_of(m->fn, op->in[0]), *to = ir_type_of(m->fn, v);
        int n, r = from->rank;
        if (r < 2 || from->dim[r - 1] != m->s || from->dim[r - 2] != m->t) break;
        if (op->code == OP_reshape && to->dim[to->rank - 1] == m->s &&
            to->dim[to->rank - 2] == m->t)
            continue;
        const int64_t *dims = attr_ints(&op->attrs, "broadcast_dimensions", &n);
        if (op->code != OP_broadcast_in_dim || n != r || dims[r - 1] != to->rank - 1 ||
            dims[r - 2] != to->rank - 2)
            break;
    }
    return v;
}

/* Element i of a mask or of a bias, as seen or hidden; -1: neither. */
static int seen_at(const tensor_t *mask, int64_t i, bool hides_where)
{
    if (mask->type.dtype == DT_I1) return (tensor_get_i64(mask, i) != 0) != hides_where;
    double x = tensor_get_f64(mask, i);
    return x == 0 ? 1 : x <= HIDDEN ? 0 : -1;
}

/* Fold in a mask that is the same for all entries of the batch. */
static bool add_mask(match_t *m, ir_val_t v, bool hides_where)
{
    tensor_t mask;
    v = one_mask(m, v);
    const ir_type_t *t = ir_type_of(m->fn, v);
    int64_t one = m->t * m->s, n = ir_type_count(t);
    if (t->rank < 2 || t->dim[t->rank - 1] != m->s || t->dim[t->rank - 2] != m->t) return false;
    if (fuse_evaluate(m->fn, v, &mask) < 0) return false;
    if (!m->seen) {
        m->seen = mem_calloc((size_t)one, 1);
        memset(m->seen, 1, (size_t)one);
    }
    bool fine = true;
    for (int64_t i = 0; i < n && fine; i++) {
        int seen = seen_at(&mask, i, hides_where);
        fine = seen >= 0 && (i < one || seen == seen_at(&mask, i % one, hides_where));
        if (fine && i < one) m->seen[i] &= (uint8_t)seen;
    }
    tensor_fini(&mask);
    return fine;
}

/* Are the positions seen those of a causal mask, or all? */
static bool read_mask(const match_t *m, fused_attention_t *how)
{
    int64_t first = 0;
    how->causal = false;
    if (!m->seen) return true;
    while (first < m->s && m->seen[first]) first++;
    if (first == 0) return false;
    for (int64_t i = 0; i < m->t; i++)
        for (int64_t j = 0; j < m->s; j++)
            if (m->seen[i * m->s + j] != (j < first + i)) return false;
    how->causal = first < m->s;
    how->offset = first - 1;
    return true;
}

/* --- Scores ----------------------------------------------------------------------------------- */

static bool splat_operand(const match_t *m, const ir_op_t *op, int i, double *value)
{
    return fuse_constant(m->fn, op->in[i], value);
}

/* One step back from scores v: the scores before, masks and scales noted; IR_NONE: none known. */
static ir_val_t step_back(match_t *m, const ir_op_t *op)
{
    double c;
    switch (op->code) {
    case OP_multiply:
        for (int i = 0; i < 2; i++)
            if (splat_operand(m, op, i, &c) && c > 0) return m->scale *= c, op->in[1 - i];
        return IR_NONE;
    case OP_divide:
        return splat_operand(m, op, 1, &c) && c > 0 ? m->scale /= c, op->in[0] : IR_NONE;
    case OP_select:
        for (int i = 1; i < 3; i++)
            if (splat_operand(m, op, i, &c) && c <= HIDDEN)
                return add_mask(m, op->in[0], i == 1) ? op->in[3 - i] : IR_NONE;
        return IR_NONE;
    case OP_add:
        for (int i = 0; i < 2; i++)
            if (add_mask(m, op->in[i], false)) return op->in[1 - i];
        return IR_NONE;
    case OP_broadcast_in_dim:
        return ir_type_equal(ir_type_of(m->fn, op->in[0]), ir_type_of(m->fn, op->out)) ? op->in[0]
                                                                                       : IR_NONE;
    default: return IR_NONE;
    }
}

/* The product of q and k behind scores v. A scale after a mask would move the mask's values as
 * well, which leaves them hidden: positive scales only. */
static bool find_product(match_t *m, ir_val_t v)
{
    for (;;) {
        v = fuse_behind(m->fn, v);
        const ir_op_t *op = ir_def(m->fn, v);
        if (!op) return false;
        if (op->code == OP_dot_general) {
            m->qk = op;
            return isfinite(m->scale) && m->scale > 0;
        }
        if (m->uses[v] > 2) return false;
        v = step_back(m, op);
        if (v == IR_NONE) return false;
    }
}

/* --- Softmax ---------------------------------------------------------------------------------- */

static bool same(const match_t *m, ir_val_t a, ir_val_t b)
{
    return fuse_behind(m->fn, a) == fuse_behind(m->fn, b);
}

/* Is r the sum of e along its last dimension, or 1 over it? */
static bool is_sum_of(const match_t *m, ir_val_t r, ir_val_t e, bool inverse)
{
    double one;
    if (r == IR_NONE) return false;
    while (inverse) {
        const ir_op_t *op = ir_def(m->fn, r);
        if (!op || (op->code == OP_divide && !fuse_constant(m->fn, op->in[0], &one))) return false;
        if (op->code == OP_divide) {
            if (one != 1) return false;
            r = op->in[1];
            break;
        }
        if (op->code != OP_reshape && op->code != OP_convert) return false;
        r = op->in[0];
    }
    ir_val_t x = fuse_reduced_last(m->fn, r, OP_add);
    return x != IR_NONE && same(m, x, e);
}

/* The exponentials that p normalises, or IR_NONE. */
static ir_val_t normalised(const match_t *m, ir_val_t p)
{
    const ir_op_t *op = ir_def(m->fn, p);
    if (!op || (op->code != OP_divide && op->code != OP_multiply)) return IR_NONE;
    bool inverse = op->code == OP_multiply;
    for (int i = 0; i <= (inverse ? 1 : 0); i++)
        if (is_sum_of(m, fuse_along_last(m->fn, op->in[1 - i]), op->in[i], inverse))
            return op->in[i];
    return IR_NONE;
}

/* The scores whose softmax p is, or IR_NONE. */
static ir_val_t softmax_of(const match_t *m, ir_val_t p)
{
    ir_val_t e = normalised(m, p);
    if (e == IR_NONE) return IR_NONE;
    const ir_op_t *exp = fuse_def(m->fn, fuse_behind(m->fn, e), OP_exponential);
    if (!exp) return IR_NONE;
    const ir_op_t *minus = fuse_def(m->fn, fuse_behind(m->fn, exp->in[0]), OP_subtract);
    if (!minus) return exp->in[0];
    ir_val_t row = fuse_along_last(m->fn, minus->in[1]);
    ir_val_t of = row == IR_NONE ? row : fuse_reduced_last(m->fn, row, OP_maximum);
    return of != IR_NONE && same(m, of, minus->in[0]) ? minus->in[0] : IR_NONE;
}

/* --- The group -------------------------------------------------------------------------------- */

/* Dimensions of an operand of a product: batch in the order of the result, the free one, the
 * contracted ones. False when there is not exactly one free dimension. */
static bool operand_dims(const ir_fn_t *fn, const ir_op_t *dot, int side, const ir_dot_t *d,
                         int64_t *perm)
{
    const int64_t *batch = side ? d->rhs_batch : d->lhs_batch;
    const int64_t *contract = side ? d->rhs_contract : d->lhs_contract;
    int rank = ir_type_of(fn, dot->in[side])->rank, n = d->n_batch, n_free = 0;
    bool taken[IR_MAX_RANK] = {false};
    for (int i = 0; i < d->n_batch; i++) taken[perm[i] = batch[i]] = true;
    for (int i = 0; i < d->n_contract; i++) taken[contract[i]] = true;
    for (int i = 0; i < rank; i++)
        if (!taken[i]) perm[n] = i, n_free++;
    for (int i = 0; i < d->n_contract && n_free == 1; i++) perm[n + 1 + i] = contract[i];
    return n_free == 1;
}

/* v of the old function in the new one, without scales by constants, which go into *scale. */
static ir_val_t unscaled(ir_clone_t *self, ir_val_t v, double *scale)
{
    const ir_fn_t *fn = self->from;
    const ir_op_t *op = ir_def(fn, v);
    double c;
    if (!op || dtype_is_small(ir_type_of(fn, v)->dtype)) return self->map[v];
    for (int i = 0; i < 2 && op->code == OP_multiply; i++)
        if (fuse_constant(fn, op->in[i], &c) && c > 0)
            return *scale *= c, unscaled(self, op->in[1 - i], scale);
    if (op->code == OP_divide && fuse_constant(fn, op->in[1], &c) && c > 0)
        return *scale /= c, unscaled(self, op->in[0], scale);
    if (op->code != OP_transpose && op->code != OP_reshape && op->code != OP_convert)
        return self->map[v];
    if (!dtype_is_float(ir_type_of(fn, op->in[0])->dtype)) return self->map[v];
    ir_val_t x = unscaled(self, op->in[0], scale);
    if (x == self->map[op->in[0]] || x == IR_NONE) return self->map[v];
    ir_type_t type = *ir_type_of(fn, v);
    const ir_op_t *copy = ir_emit(self->to, op->code, 1, &x, &op->attrs, 1, &type, 0, NULL);
    return copy ? copy->out : IR_NONE;
}

/* x with its dimensions in the order perm, all but the last two of `kept` merged: [n, rows, width].
 */
static ir_val_t to_three(ir_fn_t *fn, ir_val_t x, const int64_t *perm, int n_batch)
{
    if (x == IR_NONE) return x;
    const ir_type_t t = *ir_type_of(fn, x);
    int64_t dim[3] = {1, 1, 1};
    bool identity = true;
    for (int i = 0; i < t.rank; i++) {
        dim[i < n_batch ? 0 : i == n_batch ? 1 : 2] *= t.dim[perm[i]];
        identity = identity && perm[i] == i;
    }
    ir_type_t to = ir_type(t.dtype, 3, dim);
    return ir_reshape(fn, identity ? x : ir_transpose(fn, x, perm), &to);
}

/* Dimensions of v, the operand of pv beside p, as [batch of p in p's order, s, e]. */
static bool value_dims(const match_t *m, const ir_op_t *pv, int p_side, int64_t *perm)
{
    ir_dot_t d;
    ir_dot_dims(pv, &d);
    const ir_type_t *p = ir_type_of(m->fn, pv->in[p_side]);
    const ir_type_t *v = ir_type_of(m->fn, pv->in[1 - p_side]);
    const int64_t *p_batch = p_side ? d.rhs_batch : d.lhs_batch;
    const int64_t *v_batch = p_side ? d.lhs_batch : d.rhs_batch;
    const int64_t *p_sum = p_side ? d.rhs_contract : d.lhs_contract;
    const int64_t *v_sum = p_side ? d.lhs_contract : d.rhs_contract;
    int n = d.n_batch;
    if (d.n_contract != 1 || p->rank != n + 2 || v->rank != n + 2 || p_sum[0] != p->rank - 1)
        return false;
    int64_t left = (int64_t)v->rank * (v->rank - 1) / 2 - v_sum[0];
    for (int k = 0; k < n; k++) {
        if (p_batch[k] >= n) return false;
        perm[p_batch[k]] = v_batch[k];
        left -= v_batch[k];
    }
    perm[n] = v_sum[0];
    perm[n + 1] = left;
    return true;
}

/* o [n, t, e] in the shape and type of pv's result. */
static ir_val_t give_back(ir_clone_t *self, const ir_op_t *pv, int p_side, ir_val_t o)
{
    ir_fn_t *to = self->to;
    ir_dot_t d;
    ir_dot_dims(pv, &d);
    const ir_type_t p = *ir_type_of(self->from, pv->in[p_side]);
    const ir_type_t three = *ir_type_of(to, o), y = *ir_type_of(self->from, pv->out);
    int n = d.n_batch;
    ir_type_t shape = ir_type_with(p, three.dtype);
    shape.dim[n + 1] = three.dim[2];
    int64_t perm[IR_MAX_RANK];
    bool identity = true;
    for (int k = 0; k < n; k++) perm[k] = p_side ? d.rhs_batch[k] : d.lhs_batch[k];
    perm[n] = p_side ? n + 1 : n;
    perm[n + 1] = p_side ? n : n + 1;
    for (int k = 0; k < n + 2; k++) identity = identity && perm[k] == k;
    o = ir_reshape(to, o, &shape);
    return ir_convert(to, identity ? o : ir_transpose(to, o, perm), y.dtype);
}

/* The widest of the operands' types, of those that have kernels. */
static dtype_t common_type(const ir_fn_t *fn, ir_val_t q, ir_val_t k, ir_val_t v)
{
    dtype_t a = ir_type_of(fn, q)->dtype, b = ir_type_of(fn, k)->dtype;
    dtype_t c = ir_type_of(fn, v)->dtype;
    return a == b && b == c ? a : DT_F32;
}

static int emit(ir_clone_t *self, match_t *m, const ir_op_t *pv, int p_side, const int64_t *v_perm)
{
    ir_fn_t *to = self->to;
    ir_dot_t d;
    fused_attention_t how = {.scale = m->scale};
    int64_t q_perm[IR_MAX_RANK], k_perm[IR_MAX_RANK];
    ir_dot_dims(m->qk, &d);
    if (!read_mask(m, &how) || !operand_dims(m->fn, m->qk, m->q_side, &d, q_perm) ||
        !operand_dims(m->fn, m->qk, 1 - m->q_side, &d, k_perm))
        return 0;
    ir_val_t q = unscaled(self, m->qk->in[m->q_side], &how.scale);
    ir_val_t k = unscaled(self, m->qk->in[1 - m->q_side], &how.scale);
    ir_val_t v = self->map[pv->in[1 - p_side]];
    if (q == IR_NONE || k == IR_NONE || v == IR_NONE) return 0;
    dtype_t dtype = common_type(to, q, k, v);
    if (dtype == DT_F64) return 0;
    q = to_three(to, ir_convert(to, q, dtype), q_perm, d.n_batch);
    k = to_three(to, ir_convert(to, k, dtype), k_perm, d.n_batch);
    v = to_three(to, ir_convert(to, v, dtype), v_perm, ir_type_of(m->fn, pv->in[p_side])->rank - 2);
    const ir_op_t *o = fused_attention(to, q, k, v, &how);
    if (!o) return 0;
    self->map[pv->out] = give_back(self, pv, p_side, o->out);
    return self->map[pv->out] != IR_NONE;
}

/* The kernels compute in f32, and round to nothing narrower than halves on the way. */
static bool is_beyond_f32(const ir_fn_t *fn, const ir_op_t *dot)
{
    dtype_t a = ir_type_of(fn, dot->in[0])->dtype, b = ir_type_of(fn, dot->in[1])->dtype;
    return a == DT_F64 || dtype_is_small(a) || dtype_is_small(b) ||
           dtype_is_small(ir_type_of(fn, dot->out)->dtype);
}

static int try_side(ir_clone_t *self, const ir_op_t *pv, int p_side, const uint32_t *uses)
{
    match_t m = {.fn = self->from, .uses = uses, .scale = 1};
    int64_t v_perm[IR_MAX_RANK];
    ir_val_t p = fuse_behind(m.fn, pv->in[p_side]);
    ir_val_t x = uses[p] == 1 ? softmax_of(&m, p) : IR_NONE;
    if (x == IR_NONE || is_beyond_f32(m.fn, pv) || !value_dims(&m, pv, p_side, v_perm)) return 0;
    const ir_type_t *scores = ir_type_of(m.fn, x);
    m.t = scores->dim[scores->rank - 2];
    m.s = scores->dim[scores->rank - 1];
    int status = 0;
    if (m.t > 0 && m.s > 0 && find_product(&m, x) && !is_beyond_f32(m.fn, m.qk))
        status = emit(self, &m, pv, p_side, v_perm);
    free(m.seen);
    return status;
}

int fuse_attention(ir_clone_t *self, const ir_op_t *op, const uint32_t *uses)
{
    int status = try_side(self, op, 0, uses);
    return status ? status : try_side(self, op, 1, uses);
}
