/* A worker that lies, for tests of audits: loaded before libzmq, it changes pseudo-gradients on their way to the
 * shards. Each second half of a chunk's values gets the other sign: of the usual norm, finite, with the right check,
 * and of no use. PCP_LIAR_FROM (default 0): it is honest in the rounds before.
 *
 *     cc -shared -fPIC -o liar.so liar.c -ldl -lxxhash; LD_PRELOAD=liar.so pcp-worker ... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zmq.h>

enum { HEADER_BYTES = 128, TYPE_AT = 5, ROUND_AT = 20, CHECK_AT = 64, PUT_DELTA = 4 };

static _Thread_local uint8_t header[HEADER_BYTES]; /* waits for its payload */
static _Thread_local bool waits;

static bool is_delta(const void *bytes, size_t n, int flags)
{
    uint32_t round;
    if (n != HEADER_BYTES || !(flags & ZMQ_SNDMORE) || memcmp(bytes, "PCPD", 4) != 0 ||
        ((const uint8_t *)bytes)[TYPE_AT] != PUT_DELTA)
        return false;
    memcpy(&round, (const uint8_t *)bytes + ROUND_AT, sizeof round);
    const char *from = getenv("PCP_LIAR_FROM");
    return round >= (from ? strtoul(from, NULL, 10) : 0);
}

int zmq_send(void *socket, const void *bytes, size_t n, int flags)
{
    static int (*next)(void *, const void *, size_t, int);
    if (!next) next = (int (*)(void *, const void *, size_t, int))dlsym(RTLD_NEXT, "zmq_send");
    if (!is_delta(bytes, n, flags)) return next(socket, bytes, n, flags);
    memcpy(header, bytes, n);
    waits = true;
    return (int)n;
}

int zmq_msg_send(zmq_msg_t *message, void *socket, int flags)
{
    static int (*next)(zmq_msg_t *, void *, int);
    static int (*send)(void *, const void *, size_t, int);
    if (!next) next = (int (*)(zmq_msg_t *, void *, int))dlsym(RTLD_NEXT, "zmq_msg_send");
    if (!send) send = (int (*)(void *, const void *, size_t, int))dlsym(RTLD_NEXT, "zmq_send");
    if (!waits) return next(message, socket, flags);
    size_t n = zmq_msg_size(message);
    zmq_msg_t lie; /* the payload itself is the worker's memory */
    zmq_msg_init_size(&lie, n);
    uint8_t *at = zmq_msg_data(&lie);
    memcpy(at, zmq_msg_data(message), n);
    for (size_t i = n / 2 | 3; i < n; i += 4) at[i] ^= 0x80;
    uint64_t check = XXH3_64bits(at, n);
    memcpy(header + CHECK_AT, &check, sizeof check);
    waits = false;
    if (send(socket, header, sizeof header, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
        zmq_msg_close(&lie);
        return -1;
    }
    zmq_msg_close(message);
    return next(&lie, socket, flags);
}
