/* The SSA names that are visible: a hash table with scopes. Names are ranges of the source text. */
#ifndef PARSE_NAMES_H
#define PARSE_NAMES_H

#include "base/vec.h"
#include "ir/ir.h"

typedef struct {
    const char *at; /* without % */
    size_t n;
    uint32_t hash;
    int older;      /* the entry before it in its bucket; -1: none */
    ir_val_t value; /* the first value of a group */
    int count;      /* how many values: %a:2 has two */
} name_t;

enum { NAMES_BUCKETS = 4096 };

typedef struct {
    VEC(name_t) entry;
    int bucket[NAMES_BUCKETS]; /* the newest entry; -1: none */
} names_t;

/* Forget every name. */
void names_clear(names_t *self);
void names_fini(names_t *self);

/* A scope is the number of names there were when it began. */
static inline size_t names_begin(const names_t *self)
{
    return self->entry.n;
}
void names_end(names_t *self, size_t scope);

const name_t *names_find(const names_t *self, const char *at, size_t n); /* NULL if absent */
void names_add(names_t *self, const char *at, size_t n, ir_val_t value, int count);

#endif
