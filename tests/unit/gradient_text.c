/* See gradient_text.h. */
#include "gradient_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ad/ad.h"
#include "base/rng.h"
#include "ir/build.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "plan_help.h"

enum { MAX_PARAM = 8 };
#define STEP 1e-5
#define TOLERANCE 1e-6

typedef struct {
    const char *what;
    ir_module_t *module;
    const ir_fn_t *fn, *grad; /* loss, and loss and gradient */
    int n;
    tensor_t in[MAX_PARAM];
} trial_t;

static void check(int status, const trial_t *t, const err_t *err)
{
    if (status < 0) fail_msg("%s: %s", t->what, err->text);
}

static void differentiate(trial_t *t, const char *name)
{
    static const bool wanted[MAX_PARAM] = {true, true, true, true, true, true, true, true};
    err_t err = {0};
    t->grad = ad_gradient(t->module, t->fn, name, wanted, &err);
    check(t->grad && ir_verify(t->module, &err) == 0 ? 0 : -1, t, &err);
}

/* Half the square of the gradient becomes the loss. */
static void square(trial_t *t)
{
    err_t err = {0};
    ir_type_t types[MAX_PARAM];
    ir_val_t args[MAX_PARAM], loss = IR_NONE;
    for (int i = 0; i < t->n; i++) types[i] = t->in[i].type;
    ir_fn_t *fn = ir_fn_new(t->module, "square", t->n, types);
    for (int i = 0; i < t->n; i++) args[i] = ir_fn_param(fn, i);
    ir_val_t g = ir_call(fn, t->grad, args);
    for (int i = 1; i <= t->n; i++) {
        ir_val_t y = ir_op2(fn, OP_multiply, g + (ir_val_t)i, g + (ir_val_t)i);
        y = ir_op2(fn, OP_multiply, y, ir_scalar_like(fn, y, 0.5));
        y = ir_reduce_all(fn, OP_add, y);
        loss = loss == IR_NONE ? y : ir_op2(fn, OP_add, loss, y);
    }
    check(ir_fn_finish(fn, 1, &loss, &err), t, &err);
    check(passes_run(t->module, NULL, NULL, &err), t, &err);
    t->fn = ir_module_find(t->module, "square");
}

static double loss(const trial_t *t)
{
    err_t err = {0};
    tensor_t y;
    check(eval_fn(t->module, t->fn, t->in, &y, NULL, &err), t, &err);
    double value = tensor_get_f64(&y, 0);
    tensor_fini(&y);
    return value;
}

static void compare(trial_t *t)
{
    err_t err = {0};
    tensor_t out[1 + MAX_PARAM];
    double worst = 0, scale = 1;
    check(eval_fn(t->module, t->grad, t->in, out, NULL, &err), t, &err);
    for (int i = 0; i < t->n; i++) {
        double *x = t->in[i].data;
        for (int64_t k = 0; k < ir_type_count(&t->in[i].type); k++) {
            double kept = x[k], rule = tensor_get_f64(&out[1 + i], k);
            x[k] = kept + STEP;
            double up = loss(t);
            x[k] = kept - STEP;
            double difference = (up - loss(t)) / (2 * STEP);
            x[k] = kept;
            scale = fmax(scale, fabs(difference));
            worst = isfinite(rule) ? fmax(worst, fabs(rule - difference)) : INFINITY;
        }
    }
    for (int i = 0; i <= t->n; i++) tensor_fini(&out[i]);
    if (!(worst / scale < TOLERANCE))
        fail_msg("%s: @%s is off by %g of the largest entry", t->what, t->grad->name,
                 worst / scale);
}

static void open_trial(trial_t *t, const char *text, double lo, double hi)
{
    err_t err = {0};
    t->module = parse_stablehlo(text, strlen(text), t->what, &err);
    check(t->module ? 0 : -1, t, &err);
    t->fn = ir_module_entry(t->module, &err);
    t->n = t->fn->body->n_arg;
    assert_true(t->n <= MAX_PARAM);
    for (int i = 0; i < t->n; i++) {
        t->in[i] = tensor_new(ir_type_of(t->fn, ir_fn_param(t->fn, i)));
        for (int64_t k = 0; k < ir_type_count(&t->in[i].type); k++)
            tensor_set_f64(&t->in[i], k,
                           lo + (hi - lo) * rng_uniform(31u + (uint64_t)i, (uint64_t)k));
    }
}

void gradient_text_check(const char *what, const char *text, double lo, double hi)
{
    trial_t t = {.what = what};
    open_trial(&t, text, lo, hi);
    differentiate(&t, "first");
    compare(&t);
    square(&t);
    differentiate(&t, "second");
    compare(&t);
    for (int i = 0; i < t.n; i++) tensor_fini(&t.in[i]);
    ir_module_destroy(&t.module);
}

void gradient_text_plan(const char *what, const char *text)
{
    trial_t t = {.what = what};
    open_trial(&t, text, 0, 1);
    differentiate(&t, "first");
    for (int i = 0; i < t.n; i++) tensor_fini(&t.in[i]);
    plan_check_module(t.module, &(plan_check_t){6, 3, 1, 1e-9, 1});
}

void gradient_text_refused(const char *text, const char *words)
{
    static const bool wanted[MAX_PARAM] = {true, true, true, true, true, true, true, true};
    err_t err = {0};
    ir_module_t *module = parse_stablehlo(text, strlen(text), "refused", &err);
    if (!module) fail_msg("%s", err.text);
    assert_null(ad_gradient(module, ir_module_entry(module, &err), "grad", wanted, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    if (!strstr(err.text, words)) fail_msg("\"%s\" lacks \"%s\"", err.text, words);
    ir_module_destroy(&module);
}
