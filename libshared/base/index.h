/* Numbers by key: what is looked up by name or by bytes, in constant time each. One thread at a
 * time. */
#ifndef BASE_INDEX_H
#define BASE_INDEX_H

#include <stddef.h>

typedef struct index index_t;

index_t *index_new(void);
void index_destroy(index_t **self_p);

/* The number that was added with the key; -1: none. */
int index_find(const index_t *self, const void *key, size_t n_bytes);

/* Add a key that is not there yet, with a number of 0 or more; the key is copied. */
void index_add(index_t *self, const void *key, size_t n_bytes, int number);

/* Remove a key; nothing happens where it is not there. */
void index_remove(index_t *self, const void *key, size_t n_bytes);

#endif
