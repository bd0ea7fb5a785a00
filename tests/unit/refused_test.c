/* Type rules: every program of tests/golden/refused/ops.txt breaks one rule of one op and is
 * refused at its line with the message written there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "parse/parse.h"

/* Lines before the op. */
#define HEAD                                                                                   \
    "func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }\n" \
    "func.func @main(%f: tensor<4xf32>, %g: tensor<4xf32>, %h: tensor<2xf32>, %m: "            \
    "tensor<2x3xf32>, %n: tensor<3x2xf32>, %z: tensor<2x2xf32>, %s: tensor<f32>, %i: "         \
    "tensor<i32>, %e: tensor<i64>, %j: tensor<4xi32>, %k: tensor<2x3xi32>, %x: "               \
    "tensor<2x1xi32>, %p: tensor<4xi1>, %b: tensor<i1>, %c: tensor<4xcomplex<f32>>, %d: "      \
    "tensor<4xf64>, %l: tensor<2xi64>, %u: tensor<2xui64>, %q: tensor<1x3x1xf32>, %w: "        \
    "tensor<2x1x1xf32>) {\n"

/* Is the op refused at line 3 with these words? */
static bool is_refused(const char *op, const char *words)
{
    err_t err = {0};
    char *text = mem_printf("%s%s\nreturn\n}\n", HEAD, op);
    ir_module_t *module = parse_stablehlo(text, strlen(text), "t.mlir", &err);
    bool ok = !module && strncmp(err.text, "t.mlir:3:", 9) == 0 && strstr(err.text, words);
    if (!ok) print_error("%s\n  want %s\n  got  %s\n", op, words, module ? "no error" : err.text);
    ir_module_destroy(&module);
    free(text);
    return ok;
}

static void test_refused(void **state)
{
    (void)state;
    err_t err = {0};
    size_t n_text;
    char *text = file_read("tests/golden/refused/ops.txt", &n_text, &err), *rest = text, *line;
    if (!text) fail_msg("%s", err.text);
    int n = 0, n_wrong = 0;
    while ((line = strsep(&rest, "\n"))) {
        if (*line == '#' || *line == '\0') continue;
        const char *words = strsep(&rest, "\n");
        if (!words || strncmp(words, "  ", 2) != 0) fail_msg("no message for %s", line);
        n_wrong += !is_refused(line, words + 2);
        n++;
    }
    free(text);
    print_message("%d programs\n", n);
    assert_true(n > 200);
    assert_int_equal(n_wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
