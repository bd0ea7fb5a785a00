/* The interpreter: control flow, lifetimes, limits, and the checks of test files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/build.h"
#include "ops/check_expect.h"
#include "ops/eval.h"
#include "parse/parse.h"

static ir_module_t *parsed(const char *text)
{
    err_t err = {0};
    ir_module_t *module = parse_stablehlo(text, strlen(text), "test", &err);
    if (!module) fail_msg("%s", err.text);
    return module;
}

/* Run the entry without arguments; its results are compared as integers. */
static void expect_results(const char *text, int n, const int64_t *want)
{
    err_t err = {0};
    ir_module_t *module = parsed(text);
    ir_fn_t *fn = ir_module_entry(module, &err);
    tensor_t out[8];
    assert_int_equal(fn->body->n_result, n);
    if (eval_fn(module, fn, NULL, out, NULL, &err) < 0) fail_msg("%s", err.text);
    for (int i = 0; i < n; i++) {
        if (tensor_get_i64(&out[i], 0) != want[i])
            fail_msg("result %d is %lld, expected %lld", i, (long long)tensor_get_i64(&out[i], 0),
                     (long long)want[i]);
        tensor_fini(&out[i]);
    }
    ir_module_destroy(&module);
}

static void expect_error(const char *text, const eval_options_t *opt, err_code_t code,
                         const char *words)
{
    err_t err = {0};
    ir_module_t *module = parsed(text);
    ir_fn_t *fn = ir_module_entry(module, &err);
    tensor_t out[8];
    assert_int_equal(eval_fn(module, fn, NULL, out, opt, &err), -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, words)) fail_msg("\"%s\" lacks \"%s\"", err.text, words);
    ir_module_destroy(&module);
}

/* sum of i * outer for i < 10: the body reads a value from outside in every iteration. */
static void test_while(void **state)
{
    (void)state;
    expect_results(
        "func.func @main() -> (tensor<i32>, tensor<i32>, tensor<i32>) {\n"
        "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
        "  %ten = stablehlo.constant dense<10> : tensor<i32>\n"
        "  %outer = stablehlo.add %one, %one : tensor<i32>\n"
        "  %r:3 = stablehlo.while(%i = %zero, %s = %zero, %k = %ten)\n"
        "      : tensor<i32>, tensor<i32>, tensor<i32> cond {\n"
        "    %c = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %c : tensor<i1>\n"
        "  } do {\n"
        "    %p = stablehlo.multiply %i, %outer : tensor<i32>\n"
        "    %t = stablehlo.add %s, %p : tensor<i32>\n"
        "    %j = stablehlo.add %i, %one : tensor<i32>\n"
        "    stablehlo.return %j, %t, %k : tensor<i32>, tensor<i32>, tensor<i32>\n"
        "  }\n"
        "  return %r#0, %r#1, %r#2 : tensor<i32>, tensor<i32>, tensor<i32>\n"
        "}\n",
        3, (const int64_t[]){10, 90, 10});
}

static const char *const forever = "func.func @main() -> tensor<i1> {\n"
                                   "  %t = stablehlo.constant dense<true> : tensor<i1>\n"
                                   "  %r = stablehlo.while(%i = %t) : tensor<i1> cond {\n"
                                   "    stablehlo.return %i : tensor<i1>\n"
                                   "  } do {\n"
                                   "    stablehlo.return %i : tensor<i1>\n"
                                   "  }\n"
                                   "  return %r : tensor<i1>\n"
                                   "}\n";

static void test_case_takes_the_last_branch(void **state)
{
    (void)state;
    for (int64_t which = -1; which <= 3; which++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "func.func @main() -> (tensor<i32>, tensor<i32>) {\n"
                 "  %%i = stablehlo.constant dense<%lld> : tensor<i32>\n"
                 "  %%a = stablehlo.constant dense<70> : tensor<i32>\n"
                 "  %%r:2 = \"stablehlo.case\"(%%i) ({\n"
                 "    stablehlo.return %%a, %%a : tensor<i32>, tensor<i32>\n"
                 "  }, {\n"
                 "    %%b = stablehlo.add %%a, %%a : tensor<i32>\n"
                 "    stablehlo.return %%b, %%b : tensor<i32>, tensor<i32>\n"
                 "  }) : (tensor<i32>) -> (tensor<i32>, tensor<i32>)\n"
                 "  return %%r#0, %%r#1 : tensor<i32>, tensor<i32>\n"
                 "}\n",
                 (long long)which);
        int64_t want = which == 0 ? 70 : 140;
        expect_results(text, 2, (const int64_t[]){want, want});
    }
}

static void test_if_map_and_calls(void **state)
{
    (void)state;
    expect_results("func.func @main() -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {\n"
                   "  %p = stablehlo.constant dense<false> : tensor<i1>\n"
                   "  %x = stablehlo.constant dense<[3, 4]> : tensor<2xi32>\n"
                   "  %y = \"stablehlo.if\"(%p) ({\n"
                   "    stablehlo.return %x : tensor<2xi32>\n"
                   "  }, {\n"
                   "    %n = stablehlo.negate %x : tensor<2xi32>\n"
                   "    stablehlo.return %n : tensor<2xi32>\n"
                   "  }) : (tensor<i1>) -> tensor<2xi32>\n"
                   "  %z = \"stablehlo.map\"(%x, %y) <{dimensions = array<i64: 0>}> ({\n"
                   "  ^bb0(%a: tensor<i32>, %b: tensor<i32>):\n"
                   "    %m = stablehlo.multiply %a, %b : tensor<i32>\n"
                   "    stablehlo.return %m : tensor<i32>\n"
                   "  }) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>\n"
                   "  %w = stablehlo.composite \"my.twice\" %z {decomposition = @twice}\n"
                   "      : (tensor<2xi32>) -> tensor<2xi32>\n"
                   "  return %y, %z, %w : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>\n"
                   "}\n"
                   "func.func private @twice(%x: tensor<2xi32>) -> tensor<2xi32> {\n"
                   "  %y = stablehlo.add %x, %x : tensor<2xi32>\n"
                   "  %z = call @same(%y) : (tensor<2xi32>) -> tensor<2xi32>\n"
                   "  return %z : tensor<2xi32>\n"
                   "}\n"
                   "func.func private @same(%x: tensor<2xi32>) -> tensor<2xi32> {\n"
                   "  return %x : tensor<2xi32>\n"
                   "}\n",
                   3, (const int64_t[]){-3, -9, -18});
}

static void test_limits(void **state)
{
    (void)state;
    expect_error(forever, &(eval_options_t){.max_iterations = 100}, ERR_STATE, "100 iterations");
    expect_error("func.func @main() -> tensor<f32> {\n"
                 "  %x = call @main() : () -> tensor<f32>\n"
                 "  return %x : tensor<f32>\n"
                 "}\n",
                 NULL, ERR_STATE, "nested deeper than 200");
    expect_error("func.func @main() -> tensor<1000x1000xf32> {\n"
                 "  %x = stablehlo.constant dense<1.0> : tensor<1000x1000xf32>\n"
                 "  %y = stablehlo.add %x, %x : tensor<1000x1000xf32>\n"
                 "  return %y : tensor<1000x1000xf32>\n"
                 "}\n",
                 &(eval_options_t){.max_bytes = 7000000}, ERR_MEMORY, "over the limit of 7000000");
    /* what the evaluator works in counts too: sorting takes two positions for each element */
    expect_error("func.func @main() -> tensor<100000xi8> {\n"
                 "  %x = stablehlo.constant dense<1> : tensor<100000xi8>\n"
                 "  %y = \"stablehlo.sort\"(%x) ({\n"
                 "  ^bb0(%a: tensor<i8>, %b: tensor<i8>):\n"
                 "    %p = stablehlo.compare LT, %a, %b : (tensor<i8>, tensor<i8>) -> tensor<i1>\n"
                 "    stablehlo.return %p : tensor<i1>\n"
                 "  }) {dimension = 0 : i64} : (tensor<100000xi8>) -> tensor<100000xi8>\n"
                 "  return %y : tensor<100000xi8>\n"
                 "}\n",
                 &(eval_options_t){.max_bytes = 1000000}, ERR_MEMORY,
                 "1600000 bytes to work in with 200000 in use are over the limit of 1000000");
    expect_error("func.func @main() -> tensor<f32> {\n"
                 "  %x = stablehlo.constant dense<1.0> : tensor<f32>\n"
                 "  %y = stablehlo.custom_call @nobody(%x) : (tensor<f32>) -> tensor<f32>\n"
                 "  return %y : tensor<f32>\n"
                 "}\n",
                 NULL, ERR_UNSUPPORTED, "line 3: stablehlo.custom_call @nobody");
}

/* 50 chained additions of 4 MB fit into 3 tensors' room when dead values are freed. */
static void test_dead_values_are_freed(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *module = ir_module_new();
    ir_type_t type = ir_type(DT_F32, 1, &(int64_t){1 << 20});
    ir_fn_t *fn = ir_fn_new(module, "main", 1, &type);
    ir_val_t x = ir_fn_param(fn, 0), y = x;
    for (int i = 0; i < 50; i++) y = ir_op2(fn, OP_add, y, x);
    assert_int_equal(ir_fn_finish(fn, 1, &y, &err), 0);
    tensor_t in = tensor_new(&type), out;
    tensor_set_f64(&in, 5, 2);
    eval_options_t opt = {.max_bytes = 2 * (4 << 20)};
    if (eval_fn(module, fn, &in, &out, &opt, &err) < 0) fail_msg("%s", err.text);
    assert_true(tensor_get_f64(&out, 5) == 102);
    tensor_fini(&out);
    opt.max_bytes = (4 << 20) + 100;
    assert_int_equal(eval_fn(module, fn, &in, &out, &opt, &err), -1);
    assert_int_equal(err.code, ERR_MEMORY);
    tensor_fini(&in);
    ir_module_destroy(&module);
}

static void test_inputs_are_checked(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *module = parsed(
        "func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)"
        " {\n  return %x, %x : tensor<2xf32>, tensor<2xf32>\n}\n");
    ir_type_t wrong = ir_type(DT_F32, 1, &(int64_t){3}), right = ir_type(DT_F32, 1, &(int64_t){2});
    tensor_t in = tensor_new(&wrong), out[2];
    assert_int_equal(eval_fn(module, module->fn[0], &in, out, NULL, &err), -1);
    assert_non_null(strstr(err.text, "argument 0 is tensor<3xf32>, expected tensor<2xf32>"));
    tensor_fini(&in);
    in = tensor_new(&right); /* both results are copies of their own */
    assert_int_equal(eval_fn(module, module->fn[0], &in, out, NULL, &err), 0);
    tensor_fini(&in);
    tensor_fini(&out[0]);
    tensor_fini(&out[1]);
    ir_module_destroy(&module);
}

/* --- checks --- */
static int check(const char *got, const char *want, const char *type, const char *name,
                 const char *tail, err_t *err)
{
    char text[1024];
    snprintf(text, sizeof text,
             "func.func @main() {\n"
             "  %%a = stablehlo.constant dense<%s> : tensor<%s>\n"
             "  %%b = stablehlo.constant dense<%s> : tensor<%s>\n"
             "  check.expect_%s %%a, %%b%s : tensor<%s>, tensor<%s>\n"
             "  return\n"
             "}\n",
             got, type, want, type, name, tail, type, type);
    ir_module_t *module = parsed(text);
    int rc = check_module(module, err);
    ir_module_destroy(&module);
    return rc;
}

static void test_checks(void **state)
{
    (void)state;
    err_t err = {0};
    static const struct {
        const char *got, *want, *type, *name, *tail;
        int rc;
    } cases[] = {
        {"[1, 2]", "[1, 2]", "2xi32", "eq", "", 0},
        {"[1, 2]", "[1, 3]", "2xi32", "eq", "", 1},
        {"-0.0", "0.0", "f32", "eq", "", 0},
        {"0x7FC00000", "0x7FC00000", "f32", "eq", "", 1},
        {"0x7FC00000", "0x7FC00000", "f32", "almost_eq", "", 0},
        {"0x7F800000", "0x7F800000", "f32", "almost_eq", "", 0},
        {"0x7F800000", "0xFF800000", "f32", "almost_eq", "", 1},
        {"1.0", "1.00009", "f64", "almost_eq", "", 0},
        {"1.0", "1.0002", "f64", "almost_eq", "", 1},
        {"1.0", "1.05", "f64", "almost_eq", ", tolerance = 0.1", 0},
        {"0x3F800000", "0x3F800003", "f32", "close", ", max_ulp_difference = 3", 0},
        {"0x3F800000", "0x3F800003", "f32", "close", ", max_ulp_difference = 2", 1},
        {"0x3F800000", "0x3F800000", "f32", "close",
         ", max_ulp_difference = 3, min_ulp_difference = 1", 1},
        {"0x80000001", "0x00000001", "f32", "close", ", max_ulp_difference = 2", 0},
        {"0x80000001", "0x00000001", "f32", "close", ", max_ulp_difference = 1", 1},
        {"0x7FC00000", "0x7FC00000", "f32", "close", ", max_ulp_difference = 0", 0},
        {"0x7F800000", "0x7F7FFFFF", "f32", "close", ", max_ulp_difference = 3", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc = check(cases[i].got, cases[i].want, cases[i].type, cases[i].name, cases[i].tail,
                       &err);
        if (rc != cases[i].rc)
            fail_msg("expect_%s(%s, %s)%s: %d, expected %d: %s", cases[i].name, cases[i].got,
                     cases[i].want, cases[i].tail, rc, cases[i].rc, err.text);
    }
    assert_int_equal(check("[[1, 2], [3, 4]]", "[[1, 2], [5, 4]]", "2x2xi8", "eq", "", &err), 1);
    assert_non_null(strstr(err.text, "element [1, 0] of i8 is 3, expected 5 (1 of 4 differ)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_while),
        cmocka_unit_test(test_case_takes_the_last_branch),
        cmocka_unit_test(test_if_map_and_calls),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_dead_values_are_freed),
        cmocka_unit_test(test_inputs_are_checked),
        cmocka_unit_test(test_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
