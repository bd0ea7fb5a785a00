/* Codecs for pseudo-gradients on the wire: a table of {name, id, size, feedback, encode, decode}.
 *
 *   name  id  bytes for n values           error
 *   f32   1   4 n                          none
 *   bf16  2   2 n                          nearest even, relative 2^-9
 *   int8  3   n + 4 per started block      absmax of each block of 4,096: at most scale / 2,
 *                                          scale = max|v| / 127; layout: f32 scale, then the bytes
 *   e3m0  4   n / 2 + 4 per started block  sign and 3 bits of exponent relative to the block's
 *                                          maximum, nearest of 0 and max|v| 2^-6 ... 2^0: at most a
 *                                          third of |v|, or max|v| 2^-7 below that. Streaming
 *                                          DiLoCo's (arXiv 2501.18512). Layout: f32 maximum, then two
 *                                          values a byte, the first one in the low half
 *   topk  5   at most 122 per started      the largest 64 of each 4,096, as 2 bits and a 12-bit
 *             block (n / 33.6)             index; the rest is 0, and the error is kept and added to
 *                                          the next pseudo-gradient: feedback 0.95. SparseLoCo's
 *                                          (arXiv 2508.15706); codec_topk.c has the layout
 *
 * All little-endian. A chunk is encoded on its own; blocks count from its first value. Encoding is
 * deterministic, so equal inputs have equal hashes. Pure functions.
 *
 * Error feedback: a codec with feedback beta > 0 keeps, of each replica, what its encodings have
 * left out, a vector e as long as the parameters, zero at first:
 *
 *   a = beta e + d;  sent: encode(a);  e <- a - decode(encode(a))
 *
 * (codec_feedback, codec_residual). e is a function of the lease as its result is, and part of the
 * replica's inner state: worker/engine.h. */
#ifndef OUTER_CODEC_H
#define OUTER_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { CODEC_BLOCK = 4096 };

/* X(word, id on the wire, which is never reused, whether its size depends on n alone, feedback).
 * codec_most_WORD, codec_encode_WORD and codec_decode_WORD are in codec_dense.c, or a file of the
 * codec's own. */
#define CODECS_EXACT(X) \
    X(f32, 1, true, 0)  \
    X(bf16, 2, true, 0) \
    X(int8, 3, true, 0) \
    X(e3m0, 4, true, 0)
#define CODECS(X)   \
    CODECS_EXACT(X) \
    X(topk, 5, false, 0.95)

typedef struct codec {
    const char *name;
    uint32_t id;              /* on the wire */
    bool exact;               /* an encoding has `most` bytes, not fewer */
    double feedback;          /* beta, in [0, 1); 0: it keeps nothing */
    size_t (*most)(size_t n); /* largest encoding of n values */
    /* The number of bytes. Values are finite, and `most` bytes fit. */
    size_t (*encode)(const float *values, size_t n, uint8_t *out);
    /* From at most `most` bytes, if exact just so many. */
    int (*decode)(const uint8_t *bytes, size_t n_bytes, float *values, size_t n, err_t *err);
} codec_t;

/* By name or wire id; NULL with ERR_ARG and the known ones. Static storage. */
const codec_t *codec_find(const char *name, err_t *err);
const codec_t *codec_find_id(uint32_t id, err_t *err);

/* Largest size of n encoded values, for an exact codec the size; 0 when n is 0 or it does not fit
 * size_t. */
size_t codec_most(const codec_t *codec, size_t n);
bool codec_fits(const codec_t *codec, size_t n, size_t n_bytes); /* n values may have this size */

/* Encode n values into out[0, *n_bytes), where there is `space` for codec_most(n). ERR_NUMERIC: NaN
 * or Inf (every codec, so that the receiver need not guess). */
int codec_encode(const codec_t *codec, const float *values, size_t n, uint8_t *out, size_t space,
                 size_t *n_bytes, err_t *err);

/* The values themselves, where the encoding is their memory (f32 on little-endian machines, bytes
 * that are aligned); NULL: they have to be decoded. Not checked for NaN and Inf. */
const float *codec_view(const codec_t *codec, const void *bytes);

int codec_check(const float *values, size_t n, err_t *err); /* ERR_NUMERIC: NaN or Inf */

/* Decode exactly n values from n_bytes bytes nobody vouches for. ERR_SHAPE: a size or layout that
 * the codec never makes; ERR_CORRUPT: a scale that is not finite and positive, NaN or Inf. `values`
 * is unspecified then. */
int codec_decode(const codec_t *codec, const uint8_t *bytes, size_t n_bytes, float *values,
                 size_t n, err_t *err);

/* Error feedback, of codecs that keep something. values[n]: d, becomes a; error[n]: e. */
void codec_feedback(const codec_t *codec, const float *error, float *values, size_t n);

/* error[n] becomes a - decode(encode(a)), for a chunk a of n values that is encoded on its own.
 * `scratch` has room for codec_most(n) bytes. ERR_NUMERIC: NaN or Inf in a. */
int codec_residual(const codec_t *codec, const float *a, size_t n, uint8_t *scratch, float *error,
                   err_t *err);

/* A chunk whose last values are states of the model. These are means, no gradients: what error feedback adds of an
 * earlier round would make another statistic of them (a variance below zero), and a counter's step would be the
 * scale of the parameters in its block. They go as f32 behind the encoding of the others. */
typedef struct {
    const codec_t *codec; /* of all but the last n_exact values */
    size_t n, n_exact;
} codec_chunk_t;

/* Elements [begin, begin + n) of a vector whose states begin at exact_from; 0: it has none. */
codec_chunk_t codec_chunk(const codec_t *codec, uint64_t begin, size_t n, uint64_t exact_from);

/* As those of whole chunks above, which they are where n_exact is 0. */
size_t codec_chunk_most(const codec_chunk_t *self);
bool codec_chunk_fits(const codec_chunk_t *self, size_t n_bytes);
const float *codec_chunk_view(const codec_chunk_t *self, const void *bytes);
int codec_chunk_encode(const codec_chunk_t *self, const float *values, uint8_t *out, size_t space,
                       size_t *n_bytes, err_t *err);
int codec_chunk_decode(const codec_chunk_t *self, const uint8_t *bytes, size_t n_bytes,
                       float *values, err_t *err);
int codec_chunk_residual(const codec_chunk_t *self, const float *a, uint8_t *scratch, float *error,
                         err_t *err);

#endif
