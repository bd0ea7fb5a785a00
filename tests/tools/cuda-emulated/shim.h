/* CUDA's words for a compiler of C++: the very source of a kernel becomes a function of the host, which
 * driver.c calls for each thread of a block in turn. Threads of a block that wait for each other are
 * coroutines of driver.c. */
#ifndef CUDA_EMULATED_SHIM_H
#define CUDA_EMULATED_SHIM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

struct emulated_dim {
    unsigned x, y, z;
};

/* Shared with driver.c. wait: until all threads of the block are at this place. */
struct emulated {
    emulated_dim thread, block, block_size;
    void (*wait)(int place);
    unsigned long long slot[1024]; /* what threads of a warp give each other */
};

static emulated *emulated_now;

extern "C" void emulated_set(emulated *now)
{
    emulated_now = now;
}

#define threadIdx (emulated_now->thread)
#define blockIdx (emulated_now->block)
#define blockDim (emulated_now->block_size)
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(n)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __syncthreads() emulated_now->wait(__LINE__)
#define __shfl_xor_sync(mask, x, k) emulated_exchange(x, k, __LINE__)

template <class T> static T emulated_exchange(T x, int k, int place)
{
    const unsigned here = threadIdx.x;
    memcpy(&emulated_now->slot[here], &x, sizeof x);
    emulated_now->wait(-place);
    memcpy(&x, &emulated_now->slot[here ^ (unsigned)k], sizeof x);
    emulated_now->wait(-place);
    return x;
}

#endif
