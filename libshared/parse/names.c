/* Scoped names: entries in order of definition, chained per bucket from the newest, so that ending
 * a scope pops entries. */
#include "parse/names.h"

#include <string.h>

static uint32_t hash_of(const char *at, size_t n)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)at[i]) * 16777619u;
    return h;
}

void names_clear(names_t *self)
{
    self->entry.n = 0;
    for (int i = 0; i < NAMES_BUCKETS; i++) self->bucket[i] = -1;
}

void names_fini(names_t *self)
{
    VEC_FREE(&self->entry);
}

void names_end(names_t *self, size_t scope)
{
    while (self->entry.n > scope) {
        const name_t *last = &self->entry.at[--self->entry.n];
        self->bucket[last->hash % NAMES_BUCKETS] = last->older;
    }
}

const name_t *names_find(const names_t *self, const char *at, size_t n)
{
    uint32_t hash = hash_of(at, n);
    for (int i = self->bucket[hash % NAMES_BUCKETS]; i >= 0; i = self->entry.at[i].older) {
        const name_t *e = &self->entry.at[i];
        if (e->hash == hash && e->n == n && memcmp(e->at, at, n) == 0) return e;
    }
    return NULL;
}

void names_add(names_t *self, const char *at, size_t n, ir_val_t value, int count)
{
    uint32_t hash = hash_of(at, n);
    int *head = &self->bucket[hash % NAMES_BUCKETS];
    name_t entry = {at, n, hash, *head, value, count};
    *head = (int)self->entry.n;
    VEC_PUSH(&self->entry, entry);
}
