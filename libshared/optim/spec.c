/* The training spec as JSON: one table of fields for printing, reading and checking. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "optim/rule.h"

const train_spec_t TRAIN_SPEC_DEFAULT = {
    .optimizer = "adamw",
    .beta1 = 0.9,
    .beta2 = 0.99,
    .eps = 1e-8,
    .weight_decay = 0.1,
    .momentum = 0.9,
    .clip = 1,
    .accumulate = 1,
};

static const char *const precision_names[] = {
    [PRECISION_F32] = "f32", [PRECISION_BF16] = "bf16", [PRECISION_BF16X3] = "bf16x3"};
enum { N_PRECISION = sizeof precision_names / sizeof *precision_names };

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
    return err_set(err, ERR_ARG, "precision \"%s\" is none of f32, bf16, bf16x3", text ? text : "");
}

/* Numbers, sorted by name; words come behind them by hand. `max` itself is allowed. */
static const struct {
    const char *name;
    size_t offset;
    double min, max;
} fields[] = {
    {"beta1", offsetof(train_spec_t, beta1), 0, 0.999999},
    {"beta2", offsetof(train_spec_t, beta2), 0, 0.99999999},
    {"clip", offsetof(train_spec_t, clip), 0, 1e30},
    {"eps", offsetof(train_spec_t, eps), 0, 1},
    {"momentum", offsetof(train_spec_t, momentum), 0, 0.999999},
    {"weight_decay", offsetof(train_spec_t, weight_decay), 0, 1e6},
};
enum { N_FIELD = sizeof fields / sizeof *fields, MAX_ACCUMULATE = 65536 };

static const double MAX_BUDGET = 1e15;

static double *field_of(const train_spec_t *spec, int i)
{
    return (double *)((char *)(uintptr_t)spec + fields[i].offset);
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
    str_addf(&out, "{\"accumulate\":%d", spec->accumulate);
    for (int i = 0; i < N_FIELD; i++) {
        str_addf(&out, ",\"%s\":", fields[i].name);
        add_number(&out, *field_of(spec, i));
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
    if (strcmp(key, "accumulate") == 0) {
        if (!(x >= 1 && x <= MAX_ACCUMULATE) || x != floor(x))
            return err_set(err, ERR_ARG, "training spec: accumulate is %g, expected 1 to %d", x,
                           MAX_ACCUMULATE);
        spec->accumulate = (int)x;
        return 0;
    }
    if (strcmp(key, "memory_budget") == 0) {
        if (!(x >= 0 && x <= MAX_BUDGET) || x != floor(x))
            return err_set(err, ERR_ARG, "training spec: memory_budget is %g, expected bytes", x);
        spec->memory_budget = (uint64_t)x;
        return 0;
    }
    for (int i = 0; i < N_FIELD; i++) {
        if (strcmp(key, fields[i].name) != 0) continue;
        if (!(x >= fields[i].min && x <= fields[i].max))
            return err_set(err, ERR_ARG, "training spec: %s is %g, expected %g to %g", key, x,
                           fields[i].min, fields[i].max);
        *field_of(spec, i) = x;
        return 0;
    }
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
