/* What clang for amdgcn has built in, for a compiler of C++ and driver.c: HIP's words themselves are in the sources
 * (prelude_hip.cuh). */
#ifndef HIP_EMULATED_SHIM_H
#define HIP_EMULATED_SHIM_H

#include "shim.h"

#define __builtin_amdgcn_workitem_id_x() (emulated_now->thread.x)
#define __builtin_amdgcn_workgroup_id_x() (emulated_now->block.x)
#define __builtin_amdgcn_workgroup_size_x() (emulated_now->block_size.x)
#define __builtin_amdgcn_fence(order, scope) ((void)0)
#define __builtin_amdgcn_s_barrier() emulated_now->wait(__LINE__)
#define __builtin_amdgcn_wave_barrier() emulated_now->wait(-__LINE__)
#define __builtin_amdgcn_ballot_w32(x) emulated_votes(x, __LINE__)
#define __builtin_amdgcn_ballot_w64(x) emulated_votes(x, __LINE__)
#define __builtin_amdgcn_ds_bpermute(at, x) emulated_permute(at, x, __LINE__)
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k emulated_mfma

/* The instruction's lane is a byte's number in a register, modulo the wavefront's. */
static int emulated_permute(int at, int x, int place)
{
    const unsigned here = emulated_now->thread.x, first = here / EMULATED_WARP * EMULATED_WARP;
    return emulated_from(first + ((unsigned)at >> 2) % EMULATED_WARP, x, place);
}

/* By the layout that AMD states (prelude_hip.cuh). */
typedef short emulated_four_bf16 __attribute__((vector_size(8)));
typedef float emulated_four_f32 __attribute__((vector_size(16)));
static emulated_four_bf16 emulated_left[1024], emulated_right[1024];

static emulated_four_f32 emulated_mfma(emulated_four_bf16 a, emulated_four_bf16 b,
                                       emulated_four_f32 d, int, int, int)
{
    const unsigned here = emulated_now->thread.x, wave = here / 64 * 64, col = here % 16;
    emulated_left[here] = a;
    emulated_right[here] = b;
    emulated_now->wait(-__LINE__);
    for (unsigned e = 0; e < 4; e++) {
        const unsigned row = here % 64 / 16 * 4 + e;
        for (unsigned k = 0; k < 16; k++)
            d[e] += emulated_bf16((uint16_t)emulated_left[wave + k / 4 * 16 + row][k % 4], 0) *
                    emulated_bf16((uint16_t)emulated_right[wave + k / 4 * 16 + col][k % 4], 0);
    }
    emulated_now->wait(-__LINE__);
    return d;
}

static inline double emulated_frexp_exp(double x)
{
    int at;
    frexp(x, &at);
    return at;
}
#define __builtin_amdgcn_frexp_exp(x) emulated_frexp_exp(x)

#define EMULATED_1(name)                                   \
    extern "C" inline double __ocml_##name##_f64(double x) \
    {                                                      \
        return name(x);                                    \
    }
#define EMULATED_2(name, T, t, f)                     \
    extern "C" inline T __ocml_##name##_##t(T x, T y) \
    {                                                 \
        return name##f(x, y);                         \
    }
EMULATED_1(exp)
EMULATED_1(expm1)
EMULATED_1(log)
EMULATED_1(log1p)
EMULATED_1(tanh)
EMULATED_1(erf)
EMULATED_1(erfc)
EMULATED_1(sin)
EMULATED_1(cos)
EMULATED_1(tan)
EMULATED_1(cbrt)
EMULATED_1(atan)
EMULATED_1(asin)
EMULATED_1(acos)
EMULATED_1(asinh)
EMULATED_1(acosh)
EMULATED_1(atanh)
EMULATED_1(sinh)
EMULATED_1(cosh)
EMULATED_1(lgamma)
EMULATED_2(pow, double, f64, )
EMULATED_2(atan2, double, f64, )
EMULATED_2(fmod, double, f64, )
EMULATED_2(fmod, float, f32, f)
EMULATED_2(nextafter, double, f64, )
EMULATED_2(nextafter, float, f32, f)

#endif
