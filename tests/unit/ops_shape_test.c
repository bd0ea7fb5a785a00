/* Shape and dynamic ops: hand values, every element type, and what their type rules refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/build_index.h"
#include "ops/eval.h"
#include "ops_hand.h"

#define NONE 0, NULL
#define I64S(...)   \
    (int64_t[])     \
    {               \
        __VA_ARGS__ \
    }

static void test_transpose(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_F32, SHAPE(2, 3, 2), 0);
    hand_expect(&h, ir_transpose(h.fn, x, I64S(2, 0, 1)), DT_F32, SHAPE(2, 2, 3),
                VALUES(0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11));
}

static void test_broadcast(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_I32, SHAPE(2, 1), 5);
    ir_type_t to = ir_type(DT_I32, SHAPE(3, 2));
    hand_expect(&h, ir_broadcast(h.fn, x, &to, I64S(1, 0)), DT_I32, SHAPE(3, 2),
                VALUES(5, 6, 5, 6, 5, 6));
}

static void test_reverse(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_F64, SHAPE(2, 3), 1);
    hand_expect(&h, ir_reverse(h.fn, x, I64S(1), 1), DT_F64, SHAPE(2, 3), VALUES(3, 2, 1, 6, 5, 4));
}

static void test_slice(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_UI8, SHAPE(3, 5), 0);
    hand_expect(&h, ir_slice(h.fn, x, I64S(1, 1), I64S(3, 5), I64S(1, 3)), DT_UI8, SHAPE(2, 2),
                VALUES(6, 9, 11, 14));
}

static void test_concatenate(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t parts[3] = {hand_count(h.fn, DT_I64, SHAPE(2, 2), 1),
                         hand_value(h.fn, DT_I64, SHAPE(2, 1), VALUES(9)),
                         hand_count(h.fn, DT_I64, SHAPE(2, 0), 0)};
    hand_expect(&h, ir_concatenate(h.fn, parts, 3, 1), DT_I64, SHAPE(2, 3),
                VALUES(1, 2, 9, 3, 4, 9));
}

static void test_pad(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_F32, SHAPE(2, 3), 1), v = ir_scalar(h.fn, DT_F32, 9);
    /* dimension 0: one row before, one between; dimension 1: the first column cut, two behind */
    hand_expect(&h, ir_pad(h.fn, x, v, I64S(1, -1), I64S(0, 2), I64S(1, 0)), DT_F32, SHAPE(4, 4),
                VALUES(9, 9, 9, 9, 2, 3, 9, 9, 9, 9, 9, 9, 5, 6, 9, 9));
}

static void test_pad_cut_between(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_F32, SHAPE(3), 1), v = ir_scalar(h.fn, DT_F32, 0);
    /* 1 0 0 2 0 0 3 without its first two and last one */
    hand_expect(&h, ir_pad(h.fn, x, v, I64S(-2), I64S(-1), I64S(2)), DT_F32, SHAPE(4),
                VALUES(0, 2, 0, 0));
}

static void test_reshape(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_I1, SHAPE(1, 2), 0);
    ir_type_t to = ir_type(DT_I1, SHAPE(2, 1, 1));
    hand_expect(&h, ir_reshape(h.fn, x, &to), DT_I1, SHAPE(2, 1, 1), VALUES(0, 1));
}

/* Every op on every element type, with values that every type holds, whole and as a splat. */
static void test_every_type(void **state)
{
    (void)state;
    for (dtype_t dtype = DT_NONE + 1; dtype < DT_COUNT; dtype++) {
        if (dtype == DT_F8E8M0FNU) continue; /* has no zero */
        for (int splat = 0; splat < 2; splat++) {
            hand_t h = hand_begin();
            ir_val_t x = splat ? hand_value(h.fn, dtype, SHAPE(2, 2), VALUES(1))
                               : hand_value(h.fn, dtype, SHAPE(2, 2), VALUES(0, 1, 1, 0));
            ir_val_t zero = ir_scalar(h.fn, dtype, 0);
            ir_val_t y = ir_transpose(h.fn, ir_reverse(h.fn, x, I64S(0), 1), I64S(1, 0));
            y = ir_pad(h.fn, y, zero, I64S(0, 1), I64S(0, 0), NULL);
            y = ir_concatenate(h.fn, (ir_val_t[]){y, y}, 2, 1);
            y = ir_slice(h.fn, y, I64S(0, 1), I64S(2, 6), I64S(1, 2));
            if (splat)
                hand_expect(&h, y, dtype, SHAPE(2, 3), VALUES(1, 0, 1, 1, 0, 1));
            else
                hand_expect(&h, y, dtype, SHAPE(2, 3), VALUES(1, 0, 0, 0, 0, 1));
        }
    }
}

static void test_nothing(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_value(h.fn, DT_F32, SHAPE(0, 3), VALUES(7)); /* a splat of no elements */
    ir_type_t to = ir_type(DT_F32, SHAPE(3, 0, 2));
    ir_val_t y = ir_broadcast(h.fn, ir_transpose(h.fn, x, I64S(1, 0)), &to, I64S(0, 1));
    y = ir_reverse(h.fn, y, I64S(0, 1), 2);
    ir_type_t flat = ir_type(DT_F32, SHAPE(0));
    hand_expect(&h, ir_reshape(h.fn, y, &flat), DT_F32, SHAPE(0), NONE);
}

static void test_dynamic_slice(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_F32, SHAPE(3, 4), 0);
    ir_val_t at[2] = {ir_scalar(h.fn, DT_I32, -5), ir_scalar(h.fn, DT_I32, 3)};
    hand_expect(&h, ir_dynamic_slice(h.fn, x, at, I64S(2, 2)), DT_F32, SHAPE(2, 2),
                VALUES(2, 3, 6, 7));
}

static void test_dynamic_update_slice(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_I32, SHAPE(2, 3), 0);
    ir_val_t u = hand_value(h.fn, DT_I32, SHAPE(1, 2), VALUES(9));
    ir_type_t scalar = ir_type_scalar(DT_UI64);
    tensor_t huge = tensor_splat_i64(h.module->arena, &scalar, -1); /* 2^64 - 1 */
    ir_val_t at[2] = {ir_const(h.fn, &huge), ir_scalar(h.fn, DT_UI64, 0)};
    hand_expect(&h, ir_dynamic_update_slice(h.fn, x, u, at), DT_I32, SHAPE(2, 3),
                VALUES(0, 1, 2, 9, 9, 5));
}

static ir_val_t emit_with(hand_t *h, op_code_t code, int n_in, const ir_val_t *in, const char *name,
                          int64_t value, const ir_type_t *declared)
{
    ir_attrs_t attrs = {0};
    attr_set_int(h->module->arena, &attrs, name, value);
    ir_op_t *op = ir_emit(h->fn, code, n_in, in, &attrs, 1, declared, 0, NULL);
    return op ? op->out : IR_NONE;
}

static void test_dynamic_shapes(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t shape = hand_value(h.fn, DT_I64, SHAPE(2), VALUES(2, 3));
    ir_type_t to = ir_type(DT_F32, SHAPE(2, 3));
    hand_expect(&h, emit_with(&h, OP_dynamic_iota, 1, &shape, "iota_dimension", 1, &to), DT_F32,
                SHAPE(2, 3), VALUES(0, 1, 2, 0, 1, 2));

    h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_F32, SHAPE(4, 7), 0);
    hand_expect(&h, emit_with(&h, OP_get_dimension_size, 1, &x, "dimension", 1, NULL), DT_I32, NONE,
                VALUES(7));
}

/* The shape operand must say what the type says. */
static void test_dynamic_shape_mismatch(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t in[2] = {hand_count(h.fn, DT_F32, SHAPE(6), 0),
                      hand_value(h.fn, DT_I32, SHAPE(2), VALUES(3, 2))};
    ir_type_t to = ir_type(DT_F32, SHAPE(2, 3));
    ir_op_t *op = ir_emit(h.fn, OP_dynamic_reshape, 2, in, NULL, 1, &to, 0, NULL);
    tensor_t out;
    err_t err = {0};
    assert_non_null(op);
    assert_int_equal(ir_fn_finish(h.fn, 1, &op->out, &err), 0);
    assert_int_equal(eval_fn(h.module, h.fn, NULL, &out, NULL, &err), -1);
    assert_int_equal(err.code, ERR_SHAPE);
    hand_end(&h);
}

static void test_refusals(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_type_t seven = ir_type(DT_F32, SHAPE(7));
    ir_reshape(h.fn, hand_count(h.fn, DT_F32, SHAPE(2, 3), 0), &seven);
    hand_expect_error(&h, ERR_SHAPE, "6 elements");

    h = hand_begin();
    ir_transpose(h.fn, hand_count(h.fn, DT_F32, SHAPE(2, 3), 0), I64S(1, 1));
    hand_expect_error(&h, ERR_SHAPE, "permutation");

    h = hand_begin();
    ir_type_t to = ir_type(DT_F32, SHAPE(2, 4));
    ir_broadcast(h.fn, hand_count(h.fn, DT_F32, SHAPE(3), 0), &to, I64S(1));
    hand_expect_error(&h, ERR_SHAPE, "tensor<3xf32>");

    h = hand_begin();
    ir_slice(h.fn, hand_count(h.fn, DT_F32, SHAPE(3), 0), I64S(1), I64S(4), NULL);
    hand_expect_error(&h, ERR_SHAPE, "[1, 4)");

    h = hand_begin();
    ir_slice(h.fn, hand_count(h.fn, DT_F32, SHAPE(3), 0), I64S(0), I64S(3), I64S(0));
    hand_expect_error(&h, ERR_SHAPE, "strides[0]");

    h = hand_begin();
    ir_pad(h.fn, hand_count(h.fn, DT_F32, SHAPE(3), 0), ir_scalar(h.fn, DT_F32, 0), I64S(-2),
           I64S(-2), NULL);
    hand_expect_error(&h, ERR_SHAPE, "cut");

    h = hand_begin();
    ir_pad(h.fn, hand_count(h.fn, DT_F32, SHAPE(3), 0), ir_scalar(h.fn, DT_F64, 0), I64S(0),
           I64S(0), NULL);
    hand_expect_error(&h, ERR_TYPE, "padding value");

    h = hand_begin();
    ir_val_t parts[2] = {hand_count(h.fn, DT_F32, SHAPE(2, 3), 0),
                         hand_count(h.fn, DT_F32, SHAPE(3, 3), 0)};
    ir_concatenate(h.fn, parts, 2, 1);
    hand_expect_error(&h, ERR_SHAPE, "operand 1");

    h = hand_begin();
    ir_val_t at = ir_scalar(h.fn, DT_I32, 0);
    ir_dynamic_slice(h.fn, hand_count(h.fn, DT_F32, SHAPE(3), 0), &at, I64S(4));
    hand_expect_error(&h, ERR_SHAPE, "slice_sizes[0]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transpose),       cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_reverse),         cmocka_unit_test(test_slice),
        cmocka_unit_test(test_concatenate),     cmocka_unit_test(test_pad),
        cmocka_unit_test(test_pad_cut_between), cmocka_unit_test(test_reshape),
        cmocka_unit_test(test_every_type),      cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_dynamic_slice),   cmocka_unit_test(test_dynamic_update_slice),
        cmocka_unit_test(test_dynamic_shapes),  cmocka_unit_test(test_dynamic_shape_mismatch),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
