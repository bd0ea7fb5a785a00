/* Training of a byte-level BPE: words are cut and counted, then the most frequent pair of
 * neighbours becomes a token, again and again (Sennrich et al. 2016; among equally frequent pairs
 * that of the lower ids). Exact and repeatable: the same texts give the same bytes. */
#ifndef TEXT_BPE_TRAIN_H
#define TEXT_BPE_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* X(word, pattern): how text is cut into words. NULL: ByteLevel's own, that of GPT-2. */
#define BPE_CUTS(X)                                                                      \
    X(gpt2, NULL)                                                                        \
    X(llama3, "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| " \
              "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")

typedef struct {
    const char *cut;            /* a word of BPE_CUTS */
    const char *const *special; /* added tokens, which get the first ids */
    size_t n_special;
    size_t vocab;       /* tokens wanted: specials, 256 bytes and merges */
    uint64_t min_count; /* pairs that are rarer make no token */
} bpe_train_options_t;

typedef struct bpe_trainer bpe_trainer_t;

/* ERR_ARG: a vocabulary without room for bytes and specials, or too large; an unknown cut. The
 * options are copied, `special` is borrowed. */
bpe_trainer_t *bpe_trainer_new(const bpe_train_options_t *options, err_t *err);
void bpe_trainer_destroy(bpe_trainer_t **self_p);

/* Count the words of a text of any bytes. May be called many times. ERR_MEMORY: over 2^31 different
 * words or bytes of them. */
int bpe_trainer_add(bpe_trainer_t *self, const char *text, size_t n, err_t *err);

/* How many merges are there to find; they are found by bpe_trainer_step, 1 each: 0: no pair is left
 * that is frequent enough, or all are found. */
size_t bpe_trainer_wanted(const bpe_trainer_t *self);
int bpe_trainer_step(bpe_trainer_t *self);

/* Tokens so far, specials and bytes included. */
size_t bpe_trainer_tokens(const bpe_trainer_t *self);

/* The tokenizer.json. Returns, caller frees. */
char *bpe_trainer_print(const bpe_trainer_t *self);

#endif
