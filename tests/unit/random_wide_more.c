/* Orders, places from data, windows and control flow over tensors of every element type. */
#include "random_wide_in.h"

static bool is_number(dtype_t dtype)
{
    return dtype_is_int(dtype) && dtype != DT_I1;
}

/* An op to combine two values of this type; floats by what rounds nothing. */
static op_code_t combiner(wide_t *d, dtype_t dtype)
{
    static const op_code_t codes[] = {OP_maximum, OP_minimum, OP_add, OP_multiply, OP_xor};
    if (dtype == DT_I1) return wide_draw(d, 2) ? OP_and : OP_or;
    if (dtype_is_complex(dtype)) return OP_add;
    return codes[wide_draw(d, dtype_is_float(dtype) ? 2 : 5)];
}

/* Another value of this shape, of whatever type; IR_NONE if none turns up. */
static ir_val_t of_shape(wide_t *d, ir_type_t shape)
{
    for (int i = 0; i < 24; i++) {
        ir_val_t v = wide_any(d);
        ir_type_t type = wide_type(d, v);
        if (ir_shape_equal(&type, &shape)) return v;
    }
    return IR_NONE;
}

/* Integers in order, alone or with others of their shape. */
ir_val_t wide_sort(wide_t *d, ir_val_t x)
{
    ir_type_t t = wide_type(d, x);
    ir_val_t in[2] = {x, of_shape(d, t)};
    if (t.rank == 0 || !dtype_is_int(t.dtype)) return IR_NONE;
    int n = in[1] != IR_NONE && wide_draw(d, 2) ? 2 : 1;
    ir_type_t key = ir_type_scalar(t.dtype), other = ir_type_scalar(DT_I1);
    if (n == 2) other.dtype = wide_type(d, in[1]).dtype;
    ir_type_t types[4] = {key, key, other, other};
    ir_region_t *saved, *region = ir_region_begin(d->fn, 2 * n, types, &saved);
    ir_val_t less = ir_compare(d->fn, wide_draw(d, 2) ? "LT" : "GT", region->arg, region->arg + 1);
    ir_region_end(d->fn, region, 1, &less, saved);
    ir_attrs_t attrs = {0};
    attr_set_int(d->fn->module->arena, &attrs, "dimension", wide_draw(d, t.rank));
    attr_set_bool(d->fn->module->arena, &attrs, "is_stable", true);
    ir_op_t *op = ir_emit(d->fn, OP_sort, n, in, &attrs, n, NULL, 1, &region);
    return op ? op->out + (ir_val_t)wide_draw(d, n) : IR_NONE;
}

/* Row numbers, some outside: i * step + first, [n, 1]. */
static ir_val_t row_numbers(wide_t *d, int64_t n)
{
    static const dtype_t dtypes[] = {DT_I32, DT_I8, DT_I64, DT_UI16};
    dtype_t dtype = dtypes[wide_draw(d, 4)];
    ir_type_t type = ir_type(dtype, 2, (int64_t[]){n, 1});
    ir_val_t i = ir_iota(d->fn, &type, 0);
    i = ir_op2(d->fn, OP_multiply, i, ir_scalar_like(d->fn, i, wide_draw(d, 3)));
    int first = wide_draw(d, 5) - (dtype == DT_UI16 ? 0 : 2);
    return ir_op2(d->fn, OP_add, i, ir_scalar_like(d->fn, i, first));
}

static ir_gather_t row_dims(const ir_type_t *t)
{
    ir_gather_t dims = {.n_offset = t->rank - 1, .n_collapsed = 1, .n_start = 1};
    dims.index_vector_dim = 1;
    dims.slice[0] = 1;
    for (int i = 1; i < t->rank; i++) dims.offset_dims[i - 1] = i, dims.slice[i] = t->dim[i];
    return dims;
}

ir_val_t wide_lookup(wide_t *d, ir_val_t x)
{
    ir_type_t t = wide_type(d, x);
    if (t.rank == 0) return IR_NONE;
    ir_gather_t dims = row_dims(&t);
    return ir_gather(d->fn, x, row_numbers(d, 1 + wide_draw(d, 4)), &dims);
}

ir_val_t wide_place(wide_t *d, ir_val_t x)
{
    ir_type_t t = wide_type(d, x), rows = t;
    if (t.rank == 0) return IR_NONE;
    ir_gather_t dims = row_dims(&t);
    rows.dim[0] = 1 + wide_draw(d, 4);
    op_code_t combine = wide_draw(d, 3) ? combiner(d, t.dtype) : OP_invalid;
    ir_val_t index = row_numbers(d, rows.dim[0]), updates = wide_mate(d, rows);
    return ir_scatter(d->fn, combine, x, index, updates, &dims);
}

ir_val_t wide_window(wide_t *d, ir_val_t x)
{
    ir_type_t t = wide_type(d, x);
    ir_window_t w = {0};
    if (t.rank == 0) return IR_NONE;
    for (int i = 0; i < t.rank; i++) {
        w.size[i] = 1 + wide_draw(d, 2);
        w.stride[i] = 1 + wide_draw(d, 2);
        w.base_dilation[i] = 1 + (wide_draw(d, 3) == 0);
        w.window_dilation[i] = 1 + (wide_draw(d, 3) == 0);
        w.low[i] = wide_draw(d, 3) - (t.dim[i] > 1 && w.size[i] == 1);
        w.high[i] = 1 + wide_draw(d, 2);
    }
    ir_val_t in[2] = {x, ir_scalar(d->fn, t.dtype, wide_draw(d, 2))};
    ir_region_t *region = ir_reducer(d->fn, combiner(d, t.dtype), t.dtype);
    ir_op_t *op = ir_reduce_window(d->fn, 1, in, &w, region);
    return op ? op->out : IR_NONE;
}

/* Whether any element differs from the first parameter of its type, or is set. */
static ir_val_t condition(wide_t *d)
{
    ir_val_t x = wide_any(d), p = x;
    ir_type_t t = wide_type(d, x);
    if (t.dtype != DT_I1) p = ir_compare(d->fn, "NE", x, wide_mate(d, t));
    return ir_reduce_all(d->fn, wide_draw(d, 2) ? OP_or : OP_and, p);
}

ir_val_t wide_branch(wide_t *d, ir_val_t x)
{
    ir_type_t t = wide_type(d, x);
    ir_val_t pred = condition(d), y = wide_mate(d, t);
    ir_region_t *saved, *regions[2];
    for (int r = 0; r < 2; r++) {
        regions[r] = ir_region_begin(d->fn, 0, NULL, &saved);
        ir_val_t z = wide_draw(d, 3) ? ir_op2(d->fn, combiner(d, t.dtype), x, y) : r ? x : y;
        ir_region_end(d->fn, regions[r], 1, &z, saved);
    }
    ir_op_t *op = ir_emit(d->fn, OP_if, 1, &pred, NULL, 1, &t, 2, regions);
    return op ? op->out : IR_NONE;
}

/* A few rounds of x, y = f(x, y), x. */
ir_val_t wide_loop(wide_t *d, ir_val_t x)
{
    static const dtype_t counters[] = {DT_I32, DT_UI8, DT_I64, DT_I4};
    ir_type_t t = wide_type(d, x), types[3] = {ir_type_scalar(counters[wide_draw(d, 4)]), t, t};
    ir_val_t in[3] = {ir_scalar(d->fn, types[0].dtype, 0), x, wide_mate(d, t)};
    ir_region_t *saved, *regions[2];
    regions[0] = ir_region_begin(d->fn, 3, types, &saved);
    ir_val_t limit = ir_scalar(d->fn, types[0].dtype, wide_draw(d, 4));
    ir_val_t more = ir_compare(d->fn, "LT", regions[0]->arg, limit);
    ir_region_end(d->fn, regions[0], 1, &more, saved);
    regions[1] = ir_region_begin(d->fn, 3, types, &saved);
    ir_val_t arg = regions[1]->arg, next[3] = {0, 0, arg + 1};
    next[0] = ir_op2(d->fn, OP_add, arg, ir_scalar_like(d->fn, arg, 1));
    next[1] = ir_op2(d->fn, combiner(d, t.dtype), arg + 1, arg + 2);
    ir_region_end(d->fn, regions[1], 3, next, saved);
    ir_op_t *op = ir_emit(d->fn, OP_while, 3, in, NULL, 3, types, 2, regions);
    return op ? op->out + (ir_val_t)(1 + wide_draw(d, 2)) : IR_NONE;
}

/* select_and_scatter over windows of two of the last dimension. */
ir_val_t wide_pick(wide_t *d, ir_val_t x)
{
    ir_type_t t = wide_type(d, x), source = t;
    ir_window_t w = {0};
    if (t.rank == 0 || !is_number(t.dtype) || t.dim[t.rank - 1] < 2) return IR_NONE;
    for (int i = 0; i < t.rank; i++)
        w.size[i] = w.stride[i] = w.base_dilation[i] = w.window_dilation[i] = 1;
    w.size[t.rank - 1] = 2;
    w.stride[t.rank - 1] = 1 + wide_draw(d, 2);
    source.dim[t.rank - 1] = (t.dim[t.rank - 1] - 2) / w.stride[t.rank - 1] + 1;
    ir_region_t *select = ir_comparator(d->fn, wide_draw(d, 2) ? "GE" : "LT", t.dtype);
    ir_region_t *scatter = ir_reducer(d->fn, combiner(d, t.dtype), t.dtype);
    return ir_select_and_scatter(d->fn, x, wide_mate(d, source),
                                 ir_scalar(d->fn, t.dtype, wide_draw(d, 2)), &w, select, scatter);
}

/* A window of x where integers of the pool say. */
ir_val_t wide_dynamic(wide_t *d, ir_val_t x)
{
    ir_type_t t = wide_type(d, x), small = t;
    ir_val_t at[IR_MAX_RANK], n = wide_any(d);
    if (t.rank == 0 || !is_number(wide_type(d, n).dtype)) return IR_NONE;
    ir_val_t number = ir_reduce_all(d->fn, wide_draw(d, 2) ? OP_maximum : OP_minimum, n);
    for (int i = 0; i < t.rank; i++) {
        at[i] = wide_draw(d, 2) ? number : ir_scalar_like(d->fn, number, wide_draw(d, 4));
        small.dim[i] = 1 + wide_draw(d, (int)t.dim[i]);
    }
    if (wide_draw(d, 2)) return ir_dynamic_slice(d->fn, x, at, small.dim);
    return ir_dynamic_update_slice(d->fn, x, wide_mate(d, small), at);
}
