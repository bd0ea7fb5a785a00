/* fft against the sums it is defined by, Parseval's identity, and as plans against the
 * interpreter. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "ir/build.h"
#include "ops/complex_math.h"
#include "ops/eval.h"
#include "ops/fft.h"
#include "ops_help.h"
#include "plan_help.h"

#define LINE 2e-13 /* of the largest result: sums of at most 5000 terms of order one in double */

static tensor_t run_fft(const tensor_t *x, const char *type, int n, const int64_t *length)
{
    err_t err = {0};
    ir_module_t *module = ir_module_new();
    ir_fn_t *fn = ir_fn_new(module, "main", 1, &x->type);
    ir_val_t y = fft_emit(fn, ir_fn_param(fn, 0), type, length, n);
    tensor_t out = {0};
    if (ir_fn_finish(fn, 1, &y, &err) < 0 || eval_fn(module, fn, x, &out, NULL, &err) < 0)
        fail_msg("%s", err.text);
    ir_module_destroy(&module);
    return out;
}

static double complex at(const tensor_t *x, int64_t i)
{
    return PCP_Z(tensor_get_f64(x, i), tensor_get_imag(x, i));
}

/* sum_j x_j e^(-+ 2 pi i j k / n), by its definition. */
static double complex naive(const tensor_t *x, int64_t n, int64_t k, int sign)
{
    double complex sum = 0;
    for (int64_t j = 0; j < n; j++)
        sum += at(x, j) * cexp(PCP_Z(0, sign * 2 * M_PI * (double)(j * k % n) / (double)n));
    return sum;
}

static const int64_t lengths[] = {1,  2,  3,  4,  5,  6,   7,   8,   9,   12,
                                  16, 30, 49, 64, 97, 100, 131, 256, 521, 1018};
enum { N_LENGTH = sizeof lengths / sizeof *lengths };

static void test_definition(void **state)
{
    (void)state;
    for (int l = 0; l < N_LENGTH; l++) {
        int64_t n = lengths[l];
        ir_type_t type = ir_type(DT_C128, 1, &n), real = ir_type(DT_F64, 1, &n);
        tensor_t z = help_random(&type, 7), x = help_random(&real, 8);
        tensor_t y = run_fft(&z, "FFT", 1, &n), i = run_fft(&z, "IFFT", 1, &n);
        tensor_t h = run_fft(&x, "RFFT", 1, &n);
        assert_int_equal(h.type.dim[0], n / 2 + 1);
        for (int64_t k = 0; k < n; k++) {
            assert_true(cabs(at(&y, k) - naive(&z, n, k, -1)) < LINE * 16);
            assert_true(cabs(at(&i, k) - naive(&z, n, k, 1) / (double)n) < LINE);
            if (k <= n / 2) assert_true(cabs(at(&h, k) - naive(&x, n, k, -1)) < LINE * 16);
        }
        tensor_t back = run_fft(&h, "IRFFT", 1, &n);
        for (int64_t k = 0; k < n; k++)
            assert_true(fabs(tensor_get_f64(&back, k) - tensor_get_f64(&x, k)) < LINE);
        tensor_t *all[] = {&z, &x, &y, &i, &h, &back};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) tensor_fini(all[k]);
    }
}

/* Sum of |y|^2 is the number of points times the sum of |x|^2, and IFFT takes FFT back. */
static void test_several_dimensions(void **state)
{
    (void)state;
    const int64_t dim[] = {2, 6, 5, 7};
    for (int n = 1; n <= 3; n++) {
        ir_type_t type = ir_type(DT_C128, 4, dim), real = ir_type(DT_F64, 4, dim);
        tensor_t x = help_random(&type, 9), r = help_random(&real, 10);
        tensor_t y = run_fft(&x, "FFT", n, dim + 4 - n), back = run_fft(&y, "IFFT", n, dim + 4 - n);
        tensor_t h = run_fft(&r, "RFFT", n, dim + 4 - n);
        tensor_t again = run_fft(&h, "IRFFT", n, dim + 4 - n);
        double sum = 0, want = 0, points = 1;
        for (int i = 4 - n; i < 4; i++) points *= (double)dim[i];
        for (int64_t i = 0; i < ir_type_count(&type); i++) {
            sum += creal(at(&y, i) * conj(at(&y, i)));
            want += points * creal(at(&x, i) * conj(at(&x, i)));
            assert_true(cabs(at(&back, i) - at(&x, i)) < LINE);
            assert_true(fabs(tensor_get_f64(&again, i) - tensor_get_f64(&r, i)) < LINE);
        }
        assert_true(fabs(sum - want) < 1e-12 * want);
        tensor_t *all[] = {&x, &r, &y, &back, &h, &again};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) tensor_fini(all[k]);
    }
}

static void add_line(str_t *text, const char *type, const char *from, int64_t n_from,
                     const char *to, int64_t n_to, int64_t n)
{
    str_addf(text,
             "func.func @%s%lld(%%x: tensor<3x%lldx%s>) -> tensor<3x%lldx%s> {\n"
             "  %%y = stablehlo.fft %%x, type = %s, length = [%lld] : (tensor<3x%lldx%s>) -> "
             "tensor<3x%lldx%s>\n  return %%y : tensor<3x%lldx%s>\n}\n",
             type, (long long)n, (long long)n_from, from, (long long)n_to, to, type, (long long)n,
             (long long)n_from, from, (long long)n_to, to, (long long)n_to, to);
}

/* 131 by a chirp, 134 and 4757 = 67 71 by both, f32 in double inside: rounded once. */
static void test_plans(void **state)
{
    (void)state;
    static const int64_t plan_lengths[] = {1, 2, 6, 64, 96, 131, 134, 1024, 4757};
    for (int wide = 0; wide < 2; wide++) {
        const char *z = wide ? "complex<f64>" : "complex<f32>", *r = wide ? "f64" : "f32";
        str_t text = {0};
        for (int l = 0; l < 9 - 2 * !wide; l++) {
            int64_t n = plan_lengths[l];
            add_line(&text, "FFT", z, n, z, n, n);
            if (l == 0 || l > 6) continue;
            add_line(&text, "IFFT", z, n, z, n, n);
            add_line(&text, "RFFT", r, n, z, n / 2 + 1, n);
            add_line(&text, "IRFFT", z, n / 2 + 1, r, n, n);
        }
        str_addf(&text,
                 "func.func @deep(%%x: tensor<4x5x6x%s>) -> tensor<4x5x6x%s> {\n"
                 "  %%h = stablehlo.fft %%x, type = RFFT, length = [4, 5, 6] : (tensor<4x5x6x%s>) "
                 "-> tensor<4x5x4x%s>\n"
                 "  %%y = stablehlo.fft %%h, type = IRFFT, length = [4, 5, 6] : "
                 "(tensor<4x5x4x%s>) -> tensor<4x5x6x%s>\n  return %%y : tensor<4x5x6x%s>\n}\n",
                 r, r, r, z, z, r, r);
        plan_check_text(str_text(&text), 15, 4, wide ? 1e-13 : 1.2e-7);
        str_fini(&text);
    }
}

static void expect_refused(dtype_t dtype, const char *type, int64_t n, int64_t length,
                           const char *words)
{
    ir_module_t *module = ir_module_new();
    ir_type_t x = ir_type(dtype, 1, &n);
    ir_fn_t *fn = ir_fn_new(module, "main", 1, &x);
    assert_int_equal(fft_emit(fn, ir_fn_param(fn, 0), type, &length, 1), IR_NONE);
    if (!strstr(fn->err.text, words)) fail_msg("%s", fn->err.text);
    ir_module_destroy(&module);
}

static void test_refusals(void **state)
{
    (void)state;
    expect_refused(DT_F32, "FFT", 8, 8, "expected complex numbers");
    expect_refused(DT_C64, "RFFT", 8, 8, "expected f32 or f64");
    expect_refused(DT_BF16, "RFFT", 8, 8, "expected f32 or f64");
    expect_refused(DT_C64, "FFT", 8, 7, "fft_length[0] is 7");
    expect_refused(DT_C64, "IRFFT", 8, 8, "fft_length[0] is 8");
    expect_refused(DT_C64, "DCT", 8, 8, "fft_type is \"DCT\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_several_dimensions),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
