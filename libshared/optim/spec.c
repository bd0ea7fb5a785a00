/* The training spec as JSON: a table of words and one of numbers for printing, reading and checking. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "optim/optim.h"

#define NUMBER(T, what, key, text, ...) .key = text,
#define WORD(X, T, key, text, ...) .key = #text,
const train_spec_t TRAIN_SPEC_DEFAULT = {TRAIN_SPEC_WORDS(WORD, , ) TRAIN_SPEC_NUMBERS(NUMBER, )};

#define TAKE_WORD(X, from, key, ...) .key = (from)->key,
#define TAKE(from, what, key, ...) .key = (SPEC_##what)(from)->key,
train_spec_t train_spec_of(const spec_options_t *options)
{
    return (train_spec_t){TRAIN_SPEC_WORDS(TAKE_WORD, , options) TRAIN_SPEC_NUMBERS(TAKE, options)};
}

/* --- Words --- */

/* Each list's texts, in static storage. */
#define WORD_TEXT(word, ...) #word,
#define WORD_TEXTS(X, T, key, text, LIST, ...) \
    static const char *const texts_of_##key[] = {LIST(WORD_TEXT) NULL};
TRAIN_SPEC_WORDS(WORD_TEXTS, , )

typedef struct {
    const char *name;
    size_t offset;
    const char *const *texts;
    const char *known;
} word_t;
#define WORD_ROW(X, T, key, text, LIST, ...) \
    {#key, offsetof(train_spec_t, key), texts_of_##key, OPTION_WORDS(LIST)},
static const word_t words[] = {TRAIN_SPEC_WORDS(WORD_ROW, , )};
enum { N_WORD = sizeof words / sizeof *words };

static const char *word_of(const word_t *f, const train_spec_t *spec)
{
    return *(const char *const *)((const char *)spec + f->offset);
}

static int set_word(const word_t *f, train_spec_t *spec, const char *text, err_t *err)
{
    for (const char *const *known = f->texts; text && *known; known++)
        if (strcmp(*known, text) == 0) {
            *(const char **)((char *)spec + f->offset) = *known;
            return 0;
        }
    return err_set(err, ERR_ARG, "training spec: %s \"%s\" is none of %s", f->name,
                   text ? text : "", f->known);
}

precision_t train_spec_precision(const train_spec_t *spec)
{
    int found = 0;
    for (int i = 0; i < N_PRECISION; i++)
        if (strcmp(spec->precision, texts_of_precision[i]) == 0) found = i;
    return (precision_t)found;
}

/* These are printed always; a word that came later where it is not at its default, so that plans of
 * before keep their identity. */
static bool is_word_printed(const word_t *f, const train_spec_t *spec)
{
    return strcmp(f->name, "optimizer") == 0 || strcmp(f->name, "precision") == 0 ||
           strcmp(word_of(f, spec), word_of(f, &TRAIN_SPEC_DEFAULT)) != 0;
}

/* --- Numbers --- */

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

char *train_spec_print(const train_spec_t *spec)
{
    str_t out = {0};
    number_t sorted[N_NUMBER];
    memcpy(sorted, numbers, sizeof numbers);
    qsort(sorted, N_NUMBER, sizeof *sorted, by_name);
    for (int i = 0; i < N_NUMBER; i++) {
        if (!is_printed(&sorted[i], spec)) continue;
        str_addf(&out, "%s\"%s\":", out.n ? "," : "{", sorted[i].name);
        str_add_number(&out, get(&sorted[i], spec), 1);
    }
    if (spec->memory_budget > 0)
        str_addf(&out, ",\"memory_budget\":%llu", (unsigned long long)spec->memory_budget);
    for (int i = 0; i < N_WORD; i++)
        if (is_word_printed(&words[i], spec))
            str_addf(&out, ",\"%s\":\"%s\"", words[i].name, word_of(&words[i], spec));
    str_add(&out, "}");
    char *text = mem_strdup(str_text(&out));
    str_fini(&out);
    return text;
}

static int set_field(train_spec_t *spec, const char *key, const json_t *value, err_t *err)
{
    for (int i = 0; i < N_WORD; i++)
        if (strcmp(key, words[i].name) == 0)
            return set_word(&words[i], spec, json_string_value(value), err);
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
