/* Prelude, third part: small matrix products in registers, and attention by blocks of rows and keys
 * (Dao et al. 2022, FlashAttention; rows of a block in order, sums in an order that depends on the
 * shapes alone). Everything here is f32; operands of other types and strides are packed. */
#ifndef CODEGEN_PRELUDE_ATTENTION_H
#define CODEGEN_PRELUDE_ATTENTION_H

#ifndef CODEGEN_PRELUDE_INT_H
#include "codegen/prelude/prelude_int.h"
#endif

/* Lanes of a vector, rows of a register tile (two vectors wide), rows and keys of a block. */
#if defined(__AVX512F__)
enum { PCP_LANES = 16, PCP_ROWS = 8 };
#define PCP_EACH(f)                                                                                \
    f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), \
        f(15)
#elif defined(__AVX__)
enum { PCP_LANES = 8, PCP_ROWS = 4 };
#define PCP_EACH(f) f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)
#else
enum { PCP_LANES = 4, PCP_ROWS = 4 };
#define PCP_EACH(f) f(0), f(1), f(2), f(3)
#endif
enum { PCP_BLOCK = 64 };

typedef float pcp_vec_t __attribute__((vector_size(4 * PCP_LANES), aligned(4), may_alias));
typedef int32_t pcp_ivec_t __attribute__((vector_size(4 * PCP_LANES)));

/* n rounded up to whole vectors, and to whole tiles. */
#define PCP_UP(n) (((n) + PCP_LANES - 1) / PCP_LANES * PCP_LANES)
#ifdef KC_CONFIG /* a matrix unit's (prelude_attention_matrix.h) */
#define PCP_UP_ROWS(n) (((n) + 15) / 16 * 16)
#else
#define PCP_UP_ROWS(n) (((n) + PCP_ROWS - 1) / PCP_ROWS * PCP_ROWS)
#endif

PCP_FN int64_t pcp_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- Vectors ---------------------------------------------------------------------------------- */

PCP_FN pcp_vec_t pcp_vec_load(const float *x)
{
    return *(const pcp_vec_t *)x;
}

PCP_FN void pcp_vec_store(float *y, pcp_vec_t x)
{
    *(pcp_vec_t *)y = x;
}

PCP_FN pcp_vec_t pcp_vec_max(pcp_vec_t a, pcp_vec_t b)
{
    pcp_vec_t y;
#pragma omp simd
    for (int u = 0; u < PCP_LANES; u++) y[u] = a[u] > b[u] ? a[u] : b[u];
    return y;
}

/* The first n lanes of x, the others `rest`. */
PCP_FN pcp_vec_t pcp_vec_first(pcp_vec_t x, int64_t n, float rest)
{
    int32_t some = n < PCP_LANES ? (int32_t)n : PCP_LANES;
    pcp_vec_t y;
#pragma omp simd
    for (int u = 0; u < PCP_LANES; u++) y[u] = u < some ? x[u] : rest;
    return y;
}

/* e^x for x up to 88; what lies below -87 gives e^-87. 1.02 ulp */
PCP_FN float pcp_exp_low(float x)
{
    pcp_split_t s = pcp_split_exp(x < -87.0f ? -87.0f : x);
    float p = 1.38143253e-3f, r = s.r;
    p = pcp_fma_f32(p, r, 8.36885135e-3f);
    p = pcp_fma_f32(p, r, 4.16684010e-2f);
    p = pcp_fma_f32(p, r, 1.66665195e-1f);
    p = pcp_fma_f32(p, r, 4.99999934e-1f);
    return (pcp_fma_f32(p, r * r, r) + 1) * pcp_pow2_f32(s.n);
}

PCP_FN pcp_vec_t pcp_vec_exp(pcp_vec_t x)
{
    pcp_vec_t y;
#pragma omp simd
    for (int u = 0; u < PCP_LANES; u++) y[u] = pcp_exp_low(x[u]);
    return y;
}

/* Lanes h apart change places. */
#define PCP_SWAP_1(u) ((u) ^ 1)
#define PCP_SWAP_2(u) ((u) ^ 2)
#define PCP_SWAP_4(u) ((u) ^ 4)
#define PCP_SWAP_8(u) ((u) ^ 8)
#ifdef __clang__
#define PCP_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PCP_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (pcp_ivec_t){__VA_ARGS__})
#endif
#define PCP_SWAPPED(x, h) PCP_SHUFFLE(x, x, PCP_EACH(PCP_SWAP_##h))

PCP_FN float pcp_vec_sum(pcp_vec_t x)
{
#if defined(__AVX512F__)
    x += PCP_SWAPPED(x, 8);
#endif
#if defined(__AVX__)
    x += PCP_SWAPPED(x, 4);
#endif
    x += PCP_SWAPPED(x, 2);
    x += PCP_SWAPPED(x, 1);
    return x[0];
}

PCP_FN float pcp_vec_largest(pcp_vec_t x)
{
#if defined(__AVX512F__)
    x = pcp_vec_max(x, PCP_SWAPPED(x, 8));
#endif
#if defined(__AVX__)
    x = pcp_vec_max(x, PCP_SWAPPED(x, 4));
#endif
    x = pcp_vec_max(x, PCP_SWAPPED(x, 2));
    x = pcp_vec_max(x, PCP_SWAPPED(x, 1));
    return x[0];
}

/* The empty statements keep loops over a few vectors from becoming calls of memset and memcpy. */
PCP_FN void pcp_zero(float *x, int64_t n) /* n: whole vectors */
{
    for (int64_t i = 0; i < n; i += PCP_LANES) {
        pcp_vec_store(x + i, (pcp_vec_t){0});
        __asm__ volatile("");
    }
}

/* --- Products --------------------------------------------------------------------------------- */

/* c[PCP_ROWS][nv vectors] = (add ? c : 0) + a b: a's element (r, p) at r * row + p * step, b's rows
 * ldb apart. nv is 1 or 2. */
PCP_FN void pcp_tile(int nv, int64_t k, const float *a, int64_t row, int64_t step, const float *b,
                     int64_t ldb, float *c, int64_t ldc, int add)
{
    pcp_vec_t acc[PCP_ROWS][2];
#pragma GCC unroll 8
    for (int r = 0; r < PCP_ROWS; r++) {
        acc[r][0] = add ? *(const pcp_vec_t *)(c + r * ldc) : (pcp_vec_t){0};
        if (nv > 1) acc[r][1] = add ? *(const pcp_vec_t *)(c + r * ldc + PCP_LANES) : acc[r][0];
    }
    for (int64_t p = 0; p < k; p++) {
        pcp_vec_t b0 = *(const pcp_vec_t *)(b + p * ldb), b1 = b0;
        if (nv > 1) b1 = *(const pcp_vec_t *)(b + p * ldb + PCP_LANES);
#pragma GCC unroll 8
        for (int r = 0; r < PCP_ROWS; r++) {
            float x = a[r * row + p * step];
            acc[r][0] += x * b0;
            if (nv > 1) acc[r][1] += x * b1;
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < PCP_ROWS; r++) {
        *(pcp_vec_t *)(c + r * ldc) = acc[r][0];
        if (nv > 1) *(pcp_vec_t *)(c + r * ldc + PCP_LANES) = acc[r][1];
    }
}

/* PCP_ROWS rows of c, n columns: a multiple of PCP_LANES. */
PCP_FN void pcp_strip(int64_t n, int64_t k, const float *a, int64_t row, int64_t step,
                      const float *b, int64_t ldb, float *c, int64_t ldc, int add)
{
    int64_t j = 0;
    for (; j + 2 * PCP_LANES <= n; j += 2 * PCP_LANES)
        pcp_tile(2, k, a, row, step, b + j, ldb, c + j, ldc, add);
    if (j < n) pcp_tile(1, k, a, row, step, b + j, ldb, c + j, ldc, add);
}

/* --- Packing ---------------------------------------------------------------------------------- */

/* rows x cols of x, `row` apart, into to[.., ld]; columns up to ld, a multiple of PCP_LANES, and
 * rows up to `all` are zero. */
#define PCP_PACK(t, T, READ)                                                                 \
    PCP_FN void pcp_pack_##t(const T *x, int64_t row, int64_t rows, int64_t cols, float *to, \
                             int64_t ld, int64_t all)                                        \
    {                                                                                        \
        for (int64_t i = 0; i < rows; i++) {                                                 \
            int64_t j = 0;                                                                   \
            for (; j + PCP_LANES <= cols; j += PCP_LANES) {                                  \
                _Pragma("omp simd") for (int u = 0; u < PCP_LANES; u++)                      \
                    to[i * ld + j + u] = READ(x[i * row + j + u]);                           \
                __asm__ volatile("");                                                        \
            }                                                                                \
            for (; j < cols; j++) to[i * ld + j] = READ(x[i * row + j]);                     \
            for (; j < ld; j++) to[i * ld + j] = 0;                                          \
        }                                                                                    \
        pcp_zero(to + rows * ld, (all - rows) * ld);                                         \
    }
#define PCP_SAME(x) (x)
PCP_PACK(f32, float, PCP_SAME)
PCP_PACK(bf16, uint16_t, pcp_f32_from_bf16)
PCP_PACK(f16, uint16_t, pcp_f32_from_f16)

/* The other way: rows x cols, each row times factor[i] (NULL: as it is). */
#define PCP_GIVE(t, T, WRITE)                                                           \
    PCP_FN void pcp_give_##t(const float *from, int64_t ld, int64_t rows, int64_t cols, \
                             const float *factor, T *y, int64_t row)                    \
    {                                                                                   \
        for (int64_t i = 0; i < rows; i++) {                                            \
            float f = factor ? factor[i] : 1;                                           \
            int64_t j = 0;                                                              \
            for (; j + PCP_LANES <= cols; j += PCP_LANES) {                             \
                _Pragma("omp simd") for (int u = 0; u < PCP_LANES; u++)                 \
                    y[i * row + j + u] = WRITE(from[i * ld + j + u] * f);               \
                __asm__ volatile("");                                                   \
            }                                                                           \
            for (; j < cols; j++) y[i * row + j] = WRITE(from[i * ld + j] * f);         \
        }                                                                               \
    }
PCP_GIVE(f32, float, PCP_SAME)
PCP_GIVE(bf16, uint16_t, pcp_bf16_from_f32)
PCP_GIVE(f16, uint16_t, pcp_f16_from_f32)

/* Blocks of h lanes change places between v[i] and v[i + h]; done for h = 1, 2, 4, .. a square is
 * turned. */
#define PCP_TURN_A(u, h) ((u) & (h) ? PCP_LANES + (u) - (h) : (u))
#define PCP_TURN_B(u, h) ((u) & (h) ? PCP_LANES + (u) : (u) + (h))
#define PCP_A1(u) PCP_TURN_A(u, 1)
#define PCP_B1(u) PCP_TURN_B(u, 1)
#define PCP_A2(u) PCP_TURN_A(u, 2)
#define PCP_B2(u) PCP_TURN_B(u, 2)
#define PCP_A4(u) PCP_TURN_A(u, 4)
#define PCP_B4(u) PCP_TURN_B(u, 4)
#define PCP_A8(u) PCP_TURN_A(u, 8)
#define PCP_B8(u) PCP_TURN_B(u, 8)
#define PCP_EXCHANGE(h)                                                        \
    _Pragma("GCC unroll 16") for (int i = 0; i < PCP_LANES; i++) if (!(i & h)) \
    {                                                                          \
        pcp_vec_t a = v[i], b = v[i + h];                                      \
        v[i] = PCP_SHUFFLE(a, b, PCP_EACH(PCP_A##h));                          \
        v[i + h] = PCP_SHUFFLE(a, b, PCP_EACH(PCP_B##h));                      \
    }

PCP_FN void pcp_turn_square(const float *x, int64_t row, float *to, int64_t ld)
{
    pcp_vec_t v[PCP_LANES];
#pragma GCC unroll 16
    for (int i = 0; i < PCP_LANES; i++) v[i] = pcp_vec_load(x + i * row);
    PCP_EXCHANGE(1)
    PCP_EXCHANGE(2)
#if defined(__AVX__)
    PCP_EXCHANGE(4)
#endif
#if defined(__AVX512F__)
    PCP_EXCHANGE(8)
#endif
#pragma GCC unroll 16
    for (int i = 0; i < PCP_LANES; i++) pcp_vec_store(to + i * ld, v[i]);
}

/* to[cols][ld] = the transpose of x[rows][cols]; columns of `to` up to `all` are zero. */
PCP_FN void pcp_turn(const float *x, int64_t row, int64_t rows, int64_t cols, float *to, int64_t ld,
                     int64_t all)
{
    int64_t squares = cols / PCP_LANES * PCP_LANES, i = 0;
    for (; i + PCP_LANES <= rows; i += PCP_LANES) {
        for (int64_t j = 0; j < squares; j += PCP_LANES)
            pcp_turn_square(x + i * row + j, row, to + j * ld + i, ld);
        for (int64_t j = squares; j < cols; j++)
            for (int64_t u = i; u < i + PCP_LANES; u++) to[j * ld + u] = x[u * row + j];
    }
    for (int64_t j = 0; j < cols; j++) {
        for (int64_t u = i; u < rows; u++) to[j * ld + u] = x[u * row + j];
        for (int64_t u = rows; u < all; u++) to[j * ld + u] = 0;
    }
}

/* --- Attention -------------------------------------------------------------------------------- */

/* d, e: columns of q and v. at: position of the block's first row, less that of the first key, plus
 * the mask's offset: row r sees keys [0, at + r]. Not causal: at is beyond all keys. */
typedef struct {
    int64_t d, e, at;
    float scale;
} pcp_attention_t;

/* Keys of a block of n from key j on that row r sees. */
PCP_FN int64_t pcp_seen(const pcp_attention_t *x, int64_t r, int64_t j, int64_t n)
{
    int64_t seen = x->at + r + 1 - j;
    return seen < 0 ? 0 : seen < n ? seen : n;
}

/* One row of a block of scores s[n], of which the first `seen` are seen: they become probabilities
 * up to the running maximum, the others zero; maximum, sum and what was summed in o before are
 * brought to it. n: whole vectors. */
PCP_FN void pcp_softmax_row(const pcp_attention_t *x, float *s, int64_t seen, int64_t n, float *max,
                            float *sum, float *o)
{
    if (seen == 0) {
        pcp_zero(s, n);
        return;
    }
    pcp_vec_t most = pcp_vec_first(pcp_vec_load(s), seen, -__builtin_inff()), total = {0};
    for (int64_t j = PCP_LANES; j < seen; j += PCP_LANES)
        most = pcp_vec_max(most, pcp_vec_first(pcp_vec_load(s + j), seen - j, -__builtin_inff()));
    float before = *max, now = pcp_vec_largest(most) * x->scale;
    now = now < before ? before : now;
    for (int64_t j = 0; j < n; j += PCP_LANES) {
        pcp_vec_t p = pcp_vec_exp(pcp_vec_load(s + j) * x->scale - now);
        p = pcp_vec_first(p, seen - j, 0);
        total += p;
        pcp_vec_store(s + j, p);
    }
    float keep = before == now ? 1 : pcp_exp_low(before - now);
    *max = now;
    *sum = *sum * keep + pcp_vec_sum(total);
    if (before != now && before != -__builtin_inff())
        for (int64_t j = 0; j < x->e; j += PCP_LANES)
            pcp_vec_store(o + j, pcp_vec_load(o + j) * keep);
}

/* Rows [0, rows) of a block (rows: a multiple of PCP_ROWS) against n keys. q[rows][ldq];
 * kt[d][ldk]: keys as columns, zero up to a multiple of PCP_LANES; v[n][ldv]; o[rows][e rounded up]
 * and max, sum [rows]: the state, updated. */
PCP_FN void pcp_attend(const pcp_attention_t *x, int64_t rows, int64_t n, const float *q,
                       int64_t ldq, const float *kt, int64_t ldk, const float *v, int64_t ldv,
                       float *o, float *max, float *sum)
{
    enum { KEYS = PCP_BLOCK };
    float s[PCP_ROWS * KEYS] __attribute__((aligned(64)));
    const int64_t e = PCP_UP(x->e);
    for (int64_t j = 0; j < n; j += KEYS)
        for (int64_t r = 0; r < rows; r += PCP_ROWS) {
            int64_t wide = pcp_seen(x, r + PCP_ROWS - 1, j, pcp_least(KEYS, n - j));
            if (wide == 0) continue;
            int64_t whole = PCP_UP(wide);
            pcp_strip(whole, x->d, q + r * ldq, ldq, 1, kt + j, ldk, s, KEYS, 0);
            for (int u = 0; u < PCP_ROWS; u++)
                pcp_softmax_row(x, s + u * KEYS, pcp_seen(x, r + u, j, wide), whole, &max[r + u],
                                &sum[r + u], o + (r + u) * e);
            pcp_strip(e, wide, s, KEYS, 1, v + j * ldv, ldv, o + r * e, e, 1);
        }
}

/* One row of the gradient: s[n] scores and g[n] their products with the cotangent become
 * probabilities and the cotangents of q k^T; both zero from `seen` to `all`. */
PCP_FN void pcp_softmax_back(const pcp_attention_t *x, float *s, float *g, int64_t seen, int64_t n,
                             int64_t all, float lse, float delta)
{
    for (int64_t j = 0; j < n; j += PCP_LANES) {
        pcp_vec_t p = pcp_vec_exp(pcp_vec_load(s + j) * x->scale - lse);
        p = pcp_vec_first(p, seen - j, 0);
        pcp_vec_t ds = p * (pcp_vec_load(g + j) - delta) * x->scale;
        pcp_vec_store(s + j, p);
        pcp_vec_store(g + j, ds);
    }
    pcp_zero(s + n, all - n);
    pcp_zero(g + n, all - n);
}

/* Packed keys of one chunk of them: [n] rows or, as kt and vt, columns; dk and dv are summed into.
 * Columns of k, dk, dv: d and e rounded up to whole vectors; rows of dk, dv to PCP_ROWS. */
typedef struct {
    const float *kt, *vt, *k;
    float *dk, *dv;
    int64_t n, ld; /* of kt and vt */
} pcp_keys_t;

/* Rows [0, rows) of a block, q[rows][ldq] and the cotangent g[rows][ldg], against the keys; rows up
 * to a multiple of PCP_ROWS are zero in q, g, lse and delta. dq[rows][d rounded up] is summed into.
 */
PCP_FN void pcp_attend_back(const pcp_attention_t *x, const pcp_keys_t *keys, int64_t rows,
                            const float *q, int64_t ldq, const float *g, int64_t ldg,
                            const float *lse, const float *delta, float *dq)
{
    enum { KEYS = PCP_BLOCK };
    float s[PCP_BLOCK * KEYS] __attribute__((aligned(64)));
    float t[PCP_BLOCK * KEYS] __attribute__((aligned(64)));
    int64_t d = PCP_UP(x->d), e = PCP_UP(x->e);
    for (int64_t j = 0; j < keys->n; j += KEYS) {
        int64_t n = pcp_least(KEYS, keys->n - j), all = PCP_UP(n);
        for (int64_t r = 0; r < rows; r += PCP_ROWS) {
            int64_t wide = pcp_seen(x, r + PCP_ROWS - 1, j, n);
            if (wide == 0) continue;
            int64_t whole = PCP_UP(wide);
            float *sr = s + r * KEYS, *tr = t + r * KEYS;
            pcp_strip(whole, x->d, q + r * ldq, ldq, 1, keys->kt + j, keys->ld, sr, KEYS, 0);
            pcp_strip(whole, x->e, g + r * ldg, ldg, 1, keys->vt + j, keys->ld, tr, KEYS, 0);
            for (int u = 0; u < PCP_ROWS; u++)
                pcp_softmax_back(x, sr + u * KEYS, tr + u * KEYS, pcp_seen(x, r + u, j, n), whole,
                                 all, lse[r + u], delta[r + u]);
            pcp_strip(d, wide, tr, KEYS, 1, keys->k + j * d, d, dq + r * d, d, 1);
        }
        for (int64_t c = 0; c < n; c += PCP_ROWS) {
            int64_t r = j + c - x->at; /* the first row that sees key c */
            if (r >= rows) break;
            if (r < 0) r = 0;
            pcp_strip(e, rows - r, s + r * KEYS + c, 1, KEYS, g + r * ldg, ldg,
                      keys->dv + (j + c) * e, e, 1);
            pcp_strip(d, rows - r, t + r * KEYS + c, 1, KEYS, q + r * ldq, ldq,
                      keys->dk + (j + c) * d, d, 1);
        }
    }
}

/* delta[i] = sum_j g[i][j] o[i][j] */
PCP_FN void pcp_row_products(int64_t rows, int64_t cols, const float *g, int64_t ldg,
                             const float *o, int64_t ldo, float *delta)
{
    for (int64_t i = 0; i < rows; i++, g += ldg, o += ldo) {
        pcp_vec_t sum = {0};
        int64_t j = 0;
        float rest = 0;
        for (; j + PCP_LANES <= cols; j += PCP_LANES)
            sum += pcp_vec_load(g + j) * pcp_vec_load(o + j);
        for (; j < cols; j++) rest += g[j] * o[j];
        delta[i] = pcp_vec_sum(sum) + rest;
    }
}

#endif
