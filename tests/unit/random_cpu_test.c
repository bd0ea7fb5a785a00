/* Random programs (random_mix.h) by the interpreter and as compiled plans. Integers, booleans and
 * floats that no plan may round otherwise agree to the bit; other floats within MANY roundings of
 * the narrowest type on their way, relative to the largest value (at least 1). A result that is
 * further off counts as well when the interpreter's own moves as far once the inputs do by a few
 * roundings: then the program amplifies. PCP_PROGRAMS=FIRST:COUNT chooses the seeds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ir/print.h"
#include "ops/eval.h"
#include "random_loops.h"
#include "random_mix.h"
#include "random_program.h"
#include "refused.h"
#include "runtime/exec.h"
#include "temp.h"

enum {
    BATCH = 50,
    MANY = 1024,
    MANY_HALF = 8,
    AMPLIFIED = 16,
    SHOWN = 12,
    N_NUDGE = 3,
    MAX_RESULT = 16,
    WIDE_OPS = 30
};

typedef enum { MIXED, WIDE, LOOPS } family_t;

typedef struct {
    family_t family; /* random_mix, random_wide_exact (over all element types), random_loops */
    int n_program, n_result, n_exact, n_amplified, n_failed, n_gradient, n_refused;
    double worst; /* deviation by tolerance, of what was not amplified */
} tally_t;

/* One function's inputs, and results of the interpreter. */
typedef struct {
    const ir_module_t *module;
    const ir_fn_t *fn;
    uint64_t seed;
    tensor_t *in, out[MAX_RESULT];
} program_t;

static void fill(tensor_t *t, uint64_t seed)
{
    int64_t n = ir_type_count(&t->type);
    for (int64_t i = 0; i < n; i++) {
        double u = rng_uniform(seed, (uint64_t)i);
        if (dtype_is_float(t->type.dtype))
            tensor_set_f64(t, i, 4 * u - 2);
        else
            tensor_set_i64(t, i, t->type.dtype == DT_I1 ? u < 0.5 : (int64_t)(9 * u));
    }
}

static void evaluate(const program_t *p, tensor_t *out)
{
    err_t err = {0};
    if (eval_fn(p->module, p->fn, p->in, out, NULL, &err) < 0)
        fail_msg("seed %llu: %s", (unsigned long long)p->seed, err.text);
}

static void program_init(program_t *p, const ir_module_t *module, uint64_t seed, family_t family)
{
    bool wide = family == WIDE;
    char name[32];
    snprintf(name, sizeof name, "p%llu", (unsigned long long)seed);
    *p = (program_t){.module = module, .fn = ir_module_find(module, name), .seed = seed};
    int n = p->fn->body->n_arg;
    assert_in_range(p->fn->body->n_result, 1, MAX_RESULT);
    p->in = wide ? random_inputs(p->fn, seed) : mem_calloc((size_t)n + 1, sizeof *p->in);
    for (int i = 0; !wide && i < n; i++) {
        p->in[i] = tensor_new(ir_type_of(p->fn, ir_fn_param(p->fn, i)));
        fill(&p->in[i], rng_derive(seed, "input") + (uint64_t)i);
    }
    evaluate(p, p->out);
}

static void program_fini(program_t *p)
{
    for (int i = 0; i < p->fn->body->n_arg; i++) tensor_fini(&p->in[i]);
    for (int i = 0; i < p->fn->body->n_result; i++) tensor_fini(&p->out[i]);
    free(p->in);
}

/* The largest difference, relative to max(1, the largest value); infinite where one is not finite
 * and the other is something else. */
static double deviation(const tensor_t *want, const tensor_t *got)
{
    double largest = 1, worst = 0;
    int64_t n = ir_type_count(&want->type);
    for (int64_t i = 0; i < n; i++) {
        double a = tensor_get_f64(want, i), b = tensor_get_f64(got, i);
        if (a == b || (isnan(a) && isnan(b))) continue;
        if (!isfinite(a) || !isfinite(b)) return INFINITY;
        largest = fmax(largest, fabs(a));
        worst = fmax(worst, fabs(a - b));
    }
    return worst / largest;
}

/* How far result r of the interpreter goes when float inputs move by a few roundings. */
static double own_change(const program_t *p, int r, double roundoff)
{
    double worst = 0;
    int n = p->fn->body->n_arg;
    program_t other = *p;
    other.in = mem_calloc((size_t)n + 1, sizeof *other.in);
    for (uint64_t k = 0; k < N_NUDGE; k++) {
        for (int i = 0; i < n; i++) {
            other.in[i] = tensor_new(&p->in[i].type);
            int64_t count = ir_type_count(&p->in[i].type);
            memcpy(other.in[i].data, p->in[i].data, (size_t)ir_type_bytes(&p->in[i].type));
            for (int64_t e = 0; dtype_is_float(p->in[i].type.dtype) && e < count; e++) {
                double u = 4 * rng_uniform(k * 100 + (uint64_t)i, (uint64_t)e) - 2;
                tensor_set_f64(&other.in[i], e, tensor_get_f64(&p->in[i], e) * (1 + u * roundoff));
            }
        }
        evaluate(&other, other.out);
        worst = fmax(worst, deviation(&p->out[r], &other.out[r]));
        for (int i = 0; i < p->fn->body->n_result; i++) tensor_fini(&other.out[i]);
        for (int i = 0; i < n; i++) tensor_fini(&other.in[i]);
    }
    free(other.in);
    return worst;
}

static void report(const program_t *p, int r, double found, double tolerance, tally_t *tally)
{
    if (tally->n_failed++ >= SHOWN) return;
    fprintf(stderr, "seed %llu, result %d: off by %g, tolerated %g\n", (unsigned long long)p->seed,
            r, found, tolerance);
    if (!getenv("PCP_PROGRAMS")) return;
    err_t err = {0};
    str_t text = {0};
    ir_module_t *one = ir_module_new();
    if (ir_clone_fn(one, p->fn, NULL, NULL, &err)) ir_print_module(one, &text);
    fprintf(stderr, "%s\n", str_text(&text));
    str_fini(&text);
    ir_module_destroy(&one);
}

static void compare_result(const program_t *p, int r, const tensor_t *got, tally_t *tally)
{
    double roundoff = tally->family == WIDE ? 0 : random_mix_roundoff(p->fn, r);
    double found = tally->family == WIDE ? tensors_deviation(&p->out[r], got, 1)
                                         : deviation(&p->out[r], got);
    double tolerance = roundoff * (roundoff > ldexp(1, -24) ? MANY_HALF : MANY);
    tally->n_result++;
    tally->n_exact += roundoff == 0;
    if (roundoff == 0) {
        if (!tensor_equal(&p->out[r], got) && !(dtype_is_inexact(got->type.dtype) && found == 0))
            report(p, r, found, 0, tally);
    } else if (found <= tolerance) {
        tally->worst = fmax(tally->worst, found / tolerance);
    } else if (found <= AMPLIFIED * own_change(p, r, roundoff)) {
        tally->n_amplified++;
    } else {
        report(p, r, found, tolerance, tally);
    }
}

static void write_input(const program_t *p, const plan_t *plan, exec_t *exec, int i)
{
    char name[64];
    err_t err = {0};
    snprintf(name, sizeof name, "%s.arg%d", p->fn->name, i);
    int slot = plan_find_tensor(plan, ROLE_BATCH, name);
    if (slot < 0) fail_msg("the plan has no tensor for %s", name);
    if (exec_write(exec, slot, p->in[i].data, (size_t)ir_type_bytes(&p->in[i].type), &err) < 0)
        fail_msg("%s", err.text);
}

static void run_program(const program_t *p, const plan_t *plan, exec_t *exec, tally_t *tally)
{
    char name[64];
    err_t err = {0};
    for (int i = 0; i < p->fn->body->n_arg; i++) write_input(p, plan, exec, i);
    if (exec_run(exec, p->fn->name, &err) < 0) fail_msg("%s: %s", p->fn->name, err.text);
    for (int r = 0; r < p->fn->body->n_result; r++) {
        tensor_t got = tensor_new(&p->out[r].type);
        snprintf(name, sizeof name, "%s.result%d", p->fn->name, r);
        int slot = plan_find_tensor(plan, ROLE_RESULT, name);
        if (slot < 0) fail_msg("the plan has no tensor for %s", name);
        if (exec_read(exec, slot, got.data, (size_t)ir_type_bytes(&got.type), &err) < 0)
            fail_msg("%s", err.text);
        compare_result(p, r, &got, tally);
        tensor_fini(&got);
    }
    tally->n_program++;
    tally->n_gradient += ir_fn_param(p->fn, 0) == 0 && p->fn->body->n_result > 4;
}

/* Programs [first, first + n) as functions of one module and one plan: false if it has none. */
static bool run_batch(uint64_t first, int n, tally_t *tally)
{
    err_t err = {0};
    ir_module_t *module = ir_module_new();
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "p%llu", (unsigned long long)first + (unsigned long long)i);
        uint64_t seed = first + (uint64_t)i;
        ir_fn_t *fn = tally->family == WIDE    ? random_wide_exact(module, name, seed, WIDE_OPS)
                      : tally->family == LOOPS ? random_loops(module, name, seed)
                                               : random_mix(module, name, seed);
        if (!fn) fail_msg("%s", name);
    }
    if (ir_verify(module, &err) < 0) fail_msg("%s", err.text);
    ir_module_t *copy = ir_module_clone(module, &err);
    if (copy && first / BATCH % 2 ==
                    1) /* products of more than 96 bytes by parts (plan/schedule/parts.h) */
        attr_set_int(copy->arena, &copy->attrs, "pcp.part_bytes", 64);
    plan_t *plan = copy ? compile_module(copy, "", NULL, target_host(), &err) : NULL;
    const exec_options_t options = {.threads = 2};
    exec_t *exec = plan ? exec_new(plan, &options, &err) : NULL;
    for (int i = 0; exec && i < n; i++) {
        program_t p;
        program_init(&p, module, first + (uint64_t)i, tally->family);
        run_program(&p, plan, exec, tally);
        program_fini(&p);
    }
    bool done = exec != NULL, refused = !done && n == 1 && refused_by_name(&err);
    tally->n_refused += refused;
    if (!done && n == 1) fprintf(stderr, "seed %llu: %s\n", (unsigned long long)first, err.text);
    exec_destroy(&exec);
    plan_destroy(&plan);
    ir_module_destroy(&copy);
    ir_module_destroy(&module);
    return done || refused;
}

/* The compiler without optimization, at a quarter of the cost: what is compared is mostly our own.
 */
static void use_plain_compiler(const char *dir)
{
    static const char text[] = "#!/bin/sh\nexec cc \"$@\" -O0\n";
    const char *path = temp_path(dir, "cc");
    temp_write(path, text, sizeof text - 1);
    assert_int_equal(chmod(path, 0700), 0);
    setenv("PCP_CC", path, 1);
}

/* Some by default; PCP_PROGRAMS=0:10000: more, and all as plans are compiled. */
static void run_programs(uint64_t count, tally_t *tally)
{
    uint64_t first = 0;
    bool plain = !getenv("PCP_PROGRAMS") && !getenv("PCP_CC");
    char *dir = temp_dir();
    random_range(&first, &count);
    for (uint64_t at = 0; at < count; at += BATCH) {
        if (plain && at == BATCH) use_plain_compiler(dir);
        int n = count - at < BATCH ? (int)(count - at) : BATCH;
        if (run_batch(first + at, n, tally)) continue;
        for (int i = 0; i < n; i++) /* which one was it? */
            tally->n_failed += !run_batch(first + at + (uint64_t)i, 1, tally);
    }
    if (tally->n_refused > 0) print_message("%d refused by name\n", tally->n_refused);
    if (plain) unsetenv("PCP_CC");
    temp_remove(&dir);
}

static void test_random_programs(void **state)
{
    tally_t tally = {0};
    (void)state;
    run_programs(150, &tally);
    print_message(
        "%d programs (%d gradients), %d results: %d to the bit, the others within %.2g of "
        "their tolerance, %d that amplify, %d wrong\n",
        tally.n_program, tally.n_gradient, tally.n_result, tally.n_exact, tally.worst,
        tally.n_amplified, tally.n_failed);
    assert_int_equal(tally.n_failed, 0);
    assert_true(tally.n_amplified * 50 <= tally.n_result);
}

static void test_all_types(void **state)
{
    tally_t tally = {.family = WIDE};
    (void)state;
    run_programs(60, &tally);
    print_message("%d programs, %d results to the bit, %d wrong\n", tally.n_program, tally.n_result,
                  tally.n_failed);
    assert_int_equal(tally.n_failed, 0);
}

static void test_loops(void **state)
{
    tally_t tally = {.family = LOOPS};
    (void)state;
    run_programs(200, &tally);
    print_message(
        "%d programs of loops, %d results: %d to the bit, the others within %.2g of their "
        "tolerance, %d that amplify, %d wrong\n",
        tally.n_program, tally.n_result, tally.n_exact, tally.worst, tally.n_amplified,
        tally.n_failed);
    assert_int_equal(tally.n_failed, 0);
    assert_true(tally.n_amplified * 50 <= tally.n_result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs),
                                       cmocka_unit_test(test_all_types),
                                       cmocka_unit_test(test_loops)};
    if (getenv("PCP_TEST")) cmocka_set_test_filter(getenv("PCP_TEST")); /* one alone: a pattern */
    return cmocka_run_group_tests_name("random_cpu", tests, NULL, NULL);
}
