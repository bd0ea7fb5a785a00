/* Binary floats of up to 16 bits, by their table row: which encodings exist, and how numbers get
 * into them and out. A number is rounded once, to nearest, ties to even (IEEE 754-2019, 4.3.1);
 * what is too large then follows the type's own rule, as LLVM's APFloat has it. This file is also
 * part of the source of generated kernels (codegen/narrow.c), so the interpreter and compiled code
 * share it; it includes nothing of this project. Pure functions. */
#ifndef BASE_SMALL_FLOAT_H
#define BASE_SMALL_FLOAT_H

#include <stdint.h>

#ifndef PCP_FN
#define PCP_FN static inline __attribute__((always_inline, unused))
#endif

/* What the encodings beyond the finite numbers are. Too large a number, and an infinity where
 * there is none, becomes: IEEE infinity, FN FNUZ and SCALE NaN, FINITE the largest finite one. */
enum {
    SMALL_FLOAT_IEEE,   /* the top exponent: infinities and NaN */
    SMALL_FLOAT_FN,     /* all ones: NaN; no infinity */
    SMALL_FLOAT_FNUZ,   /* the place of -0: NaN; no infinity, and -0 becomes 0 */
    SMALL_FLOAT_FINITE, /* neither; NaN, which has no encoding, becomes -0 */
    SMALL_FLOAT_SCALE   /* powers of two alone: no sign, no zero; all ones: NaN. 0 and what is too
                           small become the smallest, negative numbers NaN. Of two equally near
                           the larger is taken, as IEEE 754 rules for numbers of one digit. */
};

/* The value 2^(e - bias) 1.m of the encoding [sign] e m in the low bits of `code`; exact. NaN keeps
 * the sign of its encoding. */
PCP_FN double pcp_small_float_value(uint32_t code, int exp_bits, int man_bits, int bias, int kind)
{
    uint32_t magnitude = code & ((1u << (exp_bits + man_bits)) - 1), top = (1u << exp_bits) - 1;
    uint32_t exp = magnitude >> man_bits, man = magnitude & ((1u << man_bits) - 1);
    uint32_t negative = kind == SMALL_FLOAT_SCALE ? 0 : code >> (exp_bits + man_bits) & 1;
    int all_ones = exp == top && man == (1u << man_bits) - 1, subnormal = exp == 0;
    if (kind == SMALL_FLOAT_SCALE) subnormal = 0;
    int is_nan = kind == SMALL_FLOAT_IEEE   ? exp == top && man != 0
                 : kind == SMALL_FLOAT_FNUZ ? negative && magnitude == 0
                                            : kind != SMALL_FLOAT_FINITE && all_ones;
    uint64_t unit = (uint64_t)(1023 - bias - man_bits + (subnormal ? 1 : (int)exp)) << 52;
    double ulp, value;
    __builtin_memcpy(&ulp, &unit, sizeof ulp);
    value = (double)(subnormal ? man : man | 1u << man_bits) * ulp;
    if (kind == SMALL_FLOAT_IEEE && exp == top) value = __builtin_inf();
    if (is_nan) value = __builtin_nan("");
    return negative ? -value : value;
}

/* The number's encoding in a type of powers of two. */
PCP_FN uint32_t pcp_small_float_scale(uint64_t bits, int exp_bits, int bias)
{
    int top = (1 << exp_bits) - 1, exp = (int)(bits >> 52 & 0x7FF);
    uint64_t man = bits & 0xFFFFFFFFFFFFFull;
    int field = exp - 1023 + bias + (int)(man >> 51);
    if (exp == 0x7FF || (bits >> 63 && bits << 1)) return (uint32_t)top;
    return field < 0 ? 0 : field > top ? (uint32_t)top : (uint32_t)field;
}

/* The encoding of `value`, rounded. */
PCP_FN uint32_t pcp_small_float_code(double value, int exp_bits, int man_bits, int bias, int kind)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    if (kind == SMALL_FLOAT_SCALE) return pcp_small_float_scale(bits, exp_bits, bias);
    uint32_t sign = (uint32_t)(bits >> 63) << (exp_bits + man_bits);
    uint32_t ones = (1u << (exp_bits + man_bits)) - 1, inf = ones >> man_bits << man_bits;
    uint32_t largest = kind == SMALL_FLOAT_IEEE ? inf - 1 : ones - (kind == SMALL_FLOAT_FN);
    uint32_t nan = kind == SMALL_FLOAT_IEEE ? sign | inf | 1u << (man_bits - 1)
                   : kind == SMALL_FLOAT_FN ? sign | ones
                                            : ones + 1; /* the place of -0 */
    uint32_t beyond = kind == SMALL_FLOAT_IEEE     ? sign | inf
                      : kind == SMALL_FLOAT_FINITE ? sign | largest
                                                   : nan;
    if (value != value) return nan;
    int exp = (int)(bits >> 52 & 0x7FF) - 1023 + bias, drop = 52 - man_bits;
    uint64_t man = bits & 0xFFFFFFFFFFFFFull;
    if (exp > 0) {
        man |= (uint64_t)exp << 52; /* a carry of the mantissa counts up the exponent */
    } else {                        /* subnormal: the leading one is written out, shifted */
        man |= 1ull << 52;
        drop = drop + 1 - exp > 62 ? 62 : drop + 1 - exp;
    }
    uint64_t rest = man & ((1ull << drop) - 1), half = 1ull << (drop - 1), up = man >> drop;
    up += rest > half || (rest == half && (up & 1));
    if (up > largest) return beyond;
    return (kind == SMALL_FLOAT_FNUZ && up == 0) ? 0 : sign | (uint32_t)up;
}

/* The neighbour of a towards b, both numbers of the type; b where they are equal. */
PCP_FN double pcp_small_float_next(double a, double b, int exp_bits, int man_bits, int bias,
                                   int kind)
{
    uint32_t code = pcp_small_float_code(a, exp_bits, man_bits, bias, kind);
    uint32_t negative = 1u << (exp_bits + man_bits);
    if (a != a || b != b) return a + b;
    if (a == b) return b;
    code = a == 0 ? (b < 0 ? negative : 0) | 1 : (b > a) == (a > 0) ? code + 1 : code - 1;
    if (kind == SMALL_FLOAT_FNUZ && code == negative) code = 0;
    return pcp_small_float_value(code, exp_bits, man_bits, bias, kind);
}

#endif
