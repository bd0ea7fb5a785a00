/* Replays the parser's fuzz corpus: inputs that once crashed, and one of each construct. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "corpus.h"

#include "../fuzz/parse_fuzz.c"

static void test_corpus(void **state)
{
    (void)state;
    int n = corpus_each("tests/fuzz/corpus/parse", LLVMFuzzerTestOneInput);
    print_message("%d inputs\n", n);
    assert_true(n > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_corpus)};
    return cmocka_run_group_tests_name("parse_fuzz", tests, NULL, NULL);
}
