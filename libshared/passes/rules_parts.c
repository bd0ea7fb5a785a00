/* Rules for ops that take tensors apart and put them together: slice, pad, concatenate, reverse,
 * and gathers of known rows. Exact, but for sums of padded parts, which may turn -0 + 0 into -0,
 * and sums with scattered rows. */
#include <string.h>

#include "ir/build_index.h"
#include "passes/rules.h"

enum { MAX_PARTS = 64 }; /* of a concatenation that is made here */

/* --- slice, pad, concatenate, reverse --- */

static ir_val_t slice_all(const match_t *m)
{
    return match_all(m, "strides", 1) ? match_keep(m, 0) : IR_NONE;
}

static ir_val_t slice_chain(const match_t *m)
{
    const ir_op_t *inner = match_def(m, 0, OP_slice);
    if (!inner) return IR_NONE;
    const int64_t *s1 = match_dims(inner, "start_indices"), *t1 = match_dims(inner, "strides");
    const int64_t *s2 = match_dims(m->op, "start_indices"), *t2 = match_dims(m->op, "strides");
    int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK] = {0}, stride[IR_MAX_RANK] = {0};
    for (int i = 0; i < m->type.rank; i++) {
        if (m->type.dim[i] == 0) return IR_NONE;
        start[i] = s1[i] + s2[i] * t1[i];
        stride[i] = t1[i] * t2[i];
        limit[i] = start[i] + (m->type.dim[i] - 1) * stride[i] + 1;
    }
    return ir_slice(m->fn, inner->in[0], start, limit, stride);
}

static ir_val_t pad_nothing(const match_t *m)
{
    bool nothing = match_all(m, "edge_padding_low", 0) && match_all(m, "edge_padding_high", 0) &&
                   match_all(m, "interior_padding", 0);
    return nothing ? match_keep(m, 0) : IR_NONE;
}

static ir_val_t concatenate_one(const match_t *m)
{
    return m->op->n_in == 1 ? m->in[0] : IR_NONE;
}

static ir_val_t reverse_nothing(const match_t *m)
{
    int n;
    const int64_t *dims = attr_ints(&m->op->attrs, "dimensions", &n);
    for (int i = 0; i < n; i++)
        if (m->type.dim[dims[i]] > 1) return IR_NONE;
    return m->in[0];
}

static ir_val_t reverse_twice(const match_t *m)
{
    const ir_op_t *inner = match_def(m, 0, OP_reverse);
    return inner && attrs_equal(&inner->attrs, &m->op->attrs) ? inner->in[0] : IR_NONE;
}

/* concatenate(a, concatenate(b, c)) = concatenate(a, b, c) */
static ir_val_t concatenate_nested(const match_t *m)
{
    ir_val_t parts[MAX_PARTS];
    int n = 0;
    bool nested = false;
    for (int i = 0; i < m->op->n_in; i++) {
        const ir_op_t *inner = match_def(m, i, OP_concatenate);
        bool opens = inner && attrs_equal(&inner->attrs, &m->op->attrs);
        const ir_val_t *from = opens ? inner->in : &m->in[i];
        for (int k = 0; k < (opens ? inner->n_in : 1); k++) {
            if (n == MAX_PARTS) return IR_NONE;
            parts[n++] = from[k];
        }
        nested |= opens;
    }
    int64_t dim = attr_int(&m->op->attrs, "dimension", 0);
    return nested ? ir_concatenate(m->fn, parts, n, (int)dim) : IR_NONE;
}

/* --- dynamic forms with known indices --- */

/* The element that operand `first` and those behind it, which are indices, point to in x, so that `size` of it lies
 * inside. */
static bool known_start(const match_t *m, int first, const ir_type_t *x, const int64_t *size,
                        int64_t *start)
{
    for (int d = 0; d < x->rank; d++) {
        const tensor_t *t = ir_const_of(m->fn, m->in[first + d]);
        if (!t) return false;
        int64_t at = tensor_get_i64(t, 0), last = x->dim[d] - size[d];
        bool huge = t->type.dtype == DT_UI64 && at < 0;
        start[d] = huge || at > last ? last : at < 0 ? 0 : at;
    }
    return true;
}

static ir_val_t dynamic_slice_known(const match_t *m)
{
    const ir_type_t *x = ir_type_of(m->fn, m->in[0]);
    int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK] = {0};
    if (!known_start(m, 1, x, m->type.dim, start)) return IR_NONE;
    for (int d = 0; d < x->rank; d++) limit[d] = start[d] + m->type.dim[d];
    return ir_slice(m->fn, m->in[0], start, limit, NULL);
}

typedef struct {
    ir_val_t at[MAX_PARTS];
    int n;
    bool full;
} parts_t;

/* Rows [lo, hi) of x along dim, behind what there is: those of a concatenation as its parts. */
static void add_rows(parts_t *self, ir_fn_t *fn, ir_val_t x, int dim, int64_t lo, int64_t hi)
{
    const ir_type_t type = *ir_type_of(fn, x);
    const ir_op_t *op = ir_def(fn, x);
    if (lo >= hi || self->full) return;
    if (op && op->code == OP_concatenate && attr_int(&op->attrs, "dimension", 0) == dim) {
        for (int64_t i = 0, at = 0; i < op->n_in; i++) {
            int64_t n = ir_type_of(fn, op->in[i])->dim[dim];
            int64_t from = lo > at ? lo - at : 0, to = hi - at < n ? hi - at : n;
            add_rows(self, fn, op->in[i], dim, from, to);
            at += n;
        }
        return;
    }
    int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK] = {0};
    memcpy(limit, type.dim, sizeof limit);
    start[dim] = lo;
    limit[dim] = hi;
    self->full = self->n == MAX_PARTS;
    if (self->full) return;
    self->at[self->n++] = hi - lo == type.dim[dim] ? x : ir_slice(fn, x, start, limit, NULL);
}

/* The dimension in which u is smaller than x; -1: none, or more than one. */
static int smaller_dim(const ir_type_t *x, const ir_type_t *u)
{
    int dim = -1;
    for (int d = 0; d < x->rank; d++) {
        if (x->dim[d] == u->dim[d]) continue;
        if (dim >= 0) return -1;
        dim = d;
    }
    return dim;
}

/* What a loop stacks up row by row, once it is unrolled: what is in front, the update, and what is behind. */
static ir_val_t dynamic_update_known(const match_t *m)
{
    const ir_type_t x = m->type, u = *ir_type_of(m->fn, m->in[1]);
    int64_t start[IR_MAX_RANK] = {0};
    int dim = smaller_dim(&x, &u);
    if (ir_type_equal(&x, &u)) return m->in[1];
    if (dim < 0 || ir_type_count(&u) == 0 || !known_start(m, 2, &x, u.dim, start)) return IR_NONE;
    parts_t parts = {.n = 0};
    add_rows(&parts, m->fn, m->in[0], dim, 0, start[dim]);
    add_rows(&parts, m->fn, m->in[1], dim, 0, u.dim[dim]);
    add_rows(&parts, m->fn, m->in[0], dim, start[dim] + u.dim[dim], x.dim[dim]);
    return parts.full ? IR_NONE : ir_concatenate(m->fn, parts.at, parts.n, dim);
}

/* Rows of a concatenation, in the dimension that it puts together. */
static ir_val_t slice_of_concatenate(const match_t *m)
{
    const ir_op_t *inner = match_def(m, 0, OP_concatenate);
    if (!inner || !match_all(m, "strides", 1) || ir_type_count(&m->type) == 0) return IR_NONE;
    int dim = (int)attr_int(&inner->attrs, "dimension", 0);
    const int64_t *start = match_dims(m->op, "start_indices"),
                  *limit = match_dims(m->op, "limit_indices");
    if (smaller_dim(ir_type_of(m->fn, m->in[0]), &m->type) != dim) return IR_NONE;
    parts_t parts = {.n = 0};
    add_rows(&parts, m->fn, m->in[0], dim, start[dim], limit[dim]);
    if (parts.full) return IR_NONE;
    return parts.n == 1 ? parts.at[0] : ir_concatenate(m->fn, parts.at, parts.n, dim);
}

/* --- sums of parts --- */

/* A pad of zeros, at the edges of one dimension only (-1: of none); false otherwise. */
static bool is_edge_pad(const ir_fn_t *fn, const ir_op_t *pad, int *dim)
{
    const tensor_t *value = ir_const_of(fn, pad->in[1]);
    if (!value || tensor_get_f64(value, 0) != 0) return false;
    const int64_t *low = match_dims(pad, "edge_padding_low"),
                  *high = match_dims(pad, "edge_padding_high");
    const int64_t *interior = match_dims(pad, "interior_padding");
    *dim = -1;
    for (int i = 0; i < ir_type_of(fn, pad->out)->rank; i++) {
        if (interior[i] != 0 || low[i] < 0 || high[i] < 0) return false;
        if (low[i] == 0 && high[i] == 0) continue;
        if (*dim >= 0) return false;
        *dim = i;
    }
    return true;
}

/* pad(a) + pad(b) where b begins where a ends, as the gradients of slices make it:
 * pad(concatenate(a, b)). */
static ir_val_t add_padded_parts(const match_t *m)
{
    const ir_op_t *a = match_def(m, 0, OP_pad), *b = match_def(m, 1, OP_pad);
    int dim, dim_b;
    if (!a || !b || !is_edge_pad(m->fn, a, &dim) || !is_edge_pad(m->fn, b, &dim_b) || dim < 0 ||
        dim != dim_b)
        return IR_NONE;
    const ir_op_t *ops[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        const ir_op_t *first = ops[i], *second = ops[1 - i];
        int64_t end = match_dims(first, "edge_padding_low")[dim] +
                      ir_type_of(m->fn, first->in[0])->dim[dim];
        if (match_dims(second, "edge_padding_low")[dim] != end) continue;
        ir_val_t both = ir_concatenate(m->fn, (ir_val_t[]){first->in[0], second->in[0]}, 2, dim);
        return ir_pad(m->fn, both, first->in[1], match_dims(first, "edge_padding_low"),
                      match_dims(second, "edge_padding_high"), NULL);
    }
    return IR_NONE;
}

/* --- gather --- */

/* Row i at place i, for i = 0, 1, ..: the first rows of x, as position embeddings read them. */
static ir_val_t gather_first_rows(const match_t *m)
{
    const ir_op_t *index = match_def(m, 1, OP_iota);
    if (!index) return IR_NONE;
    const ir_type_t *type = ir_type_of(m->fn, m->in[1]);
    ir_type_t x = *ir_type_of(m->fn, m->in[0]);
    ir_gather_t d;
    ir_gather_dims(m->op, &d);
    bool rows = type->rank == 1 && (type->dtype == DT_I32 || type->dtype == DT_I64) &&
                d.index_vector_dim == 1 && d.n_start == 1 && d.start_map[0] == 0 &&
                d.n_collapsed == 1 && d.collapsed[0] == 0 && d.n_batch == 0 &&
                d.n_offset == x.rank - 1 && type->dim[0] <= x.dim[0];
    for (int i = 1; i < x.rank && rows; i++)
        rows = d.offset_dims[i - 1] == i && d.slice[i] == x.dim[i];
    if (!rows) return IR_NONE;
    static const int64_t start[IR_MAX_RANK];
    x.dim[0] = type->dim[0];
    return ir_slice(m->fn, m->in[0], start, x.dim, NULL);
}

/* x + scatter(0, rows): the rows are added to x, so that one gradient is kept where an embedding is
 * tied to the last layer. Sums of several updates round in another order. */
static ir_val_t add_scattered(const match_t *m)
{
    dtype_t dtype = m->type.dtype;
    if (dtype != DT_F32 && dtype != DT_F64) return IR_NONE;
    for (int i = 0; i < 2; i++) {
        const ir_op_t *op = match_def(m, i, OP_scatter);
        if (!op || !m->single[i] || op->n_in != 3 || ir_reducer_op(op->region[0]) != OP_add)
            continue;
        const tensor_t *start = ir_const_of(m->fn, op->in[0]);
        ir_gather_t d;
        ir_scatter_dims(op, ir_type_of(m->fn, op->in[0]), ir_type_of(m->fn, op->in[2]), &d);
        if (!start || !start->splat || tensor_get_f64(start, 0) != 0 || d.n_offset == 0) continue;
        return ir_scatter(m->fn, OP_add, m->in[1 - i], op->in[1], op->in[2], &d);
    }
    return IR_NONE;
}

const rule_t rules_parts[] = {
    {OP_slice, slice_all},
    {OP_slice, slice_chain},
    {OP_slice, slice_of_concatenate},
    {OP_dynamic_slice, dynamic_slice_known},
    {OP_dynamic_update_slice, dynamic_update_known},
    {OP_pad, pad_nothing},
    {OP_concatenate, concatenate_one},
    {OP_reverse, reverse_nothing},
    {OP_reverse, reverse_twice},
    {OP_concatenate, concatenate_nested},
    {OP_add, add_padded_parts},
    {OP_add, add_scattered},
    {OP_gather, gather_first_rows},
    {OP_invalid, NULL},
};
