/* One reverse rule against central differences in f64: L = sum_j <w_j, result_j> with random w. Of
 * complex numbers L is the real part of sum w_j result_j, and both parts of operands are moved: the
 * cotangent of x + iy is dL/dx - i dL/dy (ad/ad.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "gradient_cases.h"
#include "ops/eval.h"

#define STEP 1e-5
#define TOLERANCE 1e-6

enum { MAX_OUT = 4, MAX_ARG = GRADIENT_MAX_IN + MAX_OUT };

typedef struct {
    const gradient_case_t *spec;
    ir_module_t *module;
    ir_fn_t *forward, *reverse;
    int n_in, n_out, n_ct;   /* n_ct: float results */
    int at[GRADIENT_MAX_IN]; /* operand of the op that parameter i is, or -1 */
    tensor_t arg[MAX_ARG];   /* parameters, then the weights w of float results */
} trial_t;

static int count_in(const gradient_case_t *spec)
{
    int n = 0;
    while (n < GRADIENT_MAX_IN && spec->in[n].dtype != DT_NONE) n++;
    return n;
}

/* The op under test; an int map keeps the generic build apart from the cases' own. */
static const ir_op_t *build(const gradient_case_t *spec, ir_fn_t *fn)
{
    if (spec->build)
        spec->build(fn);
    else {
        ir_val_t in[GRADIENT_MAX_IN];
        for (int i = 0; i < count_in(spec); i++) in[i] = ir_fn_param(fn, i);
        ir_emit(fn, spec->op, count_in(spec), in, NULL, 1, NULL, 0, NULL);
    }
    if (fn->err.code) fail_msg("%s (%s): %s", op_def(spec->op)->name, spec->what, fn->err.text);
    const ir_op_t *op = fn->body->op[fn->body->n_op - 1];
    assert_int_equal(op->code, spec->op);
    return op;
}

static void refuse_outer(vjp_t *self, ir_val_t value, ir_val_t ct)
{
    (void)self, (void)value, (void)ct;
    fail_msg("a rule without regions called add_outer");
}

static void build_forward(trial_t *t)
{
    err_t err = {0};
    t->forward = ir_fn_new(t->module, "forward", t->n_in, t->spec->in);
    const ir_op_t *op = build(t->spec, t->forward);
    ir_val_t out[MAX_OUT];
    t->n_out = op->n_out;
    assert_true(t->n_out <= MAX_OUT);
    for (int j = 0; j < t->n_out; j++) out[j] = op->out + (ir_val_t)j;
    for (int i = 0; i < t->n_in; i++) {
        t->at[i] = -1;
        for (int k = 0; k < op->n_in; k++)
            if (op->in[k] == ir_fn_param(t->forward, i)) t->at[i] = k;
    }
    if (ir_fn_finish(t->forward, t->n_out, out, &err) < 0) fail_msg("%s", err.text);
}

/* Parameters and weights to the parameters' cotangents, by the rule alone. */
static void build_reverse(trial_t *t)
{
    ir_type_t params[MAX_ARG];
    for (int i = 0; i < t->n_in; i++) params[i] = t->spec->in[i];
    t->n_ct = 0;
    for (int j = 0; j < t->n_out; j++) {
        const ir_type_t *type = ir_type_of(t->forward, t->forward->body->result[j]);
        if (dtype_is_inexact(type->dtype)) params[t->n_in + t->n_ct++] = *type;
    }
    ir_fn_t *fn = t->reverse = ir_fn_new(t->module, "reverse", t->n_in + t->n_ct, params);
    const ir_op_t *op = build(t->spec, fn);
    bool need[64] = {0};
    ir_val_t ct[MAX_OUT], in_ct[64], out[GRADIENT_MAX_IN];
    assert_true(op->n_in <= 64);
    for (int i = 0; i < op->n_in; i++) in_ct[i] = IR_NONE;
    for (int i = 0; i < t->n_in; i++)
        if (t->at[i] >= 0) need[t->at[i]] = true;
    for (int j = 0, k = 0; j < t->n_out; j++) {
        bool is_float = dtype_is_inexact(ir_type_of(fn, op->out + (ir_val_t)j)->dtype);
        ct[j] = is_float ? ir_fn_param(fn, t->n_in + k++) : IR_NONE;
    }
    err_t err = {0};
    vjp_t v = {
        .fn = fn, .op = op, .ct = ct, .need = need, .in_ct = in_ct, .add_outer = refuse_outer};
    if (op_def(op->code)->vjp(&v, &err) < 0)
        fail_msg("%s (%s): %s", op_def(op->code)->name, t->spec->what, err.text);
    for (int i = 0; i < t->n_in; i++) {
        ir_val_t given = t->at[i] < 0 ? IR_NONE : in_ct[t->at[i]];
        out[i] = given == IR_NONE ? ir_splat(fn, &t->spec->in[i], 0) : given;
        if (!ir_type_equal(ir_type_of(fn, out[i]), &t->spec->in[i]))
            fail_msg("%s (%s): cotangent %d has another type than its operand",
                     op_def(op->code)->name, t->spec->what, i);
    }
    if (ir_fn_finish(fn, t->n_in, out, &err) < 0) fail_msg("%s", err.text);
}

/* Argument i's number from u in [0, 1). */
static double drawn(const trial_t *t, int i, double u)
{
    double lo = t->spec->lo, hi = t->spec->hi;
    if (lo == 0 && hi == 0) lo = -2, hi = 2;
    return i < t->n_in ? lo + (hi - lo) * u : 2 * u - 1;
}

static void draw(trial_t *t, uint64_t seed)
{
    uint64_t at = 0;
    for (int i = 0; i < t->n_in + t->n_ct; i++) {
        t->arg[i] = tensor_new(ir_type_of(t->reverse, ir_fn_param(t->reverse, i)));
        for (int64_t k = 0; k < ir_type_count(&t->arg[i].type); k++) {
            double re = drawn(t, i, rng_uniform(seed, at++));
            if (dtype_is_complex(t->arg[i].type.dtype))
                tensor_set_complex(&t->arg[i], k, re, drawn(t, i, rng_uniform(seed, at++)));
            else
                tensor_set_f64(&t->arg[i], k, re);
        }
    }
}

static double functional(const trial_t *t)
{
    err_t err = {0};
    tensor_t out[MAX_OUT];
    if (eval_fn(t->module, t->forward, t->arg, out, NULL, &err) < 0) fail_msg("%s", err.text);
    double sum = 0;
    for (int j = 0, k = 0; j < t->n_out; j++) {
        if (dtype_is_inexact(out[j].type.dtype)) {
            const tensor_t *w = &t->arg[t->n_in + k++];
            for (int64_t i = 0; i < ir_type_count(&w->type); i++)
                sum += tensor_get_f64(w, i) * tensor_get_f64(&out[j], i) -
                       tensor_get_imag(w, i) * tensor_get_imag(&out[j], i);
        }
        tensor_fini(&out[j]);
    }
    return sum;
}

/* Largest deviation over all parameters, relative to the largest gradient (at least 1). */
static double deviation(const trial_t *t, const tensor_t *grad)
{
    double worst = 0, scale = 1;
    for (int i = 0; i < t->n_in; i++) {
        double *x = t->arg[i].data;
        bool is_complex = dtype_is_complex(t->arg[i].type.dtype);
        int64_t n = ir_type_count(&t->arg[i].type) * (is_complex ? 2 : 1);
        for (int64_t k = 0; k < n && t->at[i] >= 0; k++) {
            double kept = x[k], rule = is_complex && k % 2
                                           ? -tensor_get_imag(&grad[i], k / 2)
                                           : tensor_get_f64(&grad[i], is_complex ? k / 2 : k);
            x[k] = kept + STEP;
            double up = functional(t);
            x[k] = kept - STEP;
            double difference = (up - functional(t)) / (2 * STEP);
            x[k] = kept;
            scale = fmax(scale, fabs(difference));
            worst = isfinite(rule) ? fmax(worst, fabs(rule - difference)) : INFINITY;
        }
    }
    return worst / scale;
}

void gradient_check(const gradient_case_t *spec, uint64_t seed)
{
    trial_t t = {.spec = spec, .module = ir_module_new(), .n_in = count_in(spec)};
    err_t err = {0};
    build_forward(&t);
    build_reverse(&t);
    if (ir_verify(t.module, &err) < 0) fail_msg("%s", err.text);
    draw(&t, seed);
    tensor_t grad[GRADIENT_MAX_IN];
    if (eval_fn(t.module, t.reverse, t.arg, grad, NULL, &err) < 0) fail_msg("%s", err.text);
    double off = deviation(&t, grad);
    if (!(off < TOLERANCE))
        fail_msg("%s (%s): the rule is off by %g of the largest gradient, tolerance %g",
                 op_def(spec->op)->name, spec->what, off, TOLERANCE);
    for (int i = 0; i < t.n_in; i++) tensor_fini(&grad[i]);
    for (int i = 0; i < t.n_in + t.n_ct; i++) tensor_fini(&t.arg[i]);
    ir_module_destroy(&t.module);
}
