/* The vocabulary of a char tokenizer: the characters that its texts hold, in their order. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/tokenizer_kinds.h"

enum { MAX_SYMBOLS = 65536, CODE_POINTS = 0x110000 };

struct tokenizer_symbols {
    uint8_t seen[CODE_POINTS];
};

tokenizer_symbols_t *tokenizer_symbols_new(void)
{
    return mem_calloc(1, sizeof(tokenizer_symbols_t));
}

void tokenizer_symbols_destroy(tokenizer_symbols_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

int tokenizer_not_utf8(uint64_t at, err_t *err)
{
    return err_set(err, ERR_PARSE,
                   "byte %llu is not UTF-8: convert the text, or use the tokenizer byte",
                   (unsigned long long)at);
}

int tokenizer_symbols_add(tokenizer_symbols_t *self, const char *text, size_t n, uint64_t first,
                          err_t *err)
{
    for (size_t at = 0, length; at < n; at += length) {
        unsigned code;
        length = utf8_next(text + at, n - at, &code);
        if (length == 0) return tokenizer_not_utf8(first + at, err);
        self->seen[code] = 1;
    }
    return 0;
}

void tokenizer_symbols_take(tokenizer_symbols_t *self, const tokenizer_symbols_t *others)
{
    for (int code = 0; code < CODE_POINTS; code++) self->seen[code] |= others->seen[code];
}

tokenizer_t *tokenizer_new_char(const tokenizer_symbols_t *symbols, err_t *err)
{
    int n = 0;
    for (int code = 0; code < CODE_POINTS; code++) n += symbols->seen[code];
    if (n > MAX_SYMBOLS) {
        err_set(err, ERR_ARG, "the text has %d different characters, at most %d fit", n,
                MAX_SYMBOLS);
        return NULL;
    }
    tokenizer_t *self = mem_calloc(1, sizeof *self);
    self->kind = KIND_CHAR;
    self->symbol = mem_calloc((size_t)n, sizeof *self->symbol);
    for (uint32_t code = 0; code < CODE_POINTS; code++)
        if (symbols->seen[code]) self->symbol[self->n_symbol++] = code;
    return self;
}
