/* Attention and its gradient as CUDA: which engine, how many rows at a time, and where operands lie;
 * prelude_attention.cuh has the arithmetic. bf16, and f32 whose products are of bf16, go by the matrix
 * instruction, other types by f32. */
#include <inttypes.h>
#include <stdio.h>

#include "codegen/attention.h"
#include "codegen/cuda/render_cuda.h"

enum { Q, K, V, O, LSE, CT, DQ, DK, DV }; /* views; forward: o and lse are results */

/* Rows of a block, and of the other side that it takes at a time; its threads, and how many such blocks the registers of a
 * device shall be enough for. */
typedef struct {
    int rows, step, threads, beside;
    char engine[64]; /* struct of the prelude, and the first of its arguments */
} cut_t;

/* What a block may share: the least that a device of these languages has. */
enum { SHARED_BYTES = 48 << 10 };

static int64_t above(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t up(int64_t n)
{
    return above(n, 16) * 16;
}

static bool by_warps(const attention_t *a)
{
    return a->pairs || a->view[Q].dtype == DT_BF16;
}

/* Of pcp_attention_t's forward_t or backward_t. */
static int64_t shared_bytes(const attention_t *a, const cut_t *cut)
{
    int64_t size = by_warps(a) ? 2 : 4, pad = by_warps(a) ? 8 : 1;
    int64_t d = up(a->d) + pad, e = up(a->e) + pad, rows = cut->rows, step = cut->step;
    int64_t weights = rows * (step + pad);
    if (!a->gradient) return size * (rows * d + step * (d + e) + weights);
    return size * ((rows + step) * (d + e) + weights) + 8 * rows;
}

/* Half as many rows would do? */
static bool is_mostly_edge(int rows, int64_t n)
{
    return rows > 16 && rows / 2 >= n;
}

/* The largest that fits. Warps have 64 rows; 128 columns of all operands fit with 16 rows at a time. */
static cut_t choose_tile(const cuda_dialect_t *dialect, const attention_t *a)
{
    static const int sizes[][2] = {{64, 64}, {64, 32}, {64, 16}, {32, 32}, {32, 16}, {16, 16}};
    enum { N_SIZE = sizeof sizes / sizeof sizes[0], N_OF_WARPS = 3 };
    int64_t least = a->t < a->s ? a->t : a->s, most = a->t > a->s ? a->t : a->s;
    int n = by_warps(a) ? N_OF_WARPS : N_SIZE;
    cut_t cut = {.threads = by_warps(a) ? 4 * dialect->warp : CUDA_BLOCK, .beside = 1};
    for (int i = 0; i < n; i++) {
        cut.rows = sizes[i][0];
        cut.step = sizes[i][1];
        bool edge = is_mostly_edge(cut.step, a->gradient ? least : a->s) ||
                    (!by_warps(a) && is_mostly_edge(cut.rows, a->gradient ? most : a->t));
        if (!edge && shared_bytes(a, &cut) <= SHARED_BYTES) break;
    }
    if (by_warps(a))
        snprintf(cut.engine, sizeof cut.engine, "pcp_attention_t<pcp_by_warps_t");
    else
        snprintf(cut.engine, sizeof cut.engine, "pcp_attention_t<pcp_by_threads_t<float, %d>",
                 cut.rows / 16);
    return cut;
}

/* The dialect's own way: rows of a gradient with wide heads do not fit in registers. */
static bool by_squares(const cuda_dialect_t *dialect, const attention_t *a)
{
    return dialect->attention && by_warps(a) && a->how.scale > 0 &&
           (!a->gradient || up(a->d) + up(a->e) <= 128);
}

/* Eight warps, or four where half of the rows would be behind the edge; of the other side as many rows as threads
 * keep 16 numbers each of on their way. */
static cut_t choose_squares(const attention_t *a)
{
    int64_t least = a->t < a->s ? a->t : a->s, most = a->t > a->s ? a->t : a->s;
    int64_t wide = up(a->d > a->e ? a->d : a->e);
    cut_t cut = {.rows = 128, .step = 64};
    if (is_mostly_edge(cut.rows, a->gradient ? most : a->t)) cut.rows = 64;
    cut.threads = 2 * cut.rows;
    cut.beside = a->gradient ? 1 : cut.rows == 64 || wide > 64 ? 1 : 2;
    while (cut.step > 16 && (is_mostly_edge(cut.step, a->gradient ? least : a->s) ||
                             cut.step * wide > 16 * cut.threads))
        cut.step /= 2;
    snprintf(cut.engine, sizeof cut.engine, "pcp_warps_attention_t<%d", cut.rows / 16);
    return cut;
}

/* Four neighbours are one word in memory: arguments begin at multiples of MEMORY_ALIGN. */
static bool is_aligned(const attention_view_t *v)
{
    return v->offset % 4 == 0 && v->outer % 4 == 0 && v->inner % 4 == 0 && v->row % 4 == 0;
}

static void write_rows(const attention_t *a, int view, const char *name, int64_t rows, int64_t cols,
                       str_t *out)
{
    const attention_view_t *v = &a->view[view];
    str_addf(out, "    const pcp_rows_t<pcp_as_%s, %s> %s = {(%s *)(arena + arg[%d]) + %" PRId64,
             dtype_name(v->dtype), is_aligned(v) ? "true" : "false", name,
             v->dtype == DT_F32 ? "float" : "uint16_t", v->arg, v->offset);
    attention_add_place(v, out);
    str_addf(out, ", %" PRId64 ", %" PRId64 ", %" PRId64 "};\n", v->row, rows, cols);
}

static void write_all_rows(const attention_t *a, str_t *out)
{
    write_rows(a, Q, "q", a->t, a->d, out);
    write_rows(a, K, "k", a->s, a->d, out);
    write_rows(a, V, "v", a->s, a->e, out);
    write_rows(a, O, "y", a->t, a->e, out);
    write_rows(a, LSE, "lse", a->t, 1, out);
    if (!a->gradient) return;
    write_rows(a, CT, "g", a->t, a->e, out);
    write_rows(a, DQ, "dq", a->t, a->d, out);
    write_rows(a, DK, "dk", a->s, a->d, out);
    write_rows(a, DV, "dv", a->s, a->e, out);
}

/* Blocks of rows of q, then those of keys. Of a causal one the last rows see most: they begin first. */
static void write_calls(const attention_t *a, const cut_t *cut, str_t *out)
{
    int64_t of_rows = above(a->t, cut->rows);
    int64_t offset = a->how.causal && a->how.offset < a->s ? a->how.offset : a->s;
    char how[96];
    snprintf(how, sizeof how, "%af, %" PRId64 ");\n", (double)(float)a->how.scale, offset);
    str_addf(out, "    const int first = (%" PRId64 " - tile) * %d;\n", of_rows - 1, cut->rows);
    if (!a->gradient) {
        str_addf(out, "    attention_t::forward(room, q, k, v, y, lse, first, %s}\n", how);
        return;
    }
    str_addf(
        out,
        "    if (first >= 0)\n        attention_t::of_rows(room, q, k, v, y, lse, g, dq, first, %s",
        how);
    str_addf(out,
             "    else\n        attention_t::of_keys(room, q, k, v, y, lse, g, dk, dv, -%d - "
             "first, %s}\n",
             cut->rows, how);
}

void render_cuda_attention(const cuda_dialect_t *dialect, const kernel_t *kernel, str_t *out)
{
    const attention_t *a = kernel->attention;
    const cut_t cut = by_squares(dialect, a) ? choose_squares(a) : choose_tile(dialect, a);
    int64_t tiles = above(a->t, cut.rows) + (a->gradient ? above(a->s, cut.rows) : 0);
    int64_t matrices = kernel->extent / attention_pieces(a);
    str_addf(out, "// threads 1, block %d, blocks %" PRId64 ", arguments %zu, beside %d\n",
             cut.threads, matrices * tiles, kernel->arg.n, cut.beside);
    str_addf(out,
             "(char *arena, const int64_t *arg, int, int)\n{\n"
             "    typedef %s, %d, %" PRId64 ", %" PRId64 ", %s> attention_t;\n"
             "    alignas(16) __shared__ attention_t::%s_t room;\n"
             "    const int64_t o = blockIdx.x / %" PRId64 "u;\n"
             "    const int tile = int(blockIdx.x %% %" PRId64 "u);\n",
             cut.engine, cut.step, up(a->d), up(a->e), a->how.causal ? "true" : "false",
             a->gradient ? "backward" : "forward", tiles, tiles);
    write_all_rows(a, out);
    write_calls(a, &cut, out);
}
