/* f16 and bf16 conversions through the double's bit pattern, so that every source rounds once. */
#include "base/half.h"

#include <math.h>
#include <string.h>

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Round a double to a binary format with `exp_bits` exponent and `man_bits` mantissa bits. */
static uint16_t narrow(double value, int exp_bits, int man_bits)
{
    uint64_t bits = bits_of(value), man = bits & 0xFFFFFFFFFFFFFull;
    uint16_t sign = (uint16_t)(bits >> 63 << (exp_bits + man_bits));
    int exp = (int)(bits >> 52 & 0x7FF), exp_max = (1 << exp_bits) - 1, bias = exp_max >> 1;
    uint16_t inf = (uint16_t)(exp_max << man_bits);
    if (exp == 0x7FF) return sign | inf | (man ? (uint16_t)(1u << (man_bits - 1)) : 0);
    if (exp == 0) return sign; /* zero, or a double subnormal: far below the target's smallest */
    int e = exp - 1023 + bias, drop = 52 - man_bits;
    man |= 1ull << 52;
    if (e <= 0) { /* subnormal in the target: shift further, exponent field zero */
        drop += 1 - e;
        e = 0;
        if (drop > 54) return sign;
    } else {
        man &= ~(1ull << 52);
        man |= (uint64_t)e << 52;
    }
    uint64_t half = 1ull << (drop - 1), rest = man & ((1ull << drop) - 1), top = man >> drop;
    if (rest > half || (rest == half && (top & 1))) top++;
    if (top >= inf) return sign | inf; /* a carry out of the largest finite value */
    return sign | (uint16_t)top;
}

uint16_t half_to_bf16(double value)
{
    return narrow(value, 8, 7);
}

uint16_t half_to_f16(double value)
{
    return narrow(value, 5, 10);
}

float half_from_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

float half_from_f16(uint16_t bits)
{
    int exp = bits >> 10 & 31, man = bits & 1023;
    float sign = bits & 0x8000 ? -1.0f : 1.0f;
    if (exp == 31) return man ? NAN : sign * INFINITY;
    if (exp == 0) return sign * ldexpf((float)man, -24);
    return sign * ldexpf((float)(man | 1024), exp - 25);
}
