/* Codecs for pseudo-gradients on the wire: a table of {name, id, size, encode, decode}.
 *
 *   name  id  bytes for n values           error
 *   f32   1   4 n                          none
 *   bf16  2   2 n                          nearest even, relative 2^-9
 *   int8  3   n + 4 per started block      absmax of each block of 4,096: at most scale / 2,
 *                                          scale = max|v| / 127; layout: f32 scale, then the bytes
 *
 * All little-endian. A chunk is encoded on its own; blocks count from its first value. Encoding is
 * deterministic, so equal inputs have equal hashes. Pure functions. */
#ifndef OUTER_CODEC_H
#define OUTER_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { CODEC_BLOCK = 4096 };

/* X(word, id on the wire, which is never reused): codec.c has size_WORD, encode_WORD, decode_WORD.
 */
#define CODECS(X) X(f32, 1) X(bf16, 2) X(int8, 3)

typedef struct codec {
    const char *name;
    uint32_t id; /* on the wire */
    size_t (*size)(size_t n);
    int (*encode)(const float *values, size_t n, uint8_t *out, err_t *err);
    int (*decode)(const uint8_t *bytes, size_t n, float *values, err_t *err);
} codec_t;

/* By name or wire id; NULL with ERR_ARG and the known ones. Static storage. */
const codec_t *codec_find(const char *name, err_t *err);
const codec_t *codec_find_id(uint32_t id, err_t *err);

/* Exact size of n encoded values; 0 when n is 0 or the size does not fit size_t. */
size_t codec_bytes(const codec_t *codec, size_t n);

/* Encode n values into out[0, codec_bytes(n)), which must fit into `space`. ERR_NUMERIC: NaN or Inf
 * (every codec, so that the receiver need not guess). */
int codec_encode(const codec_t *codec, const float *values, size_t n, uint8_t *out, size_t space,
                 err_t *err);

/* The values themselves, where the encoding is their memory (f32 on little-endian machines, bytes
 * that are aligned); NULL: they have to be decoded. Not checked for NaN and Inf. */
const float *codec_view(const codec_t *codec, const void *bytes);

int codec_check(const float *values, size_t n, err_t *err); /* ERR_NUMERIC: NaN or Inf */

/* Decode exactly n values from n_bytes bytes nobody vouches for. ERR_CORRUPT: another size than
 * codec_bytes(n), a scale that is not finite and positive, NaN or Inf. `values` is unspecified
 * then. */
int codec_decode(const codec_t *codec, const uint8_t *bytes, size_t n_bytes, float *values,
                 size_t n, err_t *err);

#endif
