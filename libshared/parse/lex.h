/* Tokens of MLIR's textual form. The text is borrowed and never copied; tokens are ranges of it. */
#ifndef PARSE_LEX_H
#define PARSE_LEX_H

#include <stdbool.h>
#include <stddef.h>

/* A punctuation character is its own kind: '(' , '=' ... */
typedef enum {
    TOK_END = 0,
    TOK_BAD = 256,       /* a character no token starts with, or an open string */
    TOK_ID,              /* stablehlo.add, x, i64 */
    TOK_VALUE,           /* %0, %a#1 (with the sign) */
    TOK_SYMBOL,          /* @main, @"a b", @a::@b (with the sign) */
    TOK_LABEL,           /* ^bb0 */
    TOK_HASH,            /* #loc3, #stablehlo.gather */
    TOK_BANG,            /* !t, !stablehlo.token */
    TOK_STRING,          /* "..." with its quotes, escapes as written */
    TOK_INT,             /* -3, 0xFF */
    TOK_FLOAT,           /* 1.5e-3 */
    TOK_ARROW,           /* -> */
    TOK_OPEN_RESOURCES,  /* {-# */
    TOK_CLOSE_RESOURCES, /* #-} */
} tok_kind_t;

typedef struct {
    int kind; /* a tok_kind_t or a character */
    const char *at;
    size_t n;
} token_t;

typedef struct {
    const char *text, *end; /* the whole text */
    const char *at;         /* where the next token starts (blanks may come first) */
    bool mapped;            /* a file's mapping: pages that were read may go (file_pages_forget) */
} lexer_t;

token_t lex_next(lexer_t *self);

/* Skip blanks and comments from `at`; returns where something else starts, at most `end`. */
const char *lex_skip_blank(const char *at, const char *end);

/* `at` stands on a bracket ( [ { < : returns the position behind its partner, or NULL when there is
 * none. Strings and comments are skipped; `->`, `<=` and `>=` are no brackets. */
const char *lex_skip_balanced(const char *at, const char *end);

/* `at` stands on a quote: the position behind the closing one, or NULL. */
const char *lex_skip_string(const char *at, const char *end);

/* The same up to the text's end, and the first of two characters from `at` on (NULL: neither is there), for
 * literals larger than memory: in one pass, and what is behind is given back. */
const char *lex_string_end(const lexer_t *self, const char *at);
const char *lex_find(const lexer_t *self, const char *at, char one, char other);
/* [from, to) was read: much of it is given back if the text is a mapping. */
void lex_passed(const lexer_t *self, const char *from, const char *to);

bool lex_is(token_t tok, const char *text); /* the token's bytes equal text */

/* Line and column (from 1) of a position; start of its line. */
int lex_line(const lexer_t *self, const char *at, const char **line_start);

#endif
