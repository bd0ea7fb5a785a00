/* Prelude, behind codegen/prelude/prelude_stream_int.h: the same whole numbers by vectors, where there is no matrix unit. An instruction
 * adds four products of a byte without a sign and one with to 32 bits (VPDPBUSD), for 16 lanes. Of up to four rows of A lanes are
 * terms: B's numbers are made positive by 128, and sums begin at -128 times that of A's. Of more, lanes are the numbers of i8
 * of each row, and four numbers of a row of B are the same in all of them: A's are made positive, and 128 times the sum of
 * B's row is taken off. Nothing is rounded, so that sums have the bits of the matrix unit's, and those of a row do not depend
 * on how many there are. */
#ifndef CODEGEN_PRELUDE_STREAM_FOURS_H
#define CODEGEN_PRELUDE_STREAM_FOURS_H

#ifndef CODEGEN_PRELUDE_STREAM_INT_H
#include "codegen/prelude/prelude_stream_int.h"
#endif

#if defined(KC_FOURS) && !defined(KC_CONFIG)
enum {
    PCP_FOURS_ROWS = 8, /* of B together */
    PCP_FOURS_FEW = 4,  /* rows of A whose lanes are terms; of B with them */
    PCP_FOURS_SOON = 8, /* rows of B later, of which it is asked for then */
    PCP_FOURS_MOST = PCP_FOURS_FEW * PCP_STREAM_PARTS, /* rows of their numbers */
    PCP_FOURS_TILE = PCP_FOURS_ROWS * PCP_FOURS_FEW,   /* sums of a part of theirs */
    PCP_FOURS_LANES = PCP_STREAM_PARTS * PCP_STREAM_SIDE,
    PCP_FOURS = PCP_INT_STEP / 4 /* of a step */
};

typedef int32_t pcp_four __attribute__((aligned(1), may_alias));

/* Vectors that the numbers of all rows of A take. */
PCP_FN int pcp_fours_vectors(const pcp_stream_t *s, int parts)
{
    return (int)(parts * s->m + PCP_STREAM_SIDE - 1) / PCP_STREAM_SIDE;
}

/* 64 terms from p on of all rows: 16 fours, each in its vectors: the rows' first numbers, their second and third ones. */
PCP_FN void pcp_fours_digits(const pcp_stream_t *s, int64_t p, const pcp_stream_scales_t *scales,
                             int32_t *to)
{
    int8_t rows[PCP_FOURS_LANES * PCP_INT_STEP] __attribute__((aligned(64)));
    const int64_t vectors = pcp_fours_vectors(s, scales->parts), used = scales->parts * s->m;
    for (int64_t i = 0; i < s->m; i++)
        pcp_stream_digits(s, i, p, scales->factor[i], scales->parts, rows + i * PCP_INT_STEP,
                          s->m * PCP_INT_STEP);
    __builtin_memset(rows + used * PCP_INT_STEP, 0,
                     (vectors * PCP_STREAM_SIDE - used) * PCP_INT_STEP);
    for (int64_t i = 0; i < vectors * PCP_INT_TILE; i += PCP_INT_STEP)
        *(pcp_stream_i *)(rows + i) ^= (int32_t)0x80808080;
    for (int64_t v = 0; v < vectors; v++)
        for (int64_t q = 0; q < PCP_FOURS; q += 4)
            kc_turn_pairs((uint16_t *)(to + (q * vectors + v) * PCP_STREAM_SIDE),
                          2 * vectors * PCP_STREAM_SIDE,
                          (const uint16_t *)(const void *)(rows + v * PCP_INT_TILE) + 2 * q,
                          PCP_INT_STEP / 2);
}

/* The numbers of the terms [p0, p1) of A. */
PCP_FN void pcp_fours_split(const pcp_stream_t *s, int64_t p0, int64_t p1,
                            const pcp_stream_scales_t *scales, int32_t *to)
{
    const int64_t step = pcp_fours_vectors(s, scales->parts) * PCP_STREAM_SIDE * PCP_FOURS;
    for (int64_t p = p0; p < p1; p += PCP_INT_STEP)
        pcp_fours_digits(s, p, scales, to + (p - p0) / PCP_INT_STEP * step);
}

/* The sums of the lanes of four vectors. */
PCP_FN void pcp_fours_fold(kc_i16 a, kc_i16 b, kc_i16 c, kc_i16 d, int32_t *to)
{
#define PCP_FOURS_LOW 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define PCP_FOURS_HIGH 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
    const kc_i16 x = KC_JOIN(a, b, PCP_FOURS_LOW) + KC_JOIN(a, b, PCP_FOURS_HIGH);
    const kc_i16 y = KC_JOIN(c, d, PCP_FOURS_LOW) + KC_JOIN(c, d, PCP_FOURS_HIGH);
    kc_i16 all = KC_JOIN(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
                 KC_JOIN(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    all += KC_JOIN(all, all, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    all += KC_JOIN(all, all, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    __builtin_memcpy(to, &all, 16);
}

/* --- Lanes are rows of A --- */

/* The sums of the first n numbers of eight rows. */
PCP_FN void pcp_fours_totals(const int8_t *b, int64_t ldb, int64_t n, int32_t *total)
{
    const kc_i16 one = (kc_i16){0} + 0x01010101;
    kc_i16 all[PCP_FOURS_ROWS] = {{0}};
    for (int64_t p = 0; p < n; p += PCP_INT_STEP)
#pragma GCC unroll 8
        for (int r = 0; r < PCP_FOURS_ROWS; r++) {
            kc_i16 x = {0};
            if (p + PCP_INT_STEP <= n)
                x = *(const kc_i16 *)(b + r * ldb + p);
            else
                __builtin_memcpy(&x, b + r * ldb + p, n - p);
            all[r] = KC_FOURS(all[r], one, x);
        }
    pcp_fours_fold(all[0], all[1], all[2], all[3], total);
    pcp_fours_fold(all[4], all[5], all[6], all[7], total + 4);
}

/* Asks for what eight rows of B from j on hold of 64 terms, in the order in which lines lie. */
PCP_FN void pcp_fours_ask(const pcp_stream_t *s, int64_t j, int64_t p)
{
    const int8_t *at = (const int8_t *)s->b + j * s->ldb;
    const int64_t apart = s->ldb == s->k ? PCP_STREAM_LINE : s->ldb;
    at += s->ldb == s->k ? PCP_FOURS_ROWS * p : p;
    for (int64_t i = 0; i < PCP_FOURS_ROWS; i++) __builtin_prefetch(at + i * apart, 0, 2);
}

#define PCP_FOURS_EACH(what) what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7)
#define PCP_FOURS_START(r)                            \
    const kc_i16 t##r = (kc_i16){0} - 128 * total[r]; \
    kc_i16 c##r##_0 = t##r, c##r##_1 = t##r, c##r##_2 = t##r;
#define PCP_FOURS_ADD(r)                                                            \
    {                                                                               \
        const kc_i16 x = (kc_i16){0} + *(const pcp_four *)(from + (r)*ldb + 4 * q); \
        c##r##_0 = KC_FOURS(c##r##_0, u0, x);                                       \
        if (vectors > 1) c##r##_1 = KC_FOURS(c##r##_1, u1, x);                      \
        if (vectors > 2) c##r##_2 = KC_FOURS(c##r##_2, u2, x);                      \
    }
#define PCP_FOURS_END(r)                                                                    \
    *(kc_i16 *)(whole + (r)*PCP_FOURS_LANES) = c##r##_0;                                    \
    if (vectors > 1) *(kc_i16 *)(whole + (r)*PCP_FOURS_LANES + PCP_STREAM_SIDE) = c##r##_1; \
    if (vectors > 2) *(kc_i16 *)(whole + (r)*PCP_FOURS_LANES + 2 * PCP_STREAM_SIDE) = c##r##_2;

/* Whole sums [8][48] of the terms [p0, p1) of eight rows of B from row j on; whose terms are at b. */
__attribute__((always_inline)) PCP_FN void pcp_fours_sum(const pcp_stream_t *s, int64_t j,
                                                         const int8_t *b, int64_t ldb, int64_t p0,
                                                         int64_t p1, const int vectors,
                                                         const int32_t *digits, int32_t *whole)
{
    int32_t total[PCP_FOURS_ROWS];
    pcp_fours_totals(b, ldb, p1 - p0, total);
    PCP_FOURS_EACH(PCP_FOURS_START)
    for (int64_t p = p0; p < p1; p += PCP_INT_STEP) {
        const int8_t *from = b + (p - p0);
        const int64_t n = p1 - p < PCP_INT_STEP ? (p1 - p) / 4 : PCP_FOURS;
        pcp_fours_ask(s, j + 2 * PCP_FOURS_ROWS, p);
        for (int64_t q = 0; q < n; q++, digits += vectors * PCP_STREAM_SIDE) {
            const kc_i16 u0 = *(const kc_i16 *)digits;
            const kc_i16 u1 = vectors > 1 ? *(const kc_i16 *)(digits + PCP_STREAM_SIDE) : u0;
            const kc_i16 u2 = vectors > 2 ? *(const kc_i16 *)(digits + 2 * PCP_STREAM_SIDE) : u0;
            PCP_FOURS_EACH(PCP_FOURS_ADD)
        }
    }
    PCP_FOURS_EACH(PCP_FOURS_END)
}

/* The rows of B from j on, up to j1, and four by four: others are copied, with zeros behind them. */
PCP_FN void pcp_fours_rows(const pcp_stream_t *s, int64_t j, int64_t j1, int64_t p0, int64_t p1,
                           int parts, const int32_t *digits, int32_t *whole)
{
    int8_t some[PCP_FOURS_ROWS * PCP_STREAM_TERMS] __attribute__((aligned(64)));
    const int8_t *b = (const int8_t *)s->b + j * s->ldb + p0;
    const int64_t end = p0 + (p1 - p0 + 3) / 4 * 4;
    int64_t ldb = s->ldb;
    if (j + PCP_FOURS_ROWS > j1 || end > p1) {
        __builtin_memset(some, 0, sizeof some);
        for (int64_t r = 0; r < PCP_FOURS_ROWS && j + r < j1; r++)
            __builtin_memcpy(some + r * PCP_STREAM_TERMS, b + r * ldb, p1 - p0);
        b = some, ldb = PCP_STREAM_TERMS;
    }
    switch (pcp_fours_vectors(s, parts)) {
    case 1: pcp_fours_sum(s, j, b, ldb, p0, end, 1, digits, whole); break;
    case 2: pcp_fours_sum(s, j, b, ldb, p0, end, 2, digits, whole); break;
    default: pcp_fours_sum(s, j, b, ldb, p0, end, 3, digits, whole);
    }
}

/* --- Lanes are terms --- */

/* The numbers of the terms [p0, p1) of few rows of A: the first ones row by row, the second and third ones; what the sum of each
 * begins at. */
PCP_FN void pcp_fours_split_along(const pcp_stream_t *s, int64_t p0, int64_t p1,
                                  const pcp_stream_scales_t *scales, int8_t *to, int32_t *start)
{
    const kc_i16 ones = (kc_i16){0} + 0x01010101;
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t p = p0; p < p1; p += PCP_INT_STEP)
            pcp_stream_digits(s, i, p, scales->factor[i], scales->parts,
                              to + i * PCP_STREAM_TERMS + (p - p0), s->m * PCP_STREAM_TERMS);
    for (int64_t i = 0; i < scales->parts * s->m; i++) {
        kc_i16 all = {0};
        for (int64_t p = 0; p < p1 - p0; p += PCP_INT_STEP)
            all = KC_FOURS(all, ones, *(const kc_i16 *)(to + i * PCP_STREAM_TERMS + p));
        start[i] = 0;
        for (int t = 0; t < PCP_STREAM_SIDE; t++) start[i] -= 128 * all[t];
    }
}

/* Four rows of B, and what is asked for meanwhile: with each 64 terms two lines, and two more where one pass reads the rows. */
typedef struct {
    const int8_t *row[PCP_FOURS_FEW], *ask;
    int64_t step, second,
        others; /* bytes: to the next lines, to the second line, to the two more */
} pcp_fours_rows_t;

/* Whole sums of the first `terms` terms of four rows of B with `parts` numbers of m rows of A: of each part [4][width]. */
__attribute__((always_inline)) PCP_FN void pcp_fours_pass(const pcp_fours_rows_t *b, int64_t terms,
                                                          const int8_t *ask, const int m,
                                                          const int parts, const int8_t *digits,
                                                          const int32_t *start, int32_t *to)
{
    const int n = m * parts, width = m == 3 ? 4 : m;
    kc_i16 c[PCP_FOURS_FEW][PCP_FOURS_FEW];
#pragma GCC unroll 4
    for (int r = 0; r < PCP_FOURS_FEW; r++)
#pragma GCC unroll 4
        for (int i = 0; i < n; i++) c[r][i] = (kc_i16){start[i]};
    for (int64_t p = 0; p < terms; p += PCP_INT_STEP, ask += b->step) {
        kc_i16 x[PCP_FOURS_FEW];
        __builtin_prefetch(ask);
        __builtin_prefetch(ask + b->second);
        if (b->others) {
            __builtin_prefetch(ask + b->others);
            __builtin_prefetch(ask + b->others + b->second);
        }
#pragma GCC unroll 4
        for (int r = 0; r < PCP_FOURS_FEW; r++) {
            x[r] = (kc_i16){0};
            if (p + PCP_INT_STEP <= terms)
                x[r] = *(const kc_i16 *)(b->row[r] + p);
            else
                __builtin_memcpy(&x[r], b->row[r] + p, terms - p);
            x[r] ^= (int32_t)0x80808080;
        }
#pragma GCC unroll 4
        for (int i = 0; i < n; i++) {
            const kc_i16 digit = *(const kc_i16 *)(digits + i * PCP_STREAM_TERMS + p);
#pragma GCC unroll 4
            for (int r = 0; r < PCP_FOURS_FEW; r++) c[r][i] = KC_FOURS(c[r][i], x[r], digit);
        }
    }
#define PCP_FOURS_OF(part, q) c[(q) / width][(part)*m + ((q) % width < m ? (q) % width : m - 1)]
#pragma GCC unroll 3
    for (int part = 0; part < parts; part++)
#pragma GCC unroll 4
        for (int q = 0; q < PCP_FOURS_FEW * width; q += PCP_FOURS_FEW)
            pcp_fours_fold(PCP_FOURS_OF(part, q), PCP_FOURS_OF(part, q + 1),
                           PCP_FOURS_OF(part, q + 2), PCP_FOURS_OF(part, q + 3),
                           to + part * PCP_FOURS_TILE + q);
}

/* Rows of A, and numbers of each in a pass: all of them where they are four at most. */
#define PCP_FOURS_EACH_PASS(what) what(1, 2) what(1, 3) what(2, 2) what(2, 1) what(3, 1) what(4, 1)
#define PCP_FOURS_CASE(m, parts) \
    case (m)*4 + (parts): pcp_fours_pass(b, terms, ask, m, parts, digits, start, to); break;

/* Whole sums of four rows of B, of each part [4][width]. */
PCP_FN void pcp_fours_passes(const pcp_stream_t *s, pcp_fours_rows_t *b, int64_t terms, int parts,
                             const int8_t *digits, const int32_t *start, int32_t *to)
{
    const int64_t all = s->m * parts <= PCP_FOURS_FEW ? parts : 1;
    const int8_t *ask = b->ask;
    b->others = all == parts ? 2 * s->ldb : 0;
    for (int64_t part = 0; part < parts; part += all) {
        switch (s->m * 4 + all) {
            PCP_FOURS_EACH_PASS(PCP_FOURS_CASE)
        }
        ask += part == 0 ? 2 * s->ldb : 0;
        digits += s->m * PCP_STREAM_TERMS, start += s->m, to += PCP_FOURS_TILE;
    }
}

/* Sums [8][width] of the rows of B from j on, up to j1. */
PCP_FN void pcp_fours_rows_along(const pcp_stream_t *s, int64_t j, int64_t j1, int64_t p0,
                                 int64_t p1, const pcp_stream_scales_t *scales,
                                 const int8_t *digits, const int32_t *start, float *sums)
{
    int32_t whole[PCP_STREAM_PARTS * PCP_FOURS_TILE] __attribute__((aligned(64)));
    const int64_t width = pcp_stream_width(s), in_order = s->ldb == p1 - p0;
    pcp_fours_rows_t b = {.step = in_order ? 2 * PCP_STREAM_LINE : PCP_STREAM_LINE,
                          .second = in_order ? PCP_STREAM_LINE : s->ldb};
    for (int64_t r = 0; r < PCP_FOURS_ROWS && j + r < j1; r += PCP_FOURS_FEW) {
        for (int64_t i = 0; i < PCP_FOURS_FEW; i++)
            b.row[i] = (const int8_t *)s->b + (j + r + i < j1 ? j + r + i : j1 - 1) * s->ldb + p0;
        b.ask = b.row[0] + PCP_FOURS_SOON * s->ldb;
        pcp_fours_passes(s, &b, p1 - p0, scales->parts, digits, start, whole + r * width);
    }
    for (int64_t at = 0; at < PCP_FOURS_ROWS * width; at += PCP_STREAM_SIDE)
        pcp_stream_join(whole + at, PCP_FOURS_TILE, scales->parts, 0, scales->back, sums + at);
}

/* --- */

/* The same with lanes that are rows of A. */
PCP_FN void pcp_fours_rows_across(const pcp_stream_t *s, int64_t j, int64_t j1, int64_t p0,
                                  int64_t p1, const pcp_stream_scales_t *scales,
                                  const int32_t *digits, float *sums)
{
    int32_t whole[PCP_FOURS_ROWS * PCP_FOURS_LANES + PCP_FOURS_LANES] __attribute__((aligned(64)));
    pcp_fours_rows(s, j, j1, p0, p1, scales->parts, digits, whole);
    for (int64_t i = 0; i < PCP_FOURS_ROWS; i++)
        pcp_stream_join(whole + i * PCP_FOURS_LANES, s->m, scales->parts, 0, scales->back,
                        sums + i * PCP_STREAM_SIDE);
}

/* Columns [j0, j1) of C; B is i8. */
PCP_FN void pcp_stream_columns(const pcp_stream_t *s, int64_t j0, int64_t j1)
{
    int32_t digits[PCP_STREAM_TERMS / 4 * PCP_FOURS_LANES] __attribute__((aligned(64)));
    int32_t start[PCP_FOURS_MOST];
    float sums[PCP_STREAM_ROWS * PCP_STREAM_SIDE + PCP_STREAM_SIDE] __attribute__((aligned(64)));
    pcp_stream_scales_t scales;
    const int64_t width = pcp_stream_width(s);
    const int few = s->m <= PCP_FOURS_FEW;
    for (int64_t p0 = 0; p0 < s->k; p0 += PCP_STREAM_TERMS) {
        const int64_t p1 = p0 + PCP_STREAM_TERMS < s->k ? p0 + PCP_STREAM_TERMS : s->k;
        pcp_stream_scales(s, p0, p1, &scales);
        if (few)
            pcp_fours_split_along(s, p0, p1, &scales, (int8_t *)digits, start);
        else
            pcp_fours_split(s, p0, p1, &scales, digits);
        for (int64_t j = j0; j < j1; j += PCP_STREAM_ROWS) {
            const int64_t rows = j1 - j < PCP_STREAM_ROWS ? j1 - j : PCP_STREAM_ROWS;
            for (int64_t r = 0; r < rows; r += PCP_FOURS_ROWS)
                if (few)
                    pcp_fours_rows_along(s, j + r, j1, p0, p1, &scales, (const int8_t *)digits,
                                         start, sums + r * width);
                else
                    pcp_fours_rows_across(s, j + r, j1, p0, p1, &scales, digits, sums + r * width);
            pcp_stream_write(s, j, rows, p0, sums);
        }
    }
}
#endif

#endif
