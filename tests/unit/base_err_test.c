/* base: errors as values; what they are about is said once. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_about), cmocka_unit_test(test_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
