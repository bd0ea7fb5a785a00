/* Rules for ops that move elements: identities, chains, dynamic forms with known shapes, and
 * transposes that a contraction can express. All are exact. */
#include <string.h>

#include "passes/rules.h"

static bool is_ascending(const int64_t *list, int n)
{
    for (int i = 1; i < n; i++)
        if (list[i] <= list[i - 1]) return false;
    return true;
}

/* --- reshape --- */

static ir_val_t reshape_same(const match_t *m)
{
    return match_keep(m, 0);
}

static ir_val_t reshape_chain(const match_t *m)
{
    const ir_op_t *inner = match_def(m, 0, OP_reshape);
    return inner ? ir_reshape(m->fn, inner->in[0], &m->type) : IR_NONE;
}

static ir_val_t reshape_of_scalar_broadcast(const match_t *m)
{
    const ir_op_t *inner = match_def(m, 0, OP_broadcast_in_dim);
    if (!inner || ir_type_of(m->fn, inner->in[0])->rank != 0) return IR_NONE;
    return ir_broadcast_scalar(m->fn, inner->in[0], &m->type);
}

/* --- transpose --- */

static ir_val_t transpose_same(const match_t *m)
{
    return is_ascending(match_dims(m->op, "permutation"), m->type.rank) ? m->in[0] : IR_NONE;
}

static ir_val_t transpose_chain(const match_t *m)
{
    const ir_op_t *inner = match_def(m, 0, OP_transpose);
    if (!inner) return IR_NONE;
    const int64_t *p = match_dims(m->op, "permutation"), *q = match_dims(inner, "permutation");
    int64_t perm[IR_MAX_RANK] = {0};
    for (int i = 0; i < m->type.rank; i++) perm[i] = q[p[i]];
    return ir_transpose(m->fn, inner->in[0], perm);
}

/* Only dimensions of size 1 change places: nothing moves. */
static ir_val_t transpose_of_ones(const match_t *m)
{
    const int64_t *perm = match_dims(m->op, "permutation");
    int64_t last = -1;
    for (int i = 0; i < m->type.rank; i++) {
        if (m->type.dim[i] == 1) continue;
        if (perm[i] < last) return IR_NONE;
        last = perm[i];
    }
    return ir_reshape(m->fn, m->in[0], &m->type);
}

/* --- broadcast_in_dim --- */

static ir_val_t broadcast_same(const match_t *m)
{
    bool same = is_ascending(match_dims(m->op, "broadcast_dimensions"),
                             ir_type_of(m->fn, m->in[0])->rank);
    return same ? match_keep(m, 0) : IR_NONE;
}

static ir_val_t broadcast_chain(const match_t *m)
{
    const ir_op_t *inner = match_def(m, 0, OP_broadcast_in_dim);
    if (!inner) return IR_NONE;
    const int64_t *p = match_dims(m->op, "broadcast_dimensions");
    const int64_t *q = match_dims(inner, "broadcast_dimensions");
    int64_t dims[IR_MAX_RANK] = {0};
    for (int i = 0; i < ir_type_of(m->fn, inner->in[0])->rank; i++) dims[i] = p[q[i]];
    return ir_broadcast(m->fn, inner->in[0], &m->type, dims);
}

/* No element is repeated: a reshape, after a transpose when the dimensions change order. */
static ir_val_t broadcast_as_reshape(const match_t *m)
{
    ir_type_t x = *ir_type_of(m->fn, m->in[0]);
    if (ir_type_count(&x) != ir_type_count(&m->type)) return IR_NONE;
    const int64_t *dims = match_dims(m->op, "broadcast_dimensions");
    int64_t perm[IR_MAX_RANK] = {0};
    int n = 0;
    for (int64_t d = 0; d < m->type.rank; d++)
        for (int i = 0; i < x.rank; i++)
            if (dims[i] == d) perm[n++] = i;
    ir_val_t y = m->in[0];
    if (!is_ascending(dims, x.rank)) y = ir_transpose(m->fn, y, perm);
    return ir_reshape(m->fn, y, &m->type);
}

/* The reshape only put in dimensions of size 1: broadcast its operand (without any) directly. */
static ir_val_t broadcast_of_reshape(const match_t *m)
{
    const ir_op_t *inner = match_def(m, 0, OP_reshape);
    if (!inner) return IR_NONE;
    const ir_type_t *x = ir_type_of(m->fn, inner->in[0]), *y = ir_type_of(m->fn, m->in[0]);
    const int64_t *from = match_dims(m->op, "broadcast_dimensions");
    int64_t dims[IR_MAX_RANK] = {0};
    int n = 0;
    for (int i = 0; i < y->rank; i++) {
        if (y->dim[i] == 1) continue;
        if (n == x->rank || x->dim[n] != y->dim[i]) return IR_NONE;
        dims[n++] = from[i];
    }
    return n == x->rank ? ir_broadcast(m->fn, inner->in[0], &m->type, dims) : IR_NONE;
}

/* --- dynamic forms ---
 * Result types are static here; the shape operand must be a constant that agrees, so that a
 * contradiction is still reported where it is evaluated. */

static bool shape_agrees(const match_t *m, int i)
{
    const tensor_t *shape = ir_const_of(m->fn, m->in[i]);
    if (!shape || ir_type_count(&shape->type) != m->type.rank) return false;
    for (int k = 0; k < m->type.rank; k++)
        if (tensor_get_i64(shape, k) != m->type.dim[k]) return false;
    return true;
}

static ir_val_t dynamic_iota(const match_t *m)
{
    int64_t dim = attr_int(&m->op->attrs, "iota_dimension", 0);
    return shape_agrees(m, 0) ? ir_iota(m->fn, &m->type, (int)dim) : IR_NONE;
}

static ir_val_t dynamic_broadcast(const match_t *m)
{
    if (!shape_agrees(m, 1)) return IR_NONE;
    return ir_broadcast(m->fn, m->in[0], &m->type, match_dims(m->op, "broadcast_dimensions"));
}

static ir_val_t dynamic_reshape(const match_t *m)
{
    return shape_agrees(m, 1) ? ir_reshape(m->fn, m->in[0], &m->type) : IR_NONE;
}

static ir_val_t dimension_size(const match_t *m)
{
    int64_t dim = attr_int(&m->op->attrs, "dimension", 0);
    return ir_splat(m->fn, &m->type, (double)ir_type_of(m->fn, m->in[0])->dim[dim]);
}

/* --- contractions --- */

/* ir_dot keeps no precision or algorithm: leave ops alone that ask for one. */
static bool is_plain_dot(const ir_op_t *op)
{
    for (int i = 0; i < op->attrs.n; i++)
        if (!strstr(op->attrs.at[i].name, "ing_dimensions")) return false;
    return true;
}

/* Dimensions of the transpose's result as dimensions of its operand; false when what the dot leaves
 * free would change order. */
static bool through_transpose(const ir_op_t *transpose, int rank, int64_t *batch, int n_batch,
                              int64_t *contract, int n_contract)
{
    const int64_t *perm = match_dims(transpose, "permutation");
    bool used[IR_MAX_RANK] = {false};
    for (int i = 0; i < n_batch; i++) used[batch[i]] = true;
    for (int i = 0; i < n_contract; i++) used[contract[i]] = true;
    int64_t last = -1;
    for (int i = 0; i < rank; i++) {
        if (used[i]) continue;
        if (perm[i] < last) return false;
        last = perm[i];
    }
    for (int i = 0; i < n_batch; i++) batch[i] = perm[batch[i]];
    for (int i = 0; i < n_contract; i++) contract[i] = perm[contract[i]];
    return true;
}

static ir_val_t dot_of_transpose(const match_t *m)
{
    const ir_op_t *a = match_def(m, 0, OP_transpose), *b = match_def(m, 1, OP_transpose);
    if ((!a && !b) || !is_plain_dot(m->op)) return IR_NONE;
    ir_dot_t d;
    ir_dot_dims(m->op, &d);
    ir_val_t x = m->in[0], y = m->in[1];
    if (a && through_transpose(a, ir_type_of(m->fn, x)->rank, d.lhs_batch, d.n_batch,
                               d.lhs_contract, d.n_contract))
        x = a->in[0];
    if (b && through_transpose(b, ir_type_of(m->fn, y)->rank, d.rhs_batch, d.n_batch,
                               d.rhs_contract, d.n_contract))
        y = b->in[0];
    if (x == m->in[0] && y == m->in[1]) return IR_NONE;
    return ir_dot(m->fn, x, y, &d, m->type.dtype);
}

/* (batch, n, m) read off a dot that makes (batch, m, n): swap its operands. */
static ir_val_t transpose_of_dot(const match_t *m)
{
    const ir_op_t *dot = match_def(m, 0, OP_dot_general);
    if (!dot || !m->single[0] || !is_plain_dot(dot)) return IR_NONE;
    ir_dot_t d, swapped;
    ir_dot_dims(dot, &d);
    int n_left = ir_type_of(m->fn, dot->in[0])->rank - d.n_batch - d.n_contract;
    const int64_t *perm = match_dims(m->op, "permutation");
    for (int i = 0; i < m->type.rank; i++) {
        int n_right = m->type.rank - d.n_batch - n_left;
        int64_t want = i < d.n_batch ? i : i < d.n_batch + n_right ? i + n_left : i - n_right;
        if (perm[i] != want) return IR_NONE;
    }
    swapped = d;
    memcpy(swapped.lhs_batch, d.rhs_batch, sizeof d.rhs_batch);
    memcpy(swapped.rhs_batch, d.lhs_batch, sizeof d.lhs_batch);
    memcpy(swapped.lhs_contract, d.rhs_contract, sizeof d.rhs_contract);
    memcpy(swapped.rhs_contract, d.lhs_contract, sizeof d.lhs_contract);
    return ir_dot(m->fn, dot->in[1], dot->in[0], &swapped, m->type.dtype);
}

const rule_t rules_shape[] = {
    {OP_reshape, reshape_same},
    {OP_reshape, reshape_chain},
    {OP_reshape, reshape_of_scalar_broadcast},
    {OP_transpose, transpose_same},
    {OP_transpose, transpose_chain},
    {OP_transpose, transpose_of_ones},
    {OP_transpose, transpose_of_dot},
    {OP_broadcast_in_dim, broadcast_same},
    {OP_broadcast_in_dim, broadcast_chain},
    {OP_broadcast_in_dim, broadcast_as_reshape},
    {OP_broadcast_in_dim, broadcast_of_reshape},
    {OP_dynamic_iota, dynamic_iota},
    {OP_dynamic_broadcast_in_dim, dynamic_broadcast},
    {OP_dynamic_reshape, dynamic_reshape},
    {OP_get_dimension_size, dimension_size},
    {OP_dot_general, dot_of_transpose},
    {OP_invalid, NULL},
};
