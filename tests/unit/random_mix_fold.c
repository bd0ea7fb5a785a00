/* What folds many elements into one: reductions, products, windows; and orders. */
#include "random_mix_in.h"

static ir_attrs_t attr_of(mix_t *mix, const char *name, int64_t value)
{
    ir_attrs_t attrs = {0};
    attr_set_int(mix->fn->module->arena, &attrs, name, value);
    return attrs;
}

/* Booleans by and/or, integers by anything, floats by add, maximum and minimum. */
static op_code_t reducer_for(mix_t *mix, dtype_t dtype, bool exact)
{
    static const op_code_t codes[] = {OP_add, OP_maximum, OP_minimum, OP_xor,
                                      OP_and, OP_or,      OP_multiply};
    if (dtype == DT_I1) return mix_draw(mix, 2) ? OP_and : OP_or;
    if (!dtype_is_float(dtype)) return codes[mix_draw(mix, 7)];
    if (mix->smooth && !exact) return OP_add;
    return codes[mix_draw(mix, 2) ? 0 : mix_draw(mix, 3)];
}

/* The dimensions of [0, rank) that are not among dims[n], ascending. */
static void kept_dims(int rank, const int64_t *dims, int n, int64_t *kept)
{
    for (int i = 0, k = 0, r = 0; i < rank; i++) {
        if (r < n && dims[r] == i)
            r++;
        else
            kept[k++] = i;
    }
}

/* Some dimensions folded; half the time the result goes back over x, as norms do. */
ir_val_t mix_reduce(mix_t *mix, ir_val_t x)
{
    ir_fn_t *fn = mix->fn;
    const ir_type_t t = mix_type(mix, x);
    int64_t dims[IR_MAX_RANK], kept[IR_MAX_RANK];
    int n = 0;
    for (int i = 0; i < t.rank; i++)
        if (mix_draw(mix, 2)) dims[n++] = i;
    op_code_t code = reducer_for(mix, t.dtype, mix_is_exact(mix, x));
    bool sums = dtype_is_float(t.dtype) && code == OP_add;
    int64_t count = 1;
    for (int i = 0; i < n; i++) count *= t.dim[dims[i]];
    ir_val_t y = ir_reduce(fn, code, sums ? mix_before_sum(mix, x, count) : x, dims, n);
    if (sums) y = mix_squash(mix, y);
    if (n == t.rank || mix_draw(mix, 2)) return y;
    kept_dims(t.rank, dims, n, kept);
    y = ir_broadcast(fn, y, &t, kept);
    if (t.dtype == DT_I1) return ir_op2(fn, OP_xor, x, y);
    return ir_op2(fn, mix_draw(mix, 2) ? OP_subtract : OP_multiply, x, y);
}

/* Pair equal dimensions of x and y as batch or contracting ones, others stay. */
static bool pair_up(mix_t *mix, const ir_type_t *a, const ir_type_t *b, ir_dot_t *dot)
{
    bool used[IR_MAX_RANK] = {false};
    int64_t n = 1;
    *dot = (ir_dot_t){0};
    for (int p = 0; p < a->rank; p++)
        for (int q = 0; q < b->rank; q++) {
            if (used[q] || a->dim[p] != b->dim[q] || mix_draw(mix, 3) == 0) continue;
            used[q] = true;
            if (mix_draw(mix, 3)) {
                dot->lhs_contract[dot->n_contract] = p;
                dot->rhs_contract[dot->n_contract++] = q;
            } else {
                dot->lhs_batch[dot->n_batch] = p;
                dot->rhs_batch[dot->n_batch++] = q;
            }
            n *= a->dim[p];
            break;
        }
    int rank = a->rank + b->rank - 2 * dot->n_contract - dot->n_batch;
    int64_t free = ir_type_count(a) / n * (ir_type_count(b) / n);
    return dot->n_contract > 0 && rank <= MIX_RANK && n > 0 && free * n <= 100 * MIX_MOST;
}

ir_val_t mix_product(mix_t *mix, ir_val_t x)
{
    if (mix_dtype(mix, x) == DT_I1) x = mix_float(mix);
    const ir_type_t a = mix_type(mix, x);
    for (int i = 0; i < 12; i++) {
        ir_val_t y = mix_any(mix);
        ir_dot_t dot;
        const ir_type_t b = mix_type(mix, y);
        if (dtype_is_float(a.dtype) != dtype_is_float(b.dtype) || b.dtype == DT_I1) continue;
        if (!pair_up(mix, &a, &b, &dot)) continue;
        dtype_t to = dtype_is_float(a.dtype) && mix_draw(mix, 4) == 0 ? DT_F32 : a.dtype;
        ir_val_t z = ir_dot(mix->fn, x, ir_convert(mix->fn, y, a.dtype), &dot, to);
        return mix_squash(mix, ir_op2(mix->fn, OP_multiply, z, ir_scalar_like(mix->fn, z, 1)));
    }
    return IR_NONE;
}

/* x [.., .., h, w]-like rank 3 as [n, c, w] with a kernel [o, c, k] cut from x itself. */
ir_val_t mix_convolve(mix_t *mix, ir_val_t x)
{
    static const char *const names[3][3] = {
        {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
        {"kernel_output_feature_dimension", "kernel_input_feature_dimension",
         "kernel_spatial_dimensions"},
        {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"},
    };
    ir_fn_t *fn = mix->fn;
    if (mix_dtype(mix, x) == DT_I1) x = mix_float(mix);
    ir_type_t t = mix_type(mix, x);
    if (t.rank != 3) {
        t = ir_type_with(mix_type(mix, ir_fn_param(fn, 1)), t.dtype);
        x = mix_fit(mix, x, t);
    }
    arena_t *arena = fn->module->arena;
    ir_attrs_t a = {0};
    int64_t two = 2, start[3] = {0}, limit[3], step = 1 + mix_draw(mix, 2), wide;
    int64_t padding[2] = {mix_draw(mix, 3), mix_draw(mix, 2)};
    limit[0] = 1 + mix_draw(mix, t.dim[0] < 4 ? (int)t.dim[0] : 4);
    limit[1] = t.dim[1];
    limit[2] = wide = 1 + mix_draw(mix, t.dim[2] < 3 ? (int)t.dim[2] : 3);
    if (ir_type_count(&t) * limit[0] * wide > 60 * MIX_MOST) return IR_NONE;
    for (int i = 0; i < 3; i++) {
        attr_set_int(arena, &a, names[i][0], 0);
        attr_set_int(arena, &a, names[i][1], 1);
        attr_set_ints(arena, &a, names[i][2], &two, 1);
    }
    attr_set_ints(arena, &a, "window_strides", &step, 1);
    attr_set_ints(arena, &a, "padding", padding, 2);
    attr_set_int(arena, &a, "feature_group_count", 1);
    attr_set_int(arena, &a, "batch_group_count", 1);
    ir_val_t in[2] = {x, ir_slice(fn, x, start, limit, NULL)};
    ir_op_t *op = ir_emit(fn, OP_convolution, 2, in, &a, 1, NULL, 0, NULL);
    return op ? mix_squash(mix, op->out) : IR_NONE;
}

/* Sums and maxima of windows; running sums among them. */
ir_val_t mix_pool(mix_t *mix, ir_val_t x)
{
    ir_fn_t *fn = mix->fn;
    const ir_type_t t = mix_type(mix, x);
    ir_window_t w = {0};
    if (t.rank == 0 || t.dtype == DT_I1) return IR_NONE;
    int along = mix_draw(mix, t.rank);
    bool sums = (mix->smooth && !mix_is_exact(mix, x)) || mix_draw(mix, 2),
         running = sums && t.dim[along] <= 64;
    for (int i = 0; i < t.rank; i++) {
        bool here = i == along;
        w.stride[i] = w.base_dilation[i] = w.window_dilation[i] = w.size[i] = 1;
        if (here) w.size[i] = running ? t.dim[i] : 1 + mix_draw(mix, 3);
        if (here) w.low[i] = w.size[i] - 1;
        if (here && !running) w.stride[i] = 1 + mix_draw(mix, 2);
    }
    ir_val_t in[2] = {x, ir_scalar(fn, t.dtype, 0)};
    ir_region_t *region = ir_reducer(fn, sums ? OP_add : OP_maximum, t.dtype);
    ir_op_t *op = ir_reduce_window(fn, 1, in, &w, region);
    return op ? mix_squash(mix, op->out) : IR_NONE;
}

/* The k largest of each row of an exact x, or where they are. */
static ir_val_t top_k(mix_t *mix, ir_val_t x, const ir_type_t *t)
{
    ir_attrs_t attrs = attr_of(mix, "k", 1 + mix_draw(mix, (int)t->dim[t->rank - 1]));
    ir_op_t *op = ir_emit(mix->fn, OP_chlo_top_k, 1, &x, &attrs, 2, NULL, 0, NULL);
    return op ? op->out + (ir_val_t)mix_draw(mix, 2) : IR_NONE;
}

/* x sorted; or, by an exact key of its shape, something else put in order. */
ir_val_t mix_sort(mix_t *mix, ir_val_t x)
{
    ir_fn_t *fn = mix->fn;
    const ir_type_t t = mix_type(mix, x);
    if (t.rank == 0 || t.dtype == DT_I1 || (mix->smooth && !mix_is_exact(mix, x))) return IR_NONE;
    if (mix_is_exact(mix, x) && mix_draw(mix, 3) == 0) return top_k(mix, x, &t);
    arena_t *arena = fn->module->arena;
    ir_attrs_t attrs = attr_of(mix, "dimension", mix_draw(mix, t.rank));
    attr_set_bool(arena, &attrs, "is_stable", true);
    const char *direction = mix_draw(mix, 2) ? "LT" : "GT";
    if (!mix_is_exact(mix, x) || mix_draw(mix, 2)) {
        ir_region_t *region = ir_comparator(fn, direction, t.dtype);
        ir_op_t *op = ir_emit(fn, OP_sort, 1, &x, &attrs, 1, NULL, 1, &region);
        return op ? op->out : IR_NONE;
    }
    ir_val_t other = mix_like(mix, ir_type_with(t, mix_draw(mix, 2) ? DT_F32 : DT_I32));
    ir_type_t k = ir_type_scalar(t.dtype), o = ir_type_scalar(mix_dtype(mix, other));
    ir_type_t types[4] = {k, k, o, o};
    ir_region_t *saved, *region = ir_region_begin(fn, 4, types, &saved);
    ir_val_t before = ir_compare(fn, direction, region->arg, region->arg + 1);
    ir_region_end(fn, region, 1, &before, saved);
    ir_val_t in[2] = {x, other};
    ir_op_t *op = ir_emit(fn, OP_sort, 2, in, &attrs, 2, NULL, 1, &region);
    return op ? op->out + 1 : IR_NONE;
}

/* Where along a dimension an exact x is largest: a reduction of pairs. */
ir_val_t mix_arg(mix_t *mix, ir_val_t x)
{
    ir_fn_t *fn = mix->fn;
    const ir_type_t t = mix_type(mix, x);
    if (t.rank == 0 || t.dtype == DT_I1 || !mix_is_exact(mix, x)) return IR_NONE;
    int64_t dim = mix_draw(mix, t.rank);
    ir_type_t place = ir_type_with(t, DT_I32), k = ir_type_scalar(t.dtype);
    ir_type_t i32 = ir_type_scalar(DT_I32), types[4] = {k, i32, k, i32};
    ir_val_t in[4] = {x, ir_iota(fn, &place, (int)dim), ir_scalar(fn, t.dtype, 0),
                      ir_scalar(fn, DT_I32, 0)};
    ir_region_t *saved, *region = ir_region_begin(fn, 4, types, &saved);
    ir_val_t a = region->arg, p = ir_compare(fn, "GE", a, a + 2);
    ir_val_t results[2] = {ir_select(fn, p, a, a + 2), ir_select(fn, p, a + 1, a + 3)};
    ir_region_end(fn, region, 2, results, saved);
    ir_attrs_t attrs = {0};
    attr_set_ints(fn->module->arena, &attrs, "dimensions", &dim, 1);
    ir_op_t *op = ir_emit(fn, OP_reduce, 4, in, &attrs, 2, NULL, 1, &region);
    return op ? op->out + 1 : IR_NONE;
}
