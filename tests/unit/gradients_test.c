/* Gradients of the programs of tests/gradients, each a section: against differences, first and
 * second order, and as compiled plans against the interpreter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"
#include "gradient_text.h"
#include "parse/parse.h"

static void check_section(void *context, const char *path, const parse_sections_t *s)
{
    (void)context;
    char what[300];
    char *text = strndup(s->at, s->n);
    assert_non_null(text);
    snprintf(what, sizeof what, "%s:%d", path, s->line);
    gradient_text_check(what, text, 0.2, 1.4);
    gradient_text_plan(what, text);
    free(text);
}

static void test_gradients(void **state)
{
    (void)state;
    assert_true(corpus_sections("tests/gradients", check_section, NULL) >= 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients)};
    return cmocka_run_group_tests_name("gradients", tests, NULL, NULL);
}
