/* The files beside a published tokenizer, which say how to speak with its model: they come along, go out again byte for
 * byte, and chats are rendered by them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "serve/chat.h"
#include "temp.h"
#include "text/tokenizer.h"

static const char TOKENIZER[] =
    "{\"version\": \"1.0\", \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": "
    "2}, \"merges\": [[\"a\", \"b\"]]}, \"added_tokens\": [{\"id\": 3, \"content\": "
    "\"<|im_start|>\", \"special\": true}], \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
    "\"add_prefix_space\": false, \"use_regex\": true}}";

static void put(const char *dir, const char *name, const char *text)
{
    temp_write(temp_path(dir, name), text, strlen(text));
}

/* A directory's tokenizer, printed and read again as a run does with it. */
static tokenizer_t *through_a_run(const char *path, char **printed)
{
    err_t err = {0};
    tokenizer_t *first = tokenizer_open(path, &err);
    if (!first) fail_msg("%s", err.text);
    *printed = tokenizer_print(first);
    tokenizer_destroy(&first);
    tokenizer_t *again = tokenizer_parse(*printed, &err);
    if (!again) fail_msg("%s", err.text);
    return again;
}

static void same_file(const char *a, const char *b)
{
    err_t err = {0};
    size_t n_a = 0, n_b = 0;
    char *x = file_read(a, &n_a, &err), *y = file_read(b, &n_b, &err);
    if (!x || !y) fail_msg("%s", err.text);
    assert_int_equal(n_a, n_b);
    assert_memory_equal(x, y, n_a);
    free(x);
    free(y);
}

/* Bytes that a JSON printer would change: breaks, escapes, order, spacing, a byte order mark. */
static const char CONFIG[] = "\xEF\xBB\xBF{ \"z\":1.50,\r\n\t\"a\" : \"\\u00e9\\/\xC3\xA9\" }\n\n";
static const char CHAT[] = "{{ '\xE2\x80\xA8\\n' }}\r\n\x7F\t{#- \"x\" -#}";

static void test_they_travel(void **state)
{
    (void)state;
    char *dir = temp_dir(), *out = temp_dir(), *printed = NULL;
    err_t err = {0};
    put(dir, "tokenizer.json", TOKENIZER);
    put(dir, TOKENIZER_CONFIG, CONFIG);
    put(dir, TOKENIZER_CHAT, CHAT);
    static const char *const paths[] = {"", "tokenizer.json"};
    for (size_t i = 0; i < 2; i++) {
        tokenizer_t *t = through_a_run(temp_path(dir, paths[i]), &printed);
        assert_string_equal(tokenizer_beside(t, TOKENIZER_CONFIG), CONFIG);
        assert_string_equal(tokenizer_beside(t, TOKENIZER_CHAT), CHAT);
        assert_null(tokenizer_beside(t, "tokenizer.json"));
        if (tokenizer_publish(printed, out, &err) < 0) fail_msg("%s", err.text);
        same_file(temp_path(dir, TOKENIZER_CONFIG), temp_path(out, TOKENIZER_CONFIG));
        same_file(temp_path(dir, TOKENIZER_CHAT), temp_path(out, TOKENIZER_CHAT));
        tokenizer_destroy(&t);
        free(printed);
    }
    /* What goes out comes in again, and is a published tokenizer.json without anything of ours. */
    size_t n = 0;
    char *text = file_read(temp_path(out, "tokenizer.json"), &n, &err);
    assert_non_null(text);
    assert_null(strstr(text, "beside"));
    assert_non_null(strstr(text, "\"version\":\"1.0\""));
    free(text);
    char *again = NULL;
    tokenizer_t *t = through_a_run(dir, &printed), *u = through_a_run(out, &again);
    assert_string_equal(printed, again);
    tokenizer_destroy(&t);
    tokenizer_destroy(&u);
    free(printed);
    free(again);
    temp_remove(&dir);
    temp_remove(&out);
}

/* A run's own tokenizer.json keeps what it has; without such files it stays what it was. */
static void test_a_runs_own(void **state)
{
    (void)state;
    char *dir = temp_dir(), *plain = temp_dir(), *printed = NULL, *bare = NULL;
    put(plain, "tokenizer.json", TOKENIZER);
    tokenizer_t *t = through_a_run(plain, &bare);
    assert_null(strstr(bare, "beside"));
    assert_null(tokenizer_beside(t, TOKENIZER_CONFIG));
    tokenizer_destroy(&t);
    put(plain, TOKENIZER_CONFIG, "{}");
    t = through_a_run(plain, &printed);
    tokenizer_destroy(&t);
    put(dir, "tokenizer.json", printed);
    put(dir, TOKENIZER_CONFIG, "{\"other\": 1}");
    free(printed);
    t = through_a_run(dir, &printed);
    assert_string_equal(tokenizer_beside(t, TOKENIZER_CONFIG), "{}");
    tokenizer_destroy(&t);
    free(printed);
    free(bare);
    temp_remove(&dir);
    temp_remove(&plain);
}

static void test_bad_files(void **state)
{
    (void)state;
    char *dir = temp_dir();
    err_t err = {0};
    put(dir, "tokenizer.json", TOKENIZER);
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {{"{\"a\": \"\xFF\"}", 10}, {"{}\0{}", 5}};
    for (size_t i = 0; i < 2; i++) {
        temp_write(temp_path(dir, TOKENIZER_CONFIG), bad[i].bytes, bad[i].n);
        assert_null(tokenizer_open(dir, &err));
        assert_int_equal(err.code, ERR_PARSE);
        assert_non_null(strstr(err.text, "tokenizer_config.json is no UTF-8 text"));
    }
    static const char *const foreign[] = {"7", "{\"x\": \"\"}",
                                          "{\"tokenizer_config.json\": {\"a\": 1}}"};
    for (size_t i = 0; i < 3; i++) {
        char text[sizeof TOKENIZER + 100];
        snprintf(text, sizeof text, "%.*s, \"pcp.beside\": %s}", (int)sizeof TOKENIZER - 2,
                 TOKENIZER, foreign[i]);
        assert_null(tokenizer_parse(text, &err));
        assert_non_null(strstr(err.text, "pcp.beside is no object of"));
        assert_int_equal(tokenizer_publish(text, dir, &err), -1);
    }
    tokenizer_t *t = tokenizer_new("byte", NULL, 0, &err);
    char *printed = tokenizer_print(t);
    assert_null(tokenizer_beside(t, TOKENIZER_CONFIG));
    temp_remove(&dir);
    dir = temp_dir();
    assert_int_equal(tokenizer_publish(printed, dir, &err), 0);
    assert_int_equal(temp_count(dir), 0);
    tokenizer_destroy(&t);
    free(printed);
    temp_remove(&dir);
}

/* --- chats --- */

/* The template of a model that has these files; NULL: there is none, or it is refused (err). */
static chat_template_t *chat_with(const char *config, const char *jinja, err_t *err)
{
    char *dir = temp_dir(), *printed = NULL;
    put(dir, "tokenizer.json", TOKENIZER);
    if (config) put(dir, TOKENIZER_CONFIG, config);
    if (jinja) put(dir, TOKENIZER_CHAT, jinja);
    tokenizer_t *t = through_a_run(dir, &printed);
    err_clear(err);
    chat_template_t *chat = chat_of_tokenizer(t, err);
    tokenizer_destroy(&t);
    free(printed);
    temp_remove(&dir);
    return chat;
}

static void test_own_templates(void **state)
{
    (void)state;
    static const struct {
        const char *config, *jinja, *name, *stop, *text;
    } rows[] = {
        {"{\"chat_template\": \"{{ bos_token }}{{ messages[0].content }}\", \"bos_token\": "
         "\"<s>\", "
         "\"eos_token\": {\"content\": \"</s>\"}}",
         NULL, TOKENIZER_CONFIG, "</s>", "<s>Hi"},
        {"{\"chat_template\": \"no\", \"bos_token\": \"<s>\"}", "{{ bos_token }}by file",
         TOKENIZER_CHAT, NULL, "<s>by file"},
        {NULL, "{{ messages[0].role }}", TOKENIZER_CHAT, NULL, "user"},
        {"{\"chat_template\": [{\"name\": \"rag\", \"template\": \"no\"}, {\"name\": \"default\", "
         "\"template\": \"yes\"}]}",
         NULL, TOKENIZER_CONFIG, NULL, "yes"},
    };
    request_message_t message = {.role = (char *)(uintptr_t) "user",
                                 .content = (char *)(uintptr_t) "Hi"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err_t err = {0};
        str_t text = {0};
        chat_template_t *chat = chat_with(rows[i].config, rows[i].jinja, &err);
        if (!chat) fail_msg("%zu: %s", i, err.text);
        assert_int_equal(chat_render(chat, &message, 1, 0, &text, &err), 0);
        assert_string_equal(str_text(&text), rows[i].text);
        assert_string_equal(chat_name(chat), rows[i].name);
        assert_true(chat_is_whole(chat));
        if (rows[i].stop)
            assert_string_equal(chat_stop(chat), rows[i].stop);
        else
            assert_null(chat_stop(chat));
        str_fini(&text);
        chat_destroy(&chat);
    }
}

static void test_none_and_refused(void **state)
{
    (void)state;
    static const struct {
        const char *config, *jinja, *why; /* NULL: there is none, and nothing is wrong */
    } rows[] = {
        {NULL, NULL, NULL},
        {"{\"eos_token\": \"</s>\"}", NULL, NULL},
        {"{\"chat_template\": null}", NULL, NULL},
        {"{\"chat_template\": \"a\\n{% include 'x' %}\"}", NULL,
         "line 2: the tag \"include\" is not known"},
        {NULL, "{{ x|xmlattr }}", "line 1: the filter \"xmlattr\""},
        {"{\"chat_template\": [{\"name\": \"rag\", \"template\": \"\"}]}", NULL,
         "no chat_template is there"},
        {"{\n\"chat_template\": ", NULL, "tokenizer_config.json: line 2"},
        {"[", "fine", "tokenizer_config.json: line 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err_t err = {0};
        assert_null(chat_with(rows[i].config, rows[i].jinja, &err));
        if (!rows[i].why)
            assert_int_equal(err.code, ERR_OK);
        else if (err.code == ERR_OK || !strstr(err.text, rows[i].why))
            fail_msg("%zu: \"%s\"", i, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_they_travel),      cmocka_unit_test(test_a_runs_own),
        cmocka_unit_test(test_bad_files),        cmocka_unit_test(test_own_templates),
        cmocka_unit_test(test_none_and_refused),
    };
    return cmocka_run_group_tests_name("template", tests, NULL, NULL);
}
