/* Filters, one row each. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "serve/jinja_in.h"

typedef int filter_fn(run_t *run, const value_t *v, const args_t *args, value_t *out);

static int text_wanted(run_t *run, const value_t *v)
{
    return run_fail(run, ERR_TYPE, "a filter of texts, not of %s", value_kind(v));
}

/* --- of texts; what is none is printed first, as Jinja does --- */

static int as_text(run_t *run, const value_t *v, value_t *out)
{
    str_t text = {0};
    if (v->kind == VALUE_STRING) return *out = *v, 0;
    int status = value_print(run, v, &text);
    return value_take(run, &text, status, out);
}

static int filter_trim(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    const value_t *set = args_get(args, 0, "chars");
    if (set && set->kind != VALUE_STRING) return text_wanted(run, set);
    if (as_text(run, v, out) < 0 || run_charge(run, out->s.n / 64, 0) < 0) return -1;
    *out = text_strip(out, set, true, true);
    return 0;
}

static int by_method(run_t *run, const value_t *v, const char *name, value_t *out)
{
    value_t text;
    return as_text(run, v, &text) < 0 ? -1 : text_method(run, &text, name, &(args_t){0}, out);
}

static int filter_upper(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    (void)args;
    return by_method(run, v, "upper", out);
}

static int filter_lower(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    (void)args;
    return by_method(run, v, "lower", out);
}

static int filter_capitalize(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    (void)args;
    return by_method(run, v, "capitalize", out);
}

/* Jinja's title begins a word behind white space, brackets and hyphens, unlike Python's. */
static int filter_title(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    (void)args;
    if (by_method(run, v, "lower", out) < 0) return -1;
    char *at = (char *)(uintptr_t)out->s.at;
    for (size_t i = 0; i < out->s.n; i++)
        if (i == 0 || isspace((unsigned char)at[i - 1]) ||
            (at[i - 1] && strchr("-({[<", at[i - 1])))
            at[i] = (char)toupper((unsigned char)at[i]);
    return 0;
}

static int filter_replace(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    const value_t *from = args_get(args, 0, "old"), *to = args_get(args, 1, "new");
    const value_t *most = args_get(args, 2, "count");
    value_t text;
    if (!from || !to || from->kind != VALUE_STRING || to->kind != VALUE_STRING)
        return run_fail(run, ERR_TYPE, "replace takes two texts");
    if (as_text(run, v, &text) < 0 || run_charge(run, text.s.n / 64, 0) < 0) return -1;
    return text_replace(run, &text, from, to, most && most->kind == VALUE_INT ? most->i : -1, out);
}

static int filter_string(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    (void)args;
    return as_text(run, v, out);
}

/* Lines but the first are moved to the right; empty ones only with blank=true. */
static int filter_indent(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    const value_t *width = args_get(args, 0, "width"), *first = args_get(args, 1, "first");
    const value_t *blank = args_get(args, 2, "blank");
    int64_t n = width && width->kind == VALUE_INT ? width->i : 4;
    value_t in;
    str_t text = {0};
    if (n < 0 || n > 1000 || (width && width->kind != VALUE_INT))
        return run_fail(run, ERR_UNSUPPORTED, "indent by this width");
    if (as_text(run, v, &in) < 0) return -1;
    bool line = first && value_truth(first);
    int status = run_charge(run, in.s.n / 64, in.s.n);
    for (size_t i = 0; i < in.s.n && status == 0; i++) {
        bool moves = line && (in.s.at[i] != '\n' || (blank && value_truth(blank)));
        if (moves) status = run_charge(run, 1, (size_t)n);
        if (moves) str_addf(&text, "%*s", (int)n, "");
        str_addn(&text, in.s.at + i, 1);
        line = in.s.at[i] == '\n';
    }
    return value_take(run, &text, status, out);
}

static int filter_tojson(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    const value_t *indent = args_get(args, 0, "indent");
    str_t text = {0};
    if (args->n > 0 || args->named->keys.n > (indent ? 1 : 0)) {
        if (!args_get(args, 9, "ensure_ascii") || args->n > 0 ||
            args->named->keys.n > (indent ? 2 : 1) ||
            value_truth(args_get(args, 9, "ensure_ascii")))
            return run_fail(run, ERR_UNSUPPORTED, "tojson knows indent=N alone");
    }
    bool wide = indent && indent->kind == VALUE_INT && indent->i >= 0 && indent->i < 100;
    int status = value_json(run, v, wide ? (int)indent->i : -1, &text);
    return value_take(run, &text, status, out);
}

/* --- of numbers --- */

static int filter_int(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    const value_t *fallback = args_get(args, 0, "default");
    *out = fallback ? *fallback : value_int(0);
    if (v->kind == VALUE_INT || v->kind == VALUE_BOOL)
        *out = value_int(v->kind == VALUE_INT ? v->i : v->b);
    if (v->kind == VALUE_FLOAT && fabs(v->f) < 9e18) *out = value_int((int64_t)v->f);
    if (v->kind != VALUE_STRING) return 0;
    value_t text = text_strip(v, NULL, true, true);
    char digits[24], *stop;
    if (text.s.n == 0 || text.s.n >= 19) return 0;
    memcpy(digits, text.s.at, text.s.n);
    digits[text.s.n] = '\0';
    long long i = strtoll(digits, &stop, 10);
    if (!*stop && (isdigit((unsigned char)*digits) || digits[1])) *out = value_int(i);
    (void)run;
    return 0;
}

static int filter_abs(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    (void)args;
    if (!value_is_number(v)) return run_fail(run, ERR_TYPE, "abs of %s", value_kind(v));
    return run_math(run, value_f64(v) < 0 ? '-' : '+', &(value_t){.kind = VALUE_INT}, v, out);
}

/* --- of anything --- */

static int filter_default(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    const value_t *other = args_get(args, 0, "default_value"), *also = args_get(args, 1, "boolean");
    bool missing = v->kind == VALUE_UNDEFINED || (also && value_truth(also) && !value_truth(v));
    (void)run;
    *out = !missing ? *v : other ? *other : value_text("", 0);
    return 0;
}

static int filter_length(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    (void)args;
    *out = value_int(0);
    return value_length(run, v, &out->i);
}

static int filter_safe(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    (void)run, (void)args;
    *out = *v;
    return 0;
}

/* --- of lists --- */

static int filter_list(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    list_t *list;
    (void)args;
    if (value_list(run, v, &list) < 0 || value_new_list(run, VALUE_LIST, out) < 0) return -1;
    for (size_t i = 0; i < list->n; i++)
        if (value_push(run, out->list, list->at[i]) < 0) return -1;
    return 0;
}

static int end_of(run_t *run, const value_t *v, bool last, value_t *out)
{
    list_t *list;
    if (value_list(run, v, &list) < 0) return -1;
    *out = (value_t){.kind = VALUE_UNDEFINED, .s = {"item", 4}};
    if (list->n > 0) *out = list->at[last ? list->n - 1 : 0];
    return 0;
}

static int filter_first(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    (void)args;
    return end_of(run, v, false, out);
}

static int filter_last(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    (void)args;
    return end_of(run, v, true, out);
}

static int filter_reverse(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    const value_t part[3] = {{.kind = VALUE_NONE}, {.kind = VALUE_NONE}, value_int(-1)};
    (void)args;
    return value_slice(run, v, part, out);
}

static int filter_join(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    const value_t *between = args_get(args, 0, "d");
    list_t *list;
    str_t text = {0};
    if (args_get(args, 1, "attribute")) return run_fail(run, ERR_UNSUPPORTED, "join of attributes");
    if (value_list(run, v, &list) < 0) return -1;
    int status = 0;
    for (size_t i = 0; i < list->n && status == 0; i++) {
        if (i > 0 && between) status = value_print(run, between, &text);
        if (status == 0) status = value_print(run, &list->at[i], &text);
    }
    return value_take(run, &text, status, out);
}

static int filter_items(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    (void)args;
    if (v->kind == VALUE_UNDEFINED) return value_new_list(run, VALUE_LIST, out);
    return call_method(run, v, "items", &(args_t){0}, out);
}

/* a.b of each: members by name; other (may be NULL) in the place of one that is not there. */
static int attribute(run_t *run, const value_t *v, const value_t *path, const value_t *other,
                     value_t *out)
{
    const char *at = path->s.at, *end = at + path->s.n;
    *out = *v;
    while (at < end) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        size_t n = dot ? (size_t)(dot - at) : (size_t)(end - at);
        value_t of = *out;
        if (value_member(run, &of, at, n, out) < 0) return -1;
        if (other && out->kind == VALUE_UNDEFINED) *out = *other;
        at += n + 1;
    }
    return 0;
}

static int name_of(run_t *run, const value_t *v, int (*find)(const char *name), const char *what,
                   int *out)
{
    char name[64];
    if (!v || v->kind != VALUE_STRING || v->s.n >= sizeof name)
        return run_fail(run, ERR_TYPE, "the name of a %s is wanted", what);
    memcpy(name, v->s.at, v->s.n);
    name[v->s.n] = '\0';
    *out = find(name);
    return *out >= 0 ? 0 : run_fail(run, ERR_UNSUPPORTED, "the %s \"%s\" is not known", what, name);
}

static int filter_map(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    const value_t *path = args_get(args, 9, "attribute"), *other = args_get(args, 9, "default");
    list_t *list;
    int filter = -1;
    if (path && path->kind != VALUE_STRING) return run_fail(run, ERR_TYPE, "map by no name");
    if (!path && name_of(run, args_get(args, 0, NULL), filter_find, "filter", &filter) < 0)
        return -1;
    if (value_list(run, v, &list) < 0 || value_new_list(run, VALUE_LIST, out) < 0) return -1;
    const args_t rest = {args->n > 1 ? args->at + 1 : NULL, args->n > 1 ? args->n - 1 : 0,
                         args->named};
    for (size_t i = 0; i < list->n; i++) {
        value_t item;
        if ((path ? attribute(run, &list->at[i], path, other, &item)
                  : filter_apply(run, filter, &list->at[i], &rest, &item)) < 0)
            return -1;
        if (value_push(run, out->list, item) < 0) return -1;
    }
    return 0;
}

/* Those for which a test holds, or does not; by_member: of a member, named first. */
static int choose(run_t *run, const value_t *v, const args_t *args, bool by_member, bool wanted,
                  value_t *out)
{
    size_t from = by_member;
    const value_t *name = args_get(args, from, NULL);
    list_t *list;
    int test = -1;
    if (by_member && (args->n == 0 || args->at[0].kind != VALUE_STRING))
        return run_fail(run, ERR_TYPE, "selectattr and rejectattr take a name");
    if (name && name_of(run, name, test_find, "test", &test) < 0) return -1;
    if (value_list(run, v, &list) < 0 || value_new_list(run, VALUE_LIST, out) < 0) return -1;
    size_t n = args->n > from + 1 ? args->n - from - 1 : 0;
    const args_t rest = {n > 0 ? args->at + from + 1 : NULL, n, NULL};
    for (size_t i = 0; i < list->n; i++) {
        value_t item = list->at[i];
        bool holds;
        if (by_member && attribute(run, &list->at[i], &args->at[0], NULL, &item) < 0) return -1;
        holds = value_truth(&item);
        if (name && test_apply(run, test, &item, &rest, &holds) < 0) return -1;
        if (holds == wanted && value_push(run, out->list, list->at[i]) < 0) return -1;
    }
    return 0;
}

static int filter_select(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    return choose(run, v, args, false, true, out);
}

static int filter_reject(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    return choose(run, v, args, false, false, out);
}

static int filter_selectattr(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    return choose(run, v, args, true, true, out);
}

static int filter_rejectattr(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    return choose(run, v, args, true, false, out);
}

/* The key of a pair, for dictsort: texts without regard to case. */
static int by_key(const void *a, const void *b)
{
    const value_t *x = &((const value_t *)a)->list->at[0], *y = &((const value_t *)b)->list->at[0];
    size_t n = x->s.n < y->s.n ? x->s.n : y->s.n;
    for (size_t i = 0; i < n; i++) {
        int p = tolower((unsigned char)x->s.at[i]), q = tolower((unsigned char)y->s.at[i]);
        if (p != q) return p - q;
    }
    return (x->s.n > y->s.n) - (x->s.n < y->s.n);
}

static int filter_dictsort(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    if (args->n > 0 || args->named->keys.n > 0)
        return run_fail(run, ERR_UNSUPPORTED, "dictsort with arguments");
    if (call_method(run, v, "items", &(args_t){0}, out) < 0) return -1;
    list_t *list = out->list;
    for (size_t i = 0; i < list->n; i++) {
        const value_t *key = &list->at[i].list->at[0];
        if (key->kind != VALUE_STRING || !text_is_ascii(key->s.at, key->s.n))
            return run_fail(run, ERR_UNSUPPORTED, "dictsort by keys that are no texts of ASCII");
    }
    if (list->n > 1) qsort(list->at, list->n, sizeof *list->at, by_key);
    return 0;
}

static const struct {
    const char *name;
    filter_fn *fn;
} filters[] = {
    {"trim", filter_trim},
    {"upper", filter_upper},
    {"lower", filter_lower},
    {"capitalize", filter_capitalize},
    {"title", filter_title},
    {"replace", filter_replace},
    {"string", filter_string},
    {"indent", filter_indent},
    {"tojson", filter_tojson},
    {"int", filter_int},
    {"abs", filter_abs},
    {"default", filter_default},
    {"d", filter_default},
    {"length", filter_length},
    {"count", filter_length},
    {"safe", filter_safe},
    {"list", filter_list},
    {"first", filter_first},
    {"last", filter_last},
    {"reverse", filter_reverse},
    {"join", filter_join},
    {"items", filter_items},
    {"map", filter_map},
    {"select", filter_select},
    {"reject", filter_reject},
    {"selectattr", filter_selectattr},
    {"rejectattr", filter_rejectattr},
    {"dictsort", filter_dictsort},
};

int filter_find(const char *name)
{
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (strcmp(filters[i].name, name) == 0) return (int)i;
    return -1;
}

int filter_apply(run_t *run, int filter, const value_t *v, const args_t *args, value_t *out)
{
    static const dict_t none = {{0}, {0}};
    args_t given = *args;
    if (!given.named) given.named = &none;
    if (run_deeper(run) < 0) return -1;
    int status = filters[filter].fn(run, v, &given, out);
    run->depth--;
    return status;
}
