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

#include "base/file.h"
#include "corpus.h"
#include "gradient_text.h"
#include "parse/parse.h"

static void check_section(const parse_sections_t *s, const char *path)
{
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
    int n, n_section = 0;
    char **files = corpus_list("tests/gradients", ".mlir", &n);
    assert_non_null(files);
    for (int i = 0; i < n; i++) {
        err_t err = {0};
        size_t n_text;
        char *text = file_read(files[i], &n_text, &err);
        if (!text) fail_msg("%s", err.text);
        parse_sections_t s = parse_sections(text, n_text);
        for (; parse_sections_next(&s); n_section++) check_section(&s, files[i]);
        free(text);
    }
    corpus_free(files);
    print_message("%d sections\n", n_section);
    assert_true(n_section >= 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients)};
    return cmocka_run_group_tests_name("gradients", tests, NULL, NULL);
}
