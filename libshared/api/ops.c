/* The common ops as functions: each collects its attributes and goes through api_emit, which checks. */
#include <string.h>

#include "api/api.h"

static pcp_value_t emit(pcp_graph_t *self, const char *name, int n_in, const pcp_value_t *in,
                        const ir_attrs_t *attrs, const pcp_type_t *type)
{
    if (!api_building(self)) return (pcp_value_t){0};
    op_code_t code = api_op_code(self, name);
    return api_handle(self, api_emit(self, code, n_in, in, attrs, 0, NULL, 1, type));
}

static void add_ints(pcp_graph_t *self, ir_attrs_t *attrs, const char *name, const int64_t *ints,
                     int n)
{
    static const int64_t none;
    attr_set_ints(self->module->arena, attrs, name, n ? ints : &none, n);
}

/* The type of a value of this function, or false with the graph's error. */
static bool type_of(pcp_graph_t *self, pcp_value_t x, const char *what, pcp_type_t *type)
{
    if (api_value(self, x, what) == IR_NONE) return false;
    *type = pcp_value_type(self, x);
    return true;
}

/* A list whose length comes from a caller. */
static bool is_list(pcp_graph_t *self, const char *what, int n)
{
    if (n >= 0 && n <= PCP_MAX_RANK) return true;
    api_fail(self, ERR_ARG, "%s: a list of %d dimensions: 0 to %d", what, n, PCP_MAX_RANK);
    return false;
}

/* --- element by element --- */

#define OF_ONE(name, op)                                     \
    pcp_value_t pcp_##name(pcp_graph_t *self, pcp_value_t a) \
    {                                                        \
        return emit(self, op, 1, &a, NULL, NULL);            \
    }
#define OF_TWO(name, op)                                                    \
    pcp_value_t pcp_##name(pcp_graph_t *self, pcp_value_t a, pcp_value_t b) \
    {                                                                       \
        return emit(self, op, 2, (pcp_value_t[]){a, b}, NULL, NULL);        \
    }
PCP_OPS_OF_ONE(OF_ONE)
PCP_OPS_OF_TWO(OF_TWO)

pcp_value_t pcp_compare(pcp_graph_t *self, const char *direction, pcp_value_t a, pcp_value_t b)
{
    pcp_type_t type;
    ir_attrs_t attrs = {0};
    if (!type_of(self, a, "stablehlo.compare", &type)) return (pcp_value_t){0};
    dtype_t dtype = api_dtype(type.dtype);
    const char *kind = dtype_is_inexact(dtype)                      ? "FLOAT"
                       : dtype_is_unsigned(dtype) || dtype == DT_I1 ? "UNSIGNED"
                                                                    : "SIGNED";
    attr_set_text(self->module->arena, &attrs, "comparison_direction", ATTR_ENUM, direction);
    attr_set_text(self->module->arena, &attrs, "compare_type", ATTR_ENUM, kind);
    return emit(self, "stablehlo.compare", 2, (pcp_value_t[]){a, b}, &attrs, NULL);
}

pcp_value_t pcp_select(pcp_graph_t *self, pcp_value_t which, pcp_value_t a, pcp_value_t b)
{
    return emit(self, "stablehlo.select", 3, (pcp_value_t[]){which, a, b}, NULL, NULL);
}

pcp_value_t pcp_clamp(pcp_graph_t *self, pcp_value_t low, pcp_value_t x, pcp_value_t high)
{
    return emit(self, "stablehlo.clamp", 3, (pcp_value_t[]){low, x, high}, NULL, NULL);
}

pcp_value_t pcp_convert(pcp_graph_t *self, pcp_value_t x, pcp_dtype_t to)
{
    pcp_type_t type;
    if (!type_of(self, x, "stablehlo.convert", &type)) return (pcp_value_t){0};
    if (api_dtype(to) == DT_NONE) api_fail(self, ERR_TYPE, "stablehlo.convert: to no element type");
    if (type.dtype == to) return x;
    type.dtype = to;
    return emit(self, "stablehlo.convert", 1, &x, NULL, &type);
}

pcp_value_t pcp_scale(pcp_graph_t *self, pcp_value_t x, double factor)
{
    return pcp_multiply(self, x, pcp_like(self, x, factor));
}

/* --- constants --- */

pcp_value_t pcp_constant(pcp_graph_t *self, const pcp_tensor_t *tensor)
{
    if (!api_building(self)) return (pcp_value_t){0};
    arena_t *arena = self->module->arena;
    tensor_t copy = tensor->value;
    copy.data = arena_copy(arena, copy.data, (size_t)ir_type_bytes(&copy.type));
    ir_attrs_t attrs = {0};
    ir_attr_t value = {.name = "value", .kind = ATTR_TENSOR};
    value.tensor = arena_copy(arena, &copy, sizeof copy);
    attr_set(arena, &attrs, value);
    return emit(self, "stablehlo.constant", 0, NULL, &attrs, pcp_tensor_type(tensor));
}

pcp_value_t pcp_splat(pcp_graph_t *self, const pcp_type_t *type, double value)
{
    ir_type_t in;
    err_t why = {0};
    if (!api_building(self)) return (pcp_value_t){0};
    if (api_type_in(type, &in, &why) < 0) {
        api_fail(self, why.code, "stablehlo.constant: %s", why.text);
        return (pcp_value_t){0};
    }
    pcp_type_t one = pcp_scalar(type->dtype);
    pcp_tensor_t *scalar = pcp_tensor_new(&one, NULL);
    if (!scalar) return (pcp_value_t){0};
    pcp_tensor_set(scalar, 0, value); /* rounds and cuts as tensors do */
    arena_t *arena = self->module->arena;
    tensor_t splat = {.type = in, .splat = true};
    splat.data = arena_copy(arena, pcp_tensor_bytes(scalar), pcp_tensor_size(scalar));
    pcp_tensor_release(&scalar);
    ir_val_t v = ir_const(self->fn, &splat);
    api_graph_count(self);
    return api_handle(self, v);
}

pcp_value_t pcp_like(pcp_graph_t *self, pcp_value_t like, double value)
{
    pcp_type_t type;
    if (!type_of(self, like, "pcp_like", &type)) return (pcp_value_t){0};
    return pcp_splat(self, &type, value);
}

pcp_value_t pcp_iota(pcp_graph_t *self, const pcp_type_t *type, int dim)
{
    ir_attrs_t attrs = {0};
    attr_set_int(self->module->arena, &attrs, "iota_dimension", dim);
    return emit(self, "stablehlo.iota", 0, NULL, &attrs, type);
}

/* --- shapes --- */

/* x's element type in another shape. */
static bool reshaped(pcp_graph_t *self, pcp_value_t x, const char *what, int rank,
                     const int64_t *dim, pcp_type_t *type)
{
    if (!type_of(self, x, what, type) || !is_list(self, what, rank)) return false;
    *type = pcp_type(type->dtype, rank, dim);
    return true;
}

pcp_value_t pcp_reshape(pcp_graph_t *self, pcp_value_t x, int rank, const int64_t *dim)
{
    pcp_type_t type;
    if (!reshaped(self, x, "stablehlo.reshape", rank, dim, &type)) return (pcp_value_t){0};
    return emit(self, "stablehlo.reshape", 1, &x, NULL, &type);
}

pcp_value_t pcp_transpose(pcp_graph_t *self, pcp_value_t x, const int64_t *permutation)
{
    pcp_type_t type;
    ir_attrs_t attrs = {0};
    if (!type_of(self, x, "stablehlo.transpose", &type)) return (pcp_value_t){0};
    add_ints(self, &attrs, "permutation", permutation, type.rank);
    return emit(self, "stablehlo.transpose", 1, &x, &attrs, NULL);
}

pcp_value_t pcp_broadcast(pcp_graph_t *self, pcp_value_t x, int rank, const int64_t *dim,
                          const int64_t *at)
{
    pcp_type_t from, type;
    ir_attrs_t attrs = {0};
    if (!reshaped(self, x, "stablehlo.broadcast_in_dim", rank, dim, &type)) return (pcp_value_t){0};
    from = pcp_value_type(self, x);
    add_ints(self, &attrs, "broadcast_dimensions", at, from.rank);
    return emit(self, "stablehlo.broadcast_in_dim", 1, &x, &attrs, &type);
}

pcp_value_t pcp_broadcast_like(pcp_graph_t *self, pcp_value_t x, pcp_value_t like)
{
    pcp_type_t from, to;
    char a[PCP_TYPE_TEXT], b[PCP_TYPE_TEXT];
    int64_t at[PCP_MAX_RANK];
    if (!type_of(self, x, "pcp_broadcast_like", &from) ||
        !type_of(self, like, "pcp_broadcast_like", &to))
        return (pcp_value_t){0};
    if (from.rank > to.rank)
        api_fail(self, ERR_SHAPE, "pcp_broadcast_like: %s has more dimensions than %s",
                 pcp_type_text(&from, a), pcp_type_text(&to, b));
    for (int i = 0; i < from.rank; i++) at[i] = to.rank - from.rank + i;
    return pcp_broadcast(self, x, to.rank, to.dim, at);
}

pcp_value_t pcp_slice(pcp_graph_t *self, pcp_value_t x, const int64_t *start, const int64_t *limit,
                      const int64_t *stride)
{
    pcp_type_t type;
    ir_attrs_t attrs = {0};
    int64_t ones[PCP_MAX_RANK];
    for (int i = 0; i < PCP_MAX_RANK; i++) ones[i] = 1;
    if (!type_of(self, x, "stablehlo.slice", &type)) return (pcp_value_t){0};
    add_ints(self, &attrs, "start_indices", start, type.rank);
    add_ints(self, &attrs, "limit_indices", limit, type.rank);
    add_ints(self, &attrs, "strides", stride ? stride : ones, type.rank);
    return emit(self, "stablehlo.slice", 1, &x, &attrs, NULL);
}

pcp_value_t pcp_pad(pcp_graph_t *self, pcp_value_t x, pcp_value_t with, const int64_t *low,
                    const int64_t *high, const int64_t *interior)
{
    static const int64_t zeros[PCP_MAX_RANK];
    pcp_type_t type;
    ir_attrs_t attrs = {0};
    if (!type_of(self, x, "stablehlo.pad", &type)) return (pcp_value_t){0};
    add_ints(self, &attrs, "edge_padding_low", low, type.rank);
    add_ints(self, &attrs, "edge_padding_high", high, type.rank);
    add_ints(self, &attrs, "interior_padding", interior ? interior : zeros, type.rank);
    return emit(self, "stablehlo.pad", 2, (pcp_value_t[]){x, with}, &attrs, NULL);
}

pcp_value_t pcp_concatenate(pcp_graph_t *self, int n, const pcp_value_t *parts, int dim)
{
    ir_attrs_t attrs = {0};
    attr_set_int(self->module->arena, &attrs, "dimension", dim);
    return emit(self, "stablehlo.concatenate", n, parts, &attrs, NULL);
}

pcp_value_t pcp_reverse(pcp_graph_t *self, pcp_value_t x, int n, const int64_t *dims)
{
    ir_attrs_t attrs = {0};
    if (!is_list(self, "stablehlo.reverse", n)) return (pcp_value_t){0};
    add_ints(self, &attrs, "dimensions", dims, n);
    return emit(self, "stablehlo.reverse", 1, &x, &attrs, NULL);
}

pcp_value_t pcp_rows(pcp_graph_t *self, pcp_value_t table, pcp_value_t index)
{
    pcp_type_t rows, places;
    ir_attrs_t attrs = {0};
    int64_t offset[PCP_MAX_RANK], size[PCP_MAX_RANK], zero = 0;
    if (!type_of(self, table, "pcp_rows", &rows) || !type_of(self, index, "pcp_rows", &places))
        return (pcp_value_t){0};
    if (rows.rank < 1 || places.rank + rows.rank - 1 > PCP_MAX_RANK) {
        api_fail(self, ERR_SHAPE, "pcp_rows: a table of rank %d and an index of rank %d", rows.rank,
                 places.rank);
        return (pcp_value_t){0};
    }
    for (int i = 0; i + 1 < rows.rank; i++) offset[i] = places.rank + i;
    for (int i = 0; i < rows.rank; i++) size[i] = i == 0 ? 1 : rows.dim[i];
    add_ints(self, &attrs, "offset_dims", offset, rows.rank - 1);
    add_ints(self, &attrs, "collapsed_slice_dims", &zero, 1);
    add_ints(self, &attrs, "start_index_map", &zero, 1);
    attr_set_int(self->module->arena, &attrs, "index_vector_dim", places.rank);
    add_ints(self, &attrs, "slice_sizes", size, rows.rank);
    return emit(self, "stablehlo.gather", 2, (pcp_value_t[]){table, index}, &attrs, NULL);
}

/* --- sums and products --- */

pcp_value_t pcp_reduce(pcp_graph_t *self, const char *op, pcp_value_t x, int n, const int64_t *dims)
{
    static const op_code_t known[] = {OP_add, OP_maximum, OP_minimum, OP_multiply, OP_and, OP_or};
    ir_val_t v = api_value(self, x, "pcp_reduce");
    if (v == IR_NONE || !is_list(self, "stablehlo.reduce", n)) return (pcp_value_t){0};
    op_code_t code = api_op_code(self, op);
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) found = found || known[i] == code;
    if (!found) api_fail(self, ERR_ARG, "pcp_reduce: %s has no neutral element here", op);
    ir_val_t y = found ? ir_reduce(self->fn, code, v, dims, n) : IR_NONE;
    api_graph_count(self);
    return api_handle(self, y);
}

pcp_value_t pcp_reduce_all(pcp_graph_t *self, const char *op, pcp_value_t x)
{
    pcp_type_t type;
    int64_t all[PCP_MAX_RANK];
    for (int i = 0; i < PCP_MAX_RANK; i++) all[i] = i;
    if (!type_of(self, x, "pcp_reduce_all", &type)) return (pcp_value_t){0};
    return pcp_reduce(self, op, x, type.rank, all);
}

pcp_value_t pcp_mean(pcp_graph_t *self, pcp_value_t x)
{
    pcp_type_t type;
    if (!type_of(self, x, "pcp_mean", &type)) return (pcp_value_t){0};
    return pcp_scale(self, pcp_reduce_all(self, "stablehlo.add", x),
                     1.0 / (double)pcp_type_count(&type));
}

pcp_value_t pcp_matmul(pcp_graph_t *self, pcp_value_t a, pcp_value_t b)
{
    return pcp_dot(self, a, b, 0, NULL, NULL, 1, (int64_t[]){1}, (int64_t[]){0});
}

pcp_value_t pcp_dot(pcp_graph_t *self, pcp_value_t a, pcp_value_t b, int n_batch,
                    const int64_t *a_batch, const int64_t *b_batch, int n_contract,
                    const int64_t *a_contract, const int64_t *b_contract)
{
    static const char what[] = "stablehlo.dot_general";
    ir_attrs_t attrs = {0};
    if (!is_list(self, what, n_batch) || !is_list(self, what, n_contract)) return (pcp_value_t){0};
    add_ints(self, &attrs, "lhs_batching_dimensions", a_batch, n_batch);
    add_ints(self, &attrs, "rhs_batching_dimensions", b_batch, n_batch);
    add_ints(self, &attrs, "lhs_contracting_dimensions", a_contract, n_contract);
    add_ints(self, &attrs, "rhs_contracting_dimensions", b_contract, n_contract);
    return emit(self, what, 2, (pcp_value_t[]){a, b}, &attrs, NULL);
}

int pcp_call(pcp_graph_t *self, const char *function, int n_in, const pcp_value_t *in, int n_out,
             pcp_value_t *out)
{
    ir_attrs_t attrs = {0};
    for (int i = 0; i < n_out; i++) out[i] = (pcp_value_t){0};
    if (!api_building(self)) return -1;
    attr_set_text(self->module->arena, &attrs, "callee", ATTR_SYMBOL, function);
    ir_val_t v = api_emit(self, OP_call, n_in, in, &attrs, 0, NULL, n_out, NULL);
    for (int i = 0; v != IR_NONE && i < n_out; i++) out[i] = api_handle(self, v + (ir_val_t)i);
    return v == IR_NONE ? -1 : 0;
}
