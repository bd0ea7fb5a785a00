/* For ThreadSanitizer: memory goes from one thread to another through something it cannot see into
 * (a ZeroMQ pipe, the end of a zactor). The giver says hand_over(p) before, the taker take_over(p)
 * after; both return p. Without the sanitizer they do nothing. */
#ifndef BASE_HAND_OVER_H
#define BASE_HAND_OVER_H

#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *p);
void __tsan_release(void *p);
#endif

static inline void *hand_over(const void *p)
{
#ifdef __SANITIZE_THREAD__
    __tsan_release((void *)p);
#endif
    return (void *)p;
}

static inline void *take_over(const void *p)
{
#ifdef __SANITIZE_THREAD__
    __tsan_acquire((void *)p);
#endif
    return (void *)p;
}

#endif
