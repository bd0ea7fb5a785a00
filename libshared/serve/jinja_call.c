/* Methods of lists and objects, and functions. */
#include <string.h>
#include <time.h>

#include "serve/jinja_in.h"

/* --- methods --- */

static int dict_items(run_t *run, const dict_t *dict, bool keys, bool values, value_t *out)
{
    if (value_new_list(run, VALUE_LIST, out) < 0) return -1;
    for (size_t i = 0; i < dict->keys.n; i++) {
        value_t item = keys ? dict->keys.at[i] : dict->values.at[i];
        if (keys && values &&
            (value_new_list(run, VALUE_TUPLE, &item) < 0 ||
             value_push(run, item.list, dict->keys.at[i]) < 0 ||
             value_push(run, item.list, dict->values.at[i]) < 0))
            return -1;
        if (value_push(run, out->list, item) < 0) return -1;
    }
    return 0;
}

static int dict_get(run_t *run, const dict_t *dict, const args_t *args, value_t *out)
{
    const value_t *other = args_get(args, 1, "default");
    if (args->n == 0) return run_fail(run, ERR_TYPE, "get takes a name");
    if (value_get(run, dict, &args->at[0], out) < 0) return -1;
    if (out->kind == VALUE_UNDEFINED) *out = other ? *other : (value_t){.kind = VALUE_NONE};
    return 0;
}

static int list_index(run_t *run, const value_t *v, const args_t *args, bool counts, value_t *out)
{
    *out = value_int(0);
    if (args->n != 1) return run_fail(run, ERR_TYPE, "index and count take a value");
    for (size_t i = 0; i < v->list->n; i++) {
        int same = value_equal(run, &v->list->at[i], &args->at[0]);
        if (same < 0) return -1;
        if (same && !counts) return out->i = (int64_t)i, 0;
        out->i += same;
    }
    return counts ? 0 : run_fail(run, ERR_ARG, "index of what is not in the list");
}

int call_method(run_t *run, const value_t *v, const char *name, const args_t *args, value_t *out)
{
    if (v->kind == VALUE_STRING) return text_method(run, v, name, args, out);
    if (v->kind == VALUE_DICT) {
        if (strcmp(name, "items") == 0) return dict_items(run, v->dict, true, true, out);
        if (strcmp(name, "keys") == 0) return dict_items(run, v->dict, true, false, out);
        if (strcmp(name, "values") == 0) return dict_items(run, v->dict, false, true, out);
        if (strcmp(name, "get") == 0) return dict_get(run, v->dict, args, out);
    }
    if (value_is_list(v) && (strcmp(name, "index") == 0 || strcmp(name, "count") == 0))
        return list_index(run, v, args, *name == 'c', out);
    if (v->kind == VALUE_UNDEFINED)
        return run_fail(run, ERR_TYPE, "'%.*s' is undefined, and has no .%.60s", (int)v->s.n,
                        v->s.at, name);
    return run_fail(run, ERR_UNSUPPORTED, "the method .%.60s of a %s is not known", name,
                    value_kind(v));
}

/* --- functions --- */

typedef int function_fn(run_t *run, const args_t *args, value_t *out);

static int function_raise(run_t *run, const args_t *args, value_t *out)
{
    str_t text = {0};
    (void)out;
    if (args->n > 0) (void)value_print(run, &args->at[0], &text);
    int status = run_fail(run, ERR_ARG, "%.600s", str_text(&text));
    str_fini(&text);
    return status;
}

static int copy_dict(run_t *run, const args_t *args, value_kind_t kind, value_t *out)
{
    if (value_new_dict(run, kind, out) < 0) return -1;
    if (args->n > 1 || (args->n == 1 && args->at[0].kind != VALUE_DICT))
        return run_fail(run, ERR_TYPE, "namespace and dict take an object, or names with values");
    const dict_t *from[] = {args->n ? args->at[0].dict : NULL, args->named};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; from[k] && i < from[k]->keys.n; i++)
            if (value_put(run, out->dict, from[k]->keys.at[i], from[k]->values.at[i]) < 0)
                return -1;
    return 0;
}

static int function_namespace(run_t *run, const args_t *args, value_t *out)
{
    return copy_dict(run, args, VALUE_NAMESPACE, out);
}

static int function_dict(run_t *run, const args_t *args, value_t *out)
{
    return copy_dict(run, args, VALUE_DICT, out);
}

static int function_range(run_t *run, const args_t *args, value_t *out)
{
    int64_t part[3] = {0, 0, 1};
    if (args->n < 1 || args->n > 3) return run_fail(run, ERR_TYPE, "range takes 1 to 3 numbers");
    for (size_t i = 0; i < args->n; i++) {
        if (args->at[i].kind != VALUE_INT)
            return run_fail(run, ERR_TYPE, "range of a %s", value_kind(&args->at[i]));
        part[args->n == 1 ? 1 : i] = args->at[i].i;
    }
    const int64_t most = 1 << 30;
    for (int i = 0; i < 3; i++)
        if (part[i] > most || part[i] < -most || part[2] == 0)
            return run_fail(run, ERR_ARG, "range to %lld by %lld", (long long)part[1],
                            (long long)part[2]);
    if (value_new_list(run, VALUE_LIST, out) < 0) return -1;
    for (int64_t i = part[0]; part[2] > 0 ? i < part[1] : i > part[1]; i += part[2])
        if (value_push(run, out->list, value_int(i)) < 0) return -1;
    return 0;
}

/* The time in UTC, in words of C and English. */
static int function_strftime(run_t *run, const args_t *args, value_t *out)
{
    char format[128], text[512];
    struct tm now;
    time_t seconds = (time_t)run->now_s;
    if (args->n != 1 || args->at[0].kind != VALUE_STRING || args->at[0].s.n >= sizeof format)
        return run_fail(run, ERR_TYPE, "strftime_now takes a short format");
    memcpy(format, args->at[0].s.at, args->at[0].s.n);
    format[args->at[0].s.n] = '\0';
    gmtime_r(&seconds, &now);
    return value_copy(run, text, strftime(text, sizeof text, format, &now), out);
}

static const struct {
    const char *name;
    function_fn *fn;
} functions[] = {
    {"raise_exception", function_raise},
    {"namespace", function_namespace},
    {"dict", function_dict},
    {"range", function_range},
    {"strftime_now", function_strftime},
};

int function_find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) return (int)i;
    return -1;
}

int function_call(run_t *run, int function, const args_t *args, value_t *out)
{
    return functions[function].fn(run, args, out);
}
