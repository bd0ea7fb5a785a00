/* Groups (ops/fused.h): attention is found however it is spelled and not where it is none, its
 * kernels agree with the interpreter, and its gradients with differences, twice. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ad/ad.h"
#include "base/mem.h"
#include "base/rng.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ir/print.h"
#include "ops/eval.h"
#include "ops/fused.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "plan_help.h"

/* --- Spellings -------------------------------------------------------------------------------- */

typedef enum { ALL, SELECT, HIDE, ADD, ADD_TWICE, FLIPPED, DATA, DATA_BIAS } mask_t;
typedef enum { NO_SCALE, AFTER, ON_Q, ON_BOTH, DIVIDED, NEGATIVE } scale_t;

typedef struct {
    const char *what;
    mask_t mask;
    scale_t scale;
    int64_t t, s, d, e, offset; /* causal: key j <= row + offset */
    dtype_t dtype;
    bool flat;      /* [n, t, d] operands; else [b, t, h, d], as models have them */
    bool inverse;   /* times the inverse of the sum */
    bool no_max;    /* nothing subtracted */
    bool value_lhs; /* v^T p^T */
    bool wide;      /* scores and softmax converted to f32 */
    bool wrong_max, wrong_sum, returns_p;
} spelling_t;

enum { B = 2, H = 3 };

static ir_val_t last_reduce(ir_fn_t *fn, op_code_t op, ir_val_t x)
{
    return ir_reduce(fn, op, x, (int64_t[]){ir_type_of(fn, x)->rank - 1}, 1);
}

static ir_val_t along(ir_fn_t *fn, ir_val_t row, ir_val_t like)
{
    ir_type_t type = *ir_type_of(fn, like);
    return ir_broadcast(fn, row, &type, (int64_t[]){0, 1, 2, 3});
}

static ir_val_t times(ir_fn_t *fn, ir_val_t x, double c)
{
    return ir_op2(fn, OP_multiply, x, ir_scalar_like(fn, x, c));
}

/* An operand [rows, width] per head as [n, rows, width] from parameter i. */
static ir_val_t operand(ir_fn_t *fn, int i, const spelling_t *p)
{
    ir_val_t x = ir_fn_param(fn, i);
    ir_type_t t = *ir_type_of(fn, x);
    if (p->flat) return x;
    ir_type_t three = ir_type(t.dtype, 3, (int64_t[]){B * H, t.dim[1], t.dim[3]});
    return ir_reshape(fn, ir_transpose(fn, x, (int64_t[]){0, 2, 1, 3}), &three);
}

static ir_val_t masked(ir_fn_t *fn, ir_val_t s, const spelling_t *p)
{
    ir_type_t type = *ir_type_of(fn, s), square = ir_type(DT_I32, 2, &type.dim[1]);
    ir_type_t bias = ir_type(type.dtype, 2, &type.dim[1]);
    int64_t dims[] = {1, 2};
    ir_val_t row = ir_iota(fn, &square, 0), column = ir_iota(fn, &square, 1);
    row = ir_op2(fn, OP_add, row, ir_scalar_like(fn, row, (double)p->offset));
    ir_val_t seen = ir_compare(fn, p->mask == FLIPPED ? "GE" : "LE", column, row);
    ir_val_t low = ir_splat(fn, &bias, -1e9), zero = ir_splat(fn, &bias, 0);
    switch (p->mask) {
    case ALL: return s;
    case SELECT:
    case FLIPPED:
        return ir_select(fn, ir_broadcast(fn, seen, &type, dims), s,
                         ir_scalar_like(fn, s, -INFINITY));
    case HIDE: {
        ir_val_t hidden = ir_compare(fn, "GT", ir_op2(fn, OP_subtract, column, row),
                                     ir_scalar_like(fn, row, 0));
        return ir_select(fn, ir_broadcast(fn, hidden, &type, dims), ir_scalar_like(fn, s, -1e9), s);
    }
    case ADD_TWICE: {
        ir_val_t far = ir_compare(fn, "LE", column, ir_scalar_like(fn, column, 1e6));
        s = ir_op2(fn, OP_add, s, ir_broadcast(fn, ir_select(fn, far, zero, low), &type, dims));
        return ir_op2(fn, OP_add, s, ir_broadcast(fn, ir_select(fn, seen, zero, low), &type, dims));
    }
    case ADD:
        return ir_op2(fn, OP_add, s, ir_broadcast(fn, ir_select(fn, seen, zero, low), &type, dims));
    default: break;
    }
    ir_val_t x = ir_fn_param(fn, 3); /* a mask or bias [t, s] that is data */
    if (p->mask == DATA_BIAS) return ir_op2(fn, OP_add, s, ir_broadcast(fn, x, &type, dims));
    ir_val_t some = ir_compare(fn, "GT", x, ir_scalar_like(fn, x, 0));
    return ir_select(fn, ir_broadcast(fn, some, &type, dims), s, ir_scalar_like(fn, s, -1e9));
}

static ir_val_t softmax(ir_fn_t *fn, ir_val_t s, const spelling_t *p)
{
    ir_val_t e = s;
    ir_val_t of = p->wrong_max ? times(fn, s, 2) : s;
    if (!p->no_max) e = ir_op2(fn, OP_subtract, s, along(fn, last_reduce(fn, OP_maximum, of), s));
    e = ir_op1(fn, OP_exponential, e);
    ir_val_t sum = last_reduce(fn, OP_add, p->wrong_sum ? times(fn, e, 2) : e);
    if (!p->inverse) return ir_op2(fn, OP_divide, e, along(fn, sum, e));
    ir_val_t one = ir_op2(fn, OP_divide, ir_scalar_like(fn, sum, 1), sum);
    return ir_op2(fn, OP_multiply, e, along(fn, one, e));
}

/* o as [n, t, e], or [b, t, h * e] of models. */
static int build_body(ir_fn_t *fn, const spelling_t *p, ir_val_t *results)
{
    double scale = 1 / sqrt((double)p->d);
    ir_dot_t qk = {1, 1, {0}, {0}, {2}, {2}}, pv = {1, 1, {0}, {0}, {2}, {1}};
    ir_dot_t vp = {1, 1, {0}, {0}, {1}, {2}};
    ir_val_t q = operand(fn, 0, p), k = operand(fn, 1, p), v = operand(fn, 2, p);
    if (p->scale == ON_Q) q = times(fn, q, scale);
    if (p->scale == ON_BOTH) q = times(fn, q, sqrt(scale)), k = times(fn, k, sqrt(scale));
    ir_val_t s = ir_dot(fn, q, k, &qk, DT_NONE);
    if (p->wide) s = ir_convert(fn, s, DT_F32);
    if (p->scale == AFTER) s = times(fn, s, scale);
    if (p->scale == NEGATIVE) s = times(fn, s, -scale);
    if (p->scale == DIVIDED) s = ir_op2(fn, OP_divide, s, ir_scalar_like(fn, s, 1 / scale));
    ir_val_t prob = ir_convert(fn, softmax(fn, masked(fn, s, p), p), p->dtype);
    ir_val_t o = p->value_lhs
                     ? ir_transpose(fn, ir_dot(fn, v, prob, &vp, DT_NONE), (int64_t[]){0, 2, 1})
                     : ir_dot(fn, prob, v, &pv, DT_NONE);
    if (!p->flat) {
        ir_type_t four = ir_type(p->dtype, 4, (int64_t[]){B, H, p->t, p->e});
        ir_type_t rows = ir_type(p->dtype, 3, (int64_t[]){B, p->t, H * p->e});
        o = ir_reshape(fn, ir_transpose(fn, ir_reshape(fn, o, &four), (int64_t[]){0, 2, 1, 3}),
                       &rows);
    }
    results[0] = o;
    results[1] = prob;
    return p->returns_p ? 2 : 1;
}

static ir_fn_t *build(ir_module_t *m, const char *name, const spelling_t *p)
{
    err_t err = {0};
    ir_type_t types[4];
    const int64_t rows[] = {p->t, p->s, p->s}, width[] = {p->d, p->d, p->e};
    for (int i = 0; i < 3; i++)
        types[i] = p->flat ? ir_type(p->dtype, 3, (int64_t[]){B * H, rows[i], width[i]})
                           : ir_type(p->dtype, 4, (int64_t[]){B, rows[i], H, width[i]});
    types[3] = ir_type(p->wide ? DT_F32 : p->dtype, 2, (int64_t[]){p->t, p->s});
    ir_fn_t *fn = ir_fn_new(m, name, 4, types);
    ir_val_t results[2];
    int n = build_body(fn, p, results);
    if (ir_fn_finish(fn, n, results, &err) < 0) fail_msg("%s: %s", p->what, err.text);
    return fn;
}

static const spelling_t spellings[] = {
    {"plain", ALL, NO_SCALE, 8, 8, 16, 16, 0, DT_F32, .flat = true},
    {"model", SELECT, AFTER, 32, 32, 16, 16, 0, DT_F32, .flat = false},
    {"mask that hides", HIDE, ON_Q, 20, 20, 8, 8, 0, DT_F32, .flat = false},
    {"mask added", ADD, ON_BOTH, 33, 33, 24, 24, 0, DT_F32, .flat = false},
    {"masks added", ADD_TWICE, DIVIDED, 16, 16, 32, 32, 0, DT_F32, .inverse = true},
    {"long", SELECT, AFTER, 150, 150, 40, 40, 0, DT_F32, .flat = false},
    {"keys before", SELECT, AFTER, 9, 70, 5, 3, 61, DT_F32, .flat = true},
    {"other widths", ALL, AFTER, 7, 130, 3, 17, 0, DT_F32, .value_lhs = true},
    {"no maximum", SELECT, AFTER, 12, 12, 4, 4, 0, DT_F32, .no_max = true},
    {"one row", ALL, AFTER, 1, 5, 16, 16, 0, DT_F32, .flat = false},
    {"bf16", SELECT, AFTER, 40, 40, 32, 32, 0, DT_BF16, .wide = true},
    {"f16, odd", HIDE, AFTER, 19, 19, 6, 6, 0, DT_F16, .wide = true, .inverse = true},
    {"wide heads", SELECT, AFTER, 70, 84, 128, 120, 14, DT_F32, .flat = false},
    {"chunks of keys", SELECT, AFTER, 70, 500, 200, 200, 430, DT_F32, .flat = true},
};
enum { N_SPELLING = sizeof spellings / sizeof spellings[0] };

static const spelling_t near_misses[] = {
    {"mask of what is to come", FLIPPED, AFTER, 8, 8, 16, 16, 0, DT_F32, .flat = false},
    {"mask from data", DATA, AFTER, 8, 8, 16, 16, 0, DT_F32, .flat = false},
    {"bias from data", DATA_BIAS, AFTER, 8, 8, 16, 16, 0, DT_F32, .flat = false},
    {"negative scale", ALL, NEGATIVE, 8, 8, 16, 16, 0, DT_F32, .flat = false},
    {"rows that see nothing", SELECT, AFTER, 8, 8, 16, 16, -3, DT_F32, .flat = false},
    {"probabilities returned", ALL, AFTER, 8, 8, 16, 16, 0, DT_F32, .returns_p = true},
    {"another sum", ALL, AFTER, 8, 8, 16, 16, 0, DT_F32, .wrong_sum = true},
    {"another maximum", ALL, AFTER, 8, 8, 16, 16, 0, DT_F32, .wrong_max = true},
    {"f64", SELECT, AFTER, 8, 8, 16, 16, 0, DT_F64, .flat = false},
};
enum { N_NEAR = sizeof near_misses / sizeof near_misses[0] };

static void check(int status, const char *what, const err_t *err)
{
    if (status < 0) fail_msg("%s: %s", what, err->text);
}

static int count_groups(const ir_fn_t *fn, const char *kind)
{
    int n = 0;
    for (int i = 0; i < fn->body->n_op; i++) n += fused_is(fn->body->op[i], kind);
    return n;
}

static ir_module_t *fused_module(const spelling_t *p)
{
    err_t err = {0};
    ir_module_t *m = ir_module_new();
    build(m, "main", p);
    check(passes_run(m, NULL, NULL, &err), p->what, &err);
    check(pass_fuse(m, &(pass_options_t){0}, &err), p->what, &err);
    check(passes_run(m, NULL, NULL, &err), p->what, &err);
    return m;
}

static void test_spellings_are_found(void **state)
{
    (void)state;
    for (int i = 0; i < N_SPELLING; i++) {
        ir_module_t *m = fused_module(&spellings[i]);
        if (count_groups(ir_module_find(m, "main"), FUSED_ATTENTION) != 1)
            fail_msg("%s: not found", spellings[i].what);
        ir_module_destroy(&m);
    }
}

static void test_near_misses_are_not(void **state)
{
    (void)state;
    for (int i = 0; i < N_NEAR; i++) {
        ir_module_t *m = fused_module(&near_misses[i]);
        if (count_groups(ir_module_find(m, "main"), FUSED_ATTENTION) != 0)
            fail_msg("%s: taken for attention", near_misses[i].what);
        ir_module_destroy(&m);
    }
}

/* --- Kernels ---------------------------------------------------------------------------------- */

/* Forward and gradient of spellings of one type in a module of their own, groups formed. */
static ir_module_t *both_ways(const spelling_t *list, int n, bool half, bool fuse)
{
    err_t err = {0};
    ir_module_t *m = ir_module_new();
    const bool wanted[4] = {true, true, true, false};
    for (int i = 0; i < n; i++) {
        char name[32];
        if ((list[i].dtype != DT_F32) != half) continue;
        snprintf(name, sizeof name, "f%d", i);
        build(m, name, &list[i]);
    }
    check(passes_run(m, NULL, NULL, &err), "passes", &err);
    if (fuse) check(pass_fuse(m, &(pass_options_t){0}, &err), "fuse", &err);
    for (int i = 0, n_fn = m->n_fn; i < n_fn; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s.back", m->fn[i]->name);
        if (!ad_vjp(m, m->fn[i], name, wanted, &err)) fail_msg("%s", err.text);
    }
    check(passes_run(m, NULL, NULL, &err), "passes", &err);
    return m;
}

static int count_text(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) n++;
    return n;
}

/* Groups of more columns than threads without number hold in registers. */
static int count_wider(int64_t columns)
{
    int n = 0;
    for (int i = 0; i < N_SPELLING; i++)
        n += spellings[i].dtype == DT_F32 && spellings[i].d > columns;
    return n;
}

/* Printed, read again, planned: every group is one step of its kind. */
static void test_groups_are_steps(void **state)
{
    (void)state;
    err_t err = {0};
    str_t text = {0};
    ir_module_t *m = both_ways(spellings, N_SPELLING, false, true);
    int n_forward = m->n_fn, n_back = m->n_fn / 2;
    ir_print_module(m, &text);
    char *plan = compile_emit(text.at, text.n, "test", STAGE_PLAN, NULL, target_host(), &err);
    if (!plan) fail_msg("%s", err.text);
    int wide = target_caps(target_host()).many ? count_wider(128) : 0;
    assert_int_equal(count_text(plan, "attention "), n_forward - 2 * wide);
    assert_int_equal(count_text(plan, "attention_gradient "), n_back - wide);
    free(plan);
    str_fini(&text);
    ir_module_destroy(&m);
}

static void test_kernels(void **state)
{
    (void)state;
    const plan_check_t f32 = {7, 1, 1, 2e-5, 1e-3}, half = {8, 1, 1, 1e-2, 1e-3};
    plan_check_module(both_ways(spellings, N_SPELLING, false, true), &f32);
    plan_check_module(both_ways(spellings, N_SPELLING, true, true), &half);
}

/* Operands rounded to bf16 where the definition says so; the kernel rounds probabilities before
 * they are divided by their sum, so that some differ by a rounding. Other targets stay with f32. */
static void test_pairs(void **state)
{
    (void)state;
    err_t err = {0};
    str_t text = {0};
    ir_module_t *m = both_ways(spellings, N_SPELLING, false, true);
    int n_group = m->n_fn + m->n_fn / 2;
    check(pass_precision(m, &(pass_options_t){PRECISION_BF16}, &err), "precision", &err);
    ir_print_module(m, &text);
    caps_t caps = target_caps(target_host());
    char *plan = compile_emit(text.at, text.n, "test", STAGE_PLAN, NULL, target_host(), &err);
    if (!plan) fail_msg("%s", err.text);
    int wide = caps.many ? 3 * count_wider(128) : 0;
    assert_int_equal(count_text(plan, "x6 bf16"), caps.bf16 ? n_group - wide : 0);
    free(plan);
    str_fini(&text);
    plan_check_module(m, &(plan_check_t){9, 1, 1, 1e-2, 1});
}

/* A group's gradient is that of what it stands for: interpreted, which leaves kernels aside. */
static void test_same_as_written_out(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *m[2] = {both_ways(spellings, N_SPELLING - 1, false, true),
                         both_ways(spellings, N_SPELLING - 1, false, false)};
    double worst = 0;
    for (int f = 0; f < m[0]->n_fn; f++) {
        const ir_fn_t *fn = m[0]->fn[f], *other = ir_module_find(m[1], fn->name);
        tensor_t in[5], out[2][4];
        int n_in = fn->body->n_arg, n_out = fn->body->n_result;
        for (int i = 0; i < n_in; i++) {
            in[i] = tensor_new(ir_type_of(fn, ir_fn_param(fn, i)));
            for (int64_t j = 0; j < ir_type_count(&in[i].type); j++)
                tensor_set_f64(&in[i], j, rng_uniform((uint64_t)(f * 8 + i), (uint64_t)j) * 2 - 1);
        }
        check(eval_fn(m[0], fn, in, out[0], NULL, &err), fn->name, &err);
        check(eval_fn(m[1], other, in, out[1], NULL, &err), fn->name, &err);
        for (int i = 0; i < n_out; i++)
            for (int64_t j = 0; j < ir_type_count(&out[0][i].type); j++)
                worst = fmax(worst,
                             fabs(tensor_get_f64(&out[0][i], j) - tensor_get_f64(&out[1][i], j)));
        for (int i = 0; i < n_in; i++) tensor_fini(&in[i]);
        for (int i = 0; i < n_out; i++) tensor_fini(&out[0][i]), tensor_fini(&out[1][i]);
    }
    print_message("largest deviation %.2g\n", worst);
    assert_true(worst < 2e-5); /* values up to about 3 in f32 */
    ir_module_destroy(&m[0]);
    ir_module_destroy(&m[1]);
}

/* --- Detours ---------------------------------------------------------------------------------- */

/* torch's variance of rows of %x, %u being x - mean in f64 (or, %square, something else). */
static const char variance[] =
    "func.func @main(%%x: tensor<6x40x%s>, %%w: tensor<6x40xf64>) -> tensor<6x40xf32> {\n"
    "  %%zero = stablehlo.constant dense<0.0> : tensor<f64>\n"
    "  %%n = stablehlo.constant dense<40.0> : tensor<6x1xf64>\n"
    "  %%a = stablehlo.convert %%x : (tensor<6x40x%s>) -> tensor<6x40xf64>\n"
    "  %%s = stablehlo.reduce(%%a init: %%zero) applies stablehlo.add across dimensions = [1]\n"
    "      : (tensor<6x40xf64>, tensor<f64>) -> tensor<6xf64>\n"
    "  %%t = stablehlo.reshape %%s : (tensor<6xf64>) -> tensor<6x1xf64>\n"
    "  %%m = stablehlo.divide %%t, %%n : tensor<6x1xf64>\n"
    "  %%b = stablehlo.broadcast_in_dim %%m, dims = [0, 1] : (tensor<6x1xf64>) -> "
    "tensor<6x40xf64>\n"
    "  %%u = stablehlo.subtract %%a, %%b : tensor<6x40xf64>\n"
    "  %%q = stablehlo.multiply %%u, %s : tensor<6x40xf64>\n"
    "  %%v = stablehlo.reduce(%%q init: %%zero) applies stablehlo.add across dimensions = [1]\n"
    "      : (tensor<6x40xf64>, tensor<f64>) -> tensor<6xf64>\n"
    "  %%r = stablehlo.reshape %%v : (tensor<6xf64>) -> tensor<6x1xf64>\n"
    "  %%d = stablehlo.divide %%r, %%n : tensor<6x1xf64>\n"
    "  %%c = stablehlo.convert %%d : (tensor<6x1xf64>) -> tensor<6x1xf32>\n"
    "  %%y = stablehlo.broadcast_in_dim %%c, dims = [0, 1] : (tensor<6x1xf32>) -> "
    "tensor<6x40xf32>\n"
    "  return %%y : tensor<6x40xf32>\n}\n";

static int count_f64(const ir_fn_t *fn)
{
    int n = 0;
    for (int i = 0; i < fn->body->n_op; i++)
        n += ir_type_of(fn, fn->body->op[i]->out)->dtype == DT_F64;
    return n;
}

static void test_variance(void **state)
{
    static const struct {
        const char *dtype, *times;
        bool narrowed;
    } cases[] = {{"f32", "%u", true},
                 {"bf16", "%u", true},
                 {"f64", "%u", false},
                 {"f32", "%w", false},
                 {"f32", "%a", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2400];
        err_t err = {0};
        snprintf(text, sizeof text, variance, cases[i].dtype, cases[i].dtype, cases[i].times);
        ir_module_t *m = parse_stablehlo(text, strlen(text), "test", &err);
        if (!m) fail_msg("%s", err.text);
        check(passes_run(m, NULL, NULL, &err), "passes", &err);
        check(pass_fuse(m, &(pass_options_t){0}, &err), "fuse", &err);
        check(passes_run(m, NULL, NULL, &err), "passes", &err);
        if ((count_f64(ir_module_find(m, "main")) == 0) != cases[i].narrowed)
            fail_msg("case %zu: %d ops in f64", i, count_f64(ir_module_find(m, "main")));
        ir_module_destroy(&m);
        if (i < 2) plan_check_text(text, 40 + i, 1, 1e-5);
    }
}

/* --- Derivatives by differences, in f64 ------------------------------------------------------- */

enum { N = 2, T = 3, S = 4, D = 2, E = 3 };

static ir_val_t weighted(ir_fn_t *fn, ir_val_t x, uint64_t seed)
{
    const ir_type_t type = *ir_type_of(fn, x);
    tensor_t w = tensor_in(fn->module->arena, &type);
    for (int64_t i = 0; i < ir_type_count(&type); i++)
        tensor_set_f64(&w, i, rng_uniform(seed, (uint64_t)i) * 2 - 1);
    return ir_reduce_all(fn, OP_add, ir_op2(fn, OP_multiply, x, ir_const(fn, &w)));
}

/* <w, o>, and <u, lse> where it is read as well. */
static ir_fn_t *loss_of_group(ir_module_t *m, bool reads_lse)
{
    err_t err = {0};
    const fused_attention_t how = {.scale = 0.7, .causal = true, .offset = 1};
    ir_type_t types[3] = {ir_type(DT_F64, 3, (int64_t[]){N, T, D}),
                          ir_type(DT_F64, 3, (int64_t[]){N, S, D}),
                          ir_type(DT_F64, 3, (int64_t[]){N, S, E})};
    ir_fn_t *fn = ir_fn_new(m, "loss", 3, types);
    const ir_op_t *op = fused_attention(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1),
                                        ir_fn_param(fn, 2), &how);
    assert_non_null(op);
    ir_val_t loss = weighted(fn, op->out, 11);
    if (reads_lse) loss = ir_op2(fn, OP_add, loss, weighted(fn, op->out + 1, 12));
    check(ir_fn_finish(fn, 1, &loss, &err), "loss", &err);
    return fn;
}

/* A function of fn's parameters: the weighted sum of fn's results behind the first. */
static ir_fn_t *sum_of_gradients(ir_module_t *m, const ir_fn_t *fn)
{
    err_t err = {0};
    ir_type_t types[3];
    ir_val_t in[3];
    for (int i = 0; i < 3; i++) types[i] = *ir_type_of(fn, ir_fn_param(fn, i));
    ir_fn_t *to = ir_fn_new(m, "sum", 3, types);
    for (int i = 0; i < 3; i++) in[i] = ir_fn_param(to, i);
    ir_val_t first = ir_call(to, fn, in), sum = IR_NONE;
    for (int i = 1; i < fn->body->n_result; i++) {
        ir_val_t one = weighted(to, first + (ir_val_t)i, 20 + (uint64_t)i);
        sum = sum == IR_NONE ? one : ir_op2(to, OP_add, sum, one);
    }
    check(ir_fn_finish(to, 1, &sum, &err), "sum", &err);
    check(pass_inline(m, &(pass_options_t){0}, &err), "inline", &err);
    return ir_module_find(m, "sum");
}

static double value_of(const ir_module_t *m, const ir_fn_t *fn, const tensor_t *in)
{
    err_t err = {0};
    tensor_t out[4];
    check(eval_fn(m, fn, in, out, NULL, &err), fn->name, &err);
    double y = tensor_get_f64(&out[0], 0);
    for (int i = 0; i < fn->body->n_result; i++) tensor_fini(&out[i]);
    return y;
}

/* fn's gradient against central differences: h = 1e-5 is good to about 1e-9. */
static void check_gradient(ir_module_t *m, const ir_fn_t *fn)
{
    err_t err = {0};
    const bool wanted[3] = {true, true, true};
    char name[32];
    snprintf(name, sizeof name, "%s.gradient", fn->name);
    const ir_fn_t *back = ad_gradient(m, fn, name, wanted, &err);
    if (!back) fail_msg("%s", err.text);
    tensor_t in[3], out[4];
    for (int i = 0; i < 3; i++) {
        in[i] = tensor_new(ir_type_of(fn, ir_fn_param(fn, i)));
        for (int64_t j = 0; j < ir_type_count(&in[i].type); j++)
            tensor_set_f64(&in[i], j, rng_uniform(30 + (uint64_t)i, (uint64_t)j) * 2 - 1);
    }
    check(eval_fn(m, back, in, out, NULL, &err), name, &err);
    double worst = 0;
    for (int i = 0; i < 3; i++)
        for (int64_t j = 0; j < ir_type_count(&in[i].type); j++) {
            double x = tensor_get_f64(&in[i], j), h = 1e-5;
            tensor_set_f64(&in[i], j, x + h);
            double above = value_of(m, fn, in);
            tensor_set_f64(&in[i], j, x - h);
            double below = value_of(m, fn, in);
            tensor_set_f64(&in[i], j, x);
            worst = fmax(worst, fabs((above - below) / (2 * h) - tensor_get_f64(&out[1 + i], j)));
        }
    for (int i = 0; i < 3; i++) tensor_fini(&in[i]);
    for (int i = 0; i < 4; i++) tensor_fini(&out[i]);
    print_message("%s: %.2g\n", fn->name, worst);
    assert_true(worst < 1e-7);
}

static void test_derivatives(void **state)
{
    (void)state;
    for (int reads_lse = 0; reads_lse < 2; reads_lse++) {
        err_t err = {0};
        const bool wanted[3] = {true, true, true};
        ir_module_t *m = ir_module_new();
        const ir_fn_t *loss = loss_of_group(m, reads_lse);
        const ir_fn_t *back = ad_gradient(m, loss, "back", wanted, &err);
        assert_non_null(back);
        assert_int_equal(count_groups(back, FUSED_ATTENTION_GRADIENT), !reads_lse);
        check_gradient(m, loss);
        check_gradient(m, sum_of_gradients(m, back));
        ir_module_destroy(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings_are_found),
        cmocka_unit_test(test_near_misses_are_not),
        cmocka_unit_test(test_groups_are_steps),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_same_as_written_out),
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
