/* The bound on memory: between alloc_bound_begin and alloc_bound_end, what is allocated and not yet
 * freed may at no time exceed a multiple of the input plus a constant. Counted by the sanitizers'
 * allocator hooks (libFuzzer, MODE=asan); without them nothing is counted. One thread.
 * FUZZ_REPORT in the environment: how near the bound the nearest input came, at exit. */
#ifndef TESTS_ALLOC_BOUND_H
#define TESTS_ALLOC_BOUND_H

#include "fuzz.h"

int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *))
    __attribute__((weak));
size_t __sanitizer_get_allocated_size(const volatile void *p) __attribute__((weak));

static struct {
    const char *what; /* NULL: not counting */
    int64_t live_bytes, peak_bytes, limit_bytes;
    const char *worst_what;
    int64_t worst_peak_bytes, worst_limit_bytes; /* of the input nearest to its limit */
} alloc_bound;

static void alloc_bound_on_malloc(const volatile void *p, size_t n)
{
    (void)p;
    if (!alloc_bound.what) return;
    alloc_bound.live_bytes += (int64_t)n;
    if (alloc_bound.live_bytes > alloc_bound.peak_bytes)
        alloc_bound.peak_bytes = alloc_bound.live_bytes;
    if (alloc_bound.live_bytes <= alloc_bound.limit_bytes) return;
    char detail[128];
    snprintf(detail, sizeof detail, "%s: %lld bytes in use, the bound is %lld", alloc_bound.what,
             (long long)alloc_bound.live_bytes, (long long)alloc_bound.limit_bytes);
    alloc_bound.what = NULL;
    broken("memory stays within its multiple of the input", detail);
}

static void alloc_bound_on_free(const volatile void *p)
{
    if (alloc_bound.what && p) alloc_bound.live_bytes -= (int64_t)__sanitizer_get_allocated_size(p);
}

static void alloc_bound_report(void)
{
    if (alloc_bound.worst_what)
        fprintf(stderr, "memory: nearest to its bound: %s, %lld of %lld bytes\n",
                alloc_bound.worst_what, (long long)alloc_bound.worst_peak_bytes,
                (long long)alloc_bound.worst_limit_bytes);
}

/* From here on at most multiple * n_input + constant bytes; `what` names the stage. */
static inline void alloc_bound_begin(const char *what, int64_t multiple, size_t n_input,
                                     int64_t constant)
{
    static bool installed;
    if (!installed && __sanitizer_install_malloc_and_free_hooks)
        __sanitizer_install_malloc_and_free_hooks(alloc_bound_on_malloc, alloc_bound_on_free);
    if (!installed && getenv("FUZZ_REPORT")) atexit(alloc_bound_report);
    installed = true;
    alloc_bound.live_bytes = alloc_bound.peak_bytes = 0;
    alloc_bound.limit_bytes = multiple * (int64_t)n_input + constant;
    alloc_bound.what = what;
}

static inline void alloc_bound_end(void)
{
    double now = (double)alloc_bound.peak_bytes / (double)alloc_bound.limit_bytes;
    if (now * (double)alloc_bound.worst_limit_bytes >= (double)alloc_bound.worst_peak_bytes) {
        alloc_bound.worst_what = alloc_bound.what;
        alloc_bound.worst_peak_bytes = alloc_bound.peak_bytes;
        alloc_bound.worst_limit_bytes = alloc_bound.limit_bytes;
    }
    alloc_bound.what = NULL;
}

#endif
