/* dot_general, convolution, reduce: hand values, rounding, and what their type rules refuse. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops_hand.h"

#define I64S(...)   \
    (int64_t[])     \
    {               \
        __VA_ARGS__ \
    }

/* --- dot_general --- */

static void test_dot_every_type(void **state)
{
    (void)state;
    for (dtype_t dtype = DT_NONE + 1; dtype < DT_COUNT; dtype++) {
        if (dtype_bits(dtype) < 8 || dtype == DT_F8E8M0FNU) continue; /* no room, no sums */
        hand_t h = hand_begin();
        double want[4] = {5, 11, 14, 23};
        for (int i = 0; i < 4; i++) {
            ir_type_t one = ir_type_scalar(dtype);
            tensor_t t = tensor_splat_f64(h.module->arena, &one, want[i]);
            want[i] = tensor_get_f64(&t, 0); /* rounded to the types of few digits */
        }
        ir_val_t a = hand_value(h.fn, dtype, SHAPE(2, 3), VALUES(1, 2, 3, 4, 5, 6));
        ir_val_t b = hand_value(h.fn, dtype, SHAPE(3, 2), VALUES(1, 0, 2, 1, 0, 3));
        hand_expect(&h, ir_matmul(h.fn, a, b), dtype, SHAPE(2, 2), 4, want);
    }
}

static void test_dot_bool(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t a = hand_value(h.fn, DT_I1, SHAPE(1, 2), VALUES(1));
    ir_val_t b = hand_value(h.fn, DT_I1, SHAPE(2, 2), VALUES(1, 0, 1, 0));
    hand_expect(&h, ir_matmul(h.fn, a, b), DT_I1, SHAPE(1, 2), VALUES(1, 0));
}

static void test_dot_batched(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t a = hand_count(h.fn, DT_F32, SHAPE(2, 2, 2), 0); /* free, batch, contracting */
    ir_val_t b = hand_count(h.fn, DT_F32, SHAPE(2, 2), 1);    /* contracting, batch */
    ir_dot_t dims = {.n_batch = 1,
                     .n_contract = 1,
                     .lhs_batch = {1},
                     .rhs_batch = {1},
                     .lhs_contract = {2},
                     .rhs_contract = {0}};
    /* batch 0: rows (0 1), (4 5) . (1 3); batch 1: rows (2 3), (6 7) . (2 4) */
    hand_expect(&h, ir_dot(h.fn, a, b, &dims, DT_NONE), DT_F32, SHAPE(2, 2), VALUES(3, 19, 16, 40));
}

static void test_dot_preferred_type(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_dot_t dims = {.n_contract = 1, .lhs_contract = {0}, .rhs_contract = {0}};
    ir_val_t a = hand_value(h.fn, DT_I8, SHAPE(4), VALUES(100));
    hand_expect(&h, ir_dot(h.fn, a, a, &dims, DT_I32), DT_I32, 0, NULL, VALUES(40000));
    h = hand_begin();
    a = hand_value(h.fn, DT_I8, SHAPE(4), VALUES(100));
    hand_expect(&h, ir_dot(h.fn, a, a, &dims, DT_NONE), DT_I8, 0, NULL, VALUES(64)); /* wraps */
}

/* 256 + 1 + 1 in bf16: adding one by one would stay at 256, rounded once it is 258. */
static void test_dot_rounds_once(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_dot_t dims = {.n_contract = 1, .lhs_contract = {0}, .rhs_contract = {0}};
    ir_val_t a = hand_value(h.fn, DT_BF16, SHAPE(3), VALUES(256, 1, 1));
    ir_val_t one = hand_value(h.fn, DT_BF16, SHAPE(3), VALUES(1));
    hand_expect(&h, ir_dot(h.fn, a, one, &dims, DT_NONE), DT_BF16, 0, NULL, VALUES(258));
}

static void test_dot_empty(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t a = hand_count(h.fn, DT_F32, SHAPE(2, 0), 0),
             b = hand_count(h.fn, DT_F32, SHAPE(0, 2), 0);
    hand_expect(&h, ir_matmul(h.fn, a, b), DT_F32, SHAPE(2, 2), VALUES(0, 0, 0, 0));
}

static void test_dot_refusals(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_matmul(h.fn, hand_count(h.fn, DT_F32, SHAPE(2, 3), 0),
              hand_count(h.fn, DT_F32, SHAPE(4, 2), 0));
    hand_expect_error(&h, ERR_SHAPE, "contracting dimension 1 of the lhs tensor<2x3xf32> is 3");

    h = hand_begin();
    ir_matmul(h.fn, hand_count(h.fn, DT_F32, SHAPE(2, 3), 0),
              hand_count(h.fn, DT_F64, SHAPE(3, 2), 0));
    hand_expect_error(&h, ERR_TYPE, "f32 and f64");

    h = hand_begin();
    ir_dot_t twice = {.n_batch = 1,
                      .n_contract = 1,
                      .lhs_batch = {0},
                      .rhs_batch = {1},
                      .lhs_contract = {0},
                      .rhs_contract = {0}};
    ir_val_t x = hand_count(h.fn, DT_F32, SHAPE(2, 2), 0);
    ir_dot(h.fn, x, x, &twice, DT_NONE);
    hand_expect_error(&h, ERR_SHAPE, "lhs_contracting_dimensions");
}

/* --- convolution: one spatial dimension, [b, 0, f] x [0, i, o] -> [b, 0, f] --- */

typedef struct {
    int64_t stride, low, high, base, dilation, reversal, feature_groups, batch_groups;
} conv1_t;

static ir_val_t convolve(hand_t *h, ir_val_t x, ir_val_t kernel, conv1_t c)
{
    arena_t *arena = h->module->arena;
    ir_attrs_t a = {0};
    attr_set_int(arena, &a, "input_batch_dimension", 0);
    attr_set_int(arena, &a, "input_feature_dimension", 2);
    attr_set_ints(arena, &a, "input_spatial_dimensions", I64S(1), 1);
    attr_set_int(arena, &a, "kernel_input_feature_dimension", 1);
    attr_set_int(arena, &a, "kernel_output_feature_dimension", 2);
    attr_set_ints(arena, &a, "kernel_spatial_dimensions", I64S(0), 1);
    attr_set_int(arena, &a, "output_batch_dimension", 0);
    attr_set_int(arena, &a, "output_feature_dimension", 2);
    attr_set_ints(arena, &a, "output_spatial_dimensions", I64S(1), 1);
    attr_set_ints(arena, &a, "window_strides", &c.stride, 1);
    attr_set_ints(arena, &a, "padding", I64S(c.low, c.high), 2);
    attr_set_ints(arena, &a, "lhs_dilation", &c.base, 1);
    attr_set_ints(arena, &a, "rhs_dilation", &c.dilation, 1);
    attr_set_ints(arena, &a, "window_reversal", &c.reversal, 1);
    attr_set_int(arena, &a, "feature_group_count", c.feature_groups);
    attr_set_int(arena, &a, "batch_group_count", c.batch_groups);
    ir_op_t *op = ir_emit(h->fn, OP_convolution, 2, (ir_val_t[]){x, kernel}, &a, 1, NULL, 0, NULL);
    return op ? op->out : IR_NONE;
}

static void test_convolution(void **state)
{
    (void)state;
    conv1_t plain = {1, 1, 0, 1, 1, 0, 1, 1}, odd = {2, 0, 2, 2, 2, 1, 1, 1};
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_F32, SHAPE(1, 4, 1), 1);
    ir_val_t k = hand_value(h.fn, DT_F32, SHAPE(2, 1, 1), VALUES(1, 10));
    hand_expect(&h, convolve(&h, x, k, plain), DT_F32, SHAPE(1, 4, 1), VALUES(10, 21, 32, 43));

    /* 1 0 2 0 3 0 0 under a reversed kernel of 10 and 1 two apart, at every second place */
    h = hand_begin();
    x = hand_count(h.fn, DT_I32, SHAPE(1, 3, 1), 1);
    k = hand_value(h.fn, DT_I32, SHAPE(2, 1, 1), VALUES(1, 10));
    hand_expect(&h, convolve(&h, x, k, odd), DT_I32, SHAPE(1, 3, 1), VALUES(12, 23, 30));
}

static void test_convolution_groups(void **state)
{
    (void)state;
    conv1_t features = {1, 0, 0, 1, 1, 0, 2, 1}, batches = {1, 0, 0, 1, 1, 0, 1, 2};
    hand_t h = hand_begin();
    ir_val_t x = hand_value(h.fn, DT_F32, SHAPE(1, 2, 2), VALUES(1, 2, 3, 4));
    ir_val_t k = hand_value(h.fn, DT_F32, SHAPE(1, 1, 4), VALUES(1, 10, 100, 1000));
    hand_expect(&h, convolve(&h, x, k, features), DT_F32, SHAPE(1, 2, 4),
                VALUES(1, 10, 200, 2000, 3, 30, 400, 4000));
    h = hand_begin();
    x = hand_value(h.fn, DT_F32, SHAPE(4, 1, 1), VALUES(1, 2, 3, 4));
    k = hand_value(h.fn, DT_F32, SHAPE(1, 1, 2), VALUES(1, 10));
    hand_expect(&h, convolve(&h, x, k, batches), DT_F32, SHAPE(2, 1, 2), VALUES(1, 30, 2, 40));
}

static void test_convolution_refusals(void **state)
{
    (void)state;
    conv1_t groups = {1, 0, 0, 1, 1, 0, 3, 1}, stride = {0, 0, 0, 1, 1, 0, 1, 1};
    hand_t h = hand_begin();
    convolve(&h, hand_count(h.fn, DT_F32, SHAPE(1, 4, 2), 0),
             hand_count(h.fn, DT_F32, SHAPE(2, 2, 3), 0), groups);
    hand_expect_error(&h, ERR_SHAPE, "feature_group_count 3");
    h = hand_begin();
    convolve(&h, hand_count(h.fn, DT_F32, SHAPE(1, 4, 2), 0),
             hand_count(h.fn, DT_F32, SHAPE(2, 2, 3), 0), stride);
    hand_expect_error(&h, ERR_SHAPE, "stride 0");
}

/* --- reduce --- */

static ir_val_t reduce_from(hand_t *h, op_code_t reducer, ir_val_t x, double init, int n,
                            const int64_t *dims)
{
    dtype_t dtype = ir_type_of(h->fn, x)->dtype;
    ir_val_t in[2] = {x, ir_scalar(h->fn, dtype, init)};
    ir_region_t *region = ir_reducer(h->fn, reducer, dtype);
    ir_attrs_t attrs = {0};
    attr_set_ints(h->module->arena, &attrs, "dimensions", dims, n);
    ir_op_t *op = ir_emit(h->fn, OP_reduce, 2, in, &attrs, 1, NULL, 1, &region);
    return op ? op->out : IR_NONE;
}

static void test_reduce_dims(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_F32, SHAPE(2, 3, 2), 0);
    hand_expect(&h, reduce_from(&h, OP_add, x, 100, 2, I64S(2, 0)), DT_F32, SHAPE(3),
                VALUES(114, 122, 130));
    h = hand_begin();
    x = hand_count(h.fn, DT_F32, SHAPE(2, 3, 2), 0);
    hand_expect(&h, reduce_from(&h, OP_add, x, 0, 1, I64S(1)), DT_F32, SHAPE(2, 2),
                VALUES(6, 9, 24, 27));
    h = hand_begin();
    x = hand_count(h.fn, DT_F32, SHAPE(2, 0), 0);
    hand_expect(&h, reduce_from(&h, OP_multiply, x, 1, 1, I64S(1)), DT_F32, SHAPE(2), VALUES(1, 1));
}

static void test_reduce_ops(void **state)
{
    (void)state;
    static const struct {
        op_code_t op;
        dtype_t dtype;
        double init, want;
    } cases[] = {
        {OP_add, DT_UI8, 0, 94},
        {OP_add, DT_I8, 0, 94}, /* 350 - 256 */
        {OP_multiply, DT_I32, 1, 2000000},
        {OP_maximum, DT_F16, -INFINITY, 200},
        {OP_minimum, DT_BF16, INFINITY, 50},
        {OP_and, DT_I32, -1, 0},
        {OP_or, DT_UI16, 0, 254},
        {OP_xor, DT_I64, 0, 158},
        {OP_maximum, DT_UI64, 0, 200},
        {OP_minimum, DT_I16, 1000, 50},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hand_t h = hand_begin();
        /* 200 wraps to -56 in i8, which changes no sum modulo 256 */
        ir_val_t x = cases[i].dtype == DT_I8
                         ? hand_value(h.fn, DT_I8, SHAPE(3), VALUES(-56, 50, 100))
                     : cases[i].op == OP_multiply
                         ? hand_value(h.fn, DT_I32, SHAPE(3), VALUES(200, 50, 200))
                         : hand_value(h.fn, cases[i].dtype, SHAPE(3), VALUES(200, 50, 100));
        hand_expect(&h, reduce_from(&h, cases[i].op, x, cases[i].init, 1, I64S(0)), cases[i].dtype,
                    0, NULL, 1, &cases[i].want);
    }
}

static void test_reduce_special_values(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_value(h.fn, DT_F32, SHAPE(2, 3), VALUES(1, NAN, 2, -0.0, 0.0, -0.0));
    hand_expect(&h, reduce_from(&h, OP_maximum, x, -INFINITY, 1, I64S(1)), DT_F32, SHAPE(2),
                VALUES(NAN, 0.0));
    h = hand_begin();
    x = hand_value(h.fn, DT_I1, SHAPE(2, 2), VALUES(1, 1, 0, 0));
    hand_expect(&h, reduce_from(&h, OP_add, x, 0, 1, I64S(1)), DT_I1, SHAPE(2), VALUES(1, 0));
    h = hand_begin(); /* wide accumulation: the ones survive */
    x = hand_value(h.fn, DT_F32, SHAPE(4), VALUES(1e9, 1, 1, -1e9));
    hand_expect(&h, reduce_from(&h, OP_add, x, 0, 1, I64S(0)), DT_F32, 0, NULL, VALUES(2));
}

/* (value, index) pairs, larger value wins, index of the first on ties */
static void test_reduce_argmax(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_type_t e = ir_type_scalar(DT_F32), i = ir_type_scalar(DT_I32), types[4] = {e, i, e, i};
    ir_type_t numbers = ir_type(DT_I32, SHAPE(2, 3));
    ir_val_t in[4] = {hand_value(h.fn, DT_F32, SHAPE(2, 3), VALUES(1, 7, 7, 5, 2, 3)),
                      ir_iota(h.fn, &numbers, 1), ir_scalar(h.fn, DT_F32, -INFINITY),
                      ir_scalar(h.fn, DT_I32, 0)};
    ir_region_t *saved, *region = ir_region_begin(h.fn, 4, types, &saved);
    ir_val_t a = region->arg, first = ir_compare(h.fn, "GE", a, a + 2);
    ir_val_t y[2] = {ir_select(h.fn, first, a, a + 2), ir_select(h.fn, first, a + 1, a + 3)};
    ir_region_end(h.fn, region, 2, y, saved);
    ir_attrs_t attrs = {0};
    attr_set_ints(h.module->arena, &attrs, "dimensions", I64S(1), 1);
    ir_op_t *op = ir_emit(h.fn, OP_reduce, 4, in, &attrs, 2, NULL, 1, &region);
    assert_non_null(op);
    hand_expect(&h, op->out + 1, DT_I32, SHAPE(2), VALUES(1, 0));
}

/* A region that is no plain op folds from left to right: ((1 - 1) - 2) - 3, and elements in the
 * accumulator's wider type. */
static void test_reduce_any_region(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t in[2] = {hand_value(h.fn, DT_I8, SHAPE(3), VALUES(100, 100, 100)),
                      ir_scalar(h.fn, DT_I32, 1)};
    ir_region_t *region = ir_reducer(h.fn, OP_subtract, DT_I32);
    ir_attrs_t attrs = {0};
    attr_set_ints(h.module->arena, &attrs, "dimensions", I64S(0), 1);
    ir_op_t *op = ir_emit(h.fn, OP_reduce, 2, in, &attrs, 1, NULL, 1, &region);
    hand_expect(&h, op ? op->out : IR_NONE, DT_I32, 0, NULL, VALUES(-299));
}

static void test_reduce_refusals(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    reduce_from(&h, OP_add, hand_count(h.fn, DT_F32, SHAPE(2, 3), 0), 0, 1, I64S(2));
    hand_expect_error(&h, ERR_SHAPE, "dimensions");

    h = hand_begin();
    ir_val_t in[2] = {hand_count(h.fn, DT_F32, SHAPE(2), 0), ir_scalar(h.fn, DT_F32, 0)};
    ir_region_t *region = ir_reducer(h.fn, OP_add, DT_F64);
    ir_emit(h.fn, OP_reduce, 2, in, NULL, 1, NULL, 1, &region);
    hand_expect_error(&h, ERR_SHAPE, "attribute dimensions is missing");

    h = hand_begin();
    ir_attrs_t attrs = {0};
    attr_set_ints(h.fn->module->arena, &attrs, "dimensions", I64S(0), 1);
    in[0] = hand_count(h.fn, DT_F32, SHAPE(2), 0), in[1] = ir_scalar(h.fn, DT_F32, 0);
    region = ir_reducer(h.fn, OP_add, DT_F64);
    ir_emit(h.fn, OP_reduce, 2, in, &attrs, 1, NULL, 1, &region);
    hand_expect_error(&h, ERR_TYPE, "region 0");

    h = hand_begin();
    attrs = (ir_attrs_t){0};
    attr_set_ints(h.fn->module->arena, &attrs, "dimensions", I64S(0), 1);
    in[0] = hand_count(h.fn, DT_F64, SHAPE(2), 0), in[1] = ir_scalar(h.fn, DT_F32, 0);
    region = ir_reducer(h.fn, OP_add, DT_F32);
    ir_emit(h.fn, OP_reduce, 2, in, &attrs, 1, NULL, 1, &region);
    hand_expect_error(&h, ERR_TYPE, "initial value");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dot_every_type),        cmocka_unit_test(test_dot_bool),
        cmocka_unit_test(test_dot_batched),           cmocka_unit_test(test_dot_preferred_type),
        cmocka_unit_test(test_dot_rounds_once),       cmocka_unit_test(test_dot_empty),
        cmocka_unit_test(test_dot_refusals),          cmocka_unit_test(test_convolution),
        cmocka_unit_test(test_convolution_groups),    cmocka_unit_test(test_convolution_refusals),
        cmocka_unit_test(test_reduce_dims),           cmocka_unit_test(test_reduce_ops),
        cmocka_unit_test(test_reduce_special_values), cmocka_unit_test(test_reduce_argmax),
        cmocka_unit_test(test_reduce_any_region),     cmocka_unit_test(test_reduce_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
