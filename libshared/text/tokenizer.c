/* Char, byte and raw tokenizers, and the way to the byte-level ones. Char symbols are found by
 * binary search over sorted code points. */
#include "text/tokenizer.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/options.h"
#include "base/utf8.h"
#include "text/alphabet.h"
#include "text/byte_level.h"
#include "text/tokenizer_kinds.h"

enum {
    MAX_SYMBOLS = 65536,
    CODE_POINTS = 0x110000,
    WATCH_BYTES = 16 << 20,
    SINK_TOKENS = 1 << 20, /* kinds of a token a character or byte: so many at a time */
};

#define KIND_NAME(word, constant) [constant] = #word,
static const char *const kind_names[KIND_COUNT] = {TOKENIZERS(KIND_NAME)[KIND_BPE] = "bpe"};

static int not_utf8(size_t at, err_t *err)
{
    return err_set(err, ERR_PARSE,
                   "byte %zu is not UTF-8: convert the text, or use the tokenizer byte", at);
}

static int learn_symbols(tokenizer_t *self, const char *text, size_t n, tokenizer_watch_fn *watch,
                         void *user, err_t *err)
{
    uint8_t *seen = mem_calloc(CODE_POINTS, 1);
    int status = 0;
    size_t told = 0;
    for (size_t at = 0; status == 0 && at < n;) {
        if (watch && at - told >= WATCH_BYTES) watch(user, told = at);
        unsigned code;
        size_t length = utf8_next(text + at, n - at, &code);
        if (length == 0)
            status = not_utf8(at, err);
        else
            self->n_symbol += !seen[code], seen[code] = 1;
        at += length;
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

static kind_t kind_of(const char *word)
{
    kind_t kind = 0;
    while (kind < KIND_BPE && strcmp(kind_names[kind], word) != 0) kind++;
    return kind;
}

bool tokenizer_is_kind(const char *word)
{
    return kind_of(word) < KIND_BPE;
}

tokenizer_t *tokenizer_new(const char *kind, const char *text, size_t n, err_t *err)
{
    return tokenizer_new_watched(kind, text, n, NULL, NULL, err);
}

tokenizer_t *tokenizer_new_watched(const char *kind, const char *text, size_t n,
                                   tokenizer_watch_fn *watch, void *user, err_t *err)
{
    tokenizer_t *self = mem_calloc(1, sizeof *self);
    int status = 0;
    self->kind = kind_of(kind);
    if (self->kind == KIND_BPE)
        status = err_set(err, ERR_ARG, "tokenizer \"%s\" is none of %s", kind,
                         OPTION_WORDS(TOKENIZERS));
    else if (self->kind == KIND_CHAR)
        status = learn_symbols(self, text, n, watch, user, err);
    if (status < 0) tokenizer_destroy(&self);
    return self;
}

void tokenizer_destroy(tokenizer_t **self_p)
{
    if (!self_p || !*self_p) return;
    tokenizer_t *self = *self_p;
    free(self->symbol);
    byte_level_destroy(&self->bpe);
    free(self->json);
    free(self);
    *self_p = NULL;
}

const char *tokenizer_kind(const tokenizer_t *self)
{
    return kind_names[self->kind];
}

int tokenizer_vocab(const tokenizer_t *self)
{
    if (self->kind == KIND_BPE) return (int)self->bpe->n_token;
    return self->kind == KIND_CHAR ? self->n_symbol : self->kind == KIND_BYTE ? 256 : 0;
}

/* --- encoding --- */

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

/* Where tokens gather until they go on. */
typedef struct {
    tokens_t tokens;
    tokenizer_sink_fn *sink;
    void *user;
    int status; /* the sink's; tokens go nowhere once it is -1 */
    err_t *err;
} gather_t;

static void hand_on(void *user, size_t n_done)
{
    gather_t *self = user;
    if (self->status == 0)
        self->status = self->sink(self->user, self->tokens.at, self->tokens.n, n_done, self->err);
    self->tokens.n = 0;
}

static int encode_chars(const tokenizer_t *self, const char *text, size_t n, gather_t *out,
                        err_t *err)
{
    for (size_t at = 0; at < n;) {
        unsigned code;
        size_t length = utf8_next(text + at, n - at, &code);
        if (length == 0) return not_utf8(at, err);
        int symbol = find_symbol(self, code);
        if (symbol < 0)
            return err_set(err, ERR_PARSE, "'%.*s' (U+%04X) at byte %zu is not in the vocabulary",
                           (int)length, text + at, code, at);
        VEC_PUSH(&out->tokens, (uint32_t)symbol);
        at += length;
        if (out->tokens.n == SINK_TOKENS) hand_on(out, at);
        if (out->status < 0) return -1;
    }
    return 0;
}

static int encode_bytes(const char *text, size_t n, gather_t *out)
{
    for (size_t i = 0; i < n && out->status == 0; i++) {
        VEC_PUSH(&out->tokens, (uint8_t)text[i]);
        if (out->tokens.n == SINK_TOKENS) hand_on(out, i + 1);
    }
    return out->status;
}

static int encode_raw(const char *text, size_t n, gather_t *out, err_t *err)
{
    const uint8_t *p = (const uint8_t *)text;
    if (n % 2)
        return err_set(err, ERR_PARSE, "raw tokens are two bytes each, but there are %zu bytes", n);
    for (size_t i = 0; i < n && out->status == 0; i += 2) {
        VEC_PUSH(&out->tokens, (uint32_t)p[i] | (uint32_t)p[i + 1] << 8);
        if (out->tokens.n == SINK_TOKENS) hand_on(out, i + 2);
    }
    return out->status;
}

int tokenizer_encode_into(const tokenizer_t *self, const char *text, size_t n,
                          tokenizer_sink_fn *sink, void *user, err_t *err)
{
    gather_t out = {.sink = sink, .user = user, .err = err};
    int status = -1;
    switch (self->kind) {
    case KIND_CHAR: status = encode_chars(self, text, n, &out, err); break;
    case KIND_BYTE: status = encode_bytes(text, n, &out); break;
    case KIND_RAW: status = encode_raw(text, n, &out, err); break;
    default: status = byte_level_encode(self->bpe, text, n, &out.tokens, hand_on, &out, err);
    }
    if (status == 0) hand_on(&out, n);
    VEC_FREE(&out.tokens);
    return status < 0 ? -1 : out.status;
}

static int collect(void *user, const uint32_t *tokens, size_t n, size_t n_done, err_t *err)
{
    tokens_t *all = user;
    (void)n_done, (void)err;
    VEC_RESERVE(all, all->n + n + 1); /* so that none is an array, too */
    if (n) memcpy(all->at + all->n, tokens, n * sizeof *tokens);
    all->n += n;
    return 0;
}

uint32_t *tokenizer_encode(const tokenizer_t *self, const char *text, size_t n, size_t *n_tokens,
                           err_t *err)
{
    tokens_t all = {0};
    if (tokenizer_encode_into(self, text, n, collect, &all, err) < 0) VEC_FREE(&all);
    *n_tokens = all.n;
    return all.at;
}

const uint32_t *tokenizer_before(const tokenizer_t *self, size_t *n)
{
    *n = self->kind == KIND_BPE ? self->bpe->before.n : 0;
    return *n ? self->bpe->before.at : NULL;
}

const uint32_t *tokenizer_behind(const tokenizer_t *self, size_t *n)
{
    *n = self->kind == KIND_BPE ? self->bpe->behind.n : 0;
    return *n ? self->bpe->behind.at : NULL;
}

/* --- decoding --- */

void tokenizer_decode(const tokenizer_t *self, uint32_t token, str_t *out)
{
    char byte = (char)token;
    bool is_bpe = self->kind == KIND_BPE && token < self->bpe->n_token;
    if (self->kind == KIND_RAW)
        str_addf(out, "%u ", token);
    else if (self->kind == KIND_CHAR && token < (uint32_t)self->n_symbol)
        alphabet_add_code(out, self->symbol[token]);
    else if (self->kind == KIND_BYTE && token < 256)
        str_addn(out, &byte, 1);
    else if (is_bpe && self->bpe->token[token].is_token)
        str_addn(out, self->bpe->token[token].bytes, self->bpe->token[token].n);
    else
        alphabet_add_code(out, 0xFFFD);
}

bool tokenizer_adds_blank(const tokenizer_t *self)
{
    return self->kind == KIND_BPE && self->bpe->strips_blank;
}

bool tokenizer_is_special(const tokenizer_t *self, uint32_t token)
{
    return self->kind == KIND_BPE && token < self->bpe->n_token &&
           self->bpe->token[token].is_special;
}

void tokenizer_describe(const tokenizer_t *self, str_t *out)
{
    str_addf(out, "kind        %s\nvocabulary  %d\n", tokenizer_kind(self), tokenizer_vocab(self));
    if (self->kind != KIND_BPE) return;
    const byte_level_t *b = self->bpe;
    str_addf(out, "merges      %zu\nnormalizers %zu\ncuts        %zu\nadded       %zu\n",
             bpe_merges(b->bpe), normalizer_steps(b->normalizer), words_steps(b->words),
             b->n_added);
    size_t n_special = 0;
    for (size_t i = 0; i < b->n_token; i++) {
        if (!b->token[i].is_special) continue;
        if (n_special++ == 16) {
            str_add(out, "special     ...\n");
            break;
        }
        str_addf(out, "special     %zu ", i);
        utf8_add(out, b->token[i].bytes, b->token[i].n);
        str_add(out, "\n");
    }
}

/* --- as JSON --- */

char *tokenizer_print(const tokenizer_t *self)
{
    if (self->kind == KIND_BPE) return mem_strdup(self->json);
    str_t symbols = {0};
    for (int i = 0; i < self->n_symbol; i++) alphabet_add_code(&symbols, self->symbol[i]);
    json_t *json = json_pack("{s:s}", "kind", kind_names[self->kind]);
    if (self->kind == KIND_CHAR)
        json_object_set_new(json, "symbols", json_stringn(str_text(&symbols), symbols.n));
    char *text = json_dumps(json, JSON_SORT_KEYS);
    json_decref(json);
    str_fini(&symbols);
    return text;
}

tokenizer_t *tokenizer_from_json(const json_t *json, err_t *err)
{
    const char *kind = json_string_value(json_object_get(json, "kind"));
    json_t *symbols = json_object_get(json, "symbols");
    if (json_object_get(json, "model")) {
        byte_level_t *bpe = byte_level_new(json, err);
        if (!bpe) return NULL;
        tokenizer_t *self = mem_calloc(1, sizeof *self);
        *self = (tokenizer_t){.kind = KIND_BPE, .bpe = bpe};
        self->json = json_dumps(json, JSON_COMPACT);
        return self;
    }
    if (!kind)
        err_set(err, ERR_PARSE, "the tokenizer's JSON has no \"kind\", and no \"model\"");
    else if (strcmp(kind, "char") == 0 && !json_is_string(symbols))
        err_set(err, ERR_PARSE, "the tokenizer's JSON has no \"symbols\"");
    else
        return tokenizer_new(kind, json_string_value(symbols), json_string_length(symbols), err);
    return NULL;
}

tokenizer_t *tokenizer_parse_bytes(const char *text, size_t n, err_t *err)
{
    json_error_t where;
    if (n > TOKENIZER_MAX_BYTES) {
        err_set(err, ERR_MEMORY, "a tokenizer of %zu bytes, at most %d", n, TOKENIZER_MAX_BYTES);
        return NULL;
    }
    json_t *json = json_loadb(text, n, JSON_ALLOW_NUL, &where);
    if (!json) {
        err_set(err, ERR_PARSE, "the tokenizer's JSON: line %d: %s", where.line, where.text);
        return NULL;
    }
    tokenizer_t *self = tokenizer_from_json(json, err);
    json_decref(json);
    return self;
}

tokenizer_t *tokenizer_parse(const char *text, err_t *err)
{
    return tokenizer_parse_bytes(text, strlen(text), err);
}
