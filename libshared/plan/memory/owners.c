/* A segment tree over the ends of spans: a node has an owner when all its bytes have the same. */
#include "plan/memory/owners.h"

#include <stdlib.h>

#include "base/mem.h"

struct owners {
    uint64_t *point; /* sorted, each once */
    size_t n_leaf;   /* a power of two: leaf i is [point[i], point[i + 1]) */
    size_t n_point;
    int64_t *who; /* by node: 1 is the root, 2 i and 2 i + 1 are below i */
};

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

owners_t *owners_new(const span_bytes_t *spans, size_t n)
{
    owners_t *self = mem_calloc(1, sizeof *self);
    self->point = mem_calloc(2 * n + 1, sizeof *self->point);
    for (size_t i = 0; i < n; i++) {
        self->point[2 * i] = spans[i].begin;
        self->point[2 * i + 1] = spans[i].end;
    }
    qsort(self->point, 2 * n, sizeof *self->point, by_value);
    for (size_t i = 0; i < 2 * n; i++)
        if (i == 0 || self->point[i] != self->point[i - 1])
            self->point[self->n_point++] = self->point[i];
    self->n_leaf = 1;
    while (self->n_leaf < self->n_point) self->n_leaf *= 2;
    self->who = mem_calloc(2 * self->n_leaf, sizeof *self->who);
    for (size_t i = 0; i < 2 * self->n_leaf; i++) self->who[i] = OWNER_NOBODY;
    return self;
}

void owners_destroy(owners_t **self_p)
{
    owners_t *self = *self_p;
    if (!self) return;
    free(self->point);
    free(self->who);
    free(self);
    *self_p = NULL;
}

/* The number of the end `at`. */
static size_t find(const owners_t *self, uint64_t at)
{
    size_t lo = 0, hi = self->n_point;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (self->point[mid] < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* A walk from the root to the leaves [from, to). */
typedef struct {
    size_t from, to;
    int64_t who, found;
} walk_t;

static void set(owners_t *self, const walk_t *w, size_t node, size_t lo, size_t hi)
{
    if (w->to <= lo || hi <= w->from) return;
    if (w->from <= lo && hi <= w->to) {
        self->who[node] = w->who;
        return;
    }
    size_t mid = (lo + hi) / 2;
    if (self->who[node] != OWNER_SEVERAL)
        self->who[2 * node] = self->who[2 * node + 1] = self->who[node];
    set(self, w, 2 * node, lo, mid);
    set(self, w, 2 * node + 1, mid, hi);
    int64_t a = self->who[2 * node], b = self->who[2 * node + 1];
    self->who[node] = a == b ? a : OWNER_SEVERAL;
}

/* Nodes of one owner in the walk: the first that is not w->who is found. */
static bool look(const owners_t *self, walk_t *w, size_t node, size_t lo, size_t hi)
{
    if (w->to <= lo || hi <= w->from) return false;
    if (self->who[node] != OWNER_SEVERAL) {
        w->found = self->who[node];
        return w->found != w->who;
    }
    size_t mid = (lo + hi) / 2;
    return look(self, w, 2 * node, lo, mid) || look(self, w, 2 * node + 1, mid, hi);
}

void owners_set(owners_t *self, span_bytes_t span, int64_t who)
{
    walk_t w = {find(self, span.begin), find(self, span.end), who, who};
    if (w.from < w.to) set(self, &w, 1, 0, self->n_leaf);
}

int64_t owners_other(const owners_t *self, span_bytes_t span, int64_t who)
{
    walk_t w = {find(self, span.begin), find(self, span.end), who, who};
    if (w.from < w.to) look(self, &w, 1, 0, self->n_leaf);
    return w.found;
}
