/* StableHLO's public test vectors (../shared/conformance/list.txt): every file's checks hold, and
 * fail once one expected value is changed. Skipped where the files are absent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"
#include "ops/check_expect.h"
#include "ops/common.h"
#include "parse/parse.h"

/* Change the first element of the first constant that @expected holds, so much that no tolerance
 * covers it. False if there is none. */
static bool spoil(ir_module_t *module)
{
    const ir_fn_t *fn = ir_module_find(module, "expected");
    for (int k = 0; fn && k < fn->body->n_op; k++) {
        const ir_attr_t *value = attr_find(&fn->body->op[k]->attrs, "value");
        if (fn->body->op[k]->code != OP_constant || ir_type_count(&value->tensor->type) == 0)
            continue;
        tensor_t *t = (tensor_t *)value->tensor; /* the module is ours alone */
        if (dtype_is_float(t->type.dtype))
            tensor_set_f64(t, 0, tensor_get_f64(t, 0) == 125 ? 3 : 125);
        else
            tensor_set_i64(t, 0, tensor_get_i64(t, 0) == 1 ? 0 : 1);
        return true;
    }
    return false;
}

/* 0 held, 1 mismatch, -1 not parsed or not run, 2 nothing to spoil. */
static int check_file(const char *path, bool spoiled, err_t *err)
{
    ir_module_t *module = parse_stablehlo_file(path, err);
    if (!module) return -1;
    int rc = spoiled && !spoil(module) ? 2 : check_module(module, err);
    ir_module_destroy(&module);
    return rc;
}

static void run_all(bool spoiled, int want)
{
    int n, n_good = 0, n_left_out = 0;
    char **files = corpus_shared_list("data/stablehlo/stablehlo/testdata", ".mlir", &n);
    for (int i = 0; i < n; i++) {
        err_t err = {0};
        int rc = check_file(files[i], spoiled, &err);
        n_good += rc == want;
        n_left_out += rc == 2;
        if (rc != want && rc != 2) print_error("%s: %d: %s\n", files[i], rc, err.text);
    }
    corpus_free(files);
    print_message("%d of %d files, %d without a value to change\n", n_good, n, n_left_out);
    assert_int_equal(n_good + n_left_out, n);
    assert_true(n_left_out <= n / 100);
}

static void test_checks_hold(void **state)
{
    (void)state;
    run_all(false, 0);
}

static void test_spoiled_checks_fail(void **state)
{
    (void)state;
    run_all(true, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checks_hold),
        cmocka_unit_test(test_spoiled_checks_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
