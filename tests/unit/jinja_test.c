/* Templates in Jinja: what Jinja itself makes of them (tests/golden/jinja/make.py), what is refused, and
 * what hostile ones may take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "serve/jinja.h"

static const char golden[] = "tests/golden/jinja";

static int render(const char *source, size_t n, const json_t *variables, int64_t now, str_t *out,
                  err_t *err)
{
    err_clear(err);
    jinja_t *jinja = jinja_parse(source, n, err);
    int status = jinja ? jinja_render(jinja, variables, now, out, err) : -1;
    jinja_destroy(&jinja);
    return status;
}

/* --- against Jinja --- */

static const char *text_of(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

static bool holds(const json_t *one, const json_t *data, int64_t now)
{
    const char *file = text_of(one, "file"), *source = text_of(one, "source");
    const char *text = text_of(one, "text"), *raised = text_of(one, "raised");
    const json_t *variables = file ? json_object_get(one, "variables") : data;
    str_t out = {0};
    char *read = NULL;
    size_t n_read = 0;
    char path[256];
    err_t err = {0};
    snprintf(path, sizeof path, "%s/%s", golden, file ? file : "");
    if (file && !(read = file_read(path, &n_read, &err))) fail_msg("%s", err.text);
    if (file) source = read;
    int status = render(source, strlen(source), variables, now, &out, &err);
    bool right = text ? status == 0 && strcmp(str_text(&out), text) == 0 : status < 0;
    if (raised) right = right && strstr(err.text, raised);
    if (!right) {
        print_message("%s %s\n  wanted: %s\n  got:    %s\n", file ? file : source,
                      file ? text_of(one, "name") : "",
                      text     ? text
                      : raised ? raised
                               : "an error",
                      status == 0 ? str_text(&out) : err.text);
    }
    free(read);
    str_fini(&out);
    return right;
}

static void test_golden(void **state)
{
    (void)state;
    char path[256];
    json_error_t why;
    snprintf(path, sizeof path, "%s/cases.json", golden);
    json_t *root = json_load_file(path, 0, &why), *cases = json_object_get(root, "cases");
    if (!root) fail_msg("%s: %s", path, why.text);
    int64_t now = json_integer_value(json_object_get(root, "now"));
    size_t n = json_array_size(cases), wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += !holds(json_array_get(cases, i), json_object_get(root, "data"), now);
    print_message("%zu of %zu as Jinja has them\n", n - wrong, n);
    assert_true(n > 500);
    assert_int_equal(wrong, 0);
    json_decref(root);
}

/* --- what is not known --- */

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *source, *why;
        err_code_t code;
    } rows[] = {
        {"a\n{% include 'x' %}", "line 2: the tag \"include\"", ERR_UNSUPPORTED},
        {"{% raw %}{% endraw %}", "line 1: the tag \"raw\"", ERR_UNSUPPORTED},
        {"\n\n{{ x|xmlattr }}", "line 3: the filter \"xmlattr\"", ERR_UNSUPPORTED},
        {"{{ x is filter }}", "the test \"filter\"", ERR_UNSUPPORTED},
        {"{% for x in y recursive %}{% endfor %}", "\"recursive\"", ERR_UNSUPPORTED},
        {"{{ 2 ** 3 }}", "the operator **", ERR_UNSUPPORTED},
        {"{{ f(*x) }}", "arguments from a list", ERR_UNSUPPORTED},
        {"{% set x | upper %}{% endset %}", "through a filter", ERR_UNSUPPORTED},
        {"a\n{{ ''.encode() }}", "line 2: the method .encode of a text", ERR_UNSUPPORTED},
        {"{{ [].append(1) }}", "the method .append of a list", ERR_UNSUPPORTED},
        {"{{ {}.update() }}", "the method .update of a dict", ERR_UNSUPPORTED},
        {"{{ lipsum() }}", "the function \"lipsum\"", ERR_UNSUPPORTED},
        {"{% for i in [1] %}{{ loop.cycle }}{% endfor %}", "loop.cycle", ERR_UNSUPPORTED},
        {"{{ '\xc3\xa9'|upper }}", "beyond ASCII", ERR_UNSUPPORTED},
        {"{{ {'a': 1}|tojson(sort_keys=true) }}", "tojson knows", ERR_UNSUPPORTED},
        {"{% endfor %}", "line 1: the tag \"endfor\" is not known here", ERR_PARSE},
        {"{% for i in x %}\n", "endfor is missing", ERR_PARSE},
        {"{{ 'a", "a string has no end", ERR_PARSE},
        {"{% if x %}{% else %}{% elif y %}{% endif %}", "elif", ERR_PARSE},
        {"{{ 99999999999999999999 }}", "a number", ERR_PARSE},
        {"{{ 9000000000000000000 + 9000000000000000000 }}", "a number beyond 64 bits", ERR_NUMERIC},
        {"\n{{ raise_exception('no\nway') }}", "line 2: no\nway", ERR_ARG},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err_t err = {0};
        str_t out = {0};
        assert_int_equal(render(rows[i].source, strlen(rows[i].source), NULL, 0, &out, &err), -1);
        if (!strstr(err.text, rows[i].why)) fail_msg("%s: %s", rows[i].source, err.text);
        assert_int_equal(err.code, rows[i].code);
        assert_int_equal(out.n, 0);
    }
}

/* --- bounds --- */

#define TEN(x) x x x x x x x x x x
static void test_hostile(void **state)
{
    (void)state;
    static const char *const sources[] = {
        "{% for a in range(1000000) %}{% for b in range(1000000) %}{% endfor %}{% endfor %}",
        "{{ range(1000000000)|length }}",
        "{{ 'a' * 1000000000000 }}",
        "{{ '' * 1000000000000 }}",
        "{% set ns = namespace(s='aaaaaaaaaaaaaaaa') %}{% for i in range(60) %}{% set ns.s = ns.s "
        "~ ns.s %}"
        "{% endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = ns.l + ns.l %}{% "
        "endfor %}",
        "{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] %}{% "
        "endfor %}"
        "{{ ns.l }}",
        "{% set ns = namespace(a=[], b=[]) %}{% for i in range(3000) %}{% set ns.a = [ns.a] %}"
        "{% set ns.b = [ns.b] %}{% endfor %}{{ ns.a == ns.b }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m(n) %}{{ m(n) ~ m(n) }}{% endmacro %}{{ m(1) }}",
        "{% set s = 'a' * 1000000 %}{% for i in range(1000000) %}{{ 'b' in s }}{% endfor %}",
        "{% set s = 'a' * 1000000 %}{% for i in range(1000000) %}{{ s }}{% endfor %}",
        "{% set s = 'ab' * 100000 %}{{ s.replace('a', s) }}",
        "{{ ('ab' * 100000) | replace('a', 'b' * 1000000) }}",
        "{{ ' ' | indent(1000000000) }}",
        "{% for i in range(100000) %}{{ {'a': i} | tojson(indent=99) }}{% endfor %}",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        err_t err = {0};
        str_t out = {0};
        double start = clock_mono_s();
        int status = render(sources[i], strlen(sources[i]), NULL, 0, &out, &err);
        double seconds = clock_mono_s() - start;
        bool bounded = status < 0 ? err.code == ERR_MEMORY || err.code == ERR_ARG ||
                                        err.code == ERR_UNSUPPORTED
                                  : out.n <= JINJA_OUTPUT_BYTES;
        if (!bounded) fail_msg("%s: %s", sources[i], err.text);
        if (seconds > 20) fail_msg("%s: %.1f s", sources[i], seconds);
        if (strstr(sources[i], "range(60)")) assert_int_equal(err.code, ERR_MEMORY);
        str_fini(&out);
    }
}

/* So many of one thing within or behind each other: an error or a text, and no overflow of the stack. */
static void test_deep(void **state)
{
    (void)state;
    static const struct {
        const char *head, *one, *middle, *close, *tail;
    } rows[] = {
        {"{{ ", "(", "1", ")", " }}"},
        {"{{ ", "[", "", "]", " }}"},
        {"{{ ", "not ", "1", "", " }}"},
        {"{{ ", "- ", "1", "", " }}"},
        {"{{ ", "{'a': ", "1", "}", " }}"},
        {"{{ 1", " + 1", "", "", " }}"},
        {"{{ a", ".b", "", "", " }}"},
        {"{{ a", "[0]", "", "", " }}"},
        {"{{ a", "|d", "", "", " }}"},
        {"{{ a", " is defined", "", "", " }}"},
        {"{{ 1", " < 2", "", "", " }}"},
        {"{{ 1", " if 1 else 1", "", "", " }}"},
        {"{{ a", "(", "", ")", " }}"},
        {"{{ 1", " and 1", "", "", " }}"},
        {"", "{% if 1 %}", "", "{% endif %}", ""},
        {"", "{% for a in 'a' %}", "", "{% endfor %}", ""},
        {"{% if 0 %}", "{% elif 0 %}", "", "", "{% endif %}"},
        {"{{ ", "'a' ", "", "", " }}"},
        {"", "{% set a = 1 %}", "", "", ""},
    };
    enum { MANY = 20000 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        str_t source = {0}, out = {0};
        err_t err = {0};
        str_add(&source, rows[i].head);
        for (int k = 0; k < MANY; k++) str_add(&source, rows[i].one);
        str_add(&source, rows[i].middle);
        for (int k = 0; k < MANY; k++) str_add(&source, rows[i].close);
        str_add(&source, rows[i].tail);
        int status = render(str_text(&source), source.n, NULL, 0, &out, &err);
        if (status < 0 && !*err.text) fail_msg("%s: no words", rows[i].one);
        if (rows[i].close[0]) assert_int_equal(status, -1);
        str_fini(&source);
        str_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_deep),
    };
    return cmocka_run_group_tests_name("jinja", tests, NULL, NULL);
}
