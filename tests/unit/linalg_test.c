/* cholesky and triangular_solve: L L^H = a, op(a) x = b, by hand, and as plans against the
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
#include "gradient_text.h"
#include "ir/build.h"
#include "ops/complex_math.h"
#include "ops/eval.h"
#include "ops/linalg.h"
#include "ops_help.h"
#include "plan_help.h"

enum { N = 5, M = 3, BATCH = 2 };

static double complex at(const tensor_t *x, int64_t i)
{
    return PCP_Z(tensor_get_f64(x, i), tensor_get_imag(x, i));
}

static void put(tensor_t *x, int64_t i, double complex z)
{
    if (dtype_is_complex(x->type.dtype))
        tensor_set_complex(x, i, creal(z), cimag(z));
    else
        tensor_set_f64(x, i, creal(z));
}

static tensor_t run(ir_module_t *module, ir_fn_t *fn, ir_val_t y, const tensor_t *in)
{
    err_t err = {0};
    tensor_t out = {0};
    if (ir_fn_finish(fn, 1, &y, &err) < 0 || eval_fn(module, fn, in, &out, NULL, &err) < 0)
        fail_msg("%s", err.text);
    ir_module_destroy(&module);
    return out;
}

static tensor_t run_cholesky(const tensor_t *a, bool lower)
{
    ir_module_t *module = ir_module_new();
    ir_fn_t *fn = ir_fn_new(module, "main", 1, &a->type);
    ir_val_t x = ir_fn_param(fn, 0);
    ir_attrs_t attrs = {0};
    attr_set(module->arena, &attrs, (ir_attr_t){.name = "lower", .kind = ATTR_BOOL, .i = lower});
    ir_op_t *op = ir_emit(fn, OP_cholesky, 1, &x, &attrs, 1, NULL, 0, NULL);
    return run(module, fn, op->out, a);
}

/* b b^H + I, of which only one triangle may be read: the other is spoilt. */
static void test_cholesky_gives_the_matrix_back(void **state)
{
    (void)state;
    ir_type_t type = ir_type(DT_NONE, 3, (int64_t[]){BATCH, N, N});
    for (int variant = 0; variant < 4; variant++) {
        bool lower = variant % 2;
        type.dtype = variant < 2 ? DT_F64 : DT_C128;
        tensor_t b = help_random(&type, 3), a = tensor_new(&type), spoilt = tensor_new(&type);
        for (int64_t k = 0; k < BATCH * N * N; k++) {
            int64_t row = k / N, col = k / (N * N) * N + k % N;
            double complex sum = row == col;
            for (int64_t j = 0; j < N; j++) sum += at(&b, row * N + j) * conj(at(&b, col * N + j));
            put(&a, k, sum);
            put(&spoilt, k, row == col || (row > col) == lower ? sum : 99);
        }
        tensor_t y = run_cholesky(&spoilt, lower);
        for (int64_t k = 0; k < BATCH * N * N; k++) {
            int64_t base = k / (N * N) * N * N, row = k / N % N, col = k % N;
            double complex sum = 0;
            for (int64_t j = 0; j < N; j++)
                sum += lower ? at(&y, base + row * N + j) * conj(at(&y, base + col * N + j))
                             : conj(at(&y, base + j * N + row)) * at(&y, base + j * N + col);
            assert_true(cabs(sum - at(&a, k)) < 1e-14);
            if (row != col && (row > col) != lower) assert_true(at(&y, k) == 0);
        }
        tensor_fini(&b);
        tensor_fini(&a);
        tensor_fini(&spoilt);
        tensor_fini(&y);
    }
}

/* The first matrix is [[4, 2], [2, 5]] = [[2, 0], [1, 2]] squared; the second is not definite. */
static void test_cholesky_by_hand(void **state)
{
    (void)state;
    ir_type_t type = ir_type(DT_F32, 3, (int64_t[]){2, 2, 2});
    static const double values[] = {4, 2, 2, 5, 1, 2, 2, 1}, want[] = {2, 0, 1, 2};
    tensor_t a = tensor_new(&type);
    for (int i = 0; i < 8; i++) tensor_set_f64(&a, i, values[i]);
    tensor_t y = run_cholesky(&a, true);
    for (int i = 0; i < 4; i++) assert_true(tensor_get_f64(&y, i) == want[i]);
    for (int i = 4; i < 8; i++) assert_true(isnan(tensor_get_f64(&y, i)));
    tensor_fini(&a);
    tensor_fini(&y);
}

/* Element (i, k) of op(a): the triangle that is read, with a diagonal of ones if so said. */
static double complex entry(const tensor_t *a, solve_t s, int64_t base, int64_t i, int64_t k)
{
    int64_t row = s.form == SOLVE_PLAIN ? i : k, col = s.form == SOLVE_PLAIN ? k : i;
    if (row == col && s.unit) return 1;
    if (row != col && (row > col) != s.lower) return 0;
    double complex z = at(a, base + row * N + col);
    return s.form == SOLVE_ADJOINT ? conj(z) : z;
}

static void check_solve(solve_t s, dtype_t dtype)
{
    int64_t rows = s.left ? N : M, cols = s.left ? M : N;
    ir_type_t types[2] = {ir_type(dtype, 3, (int64_t[]){BATCH, N, N}),
                          ir_type(dtype, 3, (int64_t[]){BATCH, rows, cols})};
    tensor_t in[2] = {help_random(&types[0], 4), help_random(&types[1], 5)};
    for (int64_t k = 0; k < BATCH * N; k++) { /* well conditioned */
        int64_t i = k / N * N * N + k % N * (N + 1);
        put(&in[0], i, at(&in[0], i) + 3);
    }
    ir_module_t *module = ir_module_new();
    ir_fn_t *fn = ir_fn_new(module, "main", 2, types);
    tensor_t x = run(module, fn, solve_emit(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1), s), in);
    for (int64_t k = 0; k < BATCH * rows * cols; k++) {
        int64_t batch = k / (rows * cols), row = k / cols % rows, col = k % cols;
        int64_t a = batch * N * N, b = batch * rows * cols;
        double complex sum = 0;
        for (int64_t j = 0; j < N; j++)
            sum += s.left ? entry(&in[0], s, a, row, j) * at(&x, b + j * cols + col)
                          : at(&x, b + row * cols + j) * entry(&in[0], s, a, j, col);
        assert_true(cabs(sum - at(&in[1], k)) < 1e-14);
    }
    tensor_fini(&in[0]);
    tensor_fini(&in[1]);
    tensor_fini(&x);
}

static void test_solutions(void **state)
{
    (void)state;
    for (int k = 0; k < 24; k++) {
        solve_t s = {k & 1, k & 2, k & 4, (solve_form_t)(k / 8)};
        check_solve(s, DT_F64);
        check_solve(s, DT_C128);
    }
}

static void test_plans(void **state)
{
    (void)state;
    static const char *const forms[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
    static const char *const types[] = {"f32", "complex<f64>"};
    for (int t = 0; t < 2; t++) {
        str_t text = {0};
        const char *z = types[t];
        for (int k = 0; k < 24; k += 1 + k / 8)
            str_addf(&text,
                     "func.func @s%d(%%a: tensor<2x4x4x%s>, %%b: tensor<2x%sx%s>) -> "
                     "tensor<2x%sx%s> {\n"
                     "  %%i = stablehlo.iota dim = 0 : tensor<4x4xi32>\n"
                     "  %%j = stablehlo.iota dim = 1 : tensor<4x4xi32>\n"
                     "  %%e = stablehlo.compare EQ, %%i, %%j : (tensor<4x4xi32>, tensor<4x4xi32>) "
                     "-> tensor<4x4xi1>\n"
                     "  %%d = stablehlo.convert %%e : (tensor<4x4xi1>) -> tensor<4x4x%s>\n"
                     "  %%f = stablehlo.broadcast_in_dim %%d, dims = [1, 2] : (tensor<4x4x%s>) -> "
                     "tensor<2x4x4x%s>\n"
                     "  %%g = stablehlo.add %%f, %%f : tensor<2x4x4x%s>\n"
                     "  %%h = stablehlo.add %%g, %%g : tensor<2x4x4x%s>\n"
                     "  %%m = stablehlo.add %%a, %%h : tensor<2x4x4x%s>\n"
                     "  %%x = \"stablehlo.triangular_solve\"(%%m, %%b) <{left_side = %s, lower = "
                     "%s, unit_diagonal = %s, transpose_a = #stablehlo<transpose %s>}> : "
                     "(tensor<2x4x4x%s>, tensor<2x%sx%s>) -> tensor<2x%sx%s>\n"
                     "  return %%x : tensor<2x%sx%s>\n}\n",
                     k, z, k & 1 ? "4x3" : "3x4", z, k & 1 ? "4x3" : "3x4", z, z, z, z, z, z, z,
                     k & 1 ? "true" : "false", k & 2 ? "true" : "false", k & 4 ? "true" : "false",
                     forms[k / 8], z, k & 1 ? "4x3" : "3x4", z, k & 1 ? "4x3" : "3x4", z,
                     k & 1 ? "4x3" : "3x4", z);
        plan_check_text(str_text(&text), 16, 4, t ? 1e-13 : 2e-7);
        str_fini(&text);
    }
}

#define A(z) "tensor<2x4x4x" z ">"
#define FACTORS(name, z, lower)                                                                  \
    "func.func @" name "(%a: " A(z) ") -> (" A(z) ", " A(                                        \
        z) ") {\n"                                                                               \
           "  %b = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = " \
           "[2] x "                                                                              \
           "[2] : (" A(z) ", " A(z) ") -> " A(                                                   \
               z) "\n"                                                                           \
                  "  %n = stablehlo.cholesky %a, lower = " lower                                 \
                  " : " A(z) "\n"                                                                \
                             "  %y = stablehlo.cholesky %b, lower = " lower                      \
                             " : " A(z) "\n"                                                     \
                                        "  return %y, %n : " A(z) ", " A(z) "\n}\n"

static void test_cholesky_plans(void **state)
{
    (void)state;
    plan_check_text(FACTORS("lower", "f64", "true") FACTORS("upper", "f64", "false"), 17, 4, 1e-9);
    plan_check_text(
        "func.func @z(%a: " A("complex<f64>") ") -> " A(
            "complex<f64>") " {\n"
                            "  %t = stablehlo.transpose %a, dims = [0, 2, 1] : (" A(
                                "co"
                                "mp"
                                "le"
                                "x<"
                                "f6"
                                "4"
                                ">") ") -> " A("complex<f64>") "\n"
                                                               "  %c = \"chlo.conj\"(%t) : (" A(
                                                                   "compl"
                                                                   "ex<"
                                                                   "f64>") ") -> " A("complex<f64>") "\n"
                                                                                                     "  %b = "
                                                                                                     "stablehlo.dot_"
                                                                                                     "general %a, %c, "
                                                                                                     "batching_dims = "
                                                                                                     "[0] x [0], "
                                                                                                     "contracting_dims "
                                                                                                     "= [2] x [1] : (" A("complex<f64>") ", " A("complex<f64>") ") -> " A(
                                                                                                         "complex<f64>") "\n"
                                                                                                                         "  %l = stablehlo.cholesky %b, lower = true : " A(
                                                                                                                             "complex<f64>") "\n"
                                                                                                                                             "  %u = stablehlo.cholesky %b, lower = false : " A(
                                                                                                                                                 "complex<f64>") "\n"
                                                                                                                                                                 "  %y = stablehlo.add %l, %u : " A(
                                                                                                                                                                     "complex<f64>") "\n"
                                                                                                                                                                                     "  return %y : " A(
                                                                                                                                                                                         "complex<f64>") "\n}\n",
        18, 4, 1e-10);
}

/* %b plus three times the identity: definite, though not symmetric, as one triangle is read. */
#define DEFINITE(z)                                                                                \
    "  %i = stablehlo.iota dim = 0 : tensor<3x3xi32>\n"                                            \
    "  %j = stablehlo.iota dim = 1 : tensor<3x3xi32>\n"                                            \
    "  %e = stablehlo.compare EQ, %i, %j : (tensor<3x3xi32>, tensor<3x3xi32>) -> "                 \
    "tensor<3x3xi1>\n"                                                                             \
    "  %d = stablehlo.convert %e : (tensor<3x3xi1>) -> tensor<3x3x" z ">\n"                        \
    "  %f = stablehlo.broadcast_in_dim %d, dims = [1, 2] : (tensor<3x3x" z ">) -> tensor<2x3x3x" z \
    ">\n"                                                                                          \
    "  %g = stablehlo.add %f, %f : tensor<2x3x3x" z ">\n"                                          \
    "  %h = stablehlo.add %g, %f : tensor<2x3x3x" z ">\n"                                          \
    "  %m = stablehlo.add %b, %h : tensor<2x3x3x" z ">\n"
#define R "tensor<2x3x3xf64>"
#define C "tensor<2x3x3xcomplex<f64>>"
#define LOSS                                                                                    \
    "  %s = stablehlo.sine %p : " R "\n  %l = stablehlo.multiply %s, %q : " R "\n"              \
    "  %o = stablehlo.constant dense<0.0> : tensor<f64>\n"                                      \
    "  %r = stablehlo.reduce(%l init: %o) applies stablehlo.add across dimensions = [0, 1, 2] " \
    ": (" R ", tensor<f64>) -> tensor<f64>\n  return %r : tensor<f64>\n}\n"
#define REAL_LOSS(lower)                                                \
    "func.func @main(%b: " R                                            \
    ") -> tensor<f64> {\n" DEFINITE("f64") "  %p = stablehlo.cholesky " \
                                           "%m, lower = " lower " : " R \
                                           "\n  %q = stablehlo.exponential %p : " R "\n" LOSS
#define COMPLEX_LOSS(lower)                                                                        \
    "func.func @main(%x: " R ", %y: " R ") -> tensor<f64> {\n  %b = stablehlo.complex %x, %y : " C \
    "\n" DEFINITE("complex<f64>") "  %c = stablehlo.cholesky %m, lower = " lower " : " C "\n"      \
                                  "  %p = stablehlo.real %c : (" C ") -> " R                       \
                                  "\n  %k = stablehlo.imag %c : (" C ") -> " R "\n"                \
                                  "  %q = stablehlo.exponential %k : " R "\n" LOSS

static void test_cholesky_gradients(void **state)
{
    (void)state;
    gradient_text_check("lower", REAL_LOSS("true"), -0.5, 0.5);
    gradient_text_check("upper", REAL_LOSS("false"), -0.5, 0.5);
    gradient_text_check("complex lower", COMPLEX_LOSS("true"), -0.5, 0.5);
    gradient_text_check("complex upper", COMPLEX_LOSS("false"), -0.5, 0.5);
    gradient_text_plan("complex lower", COMPLEX_LOSS("true"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cholesky_gives_the_matrix_back),
        cmocka_unit_test(test_cholesky_by_hand),
        cmocka_unit_test(test_solutions),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_cholesky_plans),
        cmocka_unit_test(test_cholesky_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
