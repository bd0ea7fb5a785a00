/* Long inputs of one construct: nesting to any depth is refused in words and not by the stack, many
 * of anything is read in time and memory (MODE=asan counts it) that grow with the text, and shapes
 * of any size are types like others or errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../fuzz/alloc_bound.h"
#include "base/str.h"
#include "parse/parse.h"

/* As docs/testing.md states them. */
enum { PARSE_MULTIPLE = 128, PARSE_CONSTANT = 128 << 10 };

/* `first`, then n times `again` with its number for each #N, then `last`. */
typedef struct {
    const char *first, *again, *last;
    int n;
} long_t;

static void add_numbered(str_t *text, const char *again, int number)
{
    for (const char *p = again; *p; p++) {
        if (p[0] == '#' && p[1] == 'N')
            str_addf(text, "%d", number), p++;
        else
            str_addn(text, p, 1);
    }
}

static ir_module_t *parse_long(const long_t *c, err_t *err)
{
    str_t text = {0};
    str_add(&text, c->first);
    for (int i = 0; i < c->n; i++) add_numbered(&text, c->again, i);
    str_add(&text, c->last);
    alloc_bound_begin("parse", PARSE_MULTIPLE, text.n, PARSE_CONSTANT);
    ir_module_t *m = parse_stablehlo(str_text(&text), text.n, "long", err);
    alloc_bound_end();
    str_fini(&text);
    return m;
}

#define MAIN "func.func @main(%a: tensor<f32>) -> tensor<f32> {\n"
#define END "return %a : tensor<f32>\n}\n"

static void test_deep(void **state)
{
    static const long_t cases[] = {
        {MAIN "%0 = stablehlo.abs %a {z = ", "[", "", 200000},
        {MAIN "%0 = stablehlo.abs %a {z = ", "{y = ", "", 200000},
        {MAIN "", "%#N = \"stablehlo.case\"(%a) ({\n", "", 100000},
        {MAIN "%0 = stablehlo.constant dense<", "[", "", 200000},
        {"", "module {\n", "", 100000},
        {"func.func @main(%a: ", "tuple<", "", 100000},
        {"func.func @main() -> ", "(", "", 100000},
        {"func.func @main() loc(", "callsite(", "", 100000},
        {"#a = ", "#stablehlo<", "", 100000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t err = {0};
        ir_module_t *m = parse_long(&cases[i], &err);
        if (m || !str_starts(err.text, "long:")) fail_msg("case %zu: %s", i, err.text);
    }
}

static void test_many(void **state)
{
    static const long_t cases[] = {
        {MAIN, "%#N = stablehlo.abs %a : tensor<f32>\n", END, 20000},
        {MAIN, "%#N = stablehlo.constant dense<0> : tensor<4xi8>\n", END, 20000},
        {MAIN, "%#N = stablehlo.abs %a {a, b, c, d, e, f} : tensor<f32>\n", END, 10000},
        {MAIN "%0 = stablehlo.abs %a {z = [", "#N, ", "1]} : tensor<f32>\n" END, 100000},
        {MAIN "%0 = stablehlo.constant dense<[", "#N, ", "1]> : tensor<100001xi64>\n" END, 100000},
        {"func.func @main(%a: tensor<f32>", ", %#N: tensor<f32>", ") { return }\n", 50000},
        {"", "func.func @f#N() { return }\n", "", 20000},
        {"", "#l#N = loc(\"x\")\n", MAIN END, 20000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t err = {0};
        ir_module_t *m = parse_long(&cases[i], &err);
        if (!m) fail_msg("case %zu: %s", i, err.text);
        ir_module_destroy(&m);
    }
}

/* Types of 2^60 elements and more are refused; what a shape says is never allocated. */
static void test_large_shapes(void **state)
{
    static const struct {
        const char *text;
        bool valid;
    } cases[] = {
        {"%0 = stablehlo.constant dense<1.0> : tensor<1000000000x1000000000xf32>\n", true},
        {"%0 = stablehlo.iota dim = 0 : tensor<1000000000x1000000000xf64>\n", true},
        {"%0 = stablehlo.constant dense<1.0> : tensor<4000000000x1000000000xf32>\n", false},
        {"%0 = stablehlo.constant dense<1.0> : tensor<9223372036854775807x2xf32>\n", false},
        {"%0 = stablehlo.constant dense<1.0> : tensor<99999999999999999999xf32>\n", false},
        {"%0 = stablehlo.iota dim = 0 : tensor<1000000000x1000000000xf32>\n"
         "%1 = stablehlo.concatenate %0, %0, dim = 0 : (tensor<1000000000x1000000000xf32>, "
         "tensor<1000000000x1000000000xf32>) -> tensor<2000000000x1000000000xf32>\n",
         false},
        {"%0 = stablehlo.pad %a, %a, low = [], high = [], interior = [] : (tensor<f32>, "
         "tensor<f32>) -> tensor<f32>\n",
         true},
        {"%0 = stablehlo.iota dim = 0 : tensor<3xf32>\n"
         "%1 = stablehlo.pad %0, %a, low = [9223372036854775807], high = [1], interior = [0] : "
         "(tensor<3xf32>, tensor<f32>) -> tensor<3xf32>\n",
         false},
        {"%0 = stablehlo.iota dim = 0 : tensor<3xf32>\n"
         "%1 = stablehlo.pad %0, %a, low = [0], high = [0], interior = [4611686018427387904] : "
         "(tensor<3xf32>, tensor<f32>) -> tensor<3xf32>\n",
         false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const long_t text = {MAIN, cases[i].text, END, 1};
        err_t err = {0};
        ir_module_t *m = parse_long(&text, &err);
        if ((m != NULL) != cases[i].valid) fail_msg("case %zu: %s", i, err.text);
        ir_module_destroy(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_large_shapes),
    };
    return cmocka_run_group_tests_name("parse_long", tests, NULL, NULL);
}
