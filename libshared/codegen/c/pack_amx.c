/* Text of packing for AMX. A square of 8 x 8 words or 4 x 4 pairs within 16 bytes is turned by as many
 * perfect shuffles as its side has bits: each moves the highest bit of a row's number to the end of
 * the column's. */
#include "codegen/c/pack_amx.h"

#include <inttypes.h>

enum { SIDE = 16, WORDS = 8 };

const char pack_amx_head[] =
    "typedef uint16_t kc_w8 __attribute__((vector_size(16), aligned(2), may_alias));\n"
    "typedef uint16_t kc_w16 __attribute__((vector_size(32), aligned(2), may_alias));\n"
    "typedef uint16_t kc_w32 __attribute__((vector_size(64), aligned(2), may_alias));\n"
    "#define KC_WORDS(n) n, n + 32, n + 1, n + 33, n + 2, n + 34, n + 3, n + 35\n"
    "#define KC_PAIRS(n) n, n + 16, n + 1, n + 17\n"
    "#define KC_JOIN __builtin_shufflevector\n"
    "/* x = rows a, b, c, d: 16 bytes of each. */\n"
    "#ifdef __AVX512F__\n"
    "#define KC_LANES(x, a, b, c, d) \\\n"
    "    __asm__(\"vmovdqu32 %1, %x0\\n\\tvinserti32x4 $1, %2, %t0, %t0\\n\\t\" \\\n"
    "            \"vinserti32x4 $2, %3, %g0, %g0\\n\\tvinserti32x4 $3, %4, %g0, %g0\" \\\n"
    "            : \"=&v\"(x) : \"m\"(*(const kc_w8 *)(a)), \"m\"(*(const kc_w8 *)(b)), \\\n"
    "              \"m\"(*(const kc_w8 *)(c)), \"m\"(*(const kc_w8 *)(d)))\n"
    "#else\n"
    "#define KC_LANES(x, a, b, c, d) \\\n"
    "    (__builtin_memcpy(&x, a, 16), __builtin_memcpy((char *)&x + 16, b, 16), \\\n"
    "     __builtin_memcpy((char *)&x + 32, c, 16), __builtin_memcpy((char *)&x + 48, d, 16))\n"
    "#endif\n"
    "/* 32 rows of 8 columns as 8 rows of 32 columns. */\n"
    "static inline void kc_turn_words(uint16_t *to, int64_t to_row, const uint16_t *from,\n"
    "                                 int64_t row)\n"
    "{\n"
    "    kc_w32 x[8], y[8];\n"
    "    for (int i = 0; i < 8; i++, from += row)\n"
    "        KC_LANES(x[i], from, from + 8 * row, from + 16 * row, from + 24 * row);\n"
    "    for (int turn = 0; turn < 3; turn++) {\n"
    "        for (int i = 0; i < 4; i++) {\n"
    "            y[2 * i] = KC_JOIN(x[i], x[i + 4], KC_WORDS(0), KC_WORDS(8), KC_WORDS(16),\n"
    "                               KC_WORDS(24));\n"
    "            y[2 * i + 1] = KC_JOIN(x[i], x[i + 4], KC_WORDS(4), KC_WORDS(12), KC_WORDS(20),\n"
    "                                   KC_WORDS(28));\n"
    "        }\n"
    "        for (int i = 0; i < 8; i++) x[i] = y[i];\n"
    "    }\n"
    "    for (int i = 0; i < 8; i++) *(kc_w32 *)(to + i * to_row) = x[i];\n"
    "}\n"
    "/* 16 rows of 4 pairs as 4 rows of 16 pairs. */\n"
    "static inline void kc_turn_pairs(uint16_t *to, int64_t to_row, const uint16_t *from,\n"
    "                                 int64_t row)\n"
    "{\n"
    "    kc_i16 x[4], y[4];\n"
    "    for (int i = 0; i < 4; i++, from += row)\n"
    "        KC_LANES(x[i], from, from + 4 * row, from + 8 * row, from + 12 * row);\n"
    "    for (int turn = 0; turn < 2; turn++) {\n"
    "        for (int i = 0; i < 2; i++) {\n"
    "            y[2 * i] = KC_JOIN(x[i], x[i + 2], KC_PAIRS(0), KC_PAIRS(4), KC_PAIRS(8),\n"
    "                               KC_PAIRS(12));\n"
    "            y[2 * i + 1] = KC_JOIN(x[i], x[i + 2], KC_PAIRS(2), KC_PAIRS(6), KC_PAIRS(10),\n"
    "                                   KC_PAIRS(14));\n"
    "        }\n"
    "        for (int i = 0; i < 4; i++) x[i] = y[i];\n"
    "    }\n"
    "    for (int i = 0; i < 4; i++) *(kc_i16 *)(to + i * to_row) = x[i];\n"
    "}\n"
    "/* Two rows of 16 columns as pairs. */\n"
    "#define KC_WEAVE(a, b) KC_JOIN(*(const kc_w16 *)(a), *(const kc_w16 *)(b), 0, 16, 1, 17, 2, "
    "\\\n"
    "    18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, "
    "\\\n"
    "    30, 15, 31)\n";

/* Pairs of rows of the source, side by side: a few rows of all panels, since rows of the source may
 * lie a page apart. */
static void write_weave(const pack_t *p, int64_t next, str_t *out)
{
    str_addf(out,
             "    for (int64_t first = 0; first < n; first += 8)\n"
             "        for (int64_t j = 0; j < panels; j++)\n"
             "            for (int64_t p = first; p < first + 8 && p < n; p++) {\n"
             "                uint16_t *const t = to + j * %" PRId64 " + p * %d;\n"
             "                const uint16_t *const f = from + j * %d + p * %" PRId64 ";\n",
             next, 2 * p->width, p->cols, 2 * p->from_sum);
    for (int j = 0; j < p->cols; j += SIDE)
        str_addf(out, "                *(kc_w32 *)(t + %d) = KC_WEAVE(f + %d, f + %" PRId64 ");\n",
                 2 * j, j, j + p->from_sum);
    str_add(out, "            }\n");
}

/* Columns of the panel are rows of the source: a line of the cache of each at a time. */
static void write_turn(const pack_t *p, int64_t next, str_t *out)
{
    static const char *const at[] = {"p", "p + 4", "p + 8", "p + 12"};
    static const char block[] =
        "                kc_turn_pairs(t + (%3$s) * %1$d + 2 * j, %1$d, f + j "
        "* %2$" PRId64 " + 2 * (%3$s), %2$" PRId64 ");\n";
    str_addf(out,
             "    for (int64_t k = 0; k < panels; k++) {\n"
             "        uint16_t *const t = to + k * %" PRId64 ";\n"
             "        const uint16_t *const f = from + k * %" PRId64 ";\n"
             "        int64_t p = 0;\n        for (; p + 16 <= n; p += 16)\n"
             "            for (int64_t j = 0; j < %d; j += %d) {\n",
             next, p->cols * p->from_col, p->cols, SIDE);
    for (int i = 0; i < 4; i++) str_addf(out, block, 2 * p->width, p->from_col, at[i]);
    str_addf(out,
             "            }\n        for (; p + 4 <= n; p += 4)\n"
             "            for (int64_t j = 0; j < %d; j += %d)\n",
             p->cols, SIDE);
    str_addf(out, block, 2 * p->width, p->from_col, at[0]);
    str_addf(out,
             "        for (; p < n; p++)\n            for (int64_t j = 0; j < %d; j++)\n"
             "                __builtin_memcpy(t + p * %d + 2 * j, f + j * %" PRId64
             " + 2 * p, 4);\n    }\n",
             p->cols, 2 * p->width, p->from_col);
}

/* Others, panel by panel. */
static void write_each(helpers_t *helpers, const pack_t *pack, int64_t next, str_t *out)
{
    str_addf(out,
             "    for (int64_t j = 0; j < panels; j++)\n"
             "        %s(to + j * %" PRId64 ", from + j * %" PRId64 ", n);\n",
             pack_function(helpers, pack), next, pack->cols * pack->from_col);
}

const char *pack_amx_function(helpers_t *helpers, const pack_t *pack, int64_t next)
{
    str_t text = {0};
    str_add(&text, "(uint16_t *restrict to, const uint16_t *restrict from, int64_t n, "
                   "int64_t panels)\n{\n");
    if (pack->cols % SIDE != 0)
        write_each(helpers, pack, next, &text);
    else if (pack->from_col != 1)
        write_turn(pack, next, &text);
    else
        write_weave(pack, next, &text);
    str_add(&text, "}\n");
    const char *name = helpers_add(helpers, "pack", str_text(&text));
    str_fini(&text);
    return name;
}

const char *pack_amx_turn(helpers_t *helpers, int64_t to_row, int64_t from_row)
{
    str_t text = {0};
    str_add(&text, "(uint16_t *restrict to, const uint16_t *restrict from, int64_t rows, "
                   "int64_t n)\n{\n    const int64_t whole = rows / 8 * 8;\n    int64_t t = 0;\n");
    str_addf(&text,
             "    for (; t + 32 <= 2 * n; t += 32) {\n"
             "        for (int64_t r = 0; r < whole; r += 8) {\n"
             "            const uint16_t *const f = from + t * %2$" PRId64 " + r;\n"
             "            for (int i = 0; i < 8; i++)\n"
             "                __builtin_prefetch(f + (32 + r %% 32 + i) * %2$" PRId64 ");\n"
             "            kc_turn_words(to + r * %1$" PRId64 " + t, %1$" PRId64 ", f, %2$" PRId64
             ");\n        }\n"
             "        for (int64_t r = whole; r < rows; r++)\n"
             "            for (int64_t u = t; u < t + 32; u++)\n"
             "                to[r * %1$" PRId64 " + u] = from[u * %2$" PRId64 " + r];\n"
             "    }\n"
             "    for (; t < 2 * n; t++)\n"
             "        for (int64_t r = 0; r < rows; r++)\n"
             "            to[r * %1$" PRId64 " + t] = from[t * %2$" PRId64 " + r];\n}\n",
             to_row, from_row);
    const char *name = helpers_add(helpers, "turn", str_text(&text));
    str_fini(&text);
    return name;
}
