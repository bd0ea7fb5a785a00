/* What codecs share: their declarations, and little-endian numbers in bytes. Internal to outer/. */
#ifndef OUTER_CODEC_BYTES_H
#define OUTER_CODEC_BYTES_H

#include <math.h>
#include <string.h>

#include "outer/codec.h"

#define CODEC_DECLARE(word, ...)                                                           \
    size_t codec_most_##word(size_t n);                                                    \
    size_t codec_encode_##word(const float *values, size_t n, uint8_t *out);               \
    int codec_decode_##word(const uint8_t *bytes, size_t n_bytes, float *values, size_t n, \
                            err_t *err);
CODECS(CODEC_DECLARE)

static inline size_t codec_blocks(size_t n)
{
    return n / CODEC_BLOCK + (n % CODEC_BLOCK != 0);
}

/* Of the block that begins at value `from`. */
static inline size_t codec_block(size_t n, size_t from)
{
    return n - from < CODEC_BLOCK ? n - from : CODEC_BLOCK;
}

/* Bytes are put together by shifts: the wire is little-endian on every machine. */
static inline void put_u32(uint8_t *out, uint32_t bits)
{
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(bits >> 8 * i);
}

static inline uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline void put_f32(uint8_t *out, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_u32(out, bits);
}

static inline float get_f32(const uint8_t *at)
{
    uint32_t bits = get_u32(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
