/* Configuration for people: the effective values as JSON, and --help. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/config.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"

static void add_quoted(str_t *out, const char *text)
{
    json_t *value = text ? json_string(text) : json_null();
    char *json = json_dumps(value, JSON_ENCODE_ANY);
    str_add(out, json ? json : "null");
    free(json);
    json_decref(value);
}

char *config_range(const config_field_t *field)
{
    str_t out = {0};
    if (field->kind == CONFIG_INT) return mem_printf("%.0f to %.0f", field->min, field->max);
    str_add_number(&out, field->min, 15);
    str_add(&out, " to ");
    str_add_number(&out, field->max, 15);
    return out.at;
}

static void add_value(str_t *out, const config_field_t *f, const void *at, bool mask)
{
    const char *text;
    switch (f->kind) {
    case CONFIG_BOOL: str_add(out, *(const bool *)at ? "true" : "false"); break;
    case CONFIG_INT:
        if (f->words && *(const int64_t *)at == CONFIG_WORD)
            add_quoted(out, f->words);
        else
            str_addf(out, "%lld", (long long)*(const int64_t *)at);
        break;
    case CONFIG_FLOAT: str_add_number(out, *(const double *)at, 1); break;
    case CONFIG_STRING:
    case CONFIG_ENUM:
        text = *(char *const *)at;
        add_quoted(out, mask && f->secret && text && *text ? "***" : text);
        break;
    }
}

char *config_print(const config_table_t *table, const void *target, bool mask)
{
    str_t out = {0};
    str_add(&out, "{");
    for (size_t i = 0; i < table->n_fields; i++) {
        const config_field_t *f = &table->fields[i];
        str_addf(&out, "%s\n  \"%s\": ", i ? "," : "", f->name);
        add_value(&out, f, (const char *)target + f->offset, mask);
    }
    str_add(&out, "\n}");
    return out.at;
}

/* On its line: a line's end is written as in JSON. */
static void add_default(str_t *out, const char *text)
{
    str_add(out, " [");
    for (; *text; text++) str_add(out, *text == '\n' ? "\\n" : (char[]){*text, '\0'});
    str_add(out, "]");
}

enum { INDENT = 34, NARROW_INDENT = 6, NARROW = 72 };

/* Columns of the terminal that `out` is; 0: it is none, and its reader wants whole lines. */
static size_t columns_of(FILE *out)
{
    struct winsize size;
    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* What stands beside a flag, in lines of so many columns; of a narrow terminal below it. */
static void put_beside(const char *flag, const char *text, size_t columns, FILE *out)
{
    size_t indent = columns > 0 && columns < NARROW ? NARROW_INDENT : INDENT, at = indent;
    fprintf(out, "%-*s", (int)indent, flag);
    if (strlen(flag) >= indent) fprintf(out, "\n%*s", (int)indent, "");
    for (size_t n; *text; text += n) {
        n = strspn(text, " ");
        n += strcspn(text + n, " ");
        if (columns > 0 && at > indent && at + n > columns) {
            fprintf(out, "\n%*s", (int)indent, "");
            text += strspn(text, " ");
            at = indent;
            n = strcspn(text, " ");
        }
        fwrite(text, 1, n, out);
        at += n;
    }
    fputc('\n', out);
}

/* "--some-name", with words before the name. */
static void put_flag(const config_field_t *f, const char *before, FILE *out)
{
    fprintf(out, "--%s", before);
    for (const char *p = f->name; *p; p++) fputc(*p == '_' ? '-' : *p, out);
}

static void help_field(const config_field_t *f, size_t columns, FILE *out)
{
    static const char *const kinds[] = {"", "INT", "NUMBER", "TEXT", ""};
    str_t left = {0}, right = {0};
    str_add(&left, "  ");
    if (config_letter(f)) str_addf(&left, "-%c, ", config_letter(f));
    str_add(&left, "--");
    size_t name = left.n, n_name = strlen(f->name);
    for (const char *p = f->name; *p; p++) str_addf(&left, "%c", *p == '_' ? '-' : *p);
    if (f->kind != CONFIG_BOOL)
        str_addf(&left, " %s", f->kind == CONFIG_ENUM ? f->words : kinds[f->kind]);
    if (f->kind == CONFIG_INT && f->words) str_addf(&left, "|%s", f->words);
    str_add(&right, f->help ? f->help : "");
    if (f->fallback && *f->fallback) add_default(&right, f->fallback);
    if (config_on(f)) str_addf(&right, " (--no-%.*s: off)", (int)n_name, left.at + name);
    if (f->max > f->min) {
        char *range = config_range(f);
        str_addf(&right, " (%s)", range);
        free(range);
    }
    put_beside(left.at, right.at, columns, out);
    str_fini(&left);
    str_fini(&right);
}

void config_help(const config_table_t *table, FILE *out)
{
    size_t columns = columns_of(out);
    if (table->usage) fprintf(out, "%s\n\n", table->usage);
    fprintf(out, "Flags [default] (range):\n");
    for (size_t i = 0; i < table->n_fields; i++) help_field(&table->fields[i], columns, out);
    put_beside("  --config FILE", "read settings from a JSON file", columns, out);
    put_beside("  --help, -h", "this text; --help-man: as a page for man", columns, out);
    put_beside("  --version", "the version", columns, out);
    if (!table->no_env)
        fprintf(out,
                "\nA flag --some-name is also the file's key \"some_name\" and the environment's "
                "PCP_SOME_NAME;\nflags win over the environment, which wins over the file.\n");
}

static void flag_line(const config_field_t *f, const char *before, const char *what, FILE *out)
{
    put_flag(f, before, out);
    fprintf(out, "%s%s\n", *what ? " " : "", what);
}

void config_flags(const config_table_t *table, const char *name, FILE *out)
{
    static const char *const takes[] = {"", "NUMBER", "NUMBER", "TEXT", ""};
    for (size_t i = 0; i < table->n_fields; i++) {
        const config_field_t *f = &table->fields[i];
        flag_line(f, "", f->words ? f->words : takes[f->kind], out);
        if (f->kind == CONFIG_BOOL) flag_line(f, "no-", "", out);
        if (config_letter(f))
            fprintf(out, "-%c %s\n", config_letter(f), f->words ? f->words : "TEXT");
    }
    fprintf(out, "--config TEXT\n--help\n--version\n");
    for (const char *at = table->usage; at && *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const char *word = at + (strncmp(at, "usage:", 6) == 0 ? 6 : 0);
        word += strspn(word, " ");
        if (word == at || strncmp(word, name, strlen(name)) != 0) continue;
        word += strlen(name);
        size_t n = strspn(word + 1, "abcdefghijklmnopqrstuvwxyz0123456789|");
        if (*word == ' ' && n > 0 && strchr(" \n", word[1 + n]))
            fprintf(out, "= %.*s\n", (int)n, word + 1);
    }
}

void config_answer(const config_table_t *table, const config_args_t *args, const char *name,
                   FILE *out)
{
    const char *base = strrchr(name, '/');
    name = base ? base + 1 : name;
    switch (args->asks) {
    case CONFIG_ASKS_HELP: config_help(table, out); break;
    case CONFIG_ASKS_VERSION: fprintf(out, "%s %s\n", name, pcp_version); break;
    case CONFIG_ASKS_MAN: config_man(table, name, out); break;
    case CONFIG_ASKS_FLAGS: config_flags(table, name, out); break;
    case CONFIG_ASKS_NOTHING: break;
    }
}
