/* Attention over what is kept of texts, as a group: against sums in f64 in every form that a kernel has, against the
 * interpreter, and to the bit for any number of threads and whatever texts stand beside one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/mem.h"
#include "base/rng.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ir/build.h"
#include "ir/build_index.h"
#include "ops/fused.h"
#include "runtime/exec.h"

enum { LENGTH = 9 }; /* positions that are kept and that a program does not look at */

/* g rows of q for each of `heads` heads of `texts` texts; s positions of d and e numbers. */
typedef struct {
    int64_t texts, heads, g, s, d, e;
    bool half;
} case_t;

/* Heads of whole blocks of vectors and of parts of them, shared keys, few and many positions. */
static const case_t cases[] = {
    {3, 2, 1, 40, 64, 64, true},   {1, 2, 1, 40, 64, 64, true},  {3, 2, 1, 40, 64, 64, false},
    {4, 3, 3, 130, 16, 16, true},  {1, 3, 3, 130, 16, 16, true}, {2, 1, 4, 33, 6, 10, true},
    {5, 4, 2, 17, 80, 48, true},   {2, 2, 5, 1, 7, 3, true},     {2, 3, 1, 257, 128, 96, true},
    {2, 2, 3, 65, 20, 36, false},  {1, 1, 1, 2, 1, 1, true},     {1, 1, 8, 300, 33, 31, true},
    {16, 12, 1, 70, 64, 64, true},
};
enum { N_CASE = sizeof cases / sizeof *cases };

/* What a text has depends on its number from the end, so that one alone is the last of several. */
static float number(int what, const case_t *c, int64_t text, int64_t i)
{
    float x = (float)rng_normal((uint64_t)what, (uint64_t)((c->texts - text) * 100000 + i));
    return what == 1 ? 2 * x : half_from_bf16(half_to_bf16(x));
}

/* The last one alone has all positions; the one before stands beyond them, then 0, 1, ... from the first on. */
static int32_t position(const case_t *c, int64_t text)
{
    if (text == c->texts - 1) return (int32_t)c->s - 1;
    if (text == c->texts - 2) return (int32_t)c->s + 3;
    return (int32_t)(text * 7 % c->s);
}

/* --- the module --- */

static ir_val_t first_positions(ir_fn_t *fn, ir_val_t kept, int64_t s)
{
    const int64_t zero[4] = {0}, perm[] = {0, 2, 1, 3};
    ir_type_t t = *ir_type_of(fn, kept);
    const int64_t size[] = {t.dim[0], s, t.dim[2], t.dim[3]};
    ir_type_t to = ir_type(t.dtype, 3, (int64_t[]){t.dim[0] * t.dim[2], s, t.dim[3]});
    return ir_reshape(fn, ir_transpose(fn, ir_slice(fn, kept, zero, size, NULL), perm), &to);
}

static void add_case(ir_module_t *module, int i)
{
    const case_t *c = &cases[i];
    dtype_t kept = c->half ? DT_BF16 : DT_F32;
    err_t err = {0};
    char name[16];
    snprintf(name, sizeof name, "f%d", i);
    const int64_t n = c->texts * c->heads, length = c->s + LENGTH;
    ir_type_t types[] = {ir_type(DT_F32, 3, (int64_t[]){n, c->g, c->d}),
                         ir_type(kept, 4, (int64_t[]){c->texts, length, c->heads, c->d}),
                         ir_type(kept, 4, (int64_t[]){c->texts, length, c->heads, c->e}),
                         ir_type(DT_I32, 1, &c->texts)};
    ir_fn_t *fn = ir_fn_new(module, name, 4, types);
    ir_val_t k = first_positions(fn, ir_fn_param(fn, 1), c->s);
    ir_val_t v = first_positions(fn, ir_fn_param(fn, 2), c->s);
    const ir_op_t *o = fused_kept_attention(fn, ir_fn_param(fn, 0), k, v, ir_fn_param(fn, 3),
                                            1 / sqrt((double)c->d));
    assert_non_null(o);
    ir_val_t out = o->out;
    assert_int_equal(ir_fn_finish(fn, 1, &out, &err), 0);
}

static plan_t *make_plan(const char *target)
{
    err_t err = {0};
    ir_module_t *module = ir_module_new();
    for (int i = 0; i < N_CASE; i++) add_case(module, i);
    plan_t *plan = compile_module(module, "test", NULL, target, &err);
    if (!plan) fail_msg("%s", err.text);
    ir_module_destroy(&module);
    return plan;
}

static int count_kept(const plan_t *plan)
{
    int n = 0;
    for (int p = 0; p < plan->n_program; p++)
        for (int i = 0; i < plan->program[p].n_step; i++)
            n += strncmp(plan->program[p].step[i].label, FUSED_KEPT_ATTENTION,
                         strlen(FUSED_KEPT_ATTENTION)) == 0;
    return n;
}

/* --- inputs --- */

static void write_floats(exec_t *exec, const plan_t *plan, int i, int arg, int64_t each)
{
    const case_t *c = &cases[i];
    const bool half = arg > 0 && c->half;
    char name[32];
    err_t err = {0};
    size_t n = (size_t)(c->texts * each);
    float *x = mem_calloc(n, sizeof *x);
    uint16_t *h = mem_calloc(n, sizeof *h);
    for (size_t k = 0; k < n; k++) {
        x[k] = number(arg + 1, c, (int64_t)k / each, (int64_t)k % each);
        h[k] = half_to_bf16(x[k]);
    }
    snprintf(name, sizeof name, "f%d.arg%d", i, arg);
    assert_int_equal(exec_write(exec, plan_find_tensor(plan, ROLE_BATCH, name),
                                half ? (void *)h : (void *)x, n * (half ? 2 : 4), &err),
                     0);
    free(x);
    free(h);
}

static void run_case(exec_t *exec, const plan_t *plan, int i, float *y)
{
    const case_t *c = &cases[i];
    const int64_t length = c->s + LENGTH;
    int32_t at[32];
    char name[32];
    err_t err = {0};
    write_floats(exec, plan, i, 0, c->heads * c->g * c->d);
    write_floats(exec, plan, i, 1, length * c->heads * c->d);
    write_floats(exec, plan, i, 2, length * c->heads * c->e);
    for (int64_t t = 0; t < c->texts; t++) at[t] = position(c, t);
    snprintf(name, sizeof name, "f%d.arg3", i);
    assert_int_equal(
        exec_write(exec, plan_find_tensor(plan, ROLE_BATCH, name), at, (size_t)c->texts * 4, &err),
        0);
    snprintf(name, sizeof name, "f%d", i);
    assert_int_equal(exec_run(exec, name, &err), 0);
    snprintf(name, sizeof name, "f%d.result0", i);
    assert_int_equal(exec_read(exec, plan_find_tensor(plan, ROLE_RESULT, name), y,
                               (size_t)(c->texts * c->heads * c->g * c->e) * 4, &err),
                     0);
}

/* --- the same in f64 --- */

/* Row i of head h of a text: out[e]. */
static void attend(const case_t *c, int64_t text, int64_t h, int64_t i, double *out)
{
    double p[512], most = -INFINITY, sum = 0;
    int32_t at = position(c, text);
    const int64_t n = at < c->s ? at + 1 : 1;
    for (int64_t j = 0; j < n; j++) {
        p[j] = 0;
        for (int64_t x = 0; x < c->d; x++)
            p[j] += (double)number(1, c, text, (h * c->g + i) * c->d + x) *
                    number(2, c, text, (j * c->heads + h) * c->d + x);
        p[j] /= sqrt((double)c->d);
        most = fmax(most, p[j]);
    }
    for (int64_t j = 0; j < n; j++) sum += p[j] = exp(p[j] - most);
    for (int64_t x = 0; x < c->e; x++) {
        out[x] = 0;
        for (int64_t j = 0; j < n; j++)
            out[x] += p[j] / sum * number(3, c, text, (j * c->heads + h) * c->e + x);
    }
}

static double worst(const case_t *c, const float *y)
{
    double most = 0, out[128];
    for (int64_t row = 0; row < c->texts * c->heads * c->g; row++) {
        attend(c, row / (c->heads * c->g), row / c->g % c->heads, row % c->g, out);
        for (int64_t x = 0; x < c->e; x++) most = fmax(most, fabs(y[row * c->e + x] - out[x]));
    }
    return most;
}

enum { MOST = 1 << 15 };

static void check_target(const char *target, bool kernel)
{
    err_t err = {0};
    static float y[MOST], again[MOST];
    double most = 0;
    plan_t *plan = make_plan(target);
    assert_int_equal(count_kept(plan), kernel ? N_CASE : 0);
    exec_t *one = exec_new(plan, &(exec_options_t){.threads = 1}, &err);
    exec_t *more = exec_new(plan, &(exec_options_t){.threads = 3}, &err);
    assert_non_null(one);
    assert_non_null(more);
    for (int i = 0; i < N_CASE; i++) {
        const case_t *c = &cases[i];
        int64_t each = c->heads * c->g * c->e;
        run_case(one, plan, i, y);
        most = fmax(most, worst(c, y));
        run_case(more, plan, i, again);
        assert_memory_equal(y, again, (size_t)(c->texts * each) * 4);
        if (!kernel || c->texts > 1 || i == 0 || cases[i - 1].d != c->d) continue;
        /* The last text of the case before, alone. */
        run_case(one, plan, i - 1, again);
        assert_memory_equal(y, again + (cases[i - 1].texts - 1) * each, (size_t)each * 4);
    }
    print_message("%s: off by %.3g at most\n", target, most);
    assert_true(
        most <
        1e-5); /* of numbers of the order of 1; scores up to 8 are off by 2^-21, and e^x with them */
    exec_destroy(&one);
    exec_destroy(&more);
    plan_destroy(&plan);
}

/* Vectors of 16, 8 and 4 where this machine has them, and ops where a target has no kernel. */
static void test_kernel(void **state)
{
    (void)state;
    const char *const targets[] = {target_host(), "cpu:x86-64-v4", "cpu:x86-64-v3", "cpu:x86-64"};
    for (int i = 0; i < 4; i++)
        if (target_runs_here(targets[i], NULL) == 0)
            check_target(targets[i], target_caps(targets[i]).stream);
    if (target_runs_here("c:scalar", NULL) == 0) check_target("c:scalar", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
