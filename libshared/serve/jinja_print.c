/* Values as texts: as Python prints them, and as JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/jinja_in.h"

/* --- printing --- */

/* The shortest digits that say the same number, as Python prints them. */
static void print_float(double f, str_t *out)
{
    char text[40];
    if (isnan(f) || isinf(f)) {
        str_add(out, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
        return;
    }
    int digits = 1;
    do snprintf(text, sizeof text, "%.*e", digits - 1, f);
    while (strtod(text, NULL) != f && ++digits <= 17);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (f != 0 && (exponent < -4 || exponent >= 16)) {
        str_addf(out, "%.*e", digits - 1, f);
    } else {
        int decimals = digits - 1 - exponent;
        str_addf(out, "%.*f", decimals > 1 ? decimals : 1, f);
    }
}

/* A string as Python writes it. */
static void print_quoted(const value_t *v, str_t *out)
{
    bool twice = memchr(v->s.at, '\'', v->s.n) && !memchr(v->s.at, '"', v->s.n);
    char quote = twice ? '"' : '\'';
    str_addn(out, &quote, 1);
    for (size_t i = 0; i < v->s.n; i++) {
        char c = v->s.at[i];
        if (c == quote || c == '\\')
            str_addf(out, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            str_addf(out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if ((unsigned char)c < 32 || c == 127)
            str_addf(out, "\\x%02x", (unsigned)c);
        else
            str_addn(out, &c, 1);
    }
    str_addn(out, &quote, 1);
}

static int print_inner(run_t *run, const value_t *v, str_t *out)
{
    if (v->kind == VALUE_STRING) {
        if (run_charge(run, v->s.n / 64, v->s.n) < 0) return -1;
        print_quoted(v, out);
        return 0;
    }
    return v->kind == VALUE_UNDEFINED ? str_add(out, "Undefined"), 0 : value_print(run, v, out);
}

static int print_items(run_t *run, const value_t *v, str_t *out)
{
    bool dict = v->kind == VALUE_DICT;
    const list_t *list = dict ? &v->dict->keys : v->list;
    str_add(out, dict ? "{" : v->kind == VALUE_LIST ? "[" : "(");
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0) str_add(out, ", ");
        if (run_charge(run, 1, 8) < 0 || print_inner(run, &list->at[i], out) < 0) return -1;
        if (dict) str_add(out, ": ");
        if (dict && print_inner(run, &v->dict->values.at[i], out) < 0) return -1;
    }
    if (v->kind == VALUE_TUPLE && list->n == 1) str_add(out, ",");
    str_add(out, dict ? "}" : v->kind == VALUE_LIST ? "]" : ")");
    return 0;
}

int value_print(run_t *run, const value_t *v, str_t *out)
{
    int status = 0;
    switch (v->kind) {
    case VALUE_UNDEFINED: return 0;
    case VALUE_NONE: return str_add(out, "None"), 0;
    case VALUE_BOOL: return str_add(out, v->b ? "True" : "False"), 0;
    case VALUE_INT: return str_addf(out, "%lld", (long long)v->i), 0;
    case VALUE_FLOAT: return print_float(v->f, out), 0;
    case VALUE_STRING:
        if (run_charge(run, v->s.n / 64, v->s.n) < 0) return -1;
        return str_addn(out, v->s.at, v->s.n), 0;
    case VALUE_LIST:
    case VALUE_TUPLE:
    case VALUE_DICT:
        if (run_deeper(run) < 0) return -1;
        status = print_items(run, v, out);
        run->depth--;
        return status;
    default: return run_fail(run, ERR_UNSUPPORTED, "printing a %s", value_kind(v));
    }
}

/* --- JSON --- */

static void json_string_out(const value_t *v, str_t *out)
{
    static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
    str_add(out, "\"");
    for (size_t i = 0; i < v->s.n; i++) {
        char c = v->s.at[i];
        const char *known = c ? strchr(from, c) : NULL;
        if (known)
            str_addf(out, "\\%c", to[known - from]);
        else if ((unsigned char)c < 32)
            str_addf(out, "\\u%04x", (unsigned)c);
        else
            str_addn(out, &c, 1);
    }
    str_add(out, "\"");
}

static int new_line(run_t *run, int indent, int depth, str_t *out)
{
    int blanks = indent * depth;
    if (indent < 0) return 0;
    if (run_charge(run, 1, (size_t)blanks + 1) < 0) return -1;
    str_addf(out, "\n%*s", blanks, "");
    return 0;
}

static int json_value(run_t *run, const value_t *v, int indent, int depth, str_t *out);

static int json_items(run_t *run, const value_t *v, int indent, int depth, str_t *out)
{
    bool dict = v->kind == VALUE_DICT;
    const list_t *list = dict ? &v->dict->keys : v->list;
    if (list->n == 0) return str_add(out, dict ? "{}" : "[]"), 0;
    str_add(out, dict ? "{" : "[");
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0) str_add(out, indent < 0 ? ", " : ",");
        if (run_charge(run, 1, 8) < 0 || new_line(run, indent, depth + 1, out) < 0) return -1;
        if (dict && list->at[i].kind != VALUE_STRING)
            return run_fail(run, ERR_UNSUPPORTED, "tojson of a key that is no text");
        if (json_value(run, &list->at[i], indent, depth + 1, out) < 0) return -1;
        if (dict) str_add(out, ": ");
        if (dict && json_value(run, &v->dict->values.at[i], indent, depth + 1, out) < 0) return -1;
    }
    if (new_line(run, indent, depth, out) < 0) return -1;
    str_add(out, dict ? "}" : "]");
    return 0;
}

static int json_value(run_t *run, const value_t *v, int indent, int depth, str_t *out)
{
    int status;
    switch (v->kind) {
    case VALUE_NONE: return str_add(out, "null"), 0;
    case VALUE_BOOL: return str_add(out, v->b ? "true" : "false"), 0;
    case VALUE_INT:
    case VALUE_FLOAT: return value_print(run, v, out);
    case VALUE_STRING:
        if (run_charge(run, v->s.n / 64, v->s.n) < 0) return -1;
        return json_string_out(v, out), 0;
    case VALUE_LIST:
    case VALUE_TUPLE:
    case VALUE_DICT:
        if (run_deeper(run) < 0) return -1;
        status = json_items(run, v, indent, depth, out);
        run->depth--;
        return status;
    default: return run_fail(run, ERR_TYPE, "tojson of a %s", value_kind(v));
    }
}

int value_json(run_t *run, const value_t *v, int indent, str_t *out)
{
    return json_value(run, v, indent, 0, out);
}
