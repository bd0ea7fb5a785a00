/* Byte-pair encoding of words (Sennrich et al. 2016, over bytes as in GPT-2): a word begins as its
 * bytes' tokens; of all neighbours that may merge, those of the lowest rank do, the first of them
 * first, until none may. Immutable once filled; threads may share it, each with its own cache. */
#ifndef TEXT_BPE_H
#define TEXT_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "text/tokens.h"

enum {
    BPE_MAX_TOKENS = 1 << 20,
    BPE_MAX_MERGES = 1 << 21,
    BPE_MAX_TOKEN_BYTES = 4096,
};

typedef struct bpe bpe_t;
typedef struct bpe_cache bpe_cache_t;

/* `n_tokens`: ids lie below it; n_merges: how many will be added. */
bpe_t *bpe_new(size_t n_tokens, size_t n_merges);
void bpe_destroy(bpe_t **self_p);

/* Byte tokens (all 256 at first: none), the token of bytes that have none (-1: an error), the bytes
 * of tokens (borrowed while `self` lives; for ignore_merges), merges in the order of their rank. A
 * pair that is there already keeps its rank. */
void bpe_set_byte(bpe_t *self, uint8_t byte, uint32_t token);
void bpe_set_unknown(bpe_t *self, int64_t token);
void bpe_add_merge(bpe_t *self, uint32_t left, uint32_t right, uint32_t into);
/* A word that is itself one of these tokens becomes that token, whatever the merges say. */
void bpe_add_whole(bpe_t *self, const char *bytes, size_t n, uint32_t token);
/* With any of these a word begins as its characters' tokens, and as bytes' where a character has
 * none (SentencePiece's way). */
void bpe_add_character(bpe_t *self, const char *text, size_t n, uint32_t token);

size_t bpe_merges(const bpe_t *self);

/* Words that were seen: `n_text` is the length of the text to come. */
bpe_cache_t *bpe_cache_new(size_t n_text);
void bpe_cache_destroy(bpe_cache_t **self_p);

/* Append a word's tokens. Time: n log n. ERR_PARSE: a byte without a token. */
int bpe_encode(const bpe_t *self, bpe_cache_t *cache, const char *word, size_t n, tokens_t *out,
               err_t *err);

#endif
