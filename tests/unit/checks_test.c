/* The programs with expected values of tests/checks, every section by the interpreter and with what
 * it checks computed by a compiled plan. Values by hand, from the StableHLO specification. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "corpus.h"
#include "ops/check.h"
#include "parse/parse.h"
#include "runtime/check.h"

static int run_section(const parse_sections_t *s, const char *path, bool on_cpu)
{
    err_t err = {0};
    ir_module_t *module = parse_section(s->at, s->n, path, s->line, &err);
    int rc = -1;
    if (module) rc = on_cpu ? check_module_on_cpu(module, &err) : check_module(module, &err);
    if (rc != 0) print_error("%s, %s: %s\n", path, on_cpu ? "cpu" : "interpreter", err.text);
    ir_module_destroy(&module);
    return rc;
}

static void test_checks(void **state)
{
    int n, n_section = 0, n_wrong = 0;
    char **files = corpus_list("tests/checks", ".mlir", &n);
    assert_non_null(files);
    for (int i = 0; i < n; i++) {
        err_t err = {0};
        size_t n_text;
        char *text = file_read(files[i], &n_text, &err);
        if (!text) fail_msg("%s", err.text);
        parse_sections_t s = parse_sections(text, n_text);
        while (parse_sections_next(&s)) {
            n_wrong += run_section(&s, files[i], *state != NULL) != 0;
            n_section++;
        }
        free(text);
    }
    corpus_free(files);
    print_message("%d sections\n", n_section);
    assert_true(n_section >= 20);
    assert_int_equal(n_wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"interpreter", test_checks, NULL, NULL, NULL},
        {"cpu", test_checks, NULL, NULL, "cpu"},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
