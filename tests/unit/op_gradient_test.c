/* Every reverse rule against central differences in f64: L = sum_j <w_j, result_j> with random w.
 * Relative error 1e-6 of the largest gradient: with h = 1e-5 the differences are good to about
 * 1e-9. Ops come from the op table; a rule that neither a case nor the skip list names fails the
 * test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gradient_cases.h"

/* Rules that this test cannot reach, and what tests them instead. */
static const struct {
    op_code_t op;
    const char *why;
} skipped[] = {
    {OP_reduce_precision, "piecewise constant; its rule is straight rounding, tested by hand"},
    {OP_if, "needs the reverse walk for its regions: control_vjp_test"},
    {OP_case, "needs the reverse walk for its regions: control_vjp_test"},
    {OP_while, "needs the reverse walk for its regions: control_vjp_test"},
    {OP_cholesky, "needs a definite operand: linalg_test"},
    {OP_pcp_fused, "needs the reverse walk for its region: fuse_test"},
};

static void test_cases_map(void **state)
{
    (void)state;
    for (int i = 0; i < n_gradient_cases_map; i++)
        gradient_check(&gradient_cases_map[i], 100u + (uint64_t)i);
}

static void test_cases_structure(void **state)
{
    (void)state;
    for (int i = 0; i < n_gradient_cases_structure; i++)
        gradient_check(&gradient_cases_structure[i], 200u + (uint64_t)i);
}

static void test_cases_index(void **state)
{
    (void)state;
    for (int i = 0; i < n_gradient_cases_index; i++)
        gradient_check(&gradient_cases_index[i], 300u + (uint64_t)i);
}

/* Float maps without attributes: operands of one type, drawn from the table's range. */
static bool is_plain(const op_def_t *def)
{
    return def->kind == K_MAP && def->expr && def->n_in >= 1 && def->n_in <= 2 && def->vjp &&
           def->vjp != vjp_none;
}

/* Does the op take operands of that type? */
static bool takes(op_code_t code, int n_in, const ir_type_t in_type[])
{
    ir_module_t *module = ir_module_new();
    ir_fn_t *fn = ir_fn_new(module, "main", n_in, in_type);
    ir_val_t in[2] = {ir_fn_param(fn, 0), n_in > 1 ? ir_fn_param(fn, 1) : IR_NONE};
    bool fits = ir_emit(fn, code, n_in, in, NULL, 1, NULL, 0, NULL) != NULL;
    ir_module_destroy(&module);
    return fits;
}

/* All of them, or those that take the type; how many. */
static int check_plain_ops(const char *what, ir_type_t type, bool all)
{
    int n = 0;
    for (op_code_t code = OP_invalid + 1; code < OP_COUNT; code++) {
        const op_def_t *def = op_def(code);
        if (!is_plain(def)) continue;
        gradient_case_t spec = {.op = code, .what = what, .lo = def->test_lo, .hi = def->test_hi};
        for (int i = 0; i < def->n_in; i++) spec.in[i] = type;
        if (!all && !takes(code, def->n_in, spec.in)) continue;
        gradient_check(&spec, code);
        n++;
    }
    return n;
}

static void test_plain_ops(void **state)
{
    (void)state;
    assert_true(check_plain_ops("plain", (ir_type_t)F64(3, 4), true) >= 35);
}

/* The case on complex operands; false where its builder makes real numbers of its own. */
static bool complex_twin(const gradient_case_t *from, gradient_case_t *to)
{
    int n = 0;
    *to = *from;
    to->what = "complex";
    for (; n < GRADIENT_MAX_IN && to->in[n].dtype != DT_NONE; n++)
        if (to->in[n].dtype == DT_F64) to->in[n].dtype = DT_C128;
    ir_module_t *module = ir_module_new();
    ir_fn_t *fn = ir_fn_new(module, "main", n, to->in);
    if (to->build) to->build(fn);
    bool takes = to->build && !fn->err.code;
    if (takes) takes = dtype_is_complex(ir_type_of(fn, fn->n_value - 1)->dtype);
    ir_module_destroy(&module);
    return takes;
}

static int check_twins(const gradient_case_t *cases, int n_case, uint64_t seed)
{
    int n = 0;
    for (int i = 0; i < n_case; i++) {
        gradient_case_t twin;
        if (!complex_twin(&cases[i], &twin)) continue;
        gradient_check(&twin, seed + (uint64_t)i);
        n++;
    }
    return n;
}

static void test_complex_twins(void **state)
{
    (void)state;
    int n = check_twins(gradient_cases_structure, n_gradient_cases_structure, 500);
    n += check_twins(gradient_cases_index, n_gradient_cases_index, 600);
    print_message("%d cases\n", n);
    assert_true(n >= 30);
}

/* The same maps where they take complex numbers. */
static void test_plain_complex_ops(void **state)
{
    (void)state;
    assert_true(check_plain_ops("complex", (ir_type_t)C128(3, 4), false) >= 30);
}

static void test_cases_complex(void **state)
{
    (void)state;
    for (int i = 0; i < n_gradient_cases_complex; i++)
        gradient_check(&gradient_cases_complex[i], 400u + (uint64_t)i);
}

static bool has_case(op_code_t code, const gradient_case_t *cases, int n)
{
    for (int i = 0; i < n; i++)
        if (cases[i].op == code) return true;
    return false;
}

static void test_every_rule_is_covered(void **state)
{
    (void)state;
    int n_missing = 0;
    for (op_code_t code = OP_invalid + 1; code < OP_COUNT; code++) {
        const op_def_t *def = op_def(code);
        if (!def->vjp || def->vjp == vjp_none || is_plain(def)) continue;
        if (def->expand) continue; /* others define it, whose rules are covered: expand_test */
        bool covered = has_case(code, gradient_cases_map, n_gradient_cases_map) ||
                       has_case(code, gradient_cases_structure, n_gradient_cases_structure) ||
                       has_case(code, gradient_cases_index, n_gradient_cases_index) ||
                       has_case(code, gradient_cases_complex, n_gradient_cases_complex);
        for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++)
            covered = covered || skipped[i].op == code;
        if (!covered) print_error("no gradient case for %s\n", def->name);
        n_missing += !covered;
    }
    assert_int_equal(n_missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_ops),     cmocka_unit_test(test_plain_complex_ops),
        cmocka_unit_test(test_cases_complex), cmocka_unit_test(test_complex_twins),
        cmocka_unit_test(test_cases_map),     cmocka_unit_test(test_cases_structure),
        cmocka_unit_test(test_cases_index),   cmocka_unit_test(test_every_rule_is_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
