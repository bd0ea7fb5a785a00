/* Reverse rules where differences cannot look: ties, zeros, repeated places, half precision. The
 * cotangent of every result element is given; values by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/build_index.h"
#include "ops_hand.h"

#define I64S(...)   \
    (int64_t[])     \
    {               \
        __VA_ARGS__ \
    }

static void no_outer(vjp_t *self, ir_val_t value, ir_val_t ct)
{
    (void)self, (void)value, (void)ct;
    fail_msg("nothing is read from outside");
}

/* The cotangent of operand `operand` of the op that makes y, when y's is ct. */
static ir_val_t pull(hand_t *h, ir_val_t y, ir_val_t ct, int operand)
{
    err_t err = {0};
    bool need[8] = {false};
    ir_val_t in_ct[8];
    if (h->fn->err.code) fail_msg("%s", h->fn->err.text);
    const ir_op_t *op = ir_def(h->fn, y);
    assert_true(op->n_in <= 8 && op->n_out == 1);
    for (int i = 0; i < 8; i++) in_ct[i] = IR_NONE;
    need[operand] = true;
    vjp_t v = {
        .fn = h->fn, .op = op, .ct = &ct, .need = need, .in_ct = in_ct, .add_outer = no_outer};
    if (op_def(op->code)->vjp(&v, &err) < 0) fail_msg("%s", err.text);
    for (int i = 0; i < op->n_in; i++)
        if (i != operand) assert_true(in_ct[i] == IR_NONE); /* what is not needed is not made */
    return in_ct[operand];
}

static void test_maximum_shares_ties(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_value(h.fn, DT_F32, SHAPE(2, 3), VALUES(2, 2, 1, 0, 0, 0));
    ir_val_t y = ir_reduce(h.fn, OP_maximum, x, I64S(1), 1);
    ir_val_t ct = hand_value(h.fn, DT_F32, SHAPE(2), VALUES(1, 6));
    hand_expect(&h, pull(&h, y, ct, 0), DT_F32, SHAPE(2, 3), VALUES(0.5, 0.5, 0, 2, 2, 2));
}

/* The initial value wins: no element gets anything, and nothing becomes 0 / 0. */
static void test_maximum_of_init(void **state)
{
    (void)state;
    for (int operand = 0; operand < 2; operand++) {
        hand_t h = hand_begin();
        ir_val_t in[2] = {hand_value(h.fn, DT_F32, SHAPE(2), VALUES(-1, -2)),
                          ir_scalar(h.fn, DT_F32, 0)};
        ir_region_t *region = ir_reducer(h.fn, OP_maximum, DT_F32);
        ir_attrs_t attrs = {0};
        attr_set_ints(h.module->arena, &attrs, "dimensions", I64S(0), 1);
        ir_op_t *op = ir_emit(h.fn, OP_reduce, 2, in, &attrs, 1, NULL, 1, &region);
        ir_val_t d = pull(&h, op->out, ir_scalar(h.fn, DT_F32, 3), operand);
        if (operand == 0)
            hand_expect(&h, d, DT_F32, SHAPE(2), VALUES(0, 0));
        else
            hand_expect(&h, d, DT_F32, 0, NULL, VALUES(3));
    }
}

static void test_product_with_zeros(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_value(h.fn, DT_F32, SHAPE(3, 3), VALUES(0, 2, 3, 0, 0, 5, 2, 3, 4));
    ir_val_t y = ir_reduce(h.fn, OP_multiply, x, I64S(1), 1);
    ir_val_t ct = hand_value(h.fn, DT_F32, SHAPE(3), VALUES(1));
    hand_expect(&h, pull(&h, y, ct, 0), DT_F32, SHAPE(3, 3), VALUES(6, 0, 0, 0, 0, 0, 12, 8, 6));
}

/* 600 ones summed in bf16 one by one would stop at 256. */
static void test_half_sums_are_wide(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_type_t to = ir_type(DT_BF16, SHAPE(600));
    ir_val_t y = ir_broadcast_scalar(h.fn, ir_scalar(h.fn, DT_BF16, 1), &to);
    hand_expect(&h, pull(&h, y, ir_splat(h.fn, &to, 1), 0), DT_BF16, 0, NULL, VALUES(600));

    h = hand_begin(); /* the same row of a table 600 times; start indices clamped to it */
    ir_gather_t dims = {.n_collapsed = 1, .n_start = 1, .index_vector_dim = 1, .slice = {1}};
    ir_val_t at = hand_value(h.fn, DT_I32, SHAPE(600), VALUES(9));
    y = ir_gather(h.fn, hand_value(h.fn, DT_BF16, SHAPE(2), VALUES(1)), at, &dims);
    hand_expect(&h, pull(&h, y, ir_splat(h.fn, &to, 1), 0), DT_BF16, SHAPE(2), VALUES(0, 600));
}

static void test_dot_preferred_type(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t a = hand_value(h.fn, DT_BF16, SHAPE(1, 2), VALUES(1, 2));
    ir_val_t b = hand_value(h.fn, DT_BF16, SHAPE(2, 1), VALUES(3, 4));
    ir_dot_t dims = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {0}};
    ir_val_t y = ir_dot(h.fn, a, b, &dims, DT_F32);
    ir_val_t ct = hand_value(h.fn, DT_F32, SHAPE(1, 1), VALUES(2));
    hand_expect(&h, pull(&h, y, ct, 1), DT_BF16, SHAPE(2, 1), VALUES(2, 4));
}

/* --- scatter of four updates at places 0, 0, 2 and outside --- */

static ir_val_t scatter_four(hand_t *h, op_code_t combine, const double *x, const double *u)
{
    ir_gather_t dims = {.n_collapsed = 1, .n_start = 1, .index_vector_dim = 1};
    ir_val_t at = hand_value(h->fn, DT_I32, SHAPE(4), VALUES(0, 0, 2, 3));
    return ir_scatter(h->fn, combine, hand_value(h->fn, DT_F32, SHAPE(3), 3, x), at,
                      hand_value(h->fn, DT_F32, SHAPE(4), 4, u), &dims);
}

static void expect_scatter(op_code_t combine, const double *x, const double *u, const double *dx,
                           const double *du)
{
    for (int operand = 0; operand < 3; operand += 2) {
        hand_t h = hand_begin();
        ir_val_t y = scatter_four(&h, combine, x, u);
        ir_val_t ct = hand_value(h.fn, DT_F32, SHAPE(3), VALUES(6, 12, 18));
        if (operand == 0)
            hand_expect(&h, pull(&h, y, ct, 0), DT_F32, SHAPE(3), 3, dx);
        else
            hand_expect(&h, pull(&h, y, ct, 2), DT_F32, SHAPE(4), 4, du);
    }
}

static void test_scatter_ties_and_repeats(void **state)
{
    (void)state;
#define D(...) (double[]){__VA_ARGS__}
    expect_scatter(OP_maximum, D(5, 5, 1), D(5, 5, 2, 9), D(2, 12, 0), D(2, 2, 18, 0));
    expect_scatter(OP_minimum, D(1, 5, 1), D(5, 2, 1, 9), D(6, 12, 9), D(0, 0, 9, 0));
    expect_scatter(OP_invalid, D(1, 2, 3), D(4, 5, 6, 7), D(0, 12, 0), D(0, 6, 18, 0));
    expect_scatter(OP_add, D(1, 2, 3), D(4, 5, 6, 7), D(6, 12, 18), D(6, 6, 18, 0));
    /* one factor zero: it alone gets ct times the others; two: nobody gets anything */
    expect_scatter(OP_multiply, D(2, 2, 0), D(0, 5, 3, 7), D(0, 12, 54), D(60, 0, 0, 0));
    expect_scatter(OP_multiply, D(0, 2, 0), D(0, 5, 0, 7), D(0, 12, 0), D(0, 0, 0, 0));
#undef D
}

static void test_window_maximum_takes_the_first(void **state)
{
    (void)state;
    ir_window_t w = {.size = {2}, .stride = {1}, .base_dilation = {1}, .window_dilation = {1}};
    hand_t h = hand_begin();
    ir_val_t in[2] = {hand_value(h.fn, DT_F32, SHAPE(3), VALUES(4, 4, 4)),
                      ir_scalar(h.fn, DT_F32, -INFINITY)};
    ir_op_t *op = ir_reduce_window(h.fn, 1, in, &w, ir_reducer(h.fn, OP_maximum, DT_F32));
    ir_val_t ct = hand_value(h.fn, DT_F32, SHAPE(2), VALUES(1, 10));
    hand_expect(&h, pull(&h, op->out, ct, 0), DT_F32, SHAPE(3), VALUES(1, 10, 0));
}

static void test_cumulative_product_with_zero(void **state)
{
    (void)state;
    ir_window_t w = {
        .size = {4}, .stride = {1}, .base_dilation = {1}, .window_dilation = {1}, .low = {3}};
    hand_t h = hand_begin();
    ir_val_t in[2] = {hand_value(h.fn, DT_F32, SHAPE(4), VALUES(2, 0, 3, 4)),
                      ir_scalar(h.fn, DT_F32, 1)};
    ir_op_t *op = ir_reduce_window(h.fn, 1, in, &w, ir_reducer(h.fn, OP_multiply, DT_F32));
    ir_val_t ct = hand_value(h.fn, DT_F32, SHAPE(4), VALUES(1));
    /* d/dx1 of 2 + 2 x1 + 2 x1 3 + 2 x1 12 */
    hand_expect(&h, pull(&h, op->out, ct, 0), DT_F32, SHAPE(4), VALUES(1, 32, 0, 0));
}

/* Trigamma at 1, 1/2, 2, 1/4, -1/2: pi^2/6, pi^2/2, pi^2/6 - 1, pi^2 + 8 G (Catalan), pi^2/2 + 4;
 * an infinite slope at a pole, none at infinity. Rounded to f32. */
static void test_trigamma(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t x = hand_value(h.fn, DT_F64, SHAPE(7), VALUES(1, 0.5, 2, 0.25, -0.5, 0, INFINITY));
    ir_val_t ct = hand_value(h.fn, DT_F64, SHAPE(7), VALUES(1));
    ir_val_t slope = pull(&h, ir_op1(h.fn, OP_chlo_digamma, x), ct, 0);
    hand_expect(&h, ir_convert(h.fn, slope, DT_F32), DT_F32, SHAPE(7),
                VALUES(1.6449340668f, 4.9348022005f, 0.6449340668f, 17.1973291545f, 8.9348022005f,
                       INFINITY, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maximum_shares_ties),
        cmocka_unit_test(test_maximum_of_init),
        cmocka_unit_test(test_product_with_zeros),
        cmocka_unit_test(test_half_sums_are_wide),
        cmocka_unit_test(test_dot_preferred_type),
        cmocka_unit_test(test_scatter_ties_and_repeats),
        cmocka_unit_test(test_window_maximum_takes_the_first),
        cmocka_unit_test(test_cumulative_product_with_zero),
        cmocka_unit_test(test_trigamma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
