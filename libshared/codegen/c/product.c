/* Loops around register tiles: parts, blocks of the sum, panels of B, blocks of rows, tiles. */
#include "codegen/c/product.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codegen/c/pack_amx.h"
#include "codegen/c/tile.h"
#include "codegen/c/tile_amx.h"

enum {
    MAX_ROW_BLOCK = 256,
    ROW_BLOCK = 192, /* rows of A that stay in the second-level cache for all panels of B */
    MATRIX_COPY =
        64, /* the same where the matrix unit reads a copy of A, for the first-level cache */
    SPLIT_HALVES = 6, /* of a pair of terms in three pieces */
    COPY_PAD = 16,    /* elements between rows of A's copy, so that they do not compete */
};

/* Strides of element (row or column, term) and how the edges fall. */
typedef struct {
    const plan_gemm_step_t *step;
    const tiles_t *tiles;
    helpers_t *helpers;
    str_t *out;
    int64_t a_row, a_sum, b_sum, b_col; /* in elements; sums from term to term */
    int64_t wide, terms;                /* elements of a term; k / wide, rounded up */
    bool odd;                           /* the last term has one element */
    const char *type, *packed;          /* of elements, and of those in copies */
    int64_t apart; /* elements from panel to panel of B's copy, for each column */
    int rest_rows, rest_cols, rest_width; /* of the last tiles; width: whole vectors */
    int64_t row_block, a_ld;              /* of A's copy */
    bool pack_terms;                      /* A's copy has terms as rows */
    bool pack_tiles;                      /* ... tile by tile, so that a tile reads it in order */
    bool pack_rest;                       /* the last panel of B is packed */
    bool matrix;                          /* by the matrix unit ... */
    int pairs;                            /* ... so many terms at a time */
    bool fill;                            /* zeros behind the last terms make them as many */
    int asks;                             /* woven: lines of the next panel of B, tile_t.ahead */
} writer_t;

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Parts by rows that a range has next to each other share the packing of B. */
static bool joins_parts(const tiles_t *t)
{
    return t->by_rows && t->n_part_col == 1 && t->part_rows <= MAX_ROW_BLOCK;
}

static writer_t writer_for(const product_t *product, helpers_t *helpers, str_t *out)
{
    const plan_gemm_step_t *s = &product->step;
    const tiles_t *t = &product->tiles;
    writer_t w = {.step = s, .tiles = t, .helpers = helpers, .out = out};
    w.wide = s->bf16 || t->split ? 2 : 1;
    w.matrix = (s->bf16 && t->caps.matrix) || t->split;
    w.terms = (s->k + w.wide - 1) / w.wide;
    w.odd = s->k % w.wide != 0;
    w.type = s->bf16 ? "uint16_t" : "float";
    w.packed = t->split ? "uint16_t" : w.type;
    w.apart = t->sum_block * (t->split ? SPLIT_HALVES : w.wide);
    w.a_row = s->trans_a ? 1 : s->lda;
    w.a_sum = s->trans_a ? s->lda * w.wide : w.wide;
    w.b_sum = s->trans_b ? w.wide : s->ldb * w.wide;
    w.b_col = s->trans_b ? s->ldb : 1;
    w.rest_rows = (int)((t->by_rows ? t->part_rows : s->m) % t->rows);
    w.rest_cols = (int)(s->n % t->cols);
    w.rest_width = (w.rest_cols + t->caps.lanes - 1) / t->caps.lanes * t->caps.lanes;
    if (s->woven) w.rest_width = PLAN_WOVEN;
    w.pack_rest = !s->woven && w.rest_cols && (t->pack_b || w.rest_cols != w.rest_width);
    w.row_block = t->rows > ROW_BLOCK ? t->rows : ROW_BLOCK / t->rows * t->rows;
    if (w.matrix) w.row_block = t->split ? 128 : t->pack_a ? MATRIX_COPY : t->rows;
    if (joins_parts(t) && !(w.matrix && t->part_rows % w.row_block == 0))
        w.row_block = t->part_rows;
    if (s->woven && w.terms > t->sum_block) {
        w.row_block = !t->by_rows && t->part_rows < MAX_ROW_BLOCK ? t->part_rows : MAX_ROW_BLOCK;
        w.asks = (int)ceil_div(PLAN_WOVEN * t->rows, w.row_block);
    }
    w.pack_terms = s->trans_a && !w.matrix;
    w.pairs = w.terms < TILE_AMX_PAIRS ? (int)w.terms : TILE_AMX_PAIRS;
    w.fill = w.matrix && !t->split && w.terms % w.pairs != 0;
    if (t->split) w.pairs = TILE_AMX_PAIRS;
    w.pack_tiles = w.pack_terms && t->pack_a && !s->bf16;
    w.a_ld = ((w.pack_terms ? w.row_block : t->sum_block) + COPY_PAD) * w.wide;
    if (w.pack_tiles) w.a_ld = t->sum_block * t->rows + COPY_PAD; /* from tile to tile */
    if (t->split) w.a_ld = w.apart;
    return w;
}

static const char *tile_of(const writer_t *w, int rows, int cols, int64_t b_sum)
{
    const tiles_t *t = w->tiles;
    tile_t tile = {.lanes = t->caps.lanes, .rows = rows, .cols = cols, .b_sum = b_sum};
    tile.bf16 = w->step->bf16;
    tile.amx = w->matrix;
    tile.a_row = !t->pack_a ? w->a_row : w->pack_terms ? w->wide : w->a_ld;
    tile.a_sum = !t->pack_a ? w->a_sum : w->pack_terms ? w->a_ld : w->wide;
    if (w->pack_tiles) tile.a_row = 1, tile.a_sum = rows;
    tile.c_row = w->step->ldc;
    tile.stream = t->stream_c;
    tile.squares = t->squares;
    tile.ahead = w->asks;
    if (t->split) return tile_amx_split_function(w->helpers, &tile);
    return tile_function(w->helpers, &tile);
}

/* Tiles of `rows` rows: the statement before them that loads their configuration if it is not there. */
static void write_config(const writer_t *w, int rows, int cols)
{
    if (w->matrix)
        str_addf(w->out, "                if (tiles != t%d_%d) KC_CONFIG(tiles = t%d_%d);\n", rows,
                 cols, rows, cols);
}

/* Are the operands of the next block asked for while this one is multiplied? Copies read rows that lie far apart, which
 * the processor does not see coming, and wait for each. */
static bool asks_for_a(const writer_t *w)
{
    return w->tiles->caps.ahead && w->pack_tiles;
}

/* Rows of B are, for the next terms, if there are any. */
static bool asks_for_b(const writer_t *w)
{
    const tiles_t *t = w->tiles;
    const plan_gemm_step_t *s = w->step;
    bool copies_rows = t->pack_b && !s->trans_b && !s->bf16 && !t->split;
    return t->caps.ahead && copies_rows && w->terms > t->sum_block;
}

/* What comes after this block of A: more rows of the same terms, or the next terms of A and of B; `soon` of them. */
static void write_soon(const writer_t *w)
{
    const tiles_t *t = w->tiles;
    if (!asks_for_a(w) && !asks_for_b(w)) return;
    str_addf(w->out,
             "            const int below = ie < i1;\n"
             "            const int64_t then = below ? s : s + %" PRId64 ", left = %s%" PRId64
             " - then, soon = left < %" PRId64 " ? left : %" PRId64 ";\n",
             t->sum_block, asks_for_a(w) ? "" : "below ? 0 : ", w->terms, t->sum_block,
             t->sum_block);
    if (asks_for_a(w))
        str_addf(w->out,
                 "            const float *const a_soon = a + then * %" PRId64
                 " + (below ? ie : i0);\n",
                 w->a_sum);
    if (asks_for_b(w))
        str_addf(w->out, "            const float *const b_soon = b + then * %" PRId64 " + j0;\n",
                 w->b_sum);
    str_addf(w->out,
             "            const int64_t tiles = (j1 - j0 + %d) / %d * ((ie - ib) / %d);\n"
             "            int64_t tile = 0;\n",
             t->cols - 1, t->cols, t->rows);
}

/* A whole tile asks for its share of that. */
static void write_ask(const writer_t *w)
{
    static const char line[] =
        "                        for (int64_t x = 0; x < %s; x += 16)\n"
        "                            __builtin_prefetch(%c_soon + r * %" PRId64 " + x, 0, 2);\n";
    char width[32];
    if (!asks_for_a(w) && !asks_for_b(w)) return;
    snprintf(width, sizeof width, "%" PRId64, w->row_block);
    str_add(w->out,
            "                    for (int64_t r = tile * soon / tiles, last = ++tile * soon / "
            "tiles; r < last; r++) {\n");
    if (asks_for_a(w)) str_addf(w->out, line, width, 'a', w->a_sum);
    if (asks_for_b(w)) str_addf(w->out, line, "(below ? 0 : j1 - j0)", 'b', w->b_sum);
    str_add(w->out, "                    }\n");
}

/* The tiles of one panel of B, of `cols` columns from j, in rows [i0, ie). */
static void write_rows(const writer_t *w, int cols, const char *panel, int64_t b_sum)
{
    const tiles_t *t = w->tiles;
    const plan_gemm_step_t *s = w->step;
    char more[96] = "";
    if (w->asks)
        snprintf(more, sizeof more, ", next + (i - ib) / %d * %d", t->rows, w->asks * PLAN_WOVEN);
    else if (t->squares)
        snprintf(more, sizeof more, ", squares + i / %d * %" PRId64 " + j / %d", t->rows,
                 s->n / t->cols, t->cols);
    str_t a = {0};
    if (w->pack_tiles)
        str_addf(&a, "pa + (i - ib) / %d * %" PRId64, t->rows, w->a_ld);
    else if (t->pack_a)
        str_addf(&a, "pa + (i - ib) * %" PRId64, w->pack_terms ? w->wide : w->a_ld);
    else
        str_addf(&a, "a + i * %" PRId64 " + s * %" PRId64, w->a_row, w->a_sum);
    str_add(w->out, "                int64_t i = ib;\n");
    const char *terms = w->fill || t->split ? "filled" : "n";
    if ((t->by_rows ? t->part_rows : s->m) >= t->rows) {
        write_config(w, t->rows, cols);
        str_addf(w->out, "                for (; i + %d <= ie; i += %d) {\n", t->rows, t->rows);
        write_ask(w);
        str_addf(w->out,
                 "                    %s(%s, %s, c + i * %" PRId64 " + j, %s, add%s);\n"
                 "                }\n",
                 tile_of(w, t->rows, cols, b_sum), str_text(&a), panel, s->ldc, terms, more);
    }
    if (w->rest_rows) {
        str_add(w->out, "                if (i < ie) {\n");
        write_config(w, w->rest_rows, cols);
        str_addf(w->out,
                 "                %s(%s, %s, c + i * %" PRId64 " + j, %s, add%s);\n"
                 "                }\n",
                 tile_of(w, w->rest_rows, cols, b_sum), str_text(&a), panel, s->ldc, terms, more);
    }
    str_fini(&a);
}

/* The rows of A after this block, which the matrix unit reads too fast for the processor to see what
 * comes: each panel of B asks for its share. */
static void write_ahead(const writer_t *w)
{
    if (!w->matrix || w->tiles->pack_a || w->step->woven) return;
    str_addf(
        w->out,
        "                for (int64_t r = (j - j0) * %d / (j1 - j0), end = (j - j0 + %d) * %d / "
        "(j1 - j0); r < end; r++)\n"
        "                    for (int64_t p = 0; p < n; p += 16)\n"
        "                        __builtin_prefetch(a + (ie + r) * %" PRId64
        " + (s + p) * 2, 0, 2);\n",
        w->tiles->rows, w->tiles->cols, w->tiles->rows, w->a_row);
}

/* Of a woven B: the same terms of the next panel or, behind the last one, the next terms of the first. */
static void write_next(const writer_t *w)
{
    if (w->asks)
        str_addf(w->out,
                 "            const uint16_t *const next = j + %d < j1 ? b + (j + %d) * %" PRId64
                 " + s * %d : b + j0 * %" PRId64 " + (s + n) * %d;\n",
                 PLAN_WOVEN, PLAN_WOVEN, plan_woven_rows(w->step), 2 * PLAN_WOVEN,
                 plan_woven_rows(w->step), 2 * PLAN_WOVEN);
}

static void write_panels(const writer_t *w)
{
    const tiles_t *t = w->tiles;
    bool in_panels = t->pack_b || w->step->woven;
    str_t packed = {0}, plain = {0};
    if (w->step->woven)
        str_addf(&packed, "b + j * %" PRId64 " + s * %d", plan_woven_rows(w->step), 2 * PLAN_WOVEN);
    else
        str_addf(&packed, "pb + (j - j0) * %" PRId64, t->pack_b ? w->apart : 0);
    str_addf(&plain, "b + s * %" PRId64 " + j", w->b_sum);
    str_add(w->out, "            int64_t j = j0;\n");
    if (w->step->n >= t->cols) {
        str_addf(w->out, "            for (; j + %d <= j1; j += %d) {\n", t->cols, t->cols);
        write_ahead(w);
        write_next(w);
        write_rows(w, t->cols, str_text(in_panels ? &packed : &plain),
                   in_panels ? t->cols * w->wide : w->b_sum);
        str_add(w->out, "            }\n");
    }
    if (w->rest_cols) {
        str_add(w->out, "            if (j < j1) {\n");
        write_next(w);
        bool rest = w->pack_rest || w->step->woven;
        write_rows(w, w->rest_cols, str_text(rest ? &packed : &plain),
                   rest ? w->rest_width * w->wide : w->b_sum);
        str_add(w->out, "            }\n");
    }
    str_fini(&packed);
    str_fini(&plain);
}

/* The panel of B at column k by `pack`, `at` elements per column from the last one in pb: what is
 * behind its whole terms, and these. */
static void write_pack_panel(const writer_t *w, const pack_t *pack, int64_t at)
{
    pack_t last = *pack;
    str_add(w->out, "{");
    if (!w->matrix)
        str_addf(w->out,
                 " %s(pb + (k - j0) * %" PRId64 ", b + s * %" PRId64 " + k * %" PRId64 ", whole);",
                 pack_function(w->helpers, pack), at, w->b_sum, w->b_col);
    last.last = true;
    if (w->odd)
        str_addf(w->out,
                 " if (whole < n) %s(pb + (k - j0) * %" PRId64
                 " + whole * %d, b + (s + whole) * %" PRId64 " + k * %" PRId64 ", 1);",
                 pack_function(w->helpers, &last), at, 2 * pack->width, w->b_sum, w->b_col);
    if (w->fill)
        str_addf(w->out,
                 " __builtin_memset(pb + (k - j0) * %" PRId64 " + n * %d, 0, (filled - n) * %d);",
                 at, 2 * pack->width, 4 * pack->width);
    str_add(w->out, " }\n");
}

/* For the matrix unit: `panels` of them from column k on, but for what write_pack_panel does. */
static void write_pack_panels(const writer_t *w, const pack_t *pack, int64_t at, const char *panels)
{
    if (w->matrix)
        str_addf(w->out,
                 "        %s(pb + (k - j0) * %" PRId64 ", b + s * %" PRId64 " + k * %" PRId64
                 ", whole, %s);\n",
                 pack_amx_function(w->helpers, pack, at * pack->cols), at, w->b_sum, w->b_col,
                 panels);
}

/* Do the terms of a line of A or of B follow each other? */
static bool is_along(const writer_t *w, bool a)
{
    return a ? !w->step->trans_a : w->step->trans_b;
}

/* An operand in pieces: `lines` of it for the terms of this block. */
static void write_split(const writer_t *w, bool a, const char *lines)
{
    int64_t ld = a ? w->step->lda : w->step->ldb;
    bool along = is_along(w, a);
    char at[96];
    snprintf(at, sizeof at,
             a ? "a + ib * %" PRId64 " + s * %" PRId64 : "b + j0 * %" PRId64 " + s * %" PRId64,
             a ? w->a_row : w->b_col, a ? w->a_sum : w->b_sum);
    str_addf(w->out,
             "            pcp_split(%s, %s, %" PRId64 ", %d, %d, %s, n + whole, %" PRId64 ");\n",
             a ? "pa" : "pb", at, ld, along, along != a, lines, TILE_AMX_COLS * w->apart);
}

static void write_pack_b(const writer_t *w)
{
    const tiles_t *t = w->tiles;
    if (!t->pack_b && !w->pack_rest) return;
    if (t->split) {
        write_split(w, false, "j1 - j0");
        return;
    }
    const plan_gemm_step_t *s = w->step;
    pack_t pack = {t->caps.lanes, t->cols, t->cols, s->trans_b ? 1 : s->ldb,
                   w->b_col,      s->bf16, false};
    int64_t panel = w->apart; /* elements per column */
    str_add(w->out, "        int64_t k = j0;\n");
    if (t->pack_b && s->n >= t->cols) {
        char panels[32];
        snprintf(panels, sizeof panels, "(j1 - j0) / %d", t->cols);
        write_pack_panels(w, &pack, panel, panels);
        str_addf(w->out, "        for (; k + %d <= j1; k += %d) ", t->cols, t->cols);
        write_pack_panel(w, &pack, panel);
    }
    if (!w->pack_rest) return;
    if (!t->pack_b) str_addf(w->out, "        k += (j1 - k) / %d * %d;\n", t->cols, t->cols);
    pack.cols = w->rest_cols;
    pack.width = w->rest_width;
    write_pack_panels(w, &pack, panel, "k < j1");
    str_add(w->out, "        if (k < j1) ");
    write_pack_panel(w, &pack, t->pack_b ? panel : 0);
}

/* The pair at the end of an odd sum has a zero. */
static void write_last_of_a(const writer_t *w)
{
    str_add(w->out, "            for (int64_t r = 0; whole < n && r < ie - ib; r++) {\n");
    if (w->pack_terms)
        str_addf(w->out,
                 "                pa[whole * %" PRId64 " + 2 * r] = a[(s + whole) * 2 * %" PRId64
                 " + ib + r];\n                pa[whole * %" PRId64 " + 2 * r + 1] = 0;\n",
                 w->a_ld, w->step->lda, w->a_ld);
    else
        str_addf(w->out, "                pa[r * %" PRId64 " + 2 * whole + 1] = 0;\n", w->a_ld);
    str_add(w->out, "            }\n");
}

/* Columns of A as rows, pairs along them; an odd term at the end by itself. */
static void write_turn_a(const writer_t *w)
{
    const char *name = pack_amx_turn(w->helpers, w->a_ld, w->step->lda);
    str_addf(w->out, "            %s(pa, a + 2 * s * %" PRId64 " + ib, ie - ib, whole);\n", name,
             w->step->lda);
    if (w->odd)
        str_addf(w->out,
                 "            for (int64_t r = 0; whole < n && r < ie - ib; r++)\n"
                 "                pa[r * %" PRId64 " + 2 * whole] = a[(s + whole) * 2 * %" PRId64
                 " + ib + r];\n",
                 w->a_ld, w->step->lda);
}

/* A block of A tile by tile: the terms of one behind each other, each with its rows. */
static void write_pack_tiles(const writer_t *w)
{
    int rows = w->tiles->rows, rest = w->rest_rows;
    str_addf(w->out,
             "            for (int64_t p = 0; p < n; p++) {\n"
             "                const float *from = a + (s + p) * %" PRId64 " + ib;\n"
             "                float *to = pa;\n"
             "                int64_t i = ib;\n"
             "                for (; i + %d <= ie; i += %d, from += %d, to += %" PRId64 ")\n"
             "                    __builtin_memcpy(to + p * %d, from, %d);\n",
             w->step->lda, rows, rows, rows, w->a_ld, rows, 4 * rows);
    if (rest)
        str_addf(w->out, "                if (i < ie) __builtin_memcpy(to + p * %d, from, %d);\n",
                 rest, 4 * rest);
    str_add(w->out, "            }\n");
}

/* A block of A as it is, but for the distance of its rows and that pairs of terms come together. */
static void write_pack_a(const writer_t *w)
{
    static const char rows[] = "            for (int64_t r = 0; r < ie - ib; r++)\n"
                               "                __builtin_memcpy(pa + r * %2$" PRId64
                               ", a + (ib + r) * %1$" PRId64 " + s * %3$" PRId64
                               ", (n + whole) * 2);\n";
    static const char pairs[] = "            for (int64_t p = 0; p < whole; p++)\n"
                                "                for (int64_t r = 0; r < ie - ib; r++) {\n"
                                "                    pa[p * %2$" PRId64
                                " + 2 * r] = a[(s + p) * 2 * %1$" PRId64 " + ib + r];\n"
                                "                    pa[p * %2$" PRId64
                                " + 2 * r + 1] = a[((s + p) * 2 + 1) * %1$" PRId64 " + ib + r];\n"
                                "                }\n";
    const char *text = w->step->trans_a ? pairs : rows;
    if (!w->tiles->pack_a) return;
    if (w->tiles->split) {
        write_split(w, true, "ie - ib");
        return;
    }
    if (w->pack_tiles)
        write_pack_tiles(w);
    else if (w->matrix && w->step->trans_a)
        write_turn_a(w);
    else
        str_addf(w->out, text, w->step->lda, w->a_ld, w->wide);
    if (w->odd) write_last_of_a(w);
    if (w->fill)
        str_addf(w->out,
                 "            for (int64_t r = 0; n < filled && r < ie - ib; r++)\n"
                 "                __builtin_memset(pa + r * %" PRId64
                 " + 2 * n, 0, (filled - n) * 4);\n",
                 w->a_ld);
}

static void write_buffers(const writer_t *w)
{
    const tiles_t *t = w->tiles;
    int64_t joined = t->joined_cols > 1 ? t->joined_cols : 1;
    int64_t width = t->pack_b ? joined * t->part_cols : w->rest_width;
    if (t->pack_b || w->pack_rest)
        str_addf(w->out, "    %s pb[%" PRId64 "] __attribute__((aligned(64)));\n", w->packed,
                 width * w->apart);
    int64_t lines = (w->row_block + t->rows - 1) / t->rows * t->rows;
    if (t->pack_a)
        str_addf(w->out, "    %s pa[%" PRId64 "] __attribute__((aligned(64)));\n", w->packed,
                 w->a_ld * (t->split        ? lines
                            : w->pack_tiles ? w->row_block / t->rows
                            : w->pack_terms ? t->sum_block
                                            : w->row_block));
    if (!w->matrix) return;
    const int rows[] = {t->rows, w->rest_rows}, cols[] = {t->cols, w->rest_cols};
    for (int i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "t%d_%d", rows[i / 2], cols[i % 2]);
        if (rows[i / 2] && cols[i % 2])
            tile_amx_config(name, rows[i / 2], cols[i % 2], w->pairs, w->out);
    }
    str_add(w->out, "    const uint8_t *tiles = 0; /* the configuration that is loaded */\n");
}

/* Of parts by rows, all of the same height: as many as the range has when each is a block of A. */
static void write_row_part(const writer_t *w)
{
    const tiles_t *t = w->tiles;
    str_addf(w->out, "        next = %s;\n", joins_parts(t) ? "end" : "part + 1");
    str_addf(w->out,
             "        const int64_t column = part %% %" PRId64 ", entry = 0, i0 = part / %" PRId64
             " * %" PRId64 ", i1 = i0 + (next - part) * %" PRId64 ";\n",
             t->n_part_col, t->n_part_col, t->part_rows, t->part_rows);
}

/* Of parts by columns, as many rows of tiles as the range has, or as many whole columns of parts. */
static void write_column_part(const writer_t *w)
{
    const tiles_t *t = w->tiles;
    const plan_gemm_step_t *s = w->step;
    str_addf(w->out,
             "        const int64_t first = part / %" PRId64 " * %" PRId64
             ", column = part / %" PRId64 ", entry = column / %" PRId64 ";\n",
             t->n_part_row, t->n_part_row, t->n_part_row, t->n_part_col);
    str_add(w->out, "        int64_t wide = 1;\n");
    if (t->joined_cols > 1)
        str_addf(w->out,
                 "        while (part == first && wide < %" PRId64 " && column %% %" PRId64
                 " + wide < %" PRId64 " && first + (wide + 1) * %" PRId64 " <= end) wide++;\n",
                 t->joined_cols, t->n_part_col, t->n_part_col, t->n_part_row);
    str_addf(w->out,
             "        next = first + wide * %" PRId64 " < end ? first + wide * %" PRId64
             " : end;\n",
             t->n_part_row, t->n_part_row);
    str_addf(w->out,
             "        const int64_t i0 = (part - first) * %" PRId64 ", rows = wide > 1 ? %" PRId64
             " : (next - first) * %" PRId64 ", i1 = rows < %" PRId64 " ? rows : %" PRId64 ";\n",
             t->part_rows, s->m, t->part_rows, s->m, s->m);
}

/* Of a woven B, by rows: C of a part stays near from block to block of the sum, so that a range takes no more
 * columns next to each other than that many. */
static void write_woven_part(const writer_t *w)
{
    const tiles_t *t = w->tiles;
    str_addf(w->out,
             "        const int64_t at = part / %" PRId64 ", column = part %% %" PRId64
             ", entry = at / %" PRId64 ";\n",
             t->n_part_col, t->n_part_col, t->n_part_row);
    str_addf(w->out,
             "        int64_t wide = 1;\n"
             "        while (wide < %" PRId64 " && column + wide < %" PRId64
             " && part + wide < end) wide++;\n"
             "        next = part + wide;\n",
             t->joined_cols, t->n_part_col);
    str_addf(w->out,
             "        const int64_t i0 = at %% %" PRId64 " * %" PRId64 ", rows = i0 + %" PRId64
             ", i1 = rows < %" PRId64 " ? rows : %" PRId64 ";\n",
             t->n_part_row, t->part_rows, t->part_rows, w->step->m, w->step->m);
}

/* Where a part lies: rows [i0, i1) and columns [j0, j1) of one entry. */
static void write_part(const writer_t *w)
{
    const tiles_t *t = w->tiles;
    const plan_gemm_step_t *s = w->step;
    static const char names[] = "abc";
    const int64_t entry_b = s->woven && s->stride_b > 0 ? s->k * PLAN_WOVEN : s->stride_b;
    const int64_t outer[] = {s->stride_a, entry_b, s->stride_c};
    const int64_t inner[] = {s->inner_a, s->inner_b, s->inner_c};
    if (t->by_rows)
        write_row_part(w);
    else if (s->woven)
        write_woven_part(w);
    else
        write_column_part(w);
    str_addf(w->out,
             "        const int64_t j0 = column %% %" PRId64 " * %" PRId64
             ", cols = j0 + %s%" PRId64 ", j1 = cols < %" PRId64 " ? cols : %" PRId64 ";\n",
             t->n_part_col, t->part_cols, t->by_rows ? "" : "wide * ", t->part_cols, s->n, s->n);
    for (int x = 0; x < 3; x++)
        str_addf(w->out,
                 "        %s%s *const %c = %c0 + entry / %" PRId64 " * %" PRId64
                 " + entry %% %" PRId64 " * %" PRId64 ";\n",
                 x < 2 ? "const " : "", x < 2 ? w->type : "float", names[x], names[x], s->inner,
                 outer[x], s->inner, inner[x]);
}

void product_render(const product_t *product, helpers_t *helpers, str_t *out)
{
    writer_t w = writer_for(product, helpers, out);
    const plan_gemm_step_t *s = &product->step;
    const tiles_t *t = &product->tiles;
    str_add(out, "(char *arena, const int64_t *arg, int64_t begin, int64_t end)\n{\n");
    str_addf(out, "    const %s *const a0 = (const %s *)(arena + arg[0]);\n", w.type, w.type);
    str_addf(out, "    const %s *const b0 = (const %s *)(arena + arg[1]);\n", w.type, w.type);
    str_add(out, "    float *const c0 = (float *)(arena + arg[2]);\n");
    if (t->squares) str_add(out, "    float *const squares = (float *)(arena + arg[3]);\n");
    write_buffers(&w);
    str_add(out, "    for (int64_t part = begin, next; part < end; part = next) {\n");
    write_part(&w);
    str_addf(out, "        for (int64_t s = 0; s < %" PRId64 "; s += %" PRId64 ") {\n", w.terms,
             t->sum_block);
    str_addf(out,
             "        const int64_t n = %" PRId64 " - s < %" PRId64 " ? %" PRId64 " - s : %" PRId64
             ";\n",
             w.terms, t->sum_block, w.terms, t->sum_block);
    str_addf(out, "        const int add = %s;\n", s->accumulate ? "1" : "s > 0");
    if (w.odd)
        str_addf(out, "        const int64_t whole = s + n < %" PRId64 " ? n : n - 1;\n", w.terms);
    else
        str_add(out, "        const int64_t whole = n;\n");
    if (w.fill || t->split)
        str_addf(out, "        const int64_t filled = (n + %d) / %d * %d;\n", w.pairs - 1, w.pairs,
                 w.pairs);
    write_pack_b(&w);
    str_addf(out,
             "        for (int64_t ib = i0; ib < i1; ib += %" PRId64 ") {\n"
             "            const int64_t ie = ib + %" PRId64 " < i1 ? ib + %" PRId64 " : i1;\n",
             w.row_block, w.row_block, w.row_block);
    write_pack_a(&w);
    write_soon(&w);
    write_panels(&w);
    str_add(out, "        }\n        }\n    }\n");
    if (w.matrix) str_add(out, "    KC_RELEASE();\n");
    if (t->stream_c) str_add(out, "    __builtin_ia32_sfence();\n");
    str_add(out, "}\n");
}

bool product_splits(const char *text)
{
    return strstr(text, "pcp_split") != NULL;
}
