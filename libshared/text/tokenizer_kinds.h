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
    json_t *beside;    /* KIND_BPE: texts of files by their names; NULL: none */
};

int tokenizer_not_utf8(uint64_t at, err_t *err);
tokenizer_t *tokenizer_from_json(const json_t *json, err_t *err);
/* Text nobody vouches for. Returns, caller decrefs; NULL: ERR_MEMORY, ERR_PARSE. */
json_t *tokenizer_json(const char *text, size_t n, err_t *err);

/* The files beside a tokenizer's, which lie in its JSON as a member.
 * take: those of a directory into the JSON, where it has none yet. ERR_IO, ERR_MEMORY, ERR_PARSE: one is no
 * UTF-8. find: that member, or NULL with ERR_OK, or with ERR_PARSE where it is none of ours. Returns, caller
 * decrefs. */
int beside_take(json_t *tokenizer, const char *dir, err_t *err);
json_t *beside_find(const json_t *tokenizer, err_t *err);
/* A file of TOKENIZER_MAX_BYTES at most. Returns, caller frees. NULL: ERR_IO, ERR_MEMORY. */
char *beside_read(const char *path, size_t *n, err_t *err);

#endif
