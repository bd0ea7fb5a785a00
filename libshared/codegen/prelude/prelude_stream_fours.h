/* Prelude, behind codegen/prelude/prelude_stream_int.h: the same whole numbers by vectors, where there is no matrix unit. An instruction
 * adds four products of a byte without a sign and one with to 32 bits (VPDPBUSD), for 16 lanes. A's numbers are made positive by
 * 128, and 128 times the sum of B's row is taken off. Of up to four rows of A lanes are terms; of more, lanes are the numbers
 * of i8 of each row, and four numbers of a row of B are the same in all of them. Nothing is rounded, so that sums have the bits of
 * the matrix unit's, and those of a row do not depend on how many there are. */
#ifndef CODEGEN_PRELUDE_STREAM_FOURS_H
#define CODEGEN_PRELUDE_STREAM_FOURS_H

#ifndef CODEGEN_PRELUDE_STREAM_INT_H
#include "codegen/prelude/prelude_stream_int.h"
#endif

#if defined(KC_FOURS) && !defined(KC_CONFIG)
enum {
    PCP_FOURS_ROWS = 8, /* of B together */
    PCP_FOURS_FEW = 4,  /* rows of A whose lanes are terms */
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

/* The same of few rows: their first numbers row by row, their second and third ones. */
PCP_FN void pcp_fours_digits_along(const pcp_stream_t *s, int64_t p,
                                   const pcp_stream_scales_t *scales, int8_t *to)
{
    for (int64_t i = 0; i < s->m; i++)
        pcp_stream_digits(s, i, p, scales->factor[i], scales->parts, to + i * PCP_STREAM_TERMS,
                          s->m * PCP_STREAM_TERMS);
    for (int64_t i = 0; i < scales->parts * s->m; i++)
        *(pcp_stream_i *)(to + i * PCP_STREAM_TERMS) ^= (int32_t)0x80808080;
}

/* The numbers of the terms [p0, p1) of A. */
PCP_FN void pcp_fours_split(const pcp_stream_t *s, int64_t p0, int64_t p1,
                            const pcp_stream_scales_t *scales, int32_t *to)
{
    const int64_t step = pcp_fours_vectors(s, scales->parts) * PCP_STREAM_SIDE * PCP_FOURS;
    for (int64_t p = p0; p < p1; p += PCP_INT_STEP)
        if (s->m > PCP_FOURS_FEW)
            pcp_fours_digits(s, p, scales, to + (p - p0) / PCP_INT_STEP * step);
        else
            pcp_fours_digits_along(s, p, scales, (int8_t *)to + (p - p0));
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

#define PCP_FOURS_ALL(what)                                                                  \
    what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7) what(8) what(9) what(10) \
        what(11)
#define PCP_FOURS_NONE(i) kc_i16 a##i = {0}, b##i = {0};
#define PCP_FOURS_DOT(i)                                                       \
    if (n > i) {                                                               \
        const kc_i16 x = *(const kc_i16 *)(digits + (i)*PCP_STREAM_TERMS + p); \
        a##i = KC_FOURS(a##i, x, first);                                       \
        b##i = KC_FOURS(b##i, x, second);                                      \
    }
/* Behind n sums comes that of the row itself, 128 times of which all are too large. */
#define PCP_FOURS_OR(x, i, all) (n > (i) ? x##i : all)
#define PCP_FOURS_SUMS(x, all, to)                                                                 \
    pcp_fours_fold(x##0, x##1, PCP_FOURS_OR(x, 2, all), PCP_FOURS_OR(x, 3, all), to);              \
    if (n > 3)                                                                                     \
        pcp_fours_fold(PCP_FOURS_OR(x, 4, all), PCP_FOURS_OR(x, 5, all), PCP_FOURS_OR(x, 6, all),  \
                       PCP_FOURS_OR(x, 7, all), (to) + 4);                                         \
    if (n > 7)                                                                                     \
        pcp_fours_fold(PCP_FOURS_OR(x, 8, all), PCP_FOURS_OR(x, 9, all), PCP_FOURS_OR(x, 10, all), \
                       PCP_FOURS_OR(x, 11, all), (to) + 8);                                        \
    if (n > 11) pcp_fours_fold(all, all, all, all, (to) + 12)

/* Whole sums [2][48] of the first `terms` terms of two rows of B with n rows of numbers; meanwhile what lies `apart` behind both is
 * asked for. */
__attribute__((always_inline)) PCP_FN void pcp_fours_sum_along(const int8_t *from,
                                                               const int8_t *from2, int64_t terms,
                                                               int64_t apart, const int n,
                                                               const int8_t *digits, int32_t *whole)
{
    const kc_i16 one = (kc_i16){0} + 0x01010101;
    kc_i16 all = {0}, all2 = {0};
    PCP_FOURS_ALL(PCP_FOURS_NONE)
    for (int64_t p = 0; p < terms; p += PCP_INT_STEP) {
        kc_i16 first = {0}, second = {0};
        if (p + PCP_INT_STEP <= terms) {
            __builtin_prefetch(from + p + apart, 0, 2);
            __builtin_prefetch(from2 + p + apart, 0, 2);
            first = *(const kc_i16 *)(from + p);
            second = *(const kc_i16 *)(from2 + p);
        } else {
            __builtin_memcpy(&first, from + p, terms - p);
            __builtin_memcpy(&second, from2 + p, terms - p);
        }
        all = KC_FOURS(all, one, first);
        all2 = KC_FOURS(all2, one, second);
        PCP_FOURS_ALL(PCP_FOURS_DOT)
    }
    PCP_FOURS_SUMS(a, all, whole);
    PCP_FOURS_SUMS(b, all2, whole + PCP_FOURS_LANES);
}

/* Two or three numbers of one to four rows. */
#define PCP_FOURS_EACH_NUMBER(what) what(2) what(3) what(4) what(6) what(8) what(9) what(12)
#define PCP_FOURS_CASE(n) \
    case n: pcp_fours_sum_along(from, from2, terms, apart, n, digits, to); break;

/* The rows of B from j on, up to j1. */
PCP_FN void pcp_fours_rows_along(const pcp_stream_t *s, int64_t j, int64_t j1, int64_t p0,
                                 int64_t p1, int parts, const int8_t *digits, int32_t *whole)
{
    const int8_t *b = (const int8_t *)s->b + p0;
    const int64_t apart = PCP_FOURS_ROWS * s->ldb, terms = p1 - p0;
    for (int64_t r = 0; r < PCP_FOURS_ROWS && j + r < j1; r += 2) {
        const int8_t *from = b + (j + r) * s->ldb, *from2 = j + r + 1 < j1 ? from + s->ldb : from;
        int32_t *to = whole + r * PCP_FOURS_LANES;
        switch (parts * s->m) {
            PCP_FOURS_EACH_NUMBER(PCP_FOURS_CASE)
        }
    }
}

/* Columns [j0, j1) of C; B is i8. */
PCP_FN void pcp_stream_columns(const pcp_stream_t *s, int64_t j0, int64_t j1)
{
    int32_t digits[PCP_STREAM_TERMS / 4 * PCP_FOURS_LANES] __attribute__((aligned(64)));
    int32_t whole[PCP_FOURS_ROWS * PCP_FOURS_LANES + PCP_FOURS_LANES] __attribute__((aligned(64)));
    float sums[PCP_STREAM_ROWS * PCP_STREAM_SIDE + PCP_STREAM_SIDE] __attribute__((aligned(64)));
    pcp_stream_scales_t scales;
    const int64_t width = pcp_stream_width(s);
    const int few = s->m <= PCP_FOURS_FEW;
    for (int64_t p0 = 0; p0 < s->k; p0 += PCP_STREAM_TERMS) {
        const int64_t p1 = p0 + PCP_STREAM_TERMS < s->k ? p0 + PCP_STREAM_TERMS : s->k;
        pcp_stream_scales(s, p0, p1, &scales);
        pcp_fours_split(s, p0, p1, &scales, digits);
        for (int64_t j = j0; j < j1; j += PCP_STREAM_ROWS) {
            const int64_t rows = j1 - j < PCP_STREAM_ROWS ? j1 - j : PCP_STREAM_ROWS;
            for (int64_t r = 0; r < rows; r += PCP_FOURS_ROWS) {
                if (few)
                    pcp_fours_rows_along(s, j + r, j1, p0, p1, scales.parts, (const int8_t *)digits,
                                         whole);
                else
                    pcp_fours_rows(s, j + r, j1, p0, p1, scales.parts, digits, whole);
                for (int64_t i = 0; i < PCP_FOURS_ROWS; i++) {
                    const int32_t *row = whole + i * PCP_FOURS_LANES;
                    pcp_stream_join(row, s->m, scales.parts,
                                    few ? 128 * row[scales.parts * s->m] : 0, scales.back,
                                    sums + (r + i) * width);
                }
            }
            pcp_stream_write(s, j, rows, p0, sums);
        }
    }
}
#endif

#endif
