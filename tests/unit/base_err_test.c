/* base: errors as values; what they are about is said once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void test_about(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *says;
    } cases[] = {
        {"no tensor a", "runs/one", "runs/one: no tensor a"},
        {"runs/one: No such file", "runs/one", "runs/one: No such file"},
        {"runs/one/model: No such file", "runs/one", "runs/one/model: No such file"},
        {"runs/one/model: No such file", "runs/one/", "runs/one/model: No such file"},
        {"runs/one2: No such file", "runs/one", "runs/one: runs/one2: No such file"},
        {"runs/two: No such file", "runs/one", "runs/one: runs/two: No such file"},
        {"of runs/one: nothing", "runs/one", "runs/one: of runs/one: nothing"},
        {"runs", "runs/one", "runs/one: runs"},
        {"no such thing", "", ": no such thing"},
        {"", "runs/one", "runs/one: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t err = {0};
        err_set(&err, ERR_IO, "%s", cases[i].text);
        assert_int_equal(err_about(&err, cases[i].name), -1);
        assert_string_equal(err.text, cases[i].says);
        assert_int_equal(err.code, ERR_IO);
    }
    assert_int_equal(err_about(NULL, "runs/one"), -1);
}

/* What does not fit is cut at its end: the name stays. */
static void test_long(void **state)
{
    (void)state;
    err_t err = {0};
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    err_set(&err, ERR_ARG, "%s", text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    err_about(&err, "name");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(strncmp(err.text, "name: xxx", 9), 0);
    err_clear(&err);
    assert_int_equal(err.code, ERR_OK);
    assert_string_equal(err.text, "");
}

/* Names from files and peers move no cursor, and what was cut is still UTF-8. */
static void test_plain(void **state)
{
    (void)state;
    err_t err = {0};
    err_set(&err, ERR_ARG, "tensor \"%s\":\n\tline", "\x1b[2J\xc2\x9bm caf\xc3\xa9 \xff\x7f\r");
    assert_string_equal(err.text, "tensor \"?[2J??m caf\xc3\xa9 ???\":\n\tline");
    err_prefix(&err, "\a%.2s: ", "x\xc3\xa9");
    assert_string_equal(err.text, "?x?: tensor \"?[2J??m caf\xc3\xa9 ???\":\n\tline");
    errno = ENOENT;
    err_set_errno(&err, "\x1b]0;name\a");
    assert_string_equal(err.text, "?]0;name?: No such file or directory");
    char text[2001] = "x";
    for (size_t i = 1; i + 2 < sizeof text; i += 2) memcpy(text + i, "\xc3\xa9", 3);
    err_set(&err, ERR_ARG, "%s", text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_string_equal(err.text + sizeof err.text - 3, "\xc3\xa9");
    err_set(&err, ERR_ARG, "%s", text + 1);
    assert_string_equal(err.text + sizeof err.text - 4, "\xc3\xa9?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_about), cmocka_unit_test(test_long),
                                       cmocka_unit_test(test_plain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
