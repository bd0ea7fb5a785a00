/* The builder's shape ops, reductions and contractions. */
#include "ir/build.h"

static bool dead(const ir_fn_t *fn, ir_val_t x)
{
    return fn->err.code || x == IR_NONE;
}

static ir_val_t emit1(ir_fn_t *fn, op_code_t code, int n_in, const ir_val_t *in,
                      const ir_attrs_t *attrs, const ir_type_t *declared)
{
    ir_op_t *op = ir_emit(fn, code, n_in, in, attrs, 1, declared, 0, NULL);
    return op ? op->out : IR_NONE;
}

ir_val_t ir_convert(ir_fn_t *fn, ir_val_t x, dtype_t to)
{
    if (dead(fn, x)) return IR_NONE;
    if (ir_type_of(fn, x)->dtype == to) return x;
    ir_type_t type = ir_type_with(*ir_type_of(fn, x), to);
    return emit1(fn, OP_convert, 1, &x, NULL, &type);
}

ir_val_t ir_reshape(ir_fn_t *fn, ir_val_t x, const ir_type_t *to)
{
    if (dead(fn, x)) return IR_NONE;
    if (ir_shape_equal(ir_type_of(fn, x), to)) return x;
    ir_type_t type = ir_type_with(*to, ir_type_of(fn, x)->dtype);
    return emit1(fn, OP_reshape, 1, &x, NULL, &type);
}

ir_val_t ir_broadcast(ir_fn_t *fn, ir_val_t x, const ir_type_t *to, const int64_t *dims)
{
    if (dead(fn, x)) return IR_NONE;
    ir_attrs_t attrs = {0};
    ir_type_t type = ir_type_with(*to, ir_type_of(fn, x)->dtype);
    attr_set_ints(fn->module->arena, &attrs, "broadcast_dimensions", dims, ir_type_of(fn, x)->rank);
    return emit1(fn, OP_broadcast_in_dim, 1, &x, &attrs, &type);
}

ir_val_t ir_broadcast_scalar(ir_fn_t *fn, ir_val_t scalar, const ir_type_t *to)
{
    if (dead(fn, scalar)) return IR_NONE;
    if (to->rank == 0) return scalar;
    return ir_broadcast(fn, scalar, to, NULL);
}

ir_val_t ir_transpose(ir_fn_t *fn, ir_val_t x, const int64_t *perm)
{
    if (dead(fn, x)) return IR_NONE;
    ir_attrs_t attrs = {0};
    attr_set_ints(fn->module->arena, &attrs, "permutation", perm, ir_type_of(fn, x)->rank);
    return emit1(fn, OP_transpose, 1, &x, &attrs, NULL);
}

ir_val_t ir_reverse(ir_fn_t *fn, ir_val_t x, const int64_t *dims, int n)
{
    ir_attrs_t attrs = {0};
    attr_set_ints(fn->module->arena, &attrs, "dimensions", dims, n);
    return emit1(fn, OP_reverse, 1, &x, &attrs, NULL);
}

ir_val_t ir_slice(ir_fn_t *fn, ir_val_t x, const int64_t *start, const int64_t *limit,
                  const int64_t *stride)
{
    if (dead(fn, x)) return IR_NONE;
    arena_t *arena = fn->module->arena;
    int rank = ir_type_of(fn, x)->rank;
    int64_t ones[IR_MAX_RANK];
    for (int i = 0; i < IR_MAX_RANK; i++) ones[i] = 1;
    ir_attrs_t attrs = {0};
    attr_set_ints(arena, &attrs, "start_indices", start, rank);
    attr_set_ints(arena, &attrs, "limit_indices", limit, rank);
    attr_set_ints(arena, &attrs, "strides", stride ? stride : ones, rank);
    return emit1(fn, OP_slice, 1, &x, &attrs, NULL);
}

ir_val_t ir_pad(ir_fn_t *fn, ir_val_t x, ir_val_t value, const int64_t *low, const int64_t *high,
                const int64_t *interior)
{
    if (dead(fn, x)) return IR_NONE;
    static const int64_t zeros[IR_MAX_RANK];
    arena_t *arena = fn->module->arena;
    int rank = ir_type_of(fn, x)->rank;
    ir_attrs_t attrs = {0};
    attr_set_ints(arena, &attrs, "edge_padding_low", low, rank);
    attr_set_ints(arena, &attrs, "edge_padding_high", high, rank);
    attr_set_ints(arena, &attrs, "interior_padding", interior ? interior : zeros, rank);
    return emit1(fn, OP_pad, 2, (ir_val_t[]){x, value}, &attrs, NULL);
}

ir_val_t ir_concatenate(ir_fn_t *fn, const ir_val_t *parts, int n, int dim)
{
    ir_attrs_t attrs = {0};
    attr_set_int(fn->module->arena, &attrs, "dimension", dim);
    return emit1(fn, OP_concatenate, n, parts, &attrs, NULL);
}

/* --- reductions --- */

static ir_val_t neutral(ir_fn_t *fn, op_code_t reducer, dtype_t dtype)
{
    bool is_float = dtype_is_float(dtype);
    int bits = dtype_bits(dtype);
    bool is_signed = dtype_is_signed(dtype);
    tensor_t t;
    ir_type_t type = ir_type_scalar(dtype);
    switch (reducer) {
    case OP_multiply: return ir_scalar(fn, dtype, 1);
    case OP_and: t = tensor_splat_i64(fn->module->arena, &type, -1); return ir_const(fn, &t);
    case OP_maximum:
        if (is_float) return ir_scalar(fn, dtype, dtype_limit(dtype, true));
        t = tensor_splat_i64(fn->module->arena, &type,
                             is_signed ? (int64_t)(UINT64_MAX << (bits - 1)) : 0);
        return ir_const(fn, &t);
    case OP_minimum:
        if (is_float) return ir_scalar(fn, dtype, dtype_limit(dtype, false));
        t = tensor_splat_i64(fn->module->arena, &type,
                             is_signed ? (int64_t)(UINT64_MAX >> (65 - bits)) : -1);
        return ir_const(fn, &t);
    default: return ir_scalar(fn, dtype, 0); /* add, or, xor */
    }
}

ir_val_t ir_reduce(ir_fn_t *fn, op_code_t reducer, ir_val_t x, const int64_t *dims, int n)
{
    if (dead(fn, x)) return IR_NONE;
    if (n == 0) return x;
    dtype_t dtype = ir_type_of(fn, x)->dtype;
    ir_val_t in[2] = {x, neutral(fn, reducer, dtype)};
    ir_region_t *region = ir_reducer(fn, reducer, dtype);
    ir_attrs_t attrs = {0};
    attr_set_ints(fn->module->arena, &attrs, "dimensions", dims, n);
    ir_op_t *op = ir_emit(fn, OP_reduce, 2, in, &attrs, 1, NULL, 1, &region);
    return op ? op->out : IR_NONE;
}

ir_val_t ir_reduce_all(ir_fn_t *fn, op_code_t reducer, ir_val_t x)
{
    if (dead(fn, x)) return IR_NONE;
    int64_t dims[IR_MAX_RANK];
    int rank = ir_type_of(fn, x)->rank;
    for (int i = 0; i < rank; i++) dims[i] = i;
    return ir_reduce(fn, reducer, x, dims, rank);
}

ir_val_t ir_unbroadcast(ir_fn_t *fn, ir_val_t x, const ir_type_t *to, const int64_t *dims)
{
    if (dead(fn, x)) return IR_NONE;
    ir_type_t from = *ir_type_of(fn, x);
    int64_t sum[IR_MAX_RANK] = {0};
    int n_sum = 0, operand_of[IR_MAX_RANK];
    for (int i = 0; i < from.rank; i++) {
        operand_of[i] = -1;
        for (int j = 0; j < to->rank; j++)
            if (dims[j] == i && (to->dim[j] == from.dim[i])) operand_of[i] = j;
        if (operand_of[i] < 0) sum[n_sum++] = i;
    }
    x = ir_reduce(fn, OP_add, x, sum, n_sum);
    /* What is left stands in the order of the result's axes; put it in the operand's order. */
    int64_t kept[IR_MAX_RANK] = {0}, perm[IR_MAX_RANK] = {0};
    int n_kept = 0, at = 0;
    for (int i = 0; i < from.rank; i++)
        if (operand_of[i] >= 0) kept[n_kept++] = operand_of[i];
    bool sorted = true;
    for (int j = 0; j < to->rank; j++)
        for (int i = 0; i < n_kept; i++)
            if (kept[i] == j) {
                sorted &= i == at;
                perm[at++] = i;
            }
    if (!sorted) x = ir_transpose(fn, x, perm);
    return ir_reshape(fn, x, to);
}

/* --- contractions --- */

ir_val_t ir_dot(ir_fn_t *fn, ir_val_t a, ir_val_t b, const ir_dot_t *dims, dtype_t to)
{
    if (dead(fn, a) || dead(fn, b)) return IR_NONE;
    arena_t *arena = fn->module->arena;
    ir_attrs_t attrs = {0};
    attr_set_ints(arena, &attrs, "lhs_batching_dimensions", dims->lhs_batch, dims->n_batch);
    attr_set_ints(arena, &attrs, "rhs_batching_dimensions", dims->rhs_batch, dims->n_batch);
    attr_set_ints(arena, &attrs, "lhs_contracting_dimensions", dims->lhs_contract,
                  dims->n_contract);
    attr_set_ints(arena, &attrs, "rhs_contracting_dimensions", dims->rhs_contract,
                  dims->n_contract);
    ir_type_t types[2] = {*ir_type_of(fn, a), *ir_type_of(fn, b)};
    ir_type_t out = {.dtype = to == DT_NONE ? types[0].dtype : to};
    for (int i = 0; i < dims->n_batch; i++) out.dim[out.rank++] = types[0].dim[dims->lhs_batch[i]];
    const int64_t *batch[2] = {dims->lhs_batch, dims->rhs_batch};
    const int64_t *contract[2] = {dims->lhs_contract, dims->rhs_contract};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < types[side].rank && out.rank < IR_MAX_RANK; i++) {
            bool used = false;
            for (int j = 0; j < dims->n_batch; j++) used |= batch[side][j] == i;
            for (int j = 0; j < dims->n_contract; j++) used |= contract[side][j] == i;
            if (!used) out.dim[out.rank++] = types[side].dim[i];
        }
    return emit1(fn, OP_dot_general, 2, (ir_val_t[]){a, b}, &attrs, &out);
}

/* A list that is too long is cut; the type rule of dot_general refuses it. */
static int read_dims(const ir_op_t *op, const char *name, int64_t dims[IR_MAX_RANK])
{
    int n;
    const int64_t *list = attr_ints(&op->attrs, name, &n);
    if (n > IR_MAX_RANK) n = IR_MAX_RANK;
    for (int i = 0; i < n; i++) dims[i] = list[i];
    return n;
}

void ir_dot_dims(const ir_op_t *op, ir_dot_t *dims)
{
    *dims = (ir_dot_t){0};
    dims->n_batch = read_dims(op, "lhs_batching_dimensions", dims->lhs_batch);
    read_dims(op, "rhs_batching_dimensions", dims->rhs_batch);
    dims->n_contract = read_dims(op, "lhs_contracting_dimensions", dims->lhs_contract);
    read_dims(op, "rhs_contracting_dimensions", dims->rhs_contract);
}

ir_val_t ir_matmul(ir_fn_t *fn, ir_val_t a, ir_val_t b)
{
    ir_dot_t dims = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {0}};
    return ir_dot(fn, a, b, &dims, DT_NONE);
}
