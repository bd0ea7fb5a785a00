/* Counter-based random numbers; see rng.h. */
#include "base/rng.h"

#include <math.h>

uint64_t rng_mix(uint64_t x)
{
    uint64_t z = x * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint64_t rng_bits(uint64_t seed, uint64_t i)
{
    return rng_mix(rng_mix(seed ^ 0xD1B54A32D192ED03u) + i + 1);
}

double rng_uniform(uint64_t seed, uint64_t i)
{
    return (double)(rng_bits(seed, i) >> 11) * 0x1p-53;
}

double rng_normal(uint64_t seed, uint64_t i)
{
    double u = 1.0 - rng_uniform(seed, 2 * i), v = rng_uniform(seed, 2 * i + 1);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

uint64_t rng_derive(uint64_t seed, const char *purpose)
{
    uint64_t h = rng_mix(seed);
    for (const char *p = purpose; *p; p++) h = rng_mix(h ^ (unsigned char)*p);
    return h;
}
