/* Values: truth, order, members, and what they may cost. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "serve/jinja_in.h"

/* --- bounds --- */

int run_fail(run_t *run, err_code_t code, const char *format, ...)
{
    char text[768];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return err_set(run->err, code, "line %d: %s", run->line, text);
}

int run_charge(run_t *run, size_t steps, size_t bytes)
{
    if (steps > (size_t)run->steps)
        return run_fail(run, ERR_MEMORY, "the template takes more than %d steps", JINJA_STEPS);
    run->steps -= (int64_t)steps;
    if (bytes > JINJA_VALUE_BYTES - run->used)
        return run_fail(run, ERR_MEMORY, "the template makes values of more than %d bytes",
                        JINJA_VALUE_BYTES);
    run->used += bytes;
    return 0;
}

int run_deeper(run_t *run)
{
    if (run->depth >= JINJA_DEPTH)
        return run_fail(run, ERR_MEMORY, "more than %d levels within each other", JINJA_DEPTH);
    run->depth++;
    return run_charge(run, 1, 0) < 0 ? run->depth--, -1 : 0;
}

static void *take(run_t *run, size_t n)
{
    return run_charge(run, 1 + n / 64, n) < 0 ? NULL : arena_alloc(run->arena, n);
}

/* --- making --- */

int value_copy(run_t *run, const char *at, size_t n, value_t *out)
{
    char *text = take(run, n + 1);
    if (!text) return -1;
    if (n > 0) memcpy(text, at, n);
    *out = value_text(text, n);
    return 0;
}

int value_take(run_t *run, str_t *text, int status, value_t *out)
{
    if (status == 0) status = value_copy(run, str_text(text), text->n, out);
    str_fini(text);
    return status;
}

int value_new_list(run_t *run, value_kind_t kind, value_t *out)
{
    list_t *list = take(run, sizeof *list);
    *out = (value_t){.kind = kind, .list = list};
    return list ? 0 : -1;
}

int value_new_dict(run_t *run, value_kind_t kind, value_t *out)
{
    dict_t *dict = take(run, sizeof *dict);
    *out = (value_t){.kind = kind, .dict = dict};
    return dict ? 0 : -1;
}

int value_push(run_t *run, list_t *list, value_t v)
{
    if (run_charge(run, 1, 0) < 0) return -1;
    if (list->n == list->space) {
        size_t space = list->space ? 2 * list->space : 4;
        value_t *at = take(run, space * sizeof *at);
        if (!at) return -1;
        if (list->n > 0) memcpy(at, list->at, list->n * sizeof *at);
        list->at = at;
        list->space = space;
    }
    list->at[list->n++] = v;
    return 0;
}

int value_put(run_t *run, dict_t *dict, value_t key, value_t v)
{
    for (size_t i = 0; i < dict->keys.n; i++) {
        int same = value_equal(run, &dict->keys.at[i], &key);
        if (same < 0) return -1;
        if (!same) continue;
        dict->values.at[i] = v;
        return 0;
    }
    return value_push(run, &dict->keys, key) < 0 ? -1 : value_push(run, &dict->values, v);
}

static int from_object(run_t *run, const json_t *json, value_t *out)
{
    const char *name;
    json_t *member;
    if (value_new_dict(run, VALUE_DICT, out) < 0) return -1;
    json_object_foreach((json_t *)(uintptr_t)json, name, member)
    {
        value_t key, v;
        if (value_copy(run, name, strlen(name), &key) < 0 || value_from_json(run, member, &v) < 0 ||
            value_push(run, &out->dict->keys, key) < 0 ||
            value_push(run, &out->dict->values, v) < 0)
            return -1;
    }
    return 0;
}

static int from_array(run_t *run, const json_t *json, value_t *out)
{
    if (value_new_list(run, VALUE_LIST, out) < 0) return -1;
    for (size_t i = 0; i < json_array_size(json); i++) {
        value_t v;
        if (value_from_json(run, json_array_get(json, i), &v) < 0 ||
            value_push(run, out->list, v) < 0)
            return -1;
    }
    return 0;
}

static int from_json(run_t *run, const json_t *json, value_t *out)
{
    if (json_is_object(json)) return from_object(run, json, out);
    if (json_is_array(json)) return from_array(run, json, out);
    if (json_is_string(json))
        return value_copy(run, json_string_value(json), json_string_length(json), out);
    *out = (value_t){.kind = VALUE_NONE};
    if (json_is_boolean(json)) *out = value_bool(json_is_true(json));
    if (json_is_integer(json)) *out = value_int(json_integer_value(json));
    if (json_is_real(json)) *out = (value_t){.kind = VALUE_FLOAT, .f = json_real_value(json)};
    return 0;
}

int value_from_json(run_t *run, const json_t *json, value_t *out)
{
    if (run_deeper(run) < 0) return -1;
    int status = from_json(run, json, out);
    run->depth--;
    return status;
}

/* --- asking --- */

const char *value_kind(const value_t *v)
{
    static const char *const names[] = {"undefined", "None",     "bool",  "int",  "float",
                                        "str",       "list",     "tuple", "dict", "Namespace",
                                        "loop",      "function", "Macro"};
    return names[v->kind];
}

bool value_says(const value_t *v, const char *text)
{
    return v->kind == VALUE_STRING && v->s.n == strlen(text) && memcmp(v->s.at, text, v->s.n) == 0;
}

double value_f64(const value_t *v)
{
    return v->kind == VALUE_FLOAT ? v->f : v->kind == VALUE_BOOL ? v->b : (double)v->i;
}

bool value_truth(const value_t *v)
{
    switch (v->kind) {
    case VALUE_UNDEFINED:
    case VALUE_NONE: return false;
    case VALUE_BOOL: return v->b;
    case VALUE_INT: return v->i != 0;
    case VALUE_FLOAT: return v->f != 0;
    case VALUE_STRING: return v->s.n > 0;
    case VALUE_LIST:
    case VALUE_TUPLE: return v->list->n > 0;
    case VALUE_DICT: return v->dict->keys.n > 0;
    default: return true;
    }
}

static int equal_lists(run_t *run, const list_t *a, const list_t *b)
{
    int same = a->n == b->n;
    if (run_deeper(run) < 0) return -1;
    for (size_t i = 0; i < a->n && same == 1; i++) same = value_equal(run, &a->at[i], &b->at[i]);
    run->depth--;
    return same;
}

static int equal_dicts(run_t *run, const dict_t *a, const dict_t *b)
{
    int same = a->keys.n == b->keys.n;
    if (run_deeper(run) < 0) return -1;
    for (size_t i = 0; i < a->keys.n && same == 1; i++) {
        value_t other;
        if (value_get(run, b, &a->keys.at[i], &other) < 0) same = -1;
        if (same == 1) same = value_equal(run, &a->values.at[i], &other);
    }
    run->depth--;
    return same;
}

int value_equal(run_t *run, const value_t *a, const value_t *b)
{
    if (run_charge(run, 1, 0) < 0) return -1;
    if (value_is_number(a) && value_is_number(b)) {
        bool exact = a->kind == VALUE_INT && b->kind == VALUE_INT;
        return exact ? a->i == b->i : value_f64(a) == value_f64(b);
    }
    if (a->kind != b->kind) return 0;
    switch (a->kind) {
    case VALUE_UNDEFINED:
    case VALUE_NONE: return 1;
    case VALUE_STRING:
        if (a->s.n != b->s.n) return 0;
        if (run_charge(run, a->s.n / 64, 0) < 0) return -1;
        return a->s.n == 0 || memcmp(a->s.at, b->s.at, a->s.n) == 0;
    case VALUE_LIST:
    case VALUE_TUPLE: return a->list == b->list ? 1 : equal_lists(run, a->list, b->list);
    case VALUE_DICT: return a->dict == b->dict ? 1 : equal_dicts(run, a->dict, b->dict);
    case VALUE_FUNCTION: return a->i == b->i;
    case VALUE_MACRO: return a->macro == b->macro;
    default: return a->dict == b->dict;
    }
}

int value_order(run_t *run, const value_t *a, const value_t *b, int *order)
{
    if (value_is_number(a) && value_is_number(b)) {
        double x = value_f64(a), y = value_f64(b);
        *order = (x > y) - (x < y);
        if (a->kind == VALUE_INT && b->kind == VALUE_INT) *order = (a->i > b->i) - (a->i < b->i);
        return isnan(x) || isnan(y) ? run_fail(run, ERR_NUMERIC, "an order of NaN") : 0;
    }
    if (a->kind != VALUE_STRING || b->kind != VALUE_STRING)
        return run_fail(run, ERR_TYPE, "%s and %s have no order", value_kind(a), value_kind(b));
    size_t n = a->s.n < b->s.n ? a->s.n : b->s.n;
    *order = n > 0 ? memcmp(a->s.at, b->s.at, n) : 0; /* the order of bytes is that of characters */
    if (*order == 0) *order = (a->s.n > b->s.n) - (a->s.n < b->s.n);
    return run_charge(run, n / 64, 0);
}

int value_length(run_t *run, const value_t *v, int64_t *n)
{
    *n = 0;
    if (v->kind == VALUE_STRING) {
        *n = (int64_t)text_count(v->s.at, v->s.n);
        return run_charge(run, v->s.n / 64, 0);
    }
    if (value_is_list(v)) *n = (int64_t)v->list->n;
    if (v->kind == VALUE_DICT) *n = (int64_t)v->dict->keys.n;
    if (v->kind == VALUE_UNDEFINED || v->kind == VALUE_DICT || value_is_list(v)) return 0;
    return run_fail(run, ERR_TYPE, "%s has no length", value_kind(v));
}

int value_list(run_t *run, const value_t *v, list_t **list)
{
    value_t out;
    if (value_is_list(v)) return *list = v->list, 0;
    if (v->kind == VALUE_DICT) return *list = &v->dict->keys, 0;
    if (v->kind != VALUE_STRING && v->kind != VALUE_UNDEFINED)
        return run_fail(run, ERR_TYPE, "%s is no list", value_kind(v));
    if (value_new_list(run, VALUE_LIST, &out) < 0) return -1;
    for (size_t i = 0, k; v->kind == VALUE_STRING && i < v->s.n; i += k) {
        k = text_skip(v->s.at + i, v->s.n - i, 1);
        if (value_push(run, out.list, value_text(v->s.at + i, k)) < 0) return -1;
    }
    *list = out.list;
    return 0;
}

int value_contains(run_t *run, const value_t *in, const value_t *what, bool *out)
{
    list_t *list;
    *out = false;
    if (in->kind == VALUE_STRING) {
        if (what->kind != VALUE_STRING)
            return run_fail(run, ERR_TYPE, "a text holds texts, not %s", value_kind(what));
        *out = what->s.n == 0 || memmem(in->s.at, in->s.n, what->s.at, what->s.n);
        return run_charge(run, in->s.n / 64, 0);
    }
    if (value_list(run, in, &list) < 0) return -1;
    for (size_t i = 0; i < list->n && !*out; i++) {
        int same = value_equal(run, &list->at[i], what);
        if (same < 0) return -1;
        *out = same;
    }
    return 0;
}

/* --- members --- */

static value_t undefined(const char *name, size_t n)
{
    return (value_t){.kind = VALUE_UNDEFINED, .s = {name, n}};
}

int value_get(run_t *run, const dict_t *dict, const value_t *key, value_t *out)
{
    *out = key->kind == VALUE_STRING ? undefined(key->s.at, key->s.n) : undefined("item", 4);
    for (size_t i = 0; i < dict->keys.n; i++) {
        int same = value_equal(run, &dict->keys.at[i], key);
        if (same < 0) return -1;
        if (same) *out = dict->values.at[i];
        if (same) break;
    }
    return 0;
}

static int loop_member(run_t *run, const loop_t *loop, const value_t *name, value_t *out)
{
    int64_t at = (int64_t)loop->at, n = (int64_t)loop->items->n;
    const value_t none = undefined("loop's item", 11);
    const struct {
        const char *name;
        value_t v;
    } members[] = {{"index", value_int(at + 1)},
                   {"index0", value_int(at)},
                   {"revindex", value_int(n - at)},
                   {"revindex0", value_int(n - at - 1)},
                   {"first", value_bool(at == 0)},
                   {"last", value_bool(at == n - 1)},
                   {"length", value_int(n)},
                   {"previtem", at > 0 ? loop->items->at[at - 1] : none},
                   {"nextitem", at + 1 < n ? loop->items->at[at + 1] : none}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (!value_says(name, members[i].name)) continue;
        *out = members[i].v;
        return 0;
    }
    return run_fail(run, ERR_UNSUPPORTED, "loop.%.*s is not known", (int)name->s.n, name->s.at);
}

int value_member(run_t *run, const value_t *v, const char *name, size_t n, value_t *out)
{
    const value_t key = value_text(name, n);
    if (v->kind == VALUE_DICT || v->kind == VALUE_NAMESPACE)
        return value_get(run, v->dict, &key, out);
    if (v->kind == VALUE_LOOP) return loop_member(run, v->loop, &key, out);
    if (v->kind == VALUE_UNDEFINED)
        return run_fail(run, ERR_TYPE, "'%.*s' is undefined, and has no .%.*s", (int)v->s.n,
                        v->s.at, (int)n, name);
    *out = undefined(name, n);
    return 0;
}

int value_index(run_t *run, const value_t *v, const value_t *key, value_t *out)
{
    int64_t i, n;
    if (key->kind == VALUE_STRING && !value_is_list(v) && v->kind != VALUE_STRING)
        return value_member(run, v, key->s.at, key->s.n, out);
    if (v->kind == VALUE_DICT) return value_get(run, v->dict, key, out);
    if (!value_is_list(v) && v->kind != VALUE_STRING)
        return run_fail(run, ERR_TYPE, "%s has no items", value_kind(v));
    *out = undefined("item", 4);
    if (key->kind != VALUE_INT && key->kind != VALUE_BOOL) return 0;
    i = key->kind == VALUE_INT ? key->i : key->b;
    if (value_length(run, v, &n) < 0) return -1;
    if (i < 0) i += n;
    if (i < 0 || i >= n) return 0;
    if (v->kind != VALUE_STRING) return *out = v->list->at[i], 0;
    size_t from = text_skip(v->s.at, v->s.n, (size_t)i);
    *out = value_text(v->s.at + from, text_skip(v->s.at + from, v->s.n - from, 1));
    return 0;
}

/* Python's rule: where a slice begins and ends for a step. */
static int64_t bound(const value_t *part, int64_t n, int64_t step, int64_t fallback)
{
    if (part->kind != VALUE_INT) return fallback;
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n, i = part->i;
    if (i < 0) i += n;
    return i < low ? low : i > high ? high : i;
}

int value_slice(run_t *run, const value_t *v, const value_t *part, value_t *out)
{
    list_t *list;
    int64_t n, step = part[2].kind == VALUE_INT ? part[2].i : 1;
    for (int i = 0; i < 3; i++)
        if (part[i].kind != VALUE_INT && part[i].kind != VALUE_NONE)
            return run_fail(run, ERR_TYPE, "a slice by %s", value_kind(&part[i]));
    if (!value_is_list(v) && v->kind != VALUE_STRING)
        return run_fail(run, ERR_TYPE, "%s has no slices", value_kind(v));
    if (step == 0 || step > 1 << 30 || step < -(1 << 30))
        return run_fail(run, ERR_ARG, "a slice by steps of %lld", (long long)step);
    if (value_list(run, v, &list) < 0) return -1;
    n = (int64_t)list->n;
    int64_t from = bound(&part[0], n, step, step < 0 ? n - 1 : 0);
    int64_t to = bound(&part[1], n, step, step < 0 ? -1 : n);
    if (value_new_list(run, v->kind == VALUE_TUPLE ? VALUE_TUPLE : VALUE_LIST, out) < 0) return -1;
    for (int64_t i = from; step > 0 ? i < to : i > to; i += step)
        if (value_push(run, out->list, list->at[i]) < 0) return -1;
    if (v->kind != VALUE_STRING) return 0;
    str_t text = {0};
    for (size_t i = 0; i < out->list->n; i++)
        str_addn(&text, out->list->at[i].s.at, out->list->at[i].s.n);
    return value_take(run, &text, 0, out);
}
