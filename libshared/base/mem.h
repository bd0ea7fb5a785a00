/* Allocation that cannot fail silently, and checked size arithmetic.
 *
 * mem_* abort with a message when the machine is out of memory: they are for bookkeeping whose
 * size we choose. Sizes that come from outside are first checked with size_mul / size_add and
 * against a stated limit, and reported as ERR_MEMORY. Thread-safe. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *mem_calloc(size_t n, size_t size);
void *mem_realloc(void *p, size_t n_bytes);
/* n bytes of zeros; of megabytes, in huge pages where the kernel has them to give: the first touch of a buffer as large as a
 * model costs a fault for each page. free() takes it back. */
void *mem_large(size_t n_bytes);
char *mem_strdup(const char *text);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void mem_fail(size_t n_bytes);

/* *out = a * b or a + b; false (out untouched) on overflow. */
bool size_mul(size_t a, size_t b, size_t *out);
bool size_add(size_t a, size_t b, size_t *out);
bool i64_mul(int64_t a, int64_t b, int64_t *out);

#endif
