/* Byte-level BPE tokenizers (GPT-2 and those after it), and those of characters with bytes for what
 * is not among them (Llama 2; U+2581 stands for the blank), as Hugging Face's tokenizer.json describes
 * them: normalizer, pre_tokenizer, model BPE, added tokens, post_processor, decoder ByteLevel. What
 * is not known is refused by its name. Immutable; thread-safe. */
#ifndef TEXT_BYTE_LEVEL_H
#define TEXT_BYTE_LEVEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "text/added.h"
#include "text/bpe.h"
#include "text/normalize.h"
#include "text/words.h"

typedef struct {
    const char *bytes;
    uint32_t n;
    bool is_token;   /* ids may have holes */
    bool is_word;    /* of the vocabulary, in the alphabet of bytes */
    bool is_special; /* says something about the text, and is none */
} byte_level_token_t;

typedef struct byte_level {
    normalizer_t *normalizer;
    words_t *words;
    bpe_t *bpe;
    added_t *added, *added_normalized; /* found before, after the normalizer */
    size_t n_added;
    byte_level_token_t *token; /* by id */
    size_t n_token;
    bool by_character;       /* SentencePiece's way: model.byte_fallback */
    bool has_crossing;       /* by_character: a merge joins what stands before a blank with it */
    bool strips_blank;       /* by_character: of a text that was decoded, the first blank goes */
    tokens_t before, behind; /* what the post-processor puts around a text */
    str_t bytes;             /* of all tokens */
} byte_level_t;

/* From a parsed tokenizer.json. ERR_PARSE, ERR_UNSUPPORTED name the place. */
byte_level_t *byte_level_new(const json_t *tokenizer, err_t *err);
void byte_level_destroy(byte_level_t **self_p);

/* What one thread keeps from text to text: of about n_text bytes altogether. */
typedef struct byte_level_scratch byte_level_scratch_t;
byte_level_scratch_t *byte_level_scratch_new(size_t n_text);
void byte_level_scratch_destroy(byte_level_scratch_t **self_p);

/* Append the tokens of a text of any bytes: those that are no UTF-8 are words of their own, so that
 * the tokens give back every byte where there is no normalizer. */
int byte_level_encode(const byte_level_t *self, byte_level_scratch_t *scratch, const char *text,
                      size_t n, tokens_t *out, err_t *err);

/* The tokenizer.json of GPT-2's pair of files, vocab.json and merges.txt. Returns, caller decrefs;
 * NULL: ERR_PARSE names the line. */
json_t *byte_level_from_gpt2(const char *vocab, size_t n_vocab, const char *merges, size_t n_merges,
                             err_t *err);

/* A tokenizer.json: `vocab` and `merges` are taken. Specials become added tokens. */
json_t *byte_level_json(json_t *vocab, json_t *merges, json_t *added_tokens, const char *pattern);

#endif
