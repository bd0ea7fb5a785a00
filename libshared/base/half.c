/* f16 and bf16: every source rounds once, from double. */
#include "base/half.h"

#include <math.h>
#include <string.h>

#include "base/small_float.h"

uint16_t half_to_bf16(double value)
{
    return (uint16_t)pcp_small_float_code(value, 8, 7, 127, SMALL_FLOAT_IEEE);
}

uint16_t half_to_f16(double value)
{
    return (uint16_t)pcp_small_float_code(value, 5, 10, 15, SMALL_FLOAT_IEEE);
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
    if (exp == 31) return copysignf(man ? NAN : INFINITY, sign);
    if (exp == 0) return sign * ldexpf((float)man, -24);
    return sign * ldexpf((float)(man | 1024), exp - 25);
}
