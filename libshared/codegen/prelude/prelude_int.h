/* Prelude, second part: f64 and rare functions by libm, integers, conversions. See prelude.h. */
#ifndef CODEGEN_PRELUDE_INT_H
#define CODEGEN_PRELUDE_INT_H

#ifndef CODEGEN_PRELUDE_MATH_H
#include "codegen/prelude/prelude_math.h"
#endif

/* --- Not for hot loops: libm in double -------------------------------------------------------- */

PCP_FN double pcp_exp_f64(double x)
{
    return exp(x);
}
PCP_FN double pcp_expm1_f64(double x)
{
    return expm1(x);
}
PCP_FN double pcp_log_f64(double x)
{
    return log(x);
}
PCP_FN double pcp_log1p_f64(double x)
{
    return log1p(x);
}
PCP_FN double pcp_logistic_f64(double x)
{
    return 1 / (1 + exp(-x));
}
PCP_FN double pcp_tanh_f64(double x)
{
    return tanh(x);
}
PCP_FN double pcp_erf_f64(double x)
{
    return erf(x);
}
PCP_FN double pcp_erfc_f64(double x)
{
    return erfc(x);
}
PCP_FN double pcp_sin_f64(double x)
{
    return sin(x);
}
PCP_FN double pcp_cos_f64(double x)
{
    return cos(x);
}
PCP_FN double pcp_tan_f64(double x)
{
    return tan(x);
}
PCP_FN double pcp_cbrt_f64(double x)
{
    return cbrt(x);
}
PCP_FN double pcp_pow_f64(double x, double y)
{
    return pow(x, y);
}
PCP_FN double pcp_atan_f64(double x)
{
    return atan(x);
}
PCP_FN double pcp_atan2_f64(double y, double x)
{
    return atan2(y, x);
}

#define PCP_RARE(name)                       \
    PCP_FN double pcp_##name##_f64(double x) \
    {                                        \
        return name(x);                      \
    }                                        \
    PCP_FN float pcp_##name##_f32(float x)   \
    {                                        \
        return (float)name((double)x);       \
    }
/* clang-format off */
PCP_RARE(asin) PCP_RARE(acos)
PCP_RARE(asinh) PCP_RARE(acosh) PCP_RARE(atanh)

#ifndef lgamma_r
extern double lgamma_r(double x, int *sign); /* POSIX; lgamma itself writes a global */
#endif
/* clang-format on */
/* sinh and cosh below f64 as CHLO expands them: e^(x + log 1/2) -+ e^(-x + log 1/2), exponents
 * in f32. */
PCP_FN double pcp_half_exp(float x)
{
    return exp((double)(x - 0x1.62e43p-1f));
}
PCP_FN double pcp_sinh_f64(double x)
{
    return sinh(x);
}
PCP_FN double pcp_cosh_f64(double x)
{
    return cosh(x);
}
PCP_FN float pcp_sinh_f32(float x)
{
    double y = fabs((double)x) < 1 ? sinh((double)x) : pcp_half_exp(x) - pcp_half_exp(-x);
    return (float)y;
}
PCP_FN float pcp_cosh_f32(float x)
{
    return (float)(pcp_half_exp(x) + pcp_half_exp(-x));
}
PCP_FN double pcp_lgamma_f64(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* Upward recurrence, asymptotic series, reflection (Abramowitz & Stegun 6.3.5, 6.3.7, 6.3.18).
 * NaN at the poles. */
PCP_LOOP double pcp_digamma_f64(double x)
{
    if (x != x || x == -INFINITY || (x <= 0 && x == floor(x))) return NAN;
    double y = 0, flip = x < 0.5
                             ? 3.14159265358979323846 / tan(3.14159265358979323846 * (x - rint(x)))
                             : 0;
    if (x < 0.5) x = 1 - x;
    if (x == INFINITY) return x;
    for (; x < 10; x += 1) y -= 1 / x;
    double z = 1 / (x * x), s = 691.0 / 32760 - z / 12;
    s = 1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * s));
    return y + log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * s)) - flip;
}

/* Giles' start ("Approximating the erfinv function", GPU Computing Gems 2, 2011), then Newton
 * steps. */
PCP_LOOP double pcp_erf_inv_f64(double x)
{
    static const double central[9] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                      -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                      -0.00417768164,  0.246640727,    1.50140941};
    static const double tail[9] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                   -0.00367342844,  0.00573950773,  -0.0076224613,
                                   0.00943887047,   1.00167406,     2.83297682};
    double a = fabs(x), w = -log1p(-a * a), t = w < 5 ? w - 2.5 : sqrt(w) - 3, y = 0;
    if (x == 0) return x;
    if (!(a < 1)) return a == 1 ? copysign(INFINITY, x) : NAN;
    for (int i = 0; i < 9; i++) y = y * t + (w < 5 ? central : tail)[i];
    y *= a;
    for (int i = 0; i < 4; i++) { /* near 1: log erfc, whose steps converge from afar */
        double slope = 1.1283791670955126 * exp(-y * y), miss = erfc(y);
        y += a < 0.5 ? (a - erf(y)) / slope : log(miss / (1 - a)) * miss / slope;
    }
    return copysign(y, x);
}
PCP_FN float pcp_lgamma_f32(float x)
{
    return (float)pcp_lgamma_f64((double)x);
}
PCP_FN float pcp_digamma_f32(float x)
{
    return (float)pcp_digamma_f64((double)x);
}
PCP_FN float pcp_erf_inv_f32(float x)
{
    return (float)pcp_erf_inv_f64((double)x);
}

/* --- Integers: T the type, U its unsigned twin, W a type it computes in without surprises ----- */

#define PCP_INT_BOTH(T, t, U, W, POPCNT, CLZ)                                           \
    PCP_FN T pcp_add_##t(T a, T b)                                                      \
    {                                                                                   \
        return (T)((W)a + (W)b);                                                        \
    }                                                                                   \
    PCP_FN T pcp_sub_##t(T a, T b)                                                      \
    {                                                                                   \
        return (T)((W)a - (W)b);                                                        \
    }                                                                                   \
    PCP_FN T pcp_mul_##t(T a, T b)                                                      \
    {                                                                                   \
        return (T)((W)a * (W)b);                                                        \
    }                                                                                   \
    PCP_FN T pcp_neg_##t(T a)                                                           \
    {                                                                                   \
        return (T)(0 - (W)a);                                                           \
    }                                                                                   \
    PCP_FN T pcp_max_##t(T a, T b)                                                      \
    {                                                                                   \
        return a > b ? a : b;                                                           \
    }                                                                                   \
    PCP_FN T pcp_min_##t(T a, T b)                                                      \
    {                                                                                   \
        return a < b ? a : b;                                                           \
    }                                                                                   \
    PCP_FN T pcp_clamp_##t(T lo, T x, T hi)                                             \
    {                                                                                   \
        return pcp_min_##t(pcp_max_##t(x, lo), hi);                                     \
    }                                                                                   \
    PCP_FN T pcp_not_##t(T a)                                                           \
    {                                                                                   \
        return (T)~a;                                                                   \
    }                                                                                   \
    PCP_FN T pcp_and_##t(T a, T b)                                                      \
    {                                                                                   \
        return (T)(a & b);                                                              \
    }                                                                                   \
    PCP_FN T pcp_or_##t(T a, T b)                                                       \
    {                                                                                   \
        return (T)(a | b);                                                              \
    }                                                                                   \
    PCP_FN T pcp_xor_##t(T a, T b)                                                      \
    {                                                                                   \
        return (T)(a ^ b);                                                              \
    }                                                                                   \
    PCP_FN T pcp_popcnt_##t(T a)                                                        \
    {                                                                                   \
        return (T)POPCNT((U)a);                                                         \
    }                                                                                   \
    PCP_FN T pcp_clz_##t(T a)                                                           \
    {                                                                                   \
        return (T)((U)a == 0 ? 8 * sizeof(T)                                            \
                             : (unsigned long)CLZ((U)a) - (sizeof(W) - sizeof(T)) * 8); \
    }                                                                                   \
    PCP_FN T pcp_shl_##t(T a, T b)                                                      \
    {                                                                                   \
        return (U)b < 8 * sizeof(T) ? (T)((W)a << (U)b) : 0;                            \
    }                                                                                   \
    PCP_FN T pcp_shrl_##t(T a, T b)                                                     \
    {                                                                                   \
        return (U)b < 8 * sizeof(T) ? (T)((U)a >> (U)b) : 0;                            \
    }

#define PCP_SIGNED(T, t, U, W, POPCNT, CLZ)                                      \
    PCP_INT_BOTH(T, t, U, W, POPCNT, CLZ)                                        \
    PCP_FN T pcp_abs_##t(T a)                                                    \
    {                                                                            \
        return a < 0 ? (T)(0 - (W)a) : a;                                        \
    }                                                                            \
    PCP_FN T pcp_sign_##t(T a)                                                   \
    {                                                                            \
        return (T)((a > 0) - (a < 0));                                           \
    }                                                                            \
    /* a / 0 = -1, MIN / -1 = MIN; a % 0 = a, MIN % -1 = 0 */                    \
    PCP_FN T pcp_div_##t(T a, T b)                                               \
    {                                                                            \
        return b == 0 ? (T)-1 : b == -1 ? (T)(0 - (W)a) : (T)(a / b);            \
    }                                                                            \
    PCP_FN T pcp_rem_##t(T a, T b)                                               \
    {                                                                            \
        return b == 0 ? a : b == -1 ? 0 : (T)(a % b);                            \
    }                                                                            \
    PCP_FN T pcp_shra_##t(T a, T b)                                              \
    {                                                                            \
        return (T)(a >> ((U)b < 8 * sizeof(T) ? (U)b : (U)(8 * sizeof(T) - 1))); \
    }                                                                            \
    PCP_LOOP T pcp_pow_##t(T a, T b)                                             \
    {                                                                            \
        W y = 1, x = (W)a;                                                       \
        if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? (T)-1 : 1) : 0;        \
        for (; b > 0; b = (T)(b >> 1), x *= x) y *= b & 1 ? x : 1;               \
        return (T)y;                                                             \
    }

#define PCP_UNSIGNED(T, t, S, W, POPCNT, CLZ)                                 \
    PCP_INT_BOTH(T, t, T, W, POPCNT, CLZ)                                     \
    PCP_FN T pcp_sign_##t(T a)                                                \
    {                                                                         \
        return a > 0;                                                         \
    }                                                                         \
    PCP_FN T pcp_abs_##t(T a)                                                 \
    {                                                                         \
        return a;                                                             \
    }                                                                         \
    PCP_FN T pcp_div_##t(T a, T b)                                            \
    {                                                                         \
        return b == 0 ? (T)-1 : (T)(a / b);                                   \
    } /* all ones */                                                          \
    PCP_FN T pcp_rem_##t(T a, T b)                                            \
    {                                                                         \
        return b == 0 ? a : (T)(a % b);                                       \
    }                                                                         \
    PCP_FN T pcp_shra_##t(T a, T b)                                           \
    {                                                                         \
        return (T)((S)a >> (b < 8 * sizeof(T) ? b : (T)(8 * sizeof(T) - 1))); \
    }                                                                         \
    PCP_LOOP T pcp_pow_##t(T a, T b)                                          \
    {                                                                         \
        W y = 1, x = (W)a;                                                    \
        for (; b > 0; b = (T)(b >> 1), x *= x) y *= b & 1 ? x : 1;            \
        return (T)y;                                                          \
    }

PCP_SIGNED(int8_t, i8, uint8_t, uint32_t, __builtin_popcount, __builtin_clz)
PCP_SIGNED(int16_t, i16, uint16_t, uint32_t, __builtin_popcount, __builtin_clz)
PCP_SIGNED(int32_t, i32, uint32_t, uint32_t, __builtin_popcount, __builtin_clz)
PCP_SIGNED(int64_t, i64, uint64_t, uint64_t, __builtin_popcountll, __builtin_clzll)
PCP_UNSIGNED(uint8_t, u8, int8_t, uint32_t, __builtin_popcount, __builtin_clz)
PCP_UNSIGNED(uint16_t, u16, int16_t, uint32_t, __builtin_popcount, __builtin_clz)
PCP_UNSIGNED(uint32_t, u32, int32_t, uint32_t, __builtin_popcount, __builtin_clz)
PCP_UNSIGNED(uint64_t, u64, int64_t, uint64_t, __builtin_popcountll, __builtin_clzll)

/* i1 is 0 or 1: add and maximum are "or", multiply and minimum "and". */
#define PCP_BOOL(name, expr)                             \
    PCP_FN uint8_t pcp_##name##_i1(uint8_t a, uint8_t b) \
    {                                                    \
        return (uint8_t)(expr);                          \
    }
/* clang-format off */
PCP_BOOL(add, a | b) PCP_BOOL(max, a | b) PCP_BOOL(or, a | b)
PCP_BOOL(mul, a & b) PCP_BOOL(min, a & b) PCP_BOOL(and, a & b)
PCP_BOOL(xor, a ^ b) PCP_BOOL(sub, a ^ b) PCP_BOOL(div, a & b)
PCP_FN uint8_t pcp_not_i1(uint8_t a)
{
    return !a;
}
/* clang-format on */
PCP_FN uint8_t pcp_popcnt_i1(uint8_t a)
{
    return a;
}
PCP_FN uint8_t pcp_clz_i1(uint8_t a)
{
    return !a;
}
PCP_FN uint8_t pcp_clamp_i1(uint8_t lo, uint8_t x, uint8_t hi)
{
    return (x | lo) & hi;
}

/* --- Conversions ------------------------------------------------------------------------------ */

/* Float to integer truncates and saturates; NaN gives 0. LO and END (one past the largest) are
 * exact. */
#define PCP_TO_INT(T, t, F, f, LO, END, MIN, MAX)        \
    PCP_FN T pcp_##t##_from_##f(F x)                     \
    {                                                    \
        T y = (T)(x >= (F)(LO) && x < (F)(END) ? x : 0); \
        y = x >= (F)(END) ? (T)(MAX) : y;                \
        return x < (F)(LO) ? (T)(MIN) : y;               \
    }
#define PCP_TO_INTS(F, f)                                                 \
    PCP_TO_INT(int8_t, i8, F, f, -0x1p7, 0x1p7, INT8_MIN, INT8_MAX)       \
    PCP_TO_INT(int16_t, i16, F, f, -0x1p15, 0x1p15, INT16_MIN, INT16_MAX) \
    PCP_TO_INT(int32_t, i32, F, f, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX) \
    PCP_TO_INT(int64_t, i64, F, f, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX) \
    PCP_TO_INT(uint8_t, u8, F, f, 0, 0x1p8, 0, UINT8_MAX)                 \
    PCP_TO_INT(uint16_t, u16, F, f, 0, 0x1p16, 0, UINT16_MAX)             \
    PCP_TO_INT(uint32_t, u32, F, f, 0, 0x1p32, 0, UINT32_MAX)             \
    PCP_TO_INT(uint64_t, u64, F, f, 0, 0x1p64, 0, UINT64_MAX)
PCP_TO_INTS(float, f32)
PCP_TO_INTS(double, f64)

PCP_FN float pcp_f32_from_bf16(uint16_t bits)
{
    return pcp_of_bits_f32((uint32_t)bits << 16);
}

/* To nearest even; every NaN becomes the quiet one of its sign. */
PCP_FN uint16_t pcp_bf16_from_f32(float x)
{
    uint32_t bits = pcp_bits_f32(x), nan = (bits >> 16 & 0x8000u) | 0x7FC0u;
    uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(x != x ? nan : rounded);
}

/* Of a number that is a bf16 already. */
PCP_FN uint16_t pcp_bf16_of_f32(float x)
{
    return (uint16_t)(pcp_bits_f32(x) >> 16);
}

PCP_FN float pcp_f32_from_f16(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7FFF) << 13, exp = bits & 0x0F800000u;
    float normal = pcp_of_bits_f32(bits + ((127u - 15u) << 23));
    float special = pcp_of_bits_f32(bits | 0x7F800000u | (bits & 0x007FFFFFu ? 0x00400000u : 0));
    float subnormal = (float)(int32_t)(half & 0x3FF) * 0x1p-24f;
    float y = exp == 0 ? subnormal : exp == 0x0F800000u ? special : normal;
    return pcp_of_bits_f32(pcp_bits_f32(y) | (uint32_t)(half & 0x8000) << 16);
}

PCP_FN uint16_t pcp_f16_from_f32(float x)
{
    uint32_t sign = pcp_bits_f32(x) >> 16 & 0x8000u;
    float a = __builtin_fabsf(x);
    uint32_t bits = pcp_bits_f32(a);
    /* 0.5 has the ulp of an f16 subnormal: adding it rounds */
    uint32_t subnormal = pcp_bits_f32((a < 1.0f ? a : 0) + 0.5f) - 0x3F000000u;
    uint32_t normal = (bits - ((127u - 15u) << 23) + 0xFFFu + (bits >> 13 & 1)) >> 13;
    uint32_t y = a < 0x1p-14f ? subnormal : a >= 65520.0f ? 0x7C00u : normal;
    return (uint16_t)(sign | (x != x ? 0x7E00u : y));
}

#endif
