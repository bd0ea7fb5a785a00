/* The lexer: one token at a time, by the first character. Strings are found with memchr, because
 * literals hold megabytes of hex. */
#include "parse/lex.h"

#include <stdint.h>
#include <string.h>

#include "base/file.h"

enum { CH_DIGIT = 1, CH_LETTER = 2, CH_DOLLAR_DOT = 4, CH_DASH = 8 };

static int class_of(char c)
{
    if (c >= '0' && c <= '9') return CH_DIGIT;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') return CH_LETTER;
    if (c == '$' || c == '.') return CH_DOLLAR_DOT;
    if (c == '-') return CH_DASH;
    return 0;
}

const char *lex_skip_blank(const char *at, const char *end)
{
    for (;;) {
        while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) at++;
        if (end - at < 2 || at[0] != '/' || at[1] != '/') return at;
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline : end;
    }
}

/* --- long stretches --- */

enum {
    STRETCH = 1 << 20
}; /* looked through at a time: both characters in one pass through memory */

void lex_passed(const lexer_t *self, const char *from, const char *to)
{
    if (self->mapped && to - from >= STRETCH) file_pages_forget(from, (size_t)(to - from));
}

const char *lex_find(const lexer_t *self, const char *at, char one, char other)
{
    while (at < self->end) {
        size_t left = (size_t)(self->end - at), n = STRETCH - (uintptr_t)at % STRETCH;
        if (n > left) n = left;
        const char *hit = memchr(at, one, n);
        const char *second = memchr(at, other, hit ? (size_t)(hit - at) : n);
        if (second) return second;
        if (hit) return hit;
        lex_passed(self, at, at + n);
        at += n;
    }
    return NULL;
}

const char *lex_string_end(const lexer_t *self, const char *at)
{
    for (at++; at < self->end;) {
        const char *hit = lex_find(self, at, '"', '\\');
        if (!hit) return NULL;
        if (*hit == '"') return hit + 1;
        at = hit + 2; /* the escaped character may be a quote */
    }
    return NULL;
}

const char *lex_skip_string(const char *at, const char *end)
{
    const lexer_t text = {.end = end};
    return lex_string_end(&text, at);
}

static char closing(char c)
{
    return c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : c == '<' ? '>' : '\0';
}

const char *lex_skip_balanced(const char *at, const char *end)
{
    enum { MAX_DEPTH = 256 };
    char want[MAX_DEPTH];
    int depth = 0;
    while (at < end) {
        char c = *at;
        bool pair = end - at >= 2 &&
                    ((c == '-' && at[1] == '>') || ((c == '<' || c == '>') && at[1] == '='));
        if (pair) {
            at += 2;
        } else if (c == '"') {
            at = lex_skip_string(at, end);
            if (!at) return NULL;
        } else if (c == '/' && end - at >= 2 && at[1] == '/') {
            at = lex_skip_blank(at, end);
        } else if (closing(c)) {
            if (depth == MAX_DEPTH) return NULL;
            want[depth++] = closing(c);
            at++;
        } else if (c == ')' || c == ']' || c == '}' || c == '>') {
            if (depth == 0 || want[--depth] != c) return NULL;
            at++;
            if (depth == 0) return at;
        } else {
            at++;
        }
    }
    return NULL;
}

static const char *skip_class(const char *at, const char *end, int classes)
{
    while (at < end && (class_of(*at) & classes)) {
        if (*at == '-' && end - at >= 2 && at[1] == '>') break; /* an arrow, not a name */
        at++;
    }
    return at;
}

/* What may follow % @ ^ # !: digits, or a name; NULL when nothing does. */
static const char *skip_suffix(const char *at, const char *end)
{
    const char *from = at;
    at = at < end && class_of(*at) == CH_DIGIT
             ? skip_class(at, end, CH_DIGIT)
             : skip_class(at, end, CH_DIGIT | CH_LETTER | CH_DOLLAR_DOT | CH_DASH);
    return at > from ? at : NULL;
}

static const char *skip_symbol(const char *at, const char *end)
{
    for (;;) { /* *at is '@' */
        at++;
        at = at < end && *at == '"' ? lex_skip_string(at, end) : skip_suffix(at, end);
        if (!at || end - at < 3 || memcmp(at, "::@", 3) != 0) return at;
        at += 2;
    }
}

static const char *skip_value(const char *at, const char *end)
{
    at = skip_suffix(at + 1, end);
    if (at && end - at >= 2 && *at == '#' && class_of(at[1]) == CH_DIGIT)
        at = skip_class(at + 1, end, CH_DIGIT);
    return at;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static const char *skip_number(const char *at, const char *end, int *kind)
{
    *kind = TOK_INT;
    if (*at == '-') at++;
    if (end - at >= 3 && at[0] == '0' && at[1] == 'x' && is_hex(at[2])) {
        at += 2;
        while (at < end && is_hex(*at)) at++;
        return at;
    }
    at = skip_class(at, end, CH_DIGIT);
    if (at == end || *at != '.') return at;
    *kind = TOK_FLOAT;
    at = skip_class(at + 1, end, CH_DIGIT);
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char *exponent = at + 1;
        if (exponent < end && (*exponent == '+' || *exponent == '-')) exponent++;
        const char *last = skip_class(exponent, end, CH_DIGIT);
        if (last > exponent) at = last;
    }
    return at;
}

/* Tokens that start with a sign of their own; NULL when malformed. */
static const char *skip_signed(const lexer_t *self, const char *at, int *kind)
{
    const char *end = self->end;
    switch (*at) {
    case '%': *kind = TOK_VALUE; return skip_value(at, end);
    case '@': *kind = TOK_SYMBOL; return skip_symbol(at, end);
    case '^': *kind = TOK_LABEL; return skip_suffix(at + 1, end);
    case '!': *kind = TOK_BANG; return skip_suffix(at + 1, end);
    case '"': *kind = TOK_STRING; return lex_string_end(self, at);
    case '#':
        if (end - at >= 3 && at[1] == '-' && at[2] == '}') {
            *kind = TOK_CLOSE_RESOURCES;
            return at + 3;
        }
        *kind = TOK_HASH;
        return skip_suffix(at + 1, end);
    default: break;
    }
    *kind = *at;
    return *at && strchr("(){}[]<>=:,?*", *at) ? at + 1 : NULL;
}

token_t lex_next(lexer_t *self)
{
    const char *at = lex_skip_blank(self->at, self->end), *end = self->end, *behind;
    int kind = TOK_END;
    if (at == end) {
        self->at = at;
        return (token_t){TOK_END, at, 0};
    }
    if (class_of(*at) == CH_LETTER) {
        kind = TOK_ID;
        behind = skip_class(at, end, CH_DIGIT | CH_LETTER | CH_DOLLAR_DOT);
    } else if (*at == '-' && end - at >= 2 && at[1] == '>') {
        kind = TOK_ARROW;
        behind = at + 2;
    } else if (*at == '{' && end - at >= 3 && at[1] == '-' && at[2] == '#') {
        kind = TOK_OPEN_RESOURCES;
        behind = at + 3;
    } else if (class_of(*at) == CH_DIGIT ||
               (*at == '-' && end - at >= 2 && class_of(at[1]) == CH_DIGIT)) {
        behind = skip_number(at, end, &kind);
    } else {
        behind = skip_signed(self, at, &kind);
    }
    if (!behind) {
        self->at = at + 1;
        return (token_t){TOK_BAD, at, 1};
    }
    self->at = behind;
    return (token_t){kind, at, (size_t)(behind - at)};
}

bool lex_is(token_t tok, const char *text)
{
    size_t n = strlen(text);
    return tok.n == n && memcmp(tok.at, text, n) == 0;
}

int lex_line(const lexer_t *self, const char *at, const char **line_start)
{
    int line = 1;
    const char *start = self->text;
    for (const char *newline; start < at; start = newline + 1, line++) {
        newline = memchr(start, '\n', (size_t)(at - start));
        if (!newline) break;
    }
    if (line_start) *line_start = start;
    return line;
}
