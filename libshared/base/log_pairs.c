/* Walks a format word by word and formats each value on its own. */
#include "base/log_pairs.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

typedef struct {
    const char *at; /* in the format */
    va_list args;
    str_t key, value; /* of the present word */
    bool quoted;      /* the format quotes the value */
    bool text;        /* a part of the value came by %s or %c */
} walk_t;

/* --- One conversion --- */

/* A width or precision: digits, or '*' for an argument. Negative: none is given. */
static int take_number(walk_t *self)
{
    if (*self->at == '*') {
        self->at++;
        return va_arg(self->args, int);
    }
    if (*self->at < '0' || *self->at > '9') return -1;
    char *end;
    long n = strtol(self->at, &end, 10);
    self->at = end;
    return n > 4096 ? 4096 : (int)n;
}

typedef struct {
    char flags[8], length[3];
    int width, precision;
    char kind;
} conversion_t;

static conversion_t take_conversion(walk_t *self)
{
    conversion_t c = {.precision = -1};
    size_t n = strspn(self->at, "-+ #0");
    snprintf(c.flags, sizeof c.flags, "%.*s", (int)(n < 7 ? n : 7), self->at);
    self->at += n;
    c.width = take_number(self);
    if (*self->at == '.') {
        self->at++;
        c.precision = take_number(self);
        if (c.precision < 0) c.precision = 0;
    }
    n = strspn(self->at, "hlzjt");
    snprintf(c.length, sizeof c.length, "%.*s", (int)(n < 2 ? n : 2), self->at);
    self->at += n;
    c.kind = *self->at;
    if (c.kind) self->at++;
    return c;
}

static intmax_t take_signed(walk_t *self, const char *length)
{
    if (strcmp(length, "ll") == 0) return va_arg(self->args, long long);
    switch (*length) {
    case 'l': return va_arg(self->args, long);
    case 'z': return va_arg(self->args, ssize_t);
    case 'j': return va_arg(self->args, intmax_t);
    case 't': return va_arg(self->args, ptrdiff_t);
    default: return va_arg(self->args, int);
    }
}

static uintmax_t take_unsigned(walk_t *self, const char *length)
{
    if (strcmp(length, "ll") == 0) return va_arg(self->args, unsigned long long);
    switch (*length) {
    case 'l': return va_arg(self->args, unsigned long);
    case 'z': return va_arg(self->args, size_t);
    case 'j': return va_arg(self->args, uintmax_t);
    case 't': return (uintmax_t)va_arg(self->args, ptrdiff_t);
    default: return va_arg(self->args, unsigned);
    }
}

/* printf's own format of it, with width and precision in place of stars. */
static void print_spec(const conversion_t *c, const char *length, char spec[48])
{
    int n = snprintf(spec, 48, "%%%s", c->flags);
    if (c->width >= 0) n += snprintf(spec + n, (size_t)(48 - n), "%d", c->width);
    if (c->precision >= 0) n += snprintf(spec + n, (size_t)(48 - n), ".%d", c->precision);
    snprintf(spec + n, (size_t)(48 - n), "%s%c", length, c->kind);
}

static void add_text(walk_t *self, str_t *out, const conversion_t *c)
{
    const char *text = va_arg(self->args, const char *);
    if (!text) text = "(null)";
    size_t n = c->precision >= 0 ? strnlen(text, (size_t)c->precision) : strlen(text);
    str_addn(out, text, n);
    self->text = true;
}

static void add_conversion(walk_t *self, str_t *out)
{
    conversion_t c = take_conversion(self);
    char spec[48];
    if (c.kind == 's') {
        add_text(self, out, &c);
    } else if (c.kind == 'c') {
        char one = (char)va_arg(self->args, int);
        str_addn(out, &one, 1);
        self->text = true;
    } else if (c.kind && strchr("di", c.kind)) {
        print_spec(&c, "j", spec);
        str_addf(out, spec, take_signed(self, c.length));
    } else if (c.kind && strchr("uoxX", c.kind)) {
        print_spec(&c, "j", spec);
        str_addf(out, spec, take_unsigned(self, c.length));
    } else if (c.kind && strchr("fFeEgGaA", c.kind)) {
        print_spec(&c, "", spec);
        str_addf(out, spec, va_arg(self->args, double));
    } else if (c.kind == 'p') {
        str_addf(out, "%p", va_arg(self->args, void *));
    } else if (c.kind) {
        str_addn(out, &c.kind, 1); /* "%%" */
    }
}

/* --- One word --- */

static void add_part(walk_t *self, str_t *out)
{
    if (*self->at == '%') {
        self->at++;
        add_conversion(self, out);
        return;
    }
    str_addn(out, self->at++, 1);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The next word into key and value; without '=' the key is empty. False: the format ends. */
static bool take_word(walk_t *self)
{
    while (is_blank(*self->at)) self->at++;
    if (!*self->at) return false;
    self->key.n = self->value.n = 0;
    self->text = false;
    while (*self->at && *self->at != '=' && !is_blank(*self->at)) add_part(self, &self->key);
    self->quoted = false;
    if (*self->at != '=') { /* a word of text */
        str_t swap = self->value;
        self->value = self->key;
        self->key = swap;
        return true;
    }
    self->text = false;
    self->at++;
    self->quoted = *self->at == '"';
    if (!self->quoted) {
        while (*self->at && !is_blank(*self->at)) add_part(self, &self->value);
        return true;
    }
    for (self->at++; *self->at && *self->at != '"';) {
        if (*self->at == '\\' && self->at[1]) self->at++;
        add_part(self, &self->value);
    }
    if (*self->at) self->at++;
    return true;
}

/* --- Writing it --- */

static void add_key(str_t *line, const str_t *key)
{
    for (size_t i = 0; i < key->n; i++) {
        char c = key->at[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '.' || c == '-';
        str_addn(line, good ? &c : "_", 1);
    }
}

/* In quotes, as JSON wants it; logfmt's readers take the same escapes. */
static void add_quoted(str_t *line, const str_t *value)
{
    str_add(line, "\"");
    for (size_t i = 0; i < value->n;) {
        const char *at = value->at + i;
        unsigned code = 0;
        size_t n = utf8_next(at, value->n - i, &code);
        if (n == 0)
            utf8_add(line, at, 1);
        else if (code == '"' || code == '\\')
            str_addf(line, "\\%c", (int)code);
        else if (code == '\n')
            str_add(line, "\\n");
        else if (utf8_is_control(code))
            str_addf(line, "\\u%04x", code);
        else
            str_addn(line, at, n);
        i += n ? n : 1;
    }
    str_add(line, "\"");
}

/* Whether a reader of logfmt would take it for anything else than this one value. */
static bool wants_quotes(const str_t *value)
{
    for (size_t i = 0; i < value->n;) {
        unsigned code = 0;
        size_t n = utf8_next(value->at + i, value->n - i, &code);
        if (n == 0 || code <= ' ' || code == '"' || code == '\\' || code == '=' ||
            utf8_is_control(code))
            return true;
        i += n;
    }
    return false;
}

/* Whether JSON accepts the word unquoted: a number, true, false. (strtod takes inf and hex too.) */
static bool is_json_word(const char *text, size_t n)
{
    if ((n == 4 && !memcmp(text, "true", 4)) || (n == 5 && !memcmp(text, "false", 5))) return true;
    size_t i = n > 0 && text[0] == '-' ? 1 : 0, digits = i;
    while (digits < n && text[digits] >= '0' && text[digits] <= '9') digits++;
    if (digits == i || (text[i] == '0' && digits > i + 1) || n >= 40) return false;
    if (strspn(text, "+-.0123456789eE") < n || text[n - 1] == '.' || text[n - 1] == 'e')
        return false;
    char copy[40], *end;
    memcpy(copy, text, n);
    copy[n] = '\0';
    strtod(copy, &end);
    return *end == '\0' && !strstr(copy, ".e") && !strstr(copy, ".E");
}

static void add_word(const walk_t *self, str_t *line, bool json)
{
    const str_t *value = &self->value;
    str_add(line, json ? ", " : " ");
    if (json) str_add(line, "\"");
    if (self->key.n > 0)
        add_key(line, &self->key);
    else if (json)
        str_add(line, "text");
    if (json)
        str_add(line, "\": ");
    else if (self->key.n > 0)
        str_add(line, "=");
    bool bare = json ? !self->quoted && !self->text && is_json_word(str_text(value), value->n)
                     : !self->quoted && !wants_quotes(value);
    if (!bare)
        add_quoted(line, value);
    else if (value->n > 0)
        str_addn(line, value->at, value->n);
}

void log_pairs_add(str_t *line, bool json, const char *format, va_list args)
{
    walk_t walk = {.at = format};
    va_copy(walk.args, args);
    while (take_word(&walk))
        if (walk.key.n > 0 || walk.value.n > 0) add_word(&walk, line, json);
    va_end(walk.args);
    str_fini(&walk.key);
    str_fini(&walk.value);
}
