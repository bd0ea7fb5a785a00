/* Tables and JSON. */
#include "pcp/output.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

output_t output_of(const char *output, bool json)
{
    if (json || strcmp(output, "json") == 0) return OUTPUT_JSON;
    return strcmp(output, "yaml") == 0 ? OUTPUT_YAML : OUTPUT_TABLE;
}

json_t *output_text(const char *text)
{
    str_t clean = {0};
    if (!text || !*text) return json_null();
    utf8_add(&clean, text, strlen(text));
    json_t *value = json_string(str_text(&clean));
    str_fini(&clean);
    return value;
}

/* A text that moves no cursor. */
static void add_plain(str_t *out, const char *text)
{
    for (size_t n; *text; text += n) {
        unsigned code = 0;
        n = utf8_next(text, strlen(text), &code);
        if (n == 0 || utf8_is_control(code))
            str_add(out, " ");
        else
            str_addn(out, text, n);
        n += n == 0;
    }
}

static void add_cell(str_t *out, const json_t *value)
{
    if (json_is_string(value))
        add_plain(out, json_string_value(value));
    else if (json_is_integer(value))
        str_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        str_addf(out, "%.4f", json_real_value(value));
    else if (json_is_boolean(value))
        str_add(out, json_is_true(value) ? "yes" : "no");
    else
        str_add(out, "-");
}

static size_t characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

/* The last column of a line has nothing behind it. */
static void print_cell(const char *text, const output_column_t *column, bool last, FILE *out)
{
    size_t n = characters(text), width = (size_t)abs(column->width);
    int blank = n < width ? (int)(width - n) : 0;
    if (column->width < 0)
        fprintf(out, "%*s%s", blank, "", text);
    else
        fprintf(out, "%s%*s", text, last ? 0 : blank, "");
    fputs(last ? "\n" : " ", out);
}

static void print_table(const output_column_t *columns, size_t n, const json_t *rows, FILE *out)
{
    size_t i;
    const json_t *row;
    for (size_t c = 0; c < n; c++) print_cell(columns[c].title, &columns[c], c + 1 == n, out);
    json_array_foreach(rows, i, row)
    {
        for (size_t c = 0; c < n; c++) {
            str_t text = {0};
            if (*columns[c].title == ' ') str_add(&text, " ");
            add_cell(&text, json_object_get(row, columns[c].key));
            if (columns[c].beside) {
                str_add(&text, "/");
                add_cell(&text, json_object_get(row, columns[c].beside));
            }
            print_cell(str_text(&text), &columns[c], c + 1 == n, out);
            str_fini(&text);
        }
    }
}

void output_value(output_t format, json_t *value, FILE *out)
{
    if (format == OUTPUT_YAML) {
        output_yaml(value, out);
    } else {
        json_dumpf(value, out, JSON_INDENT(2) | JSON_ENCODE_ANY);
        fputc('\n', out);
    }
    json_decref(value);
}

void output_list(output_t format, const output_column_t *columns, size_t n_column, json_t *rows,
                 FILE *out)
{
    if (format != OUTPUT_TABLE) {
        output_value(format, rows, out);
        return;
    }
    print_table(columns, n_column, rows, out);
    json_decref(rows);
}
