/* Open addressing with linear probing, at most half full. A key that goes closes its gap at once (Knuth,
 * "The Art of Computer Programming", volume 3, section 6.4, algorithm R), so that no search gets longer. */
#include "base/index.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"

typedef struct {
    const void *key; /* NULL: free */
    size_t n_bytes;
    uint64_t hash;
    int number;
} slot_t;

struct index {
    arena_t *arena;
    slot_t *slot;
    size_t n_slot, n_used; /* n_slot is a power of two */
    size_t n_gone;         /* keys that still lie in the arena */
};

index_t *index_new(void)
{
    index_t *self = mem_calloc(1, sizeof *self);
    self->arena = arena_new();
    self->n_slot = 64;
    self->slot = mem_calloc(self->n_slot, sizeof *self->slot);
    return self;
}

void index_destroy(index_t **self_p)
{
    index_t *self = *self_p;
    if (!self) return;
    arena_destroy(&self->arena);
    free(self->slot);
    free(self);
    *self_p = NULL;
}

/* Where the key is, or belongs. */
static slot_t *find(const index_t *self, const void *key, size_t n_bytes, uint64_t hash)
{
    size_t at = hash & (self->n_slot - 1);
    for (;; at = (at + 1) & (self->n_slot - 1)) {
        slot_t *slot = &self->slot[at];
        bool same = slot->key && slot->hash == hash && slot->n_bytes == n_bytes &&
                    memcmp(slot->key, key, n_bytes) == 0;
        if (!slot->key || same) return slot;
    }
}

int index_find(const index_t *self, const void *key, size_t n_bytes)
{
    const slot_t *slot = find(self, key, n_bytes, hash_fast(key, n_bytes));
    return slot->key ? slot->number : -1;
}

static void grow(index_t *self)
{
    slot_t *old = self->slot;
    size_t n = self->n_slot;
    self->n_slot *= 2;
    self->slot = mem_calloc(self->n_slot, sizeof *self->slot);
    for (size_t i = 0; i < n; i++)
        if (old[i].key) *find(self, old[i].key, old[i].n_bytes, old[i].hash) = old[i];
    free(old);
}

/* Keys that are left, into an arena of their own: what comes and goes for ever takes no more memory. */
static void sweep(index_t *self)
{
    arena_t *old = self->arena;
    self->arena = arena_new();
    for (size_t i = 0; i < self->n_slot; i++) {
        slot_t *slot = &self->slot[i];
        if (!slot->key) continue;
        char *copy = arena_alloc(self->arena, slot->n_bytes + 1);
        if (slot->n_bytes > 0) memcpy(copy, slot->key, slot->n_bytes);
        slot->key = copy;
    }
    self->n_gone = 0;
    arena_destroy(&old);
}

void index_remove(index_t *self, const void *key, size_t n_bytes)
{
    enum { MANY = 64 };
    size_t mask = self->n_slot - 1;
    slot_t *slot = find(self, key, n_bytes, hash_fast(key, n_bytes));
    if (!slot->key) return;
    size_t gap = (size_t)(slot - self->slot);
    for (size_t at = (gap + 1) & mask; self->slot[at].key; at = (at + 1) & mask) {
        size_t wanted = self->slot[at].hash & mask; /* where the search for it begins */
        if (((at - wanted) & mask) < ((at - gap) & mask)) continue;
        self->slot[gap] = self->slot[at];
        gap = at;
    }
    self->slot[gap] = (slot_t){0};
    self->n_used--;
    if (++self->n_gone > self->n_used + MANY) sweep(self);
}

void index_add(index_t *self, const void *key, size_t n_bytes, int number)
{
    if (2 * ++self->n_used > self->n_slot) grow(self);
    uint64_t hash = hash_fast(key, n_bytes);
    char *copy = arena_alloc(self->arena, n_bytes + 1);
    if (n_bytes > 0) memcpy(copy, key, n_bytes);
    *find(self, key, n_bytes, hash) = (slot_t){copy, n_bytes, hash, number};
}
