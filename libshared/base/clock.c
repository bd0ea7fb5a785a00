/* Clocks of the operating system. */
#include "base/clock.h"

#include <time.h>

static struct timespec now(clockid_t which)
{
    struct timespec t = {0};
    clock_gettime(which, &t); /* cannot fail for these two clocks */
    return t;
}

int64_t clock_mono_ms(void)
{
    struct timespec t = now(CLOCK_MONOTONIC);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

double clock_mono_s(void)
{
    struct timespec t = now(CLOCK_MONOTONIC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int64_t clock_wall_ms(void)
{
    struct timespec t = now(CLOCK_REALTIME);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

double clock_thread_s(void)
{
    struct timespec t = now(CLOCK_THREAD_CPUTIME_ID);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
