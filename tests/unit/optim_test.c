/* Training programs against plain C: several steps of AdamW and SGD on a small regression, run by
 * the interpreter and by formulas written out here in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/half.h"
#include "base/mem.h"
#include "base/str.h"
#include "ir/build.h"
#include "ops/eval.h"
#include "optim/optim.h"

static void check(int status, const err_t *err)
{
    if (status < 0) fail_msg("%s", err->text);
}

/* --- the model: loss = mean over rows r and outputs o of (sum_i x[r][i] w[i][o] + b[o] - t[r])^2,
 *     w [2,3] (decayed), b [3] (not decayed), x [4,2] a float batch, t [4] an integer batch --- */

enum { ROWS = 4, IN = 2, OUT = 3, N_W = IN * OUT, N_PARAM = N_W + OUT };

static void name_param(ir_fn_t *fn, int i, const char *name, const char *role)
{
    arena_t *arena = fn->module->arena;
    if (name) attr_set_text(arena, &fn->param_attrs[i], "pcp.name", ATTR_STRING, name);
    if (role) attr_set_text(arena, &fn->param_attrs[i], "pcp.role", ATTR_STRING, role);
}

/* Factors of the learning rate and decay of w and b; all 1: nobody says any. */
typedef struct {
    double lr[2], decay[2];
} group_t;
static group_t group = {{1, 1}, {1, 1}};

static void put_factor(ir_fn_t *fn, int i, const char *name, double factor)
{
    arena_t *arena = fn->module->arena;
    if (factor == 1) return;
    attr_set_text(arena, &fn->param_attrs[i], name, ATTR_STRING, arena_printf(arena, "%g", factor));
}

static ir_module_t *regression(dtype_t dtype)
{
    ir_module_t *m = ir_module_new();
    ir_type_t types[4] = {
        ir_type(dtype, 2, (int64_t[]){IN, OUT}), ir_type(dtype, 1, (int64_t[]){OUT}),
        ir_type(DT_F32, 2, (int64_t[]){ROWS, IN}), ir_type(DT_I32, 1, (int64_t[]){ROWS})};
    ir_fn_t *fn = ir_fn_new(m, "main", 4, types);
    name_param(fn, 0, "w", NULL);
    name_param(fn, 2, "x", "batch");
    for (int i = 0; i < 2; i++) {
        put_factor(fn, i, OPTIM_LR, group.lr[i]);
        put_factor(fn, i, OPTIM_DECAY, group.decay[i]);
    }
    ir_type_t all = ir_type(DT_F32, 2, (int64_t[]){ROWS, OUT});
    ir_val_t w = ir_convert(fn, ir_fn_param(fn, 0), DT_F32);
    ir_val_t b = ir_convert(fn, ir_fn_param(fn, 1), DT_F32);
    ir_val_t t = ir_convert(fn, ir_fn_param(fn, 3), DT_F32);
    ir_val_t y = ir_op2(fn, OP_add, ir_matmul(fn, ir_fn_param(fn, 2), w),
                        ir_broadcast(fn, b, &all, (int64_t[]){1}));
    ir_val_t d = ir_op2(fn, OP_subtract, y, ir_broadcast(fn, t, &all, (int64_t[]){0}));
    ir_val_t sum = ir_reduce_all(fn, OP_add, ir_op2(fn, OP_multiply, d, d));
    ir_val_t loss = ir_op2(fn, OP_multiply, sum, ir_scalar(fn, DT_F32, 1.0 / (ROWS * OUT)));
    err_t err = {0};
    check(ir_fn_finish(fn, 1, &loss, &err), &err);
    return m;
}

typedef struct {
    double x[ROWS * IN];
    int t[ROWS];
} batch_t;

static batch_t make_batch(int b)
{
    batch_t batch;
    for (int i = 0; i < ROWS * IN; i++) batch.x[i] = (double)((7 * i + 5 * b) % 16 - 8) / 8;
    for (int i = 0; i < ROWS; i++) batch.t[i] = (3 * i + b) % 5 - 2;
    return batch;
}

/* Loss and gradient in double; parameters as the forward pass reads them. */
static double model(const double *p, const batch_t *batch, double *g)
{
    double loss = 0;
    memset(g, 0, sizeof *g * N_PARAM);
    for (int r = 0; r < ROWS; r++)
        for (int o = 0; o < OUT; o++) {
            double d = p[N_W + o] - batch->t[r];
            for (int i = 0; i < IN; i++) d += batch->x[r * IN + i] * p[i * OUT + o];
            loss += d * d / (ROWS * OUT);
            g[N_W + o] += 2 * d / (ROWS * OUT);
            for (int i = 0; i < IN; i++)
                g[i * OUT + o] += 2 * d * batch->x[r * IN + i] / (ROWS * OUT);
        }
    return loss;
}

/* --- the reference step --- */

typedef struct {
    double p[N_PARAM], m[N_PARAM], v[N_PARAM];
} state_t;

static double clip(const train_spec_t *spec, double *g)
{
    double norm = 0;
    for (int i = 0; i < N_PARAM; i++) norm += g[i] * g[i];
    norm = sqrt(norm);
    double factor = spec->clip > 0 ? fmin(1, spec->clip / (norm + 1e-6)) : 1;
    for (int i = 0; i < N_PARAM; i++) g[i] *= factor;
    return norm;
}

static void update(const train_spec_t *spec, state_t *s, const double *g, double all_lr, int t)
{
    for (int i = 0; i < N_PARAM; i++) {
        double lr = all_lr * group.lr[i >= N_W];
        double wd = i < N_W ? spec->weight_decay * group.decay[0] : 0;
        if (strcmp(spec->optimizer, "sgd") == 0) {
            s->m[i] = spec->momentum * s->m[i] + g[i];
            s->p[i] -= lr * (s->m[i] + wd * s->p[i]);
            continue;
        }
        s->m[i] = spec->beta1 * s->m[i] + (1 - spec->beta1) * g[i];
        s->v[i] = spec->beta2 * s->v[i] + (1 - spec->beta2) * g[i] * g[i];
        double m_hat = s->m[i] / (1 - pow(spec->beta1, t));
        double v_hat = s->v[i] / (1 - pow(spec->beta2, t));
        s->p[i] -= lr * (m_hat / (sqrt(v_hat) + spec->eps) + wd * s->p[i]);
    }
}

/* One step over n micro-batches; *norm before clipping; returns the mean loss. */
static double reference_step(const train_spec_t *spec, dtype_t dtype, state_t *s, double lr, int t,
                             double *norm)
{
    double g[N_PARAM], sum[N_PARAM] = {0}, loss = 0, read[N_PARAM];
    for (int i = 0; i < N_PARAM; i++)
        read[i] = dtype == DT_BF16 ? half_from_bf16(half_to_bf16(s->p[i])) : s->p[i];
    for (int k = 0; k < spec->accumulate; k++) {
        batch_t batch = make_batch(t * spec->accumulate + k);
        loss += model(read, &batch, g) / spec->accumulate;
        for (int i = 0; i < N_PARAM; i++) {
            double rounded = dtype == DT_BF16 ? half_from_bf16(half_to_bf16(g[i])) : g[i];
            sum[i] += rounded / spec->accumulate;
        }
    }
    *norm = clip(spec, sum);
    update(spec, s, sum, lr, t);
    return loss;
}

/* --- running programs: values live by role and name, as in an executor --- */

typedef struct {
    const char *role, *name;
    tensor_t value;
} cell_t;

typedef struct {
    ir_module_t *m;
    cell_t cell[64];
    int n;
} machine_t;

static tensor_t *cell(machine_t *self, const ir_attrs_t *attrs, const ir_type_t *type)
{
    const char *role = attr_text(attrs, "pcp.role", "?"), *name = attr_text(attrs, "pcp.name", "?");
    for (int i = 0; i < self->n; i++)
        if (!strcmp(self->cell[i].role, role) && !strcmp(self->cell[i].name, name)) {
            assert_true(ir_type_equal(&self->cell[i].value.type, type));
            return &self->cell[i].value;
        }
    assert_true(self->n < 64);
    self->cell[self->n] = (cell_t){role, name, tensor_new(type)};
    return &self->cell[self->n++].value;
}

static tensor_t *named(machine_t *self, const char *role, const char *name)
{
    for (int i = 0; i < self->n; i++)
        if (!strcmp(self->cell[i].role, role) && !strcmp(self->cell[i].name, name))
            return &self->cell[i].value;
    fail_msg("no %s called %s", role, name);
    return NULL;
}

static void machine_run(machine_t *self, const char *program)
{
    ir_fn_t *fn = ir_module_find(self->m, program);
    assert_non_null(fn);
    tensor_t in[32], out[32];
    for (int i = 0; i < fn->body->n_arg; i++)
        in[i] = *cell(self, &fn->param_attrs[i], ir_type_of(fn, ir_fn_param(fn, i)));
    err_t err = {0};
    check(eval_fn(self->m, fn, in, out, NULL, &err), &err);
    for (int i = 0; i < fn->body->n_result; i++) {
        tensor_t *to = cell(self, &fn->result_attrs[i], &out[i].type);
        tensor_fini(to);
        *to = out[i];
    }
}

static void machine_fini(machine_t *self)
{
    for (int i = 0; i < self->n; i++) tensor_fini(&self->cell[i].value);
    ir_module_destroy(&self->m);
}

/* Make a cell for each parameter of the program, so that it can be set before the first run. */
static void machine_prepare(machine_t *self, const char *program)
{
    const ir_fn_t *fn = ir_module_find(self->m, program);
    assert_non_null(fn);
    for (int i = 0; i < fn->body->n_arg; i++)
        cell(self, &fn->param_attrs[i], ir_type_of(fn, ir_fn_param(fn, i)));
}

static void set_batch(machine_t *self, int b)
{
    batch_t batch = make_batch(b);
    for (int i = 0; i < ROWS * IN; i++) tensor_set_f64(named(self, "batch", "x"), i, batch.x[i]);
    for (int i = 0; i < ROWS; i++) tensor_set_i64(named(self, "batch", "arg3"), i, batch.t[i]);
}

static double get_param(machine_t *self, int i)
{
    const char *name = i < N_W ? "w" : "arg1";
    return tensor_get_f64(named(self, "param", name), i < N_W ? i : i - N_W);
}

static double start_value(int i)
{
    return (double)(i * 5 % 9 - 4) / 8; /* exact in bf16 */
}

static void machine_start(machine_t *self, const train_spec_t *spec, dtype_t dtype)
{
    err_t err = {0};
    self->m = regression(dtype);
    check(optim_build(self->m, spec, &err), &err);
    check(ir_verify(self->m, &err), &err);
    if (spec->accumulate > 1) {
        machine_prepare(self, "accumulate");
        machine_prepare(self, "update");
    } else {
        machine_prepare(self, "train");
    }
    for (int i = 0; i < N_PARAM; i++)
        tensor_set_f64(named(self, "param", i < N_W ? "w" : "arg1"), i < N_W ? i : i - N_W,
                       start_value(i));
}

static double machine_step(machine_t *self, const train_spec_t *spec, double lr, int t)
{
    double loss = 0;
    tensor_set_f64(named(self, "scalar", "lr"), 0, lr);
    tensor_set_i64(named(self, "scalar", "step"), 0, t);
    for (int k = 0; k < spec->accumulate; k++) {
        set_batch(self, t * spec->accumulate + k);
        machine_run(self, spec->accumulate > 1 ? "accumulate" : "train");
        loss += tensor_get_f64(named(self, "result", "loss"), 0) / spec->accumulate;
    }
    if (spec->accumulate > 1) machine_run(self, "update");
    return loss;
}

/* --- steps agree --- */

/* f32 rounding is 6e-8 of values of order one, a few dozen roundings a step, 8 steps. A bf16
 * gradient that lies between two numbers may be rounded to either side here and there: AdamW
 * divides by its size, so p moves by lr 2^-8 = 4e-4 more or less. */
static double tolerance(dtype_t dtype)
{
    return dtype == DT_BF16 ? 1e-3 : 1e-6;
}
static void compare_steps(const train_spec_t *spec, dtype_t dtype)
{
    machine_t machine = {0};
    machine_start(&machine, spec, dtype);
    state_t s = {0};
    for (int i = 0; i < N_PARAM; i++) s.p[i] = start_value(i);
    double worst = 0;
    for (int t = 1; t <= 8; t++) {
        double norm, lr = 0.1 / t, want = reference_step(spec, dtype, &s, lr, t, &norm);
        double loss = machine_step(&machine, spec, lr, t);
        worst = fmax(worst, fabs(loss - want) / want);
        worst = fmax(worst,
                     fabs(tensor_get_f64(named(&machine, "result", "grad_norm"), 0) - norm) / norm);
        for (int i = 0; i < N_PARAM; i++)
            worst = fmax(worst, fabs(get_param(&machine, i) - s.p[i]));
    }
    char *text = train_spec_print(spec);
    print_message("%s %s: largest deviation %.2e\n", dtype_name(dtype), text, worst);
    free(text);
    assert_true(worst < tolerance(dtype));
    double moved = 0;
    for (int i = 0; i < N_PARAM; i++)
        moved = fmax(moved, fabs(get_param(&machine, i) - start_value(i)));
    assert_true(moved > 0.05);
    if (spec->accumulate > 1)
        assert_true(tensor_get_f64(named(&machine, "accumulator", "w"), 0) == 0);
    machine_fini(&machine);
}

static void test_steps_match_plain_c(void **state)
{
    (void)state;
    train_spec_t adamw = TRAIN_SPEC_DEFAULT, free_norm = TRAIN_SPEC_DEFAULT,
                 sgd = TRAIN_SPEC_DEFAULT;
    free_norm.clip = 0;
    free_norm.weight_decay = 0;
    sgd.optimizer = "sgd";
    train_spec_t plain = sgd, accumulated = adamw, sgd_accumulated = sgd, only_f32 = adamw;
    plain.momentum = 0;
    accumulated.accumulate = 3;
    sgd_accumulated.accumulate = 2;
    only_f32.only_f32 = true;
    train_spec_t slow = only_f32;
    slow.beta2 = 0.999;
    const train_spec_t *specs[] = {&adamw,       &free_norm,       &sgd,      &plain,
                                   &accumulated, &sgd_accumulated, &only_f32, &slow};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        compare_steps(specs[i], DT_F32);
        compare_steps(specs[i], DT_BF16);
    }
}

/* Groups: parameters with learning rates and decays of their own, by the same formulas. */
static void test_groups_match_plain_c(void **state)
{
    (void)state;
    static const group_t groups[] = {
        {{0.25, 1}, {1, 1}}, {{1, 2}, {0, 1}}, {{0.5, 0.125}, {3, 1}}, {{0, 1}, {1, 1}}};
    train_spec_t adamw = TRAIN_SPEC_DEFAULT, sgd = TRAIN_SPEC_DEFAULT, parts = TRAIN_SPEC_DEFAULT;
    sgd.optimizer = "sgd";
    parts.accumulate = 3;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        group = groups[i];
        compare_steps(&adamw, DT_F32);
        compare_steps(&sgd, DT_F32);
        compare_steps(&parts, DT_F32);
    }
    group = (group_t){{1, 1}, {1, 1}};
}

static void test_bad_factors(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "x", "-1", "nan", "1e9", "1 "};
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err_t err = {0};
        ir_module_t *m = regression(DT_F32);
        attr_set_text(m->arena, &ir_module_find(m, "main")->param_attrs[0], OPTIM_LR, ATTR_STRING,
                      bad[i]);
        assert_int_equal(optim_build(m, &spec, &err), -1);
        assert_non_null(strstr(err.text, "pcp.lr"));
        ir_module_destroy(&m);
    }
}

/* Factors that the text has as numbers, not as strings. */
static void test_number_factors(void **state)
{
    (void)state;
    static const ir_attr_t rows[] = {
        {.name = OPTIM_LR, .kind = ATTR_FLOAT, .f = 0.25},
        {.name = OPTIM_LR, .kind = ATTR_INT, .i = 3},
        {.name = OPTIM_LR, .kind = ATTR_FLOAT, .f = -1},
        {.name = OPTIM_LR, .kind = ATTR_INT, .i = 1001},
        {.name = OPTIM_LR, .kind = ATTR_BOOL, .i = 1},
    };
    static const double want[] = {0.25, 3, -1, -1, -1}; /* -1: refused */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err_t err = {0};
        ir_module_t *m = regression(DT_F32);
        ir_fn_t *fn = ir_module_find(m, "main");
        attr_set(m->arena, &fn->param_attrs[0], rows[i]);
        const optim_arg_t *args = optim_args(m, fn, &err);
        assert_int_equal(args != NULL, want[i] >= 0);
        if (args) assert_true(args[0].lr == want[i]);
        ir_module_destroy(&m);
    }
}

/* Some value of @train, at its top, is a double. */
static bool computes_in_f64(const train_spec_t *spec)
{
    bool found = false;
    ir_module_t *m = regression(DT_F32);
    err_t err = {0};
    check(optim_build(m, spec, &err), &err);
    const ir_fn_t *fn = ir_module_find(m, "train");
    assert_non_null(fn);
    for (ir_val_t v = 0; v < fn->n_value; v++) found = found || ir_type_of(fn, v)->dtype == DT_F64;
    ir_module_destroy(&m);
    return found;
}

/* A device without doubles trains as well; any other keeps the bits that it had. */
static void test_no_f64_where_there_is_none(void **state)
{
    (void)state;
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    assert_true(computes_in_f64(&spec));
    spec.only_f32 = true;
    assert_false(computes_in_f64(&spec));
}

/* --- signatures --- */

static void add_signature(str_t *out, const ir_fn_t *fn)
{
    char type[IR_TYPE_TEXT];
    str_addf(out, "@%s(", fn->name);
    for (int i = 0; i < fn->body->n_arg; i++)
        str_addf(out, "%s%s %s %s", i ? ", " : "", attr_text(&fn->param_attrs[i], "pcp.role", "?"),
                 attr_text(&fn->param_attrs[i], "pcp.name", "?"),
                 ir_type_text(ir_type_of(fn, ir_fn_param(fn, i)), type));
    str_add(out, ") -> (");
    for (int i = 0; i < fn->body->n_result; i++)
        str_addf(out, "%s%s %s", i ? ", " : "", attr_text(&fn->result_attrs[i], "pcp.role", "?"),
                 attr_text(&fn->result_attrs[i], "pcp.name", "?"));
    str_add(out, ")\n");
}

static void expect_signatures(const ir_module_t *m, const char *want)
{
    str_t have = {0};
    for (int i = 0; i < m->n_fn; i++) add_signature(&have, m->fn[i]);
    assert_string_equal(str_text(&have), want);
    str_fini(&have);
}

/* A @logits beside @main: one parameter of it, tokens of its own shape. */
static void add_logits(ir_module_t *m, dtype_t dtype)
{
    ir_type_t types[2] = {ir_type(dtype, 2, (int64_t[]){IN, OUT}),
                          ir_type(DT_F32, 2, (int64_t[]){1, IN})};
    ir_fn_t *fn = ir_fn_new(m, "logits", 2, types);
    name_param(fn, 0, "w", NULL);
    name_param(fn, 1, "x", "batch");
    ir_val_t w = ir_convert(fn, ir_fn_param(fn, 0), DT_F32);
    ir_val_t y = ir_matmul(fn, ir_fn_param(fn, 1), w);
    err_t err = {0};
    check(ir_fn_finish(fn, 1, &y, &err), &err);
}

static void test_names_and_roles(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *m = regression(DT_BF16);
    add_logits(m, DT_BF16);
    check(optim_build(m, &TRAIN_SPEC_DEFAULT, &err), &err);
    check(ir_verify(m, &err), &err);
    expect_signatures(
        m, "@train(param w tensor<2x3xf32>, param arg1 tensor<3xf32>, state m.w tensor<2x3xf32>, "
           "state v.w tensor<2x3xf32>, state m.arg1 tensor<3xf32>, state v.arg1 tensor<3xf32>, "
           "batch x tensor<4x2xf32>, batch arg3 tensor<4xi32>, scalar lr tensor<f32>, "
           "scalar step tensor<i64>) -> (param w, param arg1, state m.w, state v.w, state m.arg1, "
           "state v.arg1, result loss, result grad_norm)\n"
           "@loss(param w tensor<2x3xf32>, param arg1 tensor<3xf32>, batch x tensor<4x2xf32>, "
           "batch arg3 tensor<4xi32>) -> (result loss)\n"
           "@logits(param w tensor<2x3xf32>, batch tokens tensor<1x2xf32>) -> (result logits)\n");
    ir_module_destroy(&m);

    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.optimizer = "sgd";
    spec.accumulate = 2;
    m = regression(DT_F32);
    check(optim_build(m, &spec, &err), &err);
    expect_signatures(
        m, "@accumulate(param w tensor<2x3xf32>, param arg1 tensor<3xf32>, "
           "accumulator w tensor<2x3xf32>, accumulator arg1 tensor<3xf32>, "
           "batch x tensor<4x2xf32>, batch arg3 tensor<4xi32>) -> "
           "(accumulator w, accumulator arg1, result loss)\n"
           "@update(param w tensor<2x3xf32>, param arg1 tensor<3xf32>, "
           "state momentum.w tensor<2x3xf32>, state momentum.arg1 tensor<3xf32>, "
           "accumulator w tensor<2x3xf32>, accumulator arg1 tensor<3xf32>, scalar lr tensor<f32>, "
           "scalar step tensor<i64>) -> (param w, param arg1, state momentum.w, "
           "state momentum.arg1, accumulator w, accumulator arg1, result grad_norm)\n"
           "@loss(param w tensor<2x3xf32>, param arg1 tensor<3xf32>, batch x tensor<4x2xf32>, "
           "batch arg3 tensor<4xi32>) -> (result loss)\n");
    ir_module_destroy(&m);

    m = regression(DT_BF16);
    check(optim_build_gradient(m, &err), &err);
    expect_signatures(m, "@grad(param w tensor<2x3xbf16>, param arg1 tensor<3xbf16>, "
                         "batch x tensor<4x2xf32>, batch arg3 tensor<4xi32>) -> "
                         "(result loss, result grad.w, result grad.arg1)\n");
    ir_module_destroy(&m);
}

/* Only @logits, in the types its parameters are kept in, and its value against plain C. */
static void test_logits_alone(void **state)
{
    (void)state;
    err_t err = {0};
    machine_t machine = {.m = regression(DT_BF16)};
    add_logits(machine.m, DT_BF16);
    check(optim_build_logits(machine.m, &err), &err);
    check(ir_verify(machine.m, &err), &err);
    expect_signatures(machine.m, "@logits(param w tensor<2x3xf32>, batch tokens tensor<1x2xf32>) "
                                 "-> (result logits)\n");
    machine_prepare(&machine, "logits");
    for (int i = 0; i < N_W; i++) tensor_set_f64(named(&machine, "param", "w"), i, start_value(i));
    for (int i = 0; i < IN; i++) tensor_set_f64(named(&machine, "batch", "tokens"), i, i + 1);
    machine_run(&machine, "logits");
    for (int o = 0; o < OUT; o++) {
        double want = start_value(o) + 2 * start_value(OUT + o);
        assert_true(tensor_get_f64(named(&machine, "result", "logits"), o) == want);
    }
    machine_fini(&machine);

    ir_module_t *m = regression(DT_F32);
    assert_int_equal(optim_build_logits(m, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    ir_module_destroy(&m);
}

/* --- refusals --- */

static void test_bad_arguments(void **state)
{
    (void)state;
    const struct {
        int arg;
        const char *name, *role, *message;
    } cases[] = {
        {0, "w", "weights", "argument 0 has the role \"weights\", which is none"},
        {3, NULL, "param", "argument 3 is a parameter of tensor<4xi32>"},
        {1, "w", NULL, "both called \"w\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t err = {0};
        ir_module_t *m = regression(DT_F32);
        name_param(ir_module_find(m, "main"), cases[i].arg, cases[i].name, cases[i].role);
        assert_int_equal(optim_build(m, &TRAIN_SPEC_DEFAULT, &err), -1);
        if (!strstr(err.text, cases[i].message)) fail_msg("unexpected message: %s", err.text);
        ir_module_destroy(&m);
    }
}

/* Their moments would be those of no real number; and they are no batch either. */
static void test_complex_parameters_are_refused(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *m = ir_module_new();
    ir_type_t type = ir_type(DT_C64, 1, (int64_t[]){3});
    ir_fn_t *fn = ir_fn_new(m, "main", 1, &type);
    ir_val_t loss = ir_reduce_all(fn, OP_add, ir_op1(fn, OP_real, ir_fn_param(fn, 0)));
    check(ir_fn_finish(fn, 1, &loss, &err), &err);
    assert_int_equal(optim_build(m, &TRAIN_SPEC_DEFAULT, &err), -1);
    assert_int_equal(err.code, ERR_TYPE);
    assert_non_null(strstr(err.text, "argument 0 is a parameter of tensor<3xcomplex<f32>>"));
    assert_non_null(strstr(err.text, "real and imaginary parts"));
    ir_module_destroy(&m);
}

static void test_logits_of_another_model_are_refused(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *m = regression(DT_F32);
    add_logits(m, DT_BF16);
    assert_int_equal(optim_build(m, &TRAIN_SPEC_DEFAULT, &err), -1);
    assert_non_null(strstr(err.text, "parameter \"w\""));
    ir_module_destroy(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_match_plain_c),
        cmocka_unit_test(test_groups_match_plain_c),
        cmocka_unit_test(test_bad_factors),
        cmocka_unit_test(test_number_factors),
        cmocka_unit_test(test_no_f64_where_there_is_none),
        cmocka_unit_test(test_names_and_roles),
        cmocka_unit_test(test_logits_alone),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_complex_parameters_are_refused),
        cmocka_unit_test(test_logits_of_another_model_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
