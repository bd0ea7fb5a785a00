/* A trie over bytes; its edges in one hash table. */
#include "text/added.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "base/vec.h"

typedef struct {
    uint64_t key; /* node << 8 | byte, plus 1; 0: free */
    uint32_t to;
} edge_t;

typedef struct {
    int token; /* index into `tokens`; -1: no token ends here */
} node_t;

struct added {
    VEC(node_t) nodes;
    VEC(added_token_t) tokens;
    edge_t *edge;
    size_t n_edge, mask;
    size_t longest;
    bool begins[256];
};

added_t *added_new(void)
{
    added_t *self = mem_calloc(1, sizeof *self);
    node_t root = {-1};
    VEC_PUSH(&self->nodes, root);
    self->mask = 255;
    self->edge = mem_calloc(self->mask + 1, sizeof *self->edge);
    return self;
}

void added_destroy(added_t **self_p)
{
    added_t *self = *self_p;
    if (!self) return;
    VEC_FREE(&self->nodes);
    VEC_FREE(&self->tokens);
    free(self->edge);
    free(self);
    *self_p = NULL;
}

static edge_t *find_edge(const added_t *self, uint64_t key)
{
    size_t at = (key * 0x9E3779B97F4A7C15u >> 32) & self->mask;
    while (self->edge[at].key != 0 && self->edge[at].key != key) at = (at + 1) & self->mask;
    return &self->edge[at];
}

static void grow(added_t *self)
{
    edge_t *old = self->edge;
    size_t n = self->mask + 1;
    self->mask = 2 * n - 1;
    self->edge = mem_calloc(2 * n, sizeof *self->edge);
    for (size_t i = 0; i < n; i++)
        if (old[i].key != 0) *find_edge(self, old[i].key) = old[i];
    free(old);
}

static uint64_t edge_key(uint32_t node, char byte)
{
    return ((uint64_t)node << 8 | (uint8_t)byte) + 1;
}

static uint32_t child(added_t *self, uint32_t node, char byte)
{
    uint64_t key = edge_key(node, byte);
    edge_t *edge = find_edge(self, key);
    if (edge->key != 0) return edge->to;
    node_t fresh = {-1};
    *edge = (edge_t){key, (uint32_t)self->nodes.n};
    VEC_PUSH(&self->nodes, fresh);
    if (2 * ++self->n_edge > self->mask) grow(self);
    return (uint32_t)self->nodes.n - 1;
}

int added_add(added_t *self, const char *text, size_t n, added_token_t token, err_t *err)
{
    if (n == 0) return err_set(err, ERR_PARSE, "the added token %u is empty", token.token);
    if (n > ADDED_MAX_BYTES || self->nodes.n + n > ADDED_MAX_ALL_BYTES)
        return err_set(err, ERR_PARSE,
                       "the added token %u has %zu bytes: at most %d, and %d in all of them",
                       token.token, n, ADDED_MAX_BYTES, ADDED_MAX_ALL_BYTES);
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) node = child(self, node, text[i]);
    self->nodes.at[node].token = (int)self->tokens.n;
    VEC_PUSH(&self->tokens, token);
    self->begins[(uint8_t)text[0]] = true;
    if (n > self->longest) self->longest = n;
    return 0;
}

/* The longest token that text[0, n) begins with; -1: none. */
static int longest_at(const added_t *self, const char *text, size_t n, size_t *length)
{
    int found = -1;
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) {
        const edge_t *edge = find_edge(self, edge_key(node, text[i]));
        if (edge->key == 0) break;
        node = edge->to;
        if (self->nodes.at[node].token >= 0) {
            found = self->nodes.at[node].token;
            *length = i + 1;
        }
    }
    return found;
}

/* \w and \s of Oniguruma. */
static bool is_word(unsigned code)
{
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    return (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_ND) || c == UTF8PROC_CATEGORY_PC;
}

static bool is_space(unsigned code)
{
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    return (code >= 9 && code <= 13) || code == 0x85 || c == UTF8PROC_CATEGORY_ZS ||
           c == UTF8PROC_CATEGORY_ZL || c == UTF8PROC_CATEGORY_ZP;
}

/* Where the character before text[at] begins. */
static size_t step_back(const char *text, size_t at)
{
    do at--;
    while (at > 0 && ((uint8_t)text[at] & 0xC0) == 0x80);
    return at;
}

static bool word_before(const char *text, size_t at)
{
    unsigned code = 0;
    if (at == 0) return false;
    size_t begin = step_back(text, at);
    return utf8_next(text + begin, at - begin, &code) && is_word(code);
}

static bool word_behind(const char *text, size_t n, size_t at)
{
    unsigned code = 0;
    return utf8_next(text + at, n - at, &code) && is_word(code);
}

bool added_find(const added_t *self, const char *text, size_t n, size_t from, size_t *begin,
                size_t *end, uint32_t *token)
{
    for (size_t at = from; at < n; at++) {
        size_t length = 0;
        if (!self->begins[(uint8_t)text[at]]) continue;
        int found = longest_at(self, text + at, n - at, &length);
        if (found < 0) continue;
        const added_token_t *t = &self->tokens.at[found];
        *begin = at;
        *end = at + length;
        if (t->single_word && (word_before(text, *begin) || word_behind(text, n, *end))) {
            at = *end - 1; /* the match is used up, as in Hugging Face's own search */
            continue;
        }
        unsigned code = 0;
        while (t->lstrip && *begin > from) {
            size_t back = step_back(text, *begin);
            if (!utf8_next(text + back, n - back, &code) || !is_space(code)) break;
            *begin = back;
        }
        for (size_t more; t->rstrip && (more = utf8_next(text + *end, n - *end, &code));)
            if (is_space(code))
                *end += more;
            else
                break;
        *token = t->token;
        return true;
    }
    return false;
}
