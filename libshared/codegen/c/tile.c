/* Text of register tiles and of packing. Everything that has a constant bound is unrolled here, so
 * that accumulators are plain variables and what the compiler does with them is no surprise. */
#include "codegen/c/tile.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "codegen/c/tile_amx.h"

enum { AHEAD = 16 }; /* terms: what a line from memory takes */

const char tile_head[] =
    "typedef float kc_v4 __attribute__((vector_size(16), aligned(4), may_alias));\n"
    "typedef float kc_v8 __attribute__((vector_size(32), aligned(4), may_alias));\n"
    "typedef float kc_v16 __attribute__((vector_size(64), aligned(4), may_alias));\n"
    "typedef int32_t kc_i16 __attribute__((vector_size(64), aligned(2), may_alias));\n"
    "typedef float kc_h4 __attribute__((vector_size(16), aligned(2), may_alias));\n"
    "typedef float kc_h8 __attribute__((vector_size(32), aligned(2), may_alias));\n"
    "typedef int32_t kc_pair __attribute__((aligned(2), may_alias));\n"
    "#if defined(__AVX512F__) && !defined(KC_STREAM)\n"
    "#define KC_STREAM(to, from) \\\n"
    "    __asm__ volatile(\"vmovntps %1, %0\" : \"=m\"(*(char(*)[64])(to)) \\\n"
    "    : \"v\"(*(const float __attribute__((vector_size(64))) *)(from)))\n"
    "#endif\n"
    "#ifdef __AVX512VNNI__\n"
    "static inline kc_i16 kc_fours(kc_i16 c, kc_i16 a, kc_i16 b)\n"
    "{\n"
    "    __asm__(\"vpdpbusd %2, %1, %0\" : \"+v\"(c) : \"v\"(a), \"v\"(b));\n"
    "    return c;\n"
    "}\n"
    "#define KC_FOURS kc_fours\n"
    "#endif\n"
    "#ifdef __AVX512BF16__\n"
    "static inline kc_v16 kc_dot(kc_v16 c, kc_i16 a, kc_i16 b)\n"
    "{\n"
    "    __asm__(\"vdpbf16ps %2, %1, %0\" : \"+v\"(c) : \"v\"(a), \"v\"(b));\n"
    "    return c;\n"
    "}\n"
    "#define KC_PAIRS_DOT kc_dot\n"
    "#endif\n"
    "\n";

static int vectors_of(const tile_t *t)
{
    return (t->cols + t->lanes - 1) / t->lanes;
}

/* Terms of pairs: the two products and the sum are one instruction. */
static void write_pairs(const tile_t *t, str_t *out)
{
    for (int v = 0; v < vectors_of(t); v++)
        str_addf(out, "        const kc_i16 b%d = *(const kc_i16 *)(b + %d);\n", v,
                 2 * v * t->lanes);
    for (int i = 0; i < t->rows; i++) {
        str_addf(out,
                 "        { const kc_i16 x = (kc_i16){0} + *(const kc_pair *)(a + %" PRId64 ");",
                 i * t->a_row);
        for (int v = 0; v < vectors_of(t); v++)
            str_addf(out, " c%d_%d = kc_dot(c%d_%d, x, b%d);", i, v, i, v, v);
        str_add(out, " }\n");
    }
}

static void write_numbers(const tile_t *t, str_t *out)
{
    int vectors = vectors_of(t);
    for (int v = 0; v < vectors; v++)
        str_addf(out, "        const kc_v%d b%d = *(const kc_v%d *)(b + %d);\n", t->lanes, v,
                 t->lanes, v * t->lanes);
    for (int i = 0; i < t->rows; i++) {
        str_addf(out, "        { const float x = a[%" PRId64 "];", i * t->a_row);
        for (int v = 0; v < vectors; v++) str_addf(out, " c%d_%d += x * b%d;", i, v, v);
        str_add(out, " }\n");
    }
}

/* Lines of C, which are often not in the cache when a tile ends. */
static void write_prefetch_c(const tile_t *t, str_t *out)
{
    for (int i = 0; i < t->rows; i++)
        for (int v = 0; v < vectors_of(t); v++)
            str_addf(out, "    __builtin_prefetch(c + %" PRId64 ", 1);\n",
                     i * t->c_row + v * t->lanes);
}

/* What lies too far apart for the processor to see the pattern: terms of operands as they are. */
static void write_prefetch_terms(const tile_t *t, str_t *out)
{
    int wide = t->bf16 ? 2 : 1, width = vectors_of(t) * t->lanes;
    if (t->a_sum > wide)
        str_addf(out, "        __builtin_prefetch(a + %" PRId64 ");\n", AHEAD * t->a_sum);
    for (int v = 0; t->b_sum > wide * width && v < vectors_of(t); v++)
        str_addf(out, "        __builtin_prefetch(b + %" PRId64 ");\n",
                 AHEAD * t->b_sum + v * t->lanes * wide);
}

/* Rows of A that the next tile will read: n terms of one for each n / rows terms of this tile. */
static void write_prefetch_rows(const tile_t *t, str_t *out)
{
    int wide = t->bf16 ? 2 : 1;
    str_addf(out,
             "    const __auto_type below = a + %" PRId64 ";\n"
             "    for (int64_t r = 0, p = 0; r < %d; r++)\n"
             "    for (const int64_t first = r * n / %d, end = (r + 1) * n / %d; p < end; p++) {\n"
             "        __builtin_prefetch(below + r * %" PRId64 " + (p - first) * %d);\n",
             t->rows * t->a_row, t->rows, t->rows, t->rows, t->a_row, t->rows * wide);
}

static void write_terms(const tile_t *t, str_t *out)
{
    bool plain = t->a_sum == (t->bf16 ? 2 : 1);
    if (!t->stream) write_prefetch_c(t, out);
    if (plain && t->rows > 1)
        write_prefetch_rows(t, out);
    else
        str_add(out, "    for (int64_t p = 0; p < n; p++) {\n");
    write_prefetch_terms(t, out);
    if (t->bf16)
        write_pairs(t, out);
    else
        write_numbers(t, out);
    str_addf(out, "        a += %" PRId64 ";\n        b += %" PRId64 ";\n    }\n", t->a_sum,
             t->b_sum);
}

/* One vector of a row of C, read into or written from its accumulator; the last one may have
 * columns that are not ours. */
static void write_result(const tile_t *t, int i, int v, bool read, str_t *out)
{
    int64_t at = i * t->c_row + v * t->lanes;
    int left = t->cols - v * t->lanes;
    char acc[32], old[96];
    snprintf(acc, sizeof acc, "c%d_%d", i, v);
    snprintf(old, sizeof old, "*(kc_v%d *)(c + %" PRId64 ")", t->lanes, at);
    if (left >= t->lanes)
        str_addf(out, read ? "    %s += %s;\n" : "    %2$s = %1$s;\n", acc, old);
    else if (read)
        str_addf(out,
                 "    { kc_v%d x = {0}; __builtin_memcpy(&x, c + %" PRId64 ", %d); %s += x; }\n",
                 t->lanes, at, 4 * left, acc);
    else
        str_addf(out, "    __builtin_memcpy(c + %" PRId64 ", &%s, %d);\n", at, acc, 4 * left);
}

/* C past the caches, a line at a time; as usual where lines are not whole. */
static void write_stream(const tile_t *t, str_t *out)
{
    str_add(out, "    if ((uintptr_t)c % 64 == 0) {\n");
    for (int i = 0; i < t->rows; i++)
        for (int v = 0; v < vectors_of(t); v++)
            str_addf(out, "    KC_STREAM(c + %" PRId64 ", &c%d_%d);\n", i * t->c_row + v * t->lanes,
                     i, v);
    str_add(out, "    return;\n    }\n");
}

/* C row by row: added to what is there when `add`, then written. */
static void write_results(const tile_t *t, str_t *out)
{
    if (t->stream) write_stream(t, out);
    for (int read = 1; read >= 0; read--) {
        str_add(out, read ? "    if (add) {\n" : "    }\n");
        for (int i = 0; i < t->rows; i++)
            for (int v = 0; v < vectors_of(t); v++) write_result(t, i, v, read, out);
    }
}

const char *tile_function(helpers_t *helpers, const tile_t *t)
{
    if (t->amx) return tile_amx_function(helpers, t);
    str_t text = {0};
    int vectors = vectors_of(t);
    const char *type = t->bf16 ? "uint16_t" : "float";
    str_addf(&text, "(const %s *a, const %s *b, float *restrict c, int64_t n, int add)\n{\n", type,
             type);
    for (int i = 0; i < t->rows; i++) {
        str_addf(&text, "    kc_v%d", t->lanes);
        for (int v = 0; v < vectors; v++) str_addf(&text, "%s c%d_%d = {0}", v ? "," : "", i, v);
        str_add(&text, ";\n");
    }
    write_terms(t, &text);
    write_results(t, &text);
    str_add(&text, "}\n");
    const char *name = helpers_add(helpers, "tile", str_text(&text));
    str_fini(&text);
    return name;
}

/* --- Packing ---------------------------------------------------------------------------------- */

/* Rows of the panel lie in rows of the source. */
static void write_copy(const pack_t *p, str_t *out)
{
    str_addf(out, "    for (int64_t p = 0; p < n; p++, to += %d, from += %" PRId64 ") {\n",
             p->width, p->from_sum);
    str_addf(out, "        __builtin_memcpy(to, from, %d);\n", 4 * p->cols);
    if (p->width > p->cols)
        str_addf(out, "        __builtin_memset(to + %d, 0, %d);\n", p->cols,
                 4 * (p->width - p->cols));
    str_add(out, "    }\n");
}

/* Pairs of rows of the source, side by side. */
static void write_interleave(const pack_t *p, str_t *out)
{
    str_addf(out, "    for (int64_t p = 0; p < n; p++, to += %d, from += %" PRId64 ") {\n",
             2 * p->width, 2 * p->from_sum);
    str_addf(out,
             "        for (int64_t j = 0; j < %d; j++) {\n            to[2 * j] = from[j];\n"
             "            to[2 * j + 1] = from[j + %" PRId64 "];\n        }\n",
             p->cols, p->from_sum);
    if (p->width > p->cols)
        str_addf(out, "        __builtin_memset(to + %d, 0, %d);\n", 2 * p->cols,
                 4 * (p->width - p->cols));
    str_add(out, "    }\n");
}

/* Columns [from, to) of the panel, term by term; the loop variable is new. */
static void write_transpose_rest(const pack_t *p, const char *var, const char *start, int from,
                                 int to, str_t *out)
{
    int wide = p->bf16 ? 2 : 1;
    str_addf(out,
             "    for (%s; %s < n; %s++)\n        for (int64_t j = %d; j < %d; j++)\n"
             "            __builtin_memcpy(to + (%s * %d + j) * %d, from + j * %" PRId64
             " + %s * %d, 4);\n",
             start, var, var, from, to, var, p->width, wide, p->from_col, var, wide);
}

/* A square of `size` by `size` terms through registers, by shuffles of two vectors: neighbouring
 * rows, then pairs of them, then (8) halves. x: rows of the source, u: of the panel. */
static void write_square(const pack_t *p, int size, str_t *out)
{
    static const char *const rows[2][2] = {
        {"0, 4, 1, 5", "2, 6, 3, 7"}, {"0, 8, 1, 9, 4, 12, 5, 13", "2, 10, 3, 11, 6, 14, 7, 15"}};
    static const char *const pairs[2][2] = {
        {"0, 1, 4, 5", "2, 3, 6, 7"}, {"0, 1, 8, 9, 4, 5, 12, 13", "2, 3, 10, 11, 6, 7, 14, 15"}};
    static const char *const halves[2] = {"0, 1, 2, 3, 8, 9, 10, 11", "4, 5, 6, 7, 12, 13, 14, 15"};
    static const char shuffle[] = "            const kc_h%d %c%d = "
                                  "__builtin_shufflevector(%c%d, %c%d, %s);\n";
    int wide = p->bf16 ? 2 : 1, last = size == 8 ? 'u' : 'z';
    for (int i = 0; i < size; i++)
        str_addf(out, "            const kc_h%d x%d = *(const kc_h%d *)(f + %" PRId64 ");\n", size,
                 i, size, i * p->from_col);
    for (int i = 0; i < size; i++)
        str_addf(out, shuffle, size, 'y', i, 'x', i / 2 * 2, 'x', i / 2 * 2 + 1,
                 rows[size / 8][i % 2]);
    for (int i = 0; i < size; i++) {
        int first = i / 4 * 4 + i % 4 / 2;
        str_addf(out, shuffle, size, 'z', i, 'y', first, 'y', first + 2, pairs[size / 8][i % 2]);
    }
    for (int i = 0; size == 8 && i < size; i++)
        str_addf(out, shuffle, size, 'u', i, 'z', i % 4, 'z', i % 4 + 4, halves[i / 4]);
    for (int i = 0; i < size; i++)
        str_addf(out, "            *(kc_h%d *)(t + %d) = %c%d;\n", size, i * p->width * wide, last,
                 i);
}

/* Columns of the panel are rows of the source: square by square, for the terms of one line of the
 * cache at a time, since rows may lie so far apart that few lines stay; then what is left. */
static void write_transpose(const pack_t *p, str_t *out)
{
    int size = p->lanes >= 8 && p->cols % 8 == 0 ? 8 : 4;
    int whole = p->cols / size * size, wide = p->bf16 ? 2 : 1;
    str_addf(out,
             "    for (int64_t s = 0; s + %d <= n; s += 16)\n"
             "        for (int64_t j = 0; j < %d; j += %d)\n"
             "        for (int64_t p = s; p < s + 16 && p + %d <= n; p += %d) {\n"
             "            const __auto_type f = from + j * %" PRId64 " + p * %d;\n"
             "            const __auto_type t = to + (p * %d + j) * %d;\n",
             size, whole, size, size, size, p->from_col, wide, p->width, wide);
    write_square(p, size, out);
    str_add(out, "        }\n");
    if (whole)
        write_transpose_rest(p, "p", size == 8 ? "int64_t p = n / 8 * 8" : "int64_t p = n / 4 * 4",
                             0, whole, out);
    if (whole < p->cols) write_transpose_rest(p, "q", "int64_t q = 0", whole, p->cols, out);
    if (p->cols < p->width)
        str_addf(out,
                 "    for (int64_t q = 0; q < n; q++)\n"
                 "        __builtin_memset(to + (q * %d + %d) * %d, 0, %d);\n",
                 p->width, p->cols, wide, 4 * (p->width - p->cols));
}

/* Single elements and zeros. */
static void write_last(const pack_t *p, str_t *out)
{
    str_addf(out,
             "    __builtin_memset(to, 0, %d * n);\n    for (int64_t j = 0; j < %d; j++)\n"
             "        to[2 * j] = from[j * %" PRId64 "];\n",
             4 * p->width, p->cols, p->from_col);
}

const char *pack_function(helpers_t *helpers, const pack_t *pack)
{
    str_t text = {0};
    const char *type = pack->bf16 ? "uint16_t" : "float";
    str_addf(&text, "(%s *restrict to, const %s *restrict from, int64_t n)\n{\n", type, type);
    if (pack->last)
        write_last(pack, &text);
    else if (pack->from_col != 1)
        write_transpose(pack, &text);
    else if (pack->bf16)
        write_interleave(pack, &text);
    else
        write_copy(pack, &text);
    str_add(&text, "}\n");
    const char *name = helpers_add(helpers, "pack", str_text(&text));
    str_fini(&text);
    return name;
}
