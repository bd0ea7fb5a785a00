/* gather, scatter, reduce_window, select_and_scatter, sort: hand values and refusals. */
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

/* --- gather --- */

static void test_gather_clamps(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_gather_t dims = {.n_offset = 1,
                        .n_collapsed = 1,
                        .n_start = 1,
                        .offset_dims = {1},
                        .index_vector_dim = 1,
                        .slice = {1, 2}};
    ir_val_t x = hand_count(h.fn, DT_BF16, SHAPE(3, 2), 0);
    ir_val_t at = hand_value(h.fn, DT_I32, SHAPE(3), VALUES(1, 7, -7));
    hand_expect(&h, ir_gather(h.fn, x, at, &dims), DT_BF16, SHAPE(3, 2), VALUES(2, 3, 4, 5, 0, 1));
}

/* start_index_map swaps the entries; the window is 1x2 and its first offset dimension comes first
 */
static void test_gather_map(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_gather_t dims = {.n_offset = 1,
                        .n_collapsed = 1,
                        .n_start = 2,
                        .offset_dims = {0},
                        .start_map = {1, 0},
                        .index_vector_dim = 0,
                        .slice = {1, 2}};
    ir_val_t x = hand_count(h.fn, DT_F32, SHAPE(3, 4), 0);
    /* vectors (column, row): (0, 2) and (3, 1); the second's column is clamped to 2 */
    ir_val_t at = hand_value(h.fn, DT_I64, SHAPE(2, 2), VALUES(0, 3, 2, 1));
    hand_expect(&h, ir_gather(h.fn, x, at, &dims), DT_F32, SHAPE(2, 2), VALUES(8, 6, 9, 7));
}

static void test_gather_batching(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_gather_t dims = {.n_batch = 1,
                        .n_collapsed = 1,
                        .n_start = 1,
                        .collapsed = {1},
                        .batch = {0},
                        .index_batch = {0},
                        .start_map = {1},
                        .index_vector_dim = 2,
                        .slice = {1, 1}};
    ir_val_t x = hand_count(h.fn, DT_I8, SHAPE(2, 3), 0);
    ir_val_t at = hand_value(h.fn, DT_I64, SHAPE(2, 2), VALUES(2, 0, 1, 1));
    hand_expect(&h, ir_gather(h.fn, x, at, &dims), DT_I8, SHAPE(2, 2), VALUES(2, 0, 4, 4));
}

static void test_gather_refusals(void **state)
{
    (void)state;
    ir_gather_t good = {.n_offset = 1,
                        .n_collapsed = 1,
                        .n_start = 1,
                        .offset_dims = {1},
                        .index_vector_dim = 1,
                        .slice = {1, 2}};
    struct {
        ir_gather_t dims;
        const char *word;
    } cases[5];
    for (int i = 0; i < 5; i++) cases[i].dims = good;
    cases[0].dims.slice[0] = 2, cases[0].word = "slice_sizes[0]";
    cases[1].dims.slice[1] = 3, cases[1].word = "slice_sizes[1]";
    cases[2].dims.offset_dims[0] = 2, cases[2].word = "offset_dims";
    cases[3].dims.index_vector_dim = 2, cases[3].word = "index_vector_dim";
    cases[4].dims.n_collapsed = 0, cases[4].word = "add up to";
    for (int i = 0; i < 5; i++) {
        hand_t h = hand_begin();
        ir_val_t x = hand_count(h.fn, DT_F32, SHAPE(3, 2), 0);
        ir_gather(h.fn, x, hand_value(h.fn, DT_I32, SHAPE(3), VALUES(0)), &cases[i].dims);
        hand_expect_error(&h, ERR_SHAPE, cases[i].word);
    }
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_F32, SHAPE(3, 2), 0);
    ir_gather(h.fn, x, hand_value(h.fn, DT_F32, SHAPE(3), VALUES(0)), &good);
    hand_expect_error(&h, ERR_TYPE, "integers");
}

/* --- scatter --- */

/* Windows of two elements into five: at 3 inside, at 4 and -1 partly out, at 9 out. */
static ir_val_t scatter_pairs(hand_t *h, op_code_t combine, dtype_t dtype)
{
    ir_gather_t dims = {.n_offset = 1, .n_start = 1, .offset_dims = {1}, .index_vector_dim = 1};
    ir_val_t x = hand_value(h->fn, dtype, SHAPE(5), VALUES(1));
    ir_val_t at = hand_value(h->fn, DT_I32, SHAPE(4, 1), VALUES(3, 4, -1, 9));
    ir_val_t u = hand_count(h->fn, dtype, SHAPE(4, 2), 2);
    return ir_scatter(h->fn, combine, x, at, u, &dims);
}

static void test_scatter(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    hand_expect(&h, scatter_pairs(&h, OP_add, DT_F32), DT_F32, SHAPE(5), VALUES(8, 1, 1, 3, 8));
    h = hand_begin();
    hand_expect(&h, scatter_pairs(&h, OP_multiply, DT_I8), DT_I8, SHAPE(5), VALUES(7, 1, 1, 2, 12));
    h = hand_begin();
    hand_expect(&h, scatter_pairs(&h, OP_maximum, DT_F16), DT_F16, SHAPE(5), VALUES(7, 1, 1, 2, 4));
    h = hand_begin();
    hand_expect(&h, scatter_pairs(&h, OP_minimum, DT_UI32), DT_UI32, SHAPE(5),
                VALUES(1, 1, 1, 1, 1));
    h = hand_begin(); /* the last update in row-major order stays */
    hand_expect(&h, scatter_pairs(&h, OP_invalid, DT_I64), DT_I64, SHAPE(5), VALUES(7, 1, 1, 2, 4));
    h = hand_begin(); /* a region that is run: 1 - 2, (1 - 3) - 4 */
    hand_expect(&h, scatter_pairs(&h, OP_subtract, DT_F32), DT_F32, SHAPE(5),
                VALUES(-6, 1, 1, -1, -6));
}

/* Each update of a bf16 element rounds: 256 + 1 is 256 again. */
static void test_scatter_rounds_each(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_gather_t dims = {.n_collapsed = 1, .n_start = 1, .index_vector_dim = 1};
    ir_val_t x = hand_value(h.fn, DT_BF16, SHAPE(1), VALUES(256));
    ir_val_t at = hand_value(h.fn, DT_I32, SHAPE(2), VALUES(0));
    ir_val_t u = hand_value(h.fn, DT_BF16, SHAPE(2), VALUES(1));
    hand_expect(&h, ir_scatter(h.fn, OP_add, x, at, u, &dims), DT_BF16, SHAPE(1), VALUES(256));
}

static void test_scatter_two_inputs(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_type_t e = ir_type_scalar(DT_F32), i = ir_type_scalar(DT_I32), types[4] = {e, i, e, i};
    ir_val_t in[5] = {hand_value(h.fn, DT_F32, SHAPE(3), VALUES(1)),
                      hand_value(h.fn, DT_I32, SHAPE(3), VALUES(1)),
                      hand_value(h.fn, DT_I64, SHAPE(2), VALUES(2, 0)),
                      hand_value(h.fn, DT_F32, SHAPE(2), VALUES(5, 6)),
                      hand_value(h.fn, DT_I32, SHAPE(2), VALUES(7, 8))};
    ir_region_t *saved, *region = ir_region_begin(h.fn, 4, types, &saved);
    ir_val_t a = region->arg;
    ir_val_t y[2] = {ir_op2(h.fn, OP_add, a, a + 2), ir_op2(h.fn, OP_multiply, a + 1, a + 3)};
    ir_region_end(h.fn, region, 2, y, saved);
    ir_attrs_t attrs = {0};
    attr_set_ints(h.module->arena, &attrs, "inserted_window_dims", I64S(0), 1);
    attr_set_ints(h.module->arena, &attrs, "scatter_dims_to_operand_dims", I64S(0), 1);
    attr_set_int(h.module->arena, &attrs, "index_vector_dim", 1);
    ir_op_t *op = ir_emit(h.fn, OP_scatter, 5, in, &attrs, 2, NULL, 1, &region);
    hand_expect(&h, op ? op->out + 1 : IR_NONE, DT_I32, SHAPE(3), VALUES(8, 1, 7));
}

static void test_scatter_refusals(void **state)
{
    (void)state;
    ir_gather_t dims = {.n_offset = 1, .n_start = 1, .offset_dims = {1}, .index_vector_dim = 1};
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_F32, SHAPE(3), 0);
    ir_val_t at = hand_value(h.fn, DT_I32, SHAPE(2, 1), VALUES(0));
    ir_scatter(h.fn, OP_add, x, at, hand_count(h.fn, DT_F32, SHAPE(2, 4), 0), &dims);
    hand_expect_error(&h, ERR_SHAPE, "must be at most 3");
    h = hand_begin();
    x = hand_count(h.fn, DT_F32, SHAPE(3), 0);
    at = hand_value(h.fn, DT_I32, SHAPE(2, 1), VALUES(0));
    ir_scatter(h.fn, OP_add, x, at, hand_count(h.fn, DT_F64, SHAPE(2, 2), 0), &dims);
    hand_expect_error(&h, ERR_TYPE, "updates 0");
}

/* --- windows --- */

static ir_val_t slide(hand_t *h, op_code_t reducer, ir_val_t x, double init, ir_window_t w)
{
    dtype_t dtype = ir_type_of(h->fn, x)->dtype;
    ir_val_t in[2] = {x, ir_scalar(h->fn, dtype, init)};
    ir_op_t *op = ir_reduce_window(h->fn, 1, in, &w, ir_reducer(h->fn, reducer, dtype));
    return op ? op->out : IR_NONE;
}

static const ir_window_t cumulative = {
    .size = {4}, .stride = {1}, .base_dilation = {1}, .window_dilation = {1}, .low = {3}};

static void test_reduce_window(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    hand_expect(&h, slide(&h, OP_add, hand_count(h.fn, DT_I8, SHAPE(4), 1), 0, cumulative), DT_I8,
                SHAPE(4), VALUES(1, 3, 6, 10));
    /* 1 . 2 . 3 between one cut off and two added, taps two apart, every second: the padding and
     * the gaps count as 10 */
    ir_window_t odd = {.size = {2},
                       .stride = {2},
                       .base_dilation = {2},
                       .window_dilation = {2},
                       .low = {-1},
                       .high = {2}};
    h = hand_begin();
    hand_expect(&h, slide(&h, OP_add, hand_count(h.fn, DT_F32, SHAPE(3), 1), 10, odd), DT_F32,
                SHAPE(2), VALUES(30, 30));
    odd.low[0] = 0;
    h = hand_begin();
    hand_expect(&h, slide(&h, OP_maximum, hand_count(h.fn, DT_F32, SHAPE(3), 1), -9, odd), DT_F32,
                SHAPE(3), VALUES(2, 3, 3));
    h = hand_begin(); /* through the region: ((0 - 0) - 0) - .. */
    hand_expect(&h, slide(&h, OP_subtract, hand_count(h.fn, DT_F32, SHAPE(4), 1), 0, cumulative),
                DT_F32, SHAPE(4), VALUES(-1, -3, -6, -10));
}

static void test_reduce_window_refusals(void **state)
{
    (void)state;
    ir_window_t w = cumulative;
    w.stride[0] = 0;
    hand_t h = hand_begin();
    slide(&h, OP_add, hand_count(h.fn, DT_F32, SHAPE(4), 1), 0, w);
    hand_expect_error(&h, ERR_SHAPE, "stride 0");
    w = cumulative;
    w.low[0] = -9;
    h = hand_begin();
    slide(&h, OP_add, hand_count(h.fn, DT_F32, SHAPE(4), 1), 0, w);
    hand_expect_error(&h, ERR_SHAPE, "padding [-9, 0]");
}

/* Windows of two over 3 3 1 5 with one padded in front: picks 3, 3 (the first), 3, 5 */
static void test_select_and_scatter(void **state)
{
    (void)state;
    ir_window_t w = {
        .size = {2}, .stride = {1}, .base_dilation = {1}, .window_dilation = {1}, .low = {1}};
    hand_t h = hand_begin();
    ir_val_t x = hand_value(h.fn, DT_F32, SHAPE(4), VALUES(3, 3, 1, 5));
    ir_val_t source = hand_value(h.fn, DT_F32, SHAPE(4), VALUES(1, 10, 100, 1000));
    hand_expect(&h,
                ir_select_and_scatter(h.fn, x, source, ir_scalar(h.fn, DT_F32, 0.5), &w,
                                      ir_comparator(h.fn, "GE", DT_F32),
                                      ir_reducer(h.fn, OP_add, DT_F32)),
                DT_F32, SHAPE(4), VALUES(11.5, 100.5, 0.5, 1000.5));
}

static void test_select_and_scatter_refusal(void **state)
{
    (void)state;
    ir_window_t w = {.size = {2}, .stride = {1}, .base_dilation = {1}, .window_dilation = {1}};
    hand_t h = hand_begin();
    ir_val_t x = hand_count(h.fn, DT_F32, SHAPE(4), 0);
    ir_select_and_scatter(h.fn, x, x, ir_scalar(h.fn, DT_F32, 0), &w,
                          ir_comparator(h.fn, "GE", DT_F32), ir_reducer(h.fn, OP_add, DT_F32));
    hand_expect_error(&h, ERR_SHAPE, "tensor<3xf32>");
}

/* --- sort --- */

static ir_op_t *sort_two(hand_t *h, ir_val_t a, ir_val_t b, int64_t dim)
{
    ir_type_t ea = ir_type_scalar(ir_type_of(h->fn, a)->dtype);
    ir_type_t eb = ir_type_scalar(ir_type_of(h->fn, b)->dtype), types[4] = {ea, ea, eb, eb};
    ir_region_t *saved, *region = ir_region_begin(h->fn, 4, types, &saved);
    ir_val_t y = ir_compare(h->fn, "LT", region->arg, region->arg + 1);
    ir_region_end(h->fn, region, 1, &y, saved);
    ir_attrs_t attrs = {0};
    attr_set_int(h->module->arena, &attrs, "dimension", dim);
    return ir_emit(h->fn, OP_sort, 2, (ir_val_t[]){a, b}, &attrs, 2, NULL, 1, &region);
}

static void test_sort(void **state)
{
    (void)state;
    for (int64_t dim = -2; dim < 2; dim++) {
        hand_t h = hand_begin();
        ir_val_t a = hand_value(h.fn, DT_F32, SHAPE(2, 3), VALUES(2, 1, 2, 1, 1, 0));
        ir_val_t b = hand_count(h.fn, DT_I32, SHAPE(2, 3), 0);
        ir_op_t *op = sort_two(&h, a, b, dim);
        assert_non_null(op);
        if (dim == -2 || dim == 0)
            hand_expect(&h, op->out + 1, DT_I32, SHAPE(2, 3), VALUES(3, 1, 5, 0, 4, 2));
        else
            hand_expect(&h, op->out + 1, DT_I32, SHAPE(2, 3), VALUES(1, 0, 2, 5, 3, 4));
    }
}

static void test_sort_refusal(void **state)
{
    (void)state;
    hand_t h = hand_begin();
    ir_val_t a = hand_count(h.fn, DT_F32, SHAPE(2, 3), 0);
    sort_two(&h, a, a, 2);
    hand_expect_error(&h, ERR_SHAPE, "dimension 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather_clamps),
        cmocka_unit_test(test_gather_map),
        cmocka_unit_test(test_gather_batching),
        cmocka_unit_test(test_gather_refusals),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_scatter_rounds_each),
        cmocka_unit_test(test_scatter_two_inputs),
        cmocka_unit_test(test_scatter_refusals),
        cmocka_unit_test(test_reduce_window),
        cmocka_unit_test(test_reduce_window_refusals),
        cmocka_unit_test(test_select_and_scatter),
        cmocka_unit_test(test_select_and_scatter_refusal),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_sort_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
