/* The reverse walk: hand-derived gradients, finite differences in f64 over whole functions,
 * activity, sums in f32, regions, second order, and the errors. (Each op's own rule: the generic op
 * tests.) */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ad/ad.h"
#include "base/mem.h"
#include "ir/build.h"
#include "ops/eval.h"
#include "passes/passes.h"
#include "random_program.h"

static void check(int status, const err_t *err)
{
    if (status < 0) fail_msg("%s", err->text);
}

/* --- functions under test: parameters -> scalar --- */

static ir_val_t sum(ir_fn_t *fn, ir_val_t x)
{
    return ir_reduce_all(fn, OP_add, x);
}

/* A function of f64 parameters (dims {0} for a scalar) whose loss is build's result. */
typedef ir_val_t body_fn(ir_fn_t *fn, const ir_val_t *p);

typedef struct {
    int n;
    ir_type_t type[4];
} signature_t;

static ir_fn_t *make(ir_module_t *m, const signature_t *s, body_fn *body)
{
    ir_fn_t *fn = ir_fn_new(m, "main", s->n, s->type);
    ir_val_t p[4];
    for (int i = 0; i < s->n; i++) p[i] = ir_fn_param(fn, i);
    ir_val_t loss = body(fn, p);
    err_t err = {0};
    check(ir_fn_finish(fn, 1, &loss, &err), &err);
    check(ir_verify(m, &err), &err);
    return fn;
}

static ir_fn_t *gradient_of(ir_module_t *m, const ir_fn_t *fn, const char *name)
{
    bool wanted[4];
    for (int i = 0; i < fn->body->n_arg; i++)
        wanted[i] = dtype_is_float(ir_type_of(fn, ir_fn_param(fn, i))->dtype);
    err_t err = {0};
    ir_fn_t *g = ad_gradient(m, fn, name, wanted, &err);
    if (!g) fail_msg("%s", err.text);
    check(ir_verify(m, &err), &err);
    return g;
}

static double loss_at(const ir_module_t *m, const ir_fn_t *fn, const tensor_t *in)
{
    tensor_t out[4];
    err_t err = {0};
    check(eval_fn(m, fn, in, out, NULL, &err), &err);
    double y = tensor_get_f64(&out[0], 0);
    for (int i = 0; i < fn->body->n_result; i++) tensor_fini(&out[i]);
    return y;
}

/* Central differences, h = 1e-5: truncation h^2 f'''/6 and rounding 1e-16/h both stay near 1e-10 of
 * values of order one, so 1e-7 of max(1, |g|) holds with room. */
static double difference(const ir_module_t *m, const ir_fn_t *fn, tensor_t *in, int i, int64_t k)
{
    const double h = 1e-5;
    double x = tensor_get_f64(&in[i], k);
    tensor_set_f64(&in[i], k, x + h);
    double above = loss_at(m, fn, in);
    tensor_set_f64(&in[i], k, x - h);
    double below = loss_at(m, fn, in);
    tensor_set_f64(&in[i], k, x);
    return (above - below) / (2 * h);
}

/* The largest deviation of the gradient from finite differences, relative to max(1, |g|). */
static double check_differences(const ir_module_t *m, const ir_fn_t *fn, const ir_fn_t *grad,
                                uint64_t seed)
{
    tensor_t *in = random_inputs(fn, seed), out[8];
    int n = fn->body->n_arg, at = fn->body->n_result;
    err_t err = {0};
    check(eval_fn(m, grad, in, out, NULL, &err), &err);
    double worst = 0;
    for (int i = 0; i < n; i++) {
        if (!dtype_is_float(in[i].type.dtype)) continue;
        for (int64_t k = 0; k < ir_type_count(&in[i].type); k++) {
            double g = tensor_get_f64(&out[at], k), d = difference(m, fn, in, i, k);
            worst = fmax(worst, fabs(g - d) / fmax(1, fabs(d)));
        }
        at++;
    }
    for (int i = 0; i < grad->body->n_result; i++) tensor_fini(&out[i]);
    tensors_free(&in, n);
    return worst;
}

static ir_val_t body_mlp(ir_fn_t *fn, const ir_val_t *p)
{
    ir_type_t hidden = ir_type(DT_F64, 2, (int64_t[]){3, 4});
    ir_val_t bias = ir_broadcast(fn, p[2], &hidden, (int64_t[]){1});
    ir_val_t h = ir_op1(fn, OP_tanh, ir_op2(fn, OP_add, ir_matmul(fn, p[0], p[1]), bias));
    return sum(fn, ir_op2(fn, OP_multiply, h, ir_op2(fn, OP_multiply, h, h)));
}

/* log(sum(exp(x - max))) by rows, as losses have it. */
static ir_val_t body_log_sum_exp(ir_fn_t *fn, const ir_val_t *p)
{
    ir_type_t type = *ir_type_of(fn, p[0]);
    int64_t one = 1, zero = 0;
    ir_val_t max = ir_reduce(fn, OP_maximum, p[0], &one, 1);
    ir_val_t shifted = ir_op2(fn, OP_subtract, p[0], ir_broadcast(fn, max, &type, &zero));
    ir_val_t rows = ir_reduce(fn, OP_add, ir_op1(fn, OP_exponential, shifted), &one, 1);
    return sum(fn, ir_op2(fn, OP_add, ir_op1(fn, OP_log, rows), max));
}

static ir_val_t body_shapes(ir_fn_t *fn, const ir_val_t *p)
{
    ir_type_t flat = ir_type(DT_F64, 1, (int64_t[]){12});
    ir_val_t t = ir_transpose(fn, p[0], (int64_t[]){1, 0});
    ir_val_t part = ir_slice(fn, t, (int64_t[]){1, 0}, (int64_t[]){4, 3}, (int64_t[]){2, 1});
    ir_val_t padded = ir_pad(fn, part, ir_scalar(fn, DT_F64, 0.5), (int64_t[]){1, 0},
                             (int64_t[]){0, 2}, (int64_t[]){0, 1});
    ir_val_t both = ir_concatenate(fn, (ir_val_t[]){p[0], p[0], p[0]}, 3, 1);
    ir_val_t turned = ir_reverse(fn, ir_reshape(fn, p[0], &flat), (int64_t[]){0}, 1);
    ir_val_t a = sum(fn, ir_op2(fn, OP_multiply, padded, ir_op1(fn, OP_sine, padded)));
    ir_val_t b = sum(fn, ir_op2(fn, OP_multiply, both, both));
    ir_val_t c = ir_op2(fn, OP_multiply, turned, ir_reshape(fn, p[0], &flat));
    return ir_op2(fn, OP_add, ir_op2(fn, OP_multiply, a, b), sum(fn, c));
}

/* if (p1 < 0.3) sum(x sin(p1)) else sum(x x p1): branches read x and p1 from around them. */
static ir_val_t body_branch(ir_fn_t *fn, const ir_val_t *p)
{
    ir_type_t type = *ir_type_of(fn, p[0]), scalar = ir_type_scalar(DT_F64);
    ir_val_t pred = ir_compare(fn, "LT", p[1], ir_scalar(fn, DT_F64, 0.3));
    ir_val_t x = ir_op2(fn, OP_multiply, p[0], p[0]);
    ir_region_t *saved, *region[2];
    for (int r = 0; r < 2; r++) {
        region[r] = ir_region_begin(fn, 0, NULL, &saved);
        ir_val_t scale = r ? p[1] : ir_op1(fn, OP_sine, p[1]);
        ir_val_t y = ir_op2(fn, OP_multiply, x, ir_broadcast_scalar(fn, scale, &type));
        y = sum(fn, r ? ir_op2(fn, OP_multiply, y, p[0]) : y);
        ir_region_end(fn, region[r], 1, &y, saved);
    }
    ir_op_t *op = ir_emit(fn, OP_if, 1, &pred, NULL, 1, &scalar, 2, region);
    return op ? ir_op2(fn, OP_multiply, op->out, sum(fn, p[0])) : IR_NONE;
}

static void test_finite_differences(void **state)
{
    (void)state;
    ir_type_t m34 = ir_type(DT_F64, 2, (int64_t[]){3, 4}),
              m32 = ir_type(DT_F64, 2, (int64_t[]){3, 2});
    ir_type_t m24 = ir_type(DT_F64, 2, (int64_t[]){2, 4}), v4 = ir_type(DT_F64, 1, (int64_t[]){4});
    ir_type_t s = ir_type_scalar(DT_F64);
    const struct {
        const char *name;
        body_fn *body;
        signature_t signature;
    } cases[] = {
        {"mlp", body_mlp, {3, {m32, m24, v4}}},
        {"log_sum_exp", body_log_sum_exp, {1, {m34}}},
        {"shapes", body_shapes, {1, {m34}}},
        {"branch", body_branch, {2, {m34, s}}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ir_module_t *m = ir_module_new();
        ir_fn_t *fn = make(m, &cases[c].signature, cases[c].body);
        ir_fn_t *grad = gradient_of(m, fn, "grad");
        double worst = 0;
        for (uint64_t seed = 0; seed < 4; seed++)
            worst = fmax(worst, check_differences(m, fn, grad, 7 * seed + c));
        print_message("%s: largest deviation %.2e\n", cases[c].name, worst);
        assert_true(worst < 1e-7);
        ir_module_destroy(&m);
    }
}

/* The gradient of the gradient of sum(tanh(x)^3), through the standard passes as well. */
static ir_val_t body_cubic(ir_fn_t *fn, const ir_val_t *p)
{
    ir_val_t t = ir_op1(fn, OP_tanh, p[0]);
    return sum(fn, ir_op2(fn, OP_multiply, t, ir_op2(fn, OP_multiply, t, t)));
}

static void test_second_order(void **state)
{
    (void)state;
    ir_module_t *m = ir_module_new();
    signature_t s = {1, {ir_type(DT_F64, 1, (int64_t[]){5})}};
    ir_fn_t *grad = gradient_of(m, make(m, &s, body_cubic), "grad");
    ir_fn_t *h = ir_fn_new(m, "sum_of_squares", 1, s.type);
    ir_val_t x = ir_fn_param(h, 0), g = ir_call(h, grad, &x) + 1;
    ir_val_t loss = sum(h, ir_op2(h, OP_multiply, g, g));
    err_t err = {0};
    check(ir_fn_finish(h, 1, &loss, &err), &err);
    check(passes_run(m, NULL, NULL, &err), &err);
    h = ir_module_find(m, "sum_of_squares");
    double worst = check_differences(m, h, gradient_of(m, h, "second"), 3);
    print_message("second order: largest deviation %.2e\n", worst);
    assert_true(worst < 1e-6); /* third derivatives of order 10 enter the difference's own error */
    ir_module_destroy(&m);
}

/* --- values by hand --- */

static tensor_t vector(dtype_t dtype, int64_t n, const double *x)
{
    ir_type_t type = ir_type(dtype, 1, &n);
    tensor_t t = tensor_new(&type);
    for (int64_t i = 0; i < n; i++) tensor_set_f64(&t, i, x[i]);
    return t;
}

static void expect(const tensor_t *x, int64_t n, const double *want)
{
    assert_int_equal(ir_type_count(&x->type), n);
    for (int64_t i = 0; i < n; i++)
        if (tensor_get_f64(x, i) != want[i])
            fail_msg("element %d is %.9g, expected %.9g", (int)i, tensor_get_f64(x, i), want[i]);
}

/* y = x^2 used three times: loss = sum(y y + y) = sum(x^4 + x^2), gradient 4 x^3 + 2 x. */
static ir_val_t body_shared(ir_fn_t *fn, const ir_val_t *p)
{
    ir_val_t y = ir_op2(fn, OP_multiply, p[0], p[0]);
    return sum(fn, ir_op2(fn, OP_add, ir_op2(fn, OP_multiply, y, y), y));
}

static void gradient_at(body_fn *body, dtype_t dtype, int64_t n, const double *x, tensor_t out[2])
{
    ir_module_t *m = ir_module_new();
    signature_t s = {1, {ir_type(dtype, 1, &n)}};
    ir_fn_t *grad = gradient_of(m, make(m, &s, body), "grad");
    tensor_t in = vector(dtype, n, x);
    err_t err = {0};
    check(eval_fn(m, grad, &in, out, NULL, &err), &err);
    tensor_fini(&in);
    ir_module_destroy(&m);
}

static void test_shared_subexpressions(void **state)
{
    (void)state;
    tensor_t out[2];
    gradient_at(body_shared, DT_F32, 3, (double[]){1, -2, 0.5}, out);
    assert_true(tensor_get_f64(&out[0], 0) == 1 + 1 + 16 + 4 + 0.0625 + 0.25);
    expect(&out[1], 3, (double[]){6, -36, 1.5});
    tensor_fini(&out[0]);
    tensor_fini(&out[1]);
}

/* 512 contributions of 1 to a bf16 value: in bf16 the sum would stop at 256. */
static ir_val_t body_many_uses(ir_fn_t *fn, const ir_val_t *p)
{
    ir_val_t total = ir_scalar_like(fn, ir_convert(fn, p[0], DT_F32), 0);
    for (int i = 0; i < 512; i++) total = ir_op2(fn, OP_add, total, ir_convert(fn, p[0], DT_F32));
    return sum(fn, total);
}

static void test_half_sums_are_wide(void **state)
{
    (void)state;
    static const dtype_t narrow[] = {DT_BF16, DT_F16, DT_F8E5M2, DT_F8E5M2FNUZ};
    for (int i = 0; i < 4; i++) {
        tensor_t out[2];
        gradient_at(body_many_uses, narrow[i], 2, (double[]){1, 2}, out);
        assert_int_equal(out[1].type.dtype, narrow[i]);
        expect(&out[1], 2, (double[]){512, 512});
        tensor_fini(&out[0]);
        tensor_fini(&out[1]);
    }
}

/* --- activity --- */

/* power(x, 3) with x < 0: the exponent's rule (y log x) is NaN and must not be evaluated; the float
 * that went through an integer carries nothing. */
static ir_val_t body_inactive(ir_fn_t *fn, const ir_val_t *p)
{
    ir_val_t cube = ir_op2(fn, OP_power, p[0], ir_scalar_like(fn, p[0], 3));
    ir_val_t whole = ir_convert(fn, ir_convert(fn, p[0], DT_I32), DT_F32);
    return sum(fn, ir_op2(fn, OP_add, cube, ir_op2(fn, OP_multiply, whole, whole)));
}

static void test_inactive_paths(void **state)
{
    (void)state;
    tensor_t out[2];
    gradient_at(body_inactive, DT_F32, 2, (double[]){-2, 4}, out);
    expect(&out[1], 2, (double[]){12, 48});
    tensor_fini(&out[0]);
    tensor_fini(&out[1]);
}

static ir_val_t body_first_only(ir_fn_t *fn, const ir_val_t *p)
{
    return sum(fn, ir_op2(fn, OP_add, p[0], ir_op2(fn, OP_multiply, p[2], p[2])));
}

static void test_unused_and_unwanted_parameters(void **state)
{
    (void)state;
    ir_module_t *m = ir_module_new();
    ir_type_t type = ir_type(DT_F32, 1, (int64_t[]){2});
    signature_t s = {3, {type, type, type}};
    ir_fn_t *fn = make(m, &s, body_first_only);
    err_t err = {0};
    ir_fn_t *grad = ad_gradient(m, fn, "grad", (bool[]){true, true, false}, &err);
    assert_non_null(grad);
    assert_int_equal(grad->body->n_result, 3);
    tensor_t in[3], out[3];
    for (int i = 0; i < 3; i++) in[i] = vector(DT_F32, 2, (double[]){3, 4});
    check(eval_fn(m, grad, in, out, NULL, &err), &err);
    expect(&out[1], 2, (double[]){1, 1});
    expect(&out[2], 2, (double[]){0, 0});
    for (int i = 0; i < 3; i++) {
        tensor_fini(&in[i]);
        tensor_fini(&out[i]);
    }
    ir_module_destroy(&m);
}

/* --- ad_vjp: results y = x w and z = x + x with cotangents of their own --- */

static void test_vjp_of_two_results(void **state)
{
    (void)state;
    ir_module_t *m = ir_module_new();
    ir_type_t types[2] = {ir_type(DT_F32, 1, (int64_t[]){2}), ir_type(DT_F32, 1, (int64_t[]){2})};
    ir_fn_t *fn = ir_fn_new(m, "main", 2, types);
    ir_val_t x = ir_fn_param(fn, 0), w = ir_fn_param(fn, 1);
    ir_val_t results[3] = {ir_op2(fn, OP_multiply, x, w), ir_convert(fn, x, DT_I32),
                           ir_op2(fn, OP_add, x, x)};
    err_t err = {0};
    check(ir_fn_finish(fn, 3, results, &err), &err);
    ir_fn_t *vjp = ad_vjp(m, fn, "vjp", (bool[]){true, true}, &err);
    assert_non_null(vjp);
    assert_int_equal(vjp->body->n_arg, 4);
    check(ir_verify(m, &err), &err);
    tensor_t in[4] = {vector(DT_F32, 2, (double[]){2, 3}), vector(DT_F32, 2, (double[]){5, 7}),
                      vector(DT_F32, 2, (double[]){1, 10}),
                      vector(DT_F32, 2, (double[]){100, 1000})};
    tensor_t out[5];
    check(eval_fn(m, vjp, in, out, NULL, &err), &err);
    expect(&out[3], 2, (double[]){1 * 5 + 2 * 100, 10 * 7 + 2 * 1000});
    expect(&out[4], 2, (double[]){1 * 2, 10 * 3});
    for (int i = 0; i < 4; i++) tensor_fini(&in[i]);
    for (int i = 0; i < 5; i++) tensor_fini(&out[i]);
    ir_module_destroy(&m);
}

/* --- errors --- */

static void test_missing_rule_names_op_and_line(void **state)
{
    (void)state;
    op_code_t code = OP_invalid + 1;
    while (code < OP_COUNT &&
           !(op_def(code)->kind == K_MAP && op_def(code)->n_in == 1 && !op_def(code)->vjp))
        code++;
    if (code == OP_COUNT) skip(); /* every op has a rule now */
    ir_module_t *m = ir_module_new();
    ir_type_t type = ir_type_scalar(DT_F32);
    ir_fn_t *fn = ir_fn_new(m, "main", 1, &type);
    ir_val_t y = ir_op1(fn, code, ir_fn_param(fn, 0));
    ir_def(fn, y)->line = 17;
    err_t err = {0};
    check(ir_fn_finish(fn, 1, &y, &err), &err);
    assert_null(ad_gradient(m, fn, "grad", (bool[]){true}, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, op_def(code)->name));
    assert_non_null(strstr(err.text, "line 17"));
    assert_null(ir_module_find(m, "grad"));
    /* Without a path from a wanted parameter the rule is not needed. */
    assert_non_null(ad_gradient(m, fn, "none", (bool[]){false}, &err));
    ir_module_destroy(&m);
}

static ir_val_t body_identity(ir_fn_t *fn, const ir_val_t *p)
{
    (void)fn;
    return p[0];
}

static void test_refused_signatures(void **state)
{
    (void)state;
    const struct {
        ir_type_t type;
        bool wanted;
        const char *message;
    } cases[] = {
        {ir_type(DT_F32, 1, (int64_t[]){2}), true, "float scalar"},
        {ir_type_scalar(DT_I32), false, "float scalar"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ir_module_t *m = ir_module_new();
        signature_t s = {1, {cases[c].type}};
        ir_fn_t *fn = make(m, &s, body_identity);
        err_t err = {0};
        assert_null(ad_gradient(m, fn, "grad", &cases[c].wanted, &err));
        assert_int_equal(err.code, ERR_TYPE);
        assert_non_null(strstr(err.text, cases[c].message));
        ir_module_destroy(&m);
    }
    ir_module_t *m = ir_module_new();
    signature_t s = {2, {ir_type_scalar(DT_F32), ir_type_scalar(DT_I32)}};
    ir_fn_t *fn = make(m, &s, body_identity);
    err_t err = {0};
    assert_null(ad_gradient(m, fn, "grad", (bool[]){true, true}, &err));
    assert_non_null(strstr(err.text, "argument 1"));
    ir_module_destroy(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_second_order),
        cmocka_unit_test(test_shared_subexpressions),
        cmocka_unit_test(test_half_sums_are_wide),
        cmocka_unit_test(test_inactive_paths),
        cmocka_unit_test(test_unused_and_unwanted_parameters),
        cmocka_unit_test(test_vjp_of_two_results),
        cmocka_unit_test(test_missing_rule_names_op_and_line),
        cmocka_unit_test(test_refused_signatures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
