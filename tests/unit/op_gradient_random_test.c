/* Reverse rules of the ops that move, fold and contract, on random shapes and attributes: negative
 * and interior padding, strides, dilations, groups, several batching and contracting dimensions in
 * any order, starts out of bounds, repeated places. Each seed is one case; failures name it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "gradient_cases.h"
#include "ir/build_index.h"

enum { N_SEED = 60 };

/* The case under construction. Builders run twice per case and take no argument, so it lives here.
 */
static struct {
    uint64_t seed, at;
    ir_dot_t dot;
    ir_window_t window;
    ir_gather_t gather;
    ir_type_t index;
    op_code_t reducer;
    int64_t low[4], high[4], step[4];
    int64_t layout[3][4], groups[2], reversal[2];
    int n;
} now;

static int64_t draw(int64_t lo, int64_t hi)
{
    return lo + (int64_t)(rng_bits(now.seed, now.at++) % (uint64_t)(hi - lo + 1));
}

/* A random order of 0 .. n - 1 */
static void shuffle(int n, int64_t *order)
{
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)draw(0, i);
        int64_t kept = order[i];
        order[i] = order[j], order[j] = kept;
    }
}

static op_code_t pick(const op_code_t *ops, int n)
{
    return ops[draw(0, n - 1)];
}

static ir_type_t shape(int rank, int64_t lo, int64_t hi)
{
    ir_type_t type = {.dtype = DT_F64, .rank = rank};
    for (int d = 0; d < rank; d++) type.dim[d] = draw(lo, hi);
    return type;
}

static void check(op_code_t op, const ir_type_t *in, int n_in, void (*build)(ir_fn_t *))
{
    char what[32];
    snprintf(what, sizeof what, "seed %d", (int)now.seed);
    gradient_case_t spec = {.op = op, .what = what, .build = build};
    for (int i = 0; i < n_in; i++) spec.in[i] = in[i];
    gradient_check(&spec, now.seed + 1000);
}

static void start(uint64_t seed)
{
    memset(&now, 0, sizeof now);
    now.seed = seed;
}

/* --- pad and slice --- */

static void build_pad(ir_fn_t *fn)
{
    ir_pad(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1), now.low, now.high, now.step);
}

static void build_slice(ir_fn_t *fn)
{
    ir_slice(fn, ir_fn_param(fn, 0), now.low, now.high, now.step);
}

static void test_pad(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < N_SEED; seed++) {
        start(seed);
        ir_type_t in[2] = {shape((int)draw(1, 3), 0, 4), ir_type_scalar(DT_F64)};
        for (int d = 0; d < in->rank; d++) {
            now.step[d] = draw(0, 2), now.low[d] = draw(-4, 3);
            int64_t n = in->dim[d], size = n ? (n - 1) * (now.step[d] + 1) + 1 : 0;
            int64_t least = -(size + now.low[d]);
            now.high[d] = draw(least > -4 ? least : -4, least > 2 ? least + 1 : 3);
        }
        check(OP_pad, in, 2, build_pad);
    }
}

static void test_slice(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < N_SEED; seed++) {
        start(seed);
        ir_type_t x = shape((int)draw(1, 3), 0, 6);
        for (int d = 0; d < x.rank; d++) {
            now.low[d] = draw(0, x.dim[d]);
            now.high[d] = draw(now.low[d], x.dim[d]);
            now.step[d] = draw(1, 4);
        }
        check(OP_slice, &x, 1, build_slice);
    }
}

/* --- dot_general --- */

static void build_dot(ir_fn_t *fn)
{
    ir_dot(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1), &now.dot, DT_NONE);
}

static void test_dot(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < N_SEED; seed++) {
        start(seed);
        ir_dot_t *dims = &now.dot;
        dims->n_batch = (int)draw(0, 2), dims->n_contract = (int)draw(0, 2);
        int paired = dims->n_batch + dims->n_contract;
        int64_t lhs[8], rhs[8];
        ir_type_t in[2] = {shape(paired + (int)draw(0, 2), 1, 3),
                           shape(paired + (int)draw(0, 2), 1, 3)};
        shuffle(in[0].rank, lhs);
        shuffle(in[1].rank, rhs);
        for (int i = 0; i < paired; i++) {
            in[1].dim[rhs[i]] = in[0].dim[lhs[i]];
            if (i < dims->n_batch)
                dims->lhs_batch[i] = lhs[i], dims->rhs_batch[i] = rhs[i];
            else
                dims->lhs_contract[i - dims->n_batch] = lhs[i],
                                       dims->rhs_contract[i - dims->n_batch] = rhs[i];
        }
        check(OP_dot_general, in, 2, build_dot);
    }
}

/* --- convolution --- */

static void build_convolution(ir_fn_t *fn)
{
    static const char *const names[3][3] = {
        {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
        {"kernel_input_feature_dimension", "kernel_output_feature_dimension",
         "kernel_spatial_dimensions"},
        {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"},
    };
    arena_t *arena = fn->module->arena;
    ir_attrs_t a = {0};
    int n = now.n;
    int64_t padding[4];
    for (int d = 0; d < n; d++)
        padding[2 * d] = now.window.low[d], padding[2 * d + 1] = now.window.high[d];
    for (int i = 0; i < 3; i++) {
        attr_set_int(arena, &a, names[i][0], now.layout[i][0]);
        attr_set_int(arena, &a, names[i][1], now.layout[i][1]);
        attr_set_ints(arena, &a, names[i][2], now.layout[i] + 2, n);
    }
    attr_set_ints(arena, &a, "window_strides", now.window.stride, n);
    attr_set_ints(arena, &a, "padding", padding, 2 * n);
    attr_set_ints(arena, &a, "lhs_dilation", now.window.base_dilation, n);
    attr_set_ints(arena, &a, "rhs_dilation", now.window.window_dilation, n);
    attr_set_ints(arena, &a, "window_reversal", now.reversal, n);
    attr_set_int(arena, &a, "feature_group_count", now.groups[0]);
    attr_set_int(arena, &a, "batch_group_count", now.groups[1]);
    ir_val_t in[2] = {ir_fn_param(fn, 0), ir_fn_param(fn, 1)};
    ir_emit(fn, OP_convolution, 2, in, &a, 1, NULL, 0, NULL);
}

/* Strides, dilations and padding for an operand of x and a window of w; the window fits or not. */
static void draw_window(int d, int64_t window)
{
    ir_window_t *w = &now.window;
    w->size[d] = window;
    w->stride[d] = draw(1, 3), w->base_dilation[d] = draw(1, 3), w->window_dilation[d] = draw(1, 2);
    w->low[d] = draw(-1, 3), w->high[d] = draw(-1, 3);
}

static void test_convolution(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < N_SEED; seed++) {
        start(seed);
        now.n = (int)draw(0, 2);
        int which = (int)draw(0, 2); /* no groups, feature groups, batch groups */
        now.groups[0] = which == 1 ? draw(2, 3) : 1;
        now.groups[1] = which == 2 ? draw(2, 3) : 1;
        ir_type_t in[2] = {{.dtype = DT_F64, .rank = now.n + 2},
                           {.dtype = DT_F64, .rank = now.n + 2}};
        for (int i = 0; i < 3; i++) shuffle(now.n + 2, now.layout[i]);
        int64_t features = draw(1, 2);
        in[0].dim[now.layout[0][0]] = draw(1, 2) * now.groups[1];
        in[0].dim[now.layout[0][1]] = features * now.groups[0];
        in[1].dim[now.layout[1][0]] = features;
        in[1].dim[now.layout[1][1]] = draw(1, 2) * now.groups[0] * now.groups[1];
        for (int d = 0; d < now.n; d++) {
            in[0].dim[now.layout[0][2 + d]] = draw(2, 5);
            in[1].dim[now.layout[1][2 + d]] = draw(1, 3);
            now.reversal[d] = draw(0, 1);
            draw_window(d, 1);
        }
        check(OP_convolution, in, 2, build_convolution);
    }
}

/* --- reduce and reduce_window --- */

static const op_code_t reducers[] = {OP_add, OP_multiply, OP_maximum, OP_minimum, OP_subtract};

static void build_reduce(ir_fn_t *fn)
{
    ir_val_t in[2] = {ir_fn_param(fn, 0), ir_fn_param(fn, 1)};
    ir_region_t *region = ir_reducer(fn, now.reducer, DT_F64);
    ir_attrs_t attrs = {0};
    attr_set_ints(fn->module->arena, &attrs, "dimensions", now.low, now.n);
    ir_emit(fn, OP_reduce, 2, in, &attrs, 1, NULL, 1, &region);
}

static void test_reduce(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < N_SEED; seed++) {
        start(seed);
        ir_type_t in[2] = {shape((int)draw(1, 4), 1, 3), ir_type_scalar(DT_F64)};
        shuffle(in->rank, now.low);
        now.n = (int)draw(0, in->rank);
        now.reducer = pick(reducers, 5);
        check(OP_reduce, in, 2, build_reduce);
    }
}

static void build_window(ir_fn_t *fn)
{
    double init = now.reducer == OP_maximum   ? -INFINITY
                  : now.reducer == OP_minimum ? INFINITY
                                              : now.reducer == OP_multiply;
    ir_val_t in[2] = {ir_fn_param(fn, 0), now.n ? ir_fn_param(fn, 1) : ir_scalar(fn, DT_F64, init)};
    ir_reduce_window(fn, 1, in, &now.window, ir_reducer(fn, now.reducer, DT_F64));
}

static void test_reduce_window(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < N_SEED; seed++) {
        start(seed);
        ir_type_t in[2] = {shape((int)draw(1, 2), 2, 5), ir_type_scalar(DT_F64)};
        now.reducer = pick(reducers, 5);
        for (int d = 0; d < in->rank; d++) draw_window(d, draw(1, 3));
        /* maximum and minimum of padding alone are infinite: give those a finite initial value */
        now.n = now.reducer == OP_maximum || now.reducer == OP_minimum || draw(0, 1);
        check(OP_reduce_window, in, 1 + now.n, build_window);
    }
}

/* --- gather, scatter and dynamic slices --- */

/* Dimension lists over x for windows and starts of any kind; the small operand's type to *small. */
static void draw_places(const ir_type_t *x, ir_type_t *small)
{
    ir_gather_t *g = &now.gather;
    int64_t order[4], place[4];
    int n_place = (int)draw(0, 2), n_window = 0;
    shuffle(x->rank, order);
    g->n_start = (int)draw(1, x->rank);
    for (int e = 0; e < g->n_start; e++) g->start_map[e] = order[e];
    for (int d = 0; d < x->rank; d++) {
        bool collapsed = draw(0, 1);
        g->slice[d] = collapsed ? 1 : draw(1, x->dim[d]);
        if (collapsed) g->collapsed[g->n_collapsed++] = d;
        n_window += !collapsed;
    }
    for (int p = 0; p < n_place; p++) place[p] = draw(1, 3);
    /* the index tensor: places with the vector dimension put in somewhere */
    g->index_vector_dim = draw(0, n_place);
    now.index = (ir_type_t){.dtype = DT_I32, .rank = n_place + 1};
    for (int d = 0, p = 0; d <= n_place; d++)
        now.index.dim[d] = d == g->index_vector_dim ? g->n_start : place[p++];
    /* the small operand: window and place dimensions mixed, each kind in order */
    *small = (ir_type_t){.dtype = DT_F64, .rank = n_place + n_window};
    for (int d = 0, p = 0, w = 0, from = 0; d < small->rank; d++) {
        bool is_window = p == n_place || (w < n_window && draw(0, 1));
        if (!is_window) {
            small->dim[d] = place[p++];
            continue;
        }
        bool used = true;
        while (used) { /* the next operand dimension that was not collapsed */
            used = false;
            for (int i = 0; i < g->n_collapsed; i++) used |= g->collapsed[i] == from;
            from += used;
        }
        small->dim[d] = g->slice[from++];
        g->offset_dims[w++] = d;
    }
    g->n_offset = n_window;
}

static ir_val_t index_constant(ir_fn_t *fn)
{
    tensor_t t = tensor_in(fn->module->arena, &now.index);
    for (int64_t i = 0; i < ir_type_count(&now.index); i++)
        tensor_set_i64(&t, i, (int64_t)(rng_bits(now.seed + 77, (uint64_t)i) % 7) - 2);
    return ir_const(fn, &t);
}

static void build_gather(ir_fn_t *fn)
{
    ir_gather(fn, ir_fn_param(fn, 0), index_constant(fn), &now.gather);
}

static void build_scatter(ir_fn_t *fn)
{
    ir_scatter(fn, now.reducer, ir_fn_param(fn, 0), index_constant(fn), ir_fn_param(fn, 1),
               &now.gather);
}

static void test_gather(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < N_SEED; seed++) {
        start(seed);
        ir_type_t x = shape((int)draw(1, 3), 1, 5), small;
        draw_places(&x, &small);
        check(OP_gather, &x, 1, build_gather);
    }
}

static void test_scatter(void **state)
{
    (void)state;
    static const op_code_t combine[] = {OP_add, OP_multiply, OP_maximum, OP_minimum, OP_invalid};
    for (uint64_t seed = 0; seed < 2 * N_SEED; seed++) {
        start(seed);
        ir_type_t in[2] = {shape((int)draw(1, 3), 1, 5)};
        draw_places(&in[0], &in[1]);
        now.reducer = pick(combine, 5);
        check(OP_scatter, in, 2, build_scatter);
    }
}

static void starts(ir_fn_t *fn, int rank, ir_val_t *at)
{
    for (int d = 0; d < rank; d++) at[d] = ir_scalar(fn, DT_I32, (double)now.low[d]);
}

static void build_dynamic_slice(ir_fn_t *fn)
{
    ir_val_t at[4];
    starts(fn, now.n, at);
    ir_dynamic_slice(fn, ir_fn_param(fn, 0), at, now.high);
}

static void build_dynamic_update(ir_fn_t *fn)
{
    ir_val_t at[4];
    starts(fn, now.n, at);
    ir_dynamic_update_slice(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1), at);
}

static void test_dynamic_slices(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < N_SEED; seed++) {
        start(seed);
        ir_type_t in[2] = {shape((int)draw(1, 3), 1, 4)};
        in[1] = in[0];
        now.n = in->rank;
        for (int d = 0; d < now.n; d++) {
            now.low[d] = draw(-2, 5);
            now.high[d] = in[1].dim[d] = draw(0, in->dim[d]);
        }
        check(OP_dynamic_slice, in, 1, build_dynamic_slice);
        check(OP_dynamic_update_slice, in, 2, build_dynamic_update);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pad),
        cmocka_unit_test(test_slice),
        cmocka_unit_test(test_dot),
        cmocka_unit_test(test_convolution),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_reduce_window),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_dynamic_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
