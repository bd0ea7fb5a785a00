/* f16 and bf16 as bit patterns; conversions round once, to nearest even (IEEE 754-2019, 4.3.1).
 * NaN stays NaN (quiet), infinities and signed zeros are kept. Pure functions. */
#ifndef BASE_HALF_H
#define BASE_HALF_H

#include <stdint.h>

float half_from_bf16(uint16_t bits);
float half_from_f16(uint16_t bits);
uint16_t half_to_bf16(double value);
uint16_t half_to_f16(double value);

#endif
