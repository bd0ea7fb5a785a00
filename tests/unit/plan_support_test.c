/* The table of supported ops: docs/ops.md is fresh, and its cpu column is what the plan compiler
 * does. The programs are the forward functions of the gradient cases and, for ops without a case,
 * the op on operands of plain types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "compile/op_table.h"
#include "gradient_cases.h"
#include "plan/build.h"

static void test_page_is_fresh(void **state)
{
    (void)state;
    size_t n;
    err_t err = {0};
    str_t want = {0};
    op_table_print(&want);
    char *have = file_read("docs/ops.md", &n, &err);
    if (!have) fail_msg("%s", err.text);
    if (n != want.n || memcmp(have, want.at, n) != 0)
        fail_msg("docs/ops.md is stale: write it anew with `build/bin/pcp ops > docs/ops.md`");
    free(have);
    str_fini(&want);
}

typedef struct {
    int n, n_planned;
    err_t why; /* of the last refusal */
} tally_t;

static void try_plan(ir_module_t *module, ir_fn_t *fn, tally_t *tally)
{
    err_t err = {0};
    const ir_op_t *op = fn->body->op[fn->body->n_op - 1];
    ir_val_t out[8];
    assert_true(op->n_out <= 8);
    for (int i = 0; i < op->n_out; i++) out[i] = op->out + (ir_val_t)i;
    if (ir_fn_finish(fn, op->n_out, out, &err) < 0) fail_msg("%s", err.text);
    for (int i = 0; i < op->n_out; i++)
        if (ir_type_count(ir_type_of(fn, out[i])) == 0) return; /* refused for its own reason */
    plan_build_t *build = plan_build_new(module, NULL);
    tally->n++;
    if (plan_build_program(build, fn, &err) == 0)
        tally->n_planned++;
    else
        tally->why = err;
    plan_build_destroy(&build);
}

static void try_cases(const gradient_case_t *cases, int n_case, tally_t *tally)
{
    for (int c = 0; c < n_case; c++) {
        const gradient_case_t *spec = &cases[c];
        int n = 0;
        while (n < GRADIENT_MAX_IN && spec->in[n].dtype != DT_NONE) n++;
        ir_module_t *module = ir_module_new();
        ir_fn_t *fn = ir_fn_new(module, "main", n, spec->in);
        ir_val_t in[GRADIENT_MAX_IN];
        for (int i = 0; i < n; i++) in[i] = ir_fn_param(fn, i);
        if (spec->build)
            spec->build(fn);
        else
            ir_emit(fn, spec->op, n, in, NULL, 1, NULL, 0, NULL);
        if (fn->err.code) fail_msg("%s: %s", op_def(spec->op)->name, fn->err.text);
        try_plan(module, fn, &tally[spec->op]);
        ir_module_destroy(&module);
    }
}

/* Maps that need no attributes, on the first of these types that they take. */
static void try_plain(op_code_t code, tally_t *tally)
{
    static const dtype_t dtypes[] = {DT_F32, DT_I32, DT_I1};
    const op_def_t *def = op_def(code);
    bool is_barrier = code == OP_optimization_barrier; /* of any number: here one */
    int n = is_barrier ? 1 : def->n_in;
    if (!is_barrier && (def->kind != K_MAP || !def->expr || n < 1 || n > 3)) return;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        ir_type_t types[3];
        for (int i = 0; i < 3; i++) types[i] = ir_type(dtypes[d], 2, (int64_t[]){3, 4});
        ir_module_t *module = ir_module_new();
        ir_fn_t *fn = ir_fn_new(module, "main", n, types);
        ir_val_t in[3];
        for (int i = 0; i < n; i++) in[i] = ir_fn_param(fn, i);
        bool takes = ir_emit(fn, code, n, in, NULL, 1, NULL, 0, NULL) != NULL;
        if (takes) try_plan(module, fn, &tally[code]);
        ir_module_destroy(&module);
        if (takes) return;
    }
}

static void test_cpu_column(void **state)
{
    (void)state;
    tally_t *tally = calloc(OP_COUNT, sizeof *tally);
    int n_tried = 0, n_wrong = 0;
    try_cases(gradient_cases_map, n_gradient_cases_map, tally);
    try_cases(gradient_cases_structure, n_gradient_cases_structure, tally);
    try_cases(gradient_cases_index, n_gradient_cases_index, tally);
    for (op_code_t code = OP_invalid + 1; code < OP_COUNT; code++) try_plain(code, tally);
    for (op_code_t code = OP_invalid + 1; code < OP_COUNT; code++) {
        const tally_t *t = &tally[code];
        if (t->n == 0) continue;
        plan_op_t seen = t->n_planned == t->n ? PLAN_OP_ALL
                         : t->n_planned > 0   ? PLAN_OP_SOME
                                              : PLAN_OP_NONE;
        n_tried++;
        if (seen == plan_op_support(code)) continue;
        n_wrong++;
        print_error("%s: %d of %d programs planned, but plan/lower/support.c says %d (%s)\n",
                    op_def(code)->name, t->n_planned, t->n, plan_op_support(code), t->why.text);
    }
    print_message("%d ops tried\n", n_tried);
    assert_true(n_tried >= 70);
    assert_int_equal(n_wrong, 0);
    free(tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_is_fresh),
        cmocka_unit_test(test_cpu_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
