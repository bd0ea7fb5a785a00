/* Prelude, behind prelude_attention_pairs.h: the blocks of attention by a matrix unit (AMX), as there with
 * bf16 operands, f32 sums and f32 softmax. KC_CONFIG and its like are codegen/c/tile_amx.h's.
 *
 * Tiles are 16 x 16 everywhere: rows, keys and pairs are filled up with zeros. A product's second operand
 * is woven, its first has rows of pairs; sums over rows (of keys' and values' gradients) are kept
 * turned, so that the probabilities, which are woven, can be the second one. */
#ifndef CODEGEN_PRELUDE_ATTENTION_MATRIX_H
#define CODEGEN_PRELUDE_ATTENTION_MATRIX_H

#ifndef CODEGEN_PRELUDE_ATTENTION_PAIRS_H
#include "codegen/prelude/prelude_attention_pairs.h"
#endif

#if defined(KC_CONFIG) && defined(__AVX512BF16__)
#define PCP_TILE_CONFIG(t) [16 + 2 * (t)] = 64, [48 + (t)] = 16
static const uint8_t pcp_tiles[64] __attribute__((aligned(64))) = {1,
                                                                   PCP_TILE_CONFIG(0),
                                                                   PCP_TILE_CONFIG(1),
                                                                   PCP_TILE_CONFIG(2),
                                                                   PCP_TILE_CONFIG(3),
                                                                   PCP_TILE_CONFIG(4),
                                                                   PCP_TILE_CONFIG(5),
                                                                   PCP_TILE_CONFIG(6),
                                                                   PCP_TILE_CONFIG(7)};
#define PCP_BEGIN_TILES KC_CONFIG(pcp_tiles)
#define PCP_END_TILES KC_RELEASE()

/* c[16][16 nc] = (add ? c : 0) + a b for 16 k pairs: rows of a and c, lda words and ldc numbers
 * apart; b woven, ldb pairs apart. nc: 1 to 4. */
PCP_FN void pcp_matrix_tile(int nc, int64_t k, const void *a, int64_t lda, const pcp_pair_t *b,
                            int64_t ldb, float *c, int64_t ldc, int add)
{
    if (add) {
        KC_LOAD(0, c, 4 * ldc);
        if (nc > 1) KC_LOAD(1, c + 16, 4 * ldc);
        if (nc > 2) KC_LOAD(2, c + 32, 4 * ldc);
        if (nc > 3) KC_LOAD(3, c + 48, 4 * ldc);
    } else {
        KC_ZERO(0);
        KC_ZERO(1);
        KC_ZERO(2);
        KC_ZERO(3);
    }
    for (int64_t p = 0; p < k; p++, b += 16 * ldb) {
        KC_LOAD(4, (const uint16_t *)a + 32 * p, 2 * lda);
        KC_LOAD(5, b, 4 * ldb);
        KC_DOT(0, 4, 5);
        if (nc > 1) {
            KC_LOAD(6, b + 16, 4 * ldb);
            KC_DOT(1, 4, 6);
        }
        if (nc > 2) {
            KC_LOAD(7, b + 32, 4 * ldb);
            KC_DOT(2, 4, 7);
        }
        if (nc > 3) {
            KC_LOAD(5, b + 48, 4 * ldb);
            KC_DOT(3, 4, 5);
        }
    }
    KC_STORE(0, c, 4 * ldc);
    if (nc > 1) KC_STORE(1, c + 16, 4 * ldc);
    if (nc > 2) KC_STORE(2, c + 32, 4 * ldc);
    if (nc > 3) KC_STORE(3, c + 48, 4 * ldc);
}

/* n columns of c, in whole tiles. */
PCP_FN void pcp_matrix_strip(int64_t n, int64_t k, const void *a, int64_t lda, const pcp_pair_t *b,
                             int64_t ldb, float *c, int64_t ldc, int add)
{
    int64_t j = 0;
    for (; j + 64 <= n; j += 64) pcp_matrix_tile(4, k, a, lda, b + j, ldb, c + j, ldc, add);
    if (n - j == 16) pcp_matrix_tile(1, k, a, lda, b + j, ldb, c + j, ldc, add);
    if (n - j == 32) pcp_matrix_tile(2, k, a, lda, b + j, ldb, c + j, ldc, add);
    if (n - j == 48) pcp_matrix_tile(3, k, a, lda, b + j, ldb, c + j, ldc, add);
}

/* As without a matrix unit; rows are whole tiles. */
PCP_FN void pcp_attend_pairs(const pcp_attention_t *x, int64_t rows, int64_t n, const uint16_t *q,
                             int64_t ldq, const pcp_pair_t *kt, int64_t ldk, const pcp_pair_t *v,
                             float *o, float *max, float *sum)
{
    enum { KEYS = PCP_BLOCK, ROWS = 16 };
    float s[ROWS * KEYS] __attribute__((aligned(64)));
    uint16_t p[ROWS * KEYS] __attribute__((aligned(64)));
    const int64_t e = PCP_UP(x->e);
    for (int64_t j = 0; j < n; j += KEYS)
        for (int64_t r = 0; r < rows; r += ROWS) {
            int64_t wide = pcp_seen(x, r + ROWS - 1, j, pcp_least(KEYS, n - j));
            if (wide == 0) continue;
            int64_t whole = PCP_UP(wide), all = PCP_UP_KEYS(wide);
            pcp_matrix_strip(whole, ldq / 32, q + r * ldq, ldq, kt + j, ldk, s, KEYS, 0);
            for (int u = 0; u < ROWS; u++) {
                pcp_softmax_row(x, s + u * KEYS, pcp_seen(x, r + u, j, wide), whole, &max[r + u],
                                &sum[r + u], o + (r + u) * e);
                pcp_halve_row(s + u * KEYS, whole, p + u * KEYS);
                if (whole < all) __builtin_memset(p + u * KEYS + whole, 0, 32);
            }
            pcp_matrix_strip(e, all / 32, p, KEYS, v + j / 2 * e, e, o + r * e, e, 1);
        }
}

/* The same, but that dk and dv are turned: [d or e rounded up][keys->ld]. */
PCP_FN void pcp_attend_back_pairs(const pcp_attention_t *x, const pcp_pair_keys_t *keys,
                                  int64_t rows, const pcp_pair_rows_t *q, const pcp_pair_rows_t *g,
                                  const float *lse, const float *delta, float *dq)
{
    enum { KEYS = PCP_BLOCK, ROWS = 16, PAIRS = PCP_BLOCK / 2 };
    float s[ROWS * KEYS] __attribute__((aligned(64)));
    float t[ROWS * KEYS] __attribute__((aligned(64)));
    uint16_t plain[ROWS * KEYS] __attribute__((aligned(64)));
    pcp_pair_t p[PAIRS * KEYS] __attribute__((aligned(64)));
    pcp_pair_t ds[PAIRS * KEYS] __attribute__((aligned(64)));
    int64_t d = PCP_UP(x->d), e = PCP_UP(x->e);
    pcp_turn((const float *)q->woven, q->ld, rows / 2, d, (float *)q->turned, PAIRS, PAIRS);
    pcp_turn((const float *)g->woven, g->ld, rows / 2, e, (float *)g->turned, PAIRS, PAIRS);
    pcp_zero((float *)p + rows / 2 * KEYS, (PAIRS - rows / 2) * KEYS);
    pcp_zero((float *)ds + rows / 2 * KEYS, (PAIRS - rows / 2) * KEYS);
    for (int64_t j = 0; j < keys->n; j += KEYS) {
        int64_t n = pcp_least(KEYS, keys->n - j), all = PCP_UP(n), first = rows;
        for (int64_t r = 0; r < rows; r += ROWS) {
            int64_t wide = pcp_seen(x, r + ROWS - 1, j, n);
            pcp_pair_t *pr = p + r / 2 * KEYS, *dr = ds + r / 2 * KEYS;
            if (wide == 0) {
                pcp_zero((float *)pr, ROWS / 2 * KEYS);
                pcp_zero((float *)dr, ROWS / 2 * KEYS);
                continue;
            }
            if (first == rows) first = r;
            int64_t whole = PCP_UP(wide), even = PCP_UP_KEYS(wide);
            pcp_matrix_strip(whole, q->ld / 32, q->plain + r * q->ld, q->ld, keys->kt + j, keys->ld,
                             s, KEYS, 0);
            pcp_matrix_strip(whole, g->ld / 32, g->plain + r * g->ld, g->ld, keys->vt + j, keys->ld,
                             t, KEYS, 0);
            for (int u = 0; u < ROWS; u += 2) {
                int64_t seen[] = {pcp_seen(x, r + u, j, n), pcp_seen(x, r + u + 1, j, n)};
                pcp_softmax_back_pairs(x, s + u * KEYS, t + u * KEYS, seen, whole, all, lse + r + u,
                                       delta + r + u, pr + u / 2 * KEYS, dr + u / 2 * KEYS,
                                       plain + u * KEYS);
                if (whole == even) continue;
                __builtin_memset(plain + u * KEYS + whole, 0, 32);
                __builtin_memset(plain + (u + 1) * KEYS + whole, 0, 32);
            }
            pcp_matrix_strip(d, even / 32, plain, KEYS, keys->k + j / 2 * d, d, dq + r * d, d, 1);
        }
        if (first == rows) continue;
        /* Sums over whole blocks of 32 rows from the first one that sees a key of the block. */
        int64_t from = first / 32 * 16, count = PCP_UP_PAIRS(rows) / 16 - from / 16;
        for (int64_t c = 0; c < e; c += 16)
            pcp_matrix_strip(all, count, g->turned + c * PAIRS + from, 2 * PAIRS, p + from * KEYS,
                             KEYS, keys->dv + c * keys->ld + j, keys->ld, 1);
        for (int64_t c = 0; c < d; c += 16)
            pcp_matrix_strip(all, count, q->turned + c * PAIRS + from, 2 * PAIRS, ds + from * KEYS,
                             KEYS, keys->dk + c * keys->ld + j, keys->ld, 1);
    }
}
#endif

#endif
