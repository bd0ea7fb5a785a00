/* infer: does a tokenizer fit a model's vocabulary? What writers write is told by infer_test, generate.sh and gateway.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "infer/writer.h"

/* As many scores as tokens are enough, and more may be: tables of embeddings are rounded up. */
static void test_fits(void **state)
{
    (void)state;
    err_t err = {0};
    tokenizer_t *three = tokenizer_new("char", "abcabc", 6, &err), *bytes = NULL;
    bytes = tokenizer_new("byte", "", 0, &err);
    assert_true(three && bytes);
    assert_int_equal(tokenizer_vocab(three), 3);
    assert_int_equal(writer_fits(three, 3, &err), 0);
    assert_int_equal(writer_fits(three, 64, &err), 0);
    assert_int_equal(writer_fits(bytes, 256, &err), 0);
    assert_int_equal(err.code, ERR_OK);
    assert_int_equal(writer_fits(three, 2, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    assert_string_equal(
        err.text, "its tokenizer (char) has 3 tokens, but the vocabulary of its model.mlir 2");
    assert_int_equal(writer_fits(bytes, 255, &err), -1);
    assert_non_null(strstr(err.text, "(byte) has 256 tokens"));
    assert_int_equal(writer_fits(bytes, 0, NULL), -1);
    tokenizer_destroy(&three);
    tokenizer_destroy(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
