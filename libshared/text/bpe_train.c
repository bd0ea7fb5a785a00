/* Pairs with their counts and the words they are in; a heap by count whose entries may be stale and
 * are looked at again when they come up. A word's pairs are taken out, the word merged, its pairs
 * put back, so that counts stay exact. */
#include "text/bpe_train.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/index.h"
#include "base/str.h"
#include "text/alphabet.h"
#include "text/byte_level.h"
#include "text/spans.h"

typedef struct {
    size_t at; /* into symbols */
    uint32_t n;
    uint64_t count;
} word_t;

typedef struct {
    uint32_t left, right;
    uint64_t count;
    size_t touched;      /* the merge that raised it last */
    VEC(uint32_t) words; /* where it is, or was */
} pair_t;

typedef struct {
    uint64_t count;
    uint32_t left, right, pair;
} candidate_t;

typedef struct {
    uint64_t key; /* left << 32 | right, plus 1; 0: free */
    uint32_t pair;
} slot_t;

typedef struct {
    uint32_t left, right; /* ids */
} merge_t;

struct bpe_trainer {
    bpe_train_options_t options;
    const char *pattern; /* NULL: GPT-2's */
    words_t *cutter;
    pattern_scan_t *scan;
    index_t *index; /* word to its number */
    VEC(word_t) words;
    tokens_t symbols;
    VEC(pair_t) pairs;
    slot_t *slot;
    size_t mask;
    VEC(candidate_t) heap;
    VEC(uint32_t) raised; /* pairs that a merge has made more frequent */
    VEC(merge_t) merges;
    VEC(str_t) tokens;    /* by id: specials, bytes in the order of their characters, merged */
    index_t *token_index; /* text to id */
    uint32_t byte_token[256];
    bool counted;
};

static const struct {
    const char *word, *pattern;
} cuts[] = {
#define CUT_ROW(word, pattern) {#word, pattern},
    BPE_CUTS(CUT_ROW)};

/* Takes the text. */
static uint32_t add_token(bpe_trainer_t *self, str_t text)
{
    uint32_t id = (uint32_t)self->tokens.n;
    index_add(self->token_index, text.at, text.n, (int)id);
    VEC_PUSH(&self->tokens, text);
    return id;
}

static int add_first_tokens(bpe_trainer_t *self, err_t *err)
{
    for (size_t i = 0; i < self->options.n_special; i++) {
        str_t text = {0};
        str_add(&text, self->options.special[i]);
        if (text.n < 2 || index_find(self->token_index, text.at, text.n) >= 0) {
            str_fini(&text);
            return err_set(err, ERR_ARG, "the special token \"%s\" is too short, or there twice",
                           self->options.special[i]);
        }
        add_token(self, text);
    }
    for (unsigned code = 0; code < 0x144; code++) {
        int byte = alphabet_byte(code);
        str_t text = {0};
        if (byte < 0) continue;
        alphabet_add_code(&text, code);
        self->byte_token[byte] = add_token(self, text);
    }
    return 0;
}

bpe_trainer_t *bpe_trainer_new(const bpe_train_options_t *options, err_t *err)
{
    size_t least = 256 + options->n_special, cut = 0;
    while (cut < sizeof cuts / sizeof *cuts && strcmp(cuts[cut].word, options->cut) != 0) cut++;
    if (cut == sizeof cuts / sizeof *cuts) {
        err_set(err, ERR_ARG, "there is no cut \"%s\"", options->cut);
        return NULL;
    }
    if (options->vocab < least || options->vocab > BPE_MAX_TOKENS) {
        err_set(err, ERR_ARG, "a vocabulary of %zu tokens: it must have %zu to %d", options->vocab,
                least, BPE_MAX_TOKENS);
        return NULL;
    }
    bpe_trainer_t *self = mem_calloc(1, sizeof *self);
    self->options = *options;
    self->pattern = cuts[cut].pattern;
    self->cutter = words_new();
    self->scan = pattern_scan_new();
    self->index = index_new();
    self->token_index = index_new();
    self->mask = 1023;
    self->slot = mem_calloc(self->mask + 1, sizeof *self->slot);
    const char *text = self->pattern ? self->pattern : WORDS_GPT2;
    pattern_t *pattern = pattern_new(text, strlen(text), false, err);
    if (!pattern || words_add_split(self->cutter, pattern, CUT_ISOLATED, false, err) < 0 ||
        add_first_tokens(self, err) < 0)
        bpe_trainer_destroy(&self);
    return self;
}

void bpe_trainer_destroy(bpe_trainer_t **self_p)
{
    bpe_trainer_t *self = *self_p;
    if (!self) return;
    words_destroy(&self->cutter);
    pattern_scan_destroy(&self->scan);
    index_destroy(&self->index);
    for (size_t i = 0; i < self->pairs.n; i++) VEC_FREE(&self->pairs.at[i].words);
    VEC_FREE(&self->pairs);
    VEC_FREE(&self->words);
    VEC_FREE(&self->symbols);
    VEC_FREE(&self->heap);
    VEC_FREE(&self->raised);
    VEC_FREE(&self->merges);
    for (size_t i = 0; i < self->tokens.n; i++) str_fini(&self->tokens.at[i]);
    VEC_FREE(&self->tokens);
    index_destroy(&self->token_index);
    free(self->slot);
    free(self);
    *self_p = NULL;
}

/* --- words --- */

static int count_word(void *user, const char *text, size_t n, err_t *err)
{
    bpe_trainer_t *self = user;
    int known = index_find(self->index, text, n);
    if (known >= 0) {
        self->words.at[known].count++;
        return 0;
    }
    if (self->words.n >= INT32_MAX || self->symbols.n + n >= (size_t)1 << 31)
        return err_set(err, ERR_MEMORY, "too many different words: train on less text");
    word_t word = {self->symbols.n, (uint32_t)n, 1};
    for (size_t i = 0; i < n; i++) VEC_PUSH(&self->symbols, self->byte_token[(uint8_t)text[i]]);
    index_add(self->index, text, n, (int)self->words.n);
    VEC_PUSH(&self->words, word);
    return 0;
}

int bpe_trainer_add(bpe_trainer_t *self, const char *text, size_t n, err_t *err)
{
    for (size_t at = 0; at < n;) {
        size_t valid = spans_valid(text + at, n - at);
        if (words_cut(self->cutter, self->scan, text + at, valid, count_word, self, err) < 0)
            return -1;
        at += valid;
        size_t invalid = spans_invalid(text + at, n - at);
        if (invalid > 0 && count_word(self, text + at, invalid, err) < 0) return -1;
        at += invalid;
    }
    return 0;
}

/* --- pairs --- */

static slot_t *find_slot(const bpe_trainer_t *self, uint64_t key)
{
    size_t at = (key * 0x9E3779B97F4A7C15u >> 24) & self->mask;
    while (self->slot[at].key != 0 && self->slot[at].key != key) at = (at + 1) & self->mask;
    return &self->slot[at];
}

static void grow(bpe_trainer_t *self)
{
    slot_t *old = self->slot;
    size_t n = self->mask + 1;
    self->mask = 2 * n - 1;
    self->slot = mem_calloc(2 * n, sizeof *self->slot);
    for (size_t i = 0; i < n; i++)
        if (old[i].key != 0) *find_slot(self, old[i].key) = old[i];
    free(old);
}

static uint32_t pair_of(bpe_trainer_t *self, uint32_t left, uint32_t right)
{
    uint64_t key = ((uint64_t)left << 32 | right) + 1;
    slot_t *slot = find_slot(self, key);
    if (slot->key != 0) return slot->pair;
    pair_t pair = {.left = left, .right = right};
    uint32_t number = (uint32_t)self->pairs.n;
    *slot = (slot_t){key, number};
    VEC_PUSH(&self->pairs, pair);
    if (2 * self->pairs.n > self->mask) grow(self);
    return number;
}

static void take_pairs(bpe_trainer_t *self, const word_t *word)
{
    const uint32_t *s = self->symbols.at + word->at;
    for (uint32_t i = 0; i + 1 < word->n; i++)
        self->pairs.at[pair_of(self, s[i], s[i + 1])].count -= word->count;
}

static void put_pairs(bpe_trainer_t *self, uint32_t number, size_t turn)
{
    const word_t *word = &self->words.at[number];
    const uint32_t *s = self->symbols.at + word->at;
    for (uint32_t i = 0; i + 1 < word->n; i++) {
        uint32_t p = pair_of(self, s[i], s[i + 1]);
        pair_t *pair = &self->pairs.at[p];
        pair->count += word->count;
        if (pair->words.n == 0 || pair->words.at[pair->words.n - 1] != number)
            VEC_PUSH(&pair->words, number);
        if (pair->touched == turn) continue;
        pair->touched = turn;
        VEC_PUSH(&self->raised, p);
    }
}

/* --- candidates: the most frequent first, then the lower ids --- */

static bool before(const candidate_t *a, const candidate_t *b)
{
    if (a->count != b->count) return a->count > b->count;
    if (a->left != b->left) return a->left < b->left;
    return a->right < b->right;
}

static void push(bpe_trainer_t *self, uint32_t pair)
{
    const pair_t *p = &self->pairs.at[pair];
    candidate_t item = {p->count, p->left, p->right, pair};
    if (p->count < self->options.min_count || p->count == 0) return;
    VEC_PUSH(&self->heap, item);
    candidate_t *at = self->heap.at;
    size_t i = self->heap.n - 1;
    for (size_t up; i > 0 && before(&item, &at[up = (i - 1) / 2]); i = up) at[i] = at[up];
    at[i] = item;
}

static candidate_t pop(bpe_trainer_t *self)
{
    candidate_t *at = self->heap.at, top = at[0], last = at[--self->heap.n];
    size_t i = 0, n = self->heap.n;
    for (size_t down; (down = 2 * i + 1) < n; i = down) {
        if (down + 1 < n && before(&at[down + 1], &at[down])) down++;
        if (!before(&at[down], &last)) break;
        at[i] = at[down];
    }
    if (n > 0) at[i] = last;
    return top;
}

static void push_raised(bpe_trainer_t *self)
{
    for (size_t i = 0; i < self->raised.n; i++) push(self, self->raised.at[i]);
    self->raised.n = 0;
}

static void merge_word(bpe_trainer_t *self, uint32_t number, uint32_t left, uint32_t right,
                       uint32_t into, size_t turn)
{
    word_t *word = &self->words.at[number];
    uint32_t *s = self->symbols.at + word->at, n = 0;
    bool has = false;
    for (uint32_t i = 0; i + 1 < word->n && !has; i++) has = s[i] == left && s[i + 1] == right;
    if (!has) return; /* other merges have taken the pair away */
    take_pairs(self, word);
    for (uint32_t i = 0; i < word->n; n++) {
        bool here = i + 1 < word->n && s[i] == left && s[i + 1] == right;
        s[n] = here ? into : s[i];
        i += here ? 2 : 1;
    }
    word->n = n;
    put_pairs(self, number, turn);
}

size_t bpe_trainer_wanted(const bpe_trainer_t *self)
{
    return self->options.vocab - 256 - self->options.n_special;
}

size_t bpe_trainer_tokens(const bpe_trainer_t *self)
{
    return self->tokens.n;
}

/* Two pairs may make the same text ("ab" "c" and "a" "bc"): that is one token. */
static uint32_t joined_token(bpe_trainer_t *self, merge_t merge)
{
    str_t text = {0};
    for (int i = 0; i < 2; i++) {
        const str_t *part = &self->tokens.at[i ? merge.right : merge.left];
        str_addn(&text, part->at, part->n);
    }
    int known = index_find(self->token_index, text.at, text.n);
    if (known < 0) return add_token(self, text);
    str_fini(&text);
    return (uint32_t)known;
}

int bpe_trainer_step(bpe_trainer_t *self)
{
    if (!self->counted) {
        for (size_t i = 0; i < self->words.n; i++) put_pairs(self, (uint32_t)i, 1);
        push_raised(self);
        self->counted = true;
    }
    if (bpe_trainer_tokens(self) >= self->options.vocab) return 0;
    while (self->heap.n > 0) {
        candidate_t best = pop(self);
        if (best.count != self->pairs.at[best.pair].count) {
            push(self, best.pair);
            continue;
        }
        merge_t merge = {best.left, best.right};
        VEC_PUSH(&self->merges, merge);
        uint32_t into = joined_token(self, merge);
        pair_t *pair = &self->pairs.at[best.pair];
        uint32_t *words = pair->words.at; /* put_pairs may move the list of pairs, not this one */
        size_t n = pair->words.n;
        pair->words.at = NULL;
        pair->words.n = pair->words.space = 0;
        for (size_t i = 0; i < n; i++)
            merge_word(self, words[i], best.left, best.right, into, self->merges.n + 1);
        free(words);
        push_raised(self);
        return 1;
    }
    return 0;
}

/* --- what was learnt --- */

char *bpe_trainer_print(const bpe_trainer_t *self)
{
    json_t *vocab = json_object(), *merges = json_array(), *added = json_array();
    for (size_t i = 0; i < self->options.n_special; i++) {
        const char *name = self->options.special[i];
        json_array_append_new(added, json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (int)i,
                                               "content", name, "single_word", 0, "lstrip", 0,
                                               "rstrip", 0, "normalized", 0, "special", 1));
    }
    for (size_t i = 0; i < self->merges.n; i++)
        json_array_append_new(merges,
                              json_pack("[s, s]", self->tokens.at[self->merges.at[i].left].at,
                                        self->tokens.at[self->merges.at[i].right].at));
    for (size_t i = 0; i < self->tokens.n; i++)
        json_object_set_new(vocab, self->tokens.at[i].at, json_integer((json_int_t)i));
    json_t *json = byte_level_json(vocab, merges, added, self->pattern);
    char *text = json_dumps(json, JSON_INDENT(0));
    json_decref(json);
    return text;
}
