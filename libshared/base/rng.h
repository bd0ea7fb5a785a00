/* Counter-based random numbers: value i of stream `seed` is a pure function, so any part of a
 * sequence can be made anywhere, in any order, on any machine. splitmix64's finaliser (Steele et
 * al., "Fast splittable pseudorandom number generators", OOPSLA 2014). Pure functions. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* splitmix64's output for state x * golden gamma: 64 well-mixed bits. */
uint64_t rng_mix(uint64_t x);

/* Value i of the stream: uniform 64 bits, uniform [0, 1), standard normal (Box-Muller). */
uint64_t rng_bits(uint64_t seed, uint64_t i);
double rng_uniform(uint64_t seed, uint64_t i);
double rng_normal(uint64_t seed, uint64_t i);

/* A new seed for a named purpose, so that streams do not overlap. */
uint64_t rng_derive(uint64_t seed, const char *purpose);

#endif
