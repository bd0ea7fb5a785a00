/* Configuration by table: values from defaults, JSON file, environment and flags into the caller's
 * struct. Every source ends in config_set, so a value is checked the same way wherever it came
 * from. Printing and --help are in config_text.c. */
#include "base/config.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/str.h"
#include "base/vec.h"

enum { MAX_NESTING = 8 };

/* ---- names ---- */

const config_field_t *config_find(const config_table_t *table, const char *name)
{
    for (const config_former_t *f = table->former; f && f->was; f++)
        if (strcmp(f->was, name) == 0) name = f->is;
    for (size_t i = 0; i < table->n_fields; i++)
        if (strcmp(table->fields[i].name, name) == 0) return &table->fields[i];
    return NULL;
}

static const struct {
    char letter;
    const char *name;
} letters[] = {{'o', "output"}};

char config_letter(const config_field_t *field)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (strcmp(field->name, letters[i].name) == 0) return letters[i].letter;
    return '\0';
}

bool config_on(const config_field_t *field)
{
    return field->kind == CONFIG_BOOL && field->fallback && strcmp(field->fallback, "true") == 0;
}

/* The field that -o stands for; NULL: this table has none of that letter. */
static const config_field_t *find_letter(const config_table_t *table, char letter)
{
    for (size_t i = 0; i < table->n_fields; i++)
        if (letter && config_letter(&table->fields[i]) == letter) return &table->fields[i];
    return NULL;
}

/* Levenshtein distance, for "did you mean". */
static size_t edit_distance(const char *a, const char *b)
{
    size_t n = strlen(b), *row = mem_calloc(n + 1, sizeof *row);
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t best = diagonal + (a[i] != b[j]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j + 1] + 1 < best) best = row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    size_t result = row[n];
    free(row);
    return result;
}

/* The field's name that most likely was meant: a third of the letters may be wrong. NULL: none is so near. */
static const char *nearest_name(const config_table_t *table, const char *name)
{
    const char *best = NULL;
    size_t limit = strlen(name) / 3, best_distance = limit > 0 ? limit : 1;
    for (size_t i = 0; i < table->n_fields; i++) {
        size_t d = edit_distance(name, table->fields[i].name);
        if (best ? d >= best_distance : d > best_distance) continue;
        best_distance = d;
        best = table->fields[i].name;
    }
    return best;
}

/* inner_steps -> inner-steps and back; env: PCP_INNER_STEPS. Returns, caller frees. */
static char *respell(const char *prefix, const char *name, char from, char to, bool upper)
{
    char *text = mem_printf("%s%s", prefix, name);
    for (char *p = text + strlen(prefix); *p; p++) {
        if (*p == from) *p = to;
        if (upper) *p = (char)toupper((unsigned char)*p);
    }
    return text;
}

/* What an error says behind an unknown name: "; the nearest known one is --inner-steps", or nothing where none is near.
 * Returns, caller frees. */
static char *hint_at(const config_table_t *table, const char *name, const char *before, char dash,
                     const char *behind)
{
    const char *near = nearest_name(table, name);
    if (!near) return mem_strdup("");
    char *spelled = respell(before, near, '_', dash, false);
    char *hint = mem_printf("; the nearest known one is %s%s", spelled, behind);
    free(spelled);
    return hint;
}

/* ---- one value ---- */

static int check_range(const config_field_t *f, double value, const char *text, err_t *err)
{
    if (f->max <= f->min || (value >= f->min && value <= f->max)) return 0;
    char *range = config_range(f);
    err_set(err, ERR_ARG, "%s: %s is out of range (%s)", f->name, text, range);
    free(range);
    return -1;
}

static int parse_int(const config_field_t *f, const char *text, int64_t *out, err_t *err)
{
    static const struct {
        const char *suffix;
        int64_t factor;
    } suffixes[] = {
        {"", 1},         {"k", 1000},     {"M", 1000000},  {"G", 1000000000},
        {"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30},
    };
    if (f->words && strcmp(text, f->words) == 0) {
        *out = CONFIG_WORD;
        return 0;
    }
    char *end;
    errno = 0;
    long long digits = strtoll(text, &end, 10);
    if ((end == text || isspace((unsigned char)*text)) && f->words)
        return err_set(err, ERR_ARG, "%s: \"%s\" is neither an integer nor \"%s\"", f->name, text,
                       f->words);
    if (end == text || isspace((unsigned char)*text))
        return err_set(err, ERR_ARG, "%s: \"%s\" is not an integer", f->name, text);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (strcmp(end, suffixes[i].suffix) != 0) continue;
        int64_t value;
        if (errno == ERANGE || !i64_mul(digits, suffixes[i].factor, &value))
            return err_set(err, ERR_ARG, "%s: %s does not fit into 64 bits", f->name, text);
        if (check_range(f, (double)value, text, err) < 0) return -1;
        *out = value;
        return 0;
    }
    return err_set(err, ERR_ARG,
                   "%s: \"%s\" is not an integer (suffixes: k M G are 1000s, Ki Mi Gi 1024s)",
                   f->name, text);
}

static int parse_float(const config_field_t *f, const char *text, double *out, err_t *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || isspace((unsigned char)*text) || !isfinite(value))
        return err_set(err, ERR_ARG, "%s: \"%s\" is not a finite number", f->name, text);
    if (check_range(f, value, text, err) < 0) return -1;
    *out = value;
    return 0;
}

static int parse_bool(const config_field_t *f, const char *text, bool *out, err_t *err)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) != 0) continue;
        *out = i % 2 == 1;
        return 0;
    }
    return err_set(err, ERR_ARG, "%s: \"%s\" is neither true nor false", f->name, text);
}

static int check_word(const config_field_t *f, const char *text, err_t *err)
{
    size_t n = strlen(text);
    for (const char *p = f->words;; p++) {
        size_t word = strcspn(p, "|");
        if (word == n && memcmp(p, text, n) == 0) return 0;
        p += word;
        if (!*p) break;
    }
    return err_set(err, ERR_ARG, "%s: \"%s\" is none of %s", f->name, text, f->words);
}

static int check_utf8(const config_field_t *f, const char *text, err_t *err)
{
    json_t *probe = json_string(text);
    if (!probe) return err_set(err, ERR_ARG, "%s: the value is not valid UTF-8", f->name);
    json_decref(probe);
    return 0;
}

/* Texts without a default, and directories: empty ones are a mistake, mostly a shell's variable that is not set, and files
 * would lie in "/". What may be empty has a default. */
static bool must_say(const config_field_t *f)
{
    const char *last = strrchr(f->name, '_');
    return !f->fallback || strcmp(last ? last + 1 : f->name, "dir") == 0;
}

static int check_text(const config_field_t *f, const char *text, err_t *err)
{
    if (*text || !must_say(f)) return check_utf8(f, text, err);
    return err_set(
        err, ERR_ARG,
        "%s: the value is empty, as a shell's variable that is not set: give one, or leave "
        "it out",
        f->name);
}

static int set_field(const config_field_t *f, void *target, const char *value, err_t *err)
{
    void *at = (char *)target + f->offset;
    switch (f->kind) {
    case CONFIG_BOOL: return parse_bool(f, value, at, err);
    case CONFIG_INT: return parse_int(f, value, at, err);
    case CONFIG_FLOAT: return parse_float(f, value, at, err);
    case CONFIG_ENUM:
        if (check_word(f, value, err) < 0) return -1;
        break;
    case CONFIG_STRING:
        if (check_text(f, value, err) < 0) return -1;
        break;
    }
    char *copy = mem_strdup(value);
    free(*(char **)at);
    *(char **)at = copy;
    return 0;
}

int config_set(const config_table_t *table, void *target, const char *name, const char *value,
               err_t *err)
{
    const config_field_t *f = config_find(table, name);
    if (f) return set_field(f, target, value, err);
    char *hint = hint_at(table, name, "", '_', "");
    err_set(err, ERR_ARG, "%s: unknown field%s", name, hint);
    free(hint);
    return -1;
}

/* As set_field; a secret may be in a file, where neither ps nor /proc shows it. */
static int set_given(const config_field_t *f, void *target, const char *value, err_t *err)
{
    if (!f->secret || *value != '@') return set_field(f, target, value, err);
    char *text = secret_read(value + 1, err);
    if (!text) return err_prefix(err, "%s: ", f->name);
    int rc = set_field(f, target, text, err);
    if (rc == 0) secret_keep(text, value + 1);
    free(text);
    return rc;
}

/* ---- defaults, file, environment ---- */

static bool is_text(const config_field_t *f)
{
    return f->kind == CONFIG_STRING || f->kind == CONFIG_ENUM;
}

static int set_defaults(const config_table_t *table, void *target, err_t *err)
{
    /* All text pointers first, so that config_fini is safe after any later error. */
    for (size_t i = 0; i < table->n_fields; i++)
        if (is_text(&table->fields[i])) *(char **)((char *)target + table->fields[i].offset) = NULL;
    for (size_t i = 0; i < table->n_fields; i++) {
        const config_field_t *f = &table->fields[i];
        if (f->fallback && set_field(f, target, f->fallback, err) < 0)
            return err_prefix(err, "default of ");
    }
    return 0;
}

/* A JSON scalar as the text a flag would carry. Returns, caller frees; NULL for other kinds. */
static char *text_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING: return mem_strdup(json_string_value(value));
    case JSON_INTEGER: return mem_printf("%lld", (long long)json_integer_value(value));
    case JSON_REAL: return mem_printf("%.17g", json_real_value(value));
    case JSON_TRUE: return mem_strdup("true");
    case JSON_FALSE: return mem_strdup("false");
    default: return NULL;
    }
}

static int set_from_json(const config_table_t *table, void *target, const char *name, json_t *value,
                         bool *seen, err_t *err)
{
    const config_field_t *f = config_find(table, name);
    if (!f) {
        char *hint = hint_at(table, name, "\"", '_', "\"");
        err_set(err, ERR_ARG, "unknown key \"%s\"%s", name, hint);
        free(hint);
        return -1;
    }
    if (seen[f - table->fields]) return err_set(err, ERR_ARG, "key \"%s\" is given twice", name);
    seen[f - table->fields] = true;
    if (json_is_null(value) && f->kind == CONFIG_STRING && !f->fallback) {
        char **at = (char **)((char *)target + f->offset);
        free(*at);
        *at = NULL;
        return 0;
    }
    char *text = text_of(value);
    if (!text)
        return err_set(err, ERR_ARG, "key \"%s\" wants a single value, not null or a list", name);
    int rc = set_field(f, target, text, err);
    free(text);
    return rc;
}

/* {"outer": {"lr": 1}} -> outer_lr, to a bounded depth. */
static int walk_object(const config_table_t *table, void *target, json_t *object,
                       const char *prefix, int depth, bool *seen, err_t *err)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        char *name = mem_printf("%s%s%s", prefix, *prefix ? "_" : "", key);
        int rc;
        if (!json_is_object(value))
            rc = set_from_json(table, target, name, value, seen, err);
        else if (depth == MAX_NESTING)
            rc = err_set(err, ERR_PARSE, "key \"%s\" is nested too deeply", name);
        else
            rc = walk_object(table, target, value, name, depth + 1, seen, err);
        free(name);
        if (rc < 0) return -1;
    }
    return 0;
}

static int load_file(const config_table_t *table, void *target, const char *path, err_t *err)
{
    size_t n;
    char *text = file_read(path, &n, err);
    if (!text) return err_prefix(err, "configuration file ");
    json_error_t at;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &at);
    free(text);
    if (!root) return err_set(err, ERR_PARSE, "%s:%d:%d: %s", path, at.line, at.column, at.text);
    bool *seen = mem_calloc(table->n_fields, sizeof *seen);
    int rc = json_is_object(root) ? walk_object(table, target, root, "", 0, seen, err)
                                  : err_set(err, ERR_PARSE, "the top is not an object {...}");
    if (rc < 0) err_prefix(err, "%s: ", path);
    free(seen);
    json_decref(root);
    return rc;
}

static bool is_named(const char *name, const config_field_t *field)
{
    return name && strcmp(name, field->name) == 0;
}

static int load_environment(const config_table_t *table, void *target, err_t *err)
{
    for (size_t i = 0; i < table->n_fields; i++) {
        if (table->no_env && !is_named(table->env_field, &table->fields[i])) continue;
        if (is_named(table->flag_only, &table->fields[i])) continue;
        char *variable = respell("PCP_", table->fields[i].name, '-', '_', true);
        const char *value = getenv(variable);
        int rc = 0;
        if (value && *value && (rc = set_given(&table->fields[i], target, value, err)) < 0)
            err_prefix(err, "environment %s: ", variable);
        free(variable);
        if (rc < 0) return -1;
    }
    return 0;
}

/* ---- flags ---- */

typedef struct {
    const config_field_t *field;
    const char *value; /* borrowed from argv or a literal */
} assignment_t;
typedef VEC(assignment_t) assignments_t;

typedef struct {
    int argc, i;
    char **argv;
    const char *file; /* of --config */
} walk_t;

static int want_value(walk_t *walk, const char *flag, const char *inline_value, const char **value,
                      err_t *err)
{
    if (inline_value)
        *value = inline_value;
    else if (walk->i + 1 < walk->argc)
        *value = walk->argv[++walk->i];
    else
        return err_set(err, ERR_ARG, "%s: the value is missing", flag);
    return 0;
}

/* One --word[=value]; `name` is the word in snake case, without "--". */
static int read_flag(const config_table_t *table, walk_t *walk, const char *name,
                     const char *inline_value, assignments_t *out, err_t *err)
{
    const char *flag = walk->argv[walk->i];
    const config_field_t *f = config_find(table, name);
    assignment_t a = {f, "true"};
    if (!f && str_starts(name, "no_") && (f = config_find(table, name + 3))) {
        if (f->kind != CONFIG_BOOL || inline_value)
            return err_set(err, ERR_ARG, "%s: only a yes-or-no flag has a --no- form", flag);
        a = (assignment_t){f, "false"};
    } else if (!f && strcmp(name, "config") == 0) {
        return want_value(walk, flag, inline_value, &walk->file, err);
    } else if (!f) {
        char *hint = hint_at(table, name, "--", '-', "");
        err_set(err, ERR_ARG, "%s: unknown flag%s (see --help)", flag, hint);
        free(hint);
        return -1;
    } else if (f->kind == CONFIG_BOOL) {
        if (inline_value) a.value = inline_value;
    } else if (want_value(walk, flag, inline_value, &a.value, err) < 0) {
        return -1;
    }
    VEC_PUSH(out, a);
    return 0;
}

/* -o VALUE or -oVALUE. */
static int read_letter(const config_table_t *table, walk_t *walk, assignments_t *out, err_t *err)
{
    const char *flag = walk->argv[walk->i];
    assignment_t a = {find_letter(table, flag[1]), NULL};
    if (!a.field) return err_set(err, ERR_ARG, "%s: flags have two dashes (see --help)", flag);
    if (want_value(walk, flag, flag[2] ? flag + 2 : NULL, &a.value, err) < 0) return -1;
    VEC_PUSH(out, a);
    return 0;
}

static config_asks_t asked_by(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ? CONFIG_ASKS_HELP
           : strcmp(word, "--version") == 0                       ? CONFIG_ASKS_VERSION
           : strcmp(word, "--help-man") == 0                      ? CONFIG_ASKS_MAN
           : strcmp(word, "--help-flags") == 0                    ? CONFIG_ASKS_FLAGS
                                                                  : CONFIG_ASKS_NOTHING;
}

static int read_args(const config_table_t *table, walk_t *walk, config_args_t *args,
                     assignments_t *out, err_t *err)
{
    bool only_operands = false;
    for (walk->i = 1; walk->i < walk->argc; walk->i++) {
        char *word = walk->argv[walk->i];
        if (only_operands || word[0] != '-' || word[1] == '\0') {
            args->operands[args->n_operands++] = word;
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
        } else if ((args->asks = asked_by(word)) != CONFIG_ASKS_NOTHING) {
            return 0;
        } else if (word[1] != '-') {
            if (read_letter(table, walk, out, err) < 0) return -1;
        } else {
            char *name = respell("", word + 2, '-', '_', false), *equals = strchr(name, '=');
            if (equals) *equals = '\0';
            int rc = read_flag(table, walk, name, equals ? strchr(word, '=') + 1 : NULL, out, err);
            free(name);
            if (rc < 0) return -1;
        }
    }
    return 0;
}

/* A list's flag that is given again adds to it. */
static int set_flag(const assignments_t *list, size_t i, void *target, err_t *err)
{
    const assignment_t *a = &list->at[i];
    bool again = false;
    for (size_t k = 0; k < i; k++) again = again || list->at[k].field == a->field;
    bool is_list = a->field->kind == CONFIG_STRING && a->field->words;
    if (!is_list || !again) return set_given(a->field, target, a->value, err);
    if (check_text(a->field, a->value, err) < 0) return -1;
    const char *before = *(char **)((char *)target + a->field->offset);
    char *all = mem_printf("%s%s%s", before, a->field->words, a->value);
    int rc = set_field(a->field, target, all, err);
    free(all);
    return rc;
}

static int apply_flags(const assignments_t *list, void *target, err_t *err)
{
    for (size_t i = 0; i < list->n; i++) {
        if (set_flag(list, i, target, err) == 0) continue;
        char *flag = respell("--", list->at[i].field->name, '_', '-', false);
        err_prefix(err, "flag %s: ", flag);
        free(flag);
        return -1;
    }
    return 0;
}

int config_load(const config_table_t *table, void *target, const char *file, int argc, char **argv,
                config_args_t *args, err_t *err)
{
    config_args_t words = {.operands = mem_calloc((size_t)argc + 1, sizeof(char *))};
    assignments_t flags = {0};
    walk_t walk = {.argc = argc, .argv = argv};
    int rc = set_defaults(table, target, err);
    if (rc == 0) rc = read_args(table, &walk, &words, &flags, err);
    if (rc == 0 && file && walk.file)
        rc = err_set(err, ERR_ARG, "--config: the file is already given as %s", file);
    if (!file) file = walk.file;
    if (rc == 0 && words.asks == CONFIG_ASKS_NOTHING) {
        if (table->base) rc = load_file(table, target, table->base, err);
        if (rc == 0 && file) rc = load_file(table, target, file, err);
        if (rc == 0) rc = load_environment(table, target, err);
        if (rc == 0) rc = apply_flags(&flags, target, err);
    }
    if (rc == 0 && !args && words.n_operands > 0)
        rc = err_set(err, ERR_ARG, "\"%s\": unexpected word (see --help)", words.operands[0]);
    VEC_FREE(&flags);
    if (args) {
        *args = words;
        if (rc < 0) config_args_fini(args);
    } else {
        config_args_fini(&words);
    }
    return rc;
}

const char *config_hide(const config_table_t *table, int argc, char **argv)
{
    const char *found = NULL;
    for (int i = 1; i < argc; i++) {
        if (!str_starts(argv[i], "--")) continue;
        char *name = respell("", argv[i] + 2, '-', '_', false), *equals = strchr(name, '=');
        if (equals) *equals = '\0';
        const config_field_t *f = config_find(table, name);
        free(name);
        char *value = !f || !f->secret ? NULL : equals ? strchr(argv[i], '=') + 1 : argv[i + 1];
        if (value && secret_hide(value)) found = f->name;
    }
    return found;
}

void config_args_fini(config_args_t *args)
{
    free(args->operands);
    *args = (config_args_t){0};
}

void config_fini(const config_table_t *table, void *target)
{
    for (size_t i = 0; i < table->n_fields; i++) {
        if (!is_text(&table->fields[i])) continue;
        char **at = (char **)((char *)target + table->fields[i].offset);
        free(*at);
        *at = NULL;
    }
}
