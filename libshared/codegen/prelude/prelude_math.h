/* Prelude, first part: bits, exact float functions, and the f32 functions of hot loops. See
 * prelude.h. */
#ifndef CODEGEN_PRELUDE_MATH_H
#define CODEGEN_PRELUDE_MATH_H

#include <math.h>
#include <stdint.h>

#ifndef PCP_FN /* other languages than C have words of their own */
#define PCP_FN static inline __attribute__((always_inline, unused))
#define PCP_LOOP static inline __attribute__((unused)) /* not to be repeated at every call */
#endif

/* --- Bits ------------------------------------------------------------------------------------ */

PCP_FN uint32_t pcp_bits_f32(float x)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

PCP_FN float pcp_of_bits_f32(uint32_t bits)
{
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

PCP_FN uint64_t pcp_bits_f64(double x)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

PCP_FN double pcp_of_bits_f64(uint64_t bits)
{
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^n for n in [-126, 127]. */
PCP_FN float pcp_pow2_f32(int32_t n)
{
    return pcp_of_bits_f32((uint32_t)(n + 127) << 23);
}

/* --- a b + c, rounded once, on every target --------------------------------------------------- */

/* The f32 functions below say where they fuse, and leave nothing to be fused: their bits do not
 * depend on the instruction set. Without the instruction, the product is exact in double, and the
 * sum, rounded to odd, rounds to f32 as the exact one does (Boldo and Melquiond 2008). */
PCP_FN float pcp_fma_f32(float a, float b, float c)
{
#if defined(__FMA__) || defined(__aarch64__) || defined(__CUDA_ARCH__) || defined(__AMDGCN__)
    return __builtin_fmaf(a, b, c);
#else
    double p = (double)a * (double)b, s = p + (double)c, t = s - p;
    double left = (p - (s - t)) + ((double)c - t); /* s + left is exact (Knuth's TwoSum) */
    uint64_t bits = pcp_bits_f64(s), below = bits - ((left < 0) != (s < 0));
    return (float)(((left < 0) | (left > 0)) ? pcp_of_bits_f64(below | 1) : s);
#endif
}

PCP_FN double pcp_fma_f64(double a, double b, double c)
{
    return __builtin_fma(a, b, c); /* without the instruction, libm's */
}

/* --- Exact functions: one macro for both float types. sqrt rounds correctly; rsqrt, rounded twice:
 * 1.50 ulp --- */

#define PCP_FLOAT(T, t, UINT, SINT, NAN_KEY, f)                                           \
    PCP_FN T pcp_abs_##t(T x)                                                             \
    {                                                                                     \
        return __builtin_fabs##f(x);                                                      \
    }                                                                                     \
    PCP_FN T pcp_add_##t(T a, T b)                                                        \
    {                                                                                     \
        return a + b;                                                                     \
    }                                                                                     \
    PCP_FN T pcp_sub_##t(T a, T b)                                                        \
    {                                                                                     \
        return a - b;                                                                     \
    }                                                                                     \
    PCP_FN T pcp_mul_##t(T a, T b)                                                        \
    {                                                                                     \
        return a * b;                                                                     \
    }                                                                                     \
    PCP_FN T pcp_div_##t(T a, T b)                                                        \
    {                                                                                     \
        return a / b;                                                                     \
    }                                                                                     \
    PCP_FN T pcp_neg_##t(T a)                                                             \
    {                                                                                     \
        return -a;                                                                        \
    }                                                                                     \
    PCP_FN T pcp_ceil_##t(T x)                                                            \
    {                                                                                     \
        return __builtin_ceil##f(x);                                                      \
    }                                                                                     \
    PCP_FN T pcp_floor_##t(T x)                                                           \
    {                                                                                     \
        return __builtin_floor##f(x);                                                     \
    }                                                                                     \
    PCP_FN T pcp_rint_##t(T x)                                                            \
    {                                                                                     \
        return __builtin_rint##f(x);                                                      \
    }                                                                                     \
    PCP_FN T pcp_sqrt_##t(T x)                                                            \
    {                                                                                     \
        return __builtin_sqrt##f(x);                                                      \
    }                                                                                     \
    PCP_FN T pcp_rsqrt_##t(T x)                                                           \
    {                                                                                     \
        return 1 / __builtin_sqrt##f(x);                                                  \
    }                                                                                     \
    PCP_FN int pcp_isfinite_##t(T x)                                                      \
    {                                                                                     \
        return x - x == 0;                                                                \
    }                                                                                     \
    PCP_FN T pcp_round_##t(T x) /* half away from zero */                                 \
    {                                                                                     \
        T a = __builtin_fabs##f(x), whole = __builtin_trunc##f(a);                        \
        return __builtin_copysign##f(whole + (a - whole >= (T)0.5 ? (T)1 : (T)0), x);     \
    }                                                                                     \
    PCP_FN T pcp_sign_##t(T x)                                                            \
    {                                                                                     \
        return x > 0 ? (T)1 : x < 0 ? (T)-1 : x;                                          \
    }                                                                                     \
    PCP_FN T pcp_max_##t(T a, T b) /* NaN if either is; -0 < +0 */                        \
    {                                                                                     \
        T r = a > b ? a : b, zero = pcp_of_bits_##t(pcp_bits_##t(a) & pcp_bits_##t(b));   \
        r = a == b ? zero : r;                                                            \
        return a != a ? a : r;                                                            \
    }                                                                                     \
    PCP_FN T pcp_min_##t(T a, T b)                                                        \
    {                                                                                     \
        T r = a < b ? a : b, zero = pcp_of_bits_##t(pcp_bits_##t(a) | pcp_bits_##t(b));   \
        r = a == b ? zero : r;                                                            \
        return a != a ? a : r;                                                            \
    }                                                                                     \
    PCP_FN T pcp_clamp_##t(T lo, T x, T hi)                                               \
    {                                                                                     \
        return pcp_min_##t(pcp_max_##t(x, lo), hi);                                       \
    }                                                                                     \
    PCP_FN T pcp_rem_##t(T a, T b)                                                        \
    {                                                                                     \
        return fmod##f(a, b);                                                             \
    }                                                                                     \
    PCP_FN T pcp_nextafter_##t(T a, T b)                                                  \
    {                                                                                     \
        return nextafter##f(a, b);                                                        \
    }                                                                                     \
    PCP_FN SINT pcp_key_##t(T x) /* integers in IEEE total order */                       \
    {                                                                                     \
        SINT bits = (SINT)pcp_bits_##t(x);                                                \
        return bits ^ (SINT)((UINT)(bits >> (8 * sizeof(T) - 1)) >> 1);                   \
    }                                                                                     \
    PCP_FN T pcp_of_key_##t(SINT key) /* and back */                                      \
    {                                                                                     \
        return pcp_of_bits_##t((UINT)key ^ (UINT)(key >> (8 * sizeof(T) - 1)) >> 1);      \
    }                                                                                     \
    /* For reductions: maximum and minimum of the keys, in any order, are those of      \
     * pcp_max and pcp_min. Every NaN is the largest or the smallest. */ \
    PCP_FN SINT pcp_max_key_##t(T x)                                                      \
    {                                                                                     \
        return x != x ? NAN_KEY : pcp_key_##t(x);                                         \
    }                                                                                     \
    PCP_FN SINT pcp_min_key_##t(T x)                                                      \
    {                                                                                     \
        return x != x ? -NAN_KEY - 1 : pcp_key_##t(x);                                    \
    }
PCP_FLOAT(float, f32, uint32_t, int32_t, 0x7FC00000, f)
PCP_FLOAT(double, f64, uint64_t, int64_t, INT64_C(0x7FF8000000000000), )

/* The f32 that later rounding to f16 or bf16 takes as the f64 itself: rounded to odd. */
PCP_FN float pcp_f32_odd_from_f64(double x)
{
    float y = (float)x;
    uint32_t bits = pcp_bits_f32(y);
    double back = (double)y, a = __builtin_fabs(x), b = __builtin_fabs(back);
    uint32_t towards = b > a ? bits - 1 : bits; /* truncated */
    return x != x || a == b ? y : pcp_of_bits_f32(towards | 1);
}

/* 64-bit integers as the f64 that later rounding to less than 42 bits takes as them: what f64 has
 * no room for becomes one bit that it has room for. */
PCP_FN double pcp_f64_sticky_from_i64(int64_t x)
{
    int64_t s = (x & ~INT64_C(0x7FF)) | ((x & 0x7FF) != 0 ? 0x800 : 0);
    return (double)(x > (INT64_C(1) << 53) || x < -(INT64_C(1) << 53) ? s : x);
}

PCP_FN double pcp_f64_sticky_from_u64(uint64_t x)
{
    uint64_t s = (x & ~UINT64_C(0x7FF)) | ((x & 0x7FF) != 0 ? 0x800 : 0);
    return (double)(x > (UINT64_C(1) << 53) ? s : x);
}

/* --- exp, expm1: x = n ln 2 + r, |r| <= ln 2 / 2 ---------------------------------------------- */

#define PCP_LN2_HI 0.693359375f /* 9 bits: n times it is exact */
#define PCP_LN2_LO (-2.12194440e-4f)
#define PCP_ROUND_F32 12582912.0f /* 1.5 2^23: adding it rounds to an integer in the low bits */

typedef struct {
    float r;
    int32_t n;
} pcp_split_t;

PCP_FN pcp_split_t pcp_split_exp(float x)
{
    float t = pcp_fma_f32(x, 1.44269504f, PCP_ROUND_F32), n = t - PCP_ROUND_F32;
    float r = pcp_fma_f32(n, -PCP_LN2_LO, pcp_fma_f32(n, -PCP_LN2_HI, x));
    return (pcp_split_t){r, (int32_t)(pcp_bits_f32(t) - 0x4B400000u)};
}

/* e^r scale 2^n; n in [-252, 254] in two factors, so that subnormal results round once. */
PCP_FN float pcp_exp_scaled(pcp_split_t s, float scale)
{
    float p = 1.38143253e-3f, r = s.r;
    p = pcp_fma_f32(p, r, 8.36885135e-3f);
    p = pcp_fma_f32(p, r, 4.16684010e-2f);
    p = pcp_fma_f32(p, r, 1.66665195e-1f);
    p = pcp_fma_f32(p, r, 4.99999934e-1f);
    p = pcp_fma_f32(p, r * r, r) + 1;
    int32_t half = s.n >> 1;
    return p * scale * pcp_pow2_f32(half) * pcp_pow2_f32(s.n - half);
}

/* 1.02 ulp */
PCP_FN float pcp_exp_f32(float x)
{
    x = x > 89.0f ? 89.0f : x; /* infinity from 88.73 on */
    x = x < -104.0f ? -104.0f : x;
    return pcp_exp_scaled(pcp_split_exp(x), 1);
}

/* e^x - 1 = 2 ((2^(n-1) - 1/2) + 2^(n-1) (e^r - 1)) for x in [-18, 89] */
PCP_FN float pcp_expm1_core(float x)
{
    pcp_split_t s = pcp_split_exp(x);
    float p = 1.39465103e-3f, r = s.r, half = pcp_pow2_f32(s.n - 1);
    p = pcp_fma_f32(p, r, 8.36670084e-3f);
    p = pcp_fma_f32(p, r, 4.16662813e-2f);
    p = pcp_fma_f32(p, r, 1.66665422e-1f);
    p = pcp_fma_f32(p, r, 5.00000006e-1f);
    p = pcp_fma_f32(p, r * r, r);
    return pcp_fma_f32(half, p, half - 0.5f) * 2;
}

/* 1.74 ulp */
PCP_FN float pcp_expm1_f32(float x)
{
    float y = x > 89.0f ? 89.0f : x;
    y = pcp_expm1_core(y < -18.0f ? -18.0f : y);
    return x == 0 ? x : y;
}

/* t / (t + 2) with t = e^(2 |x|) - 1; 2.56 ulp */
PCP_FN float pcp_tanh_f32(float x)
{
    float a = __builtin_fabsf(x), t;
    t = pcp_expm1_core(2 * (a > 10.0f ? 10.0f : a));
    return __builtin_copysignf(t / (t + 2), x);
}

/* 1 / (1 + e^-x), by e^-|x| so that nothing overflows; 2.41 ulp */
PCP_FN float pcp_logistic_f32(float x)
{
    float a = __builtin_fabsf(x);
    float e = pcp_exp_scaled(pcp_split_exp(a > 104.0f ? -104.0f : -a), 1);
    return (x < 0 ? e : 1) / (1 + e);
}

/* --- log, log1p: x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)) ------------------------------- */

typedef struct {
    float f;
    int32_t k;
} pcp_parts_t;

/* Of a positive normal number. */
PCP_FN pcp_parts_t pcp_parts_f32(float x)
{
    uint32_t i = pcp_bits_f32(x) + (0x3F800000u - 0x3F3504F3u);
    float m = pcp_of_bits_f32((i & 0x007FFFFFu) + 0x3F3504F3u);
    return (pcp_parts_t){m - 1, (int32_t)(i >> 23) - 127};
}

/* k ln 2 + log(1 + f) + more, more being small */
PCP_FN float pcp_log_parts(pcp_parts_t s, float more)
{
    float q = 6.74664802e-2f, f = s.f, k = (float)s.k, ff = f * f;
    q = pcp_fma_f32(q, f, -1.16756361e-1f);
    q = pcp_fma_f32(q, f, 1.18881577e-1f);
    q = pcp_fma_f32(q, f, -1.24056047e-1f);
    q = pcp_fma_f32(q, f, 1.42195577e-1f);
    q = pcp_fma_f32(q, f, -1.66679940e-1f);
    q = pcp_fma_f32(q, f, 2.00021180e-1f);
    q = pcp_fma_f32(q, f, -2.50000097e-1f);
    q = pcp_fma_f32(q, f, 3.33333126e-1f);
    float rest = pcp_fma_f32(q, f * ff, -0.5f * ff);
    return pcp_fma_f32(k, PCP_LN2_HI, f + (rest + pcp_fma_f32(k, PCP_LN2_LO, more)));
}

/* 0.85 ulp */
PCP_FN float pcp_log_f32(float x)
{
    int tiny = x < 1.17549435e-38f;
    pcp_parts_t s = pcp_parts_f32(tiny ? x * 8388608.0f : x);
    s.k -= tiny ? 23 : 0;
    float y = pcp_log_parts(s, 0);
    y = x == 0 ? -__builtin_inff() : y;
    y = x == __builtin_inff() ? x : y;
    return x >= 0 ? y : __builtin_nanf("");
}

/* 0.90 ulp */
PCP_FN float pcp_log1p_f32(float x)
{
    float u = 1 + x, lost = u >= 2 ? 1 - (u - x) : x - (u - 1); /* 1 + x = u + lost */
    float y = pcp_log_parts(pcp_parts_f32(u), lost / u);
    y = u == 0 ? -__builtin_inff() : y;
    y = x == __builtin_inff() || x == 0 ? x : y;
    return x >= -1 ? y : __builtin_nanf("");
}

/* --- erf, erfc -------------------------------------------------------------------------------- */

/* |x| < 0.92: x + x S(x^2); above: 1 - e^(|x| U(|x|)), U fitted to log(erfc(t)) / t; 2.24 ulp */
PCP_FN float pcp_erf_f32(float x)
{
    float a = __builtin_fabsf(x), s = a * a, t = a > 4.0f ? 4.0f : a;
    float p = -6.09035608e-4f, u = -1.04298780e-5f;
    p = pcp_fma_f32(p, s, 5.01196648e-3f);
    p = pcp_fma_f32(p, s, -2.67789157e-2f);
    p = pcp_fma_f32(p, s, 1.12821412e-1f);
    p = pcp_fma_f32(p, s, -3.76125233e-1f);
    p = pcp_fma_f32(p, s, 1.28379154e-1f);
    u = pcp_fma_f32(u, t, 3.14827549e-4f);
    u = pcp_fma_f32(u, t, -3.61022555e-3f);
    u = pcp_fma_f32(u, t, 2.36943364e-2f);
    u = pcp_fma_f32(u, t, -1.06158801e-1f);
    u = pcp_fma_f32(u, t, -6.35198174e-1f);
    u = pcp_fma_f32(u, t, -1.28637040e-1f);
    u = pcp_fma_f32(u, t, -t); /* the leading coefficient in two parts: -1.128637040 */
    float tail = __builtin_copysignf(1 - pcp_exp_scaled(pcp_split_exp(u), 1), x);
    return a > 0.92f ? tail : pcp_fma_f32(p, x, x);
}

/* e^(-a^2) R(q) / (1 + 2 a), q = (a - 2) / (a + 2); a^2 in two parts, the first exact; 4.79 ulp */
PCP_FN float pcp_erfc_f32(float x)
{
    float a = __builtin_fabsf(x), p = -4.00579848e-4f;
    a = a > 10.1f ? 10.1f : a;
    float q = (a - 2) / (a + 2), hi = pcp_of_bits_f32(pcp_bits_f32(a) & 0xFFFFF000u);
    p = pcp_fma_f32(p, q, -1.22992936e-3f);
    p = pcp_fma_f32(p, q, 1.31352834e-3f);
    p = pcp_fma_f32(p, q, 8.63168486e-3f);
    p = pcp_fma_f32(p, q, -8.05987765e-3f);
    p = pcp_fma_f32(p, q, -5.42043004e-2f);
    p = pcp_fma_f32(p, q, 1.64055347e-1f);
    p = pcp_fma_f32(p, q, -1.66031425e-1f);
    p = pcp_fma_f32(p, q, -9.27639808e-2f);
    p = pcp_fma_f32(p, q, 1.27697839f) / (1 + 2 * a);
    pcp_split_t s = pcp_split_exp(-(hi * hi));
    s.r = pcp_fma_f32(hi - a, a + hi, s.r);
    float y = pcp_exp_scaled(s, p);
    return x < 0 ? 2 - y : y;
}

/* --- sin, cos, tan: |x| = (q + f) pi / 2 by a product with 96 bits of 2 / pi (Payne and Hanek)  */

typedef struct {
    float r;    /* f pi / 2, in [-pi / 4, pi / 4] */
    uint32_t q; /* quadrant, modulo 4 */
} pcp_angle_t;

PCP_FN pcp_angle_t pcp_reduce_f32(float x)
{
    static const uint32_t two_over_pi[8] = {0,           0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u,
                                            0xF534DDC0u, 0xDB629599u, 0x3C439041u, 0xFE5163ABu};
    uint32_t bits = pcp_bits_f32(x) & 0x7FFFFFFFu;
    int32_t at = (int32_t)(bits >> 23) -
                 120;     /* first bit of 2 / pi that counts modulo 4, plus 32 */
    at = at < 6 ? 6 : at; /* |x| < 1/2 is not reduced */
    uint32_t word = (uint32_t)at >> 5, shift = (uint32_t)at & 31;
    uint64_t a = two_over_pi[word], b = two_over_pi[word + 1], c = two_over_pi[word + 2];
    uint64_t d = two_over_pi[word + 3], m = (bits & 0x007FFFFFu) | 0x00800000u;
    uint64_t w0 = ((a << 32 | b) << shift) >> 32, w1 = ((b << 32 | c) << shift) >> 32;
    uint64_t w2 = ((c << 32 | d) << shift) >> 32;
    uint64_t p = ((m * w0) << 32) + m * w1 + ((m * w2) >> 32); /* 62 bits behind the point */
    uint64_t q = (p + (1ull << 61)) >> 62, f = p - (q << 62);  /* f is signed */
    double high = (double)(int32_t)(uint32_t)(f >> 32), low = (double)(int32_t)((uint32_t)f >> 1);
    double r = (high * 4294967296.0 + low * 2.0) * 3.4061215800304552e-19; /* pi / 2 2^-62 */
    float a32 = __builtin_fabsf(x);
    int small = a32 < 0.75f;
    return (pcp_angle_t){small ? a32 : (float)r, small ? 0 : (uint32_t)q};
}

/* cos when `which` is odd, else sin; negated when bit 1 is set */
PCP_FN float pcp_circle_f32(float r, uint32_t which)
{
    float s = r * r, p = -1.95146249e-4f, c = 2.44324829e-5f;
    p = pcp_fma_f32(p, s, 8.33215604e-3f);
    p = pcp_fma_f32(p, s, -1.66666545e-1f);
    p = pcp_fma_f32(p, s * r, r);
    c = pcp_fma_f32(c, s, -1.38873108e-3f);
    c = pcp_fma_f32(c, s, 4.16666456e-2f);
    c = pcp_fma_f32(c, s * s, 1 - 0.5f * s);
    float y = which & 1 ? c : p;
    return pcp_of_bits_f32(pcp_bits_f32(y) ^ (which & 2) << 30);
}

/* 1.59 ulp */
PCP_FN float pcp_sin_f32(float x)
{
    pcp_angle_t t = pcp_reduce_f32(x);
    float y = pcp_circle_f32(t.r, t.q);
    y = pcp_of_bits_f32(pcp_bits_f32(y) ^ (pcp_bits_f32(x) & 0x80000000u));
    return x - x == 0 ? y : x - x;
}

/* 1.59 ulp */
PCP_FN float pcp_cos_f32(float x)
{
    pcp_angle_t t = pcp_reduce_f32(x);
    float y = pcp_circle_f32(t.r, t.q + 1);
    return x - x == 0 ? y : x - x;
}

/* 3.9 ulp */
PCP_FN float pcp_tan_f32(float x)
{
    pcp_angle_t t = pcp_reduce_f32(x);
    float y = pcp_circle_f32(t.r, t.q) / pcp_circle_f32(t.r, t.q + 1);
    y = pcp_of_bits_f32(pcp_bits_f32(y) ^ (pcp_bits_f32(x) & 0x80000000u));
    return x - x == 0 ? y : x - x;
}

/* --- cbrt, pow, atan, atan2: in double, rounded once: 0.51 ulp -------------------------------- */

/* A third of the exponent, then two steps of Halley's method. */
PCP_FN float pcp_cbrt_f32(float x)
{
    float a = __builtin_fabsf(x);
    int tiny = a < 1.17549435e-38f;
    a = tiny ? a * 16777216.0f : a; /* 2^24: its cube root is 2^8 */
    double m = a, y = pcp_of_bits_f32(pcp_bits_f32(a) / 3 + 0x2A5119F2u), cube = y * y * y;
    y = y * (cube + 2 * m) / (2 * cube + m);
    cube = y * y * y;
    y = y * (cube + 2 * m) / (2 * cube + m);
    y = tiny ? y * 0.00390625 : y;
    return x == 0 || x - x != 0 ? x : __builtin_copysignf((float)y, x);
}

/* log2 of |x|, absolute error below 2^-42 of the larger of its two terms */
PCP_FN double pcp_log2_f32(float x)
{
    float a = __builtin_fabsf(x);
    int tiny = a < 1.17549435e-38f;
    pcp_parts_t s = pcp_parts_f32(tiny ? a * 8388608.0f : a);
    double f = s.f, t = f / (f + 2), z = t * t, p = 0.2829036081214886;
    p = pcp_fma_f64(p, z, 0.31990546867455055);
    p = pcp_fma_f64(p, z, 0.41220925760570537);
    p = pcp_fma_f64(p, z, 0.577077942316621);
    p = pcp_fma_f64(p, z, 0.9617966941134959);
    p = pcp_fma_f64(p, z, 2.88539008177785);
    double y = pcp_fma_f64(p, t, (double)(s.k - (tiny ? 23 : 0)));
    y = a == 0 ? -__builtin_inf() : y;
    return a - a == 0 ? y : a; /* infinity, NaN */
}

/* 2^t for t clamped to [-200, 200] */
PCP_FN double pcp_exp2_f64(double t)
{
    t = t > 200 ? 200 : t;
    t = t < -200 ? -200 : t;
    double shifted = t + 6755399441055744.0, r = t - (shifted - 6755399441055744.0);
    double p = 1.3175855889419097e-06;
    p = pcp_fma_f64(p, r, 1.5309760705899363e-05);
    p = pcp_fma_f64(p, r, 0.00015403851924118903);
    p = pcp_fma_f64(p, r, 0.0013333451975201895);
    p = pcp_fma_f64(p, r, 0.009618128542293235);
    p = pcp_fma_f64(p, r, 0.055504109394331466);
    p = pcp_fma_f64(p, r, 0.2402265069888573);
    p = pcp_fma_f64(p, r, 0.6931471805464897);
    p = pcp_fma_f64(p, r, 0.9999999999997612);
    return p * pcp_of_bits_f64((pcp_bits_f64(shifted) + 1023) << 52);
}

PCP_FN float pcp_pow_f32(float x, float y)
{
    float r = (float)pcp_exp2_f64((double)y * pcp_log2_f32(x)), half = 0.5f * y;
    int whole = __builtin_floorf(y) == y, odd = whole && __builtin_floorf(half) != half;
    int negative = pcp_bits_f32(x) >> 31 != 0;
    r = negative && odd ? -r : r;
    r = x < 0 && !whole && x - x == 0 ? __builtin_nanf("") : r;
    r = x == -1 && y - y != 0 && y == y ? 1 : r;
    return y == 0 || x == 1 ? 1 : r;
}

/* atan of q in [0, 1] */
PCP_FN double pcp_atan_core(double q)
{
    double s = q * q, p = 0.0010909384133931158;
    p = pcp_fma_f64(p, s, -0.007198924709543981);
    p = pcp_fma_f64(p, s, 0.022274357892862345);
    p = pcp_fma_f64(p, s, -0.04435882898804593);
    p = pcp_fma_f64(p, s, 0.06716312853418793);
    p = pcp_fma_f64(p, s, -0.08798920020390465);
    p = pcp_fma_f64(p, s, 0.110545594569506);
    p = pcp_fma_f64(p, s, -0.1427917211457114);
    p = pcp_fma_f64(p, s, 0.1999960595816085);
    p = pcp_fma_f64(p, s, -0.33333323988959157);
    p = pcp_fma_f64(p, s, 0.99999999963184);
    return p * q;
}

PCP_FN float pcp_atan2_f32(float y, float x)
{
    float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y);
    double low = ax < ay ? ax : ay, high = ax < ay ? ay : ax, q = low / high;
    q = high == 0 ? 0 : q;
    q = ax == ay && high > 0 ? 1 : q; /* also both infinite */
    double r = pcp_atan_core(q);
    r = ay > ax ? 1.5707963267948966 - r : r;
    r = pcp_bits_f32(x) >> 31 ? 3.141592653589793 - r : r;
    float z = __builtin_copysignf((float)r, y);
    return x != x || y != y ? x + y : z;
}

PCP_FN float pcp_atan_f32(float x)
{
    float a = __builtin_fabsf(x);
    double r = pcp_atan_core(a > 1 ? 1 / (double)a : (double)a);
    return x != x ? x : __builtin_copysignf((float)(a > 1 ? 1.5707963267948966 - r : r), x);
}

/* x to a format of e bits of exponent and m of mantissa, nearest even; what is too large becomes
 * infinity, what is below the smallest normal number zero. NaN becomes infinity where no bit of the
 * mantissa is left to tell them apart. */
PCP_FN double pcp_reduce_precision(double x, int e, int m)
{
    int at;
    if (x != x && m == 0) return __builtin_copysign(__builtin_inf(), x);
    if (!(x - x == 0) || x == 0) return x;
    frexp(x, &at);
    if (m < 52) {
        int ulp = at - 1 - m;
        x = ldexp(__builtin_rint(ldexp(x, -ulp)), ulp);
        frexp(x, &at);
    }
    if (e < 11) {
        int bias = (1 << (e - 1)) - 1;
        if (at - 1 > bias) return __builtin_copysign(__builtin_inf(), x);
        if (at - 1 < 1 - bias) return __builtin_copysign(0, x);
    }
    return x;
}

#endif
