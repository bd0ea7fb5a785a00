/* Rows of B that lie along the sum: several of them side by side, a vector of partial sums for each row
 * of A and of B, added up at the end. Rows of B across the sum: four at a time are added to rows of
 * C that stay in the first-level cache. */
#include "codegen/c/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codegen/c/stream_panels.h"
#include "plan/lower/stream.h"

enum {
    TOGETHER = 4,       /* rows of B across the sum */
    AHEAD = 12,         /* of them, fetched before */
    FETCH_BYTES = 3072, /* of rows along it, fetched before */
    LINE_BYTES = 64,    /* of a line of the cache */
    NEAR_BYTES = 16384, /* of rows of A that are read again and again */
    GROUP = 16,         /* columns that a part of them is read for */
    MANY_REGISTERS = 32,
};

/* Vectors of B as f32: kc_v<lanes>; bf16 are the upper halves of f32. */
static void write_load(const stream_t *s, const char *name, const char *address, str_t *out)
{
    int lanes = s->caps.lanes;
    if (s->weight == DT_F32)
        str_addf(out, "const kc_v%d %s = *(const kc_v%d *)(%s);", lanes, name, lanes, address);
    else if (s->weight == DT_I8)
        str_addf(out,
                 "kc_v%d %s; { stream_i u; STREAM_WIDEN(u, %s); "
                 "%s = __builtin_convertvector(u, stream_f); }",
                 lanes, name, address, name);
    else
        str_addf(out,
                 "kc_v%d %s; { stream_u u; STREAM_WIDEN_HALF(u, %s); u <<= 16; "
                 "__builtin_memcpy(&%s, &u, sizeof u); }",
                 lanes, name, address, name);
}

/* What the compiler makes of a conversion from i8 goes number by number, and of one from 16 bits by halves of vectors. */
static const char widen[] =
    "#if !defined(STREAM_WIDEN) && defined(__AVX2__)\n"
    "#define STREAM_WIDEN(u, p) __asm__(\"vpmovsxbd %1, %0\" : \"=v\"(u) : \"m\"(*(const stream_q "
    "*)(p)))\n"
    "#elif !defined(STREAM_WIDEN)\n"
    "#define STREAM_WIDEN(u, p) u = __builtin_convertvector(*(const stream_q *)(p), stream_i)\n"
    "#endif\n";
static const char widen_half[] =
    "#if !defined(STREAM_WIDEN_HALF) && defined(__AVX2__)\n"
    "#define STREAM_WIDEN_HALF(u, p) __asm__(\"vpmovzxwd %1, %0\" : \"=v\"(u) : \"m\"(*(const "
    "stream_h *)(p)))\n"
    "#elif !defined(STREAM_WIDEN_HALF)\n"
    "#define STREAM_WIDEN_HALF(u, p) u = __builtin_convertvector(*(const stream_h *)(p), "
    "stream_u)\n"
    "#endif\n";

static void write_types(const stream_t *s, str_t *out)
{
    int lanes = s->caps.lanes;
    if (s->weight == DT_F32) return;
    str_add(out, s->weight == DT_I8 ? widen : widen_half);
    if (s->weight == DT_BF16)
        str_addf(out,
                 "    typedef uint16_t stream_h __attribute__((vector_size(%d), aligned(2), "
                 "may_alias));\n"
                 "    typedef uint32_t stream_u __attribute__((vector_size(%d)));\n",
                 2 * lanes, 4 * lanes);
    else
        str_addf(
            out,
            "    typedef int8_t stream_q __attribute__((vector_size(%d), aligned(1), may_alias));\n"
            "    typedef int32_t stream_i __attribute__((vector_size(%d)));\n"
            "    typedef float stream_f __attribute__((vector_size(%d)));\n",
            lanes, 4 * lanes, 4 * lanes);
}

static void write_one(const stream_t *s, const char *element, str_t *out)
{
    str_addf(out, s->weight == DT_BF16 ? "pcp_f32_from_bf16(%s)" : "(float)(%s)", element);
}

/* --- B [n, k] --- */

/* A block of sums: of so many rows of A by rows of B, one in a vector's lanes each. It is number `at` of n: the first one keeps what
 * it widens for the others, and each asks for some of the rows of B that come next, so that memory never rests. */
typedef struct {
    int rows, width, at, n;
} block_t;

/* Rows of A that a block has: all m of them, in parts as equal as they can be, of four, which want the fewest loads; of
 * eight where that makes B come once and B is what a product waits for: f32 from memory, numbers of half and a quarter of its
 * bits by vectors of four, which are slow to make, and with few registers, where four by four do not fit. */
static int rows_of_block(const stream_t *s)
{
    int m = (int)s->step.m;
    bool narrow = s->weight != DT_F32, few = s->caps.registers < MANY_REGISTERS;
    bool eight = (narrow && s->caps.lanes == 4) || (m <= 8 && (!narrow || few));
    int most = eight ? 8 : 4, parts = (m + most - 1) / most;
    return (m + parts - 1) / parts;
}

static int width_of_block(const stream_t *s)
{
    int rows = rows_of_block(s), n = (s->caps.registers - 2 - rows) / (rows + 1);
    return n >= 4 ? 4 : n >= 2 ? 2 : 1;
}

/* Rows behind each other are too short for the processor to run ahead in them. */
static int64_t rows_ahead(const stream_t *s, int width)
{
    int64_t row_bytes = s->step.ldb * (dtype_bits(s->weight) / 8), rows = FETCH_BYTES / row_bytes;
    return rows > width ? rows : width;
}

/* Is A read part by part of its terms, for a group of columns each, since the whole of it does not stay in the
 * first-level cache? */
static bool in_parts(const stream_t *s)
{
    return s->step.m * s->step.k * 4 > NEAR_BYTES;
}

/* In whole lines of B. */
static int64_t part_terms(const stream_t *s)
{
    int64_t line = LINE_BYTES * 8 / dtype_bits(s->weight), terms = NEAR_BYTES / 4 / s->step.m;
    if (!in_parts(s)) terms = s->step.k;
    return terms < line ? line : terms / line * line;
}

/* Numbers of half and a quarter of f32's bits are widened once, by the first of several blocks of rows of A. */
static bool keeps_wide(const stream_t *s)
{
    return s->weight != DT_F32 && rows_of_block(s) < s->step.m;
}

/* b<r> = lanes terms of row r of B from p + skip on. `whole`: of whole lines, which the first block keeps. */
static void write_row_load(const stream_t *s, block_t block, int r, int64_t skip, bool whole,
                           str_t *out)
{
    int lanes = s->caps.lanes;
    bool keep = whole && keeps_wide(s);
    char name[16], address[64], wide[96];
    snprintf(name, sizeof name, "b%d", r);
    snprintf(address, sizeof address, "row + %" PRId64 " + p", r * s->step.ldb + skip);
    snprintf(wide, sizeof wide, "*(kc_v%d *)(wide + %" PRId64 " + p%s)", lanes,
             r * part_terms(s) + skip, in_parts(s) ? " - p0" : "");
    str_add(out, " ");
    if (keep && block.at > 0) {
        str_addf(out, "const kc_v%d %s = %s;", lanes, name, wide);
        return;
    }
    write_load(s, name, address, out);
    if (keep) str_addf(out, " %s = %s;", wide, name);
}

/* The terms [p, p + lanes) of a block. */
static void write_terms(const stream_t *s, block_t block, int64_t skip, bool whole, str_t *out)
{
    int lanes = s->caps.lanes;
    str_add(out, "                {");
    for (int r = 0; r < block.width; r++) write_row_load(s, block, r, skip, whole, out);
    for (int i = 0; i < block.rows; i++) {
        str_addf(out,
                 "\n                { const kc_v%d x = *(const kc_v%d *)(from + %" PRId64 " + p);",
                 lanes, lanes, i * s->step.lda + skip);
        for (int r = 0; r < block.width; r++) str_addf(out, " c%d_%d += x * b%d;", i, r, r);
        str_add(out, " }");
    }
    str_add(out, " }\n");
}

/* Where a block's sums are kept between parts. */
static void write_kept_sum(const stream_t *s, int i, int r, str_t *out)
{
    str_addf(out, "part_sum[(j - g0 + %d) * %d + i + %d]", r, (int)s->step.m, i);
}

/* Partial sums of a block of columns from j and rows from i on, line of the cache by line. */
static void write_partial_sums(const stream_t *s, block_t block, str_t *out)
{
    const plan_gemm_step_t *g = &s->step;
    int lanes = s->caps.lanes, line = LINE_BYTES * 8 / dtype_bits(s->weight);
    bool parts = in_parts(s);
    for (int i = 0; i < block.rows; i++)
        for (int r = 0; r < block.width; r++) {
            str_addf(out, "            kc_v%d c%d_%d = {0};", lanes, i, r);
            if (parts) {
                str_addf(out, " if (p0 > 0) c%d_%d = ", i, r);
                write_kept_sum(s, i, r, out);
                str_add(out, ";");
            }
            str_add(out, "\n");
        }
    str_addf(out,
             "            const float *from = a + i * %" PRId64 ";\n"
             "            int64_t p = %s;\n            for (; p < %s; p += %d) {\n",
             g->lda, parts ? "p0" : "0", parts ? "p1" : "lines", line);
    for (int r = block.at * block.width / block.n; r < (block.at + 1) * block.width / block.n; r++)
        str_addf(out, "                __builtin_prefetch(row + %" PRId64 " + p, 0, %d);\n",
                 (r + (parts ? GROUP : rows_ahead(s, block.width))) * g->ldb, parts ? 2 : 3);
    for (int skip = 0; skip < line; skip += lanes) write_terms(s, block, skip, true, out);
    str_add(out, "            }\n");
}

static void write_keep(const stream_t *s, block_t block, str_t *out)
{
    str_add(out, "            if (p1 < lines) {\n");
    for (int i = 0; i < block.rows; i++)
        for (int r = 0; r < block.width; r++) {
            str_add(out, "                ");
            write_kept_sum(s, i, r, out);
            str_addf(out, " = c%d_%d;\n", i, r);
        }
    str_add(out, "            } else {\n");
}

/* The vectors behind the last line. */
static void write_last_terms(const stream_t *s, block_t block, str_t *out)
{
    int lanes = s->caps.lanes, line = LINE_BYTES * 8 / dtype_bits(s->weight);
    int64_t whole = s->step.k / lanes * lanes;
    if (s->step.k / line * line == whole) return;
    str_addf(out, "            for (; p < %" PRId64 "; p += %d) {\n", whole, lanes);
    write_terms(s, block, 0, false, out);
    str_add(out, "            }\n");
}

/* Two vectors with n sums each, in parts of their lanes, become one with 2 n: halves of parts are added. */
static void write_halves(int lanes, int sums, const char *x, const char *y, str_t *out)
{
    int own = lanes / sums;
    for (int side = 0; side < 2; side++) {
        str_addf(out, "%s__builtin_shufflevector(%s, %s", side ? " + " : "", x, y);
        for (int l = 0; l < lanes; l++) {
            int sum = l / (own / 2), from = sum % sums * own + side * (own / 2) + l % (own / 2);
            str_addf(out, ", %d", sum < sums ? from : lanes + from);
        }
        str_add(out, ")");
    }
}

/* The name of vector v of those that have n sums each; from the first ones, row by row, `at` were joined before. */
static void name_joined(char name[32], block_t block, int at, int sums, int v)
{
    if (sums == 1)
        snprintf(name, 32, "c%d_%d", (at + v) / block.width, (at + v) % block.width);
    else
        snprintf(name, 32, "h%d_%d", sums, v);
}

/* h<lanes>_0, the sums of n of the block's vectors from `at` on; what has no other beside it is joined with itself. A sum's
 * numbers are added in the same order whatever is beside them. */
static void write_joined(int lanes, block_t block, int at, int n, str_t *out)
{
    for (int sums = 1; sums < lanes; sums *= 2, n = (n + 1) / 2)
        for (int v = 0; v < n; v += 2) {
            char x[32], y[32];
            name_joined(x, block, at, sums, v);
            name_joined(y, block, at, sums, v + 1 < n ? v + 1 : v);
            str_addf(out, "            kc_v%d h%d_%d = ", lanes, 2 * sums, v / 2);
            write_halves(lanes, sums, x, y, out);
            str_add(out, ";\n");
        }
}

/* The terms behind the last vector, sum by sum: side by side some targets' compilers round products by themselves. */
static void write_single_terms(const stream_t *s, block_t block, int at, int n, str_t *out)
{
    const plan_gemm_step_t *g = &s->step;
    int64_t whole = g->k / s->caps.lanes * s->caps.lanes;
    for (int v = 0; v < n && whole < g->k; v++) {
        char element[64];
        int i = (at + v) / block.width, r = (at + v) % block.width;
        snprintf(element, sizeof element, "row[%" PRId64 " + q]", r * g->ldb);
        str_addf(out,
                 "            { float sum = h%d_0[%d]; for (int64_t q = %" PRId64 "; q < %" PRId64
                 "; q++) sum += from[%" PRId64 " + q] * ",
                 s->caps.lanes, v, whole, g->k, i * g->lda);
        write_one(s, element, out);
        str_addf(out, "; h%d_0[%d] = sum; }\n", s->caps.lanes, v);
    }
}

/* C[i, j + r] of a block, as many rows as fill a vector at a time: widths are powers of two. */
static void write_sums(const stream_t *s, block_t block, str_t *out)
{
    int lanes = s->caps.lanes, most = lanes / block.width;
    for (int i = 0; i < block.rows; i += most) {
        int rows = block.rows - i < most ? block.rows - i : most;
        str_add(out, "            {\n");
        write_joined(lanes, block, i * block.width, rows * block.width, out);
        write_single_terms(s, block, i * block.width, rows * block.width, out);
        for (int k = 0; k < rows; k++)
            str_addf(out,
                     "            __builtin_memcpy(c + (i + %d) * %" PRId64
                     " + j, (const float *)&h%d_0 + %d, %d);\n",
                     i + k, s->step.ldc, lanes, k * block.width, 4 * block.width);
        str_add(out, "            }\n");
    }
}

/* C[i, j] of a block. */
static void write_block(const stream_t *s, block_t block, str_t *out)
{
    write_partial_sums(s, block, out);
    if (in_parts(s)) write_keep(s, block, out);
    write_last_terms(s, block, out);
    write_sums(s, block, out);
    if (in_parts(s)) str_add(out, "            }\n");
}

/* The columns [j, j + width): from memory for the first rows of A, from the nearest cache for the others. */
static void write_all_rows(const stream_t *s, int width, str_t *out)
{
    int m = (int)s->step.m, rows = rows_of_block(s), n = (m + rows - 1) / rows;
    str_addf(out, "            const __auto_type row = b + j * %" PRId64 ";\n", s->step.ldb);
    for (int at = 0; at < n; at++) {
        int first = at * rows, some = m - first < rows ? m - first : rows;
        str_addf(out, "            { const int64_t i = %d;\n", first);
        write_block(s, (block_t){some, width, at, n}, out);
        str_add(out, "            }\n");
    }
}

/* Columns from j to `end`. */
static void write_columns(const stream_t *s, const char *end, str_t *out)
{
    int width = width_of_block(s);
    str_addf(out, "        for (; j + %d <= %s; j += %d) {\n", width, end, width);
    write_all_rows(s, width, out);
    str_add(out, "        }\n");
    if (width == 1) return;
    str_addf(out, "        for (; j < %s; j++) {\n", end);
    write_all_rows(s, 1, out);
    str_add(out, "        }\n");
}

static void write_along(const stream_t *s, str_t *out)
{
    int line = LINE_BYTES * 8 / dtype_bits(s->weight);
    str_addf(out, "        const int64_t lines = %" PRId64 ";\n", s->step.k / line * line);
    if (keeps_wide(s))
        str_addf(out, "        float wide[%" PRId64 "] __attribute__((aligned(64)));\n",
                 width_of_block(s) * part_terms(s));
    if (!in_parts(s)) {
        str_add(out, "        int64_t j = j0;\n");
        write_columns(s, "j1", out);
        return;
    }
    str_addf(out,
             "        kc_v%d part_sum[%d];\n"
             "        for (int64_t g0 = j0; g0 < j1; g0 += %d)\n"
             "        for (int64_t p0 = 0; p0 < lines; p0 += %" PRId64 ") {\n"
             "        const int64_t g1 = g0 + %d < j1 ? g0 + %d : j1;\n"
             "        const int64_t p1 = p0 + %" PRId64 " < lines ? p0 + %" PRId64 " : lines;\n"
             "        int64_t j = g0;\n",
             s->caps.lanes, GROUP * (int)s->step.m, GROUP, part_terms(s), GROUP, GROUP,
             part_terms(s), part_terms(s));
    write_columns(s, "g1", out);
    str_add(out, "        }\n");
}

/* --- B [k, n] --- */

/* C [i, j0 + v ..] += the terms [p, p + n_row) for all columns of the part. */
static void write_rows(const stream_t *s, int n_row, str_t *out)
{
    const plan_gemm_step_t *g = &s->step;
    int lanes = s->caps.lanes;
    str_addf(out, "            for (int64_t v = 0; v < whole; v += %d) {\n", lanes);
    for (int r = 0; r < n_row; r++) {
        char name[16], address[64];
        snprintf(name, sizeof name, "b%d", r);
        snprintf(address, sizeof address, "from + %" PRId64 " + v", r * g->ldb);
        str_addf(out,
                 "                __builtin_prefetch(from + %" PRId64 " + v);\n                ",
                 (r + AHEAD) * g->ldb);
        write_load(s, name, address, out);
        str_add(out, "\n");
    }
    for (int i = 0; i < (int)g->m; i++) {
        str_addf(out, "                { kc_v%d x = *(kc_v%d *)(sum[%d] + v);", lanes, lanes, i);
        for (int r = 0; r < n_row; r++)
            str_addf(out, " x += a[%" PRId64 " + p] * b%d;", i * g->lda + r, r);
        str_addf(out, " *(kc_v%d *)(sum[%d] + v) = x; }\n", lanes, i);
    }
    str_add(out, "            }\n            for (int64_t v = whole; v < j1 - j0; v++) {\n");
    for (int r = 0; r < n_row; r++) {
        char element[64];
        snprintf(element, sizeof element, "from[%" PRId64 " + v]", r * g->ldb);
        str_addf(out, "                const float b%d = ", r);
        write_one(s, element, out);
        str_add(out, ";\n");
    }
    for (int i = 0; i < (int)g->m; i++)
        for (int r = 0; r < n_row; r++)
            str_addf(out, "                sum[%d][v] += a[%" PRId64 " + p] * b%d;\n", i,
                     i * g->lda + r, r);
    str_add(out, "            }\n");
}

static void write_across(const stream_t *s, str_t *out)
{
    const plan_gemm_step_t *g = &s->step;
    int64_t whole = g->k / TOGETHER * TOGETHER;
    str_addf(out,
             "        float sum[%" PRId64 "][%" PRId64 "] __attribute__((aligned(64)));\n"
             "        const int64_t whole = (j1 - j0) / %d * %d;\n"
             "        __builtin_memset(sum, 0, sizeof sum);\n",
             g->m, s->part_cols, s->caps.lanes, s->caps.lanes);
    str_addf(out, "        int64_t p = 0;\n        for (; p < %" PRId64 "; p += %d) {\n", whole,
             TOGETHER);
    str_addf(out, "            const __auto_type from = b + p * %" PRId64 " + j0;\n", g->ldb);
    write_rows(s, TOGETHER, out);
    str_add(out, "        }\n");
    if (whole < g->k) {
        str_addf(out, "        for (; p < %" PRId64 "; p++) {\n", g->k);
        str_addf(out, "            const __auto_type from = b + p * %" PRId64 " + j0;\n", g->ldb);
        write_rows(s, 1, out);
        str_add(out, "        }\n");
    }
    for (int i = 0; i < (int)g->m; i++)
        str_addf(out, "        __builtin_memcpy(c + %" PRId64 " + j0, sum[%d], (j1 - j0) * 4);\n",
                 i * g->ldc, i);
}

/* --- B [n, k] by a matrix unit, or by fours --- */

/* The columns of all parts of an entry that the range has, at once: rows of A are turned for all of them. */
static void write_all_columns(const stream_t *s, str_t *out)
{
    const plan_gemm_step_t *g = &s->step;
    str_addf(out,
             "        const pcp_stream_t product = {a, b, c, %" PRId64 ", %" PRId64 ", %" PRId64
             ", %" PRId64 ", %" PRId64 ", %d};\n"
             "        const int64_t next_entry = (entry + 1) * %" PRId64 ";\n"
             "        next = next_entry < end ? next_entry : end;\n"
             "        const int64_t last = j0 + (next - part) * %" PRId64 ";\n"
             "        pcp_stream_columns(&product, j0, last < %" PRId64 " ? last : %" PRId64 ");\n",
             g->lda, g->ldb, g->ldc, g->m, g->k, s->weight == DT_I8, s->n_part, s->part_cols, g->n,
             g->n);
}

bool stream_is_in(const char *text)
{
    return strstr(text, "pcp_stream_") || strstr(text, "pcp_panels_");
}

static void write_matrix(char name, int arg, int64_t at, int64_t outer, int64_t inner, str_t *out)
{
    str_addf(out,
             "        const __auto_type %c = a%d + %" PRId64 " + outer * %" PRId64
             " + inner * %" PRId64 ";\n",
             name, arg, at, outer, inner);
}

void stream_render(const kernel_t *kernel, str_t *out)
{
    const stream_t *s = kernel->stream;
    const plan_gemm_step_t *g = &s->step;
    if (s->panels) {
        stream_panels_render(kernel, out);
        return;
    }
    write_types(s, out);
    str_addf(out,
             "    for (int64_t part = begin, next; part < end; part = next) {\n"
             "        next = part + 1;\n"
             "        const int64_t entry = part / %" PRId64 ", outer = entry / %" PRId64
             ", inner = entry %% %" PRId64 ";\n",
             s->n_part, g->inner, g->inner);
    write_matrix('a', s->arg_a, g->a, g->stride_a, g->inner_a, out);
    write_matrix('b', s->arg_b, g->b, g->stride_b, g->inner_b, out);
    write_matrix('c', s->arg_c, g->c, g->stride_c, g->inner_c, out);
    str_addf(out,
             "        const int64_t j0 = part %% %" PRId64 " * %" PRId64 ", cols = j0 + %" PRId64
             ", j1 = cols < %" PRId64 " ? cols : %" PRId64 ";\n",
             s->n_part, s->part_cols, s->part_cols, g->n, g->n);
    if (stream_by_matrix(s) || stream_by_fours(s))
        write_all_columns(s, out);
    else if (g->trans_b)
        write_along(s, out);
    else
        write_across(s, out);
    str_add(out, "    }\n");
}
