/* Parameters as steps keep them: of other types, transposed, as whole numbers with scales; against the numbers of
 * the file one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/rng.h"
#include "infer/kept.h"

enum { ROWS = 37, COLS = 21 }; /* no whole blocks */

static float number[ROWS * COLS];
static uint8_t *bytes;
static safetensors_t *file;

static int make_file(void **state)
{
    err_t err = {0};
    size_t size, at;
    const safetensor_t list[] = {
        {.name = "w", .dtype = DT_F32, .rank = 2, .dims = {ROWS, COLS}, .n_bytes = sizeof number},
        {.name = "w^T", .dtype = DT_F32, .rank = 1, .dims = {1}, .n_bytes = 4},
        {.name = "v", .dtype = DT_F32, .rank = 2, .dims = {ROWS, COLS}, .n_bytes = sizeof number},
    };
    (void)state;
    for (int i = 0; i < ROWS * COLS; i++)
        number[i] = i / COLS == 5 ? 0 : (float)rng_normal(1, (uint64_t)i); /* a row of zeros */
    bytes = safetensors_pack(list, 3, NULL, 0, &size, &at, &err);
    if (!bytes) return -1;
    memcpy(bytes + at, number, sizeof number);
    memcpy(bytes + at + sizeof number + 4, number, sizeof number);
    file = safetensors_view(bytes, size, &err);
    return file ? 0 : -1;
}

static int drop_file(void **state)
{
    (void)state;
    safetensors_close(&file);
    free(bytes);
    return 0;
}

static plan_tensor_t wanted(dtype_t dtype, int rank, int64_t d0, int64_t d1)
{
    plan_tensor_t t = {.type = ir_type(dtype, rank, (int64_t[]){d0, d1})};
    t.n_bytes = ir_type_count(&t.type) * dtype_bytes(dtype);
    return t;
}

static void *make(const char *name, plan_tensor_t want)
{
    kept_form_t form;
    const safetensor_t *have = kept_find(file, name, &form);
    assert_non_null(have);
    return kept_make(&want, form, have);
}

/* The very name comes first; endings count where it is not there. */
static void test_names(void **state)
{
    kept_form_t form;
    (void)state;
    assert_int_equal(kept_find(file, "w^T", &form)->rank, 1);
    assert_false(form.turned);
    assert_int_equal(kept_find(file, "v^T", &form)->rank, 2);
    assert_true(form.turned && !form.scales);
    assert_int_equal(kept_find(file, "v^T^S", &form)->rank, 2);
    assert_true(form.turned && form.scales);
    assert_string_equal(kept_find(file, "w^S", &form)->name, "w");
    assert_true(!form.turned && form.scales);
    assert_null(kept_find(file, "x^T", &form));
    assert_null(kept_find(file, "^T", &form));
}

static void test_turned(void **state)
{
    (void)state;
    float *f = make("v^T", wanted(DT_F32, 2, COLS, ROWS));
    uint16_t *h = make("v^T", wanted(DT_BF16, 2, COLS, ROWS)),
             *plain = make("w", wanted(DT_BF16, 2, ROWS, COLS));
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++) {
            assert_true(f[c * ROWS + r] == number[r * COLS + c]);
            assert_int_equal(h[c * ROWS + r], half_to_bf16(number[r * COLS + c]));
            assert_int_equal(plain[r * COLS + c], half_to_bf16(number[r * COLS + c]));
        }
    free(f);
    free(h);
    free(plain);
    assert_null(make("v^T", wanted(DT_F32, 2, ROWS, COLS)));
    assert_null(make("v", wanted(DT_F32, 2, COLS, ROWS)));
    assert_null(make("v", wanted(DT_I32, 2, ROWS, COLS)));
    assert_null(make("v^S", wanted(DT_F32, 1, COLS, 0)));
}

/* Each number is within half a scale of what it was, and the largest of a row is as far as whole numbers go. */
static void check_whole(const char *name, const char *scales, bool turned)
{
    int rows = turned ? COLS : ROWS, cols = turned ? ROWS : COLS;
    int8_t *q = make(name, wanted(DT_I8, 2, rows, cols));
    float *scale = make(scales, wanted(DT_F32, 1, rows, 0));
    double most = 0;
    for (int r = 0; r < rows; r++) {
        float largest = 0;
        int reached = 0;
        for (int c = 0; c < cols; c++) {
            float x = number[turned ? c * COLS + r : r * COLS + c];
            int now = q[r * cols + c];
            largest = fmaxf(largest, fabsf(x));
            reached = abs(now) > reached ? abs(now) : reached;
            if (scale[r] > 0) most = fmax(most, fabs((double)now * scale[r] - x) / scale[r]);
            if (scale[r] == 0) assert_true(x == 0 && now == 0);
        }
        assert_true(scale[r] == largest / 127);
        assert_int_equal(reached, largest > 0 ? 127 : 0);
    }
    print_message("%s: off by %.4f of a scale at most\n", name, most);
    assert_true(most <= 0.5001 && most > 0.4);
    free(q);
    free(scale);
}

static void test_whole_numbers(void **state)
{
    (void)state;
    check_whole("v", "v^S", false);
    check_whole("v^T", "v^T^S", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_turned),
        cmocka_unit_test(test_whole_numbers),
    };
    return cmocka_run_group_tests(tests, make_file, drop_file);
}
