/* The cursor over the tokens, and error messages with a caret. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "parse/parser.h"

void parse_next(parser_t *p)
{
    p->behind = p->tok.at + p->tok.n;
    p->tok = lex_next(&p->lex);
}

void parse_jump(parser_t *p, const char *at)
{
    p->lex.at = at;
    p->tok = lex_next(&p->lex);
    p->behind = at;
}

bool parse_at(const parser_t *p, const char *word)
{
    return p->tok.kind == TOK_ID && lex_is(p->tok, word);
}

bool parse_accept(parser_t *p, int kind)
{
    if (p->tok.kind != kind) return false;
    parse_next(p);
    return true;
}

bool parse_accept_word(parser_t *p, const char *word)
{
    if (!parse_at(p, word)) return false;
    parse_next(p);
    return true;
}

int parse_expect(parser_t *p, int kind, const char *what)
{
    return parse_accept(p, kind) ? 0 : parse_expected(p, what);
}

int parse_expect_word(parser_t *p, const char *word)
{
    return parse_accept_word(p, word) ? 0 : parse_expected(p, word);
}

/* The source line around `at`, cut to a window, and a caret below. */
static void show_place(const parser_t *p, const char *line, const char *at, char *buf, size_t space)
{
    enum { BEFORE = 60, WINDOW = 96 };
    const char *from = at - line > BEFORE ? at - BEFORE : line;
    const char *to = from;
    while (to < p->lex.end && *to != '\n' && *to != '\r' && to - from < WINDOW) to++;
    char source[WINDOW + 1], caret[WINDOW + 1];
    for (const char *c = from; c < to; c++)
        source[c - from] = (unsigned char)*c < ' ' || *c == 127 ? ' ' : *c;
    source[to - from] = '\0';
    size_t n = (size_t)(at - from);
    memset(caret, ' ', n);
    caret[n] = '\0';
    const char *dots = from > line ? "..." : "";
    snprintf(buf, space, "\n  %s%s\n  %s%s^", dots, source, from > line ? "   " : "", caret);
}

int parse_fail(parser_t *p, const char *at, err_code_t code, const char *format, ...)
{
    char message[512], place[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const char *line_start;
    int line = lex_line(&p->lex, at, &line_start) + p->first_line - 1;
    show_place(p, line_start, at, place, sizeof place);
    return err_set(p->err, code, "%s:%d:%d: %s%s", p->file, line, (int)(at - line_start) + 1,
                   message, place);
}

int parse_expected(parser_t *p, const char *what)
{
    enum { SHOWN = 40 };
    token_t t = p->tok;
    if (t.kind == TOK_END)
        return parse_fail(p, t.at, ERR_PARSE, "expected %s, got the end of the text", what);
    if (t.kind == TOK_BAD && *t.at == '"')
        return parse_fail(p, t.at, ERR_PARSE, "expected %s, got a string without end", what);
    if (t.kind == TOK_BAD && ((unsigned char)*t.at < ' ' || *t.at & 0x80))
        return parse_fail(p, t.at, ERR_PARSE, "expected %s, got the byte 0x%02x", what,
                          (unsigned char)*t.at);
    int n = t.n > SHOWN ? SHOWN : (int)t.n;
    return parse_fail(p, t.at, ERR_PARSE, "expected %s, got '%.*s%s'", what, n, t.at,
                      t.n > SHOWN ? "..." : "");
}

int parse_enter(parser_t *p)
{
    if (p->depth == PARSE_MAX_DEPTH)
        return parse_fail(p, p->tok.at, ERR_PARSE, "nested deeper than %d levels", PARSE_MAX_DEPTH);
    p->depth++;
    return 0;
}

void parse_leave(parser_t *p)
{
    p->depth--;
}

int parse_line_of(parser_t *p, const char *at)
{
    while (p->line_at < at) {
        const lexer_t before = {.end = at, .mapped = p->lex.mapped};
        const char *newline = lex_find(&before, p->line_at, '\n', '\n');
        p->line_at = newline ? newline + 1 : at;
        if (newline) p->line++;
    }
    return p->line;
}

const alias_t *parse_alias(const parser_t *p, token_t tok)
{
    for (size_t i = 0; i < p->aliases.n; i++) {
        const alias_t *a = &p->aliases.at[i];
        if (a->n == tok.n && memcmp(a->name, tok.at, tok.n) == 0) return a;
    }
    return NULL;
}

int parse_enter_alias(parser_t *p, const alias_t *alias)
{
    if (p->alias_depth && ++p->n_nested_aliases > PARSE_MAX_NESTED_ALIASES)
        return parse_fail(p, p->tok.at, ERR_PARSE, "aliases use each other more than %d times",
                          PARSE_MAX_NESTED_ALIASES);
    if (parse_enter(p) < 0) return -1;
    p->alias_depth++;
    parse_jump(p, alias->at);
    return 0;
}

void parse_leave_alias(parser_t *p, const char *behind)
{
    p->alias_depth--;
    parse_leave(p);
    parse_jump(p, behind);
}

int parse_skip_balanced(parser_t *p)
{
    const char *behind = lex_skip_balanced(p->tok.at, p->lex.end);
    if (!behind)
        return parse_fail(p, p->tok.at, ERR_PARSE, "this '%c' is never closed", *p->tok.at);
    parse_jump(p, behind);
    return 0;
}

int parse_location(parser_t *p)
{
    if (!parse_at(p, "loc")) return 0;
    parse_next(p);
    return p->tok.kind == '(' ? parse_skip_balanced(p) : parse_expected(p, "( after loc");
}

const char *parse_location_name(parser_t *p)
{
    lexer_t before = p->lex;
    token_t word = p->tok;
    const char *name = NULL;
    for (int hops = 0; hops < 8 && parse_accept_word(p, "loc") && parse_accept(p, '('); hops++) {
        const alias_t *alias = p->tok.kind == TOK_HASH ? parse_alias(p, p->tok) : NULL;
        if (alias) {
            parse_jump(p, alias->at);
            continue;
        }
        token_t text = p->tok;
        if (!parse_accept(p, TOK_STRING) || p->tok.kind == ':') break;
        size_t n;
        name = parse_unescape(p, text, &n);
        break;
    }
    p->lex = before;
    p->tok = word;
    return name;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

const char *parse_unescape(parser_t *p, token_t quoted, size_t *n)
{
    const char *at = quoted.at + 1, *end = quoted.at + quoted.n - 1;
    char *out = arena_alloc(p->arena, quoted.n), *to = out;
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((slash ? slash : end) - at);
        memcpy(to, at, plain);
        to += plain;
        if (!slash) break;
        char c = slash[1]; /* the closing quote at the latest */
        if (c == '"' || c == '\\' || c == 'n' || c == 't') {
            *to++ = c == 'n' ? '\n' : c == 't' ? '\t' : c;
            at = slash + 2;
        } else if (hex_digit(c) >= 0 && hex_digit(slash[2]) >= 0) {
            *to++ = (char)(hex_digit(c) << 4 | hex_digit(slash[2]));
            at = slash + 3;
        } else {
            parse_fail(p, slash, ERR_PARSE,
                       "expected an escape (\\\", \\\\, \\n, \\t or two hex digits)");
            return NULL;
        }
    }
    *to = '\0';
    *n = (size_t)(to - out);
    return out;
}

int parse_string(parser_t *p, const char **text)
{
    if (p->tok.kind != TOK_STRING) return parse_expected(p, "a string");
    size_t n;
    *text = parse_unescape(p, p->tok, &n);
    if (!*text) return -1;
    if (strlen(*text) != n)
        return parse_fail(p, p->tok.at, ERR_UNSUPPORTED, "a NUL byte in this string");
    parse_next(p);
    return 0;
}

int parse_int(parser_t *p, int64_t *value)
{
    bool negative;
    uint64_t magnitude;
    if (p->tok.kind != TOK_INT) return parse_expected(p, "an integer");
    if (!number_int(p->tok.at, p->tok.n, &negative, &magnitude) ||
        magnitude > (uint64_t)INT64_MAX + negative)
        return parse_fail(p, p->tok.at, ERR_PARSE, "this integer does not fit in 64 bits");
    *value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    parse_next(p);
    return 0;
}

int parse_int_list(parser_t *p, ints_t *out)
{
    if (parse_expect(p, '[', "[ of a list of integers") < 0) return -1;
    if (parse_accept(p, ']')) return 0;
    do {
        int64_t value;
        if (parse_int(p, &value) < 0) return -1;
        VEC_PUSH(out, value);
    } while (parse_accept(p, ','));
    return parse_expect(p, ']', ", or ]");
}

char *parse_dup(parser_t *p, token_t tok, size_t skip)
{
    return arena_strndup(p->arena, tok.at + skip, tok.n - skip);
}

int parse_symbol(parser_t *p, const char **name)
{
    token_t t = p->tok;
    if (t.kind != TOK_SYMBOL) return parse_expected(p, "a symbol (@name)");
    if (t.at[1] == '"') {
        if (lex_skip_string(t.at + 1, p->lex.end) != t.at + t.n)
            return parse_fail(p, t.at, ERR_UNSUPPORTED, "nested symbols are not supported");
        size_t n;
        *name = parse_unescape(p, (token_t){TOK_STRING, t.at + 1, t.n - 1}, &n);
        if (!*name) return -1;
        if (n == 0 || strlen(*name) != n)
            return parse_fail(p, t.at, ERR_PARSE, "a symbol's name is empty or holds a NUL byte");
    } else {
        if (memchr(t.at, ':', t.n))
            return parse_fail(p, t.at, ERR_UNSUPPORTED, "nested symbols are not supported");
        *name = parse_dup(p, t, 1);
    }
    parse_next(p);
    return 0;
}
