/* Codecs that send every value: f32, bf16, int8, e3m0. */
#include <float.h>

#include "base/half.h"
#include "outer/codec_bytes.h"
#include "outer/kernels.h"

static int refuse_decoded(const char *codec, size_t i, float value, err_t *err)
{
    return err_set(err, ERR_CORRUPT, "%s: element %zu decodes to %g", codec, i, (double)value);
}

/* --- f32 --- */
size_t codec_most_f32(size_t n)
{
    return 4 * n;
}

size_t codec_encode_f32(const float *values, size_t n, uint8_t *out)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (n) memcpy(out, values, 4 * n);
#else
    for (size_t i = 0; i < n; i++) put_f32(out + 4 * i, values[i]);
#endif
    return 4 * n;
}

int codec_decode_f32(const uint8_t *bytes, size_t n_bytes, float *values, size_t n, err_t *err)
{
    (void)n_bytes; /* as many as it must be */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (n) memcpy(values, bytes, 4 * n);
#else
    for (size_t i = 0; i < n; i++) values[i] = get_f32(bytes + 4 * i);
#endif
    bool finite = outer_kernels()->within(values, n, FLT_MAX);
    for (size_t i = 0; !finite && i < n; i++)
        if (!isfinite(values[i])) return refuse_decoded("f32", i, values[i], err);
    return 0;
}

/* --- bf16: the upper half of f32, rounded to nearest even --- */
size_t codec_most_bf16(size_t n)
{
    return 2 * n;
}

size_t codec_encode_bf16(const float *values, size_t n, uint8_t *out)
{
    uint16_t bits[CODEC_BLOCK];
    for (size_t from = 0; from < n; from += CODEC_BLOCK) {
        size_t count = codec_block(n, from);
        outer_kernels()->halve(values + from, count, bits);
        for (size_t i = 0; i < count; i++, out += 2) {
            out[0] = (uint8_t)bits[i];
            out[1] = (uint8_t)(bits[i] >> 8);
        }
    }
    return 2 * n;
}

int codec_decode_bf16(const uint8_t *bytes, size_t n_bytes, float *values, size_t n, err_t *err)
{
    (void)n_bytes; /* as many as it must be */
    for (size_t i = 0; i < n; i++) {
        values[i] = half_from_bf16((uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8));
        if (!isfinite(values[i])) return refuse_decoded("bf16", i, values[i], err);
    }
    return 0;
}

/* --- int8: q = round(v / scale), scale = max|v| / 127 per block --- */
size_t codec_most_int8(size_t n)
{
    return n + 4 * codec_blocks(n);
}

static float block_scale(const float *values, size_t n)
{
    float scale = outer_kernels()->largest(values, n) / 127.0f;
    /* Next to the largest float, a scale that was rounded up would decode to infinity. */
    if (isinf(scale * 127.0f)) scale = nextafterf(scale, 0.0f);
    return scale > 0 ? scale : 1.0f; /* all zero, or too small to divide by */
}

size_t codec_encode_int8(const float *values, size_t n, uint8_t *out)
{
    for (size_t from = 0; from < n; from += CODEC_BLOCK) {
        size_t count = codec_block(n, from);
        float scale = block_scale(values + from, count);
        put_f32(out, scale);
        out += 4;
        /* A subnormal scale is rounded coarsely: the largest value may pass 127. */
        outer_kernels()->quantise(values + from, count, scale, (int8_t *)out);
        out += count;
    }
    return codec_most_int8(n);
}

int codec_decode_int8(const uint8_t *bytes, size_t n_bytes, float *values, size_t n, err_t *err)
{
    (void)n_bytes; /* as many as it must be */
    for (size_t from = 0; from < n; from += CODEC_BLOCK) {
        size_t count = codec_block(n, from);
        float scale = get_f32(bytes);
        if (!isfinite(scale) || scale <= 0)
            return err_set(err, ERR_CORRUPT, "int8: block %zu has scale %g", from / CODEC_BLOCK,
                           (double)scale);
        bytes += 4;
        for (size_t i = 0; i < count; i++) {
            values[from + i] = (float)(int8_t)*bytes++ * scale;
            if (!isfinite(values[from + i]))
                return refuse_decoded("int8", from + i, values[from + i], err);
        }
    }
    return 0;
}

/* --- e3m0: sign and exponent, relative to the block's maximum --- */
size_t codec_most_e3m0(size_t n)
{
    return n / 2 + n % 2 + 4 * codec_blocks(n);
}

/* Magnitude c of 1 to 7 is 2^(c - 7) of the maximum, 0 is 0: above threshold[k] and not above the next, which lie halfway,
 * it is k + 1. As floats, rounded down: no float lies between. */
static void find_thresholds(double largest, float threshold[7])
{
    for (int k = 0; k < 7; k++) {
        double limit = (k == 0 ? 0x1p-7 : ldexp(1.5, k - 7)) * largest; /* exact */
        threshold[k] = (float)limit;
        if ((double)threshold[k] > limit) threshold[k] = nextafterf(threshold[k], 0.0f);
    }
}

static float of_e3m0(unsigned bits, float largest)
{
    unsigned c = bits & 7;
    float size = c ? ldexpf(largest, (int)c - 7) : 0.0f;
    return bits & 8 ? -size : size;
}

size_t codec_encode_e3m0(const float *values, size_t n, uint8_t *out)
{
    float threshold[7];
    uint8_t rank[CODEC_BLOCK + 1];
    for (size_t from = 0; from < n; from += CODEC_BLOCK) {
        size_t count = codec_block(n, from);
        float largest = outer_kernels()->largest(values + from, count);
        if (largest <= 0) largest = 1; /* all zero */
        put_f32(out, largest);
        out += 4;
        find_thresholds((double)largest, threshold);
        outer_kernels()->rank(values + from, count, threshold, rank);
        if (count % 2) rank[count] = 0;
        for (size_t i = 0; i < count; i += 2) *out++ = (uint8_t)(rank[i] | rank[i + 1] << 4);
    }
    return codec_most_e3m0(n);
}

int codec_decode_e3m0(const uint8_t *bytes, size_t n_bytes, float *values, size_t n, err_t *err)
{
    (void)n_bytes; /* as many as it must be */
    for (size_t from = 0; from < n; from += CODEC_BLOCK) {
        size_t count = codec_block(n, from);
        float largest = get_f32(bytes), level[16];
        if (!isfinite(largest) || largest <= 0)
            return err_set(err, ERR_CORRUPT, "e3m0: block %zu has maximum %g", from / CODEC_BLOCK,
                           (double)largest);
        bytes += 4;
        for (unsigned c = 0; c < 16; c++) level[c] = of_e3m0(c, largest);
        for (size_t i = 0; i < count; i++) values[from + i] = level[bytes[i / 2] >> i % 2 * 4 & 15];
        bytes += count / 2 + count % 2;
    }
    return 0;
}
