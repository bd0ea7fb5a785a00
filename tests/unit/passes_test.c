/* Passes: golden texts before and after, random programs evaluated before and after, and what texts
 * cannot show (errors, scopes of regions, time). */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "random_program.h"

static int count_ops(const ir_region_t *region, op_code_t code)
{
    int n = 0;
    for (int i = 0; i < region->n_op; i++) {
        n += code == OP_invalid || region->op[i]->code == code;
        for (int r = 0; r < region->op[i]->n_region; r++)
            n += count_ops(region->op[i]->region[r], code);
    }
    return n;
}

static void check(int status, const err_t *err)
{
    if (status < 0) fail_msg("%s", err->text);
}

/* --- golden texts: tests/golden/passes/<pass>+<pass>/<case>.mlir --- */

static void run_passes(ir_module_t *m, const char *names, const char *path)
{
    char list[128], *save = NULL;
    err_t err = {0};
    snprintf(list, sizeof list, "%s", names);
    for (char *name = strtok_r(list, "+", &save); name; name = strtok_r(NULL, "+", &save))
        if (passes_run_one(m, name, &err) < 0) fail_msg("%s: %s", path, err.text);
}

static void golden_file(const char *passes, const char *path)
{
    err_t err = {0};
    size_t n;
    char *text = file_read(path, &n, &err);
    if (!text) fail_msg("%s", err.text);
    parse_sections_t s = parse_sections(text, n);
    str_t printed[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        if (!parse_sections_next(&s)) fail_msg("%s: two sections are needed", path);
        ir_module_t *m = parse_section(s.at, s.n, path, s.line, &err);
        if (!m) fail_msg("%s", err.text);
        if (i == 0) run_passes(m, passes, path);
        ir_print_module(m, &printed[i]);
        ir_module_destroy(&m);
    }
    if (strcmp(str_text(&printed[0]), str_text(&printed[1])) != 0)
        fail_msg("%s: got\n%s\nexpected\n%s", path, str_text(&printed[0]), str_text(&printed[1]));
    str_fini(&printed[0]);
    str_fini(&printed[1]);
    free(text);
}

static int golden_folder(const char *passes)
{
    char folder[256], path[600];
    snprintf(folder, sizeof folder, "tests/golden/passes/%s", passes);
    DIR *dir = opendir(folder);
    int n = 0;
    if (!dir) return 0; /* a file beside the folders */
    for (struct dirent *e; (e = readdir(dir));) {
        if (!str_ends(e->d_name, ".mlir")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        golden_file(passes, path);
        n++;
    }
    closedir(dir);
    return n;
}

static void test_golden_texts(void **state)
{
    (void)state;
    DIR *dir = opendir("tests/golden/passes");
    if (!dir) fail_msg("tests/golden/passes is missing: run from the root of the repository");
    int n = 0;
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') n += golden_folder(e->d_name);
    closedir(dir);
    print_message("%d golden files\n", n);
    assert_true(n >= 15);
}

/* --- random programs: a pass changes no result --- */

static tensor_t *run(const ir_module_t *m, const tensor_t *in)
{
    err_t err = {0};
    const ir_fn_t *fn = ir_module_find(m, "main");
    tensor_t *out = mem_calloc((size_t)fn->body->n_result, sizeof *out);
    check(eval_fn(m, fn, in, out, NULL, &err), &err);
    return out;
}

/* power(x, 3) and power(x, -0.5) round differently from x*x*x and rsqrt(x) by an ulp or two of f32
 * (2^-23 each, amplified by the sums and products behind); f16 and bf16 values that follow may then
 * fall to the other side of a rounding boundary, 2^-8 of bf16. */
static const double TOLERANCE = 1.0 / 128;

typedef ir_module_t *program_fn(uint64_t seed, int n_op);

/* How far a pass (NULL: all of them) moves the results of the program of this seed. */
static double change_by(program_fn *make, uint64_t seed, const char *pass)
{
    err_t err = {0};
    ir_module_t *m = make(seed, 25);
    assert_non_null(m);
    check(ir_verify(m, &err), &err);
    const ir_fn_t *fn = ir_module_find(m, "main");
    int n = fn->body->n_result, n_in = fn->body->n_arg;
    tensor_t *in = random_inputs(fn, seed), *before = run(m, in);
    check(pass ? passes_run_one(m, pass, &err) : passes_run(m, NULL, NULL, &err), &err);
    tensor_t *after = run(m, in);
    double d = tensors_deviation(before, after, n);
    tensors_free(&in, n_in);
    tensors_free(&before, n);
    tensors_free(&after, n);
    ir_module_destroy(&m);
    return d;
}

static void random_programs(program_fn *make, double tolerance, const char *pass)
{
    uint64_t first = 0, count = 2000, n_exact = 0; /* PCP_PROGRAMS=0:10000 runs more */
    double worst = 0;
    random_range(&first, &count);
    for (uint64_t seed = first; seed < first + count; seed++) {
        double d = change_by(make, seed, pass);
        if (!(d <= tolerance)) fail_msg("seed %d: results deviate by %g", (int)seed, d);
        worst = fmax(worst, d);
        n_exact += d == 0;
    }
    print_message("%s: %d of %d programs bit-equal, largest deviation %.3g\n",
                  pass ? pass : "pipeline", (int)n_exact, (int)count, worst);
    assert_true(n_exact > count / 2);
}

static void test_random_each_pass(void **state)
{
    (void)state;
    const pass_t *pass;
    for (int i = 0; (pass = pass_row(i)); i++)
        if (pass->when == PASS_OPEN || pass->when == PASS_CLEAN)
            random_programs(random_program, TOLERANCE, pass->name);
}

static void test_random_pipeline(void **state)
{
    (void)state;
    random_programs(random_program, TOLERANCE, NULL);
}

/* Programs of every op and element type have no power of a constant, so that nothing may change. */
static void test_wide_programs(void **state)
{
    (void)state;
    random_programs(random_program_wide, 0, NULL);
}

/* Every map that needs no attributes, every static view, and what folds and contracts. */
static void test_wide_programs_cover_the_table(void **state)
{
    (void)state;
    bool seen[OP_COUNT] = {false};
    for (uint64_t seed = 0; seed < 400; seed++) {
        ir_module_t *m = random_program_wide(seed, 40);
        assert_non_null(m);
        const ir_region_t *body = ir_module_find(m, "main")->body;
        for (int i = 0; i < body->n_op; i++) seen[body->op[i]->code] = true;
        ir_module_destroy(&m);
    }
    int n = 0, n_missing = 0;
    for (op_code_t code = OP_invalid + 1; code < OP_COUNT; code++) {
        const op_def_t *def = op_def(code);
        bool wanted = (def->kind == K_MAP && def->expr && def->n_in <= 3) ||
                      (def->kind == K_VIEW && strncmp(def->name, "stablehlo.dynamic", 17) != 0 &&
                       def->n_region == 0 && code != OP_get_dimension_size) ||
                      code == OP_reduce || code == OP_dot_general || code == OP_dynamic_slice ||
                      code == OP_dynamic_update_slice;
        n += wanted;
        n_missing += wanted && !seen[code];
        if (wanted && !seen[code]) print_error("no program has %s\n", def->name);
    }
    print_message("%d ops\n", n);
    assert_int_equal(n_missing, 0);
}

/* --- what texts cannot show --- */

static ir_fn_t *simple_fn(ir_module_t *m, const char *name, ir_val_t *x)
{
    ir_type_t type = ir_type(DT_F32, 1, (int64_t[]){4});
    ir_fn_t *fn = ir_fn_new(m, name, 1, &type);
    *x = ir_fn_param(fn, 0);
    return fn;
}

static void test_recursion_is_refused(void **state)
{
    (void)state;
    ir_module_t *m = ir_module_new();
    ir_val_t x;
    ir_fn_t *fn = simple_fn(m, "main", &x);
    fn->body->n_result = 1; /* so that the call of itself has a type */
    fn->body->result = &x;
    ir_val_t y = ir_call(fn, fn, &x);
    err_t err = {0};
    check(ir_fn_finish(fn, 1, &y, &err), &err);
    assert_int_equal(passes_run(m, NULL, NULL, &err), -1);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "recursive"));
    assert_non_null(strstr(err.text, "pass inline"));
    ir_module_destroy(&m);
}

static void test_unknown_pass_is_refused(void **state)
{
    (void)state;
    ir_module_t *m = ir_module_new();
    err_t err = {0};
    assert_int_equal(passes_run_one(m, "licm", &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    assert_non_null(strstr(err.text, "inline, draw, expand, fold, simplify, cse, dce"));
    ir_module_destroy(&m);
}

/* A value made in one branch must not stand for an equal one in the other branch or after it; a
 * value from before may stand for both. */
static void test_cse_respects_regions(void **state)
{
    (void)state;
    ir_module_t *m = ir_module_new();
    ir_val_t x;
    ir_fn_t *fn = simple_fn(m, "main", &x);
    ir_type_t type = *ir_type_of(fn, x);
    ir_val_t before = ir_op1(fn, OP_negate, x);
    ir_val_t pred = ir_scalar(fn, DT_I1, 1);
    ir_region_t *saved, *region[2];
    for (int r = 0; r < 2; r++) {
        region[r] = ir_region_begin(fn, 0, NULL, &saved);
        ir_val_t y = ir_op2(fn, OP_add, ir_op1(fn, OP_negate, x), ir_op1(fn, OP_abs, x));
        ir_region_end(fn, region[r], 1, &y, saved);
    }
    ir_val_t chosen = ir_emit(fn, OP_if, 1, &pred, NULL, 1, &type, 2, region)->out;
    ir_val_t results[2] = {ir_op2(fn, OP_add, before, ir_op1(fn, OP_abs, x)), chosen};
    err_t err = {0};
    check(ir_fn_finish(fn, 2, results, &err), &err);
    check(passes_run_one(m, "cse", &err), &err);
    assert_int_equal(count_ops(fn->body, OP_negate), 1);
    assert_int_equal(count_ops(fn->body, OP_abs), 3);
    ir_module_destroy(&m);
}

static ir_val_t sum_of(ir_fn_t *fn, ir_val_t x)
{
    return ir_reduce_all(fn, OP_add, x);
}

static void test_cse_merges_equal_regions(void **state)
{
    (void)state;
    ir_module_t *m = ir_module_new();
    ir_val_t x;
    ir_fn_t *fn = simple_fn(m, "main", &x);
    ir_val_t results[3] = {sum_of(fn, x), sum_of(fn, x), ir_reduce_all(fn, OP_maximum, x)};
    err_t err = {0};
    check(ir_fn_finish(fn, 3, results, &err), &err);
    check(passes_run_one(m, "cse", &err), &err);
    assert_int_equal(count_ops(fn->body, OP_reduce), 2);
    assert_true(fn->body->result[0] == fn->body->result[1]);
    ir_module_destroy(&m);
}

typedef struct {
    char text[512];
} trace_t;

static void trace_hook(void *user, const char *pass, const ir_module_t *module)
{
    trace_t *trace = user;
    assert_non_null(module);
    size_t n = strlen(trace->text);
    snprintf(trace->text + n, sizeof trace->text - n, "%s ", pass);
}

static void test_hook_sees_passes_in_order(void **state)
{
    (void)state;
    ir_module_t *m = ir_module_new();
    ir_val_t x;
    ir_fn_t *fn = simple_fn(m, "main", &x);
    err_t err = {0};
    check(ir_fn_finish(fn, 1, &x, &err), &err);
    trace_t trace = {""};
    check(passes_run(m, trace_hook, &trace, &err), &err);
    assert_string_equal(trace.text, "inline draw expand fold simplify cse dce ");
    ir_module_destroy(&m);
}

/* A fold must not write out what a splat says in one element, nor allocate it. */
static void test_fold_keeps_huge_splats(void **state)
{
    (void)state;
    ir_module_t *m = ir_module_new();
    ir_type_t huge = ir_type(DT_F32, 2, (int64_t[]){1 << 24, 1 << 24});
    ir_fn_t *fn = ir_fn_new(m, "main", 0, NULL);
    ir_val_t three = ir_op2(fn, OP_add, ir_splat(fn, &huge, 1), ir_splat(fn, &huge, 2));
    int64_t perm[2] = {1, 0};
    ir_val_t y = ir_transpose(fn, three, perm);
    err_t err = {0};
    check(ir_fn_finish(fn, 1, &y, &err), &err);
    check(passes_run(m, NULL, NULL, &err), &err);
    fn = ir_module_find(m, "main");
    const tensor_t *c = ir_const_of(fn, fn->body->result[0]);
    assert_non_null(c);
    assert_true(c->splat);
    assert_true(tensor_get_f64(c, 0) == 3);
    ir_module_destroy(&m);
}

/* Linear time: twice the ops take about twice the time; the bound is loose (shared machines). */
static double pipeline_seconds(int n_op)
{
    ir_module_t *m = ir_module_new();
    ir_val_t x;
    ir_fn_t *fn = simple_fn(m, "main", &x);
    for (int i = 0; i < n_op / 2; i++) {
        ir_val_t y = ir_op2(fn, OP_add, x, ir_scalar_like(fn, x, i % 7));
        x = ir_op2(fn, i % 3 ? OP_multiply : OP_subtract, y, x);
    }
    err_t err = {0};
    check(ir_fn_finish(fn, 1, &x, &err), &err);
    struct timespec a, b;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    check(passes_run(m, NULL, NULL, &err), &err);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    ir_module_destroy(&m);
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

static void test_time_is_linear(void **state)
{
    (void)state;
    double small = pipeline_seconds(5000), large = pipeline_seconds(40000);
    print_message("pipeline: 5,000 ops %.1f ms, 40,000 ops %.1f ms\n", 1e3 * small, 1e3 * large);
    assert_true(large < 40 * small + 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_texts),
        cmocka_unit_test(test_random_each_pass),
        cmocka_unit_test(test_random_pipeline),
        cmocka_unit_test(test_wide_programs),
        cmocka_unit_test(test_wide_programs_cover_the_table),
        cmocka_unit_test(test_recursion_is_refused),
        cmocka_unit_test(test_unknown_pass_is_refused),
        cmocka_unit_test(test_cse_respects_regions),
        cmocka_unit_test(test_cse_merges_equal_regions),
        cmocka_unit_test(test_hook_sees_passes_in_order),
        cmocka_unit_test(test_fold_keeps_huge_splats),
        cmocka_unit_test(test_time_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
