/* Tokenizers: text to tokens and back.
 *
 *   char  one token per Unicode code point; the vocabulary is what the training text holds, sorted
 *   byte  one token per byte, 256 of them; any text
 *   raw   the text is little-endian u16 tokens already; printed as decimal numbers
 *   bpe   byte-level byte-pair encoding, from files in the layouts of GPT-2 and Hugging Face
 *         (text/byte_level.h) or trained (text/bpe_train.h)
 *
 * Immutable after construction; thread-safe. */
#ifndef TEXT_TOKENIZER_H
#define TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "text/tokens.h"

/* X(word, constant): those that need no file. */
#define TOKENIZERS(X) X(char, KIND_CHAR) X(byte, KIND_BYTE) X(raw, KIND_RAW)

enum { TOKENIZER_MAX_BYTES = 64 << 20 }; /* of a file */

typedef struct tokenizer tokenizer_t;

/* Is it one of TOKENIZERS? What is not is the name of a file. */
bool tokenizer_is_kind(const char *word);

/* A tokenizer for `text` (char: learns its symbols; others ignore it, text may be NULL).
 * ERR_PARSE: text is not UTF-8 (gives the offset); ERR_ARG: unknown kind, over 65,536 symbols. */
tokenizer_t *tokenizer_new(const char *kind, const char *text, size_t n, err_t *err);

/* The same of texts that come piece by piece, in several threads: each collects the symbols of its
 * pieces, one takes those of the others to its own. add: text is valid UTF-8, or ERR_PARSE gives the
 * offset, `first` bytes further; some bytes may have been added then. */
typedef struct tokenizer_symbols tokenizer_symbols_t;
tokenizer_symbols_t *tokenizer_symbols_new(void);
void tokenizer_symbols_destroy(tokenizer_symbols_t **self_p);
int tokenizer_symbols_add(tokenizer_symbols_t *self, const char *text, size_t n, uint64_t first,
                          err_t *err);
void tokenizer_symbols_take(tokenizer_symbols_t *self, const tokenizer_symbols_t *others);
tokenizer_t *tokenizer_new_char(const tokenizer_symbols_t *symbols, err_t *err);

/* From a file: tokenizer.json, or what tokenizer_print wrote; of a directory its tokenizer.json, or
 * else its vocab.json and merges.txt; of a file vocab.json that and the merges.txt beside it. A bpe takes
 * along what says beside it how to speak with the model: TOKENIZER_CONFIG, TOKENIZER_CHAT.
 * ERR_IO; ERR_PARSE and ERR_UNSUPPORTED name file and place; ERR_MEMORY: larger than is read. */
tokenizer_t *tokenizer_open(const char *path, err_t *err);
void tokenizer_destroy(tokenizer_t **self_p);

/* The text of a file that a bpe has taken along, byte for byte; it is not looked into. Borrowed; NULL:
 * there was none. */
#define TOKENIZER_CONFIG "tokenizer_config.json"
#define TOKENIZER_CHAT "chat_template.jinja"
const char *tokenizer_beside(const tokenizer_t *self, const char *name);

/* A bpe's files as they were found, from what tokenizer_print wrote, into a directory: tokenizer.json and
 * those it has taken along. Other kinds have no published files: nothing is written. ERR_IO. */
int tokenizer_publish(const char *printed, const char *dir, err_t *err);

const char *tokenizer_kind(const tokenizer_t *self); /* a word of TOKENIZERS, or "bpe" */
/* Ids lie below it; 0 when the kind does not tell (raw). */
int tokenizer_vocab(const tokenizer_t *self);

/* Tokens of text; *n_tokens of them. Returns a heap array, caller frees; NULL with ERR_PARSE that
 * names the character (or odd byte count) and its offset when text has something unknown, or
 * ERR_UNSUPPORTED when a bpe's pattern cannot be matched within its limits. Text of a bpe may be
 * any bytes; where it holds added tokens ("<|endoftext|>") they are those tokens. */
uint32_t *tokenizer_encode(const tokenizer_t *self, const char *text, size_t n, size_t *n_tokens,
                           err_t *err);

/* The same text by text, in one thread, which keeps what it knows of words. Append a text's tokens to
 * out; offsets in errors are `first` bytes further. The tokenizer is borrowed. */
typedef struct tokenizer_encoder tokenizer_encoder_t;
tokenizer_encoder_t *tokenizer_encoder_new(const tokenizer_t *tokenizer);
void tokenizer_encoder_destroy(tokenizer_encoder_t **self_p);
int tokenizer_encoder_add(tokenizer_encoder_t *self, const char *text, size_t n, uint64_t first,
                          tokens_t *out, err_t *err);

/* The special token that this text is, alone; -1: it is none. And the one that ends a text
 * ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>": the first that there is). */
int64_t tokenizer_special(const tokenizer_t *self, const char *text);
int64_t tokenizer_end_of_text(const tokenizer_t *self);

/* What the model expects before and behind a whole text (a bpe's post-processor: "<s>", ...).
 * Borrowed; *n may be 0. */
const uint32_t *tokenizer_before(const tokenizer_t *self, size_t *n);
const uint32_t *tokenizer_behind(const tokenizer_t *self, size_t *n);

/* Append the bytes of one token: of a bpe maybe a part of a character (text/utf8_stream.h waits for
 * the rest). Tokens outside the vocabulary appear as U+FFFD. */
void tokenizer_decode(const tokenizer_t *self, uint32_t token, str_t *out);

/* Append the text that n tokens are as a whole: the bytes of each, but for the blank that some tokenizers put
 * before a text. */
void tokenizer_decode_text(const tokenizer_t *self, const uint32_t *tokens, size_t n, str_t *out);

/* A token that says something about the text and is none ("<|endoftext|>"). */
bool tokenizer_is_special(const tokenizer_t *self, uint32_t token);

/* What it is made of, for people: kind, sizes, added tokens; a line each, appended. */
void tokenizer_describe(const tokenizer_t *self, str_t *out);

/* As JSON, and back: {"kind": "char", "symbols": "..."}; of a bpe its tokenizer.json, in which the files that
 * it has taken along are texts of a member "pcp.beside". print
 * returns, caller frees. parse: text nobody vouches for. */
char *tokenizer_print(const tokenizer_t *self);
tokenizer_t *tokenizer_parse(const char *json, err_t *err);
tokenizer_t *tokenizer_parse_bytes(const char *json, size_t n, err_t *err);

#endif
