/* Codecs for pseudo-gradients: one row each. */
#include "outer/codec.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "base/str.h"
#include "outer/kernels.h"

static int refuse_value(size_t i, float value, err_t *err)
{
    return err_set(err, ERR_NUMERIC, "pseudo-gradient element %zu is %g", i, (double)value);
}

static int refuse_decoded(const char *codec, size_t i, float value, err_t *err)
{
    return err_set(err, ERR_CORRUPT, "%s: element %zu decodes to %g", codec, i, (double)value);
}

/* Bytes are put together by shifts: the wire is little-endian on every machine. */
static void put_u32(uint8_t *out, uint32_t bits)
{
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(bits >> 8 * i);
}

static uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put_f32(uint8_t *out, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_u32(out, bits);
}

static float get_f32(const uint8_t *at)
{
    uint32_t bits = get_u32(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* --- f32 --- */
static size_t size_f32(size_t n)
{
    return 4 * n;
}

static int encode_f32(const float *values, size_t n, uint8_t *out, err_t *err)
{
    (void)err;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (n) memcpy(out, values, 4 * n);
#else
    for (size_t i = 0; i < n; i++) put_f32(out + 4 * i, values[i]);
#endif
    return 0;
}

static int decode_f32(const uint8_t *bytes, size_t n, float *values, err_t *err)
{
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
static size_t size_bf16(size_t n)
{
    return 2 * n;
}

static int encode_bf16(const float *values, size_t n, uint8_t *out, err_t *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++) {
        uint32_t wide;
        memcpy(&wide, &values[i], sizeof wide);
        /* Half a step, less one where the kept part is even: ties go to even. */
        uint16_t bits = (uint16_t)((wide + 0x7FFF + (wide >> 16 & 1)) >> 16);
        /* Finite values within half a step of 2^128 would round to infinity: keep the largest. */
        if ((bits & 0x7FFF) == 0x7F80) bits--;
        out[2 * i] = (uint8_t)bits;
        out[2 * i + 1] = (uint8_t)(bits >> 8);
    }
    return 0;
}

static int decode_bf16(const uint8_t *bytes, size_t n, float *values, err_t *err)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = half_from_bf16((uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8));
        if (!isfinite(values[i])) return refuse_decoded("bf16", i, values[i], err);
    }
    return 0;
}

/* --- int8: q = round(v / scale), scale = max|v| / 127 per block --- */
static size_t size_int8(size_t n)
{
    return n + 4 * (n / CODEC_BLOCK + (n % CODEC_BLOCK != 0));
}

static float block_scale(const float *values, size_t n)
{
    float largest = 0;
    for (size_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf(values[i]));
    float scale = largest / 127.0f;
    /* Next to the largest float, a scale that was rounded up would decode to infinity. */
    if (isinf(scale * 127.0f)) scale = nextafterf(scale, 0.0f);
    return scale > 0 ? scale : 1.0f; /* all zero, or too small to divide by */
}

static int encode_int8(const float *values, size_t n, uint8_t *out, err_t *err)
{
    (void)err;
    for (size_t from = 0; from < n; from += CODEC_BLOCK) {
        size_t count = n - from < CODEC_BLOCK ? n - from : CODEC_BLOCK;
        float scale = block_scale(values + from, count);
        put_f32(out, scale);
        out += 4;
        for (size_t i = 0; i < count; i++) {
            long q = lrint((double)values[from + i] / (double)scale);
            /* A subnormal scale is rounded coarsely, and the largest value may pass 127. */
            q = q > 127 ? 127 : q < -127 ? -127 : q;
            *out++ = (uint8_t)(int8_t)q;
        }
    }
    return 0;
}

static int decode_int8(const uint8_t *bytes, size_t n, float *values, err_t *err)
{
    for (size_t from = 0; from < n; from += CODEC_BLOCK) {
        size_t count = n - from < CODEC_BLOCK ? n - from : CODEC_BLOCK;
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

/* Largest input of size(): keeps every size_ function free of overflow. */
static const size_t most_values = SIZE_MAX / 16;

#define CODEC(word, id) {#word, id, size_##word, encode_##word, decode_##word},
static const codec_t codecs[] = {CODECS(CODEC)};
enum { N_CODECS = sizeof codecs / sizeof *codecs };

static const codec_t *refuse_name(const char *name, err_t *err)
{
    str_t known = {0};
    for (int i = 0; i < N_CODECS; i++)
        str_addf(&known, "%s%s (%u)", i ? ", " : "", codecs[i].name, codecs[i].id);
    err_set(err, ERR_ARG, "codec %s is unknown; known are %s", name, str_text(&known));
    str_fini(&known);
    return NULL;
}

const codec_t *codec_find(const char *name, err_t *err)
{
    for (int i = 0; i < N_CODECS; i++)
        if (strcmp(codecs[i].name, name) == 0) return &codecs[i];
    return refuse_name(name, err);
}

const codec_t *codec_find_id(uint32_t id, err_t *err)
{
    for (int i = 0; i < N_CODECS; i++)
        if (codecs[i].id == id) return &codecs[i];
    char text[16];
    snprintf(text, sizeof text, "%u", id);
    return refuse_name(text, err);
}

size_t codec_bytes(const codec_t *codec, size_t n)
{
    return n <= most_values ? codec->size(n) : 0;
}

int codec_check(const float *values, size_t n, err_t *err)
{
    bool finite = outer_kernels()->within(values, n, FLT_MAX);
    for (size_t i = 0; !finite && i < n; i++)
        if (!isfinite(values[i])) return refuse_value(i, values[i], err);
    return 0;
}

int codec_encode(const codec_t *codec, const float *values, size_t n, uint8_t *out, size_t space,
                 err_t *err)
{
    size_t need = codec_bytes(codec, n);
    if (n > most_values || need > space)
        return err_set(err, ERR_ARG, "%s: %zu values need %zu bytes, there are %zu", codec->name, n,
                       need, space);
    if (codec_check(values, n, err) < 0) return -1;
    return codec->encode(values, n, out, err);
}

int codec_decode(const codec_t *codec, const uint8_t *bytes, size_t n_bytes, float *values,
                 size_t n, err_t *err)
{
    if (n > most_values || n_bytes != codec_bytes(codec, n))
        return err_set(err, ERR_CORRUPT, "%s: %zu values take %zu bytes, not %zu", codec->name, n,
                       codec_bytes(codec, n), n_bytes);
    return codec->decode(bytes, n, values, err);
}

const float *codec_view(const codec_t *codec, const void *bytes)
{
    bool same = codec->id == codecs[0].id && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    return same && (uintptr_t)bytes % _Alignof(float) == 0 ? bytes : NULL;
}
