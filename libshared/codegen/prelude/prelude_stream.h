/* Prelude, behind codegen/c/tile_amx.h and codegen/c/pack_amx.h, whose KC_CONFIG and its like and kc_turn_pairs it uses:
 * products of few rows of f32 with rows of bf16 by a matrix unit; with rows of i8 in prelude_stream_int.h.
 *
 * A number of f32 is the sum of three of bf16: its highest 8 bits, the highest 8 of what is left, and the rest
 * (but for what is below 2^-126). So products with bf16 are exact, and sums are f32. Rows of the matrix,
 * 16 at a time, are a tile as they lie; rows of A are turned, in parts, once for all of them. C comes turned. */
#ifndef CODEGEN_PRELUDE_STREAM_H
#define CODEGEN_PRELUDE_STREAM_H

#ifndef PCP_FN
#include "codegen/prelude/prelude.h"
#endif

#if defined(KC_CONFIG) || defined(KC_FOURS)
enum {
    PCP_STREAM_SIDE = 16, /* of a tile, in rows and in pairs */
    PCP_STREAM_SQUARE = PCP_STREAM_SIDE * PCP_STREAM_SIDE,
    PCP_STREAM_STEP = 32,    /* terms of a tile */
    PCP_STREAM_LINE = 64,    /* bytes of a line of the cache */
    PCP_STREAM_TERMS = 4096, /* terms whose parts are kept at a time */
    PCP_STREAM_PARTS = 3,
    PCP_STREAM_FEW = 2,   /* of them, where whole numbers need no more */
    PCP_STREAM_ROWS = 64, /* of the matrix together: 4 tiles */
    PCP_STREAM_NARROW = 4 /* rows of A up to which tiles are as narrow as they are; otherwise 16 */
};

typedef float pcp_stream_f __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t pcp_stream_u __attribute__((vector_size(64), aligned(4), may_alias));

/* One matrix product: C[m, n] = A[m, k] B[n, k]^T, distances of rows in elements. */
typedef struct {
    const float *a;
    const void *b;
    float *c;
    int64_t lda, ldb, ldc, m, k;
    int bytes; /* B is i8, otherwise bf16 */
} pcp_stream_t;

/* Sums that lie beside each other of a row of B. By vectors three rows of A have a fourth, so that vectors have whole rows. */
PCP_FN int64_t pcp_stream_width(const pcp_stream_t *s)
{
#ifndef KC_CONFIG
    if (s->m == 3) return 4;
#endif
    return s->m > PCP_STREAM_NARROW ? PCP_STREAM_SIDE : s->m;
}

/* So many terms from p on of row i of A; zero beyond k. */
PCP_FN void pcp_stream_terms(const pcp_stream_t *s, int64_t i, int64_t p, const int64_t count,
                             float *to)
{
    const int64_t n = s->k - p < count ? s->k - p : count;
    if (n < count) __builtin_memset(to, 0, 4 * count);
    if (n == count)
        __builtin_memcpy(to, s->a + i * s->lda + p, 4 * count);
    else
        __builtin_memcpy(to, s->a + i * s->lda + p, 4 * n);
}

/* C[i, j + r] from sums [64][width], beside what is there when p0 > 0. */
PCP_FN void pcp_stream_write(const pcp_stream_t *s, int64_t j, int64_t rows, int64_t p0,
                             const float *sums)
{
    const int64_t width = pcp_stream_width(s);
    float x[PCP_STREAM_SIDE * PCP_STREAM_ROWS] __attribute__((aligned(64)));
    if (width == PCP_STREAM_SIDE) {
        for (int64_t r = 0; r < PCP_STREAM_ROWS; r += PCP_STREAM_SIDE)
            for (int64_t i = 0; i < s->m; i += 4)
                kc_turn_pairs((uint16_t *)(x + i * PCP_STREAM_ROWS + r), 2 * PCP_STREAM_ROWS,
                              (const uint16_t *)(sums + r * width + i), 2 * width);
    } else {
        for (int64_t i = 0; i < s->m; i++)
            for (int64_t r = 0; r < PCP_STREAM_ROWS; r++)
                x[i * PCP_STREAM_ROWS + r] = sums[r * width + i];
    }
    for (int64_t i = 0; i < s->m; i++) {
        float *to = s->c + i * s->ldc + j;
        const float *from = x + i * PCP_STREAM_ROWS;
        int64_t r = 0;
        for (; r + PCP_STREAM_SIDE <= rows; r += PCP_STREAM_SIDE) {
            pcp_stream_f sum = *(const pcp_stream_f *)(from + r);
            if (p0 > 0) sum += *(const pcp_stream_f *)(to + r);
            *(pcp_stream_f *)(to + r) = sum;
        }
        for (; r < rows; r++) to[r] = p0 > 0 ? to[r] + from[r] : from[r];
    }
}

#endif

#ifdef KC_CONFIG
/* Asks for a quarter of what 64 rows of B from j on hold of 32 terms: lines in the order in which they lie,
 * where rows follow each other. */
PCP_FN void pcp_stream_ask(const pcp_stream_t *s, int64_t j, int64_t p, int quarter)
{
    const int64_t size = 2, n = size * PCP_STREAM_STEP * PCP_STREAM_SIDE;
    const char *at = (const char *)s->b + j * s->ldb * size;
    if (s->ldb == s->k) {
        at += PCP_STREAM_ROWS * p * size + quarter * n;
        for (int64_t i = 0; i < n; i += PCP_STREAM_LINE) __builtin_prefetch(at + i, 0, 2);
    } else if (size * p % PCP_STREAM_LINE == 0) {
        at += (quarter * PCP_STREAM_SIDE * s->ldb + p) * size;
        for (int64_t r = 0; r < PCP_STREAM_SIDE; r++)
            __builtin_prefetch(at + r * s->ldb * size, 0, 2);
    }
}

/* The highest 16 bits of both as a pair; what is left of them. */
PCP_FN pcp_stream_u pcp_stream_take(pcp_stream_f *first, pcp_stream_f *second)
{
    const pcp_stream_u high = (pcp_stream_u){0} + 0xffff0000u;
    const pcp_stream_u a = (pcp_stream_u)*first & high, b = (pcp_stream_u)*second & high;
    *first -= (pcp_stream_f)a;
    *second -= (pcp_stream_f)b;
    return a >> 16 | b;
}

/* The pairs of 32 terms, neighbours. One row. */
PCP_FN void pcp_stream_split_one(const pcp_stream_t *s, int64_t p, uint32_t *to)
{
    float x[PCP_STREAM_STEP] __attribute__((aligned(64)));
    pcp_stream_terms(s, 0, p, PCP_STREAM_STEP, x);
    const pcp_stream_f a = *(pcp_stream_f *)x, b = *(pcp_stream_f *)(x + PCP_STREAM_SIDE);
    pcp_stream_f first = KC_JOIN(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    pcp_stream_f second = KC_JOIN(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    for (int part = 0; part < PCP_STREAM_PARTS; part++)
        *(pcp_stream_u *)(to + part * PCP_STREAM_SIDE) = pcp_stream_take(&first, &second);
}

/* Several rows: turned, x[term][row], zero beyond m. */
PCP_FN void pcp_stream_split_rows(const pcp_stream_t *s, int64_t p, uint32_t *to)
{
    float rows[PCP_STREAM_SIDE * PCP_STREAM_STEP] __attribute__((aligned(64)));
    float x[PCP_STREAM_STEP * PCP_STREAM_SIDE] __attribute__((aligned(64)));
    const int64_t width = pcp_stream_width(s);
    if (s->m < PCP_STREAM_SIDE) __builtin_memset(rows, 0, sizeof rows);
    for (int64_t i = 0; i < s->m; i++)
        pcp_stream_terms(s, i, p, PCP_STREAM_STEP, rows + i * PCP_STREAM_STEP);
    for (int64_t t = 0; t < PCP_STREAM_STEP; t += 4)
        kc_turn_pairs((uint16_t *)(x + t * PCP_STREAM_SIDE), 2 * PCP_STREAM_SIDE,
                      (const uint16_t *)(rows + t), 2 * PCP_STREAM_STEP);
    for (int64_t q = 0; q < PCP_STREAM_SIDE; q++) {
        pcp_stream_f first = *(pcp_stream_f *)(x + 2 * q * PCP_STREAM_SIDE);
        pcp_stream_f second = *(pcp_stream_f *)(x + (2 * q + 1) * PCP_STREAM_SIDE);
        for (int part = 0; part < PCP_STREAM_PARTS; part++) {
            const pcp_stream_u pairs = pcp_stream_take(&first, &second);
            __builtin_memcpy(to + (part * PCP_STREAM_SIDE + q) * width, &pairs, 4 * width);
        }
    }
}

/* The parts of the terms [p0, p1) of A: for each 32 of them three tiles of 16 pairs by `width` rows. Meanwhile
 * the first rows of B, from j on, come. */
PCP_FN void pcp_stream_split(const pcp_stream_t *s, int64_t j, int64_t p0, int64_t p1, uint32_t *to)
{
    const int64_t width = pcp_stream_width(s), tile = PCP_STREAM_SIDE * width;
    for (int64_t p = p0; p < p1; p += PCP_STREAM_STEP, to += PCP_STREAM_PARTS * tile) {
        for (int quarter = 0; quarter < 4; quarter++) pcp_stream_ask(s, j, p, quarter);
        if (s->m == 1)
            pcp_stream_split_one(s, p, to);
        else
            pcp_stream_split_rows(s, p, to);
    }
}

/* Terms from p on of 16 rows of B from j on as a tile; zero beyond k and beyond row j1. */
PCP_FN void pcp_stream_edge(const pcp_stream_t *s, int64_t j, int64_t j1, int64_t p, uint32_t *to)
{
    const int64_t n = s->k - p < PCP_STREAM_STEP ? s->k - p : PCP_STREAM_STEP;
    __builtin_memset(to, 0, 4 * PCP_STREAM_SQUARE);
    for (int64_t r = 0; r < PCP_STREAM_SIDE && j + r < j1; r++, to += PCP_STREAM_SIDE) {
        __builtin_memcpy(to, (const uint16_t *)s->b + (j + r) * s->ldb + p, 2 * n);
    }
}

#define PCP_STREAM_PARTS_OF_A(parts, width)                       \
    KC_LOAD(4, parts, 4 * (width));                               \
    KC_LOAD(5, (parts) + PCP_STREAM_SIDE * (width), 4 * (width)); \
    KC_LOAD(6, (parts) + 2 * PCP_STREAM_SIDE * (width), 4 * (width))

#define PCP_STREAM_DOTS(t, from, row) \
    KC_LOAD(7, from, row);            \
    KC_DOT(t, 7, 4);                  \
    KC_DOT(t, 7, 5);                  \
    KC_DOT(t, 7, 6)

/* The terms [p0, end), whole tiles, of 64 rows. Meanwhile lines of the rows behind these are asked for. */
PCP_FN void pcp_stream_whole(const pcp_stream_t *s, int64_t j, int64_t p0, int64_t end,
                             const uint32_t *parts)
{
    const int64_t width = pcp_stream_width(s), row = 2 * s->ldb;
    const char *from = (const char *)((const uint16_t *)s->b + j * s->ldb + p0);
    for (int64_t p = p0; p < end; p += PCP_STREAM_STEP) {
        PCP_STREAM_PARTS_OF_A(parts, width);
        pcp_stream_ask(s, j + PCP_STREAM_ROWS, p, 0);
        PCP_STREAM_DOTS(0, from, row);
        pcp_stream_ask(s, j + PCP_STREAM_ROWS, p, 1);
        PCP_STREAM_DOTS(1, from + PCP_STREAM_SIDE * row, row);
        pcp_stream_ask(s, j + PCP_STREAM_ROWS, p, 2);
        PCP_STREAM_DOTS(2, from + 2 * PCP_STREAM_SIDE * row, row);
        pcp_stream_ask(s, j + PCP_STREAM_ROWS, p, 3);
        PCP_STREAM_DOTS(3, from + 3 * PCP_STREAM_SIDE * row, row);
        parts += PCP_STREAM_PARTS * PCP_STREAM_SIDE * width;
        from += 2 * PCP_STREAM_STEP;
    }
}

/* Sums [64][width] of the rows of B from j on, up to j1. Tiles 0 to 3 are sums, 4 to 6 the parts of A, 7 rows
 * of B. */
PCP_FN void pcp_stream_sum(const pcp_stream_t *s, int64_t j, int64_t j1, int64_t p0, int64_t p1,
                           const uint32_t *parts, float *sums)
{
    uint32_t some[4 * PCP_STREAM_SQUARE] __attribute__((aligned(64)));
    const int64_t width = pcp_stream_width(s), tile = PCP_STREAM_SIDE * width;
    const int64_t end = j + PCP_STREAM_ROWS > j1 ? p0
                        : p1 < s->k              ? p1
                                                 : s->k / PCP_STREAM_STEP * PCP_STREAM_STEP;
    KC_ZERO(0);
    KC_ZERO(1);
    KC_ZERO(2);
    KC_ZERO(3);
    pcp_stream_whole(s, j, p0, end, parts);
    parts += (end - p0) / PCP_STREAM_STEP * PCP_STREAM_PARTS * tile;
    for (int64_t p = end; p < p1; p += PCP_STREAM_STEP, parts += PCP_STREAM_PARTS * tile) {
        for (int t = 0; t < 4; t++)
            pcp_stream_edge(s, j + t * PCP_STREAM_SIDE, j1, p, some + t * PCP_STREAM_SQUARE);
        PCP_STREAM_PARTS_OF_A(parts, width);
        PCP_STREAM_DOTS(0, some, 4 * PCP_STREAM_SIDE);
        PCP_STREAM_DOTS(1, some + PCP_STREAM_SQUARE, 4 * PCP_STREAM_SIDE);
        PCP_STREAM_DOTS(2, some + 2 * PCP_STREAM_SQUARE, 4 * PCP_STREAM_SIDE);
        PCP_STREAM_DOTS(3, some + 3 * PCP_STREAM_SQUARE, 4 * PCP_STREAM_SIDE);
    }
    KC_STORE(0, sums, 4 * width);
    KC_STORE(1, sums + tile, 4 * width);
    KC_STORE(2, sums + 2 * tile, 4 * width);
    KC_STORE(3, sums + 3 * tile, 4 * width);
}

/* Columns [j0, j1) of C. */
PCP_FN void pcp_stream_halves(const pcp_stream_t *s, int64_t j0, int64_t j1)
{
    uint32_t parts[PCP_STREAM_TERMS / PCP_STREAM_STEP * PCP_STREAM_PARTS * PCP_STREAM_SIDE *
                   PCP_STREAM_SIDE] __attribute__((aligned(64)));
    float sums[PCP_STREAM_ROWS * PCP_STREAM_SIDE] __attribute__((aligned(64)));
    for (int64_t p0 = 0; p0 < s->k; p0 += PCP_STREAM_TERMS) {
        const int64_t p1 = p0 + PCP_STREAM_TERMS < s->k ? p0 + PCP_STREAM_TERMS : s->k;
        pcp_stream_split(s, j0, p0, p1, parts);
        for (int64_t j = j0; j < j1; j += PCP_STREAM_ROWS) {
            pcp_stream_sum(s, j, j1, p0, p1, parts, sums);
            pcp_stream_write(s, j, j1 - j < PCP_STREAM_ROWS ? j1 - j : PCP_STREAM_ROWS, p0, sums);
        }
    }
}
#endif

#endif
