/* Replays the parser's fuzz corpus (inputs that once failed, and one of each construct), and every
 * input again with each attribute's value replaced by values of other kinds: type rules and printer
 * must refuse or keep what they do not expect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"
#include "parse/lex.h"

#include "../fuzz/parse_fuzz.c"

static const char corpus[] = "tests/fuzz/corpus/parse";

static void test_corpus(void **state)
{
    (void)state;
    int n = corpus_each(corpus, LLVMFuzzerTestOneInput);
    print_message("%d inputs\n", n);
    assert_true(n > 0);
}

/* The end of the value that starts at `at`: a comma or closing bracket outside of brackets. */
static const char *value_end(const char *at, const char *end)
{
    while (at && at < end && !strchr(",})]", *at) && *at != '>') {
        bool opens = strchr("([{<", *at) != NULL;
        at = *at == '"' ? lex_skip_string(at, end) : opens ? lex_skip_balanced(at, end) : at + 1;
    }
    return at;
}

static void try_instead(const char *text, const char *from, const char *to, const char *end,
                        const char *value)
{
    str_t s = {0};
    str_addn(&s, text, (size_t)(from - text));
    str_add(&s, value);
    str_addn(&s, to, (size_t)(end - to));
    LLVMFuzzerTestOneInput((const uint8_t *)s.at, s.n);
    str_fini(&s);
}

static int odd_values(const uint8_t *data, size_t n)
{
    static const char *const values[] = {"-1",
                                         "9223372036854775807 : i64",
                                         "\"s\"",
                                         "[]",
                                         "array<i64: 0>",
                                         "array<i64: 1, 0>",
                                         "array<i64: -1, 5, 0>",
                                         "[0, 99]",
                                         "true",
                                         "@g",
                                         "#stablehlo<some WORD>",
                                         "1.5 : f32",
                                         "dense<1.0> : tensor<2xf32>",
                                         "dense<3> : tensor<4xi64>",
                                         "unit",
                                         "{a}",
                                         "[\"x\", 1]",
                                         "#d.raw<x>",
                                         "tensor<2xf32>"};
    const char *text = (const char *)data, *end = text + n;
    for (const char *at = text; at + 2 < end; at++) {
        if (memcmp(at, "= ", 2) != 0) continue;
        const char *behind = value_end(at + 2, end);
        if (!behind) continue;
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            try_instead(text, at + 2, behind, end, values[i]);
    }
    return 0;
}

static void test_odd_values(void **state)
{
    (void)state;
    assert_true(corpus_each(corpus, odd_values) > 0);
}

/* Texts as exporters write them: the same two ways. */
static void export_section(void *context, const char *path, const parse_sections_t *s)
{
    (void)context, (void)path;
    LLVMFuzzerTestOneInput((const uint8_t *)s->at, s->n);
    odd_values((const uint8_t *)s->at, s->n);
}

static void test_exports(void **state)
{
    (void)state;
    assert_true(corpus_sections("tests/golden/exports", export_section, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_odd_values),
        cmocka_unit_test(test_exports),
    };
    return cmocka_run_group_tests_name("parse_fuzz", tests, NULL, NULL);
}
