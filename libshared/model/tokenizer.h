/* Tokenizers: text to u16 tokens and back.
 *
 *   char  one token per Unicode code point; the vocabulary is what the training text holds, sorted
 *   byte  one token per byte, 256 of them; any text
 *   raw   the text is little-endian u16 tokens already; printed as decimal numbers
 *
 * Immutable after construction; thread-safe. */
#ifndef MODEL_TOKENIZER_H
#define MODEL_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* X(word, constant). */
#define TOKENIZERS(X) X(char, KIND_CHAR) X(byte, KIND_BYTE) X(raw, KIND_RAW)

typedef struct tokenizer tokenizer_t;

/* A tokenizer for `text` (char: learns its symbols; others ignore it, text may be NULL).
 * ERR_PARSE: text is not UTF-8 (gives the offset); ERR_ARG: unknown kind, over 65,536 symbols. */
tokenizer_t *tokenizer_new(const char *kind, const char *text, size_t n, err_t *err);
void tokenizer_destroy(tokenizer_t **self_p);

const char *tokenizer_kind(const tokenizer_t *self);
/* Number of different tokens; 0 when the kind does not tell (raw). */
int tokenizer_vocab(const tokenizer_t *self);

/* Tokens of text; *n_tokens of them. Returns a heap array, caller frees; NULL with ERR_PARSE that
 * names the character (or odd byte count) and its offset when text has something unknown. */
uint16_t *tokenizer_encode(const tokenizer_t *self, const char *text, size_t n, size_t *n_tokens,
                           err_t *err);

/* Append the text of one token; tokens outside the vocabulary appear as U+FFFD. */
void tokenizer_decode(const tokenizer_t *self, uint16_t token, str_t *out);

/* As JSON, and back: {"kind": "char", "symbols": "..."}. print returns, caller frees. */
char *tokenizer_print(const tokenizer_t *self);
tokenizer_t *tokenizer_parse(const char *json, err_t *err);

#endif
