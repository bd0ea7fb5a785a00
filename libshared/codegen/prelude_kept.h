/* Prelude, behind prelude_attention.h: attention of one token of a text over the keys and values that are kept of it,
 * f32 or bf16. Each is read once where it lies, widened in registers and summed in f32; nothing is packed.
 *
 * Rows are taken by blocks of two vectors. Of bf16 a block is a vector of words, whose lower halves are the even numbers
 * and whose upper halves the odd ones: a shift and a mask widen both, and what meets them is kept in the same order. */
#ifndef CODEGEN_PRELUDE_KEPT_H
#define CODEGEN_PRELUDE_KEPT_H

#ifndef CODEGEN_PRELUDE_ATTENTION_H
#include "codegen/prelude_attention.h"
#endif

enum {
    PCP_KEPT_BLOCK = 2 * PCP_LANES,
    PCP_KEPT_KEYS = 32, /* whose values are read together: they stay in the first-level cache */
    PCP_KEPT_AHEAD_BYTES = 4096 /* of rows, asked for before they are read */
};
#define PCP_KEPT_BLOCKS(n) (((n) + PCP_KEPT_BLOCK - 1) / PCP_KEPT_BLOCK)
#define PCP_KEPT_UP(n) (PCP_KEPT_BLOCKS(n) * PCP_KEPT_BLOCK)

typedef uint32_t pcp_kept_word_t __attribute__((vector_size(4 * PCP_LANES), aligned(2), may_alias));

typedef struct {
    pcp_vec_t first, second;
} pcp_kept_t;

/* Constants of a kernel: rows of keys have d numbers, those of values e, `row` numbers apart. */
typedef struct {
    int half; /* bf16, otherwise f32 */
    int64_t d, e, key_row, value_row;
    float scale;
} pcp_kept_shape_t;

/* Block b of a row of n numbers; zero beyond them. */
PCP_FN pcp_kept_t pcp_kept_load(int half, const void *row, int64_t b, int64_t n)
{
    const int64_t at = b * PCP_KEPT_BLOCK, left = n - at;
    pcp_kept_t y;
    if (half) {
        pcp_kept_word_t word = {0};
        if (left >= PCP_KEPT_BLOCK)
            word = *(const pcp_kept_word_t *)((const uint16_t *)row + at);
        else
            __builtin_memcpy(&word, (const uint16_t *)row + at, 2 * left);
        y.first = (pcp_vec_t)(word << 16);
        y.second = (pcp_vec_t)(word & 0xffff0000u);
        return y;
    }
    float x[PCP_KEPT_BLOCK] = {0};
    if (left < PCP_KEPT_BLOCK) __builtin_memcpy(x, (const float *)row + at, 4 * left);
    const float *from = left < PCP_KEPT_BLOCK ? x : (const float *)row + at;
    y.first = pcp_vec_load(from);
    y.second = pcp_vec_load(from + PCP_LANES);
    return y;
}

/* Where number i of a block lies among those of its two vectors. */
PCP_FN int64_t pcp_kept_place(int half, int64_t i)
{
    return half ? i / 2 + i % 2 * PCP_LANES : i;
}

/* n numbers times `scale` in the order of blocks; zero beyond them. */
PCP_FN void pcp_kept_order(int half, const float *x, int64_t n, float scale, float *to)
{
    for (int64_t i = 0; i < PCP_KEPT_UP(n); i++)
        to[i / PCP_KEPT_BLOCK * PCP_KEPT_BLOCK + pcp_kept_place(half, i % PCP_KEPT_BLOCK)] =
            i < n ? x[i] * scale : 0;
}

/* And back. */
PCP_FN void pcp_kept_reorder(int half, const float *x, int64_t n, float scale, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = x[i / PCP_KEPT_BLOCK * PCP_KEPT_BLOCK + pcp_kept_place(half, i % PCP_KEPT_BLOCK)] *
                scale;
}

/* --- Sums of as many vectors as a vector has lanes --- */

/* Lane u of x + y, where x has u's lanes of a or b with bit h clear, y with it set: which of both u's bit h says. */
#define PCP_KEPT_LOW(u, h) (((u) & (h)) ? PCP_LANES + (u) - (h) : (u))
#define PCP_KEPT_HIGH(u, h) (((u) & (h)) ? PCP_LANES + (u) : (u) + (h))
#define PCP_KEPT_LOW_1(u) PCP_KEPT_LOW(u, 1)
#define PCP_KEPT_LOW_2(u) PCP_KEPT_LOW(u, 2)
#define PCP_KEPT_LOW_4(u) PCP_KEPT_LOW(u, 4)
#define PCP_KEPT_LOW_8(u) PCP_KEPT_LOW(u, 8)
#define PCP_KEPT_HIGH_1(u) PCP_KEPT_HIGH(u, 1)
#define PCP_KEPT_HIGH_2(u) PCP_KEPT_HIGH(u, 2)
#define PCP_KEPT_HIGH_4(u) PCP_KEPT_HIGH(u, 4)
#define PCP_KEPT_HIGH_8(u) PCP_KEPT_HIGH(u, 8)
#define PCP_KEPT_JOIN(a, b, h) \
    (PCP_SHUFFLE(a, b, PCP_EACH(PCP_KEPT_LOW_##h)) + PCP_SHUFFLE(a, b, PCP_EACH(PCP_KEPT_HIGH_##h)))

/* One level of the tree: neighbours become one. */
#define PCP_KEPT_LEVEL(v, n, h)                            \
    _Pragma("GCC unroll 16") for (int i = 0; i < (n); i++) \
        v[i] = PCP_KEPT_JOIN(v[2 * i], v[2 * i + 1], h)

/* Lane u: the sum of v[u]. */
PCP_FN pcp_vec_t pcp_kept_sums(pcp_vec_t *v)
{
    PCP_KEPT_LEVEL(v, PCP_LANES / 2, 1);
    PCP_KEPT_LEVEL(v, PCP_LANES / 4, 2);
#if defined(__AVX__)
    PCP_KEPT_LEVEL(v, PCP_LANES / 8, 4);
#endif
#if defined(__AVX512F__)
    PCP_KEPT_LEVEL(v, PCP_LANES / 16, 8);
#endif
    return v[0];
}

/* --- A text --- */

PCP_FN const char *pcp_kept_row(int half, const void *rows, int64_t row, int64_t j)
{
    return (const char *)rows + j * row * (half ? 2 : 4);
}

/* Asks for a row that comes later. Those behind the last are asked for as well, which reads nothing. */
PCP_FN void pcp_kept_ask(int half, const void *rows, int64_t row, int64_t n, int64_t j)
{
    const int64_t bytes = n * (half ? 2 : 4), ahead = PCP_KEPT_AHEAD_BYTES / bytes + 1;
    const char *at = pcp_kept_row(half, rows, row, j + ahead);
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(at + i);
}

/* Scores of keys [j, j + lanes) with q in the order of blocks; beyond the n-th they are those of the last key. */
PCP_FN pcp_vec_t pcp_kept_scores(const pcp_kept_shape_t *s, const float *q, const void *keys,
                                 int64_t j, int64_t n, int asks)
{
    pcp_vec_t sum[PCP_LANES];
#pragma GCC unroll 16
    for (int u = 0; u < PCP_LANES; u++) {
        const int64_t at = j + u < n ? j + u : n - 1;
        const char *row = pcp_kept_row(s->half, keys, s->key_row, at);
        if (asks) pcp_kept_ask(s->half, keys, s->key_row, s->d, at);
        sum[u] = (pcp_vec_t){0};
#pragma GCC unroll 4
        for (int64_t b = 0; b < PCP_KEPT_BLOCKS(s->d); b++) {
            const pcp_kept_t x = pcp_kept_load(s->half, row, b, s->d);
            sum[u] += x.first * pcp_vec_load(q + b * PCP_KEPT_BLOCK);
            sum[u] += x.second * pcp_vec_load(q + b * PCP_KEPT_BLOCK + PCP_LANES);
        }
    }
    return pcp_kept_sums(sum);
}

/* e^(score - largest) in the place of n scores; returns their sum. */
PCP_FN float pcp_kept_exp(float *p, int64_t n)
{
    pcp_vec_t most = pcp_vec_first(pcp_vec_load(p), n, p[0]), sum = {0};
    for (int64_t j = PCP_LANES; j < n; j += PCP_LANES)
        most = pcp_vec_max(most, pcp_vec_first(pcp_vec_load(p + j), n - j, p[0]));
    const float largest = pcp_vec_largest(most);
    for (int64_t j = 0; j < n; j += PCP_LANES) {
        const pcp_vec_t e = pcp_vec_first(pcp_vec_exp(pcp_vec_load(p + j) - largest), n - j, 0);
        pcp_vec_store(p + j, e);
        sum += e;
    }
    return pcp_vec_sum(sum);
}

/* out, in the order of blocks, += the sum of p[j] times values j of [from, to). Two sums side by side. */
PCP_FN void pcp_kept_add(const pcp_kept_shape_t *s, const float *p, const void *values,
                         int64_t from, int64_t to, float *out)
{
    for (int64_t b = 0; b < PCP_KEPT_BLOCKS(s->e); b++) {
        pcp_kept_t sum[2] = {{pcp_vec_load(out + b * PCP_KEPT_BLOCK),
                              pcp_vec_load(out + b * PCP_KEPT_BLOCK + PCP_LANES)},
                             {{0}, {0}}};
        int64_t j = from;
        for (; j + 2 <= to; j += 2)
            for (int u = 0; u < 2; u++) {
                const char *row = pcp_kept_row(s->half, values, s->value_row, j + u);
                const pcp_kept_t x = pcp_kept_load(s->half, row, b, s->e);
                sum[u].first += x.first * p[j + u];
                sum[u].second += x.second * p[j + u];
            }
        if (j < to) {
            const char *row = pcp_kept_row(s->half, values, s->value_row, j);
            const pcp_kept_t x = pcp_kept_load(s->half, row, b, s->e);
            sum[0].first += x.first * p[j];
            sum[0].second += x.second * p[j];
        }
        pcp_vec_store(out + b * PCP_KEPT_BLOCK, sum[0].first + sum[1].first);
        pcp_vec_store(out + b * PCP_KEPT_BLOCK + PCP_LANES, sum[0].second + sum[1].second);
    }
}

/* The `rows` rows of q that share keys and values, of which the first n are seen: out = softmax(scale q k^T) v.
 *   q [rows][PCP_KEPT_UP(d)], p [rows][ldp >= n up to whole vectors], sums [rows][PCP_KEPT_UP(e)]: room */
PCP_FN void pcp_kept_attend(const pcp_kept_shape_t *s, int64_t rows, int64_t n, const float *x,
                            int64_t x_row, const void *keys, const void *values, float *out,
                            int64_t out_row, float *q, float *p, int64_t ldp, float *sums)
{
    const int64_t d = PCP_KEPT_UP(s->d), e = PCP_KEPT_UP(s->e);
    for (int64_t i = 0; i < rows; i++)
        pcp_kept_order(s->half, x + i * x_row, s->d, s->scale, q + i * d);
    for (int64_t j = 0; j < n; j += PCP_LANES) {
        pcp_vec_store(p + j, pcp_kept_scores(s, q, keys, j, n, 1));
        for (int64_t i = 1; i < rows; i++)
            pcp_vec_store(p + i * ldp + j, pcp_kept_scores(s, q + i * d, keys, j, n, 0));
    }
    for (int64_t j = 0; j < PCP_KEPT_KEYS && j < n; j++)
        pcp_kept_ask(s->half, values, s->value_row, s->e, j - PCP_KEPT_KEYS);
    for (int64_t i = 0; i < rows; i++) {
        const float sum = pcp_kept_exp(p + i * ldp, n);
        for (int64_t j = 0; j < n; j++) p[i * ldp + j] /= sum;
        pcp_zero(sums + i * e, e);
    }
    for (int64_t j = 0; j < n; j += PCP_KEPT_KEYS) {
        const int64_t to = pcp_least(n, j + PCP_KEPT_KEYS);
        for (int64_t u = j; u < to; u++) pcp_kept_ask(s->half, values, s->value_row, s->e, u);
        for (int64_t i = 0; i < rows; i++)
            pcp_kept_add(s, p + i * ldp, values, j, to, sums + i * e);
    }
    for (int64_t i = 0; i < rows; i++)
        pcp_kept_reorder(s->half, sums + i * e, s->e, 1, out + i * out_row);
}

#endif
