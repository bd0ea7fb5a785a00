/* Text of register tiles for AMX. Tile registers: 0 to 3 hold C, 4 and 5 rows of A, 6 and 7 columns
 * of B. A configuration gives each its rows and bytes per row, so that edges need no masks; it is
 * a constant, loaded where the shape of tiles changes and not by each of them. */
#include "codegen/c/tile_amx.h"

#include <inttypes.h>

enum { SIDE = 16, FIRST_A = 4, FIRST_B = 6, LINE = 32 /* of the cache, in bf16 */ };

/* Of operands in pieces: halves of a tile, of a piece's two tiles, of a block. */
enum { SPLIT_TILE = 512, SPLIT_PIECE = 2 * SPLIT_TILE, SPLIT_BLOCK = 3 * SPLIT_PIECE };

const char tile_amx_head[] =
    "#if defined(__AMX_BF16__) && !defined(KC_CONFIG)\n"
    "#define KC_CONFIG(x) __asm__ volatile(\"ldtilecfg %0\" : : \"m\"(*(const char(*)[64])(x)))\n"
    "#define KC_RELEASE() __asm__ volatile(\"tilerelease\")\n"
    "#define KC_ZERO(t) __asm__ volatile(\"tilezero %%tmm\" #t ::)\n"
    "#define KC_LOAD(t, x, s) __asm__ volatile(\"tileloadd (%0,%1,1), %%tmm\" #t \\\n"
    "    : : \"r\"((const void *)(x)), \"r\"((int64_t)(s)) : \"memory\")\n"
    "#define KC_STORE(t, x, s) __asm__ volatile(\"tilestored %%tmm\" #t \", (%0,%1,1)\" \\\n"
    "    : : \"r\"((void *)(x)), \"r\"((int64_t)(s)) : \"memory\")\n"
    "#define KC_DOT(c, a, b) \\\n"
    "    __asm__ volatile(\"tdpbf16ps %%tmm\" #b \", %%tmm\" #a \", %%tmm\" #c ::)\n"
    "#define KC_DOT_BYTES(c, a, b) \\\n"
    "    __asm__ volatile(\"tdpbssd %%tmm\" #b \", %%tmm\" #a \", %%tmm\" #c ::)\n"
    "#endif\n";

/* Rows of A and columns of B come in one or two tiles. */
typedef struct {
    const tile_t *tile;
    str_t *out;
    int n_row, n_col;
} amx_t;

static int part(int size, int i)
{
    int left = size - i * SIDE;
    return left < SIDE ? left : SIDE;
}

static int parts_of(int size)
{
    return size > SIDE ? 2 : 1;
}

/* Palette 1, bytes a row from byte 16, rows from byte 48. */
void tile_amx_config(const char *name, int rows, int cols, int pairs, str_t *out)
{
    str_addf(out, "    static const uint8_t %s[64] __attribute__((aligned(64))) = {[0] = 1", name);
    for (int i = 0; i < parts_of(rows); i++)
        for (int j = 0; j < parts_of(cols); j++)
            str_addf(out, ", [%d] = %d, [%d] = %d", 16 + 2 * (2 * i + j), 4 * part(cols, j),
                     48 + 2 * i + j, part(rows, i));
    for (int i = 0; i < parts_of(rows); i++)
        str_addf(out, ", [%d] = %d, [%d] = %d", 16 + 2 * (FIRST_A + i), 4 * pairs, 48 + FIRST_A + i,
                 part(rows, i));
    for (int j = 0; j < parts_of(cols); j++)
        str_addf(out, ", [%d] = %d, [%d] = %d", 16 + 2 * (FIRST_B + j), 4 * part(cols, j),
                 48 + FIRST_B + j, pairs);
    str_add(out, "};\n");
}

/* `format` for each tile of C: its number, where it lies, the distance of rows in bytes. */
static void write_results(const amx_t *x, const char *format)
{
    for (int i = 0; i < x->n_row; i++)
        for (int j = 0; j < x->n_col; j++)
            str_addf(x->out, format, 2 * i + j, i * SIDE * x->tile->c_row + j * SIDE,
                     4 * x->tile->c_row);
}

static void write_block(const amx_t *x)
{
    static const char indent[] = "        ";
    const tile_t *t = x->tile;
    for (int j = 0; j < x->n_col; j++)
        str_addf(x->out, "%sKC_LOAD(%d, b + %d, %" PRId64 ");\n", indent, FIRST_B + j, 2 * j * SIDE,
                 2 * t->b_sum);
    for (int i = 0; i < x->n_row; i++) {
        str_addf(x->out, "%sKC_LOAD(%d, a + %" PRId64 ", %" PRId64 ");\n", indent, FIRST_A + i,
                 i * SIDE * t->a_row, 2 * t->a_row);
        for (int j = 0; j < x->n_col; j++)
            str_addf(x->out, "%sKC_DOT(%d, %d, %d);\n", indent, 2 * i + j, FIRST_A + i,
                     FIRST_B + j);
    }
}

/* One tile of an operand's piece. */
static void write_piece(const amx_t *x, bool a, int i, int piece)
{
    str_addf(x->out, "        KC_LOAD(%d, %c + %d, 64);\n", (a ? FIRST_A : FIRST_B) + i,
             a ? 'a' : 'b', piece * SPLIT_PIECE + i * SPLIT_TILE);
}

static void write_dot(const amx_t *x, int i, int j)
{
    str_addf(x->out, "        KC_DOT(%d, %d, %d);\n", 2 * i + j, FIRST_A + i, FIRST_B + j);
}

/* The six largest products of two times three pieces, small ones first. From one to the next an operand stays; a
 * tile of the other one is loaded where its first product needs it. */
static void write_split_block(const amx_t *x)
{
    static const int order[][2] = {{0, 2}, {0, 1}, {1, 1}, {1, 0}, {2, 0}, {0, 0}};
    for (int p = 0; p < 6; p++) {
        bool new_a = p == 0 || order[p][0] != order[p - 1][0];
        bool new_b = p == 0 || order[p][1] != order[p - 1][1];
        for (int j = 0; !new_a && j < x->n_col; j++) {
            write_piece(x, false, j, order[p][1]);
            for (int i = 0; i < x->n_row; i++) write_dot(x, i, j);
        }
        for (int i = 0; new_a && i < x->n_row; i++) {
            write_piece(x, true, i, order[p][0]);
            for (int j = 0; j < x->n_col; j++) {
                if (new_b && i == 0) write_piece(x, false, j, order[p][1]);
                write_dot(x, i, j);
            }
        }
    }
}

static void write_prefetch_c(const amx_t *x)
{
    for (int i = 0; i < x->tile->rows; i++)
        for (int j = 0; j < x->tile->cols; j += SIDE)
            str_addf(x->out, "    __builtin_prefetch(c + %" PRId64 ", 1);\n",
                     i * x->tile->c_row + j);
}

static const char head[] =
    "(const uint16_t *a, const uint16_t *b, float *c, int64_t n, int add%s)\n{\n";
static const char ahead[] = ", const uint16_t *next", square[] = ", float *square";
static const char zero[] = "        KC_ZERO(%d);\n";
static const char store[] = "    KC_STORE(%d, c + %" PRId64 ", %" PRId64 ");\n";

/* The tiles' registers to an array of their own, <name>. */
static void write_array(const amx_t *x, const char *name)
{
    str_addf(x->out, "    float %s[%d] __attribute__((aligned(64)));\n", name,
             TILE_AMX_ROWS * TILE_AMX_COLS);
    for (int i = 0; i < x->n_row; i++)
        for (int j = 0; j < x->n_col; j++)
            str_addf(x->out, "    KC_STORE(%d, %s + %d, %d);\n", 2 * i + j, name,
                     SIDE * (i * TILE_AMX_COLS + j), 4 * TILE_AMX_COLS);
}

/* Of whole tiles: sums of every 16th number, then of these. */
static void write_squares(const amx_t *x)
{
    str_addf(x->out,
             "    float sum[%d] = {0}, all = 0;\n"
             "    for (int i = 0; i < %d; i += %d)\n"
             "        for (int j = 0; j < %d; j++) sum[j] += out[i + j] * out[i + j];\n"
             "    for (int j = 0; j < %d; j++) all += sum[j];\n"
             "    *square = all;\n",
             SIDE, TILE_AMX_ROWS * TILE_AMX_COLS, SIDE, SIDE, SIDE);
}

/* C past the caches, a line at a time, by way of a tile in the first one; as usual where lines are not whole. */
static void write_stream(const amx_t *x)
{
    const tile_t *t = x->tile;
    write_array(x, "out");
    if (t->squares) write_squares(x);
    str_add(x->out, "    if ((uintptr_t)c % 64) {\n");
    write_results(x, store);
    str_add(x->out, "    return;\n    }\n");
    str_addf(x->out,
             "    for (int i = 0; i < %d; i++)\n        for (int j = 0; j < %d; j += %d) "
             "KC_STREAM(c + i * %" PRId64 " + j, out + i * %d + j);\n",
             t->rows, t->cols, SIDE, t->c_row, TILE_AMX_COLS);
}

/* C as it is, or zeros, in the tiles' registers. */
static void write_start(const amx_t *x)
{
    static const char load[] = "        KC_LOAD(%d, c + %" PRId64 ", %" PRId64 ");\n";
    if (x->tile->stream) {
        write_results(x, zero);
        return;
    }
    write_prefetch_c(x);
    str_add(x->out, "    if (add) {\n");
    write_results(x, load);
    str_add(x->out, "    } else {\n");
    write_results(x, zero);
    str_add(x->out, "    }\n");
}

const char *tile_amx_function(helpers_t *helpers, const tile_t *tile)
{
    str_t text = {0};
    amx_t x = {tile, &text, parts_of(tile->rows), parts_of(tile->cols)};
    str_addf(&text, head, tile->squares ? square : tile->ahead > 0 ? ahead : "");
    write_start(&x);
    str_addf(&text, "    for (int64_t p = 0; p < n; p += %d, a += %d, b += %" PRId64 ") {\n", SIDE,
             2 * SIDE, SIDE * tile->b_sum);
    for (int i = 0; i < tile->ahead; i++)
        str_addf(&text, "        __builtin_prefetch(next + p * %" PRId64 " + %d, 0, 2);\n",
                 tile->b_sum, i * LINE);
    write_block(&x);
    str_add(&text, "    }\n");
    if (tile->stream)
        write_stream(&x);
    else
        write_results(&x, store);
    str_add(&text, "}\n");
    const char *name = helpers_add(helpers, "tile", str_text(&text));
    str_fini(&text);
    return name;
}

/* The tiles' sums, added to C: each block of a long sum begins at zero, as with vectors, since the unit rounds after
 * each of the six products. */
static void write_split_sums(const amx_t *x)
{
    const tile_t *t = x->tile;
    write_array(x, "sum");
    str_addf(x->out,
             "    for (int i = 0; i < %d; i++)\n        for (int j = 0; j < %d; j++) c[i * %" PRId64
             " + j] += sum[i * %d + j];\n",
             t->rows, t->cols, t->c_row, TILE_AMX_COLS);
}

const char *tile_amx_split_function(helpers_t *helpers, const tile_t *tile)
{
    str_t text = {0};
    amx_t x = {tile, &text, parts_of(tile->rows), parts_of(tile->cols)};
    str_addf(&text, head, "");
    write_prefetch_c(&x);
    write_results(&x, zero);
    str_addf(&text, "    for (int64_t p = 0; p < n; p += %d, a += %d, b += %d) {\n", SIDE,
             SPLIT_BLOCK, SPLIT_BLOCK);
    write_split_block(&x);
    str_add(&text, "    }\n    if (!add) {\n");
    write_results(&x, store);
    str_add(&text, "    return;\n    }\n");
    write_split_sums(&x);
    str_add(&text, "}\n");
    const char *name = helpers_add(helpers, "tile", str_text(&text));
    str_fini(&text);
    return name;
}
