/* Prelude, behind prelude_attention.h: the same blocks of attention with products of bf16 pairs and
 * f32 sums, for targets that have VDPBF16PS. Softmax stays f32; what products read is rounded to
 * nearest even, probabilities up to the running maximum of their row.
 *
 * A *pair* is two neighbours along a product's sum, 32 bits wide. Operands come as rows of bf16,
 * whose pairs lie next to each other, or *woven*: row p of the woven matrix has the pairs of rows
 * 2 p and 2 p + 1, column by column. */
#ifndef CODEGEN_PRELUDE_ATTENTION_PAIRS_H
#define CODEGEN_PRELUDE_ATTENTION_PAIRS_H

#ifndef CODEGEN_PRELUDE_ATTENTION_H
#include "codegen/prelude/prelude_attention.h"
#endif

#ifdef __AVX512BF16__
typedef int32_t pcp_pairs_t __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint16_t pcp_words_t __attribute__((vector_size(64), aligned(2), may_alias));
typedef int32_t pcp_pair_t __attribute__((may_alias)); /* one of them */

PCP_FN pcp_vec_t pcp_dot(pcp_vec_t c, pcp_pairs_t a, pcp_pairs_t b)
{
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
}

/* Pairs of n columns, rounded up to whole vectors. */
#define PCP_UP_PAIRS(n) PCP_UP(((n) + 1) / 2)

/* What is filled up with zeros for tiles of a matrix unit (prelude_attention_matrix.h), and for pairs
 * alone: columns of plain rows; keys of woven ones; room for turned rows of n columns, and for sums of
 * n columns of keys, ld of them. Keys from u on of these sums as rows. */
#ifdef KC_CONFIG
#define PCP_UP_HALVES(n) (2 * PCP_UP_PAIRS(n))
#define PCP_UP_KEYS(n) (((n) + 31) / 32 * 32)
#define PCP_TURNED(n) (PCP_UP(n) * PCP_BLOCK / 2)
#define PCP_KEY_SUMS(n, keys, ld) (PCP_UP(n) * (ld))
#define PCP_KEY_ROWS(sums, u, n, ld, m, part) \
    (pcp_turn(sums + u, ld, PCP_UP(n), m, part, PCP_UP(n), PCP_UP(n)), part)
#else
#define PCP_UP_HALVES(n) PCP_UP(n)
#define PCP_UP_KEYS(n) (((n) + 1) / 2 * 2)
#define PCP_TURNED(n) 1
#define PCP_KEY_SUMS(n, keys, ld) (PCP_UP_ROWS(keys) * PCP_UP(n))
#define PCP_KEY_ROWS(sums, u, n, ld, m, part) (sums + (u)*PCP_UP(n))
#define PCP_BEGIN_TILES
#define PCP_END_TILES
#endif

/* 16 numbers and 16 more, rounded, one behind the other. */
PCP_FN pcp_words_t pcp_narrow(pcp_vec_t a, pcp_vec_t b)
{
    pcp_words_t y;
    __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(y) : "v"(a), "v"(b));
    return y;
}

/* The pairs of lane u of the first and of the second half. */
PCP_FN pcp_words_t pcp_weave(pcp_words_t x)
{
#define PCP_WEAVE(u) u, 16 + u
#ifdef __clang__
    return __builtin_shufflevector(x, x, PCP_EACH(PCP_WEAVE));
#else
    return __builtin_shuffle(x, (pcp_words_t){PCP_EACH(PCP_WEAVE)});
#endif
}

/* The two halves, to where word i of y is. */
PCP_FN void pcp_first_half(void *y, int64_t i, pcp_words_t x)
{
    __builtin_memcpy((char *)y + 2 * i, &x, 32);
}

PCP_FN void pcp_second_half(void *y, int64_t i, pcp_words_t x)
{
    __builtin_memcpy((char *)y + 2 * i, (const char *)&x + 32, 32);
}

/* pcp_tile and pcp_strip for k pairs: a's pair (r, p) at r * row + p * step, b woven. */
PCP_FN void pcp_pairs_tile(int nv, int64_t k, const pcp_pair_t *a, int64_t row, int64_t step,
                           const pcp_pair_t *b, int64_t ldb, float *c, int64_t ldc, int add)
{
    pcp_vec_t acc[PCP_ROWS][2];
#pragma GCC unroll 8
    for (int r = 0; r < PCP_ROWS; r++) {
        acc[r][0] = add ? *(const pcp_vec_t *)(c + r * ldc) : (pcp_vec_t){0};
        if (nv > 1) acc[r][1] = add ? *(const pcp_vec_t *)(c + r * ldc + PCP_LANES) : acc[r][0];
    }
    for (int64_t p = 0; p < k; p++) {
        pcp_pairs_t b0 = *(const pcp_pairs_t *)(b + p * ldb), b1 = b0;
        if (nv > 1) b1 = *(const pcp_pairs_t *)(b + p * ldb + PCP_LANES);
#pragma GCC unroll 8
        for (int r = 0; r < PCP_ROWS; r++) {
            pcp_pairs_t x = (pcp_pairs_t){0} + a[r * row + p * step];
            acc[r][0] = pcp_dot(acc[r][0], x, b0);
            if (nv > 1) acc[r][1] = pcp_dot(acc[r][1], x, b1);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < PCP_ROWS; r++) {
        *(pcp_vec_t *)(c + r * ldc) = acc[r][0];
        if (nv > 1) *(pcp_vec_t *)(c + r * ldc + PCP_LANES) = acc[r][1];
    }
}

PCP_FN void pcp_pairs_strip(int64_t n, int64_t k, const void *a, int64_t row, int64_t step,
                            const pcp_pair_t *b, int64_t ldb, float *c, int64_t ldc, int add)
{
    const pcp_pair_t *pairs = a;
    int64_t j = 0;
    for (; j + 2 * PCP_LANES <= n; j += 2 * PCP_LANES)
        pcp_pairs_tile(2, k, pairs, row, step, b + j, ldb, c + j, ldc, add);
    if (j < n) pcp_pairs_tile(1, k, pairs, row, step, b + j, ldb, c + j, ldc, add);
}

/* --- Packing ---------------------------------------------------------------------------------- */

/* Columns j .. of a row of x, zeros from column `cols` on. */
PCP_FN pcp_vec_t pcp_some(const float *x, int64_t j, int64_t cols)
{
    pcp_vec_t y = {0};
    if (j + PCP_LANES <= cols) return pcp_vec_load(x + j);
    for (int u = 0; u < cols - j; u++) y[u] = x[j + u];
    return y;
}

/* rows x cols of x, `row` apart, as rows of bf16 and woven, each if wanted (not NULL); `ld` columns
 * of both, a multiple of PCP_LANES; what is beyond cols, and rows up to `all`, which is even, are
 * zero. */
PCP_FN void pcp_halve(const float *x, int64_t row, int64_t rows, int64_t cols, void *plain,
                      pcp_pair_t *woven, int64_t ld, int64_t all)
{
    for (int64_t i = 0; i < all; i += 2)
        for (int64_t j = 0; j < ld; j += PCP_LANES) {
            pcp_vec_t a = {0}, b = {0};
            if (i < rows) a = pcp_some(x + i * row, j, cols);
            if (i + 1 < rows) b = pcp_some(x + (i + 1) * row, j, cols);
            pcp_words_t y = pcp_narrow(a, b);
            if (plain) {
                pcp_first_half(plain, i * ld + j, y);
                pcp_second_half(plain, (i + 1) * ld + j, y);
            }
            if (woven) *(pcp_words_t *)(woven + i / 2 * ld + j) = pcp_weave(y);
        }
}

/* n keys of x, `cols` columns, as columns of pairs: to[PCP_UP_PAIRS(cols)][ld]; keys up to whole
 * vectors are zero. part[PCP_BLOCK * PCP_UP_PAIRS(cols)]: room. */
PCP_FN void pcp_halve_turned(const float *x, int64_t row, int64_t n, int64_t cols, pcp_pair_t *to,
                             int64_t ld, float *part)
{
    int64_t wide = PCP_UP_PAIRS(cols);
    for (int64_t u = 0; u < n; u += PCP_BLOCK) {
        int64_t m = pcp_least(PCP_BLOCK, n - u);
        pcp_halve(x + u * row, row, m, cols, part, (pcp_pair_t *)0, 2 * wide, (m + 1) / 2 * 2);
        pcp_turn(part, wide, m, wide, (float *)to + u, ld, PCP_UP(m));
    }
}

/* --- Attention -------------------------------------------------------------------------------- */

/* Probabilities s[n] as bf16. */
PCP_FN void pcp_halve_row(const float *s, int64_t n, uint16_t *p)
{
    for (int64_t j = 0; j < n; j += PCP_LANES)
        pcp_first_half(p, j, pcp_narrow(pcp_vec_load(s + j), (pcp_vec_t){0}));
}

#ifndef KC_CONFIG
/* pcp_attend of rows q[rows][ldq] of bf16 and keys as columns of pairs, kt[(d + 1) / 2][ldk], with
 * v woven, v[n / 2 rounded up][e rounded up]. */
PCP_FN void pcp_attend_pairs(const pcp_attention_t *x, int64_t rows, int64_t n, const uint16_t *q,
                             int64_t ldq, const pcp_pair_t *kt, int64_t ldk, const pcp_pair_t *v,
                             float *o, float *max, float *sum)
{
    enum { KEYS = PCP_BLOCK };
    float s[PCP_ROWS * KEYS] __attribute__((aligned(64)));
    uint16_t p[PCP_ROWS * KEYS] __attribute__((aligned(64)));
    const int64_t e = PCP_UP(x->e);
    for (int64_t j = 0; j < n; j += KEYS)
        for (int64_t r = 0; r < rows; r += PCP_ROWS) {
            int64_t wide = pcp_seen(x, r + PCP_ROWS - 1, j, pcp_least(KEYS, n - j));
            if (wide == 0) continue;
            int64_t whole = PCP_UP(wide);
            pcp_pairs_strip(whole, (x->d + 1) / 2, q + r * ldq, ldq / 2, 1, kt + j, ldk, s, KEYS,
                            0);
            for (int u = 0; u < PCP_ROWS; u++) {
                pcp_softmax_row(x, s + u * KEYS, pcp_seen(x, r + u, j, wide), whole, &max[r + u],
                                &sum[r + u], o + (r + u) * e);
                pcp_halve_row(s + u * KEYS, whole, p + u * KEYS);
            }
            pcp_pairs_strip(e, (wide + 1) / 2, p, KEYS / 2, 1, v + j / 2 * e, e, o + r * e, e, 1);
        }
}
#endif

/* One row of a block of n keys: probabilities and cotangents of the scores s and their products g
 * with the cotangent, for lanes j .. */
PCP_FN pcp_vec_t pcp_scores_back(const pcp_attention_t *x, const float *s, const float *g,
                                 int64_t left, float lse, float delta, pcp_vec_t *ds)
{
    pcp_vec_t p = pcp_vec_exp(pcp_vec_load(s) * x->scale - lse);
    p = pcp_vec_first(p, left, 0);
    *ds = p * (pcp_vec_load(g) - delta) * x->scale;
    return p;
}

/* Rows r and r + 1 of a block, s, g [2][PCP_BLOCK]: probabilities woven to p, cotangents of q k^T
 * woven to t and as rows of bf16 to plain[2][PCP_BLOCK]; seen[2] keys of n, `all` written. */
PCP_FN void pcp_softmax_back_pairs(const pcp_attention_t *x, const float *s, const float *g,
                                   const int64_t *seen, int64_t n, int64_t all, const float *lse,
                                   const float *delta, pcp_pair_t *p, pcp_pair_t *t,
                                   uint16_t *plain)
{
    for (int64_t j = 0; j < n; j += PCP_LANES) {
        pcp_vec_t d0, d1, p0, p1;
        p0 = pcp_scores_back(x, s + j, g + j, seen[0] - j, lse[0], delta[0], &d0);
        p1 = pcp_scores_back(x, s + PCP_BLOCK + j, g + PCP_BLOCK + j, seen[1] - j, lse[1], delta[1],
                             &d1);
        pcp_words_t ds = pcp_narrow(d0, d1);
        pcp_first_half(plain, j, ds);
        pcp_second_half(plain, PCP_BLOCK + j, ds);
        *(pcp_words_t *)(t + j) = pcp_weave(ds);
        *(pcp_words_t *)(p + j) = pcp_weave(pcp_narrow(p0, p1));
    }
    pcp_zero((float *)p + n, all - n);
    pcp_zero((float *)t + n, all - n);
}

/* Keys of one chunk: kt, vt as columns of pairs, k woven; dk and dv as in pcp_keys_t. */
typedef struct {
    const pcp_pair_t *kt, *vt, *k;
    float *dk, *dv;
    int64_t n, ld; /* of kt and vt */
} pcp_pair_keys_t;

/* Rows of a block and their cotangents, as bf16 and woven, both `ld` wide. */
typedef struct {
    const uint16_t *plain;
    const pcp_pair_t *woven;
    int64_t ld;
    pcp_pair_t *turned; /* room, PCP_TURNED */
} pcp_pair_rows_t;

#ifndef KC_CONFIG
/* pcp_attend_back by pairs. */
PCP_FN void pcp_attend_back_pairs(const pcp_attention_t *x, const pcp_pair_keys_t *keys,
                                  int64_t rows, const pcp_pair_rows_t *q, const pcp_pair_rows_t *g,
                                  const float *lse, const float *delta, float *dq)
{
    enum { KEYS = PCP_BLOCK };
    float s[PCP_ROWS * KEYS] __attribute__((aligned(64)));
    float t[PCP_ROWS * KEYS] __attribute__((aligned(64)));
    uint16_t plain[PCP_ROWS * KEYS] __attribute__((aligned(64)));
    pcp_pair_t p[PCP_BLOCK / 2 * KEYS] __attribute__((aligned(64)));
    pcp_pair_t ds[PCP_BLOCK / 2 * KEYS] __attribute__((aligned(64)));
    int64_t d = PCP_UP(x->d), e = PCP_UP(x->e);
    for (int64_t j = 0; j < keys->n; j += KEYS) {
        int64_t n = pcp_least(KEYS, keys->n - j), all = PCP_UP(n);
        for (int64_t r = 0; r < rows; r += PCP_ROWS) {
            int64_t wide = pcp_seen(x, r + PCP_ROWS - 1, j, n);
            if (wide == 0) continue;
            int64_t whole = PCP_UP(wide);
            pcp_pairs_strip(whole, (x->d + 1) / 2, q->plain + r * q->ld, q->ld / 2, 1, keys->kt + j,
                            keys->ld, s, KEYS, 0);
            pcp_pairs_strip(whole, (x->e + 1) / 2, g->plain + r * g->ld, g->ld / 2, 1, keys->vt + j,
                            keys->ld, t, KEYS, 0);
            for (int u = 0; u < PCP_ROWS; u += 2) {
                int64_t seen[] = {pcp_seen(x, r + u, j, n), pcp_seen(x, r + u + 1, j, n)};
                pcp_softmax_back_pairs(x, s + u * KEYS, t + u * KEYS, seen, whole, all, lse + r + u,
                                       delta + r + u, p + (r + u) / 2 * KEYS,
                                       ds + (r + u) / 2 * KEYS, plain + u * KEYS);
            }
            pcp_pairs_strip(d, (wide + 1) / 2, plain, KEYS / 2, 1, keys->k + j / 2 * d, d,
                            dq + r * d, d, 1);
        }
        for (int64_t c = 0; c < n; c += PCP_ROWS) {
            int64_t r = j + c - x->at; /* the first row that sees key c */
            if (r >= rows) break;
            r = r < 0 ? 0 : r / 2;
            pcp_pairs_strip(e, rows / 2 - r, p + r * KEYS + c, 1, KEYS, g->woven + r * g->ld, g->ld,
                            keys->dv + (j + c) * e, e, 1);
            pcp_pairs_strip(d, rows / 2 - r, ds + r * KEYS + c, 1, KEYS, q->woven + r * q->ld,
                            q->ld, keys->dk + (j + c) * d, d, 1);
        }
    }
}
#endif
#endif

#endif
