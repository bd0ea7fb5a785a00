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

#define KIND_NAME(word, constant) [constant] = #word,
static const char *const kind_names[KIND_COUNT] = {TOKENIZERS(KIND_NAME)[KIND_BPE] = "bpe"};

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

static tokenizer_t *new_char(const char *text, size_t n, err_t *err)
{
    tokenizer_symbols_t *symbols = tokenizer_symbols_new();
    bool good = tokenizer_symbols_add(symbols, text, n, 0, err) == 0;
    tokenizer_t *self = good ? tokenizer_new_char(symbols, err) : NULL;
    tokenizer_symbols_destroy(&symbols);
    return self;
}

tokenizer_t *tokenizer_new(const char *kind, const char *text, size_t n, err_t *err)
{
    kind_t of = kind_of(kind);
    if (of == KIND_CHAR) return new_char(text, n, err);
    if (of == KIND_BPE) {
        err_set(err, ERR_ARG, "tokenizer \"%s\" is none of %s", kind, OPTION_WORDS(TOKENIZERS));
        return NULL;
    }
    tokenizer_t *self = mem_calloc(1, sizeof *self);
    self->kind = of;
    return self;
}

void tokenizer_destroy(tokenizer_t **self_p)
{
    if (!self_p || !*self_p) return;
    tokenizer_t *self = *self_p;
    free(self->symbol);
    byte_level_destroy(&self->bpe);
    free(self->json);
    json_decref(self->beside);
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

int64_t tokenizer_special(const tokenizer_t *self, const char *text)
{
    size_t n = 0;
    uint32_t *tokens = tokenizer_encode(self, text, strlen(text), &n, NULL);
    bool one = tokens && n == 1 && tokenizer_is_special(self, tokens[0]);
    int64_t token = one ? (int64_t)tokens[0] : -1;
    free(tokens);
    return token;
}

int64_t tokenizer_end_of_text(const tokenizer_t *self)
{
    static const char *const marks[] = {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"};
    int64_t token = -1;
    for (size_t i = 0; token < 0 && i < sizeof marks / sizeof *marks; i++)
        token = tokenizer_special(self, marks[i]);
    return token;
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

void tokenizer_decode_text(const tokenizer_t *self, const uint32_t *tokens, size_t n, str_t *out)
{
    str_t text = {0};
    for (size_t i = 0; i < n; i++) tokenizer_decode(self, tokens[i], &text);
    bool strips = self->kind == KIND_BPE && self->bpe->strips_blank;
    size_t blank = strips && str_starts(str_text(&text), " ");
    str_addn(out, str_text(&text) + blank, text.n - blank);
    str_fini(&text);
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
    const char *name;
    json_t *text;
    json_object_foreach(self->beside, name, text)
        str_addf(out, "beside it   %s, %zu bytes\n", name, json_string_length(text));
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
    utf8_plain(out->at, true);
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

static tokenizer_t *bpe_from_json(const json_t *json, err_t *err)
{
    err_t why = {0};
    json_t *beside = beside_find(json, &why);
    byte_level_t *bpe = why.code == ERR_OK ? byte_level_new(json, &why) : NULL;
    if (!bpe) {
        json_decref(beside);
        err_set(err, why.code, "%s", why.text);
        return NULL;
    }
    tokenizer_t *self = mem_calloc(1, sizeof *self);
    *self = (tokenizer_t){.kind = KIND_BPE, .bpe = bpe, .beside = beside};
    self->json = json_dumps(json, JSON_COMPACT);
    return self;
}

tokenizer_t *tokenizer_from_json(const json_t *json, err_t *err)
{
    const char *kind = json_string_value(json_object_get(json, "kind"));
    json_t *symbols = json_object_get(json, "symbols");
    if (json_object_get(json, "model")) return bpe_from_json(json, err);
    if (!kind)
        err_set(err, ERR_PARSE, "the tokenizer's JSON has no \"kind\", and no \"model\"");
    else if (strcmp(kind, "char") == 0 && !json_is_string(symbols))
        err_set(err, ERR_PARSE, "the tokenizer's JSON has no \"symbols\"");
    else
        return tokenizer_new(kind, json_string_value(symbols), json_string_length(symbols), err);
    return NULL;
}

json_t *tokenizer_json(const char *text, size_t n, err_t *err)
{
    json_error_t where;
    if (n > TOKENIZER_MAX_BYTES) {
        err_set(err, ERR_MEMORY, "a tokenizer of %zu bytes, at most %d", n, TOKENIZER_MAX_BYTES);
        return NULL;
    }
    json_t *json = json_loadb(text, n, JSON_ALLOW_NUL, &where);
    if (!json) err_set(err, ERR_PARSE, "the tokenizer's JSON: line %d: %s", where.line, where.text);
    return json;
}

tokenizer_t *tokenizer_parse_bytes(const char *text, size_t n, err_t *err)
{
    json_t *json = tokenizer_json(text, n, err);
    if (!json) return NULL;
    tokenizer_t *self = tokenizer_from_json(json, err);
    json_decref(json);
    return self;
}

tokenizer_t *tokenizer_parse(const char *text, err_t *err)
{
    return tokenizer_parse_bytes(text, strlen(text), err);
}
