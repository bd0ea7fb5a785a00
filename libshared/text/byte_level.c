/* tokenizer.json into the parts that encode. */
#include "text/byte_level.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/alphabet.h"
#include "text/hf_steps.h"

enum { MOST_HOLES = 65536 };

typedef struct {
    byte_level_t *out;
    const json_t *root, *model, *vocab, *merges, *added;
} reader_t;

void byte_level_destroy(byte_level_t **self_p)
{
    byte_level_t *self = *self_p;
    if (!self) return;
    normalizer_destroy(&self->normalizer);
    words_destroy(&self->words);
    bpe_destroy(&self->bpe);
    added_destroy(&self->added);
    added_destroy(&self->added_normalized);
    VEC_FREE(&self->before);
    VEC_FREE(&self->behind);
    str_fini(&self->bytes);
    free(self->token);
    free(self);
    *self_p = NULL;
}

/* --- the model's fields --- */

static bool is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static int refuse_if(bool is_set, const char *what, err_t *err)
{
    if (!is_set) return 0;
    return err_set(err, ERR_UNSUPPORTED, "tokenizer.json: model.%s is set; byte-level BPE has none",
                   what);
}

static bool has_text(const json_t *object, const char *key)
{
    return json_string_length(json_object_get(object, key)) > 0;
}

static int find_model(reader_t *r, err_t *err)
{
    r->model = json_object_get(r->root, "model");
    const char *type = json_string_value(json_object_get(r->model, "type"));
    r->vocab = json_object_get(r->model, "vocab");
    r->merges = json_object_get(r->model, "merges");
    r->added = json_object_get(r->root, "added_tokens");
    if (type && strcmp(type, "BPE") != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "tokenizer.json: model.type is \"%.40s\", only BPE is "
                       "known",
                       type);
    if (!json_is_object(r->vocab) || !json_is_array(r->merges))
        return err_set(err, ERR_PARSE,
                       "tokenizer.json: model.vocab must be an object and "
                       "model.merges a list");
    if (json_object_size(r->vocab) > BPE_MAX_TOKENS ||
        json_array_size(r->merges) > BPE_MAX_MERGES || json_array_size(r->added) > BPE_MAX_TOKENS)
        return err_set(err, ERR_MEMORY,
                       "tokenizer.json: %zu tokens and %zu merges; at most %d and "
                       "%d",
                       json_object_size(r->vocab), json_array_size(r->merges), BPE_MAX_TOKENS,
                       BPE_MAX_MERGES);
    double dropout = json_number_value(json_object_get(r->model, "dropout"));
    if (refuse_if(dropout > 0, "dropout", err) < 0 ||
        refuse_if(has_text(r->model, "continuing_subword_prefix"), "continuing_subword_prefix",
                  err) < 0 ||
        refuse_if(has_text(r->model, "end_of_word_suffix"), "end_of_word_suffix", err) < 0)
        return -1;
    r->out->by_character = is_true(r->model, "byte_fallback");
    return refuse_if(r->out->by_character && is_true(r->model, "ignore_merges"),
                     "byte_fallback with ignore_merges", err);
}

/* --- tokens --- */

/* An id of the file; -1: none, or too large for so few tokens. */
static int64_t id_of(const json_t *value, size_t n_all, err_t *err)
{
    json_int_t id = json_integer_value(value);
    if (json_is_integer(value) && id >= 0 && (size_t)id < n_all + MOST_HOLES) return id;
    err_set(err, ERR_PARSE, "tokenizer.json: %lld is no id of a token (0 to %zu)",
            json_is_integer(value) ? (long long)id : -1ll, n_all + MOST_HOLES - 1);
    return -1;
}

static int count_ids(reader_t *r, err_t *err)
{
    size_t n_all = json_object_size(r->vocab) + json_array_size(r->added), i;
    const char *word;
    json_t *value;
    int64_t most = -1;
    json_object_foreach((json_t *)(uintptr_t)r->vocab, word, value)
    {
        int64_t id = id_of(value, n_all, err);
        if (id < 0) return err_prefix(err, "the word \"%.40s\": ", word);
        if (id > most) most = id;
    }
    json_array_foreach(r->added, i, value)
    {
        int64_t id = id_of(json_object_get(value, "id"), n_all, err);
        if (id < 0) return err_prefix(err, "added_tokens[%zu]: ", i);
        if (id > most) most = id;
    }
    if (most < 0) return err_set(err, ERR_PARSE, "tokenizer.json: it has no tokens");
    r->out->n_token = (size_t)most + 1;
    r->out->token = mem_calloc(r->out->n_token, sizeof *r->out->token);
    return 0;
}

/* Bytes lie in one growing text: what points into it is set when it has grown. Until then `n` and
 * an offset. */
static void set_token(byte_level_t *self, uint32_t id, size_t at, bool is_special)
{
    self->token[id] = (byte_level_token_t){.bytes = (const char *)at,
                                           .n = (uint32_t)(self->bytes.n - at),
                                           .is_token = true,
                                           .is_special = is_special};
}

/* A word of characters: "<0x0A>" is a byte, U+2581 a blank. */
static void add_piece(byte_level_t *self, const char *word, size_t n, uint32_t id)
{
    size_t at = self->bytes.n;
    unsigned byte;
    char end;
    if (n == 6 && sscanf(word, "<0x%2X%c", &byte, &end) == 2 && end == '>') {
        char c = (char)byte;
        str_addn(&self->bytes, &c, 1);
        bpe_set_byte(self->bpe, (uint8_t)byte, id);
    } else {
        for (size_t i = 0; i < n; i++) {
            bool blank = i + 3 <= n && memcmp(word + i, HF_BLANK, 3) == 0;
            str_addn(&self->bytes, blank ? " " : word + i, 1);
            i += blank ? 2 : 0;
        }
        if (n > 0 && utf8_next(word, n, NULL) == n) bpe_add_character(self->bpe, word, n, id);
    }
    set_token(self, id, at, false);
}

static int read_vocab(reader_t *r, err_t *err)
{
    byte_level_t *self = r->out;
    const char *word;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)r->vocab, word, value)
    {
        size_t n = strlen(word), at = self->bytes.n;
        if (n > 2 * BPE_MAX_TOKEN_BYTES)
            return err_set(err, ERR_PARSE, "tokenizer.json: a token of %zu bytes, at most %d", n,
                           BPE_MAX_TOKEN_BYTES);
        uint32_t id = (uint32_t)json_integer_value(value);
        if (self->token[id].is_token)
            return err_set(err, ERR_PARSE,
                           "tokenizer.json: the id %u has two words, \"%.40s\" is "
                           "one",
                           id, word);
        if (self->by_character) {
            add_piece(self, word, n, id);
            continue;
        }
        bool written = alphabet_read(&self->bytes, word, n) == 0;
        if (!written) str_addn(&self->bytes, word, n);
        set_token(self, id, at, false);
        self->token[id].is_word = written;
        if (written && self->bytes.n - at == 1)
            bpe_set_byte(self->bpe, (uint8_t)self->bytes.at[at], id);
    }
    const char *unknown = json_string_value(json_object_get(r->model, "unk_token"));
    const json_t *id = unknown ? json_object_get(r->vocab, unknown) : NULL;
    if (id) bpe_set_unknown(self->bpe, json_integer_value(id));
    return 0;
}

/* A merge is "left right" or ["left", "right"]: its two words, as they stand in the vocabulary. */
static int split_merge(const json_t *merge, str_t *left, str_t *right)
{
    left->n = right->n = 0;
    if (json_is_string(merge)) {
        const char *text = json_string_value(merge), *blank = strchr(text, ' ');
        if (!blank || strchr(blank + 1, ' ')) return -1;
        str_addn(left, text, (size_t)(blank - text));
        str_add(right, blank + 1);
        return 0;
    }
    const char *a = json_string_value(json_array_get(merge, 0));
    const char *b = json_string_value(json_array_get(merge, 1));
    if (json_array_size(merge) != 2 || !a || !b) return -1;
    str_add(left, a);
    str_add(right, b);
    return 0;
}

static int read_merges(reader_t *r, err_t *err)
{
    str_t left = {0}, right = {0};
    json_t *merge;
    size_t i;
    int status = 0;
    json_array_foreach(r->merges, i, merge)
    {
        if (split_merge(merge, &left, &right) < 0) {
            status = err_set(err, ERR_PARSE, "tokenizer.json: model.merges[%zu] is not two words",
                             i);
            break;
        }
        const json_t *a = json_object_get(r->vocab, str_text(&left));
        const json_t *b = json_object_get(r->vocab, str_text(&right));
        if (str_starts(str_text(&right), HF_BLANK) && !str_ends(str_text(&left), HF_BLANK))
            r->out->has_crossing = true;
        str_addn(&left, str_text(&right), right.n);
        const json_t *both = json_object_get(r->vocab, str_text(&left));
        if (!a || !b || !both) {
            status = err_set(err, ERR_PARSE,
                             "tokenizer.json: model.merges[%zu]: \"%.60s\" or a part of it is not "
                             "in the vocabulary",
                             i, str_text(&left));
            break;
        }
        bpe_add_merge(r->out->bpe, (uint32_t)json_integer_value(a), (uint32_t)json_integer_value(b),
                      (uint32_t)json_integer_value(both));
    }
    str_fini(&left);
    str_fini(&right);
    return status;
}

/* One that is sought in normalised text is normalised itself. */
static int add_token(byte_level_t *self, const char *text, size_t n, added_token_t token,
                     bool normalized, err_t *err)
{
    if (!normalized) return added_add(self->added, text, n, token, err);
    if (normalizer_steps(self->normalizer) == 0)
        return added_add(self->added_normalized, text, n, token, err);
    str_t normal = {0};
    pattern_scan_t *scan = pattern_scan_new();
    int status = normalizer_run(self->normalizer, scan, text, n, &normal, err);
    if (status == 0)
        status = added_add(self->added_normalized, str_text(&normal), normal.n, token, err);
    pattern_scan_destroy(&scan);
    str_fini(&normal);
    return status;
}

static int read_added(reader_t *r, err_t *err)
{
    byte_level_t *self = r->out;
    json_t *value;
    size_t i;
    json_array_foreach(r->added, i, value)
    {
        const json_t *content = json_object_get(value, "content");
        uint32_t id = (uint32_t)json_integer_value(json_object_get(value, "id"));
        if (!json_is_string(content))
            return err_set(err, ERR_PARSE, "tokenizer.json: added_tokens[%zu] has no content", i);
        const char *text = json_string_value(content);
        size_t n = json_string_length(content), at = self->bytes.n;
        added_token_t token = {.token = id,
                               .single_word = is_true(value, "single_word"),
                               .lstrip = is_true(value, "lstrip"),
                               .rstrip = is_true(value, "rstrip")};
        if (add_token(self, text, n, token, is_true(value, "normalized"), err) < 0)
            return err_prefix(err, "tokenizer.json: added_tokens[%zu]: ", i);
        str_addn(&self->bytes, text, n);
        set_token(self, id, at, is_true(value, "special"));
    }
    self->n_added = json_array_size(r->added);
    return 0;
}

/* The text of tokens will not move any more. */
static void settle_tokens(byte_level_t *self, bool ignore_merges)
{
    for (size_t i = 0; i < self->n_token; i++) {
        byte_level_token_t *t = &self->token[i];
        if (!t->is_token) continue;
        t->bytes = str_text(&self->bytes) + (size_t)t->bytes;
        if (ignore_merges && t->is_word) bpe_add_whole(self->bpe, t->bytes, t->n, (uint32_t)i);
    }
}

byte_level_t *byte_level_new(const json_t *tokenizer, err_t *err)
{
    reader_t r = {.out = mem_calloc(1, sizeof(byte_level_t)), .root = tokenizer};
    byte_level_t *self = r.out;
    self->normalizer = normalizer_new();
    self->words = words_new();
    self->added = added_new();
    self->added_normalized = added_new();
    int status = find_model(&r, err);
    if (status == 0) status = count_ids(&r, err);
    if (status == 0) self->bpe = bpe_new(self->n_token, json_array_size(r.merges));
    if (status == 0) status = read_vocab(&r, err);
    if (status == 0) status = read_merges(&r, err);
    if (status == 0) status = hf_read_steps(tokenizer, self, err);
    if (status == 0) status = read_added(&r, err);
    if (status == 0) settle_tokens(self, is_true(r.model, "ignore_merges"));
    if (status < 0) byte_level_destroy(&self);
    return self;
}
