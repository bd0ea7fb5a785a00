/* Every map of the op table, reductions and products on floats of a byte and less: compiled plans
 * against the interpreter, within one rounding of the type. Each type runs every eighth op, each op
 * runs on every eighth type; with PCP_NARROW=all everything runs (a minute). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/build.h"
#include "ir/build_index.h"
#include "plan_help.h"

enum { N = 40 };

/* The op on operands of one type, when the type rule and the table allow it. */
static bool add_map(ir_module_t *m, op_code_t code, dtype_t dtype)
{
    const op_def_t *def = op_def(code);
    if (def->kind != K_MAP || !def->expr || def->n_in < 1 || def->n_in > 3) return false;
    err_t err = {0};
    ir_type_t types[3], out = {.dtype = DT_NONE};
    char name[32];
    for (int i = 0; i < 3; i++) types[i] = ir_type(dtype, 1, (int64_t[]){N});
    snprintf(name, sizeof name, "f%d", (int)code);
    ir_val_t in[3] = {0, 1, 2};
    ir_module_t *trial = ir_module_new();
    ir_fn_t *fn = ir_fn_new(trial, name, def->n_in, types);
    for (int i = 0; i < def->n_in; i++) in[i] = ir_fn_param(fn, i);
    ir_op_t op = {.code = code, .n_in = def->n_in, .n_out = 1, .in = in};
    bool fits = def->infer(fn, &op, &out, &err) == 0;
    ir_module_destroy(&trial);
    if (!fits) return false;
    fn = ir_fn_new(m, name, def->n_in, types);
    for (int i = 0; i < def->n_in; i++) in[i] = ir_fn_param(fn, i);
    ir_op_t *made = ir_emit(fn, code, def->n_in, in, NULL, 1, NULL, 0, NULL);
    assert_non_null(made);
    ir_val_t y = made->out;
    if (ir_fn_finish(fn, 1, &y, &err) < 0) fail_msg("%s", err.text);
    return true;
}

static void add_folds(ir_module_t *m, dtype_t dtype)
{
    static const op_code_t codes[] = {OP_add, OP_multiply, OP_maximum, OP_minimum};
    ir_type_t type = ir_type(dtype, 2, (int64_t[]){6, 8});
    err_t err = {0};
    ir_val_t out[6];
    ir_fn_t *fn = ir_fn_new(m, "folds", 2, (ir_type_t[]){type, type});
    ir_val_t x = ir_fn_param(fn, 0), y = ir_fn_param(fn, 1);
    for (int i = 0; i < 4; i++) out[i] = ir_reduce(fn, codes[i], x, (int64_t[]){i % 2}, 1);
    out[4] = ir_matmul(fn, x, ir_transpose(fn, y, (int64_t[]){1, 0}));
    out[5] = ir_convert(fn, ir_iota(fn, &type, 1), DT_F32);
    if (ir_fn_finish(fn, 6, out, &err) < 0) fail_msg("%s", err.text);
}

static void check_type(dtype_t dtype)
{
    ir_module_t *m = ir_module_new();
    const char *which = getenv("PCP_NARROW");
    int n_map = 0, step = which && strcmp(which, "all") == 0 ? 1 : 8;
    for (op_code_t code = OP_invalid + 1; code < OP_COUNT; code++)
        if (((int)code + (int)dtype) % step == 0) n_map += add_map(m, code, dtype);
    add_folds(m, dtype);
    print_message("%s: %d maps\n", dtype_name(dtype), n_map);
    assert_true(n_map >= 80 / step - 6);
    const plan_check_t how = {.seed = 11,
                              .int_top = 100,
                              .scale = 2,
                              .tolerance = ldexp(1, -dtype_format(dtype)->man_bits),
                              .least = 1};
    plan_check_module(m, &how);
}

static void test_small(void **state)
{
    (void)state;
    for (dtype_t dtype = DT_NONE + 1; dtype < DT_COUNT; dtype++)
        if (dtype_is_small(dtype)) check_type(dtype);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
