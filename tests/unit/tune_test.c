/* Measured tables: text and back, lookups, damage; the same table gives the same plan, another one
 * another; choices that no target has are taken as none; what was measured is not measured again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "runtime/exec.h"
#include "temp.h"
#include "tools/tuning.h"

static const char text[] =
    "func.func @main(%a: tensor<24x40xf32>, %b: tensor<40x33xf32>, %c: tensor<33x40xf32>)\n"
    "    -> (tensor<24x33xf32>, tensor<24x40xf32>) {\n"
    "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]\n"
    "      : (tensor<24x40xf32>, tensor<40x33xf32>) -> tensor<24x33xf32>\n"
    "  %1 = stablehlo.dot_general %0, %c, contracting_dims = [1] x [0]\n"
    "      : (tensor<24x33xf32>, tensor<33x40xf32>) -> tensor<24x40xf32>\n"
    "  return %0, %1 : tensor<24x33xf32>, tensor<24x40xf32>\n}\n";

static plan_gemm_step_t *products(int *n)
{
    err_t err = {0};
    plan_gemm_step_t *p = compile_products(text, strlen(text), "t", NULL, target_host(), n, &err);
    if (!p) fail_msg("%s", err.text);
    return p;
}

static void test_text(void **state)
{
    int n = 0;
    err_t err = {0};
    plan_gemm_step_t *p = products(&n);
    tune_t *table = tune_new();
    tile_choice_t choice = {.rows = 3, .cols = 16, .sum_block = 128, .parts = 8};
    char a[HASH_HEX], b[HASH_HEX];
    (void)state;
    assert_int_equal(n, 2);
    assert_false(tune_find(table, &p[0], &choice));
    tune_set(table, &p[1], &choice);
    tune_set(table, &p[0], &(tile_choice_t){.library = true});
    assert_int_equal(tune_count(table), 2);
    str_t out = {0};
    tune_print(table, &out);
    tune_t *again = tune_parse(str_text(&out), &err);
    assert_non_null(again);
    assert_true(tune_find(again, &p[0], &choice) && choice.library);
    assert_true(tune_find(again, &p[1], &choice) && !choice.library);
    assert_int_equal(choice.rows, 3);
    assert_int_equal(choice.cols, 16);
    assert_int_equal(choice.sum_block, 128);
    assert_int_equal(choice.parts, 8);
    tune_hash(table, a);
    tune_hash(again, b);
    assert_string_equal(a, b);
    tune_set(again, &p[0], &choice);
    tune_hash(again, b);
    assert_string_not_equal(a, b);
    tune_hash(NULL, a);
    assert_string_equal(a, "");
    str_fini(&out);
    tune_destroy(&table);
    tune_destroy(&again);
    free(p);
}

static void test_damaged(void **state)
{
    static const char *const bad[] = {
        "nonsense",           "f32 nn : ",         "f32 nn : 1 2 3",
        "f32 nn : 1 2 3 4 5", "f32 nn : -1 2 3 4", "f32 nn : Library"};
    err_t err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_null(tune_parse(bad[i], &err));
        assert_int_equal(err.code, ERR_PARSE);
        assert_non_null(strstr(err.text, "line 1"));
    }
    tune_t *table = tune_parse("# a comment\n\n", &err);
    assert_non_null(table);
    assert_int_equal(tune_count(table), 0);
    tune_destroy(&table);
}

static uint8_t *compile(const tune_t *table, size_t *n)
{
    err_t err = {0};
    uint8_t *bytes = compile_text_tuned(text, strlen(text), "t", NULL, target_host(), table, n,
                                        &err);
    if (!bytes) fail_msg("%s", err.text);
    return bytes;
}

/* Both products of the plan, run: the sum of all results. */
static double run(const uint8_t *bytes, size_t n)
{
    err_t err = {0};
    float x[40 * 33], y[24 * 40];
    plan_t *plan = plan_unpack(bytes, n, &err);
    exec_t *exec = plan ? exec_new(plan, &(exec_options_t){.threads = 2}, &err) : NULL;
    if (!exec) fail_msg("%s", err.text);
    double sum = 0;
    for (int i = 0; i < 40 * 33; i++) x[i] = (float)(i % 7) - 3;
    for (int i = 0; i < plan->n_tensor; i++)
        if (plan->tensor[i].role == ROLE_BATCH)
            assert_int_equal(exec_write(exec, i, x, (size_t)plan->tensor[i].n_bytes, NULL), 0);
    assert_int_equal(exec_run(exec, "main", NULL), 0);
    for (int i = 0; i < plan->n_tensor; i++) {
        if (plan->tensor[i].role != ROLE_RESULT) continue;
        assert_int_equal(exec_read(exec, i, y, (size_t)plan->tensor[i].n_bytes, NULL), 0);
        for (size_t k = 0; k < plan->tensor[i].n_bytes / 4; k++)
            sum += (double)y[k] * (double)(k % 5);
    }
    exec_destroy(&exec);
    plan_destroy(&plan);
    return sum;
}

static void test_plans(void **state)
{
    /* the library; tiles that fit; tiles and blocks that no target has */
    static const tile_choice_t choices[] = {
        {true, 0, 0, 0, 0}, {false, 2, 32, 16, 4}, {false, 99, 7, 100000, 3}};
    int n_product = 0;
    size_t n[2], n_plain;
    plan_gemm_step_t *p = products(&n_product);
    uint8_t *plain = compile(NULL, &n_plain);
    double want = run(plain, n_plain); /* small whole numbers: exact in any order */
    (void)state;
    for (int c = 0; c < 3; c++) {
        tune_t *table = tune_new();
        for (int i = 0; i < n_product; i++) tune_set(table, &p[i], &choices[c]);
        uint8_t *plan[2] = {compile(table, &n[0]), compile(table, &n[1])};
        assert_int_equal(n[0], n[1]);
        assert_memory_equal(plan[0], plan[1], n[0]);
        if (c < 2) assert_false(n[0] == n_plain && memcmp(plan[0], plain, n_plain) == 0);
        assert_true(run(plan[0], n[0]) == want);
        free(plan[0]);
        free(plan[1]);
        tune_destroy(&table);
    }
    free(plain);
    free(p);
}

static void test_measured(void **state)
{
    err_t err = {0};
    int n_measured = 0, n = 0;
    char *dir = temp_dir();
    char a[HASH_HEX], b[HASH_HEX];
    const tuning_t tuning = {.dir = temp_path(dir, "cache"), .target = target_host(), .threads = 1};
    plan_gemm_step_t *p = products(&n);
    (void)state;
    tune_t *first = tuning_of_text(&tuning, text, strlen(text), "t", NULL, &n_measured, &err);
    if (!first) fail_msg("%s", err.text);
    assert_int_equal(n_measured, 2);
    assert_int_equal(tune_count(first), 2);
    tune_t *second = tuning_of_products(&tuning, p, n, &n_measured, &err);
    assert_non_null(second);
    assert_int_equal(n_measured, 0);
    tune_hash(first, a);
    tune_hash(second, b);
    assert_string_equal(a, b);
    tune_destroy(&second);
    char *path = tuning_path(&tuning, &err); /* a damaged file is named, not replaced */
    temp_write(path, "f32 nn", 6);
    assert_null(tuning_of_products(&tuning, p, n, NULL, &err));
    assert_non_null(strstr(err.text, path));
    const tuning_t foreign = {.dir = tuning.dir, .target = "cpu:z80"};
    assert_null(tuning_of_products(&foreign, p, n, NULL, &err));
    assert_int_equal(err.code, ERR_ARG);
    tune_destroy(&first);
    free(path);
    free(p);
    temp_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_measured),
    };
    return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}
