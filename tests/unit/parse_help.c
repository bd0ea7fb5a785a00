/* See parse_help.h. */
#include "parse_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/print.h"
#include "parse/parse.h"

ir_module_t *parse_help_module(const char *text)
{
    err_t err = {0};
    ir_module_t *m = parse_stablehlo(text, strlen(text), "t.mlir", &err);
    if (!m) fail_msg("%s\nin\n%s", err.text, text);
    return m;
}

char *parse_help_canonical(const char *text)
{
    str_t first = {0}, second = {0};
    ir_module_t *m = parse_help_module(text);
    ir_print_module(m, &first);
    ir_module_t *again = parse_help_module(str_text(&first));
    ir_print_module(again, &second);
    assert_string_equal(str_text(&first), str_text(&second));
    ir_module_destroy(&m);
    ir_module_destroy(&again);
    str_fini(&second);
    return first.at;
}

void parse_help_same(const char *a, const char *b)
{
    char *x = parse_help_canonical(a), *y = parse_help_canonical(b);
    assert_string_equal(x, y);
    free(x);
    free(y);
}
