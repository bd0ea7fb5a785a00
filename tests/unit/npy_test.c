/* NumPy's arrays, whole and damaged, and rows of bytes as batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "data/batch.h"
#include "data/npy.h"

/* A file of version 1 with this header and n bytes of data behind it; returns its length. */
static size_t make(char *to, const char *header, const void *data, size_t n)
{
    size_t length = strlen(header);
    memcpy(to, "\x93NUMPY\1\0", 8);
    to[8] = (char)length, to[9] = (char)(length >> 8);
    memcpy(to + 10, header, length);
    memcpy(to + 10 + length, data, n);
    return 10 + length + n;
}

static void test_arrays(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        dtype_t dtype;
        int rank;
        int64_t dim[2];
    } rows[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", DT_F32, 2, {2, 3}},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (24,), }", DT_UI8, 1, {24}},
        {"{'shape': (3,), 'fortran_order': False, 'descr': '<i8'}", DT_I64, 1, {3}},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (), }", DT_I1, 0, {0}},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (0, 4), }", DT_F16, 2, {0, 4}},
    };
    char bytes[256], data[24] = "abc";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err_t err = {0};
        ir_type_t type;
        const void *at;
        size_t n = make(bytes, rows[i].header, data, sizeof data);
        if (npy_view(bytes, n, &type, &at, &err) < 0) fail_msg("%s", err.text);
        ir_type_t want = ir_type(rows[i].dtype, rows[i].rank, rows[i].dim);
        assert_true(ir_type_equal(&type, &want));
        assert_memory_equal(at, "abc", 3);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header, *words;
    } rows[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", "big-endian"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", "elements are 'c8"},
        {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,), }", "one number"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", "columns come first"},
        {"{'descr': '<f4', 'shape': (2,), }", "columns come first"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }", "ends before its last"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "is none"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2", "is none"},
        {"{'descr': '<f4', 'fortran_order': False, }", "no shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }", ""},
        {"", "one number"},
    };
    char bytes[256], data[24] = {0};
    err_t err = {0};
    ir_type_t type;
    const void *at;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = make(bytes, rows[i].header, data, sizeof data);
        assert_int_equal(npy_view(bytes, n, &type, &at, &err), -1);
        if (!strstr(err.text, rows[i].words)) fail_msg("want %s, got %s", rows[i].words, err.text);
    }
    assert_int_equal(npy_view("\x93NUMPY\1\0\xFF\xFF", 10, &type, &at, &err), -1);
    assert_int_equal(npy_view("\x93NUMPY\1\0\xFF\xFF..", 12, &type, &at, &err), -1);
    assert_int_equal(npy_view("MZ", 2, &type, &at, &err), -1);
    /* any byte may be wrong: no reading out of bounds (asan), and an error or a type that fits */
    for (uint64_t k = 0; k < 20000; k++) {
        size_t n = make(bytes, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data,
                        24);
        bytes[rng_bits(1, k) % n] = (char)rng_bits(2, k);
        if (npy_view(bytes, n, &type, &at, &err) == 0)
            assert_true((const char *)at + ir_type_bytes(&type) <= bytes + n);
    }
}

static void test_rows(void **state)
{
    (void)state;
    err_t err = {0};
    batch_layout_t layout;
    ir_type_t types[2] = {ir_type(DT_F32, 2, (int64_t[]){3, 2}),
                          ir_type(DT_UI8, 1, (int64_t[]){3})};
    if (batch_layout(batch_kind("rows"), types, 2, &layout, &err) < 0) fail_msg("%s", err.text);
    assert_int_equal(layout.units, 3);
    assert_int_equal(layout.unit, 5); /* nine bytes, and one that fills up */
    assert_int_equal(batch_units(&layout, 29), 5);
    uint16_t units[15];
    float x[6] = {0}, want[6];
    uint8_t y[3] = {0};
    for (int r = 0; r < 3; r++) {
        char *to = (char *)(units + 5 * r);
        want[2 * r] = (float)r, want[2 * r + 1] = -0.5f * (float)r;
        memcpy(to, want + 2 * r, 8);
        to[8] = (char)(200 + r);
    }
    void *args[2] = {x, y};
    if (batch_fill(&layout, units, 15, 65536, args, &err) < 0) fail_msg("%s", err.text);
    assert_memory_equal(x, want, sizeof x);
    assert_int_equal(y[2], 202);
    types[1].dim[0] = 4;
    assert_int_equal(batch_layout(DATA_ROWS, types, 2, &layout, &err), -1);
    assert_non_null(strstr(err.text, "has 3 rows"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
