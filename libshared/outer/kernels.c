/* Loops written so that compilers make vector code of them: no exits, and conversions between
 * 64-bit integers and doubles by adding constants whose last place is 1 (only AVX-512 has
 * instructions for them). Compiled with -O3 (Makefile). */
#include "outer/kernels.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE double of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE bool within_body(const float *values, size_t n, float limit)
{
    uint32_t outside = 0;
    for (size_t i = 0; i < n; i++) outside |= !(fabsf(values[i]) <= limit);
    return !outside;
}

/* 1.5 * 2^52: a sum with it is rounded to a whole number, nearest even, which is then the
 * difference of the bits. That holds up to 2^51, so x is taken apart: x = high 2^31 + low, exactly
 * (x has 24 bits), and high 2^31 is even, so that low's tie is x's. */
INLINE void add_body(uint64_t *sum, const float *values, size_t n, uint64_t weight, double factor)
{
    const double magic = 0x1.8p52;
    const uint64_t zero = bits_of(magic);
    for (size_t i = 0; i < n; i++) {
        double x = (double)values[i] * factor;
        double high = x * 0x1p-31 + magic;
        double low = x - (high - magic) * 0x1p31 + magic;
        uint64_t q = ((bits_of(high) - zero) << 31) + (bits_of(low) - zero);
        sum[i] += weight * q;
    }
}

/* (double)sum, rounded once: its low half in the last places of 2^52, its high half, made positive
 * by 2^63, in those of 2^84; the constants are then taken off again, the first time without
 * rounding. */
INLINE void mean_body(const int64_t *sum, float *out, size_t n, double divisor)
{
    const double both = 0x1p84 + 0x1p63 + 0x1p52;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = (uint64_t)sum[i];
        double low = of_bits((bits & 0xFFFFFFFFu) | 0x4330000000000000u);
        double high = of_bits(((bits ^ 0x8000000000000000u) >> 32) | 0x4530000000000000u);
        out[i] = (float)(((high - both) + low) / divisor);
    }
}

/* In eight interleaved parts, in index order: the same bits on every machine. */
INLINE double squares_body(const float *values, size_t n)
{
    double part[8] = {0}, sum = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) part[j] += (double)values[i + j] * values[i + j];
    for (; i < n; i++) part[0] += (double)values[i] * values[i];
    for (int j = 0; j < 8; j++) sum += part[j];
    return sum;
}

INLINE void nesterov_body(const float *theta, const float *v, const float *d, size_t n, double lr,
                          double mu, float *theta_next, float *v_next)
{
    for (size_t i = 0; i < n; i++) {
        float momentum = (float)(mu * v[i] + d[i]);
        theta_next[i] = (float)(theta[i] - lr * (d[i] + mu * momentum));
        v_next[i] = momentum;
    }
}

/* Sizes of finite floats are in the order of their bits. */
INLINE float largest_body(const float *values, size_t n)
{
    uint32_t most = 0;
    float out;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        bits &= 0x7FFFFFFF;
        most = bits > most ? bits : most;
    }
    memcpy(&out, &most, sizeof out);
    return out;
}

/* Rounded as in add_body; what is clamped before it is rounded is what would be clamped afterwards. */
INLINE void quantise_body(const float *values, size_t n, float scale, int8_t *out)
{
    const double magic = 0x1.8p52;
    for (size_t i = 0; i < n; i++) {
        double q = (double)values[i] / (double)scale;
        q = q > 127 ? 127 : q;
        q = q < -127 ? -127 : q;
        out[i] = (int8_t)(bits_of(q + magic) - bits_of(magic));
    }
}

INLINE uint32_t bits_of_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE void halve_body(const float *values, size_t n, uint16_t *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t wide = bits_of_f32(values[i]);
        /* Half a step, less one where the kept part is even: ties go to even. */
        uint32_t bits = (wide + 0x7FFF + (wide >> 16 & 1)) >> 16;
        /* Finite values within half a step of 2^128 would round to infinity: keep the largest. */
        out[i] = (uint16_t)(bits - ((bits & 0x7FFF) == 0x7F80));
    }
}

INLINE void rank_body(const float *values, size_t n, const float threshold[7], uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        float size = fabsf(values[i]);
        uint32_t above = 0;
        for (int k = 0; k < 7; k++) above += size > threshold[k];
        out[i] = (uint8_t)(above | (uint32_t)((values[i] < 0) & (above > 0)) << 3);
    }
}

INLINE size_t reaching_body(const float *values, size_t n, uint32_t least)
{
    size_t sum = 0;
    for (size_t from = 0; from < n;) {
        uint32_t some = 0; /* of a vector's lanes, which would not be 64 bits wide */
        size_t end = n - from < 1u << 30 ? n : from + (1u << 30);
        for (; from < end; from++) some += (bits_of_f32(values[from]) & 0x7FFFFFFF) >= least;
        sum += some;
    }
    return sum;
}

#define KERNELS(name, attributes)                                                                \
    attributes static bool within_##name(const float *values, size_t n, float limit)             \
    {                                                                                            \
        return within_body(values, n, limit);                                                    \
    }                                                                                            \
    attributes static void add_##name(uint64_t *sum, const float *values, size_t n,              \
                                      uint64_t weight, double factor)                            \
    {                                                                                            \
        add_body(sum, values, n, weight, factor);                                                \
    }                                                                                            \
    attributes static void mean_##name(const int64_t *sum, float *out, size_t n, double divisor) \
    {                                                                                            \
        mean_body(sum, out, n, divisor);                                                         \
    }                                                                                            \
    attributes static double squares_##name(const float *values, size_t n)                       \
    {                                                                                            \
        return squares_body(values, n);                                                          \
    }                                                                                            \
    attributes static void nesterov_##name(const float *theta, const float *v, const float *d,   \
                                           size_t n, double lr, double mu, float *theta_next,    \
                                           float *v_next)                                        \
    {                                                                                            \
        nesterov_body(theta, v, d, n, lr, mu, theta_next, v_next);                               \
    }                                                                                            \
    attributes static float largest_##name(const float *values, size_t n)                        \
    {                                                                                            \
        return largest_body(values, n);                                                          \
    }                                                                                            \
    attributes static void quantise_##name(const float *values, size_t n, float scale,           \
                                           int8_t *out)                                          \
    {                                                                                            \
        quantise_body(values, n, scale, out);                                                    \
    }                                                                                            \
    attributes static void halve_##name(const float *values, size_t n, uint16_t *out)            \
    {                                                                                            \
        halve_body(values, n, out);                                                              \
    }                                                                                            \
    attributes static void rank_##name(const float *values, size_t n, const float threshold[7],  \
                                       uint8_t *out)                                             \
    {                                                                                            \
        rank_body(values, n, threshold, out);                                                    \
    }                                                                                            \
    attributes static size_t reaching_##name(const float *values, size_t n, uint32_t least)      \
    {                                                                                            \
        return reaching_body(values, n, least);                                                  \
    }                                                                                            \
    static const outer_kernels_t kernels_##name = {                                              \
        within_##name,  add_##name,      mean_##name,  squares_##name, nesterov_##name,          \
        largest_##name, quantise_##name, halve_##name, rank_##name,    reaching_##name};

KERNELS(plain, )
#if defined(__x86_64__)
KERNELS(avx2, __attribute__((target("avx2"))))
#ifdef __clang__ /* knows no such width */
KERNELS(avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))))
#else
KERNELS(avx512, __attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512"))))
#endif
#endif

const outer_kernels_t *outer_kernels(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &kernels_avx512;
    if (__builtin_cpu_supports("avx2")) return &kernels_avx2;
#endif
    return &kernels_plain;
}
