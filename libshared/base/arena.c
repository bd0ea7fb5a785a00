/* Bump allocator over a list of blocks; large requests get a block of their own. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { BLOCK_BYTES = 64 << 10, ALIGNMENT = 16 };

typedef struct block {
    struct block *next;
    size_t used, size;
    max_align_t data[];
} block_t;

struct arena {
    block_t *head;
    size_t used;
};

arena_t *arena_new(void)
{
    return mem_calloc(1, sizeof(arena_t));
}

void arena_destroy(arena_t **self_p)
{
    if (!self_p || !*self_p) return;
    for (block_t *b = (*self_p)->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(*self_p);
    *self_p = NULL;
}

static block_t *block_new(size_t n_bytes)
{
    size_t size = n_bytes > BLOCK_BYTES ? n_bytes : BLOCK_BYTES;
    block_t *b = mem_calloc(1, sizeof *b + size);
    b->size = size;
    return b;
}

void *arena_alloc(arena_t *self, size_t n_bytes)
{
    if (n_bytes > SIZE_MAX / 2) mem_fail(n_bytes);
    n_bytes = (n_bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    block_t *b = self->head;
    if (!b || b->size - b->used < n_bytes) {
        b = block_new(n_bytes);
        /* An oversized block goes behind the head, so that the head's free space stays in use. */
        if (self->head && n_bytes > BLOCK_BYTES / 2) {
            b->next = self->head->next;
            self->head->next = b;
        } else {
            b->next = self->head;
            self->head = b;
        }
    }
    void *p = (char *)b->data + b->used;
    b->used += n_bytes;
    self->used += n_bytes;
    return p;
}

void *arena_copy(arena_t *self, const void *bytes, size_t n_bytes)
{
    void *p = arena_alloc(self, n_bytes ? n_bytes : 1);
    if (n_bytes) memcpy(p, bytes, n_bytes);
    return p;
}

char *arena_strdup(arena_t *self, const char *text)
{
    return arena_copy(self, text, strlen(text) + 1);
}

char *arena_strndup(arena_t *self, const char *text, size_t n)
{
    char *p = arena_alloc(self, n + 1);
    memcpy(p, text, n);
    return p;
}

char *arena_printf(arena_t *self, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *p = arena_alloc(self, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return p;
}

size_t arena_used(const arena_t *self)
{
    return self->used;
}
