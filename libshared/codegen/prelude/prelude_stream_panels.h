/* Prelude, behind codegen/prelude/prelude_stream_fours.h: products of f32 with matrices in panels (ir/panels.h).
 *
 * 64 bytes of a panel are the same terms of 16 rows of B: a vector, that is multiplied with a number of each row of A in
 * all of its lanes, so that lanes are sums and nothing is added up at the end.
 *
 * A kernel of its own has made *lines* of A, which are words of 32 bits: `side` rows of A at a time are a section, whose lines lie in blocks of `rows` lines, term by term, the
 * lines of a term beside each other. What is there of a section: the number of parts of a row; for each block of terms and
 * each line a scale and what its whole sums begin at; words.
 *
 * The sums of a block of lines and some panels stay in registers for a block of terms, and are added to what is kept of them. All blocks of
 * lines that read these terms ask for what is read next, each for its share: memory is as busy with the last of them as with the
 * first. Sums of a row of A are made in the same order whatever is beside it.
 *
 *   F32      f32 with f32
 *   HALVES   f32 with bf16, which is widened
 *   PAIRS    f32 rounded to bf16 with bf16, two terms at a time (VDPBF16PS)
 *   DIGITS   whole numbers beside the row's largest with i8, as two or three parts of i8 (prelude_stream_int.h), four terms
 *            at a time (VPDPBUSD)
 *   BYTES    the same of one number of i8, beside the largest of a block of terms as 127: off by 1 / 254 of that at most */
#ifndef CODEGEN_PRELUDE_STREAM_PANELS_H
#define CODEGEN_PRELUDE_STREAM_PANELS_H

#ifndef CODEGEN_PRELUDE_STREAM_FOURS_H
#include "codegen/prelude/prelude_stream_fours.h"
#endif

#if defined(KC_FOURS) && defined(KC_PAIRS_DOT)
enum { PCP_PANELS_F32, PCP_PANELS_HALVES, PCP_PANELS_PAIRS, PCP_PANELS_DIGITS, PCP_PANELS_BYTES };
enum {
    PCP_PANELS_SIDE = 16,    /* rows of a panel */
    PCP_PANELS_STEP = 64,    /* terms that are made lines together */
    PCP_PANELS_HEAD = 64,    /* bytes before scales */
    PCP_PANELS_SECTIONS = 8, /* whose sums are kept at a time */
    PCP_PANELS_SUMS = 24,    /* vectors of a block at most */
    PCP_PANELS_MOST = 8,     /* panels beside each other */
    PCP_PANELS_ROOM = 144,   /* vectors of sums that are kept of a section at most */
    PCP_PANELS_LINES = 3 * PCP_STREAM_SIDE + PCP_STREAM_SIDE
};

/* A section: lines at most, bytes from its begin to its words and to the next one; words from one block of lines to the next. terms: of
 * a block of them. */
typedef struct {
    int64_t lines, at, next, apart, terms;
} pcp_panels_form_t;

PCP_FN float *pcp_panels_scales(const pcp_panels_form_t *f, char *section, int64_t block)
{
    return (float *)(section + PCP_PANELS_HEAD) + 2 * block * f->lines;
}

PCP_FN int32_t *pcp_panels_starts(const pcp_panels_form_t *f, char *section, int64_t block)
{
    return (int32_t *)(section + PCP_PANELS_HEAD) + (2 * block + 1) * f->lines;
}

PCP_FN int pcp_panels_is_whole(const int kind)
{
    return kind == PCP_PANELS_DIGITS || kind == PCP_PANELS_BYTES;
}

/* Terms of a word of A. */
PCP_FN int pcp_panels_word(const int kind)
{
    return pcp_panels_is_whole(kind) ? 4 : kind == PCP_PANELS_PAIRS ? 2 : 1;
}

/* Terms of 64 bytes of a panel. */
PCP_FN int pcp_panels_deep(const int kind)
{
    return pcp_panels_is_whole(kind) ? 4 : kind == PCP_PANELS_F32 ? 1 : 2;
}

/* Words from term to term of a block of lines. */
PCP_FN int pcp_panels_width(const int rows)
{
    return rows == 3 ? 4 : rows;
}

/* --- A as lines --- */

/* Words of two vectors in turn. */
PCP_FN void pcp_panels_join_words(const kc_i16 a, const kc_i16 b, kc_i16 *to)
{
    to[0] = KC_JOIN(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    to[1] = KC_JOIN(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/* 16 lines of 16 words, `apart` words from each other, as 16 times the first `rows` words. */
PCP_FN void pcp_panels_turn(const uint32_t *from, int64_t apart, const int rows, uint32_t *to)
{
    const kc_i16 *const first = (const kc_i16 *)from, *const second = (const kc_i16 *)(from +
                                                                                       apart);
    if (rows == 1) {
        __builtin_memcpy(to, from, 64);
    } else if (rows == 2) {
        pcp_panels_join_words(*first, *second, (kc_i16 *)to);
    } else if (rows <= 4) {
        kc_i16 x[2], y[2];
        pcp_panels_join_words(*first, *(const kc_i16 *)(from + 2 * apart), x);
        pcp_panels_join_words(*second, *(const kc_i16 *)(from + 3 * apart), y);
        pcp_panels_join_words(x[0], y[0], (kc_i16 *)to);
        pcp_panels_join_words(x[1], y[1], (kc_i16 *)to + 2);
    } else {
        uint32_t x[PCP_STREAM_SQUARE] __attribute__((aligned(64)));
        for (int t = 0; t < PCP_STREAM_SIDE; t += 4)
            kc_turn_pairs((uint16_t *)(x + t * PCP_STREAM_SIDE), 2 * PCP_STREAM_SIDE,
                          (const uint16_t *)(from + t), 2 * apart);
        for (int t = 0; t < PCP_STREAM_SIDE; t++)
            __builtin_memcpy(to + t * rows, x + t * PCP_STREAM_SIDE, 4 * rows);
    }
}

/* Rounded to bf16, two in a word. */
PCP_FN void pcp_panels_pairs(const float *x, uint32_t *to)
{
#pragma omp simd
    for (int t = 0; t < PCP_PANELS_STEP / 2; t++)
        to[t] = pcp_bf16_from_f32(x[2 * t]) | (uint32_t)pcp_bf16_from_f32(x[2 * t + 1]) << 16;
}

/* The scales of rows [i0, i0 + n) for the terms [p0, p1), and what makes them whole. */
PCP_FN void pcp_panels_scale_bytes(const pcp_stream_t *s, int64_t i0, int64_t n, int64_t p0,
                                   int64_t p1, float *factor, float *scale)
{
    for (int64_t i = 0; i < n; i++) {
        float sum, most;
        uint32_t bits = pcp_stream_largest(s, i0 + i, p0, p1, &sum);
        const int finite = bits >> 23 != 255;
        if (bits < PCP_INT_TINY) bits = PCP_INT_TINY;
        __builtin_memcpy(&most, &bits, 4);
        factor[i] = finite ? 127 / most : 0;
        scale[i] = finite ? most / 127 : __builtin_nanf("");
    }
}

/* The same of whole rows; returns the most parts of any. */
PCP_FN int pcp_panels_scale_digits(const pcp_stream_t *s, int64_t i0, int64_t n, float *factor,
                                   float *scale)
{
    int parts = PCP_STREAM_FEW;
    for (int64_t i = 0; i < n; i++) {
        const pcp_stream_scale_t x = pcp_stream_scale(s, i0 + i, 0, s->k);
        factor[i] = x.factor, scale[i] = x.back;
        if (x.parts > parts) parts = x.parts;
    }
    return parts;
}

/* 64 terms from p on of rows [i0, i0 + n) as lines, PCP_PANELS_STEP words apart; parts of a row `side` lines. */
PCP_FN void pcp_panels_fill(const pcp_stream_t *s, int64_t i0, int64_t n, int64_t p, const int kind,
                            const int side, int parts, const float *factor, uint32_t *lines)
{
    float terms[PCP_PANELS_STEP] __attribute__((aligned(64)));
    for (int64_t i = 0; i < n; i++, lines += PCP_PANELS_STEP) {
        if (pcp_panels_is_whole(kind)) {
            pcp_stream_digits(s, i0 + i, p, factor[i], parts, (int8_t *)lines,
                              4 * PCP_PANELS_STEP * (int64_t)side);
            continue;
        }
        pcp_stream_terms(s, i0 + i, p, PCP_PANELS_STEP, terms);
        if (kind == PCP_PANELS_PAIRS)
            pcp_panels_pairs(terms, lines);
        else
            __builtin_memcpy(lines, terms, sizeof terms);
    }
}

/* What sums of whole numbers begin at, B's being 128 larger than they are: less what 64 terms of each line add. */
PCP_FN void pcp_panels_add_start(const uint32_t *lines, int64_t n, int32_t *start)
{
    const kc_i16 ones = (kc_i16){0} + 0x01010101;
    kc_i16 all[4];
    int32_t sums[4];
    for (int64_t i = 0; i < n; i += 4) {
        for (int k = 0; k < 4; k++)
            all[k] = KC_FOURS((kc_i16){0}, ones,
                              *(const kc_i16 *)(lines + (i + k) * PCP_PANELS_STEP));
        pcp_fours_fold(all[0], all[1], all[2], all[3], sums);
        for (int64_t k = 0; k < 4 && i + k < n; k++) start[i + k] -= 128 * sums[k];
    }
}

/* A block of terms from p0 on of a section, whose rows are [i0, i0 + n). */
PCP_FN void pcp_panels_split(const pcp_stream_t *s, const pcp_panels_form_t *f, int64_t i0,
                             int64_t n, int64_t p0, const int kind, const int rows, const int side,
                             int parts, const float *factor, char *section)
{
    uint32_t lines[PCP_PANELS_LINES * PCP_PANELS_STEP] __attribute__((aligned(64)));
    const int64_t word = pcp_panels_word(kind), width = pcp_panels_width(rows);
    const int64_t used = (parts * side + rows - 1) / rows * rows, block = p0 / f->terms;
    const int64_t p1 = p0 + f->terms < s->k ? p0 + f->terms : s->k;
    int32_t *const start = pcp_panels_starts(f, section, block);
    uint32_t *const words = (uint32_t *)(section + f->at);
    if (n < side || parts * side < used) __builtin_memset(lines, 0, sizeof lines);
    if (pcp_panels_is_whole(kind)) __builtin_memset(start, 0, 4 * f->lines);
    for (int64_t p = p0; p < p1; p += PCP_PANELS_STEP) {
        pcp_panels_fill(s, i0, n, p, kind, side, parts, factor, lines);
        if (pcp_panels_is_whole(kind)) pcp_panels_add_start(lines, used, start);
        for (int64_t i = 0; i < used; i += rows)
            for (int64_t w = 0; w < PCP_PANELS_STEP / word; w += PCP_STREAM_SIDE)
                pcp_panels_turn(lines + i * PCP_PANELS_STEP + w, PCP_PANELS_STEP, rows,
                                words + i / rows * f->apart + (p / word + w) * width);
    }
}

/* The blocks [block0, block1) of terms of A as lines. */
PCP_FN void pcp_panels_lines(const pcp_stream_t *s, const pcp_panels_form_t *f, int64_t block0,
                             int64_t block1, const int kind, const int rows, const int side,
                             char *section)
{
    float factor[PCP_STREAM_SIDE], scale[PCP_STREAM_SIDE];
    for (int64_t i0 = 0; i0 < s->m; i0 += side, section += f->next) {
        const int64_t n = s->m - i0 < side ? s->m - i0 : side;
        int parts = 1;
        if (kind == PCP_PANELS_DIGITS) parts = pcp_panels_scale_digits(s, i0, n, factor, scale);
        for (int64_t block = block0; block < block1; block++) {
            const int64_t p0 = block * f->terms, p1 = p0 + f->terms < s->k ? p0 + f->terms : s->k;
            if (kind == PCP_PANELS_BYTES) pcp_panels_scale_bytes(s, i0, n, p0, p1, factor, scale);
            if (pcp_panels_is_whole(kind))
                __builtin_memcpy(pcp_panels_scales(f, section, block), scale, 4 * n);
            if (block == 0) *(int32_t *)section = parts;
            pcp_panels_split(s, f, i0, n, p0, kind, rows, side, parts, factor, section);
        }
    }
}

/* --- sums --- */

/* Where a block's operands are, and what it asks for: 64 bytes of each panel in every `every`-th turn. */
typedef struct {
    const char *b, *ask;
    int64_t panel, n, every; /* bytes from panel to panel; n: times 64 bytes of each */
    const uint32_t *words;
} pcp_panels_at_t;

#define PCP_PANELS_EACH(i, n) _Pragma("GCC unroll 24") for (int i = 0; i < (n); i++)

/* The first or second numbers of bf16 of 16 rows as f32. */
PCP_FN kc_v16 pcp_panels_widen(kc_i16 x, int second)
{
    if (second)
        x &= (int32_t)0xffff0000;
    else
        x <<= 16;
    return (kc_v16)x;
}

/* The same 16 sums of a line, and another term of them; half: which of two that lie together. */
PCP_FN kc_v16 pcp_panels_add(kc_v16 sum, kc_i16 x, kc_i16 y, const int kind, const int half)
{
    if (kind == PCP_PANELS_PAIRS) return KC_PAIRS_DOT(sum, x, y);
    if (kind == PCP_PANELS_F32) return sum + (kc_v16)x * (kc_v16)y;
    return sum + pcp_panels_widen(x, half) * (kc_v16)y;
}

/* 64 bytes of each panel, once those that are due are asked for. */
PCP_FN void pcp_panels_load(pcp_panels_at_t *at, int64_t p, int64_t *due, const int panels,
                            kc_i16 *x)
{
    PCP_PANELS_EACH(q, panels) x[q] = *(const kc_i16 *)(at->b + q * at->panel + 64 * p);
    if (--*due > 0) return;
    PCP_PANELS_EACH(q, panels) __builtin_prefetch(at->ask + q * at->panel, 0, 2);
    *due = at->every;
    at->ask += 64;
}

/* A word of a line in all lanes; used more than once, it is loaded once. */
PCP_FN kc_i16 pcp_panels_all(uint32_t word, const int once)
{
    kc_i16 y = (kc_i16){0} + (int32_t)word;
#ifdef __AVX512F__
    if (!once) __asm__("" : "+v"(y));
#endif
    return y;
}

/* Where the sums of a block of lines go, n of whose lines are rows of C: they are added to what is kept of the terms before,
 * if there are any, and kept, or, at the end, stored. */
typedef struct {
    void *kept; /* vectors [rows][panels] */
    float *c;   /* NULL: they are kept */
    int64_t ldc, n, adds;
} pcp_panels_to_t;

PCP_FN void pcp_panels_put(const pcp_panels_to_t *to, const int rows, const int panels, kc_v16 *sum)
{
    kc_v16 *const kept = (kc_v16 *)to->kept;
    if (to->adds) PCP_PANELS_EACH(i, rows * panels) sum[i] += kept[i];
    if (!to->c) {
        PCP_PANELS_EACH(i, rows * panels) kept[i] = sum[i];
        return;
    }
    PCP_PANELS_EACH(i, rows)
    if (i < to->n) PCP_PANELS_EACH(q, panels)
    *((kc_v16 *)(to->c + i * to->ldc) + q) = sum[i * panels + q];
}

/* Whole numbers, which are kept as they are. */
PCP_FN void pcp_panels_put_whole(const pcp_panels_to_t *to, const int count, kc_i16 *sum)
{
    kc_i16 *const kept = (kc_i16 *)to->kept;
    if (to->adds) PCP_PANELS_EACH(i, count) sum[i] += kept[i];
    PCP_PANELS_EACH(i, count) kept[i] = sum[i];
}

/* Sums of a block of lines with some panels. */
PCP_FN void pcp_panels_numbers(pcp_panels_at_t at, const int kind, const int rows, const int panels,
                               const pcp_panels_to_t *to)
{
    kc_v16 sum[PCP_PANELS_SUMS];
    const int width = pcp_panels_width(rows), terms = kind == PCP_PANELS_HALVES ? 2 : 1;
    const uint32_t *words = at.words;
    int64_t due = 1;
    PCP_PANELS_EACH(i, rows * panels) sum[i] = (kc_v16){0};
    for (int64_t p = 0; p < at.n; p++) {
        kc_i16 x[PCP_PANELS_MOST];
        pcp_panels_load(&at, p, &due, panels, x);
        PCP_PANELS_EACH(half, terms)
        {
            PCP_PANELS_EACH(i, rows)
            {
                const kc_i16 y = pcp_panels_all(words[i], panels == 1);
                PCP_PANELS_EACH(q, panels)
                sum[i * panels + q] = pcp_panels_add(sum[i * panels + q], x[q], y, kind, half);
            }
            words += width;
        }
    }
    pcp_panels_put(to, rows, panels, sum);
}

/* The same in whole numbers. */
PCP_FN void pcp_panels_integers(pcp_panels_at_t at, const int kind, const int rows,
                                const int panels, const int32_t *start, const float *scale,
                                const pcp_panels_to_t *to)
{
    kc_i16 sum[PCP_PANELS_SUMS];
    const int width = pcp_panels_width(rows);
    const uint32_t *words = at.words;
    int64_t due = 1;
    PCP_PANELS_EACH(i, rows * panels)
    sum[i] = (kc_i16){0} + start[i / panels];
    for (int64_t p = 0; p < at.n; p++, words += width) {
        kc_i16 x[PCP_PANELS_MOST];
        pcp_panels_load(&at, p, &due, panels, x);
        PCP_PANELS_EACH(q, panels) x[q] ^= (int32_t)0x80808080;
        PCP_PANELS_EACH(i, rows)
        {
            const kc_i16 y = pcp_panels_all(words[i], panels == 1);
            PCP_PANELS_EACH(q, panels)
            sum[i * panels + q] = KC_FOURS(sum[i * panels + q], x[q], y);
        }
    }
    if (kind == PCP_PANELS_DIGITS) {
        pcp_panels_put_whole(to, rows * panels, sum);
        return;
    }
    kc_v16 scaled[PCP_PANELS_SUMS];
    PCP_PANELS_EACH(i, rows * panels)
    scaled[i] = __builtin_convertvector(sum[i], kc_v16) * scale[i / panels];
    pcp_panels_put(to, rows, panels, scaled);
}

/* A product: C[m, n] = A B^T, A as sections of lines, B in panels. */
typedef struct {
    char *sections;
    const char *b;
    float *c;
    int64_t ldc, m, k;
    pcp_panels_form_t form;
} pcp_panels_t;

/* Sums of the whole numbers of row i with panel q. */
PCP_FN void pcp_panels_join(const int32_t *whole, int64_t i, int q, const int side,
                            const int panels, int parts, float scale, float *sums)
{
    float back[PCP_PANELS_SIDE];
    for (int t = 0; t < PCP_PANELS_SIDE; t++) back[t] = scale;
    pcp_stream_join(whole + (i * panels + q) * PCP_PANELS_SIDE,
                    (int64_t)side * panels * PCP_PANELS_SIDE, parts, 0, back, sums);
}

/* C[i, j ..], up to j1, of the rows of a section from i0 on. */
PCP_FN void pcp_panels_end(const pcp_panels_t *x, int64_t i0, int64_t j, int64_t j1, const int kind,
                           const int side, const int panels, char *section, const void *kept)
{
    for (int64_t i = 0; i < side && i0 + i < x->m; i++)
        for (int q = 0; q < panels; q++) {
            float sums[PCP_PANELS_SIDE] __attribute__((aligned(64)));
            const int64_t at = j + q * PCP_PANELS_SIDE;
            const int64_t n = j1 - at < PCP_PANELS_SIDE ? j1 - at : PCP_PANELS_SIDE;
            float *const to = x->c + (i0 + i) * x->ldc + at;
            if (kind == PCP_PANELS_DIGITS)
                pcp_panels_join(kept, i, q, side, panels, *(const int32_t *)section,
                                pcp_panels_scales(&x->form, section, 0)[i], sums);
            else
                *(kc_v16 *)sums = *((const kc_v16 *)kept + i * panels + q);
            if (n == PCP_PANELS_SIDE)
                *(kc_v16 *)to = *(kc_v16 *)sums;
            else
                __builtin_memcpy(to, sums, 4 * n);
        }
}

/* A block of terms from p0 on of a section, which asks for one of `every` parts of what is read next. */
PCP_FN void pcp_panels_section(const pcp_panels_t *x, pcp_panels_at_t *from, int64_t p0,
                               const int kind, const int rows, const int panels, const int side,
                               char *section, pcp_panels_to_t to)
{
    const int parts = kind == PCP_PANELS_DIGITS ? *(const int32_t *)section : 1;
    const int64_t block = p0 / x->form.terms, blocks = (parts * side + rows - 1) / rows;
    const int32_t *const start = pcp_panels_starts(&x->form, section, block);
    const float *const scale = pcp_panels_scales(&x->form, section, block);
    pcp_panels_at_t at = *from;
    at.words = (const uint32_t *)(section + x->form.at) +
               p0 / pcp_panels_word(kind) * pcp_panels_width(rows);
    at.every *= blocks;
    for (int64_t i = 0; i < blocks * rows; i += rows) {
        if (pcp_panels_is_whole(kind))
            pcp_panels_integers(at, kind, rows, panels, start + i, scale + i, &to);
        else
            pcp_panels_numbers(at, kind, rows, panels, &to);
        at.words += x->form.apart;
        at.ask += (at.n + at.every - 1) / at.every * 64;
        to.kept = (kc_v16 *)to.kept + rows * panels;
        to.c += to.c ? rows * to.ldc : 0;
        to.n -= rows;
    }
    from->ask = at.ask;
}

/* Columns from j on, up to j1, of `panels` panels, and n sections from row i0 on. */
PCP_FN void pcp_panels_columns(const pcp_panels_t *x, int64_t i0, int64_t n, int64_t j, int64_t j1,
                               const int kind, const int rows, const int side, const int panels)
{
    float kept[PCP_PANELS_SECTIONS * PCP_PANELS_ROOM * PCP_PANELS_SIDE]
        __attribute__((aligned(64)));
    const int64_t deep = pcp_panels_deep(kind), panel = x->k / deep * 64;
    const int64_t room = x->form.lines * panels * PCP_PANELS_SIDE;
    char *const first = x->sections + i0 / side * x->form.next;
    const char *const b = x->b + j / PCP_PANELS_SIDE * panel;
    const int stores = kind != PCP_PANELS_DIGITS && j + panels * PCP_PANELS_SIDE <= j1;
    for (int64_t p0 = 0; p0 < x->k; p0 += x->form.terms) {
        const int64_t p1 = p0 + x->form.terms < x->k ? p0 + x->form.terms : x->k;
        pcp_panels_at_t at = {.b = b + p0 / deep * 64, .panel = panel, .n = (p1 - p0) / deep};
        at.ask = p1 < x->k ? b + p1 / deep * 64 : b + panels * panel;
        at.every = n;
        for (int64_t s = 0; s < n; s++) {
            const int64_t i = i0 + s * side, m = x->m - i < side ? x->m - i : side;
            const pcp_panels_to_t to = {kept + s * room,
                                        stores && p1 == x->k ? x->c + i * x->ldc + j : 0, x->ldc, m,
                                        p0 > 0};
            pcp_panels_section(x, &at, p0, kind, rows, panels, side, first + s * x->form.next, to);
        }
    }
    for (int64_t s = 0; s < n && !stores; s++)
        pcp_panels_end(x, i0 + s * side, j, j1, kind, side, panels, first + s * x->form.next,
                       kept + s * room);
}

/* Columns [j0, j1) of C, from whole panels on. */
PCP_FN void pcp_panels_product(const pcp_panels_t *x, int64_t j0, int64_t j1, const int kind,
                               const int rows, const int side, const int panels)
{
    const int64_t all = (x->m + side - 1) / side, step = panels * PCP_PANELS_SIDE;
    for (int64_t s = 0; s < all; s += PCP_PANELS_SECTIONS) {
        const int64_t n = all - s < PCP_PANELS_SECTIONS ? all - s : PCP_PANELS_SECTIONS;
        int64_t j = j0;
        for (; j + step - PCP_PANELS_SIDE < j1; j += step)
            pcp_panels_columns(x, s * side, n, j, j1, kind, rows, side, panels);
        for (; panels > 1 && j < j1; j += PCP_PANELS_SIDE)
            pcp_panels_columns(x, s * side, n, j, j1, kind, rows, side, 1);
    }
}
#endif

#endif
