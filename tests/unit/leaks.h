/* Leaks with devices in the process. */
#ifndef TESTS_LEAKS_H
#define TESTS_LEAKS_H

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

/* Leaks are looked for now and not at the end: drivers keep memory of their own, and are gone by then,
 * so that nobody can tell that it is theirs. To be called before the first driver is loaded. */
static inline void leaks_look_now(void)
{
#ifdef __SANITIZE_ADDRESS__
    __lsan_do_leak_check();
#endif
}

#endif
