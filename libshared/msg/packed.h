/* Payloads in fewer bytes, without loss: Zstandard (RFC 8878), one frame each. What codecs leave is not evenly
 * distributed: whole numbers of int8 have about 7 bits of information, e3m0 3.4 of 4, bf16 12.5 of 16, f32 29 of 32, and the fast level
 * of Zstandard, which finds hardly a match in them, gets there by its Huffman codes alone, at some hundred MB/s.
 *
 * Both ends count, check, hash and keep payloads as they were; packed they are on the line alone. One thread at a time. */
#ifndef MSG_PACKED_H
#define MSG_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct packer packer_t;

packer_t *packer_new(void);
void packer_destroy(packer_t **self_p);

/* n bytes into out, which has room for n. Returns how many it took; 0: not worth it (less than a sixteenth is saved), or
 * there was no memory, and out holds nonsense. */
size_t packer_pack(packer_t *self, const void *bytes, size_t n, void *out);

/* Any bytes into exactly n; nothing is written beyond them. -1 with ERR_CORRUPT: they are not that, one frame and nothing
 * else. */
int packer_unpack(packer_t *self, const void *bytes, size_t n_bytes, void *out, size_t n,
                  err_t *err);

/* The same where only the most is known: how many came out; 0 with ERR_CORRUPT: none, or more. */
size_t packer_unpack_most(packer_t *self, const void *bytes, size_t n_bytes, void *out, size_t most,
                          err_t *err);

#endif
