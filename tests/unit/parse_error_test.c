/* What the parser refuses: the text and place of errors, and inputs made to break it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "parse/parse.h"

/* Text, what the message starts with (after "t.mlir:"), and its code. */
static const struct {
    const char *text, *want;
    err_code_t code;
} bad[] = {
    {"", "there is no function", ERR_PARSE},
    {"module {", "1:9: expected func.func, got the end of the text", ERR_PARSE},
    {"module { }\nmodule { }", "2:1: expected the end of the text", ERR_PARSE},
    {"func.func @f(%a: tensor<2xf32>) {\n  return %b : tensor<2xf32>\n}",
     "2:10: '%b' is not defined before this use", ERR_PARSE},
    {"func.func @f(%a: tensor<2xf32>) {\n  %a = stablehlo.tanh %a : tensor<2xf32>\n  return\n}",
     "2:3: '%a' is defined twice", ERR_PARSE},
    {"func.func @f(%a: tensor<2xf32>) {\n  %0 = stablehlo.tanh %a : tensor<3xf32>\n  return\n}",
     "2:28: stablehlo.tanh: operand 0 is tensor<2xf32>, but tensor<3xf32> is written here",
     ERR_TYPE},
    {"func.func @f(%a: tensor<2xf32>) {\n  %0 = stablehlo.tanh %a, %a : tensor<2xf32>\n  return\n}",
     "2:8: stablehlo.tanh has 1 operands, got 2", ERR_PARSE},
    {"func.func @f(%a: tensor<2xf32>) {\n  %0:2 = stablehlo.tanh %a : tensor<2xf32>\n  return\n}",
     "2:3: 2 results are named, but stablehlo.tanh makes 1", ERR_PARSE},
    {"func.func @f(%a: tensor<2xf32>) {\n  %0 = stablehlo.nope %a : tensor<2xf32>\n  return\n}",
     "2:8: op 'stablehlo.nope' is not supported", ERR_UNSUPPORTED},
    {"func.func @f(%a: tensor<2xf32>) {\n  %0 = stablehlo.tanh %a tensor<2xf32>\n  return\n}",
     "2:26: expected : and the types, got 'tensor'", ERR_PARSE},
    {"func.func @f(%a: tensor<2xf32>) {\n}", "2:1: expected an op or a terminator", ERR_PARSE},
    {"func.func @f(%a: tensor<2xf32>) -> tensor<f32> {\n  return %a : tensor<2xf32>\n}",
     "1:11: @f: result 0 is tensor<f32>, but returns tensor<2xf32>", ERR_TYPE},
    {"func.func @f(%a: tensor<?xf32>) { return }", "1:25: dynamic shapes are not supported",
     ERR_UNSUPPORTED},
    {"func.func @f(%a: tensor<2xcomplex<f16>>) { return }",
     "1:35: complex numbers are of f32 or f64", ERR_UNSUPPORTED},
    {"func.func @f(%a: tensor<2xcomplex>) { return }", "1:34: expected < after complex", ERR_PARSE},
    {"func.func @f(%a: tensor<2xf32) { return }", "1:30: expected > at the end of the type",
     ERR_PARSE},
    {"func.func @f(%a: tensor<2f32>) { return }", "1:26: expected x and a type", ERR_PARSE},
    {"func.func @f(%a: tensor<99999999999x99999999999xf32>) { return }", "1:18: ", ERR_SHAPE},
    {"func.func @f(%a: tensor<99999999999999999999xf32>) { return }",
     "1:25: this dimension does not fit", ERR_PARSE},
    {"func.func @f(%a: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) { return }",
     "1:57: more than 16 dimensions", ERR_UNSUPPORTED},
    {"func.func @f() { return }\nfunc.func @f() { return }", "2:11: function @f is defined twice",
     ERR_PARSE},
    {"func.func @f() {\n  func.call @g() : () -> ()\n  return\n}",
     "2:3: function @g is not defined in this module", ERR_PARSE},
    {"func.func @f(%a: tensor<f32>) {\n  func.call @f() : () -> ()\n  return\n}",
     "2:3: @f takes 1 operands and gives 0 results, not 0 and 0", ERR_TYPE},
    {"func.func @f() {\n  %0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>\n  return\n}",
     "2:38: expected 3 elements in dimension 0, got 2", ERR_PARSE},
    {"func.func @f() {\n  %0 = stablehlo.constant dense<[[1, 2], [3]]> : tensor<2x2xi32>\n  "
     "return\n}",
     "2:44: expected 2 elements in dimension 1, got 1", ERR_PARSE},
    {"func.func @f() {\n  %0 = stablehlo.constant dense<[1, 300]> : tensor<2xui8>\n  return\n}",
     "2:37: expected an integer in the range of ui8", ERR_PARSE},
    {"func.func @f() {\n  %0 = stablehlo.constant dense<[1.0, x]> : tensor<2xf32>\n  return\n}",
     "2:39: expected a number of type f32", ERR_PARSE},
    {"func.func @f() {\n  %0 = stablehlo.constant dense<\"0x0102\"> : tensor<3xi32>\n  return\n}",
     "2:36: 2 bytes of data do not fill tensor<3xi32> (12 bytes)", ERR_PARSE},
    {"func.func @f() {\n  %0 = stablehlo.constant dense<\"0x0G\"> : tensor<1xi8>\n  return\n}",
     "2:37: expected a hex digit, got 'G'", ERR_PARSE},
    {"func.func @f() {\n  %0 = stablehlo.constant dense<\"0x00> : tensor<1xi8>\n  return\n}",
     "2:32: dense< is never closed", ERR_PARSE},
    {"func.func @f() {\n  %0 = stablehlo.constant dense_resource<k> : tensor<1xi8>\n  return\n}",
     "2:42: resource 'k' is not there", ERR_PARSE},
    {"func.func @f() {\n  %0 = stablehlo.constant dense_resource<__elided__> : tensor<1xi8>\n  "
     "return\n}",
     "2:42: the data of this constant was left out", ERR_PARSE},
    {"func.func @f() {\n  %0 = stablehlo.iota dim = 9223372036854775808 : tensor<2xi8>\n  "
     "return\n}",
     "2:29: this integer does not fit in 64 bits", ERR_PARSE},
    {"func.func @f() attributes {a = 18446744073709551615 : i64} { return }",
     "1:32: this integer does not fit into an i64", ERR_PARSE},
    {"func.func @f() attributes {a = [1, 9223372036854775808]} { return }",
     "1:36: this integer does not fit into an i64", ERR_PARSE},
    {"func.func @f() attributes {a = 1, a = 2} { return }", "1:35: attribute 'a' is given twice",
     ERR_PARSE},
    {"func.func @f() attributes {a = #b} { return }", "1:32: '#b' is not defined in this text",
     ERR_PARSE},
    {"#a = #b\n#b = #a\nfunc.func @f() attributes {a = #a} { return }",
     "2:6: nested deeper than 256 levels", ERR_PARSE},
    {"func.func @f() attributes {a = \"\\zz\"} { return }", "1:33: expected an escape", ERR_PARSE},
    {"func.func @f() attributes {a = \"x} { return }",
     "1:32: expected an attribute's value, got a "
     "string without end",
     ERR_PARSE},
    {"func.func @f() { \x01 return }", "1:18: expected an op, got the byte 0x01", ERR_PARSE},
    {"func.func @f(%a: tensor<2xf32>) {\n  %0 = stablehlo.gather %a : tensor<2xf32>\n  return\n}",
     "2:8: stablehlo.gather has the generic form only", ERR_PARSE},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err_t err = {0};
        ir_module_t *m = parse_stablehlo(bad[i].text, strlen(bad[i].text), "t.mlir", &err);
        char *want = mem_printf("t.mlir:%s%s", i ? "" : " ", bad[i].want);
        if (m || !str_starts(err.text, want)) print_error("want %s\ngot  %s\n", want, err.text);
        assert_null(m);
        assert_true(str_starts(err.text, want));
        assert_int_equal(err.code, bad[i].code);
        free(want);
        assert_null(parse_stablehlo(bad[i].text, strlen(bad[i].text), "t.mlir", NULL));
    }
}

static void test_caret(void **state)
{
    (void)state;
    const char *text = "func.func @f() {\n\t%0 = stablehlo.iota dims = 0 : tensor<2xi8>\n}";
    err_t err = {0};
    assert_null(parse_stablehlo(text, strlen(text), "t.mlir", &err));
    assert_string_equal(err.text, "t.mlir:2:22: expected dim, got 'dims'\n"
                                  "   %0 = stablehlo.iota dims = 0 : tensor<2xi8>\n"
                                  "                       ^");
}

/* The verifier's complaint carries the line of the op. */
static void test_verify_error(void **state)
{
    (void)state;
    const char *text = "func.func @f(%a: tensor<2xf32>) {\n"
                       "  %0 = stablehlo.tanh %a : (tensor<2xf32>) -> tensor<3xf32>\n  return\n}";
    err_t err = {0};
    assert_null(parse_stablehlo(text, strlen(text), "t.mlir", &err));
    assert_true(str_starts(err.text, "t.mlir:2: @f: stablehlo.tanh: "));
}

/* Text nested 100 deep is read, deeper text refused. Frees it. */
static void check_depth(str_t *s, int depth)
{
    err_t err = {0};
    ir_module_t *m = parse_stablehlo(s->at, s->n, "t.mlir", &err);
    if (depth == 100) {
        assert_non_null(m);
        ir_module_destroy(&m);
    } else {
        assert_null(m);
        assert_non_null(strstr(err.text, "nested deeper than 256 levels"));
    }
    str_fini(s);
}

/* Deep nesting is an error, not a stack overflow; short of the limit it is read. */
static void test_depth(void **state)
{
    (void)state;
    for (int depth = 100; depth <= 100000; depth *= 10) {
        str_t s = {0};
        str_add(&s, "func.func @f() attributes {a = ");
        for (int i = 0; i < depth; i++) str_add(&s, "[\"\",");
        str_add(&s, "1");
        for (int i = 0; i < depth; i++) str_add(&s, "]");
        str_add(&s, "} { return }");
        check_depth(&s, depth);
    }
}

/* The same for regions. */
static void test_region_depth(void **state)
{
    (void)state;
    for (int depth = 100; depth <= 10000; depth *= 10) {
        str_t s = {0};
        str_add(&s, "func.func @f(%p: tensor<i1>) {\n");
        for (int i = 0; i < depth; i++)
            str_add(&s, "\"stablehlo.if\"(%p) ({ stablehlo.return }, {\n");
        str_add(&s, "stablehlo.return\n");
        for (int i = 1; i < depth; i++) str_add(&s, "}) : (tensor<i1>) -> ()\nstablehlo.return\n");
        str_add(&s, "}) : (tensor<i1>) -> ()\nreturn\n}\n");
        check_depth(&s, depth);
    }
}

/* Aliases that double with each level are refused before they fill the memory. */
static void test_alias_bomb(void **state)
{
    (void)state;
    str_t s = {0};
    for (int i = 0; i < 60; i++) str_addf(&s, "#a%d = [#a%d, #a%d]\n", i, i + 1, i + 1);
    str_add(&s, "#a60 = 1.0\nfunc.func @f() attributes {a = #a0} { return }\n");
    err_t err = {0};
    assert_null(parse_stablehlo(s.at, s.n, "t.mlir", &err));
    assert_non_null(strstr(err.text, "aliases use each other more than"));
    str_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),       cmocka_unit_test(test_caret),
        cmocka_unit_test(test_verify_error), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_alias_bomb),   cmocka_unit_test(test_region_depth),
    };
    return cmocka_run_group_tests_name("parse_error", tests, NULL, NULL);
}
