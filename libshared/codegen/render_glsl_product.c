/* A matrix product as GLSL: each thread computes a tile of C in its registers, so that an element that
 * is loaded is used several times. Long sums go by blocks, whose rounding does not add up. */
#include <inttypes.h>
#include <stdio.h>

#include "codegen/render_glsl.h"

enum { SUM_BLOCK = 256 };

static int64_t above(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Elements from an operand's first to behind its last. */
static int64_t extent(const plan_gemm_step_t *s, int64_t outer, int64_t inner, int64_t rows,
                      int64_t cols, int64_t ld)
{
    return (s->batch - 1) * outer + (s->inner - 1) * inner + (rows - 1) * ld + cols;
}

static void write_reach(const plan_gemm_step_t *s, str_t *out)
{
    int size = s->bf16 ? 2 : 4;
    int64_t a = extent(s, s->stride_a, s->inner_a, s->trans_a ? s->k : s->m,
                       s->trans_a ? s->m : s->k, s->lda);
    int64_t b = extent(s, s->stride_b, s->inner_b, s->trans_b ? s->n : s->k,
                       s->trans_b ? s->k : s->n, s->ldb);
    int64_t c = extent(s, s->stride_c, s->inner_c, s->m, s->n, s->ldc);
    str_addf(out, "// threads 1, rounds %" PRId64 ", arguments 3\n", s->k + above(s->k, SUM_BLOCK));
    str_addf(out, "// r- %d 0 %" PRId64 "\n// r- %d 0 %" PRId64 "\n", size, a * size, size,
             b * size);
    str_addf(out, "// %cw 4 0 %" PRId64 "\n", s->accumulate ? 'r' : '-', c * 4);
}

/* Which tile of which matrices; places of its rows and columns. Those behind the edge are the last
 * one's. */
static void write_place(const plan_gemm_step_t *s, int rows, int cols, str_t *out)
{
    int64_t n_row = above(s->m, rows), n_col = above(s->n, cols);
    str_addf(out,
             "void main()\n{\n"
             "    const uint thread = pcp_thread();\n"
             "    if (thread >= uint(work.extent)) return;\n"
             "    const uint piece = uint(work.begin) + thread, entry = piece / %" PRId64 "u;\n"
             "    const int col = int(piece %% %" PRId64 "u) * %d;\n"
             "    const int row = int(piece / %" PRId64 "u %% %" PRId64 "u) * %d;\n"
             "    const int o = int(entry / %" PRId64 "u), i = int(entry %% %" PRId64 "u);\n",
             n_row * n_col, n_col, cols, n_col, n_row, rows, s->inner, s->inner);
    str_addf(out, "    const int a = args[work.at] + o * %" PRId64 " + i * %" PRId64 ";\n",
             s->stride_a, s->inner_a);
    str_addf(out, "    const int b = args[work.at + 1] + o * %" PRId64 " + i * %" PRId64 ";\n",
             s->stride_b, s->inner_b);
    str_addf(out, "    const int c = args[work.at + 2] + o * %" PRId64 " + i * %" PRId64 ";\n",
             s->stride_c, s->inner_c);
    for (int r = 0; r < rows; r++)
        str_addf(out, "    const int at_a%d = a + min(row + %d, %" PRId64 ") * %" PRId64 ";\n", r,
                 r, s->m - 1, s->trans_a ? 1 : s->lda);
    for (int k = 0; k < cols; k++)
        str_addf(out, "    const int at_b%d = b + min(col + %d, %" PRId64 ") * %" PRId64 ";\n", k,
                 k, s->n - 1, s->trans_b ? s->ldb : 1);
}

static void write_sums(const plan_gemm_step_t *s, int rows, int cols, str_t *out)
{
    const char *open = s->bf16 ? "pcp_f32_from_bf16(uint(m_u16[" : "m_f32[";
    const char *close = s->bf16 ? "]))" : "]";
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < cols; k++) str_addf(out, "    float s%d_%d = 0.0;\n", r, k);
    str_addf(out, "    for (int from = 0; from < %" PRId64 "; from += %d) {\n", s->k, SUM_BLOCK);
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < cols; k++) str_addf(out, "        float p%d_%d = 0.0;\n", r, k);
    str_addf(out, "        const int to = min(from + %d, %" PRId64 ");\n", SUM_BLOCK, s->k);
    str_add(out, "        for (int k = from; k < to; k++) {\n");
    for (int r = 0; r < rows; r++)
        str_addf(out, "            const float a%d = %sat_a%d + k * %" PRId64 "%s;\n", r, open, r,
                 s->trans_a ? s->lda : 1, close);
    for (int k = 0; k < cols; k++)
        str_addf(out, "            const float b%d = %sat_b%d + k * %" PRId64 "%s;\n", k, open, k,
                 s->trans_b ? 1 : s->ldb, close);
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < cols; k++)
            str_addf(out, "            p%d_%d = fma(a%d, b%d, p%d_%d);\n", r, k, r, k, r, k);
    str_add(out, "        }\n");
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < cols; k++) str_addf(out, "        s%d_%d += p%d_%d;\n", r, k, r, k);
    str_add(out, "    }\n");
}

void render_glsl_product(const product_t *product, str_t *out)
{
    const plan_gemm_step_t *s = &product->step;
    int rows = product->tiles.rows, cols = product->tiles.cols;
    write_reach(s, out);
    write_place(s, rows, cols, out);
    write_sums(s, rows, cols, out);
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < cols; k++)
            str_addf(out,
                     "    if (row + %d < %" PRId64 " && col + %d < %" PRId64
                     ") m_f32[c + (row + %d) * %" PRId64 " + col + %d] %s s%d_%d;\n",
                     r, s->m, k, s->n, r, s->ldc, k, s->accumulate ? "+=" : "=", r, k);
    str_add(out, "}\n");
}
