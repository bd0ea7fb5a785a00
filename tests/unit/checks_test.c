/* The programs with expected values of tests/checks, every section by the interpreter and with what
 * it checks computed by a compiled plan. Values by hand, from the StableHLO specification. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"
#include "ops/check_expect.h"
#include "parse/parse.h"
#include "refused.h"
#include "tools/check_compiled.h"

typedef struct {
    bool on_cpu;
    int n_wrong, n_refused;
} checks_t;

static void run_section(void *context, const char *path, const parse_sections_t *s)
{
    checks_t *checks = context;
    bool on_cpu = checks->on_cpu;
    err_t err = {0};
    ir_module_t *module = parse_section(s->at, s->n, path, s->line, &err);
    int rc = -1;
    if (module) rc = on_cpu ? check_module_on_cpu(module, &err) : check_module(module, &err);
    if (rc != 0) print_error("%s, %s: %s\n", path, on_cpu ? "cpu" : "interpreter", err.text);
    ir_module_destroy(&module);
    bool refused = on_cpu && rc < 0 && refused_by_name(&err);
    checks->n_refused += refused;
    checks->n_wrong += rc != 0 && !refused;
}

static void test_checks(void **state)
{
    checks_t checks = {.on_cpu = *state != NULL};
    assert_true(corpus_sections("tests/checks", run_section, &checks) >= 20);
    if (checks.n_refused > 0) print_message("%d refused by name\n", checks.n_refused);
    assert_int_equal(checks.n_wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"interpreter", test_checks, NULL, NULL, NULL},
        {"cpu", test_checks, NULL, NULL, "cpu"},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
