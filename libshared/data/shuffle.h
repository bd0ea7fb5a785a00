/* Keyed permutation of [0, n) without a table: the order of an epoch, computed anywhere.
 *
 * A balanced Feistel network over the smallest even-bit domain that holds n, with cycle walking
 * back into [0, n) (Black & Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). The
 * domain is at most 4 n, so a look-up takes at most 4 walks on average. Not cryptographic. Pure. */
#ifndef DATA_SHUFFLE_H
#define DATA_SHUFFLE_H

#include <stdint.h>

enum { SHUFFLE_ROUNDS = 6 };

typedef struct {
    uint64_t n;
    int half_bits;
    uint64_t key[SHUFFLE_ROUNDS];
} shuffle_t;

/* The permutation of (seed, epoch) over n >= 1 items, n <= 2^62. */
void shuffle_init(shuffle_t *self, uint64_t seed, uint64_t epoch, uint64_t n);

/* Where position i < n of the epoch reads: a bijection of [0, n). */
uint64_t shuffle_at(const shuffle_t *self, uint64_t i);

/* The same by blocks, for data that is read from afar or from disks: items are taken in blocks of
 * `block` in a row, blocks come in a permuted order, and the items of SHUFFLE_POOL blocks at a time
 * are permuted among each other. A stretch of the epoch so reads from a few places only, and two
 * items of a block are at most a pool's items apart. What is left behind the last whole block comes
 * last; where the first block begins changes from epoch to epoch. */
enum { SHUFFLE_POOL = 16 };

typedef struct {
    uint64_t key, n, block;
    uint64_t shift;   /* added to each item, modulo n */
    shuffle_t blocks; /* the whole ones */
} block_shuffle_t;

/* block 0, or more than n: all items are one block, so this is a full permutation (not that of
 * shuffle_init). */
void block_shuffle_init(block_shuffle_t *self, uint64_t seed, uint64_t epoch, uint64_t n,
                        uint64_t block);
uint64_t block_shuffle_at(const block_shuffle_t *self, uint64_t i);

#endif
