/* Gradient cases of ops that move, fold and contract: shape, dynamic, dot, convolution, reduce.
 * Those of windows, gather, scatter and sort are in gradient_cases_index.c. */
#include "gradient_cases.h"
#include "ir/build_index.h"

static ir_type_t f64(int rank, const int64_t *dim)
{
    return ir_type(DT_F64, rank, dim);
}

static ir_attrs_t attrs_of(ir_fn_t *fn, const char *name, int n, const int64_t *ints)
{
    ir_attrs_t attrs = {0};
    attr_set_ints(fn->module->arena, &attrs, name, ints, n);
    return attrs;
}

/* --- shape --- */

static void build_reshape(ir_fn_t *fn)
{
    ir_type_t to = f64(1, (int64_t[]){6});
    ir_reshape(fn, ir_fn_param(fn, 0), &to);
}

static void build_transpose(ir_fn_t *fn)
{
    ir_transpose(fn, ir_fn_param(fn, 0), (const int64_t[]){2, 0, 1});
}

static void build_broadcast(ir_fn_t *fn)
{
    ir_type_t to = f64(4, (int64_t[]){3, 2, 4, 5});
    ir_broadcast(fn, ir_fn_param(fn, 0), &to, (const int64_t[]){3, 1, 0});
}

static void build_broadcast_scalar(ir_fn_t *fn)
{
    ir_type_t to = f64(2, (int64_t[]){3, 2});
    ir_broadcast_scalar(fn, ir_fn_param(fn, 0), &to);
}

static void build_reverse(ir_fn_t *fn)
{
    ir_reverse(fn, ir_fn_param(fn, 0), (const int64_t[]){2, 0}, 2);
}

static void build_concatenate(ir_fn_t *fn)
{
    ir_val_t parts[3] = {ir_fn_param(fn, 0), ir_fn_param(fn, 1), ir_fn_param(fn, 2)};
    ir_concatenate(fn, parts, 3, 1);
}

static void build_slice(ir_fn_t *fn)
{
    ir_slice(fn, ir_fn_param(fn, 0), (const int64_t[]){1, 0, 2}, (const int64_t[]){8, 3, 3},
             (const int64_t[]){3, 2, 5});
}

static void build_slice_empty(ir_fn_t *fn)
{
    ir_slice(fn, ir_fn_param(fn, 0), (const int64_t[]){1, 1}, (const int64_t[]){2, 1}, NULL);
}

static void build_pad(ir_fn_t *fn)
{
    ir_pad(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1), (const int64_t[]){2, -1, -4},
           (const int64_t[]){1, 3, -1}, (const int64_t[]){1, 0, 2});
}

static void build_pad_past_all(ir_fn_t *fn)
{
    ir_pad(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1), (const int64_t[]){-5}, (const int64_t[]){7},
           NULL);
}

/* --- dynamic --- */

static ir_val_t index_scalar(ir_fn_t *fn, double value)
{
    return ir_scalar(fn, DT_I32, value);
}

static void build_dynamic_slice(ir_fn_t *fn)
{
    ir_val_t start[2] = {index_scalar(fn, 1), index_scalar(fn, 9)}; /* the second is clamped */
    ir_dynamic_slice(fn, ir_fn_param(fn, 0), start, (const int64_t[]){2, 3});
}

static void build_dynamic_update(ir_fn_t *fn)
{
    ir_val_t start[2] = {index_scalar(fn, -3), index_scalar(fn, 2)};
    ir_dynamic_update_slice(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1), start);
}

static ir_val_t shape_operand(ir_fn_t *fn, const ir_type_t *to)
{
    ir_type_t type = ir_type(DT_I64, 1, (int64_t[]){to->rank});
    tensor_t t = tensor_in(fn->module->arena, &type);
    for (int d = 0; d < to->rank; d++) tensor_set_i64(&t, d, to->dim[d]);
    return ir_const(fn, &t);
}

static void build_dynamic_broadcast(ir_fn_t *fn)
{
    ir_type_t to = f64(3, (int64_t[]){3, 2, 4});
    ir_val_t in[2] = {ir_fn_param(fn, 0), shape_operand(fn, &to)};
    ir_attrs_t attrs = attrs_of(fn, "broadcast_dimensions", 2, (int64_t[]){1, 0});
    ir_emit(fn, OP_dynamic_broadcast_in_dim, 2, in, &attrs, 1, &to, 0, NULL);
}

static void build_dynamic_reshape(ir_fn_t *fn)
{
    ir_type_t to = f64(2, (int64_t[]){3, 2});
    ir_val_t in[2] = {ir_fn_param(fn, 0), shape_operand(fn, &to)};
    ir_emit(fn, OP_dynamic_reshape, 2, in, NULL, 1, &to, 0, NULL);
}

/* --- dot_general --- */

static void build_dot_plain(ir_fn_t *fn)
{
    ir_matmul(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1));
}

static void build_dot_general(ir_fn_t *fn)
{
    /* batch 2, 3; contract 4, 5 (listed in different orders); free 2 and 3 */
    ir_dot_t dims = {.n_batch = 2,
                     .n_contract = 2,
                     .lhs_batch = {3, 0},
                     .rhs_batch = {1, 4},
                     .lhs_contract = {4, 1},
                     .rhs_contract = {3, 0}};
    ir_dot(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1), &dims, DT_NONE);
}

static void build_dot_outer(ir_fn_t *fn)
{
    ir_dot_t dims = {0};
    ir_dot(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1), &dims, DT_NONE);
}

static void build_dot_middle(ir_fn_t *fn)
{
    /* attention: batch in the middle of both operands, contraction first on one side */
    ir_dot_t dims = {.n_batch = 1,
                     .n_contract = 1,
                     .lhs_batch = {1},
                     .rhs_batch = {2},
                     .lhs_contract = {2},
                     .rhs_contract = {0}};
    ir_dot(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1), &dims, DT_NONE);
}

/* --- convolution --- */

typedef struct {
    int64_t dims[3][4]; /* lhs (batch, feature, spatial..), kernel (i, o, ..), out (b, f, ..) */
    int64_t stride[2], padding[4], base[2], dilation[2], reversal[2];
    int64_t feature_groups, batch_groups;
} conv_spec_t;

static void build_convolution(ir_fn_t *fn, const conv_spec_t *s)
{
    static const char *const names[3][3] = {
        {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
        {"kernel_input_feature_dimension", "kernel_output_feature_dimension",
         "kernel_spatial_dimensions"},
        {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"},
    };
    arena_t *arena = fn->module->arena;
    ir_attrs_t a = {0};
    for (int i = 0; i < 3; i++) {
        attr_set_int(arena, &a, names[i][0], s->dims[i][0]);
        attr_set_int(arena, &a, names[i][1], s->dims[i][1]);
        attr_set_ints(arena, &a, names[i][2], s->dims[i] + 2, 2);
    }
    attr_set_ints(arena, &a, "window_strides", s->stride, 2);
    attr_set_ints(arena, &a, "padding", s->padding, 4);
    attr_set_ints(arena, &a, "lhs_dilation", s->base, 2);
    attr_set_ints(arena, &a, "rhs_dilation", s->dilation, 2);
    attr_set_ints(arena, &a, "window_reversal", s->reversal, 2);
    attr_set_int(arena, &a, "feature_group_count", s->feature_groups);
    attr_set_int(arena, &a, "batch_group_count", s->batch_groups);
    ir_val_t in[2] = {ir_fn_param(fn, 0), ir_fn_param(fn, 1)};
    ir_emit(fn, OP_convolution, 2, in, &a, 1, NULL, 0, NULL);
}

/* NHWC with HWIO kernels, everything odd */
static void build_conv_dilated(ir_fn_t *fn)
{
    conv_spec_t s = {{{0, 3, 1, 2}, {2, 3, 0, 1}, {0, 3, 1, 2}},
                     {2, 3},
                     {1, 2, -1, 3},
                     {3, 1},
                     {1, 2},
                     {0, 1},
                     1,
                     1};
    build_convolution(fn, &s);
}

static void build_conv_features(ir_fn_t *fn)
{
    conv_spec_t s = {{{0, 1, 2, 3}, {1, 0, 2, 3}, {1, 0, 3, 2}},
                     {1, 2},
                     {0, 1, 1, 0},
                     {1, 1},
                     {2, 1},
                     {1, 0},
                     2,
                     1};
    build_convolution(fn, &s);
}

static void build_conv_batches(ir_fn_t *fn)
{
    conv_spec_t s = {{{2, 0, 1, 3}, {0, 1, 2, 3}, {0, 3, 1, 2}},
                     {2, 1},
                     {1, 1, 0, 2},
                     {1, 2},
                     {1, 1},
                     {0, 0},
                     1,
                     3};
    build_convolution(fn, &s);
}

/* --- reduce --- */

static void reduce_two(ir_fn_t *fn, op_code_t reducer)
{
    ir_val_t in[2] = {ir_fn_param(fn, 0), ir_fn_param(fn, 1)};
    ir_region_t *region = ir_reducer(fn, reducer, DT_F64);
    ir_attrs_t attrs = attrs_of(fn, "dimensions", 2, (int64_t[]){2, 0});
    ir_emit(fn, OP_reduce, 2, in, &attrs, 1, NULL, 1, &region);
}

static void build_reduce_add(ir_fn_t *fn)
{
    reduce_two(fn, OP_add);
}
static void build_reduce_multiply(ir_fn_t *fn)
{
    reduce_two(fn, OP_multiply);
}
static void build_reduce_maximum(ir_fn_t *fn)
{
    reduce_two(fn, OP_maximum);
}
static void build_reduce_minimum(ir_fn_t *fn)
{
    reduce_two(fn, OP_minimum);
}

/* (a, b) -> sin(a) * b + 0.5 a: no rule of its own */
static void build_reduce_any(ir_fn_t *fn)
{
    ir_type_t scalar = ir_type_scalar(DT_F64), types[2] = {scalar, scalar};
    ir_region_t *saved, *region = ir_region_begin(fn, 2, types, &saved);
    ir_val_t a = region->arg, b = region->arg + 1;
    ir_val_t half = ir_op2(fn, OP_multiply, a, ir_scalar(fn, DT_F64, 0.5));
    ir_val_t y = ir_op2(fn, OP_add, ir_op2(fn, OP_multiply, ir_op1(fn, OP_sine, a), b), half);
    ir_region_end(fn, region, 1, &y, saved);
    ir_val_t in[2] = {ir_fn_param(fn, 0), ir_fn_param(fn, 1)};
    ir_attrs_t attrs = attrs_of(fn, "dimensions", 2, (int64_t[]){0, 1});
    ir_emit(fn, OP_reduce, 2, in, &attrs, 1, NULL, 1, &region);
}

/* (value, index) -> the larger value with its index; the smaller index on ties */
static void build_reduce_argmax(ir_fn_t *fn)
{
    ir_type_t e = ir_type_scalar(DT_F64), i = ir_type_scalar(DT_I32), types[4] = {e, i, e, i};
    ir_type_t x = *ir_type_of(fn, ir_fn_param(fn, 0)), numbers = ir_type_with(x, DT_I32);
    ir_val_t in[4] = {ir_fn_param(fn, 0), ir_iota(fn, &numbers, 1), ir_fn_param(fn, 1),
                      ir_scalar(fn, DT_I32, -1)};
    ir_region_t *saved, *region = ir_region_begin(fn, 4, types, &saved);
    ir_val_t a = region->arg;
    ir_val_t first = ir_compare(fn, "GE", a, a + 2);
    ir_val_t y[2] = {ir_select(fn, first, a, a + 2), ir_select(fn, first, a + 1, a + 3)};
    ir_region_end(fn, region, 2, y, saved);
    ir_attrs_t attrs = attrs_of(fn, "dimensions", 1, (int64_t[]){1});
    ir_emit(fn, OP_reduce, 4, in, &attrs, 2, NULL, 1, &region);
}

/* Two sums at once, each element of the second weighted by the first's. */
static void build_reduce_pair(ir_fn_t *fn)
{
    ir_type_t e = ir_type_scalar(DT_F64), types[4] = {e, e, e, e};
    ir_region_t *saved, *region = ir_region_begin(fn, 4, types, &saved);
    ir_val_t a = region->arg;
    ir_val_t y[2] = {ir_op2(fn, OP_add, a, a + 2),
                     ir_op2(fn, OP_add, a + 1, ir_op2(fn, OP_multiply, a + 2, a + 3))};
    ir_region_end(fn, region, 2, y, saved);
    ir_val_t in[4];
    for (int i = 0; i < 4; i++) in[i] = ir_fn_param(fn, i);
    ir_attrs_t attrs = attrs_of(fn, "dimensions", 1, (int64_t[]){0});
    ir_emit(fn, OP_reduce, 4, in, &attrs, 2, NULL, 1, &region);
}

const gradient_case_t gradient_cases_structure[] = {
    {OP_reshape, "2x3 -> 6", {F64(2, 3)}, 0, 0, build_reshape},
    {OP_transpose, "2, 0, 1", {F64(2, 3, 4)}, 0, 0, build_transpose},
    {OP_broadcast_in_dim, "dims 3, 1, 0, one of size 1", {F64(5, 1, 3)}, 0, 0, build_broadcast},
    {OP_broadcast_in_dim, "scalar", {F64_SCALAR}, 0, 0, build_broadcast_scalar},
    {OP_reverse, "dims 2, 0", {F64(2, 3, 4)}, 0, 0, build_reverse},
    {OP_concatenate,
     "three parts, one empty",
     {F64(2, 3, 2), F64(2, 0, 2), F64(2, 2, 2)},
     0,
     0,
     build_concatenate},
    {OP_slice, "strides", {F64(9, 3, 4)}, 0, 0, build_slice},
    {OP_slice, "empty result", {F64(3, 2)}, 0, 0, build_slice_empty},
    {OP_pad, "negative and interior", {F64(3, 4, 3), F64_SCALAR}, 0, 0, build_pad},
    {OP_pad, "cuts off every element", {F64(3), F64_SCALAR}, 0, 0, build_pad_past_all},
    {OP_dynamic_slice, "start beyond the end", {F64(4, 5)}, 0, 0, build_dynamic_slice},
    {OP_dynamic_update_slice,
     "start before zero",
     {F64(4, 5), F64(2, 2)},
     0,
     0,
     build_dynamic_update},
    {OP_dynamic_broadcast_in_dim, "dims 1, 0", {F64(2, 3)}, 0, 0, build_dynamic_broadcast},
    {OP_dynamic_reshape, "6 -> 3x2", {F64(6)}, 0, 0, build_dynamic_reshape},
    {OP_dot_general, "matrices", {F64(3, 4), F64(4, 5)}, 0, 0, build_dot_plain},
    {OP_dot_general,
     "two batch and two contracting dimensions",
     {F64(3, 5, 2, 2, 4), F64(5, 2, 2, 4, 3)},
     0,
     0,
     build_dot_general},
    {OP_dot_general, "outer product", {F64(2, 3), F64(4)}, 0, 0, build_dot_outer},
    {OP_dot_general, "batch in the middle", {F64(3, 2, 4), F64(4, 3, 2)}, 0, 0, build_dot_middle},
    {OP_convolution,
     "strides, dilations, negative padding, reversal",
     {F64(2, 4, 7, 2), F64(3, 2, 2, 3)},
     0,
     0,
     build_conv_dilated},
    {OP_convolution,
     "feature groups",
     {F64(2, 4, 5, 6), F64(6, 2, 2, 3)},
     0,
     0,
     build_conv_features},
    {OP_convolution, "batch groups", {F64(2, 5, 6, 4), F64(2, 3, 2, 2)}, 0, 0, build_conv_batches},
    {OP_reduce, "add", {F64(3, 4, 2), F64_SCALAR}, 0, 0, build_reduce_add},
    {OP_reduce, "multiply", {F64(3, 4, 2), F64_SCALAR}, 0, 0, build_reduce_multiply},
    {OP_reduce, "maximum", {F64(3, 4, 2), F64_SCALAR}, 0, 0, build_reduce_maximum},
    {OP_reduce, "minimum", {F64(3, 4, 2), F64_SCALAR}, 0, 0, build_reduce_minimum},
    {OP_reduce, "any region", {F64(3, 2, 2), F64_SCALAR}, 0, 0, build_reduce_any},
    {OP_reduce, "argmax", {F64(3, 5), F64_SCALAR}, 0, 0, build_reduce_argmax},
    {OP_reduce, "pair", {F64(4, 2), F64(4, 2), F64_SCALAR, F64_SCALAR}, 0, 0, build_reduce_pair},
};
const int n_gradient_cases_structure = (int)(sizeof gradient_cases_structure /
                                             sizeof *gradient_cases_structure);
