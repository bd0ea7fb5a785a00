/* getrandom, whole. */
#include "base/random.h"

#include <errno.h>
#include <sodium.h>
#include <sys/random.h>

void random_fill(void *bytes, size_t n)
{
    uint8_t *at = bytes;
    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) { /* a kernel or a sandbox without the call: libsodium knows other ways */
            randombytes_buf(at, n);
            return;
        }
        at += got;
        n -= (size_t)got;
    }
}

uint64_t random_u64(void)
{
    uint64_t x = 0;
    while (x == 0) random_fill(&x, sizeof x);
    return x;
}

double random_uniform(void)
{
    return (double)(random_u64() >> 11) * 0x1p-53;
}

void random_hex(char *text, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        uint64_t x = random_u64();
        for (size_t k = i; k < n && k < i + 16; k++, x >>= 4) text[k] = "0123456789abcdef"[x & 15];
    }
    text[n] = '\0';
}
