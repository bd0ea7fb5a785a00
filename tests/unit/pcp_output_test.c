/* Lists as YAML: libyaml's reader, which shares no line with our writer's choices, gets the same values and kinds.
 * Tables: widths, what is missing, text that means harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ctype.h>
#include <yaml.h>

#include "pcp/output.h"

/* --- reading YAML 1.1, its core kinds by their patterns --- */

static bool is_word(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcasecmp(text, *words) == 0) return true;
    return false;
}

static json_t *plain(const char *text)
{
    static const char *const yes[] = {"y", "yes", "on", "true", NULL};
    static const char *const no[] = {"n", "no", "off", "false", NULL};
    static const char *const none[] = {"", "~", "null", NULL};
    static const char *const odd[] = {".inf", "-.inf", "+.inf", ".nan", "=", "<<", NULL};
    char *end;
    if (is_word(text, none)) return json_null();
    if (is_word(text, yes)) return json_true();
    if (is_word(text, no)) return json_false();
    assert_false(is_word(text, odd));
    long long integer = strtoll(text, &end, 10);
    if (!*end) return json_integer(integer);
    double real = strtod(text, &end);
    if (!*end && strchr(text, '.')) return json_real(real);
    assert_false(isdigit((unsigned char)*text)); /* a time, a base, an exponent without a point */
    return json_string(text);
}

static json_t *read_node(yaml_document_t *document, yaml_node_t *node)
{
    assert_non_null(node);
    if (node->type == YAML_SCALAR_NODE) {
        const char *text = (const char *)node->data.scalar.value;
        return node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? plain(text) : json_string(text);
    }
    if (node->type == YAML_SEQUENCE_NODE) {
        json_t *array = json_array();
        for (yaml_node_item_t *i = node->data.sequence.items.start;
             i < node->data.sequence.items.top; i++)
            json_array_append_new(array, read_node(document, yaml_document_get_node(document, *i)));
        return array;
    }
    json_t *object = json_object();
    for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
         p++) {
        json_t *key = read_node(document, yaml_document_get_node(document, p->key));
        assert_true(json_is_string(key));
        json_object_set_new(object, json_string_value(key),
                            read_node(document, yaml_document_get_node(document, p->value)));
        json_decref(key);
    }
    return object;
}

static json_t *read_yaml(const char *text, size_t n)
{
    yaml_parser_t parser;
    yaml_document_t document;
    assert_int_equal(yaml_parser_initialize(&parser), 1);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    if (!yaml_parser_load(&parser, &document)) fail_msg("%s in\n%s", parser.problem, text);
    json_t *value = read_node(&document, yaml_document_get_root_node(&document));
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    return value;
}

static void same_in_yaml(const char *json)
{
    char *text = NULL;
    size_t n = 0;
    json_error_t error;
    json_t *value = json_loads(json, JSON_DECODE_ANY, &error);
    if (!value) fail_msg("%s: %s", json, error.text);
    FILE *out = open_memstream(&text, &n);
    output_yaml(value, out);
    fclose(out);
    json_t *back = read_yaml(text, n);
    if (!json_equal(value, back)) fail_msg("%s became\n%s", json, text);
    json_decref(back);
    json_decref(value);
    free(text);
}

static void test_values(void **state)
{
    (void)state;
    static const char *const values[] = {
        "[]",
        "{}",
        "[[], {}, [[]]]",
        "[{\"run\": \"a\", \"loss\": 3.3265, \"n\": 12}]",
        "[true, false, null, 0, -5, 9223372036854775807]",
        "[1e20, 1e-7, 0.1, -2.5, 123456789.125, 1.7976931348623157e308, 3.0]",
        "{\"a\": {\"b\": {\"c\": [1, [2, {\"d\": \"e\"}]]}}}",
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) same_in_yaml(values[i]);
}

/* What a reader of YAML could take for something else. */
static const char *const texts[] = {"",
                                    " ",
                                    "a",
                                    "true",
                                    "False",
                                    "YES",
                                    "no",
                                    "y",
                                    "N",
                                    "on",
                                    "null",
                                    "~",
                                    "1",
                                    "-1",
                                    "1.5",
                                    "1e5",
                                    ".inf",
                                    "-.INF",
                                    ".nan",
                                    "0x10",
                                    "010",
                                    "0o7",
                                    "1_000",
                                    "12:30:45",
                                    "2026-01-01",
                                    "=",
                                    "<<",
                                    "- a",
                                    "-",
                                    "? a",
                                    ": a",
                                    "a: b",
                                    "a #b",
                                    "#a",
                                    "&a",
                                    "*a",
                                    "!a",
                                    "|",
                                    ">",
                                    "%a",
                                    "@a",
                                    "`a",
                                    "\\\"",
                                    "'",
                                    "[a]",
                                    "{a}",
                                    "a, b",
                                    "a\\nb",
                                    "a\\n",
                                    "\\n",
                                    "\\t",
                                    "a\\u0007b",
                                    "\\u001b[2J",
                                    " lead",
                                    "trail ",
                                    "\\u00e4\\u6f22\\u5b57",
                                    "\\u2028",
                                    "\\ufeff",
                                    "---",
                                    "...",
                                    "--- a",
                                    "tcp://host:7000",
                                    "/runs/a b/c",
                                    "waits for 4 workers, has 2",
                                    "+1",
                                    "+a",
                                    "~a",
                                    "null a"};

/* Each of them as a value and as a key. */
static void test_texts(void **state)
{
    (void)state;
    char json[400];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(json, sizeof json, "[\"%s\", {\"%s\": \"%s\", \"k\": [\"%s\"]}]", texts[i],
                 texts[i], texts[i], texts[i]);
        same_in_yaml(json);
    }
}

static char *listed(output_t format, const char *json)
{
    static const output_column_t columns[] = {{"NAME", "name", 6, NULL},
                                              {"DONE", "done", -7, "of"},
                                              {"LOSS", "loss", -8, NULL},
                                              {" WHY", "why", 0, NULL}};
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    output_list(format, columns, 4, json_loads(json, 0, NULL), out);
    fclose(out);
    return text;
}

static void test_table(void **state)
{
    (void)state;
    char *text = listed(
        OUTPUT_TABLE,
        "[{\"name\": \"a\", \"done\": 3, \"of\": 12, \"loss\": 1.23456, \"why\": \"\"},"
        " {\"name\": \"\\u00e4\\u001b[2J\\u009b\", \"done\": 0, \"of\": 5, \"loss\": null, "
        "\"why\": \"x\\ny\"},"
        " {\"name\": \"longer than it\", \"done\": true, \"of\": 1}]");
    assert_string_equal(text, "NAME      DONE     LOSS  WHY\n"
                              "a         3/12   1.2346  \n"
                              "\xc3\xa4 [2J      0/5        -  x y\n"
                              "longer than it   yes/1        -  -\n");
    free(text);
    text = listed(OUTPUT_TABLE, "[]");
    assert_string_equal(text, "NAME      DONE     LOSS  WHY\n");
    free(text);
    text = listed(OUTPUT_JSON, "[]");
    assert_string_equal(text, "[]\n");
    free(text);
    text = listed(OUTPUT_YAML, "[{\"name\": \"a\", \"on\": 1}]");
    assert_string_equal(text, "- name: a\n  \"on\": 1\n");
    free(text);
    text = listed(OUTPUT_YAML, "[{\"a\": 0.1, \"b\": 0.30000000000000004}]");
    assert_string_equal(text, "- a: 0.1\n  b: 0.30000000000000004\n");
    free(text);
}

static void test_choice(void **state)
{
    (void)state;
    assert_int_equal(output_of("table", false), OUTPUT_TABLE);
    assert_int_equal(output_of("table", true), OUTPUT_JSON);
    assert_int_equal(output_of("json", false), OUTPUT_JSON);
    assert_int_equal(output_of("yaml", false), OUTPUT_YAML);
    json_t *text = output_text("a\xff"), *none = output_text(""), *absent = output_text(NULL);
    assert_string_equal(json_string_value(text), "a\xef\xbf\xbd");
    assert_true(json_is_null(none));
    assert_true(json_is_null(absent));
    json_decref(text);
    json_decref(none);
    json_decref(absent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
