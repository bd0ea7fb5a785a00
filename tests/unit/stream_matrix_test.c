/* Products of few rows by a matrix unit, emulated: against sums in f64, with edges in every direction, bf16 and
 * i8, rows of the matrix apart, more terms than are kept at a time; a row's bits depend neither on the rows
 * beside it nor on how columns are cut, and those of i8 by vectors, emulated, too, are the same. stream_test has all of it by
 * the instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amx_emulation.h"
#include "base/half.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "codegen/c/compiler.h"
#include "codegen/c/pack_amx.h"
#include "codegen/c/tile.h"
#include "codegen/c/tile_amx.h"
#include "codegen/prelude/prelude_text.h"
#include "runtime/code.h"

typedef void product_fn(const float *a, const void *b, float *c, const int64_t *sizes, int64_t j0,
                        int64_t j1);

static const char entry[] =
    "\nvoid product(const float *a, const void *b, float *c, const int64_t *x, int64_t j0, "
    "int64_t j1)\n{\n"
    "    const pcp_stream_t s = {a, b, c, x[2], x[3], x[1], x[0], x[2], (int)x[4]};\n"
    "    pcp_stream_columns(&s, j0, j1);\n}\n";

/* VPDPBUSD as the manual defines it. */
static const char fours_emulation[] = "static kc_i16 emu_fours(kc_i16 c, kc_i16 a, kc_i16 b)\n{\n"
                                      "    const uint8_t *x = (const uint8_t *)&a;\n"
                                      "    const int8_t *y = (const int8_t *)&b;\n"
                                      "    for (int i = 0; i < 64; i++) c[i / 4] += x[i] * y[i];\n"
                                      "    return c;\n}\n"
                                      "#define KC_FOURS emu_fours\n";

static code_t *code, *fours_code;
static product_fn *product, *by_fours; /* the second one for i8 alone */

static code_t *compile(bool fours, product_fn **function)
{
    err_t err = {0};
    size_t n = 0;
    str_t text = {0};
    if (!fours) str_add(&text, amx_emulation);
    str_add(&text, prelude_text());
    str_add(&text, tile_head);
    str_add(&text, fours ? fours_emulation : tile_amx_head);
    str_add(&text, pack_amx_head);
    str_add(&text, prelude_stream_text());
    str_add(&text, entry);
    const char *unit = str_text(&text);
    uint8_t *bytes = compiler_run(NULL, 1, &unit, "", &n, &err);
    code_t *made = bytes ? code_load(bytes, n, &err) : NULL;
    void *address = made ? code_symbol(made, "product", &err) : NULL;
    if (!address) print_error("%s\n", err.text);
    memcpy(function, &address, sizeof address);
    str_fini(&text);
    free(bytes);
    return made;
}

static int set_up(void **state)
{
    (void)state;
    code = compile(false, &product);
    fours_code = compile(true, &by_fours);
    return product && by_fours ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    code_destroy(&code);
    code_destroy(&fours_code);
    return 0;
}

/* --- operands --- */

typedef struct {
    int64_t m, n, k, ldb, bytes; /* as the entry wants them */
    float *a, *c;
    void *b;
} case_t;

static float a_at(int64_t i, int64_t p)
{
    return (float)rng_normal(1, (uint64_t)(i * 10000 + p));
}

static float b_at(const case_t *c, int64_t j, int64_t p)
{
    if (c->bytes) return (float)((int)(rng_bits(2, (uint64_t)(j * 10000 + p)) % 256) - 128);
    return half_from_bf16(half_to_bf16(rng_normal(2, (uint64_t)(j * 10000 + p))));
}

static void put(const case_t *c, int64_t at, float x)
{
    if (c->bytes)
        ((int8_t *)c->b)[at] = (int8_t)x;
    else
        ((uint16_t *)c->b)[at] = half_to_bf16(x);
}

/* What is between rows would spoil every sum that reads it. */
static case_t make_case(int64_t m, int64_t n, int64_t k, int64_t ldb, bool bytes)
{
    case_t c = {.m = m, .n = n, .k = k, .ldb = ldb, .bytes = bytes};
    c.a = mem_calloc((size_t)(m * k), 4);
    c.b = mem_calloc((size_t)(n * ldb), 2);
    c.c = mem_calloc((size_t)(m * n), 4);
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++) c.a[i * k + p] = a_at(i, p);
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p < ldb; p++)
            put(&c, j * ldb + p, p < k ? b_at(&c, j, p) : bytes ? 127 : NAN);
    return c;
}

static void free_case(case_t *c)
{
    free(c->a);
    free(c->b);
    free(c->c);
}

static void run(case_t *c, int64_t cut)
{
    const int64_t sizes[] = {c->m, c->n, c->k, c->ldb, c->bytes};
    product(c->a, c->b, c->c, sizes, 0, cut);
    if (cut < c->n) product(c->a, c->b, c->c, sizes, cut, c->n);
    if (!c->bytes) return;
    float *same = mem_calloc((size_t)(c->m * c->n), 4);
    by_fours(c->a, c->b, same, sizes, 0, cut);
    if (cut < c->n) by_fours(c->a, c->b, same, sizes, cut, c->n);
    assert_memory_equal(same, c->c, (size_t)(c->m * c->n) * 4);
    free(same);
}

static double largest_error(const case_t *c)
{
    double most = 0;
    for (int64_t i = 0; i < c->m; i++)
        for (int64_t j = 0; j < c->n; j++) {
            double sum = 0, size = 0;
            for (int64_t p = 0; p < c->k; p++) {
                double x = (double)c->a[i * c->k + p] * b_at(c, j, p);
                sum += x;
                size += fabs(x);
            }
            most = fmax(most, fabs(c->c[i * c->n + j] - sum) / size);
        }
    return most;
}

/* --- tests --- */

static void check_shape(int64_t n, int64_t k, int64_t ldb, bool bytes)
{
    const int64_t m[] = {1, 2, 3, 4, 5, 8, 11, 16};
    float *alone = mem_calloc((size_t)n, 4);
    for (size_t i = 0; i < sizeof m / sizeof *m; i++) {
        case_t c = make_case(m[i], n, k, ldb, bytes);
        run(&c, i % 2 ? n : n * 2 / 3);
        assert_true(largest_error(&c) < (bytes ? 0x1p-14 : 0x1p-18));
        if (i == 0) memcpy(alone, c.c, (size_t)n * 4);
        assert_memory_equal(c.c, alone, (size_t)n * 4); /* row 0 */
        free_case(&c);
    }
    free(alone);
}

static void test_shapes(void **state)
{
    (void)state;
    const int64_t shapes[][3] = {{64, 64, 64}, {97, 96, 96}, {130, 100, 100}, {70, 77, 90}};
    for (int i = 0; i < 8; i++)
        check_shape(shapes[i / 2][0], shapes[i / 2][1], shapes[i / 2][2], i % 2);
}

static void test_many_terms(void **state)
{
    (void)state;
    check_shape(17, 4200, 4200, false);
    check_shape(17, 4200, 4200, true);
}

/* B is 1 in its diagonal. */
static case_t make_same(bool bytes)
{
    case_t c = make_case(2, 64, 64, 64, bytes);
    for (int64_t j = 0; j < 64; j++)
        for (int64_t p = 0; p < 64; p++) put(&c, j * 64 + p, p == j ? 1 : 0);
    return c;
}

/* Parts of f32 add up to it: a product with 1 is the number, whatever its last bits are. */
static void test_parts_are_exact(void **state)
{
    (void)state;
    case_t c = make_same(false);
    run(&c, 64);
    assert_memory_equal(c.c, c.a, 2 * 64 * 4);
    free_case(&c);
}

/* Whole numbers are as near as the largest of their row allows, whatever that is: from 2^-104 to the end of f32. */
static void test_whole_numbers_are_near(void **state)
{
    (void)state;
    static const float scales[] = {1, 1e-30f, 1e30f, 0x1p-100f, 0x1p125f, 3.999999f, 0};
    for (size_t t = 0; t < sizeof scales / sizeof *scales; t++) {
        case_t c = make_same(true);
        for (int i = 0; i < 2; i++) {
            float most = 0;
            for (int p = 0; p < 64; p++) {
                float *x = &c.a[64 * i + p];
                *x = fmaxf(fminf(*x, 3.9f), -3.9f) * scales[t] * (i ? 1 : 0.25f);
                most = fmaxf(most, fabsf(*x));
            }
            run(&c, 64);
            for (int p = 0; p < 64; p++)
                assert_true(fabs((double)c.c[64 * i + p] - c.a[64 * i + p]) <= most / 65000);
        }
        free_case(&c);
    }
}

/* A row with one number far above the others' mean is as near as 22 bits allow, and rows beside it have the bits they have alone. */
static void test_uneven_rows_are_nearer(void **state)
{
    (void)state;
    enum { N = 64, K = 256, FAR = 1000 };
    float alone[N];
    case_t c = make_case(2, N, K, K, true);
    for (int64_t j = 0; j < N; j++)
        for (int64_t p = 0; p < K; p++) put(&c, j * K + p, p == j ? 1 : 0);
    run(&c, N);
    memcpy(alone, c.c, sizeof alone);
    c.a[K + 5] = FAR;
    run(&c, N);
    assert_memory_equal(c.c, alone, sizeof alone);
    for (int p = 0; p < N; p++) assert_true(fabs((double)c.c[N + p] - c.a[K + p]) <= 0x1p-22 * FAR);
    free_case(&c);
}

/* A row with a number that is none has no sums, the others have theirs. */
static void test_what_is_not_finite_is_told(void **state)
{
    (void)state;
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    for (int t = 0; t < 3; t++) {
        case_t c = make_same(true);
        c.a[64 + 5] = bad[t];
        run(&c, 64);
        for (int p = 0; p < 64; p++) assert_true(isfinite(c.c[p]) && isnan(c.c[64 + p]));
        free_case(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_many_terms),
        cmocka_unit_test(test_parts_are_exact),
        cmocka_unit_test(test_whole_numbers_are_near),
        cmocka_unit_test(test_uneven_rows_are_nearer),
        cmocka_unit_test(test_what_is_not_finite_is_told),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
