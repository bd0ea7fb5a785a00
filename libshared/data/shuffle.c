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

/* Keys of the parts of an epoch's order: those of the pools are 1, 2, ... */
enum { KEY_BLOCKS = 0 };
#define KEY_REST UINT64_MAX

void block_shuffle_init(block_shuffle_t *self, uint64_t seed, uint64_t epoch, uint64_t n,
                        uint64_t block)
{
    if (block == 0 || block > n) block = n;
    *self = (block_shuffle_t){.n = n, .block = block};
    self->key = rng_bits(rng_derive(seed, "block shuffle"), epoch);
    self->shift = rng_bits(rng_derive(self->key, "shift"), 0) % n;
    shuffle_init(&self->blocks, self->key, KEY_BLOCKS, n / block);
}

uint64_t block_shuffle_at(const block_shuffle_t *self, uint64_t i)
{
    uint64_t whole = self->n / self->block * self->block, at;
    shuffle_t within;
    if (i < whole) {
        uint64_t pool = i / self->block / SHUFFLE_POOL, first = pool * SHUFFLE_POOL * self->block;
        uint64_t n = (uint64_t)SHUFFLE_POOL * self->block;
        if (n > whole - first) n = whole - first;
        shuffle_init(&within, self->key, 1 + pool, n);
        uint64_t k = shuffle_at(&within, i - first);
        uint64_t block = shuffle_at(&self->blocks, pool * SHUFFLE_POOL + k / self->block);
        at = block * self->block + k % self->block;
    } else {
        shuffle_init(&within, self->key, KEY_REST, self->n - whole);
        at = whole + shuffle_at(&within, i - whole);
    }
    return (at + self->shift) % self->n;
}
