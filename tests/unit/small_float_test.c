/* Floats of a byte and less: every encoding of every type against its definition, roundings against
 * a search for the nearest encoding, conversions between all of them by the interpreter and in
 * compiled plans, what is printed. The rows below are written down anew, from the OCP 8-bit and
 * microscaling specifications and LLVM's APFloat. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "base/str.h"
#include "ir/print.h"
#include "ir/tensor.h"
#include "ops/check_expect.h"
#include "parse/parse.h"
#include "tools/check_compiled.h"

typedef struct {
    const char *name;
    int bits, man_bits, bias;
    int largest;                /* encoding of the largest finite number */
    int inf;                    /* encoding of infinity, -1: none */
    int nan_low, nan_high;      /* encodings of NaN without the sign bit; -1: none */
    bool has_minus_zero, scale; /* scale: no sign, no zero, no subnormals */
} row_t;

static const row_t rows[] = {
    {"f4E2M1FN", 4, 1, 1, 0x7, -1, -1, -1, true, false},
    {"f6E2M3FN", 6, 3, 1, 0x1F, -1, -1, -1, true, false},
    {"f6E3M2FN", 6, 2, 3, 0x1F, -1, -1, -1, true, false},
    {"f8E3M4", 8, 4, 3, 0x6F, 0x70, 0x71, 0x7F, true, false},
    {"f8E4M3", 8, 3, 7, 0x77, 0x78, 0x79, 0x7F, true, false},
    {"f8E4M3FN", 8, 3, 7, 0x7E, -1, 0x7F, 0x7F, true, false},
    {"f8E4M3FNUZ", 8, 3, 8, 0x7F, -1, -1, -1, false, false},
    {"f8E4M3B11FNUZ", 8, 3, 11, 0x7F, -1, -1, -1, false, false},
    {"f8E5M2", 8, 2, 15, 0x7B, 0x7C, 0x7D, 0x7F, true, false},
    {"f8E5M2FNUZ", 8, 2, 16, 0x7F, -1, -1, -1, false, false},
    {"f8E8M0FNU", 8, 0, 127, 0xFE, -1, 0xFF, 0xFF, true, true},
};
enum { N_ROW = sizeof rows / sizeof *rows };

/* The largest numbers, as the types' specifications list them. */
static const double largest[N_ROW] = {6, 7.5, 28, 15.5, 240, 448, 240, 30, 57344, 57344, 0x1p127};

static dtype_t dtype_of(const row_t *r)
{
    dtype_t dtype = dtype_parse(r->name, strlen(r->name));
    assert_int_not_equal(dtype, DT_NONE);
    return dtype;
}

static int sign_bit(const row_t *r)
{
    return r->scale ? 0 : 1 << (r->bits - 1);
}

/* The number of an encoding without its sign, special ones and the one behind the last included. */
static double magnitude_of(const row_t *r, int code)
{
    int exp = code >> r->man_bits, man = code & ((1 << r->man_bits) - 1);
    if (exp == 0 && !r->scale) return ldexp(man, 1 - r->bias - r->man_bits);
    return ldexp((1 << r->man_bits) + man, exp - r->bias - r->man_bits);
}

static double value_of(const row_t *r, int code)
{
    int sign = code & sign_bit(r), low = code & ~sign_bit(r);
    double nan = copysign((double)NAN, sign ? -1 : 1);
    if (sign && low == 0 && !r->has_minus_zero) return nan;
    if (r->nan_low >= 0 && low >= r->nan_low && low <= r->nan_high) return nan;
    double value = low == r->inf ? (double)INFINITY : magnitude_of(r, low);
    return sign ? -value : value;
}

static int nan_code(const row_t *r, int sign)
{
    if (!r->has_minus_zero) return sign_bit(r);
    if (r->nan_low < 0) return sign_bit(r); /* none: -0 stands for it */
    return sign | (r->inf < 0 ? r->nan_high : r->inf | 1 << (r->man_bits - 1));
}

/* The nearest of all encodings; of two the even one, or the larger of a type of one digit. */
static int nearest(const row_t *r, double value)
{
    int sign = signbit(value) ? sign_bit(r) : 0, low = 0, high = r->largest + 1;
    double a = fabs(value);
    if (isnan(value) || (r->scale && value < 0)) return nan_code(r, sign);
    if (isinf(value)) a = magnitude_of(r, high);
    while (high - low > 1) { /* magnitude(low) <= a < magnitude(high) */
        int middle = (low + high) / 2;
        *(magnitude_of(r, middle) <= a ? &low : &high) = middle;
    }
    double below = a - magnitude_of(r, low), above = magnitude_of(r, high) - a;
    bool tie = below == above, up = below > above || (tie && (low % 2 != 0 || r->scale));
    int code = up ? high : low;
    if (code <= r->largest) return code == 0 && !r->has_minus_zero ? 0 : sign | code;
    if (r->inf >= 0) return sign | r->inf;
    bool has_nan = !r->has_minus_zero || r->nan_low >= 0;
    return has_nan ? nan_code(r, sign) : sign | r->largest;
}

static void test_values(void **state)
{
    (void)state;
    for (int k = 0; k < N_ROW; k++) {
        const row_t *r = &rows[k];
        ir_type_t type = ir_type_scalar(dtype_of(r));
        tensor_t t = tensor_new(&type);
        assert_int_equal(dtype_bits(type.dtype), r->bits);
        assert_int_equal(dtype_bytes(type.dtype), 1);
        assert_true(value_of(r, r->largest) == largest[k]);
        for (int code = 0; code < 1 << r->bits; code++) {
            uint8_t *at = t.data;
            *at = (uint8_t)code;
            double want = value_of(r, code), got = tensor_get_f64(&t, 0);
            if (isnan(want) ? !isnan(got) : want != got || signbit(want) != signbit(got))
                fail_msg("%s %02x: %a, expected %a", r->name, code, got, want);
            tensor_set_f64(&t, 0, got);
            int back = isnan(want) ? nan_code(r, code & sign_bit(r)) : code;
            if (*at != back) fail_msg("%s %02x comes back as %02x", r->name, code, *at);
        }
        tensor_fini(&t);
    }
}

static void expect_code(const row_t *r, tensor_t *t, double value)
{
    tensor_set_f64(t, 0, value);
    int got = *(uint8_t *)t->data, want = nearest(r, value);
    if (got != want) fail_msg("%s of %a: %02x, expected %02x", r->name, value, got, want);
}

/* Every f16, f32 across all exponents, and what lies at and beside every rounding border. */
static void test_roundings(void **state)
{
    (void)state;
    for (int k = 0; k < N_ROW; k++) {
        const row_t *r = &rows[k];
        ir_type_t type = ir_type_scalar(dtype_of(r));
        tensor_t t = tensor_new(&type);
        for (int h = 0; h < 65536; h++) expect_code(r, &t, (double)half_from_f16((uint16_t)h));
        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 6151) {
            uint32_t low = (uint32_t)bits;
            float f;
            memcpy(&f, &low, sizeof f);
            expect_code(r, &t, (double)f);
        }
        for (int code = 0; code <= r->largest; code++) {
            double a = magnitude_of(r, code), b = magnitude_of(r, code + 1), half = (a + b) / 2;
            double near[] = {a, half, nextafter(half, 0), nextafter(half, (double)INFINITY)};
            for (int i = 0; i < 4; i++) {
                expect_code(r, &t, near[i]);
                expect_code(r, &t, -near[i]);
            }
        }
        double far[] = {1e300, (double)INFINITY, 5e-324, 0};
        for (int i = 0; i < 4; i++) {
            expect_code(r, &t, far[i]);
            expect_code(r, &t, -far[i]);
        }
        tensor_fini(&t);
    }
}

/* --- conversions --- */

/* Every encoding of `from` becomes `to`; as the bits of what follows in memory. */
static void write_conversion(str_t *text, const row_t *from, const row_t *to, int number)
{
    int n = 1 << from->bits;
    const char *bits = to->bits == 4 ? "ui4" : "ui8";
    str_addf(text, "  %%y%d = stablehlo.convert %%x : (tensor<%dx%s>) -> tensor<%dx%s>\n", number,
             n, from->name, n, to->name);
    bool wide = to->bits == 6; /* no integers of that width */
    if (!wide)
        str_addf(text,
                 "  %%b%d = stablehlo.bitcast_convert %%y%d : (tensor<%dx%s>) -> tensor<%dx%s>\n",
                 number, number, n, to->name, n, bits);
    str_addf(text, "  check.%s_const %%%c%d, dense<\"0x", wide ? "expect_almost_eq" : "expect_eq",
             wide ? 'y' : 'b', number);
    for (int code = 0; code < n; code++) str_addf(text, "%02X", nearest(to, value_of(from, code)));
    str_addf(text, "\"> : tensor<%dx%s>%s\n", n, wide ? to->name : bits,
             wide ? ", tolerance = 0.0" : "");
}

static void write_program(str_t *text, const row_t *from)
{
    int n = 1 << from->bits;
    str_addf(text, "func.func @main() {\n  %%x = stablehlo.constant dense<\"0x");
    for (int code = 0; code < n; code++) str_addf(text, "%02X", code);
    str_addf(text, "\"> : tensor<%dx%s>\n", n, from->name);
    for (int k = 0; k < N_ROW; k++)
        if (&rows[k] != from) write_conversion(text, from, &rows[k], k);
    str_add(text, "  return\n}\n");
}

static void test_conversions(void **state)
{
    (void)state;
    for (int k = 0; k < N_ROW; k++)
        for (int on_cpu = 0; on_cpu < 2; on_cpu++) {
            str_t text = {0};
            err_t err = {0};
            write_program(&text, &rows[k]);
            ir_module_t *m = parse_stablehlo(str_text(&text), text.n, "small", &err);
            int rc = -1;
            if (m) rc = on_cpu ? check_module_on_cpu(m, &err) : check_module(m, &err);
            if (rc != 0) fail_msg("%s, cpu %d: %s", rows[k].name, on_cpu, err.text);
            ir_module_destroy(&m);
            str_fini(&text);
        }
}

/* --- text --- */

/* All encodings, 16 to a constant: listed, and in hex. */
static void write_constants(str_t *text, const row_t *r)
{
    int n = 1 << r->bits;
    str_add(text, "func.func @main() {\n");
    for (int at = 0; at < n; at += 16) {
        str_addf(text, "  %%c%d = stablehlo.constant dense<[", at);
        for (int i = at; i < at + 16; i++) {
            str_addf(text, i > at ? ", " : "");
            if (i % 3 == 0 || !isfinite(value_of(r, i)))
                str_addf(text, "0x%02X", i);
            else
                str_addf(text, "%.17e", value_of(r, i));
        }
        str_addf(text, "]> : tensor<16x%s>\n", r->name);
    }
    str_add(text, "  return\n}\n");
}

static void test_text(void **state)
{
    (void)state;
    for (int k = 0; k < N_ROW; k++) {
        str_t text = {0}, printed = {0}, again = {0};
        err_t err = {0};
        write_constants(&text, &rows[k]);
        ir_module_t *m = parse_stablehlo(str_text(&text), text.n, "small", &err);
        if (!m) fail_msg("%s: %s", rows[k].name, err.text);
        ir_fn_t *fn = ir_module_entry(m, &err);
        for (int i = 0; i < fn->body->n_op; i++) {
            const tensor_t *t = ir_const_of(fn, fn->body->op[i]->out);
            for (int j = 0; j < 16; j++)
                assert_int_equal(((const uint8_t *)t->data)[j], 16 * i + j);
        }
        ir_print_module(m, &printed);
        ir_module_destroy(&m);
        m = parse_stablehlo(str_text(&printed), printed.n, "small", &err);
        if (!m) fail_msg("%s: %s", rows[k].name, err.text);
        ir_print_module(m, &again);
        assert_string_equal(str_text(&printed), str_text(&again));
        ir_module_destroy(&m);
        str_fini(&text);
        str_fini(&printed);
        str_fini(&again);
    }
}

static void expect_refused(const char *literal, const char *says)
{
    err_t err = {0};
    str_t text = {0};
    str_addf(&text, "func.func @main() {\n  %%0 = stablehlo.constant %s\n  return\n}\n", literal);
    assert_null(parse_stablehlo(str_text(&text), text.n, "small", &err));
    if (!strstr(err.text, says)) fail_msg("%s: %s", literal, err.text);
    str_fini(&text);
}

static void test_refused(void **state)
{
    (void)state;
    expect_refused("dense<0x10> : tensor<2xf4E2M1FN>", "the bits of one f4E2M1FN");
    expect_refused("dense<0x100> : tensor<2xf8E5M2>", "the bits of one f8E5M2");
    expect_refused("dense<true> : tensor<2xf8E5M2>", "true and false are for i1");
    expect_refused("dense<\"0x0102\"> : tensor<3xf8E5M2>", "2 bytes of data do not fill");
    expect_refused("dense<1.0> : tensor<2xf8E5M3>", "f8E5M3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),      cmocka_unit_test(test_roundings),
        cmocka_unit_test(test_conversions), cmocka_unit_test(test_text),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
