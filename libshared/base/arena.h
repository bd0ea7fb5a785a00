/* Bump allocator: many small objects with one lifetime, freed at once.
 *
 * Allocation never returns NULL: running out of memory for bookkeeping aborts (sizes that come
 * from outside are checked before they get here). One thread at a time. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

typedef struct arena arena_t;

arena_t *arena_new(void);
void arena_destroy(arena_t **self_p);

/* n_bytes of zeroed memory, 16-byte aligned, valid until the arena is destroyed. */
void *arena_alloc(arena_t *self, size_t n_bytes);

/* Copies that live as long as the arena. */
void *arena_copy(arena_t *self, const void *bytes, size_t n_bytes);
char *arena_strdup(arena_t *self, const char *text);
char *arena_strndup(arena_t *self, const char *text, size_t n);
char *arena_printf(arena_t *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Bytes handed out so far. */
size_t arena_used(const arena_t *self);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, n) ((type *)arena_alloc((arena), sizeof(type) * (size_t)(n)))

#endif
