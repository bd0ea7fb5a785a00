/* Char, byte and raw tokenizers. Char symbols are found by binary search over sorted code points.
 */
#include "model/tokenizer.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/options.h"

enum { MAX_SYMBOLS = 65536, CODE_POINTS = 0x110000 };

#define KIND_CONSTANT(word, constant) constant,
typedef enum { TOKENIZERS(KIND_CONSTANT) KIND_COUNT } kind_t;
#define KIND_NAME(word, constant) [constant] = #word,
static const char *const kind_names[KIND_COUNT] = {TOKENIZERS(KIND_NAME)};

struct tokenizer {
    kind_t kind;
    int n_symbol;
    uint32_t *symbol; /* KIND_CHAR: code points, ascending */
};

/* The code point at text[*at], advancing; -1 when the bytes are not UTF-8 (RFC 3629). */
static int32_t next_code_point(const char *text, size_t n, size_t *at)
{
    const unsigned char *p = (const unsigned char *)text + *at;
    size_t left = n - *at;
    int extra = p[0] < 0x80   ? 0
                : p[0] < 0xC2 ? -1
                : p[0] < 0xE0 ? 1
                : p[0] < 0xF0 ? 2
                : p[0] < 0xF5 ? 3
                              : -1;
    if (extra < 0 || (size_t)extra >= left) return -1;
    int32_t code = extra ? p[0] & (0x3F >> extra) : p[0];
    for (int i = 1; i <= extra; i++) {
        if ((p[i] & 0xC0) != 0x80) return -1;
        code = code << 6 | (p[i] & 0x3F);
    }
    static const int32_t least[4] = {0, 0x80, 0x800, 0x10000};
    if (code < least[extra] || code >= CODE_POINTS || (code >= 0xD800 && code < 0xE000)) return -1;
    *at += (size_t)extra + 1;
    return code;
}

static void add_code_point(str_t *out, uint32_t code)
{
    char bytes[4];
    size_t n;
    if (code < 0x80) {
        bytes[0] = (char)code;
        n = 1;
    } else {
        n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        for (size_t i = n - 1; i > 0; i--, code >>= 6) bytes[i] = (char)(0x80 | (code & 0x3F));
        bytes[0] = (char)((0xF00 >> n & 0xFF) | code);
    }
    str_addn(out, bytes, n);
}

static int not_utf8(size_t at, err_t *err)
{
    return err_set(err, ERR_PARSE,
                   "byte %zu is not UTF-8: convert the text, or use the tokenizer byte", at);
}

static int learn_symbols(tokenizer_t *self, const char *text, size_t n, err_t *err)
{
    uint8_t *seen = mem_calloc(CODE_POINTS, 1);
    int status = 0;
    for (size_t at = 0; status == 0 && at < n;) {
        int32_t code = next_code_point(text, n, &at);
        if (code < 0)
            status = not_utf8(at, err);
        else
            self->n_symbol += !seen[code], seen[code] = 1;
    }
    if (status == 0 && self->n_symbol > MAX_SYMBOLS)
        status = err_set(err, ERR_ARG, "the text has %d different characters, at most %d fit",
                         self->n_symbol, MAX_SYMBOLS);
    if (status == 0) {
        self->symbol = mem_calloc((size_t)self->n_symbol, sizeof *self->symbol);
        int k = 0;
        for (uint32_t code = 0; code < CODE_POINTS; code++)
            if (seen[code]) self->symbol[k++] = code;
    }
    free(seen);
    return status;
}

tokenizer_t *tokenizer_new(const char *kind, const char *text, size_t n, err_t *err)
{
    tokenizer_t *self = mem_calloc(1, sizeof *self);
    while (self->kind < KIND_COUNT && strcmp(kind_names[self->kind], kind) != 0) self->kind++;
    int status = 0;
    if (self->kind == KIND_COUNT)
        status = err_set(err, ERR_ARG, "tokenizer \"%s\" is none of %s", kind,
                         OPTION_WORDS(TOKENIZERS));
    else if (self->kind == KIND_CHAR)
        status = learn_symbols(self, text, n, err);
    if (status < 0) tokenizer_destroy(&self);
    return self;
}

void tokenizer_destroy(tokenizer_t **self_p)
{
    if (!self_p || !*self_p) return;
    free((*self_p)->symbol);
    free(*self_p);
    *self_p = NULL;
}

const char *tokenizer_kind(const tokenizer_t *self)
{
    return kind_names[self->kind];
}

int tokenizer_vocab(const tokenizer_t *self)
{
    return self->kind == KIND_CHAR ? self->n_symbol : self->kind == KIND_BYTE ? 256 : 0;
}

static int compare_codes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int encode_chars(const tokenizer_t *self, const char *text, size_t n, uint16_t *out,
                        size_t *n_tokens, err_t *err)
{
    size_t k = 0;
    for (size_t at = 0; at < n;) {
        size_t start = at;
        int32_t code = next_code_point(text, n, &at);
        if (code < 0) return not_utf8(at, err);
        uint32_t key = (uint32_t)code;
        const uint32_t *hit = bsearch(&key, self->symbol, (size_t)self->n_symbol,
                                      sizeof *self->symbol, compare_codes);
        if (!hit)
            return err_set(err, ERR_PARSE,
                           "character '%.*s' (U+%04X) at byte %zu is not in the vocabulary of %d "
                           "characters",
                           code < 32 ? 0 : (int)(at - start), text + start, (unsigned)code, start,
                           self->n_symbol);
        out[k++] = (uint16_t)(hit - self->symbol);
    }
    *n_tokens = k;
    return 0;
}

uint16_t *tokenizer_encode(const tokenizer_t *self, const char *text, size_t n, size_t *n_tokens,
                           err_t *err)
{
    uint16_t *out = mem_calloc(n ? n : 1, sizeof *out);
    int status = 0;
    if (self->kind == KIND_CHAR) {
        status = encode_chars(self, text, n, out, n_tokens, err);
    } else if (self->kind == KIND_BYTE) {
        for (size_t i = 0; i < n; i++) out[i] = (unsigned char)text[i];
        *n_tokens = n;
    } else if (n % 2) {
        status = err_set(err, ERR_PARSE, "raw tokens are two bytes each, but there are %zu bytes",
                         n);
    } else {
        const unsigned char *p = (const unsigned char *)text;
        for (size_t i = 0; i < n / 2; i++) out[i] = (uint16_t)(p[2 * i] | p[2 * i + 1] << 8);
        *n_tokens = n / 2;
    }
    if (status == 0) return out;
    free(out);
    return NULL;
}

void tokenizer_decode(const tokenizer_t *self, uint16_t token, str_t *out)
{
    char byte = (char)token;
    if (self->kind == KIND_RAW)
        str_addf(out, "%u ", token);
    else if (self->kind == KIND_CHAR && token < self->n_symbol)
        add_code_point(out, self->symbol[token]);
    else if (self->kind == KIND_BYTE && token < 256)
        str_addn(out, &byte, 1);
    else
        add_code_point(out, 0xFFFD);
}

char *tokenizer_print(const tokenizer_t *self)
{
    str_t symbols = {0};
    for (int i = 0; i < self->n_symbol; i++) add_code_point(&symbols, self->symbol[i]);
    json_t *json = json_pack("{s:s}", "kind", kind_names[self->kind]);
    if (self->kind == KIND_CHAR)
        json_object_set_new(json, "symbols", json_stringn(str_text(&symbols), symbols.n));
    char *text = json_dumps(json, JSON_SORT_KEYS);
    json_decref(json);
    str_fini(&symbols);
    return text;
}

tokenizer_t *tokenizer_parse(const char *text, err_t *err)
{
    json_error_t where;
    json_t *json = json_loads(text, JSON_ALLOW_NUL, &where);
    const char *kind = json_string_value(json_object_get(json, "kind"));
    json_t *symbols = json_object_get(json, "symbols");
    tokenizer_t *self = NULL;
    if (!kind)
        err_set(err, ERR_PARSE, "the tokenizer's JSON has no \"kind\"");
    else if (strcmp(kind, "char") == 0 && !json_is_string(symbols))
        err_set(err, ERR_PARSE, "the tokenizer's JSON has no \"symbols\"");
    else
        self = tokenizer_new(kind, json_string_value(symbols), json_string_length(symbols), err);
    json_decref(json);
    return self;
}
