/* Prelude, behind prelude_attention.h: attention of one token of a text over the keys and values that are kept of it,
 * f32 or bf16. Each is read once where it lies, widened in registers and summed in f32; nothing is packed.
 *
 * Rows are taken by blocks of two vectors. Of bf16 a block is a vector of words, whose lower halves are the even numbers
 * and whose upper halves the odd ones: a shift and a mask widen both, and what meets them is kept in the same order. */
#ifndef CODEGEN_PRELUDE_KEPT_H
#define CODEGEN_PRELUDE_KEPT_H

#ifndef CODEGEN_PRELUDE_ATTENTION_H
#include "codegen/prelude/prelude_attention.h"
#endif

enum {
    PCP_KEPT_BLOCK = 2 * PCP_LANES,
    PCP_KEPT_KEYS = 32, /* whose values are read together: they stay in the first-level cache */
    PCP_KEPT_LINE = 64, /* bytes of a line of the cache */
#ifndef PCP_KEPT_AHEAD_BYTES
    PCP_KEPT_AHEAD_BYTES = 4096 /* of rows, asked for before they are read */
#endif
};
#define PCP_KEPT_BLOCKS(n) (((n) + PCP_KEPT_BLOCK - 1) / PCP_KEPT_BLOCK)
#define PCP_KEPT_UP(n) (PCP_KEPT_BLOCKS(n) * PCP_KEPT_BLOCK)

typedef uint32_t pcp_kept_word_t __attribute__((vector_size(4 * PCP_LANES), aligned(2), may_alias));

typedef struct {
    pcp_vec_t first, second;
} pcp_kept_t;

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
PCP_FN void pcp_kept_reorder(int half, const float *x, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = x[i / PCP_KEPT_BLOCK * PCP_KEPT_BLOCK + pcp_kept_place(half, i % PCP_KEPT_BLOCK)];
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

/* Rows of n numbers, `row` numbers apart. */
typedef struct {
    const void *at;
    int64_t row, n;
} pcp_kept_rows_t;

PCP_FN const char *pcp_kept_row(int half, const pcp_kept_rows_t *x, int64_t j)
{
    return (const char *)x->at + j * x->row * (half ? 2 : 4);
}

/* Asks for what is read some time after rows [j, end) of n: rows of x, and behind the last one those that are read then. */
PCP_FN void pcp_kept_ask(int half, const pcp_kept_rows_t *x, int64_t n, const pcp_kept_rows_t *then,
                         int64_t j, int64_t end)
{
    const int64_t bytes = x->n * (half ? 2 : 4), ahead = PCP_KEPT_AHEAD_BYTES / bytes + 1;
    for (j += ahead, end += ahead; j < end; j++) {
        const char *at = j < n ? pcp_kept_row(half, x, j) : pcp_kept_row(half, then, j - n);
        for (int64_t i = 0; i < bytes; i += PCP_KEPT_LINE) __builtin_prefetch(at + i);
    }
}

/* Scores of keys [j, j + lanes) with q in the order of blocks; beyond the n-th they are those of the last key. */
PCP_FN pcp_vec_t pcp_kept_scores(int half, const float *q, const pcp_kept_rows_t *keys, int64_t j,
                                 int64_t n)
{
    pcp_vec_t sum[PCP_LANES];
#pragma GCC unroll 16
    for (int u = 0; u < PCP_LANES; u++) {
        const char *row = pcp_kept_row(half, keys, j + u < n ? j + u : n - 1);
        sum[u] = (pcp_vec_t){0};
#pragma GCC unroll 4
        for (int64_t b = 0; b < PCP_KEPT_BLOCKS(keys->n); b++) {
            const pcp_kept_t x = pcp_kept_load(half, row, b, keys->n);
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
PCP_FN void pcp_kept_add(int half, const float *p, const pcp_kept_rows_t *values, int64_t from,
                         int64_t to, float *out)
{
    for (int64_t b = 0; b < PCP_KEPT_BLOCKS(values->n); b++, out += PCP_KEPT_BLOCK) {
        pcp_kept_t sum[2] = {{pcp_vec_load(out), pcp_vec_load(out + PCP_LANES)}, {{0}, {0}}};
        int64_t j = from;
        for (; j + 2 <= to; j += 2)
            for (int u = 0; u < 2; u++) {
                const pcp_kept_t x = pcp_kept_load(half, pcp_kept_row(half, values, j + u), b,
                                                   values->n);
                sum[u].first += x.first * p[j + u];
                sum[u].second += x.second * p[j + u];
            }
        if (j < to) {
            const pcp_kept_t x = pcp_kept_load(half, pcp_kept_row(half, values, j), b, values->n);
            sum[0].first += x.first * p[j];
            sum[0].second += x.second * p[j];
        }
        pcp_vec_store(out, sum[0].first + sum[1].first);
        pcp_vec_store(out + PCP_LANES, sum[0].second + sum[1].second);
    }
}

/* A text's keys and values of a head, and the `rows` rows of q that share them; what is read next. */
typedef struct {
    pcp_kept_rows_t keys, values, next;
    const float *q;
    float *out;
    int64_t rows, q_row, out_row;
} pcp_kept_head_t;

/* Of the first n positions: out = softmax(scale q k^T) v. Room: q [rows][PCP_KEPT_UP(d)], p [rows][ldp], ldp at least n
 * in whole vectors, sums [rows][PCP_KEPT_UP(e)]. */
PCP_FN void pcp_kept_attend(int half, float scale, const pcp_kept_head_t *x, int64_t n, float *q,
                            float *p, int64_t ldp, float *sums)
{
    const int64_t d = PCP_KEPT_UP(x->keys.n), e = PCP_KEPT_UP(x->values.n);
    for (int64_t i = 0; i < x->rows; i++)
        pcp_kept_order(half, x->q + i * x->q_row, x->keys.n, scale, q + i * d);
    for (int64_t j = 0; j < n; j += PCP_LANES) {
        pcp_kept_ask(half, &x->keys, n, &x->values, j, pcp_least(j + PCP_LANES, n));
        for (int64_t i = 0; i < x->rows; i++)
            pcp_vec_store(p + i * ldp + j, pcp_kept_scores(half, q + i * d, &x->keys, j, n));
    }
    for (int64_t i = 0; i < x->rows; i++) {
        const float sum = pcp_kept_exp(p + i * ldp, n);
        for (int64_t j = 0; j < n; j++) p[i * ldp + j] /= sum;
        pcp_zero(sums + i * e, e);
    }
    for (int64_t j = 0; j < n; j += PCP_KEPT_KEYS) {
        const int64_t to = pcp_least(n, j + PCP_KEPT_KEYS);
        pcp_kept_ask(half, &x->values, n, &x->next, j, to);
        for (int64_t i = 0; i < x->rows; i++)
            pcp_kept_add(half, p + i * ldp, &x->values, j, to, sums + i * e);
    }
    for (int64_t i = 0; i < x->rows; i++)
        pcp_kept_reorder(half, sums + i * e, x->values.n, x->out + i * x->out_row);
}

#endif
