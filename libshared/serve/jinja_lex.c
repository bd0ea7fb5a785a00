/* Source to tokens, white space around tags cut as Jinja cuts it with trim_blocks and lstrip_blocks. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "serve/jinja_in.h"

typedef struct {
    arena_t *arena;
    const char *at, *end;
    int line;
    bool at_line_start; /* the last tag took the end of its line */
    VEC(token_t) tokens;
    VEC(char) open; /* brackets of the tag that is read */
    err_t *err;
} lexer_t;

static int fail(const lexer_t *self, const char *what)
{
    return err_set(self->err, ERR_PARSE, "line %d: %s", self->line, what);
}

static void push(lexer_t *self, token_kind_t kind, const char *text, size_t n)
{
    const token_t token = {.kind = kind, .line = self->line, .text = text, .n = n};
    VEC_PUSH(&self->tokens, token);
}

static bool follows(const lexer_t *self, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(self->end - self->at) >= n && memcmp(self->at, text, n) == 0;
}

static void skip(lexer_t *self, size_t n)
{
    for (; n > 0; n--, self->at++) self->line += *self->at == '\n';
}

static void skip_space(lexer_t *self)
{
    while (self->at < self->end && isspace((unsigned char)*self->at)) skip(self, 1);
}

/* --- outside of tags --- */

/* Blanks between the start of the line and a tag go. */
static const char *strip_line(const lexer_t *self, const char *from, const char *to)
{
    const char *line = to;
    while (line > from && line[-1] != '\n') line--;
    if (line == from && !self->at_line_start) return to;
    for (const char *c = line; c < to; c++)
        if (!isspace((unsigned char)*c)) return to;
    return line;
}

static const char *find_tag(const lexer_t *self)
{
    for (const char *c = self->at; c + 1 < self->end; c++)
        if (*c == '{' && (c[1] == '{' || c[1] == '%' || c[1] == '#')) return c;
    return self->end;
}

/* The text up to the next tag, and the tag's kind: '{', '%', '#', 0 at the end. */
static char read_text(lexer_t *self)
{
    const char *from = self->at, *tag = find_tag(self), *to = tag;
    char kind = tag < self->end ? tag[1] : 0, sign = tag + 2 < self->end ? tag[2] : 0;
    if (kind && sign == '-')
        while (to > from && isspace((unsigned char)to[-1])) to--;
    else if (kind && kind != '{' && sign != '+')
        to = strip_line(self, from, to);
    if (to > from) push(self, TOKEN_TEXT, from, (size_t)(to - from));
    skip(self, (size_t)(tag - from));
    if (kind) skip(self, sign == '-' || sign == '+' ? 3 : 2);
    self->at_line_start = false;
    return kind;
}

/* What stands behind a tag's end, which was read; sign '-' or '+' stood before it. */
static void end_tag(lexer_t *self, char sign, bool trims)
{
    const char *from = self->at;
    if (sign == '-')
        skip_space(self);
    else if (trims && sign != '+' && self->at < self->end && *self->at == '\n')
        skip(self, 1);
    self->at_line_start = self->at > from && self->at[-1] == '\n';
}

static int read_comment(lexer_t *self)
{
    for (; self->at + 1 < self->end; skip(self, 1)) {
        if (!follows(self, "#}")) continue;
        char sign = self->at[-1];
        skip(self, 2);
        end_tag(self, sign, true);
        return 0;
    }
    return fail(self, "a comment has no end");
}

/* --- inside of tags --- */

static void add_code(str_t *out, unsigned code)
{
    char bytes[4];
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; code >>= 6) bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(n == 1 ? code : (0xf00u >> n & 0xf0u) | code);
    str_addn(out, bytes, n);
}

/* \xNN, \uNNNN, \UNNNNNNNN behind the letter. */
static int read_code(lexer_t *self, int digits, str_t *out)
{
    unsigned code = 0;
    for (int i = 0; i < digits; i++, self->at++) {
        if (self->at >= self->end || !isxdigit((unsigned char)*self->at))
            return fail(self, "an escape with too few digits");
        char c = *self->at;
        code = code * 16 + (unsigned)(isdigit((unsigned char)c) ? c - '0' : (c | 32) - 'a' + 10);
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return fail(self, "an escape of no character");
    add_code(out, code);
    return 0;
}

static int read_escape(lexer_t *self, str_t *out)
{
    static const char letters[] = "nrtabfv\\'\"", bytes[] = "\n\r\t\a\b\f\v\\'\"";
    if (++self->at >= self->end) return fail(self, "a string has no end");
    char c = *self->at++;
    const char *known = c ? strchr(letters, c) : NULL;
    if (known) {
        str_addn(out, &bytes[known - letters], 1);
    } else if (c == '\n') {
        self->line++;
    } else if (c == 'x' || c == 'u' || c == 'U') {
        return read_code(self, c == 'x' ? 2 : c == 'u' ? 4 : 8, out);
    } else if (isdigit((unsigned char)c) || c == 'N') {
        return fail(self, "an escape by octal digits or a name");
    } else {
        str_addn(out, "\\", 1);
        str_addn(out, &c, 1);
    }
    return 0;
}

static int read_string(lexer_t *self)
{
    char quote = *self->at++;
    str_t text = {0};
    int status = 0, line = self->line;
    while (status == 0 && self->at < self->end && *self->at != quote) {
        if (*self->at == '\\') {
            status = read_escape(self, &text);
        } else {
            str_addn(&text, self->at, 1);
            skip(self, 1);
        }
    }
    if (status == 0 && self->at >= self->end) status = fail(self, "a string has no end");
    if (status == 0) {
        self->at++;
        push(self, TOKEN_STRING, arena_strndup(self->arena, str_text(&text), text.n), text.n);
        self->tokens.at[self->tokens.n - 1].line = line;
    }
    str_fini(&text);
    return status;
}

static int read_number(lexer_t *self)
{
    const char *c = self->at;
    bool whole = true;
    char text[64], *stop;
    size_t n = 0;
    while (c < self->end && (isdigit((unsigned char)*c) || *c == '_')) c++;
    if (c + 1 < self->end && *c == '.' && isdigit((unsigned char)c[1]))
        for (whole = false, c++; c < self->end && isdigit((unsigned char)*c);) c++;
    if (c + 1 < self->end && (*c | 32) == 'e' && (isdigit((unsigned char)c[1]) || c[1] == '-'))
        for (whole = false, c += 2; c < self->end && isdigit((unsigned char)*c);) c++;
    for (const char *d = self->at; d < c && n + 1 < sizeof text; d++)
        if (*d != '_') text[n++] = *d;
    text[n] = '\0';
    token_t token = {.kind = whole ? TOKEN_INT : TOKEN_FLOAT, .line = self->line};
    token.f = strtod(text, &stop);
    if (*stop || (size_t)(c - self->at) >= sizeof text || (whole && token.f > 9e18))
        return fail(self, "a number that is too long");
    if (whole) token.i = strtoll(text, NULL, 10);
    VEC_PUSH(&self->tokens, token);
    self->at = c;
    return 0;
}

static void read_name(lexer_t *self)
{
    const char *from = self->at;
    while (self->at < self->end && (isalnum((unsigned char)*self->at) || *self->at == '_'))
        self->at++;
    size_t n = (size_t)(self->at - from);
    push(self, TOKEN_NAME, arena_strndup(self->arena, from, n), n);
}

static int balance(lexer_t *self, char c)
{
    static const char pairs[] = "()[]{}";
    const char *at = strchr(pairs, c);
    if (!at) return 0;
    if ((at - pairs) % 2 == 0) {
        VEC_PUSH(&self->open, at[1]);
        return 0;
    }
    if (self->open.n == 0 || self->open.at[self->open.n - 1] != c)
        return fail(self, "a bracket that closes nothing");
    self->open.n--;
    return 0;
}

static int read_operator(lexer_t *self)
{
    static const char *const operators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                            "*",  "%",  "~",  ">",  "<",  "=",  "(", ")", "[",
                                            "]",  "{",  "}",  ".",  ":",  ",",  "|", ";"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (!follows(self, operators[i])) continue;
        size_t n = strlen(operators[i]);
        if (n == 1 && balance(self, *operators[i]) < 0) return -1;
        push(self, TOKEN_OP, operators[i], n);
        self->at += n;
        return 0;
    }
    return fail(self, "a character that has no meaning in a tag");
}

static int read_word(lexer_t *self)
{
    char c = *self->at;
    if (c == '\'' || c == '"') return read_string(self);
    if (isdigit((unsigned char)c)) return read_number(self);
    if (!isalpha((unsigned char)c) && c != '_') return read_operator(self);
    read_name(self);
    return 0;
}

/* Up to the tag's end: kind '{' or '%'. */
static int read_tag(lexer_t *self, char kind)
{
    const char *end = kind == '{' ? "}}" : "%}";
    push(self, kind == '{' ? TOKEN_PRINT : TOKEN_TAG, end, 0);
    self->open.n = 0;
    for (;;) {
        skip_space(self);
        if (self->at >= self->end) return fail(self, "a tag has no end");
        bool may_end = self->open.n == 0;
        char sign = *self->at == '-' || (*self->at == '+' && kind == '%') ? *self->at : 0;
        self->at += sign != 0;
        if (may_end && follows(self, end)) {
            push(self, kind == '{' ? TOKEN_CLOSE : TOKEN_UNTAG, end, 2);
            self->at += 2;
            end_tag(self, sign, kind == '%');
            return 0;
        }
        self->at -= sign != 0;
        if (read_word(self) < 0) return -1;
    }
}

/* Ends of lines as \n; one at the very end goes. */
static char *normalise(arena_t *arena, const char *text, size_t n, size_t *n_out)
{
    char *out = arena_alloc(arena, n + 1);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\r' && i + 1 < n && text[i + 1] == '\n') continue;
        out[k++] = text[i] == '\r' ? '\n' : text[i];
    }
    if (k > 0 && out[k - 1] == '\n') k--;
    out[ *n_out = k] = '\0';
    return out;
}

token_t *jinja_lex(arena_t *arena, const char *text, size_t n, err_t *err)
{
    size_t length;
    const char *source = normalise(arena, text, n, &length);
    lexer_t self = {.arena = arena, .at = source, .end = source + length, .line = 1, .err = err};
    self.at_line_start = true;
    int status = 0;
    for (char kind; status == 0 && (kind = read_text(&self));)
        status = kind == '#' ? read_comment(&self) : read_tag(&self, kind);
    push(&self, TOKEN_END, "", 0);
    token_t *tokens = NULL;
    if (status == 0) {
        size_t bytes = self.tokens.n * sizeof *tokens;
        tokens = arena_copy(arena, self.tokens.at, bytes);
    }
    VEC_FREE(&self.tokens);
    VEC_FREE(&self.open);
    return tokens;
}
