/* Prelude, behind codegen/prelude/prelude_stream.h: the same with rows of i8, in whole numbers.
 *
 * Of a row of A, for as many terms as are kept at a time, one factor makes its largest number PCP_INT_MOST, of 15 bits;
 * the others are rounded to whole numbers beside it, by a 65,000th of the largest at most. Such a number is two of i8, and
 * their products with i8 are added without rounding, 32 bits wide: 4 terms at a time, so that rows of B are tiles as
 * they lie and nothing is widened. A row whose largest number is more than 128 times their mean would lose more than bf16
 * does: its numbers have 22 bits, so three of i8, and those of the rows beside it a third one that is zero. Of a row with a
 * number that is not finite all sums are NaN. */
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
    PCP_INT_ZERO = 0x4b400000,                     /* 1.5 2^23: whole numbers follow it as f32 */
    PCP_INT_TINY = 22 << 23,                       /* f32 that counts as a row's largest at least */
    PCP_INT_MOST = 127 * 256,                      /* a number's value where two of i8 are enough */
    PCP_INT_UNEVEN = 128                           /* times its mean */
};

/* A row's numbers times `factor` are whole, their sums times `back` what they were; of so many of i8 each. */
typedef struct {
    float factor, back;
    int parts;
} pcp_stream_scale_t;

typedef int32_t pcp_stream_i __attribute__((vector_size(64), aligned(4), may_alias));
typedef int8_t pcp_stream_b __attribute__((vector_size(16), aligned(1), may_alias));

/* Bits of the largest of the terms [p0, p1) of row i of A, without their signs; *sum: of all of them. */
PCP_FN uint32_t pcp_stream_largest(const pcp_stream_t *s, int64_t i, int64_t p0, int64_t p1,
                                   float *sum)
{
    pcp_stream_i most = {0};
    pcp_stream_f all = {0};
    for (int64_t p = p0; p < p1; p += PCP_STREAM_STEP) {
        float x[PCP_STREAM_STEP] __attribute__((aligned(64)));
        pcp_stream_terms(s, i, p, PCP_STREAM_STEP, x);
        for (int half = 0; half < PCP_STREAM_STEP; half += PCP_STREAM_SIDE) {
            const pcp_stream_i bits = *(pcp_stream_i *)(x + half) & 0x7fffffff;
            const pcp_stream_i more = bits > most;
            most = (bits & more) | (most & ~more);
            all += (pcp_stream_f)bits;
        }
    }
    int32_t top = 0;
    *sum = 0;
    for (int t = 0; t < PCP_STREAM_SIDE; t++) {
        top = most[t] > top ? most[t] : top;
        *sum += all[t];
    }
    return (uint32_t)top;
}

/* Of the terms [p0, p1) of row i. */
PCP_FN pcp_stream_scale_t pcp_stream_scale(const pcp_stream_t *s, int64_t i, int64_t p0, int64_t p1)
{
    float sum, most;
    uint32_t bits = pcp_stream_largest(s, i, p0, p1, &sum);
    if (bits >> 23 == 255) return (pcp_stream_scale_t){0, __builtin_nanf(""), PCP_STREAM_FEW};
    if (bits < PCP_INT_TINY) bits = PCP_INT_TINY;
    __builtin_memcpy(&most, &bits, 4);
    if (most <= sum * ((float)PCP_INT_UNEVEN / (float)(p1 - p0)))
        return (pcp_stream_scale_t){PCP_INT_MOST / most, most / PCP_INT_MOST, PCP_STREAM_FEW};
    pcp_stream_scale_t fine = {.parts = PCP_STREAM_PARTS};
    const uint32_t up = (275 - (bits >> 23)) << 23, down = ((bits >> 23) - 21) << 23;
    __builtin_memcpy(&fine.factor, &up, 4);
    __builtin_memcpy(&fine.back, &down, 4);
    return fine;
}

/* What whole numbers of all rows are made by: `parts` is the most that any row takes. Zero beyond the rows; back has them again,
 * `width` apart, as rows of sums lie. */
typedef struct {
    float factor[PCP_STREAM_SIDE], back[2 * PCP_STREAM_SIDE];
    int parts;
} pcp_stream_scales_t;

PCP_FN void pcp_stream_scales(const pcp_stream_t *s, int64_t p0, int64_t p1,
                              pcp_stream_scales_t *all)
{
    const int64_t width = pcp_stream_width(s);
    all->parts = PCP_STREAM_FEW;
    for (int64_t i = 0; i < PCP_STREAM_SIDE; i++) all->factor[i] = all->back[i] = 0;
    for (int64_t i = 0; i < s->m; i++) {
        const pcp_stream_scale_t scale = pcp_stream_scale(s, i, p0, p1);
        all->factor[i] = scale.factor, all->back[i] = scale.back;
        if (scale.parts > all->parts) all->parts = scale.parts;
    }
    for (int64_t i = width; i < 2 * PCP_STREAM_SIDE; i++) all->back[i] = all->back[i - width];
}

/* 64 terms from p on of row i, zero beyond k, as so many rows of bytes `apart` each. */
PCP_FN void pcp_stream_digits(const pcp_stream_t *s, int64_t i, int64_t p, float factor, int parts,
                              int8_t *to, int64_t apart)
{
    float x[PCP_INT_STEP] __attribute__((aligned(64)));
    pcp_stream_terms(s, i, p, PCP_INT_STEP, x);
    for (int t = 0; t < PCP_INT_STEP; t += PCP_STREAM_SIDE) {
        const pcp_stream_f near = *(pcp_stream_f *)(x + t) * factor + 12582912.0f;
        pcp_stream_i q = (pcp_stream_i)near - PCP_INT_ZERO;
        for (int part = 0; part < parts; part++) {
            *(pcp_stream_b *)(to + part * apart + t) = __builtin_convertvector(q, pcp_stream_b);
            q = (q + 128) >> 8; /* what its last 8 bits, as a number with a sign, leave */
        }
    }
}

/* Sums of 16 products, or fewer, from so many of whole numbers each, `tile` apart, that are too large by `over`. */
PCP_FN void pcp_stream_join(const int32_t *whole, int64_t tile, int parts, int32_t over,
                            const float *back, float *sums)
{
    pcp_stream_f x[PCP_STREAM_PARTS] = {{0}};
    for (int part = 0; part < parts; part++)
        x[part] = __builtin_convertvector(*(const pcp_stream_i *)(whole + part * tile) - over,
                                          pcp_stream_f);
    *(pcp_stream_f *)sums = ((x[2] * 65536.0f + x[1] * 256.0f) + x[0]) *
                            *(const pcp_stream_f *)back;
}

#endif

#ifdef KC_CONFIG
/* 64 terms from p on of all rows: for each part a tile of 16 fours by `width` rows. */
PCP_FN void pcp_stream_digits_of_all(const pcp_stream_t *s, int64_t p,
                                     const pcp_stream_scales_t *scales, uint32_t *to)
{
    int8_t rows[PCP_STREAM_PARTS * PCP_INT_TILE] __attribute__((aligned(64)));
    const int64_t width = pcp_stream_width(s);
    if (s->m < width) __builtin_memset(rows, 0, sizeof rows);
    for (int64_t i = 0; i < s->m; i++)
        pcp_stream_digits(s, i, p, scales->factor[i], scales->parts, rows + i * PCP_INT_STEP,
                          PCP_INT_TILE);
    for (int part = 0; part < scales->parts; part++, to += PCP_STREAM_SIDE * width) {
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

/* The parts of the terms [p0, p1) of A; the first rows of B, from j on, come meanwhile. */
PCP_FN void pcp_stream_digits_split(const pcp_stream_t *s, int64_t j, int64_t p0, int64_t p1,
                                    const pcp_stream_scales_t *scales, uint32_t *to)
{
    const int64_t step = scales->parts * PCP_STREAM_SIDE * pcp_stream_width(s);
    for (int64_t p = p0; p < p1; p += PCP_INT_STEP, to += step) {
        for (int half = 0; half < 2; half++) pcp_stream_ask_bytes(s, j, p, half);
        pcp_stream_digits_of_all(s, p, scales, to);
    }
}

/* Sums of 16 rows of B at `first` by the parts of A are the tiles 0 and 1, and 2 of three parts; of 16 at `second` 3, 4 and 5. */
#define PCP_INT_DOTS_OF_TWO(parts, tile, width, first, second, row) \
    KC_LOAD(2, parts, 4 * (width));                                 \
    KC_LOAD(7, first, row);                                         \
    KC_DOT_BYTES(0, 7, 2);                                          \
    KC_LOAD(5, (parts) + (tile), 4 * (width));                      \
    KC_DOT_BYTES(1, 7, 5);                                          \
    KC_LOAD(7, second, row);                                        \
    KC_DOT_BYTES(3, 7, 2);                                          \
    KC_DOT_BYTES(4, 7, 5)
#define PCP_INT_DOTS_OF_THREE(parts, tile, width, first, second, row) \
    KC_LOAD(6, parts, 4 * (width));                                   \
    KC_LOAD(7, first, row);                                           \
    KC_DOT_BYTES(0, 7, 6);                                            \
    KC_LOAD(7, second, row);                                          \
    KC_DOT_BYTES(3, 7, 6);                                            \
    KC_LOAD(6, (parts) + (tile), 4 * (width));                        \
    KC_DOT_BYTES(4, 7, 6);                                            \
    KC_LOAD(7, first, row);                                           \
    KC_DOT_BYTES(1, 7, 6);                                            \
    KC_LOAD(6, (parts) + 2 * (tile), 4 * (width));                    \
    KC_DOT_BYTES(2, 7, 6);                                            \
    KC_LOAD(7, second, row);                                          \
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
PCP_FN void pcp_stream_join_all(const int32_t *whole, const pcp_stream_scales_t *scales,
                                int64_t width, float *sums)
{
    const int64_t tile = PCP_STREAM_SIDE * width;
    for (int half = 0; half < 2; half++, whole += PCP_STREAM_PARTS * tile, sums += tile)
        for (int64_t at = 0; at < tile; at += PCP_STREAM_SIDE)
            pcp_stream_join(whole + at, tile, scales->parts, 0, scales->back + at % width,
                            sums + at);
}

/* Stores the sums [2][3][16 width] of 32 rows; of two parts the third ones are none. */
#define PCP_INT_STORE_OF_TWO(whole, tile, width)    \
    KC_STORE(0, whole, 4 * (width));                \
    KC_STORE(1, (whole) + (tile), 4 * (width));     \
    KC_STORE(3, (whole) + 3 * (tile), 4 * (width)); \
    KC_STORE(4, (whole) + 4 * (tile), 4 * (width))
#define PCP_INT_STORE_OF_THREE(whole, tile, width)  \
    PCP_INT_STORE_OF_TWO(whole, tile, width);       \
    KC_STORE(2, (whole) + 2 * (tile), 4 * (width)); \
    KC_STORE(5, (whole) + 5 * (tile), 4 * (width))

/* The same sums; rows beyond j1 and terms beyond whole tiles are copied, with zeros behind them. */
#define PCP_INT_SUMS(many, n)                                                                     \
    for (; p < end; p += PCP_INT_STEP, parts += (n)*tile) {                                       \
        pcp_stream_ask_bytes(s, j + PCP_INT_ROWS, p, 0);                                          \
        pcp_stream_ask_bytes(s, j + PCP_INT_ROWS, p, 1);                                          \
        PCP_INT_DOTS_OF_##many(parts, tile, width, from + p, from + PCP_STREAM_SIDE * s->ldb + p, \
                               s->ldb);                                                           \
    }                                                                                             \
    for (; p < p1; p += PCP_INT_STEP, parts += (n)*tile) {                                        \
        pcp_stream_edge_bytes(s, j, j1, p, some);                                                 \
        PCP_INT_DOTS_OF_##many(parts, tile, width, some, some + PCP_INT_TILE, PCP_INT_STEP);      \
    }                                                                                             \
    PCP_INT_STORE_OF_##many(whole, tile, width)

PCP_FN void pcp_stream_sum_bytes(const pcp_stream_t *s, int64_t j, int64_t j1, int64_t p0,
                                 int64_t p1, const uint32_t *parts,
                                 const pcp_stream_scales_t *scales, float *sums)
{
    int8_t some[2 * PCP_INT_TILE] __attribute__((aligned(64)));
    int32_t whole[2 * PCP_STREAM_PARTS * PCP_STREAM_SQUARE] __attribute__((aligned(64)));
    const int64_t width = pcp_stream_width(s), tile = PCP_STREAM_SIDE * width;
    const int64_t end = j + PCP_INT_ROWS > j1 ? p0 : p0 + (p1 - p0) / PCP_INT_STEP * PCP_INT_STEP;
    const int8_t *from = (const int8_t *)s->b + j * s->ldb;
    int64_t p = p0;
    KC_ZERO(0);
    KC_ZERO(1);
    KC_ZERO(3);
    KC_ZERO(4);
    if (scales->parts == PCP_STREAM_FEW) {
        PCP_INT_SUMS(TWO, 2);
    } else {
        KC_ZERO(2);
        KC_ZERO(5);
        PCP_INT_SUMS(THREE, 3);
    }
    pcp_stream_join_all(whole, scales, width, sums);
}

PCP_FN void pcp_stream_bytes(const pcp_stream_t *s, int64_t j0, int64_t j1)
{
    uint32_t parts[PCP_STREAM_TERMS / PCP_INT_STEP * PCP_STREAM_PARTS * PCP_STREAM_SQUARE]
        __attribute__((aligned(64)));
    float sums[PCP_STREAM_ROWS * PCP_STREAM_SIDE] __attribute__((aligned(64)));
    pcp_stream_scales_t scales;
    const int64_t half = PCP_INT_ROWS * pcp_stream_width(s);
    for (int64_t p0 = 0; p0 < s->k; p0 += PCP_STREAM_TERMS) {
        const int64_t p1 = p0 + PCP_STREAM_TERMS < s->k ? p0 + PCP_STREAM_TERMS : s->k;
        pcp_stream_scales(s, p0, p1, &scales);
        pcp_stream_digits_split(s, j0, p0, p1, &scales, parts);
        for (int64_t j = j0; j < j1; j += PCP_STREAM_ROWS) {
            const int64_t rows = j1 - j < PCP_STREAM_ROWS ? j1 - j : PCP_STREAM_ROWS;
            for (int64_t r = 0; r < rows; r += PCP_INT_ROWS)
                pcp_stream_sum_bytes(s, j + r, j1, p0, p1, parts, &scales,
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
