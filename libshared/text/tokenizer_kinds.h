/* What a tokenizer is made of. Internal to text/. */
#ifndef TEXT_TOKENIZER_KINDS_H
#define TEXT_TOKENIZER_KINDS_H

#include <jansson.h>

#include "text/byte_level.h"
#include "text/tokenizer.h"

#define KIND_CONSTANT(word, constant) constant,
typedef enum { TOKENIZERS(KIND_CONSTANT) KIND_BPE, KIND_COUNT } kind_t;

struct tokenizer {
    kind_t kind;
    int n_symbol;
    uint32_t *symbol;  /* KIND_CHAR: code points, ascending */
    byte_level_t *bpe; /* KIND_BPE */
    char *json;        /* KIND_BPE: its tokenizer.json */
};

int tokenizer_not_utf8(uint64_t at, err_t *err);
tokenizer_t *tokenizer_from_json(const json_t *json, err_t *err);

#endif
