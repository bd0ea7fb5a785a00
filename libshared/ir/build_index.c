/* Builders of gather, scatter, dynamic slices and window ops. */
#include "ir/build_index.h"

#include <string.h>

static bool dead(const ir_fn_t *fn, int n, const ir_val_t *in)
{
    bool is_dead = fn->err.code != ERR_OK;
    for (int i = 0; i < n; i++) is_dead |= in[i] == IR_NONE;
    return is_dead;
}

static ir_val_t first_result(const ir_op_t *op)
{
    return op ? op->out : IR_NONE;
}

/* --- gather and scatter --- */

static int read_list(const ir_op_t *op, const char *name, int64_t list[IR_MAX_RANK])
{
    int n;
    const int64_t *ints = attr_ints(&op->attrs, name, &n);
    if (n > IR_MAX_RANK) n = IR_MAX_RANK;
    for (int i = 0; i < n; i++) list[i] = ints[i];
    return n;
}

void ir_gather_dims(const ir_op_t *op, ir_gather_t *dims)
{
    *dims = (ir_gather_t){0};
    dims->n_offset = read_list(op, "offset_dims", dims->offset_dims);
    dims->n_collapsed = read_list(op, "collapsed_slice_dims", dims->collapsed);
    dims->n_batch = read_list(op, "operand_batching_dims", dims->batch);
    read_list(op, "start_indices_batching_dims", dims->index_batch);
    dims->n_start = read_list(op, "start_index_map", dims->start_map);
    dims->index_vector_dim = attr_int(&op->attrs, "index_vector_dim", 0);
    read_list(op, "slice_sizes", dims->slice);
    dims->sorted = attr_bool(&op->attrs, "indices_are_sorted", false);
}

void ir_scatter_dims(const ir_op_t *op, const ir_type_t *operand, const ir_type_t *updates,
                     ir_gather_t *dims)
{
    *dims = (ir_gather_t){0};
    dims->n_offset = read_list(op, "update_window_dims", dims->offset_dims);
    dims->n_collapsed = read_list(op, "inserted_window_dims", dims->collapsed);
    dims->n_batch = read_list(op, "input_batching_dims", dims->batch);
    read_list(op, "scatter_indices_batching_dims", dims->index_batch);
    dims->n_start = read_list(op, "scatter_dims_to_operand_dims", dims->start_map);
    dims->index_vector_dim = attr_int(&op->attrs, "index_vector_dim", 0);
    dims->sorted = attr_bool(&op->attrs, "indices_are_sorted", false);
    dims->unique = attr_bool(&op->attrs, "unique_indices", false);
    bool dropped[IR_MAX_RANK] = {false};
    for (int i = 0; i < dims->n_collapsed; i++) dropped[dims->collapsed[i]] = true;
    for (int i = 0; i < dims->n_batch; i++) dropped[dims->batch[i]] = true;
    for (int d = 0, w = 0; d < operand->rank; d++)
        dims->slice[d] = dropped[d] ? 1 : updates->dim[dims->offset_dims[w++]];
}

ir_val_t ir_gather(ir_fn_t *fn, ir_val_t x, ir_val_t index, const ir_gather_t *dims)
{
    if (dead(fn, 2, (ir_val_t[]){x, index})) return IR_NONE;
    arena_t *arena = fn->module->arena;
    ir_attrs_t a = {0};
    attr_set_ints(arena, &a, "offset_dims", dims->offset_dims, dims->n_offset);
    attr_set_ints(arena, &a, "collapsed_slice_dims", dims->collapsed, dims->n_collapsed);
    attr_set_ints(arena, &a, "operand_batching_dims", dims->batch, dims->n_batch);
    attr_set_ints(arena, &a, "start_indices_batching_dims", dims->index_batch, dims->n_batch);
    attr_set_ints(arena, &a, "start_index_map", dims->start_map, dims->n_start);
    attr_set_int(arena, &a, "index_vector_dim", dims->index_vector_dim);
    attr_set_ints(arena, &a, "slice_sizes", dims->slice, ir_type_of(fn, x)->rank);
    attr_set_bool(arena, &a, "indices_are_sorted", dims->sorted);
    return first_result(ir_emit(fn, OP_gather, 2, (ir_val_t[]){x, index}, &a, 1, NULL, 0, NULL));
}

ir_region_t *ir_replacer(ir_fn_t *fn, dtype_t dtype)
{
    ir_type_t types[2] = {ir_type_scalar(dtype), ir_type_scalar(dtype)};
    ir_region_t *saved, *region = ir_region_begin(fn, 2, types, &saved);
    ir_val_t y = region->arg + 1;
    ir_region_end(fn, region, 1, &y, saved);
    return region;
}

ir_val_t ir_scatter(ir_fn_t *fn, op_code_t combine, ir_val_t operand, ir_val_t index,
                    ir_val_t updates, const ir_gather_t *dims)
{
    ir_val_t in[3] = {operand, index, updates};
    if (dead(fn, 3, in)) return IR_NONE;
    arena_t *arena = fn->module->arena;
    dtype_t dtype = ir_type_of(fn, operand)->dtype;
    ir_attrs_t a = {0};
    attr_set_ints(arena, &a, "update_window_dims", dims->offset_dims, dims->n_offset);
    attr_set_ints(arena, &a, "inserted_window_dims", dims->collapsed, dims->n_collapsed);
    attr_set_ints(arena, &a, "input_batching_dims", dims->batch, dims->n_batch);
    attr_set_ints(arena, &a, "scatter_indices_batching_dims", dims->index_batch, dims->n_batch);
    attr_set_ints(arena, &a, "scatter_dims_to_operand_dims", dims->start_map, dims->n_start);
    attr_set_int(arena, &a, "index_vector_dim", dims->index_vector_dim);
    attr_set_bool(arena, &a, "indices_are_sorted", dims->sorted);
    attr_set_bool(arena, &a, "unique_indices", dims->unique);
    ir_region_t *region = combine == OP_invalid ? ir_replacer(fn, dtype)
                                                : ir_reducer(fn, combine, dtype);
    return first_result(ir_emit(fn, OP_scatter, 3, in, &a, 1, NULL, 1, &region));
}

/* The largest value an index type holds, as far as int64 can say it. */
static int64_t index_max(dtype_t dtype)
{
    int bits = dtype_bits(dtype) - dtype_is_signed(dtype);
    return bits >= 63 ? INT64_MAX : (1ll << bits) - 1;
}

ir_val_t ir_index_constant(ir_fn_t *fn, ir_val_t index, const ir_gather_t *dims,
                           const int64_t *value)
{
    if (dead(fn, 1, &index)) return IR_NONE;
    ir_type_t type = *ir_type_of(fn, index), vector = {.dtype = type.dtype, .rank = 1};
    int64_t most = index_max(type.dtype);
    if (dims->index_vector_dim == type.rank) {
        tensor_t t = tensor_splat_i64(fn->module->arena, &type, value[0] < most ? value[0] : most);
        return ir_const(fn, &t);
    }
    vector.dim[0] = dims->n_start;
    tensor_t t = tensor_in(fn->module->arena, &vector);
    for (int e = 0; e < dims->n_start; e++)
        tensor_set_i64(&t, e, value[e] < most ? value[e] : most);
    return ir_broadcast(fn, ir_const(fn, &t), &type, &dims->index_vector_dim);
}

ir_val_t ir_clamp_starts(ir_fn_t *fn, ir_val_t index, const ir_gather_t *dims,
                         const ir_type_t *operand)
{
    int64_t last[IR_MAX_RANK] = {0};
    for (int e = 0; e < dims->n_start; e++) {
        int64_t d = dims->start_map[e];
        last[e] = operand->dim[d] - dims->slice[d];
    }
    ir_val_t low = ir_scalar_like(fn, index, 0);
    return ir_op3(fn, OP_clamp, low, index, ir_index_constant(fn, index, dims, last));
}

/* --- dynamic slices --- */

ir_val_t ir_dynamic_slice(ir_fn_t *fn, ir_val_t x, const ir_val_t *index, const int64_t *sizes)
{
    if (dead(fn, 1, &x)) return IR_NONE;
    int rank = ir_type_of(fn, x)->rank;
    ir_val_t in[IR_MAX_RANK + 1] = {x};
    memcpy(in + 1, index, (size_t)rank * sizeof *index);
    ir_attrs_t a = {0};
    attr_set_ints(fn->module->arena, &a, "slice_sizes", sizes, rank);
    return first_result(ir_emit(fn, OP_dynamic_slice, rank + 1, in, &a, 1, NULL, 0, NULL));
}

ir_val_t ir_dynamic_update_slice(ir_fn_t *fn, ir_val_t x, ir_val_t update, const ir_val_t *index)
{
    if (dead(fn, 1, &x)) return IR_NONE;
    int rank = ir_type_of(fn, x)->rank;
    ir_val_t in[IR_MAX_RANK + 2] = {x, update};
    memcpy(in + 2, index, (size_t)rank * sizeof *index);
    return first_result(ir_emit(fn, OP_dynamic_update_slice, rank + 2, in, NULL, 1, NULL, 0, NULL));
}

/* --- windows --- */

static void read_or_one(const ir_op_t *op, const char *name, int rank, int64_t *list)
{
    int n;
    const int64_t *ints = attr_ints(&op->attrs, name, &n);
    for (int d = 0; d < rank; d++) list[d] = d < n ? ints[d] : 1;
}

void ir_window_dims(const ir_op_t *op, int rank, ir_window_t *window)
{
    int n;
    *window = (ir_window_t){0};
    read_or_one(op, "window_dimensions", rank, window->size);
    read_or_one(op, "window_strides", rank, window->stride);
    read_or_one(op, "base_dilations", rank, window->base_dilation);
    read_or_one(op, "window_dilations", rank, window->window_dilation);
    const int64_t *padding = attr_ints(&op->attrs, "padding", &n);
    for (int d = 0; d < rank && 2 * d + 1 < n; d++) {
        window->low[d] = padding[2 * d];
        window->high[d] = padding[2 * d + 1];
    }
}

static ir_attrs_t window_attrs(arena_t *arena, int rank, const ir_window_t *window, bool dilated)
{
    ir_attrs_t a = {0};
    int64_t padding[2 * IR_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        padding[2 * d] = window->low[d];
        padding[2 * d + 1] = window->high[d];
    }
    attr_set_ints(arena, &a, "window_dimensions", window->size, rank);
    attr_set_ints(arena, &a, "window_strides", window->stride, rank);
    attr_set_ints(arena, &a, "padding", padding, 2 * rank);
    if (!dilated) return a;
    attr_set_ints(arena, &a, "base_dilations", window->base_dilation, rank);
    attr_set_ints(arena, &a, "window_dilations", window->window_dilation, rank);
    return a;
}

ir_op_t *ir_reduce_window(ir_fn_t *fn, int n, const ir_val_t *in, const ir_window_t *window,
                          ir_region_t *region)
{
    if (dead(fn, 2 * n, in)) return NULL;
    ir_attrs_t a = window_attrs(fn->module->arena, ir_type_of(fn, in[0])->rank, window, true);
    return ir_emit(fn, OP_reduce_window, 2 * n, in, &a, n, NULL, 1, &region);
}

ir_val_t ir_select_and_scatter(ir_fn_t *fn, ir_val_t x, ir_val_t source, ir_val_t init,
                               const ir_window_t *window, ir_region_t *select, ir_region_t *scatter)
{
    ir_val_t in[3] = {x, source, init};
    if (dead(fn, 3, in)) return IR_NONE;
    ir_region_t *regions[2] = {select, scatter};
    ir_attrs_t a = window_attrs(fn->module->arena, ir_type_of(fn, x)->rank, window, false);
    return first_result(ir_emit(fn, OP_select_and_scatter, 3, in, &a, 1, NULL, 2, regions));
}

ir_region_t *ir_comparator(ir_fn_t *fn, const char *direction, dtype_t dtype)
{
    ir_type_t types[2] = {ir_type_scalar(dtype), ir_type_scalar(dtype)};
    ir_region_t *saved, *region = ir_region_begin(fn, 2, types, &saved);
    ir_val_t y = ir_compare(fn, direction, region->arg, region->arg + 1);
    ir_region_end(fn, region, 1, &y, saved);
    return region;
}
