/* The training spec as JSON: one table of fields for printing, reading and checking. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "optim/rule.h"

#define NUMBER(T, what, key, text, ...) .key = text,
const train_spec_t TRAIN_SPEC_DEFAULT = {.optimizer = "adamw", TRAIN_SPEC_NUMBERS(NUMBER, )};

#define PRECISION_NAME(word, constant) [constant] = #word,
static const char *const precision_names[N_PRECISION] = {PRECISIONS(PRECISION_NAME)};

const char *precision_name(precision_t precision)
{
    return precision_names[precision];
}

int precision_parse(const char *text, precision_t *precision, err_t *err)
{
    for (int i = 0; text && i < N_PRECISION; i++)
        if (strcmp(text, precision_names[i]) == 0) {
            *precision = (precision_t)i;
            return 0;
        }
    return err_set(err, ERR_ARG, "precision \"%s\" is none of %s", text ? text : "",
                   OPTION_WORDS(PRECISIONS));
}

#define TAKE(from, what, key, ...) .key = (SPEC_##what)(from)->key,
train_spec_t train_spec_of(const spec_options_t *options)
{
    train_spec_t spec = {.optimizer = options->optimizer, TRAIN_SPEC_NUMBERS(TAKE, options)};
    err_t none; /* the table allows known words alone */
    (void)precision_parse(options->precision, &spec.precision, &none);
    return spec;
}

/* Numbers; words come behind them by hand. */
typedef struct {
    const char *name;
    size_t offset;
    config_kind_t kind;
    double min, max;
} number_t;
#define ROW(T, what, key, text, low, high, ...) \
    {#key, offsetof(train_spec_t, key), CONFIG_##what, low, high},
static const number_t numbers[] = {TRAIN_SPEC_NUMBERS(ROW, )};
enum { N_NUMBER = sizeof numbers / sizeof *numbers };

static const double MAX_BUDGET = 1e15;

static double get(const number_t *f, const train_spec_t *spec)
{
    const void *at = (const char *)spec + f->offset;
    return f->kind == CONFIG_INT ? *(const int *)at : *(const double *)at;
}

static int set(const number_t *f, train_spec_t *spec, double x, err_t *err)
{
    void *at = (char *)spec + f->offset;
    bool whole = f->kind == CONFIG_INT;
    if (!(x >= f->min && x <= f->max) || (whole && x != floor(x)))
        return err_set(err, ERR_ARG, "training spec: %s is %g, expected %g to %g", f->name, x,
                       f->min, f->max);
    if (whole)
        *(int *)at = (int)x;
    else
        *(double *)at = x;
    return 0;
}

/* These are printed always; one that came later where it is not at its default, so that plans of
 * before keep their identity. */
static bool is_printed(const number_t *f, const train_spec_t *spec)
{
    static const char *const always[] = {"accumulate", "beta1",    "beta2",       "clip",
                                         "eps",        "momentum", "weight_decay"};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (strcmp(f->name, always[i]) == 0) return true;
    return get(f, spec) != get(f, &TRAIN_SPEC_DEFAULT);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const number_t *)a)->name, ((const number_t *)b)->name);
}

/* The shortest decimal that reads back to the same double. */
static void add_number(str_t *out, double x)
{
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x) break;
    }
    str_add(out, text);
}

char *train_spec_print(const train_spec_t *spec)
{
    str_t out = {0};
    number_t sorted[N_NUMBER];
    memcpy(sorted, numbers, sizeof numbers);
    qsort(sorted, N_NUMBER, sizeof *sorted, by_name);
    for (int i = 0; i < N_NUMBER; i++) {
        if (!is_printed(&sorted[i], spec)) continue;
        str_addf(&out, "%s\"%s\":", out.n ? "," : "{", sorted[i].name);
        add_number(&out, get(&sorted[i], spec));
    }
    if (spec->memory_budget > 0)
        str_addf(&out, ",\"memory_budget\":%llu", (unsigned long long)spec->memory_budget);
    str_addf(&out, ",\"optimizer\":\"%s\",\"precision\":\"%s\"}", spec->optimizer,
             precision_name(spec->precision));
    char *text = mem_strdup(str_text(&out));
    str_fini(&out);
    return text;
}

static int set_field(train_spec_t *spec, const char *key, const json_t *value, err_t *err)
{
    if (strcmp(key, "optimizer") == 0) {
        const optim_rule_t *rule = optim_rule_find(json_string_value(value), err);
        if (rule) spec->optimizer = rule->name;
        return rule ? 0 : -1;
    }
    if (strcmp(key, "precision") == 0)
        return precision_parse(json_string_value(value), &spec->precision, err) < 0
                   ? err_prefix(err, "training spec: ")
                   : 0;
    if (!json_is_number(value))
        return err_set(err, ERR_PARSE, "training spec: \"%s\" must be a number", key);
    double x = json_number_value(value);
    if (strcmp(key, "memory_budget") == 0) {
        if (!(x >= 0 && x <= MAX_BUDGET) || x != floor(x))
            return err_set(err, ERR_ARG, "training spec: memory_budget is %g, expected bytes", x);
        spec->memory_budget = (uint64_t)x;
        return 0;
    }
    for (int i = 0; i < N_NUMBER; i++)
        if (strcmp(key, numbers[i].name) == 0) return set(&numbers[i], spec, x, err);
    return err_set(err, ERR_PARSE, "training spec: unknown key \"%s\"", key);
}

int train_spec_parse(const char *json, train_spec_t *spec, err_t *err)
{
    json_error_t why;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(root)) {
        json_decref(root);
        return err_set(err, ERR_PARSE, "training spec: line %d, column %d: %s", why.line,
                       why.column, root ? "not an object" : why.text);
    }
    train_spec_t fresh = TRAIN_SPEC_DEFAULT;
    const char *key;
    json_t *value;
    int status = 0;
    json_object_foreach(root, key, value)
    {
        if (status == 0) status = set_field(&fresh, key, value, err);
    }
    json_decref(root);
    if (status == 0) *spec = fresh;
    return status;
}
