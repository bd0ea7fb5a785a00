/* Lines by jansson, one at a time. */
#include "data/jsonl.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r\n", text[i]) || !text[i]) return false;
    return true;
}

/* "id, body": the fields that could have been meant. */
static void list_fields(json_t *object, str_t *out)
{
    enum { SOME = 8 };
    int n = 0;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (!json_is_string(value) || n == SOME) continue;
        str_addf(out, "%s%.40s", n++ ? ", " : "", key);
    }
    if (n == 0) str_add(out, "none");
}

static int no_field(json_t *object, const char *field, uint64_t line, err_t *err)
{
    str_t there = {0};
    list_fields(object, &there);
    err_set(err, ERR_PARSE,
            "%llu: no text in a field \"%s\" (texts are in: %s): name one with --field",
            (unsigned long long)line, field, str_text(&there));
    str_fini(&there);
    return -1;
}

static int read_line(const char *text, size_t n, const char *field, bool as_json, uint64_t line,
                     str_t *out, err_t *err)
{
    json_error_t fault;
    json_t *json = json_loadb(text, n, JSON_ALLOW_NUL, &fault);
    int rc = 0;
    if (!json)
        rc = err_set(err, ERR_PARSE, "%llu:%d: no JSON: %s", (unsigned long long)line,
                     fault.position, fault.text);
    else if (!json_is_object(json))
        rc = err_set(err, ERR_PARSE, "%llu: no JSON object", (unsigned long long)line);
    json_t *value = rc == 0 ? json_object_get(json, field) : NULL;
    if (rc == 0 && as_json && !value)
        rc = err_set(err, ERR_PARSE, "%llu: no field \"%s\"", (unsigned long long)line, field);
    if (rc == 0 && !as_json && !json_is_string(value)) rc = no_field(json, field, line, err);
    out->n = 0;
    char *all = rc == 0 && as_json ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (all) str_add(out, all);
    free(all);
    if (rc == 0 && !as_json) str_addn(out, json_string_value(value), json_string_length(value));
    json_decref(json);
    return rc;
}

/* Bytes of a mark that some editors put before a file: no part of its first line. */
static size_t skip_mark(const char *text, size_t n, uint64_t line)
{
    static const char mark[] = "\xEF\xBB\xBF";
    bool marked = line == 1 && n >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0;
    return marked ? sizeof mark - 1 : 0;
}

int jsonl_next(const char *text, size_t n, const char *field, bool as_json, size_t *at,
               uint64_t *line, str_t *out, err_t *err)
{
    while (*at < n) {
        *at += skip_mark(text + *at, n - *at, *line);
        const char *begin = text + *at, *end = memchr(begin, '\n', n - *at);
        size_t length = end ? (size_t)(end - begin) : n - *at;
        uint64_t number = (*line)++;
        *at += length + (end != NULL);
        if (is_blank(begin, length)) continue;
        return read_line(begin, length, field, as_json, number, out, err) < 0 ? -1 : 1;
    }
    return 0;
}
