// What is HIP's own in a generated source: it stands before all other text. Words and intrinsics are the compiler's
// (clang's for amdgcn), so that no header of ROCm is needed; ROCm's device library (ocml) is behind the rare functions.
#include <math.h>
#include <stdint.h>
#define _Bool bool
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ static __attribute__((shared))
#define __launch_bounds__(n, ...) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define PCP_METHOD __device__ inline __attribute__((always_inline))
#define PCP_FN static __device__ inline __attribute__((always_inline, unused))
#define PCP_LOOP static __device__ __attribute__((noinline, unused))
#ifdef __GFX9__ // threads of a wavefront
#define PCP_WARP 64
#else
#define PCP_WARP 32
#endif
#define PCP_TERMS 4 // of an f32 product, whose code is written out: of more, all operands are fetched at once and do not fit
typedef unsigned int uint;

// --- Threads ---
struct pcp_dim_t {
    unsigned x;
};
#define threadIdx (pcp_dim_t{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (pcp_dim_t{__builtin_amdgcn_workgroup_id_x()})
#define blockDim (pcp_dim_t{__builtin_amdgcn_workgroup_size_x()})
#define __syncthreads()                                       \
    (__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"), __builtin_amdgcn_s_barrier(), \
     __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"))
#define pcp_sync_warp()                                                                              \
    (__builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront"), __builtin_amdgcn_wave_barrier(), \
     __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront"))

// The x of the thread whose number in the wavefront differs in the bits of k: word by word. The instruction counts bytes
// of a register, modulo the wavefront's.
template <class T> PCP_FN T pcp_exchange(T x, int k)
{
    int word[sizeof(T) / sizeof(int)];
    __builtin_memcpy(word, &x, sizeof x);
#pragma unroll
    for (unsigned i = 0; i < sizeof(T) / sizeof(int); i++)
        word[i] = __builtin_amdgcn_ds_bpermute((int)(threadIdx.x ^ (uint)k) << 2, word[i]);
    __builtin_memcpy(&x, word, sizeof x);
    return x;
}

#ifdef __GFX9__
typedef uint64_t pcp_votes_t; // a bit for each thread of a wavefront
#define pcp_vote(x) __builtin_amdgcn_ballot_w64(x)
#else
typedef uint32_t pcp_votes_t;
#define pcp_vote(x) __builtin_amdgcn_ballot_w32(x)
#endif
#define pcp_count_votes(x) __builtin_popcountll(x)

// --- The host's libm, by the device's ---
#define PCP_OCML_1(name) extern "C" __device__ double __ocml_##name##_f64(double);
#define PCP_OCML_2(name, T, t) extern "C" __device__ T __ocml_##name##_##t(T, T);
PCP_OCML_1(exp)
PCP_OCML_1(expm1)
PCP_OCML_1(log)
PCP_OCML_1(log1p)
PCP_OCML_1(tanh)
PCP_OCML_1(erf)
PCP_OCML_1(erfc)
PCP_OCML_1(sin)
PCP_OCML_1(cos)
PCP_OCML_1(tan)
PCP_OCML_1(cbrt)
PCP_OCML_1(atan)
PCP_OCML_1(asin)
PCP_OCML_1(acos)
PCP_OCML_1(asinh)
PCP_OCML_1(acosh)
PCP_OCML_1(atanh)
PCP_OCML_1(sinh)
PCP_OCML_1(cosh)
PCP_OCML_1(lgamma)
PCP_OCML_2(pow, double, f64)
PCP_OCML_2(atan2, double, f64)
PCP_OCML_2(fmod, double, f64)
PCP_OCML_2(fmod, float, f32)
PCP_OCML_2(nextafter, double, f64)
PCP_OCML_2(nextafter, float, f32)
#define exp(x) __ocml_exp_f64(x)
#define expm1(x) __ocml_expm1_f64(x)
#define log(x) __ocml_log_f64(x)
#define log1p(x) __ocml_log1p_f64(x)
#define tanh(x) __ocml_tanh_f64(x)
#define erf(x) __ocml_erf_f64(x)
#define erfc(x) __ocml_erfc_f64(x)
#define sin(x) __ocml_sin_f64(x)
#define cos(x) __ocml_cos_f64(x)
#define tan(x) __ocml_tan_f64(x)
#define cbrt(x) __ocml_cbrt_f64(x)
#define atan(x) __ocml_atan_f64(x)
#define asin(x) __ocml_asin_f64(x)
#define acos(x) __ocml_acos_f64(x)
#define asinh(x) __ocml_asinh_f64(x)
#define acosh(x) __ocml_acosh_f64(x)
#define atanh(x) __ocml_atanh_f64(x)
#define sinh(x) __ocml_sinh_f64(x)
#define cosh(x) __ocml_cosh_f64(x)
#define pow(x, y) __ocml_pow_f64(x, y)
#define atan2(y, x) __ocml_atan2_f64(y, x)
#define fmod(x, y) __ocml_fmod_f64(x, y)
#define fmodf(x, y) __ocml_fmod_f32(x, y)
#define nextafter(x, y) __ocml_nextafter_f64(x, y)
#define nextafterf(x, y) __ocml_nextafter_f32(x, y)
#define lgamma_r(x, sign) (*(sign) = 0, __ocml_lgamma_f64(x))
#define frexp(x, at) (*(at) = __builtin_amdgcn_frexp_exp(x)) // of finite numbers; nobody asks for the mantissa
#define ldexp(x, n) __builtin_ldexp(x, n)
#define fabs(x) __builtin_fabs(x)
#define floor(x) __builtin_floor(x)
#define rint(x) __builtin_rint(x)
#define sqrt(x) __builtin_sqrt(x)
#define copysign(x, y) __builtin_copysign(x, y)

// d += a b for a wavefront: a of 16 x 16, b of 16 x 16 bf16, d of 16 x 16 f32. Thread 16 g + t has of a the elements (t, 4 g) to
// (t, 4 g + 3); of b, by columns, the same; of d (4 g, t) to (4 g + 3, t) (AMD's CDNA2 and CDNA3 ISA, V_MFMA_F32_16X16X16).
#if defined(__gfx90a__) || defined(__gfx942__) // others multiply bf16 as f32
struct pcp_lane_t {
    enum { COLS = 16, PAIRS_A = 2, PAIRS_B = 2, ROWS = 4, SPAN = 16 };
    int g, t;
    static PCP_METHOD pcp_lane_t mine() { return {(int)threadIdx.x % 64 / 16, (int)threadIdx.x % 16}; }
    PCP_METHOD int a_row(int) const { return t; }
    PCP_METHOD int a_depth(int i) const { return 4 * g + 2 * i; }
    PCP_METHOD int b_col() const { return t; }
    PCP_METHOD int b_depth(int j) const { return 4 * g + 2 * j; }
    PCP_METHOD int d_row(int e) const { return 4 * g + e; }
    PCP_METHOD int d_col(int) const { return t; }
};
typedef short pcp_four_bf16_t __attribute__((vector_size(8)));
typedef float pcp_four_f32_t __attribute__((vector_size(16)));
PCP_FN void pcp_mma(float (&d)[4], const uint32_t (&a)[2], const uint32_t (&b)[2])
{
    pcp_four_bf16_t l, r;
    pcp_four_f32_t sum;
    __builtin_memcpy(&l, a, sizeof l);
    __builtin_memcpy(&r, b, sizeof r);
    __builtin_memcpy(&sum, d, sizeof sum);
    sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(l, r, sum, 0, 0, 0);
    __builtin_memcpy(d, &sum, sizeof sum);
}
#else
#define PCP_NO_MATRIX
#endif

