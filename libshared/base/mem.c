/* Allocation that aborts loudly, and checked size arithmetic. */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

_Noreturn void mem_fail(size_t n_bytes)
{
    fprintf(stderr, "pcp: out of memory (wanted %zu bytes)\n", n_bytes);
    abort();
}

void *mem_calloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p) mem_fail(n * size);
    return p;
}

void *mem_realloc(void *p, size_t n_bytes)
{
    void *q = realloc(p, n_bytes ? n_bytes : 1);
    if (!q) mem_fail(n_bytes);
    return q;
}

void *mem_large(size_t n_bytes)
{
    enum { HUGE = 2 << 20 };
    uint8_t *p = mem_calloc(n_bytes, 1);
    uintptr_t begin = ((uintptr_t)p + HUGE - 1) & ~(uintptr_t)(HUGE - 1);
    uintptr_t end = ((uintptr_t)p + n_bytes) & ~(uintptr_t)(HUGE - 1);
    /* A wish: where it is not heard, pages are small. */
    if (end > begin) (void)madvise(p + (begin - (uintptr_t)p), end - begin, MADV_HUGEPAGE);
    return p;
}

char *mem_strdup(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(mem_calloc(n, 1), text, n);
}

char *mem_printf(const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *p = mem_calloc((size_t)n + 1, 1);
    vsnprintf(p, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return p;
}

bool size_mul(size_t a, size_t b, size_t *out)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) return false;
    *out = product;
    return true;
}

bool size_add(size_t a, size_t b, size_t *out)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return false;
    *out = sum;
    return true;
}

bool i64_mul(int64_t a, int64_t b, int64_t *out)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product)) return false;
    *out = product;
    return true;
}
