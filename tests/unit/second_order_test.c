/* Second order: the gradient of a gradient, against central differences of the gradient in f64. For
 * every gradient case and every plain op: g = d<w, f(x)>/dx, then h = <v, g(x, w)> is
 * differentiated once more with regard to x and w. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ad/ad.h"
#include "base/rng.h"
#include "gradient_cases.h"
#include "ops/eval.h"
#include "passes/passes.h"

enum { MAX_OUT = 4, MAX_PARAM = 2 * GRADIENT_MAX_IN + MAX_OUT };

/* h = 1e-5 is good to 1e-9 of values of order one; third derivatives near the edges of the drawn
 * ranges (log, power, divide) reach 1e4, whose share of the difference's own error is h^2 1e4 / 6.
 */
#define STEP 1e-5
#define TOLERANCE 1e-5

typedef struct {
    const gradient_case_t *spec;
    ir_module_t *module;
    const ir_fn_t *h, *grad;
    int n_in, n_param; /* x, then w of each float result, then v of each x */
    ir_type_t type[MAX_PARAM];
    tensor_t in[MAX_PARAM];
} trial_t;

static void check(int status, const trial_t *t, const err_t *err)
{
    if (status < 0) fail_msg("%s (%s): %s", op_def(t->spec->op)->name, t->spec->what, err->text);
}

static ir_val_t inner_product(ir_fn_t *fn, ir_val_t a, ir_val_t b)
{
    return ir_reduce_all(fn, OP_add, ir_op2(fn, OP_multiply, a, b));
}

static ir_val_t sum_up(ir_fn_t *fn, ir_val_t sum, ir_val_t more)
{
    return sum == IR_NONE ? more : ir_op2(fn, OP_add, sum, more);
}

/* The case's op as the last of fn's body. */
static const ir_op_t *build(const gradient_case_t *spec, int n_in, ir_fn_t *fn)
{
    ir_val_t in[GRADIENT_MAX_IN];
    for (int i = 0; i < n_in; i++) in[i] = ir_fn_param(fn, i);
    if (spec->build)
        spec->build(fn);
    else
        ir_emit(fn, spec->op, n_in, in, NULL, 1, NULL, 0, NULL);
    if (fn->err.code) fail_msg("%s (%s): %s", op_def(spec->op)->name, spec->what, fn->err.text);
    return fn->body->op[fn->body->n_op - 1];
}

/* Fills the types of x, w and v; returns the number of x and w. */
static int find_types(trial_t *t)
{
    while (t->n_in < GRADIENT_MAX_IN && t->spec->in[t->n_in].dtype != DT_NONE) t->n_in++;
    ir_module_t *scratch = ir_module_new();
    ir_fn_t *fn = ir_fn_new(scratch, "f", t->n_in, t->spec->in);
    const ir_op_t *op = build(t->spec, t->n_in, fn);
    int n = 0;
    for (int i = 0; i < t->n_in; i++) t->type[n++] = t->spec->in[i];
    assert_true(op->n_out <= MAX_OUT);
    for (int j = 0; j < op->n_out; j++) {
        const ir_type_t *type = ir_type_of(fn, op->out + (ir_val_t)j);
        if (dtype_is_float(type->dtype)) t->type[n++] = *type;
    }
    t->n_param = n;
    for (int i = 0; i < t->n_in; i++) t->type[t->n_param++] = t->spec->in[i];
    ir_module_destroy(&scratch);
    return n;
}

/* <w, f(x)> */
static ir_fn_t *first_loss(trial_t *t, int n_first)
{
    err_t err = {0};
    ir_fn_t *fn = ir_fn_new(t->module, "first", n_first, t->type);
    const ir_op_t *op = build(t->spec, t->n_in, fn);
    ir_val_t loss = IR_NONE;
    for (int j = 0, w = t->n_in; j < op->n_out; j++) {
        ir_val_t y = op->out + (ir_val_t)j;
        if (!dtype_is_float(ir_type_of(fn, y)->dtype)) continue;
        loss = sum_up(fn, loss, inner_product(fn, y, ir_fn_param(fn, w++)));
    }
    check(ir_fn_finish(fn, 1, &loss, &err), t, &err);
    return fn;
}

/* <v, dfirst/dx> */
static ir_fn_t *second_loss(trial_t *t, const ir_fn_t *gradient, int n_first)
{
    err_t err = {0};
    ir_fn_t *fn = ir_fn_new(t->module, "second", t->n_param, t->type);
    ir_val_t args[MAX_PARAM], loss = IR_NONE;
    for (int i = 0; i < n_first; i++) args[i] = ir_fn_param(fn, i);
    ir_val_t g = ir_call(fn, gradient, args) + 1;
    for (int i = 0; i < t->n_in; i++)
        loss = sum_up(fn, loss, inner_product(fn, g + (ir_val_t)i, ir_fn_param(fn, n_first + i)));
    check(ir_fn_finish(fn, 1, &loss, &err), t, &err);
    return fn;
}

static void draw(trial_t *t, uint64_t seed)
{
    double lo = t->spec->lo, hi = t->spec->hi;
    if (lo == 0 && hi == 0) lo = -2, hi = 2;
    uint64_t at = 0;
    for (int i = 0; i < t->n_param; i++) {
        t->in[i] = tensor_new(&t->type[i]);
        for (int64_t k = 0; k < ir_type_count(&t->type[i]); k++) {
            double u = rng_uniform(seed, at++);
            tensor_set_f64(&t->in[i], k, i < t->n_in ? lo + (hi - lo) * u : 2 * u - 1);
        }
    }
}

static double value(const trial_t *t)
{
    err_t err = {0};
    tensor_t out;
    check(eval_fn(t->module, t->h, t->in, &out, NULL, &err), t, &err);
    double y = tensor_get_f64(&out, 0);
    tensor_fini(&out);
    return y;
}

static double deviation(const trial_t *t)
{
    tensor_t out[1 + MAX_PARAM];
    err_t err = {0};
    check(eval_fn(t->module, t->grad, t->in, out, NULL, &err), t, &err);
    double worst = 0, scale = 1;
    for (int i = 0; i < t->n_param; i++) {
        double *x = t->in[i].data;
        for (int64_t k = 0; k < ir_type_count(&t->type[i]); k++) {
            double kept = x[k], rule = tensor_get_f64(&out[1 + i], k);
            x[k] = kept + STEP;
            double up = value(t);
            x[k] = kept - STEP;
            double difference = (up - value(t)) / (2 * STEP);
            x[k] = kept;
            scale = fmax(scale, fabs(difference));
            worst = isfinite(rule) ? fmax(worst, fabs(rule - difference)) : INFINITY;
        }
    }
    for (int i = 0; i <= t->n_param; i++) tensor_fini(&out[i]);
    return worst / scale;
}

static void second_order(const gradient_case_t *spec, uint64_t seed)
{
    trial_t t = {.spec = spec, .module = ir_module_new()};
    err_t err = {0};
    bool wanted[MAX_PARAM];
    int n_first = find_types(&t);
    for (int i = 0; i < MAX_PARAM; i++) wanted[i] = i < t.n_in;
    ir_fn_t *gradient = ad_gradient(t.module, first_loss(&t, n_first), "g", wanted, &err);
    check(gradient ? 0 : -1, &t, &err);
    second_loss(&t, gradient, n_first);
    check(passes_run(t.module, NULL, NULL, &err), &t, &err);
    for (int i = 0; i < MAX_PARAM; i++) wanted[i] = true;
    t.h = ir_module_find(t.module, "second");
    t.grad = ad_gradient(t.module, t.h, "h", wanted, &err);
    check(t.grad ? 0 : -1, &t, &err);
    draw(&t, seed);
    double off = deviation(&t);
    if (!(off < TOLERANCE))
        fail_msg("%s (%s): the second order is off by %g", op_def(spec->op)->name, spec->what, off);
    for (int i = 0; i < t.n_param; i++) tensor_fini(&t.in[i]);
    ir_module_destroy(&t.module);
}

static int run_cases(const gradient_case_t *cases, int n, uint64_t seed)
{
    for (int i = 0; i < n; i++) second_order(&cases[i], seed + (uint64_t)i);
    return n;
}

static void test_cases(void **state)
{
    (void)state;
    int n = run_cases(gradient_cases_map, n_gradient_cases_map, 400) +
            run_cases(gradient_cases_structure, n_gradient_cases_structure, 500) +
            run_cases(gradient_cases_index, n_gradient_cases_index, 600);
    print_message("%d cases\n", n);
    assert_true(n > 50);
}

static void test_plain_ops(void **state)
{
    (void)state;
    int n = 0;
    for (op_code_t code = OP_invalid + 1; code < OP_COUNT; code++) {
        const op_def_t *def = op_def(code);
        if (def->kind != K_MAP || !def->expr || def->n_in < 1 || def->n_in > 2 || !def->vjp ||
            def->vjp == vjp_none)
            continue;
        gradient_case_t spec = {
            .op = code, .what = "plain", .lo = def->test_lo, .hi = def->test_hi};
        for (int i = 0; i < def->n_in; i++) spec.in[i] = (ir_type_t)F64(2, 3);
        second_order(&spec, code);
        n++;
    }
    print_message("%d ops\n", n);
    assert_true(n >= 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_ops),
        cmocka_unit_test(test_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
