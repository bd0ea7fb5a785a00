/* Merging by rank: short words by looking for the least rank again and again, long ones with a heap
 * over a linked list, so that a word of a megabyte takes no quadratic time. */
#include "text/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "base/index.h"
#include "base/utf8.h"

enum { SHORT = 40 }; /* bytes of a word that is scanned instead of heaped */
static const uint32_t NO_RANK = UINT32_MAX;

typedef struct {
    uint64_t pair; /* left << 32 | right */
    uint32_t rank, into;
} merge_t;

struct bpe {
    int64_t byte[256]; /* -1: none */
    int64_t unknown;
    merge_t *merge; /* open addressing, at most half full; rank NO_RANK: free */
    size_t mask, n_merge;
    index_t *whole;     /* NULL: words are merged always */
    index_t *character; /* NULL: words begin as bytes */
};

bpe_t *bpe_new(size_t n_tokens, size_t n_merges)
{
    (void)n_tokens;
    bpe_t *self = mem_calloc(1, sizeof *self);
    size_t n = 16;
    while (n < 2 * n_merges) n *= 2;
    self->merge = mem_calloc(n, sizeof *self->merge);
    self->mask = n - 1;
    for (size_t i = 0; i < n; i++) self->merge[i].rank = NO_RANK;
    for (int i = 0; i < 256; i++) self->byte[i] = -1;
    self->unknown = -1;
    return self;
}

void bpe_destroy(bpe_t **self_p)
{
    bpe_t *self = *self_p;
    if (!self) return;
    index_destroy(&self->whole);
    index_destroy(&self->character);
    free(self->merge);
    free(self);
    *self_p = NULL;
}

void bpe_set_byte(bpe_t *self, uint8_t byte, uint32_t token)
{
    self->byte[byte] = token;
}

void bpe_set_unknown(bpe_t *self, int64_t token)
{
    self->unknown = token;
}

/* Where the pair is, or belongs. */
static merge_t *find_merge(const bpe_t *self, uint32_t left, uint32_t right)
{
    uint64_t pair = (uint64_t)left << 32 | right;
    uint64_t hash = pair * 0x9E3779B97F4A7C15u;
    size_t at = (hash ^ hash >> 32) & self->mask;
    while (self->merge[at].rank != NO_RANK && self->merge[at].pair != pair)
        at = (at + 1) & self->mask;
    return &self->merge[at];
}

void bpe_add_merge(bpe_t *self, uint32_t left, uint32_t right, uint32_t into)
{
    merge_t *merge = find_merge(self, left, right);
    if (merge->rank != NO_RANK) return;
    *merge = (merge_t){(uint64_t)left << 32 | right, (uint32_t)self->n_merge++, into};
}

void bpe_add_whole(bpe_t *self, const char *bytes, size_t n, uint32_t token)
{
    if (!self->whole) self->whole = index_new();
    if (index_find(self->whole, bytes, n) < 0) index_add(self->whole, bytes, n, (int)token);
}

void bpe_add_character(bpe_t *self, const char *text, size_t n, uint32_t token)
{
    if (!self->character) self->character = index_new();
    if (index_find(self->character, text, n) < 0) index_add(self->character, text, n, (int)token);
}

size_t bpe_merges(const bpe_t *self)
{
    return self->n_merge;
}

/* --- one word --- */

/* ids[0, n) become fewer in place; returns how many. */
static size_t merge_short(const bpe_t *self, uint32_t *ids, size_t n)
{
    const merge_t *merge[SHORT];
    for (size_t i = 0; i + 1 < n; i++) merge[i] = find_merge(self, ids[i], ids[i + 1]);
    while (n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++)
            if (merge[i]->rank < merge[best]->rank) best = i;
        if (merge[best]->rank == NO_RANK) break;
        ids[best] = merge[best]->into;
        n--;
        memmove(&ids[best + 1], &ids[best + 2], (n - best - 1) * sizeof *ids);
        if (best + 1 < n)
            memmove(&merge[best + 1], &merge[best + 2], (n - best - 2) * sizeof *merge);
        if (best > 0) merge[best - 1] = find_merge(self, ids[best - 1], ids[best]);
        if (best + 1 < n) merge[best] = find_merge(self, ids[best], ids[best + 1]);
    }
    return n;
}

typedef struct {
    uint64_t order; /* rank << 32 | place: the least is next */
    uint64_t pair;  /* as it was when it came in: a changed one is stale */
} pending_t;

typedef struct {
    VEC(pending_t) heap;
    uint32_t *ids, *next, *prev; /* next of the last: n; ids of a merged right one: unused */
    size_t n;
} long_t;

static void heap_push(long_t *w, pending_t item)
{
    VEC_PUSH(&w->heap, item);
    pending_t *at = w->heap.at;
    size_t i = w->heap.n - 1;
    for (size_t up; i > 0 && at[up = (i - 1) / 2].order > item.order; i = up) at[i] = at[up];
    at[i] = item;
}

static pending_t heap_pop(long_t *w)
{
    pending_t *at = w->heap.at, top = at[0], last = at[--w->heap.n];
    size_t i = 0, n = w->heap.n;
    for (size_t down; (down = 2 * i + 1) < n; i = down) {
        if (down + 1 < n && at[down + 1].order < at[down].order) down++;
        if (at[down].order >= last.order) break;
        at[i] = at[down];
    }
    if (n > 0) at[i] = last;
    return top;
}

static void push_pair(const bpe_t *self, long_t *w, size_t at)
{
    if (w->next[at] >= w->n) return;
    const merge_t *merge = find_merge(self, w->ids[at], w->ids[w->next[at]]);
    if (merge->rank != NO_RANK)
        heap_push(w, (pending_t){(uint64_t)merge->rank << 32 | at, merge->pair});
}

static size_t merge_long(const bpe_t *self, uint32_t *ids, size_t n)
{
    const uint32_t gone = UINT32_MAX;
    long_t w = {.ids = ids, .n = n};
    w.next = mem_calloc(2 * n, sizeof *w.next);
    w.prev = w.next + n;
    for (size_t i = 0; i < n; i++) w.next[i] = (uint32_t)i + 1, w.prev[i] = (uint32_t)i - 1;
    for (size_t i = 0; i + 1 < n; i++) push_pair(self, &w, i);
    while (w.heap.n > 0) {
        pending_t item = heap_pop(&w);
        size_t at = (uint32_t)item.order, right = w.next[at];
        bool stale = right >= n || right == 0 || ids[at] != item.pair >> 32 ||
                     ids[right] != (uint32_t)item.pair;
        if (stale) continue;
        ids[at] = find_merge(self, ids[at], ids[right])->into;
        ids[right] = gone;
        w.next[at] = w.next[right];
        w.next[right] = 0;
        if (w.next[at] < n) w.prev[w.next[at]] = (uint32_t)at;
        if (at > 0) push_pair(self, &w, w.prev[at]);
        push_pair(self, &w, at);
    }
    size_t left = 0;
    for (size_t i = 0; i < n; i = w.next[i]) ids[left++] = ids[i];
    free(w.next);
    VEC_FREE(&w.heap);
    return left;
}

static int no_token(uint8_t byte, err_t *err)
{
    return err_set(err, ERR_PARSE,
                   "the tokenizer has no token for the byte 0x%02X, and none for unknown ones",
                   byte);
}

static int add_bytes(const bpe_t *self, const char *bytes, size_t n, uint32_t *ids, size_t *count,
                     err_t *err)
{
    for (size_t i = 0; i < n; i++) {
        int64_t token = self->byte[(uint8_t)bytes[i]];
        if (token < 0) token = self->unknown;
        if (token < 0) return no_token((uint8_t)bytes[i], err);
        ids[(*count)++] = (uint32_t)token;
    }
    return 0;
}

static int encode_word(const bpe_t *self, const char *word, size_t n, tokens_t *out, err_t *err)
{
    int known = self->whole ? index_find(self->whole, word, n) : -1;
    if (known >= 0) {
        VEC_PUSH(out, (uint32_t)known);
        return 0;
    }
    if (n >= UINT32_MAX) return err_set(err, ERR_MEMORY, "a word of %zu bytes", n);
    VEC_RESERVE(out, out->n + n);
    uint32_t *ids = out->at + out->n;
    size_t count = 0;
    for (size_t i = 0, length; i < n; i += length) {
        length = self->character ? utf8_next(word + i, n - i, NULL) : 0;
        int whole = length ? index_find(self->character, word + i, length) : -1;
        if (whole >= 0)
            ids[count++] = (uint32_t)whole;
        else if (add_bytes(self, word + i, length ? length : (length = 1), ids, &count, err) < 0)
            return -1;
    }
    out->n += count <= SHORT ? merge_short(self, ids, count) : merge_long(self, ids, count);
    return 0;
}

/* --- words that were seen --- */

enum { CACHE_WORD = 30, CACHE_TOKENS = 8, CACHE_LEAST_BITS = 8, CACHE_MOST_BITS = 15 };

typedef struct { /* a cache line */
    uint8_t n, n_tokens;
    char word[CACHE_WORD]; /* zeros behind it */
    uint32_t token[CACHE_TOKENS];
} cached_t;

struct bpe_cache {
    cached_t *at;
    int shift;
};

bpe_cache_t *bpe_cache_new(size_t n_text)
{
    bpe_cache_t *self = mem_calloc(1, sizeof *self);
    int bits = CACHE_LEAST_BITS;
    while (bits < CACHE_MOST_BITS && (n_text >> bits) > 8) bits++;
    self->shift = 64 - bits;
    self->at = aligned_alloc(sizeof *self->at, sizeof *self->at << bits);
    if (!self->at) mem_fail(sizeof *self->at << bits);
    memset(self->at, 0, sizeof *self->at << bits);
    return self;
}

void bpe_cache_destroy(bpe_cache_t **self_p)
{
    if (!*self_p) return;
    free((*self_p)->at);
    free(*self_p);
    *self_p = NULL;
}

int bpe_encode(const bpe_t *self, bpe_cache_t *cache, const char *word, size_t n, tokens_t *out,
               err_t *err)
{
    if (n == 0) return 0;
    if (n > CACHE_WORD) return encode_word(self, word, n, out, err);
    union {
        char bytes[32];
        uint64_t part[4];
    } key = {{0}};
    memcpy(key.bytes, word, n);
    uint64_t hash = n;
    for (int i = 0; i < 4; i++) {
        hash = (hash ^ key.part[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    cached_t *seen = &cache->at[hash * 0xD6E8FEB86659FD93u >> cache->shift];
    if (seen->n != n || memcmp(seen->word, key.bytes, CACHE_WORD) != 0) {
        size_t before = out->n;
        if (encode_word(self, word, n, out, err) < 0) return -1;
        size_t count = out->n - before;
        if (count > CACHE_TOKENS) return 0;
        memcpy(seen->word, key.bytes, CACHE_WORD);
        memcpy(seen->token, out->at + before, count * sizeof *seen->token);
        seen->n = (uint8_t)n;
        seen->n_tokens = (uint8_t)count;
        return 0;
    }
    VEC_RESERVE(out, out->n + CACHE_TOKENS);
    memcpy(out->at + out->n, seen->token, sizeof seen->token);
    out->n += seen->n_tokens;
    return 0;
}
