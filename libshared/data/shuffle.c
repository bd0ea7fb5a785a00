/* Keyed permutation by a Feistel network with cycle walking. */
#include "data/shuffle.h"

#include "base/rng.h"

void shuffle_init(shuffle_t *self, uint64_t seed, uint64_t epoch, uint64_t n)
{
    uint64_t key = rng_bits(rng_derive(seed, "shuffle"), epoch);
    self->n = n;
    self->half_bits = 1;
    while ((uint64_t)1 << 2 * self->half_bits < n) self->half_bits++;
    for (int r = 0; r < SHUFFLE_ROUNDS; r++) self->key[r] = rng_bits(key, (uint64_t)r);
}

uint64_t shuffle_at(const shuffle_t *self, uint64_t i)
{
    uint64_t mask = ((uint64_t)1 << self->half_bits) - 1;
    /* The network permutes [0, 4^half_bits); followed until it re-enters [0, n), it permutes that.
     */
    do {
        uint64_t left = i >> self->half_bits, right = i & mask;
        for (int r = 0; r < SHUFFLE_ROUNDS; r++) {
            uint64_t next = left ^ (rng_mix(right ^ self->key[r]) & mask);
            left = right;
            right = next;
        }
        i = left << self->half_bits | right;
    } while (i >= self->n);
    return i;
}
