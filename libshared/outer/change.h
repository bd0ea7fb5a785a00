/* The way down, where it is encoded: how a round has changed the parameters, as every member of the run takes it.
 *
 * The outer step turns theta into x. What the codec makes of the change becomes the next parameters, and what it
 * leaves out is kept as e (zero at first) and goes with the next round's change (error feedback, as EF21-style
 * compression of the server's updates; with e in full no change is lost, only late):
 *
 *   a = (x - theta) + e;  sent: q = encode(a);  theta' = theta + decode(q);  e' = a - decode(q)
 *
 * So the aggregator and everybody who had theta and adds the change hold the same theta', to the bit. A chunk of it is
 *
 *   8 bytes XXH3 of the chunk of theta', little-endian, then q
 *
 * and its values are encoded in pieces of CHANGE_GRAIN, which are whole blocks of the codec, so that their encodings stand
 * one behind the other as that of the whole would. Codecs whose size depends on the number of values alone
 * (codec_t.exact). Pure functions. */
#ifndef OUTER_CHANGE_H
#define OUTER_CHANGE_H

#include "outer/codec.h"

enum { CHANGE_HEAD = 8, CHANGE_GRAIN = 1 << 16 };

/* The codec of that id or name, for the way down: NULL without an error for 0 and f32, where the parameters themselves go
 * down; NULL with ERR_ARG for one that is unknown or cannot be used. */
const codec_t *change_codec(uint32_t id, err_t *err);
const codec_t *change_codec_named(const char *name, err_t *err);

/* Bytes of a chunk of n values; of all chunks of n values that have `chunk` values each, a multiple of
 * CHANGE_GRAIN, and the last the rest. */
size_t change_bytes(const codec_t *codec, size_t n);
size_t change_room(const codec_t *codec, uint64_t n, size_t chunk);

/* Changes of so many rounds, one after the other, take about as many bytes as parameters do: who is further behind takes
 * these. */
uint32_t change_rounds(const codec_t *codec);

/* A grain: n values, at most CHANGE_GRAIN. x: the outer step's parameters, become theta'; scratch: n values. Encodes into
 * out[change_bytes(codec, n) - CHANGE_HEAD]. ERR_NUMERIC: NaN or Inf. */
typedef struct {
    size_t n;
    const float *theta, *error;
    float *x, *error_next, *scratch;
} change_grain_t;
int change_make(const codec_t *codec, const change_grain_t *grain, uint8_t *out, err_t *err);

/* The head of a chunk, when all of its n values are what they shall be, and the hash that it is made of. */
uint64_t change_seal(const float *theta_next, size_t n, uint8_t head[CHANGE_HEAD]);

/* Adds a chunk to the n values of theta that it was made for; scratch: n values. ERR_CORRUPT, ERR_SHAPE: bytes that
 * are none, or theta was another; it is of no use then. */
int change_apply(const codec_t *codec, const uint8_t *bytes, size_t n_bytes, float *theta, size_t n,
                 float *scratch, err_t *err);

#endif
