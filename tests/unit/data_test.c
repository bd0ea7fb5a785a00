/* data: windows and records, the keyed permutation, ranges, batches. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/batch.h"
#include "data/feed.h"
#include "data/range.h"
#include "data/shuffle.h"
#include "data/token_bytes.h"
#include "temp.h"

/* ---- shuffle ---- */

static void test_shuffle_is_a_bijection(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1,  2,  3,  4,    5,    7,    16,    17,
                                     63, 64, 65, 1000, 1024, 4097, 100003};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint64_t n = sizes[s];
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            unsigned char *seen = calloc(n, 1);
            shuffle_t shuffle;
            shuffle_init(&shuffle, 42, epoch, n);
            for (uint64_t i = 0; i < n; i++) {
                uint64_t to = shuffle_at(&shuffle, i);
                assert_true(to < n);
                assert_int_equal(seen[to]++, 0);
            }
            free(seen);
        }
    }
    shuffle_t huge;
    shuffle_init(&huge, 1, 0, (uint64_t)1 << 62);
    for (uint64_t i = 0; i < 1000; i++) assert_true(shuffle_at(&huge, i) < (uint64_t)1 << 62);
}

/* Pseudo-random: few fixed points, no correlation with the position, and another order for another
 * key. Bounds are five standard deviations of what a uniform permutation gives. */
static void test_shuffle_mixes(void **state)
{
    (void)state;
    enum { N = 10007 };
    double correlation = 0, same = 0, middle = (N - 1) / 2.0, variance = (N * (double)N - 1) / 12;
    int fixed = 0, steps = 0;
    shuffle_t a, b, c;
    shuffle_init(&a, 1, 0, N);
    shuffle_init(&b, 1, 1, N);
    shuffle_init(&c, 2, 0, N);
    for (uint64_t i = 0; i < N; i++) {
        uint64_t at = shuffle_at(&a, i);
        correlation += ((double)i - middle) * ((double)at - middle) / variance / N;
        fixed += at == i;
        steps += i > 0 && at == shuffle_at(&a, i - 1) + 1;
        same += (at == shuffle_at(&b, i)) + (at == shuffle_at(&c, i));
    }
    assert_true(fabs(correlation) < 5 / sqrt(N));
    assert_true(fixed < 8 && steps < 8 && same < 12);
    /* A pure function of (seed, epoch, n): every machine has the same order. */
    shuffle_init(&b, 1, 0, N);
    for (uint64_t i = 0; i < 100; i++) assert_true(shuffle_at(&a, i) == shuffle_at(&b, i));
}

/* ---- ranges ---- */

/* Leases of uneven size, some returned halfway: every epoch still visits every unit exactly once.
 */
static void test_ranges_cover_epochs_once(void **state)
{
    (void)state;
    enum { UNITS = 101, EPOCHS = 4 };
    static const data_order_t orders[] = {
        {.seed = 7, .n_units = UNITS, .sequential = true},
        {.seed = 7, .n_units = UNITS},
        {.seed = 7, .n_units = UNITS, .block = 1},
        {.seed = 7, .n_units = UNITS, .block = 3}, /* 33 blocks: two pools and one block; 2 units */
        {.seed = 7, .n_units = UNITS, .block = 100},
        {.seed = 7, .n_units = UNITS, .block = 1000},
    };
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        const data_order_t order = orders[o];
        data_range_t cursor = {0}, queue[64], range, rest;
        int visits[UNITS] = {0}, n_queue = 0, done = 0;
        err_t err = {0};
        for (uint64_t k = 0; done < UNITS * EPOCHS; k++) {
            if (n_queue > 0) {
                range = queue[--n_queue];
            } else {
                uint64_t left = (uint64_t)(UNITS * EPOCHS - done), count = 1 + k * 13 % 150;
                uint64_t ask = count < left ? count : left;
                assert_int_equal(data_range_take(&cursor, UNITS, ask, &range, &err), 0);
            }
            uint64_t part = range.count > 3 && k % 3 == 0 ? range.count / 2 : range.count,
                     units[512];
            assert_int_equal(data_range_units(&order, &range, 0, part, units, &err), 0);
            for (uint64_t i = 0; i < part; i++) visits[units[i]]++;
            done += (int)part;
            assert_int_equal(data_range_rest(&range, UNITS, part, &rest, &err), 0);
            assert_true(rest.count == range.count - part);
            if (rest.count) queue[n_queue++] = rest;
        }
        assert_int_equal(n_queue, 0);
        for (int i = 0; i < UNITS; i++) assert_int_equal(visits[i], EPOCHS);
        assert_true(cursor.epoch == EPOCHS && cursor.start == 0);
    }
}

/* By blocks: a stretch of an epoch comes from few places, each epoch from others, and within a pool
 * no neighbours stay together. */
static void test_blocks_keep_together(void **state)
{
    (void)state;
    enum { UNITS = 100000, BLOCK = 64, POOL = BLOCK * SHUFFLE_POOL };
    uint64_t before[POOL], same = 0, next = 0;
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        block_shuffle_t shuffle;
        block_shuffle_init(&shuffle, 1, epoch, UNITS, BLOCK);
        for (uint64_t first = 0; first + POOL <= UNITS; first += POOL) {
            bool seen[UNITS / BLOCK + 2] = {0};
            int n_block = 0;
            for (uint64_t i = 0, last = UNITS; i < POOL && first + POOL <= UNITS / BLOCK * BLOCK;
                 i++) {
                uint64_t unit = block_shuffle_at(&shuffle, first + i);
                uint64_t block = (unit + UNITS - shuffle.shift) % UNITS / BLOCK;
                n_block += !seen[block];
                seen[block] = true;
                next += unit == last + 1;
                last = unit;
                if (first == 0) same += epoch > 0 && before[i] == unit;
                if (first == 0) before[i] = unit;
            }
            assert_true(n_block <= SHUFFLE_POOL);
        }
    }
    assert_true(same < 5);
    assert_true(next < 4 * UNITS / POOL * 6); /* one a pool by chance */
}

static void test_ranges_agree(void **state)
{
    (void)state;
    enum { UNITS = 10 };
    data_order_t order = {.seed = 3, .n_units = UNITS};
    data_range_t range = {5, 8, 30}; /* over three epoch borders */
    uint64_t all[30], part[7];
    err_t err = {0};
    assert_int_equal(data_range_units(&order, &range, 0, 30, all, &err), 0);
    for (uint64_t first = 0; first + 7 <= 30; first++) {
        assert_int_equal(data_range_units(&order, &range, first, 7, part, &err), 0);
        assert_memory_equal(part, all + first, sizeof part);
    }
    for (uint64_t i = 0; i < 30; i++) { /* against the definition */
        shuffle_t shuffle;
        shuffle_init(&shuffle, 3, 5 + (8 + i) / UNITS, UNITS);
        assert_true(all[i] == shuffle_at(&shuffle, (8 + i) % UNITS));
    }
    order.sequential = true;
    assert_int_equal(data_range_units(&order, &range, 0, 5, part, &err), 0);
    static const uint64_t want[] = {8, 9, 0, 1, 2};
    assert_memory_equal(part, want, sizeof want);
}

static void test_ranges_refuse(void **state)
{
    (void)state;
    err_t err = {0};
    data_order_t order = {.seed = 3, .n_units = 10};
    data_range_t cursor = {0}, range = {0, 2, 5}, outside = {0, 10, 1}, out = {9, 9, 9};
    uint64_t units[8];
    assert_int_equal(data_range_take(&cursor, 0, 1, &out, &err), -1);
    assert_int_equal(data_range_take(&cursor, 10, 0, &out, &err), -1);
    assert_int_equal(data_range_take(&outside, 10, 1, &out, &err), -1);
    cursor = (data_range_t){UINT64_MAX, 9, 0};
    assert_int_equal(data_range_take(&cursor, 10, 1, &out, &err), -1);
    assert_true(cursor.start == 9 && out.epoch == 9);
    assert_int_equal(data_range_rest(&range, 10, 6, &out, &err), -1);
    assert_int_equal(data_range_units(&order, &range, 0, 6, units, &err), -1);
    assert_int_equal(data_range_units(&order, &range, 6, 0, units, &err), -1);
    assert_int_equal(data_range_units(&order, &range, 1, UINT64_MAX, units, &err), -1);
    assert_int_equal(data_range_units(&order, &outside, 0, 1, units, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
}

/* ---- batches ---- */

static ir_type_t type_of(dtype_t dtype, int64_t rows, int64_t columns)
{
    int64_t dim[2] = {rows, columns};
    return ir_type(dtype, 2, dim);
}

static void test_units(void **state)
{
    (void)state;
    static const struct {
        data_kind_t kind;
        uint64_t unit, tokens, units;
    } rows[] = {
        {DATA_WINDOWS, 8, 90, 11},
        {DATA_WINDOWS, 8, 89, 11},
        {DATA_WINDOWS, 8, 88, 10},
        {DATA_WINDOWS, 8, 10, 1},
        {DATA_WINDOWS, 8, 9, 1},
        {DATA_WINDOWS, 8, 8, 0},
        {DATA_WINDOWS, 8, 0, 0},
        {DATA_WINDOWS, 10, 1000, 99},
        {DATA_RECORDS, 5, 47, 9},
        {DATA_RECORDS, 5, 4, 0},
        {DATA_RECORDS, 5, 0, 0},
        {DATA_RECORDS, 1, 3, 3},
        {DATA_WINDOWS, 1, UINT64_MAX, UINT64_MAX - 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const batch_layout_t l = {.kind = rows[i].kind, .unit = rows[i].unit};
        assert_true(batch_units(&l, rows[i].tokens) == rows[i].units);
    }
}

static void test_batch_windows(void **state)
{
    (void)state;
    err_t err = {0};
    batch_layout_t l;
    const ir_type_t types[2] = {type_of(DT_I64, 2, 3), type_of(DT_I32, 2, 3)};
    assert_int_equal(batch_layout(DATA_WINDOWS, types, 2, &l, &err), 0);
    assert_true(l.unit == 3 && l.unit_tokens == 4 && l.units == 2 && l.tokens == 6);
    const uint16_t tokens[8] = {10, 11, 12, 13, 65535, 5, 6, 7};
    int64_t x[6];
    int32_t y[6];
    void *args[2] = {x, y};
    assert_int_equal(batch_fill(&l, tokens, 8, 0, args, &err), 0);
    static const int64_t want_x[] = {10, 11, 12, 65535, 5, 6};
    static const int32_t want_y[] = {11, 12, 13, 5, 6, 7};
    assert_memory_equal(x, want_x, sizeof x);
    assert_memory_equal(y, want_y, sizeof y);
    assert_int_equal(batch_fill(&l, tokens, 8, 65536, args, &err), 0);
    assert_int_equal(batch_fill(&l, tokens, 8, 65535, args, &err), -1);
    assert_non_null(strstr(err.text, "token 65535 (place 0 of unit 1"));
    assert_int_equal(batch_fill(&l, tokens, 7, 0, args, &err), -1);
}

/* Tokens of one and of four bytes: the same batches as numbers of our own. */
static void test_token_bytes(void **state)
{
    (void)state;
    static const struct {
        int bytes;
        uint32_t most;
    } rows[] = {{1, 255}, {2, 65535}, {4, 151935}};
    const ir_type_t types[2] = {type_of(DT_I64, 2, 3), type_of(DT_I32, 2, 3)};
    const data_order_t order = {.n_units = 5, .sequential = true};
    const data_range_t range = {0, 1, 4};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        err_t err = {0};
        uint32_t number[16];
        uint8_t file[64] = {0}; /* byte by byte, the low ones first */
        batch_layout_t l;
        feed_t feed;
        for (uint32_t i = 0; i < 16; i++) {
            number[i] = rows[r].most - i * 3;
            for (int b = 0; b < rows[r].bytes; b++)
                file[i * (uint32_t)rows[r].bytes + (uint32_t)b] = (uint8_t)(number[i] >> 8 * b);
        }
        assert_int_equal(batch_layout(DATA_WINDOWS, types, 2, &l, &err), 0);
        l.token_bytes = rows[r].bytes;
        assert_int_equal(feed_init(&feed, &l, &order, &range, rows[r].most + 1, 2, &err), 0);
        assert_int_equal(feed_step(&feed, file, 0, &err), 0);
        const int64_t *x = feed.args[0];
        const int32_t *y = feed.args[1];
        for (int i = 0; i < 12; i++) { /* 2 micro-batches of 2 windows of 3, from the second on */
            assert_int_equal(x[i], number[3 + i]);
            assert_int_equal(y[i], number[4 + i]);
        }
        feed_fini(&feed);
        assert_int_equal(feed_init(&feed, &l, &order, &range, number[5], 2, &err), 0);
        assert_int_equal(feed_step(&feed, file, 0, &err), -1);
        assert_non_null(strstr(err.text, "is outside the vocabulary"));
        feed_fini(&feed);
        char name[16];
        snprintf(name, sizeof name, "a.%s", token_bytes_ending(rows[r].bytes));
        assert_int_equal(token_bytes_named(name), rows[r].bytes);
        assert_int_equal(token_bytes_for((uint64_t)rows[r].most + 1), rows[r].bytes == 4 ? 4 : 2);
    }
    assert_int_equal(token_bytes_named("dir.u32/tokens"), 2);
}

static void test_silent_tokens(void **state)
{
    (void)state;
    err_t err = {0};
    batch_layout_t l;
    const ir_type_t types[3] = {type_of(DT_I32, 2, 3), type_of(DT_I32, 2, 3),
                                type_of(DT_F32, 2, 3)};
    const uint32_t tokens[8] = {5,  6 | TOKEN_SILENT,  7, 8, 9 | TOKEN_SILENT,
                                10, 11 | TOKEN_SILENT, 12};
    int32_t x[6], y[6];
    float w[6];
    void *args[3] = {x, y, w};
    assert_int_equal(batch_layout(DATA_WINDOWS, types, 3, &l, &err), 0);
    assert_true(l.unit == 3 && l.unit_tokens == 4 && l.units == 2 && l.tokens == 6);
    l.token_bytes = 4;
    assert_int_equal(batch_fill(&l, tokens, 8, 13, args, &err), 0);
    static const int32_t want_x[] = {5, 6, 7, 9, 10, 11}, want_y[] = {6, 7, 8, 10, 11, 12};
    static const float want_w[] = {0, 1, 1, 1, 0, 1};
    assert_memory_equal(x, want_x, sizeof x);
    assert_memory_equal(y, want_y, sizeof y);
    assert_memory_equal(w, want_w, sizeof w);
    assert_int_equal(batch_fill(&l, tokens, 8, 12, args, &err), -1);
    assert_non_null(strstr(err.text, "token 12 (place 3 of unit 1"));
    const uint16_t plain[8] = {5, 6, 7, 8, 9, 10, 11, 12}; /* all of them count */
    l.token_bytes = 2;
    assert_int_equal(batch_fill(&l, plain, 8, 13, args, &err), 0);
    for (int i = 0; i < 6; i++) assert_true(w[i] == 1);
    assert_int_equal(batch_layout(DATA_WINDOWS, types, 2, &l, &err), 0);
    l.token_bytes = 4;
    assert_int_equal(batch_fill(&l, tokens, 8, 13, args, &err), -1);
    assert_non_null(strstr(err.text, "takes no weights"));
    const ir_type_t wrong[3] = {types[0], types[1], type_of(DT_BF16, 2, 3)};
    assert_int_equal(batch_layout(DATA_WINDOWS, wrong, 3, &l, &err), -1);
    const ir_type_t small[3] = {types[0], types[1], type_of(DT_F32, 1, 3)};
    assert_int_equal(batch_layout(DATA_WINDOWS, small, 3, &l, &err), -1);
}

/* Every integer type, several arguments of other shapes, no shift. */
static void test_validation_sample(void **state)
{
    (void)state;
    const batch_layout_t l = {.units = 4, .unit = 10, .unit_tokens = 11, .tokens = 40};
    static const struct {
        uint64_t units, most, batches;
        bool sampled;
    } rows[] = {
        {400, 0, 100, false},    {400, 4000, 100, false}, {400, 3999, 99, true},
        {400, 80, 2, true},      {400, 119, 2, true},     {400, 1, 1, true},
        {403, 4000, 100, false}, {3, 1, 0, false},        {0, 100, 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        batch_sample_t sample = batch_sample(&l, rows[i].units, rows[i].most);
        assert_int_equal(sample.batches, rows[i].batches);
        assert_int_equal(sample.sampled, rows[i].sampled);
    }
    /* The sample lies all over the text: of 1,000 windows of a million each tenth has its share. */
    shuffle_t shuffle;
    int tenth[10] = {0};
    shuffle_init(&shuffle, BATCH_SAMPLE_SEED, 0, 1000000);
    for (uint64_t i = 0; i < 1000; i++) tenth[shuffle_at(&shuffle, i) / 100000]++;
    for (int i = 0; i < 10; i++) assert_in_range(tenth[i], 60, 140);
}

static void test_batch_records(void **state)
{
    (void)state;
    static const dtype_t dtypes[] = {DT_I8,  DT_I16,  DT_I32,  DT_I64,
                                     DT_UI8, DT_UI16, DT_UI32, DT_UI64};
    err_t err = {0};
    for (int k = 0; k < 8; k++) {
        ir_type_t types[3] = {type_of(dtypes[k], 2, 2), type_of(DT_I32, 1, 1),
                              type_of(DT_I64, 1, 3)};
        batch_layout_t l;
        assert_int_equal(batch_layout(DATA_RECORDS, types, 3, &l, &err), 0);
        assert_true(l.unit == 8 && l.unit_tokens == 8 && l.units == 1 && l.tokens == 8);
        uint16_t tokens[8] = {1, 2, 3, 127, 200, 65535, 0, 9};
        uint8_t a[32] = {0};
        int32_t b;
        int64_t c[3];
        void *args[3] = {a, &b, c};
        bool narrow = dtype_bytes(dtypes[k]) == 1, just = dtypes[k] == DT_I16;
        if (narrow) tokens[4] = 100, tokens[5] = 101;
        if (just) tokens[5] = 32767;
        assert_int_equal(batch_fill(&l, tokens, 8, 0, args, &err), 0);
        size_t width = dtype_bytes(dtypes[k]);
        for (int i = 0; i < 4; i++) {
            uint64_t got = 0;
            memcpy(&got, a + (size_t)i * width, width);
            assert_true(got == tokens[i]);
        }
        assert_int_equal(b, tokens[4]);
        assert_true(c[0] == tokens[5] && c[1] == 0 && c[2] == 9);
        tokens[0] = 40000;
        int rc = batch_fill(&l, tokens, 8, 0, args, &err);
        assert_int_equal(rc, narrow || just ? -1 : 0);
        if (rc < 0) assert_int_equal(err.code, ERR_TYPE);
    }
}

static void test_batch_refuses(void **state)
{
    (void)state;
    err_t err = {0};
    batch_layout_t l;
    ir_type_t types[3] = {type_of(DT_I64, 2, 3), type_of(DT_I64, 2, 3), type_of(DT_I64, 2, 3)};
    assert_int_equal(batch_layout(DATA_WINDOWS, types, 3, &l, &err), -1);
    assert_int_equal(err.code, ERR_SHAPE);
    assert_non_null(strstr(err.text, "records"));
    assert_int_equal(batch_layout(DATA_WINDOWS, types, 1, &l, &err), -1);
    assert_int_equal(batch_layout(DATA_RECORDS, types, 0, &l, &err), -1);
    types[1] = type_of(DT_I64, 2, 4);
    assert_int_equal(batch_layout(DATA_WINDOWS, types, 2, &l, &err), -1);
    types[1] = type_of(DT_F32, 2, 3);
    assert_int_equal(batch_layout(DATA_WINDOWS, types, 2, &l, &err), -1);
    assert_int_equal(err.code, ERR_TYPE);
    assert_non_null(strstr(err.text, "argument 1 is tensor<2x3xf32>"));
    types[1] = type_of(DT_I1, 2, 3);
    assert_int_equal(batch_layout(DATA_RECORDS, types, 2, &l, &err), -1);
    types[1] = type_of(DT_I64, 2, 0);
    assert_int_equal(batch_layout(DATA_RECORDS, types, 2, &l, &err), -1);
    types[1] = ir_type_scalar(DT_I64);
    assert_int_equal(batch_layout(DATA_RECORDS, types, 2, &l, &err), -1);
    assert_int_equal(err.code, ERR_SHAPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shuffle_is_a_bijection),
        cmocka_unit_test(test_shuffle_mixes),
        cmocka_unit_test(test_ranges_cover_epochs_once),
        cmocka_unit_test(test_blocks_keep_together),
        cmocka_unit_test(test_ranges_agree),
        cmocka_unit_test(test_ranges_refuse),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_token_bytes),
        cmocka_unit_test(test_silent_tokens),
        cmocka_unit_test(test_batch_windows),
        cmocka_unit_test(test_validation_sample),
        cmocka_unit_test(test_batch_records),
        cmocka_unit_test(test_batch_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
