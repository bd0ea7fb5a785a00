/* Gradients through while, if, case and custom_call, by the whole reverse walk, against central
 * differences in f64 (step 1e-5, good to about 1e-9; tolerance 1e-7 of the largest gradient). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ad/ad.h"
#include "base/rng.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "passes/passes.h"

enum { MAX_PARAM = 4 };

typedef struct {
    ir_module_t *module;
    const ir_fn_t *fn, *grad;
    int n;
    tensor_t in[MAX_PARAM];
} trial_t;

static ir_module_t *parsed(const char *text)
{
    err_t err = {0};
    ir_module_t *module = parse_stablehlo(text, strlen(text), "test", &err);
    if (!module) fail_msg("%s", err.text);
    return module;
}

static double loss(const trial_t *t)
{
    err_t err = {0};
    tensor_t out;
    if (eval_fn(t->module, t->fn, t->in, &out, NULL, &err) < 0) fail_msg("%s", err.text);
    double y = tensor_get_f64(&out, 0);
    tensor_fini(&out);
    return y;
}

static double deviation(trial_t *t, const tensor_t *grad)
{
    const double h = 1e-5;
    double worst = 0, scale = 1;
    for (int i = 0; i < t->n; i++) {
        double *x = t->in[i].data;
        for (int64_t k = 0; k < ir_type_count(&t->in[i].type); k++) {
            double kept = x[k];
            x[k] = kept + h;
            double above = loss(t);
            x[k] = kept - h;
            double difference = (above - loss(t)) / (2 * h);
            x[k] = kept;
            scale = fmax(scale, fabs(difference));
            worst = fmax(worst, fabs(tensor_get_f64(&grad[i], k) - difference));
        }
    }
    return worst / scale;
}

/* d loss / d params of @main (all f64) agrees with differences. */
static void expect_gradient(const char *what, const char *text)
{
    err_t err = {0};
    trial_t t = {.module = parsed(text)};
    t.fn = ir_module_entry(t.module, &err);
    t.n = t.fn->body->n_arg;
    bool wanted[MAX_PARAM] = {true, true, true, true};
    t.grad = ad_gradient(t.module, t.fn, "grad", wanted, &err);
    if (!t.grad) fail_msg("%s: %s", what, err.text);
    if (ir_verify(t.module, &err) < 0) fail_msg("%s: %s", what, err.text);
    for (int i = 0; i < t.n; i++) {
        t.in[i] = tensor_new(ir_type_of(t.fn, ir_fn_param(t.fn, i)));
        for (int64_t k = 0; k < ir_type_count(&t.in[i].type); k++)
            tensor_set_f64(&t.in[i], k, 2 * rng_uniform(31u + (uint64_t)i, (uint64_t)k) - 1);
    }
    tensor_t out[1 + MAX_PARAM];
    if (eval_fn(t.module, t.grad, t.in, out, NULL, &err) < 0) fail_msg("%s: %s", what, err.text);
    double off = deviation(&t, out + 1);
    if (!(off < 1e-7)) fail_msg("%s: the gradient is off by %g", what, off);
    for (int i = 0; i <= t.n; i++) tensor_fini(&out[i]);
    for (int i = 0; i < t.n; i++) tensor_fini(&t.in[i]);
    ir_module_destroy(&t.module);
}

static void expect_refusal(const char *text, const char *words)
{
    err_t err = {0};
    ir_module_t *module = parsed(text);
    bool wanted[MAX_PARAM] = {true, true, true, true};
    assert_null(ad_gradient(module, ir_module_entry(module, &err), "grad", wanted, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    if (!strstr(err.text, words)) fail_msg("\"%s\" lacks \"%s\"", err.text, words);
    ir_module_destroy(&module);
}

#define V "tensor<3xf64>"
#define S "tensor<f64>"
#define I "tensor<i32>"
#define SUM(x)                                                                                    \
    "  %zero = stablehlo.constant dense<0.0> : " S "\n"                                           \
    "  %loss = stablehlo.reduce(" x " init: %zero) applies stablehlo.add across dimensions = [0]" \
    " : (" V ", " S ") -> " S "\n"                                                                \
    "  return %loss : " S "\n}\n"
#define COUNTER                                      \
    "  %i0 = stablehlo.constant dense<0> : " I "\n"  \
    "  %one = stablehlo.constant dense<1> : " I "\n" \
    "  %five = stablehlo.constant dense<5> : " I "\n"
#define COND                                                                    \
    "    %c = stablehlo.compare LT, %i, %five : (" I ", " I ") -> tensor<i1>\n" \
    "    stablehlo.return %c : tensor<i1>\n  } do {\n"                          \
    "    %j = stablehlo.add %i, %one : " I "\n"

/* h <- tanh(w h + x), five times: w from outside, x as a carry that never changes. */
static void test_recurrence(void **state)
{
    (void)state;
    expect_gradient("recurrence",
                    "func.func @main(%h: " V ", %w: " V ", %x: " V ") -> " S " {\n" COUNTER
                    "  %r:3 = stablehlo.while(%i = %i0, %a = %h, %b = %x) : " I ", " V ", " V
                    " cond {\n" COND "    %p = stablehlo.multiply %w, %a : " V "\n"
                    "    %q = stablehlo.add %p, %b : " V "\n"
                    "    %t = stablehlo.tanh %q : " V "\n"
                    "    stablehlo.return %j, %t, %b : " I ", " V ", " V "\n  }\n"
                    "  %y = stablehlo.multiply %r#1, %r#2 : " V "\n" SUM("%y"));
}

/* Rows are read with dynamic_slice and written with dynamic_update_slice, as scans are exported;
 * the limit is a carry, the counter goes down by two. */
static void test_scan(void **state)
{
    (void)state;
    expect_gradient("scan",
                    "func.func @main(%x: " V ", %s: " S ") -> " S " {\n"
                    "  %i0 = stablehlo.constant dense<4> : " I "\n"
                    "  %two = stablehlo.constant dense<2> : " I "\n"
                    "  %low = stablehlo.constant dense<0> : " I "\n"
                    "  %start = stablehlo.constant dense<0.5> : " V "\n"
                    "  %r:4 = stablehlo.while(%i = %i0, %k = %low, %acc = %s, %ys = %start) : " I
                    ", " I ", " S ", " V " cond {\n"
                    "    %c = stablehlo.compare GE, %i, %k : (" I ", " I ") -> tensor<i1>\n"
                    "    stablehlo.return %c : tensor<i1>\n  } do {\n"
                    "    %d = stablehlo.dynamic_slice %x, %i, sizes = [1] : (" V ", " I
                    ") -> tensor<1xf64>\n"
                    "    %e = stablehlo.reshape %d : (tensor<1xf64>) -> " S "\n"
                    "    %f = stablehlo.multiply %e, %acc : " S "\n"
                    "    %g = stablehlo.sine %f : " S "\n"
                    "    %n = stablehlo.add %g, %e : " S "\n"
                    "    %u = stablehlo.reshape %n : (" S ") -> tensor<1xf64>\n"
                    "    %v = stablehlo.dynamic_update_slice %ys, %u, %i : (" V
                    ", tensor<1xf64>, " I ") -> " V "\n"
                    "    %j = stablehlo.subtract %i, %two : " I "\n"
                    "    stablehlo.return %j, %k, %n, %v : " I ", " I ", " S ", " V "\n  }\n"
                    "  %sq = stablehlo.multiply %r#3, %r#3 : " V "\n" SUM("%sq"));
}

static void test_nested(void **state)
{
    (void)state;
    expect_gradient("if in while in while",
                    "func.func @main(%h: " V ", %w: " V ") -> " S " {\n" COUNTER
                    "  %r:2 = stablehlo.while(%i = %i0, %a = %h) : " I ", " V " cond {\n" COND
                    "    %q:2 = stablehlo.while(%m = %i0, %b = %a) : " I ", " V " cond {\n"
                    "      %c2 = stablehlo.compare NE, %m, %one : (" I ", " I ") -> tensor<i1>\n"
                    "      stablehlo.return %c2 : tensor<i1>\n    } do {\n"
                    "      %m2 = stablehlo.add %m, %one : " I "\n"
                    "      %odd = stablehlo.and %i, %one : " I "\n"
                    "      %p = stablehlo.compare EQ, %odd, %one : (" I ", " I ") -> tensor<i1>\n"
                    "      %b2 = \"stablehlo.if\"(%p) ({\n"
                    "        %s = stablehlo.sine %b : " V "\n        stablehlo.return %s : " V "\n"
                    "      }, {\n"
                    "        %t = stablehlo.multiply %b, %w : " V
                    "\n        stablehlo.return %t : " V "\n"
                    "      }) : (tensor<i1>) -> " V "\n"
                    "      %b3 = stablehlo.add %b2, %w : " V "\n"
                    "      stablehlo.return %m2, %b3 : " I ", " V "\n    }\n"
                    "    stablehlo.return %j, %q#1 : " I ", " V "\n  }\n" SUM("%r#1"));
}

/* 150 iterations: all carries kept; or checkpoints, and a last segment that is shorter than the others. */
static void test_many_iterations(void **state)
{
    (void)state;
    static const char *const heads[] = {"module {\n",
                                        "module attributes {pcp.loop_bytes = 0 : i64} {\n"};
    for (int k = 0; k < 2; k++) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s}\n", heads[k],
                 "func.func @main(%h: " V ", %w: " V ", %x: " V ") -> " S " {\n"
                 "  %i0 = stablehlo.constant dense<0> : " I "\n"
                 "  %one = stablehlo.constant dense<1> : " I "\n"
                 "  %five = stablehlo.constant dense<150> : " I "\n"
                 "  %r:3 = stablehlo.while(%i = %i0, %a = %h, %b = %x) : " I ", " V ", " V
                 " cond {\n" COND "    %p = stablehlo.multiply %w, %a : " V "\n"
                 "    %q = stablehlo.add %p, %b : " V "\n"
                 "    %t = stablehlo.sine %q : " V "\n"
                 "    stablehlo.return %j, %t, %b : " I ", " V ", " V "\n  }\n"
                 "  %y = stablehlo.multiply %r#1, %r#2 : " V "\n" SUM("%y"));
        expect_gradient(k ? "many iterations by segments" : "many iterations", text);
    }
}

/* The loop that keeps its carries stands in for the loop itself: beside the one that goes backwards there is one. */
static void test_nothing_runs_twice(void **state)
{
    (void)state;
    err_t err = {0};
    const bool wanted[] = {true, true};
    ir_module_t *module = parsed("func.func @main(%h: " V ", %w: " V ") -> " S " {\n" COUNTER
                                 "  %r:2 = stablehlo.while(%i = %i0, %a = %h) : " I ", " V
                                 " cond {\n" COND "    %p = stablehlo.multiply %w, %a : " V "\n"
                                 "    %t = stablehlo.sine %p : " V "\n"
                                 "    stablehlo.return %j, %t : " I ", " V "\n  }\n"
                                 "  %e = stablehlo.exponential %r#1 : " V "\n" SUM("%e"));
    ir_fn_t *grad = ad_gradient(module, ir_module_entry(module, &err), "grad", wanted, &err);
    if (!grad) fail_msg("%s", err.text);
    grad->is_private = false;
    if (passes_run(module, NULL, NULL, &err) < 0) fail_msg("%s", err.text);
    const ir_region_t *body = ir_module_find(module, "grad")->body;
    int n = 0;
    for (int i = 0; i < body->n_op; i++) n += body->op[i]->code == OP_while;
    assert_int_equal(n, 2);
    ir_module_destroy(&module);
}

/* A condition on the data: x grows by 1/8 + sin(w x) / 16 until it reaches `limit`; from no
 * iteration to more than there are checkpoints. */
static void test_unknown_iterations(void **state)
{
    (void)state;
    for (int limit = -4; limit <= 20; limit += 8) {
        char text[1536];
        snprintf(text, sizeof text, "%s%d%s",
                 "func.func @main(%x: " S ", %w: " S ") -> " S " {\n"
                 "  %limit = stablehlo.constant dense<",
                 limit,
                 ".0> : " S "\n"
                 "  %c = stablehlo.constant dense<0.125> : " S "\n"
                 "  %h = stablehlo.constant dense<0.0625> : " S "\n"
                 "  %r:2 = stablehlo.while(%a = %x, %b = %w) : " S ", " S " cond {\n"
                 "    %go = stablehlo.compare LT, %a, %limit : (" S ", " S ") -> tensor<i1>\n"
                 "    stablehlo.return %go : tensor<i1>\n  } do {\n"
                 "    %p = stablehlo.multiply %a, %w : " S "\n"
                 "    %s = stablehlo.sine %p : " S "\n"
                 "    %q = stablehlo.multiply %s, %h : " S "\n"
                 "    %d = stablehlo.add %a, %q : " S "\n"
                 "    %e = stablehlo.add %d, %c : " S "\n"
                 "    stablehlo.return %e, %b : " S ", " S "\n  }\n"
                 "  %y = stablehlo.multiply %r#0, %r#1 : " S "\n  return %y : " S "\n}\n");
        expect_gradient("unknown iterations", text);
    }
}

static void test_no_iteration(void **state)
{
    (void)state;
    expect_gradient("no iteration",
                    "func.func @main(%h: " V ") -> " S " {\n" COUNTER
                    "  %r:2 = stablehlo.while(%i = %five, %a = %h) : " I ", " V " cond {\n" COND
                    "    %t = stablehlo.tanh %a : " V "\n"
                    "    stablehlo.return %j, %t : " I ", " V "\n  }\n" SUM("%r#1"));
}

static void test_case_branches(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%d%s",
                 "func.func @main(%x: " V ", %w: " V ") -> " S " {\n"
                 "  %i = stablehlo.constant dense<",
                 which,
                 "> : " I "\n"
                 "  %r = \"stablehlo.case\"(%i) ({\n"
                 "    %a = stablehlo.multiply %x, %w : " V "\n    stablehlo.return %a : " V
                 "\n  }, {\n"
                 "    %a = stablehlo.cosine %x : " V "\n    stablehlo.return %a : " V
                 "\n  }, {\n    stablehlo.return %w : " V "\n"
                 "  }) : (" I ") -> " V "\n"
                 "  %y = stablehlo.multiply %r, %r : " V "\n" SUM("%y"));
        expect_gradient("case", text);
    }
}

/* x * stop(x): the gradient is x, not 2x. */
static void test_stop_gradient(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *module = parsed("func.func @main(%x: " V ") -> " S " {\n"
                                 "  %s = stablehlo.custom_call @pcp.stop_gradient(%x) : (" V
                                 ") -> " V "\n"
                                 "  %y = stablehlo.multiply %x, %s : " V "\n" SUM("%y"));
    ir_fn_t *grad = ad_gradient(module, ir_module_entry(module, &err), "grad", &(bool){true}, &err);
    if (!grad) fail_msg("%s", err.text);
    tensor_t in = tensor_new(ir_type_of(grad, ir_fn_param(grad, 0))), out[2];
    for (int k = 0; k < 3; k++) tensor_set_f64(&in, k, k + 0.5);
    assert_int_equal(eval_fn(module, grad, &in, out, NULL, &err), 0);
    assert_true(tensor_equal(&in, &out[1]));
    tensor_fini(&in);
    for (int i = 0; i < 2; i++) tensor_fini(&out[i]);
    ir_module_destroy(&module);
}

static void test_refusals(void **state)
{
    (void)state;
    expect_refusal("func.func @main(%x: " S ") -> " S " {\n"
                   "  %r = stablehlo.custom_call @nobody(%x) : (" S ") -> " S "\n"
                   "  return %r : " S "\n}\n",
                   "@nobody has no gradient rule");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recurrence),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_no_iteration),
        cmocka_unit_test(test_many_iterations),
        cmocka_unit_test(test_nothing_runs_twice),
        cmocka_unit_test(test_unknown_iterations),
        cmocka_unit_test(test_case_branches),
        cmocka_unit_test(test_stop_gradient),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
