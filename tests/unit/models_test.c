/* Small models of other kinds than language models (tests/models/): parsed, taken through the
 * passes, differentiated, evaluated by the interpreter. Gradients against central differences in
 * f64, and a few steps of gradient descent lower the loss. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ad/ad.h"
#include "ir/build.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "random_program.h"

enum { MAX_ARG = 16, STEPS = 20 };

typedef struct {
    ir_module_t *module;
    const ir_fn_t *fn, *grad;
    int n;
    tensor_t *in, out[1 + MAX_ARG];
} model_t;

/* m->grad from m->fn; wanted[i] for the float parameters. */
static void differentiate(model_t *m, const char *name, bool *wanted)
{
    err_t err = {0};
    m->n = m->fn->body->n_arg;
    assert_true(m->n <= MAX_ARG);
    for (int i = 0; i < m->n; i++)
        wanted[i] = dtype_is_float(ir_type_of(m->fn, ir_fn_param(m->fn, i))->dtype);
    m->grad = ad_gradient(m->module, m->fn, name, wanted, &err);
    if (!m->grad || ir_verify(m->module, &err) < 0) fail_msg("%s: %s", name, err.text);
}

/* A function of m->fn's parameters: half the squares of its gradient; becomes m->fn. */
static void square_gradient(model_t *m)
{
    err_t err = {0};
    ir_type_t types[MAX_ARG];
    ir_val_t args[MAX_ARG], loss = IR_NONE;
    for (int i = 0; i < m->n; i++) types[i] = *ir_type_of(m->fn, ir_fn_param(m->fn, i));
    ir_fn_t *fn = ir_fn_new(m->module, "squares", m->n, types);
    for (int i = 0; i < m->n; i++) args[i] = ir_fn_param(fn, i);
    ir_val_t g = ir_call(fn, m->grad, args);
    for (int i = 1; i < m->grad->body->n_result; i++) {
        ir_val_t y = ir_op2(fn, OP_multiply, g + (ir_val_t)i, g + (ir_val_t)i);
        y = ir_reduce_all(fn, OP_add, y);
        y = ir_op2(fn, OP_multiply, y, ir_scalar_like(fn, y, 0.5));
        loss = loss == IR_NONE ? y : ir_op2(fn, OP_add, loss, y);
    }
    if (ir_fn_finish(fn, 1, &loss, &err) < 0 || passes_run(m->module, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
    m->fn = ir_module_find(m->module, "squares");
}

static void model_open(model_t *m, const char *path, int order)
{
    err_t err = {0};
    bool wanted[MAX_ARG];
    *m = (model_t){.module = parse_stablehlo_file(path, &err)};
    if (!m->module || passes_run(m->module, NULL, NULL, &err) < 0) fail_msg("%s", err.text);
    m->fn = ir_module_entry(m->module, &err);
    differentiate(m, "grad", wanted);
    if (order == 2) {
        square_gradient(m);
        differentiate(m, "second", wanted);
    }
    m->in = random_inputs(m->fn, 5);
    for (int i = 0; i < m->n; i++)
        for (int64_t k = 0; k < ir_type_count(&m->in[i].type); k++) {
            if (wanted[i]) /* small, as initial weights are */
                tensor_set_f64(&m->in[i], k, 0.4 * tensor_get_f64(&m->in[i], k));
            else
                tensor_set_i64(&m->in[i], k, llabs(tensor_get_i64(&m->in[i], k)) % 3);
        }
}

static void model_close(model_t *m)
{
    tensors_free(&m->in, m->n);
    ir_module_destroy(&m->module);
}

static double loss(model_t *m)
{
    tensor_t y;
    err_t err = {0};
    if (eval_fn(m->module, m->fn, m->in, &y, NULL, &err) < 0) fail_msg("%s", err.text);
    double value = tensor_get_f64(&y, 0);
    tensor_fini(&y);
    return value;
}

/* Loss and gradients into out[]; caller frees with free_gradient. */
static void gradient(model_t *m)
{
    err_t err = {0};
    if (eval_fn(m->module, m->grad, m->in, m->out, NULL, &err) < 0) fail_msg("%s", err.text);
}

static void free_gradient(model_t *m)
{
    for (int i = 0; i < m->grad->body->n_result; i++) tensor_fini(&m->out[i]);
}

/* Step 1e-6: central differences of a loss of order ten are good to about 1e-8; no kink of a relu
 * or of pooling lies that near in these inputs. */
static double deviation(model_t *m)
{
    const double h = 1e-6;
    double worst = 0, scale = 1;
    int at = 1;
    gradient(m);
    for (int i = 0; i < m->n; i++) {
        if (!dtype_is_float(m->in[i].type.dtype)) continue;
        double *x = m->in[i].data;
        for (int64_t k = 0; k < ir_type_count(&m->in[i].type); k++) {
            double kept = x[k];
            x[k] = kept + h;
            double above = loss(m);
            x[k] = kept - h;
            double difference = (above - loss(m)) / (2 * h);
            x[k] = kept;
            scale = fmax(scale, fabs(difference));
            worst = fmax(worst, fabs(tensor_get_f64(&m->out[at], k) - difference));
        }
        at++;
    }
    free_gradient(m);
    return worst / scale;
}

/* One step of length 0.01 along the gradient's direction, parameters and inputs alike. */
static void descend(model_t *m)
{
    double square = 0;
    gradient(m);
    for (int i = 1; i < m->grad->body->n_result; i++)
        for (int64_t k = 0; k < ir_type_count(&m->out[i].type); k++)
            square += pow(tensor_get_f64(&m->out[i], k), 2);
    for (int i = 0, at = 1; i < m->n; i++) {
        if (!dtype_is_float(m->in[i].type.dtype)) continue;
        double *x = m->in[i].data;
        for (int64_t k = 0; k < ir_type_count(&m->in[i].type); k++)
            x[k] -= 0.01 * tensor_get_f64(&m->out[at], k) / (sqrt(square) + 1e-12);
        at++;
    }
    free_gradient(m);
}

static void test_model(void **state)
{
    model_t m;
    model_open(&m, *state, 1);
    double off = deviation(&m), first = loss(&m);
    for (int s = 0; s < STEPS; s++) descend(&m);
    double last = loss(&m);
    print_message("%s: gradient off by %.1e, loss %.4f -> %.4f\n", (char *)*state, off, first,
                  last);
    assert_true(off < 1e-6);
    assert_true(last < 0.99 * first);
    model_close(&m);
}

/* The gradient of the gradient, through reversed loops, pooling, convolutions and drawn masks. */
static void test_second_order(void **state)
{
    model_t m;
    model_open(&m, *state, 2);
    double off = deviation(&m);
    print_message("%s: second order off by %.1e\n", (char *)*state, off);
    assert_true(off < 1e-6);
    model_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"cnn", test_model, NULL, NULL, "tests/models/cnn.mlir"},
        {"gru", test_model, NULL, NULL, "tests/models/gru.mlir"},
        {"dropout", test_model, NULL, NULL, "tests/models/dropout.mlir"},
        {"cnn, second order", test_second_order, NULL, NULL, "tests/models/cnn.mlir"},
        {"dropout, second order", test_second_order, NULL, NULL, "tests/models/dropout.mlir"},
        {"gru, second order", test_second_order, NULL, NULL, "tests/models/gru.mlir"},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
