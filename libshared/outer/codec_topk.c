/* topk: of each block of 4,096 values (the last one may be shorter: count) the ceil(count / 64) of
 * largest magnitude, ties by index, without zeros. Magnitudes become one of two: those above their
 * mean the mean of these, the others the mean of the others (one step of Lloyd's quantizer).
 *
 *   n u16   low f32   high f32   n entries of 14 bits, from the lowest bit on, the rest of the last
 *                                byte 0; n = 0: nothing but n
 *   entry: index in the block (12 bits, rising), 1 if high, 1 if negative */
#include "outer/codec_bytes.h"
#include "outer/kernels.h"

enum { SHARE = 64, ENTRY_BITS = 14, HEAD_BYTES = 2 + 4 + 4, MOST = CODEC_BLOCK / SHARE };

static size_t entries_of(size_t count)
{
    return (count + SHARE - 1) / SHARE;
}

static size_t block_bytes(size_t n_entry)
{
    return n_entry ? HEAD_BYTES + (n_entry * ENTRY_BITS + 7) / 8 : 2;
}

size_t codec_most_topk(size_t n)
{
    size_t rest = n % CODEC_BLOCK;
    return n / CODEC_BLOCK * block_bytes(MOST) + (rest ? block_bytes(entries_of(rest)) : 0);
}

/* Floats of one sign are ordered as their bits are. */
static uint32_t magnitude(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits & 0x7FFFFFFF;
}

/* The indices of the largest, rising; how many. */
static size_t choose(const float *values, size_t count, uint16_t chosen[MOST])
{
    size_t want = entries_of(count), n = 0, ties;
    size_t (*reaching)(const float *, size_t, uint32_t) = outer_kernels()->reaching;
    uint32_t least = 0; /* the largest that `want` values reach, bit by bit */
    for (uint32_t bit = (uint32_t)1 << 30; bit; bit >>= 1)
        if (reaching(values, count, least | bit) >= want) least |= bit;
    if (least == 0) least = 1; /* fewer than that are not 0 */
    ties = want - reaching(values, count, least + 1);
    for (size_t i = 0; i < count && n < want; i++) {
        uint32_t m = magnitude(values[i]);
        if (m < least || (m == least && ties == 0)) continue;
        if (m == least) ties--;
        chosen[n++] = (uint16_t)i;
    }
    return n;
}

static float mean_of(double sum, size_t n)
{
    return n ? (float)(sum / (double)n) : 0.0f;
}

static void put_entry(uint8_t *out, size_t entry, uint32_t bits)
{
    size_t at = entry * ENTRY_BITS;
    for (uint32_t wide = bits << at % 8; wide; wide >>= 8, at += 8) out[at / 8] |= (uint8_t)wide;
}

static uint32_t get_entry(const uint8_t *bytes, size_t entry)
{
    size_t at = entry * ENTRY_BITS, last = (at + ENTRY_BITS - 1) / 8;
    uint32_t wide = 0;
    for (size_t i = at / 8; i <= last; i++) wide |= (uint32_t)bytes[i] << 8 * (i - at / 8);
    return wide >> at % 8 & ((1u << ENTRY_BITS) - 1);
}

static size_t encode_block(const float *values, size_t count, uint8_t *out)
{
    uint16_t chosen[MOST];
    size_t n = choose(values, count, chosen), n_high = 0;
    double sum = 0, high = 0;
    out[0] = (uint8_t)n;
    out[1] = (uint8_t)(n >> 8);
    if (n == 0) return block_bytes(0);
    for (size_t i = 0; i < n; i++) sum += fabs((double)values[chosen[i]]);
    double middle = sum / (double)n;
    memset(out + HEAD_BYTES, 0, block_bytes(n) - HEAD_BYTES);
    for (size_t i = 0; i < n; i++) {
        float value = values[chosen[i]];
        bool is_high = fabs((double)value) > middle;
        high += is_high ? fabs((double)value) : 0;
        n_high += is_high;
        put_entry(out + HEAD_BYTES, i,
                  chosen[i] | (uint32_t)is_high << 12 | (uint32_t)(value < 0) << 13);
    }
    put_f32(out + 2, mean_of(sum - high, n - n_high));
    put_f32(out + 6, mean_of(high, n_high));
    return block_bytes(n);
}

size_t codec_encode_topk(const float *values, size_t n, uint8_t *out)
{
    uint8_t *at = out;
    for (size_t from = 0; from < n; from += CODEC_BLOCK)
        at += encode_block(values + from, codec_block(n, from), at);
    return (size_t)(at - out);
}

static int decode_entries(const uint8_t *bytes, size_t n, float *values, size_t count, err_t *err)
{
    const float scale[2] = {get_f32(bytes + 2), get_f32(bytes + 6)};
    for (int i = 0; i < 2; i++)
        if (!isfinite(scale[i]) || scale[i] < 0)
            return err_set(err, ERR_CORRUPT, "topk: a magnitude is %g", (double)scale[i]);
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t entry = get_entry(bytes + HEAD_BYTES, i), index = entry & (CODEC_BLOCK - 1);
        if (index < next || index >= count)
            return err_set(err, ERR_SHAPE, "topk: entry %zu is value %u of %zu, after %zu", i,
                           index, count, next);
        next = index + 1;
        float value = scale[entry >> 12 & 1];
        values[index] = entry >> 13 ? -value : value;
    }
    return 0;
}

int codec_decode_topk(const uint8_t *bytes, size_t n_bytes, float *values, size_t n, err_t *err)
{
    const uint8_t *end = bytes + n_bytes;
    memset(values, 0, n * sizeof *values);
    for (size_t from = 0; from < n; from += CODEC_BLOCK) {
        size_t count = codec_block(n, from), left = (size_t)(end - bytes);
        size_t n_entry = left < 2 ? SIZE_MAX : bytes[0] | (size_t)bytes[1] << 8;
        if (n_entry > entries_of(count) || block_bytes(n_entry) > left)
            return err_set(err, ERR_SHAPE, "topk: block %zu of %zu values: %zu entries, %zu bytes",
                           from / CODEC_BLOCK, count, n_entry, left);
        if (n_entry && decode_entries(bytes, n_entry, values + from, count, err) < 0) return -1;
        bytes += block_bytes(n_entry);
    }
    if (bytes == end) return 0;
    return err_set(err, ERR_SHAPE, "topk: %zu bytes behind the last block", (size_t)(end - bytes));
}
