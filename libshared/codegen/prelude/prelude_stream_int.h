/* Prelude, behind codegen/prelude/prelude_stream.h: the same with rows of i8, in whole numbers.
 *
 * Of a row of A, for as many terms as are kept at a time, one power of two makes its largest number one of 21 or 22 bits;
 * the others are rounded to whole numbers beside it, by 2^-22 of the largest at most. Such a number is three of i8, and
 * their products with i8 are added without rounding, 32 bits wide: 4 terms at a time, so that rows of B are tiles as
 * they lie and nothing is widened. Of a row with a number that is not finite all sums are NaN. */
#ifndef CODEGEN_PRELUDE_STREAM_INT_H
#define CODEGEN_PRELUDE_STREAM_INT_H

#ifndef CODEGEN_PRELUDE_STREAM_H
#include "codegen/prelude/prelude_stream.h"
#endif

#if defined(KC_CONFIG) || defined(KC_FOURS)
enum {
    PCP_INT_STEP = 64,                             /* terms of a tile */
    PCP_INT_ROWS = 2 * PCP_STREAM_SIDE,            /* of the matrix together: 2 tiles */
    PCP_INT_TILE = PCP_STREAM_SIDE * PCP_INT_STEP, /* bytes */
    PCP_INT_ZERO = 0x4b400000                      /* 1.5 2^23: whole numbers follow it as f32 */
};

typedef int32_t pcp_stream_i __attribute__((vector_size(64), aligned(4), may_alias));
typedef int8_t pcp_stream_b __attribute__((vector_size(16), aligned(1), may_alias));

/* Bits of the largest of the terms [p0, p1) of row i of A. */
PCP_FN uint32_t pcp_stream_largest(const pcp_stream_t *s, int64_t i, int64_t p0, int64_t p1)
{
    pcp_stream_i most = {0};
    for (int64_t p = p0; p < p1; p += PCP_STREAM_STEP) {
        float x[PCP_STREAM_STEP] __attribute__((aligned(64)));
        pcp_stream_terms(s, i, p, x);
        for (int half = 0; half < PCP_STREAM_STEP; half += PCP_STREAM_SIDE) {
            const pcp_stream_i bits = *(pcp_stream_i *)(x + half) & 0x7fffffff;
            const pcp_stream_i more = bits > most;
            most = (bits & more) | (most & ~more);
        }
    }
    int32_t top = 0;
    for (int t = 0; t < PCP_STREAM_SIDE; t++) top = most[t] > top ? most[t] : top;
    return (uint32_t)top;
}

/* What a row's numbers are multiplied by to be whole; and its sums then. */
PCP_FN float pcp_stream_whole_by(uint32_t largest, float *back)
{
    const uint32_t least = 22, exponent = largest >> 23 < least ? least : largest >> 23;
    uint32_t up = (275 - exponent) << 23, down = (exponent - 21) << 23;
    float factor = 0;
    if (exponent == 255) down = 0x7fc00000u;
    __builtin_memcpy(back, &down, 4);
    if (exponent < 255) __builtin_memcpy(&factor, &up, 4);
    return factor;
}

/* By what each row's terms [p0, p1) are multiplied, and their sums: back[16], zero beyond the rows. */
PCP_FN void pcp_stream_factors(const pcp_stream_t *s, int64_t p0, int64_t p1, float *factor,
                               float *back)
{
    for (int64_t i = 0; i < PCP_STREAM_SIDE; i++) back[i] = 0;
    for (int64_t i = 0; i < s->m; i++)
        factor[i] = pcp_stream_whole_by(pcp_stream_largest(s, i, p0, p1), &back[i]);
}

/* 64 terms from p on of row i, zero beyond k, as three rows of bytes `apart` each. */
PCP_FN void pcp_stream_digits(const pcp_stream_t *s, int64_t i, int64_t p, float factor, int8_t *to,
                              int64_t apart)
{
    float x[PCP_INT_STEP] __attribute__((aligned(64)));
    pcp_stream_terms(s, i, p, x);
    if (p + PCP_STREAM_STEP < s->k)
        pcp_stream_terms(s, i, p + PCP_STREAM_STEP, x + PCP_STREAM_STEP);
    else
        __builtin_memset(x + PCP_STREAM_STEP, 0, 4 * PCP_STREAM_STEP);
    for (int t = 0; t < PCP_INT_STEP; t += PCP_STREAM_SIDE) {
        const pcp_stream_f near = *(pcp_stream_f *)(x + t) * factor + 12582912.0f;
        pcp_stream_i q = (pcp_stream_i)near - PCP_INT_ZERO;
        for (int part = 0; part < PCP_STREAM_PARTS; part++) {
            *(pcp_stream_b *)(to + part * apart + t) = __builtin_convertvector(q, pcp_stream_b);
            q = (q + 128) >> 8; /* what its last 8 bits, as a number with a sign, leave */
        }
    }
}

/* Sums of 16 products, or fewer, from three of whole numbers each, `tile` apart. */
PCP_FN void pcp_stream_join(const int32_t *whole, int64_t tile, const float *back, float *sums)
{
    pcp_stream_f x[PCP_STREAM_PARTS];
    for (int part = 0; part < PCP_STREAM_PARTS; part++)
        x[part] = __builtin_convertvector(*(const pcp_stream_i *)(whole + part * tile),
                                          pcp_stream_f);
    *(pcp_stream_f *)sums = ((x[2] * 65536.0f + x[1] * 256.0f) + x[0]) *
                            *(const pcp_stream_f *)back;
}

#endif

#ifdef KC_CONFIG
/* 64 terms from p on of all rows: three tiles of 16 fours by `width` rows. */
PCP_FN void pcp_stream_digits_of_all(const pcp_stream_t *s, int64_t p, const float *factor,
                                     uint32_t *to)
{
    int8_t rows[PCP_STREAM_PARTS * PCP_INT_TILE] __attribute__((aligned(64)));
    const int64_t width = pcp_stream_width(s);
    if (s->m < width) __builtin_memset(rows, 0, sizeof rows);
    for (int64_t i = 0; i < s->m; i++)
        pcp_stream_digits(s, i, p, factor[i], rows + i * PCP_INT_STEP, PCP_INT_TILE);
    for (int part = 0; part < PCP_STREAM_PARTS; part++, to += PCP_STREAM_SIDE * width) {
        const int8_t *from = rows + part * PCP_INT_TILE;
        if (width == PCP_STREAM_SIDE) {
            for (int q = 0; q < PCP_STREAM_SIDE; q += 4)
                kc_turn_pairs((uint16_t *)(to + q * PCP_STREAM_SIDE), 2 * PCP_STREAM_SIDE,
                              (const uint16_t *)(const void *)from + 2 * q, PCP_INT_STEP / 2);
        } else {
            for (int q = 0; q < PCP_STREAM_SIDE; q++)
                for (int64_t i = 0; i < width; i++)
                    __builtin_memcpy(to + q * width + i, from + i * PCP_INT_STEP + 4 * q, 4);
        }
    }
}

/* Asks for a half of what 32 rows of B from j on hold of 64 terms, in the order in which lines lie. */
PCP_FN void pcp_stream_ask_bytes(const pcp_stream_t *s, int64_t j, int64_t p, int half)
{
    const char *at = (const char *)s->b + j * s->ldb;
    if (s->ldb == s->k) {
        at += PCP_INT_ROWS * p + half * PCP_INT_TILE;
        for (int64_t i = 0; i < PCP_INT_TILE; i += PCP_STREAM_LINE) __builtin_prefetch(at + i);
    } else {
        at += half * PCP_STREAM_SIDE * s->ldb + p;
        for (int64_t r = 0; r < PCP_STREAM_SIDE; r++) __builtin_prefetch(at + r * s->ldb);
    }
}

/* The parts of the terms [p0, p1) of A, and what their sums are multiplied by; the first rows of B, from j on, come meanwhile. */
PCP_FN void pcp_stream_digits_split(const pcp_stream_t *s, int64_t j, int64_t p0, int64_t p1,
                                    uint32_t *to, float *back)
{
    float factor[PCP_STREAM_SIDE];
    const int64_t width = pcp_stream_width(s), step = PCP_STREAM_PARTS * PCP_STREAM_SIDE * width;
    pcp_stream_factors(s, p0, p1, factor, back);
    for (int64_t i = width; i < 2 * PCP_STREAM_SIDE; i++) back[i] = back[i - width];
    for (int64_t p = p0; p < p1; p += PCP_INT_STEP, to += step) {
        for (int half = 0; half < 2; half++) pcp_stream_ask_bytes(s, j, p, half);
        pcp_stream_digits_of_all(s, p, factor, to);
    }
}

/* Tiles 0 to 2 are the sums of 16 rows of B at `first` by the parts of A, 3 to 5 those of 16 at `second`. */
#define PCP_INT_DOTS(parts, tile, width, first, second, row) \
    KC_LOAD(6, parts, 4 * (width));                          \
    KC_LOAD(7, first, row);                                  \
    KC_DOT_BYTES(0, 7, 6);                                   \
    KC_LOAD(7, second, row);                                 \
    KC_DOT_BYTES(3, 7, 6);                                   \
    KC_LOAD(6, (parts) + (tile), 4 * (width));               \
    KC_DOT_BYTES(4, 7, 6);                                   \
    KC_LOAD(7, first, row);                                  \
    KC_DOT_BYTES(1, 7, 6);                                   \
    KC_LOAD(6, (parts) + 2 * (tile), 4 * (width));           \
    KC_DOT_BYTES(2, 7, 6);                                   \
    KC_LOAD(7, second, row);                                 \
    KC_DOT_BYTES(5, 7, 6)

/* Terms from p on of 32 rows of B from j on as two tiles; zero beyond k and beyond row j1. */
PCP_FN void pcp_stream_edge_bytes(const pcp_stream_t *s, int64_t j, int64_t j1, int64_t p,
                                  int8_t *to)
{
    const int64_t n = s->k - p < PCP_INT_STEP ? s->k - p : PCP_INT_STEP;
    __builtin_memset(to, 0, 2 * PCP_INT_TILE);
    for (int64_t r = 0; r < PCP_INT_ROWS && j + r < j1; r++)
        __builtin_memcpy(to + r * PCP_INT_STEP, (const int8_t *)s->b + (j + r) * s->ldb + p, n);
}

/* All [32][width] of them: of a vector's 16 some are of the next rows where tiles are narrow. */
PCP_FN void pcp_stream_join_all(const int32_t *whole, const float *back, int64_t width, float *sums)
{
    const int64_t tile = PCP_STREAM_SIDE * width;
    for (int half = 0; half < 2; half++, whole += PCP_STREAM_PARTS * tile, sums += tile)
        for (int64_t at = 0; at < tile; at += PCP_STREAM_SIDE)
            pcp_stream_join(whole + at, tile, back + at % width, sums + at);
}

PCP_FN void pcp_stream_sum_bytes(const pcp_stream_t *s, int64_t j, int64_t j1, int64_t p0,
                                 int64_t p1, const uint32_t *parts, const float *back, float *sums)
{
    int8_t some[2 * PCP_INT_TILE] __attribute__((aligned(64)));
    int32_t whole[2 * PCP_STREAM_PARTS * PCP_STREAM_SQUARE] __attribute__((aligned(64)));
    const int64_t width = pcp_stream_width(s), tile = PCP_STREAM_SIDE * width;
    const int64_t end = j + PCP_INT_ROWS > j1 ? p0 : p0 + (p1 - p0) / PCP_INT_STEP * PCP_INT_STEP;
    KC_ZERO(0);
    KC_ZERO(1);
    KC_ZERO(2);
    KC_ZERO(3);
    KC_ZERO(4);
    KC_ZERO(5);
    const int8_t *from = (const int8_t *)s->b + j * s->ldb;
    for (int64_t p = p0; p < end; p += PCP_INT_STEP, parts += PCP_STREAM_PARTS * tile) {
        pcp_stream_ask_bytes(s, j + PCP_INT_ROWS, p, 0);
        pcp_stream_ask_bytes(s, j + PCP_INT_ROWS, p, 1);
        PCP_INT_DOTS(parts, tile, width, from + p, from + PCP_STREAM_SIDE * s->ldb + p, s->ldb);
    }
    for (int64_t p = end; p < p1; p += PCP_INT_STEP, parts += PCP_STREAM_PARTS * tile) {
        pcp_stream_edge_bytes(s, j, j1, p, some);
        PCP_INT_DOTS(parts, tile, width, some, some + PCP_INT_TILE, PCP_INT_STEP);
    }
    KC_STORE(0, whole, 4 * width);
    KC_STORE(1, whole + tile, 4 * width);
    KC_STORE(2, whole + 2 * tile, 4 * width);
    KC_STORE(3, whole + 3 * tile, 4 * width);
    KC_STORE(4, whole + 4 * tile, 4 * width);
    KC_STORE(5, whole + 5 * tile, 4 * width);
    pcp_stream_join_all(whole, back, width, sums);
}

PCP_FN void pcp_stream_bytes(const pcp_stream_t *s, int64_t j0, int64_t j1)
{
    uint32_t parts[PCP_STREAM_TERMS / PCP_INT_STEP * PCP_STREAM_PARTS * PCP_STREAM_SQUARE]
        __attribute__((aligned(64)));
    float sums[PCP_STREAM_ROWS * PCP_STREAM_SIDE] __attribute__((aligned(64)));
    float back[2 * PCP_STREAM_SIDE]; /* again and again, as rows of sums lie */
    const int64_t half = PCP_INT_ROWS * pcp_stream_width(s);
    for (int64_t p0 = 0; p0 < s->k; p0 += PCP_STREAM_TERMS) {
        const int64_t p1 = p0 + PCP_STREAM_TERMS < s->k ? p0 + PCP_STREAM_TERMS : s->k;
        pcp_stream_digits_split(s, j0, p0, p1, parts, back);
        for (int64_t j = j0; j < j1; j += PCP_STREAM_ROWS) {
            const int64_t rows = j1 - j < PCP_STREAM_ROWS ? j1 - j : PCP_STREAM_ROWS;
            for (int64_t r = 0; r < rows; r += PCP_INT_ROWS)
                pcp_stream_sum_bytes(s, j + r, j1, p0, p1, parts, back,
                                     sums + r / PCP_INT_ROWS * half);
            pcp_stream_write(s, j, rows, p0, sums);
        }
    }
}

/* Columns [j0, j1) of C. */
PCP_FN void pcp_stream_columns(const pcp_stream_t *s, int64_t j0, int64_t j1)
{
    uint8_t config[64] __attribute__((aligned(64))) = {1};
    for (int t = 0; t < 8; t++) {
        config[16 + 2 * t] = (uint8_t)(t == 7 ? 64 : 4 * pcp_stream_width(s));
        config[48 + t] = PCP_STREAM_SIDE;
    }
    KC_CONFIG(config);
    if (s->bytes)
        pcp_stream_bytes(s, j0, j1);
    else
        pcp_stream_halves(s, j0, j1);
    KC_RELEASE();
}
#endif

#endif
