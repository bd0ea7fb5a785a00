/* A matrix product as CUDA: the tile of a block by the sizes of the matrices; prelude.cuh has the
 * arithmetic. */
#include <inttypes.h>

#include "codegen/render_cuda.h"
#include "plan/kernel/tiles.h"

static int64_t above(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static void write_matrix(str_t *out, char name, int arg, const char *type, int64_t row, int64_t col,
                         int64_t rows, int64_t cols, int64_t outer, int64_t inner)
{
    str_addf(out,
             "    const pcp_matrix_t<%s> %c = {(const %s *)(arena + arg[%d]) + o * %" PRId64
             " + i * %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "};\n",
             type, name, type, arg, outer, inner, row, col, rows, cols);
}

/* In f32 each of 16 x 16 threads has its sums; in bf16 a warp has tiles of 16 x 8, and there are two rows of
 * four warps. */
static void write_call(const plan_gemm_step_t *s, int side, str_t *out)
{
    if (s->bf16)
        str_addf(out, "    pcp_product_bf16<%d, %d, %d, %d", side, side, side / 32, side / 32);
    else
        str_addf(out, "    pcp_product<%d, %d, 16, %d, %d", side, side, side / 16, side / 16);
    str_addf(out, ", %s, %s, %s>(a, b, c, %" PRId64 ", row, col);\n}\n",
             s->trans_a ? "true" : "false", s->trans_b ? "false" : "true",
             s->accumulate ? "true" : "false", s->ldc);
}

void render_cuda_product(const product_t *product, str_t *out)
{
    const plan_gemm_step_t *s = &product->step;
    int side = tiles_group_side(s);
    const char *type = s->bf16 ? "uint16_t" : "float";
    int64_t n_row = above(s->m, side), n_col = above(s->n, side);
    str_addf(out, "// threads 1, block %d, blocks %" PRId64 ", arguments 3\n", CUDA_BLOCK,
             tiles_n_group(s, side));
    str_addf(out,
             "(char *arena, const int64_t *arg, int, int)\n{\n"
             "    const uint entry = blockIdx.x / %" PRId64 "u;\n"
             "    const int col = int(blockIdx.x %% %" PRId64 "u) * %d;\n"
             "    const int row = int(blockIdx.x / %" PRId64 "u %% %" PRId64 "u) * %d;\n"
             "    const int64_t o = entry / %" PRId64 "u, i = entry %% %" PRId64 "u;\n",
             n_row * n_col, n_col, side, n_col, n_row, side, s->inner, s->inner);
    write_matrix(out, 'a', 0, type, s->trans_a ? 1 : s->lda, s->trans_a ? s->lda : 1, s->m, s->k,
                 s->stride_a, s->inner_a);
    write_matrix(out, 'b', 1, type, s->trans_b ? s->ldb : 1, s->trans_b ? 1 : s->ldb, s->n, s->k,
                 s->stride_b, s->inner_b);
    str_addf(out,
             "    float *const c = (float *)(arena + arg[2]) + o * %" PRId64 " + i * %" PRId64
             ";\n",
             s->stride_c, s->inner_c);
    write_call(s, side, out);
}
