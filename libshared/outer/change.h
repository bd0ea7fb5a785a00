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
 * (codec_t.exact).
 *
 * States of the model (running statistics, counters) are no sums of changes: where exact_from is set, those from there on
 * stand behind the encoding as what they become, f32, and have no error. Pure functions. */
#ifndef OUTER_CHANGE_H
#define OUTER_CHANGE_H

#include "outer/codec.h"

enum { CHANGE_HEAD = 8, CHANGE_GRAIN = 1 << 16 };

/* The codec of that id or name, for the way down: NULL without an error for 0 and f32, where the parameters themselves go
 * down; NULL with ERR_ARG for one that is unknown or cannot be used. */
const codec_t *change_codec(uint32_t id, err_t *err);
const codec_t *change_codec_named(const char *name, err_t *err);

/* How changes of a vector of parameters are sent. */
typedef struct {
    const codec_t *codec; /* as change_codec gives it */
    uint64_t
        exact_from; /* its elements from here on are states, which go as they are; 0: all go by the codec */
} change_t;

/* What requests call it: the codec's id, 0: none; with CHANGE_EXACT where some elements go as they are. And what that means
 * for parameters whose states begin at `states` (0: they have none): -1 with ERR_ARG as change_codec. */
enum { CHANGE_EXACT = 0x80 };
uint8_t change_word(const change_t *self);
int change_of_word(uint32_t word, uint64_t states, change_t *out, err_t *err);

/* Bytes of a chunk, elements [begin, begin + n); of all chunks of those, which have `chunk` elements each, a multiple of
 * CHANGE_GRAIN, and the last the rest. */
size_t change_bytes(const change_t *self, uint64_t begin, size_t n);
size_t change_room(const change_t *self, uint64_t begin, uint64_t n, size_t chunk);

/* Changes of so many rounds, one after the other, take about as many bytes as parameters do: who is further behind takes
 * these. */
uint32_t change_rounds(const codec_t *codec);

/* A grain: elements [begin, begin + n), at most CHANGE_GRAIN. x: the outer step's parameters, become theta'; scratch: n
 * values. Encodes into out[change_bytes(self, begin, n) - CHANGE_HEAD]. ERR_NUMERIC: NaN or Inf. */
typedef struct {
    uint64_t begin;
    size_t n;
    const float *theta, *error;
    float *x, *error_next, *scratch;
} change_grain_t;
int change_make(const change_t *self, const change_grain_t *grain, uint8_t *out, err_t *err);

/* The head of a chunk, when all of its n values are what they shall be, and the hash that it is made of. */
uint64_t change_seal(const float *theta_next, size_t n, uint8_t head[CHANGE_HEAD]);

/* Adds a chunk to the n values of theta, elements from `begin` on, that it was made for; scratch: n values. ERR_CORRUPT,
 * ERR_SHAPE: bytes that are none, or theta was another; it is of no use then. */
typedef struct {
    uint64_t begin;
    size_t n;
    float *theta, *scratch;
} change_place_t;
int change_apply(const change_t *self, const uint8_t *bytes, size_t n_bytes,
                 const change_place_t *to, err_t *err);

#endif
