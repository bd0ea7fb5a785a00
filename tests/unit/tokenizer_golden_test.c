/* Byte-level tokenizers against ids that another implementation made (tests/golden/tokenizer), over
 * a hostile corpus; tokens give the text back; invalid UTF-8; hostile files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/utf8.h"
#include "temp.h"
#include "text/tokenizer.h"
#include "text/utf8_stream.h"
#include "text/words.h"

#define GOLDEN "tests/golden/tokenizer/"

static json_t *load(const char *name)
{
    char path[128];
    json_error_t where;
    snprintf(path, sizeof path, GOLDEN "%s.json", name);
    json_t *json = json_load_file(path, JSON_ALLOW_NUL, &where);
    if (!json) fail_msg("%s: line %d: %s", path, where.line, where.text);
    return json;
}

/* base.json with the variant's parts; those of the model one by one. */
static tokenizer_t *compose(const json_t *base, const json_t *change)
{
    json_t *all = json_deep_copy(base), *rest = json_deep_copy(change);
    json_object_update(json_object_get(all, "model"), json_object_get(rest, "model"));
    json_object_del(rest, "model");
    json_object_update(all, rest);
    char *text = json_dumps(all, 0);
    err_t err = {0};
    tokenizer_t *t = tokenizer_parse(text, &err);
    if (!t) fail_msg("%s", err.text);
    free(text);
    json_decref(all);
    json_decref(rest);
    return t;
}

/* How many tokens differ from the wanted ones; the first is shown. */
static size_t compare(const tokenizer_t *t, const char *name, const json_t *text,
                      const json_t *want)
{
    err_t err = {0};
    size_t n;
    uint32_t *got = tokenizer_encode(t, json_string_value(text), json_string_length(text), &n,
                                     &err);
    if (!got) fail_msg("%s: %s", name, err.text);
    size_t n_want = json_array_size(want), i = 0;
    while (i < n && i < n_want && got[i] == json_integer_value(json_array_get(want, i))) i++;
    bool same = i == n && i == n_want;
    if (!same)
        print_message("%s: \"%s\": token %zu of %zu is %lld, not %lld\n", name,
                      json_string_value(text), i, n, i < n ? (long long)got[i] : -1ll,
                      (long long)json_integer_value(json_array_get(want, i)));
    free(got);
    return !same;
}

static void test_golden(void **state)
{
    (void)state;
    json_t *base = load("base"), *texts = load("texts"), *variants = load("variants");
    json_t *all = load("ids"), *change, *text;
    const json_t *first = json_object_get(all, "gpt2");
    const char *name;
    size_t n_bad = 0, n_all = 0, i;
    json_object_foreach(variants, name, change)
    {
        tokenizer_t *t = compose(base, change);
        const json_t *ids = json_object_get(all, name);
        assert_int_equal(json_array_size(ids), json_array_size(texts));
        json_array_foreach(texts, i, text)
        {
            const json_t *want = json_array_get(ids, i);
            if (json_is_null(want)) want = json_array_get(first, i);
            n_bad += compare(t, name, text, want);
            n_all++;
        }
        tokenizer_destroy(&t);
    }
    print_message("%zu encodings of %zu texts\n", n_all, json_array_size(texts));
    assert_true(n_all >= 900);
    assert_int_equal(n_bad, 0);
    json_decref(base);
    json_decref(texts);
    json_decref(variants);
    json_decref(all);
}

/* --- what needs no reference --- */

static tokenizer_t *base_with(const char *change)
{
    json_error_t where;
    json_t *base = load("base"), *with = json_loads(change, 0, &where);
    if (!with) fail_msg("%s", where.text);
    tokenizer_t *t = compose(base, with);
    json_decref(base);
    json_decref(with);
    return t;
}

static void gives_back(const tokenizer_t *t, const char *text, size_t n)
{
    err_t err = {0};
    size_t n_tokens;
    str_t back = {0};
    uint32_t *tokens = tokenizer_encode(t, text, n, &n_tokens, &err);
    if (!tokens) fail_msg("%s", err.text);
    tokenizer_decode_text(t, tokens, n_tokens, &back);
    assert_int_equal(back.n, n);
    if (n) assert_memory_equal(back.at, text, n);
    str_fini(&back);
    free(tokens);
}

/* Any bytes come back, valid UTF-8 or not. */
static void test_round_trip(void **state)
{
    (void)state;
    tokenizer_t *t = base_with("{}");
    json_t *texts = load("texts"), *text;
    size_t i;
    json_array_foreach(texts, i, text)
        gives_back(t, json_string_value(text), json_string_length(text));
    for (uint64_t k = 0; k < 200; k++) {
        char bytes[64];
        for (uint64_t j = 0; j < 64; j++)
            bytes[j] = (char)(rng_bits(k, j) >> (k % 2 ? 0 : 1) & (k % 2 ? 0xFF : 0x7F));
        gives_back(t, bytes, (size_t)(rng_bits(k, 99) % 65));
    }
    tokenizer_destroy(&t);
    json_t *base = load("base"), *variants = load("variants");
    t = compose(base, json_object_get(variants, "llama2"));
    json_array_foreach(texts, i, text)
        gives_back(t, json_string_value(text), json_string_length(text));
    json_decref(base);
    json_decref(variants);
    json_decref(texts);
    tokenizer_destroy(&t);
}

static void encodes(const tokenizer_t *t, const char *text, const char *want)
{
    err_t err = {0};
    size_t n;
    str_t got = {0};
    uint32_t *tokens = tokenizer_encode(t, text, strlen(text), &n, &err);
    if (!tokens) fail_msg("%s", err.text);
    str_add(&got, "");
    for (size_t i = 0; i < n; i++) {
        str_add(&got, i ? "|" : "");
        tokenizer_decode(t, tokens[i], &got);
    }
    assert_string_equal(got.at, want);
    str_fini(&got);
    free(tokens);
}

/* Bytes that are no UTF-8 are words of their own: the text around them is as it is without them. */
static void test_invalid_utf8(void **state)
{
    (void)state;
    tokenizer_t *t = base_with("{}");
    err_t err = {0};
    size_t n, n_left, n_right;
    uint32_t *all = tokenizer_encode(t, "Hello\xC3world", 11, &n, &err);
    uint32_t *left = tokenizer_encode(t, "Hello", 5, &n_left, &err);
    uint32_t *right = tokenizer_encode(t, "world", 5, &n_right, &err);
    assert_int_equal(n, n_left + 1 + n_right);
    assert_memory_equal(all, left, n_left * sizeof *all);
    assert_memory_equal(all + n_left + 1, right, n_right * sizeof *all);
    free(all);
    free(left);
    free(right);
    tokenizer_destroy(&t);
}

/* Oniguruma's white space: U+0085 is some, U+180E and U+FEFF are none. single_word: the reference
 * does not know it. */
static void test_by_hand(void **state)
{
    (void)state;
    tokenizer_t *t = base_with(
        "{\"model\":{\"vocab\":{\"a\":0,\"b\":1,\"\xC4\xA0\":2,\"\xC3\x82\":3,\"\xC4\xA7\":4,"
        "\"\xC3\xA1\":5,\"\xC5\x82\":6,\"\xC4\xB0\":7,\"\xC4\xA0\xC4\xA0\":8,\"!\":9,"
        "\"!\xC3\x82\":10,\"!\xC3\xA1\":11,\"!\xC3\xAF\":12,\"\xC3\xAF\":13,\"\xC2\xBB\":14,"
        "\"\xC2\xBF\":15},\"merges\":[[\"\xC4\xA0\",\"\xC4\xA0\"],[\"!\",\"\xC3\x82\"],"
        "[\"!\",\"\xC3\xA1\"],[\"!\",\"\xC3\xAF\"]]},"
        "\"added_tokens\":[{\"id\":20,\"content\":\"ab\",\"single_word\":true}]}");
    encodes(t, "a  b", "a| | |b");
    encodes(t, "ab", "ab");
    encodes(t, "aab abb ab a", "a|a|b| |a|b|b| |ab| |a");
    encodes(t, "   a", "  | |a");
    encodes(t, "!\xC2\x85", "!|\xC2|\x85");
    encodes(t, "!\xE1\xA0\x8E", "!\xE1|\xA0|\x8E");
    encodes(t, "!\xEF\xBB\xBF", "!\xEF|\xBB|\xBF");
    tokenizer_destroy(&t);
}

/* A merge that joins a character with the blank behind it: then words are not cut there. */
static void test_crossing(void **state)
{
    (void)state;
    tokenizer_t *t = base_with(
        "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},"
        "\"content\":\"\xE2\x96\x81\"},\"pre_tokenizer\":null,\"decoder\":null,"
        "\"post_processor\":null,\"added_tokens\":[],\"model\":{\"byte_fallback\":true,"
        "\"vocab\":{\"a\":0,\"\xE2\x96\x81\":1,\"a\xE2\x96\x81\":2,\"<0x62>\":3,"
        "\"\xE2\x96\x81\xE2\x96\x81\":4},\"merges\":[[\"\xE2\x96\x81\",\"\xE2\x96\x81\"],"
        "[\"a\",\"\xE2\x96\x81\"]]}}");
    encodes(t, "a ab  a", "a |a|b|  |a");
    tokenizer_destroy(&t);
}

/* A word of the vocabulary that no merge makes; what stands around a text. */
static void test_whole_and_framed(void **state)
{
    (void)state;
    for (int ignore = 0; ignore < 2; ignore++) {
        char change[512];
        snprintf(change, sizeof change,
                 "{\"model\":{\"ignore_merges\":%s,\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},"
                 "\"merges\":[]},\"added_tokens\":[],\"post_processor\":{\"type\":"
                 "\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"s\"}},"
                 "{\"Sequence\":{\"id\":\"A\"}},{\"SpecialToken\":{\"id\":\"e\"}}],"
                 "\"special_tokens\":{\"s\":{\"ids\":[1]},\"e\":{\"ids\":[2,0]}}}}",
                 ignore ? "true" : "false");
        tokenizer_t *t = base_with(change);
        encodes(t, "ab", ignore ? "ab" : "a|b");
        size_t n;
        const uint32_t *ids = tokenizer_before(t, &n);
        assert_int_equal(n, 1);
        assert_int_equal(ids[0], 1);
        ids = tokenizer_behind(t, &n);
        assert_int_equal(n, 2);
        assert_int_equal(ids[0], 2);
        assert_int_equal(ids[1], 0);
        tokenizer_destroy(&t);
    }
}

/* Hugging Face's own example of what becomes of a match. */
static int note_word(void *user, const char *word, size_t n, err_t *err)
{
    (void)err;
    str_addn(user, word, n);
    str_add(user, "|");
    return 0;
}

static void test_cuts(void **state)
{
    (void)state;
    static const struct {
        cut_t cut;
        bool invert;
        const char *want;
    } cases[] = {{CUT_REMOVED, false, "the|final|countdown|"},
                 {CUT_ISOLATED, false, "the|-|final|-|-|countdown|"},
                 {CUT_WITH_PREVIOUS, false, "the-|final-|-|countdown|"},
                 {CUT_WITH_NEXT, false, "the|-final|-|-countdown|"},
                 {CUT_CONTIGUOUS, false, "the|-|final|--|countdown|"},
                 {CUT_REMOVED, true, "-|-|-|"}};
    pattern_scan_t *scan = pattern_scan_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t err = {0};
        str_t got = {0};
        words_t *words = words_new();
        pattern_t *pattern = pattern_new("-", 1, true, &err);
        assert_int_equal(words_add_split(words, pattern, cases[i].cut, cases[i].invert, &err), 0);
        assert_int_equal(words_cut(words, scan, "the-final--countdown", 20, note_word, &got, &err),
                         0);
        assert_string_equal(got.at, cases[i].want);
        str_fini(&got);
        words_destroy(&words);
    }
    pattern_scan_destroy(&scan);
}

static const char *refusal(const char *change)
{
    static err_t err;
    json_t *base = load("base"), *with = json_loads(change, 0, NULL);
    assert_non_null(with);
    json_object_update_recursive(base, with);
    char *text = json_dumps(base, 0);
    err_clear(&err);
    tokenizer_t *t = tokenizer_parse(text, &err);
    assert_null(t);
    free(text);
    json_decref(base);
    json_decref(with);
    return err.text;
}

static void test_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *change, *why;
    } cases[] = {
        {"{\"model\":{\"type\":\"Unigram\"}}", "Unigram"},
        {"{\"model\":{\"byte_fallback\":true,\"ignore_merges\":true}}", "byte_fallback"},
        {"{\"model\":{\"byte_fallback\":true}}", "ByteLevel"},
        {"{\"model\":{\"vocab\":{\"zz\":-1}}}", "zz"},
        {"{\"model\":{\"vocab\":{\"zz\":999999}}}", "999999"},
        {"{\"model\":{\"vocab\":{\"zz\":3}}}", "has two words"},
        {"{\"model\":{\"merges\":[[\"a\",\"\"]]}}", "merges[0]"},
        {"{\"model\":{\"merges\":[\"q q q\"]}}", "merges[0]"},
        {"{\"model\":{\"merges\":7}}", "merges"},
        {"{\"pre_tokenizer\":{\"type\":\"Metaspace\"}}", "Metaspace"},
        {"{\"pre_tokenizer\":null}", "no ByteLevel"},
        {"{\"normalizer\":{\"type\":\"Nmt\"}}", "Nmt"},
        {"{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(\"},\"content\":\"\"}}",
         "pattern is wrong"},
        {"{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\h\"}}}", "\\h"},
        {"{\"decoder\":{\"type\":\"WordPiece\"}}", "WordPiece"},
        {"{\"post_processor\":{\"type\":\"BertProcessing\"}}", "BertProcessing"},
        {"{\"added_tokens\":[{\"id\":1,\"content\":\"\"}]}", "added_tokens[0]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = refusal(cases[i].change);
        if (!strstr(why, cases[i].why)) fail_msg("%s: %s", cases[i].change, why);
    }
}

/* A pattern that tries everything ends with an error instead of in a thousand years; the text is a
 * word of 2 MB elsewhere, which takes n log n. */
static void test_hostile_patterns(void **state)
{
    (void)state;
    tokenizer_t *t = base_with(
        "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
        "\"pattern\":{\"Regex\":\"(a+a+a+)+[xyz]\"},\"behavior\":\"Isolated\"},{\"type\":"
        "\"ByteLevel\","
        "\"use_regex\":false}]}}");
    char *text = malloc(2 << 20);
    memset(text, 'a', 2 << 20);
    err_t err = {0};
    size_t n;
    assert_null(tokenizer_encode(t, text, 64, &n, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "(a+a+a+)+[xyz]"));
    tokenizer_destroy(&t);
    t = base_with("{}");
    gives_back(t, text, 2 << 20);
    memset(text, ' ', 2 << 20);
    gives_back(t, text, 2 << 20);
    free(text);
    tokenizer_destroy(&t);
}

/* 10 MB of merges of words that are not there: an error, soon. */
static void test_many_merges(void **state)
{
    (void)state;
    str_t text = {0};
    err_t err = {0};
    str_add(&text, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"aa\":1},\"merges\":[");
    while (text.n < 10 << 20) str_add(&text, "[\"a\",\"a\"],");
    str_add(&text, "[\"a\",\"b\"]]},\"pre_tokenizer\":{\"type\":\"ByteLevel\"}}");
    assert_null(tokenizer_parse(text.at, &err));
    assert_non_null(strstr(err.text, "not in the vocabulary"));
    str_fini(&text);
}

/* The same tokens from GPT-2's pair of files, a directory of them, and what print wrote. */
static void test_files(void **state)
{
    (void)state;
    json_t *base = load("base"), *model = json_object_get(base, "model"), *merge;
    char *dir = temp_dir(), *vocab = json_dumps(json_object_get(model, "vocab"), 0);
    str_t merges = {0};
    size_t i, n[3];
    str_add(&merges, "#version: 0.2\n");
    json_array_foreach(json_object_get(model, "merges"), i, merge)
        str_addf(&merges, "%s %s\r\n", json_string_value(json_array_get(merge, 0)),
                 json_string_value(json_array_get(merge, 1)));
    temp_write(temp_path(dir, "vocab.json"), vocab, strlen(vocab));
    temp_write(temp_path(dir, "merges.txt"), merges.at, merges.n);
    err_t err = {0};
    tokenizer_t *of[3] = {base_with("{}"), tokenizer_open(dir, &err), NULL};
    if (!of[1]) fail_msg("%s", err.text);
    char *printed = tokenizer_print(of[1]);
    of[2] = tokenizer_parse(printed, &err);
    if (!of[2]) fail_msg("%s", err.text);
    const char *text = "Hello world: 12 <|endoftext|>\n  cats";
    uint32_t *ids[3];
    for (int k = 0; k < 3; k++) {
        ids[k] = tokenizer_encode(of[k], text, strlen(text), &n[k], &err);
        assert_int_equal(n[k], n[0]);
        assert_memory_equal(ids[k], ids[0], n[0] * sizeof *ids[0]);
    }
    assert_true(tokenizer_is_special(of[1], 0));
    for (int k = 0; k < 3; k++) free(ids[k]), tokenizer_destroy(&of[k]);
    assert_null(tokenizer_open(temp_path(dir, "merges.txt"), &err));
    assert_non_null(strstr(err.text, "merges.txt"));
    temp_remove(&dir);
    free(vocab);
    free(printed);
    str_fini(&merges);
    json_decref(base);
}

static void test_utf8_stream(void **state)
{
    (void)state;
    static const struct {
        const char *in, *want;
    } cases[] = {{"na\xC3\xAFve \xE2\x82\xAC \xF0\x9F\x98\x80",
                  "na\xC3\xAFve \xE2\x82\xAC \xF0\x9F\x98\x80"},
                 {"\xE2\x82 x", "\xEF\xBF\xBD x"},
                 {"\xF0\x9F\x98", "\xEF\xBF\xBD"},
                 {"\xE0\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
                 {"\xF0\x9F\xC3\xAF", "\xEF\xBF\xBD\xC3\xAF"},
                 {"\x80\xFF", "\xEF\xBF\xBD\xEF\xBF\xBD"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        utf8_stream_t stream = {0};
        str_t out = {0};
        for (const char *p = cases[i].in; *p; p++) {
            utf8_stream_add(&stream, p, 1, &out);
            for (size_t at = 0, used; at < out.n; at += used)
                assert_true((used = utf8_next(out.at + at, out.n - at, NULL)) > 0);
        }
        utf8_stream_end(&stream, &out);
        assert_string_equal(out.at, cases[i].want);
        str_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_invalid_utf8),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_whole_and_framed),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_crossing),
        cmocka_unit_test(test_refused_by_name),
        cmocka_unit_test(test_hostile_patterns),
        cmocka_unit_test(test_many_merges),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_utf8_stream),
    };
    return cmocka_run_group_tests_name("tokenizer_golden", tests, NULL, NULL);
}
