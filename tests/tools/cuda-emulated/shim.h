/* CUDA's words for a compiler of C++: the very source of a kernel becomes a function of the host, which
 * driver.c calls for each thread of a block in turn. Threads of a block that wait for each other are
 * coroutines of driver.c. */
#ifndef CUDA_EMULATED_SHIM_H
#define CUDA_EMULATED_SHIM_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct emulated_dim {
    unsigned x, y, z;
};

#ifdef __GFX9__
enum { EMULATED_WARP = 64 };
#else
enum { EMULATED_WARP = 32 };
#endif

/* Shared with driver.c. wait: until all threads of the block are at this place, where it is negative all of the warp. */
struct emulated {
    emulated_dim thread, block, block_size;
    void (*wait)(int place);
    unsigned warp;
    unsigned long long slot[1024]; /* what threads of a warp give each other */
};

static emulated *emulated_now;

extern "C" void emulated_set(emulated *now)
{
    emulated_now = now;
    now->warp = EMULATED_WARP;
}

#ifndef HIP_EMULATED_SHIM_H /* whose sources have the words themselves */
#define threadIdx (emulated_now->thread)
#define blockIdx (emulated_now->block)
#define blockDim (emulated_now->block_size)
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __syncthreads() emulated_now->wait(__LINE__)
#define __syncwarp() emulated_now->wait(-__LINE__)
#define __ballot_sync(mask, x) ((unsigned)emulated_votes(x, __LINE__))
#define __popc(x) __builtin_popcount(x)
#define __shfl_xor_sync(mask, value, k) emulated_from(threadIdx.x ^ (unsigned)(k), value, __LINE__)
#endif

/* The x of another thread of the block. */
template <class T> static T emulated_from(unsigned there, T x, int place)
{
    memcpy(&emulated_now->slot[emulated_now->thread.x], &x, sizeof x);
    emulated_now->wait(-place);
    memcpy(&x, &emulated_now->slot[there], sizeof x);
    emulated_now->wait(-place);
    return x;
}

/* A bit for each thread of the warp, of which all take part: its x. */
static inline unsigned long long emulated_votes(bool x, int place)
{
    const unsigned here = emulated_now->thread.x, first = here / EMULATED_WARP * EMULATED_WARP;
    unsigned long long votes = 0;
    emulated_now->slot[here] = x;
    emulated_now->wait(-place);
    for (unsigned i = 0; i < EMULATED_WARP; i++) votes |= emulated_now->slot[first + i] << i;
    emulated_now->wait(-place);
    return votes;
}

static inline float emulated_bf16(uint32_t pair, int half)
{
    const uint32_t bits = half ? pair & 0xFFFF0000u : pair << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#ifndef HIP_EMULATED_SHIM_H
/* The tensor cores' product, by the layout that NVIDIA states (prelude_cuda.cuh): what each thread holds of a and b is laid
 * open, and each takes what its elements of d need. */
static uint32_t emulated_a[1024][4], emulated_b[1024][2];

static inline void emulated_mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    const unsigned here = threadIdx.x, warp = here / 32 * 32, g = here % 32 / 4, t = here % 4;
    memcpy(emulated_a[here], a, sizeof a);
    memcpy(emulated_b[here], b, sizeof b);
    emulated_now->wait(-__LINE__);
    for (unsigned e = 0; e < 4; e++) {
        const unsigned row = g + e / 2 * 8, col = 2 * t + e % 2;
        for (unsigned k = 0; k < 16; k++)
            d[e] += emulated_bf16(emulated_a[warp + row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2],
                                  k % 2) *
                    emulated_bf16(emulated_b[warp + col * 4 + k % 8 / 2][k / 8], k % 2);
    }
    emulated_now->wait(-__LINE__);
}

/* ldmatrix of four squares of 8 x 8: thread 8 i + r points at row r of square i. */
static inline void emulated_load_square(uint32_t &a, uint32_t &b, uint32_t &c, uint32_t &d,
                                        const uint16_t *at, bool turned)
{
    const unsigned here = threadIdx.x, warp = here / 32 * 32, g = here % 32 / 4, t = here % 4;
    uint32_t *const to[4] = {&a, &b, &c, &d};
    emulated_now->slot[here] = (uintptr_t)at;
    emulated_now->wait(-__LINE__);
    for (unsigned i = 0; i < 4; i++) {
        uint32_t pair[2];
        for (unsigned h = 0; h < 2; h++) {
            const unsigned row = turned ? 2 * t + h : g, col = turned ? g : 2 * t + h;
            pair[h] = ((const uint16_t *)(uintptr_t)emulated_now->slot[warp + 8 * i + row])[col];
        }
        *to[i] = pair[0] | pair[1] << 16;
    }
    emulated_now->wait(-__LINE__);
}

/* Asynchronous copies. They arrive when they are awaited and no sooner; until then there are not even the old numbers where
 * they go. What hardware would refuse ends the test. */
struct float2 {
    float x, y;
};

enum { EMULATED_COPIES = 256 };

static struct {
    struct {
        uint16_t *to;
        const uint16_t *from;
        unsigned group;
    } copy[EMULATED_COPIES];
    unsigned first, next, group; /* of copies under way; the group that is not ended */
} emulated_flight[1024];

static inline void emulated_copy_start(uint16_t *to, const uint16_t *from, bool is_there)
{
    auto &f = emulated_flight[threadIdx.x];
    if ((uintptr_t)to % 16 || (is_there && (uintptr_t)from % 16) ||
        f.next - f.first == EMULATED_COPIES)
        abort();
    memset(to, 0xFF, 16);
    f.copy[f.next++ % EMULATED_COPIES] = {to, is_there ? from : nullptr, f.group};
}

static inline void emulated_copy_end()
{
    emulated_flight[threadIdx.x].group++;
}

template <unsigned N> static inline void emulated_copy_wait()
{
    static const uint16_t zeros[8] = {0};
    auto &f = emulated_flight[threadIdx.x];
    for (; f.first != f.next; f.first++) {
        const auto &c = f.copy[f.first % EMULATED_COPIES];
        if ((int)(f.group - N - c.group) <= 0) break;
        memcpy(c.to, c.from ? c.from : zeros, 16);
    }
}

/* Blocks run one after another: whose turn it is has come, or never comes. */
static inline void emulated_await_turn(const unsigned *turn, unsigned mine)
{
    if (*turn != mine) abort();
}
#endif

#endif
