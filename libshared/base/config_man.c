/* Pages for man(1) from the tables of flags: the man(7) macros of groff and mandoc. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "base/version.h"

enum { COMMANDS = 1, DAEMONS = 8 }; /* sections of the manual */

/* Text as roff reads it as itself: no escapes, no requests at a line's start, minus signs that can be copied. */
static void put_text(const char *text, size_t n, FILE *out)
{
    bool start = true;
    for (size_t i = 0; i < n && text[i]; i++) {
        char c = text[i];
        if (start && (c == '.' || c == '\'')) fputs("\\&", out);
        if (c == '\\')
            fputs("\\e", out);
        else if (c == '-')
            fputs("\\-", out);
        else
            fputc(c, out);
        start = c == '\n';
    }
}

static void put(const char *text, FILE *out)
{
    put_text(text, strlen(text), out);
}

/* "pcp train" has the page "pcp-train". */
static char *page_of(const char *name)
{
    char *page = mem_strdup(name);
    for (char *p = page; *p; p++)
        if (*p == ' ') *p = '-';
    return page;
}

/* The lines of the usage before the first that is no form of a call. */
static size_t n_synopsis(const char *usage, const char *name)
{
    const char *at = usage;
    for (bool first = true; *at; first = false) {
        const char *end = strchr(at, '\n');
        bool call = first || *at == ' ' || strncmp(at, name, strlen(name)) == 0 ||
                    strncmp(at, "usage:", 6) == 0;
        if (!call || at == end) break;
        at = end ? end + 1 : at + strlen(at);
    }
    return (size_t)(at - usage);
}

/* What comes behind the name: the first sentence of the text, without a line's end inside. */
static void put_purpose(const char *text, FILE *out)
{
    while (isspace((unsigned char)*text)) text++;
    for (; *text && !(strchr(".:;", *text) && (!text[1] || isspace((unsigned char)text[1])));
         text++) {
        if (*text == '\n' && (text[1] == '\n' || text[1] == ' ')) break;
        fputs(*text == '\n'   ? " "
              : *text == '-'  ? "\\-"
              : *text == '\\' ? "\\e"
                              : (char[]){*text, '\0'},
              out);
    }
    fputc('\n', out);
}

static void put_field(const config_field_t *f, FILE *out)
{
    static const char *const kinds[] = {"", "INT", "NUMBER", "TEXT", ""};
    fputs(".TP\n.B ", out);
    if (config_letter(f)) fprintf(out, "\\-%c, ", config_letter(f));
    fputs("\\-\\-", out);
    for (const char *p = f->name; *p; p++) fputs(*p == '_' ? "\\-" : (char[]){*p, '\0'}, out);
    if (f->kind != CONFIG_BOOL)
        fprintf(out, " \\fI%s\\fR", f->kind == CONFIG_ENUM ? f->words : kinds[f->kind]);
    if (f->kind == CONFIG_INT && f->words) fprintf(out, "|\\fI%s\\fR", f->words);
    fputc('\n', out);
    put(f->help ? f->help : "", out);
    if (f->fallback && *f->fallback) {
        fputs("\n(default: ", out);
        for (const char *p = f->fallback; *p; p++)
            *p == '\n' ? fputs("\\en", out) : (put_text(p, 1, out), 0);
        fputs(")", out);
    }
    if (config_on(f)) {
        fputs("\n(\\-\\-no\\-", out);
        for (const char *p = f->name; *p; p++) fputs(*p == '_' ? "\\-" : (char[]){*p, '\0'}, out);
        fputs(": off)", out);
    }
    if (f->max > f->min) {
        char *range = config_range(f);
        fprintf(out, "\n(%s)", range);
        free(range);
    }
    fputc('\n', out);
}

/* "usage: " and what stands below it go. */
static void put_synopsis(const char *usage, size_t n, FILE *out)
{
    size_t indent = strncmp(usage, "usage: ", 7) == 0 ? 7 : 0;
    for (const char *end = usage + n; usage < end;) {
        size_t line = strcspn(usage, "\n");
        size_t skip = line > indent ? indent : 0;
        put_text(usage + skip, line - skip, out);
        fputc('\n', out);
        usage += line + (usage[line] == '\n');
    }
}

void config_man(const config_table_t *table, const char *name, FILE *out)
{
    const char *usage = table->usage ? table->usage : "";
    size_t n = n_synopsis(usage, name);
    char *page = page_of(name);
    fputs(".TH ", out);
    for (const char *p = page; *p; p++) fputc(toupper((unsigned char)*p), out);
    fprintf(out, " %d \"\" \"pcp %s\" \"Planetary Compute Protocol\"\n.SH NAME\n",
            strchr(name, ' ') ? COMMANDS : DAEMONS, pcp_version);
    put(page, out);
    fputs(" \\- ", out);
    put_purpose(table->purpose ? table->purpose : usage + n, out);
    fputs(".SH SYNOPSIS\n.nf\n", out);
    put_synopsis(usage, n, out);
    fputs(".fi\n.SH DESCRIPTION\n.nf\n", out);
    put(usage + n + strspn(usage + n, "\n"), out);
    fputs("\n.fi\n.SH OPTIONS\n", out);
    for (size_t i = 0; i < table->n_fields; i++) put_field(&table->fields[i], out);
    fputs(".TP\n.B \\-\\-config \\fIFILE\\fR\nread settings from a JSON file\n"
          ".TP\n.BR \\-\\-help \", \" \\-h\nprint a short form of this text\n"
          ".TP\n.B \\-\\-version\nprint the version\n",
          out);
    if (!table->no_env)
        fputs(".SH ENVIRONMENT\nA flag \\-\\-some\\-name is also the file's key \"some_name\" and "
              "the environment's\n"
              "PCP_SOME_NAME.\nFlags win over the environment, which wins over the file.\n",
              out);
    fputs(".SH SEE ALSO\n.BR pcp (1)\n", out);
    free(page);
}
