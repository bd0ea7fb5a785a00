/* Tokenizers: round trips, vocabularies, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "text/tokenizer.h"

static void round_trip(const tokenizer_t *t, const char *text, size_t n, size_t want_tokens)
{
    err_t err = {0};
    size_t n_tokens;
    uint32_t *tokens = tokenizer_encode(t, text, n, &n_tokens, &err);
    if (!tokens) fail_msg("%s", err.text);
    assert_int_equal(n_tokens, want_tokens);
    str_t back = {0};
    for (size_t i = 0; i < n_tokens; i++) {
        assert_true(tokens[i] < (uint32_t)tokenizer_vocab(t));
        tokenizer_decode(t, tokens[i], &back);
    }
    assert_int_equal(back.n, n);
    assert_memory_equal(str_text(&back), text, n);
    str_fini(&back);
    free(tokens);
}

static void test_char(void **state)
{
    (void)state;
    err_t err = {0};
    const char *text =
        "na\xC3\xAFve \xE2\x82\xAC \xF0\x9F\x98\x80 naive"; /* 2, 3 and 4 byte forms */
    tokenizer_t *t = tokenizer_new("char", text, strlen(text), &err);
    assert_non_null(t);
    assert_int_equal(tokenizer_vocab(t), 9); /* blank a e i n v U+EF U+20AC U+1F600 */
    round_trip(t, text, strlen(text), 15);

    char *json = tokenizer_print(t);
    tokenizer_t *again = tokenizer_parse(json, &err);
    assert_non_null(again);
    round_trip(again, text, strlen(text), 15);
    free(json);

    size_t n;
    assert_null(tokenizer_encode(t, "nav x", 5, &n, &err));
    assert_non_null(strstr(err.text, "'x' (U+0078) at byte 4"));
    tokenizer_destroy(&t);
    tokenizer_destroy(&again);
}

static void test_char_symbols_are_sorted(void **state)
{
    (void)state;
    err_t err = {0};
    tokenizer_t *t = tokenizer_new("char", "cab", 3, &err);
    size_t n;
    uint32_t *tokens = tokenizer_encode(t, "abc", 3, &n, &err);
    for (int i = 0; i < 3; i++) assert_int_equal(tokens[i], i);
    free(tokens);
    tokenizer_destroy(&t);
}

static void test_not_utf8(void **state)
{
    (void)state;
    const char *bad[] = {"a\xFF",        "a\xC3", "a\xC0\x80", "a\xED\xA0\x80", "a\xF4\x90\x80\x80",
                         "a\xE2\x28\xA1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err_t err = {0};
        assert_null(tokenizer_new("char", bad[i], strlen(bad[i]), &err));
        assert_non_null(strstr(err.text, "byte 1 is not UTF-8"));
    }
}

static void test_byte(void **state)
{
    (void)state;
    err_t err = {0};
    tokenizer_t *t = tokenizer_new("byte", NULL, 0, &err);
    char all[256];
    for (int i = 0; i < 256; i++) all[i] = (char)i;
    round_trip(t, all, 256, 256);
    tokenizer_destroy(&t);
}

static void test_raw(void **state)
{
    (void)state;
    err_t err = {0};
    tokenizer_t *t = tokenizer_new("raw", NULL, 0, &err);
    size_t n;
    uint32_t *tokens = tokenizer_encode(t, "\x01\x02\xFF\xFF", 4, &n, &err);
    assert_int_equal(n, 2);
    assert_int_equal(tokens[0], 0x0201);
    assert_int_equal(tokens[1], 0xFFFF);
    free(tokens);
    assert_null(tokenizer_encode(t, "abc", 3, &n, &err));
    tokenizer_destroy(&t);
}

static void test_bad_json(void **state)
{
    (void)state;
    const char *bad[] = {"", "[]", "{}", "{\"kind\": \"char\"}", "{\"kind\": \"word\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err_t err = {0};
        assert_null(tokenizer_parse(bad[i], &err));
        assert_true(err.text[0] != '\0');
    }
}

/* A text by parts is the text as a whole; offsets in errors are those of the whole. */
static void test_parts(void **state)
{
    (void)state;
    enum { BYTES = 500000 };
    char *text = malloc(BYTES);
    for (int i = 0; i < BYTES; i++) text[i] = (char)('a' + i * 7 % 26);
    memcpy(text + 1000, "\xc3\xa9", 2);
    static const char *const kinds[] = {"char", "byte", "raw"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        err_t err = {0};
        tokenizer_t *t = tokenizer_new(kinds[k], text, BYTES, &err);
        size_t n;
        uint32_t *whole = tokenizer_encode(t, text, BYTES, &n, &err);
        assert_non_null(whole);
        tokens_t parts = {0};
        tokenizer_encoder_t *encoder = tokenizer_encoder_new(t);
        for (size_t at = 0; at < BYTES; at += 4000)
            assert_int_equal(tokenizer_encoder_add(encoder, text + at, 4000, at, &parts, &err), 0);
        assert_int_equal(parts.n, n);
        assert_memory_equal(parts.at, whole, n * sizeof *whole);
        if (k == 0) {
            assert_int_equal(tokenizer_encoder_add(encoder, "ab\xff", 3, 70, &parts, &err), -1);
            assert_non_null(strstr(err.text, "byte 72 is not UTF-8"));
        }
        tokenizer_encoder_destroy(&encoder);
        VEC_FREE(&parts);
        free(whole);
        tokenizer_destroy(&t);
    }
    free(text);
}

/* Symbols that several collect are those of one. */
static void test_symbols(void **state)
{
    (void)state;
    err_t err = {0};
    tokenizer_symbols_t *a = tokenizer_symbols_new(), *b = tokenizer_symbols_new();
    assert_int_equal(tokenizer_symbols_add(a, "zebra", 5, 0, &err), 0);
    assert_int_equal(tokenizer_symbols_add(b, "\xc3\xa9t", 3, 0, &err), 0);
    assert_int_equal(tokenizer_symbols_add(b, "t\x80", 2, 9, &err), -1);
    assert_non_null(strstr(err.text, "byte 10 is not UTF-8"));
    tokenizer_symbols_take(a, b);
    tokenizer_t *t = tokenizer_new_char(a, &err),
                *one = tokenizer_new("char", "zebrat\xc3\xa9", 8, &err);
    char *x = tokenizer_print(t), *y = tokenizer_print(one);
    assert_string_equal(x, y);
    free(x);
    free(y);
    tokenizer_destroy(&t);
    tokenizer_destroy(&one);
    tokenizer_symbols_destroy(&a);
    tokenizer_symbols_destroy(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_char),     cmocka_unit_test(test_char_symbols_are_sorted),
        cmocka_unit_test(test_not_utf8), cmocka_unit_test(test_byte),
        cmocka_unit_test(test_raw),      cmocka_unit_test(test_bad_json),
        cmocka_unit_test(test_parts),    cmocka_unit_test(test_symbols),
    };
    return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
