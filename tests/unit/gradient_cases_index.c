/* Gradient cases of ops whose places come from data, and of windows: gather, scatter,
 * reduce_window, select_and_scatter, sort. Starts out of bounds are among them. */
#include <math.h>

#include "gradient_cases.h"
#include "ir/build_index.h"

static ir_val_t integers(ir_fn_t *fn, dtype_t dtype, int rank, const int64_t *dim,
                         const int64_t *value)
{
    ir_type_t type = ir_type(dtype, rank, dim);
    tensor_t t = tensor_in(fn->module->arena, &type);
    for (int64_t i = 0; i < ir_type_count(&type); i++) tensor_set_i64(&t, i, value[i]);
    return ir_const(fn, &t);
}

/* --- gather --- */

/* rows of a table by number; -3 and 99 are clamped, 2 comes twice */
static void build_gather_rows(ir_fn_t *fn)
{
    ir_gather_t dims = {.n_offset = 1,
                        .n_collapsed = 1,
                        .n_start = 1,
                        .offset_dims = {2},
                        .index_vector_dim = 2,
                        .slice = {1, 3}};
    ir_val_t index = integers(fn, DT_I64, 2, (int64_t[]){2, 3}, (int64_t[]){2, -3, 0, 99, 2, 4});
    ir_gather(fn, ir_fn_param(fn, 0), index, &dims);
}

/* windows of 2x2 in dimensions 2 and 0 of a rank-4 operand with a batching dimension */
static void build_gather_windows(ir_fn_t *fn)
{
    ir_gather_t dims = {.n_offset = 2,
                        .n_collapsed = 1,
                        .n_batch = 1,
                        .n_start = 2,
                        .offset_dims = {0, 2},
                        .collapsed = {3},
                        .batch = {1},
                        .index_batch = {2},
                        .start_map = {2, 0},
                        .index_vector_dim = 0,
                        .slice = {2, 1, 2, 1}};
    ir_val_t index = integers(fn, DT_I32, 3, (int64_t[]){2, 2, 3},
                              (int64_t[]){0, 1, 2, 3, 4, -1, 2, 1, 0, 7, 1, 1});
    ir_gather(fn, ir_fn_param(fn, 0), index, &dims);
}

/* small unsigned indices without a vector dimension into a dimension longer than they can say */
static void build_gather_narrow(ir_fn_t *fn)
{
    ir_gather_t dims = {.n_collapsed = 1, .n_start = 1, .index_vector_dim = 1, .slice = {1}};
    ir_val_t index = integers(fn, DT_UI8, 1, (int64_t[]){3}, (int64_t[]){255, 0, 255});
    ir_gather(fn, ir_fn_param(fn, 0), index, &dims);
}

/* --- scatter --- */

/* windows of 2x3 into a 4x5 operand: one inside, one partly out at the end, one partly before the
 * start, one wholly outside, one over the first */
static void scatter_windows(ir_fn_t *fn, op_code_t combine, bool unique)
{
    ir_gather_t dims = {.n_offset = 2,
                        .n_start = 2,
                        .offset_dims = {0, 2},
                        .start_map = {1, 0},
                        .index_vector_dim = 1,
                        .unique = unique};
    static const int64_t overlapping[] = {1, 0, 3, 3, -1, 2, 9, -9, 2, 1};
    static const int64_t apart[] = {0, 0, 3, 3, -2, 2, 9, -9, 4, 0};
    ir_val_t index = integers(fn, DT_I32, 2, (int64_t[]){5, 2}, unique ? apart : overlapping);
    ir_scatter(fn, combine, ir_fn_param(fn, 0), index, ir_fn_param(fn, 1), &dims);
}

static void build_scatter_add(ir_fn_t *fn)
{
    scatter_windows(fn, OP_add, false);
}
static void build_scatter_multiply(ir_fn_t *fn)
{
    scatter_windows(fn, OP_multiply, false);
}
static void build_scatter_multiply_unique(ir_fn_t *fn)
{
    scatter_windows(fn, OP_multiply, true);
}
static void build_scatter_maximum(ir_fn_t *fn)
{
    scatter_windows(fn, OP_maximum, false);
}
static void build_scatter_minimum(ir_fn_t *fn)
{
    scatter_windows(fn, OP_minimum, false);
}
static void build_scatter_replace(ir_fn_t *fn)
{
    scatter_windows(fn, OP_invalid, false);
}
static void build_scatter_replace_unique(ir_fn_t *fn)
{
    scatter_windows(fn, OP_invalid, true);
}

/* single elements, a batching dimension; several updates at one place */
static void build_scatter_batched(ir_fn_t *fn)
{
    ir_gather_t dims = {.n_collapsed = 1,
                        .n_batch = 1,
                        .n_start = 1,
                        .collapsed = {1},
                        .batch = {0},
                        .index_batch = {1},
                        .start_map = {1},
                        .index_vector_dim = 2};
    ir_val_t index = integers(fn, DT_I64, 2, (int64_t[]){3, 2}, (int64_t[]){0, 3, 0, -1, 2, 3});
    ir_scatter(fn, OP_add, ir_fn_param(fn, 0), index, ir_fn_param(fn, 1), &dims);
}

/* Updates 0, 0, 1, 2 at places 0, 1, 1, 2: the zeros hit places 0 and 1. */
static void build_scatter_zero_factor(ir_fn_t *fn)
{
    ir_gather_t dims = {.n_collapsed = 1, .n_start = 1, .index_vector_dim = 1};
    ir_val_t index = integers(fn, DT_I32, 1, (int64_t[]){4}, (int64_t[]){0, 1, 1, 2});
    ir_type_t type = ir_type(DT_F64, 1, (int64_t[]){4});
    tensor_t t = tensor_in(fn->module->arena, &type);
    for (int i = 0; i < 3; i++) tensor_set_f64(&t, i + 1, i);
    ir_scatter(fn, OP_multiply, ir_fn_param(fn, 0), index, ir_const(fn, &t), &dims);
}

/* --- windows --- */

static const ir_window_t odd_window = {.size = {2, 3},
                                       .stride = {2, 1},
                                       .base_dilation = {1, 2},
                                       .window_dilation = {2, 1},
                                       .low = {1, -1},
                                       .high = {0, 3}};
static const ir_window_t plain_window = {.size = {2, 3},
                                         .stride = {2, 1},
                                         .base_dilation = {1, 1},
                                         .window_dilation = {1, 1},
                                         .low = {1, 0},
                                         .high = {0, 2}};

static void build_window_odd_add(ir_fn_t *fn)
{
    ir_val_t in[2] = {ir_fn_param(fn, 0), ir_scalar(fn, DT_F64, 0)};
    ir_reduce_window(fn, 1, in, &odd_window, ir_reducer(fn, OP_add, DT_F64));
}
static void build_window_add_init(ir_fn_t *fn)
{
    ir_val_t in[2] = {ir_fn_param(fn, 0), ir_fn_param(fn, 1)};
    ir_reduce_window(fn, 1, in, &odd_window, ir_reducer(fn, OP_add, DT_F64));
}
static void build_window_maximum(ir_fn_t *fn)
{
    ir_val_t in[2] = {ir_fn_param(fn, 0), ir_scalar(fn, DT_F64, -INFINITY)};
    ir_reduce_window(fn, 1, in, &plain_window, ir_reducer(fn, OP_maximum, DT_F64));
}
static void build_window_minimum(ir_fn_t *fn)
{
    ir_val_t in[2] = {ir_fn_param(fn, 0), ir_scalar(fn, DT_F64, INFINITY)};
    ir_reduce_window(fn, 1, in, &plain_window, ir_reducer(fn, OP_minimum, DT_F64));
}
static void build_window_odd_maximum(ir_fn_t *fn)
{
    ir_val_t in[2] = {ir_fn_param(fn, 0), ir_scalar(fn, DT_F64, -100)};
    ir_reduce_window(fn, 1, in, &odd_window, ir_reducer(fn, OP_maximum, DT_F64));
}
static void build_window_multiply(ir_fn_t *fn)
{
    ir_val_t in[2] = {ir_fn_param(fn, 0), ir_scalar(fn, DT_F64, 1)};
    ir_reduce_window(fn, 1, in, &odd_window, ir_reducer(fn, OP_multiply, DT_F64));
}

static void cumulative(ir_fn_t *fn, op_code_t reducer, double init, bool forward)
{
    ir_window_t w = {
        .size = {1, 7}, .stride = {1, 1}, .base_dilation = {1, 1}, .window_dilation = {1, 1}};
    (forward ? w.low : w.high)[1] = 6;
    ir_val_t in[2] = {ir_fn_param(fn, 0), ir_scalar(fn, DT_F64, init)};
    ir_reduce_window(fn, 1, in, &w, ir_reducer(fn, reducer, DT_F64));
}
static void build_cumsum(ir_fn_t *fn)
{
    cumulative(fn, OP_add, 0, true);
}
static void build_cumprod(ir_fn_t *fn)
{
    cumulative(fn, OP_multiply, 1, true);
}
static void build_cumprod_back(ir_fn_t *fn)
{
    cumulative(fn, OP_multiply, 1, false);
}
static void build_cumprod_scaled(ir_fn_t *fn)
{
    cumulative(fn, OP_multiply, 0.7, true);
}
static void build_cummax(ir_fn_t *fn)
{
    cumulative(fn, OP_maximum, -INFINITY, true);
}

static void build_select_scatter(ir_fn_t *fn)
{
    ir_region_t *select = ir_comparator(fn, "GE", DT_F64);
    ir_region_t *add = ir_reducer(fn, OP_add, DT_F64);
    ir_select_and_scatter(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1), ir_fn_param(fn, 2),
                          &plain_window, select, add);
}

/* --- sort --- */

/* by the first operand, falling, along dimension 0 */
static void build_sort(ir_fn_t *fn)
{
    ir_type_t e = ir_type_scalar(DT_F64), types[6] = {e, e, e, e, e, e};
    ir_region_t *saved, *region = ir_region_begin(fn, 6, types, &saved);
    ir_val_t y = ir_compare(fn, "GT", region->arg, region->arg + 1);
    ir_region_end(fn, region, 1, &y, saved);
    ir_val_t in[3] = {ir_fn_param(fn, 0), ir_fn_param(fn, 1), ir_fn_param(fn, 2)};
    ir_attrs_t attrs = {0};
    attr_set_int(fn->module->arena, &attrs, "dimension", 0);
    attr_set_bool(fn->module->arena, &attrs, "is_stable", true);
    ir_emit(fn, OP_sort, 3, in, &attrs, 3, NULL, 1, &region);
}

const gradient_case_t gradient_cases_index[] = {
    {OP_gather, "rows, some out of bounds", {F64(5, 3)}, 0, 0, build_gather_rows},
    {OP_gather, "windows with a batching dimension", {F64(3, 3, 4, 2)}, 0, 0, build_gather_windows},
    {OP_gather, "ui8 indices", {F64(300)}, 0, 0, build_gather_narrow},
    {OP_scatter, "add, partly out of bounds", {F64(4, 5), F64(2, 5, 3)}, 0, 0, build_scatter_add},
    {OP_scatter, "add, batching dimension", {F64(2, 4), F64(3, 2)}, 0, 0, build_scatter_batched},
    {OP_scatter, "replace", {F64(4, 5), F64(2, 5, 3)}, 0, 0, build_scatter_replace},
    {OP_scatter, "replace, unique", {F64(4, 5), F64(2, 5, 3)}, 0, 0, build_scatter_replace_unique},
    {OP_scatter, "multiply", {F64(4, 5), F64(2, 5, 3)}, 0, 0, build_scatter_multiply},
    {OP_scatter,
     "multiply, unique",
     {F64(4, 5), F64(2, 5, 3)},
     0,
     0,
     build_scatter_multiply_unique},
    {OP_scatter, "multiply by zeros", {F64(4)}, 0, 0, build_scatter_zero_factor},
    {OP_scatter, "maximum", {F64(4, 5), F64(2, 5, 3)}, 0, 0, build_scatter_maximum},
    {OP_scatter, "minimum", {F64(4, 5), F64(2, 5, 3)}, 0, 0, build_scatter_minimum},
    {OP_reduce_window, "add, dilated both ways", {F64(5, 4)}, 0, 0, build_window_odd_add},
    {OP_reduce_window, "add, initial value", {F64(5, 4), F64_SCALAR}, 0, 0, build_window_add_init},
    {OP_reduce_window, "maximum", {F64(5, 4)}, 0, 0, build_window_maximum},
    {OP_reduce_window, "minimum", {F64(5, 4)}, 0, 0, build_window_minimum},
    {OP_reduce_window, "maximum, dilated", {F64(5, 4)}, 0, 0, build_window_odd_maximum},
    {OP_reduce_window, "multiply, dilated", {F64(5, 4)}, 0, 0, build_window_multiply},
    {OP_reduce_window, "cumulative sum", {F64(2, 7)}, 0, 0, build_cumsum},
    {OP_reduce_window, "cumulative product", {F64(2, 7)}, 0, 0, build_cumprod},
    {OP_reduce_window, "cumulative product from the end", {F64(2, 7)}, 0, 0, build_cumprod_back},
    {OP_reduce_window, "product, each padding counts", {F64(2, 7)}, 0, 0, build_cumprod_scaled},
    {OP_reduce_window, "cumulative maximum", {F64(2, 7)}, 0, 0, build_cummax},
    {OP_select_and_scatter,
     "GE, add",
     {F64(5, 4), F64(3, 4), F64_SCALAR},
     0,
     0,
     build_select_scatter},
    {OP_sort, "three operands", {F64(5, 2), F64(5, 2), F64(5, 2)}, 0, 0, build_sort},
};
const int n_gradient_cases_index = (int)(sizeof gradient_cases_index /
                                         sizeof *gradient_cases_index);
