/* Text to tokens: characters by binary search over sorted code points, bytes and numbers as they are,
 * byte-level tokenizers by their own way. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/tokenizer_kinds.h"

enum { CACHE_TEXT = 1 << 20 }; /* what an encoder expects: its words' cache is as large as any */

struct tokenizer_encoder {
    const tokenizer_t *tokenizer;
    byte_level_scratch_t *scratch;
};

tokenizer_encoder_t *tokenizer_encoder_new(const tokenizer_t *tokenizer)
{
    tokenizer_encoder_t *self = mem_calloc(1, sizeof *self);
    self->tokenizer = tokenizer;
    if (tokenizer->kind == KIND_BPE) self->scratch = byte_level_scratch_new(CACHE_TEXT);
    return self;
}

void tokenizer_encoder_destroy(tokenizer_encoder_t **self_p)
{
    tokenizer_encoder_t *self = *self_p;
    if (!self) return;
    byte_level_scratch_destroy(&self->scratch);
    free(self);
    *self_p = NULL;
}

static int find_symbol(const tokenizer_t *self, unsigned code)
{
    int low = 0, high = self->n_symbol;
    while (low < high) {
        int middle = (low + high) / 2;
        if (self->symbol[middle] < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < self->n_symbol && self->symbol[low] == code ? low : -1;
}

static int encode_chars(const tokenizer_t *self, const char *text, size_t n, uint64_t first,
                        tokens_t *out, err_t *err)
{
    for (size_t at = 0; at < n;) {
        unsigned code;
        size_t length = utf8_next(text + at, n - at, &code);
        if (length == 0) return tokenizer_not_utf8(first + at, err);
        int symbol = find_symbol(self, code);
        if (symbol < 0)
            return err_set(err, ERR_PARSE, "'%.*s' (U+%04X) at byte %llu is not in the vocabulary",
                           (int)length, text + at, code, (unsigned long long)(first + at));
        VEC_PUSH(out, (uint32_t)symbol);
        at += length;
    }
    return 0;
}

static int encode_bytes(const char *text, size_t n, tokens_t *out)
{
    VEC_RESERVE(out, out->n + n);
    for (size_t i = 0; i < n; i++) out->at[out->n++] = (uint8_t)text[i];
    return 0;
}

static int encode_raw(const char *text, size_t n, tokens_t *out, err_t *err)
{
    const uint8_t *p = (const uint8_t *)text;
    if (n % 2)
        return err_set(err, ERR_PARSE, "raw tokens are two bytes each, but there are %zu bytes", n);
    VEC_RESERVE(out, out->n + n / 2);
    for (size_t i = 0; i < n; i += 2) out->at[out->n++] = (uint32_t)p[i] | (uint32_t)p[i + 1] << 8;
    return 0;
}

int tokenizer_encoder_add(tokenizer_encoder_t *self, const char *text, size_t n, uint64_t first,
                          tokens_t *out, err_t *err)
{
    const tokenizer_t *tokenizer = self->tokenizer;
    switch (tokenizer->kind) {
    case KIND_CHAR: return encode_chars(tokenizer, text, n, first, out, err);
    case KIND_BYTE: return encode_bytes(text, n, out);
    case KIND_RAW: return encode_raw(text, n, out, err);
    default: return byte_level_encode(tokenizer->bpe, self->scratch, text, n, out, err);
    }
}

uint32_t *tokenizer_encode(const tokenizer_t *self, const char *text, size_t n, size_t *n_tokens,
                           err_t *err)
{
    tokens_t all = {0};
    tokenizer_encoder_t encoder = {.tokenizer = self};
    if (self->kind == KIND_BPE) encoder.scratch = byte_level_scratch_new(n);
    VEC_RESERVE(&all, 1); /* so that none is an array, too */
    if (tokenizer_encoder_add(&encoder, text, n, 0, &all, err) < 0) VEC_FREE(&all);
    byte_level_scratch_destroy(&encoder.scratch);
    *n_tokens = all.n;
    return all.at;
}
