/* A matrix product as CUDA: the tile of a block by the sizes of the matrices; prelude.cuh has the
 * arithmetic, and prelude_product_cuda.cuh that of CUDA's own way for bf16. */
#include <inttypes.h>
#include <string.h>

#include "codegen/cuda/render_cuda.h"
#include "plan/kernel/tiles.h"

static int64_t above(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static const char *word(bool x)
{
    return x ? "true" : "false";
}

/* The block's numbers: of its entry, outer and inner, and its tile in that entry. */
static void write_entry(const plan_gemm_step_t *s, int64_t tiles, str_t *out)
{
    str_addf(out,
             "(char *arena, const int64_t *arg, int, int)\n{\n"
             "    const uint entry = blockIdx.x / %" PRId64 "u %% %" PRId64
             "u, tile = blockIdx.x %% %" PRId64 "u;\n"
             "    const int64_t o = entry / %" PRId64 "u, i = entry %% %" PRId64 "u;\n",
             tiles, s->batch * s->inner, tiles, s->inner, s->inner);
}

static void write_matrix(str_t *out, char name, int arg, const char *type, int64_t row, int64_t col,
                         int64_t rows, int64_t cols, int64_t outer, int64_t inner)
{
    str_addf(out,
             "    const pcp_matrix_t<%s> %c = {(const %s *)(arena + arg[%d]) + o * %" PRId64
             " + i * %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "};\n",
             type, name, type, arg, outer, inner, row, col, rows, cols);
}

static void write_matrices(const plan_gemm_step_t *s, str_t *out)
{
    const char *type = s->bf16 ? "uint16_t" : "float";
    write_matrix(out, 'a', 0, type, s->trans_a ? 1 : s->lda, s->trans_a ? s->lda : 1, s->m, s->k,
                 s->stride_a, s->inner_a);
    write_matrix(out, 'b', 1, type, s->trans_b ? s->ldb : 1, s->trans_b ? 1 : s->ldb, s->n, s->k,
                 s->stride_b, s->inner_b);
    str_addf(out,
             "    float *const c = (float *)(arena + arg[2]) + o * %" PRId64 " + i * %" PRId64
             ";\n",
             s->stride_c, s->inner_c);
}

/* --- Any product ------------------------------------------------------------------------------ */

/* In f32 each of 16 x 16 threads has its sums; in bf16 a warp has tiles of 16 x 8, and there are two rows of
 * four warps. */
static void write_call(const plan_gemm_step_t *s, int side, str_t *out)
{
    if (s->bf16)
        str_addf(out, "    pcp_product_bf16<%d, %d, %d, %d", side, side, side / 32, side / 32);
    else
        str_addf(out, "    pcp_product<%d, %d, 16, %d, %d", side, side, side / 16, side / 16);
    str_addf(out, ", %s, %s, %s>(a, b, c, %" PRId64 ", row, col);\n}\n", word(s->trans_a),
             word(!s->trans_b), word(s->accumulate), s->ldc);
}

static void render_any(const plan_gemm_step_t *s, str_t *out)
{
    int side = tiles_group_side(s);
    int64_t n_row = above(s->m, side), n_col = above(s->n, side);
    str_addf(out, "// threads 1, block %d, blocks %" PRId64 ", arguments 3\n", CUDA_BLOCK,
             tiles_n_group(s, side));
    write_entry(s, n_row * n_col, out);
    str_addf(out,
             "    const int row = int(tile / %" PRId64 "u) * %d, col = int(tile %% %" PRId64
             "u) * %d;\n",
             n_col, side, n_col, side);
    write_matrices(s, out);
    write_call(s, side, out);
}

/* --- Products of bf16 with asynchronous copies ------------------------------------------------ */

enum {
    EIGHT = 8,        /* numbers that are copied at once */
    PANEL = 32,       /* terms of a panel */
    PROCESSORS = 132, /* of a large device */
    MOST_PARTS = 8,
    LEAST_TERMS = 1024, /* of a part */
};

/* A tile of C for a block. A warp has high x wide of it. */
typedef struct {
    int rows, cols, high, wide, stages;
    int beside; /* blocks that a multiprocessor should have room for */
    int clocks; /* that a multiprocessor takes for 16 terms: those of shared memory, or of the matrix instruction */
} staged_t;

static const staged_t staged[] = {
    {128, 128, 64, 64, 3, 2, 206}, {128, 64, 64, 32, 4, 2, 144}, {64, 128, 32, 64, 4, 2, 144},
    {64, 64, 32, 32, 5, 3, 96},    {32, 32, 16, 16, 6, 4, 48},
};

/* How a product is cut: tiles, and parts of the sum, each of them `each` terms or fewer. */
typedef struct {
    const staged_t *tile;
    int64_t n_row, n_col, parts, each;
} cut_t;

/* Do rows of so many numbers begin and end at multiples of eight? */
static bool by_eights(int64_t ld, int64_t row, int64_t offset, int64_t outer, int64_t inner)
{
    return ld % EIGHT == 0 && row % EIGHT == 0 && offset % EIGHT == 0 && outer % EIGHT == 0 &&
           inner % EIGHT == 0;
}

/* Arguments begin at multiples of MEMORY_ALIGN, which is one of 16 bytes. */
static bool is_staged(const plan_gemm_step_t *s)
{
    return s->bf16 && by_eights(s->lda, s->trans_a ? s->m : s->k, s->a, s->stride_a, s->inner_a) &&
           by_eights(s->ldb, s->trans_b ? s->k : s->n, s->b, s->stride_b, s->inner_b);
}

static bool has_pairs(const plan_gemm_step_t *s)
{
    return s->n % 2 == 0 && s->ldc % 2 == 0 && s->c % 2 == 0 && s->stride_c % 2 == 0 &&
           s->inner_c % 2 == 0;
}

/* Clocks, about: every multiprocessor takes one block after the other, and C goes through the second cache. */
static double cost(const plan_gemm_step_t *s, const cut_t *cut)
{
    enum { BYTES_A_CLOCK = 40 };
    const staged_t *t = cut->tile;
    int64_t blocks = s->batch * s->inner * cut->n_row * cut->n_col * cut->parts;
    double result = 4.0 * t->rows * t->cols / BYTES_A_CLOCK;
    double each = (double)above(cut->each, 16) * t->clocks + result * (cut->parts > 1 ? 2 : 1);
    return (double)above(blocks, PROCESSORS) * each;
}

/* The fewest clocks; a sum is cut only where that is well worth it. */
static cut_t choose(const plan_gemm_step_t *s)
{
    cut_t best = {0};
    double least = 0;
    for (size_t i = 0; i < sizeof staged / sizeof *staged; i++) {
        cut_t cut = {&staged[i], above(s->m, staged[i].rows), above(s->n, staged[i].cols), 1, s->k};
        int64_t tiles = s->batch * s->inner * cut.n_row * cut.n_col;
        for (; cut.parts <= MOST_PARTS; cut.parts++) {
            cut.each = above(above(s->k, cut.parts), PANEL) * PANEL;
            if (cut.parts > 1 && (cut.each < LEAST_TERMS || tiles > CUDA_TURNS)) break;
            double now = cost(s, &cut) * (cut.parts > 1 ? 1.05 : 1);
            if (best.tile && now >= least) continue;
            least = now;
            best = cut;
        }
    }
    best.parts = above(s->k, best.each); /* without empty ones */
    return best;
}

static void write_staged_call(const plan_gemm_step_t *s, const cut_t *cut, int64_t tiles,
                              str_t *out)
{
    const staged_t *t = cut->tile;
    str_addf(out, "    typedef pcp_staged_t<%d, %d, %d, %d, %d, %s, %s> staged_t;\n", t->rows,
             t->cols, t->high, t->wide, t->stages, word(s->trans_a), word(!s->trans_b));
    str_addf(out,
             "    staged_t::run<%s, %s, %s, %s>(a, b, c, %" PRId64 ", row * %d, col * %d, %s, ",
             word(s->m % t->rows == 0), word(s->n % t->cols == 0), word(s->k % PANEL == 0),
             word(has_pairs(s)), s->ldc, t->rows, t->cols, word(s->accumulate));
    if (cut->parts > 1)
        str_addf(out,
                 "int(blockIdx.x / %" PRId64 "u), %" PRId64 ", %" PRId64
                 ", pcp_turn + blockIdx.x %% %" PRId64 "u);\n}\n",
                 tiles, cut->parts, cut->each, tiles);
    else
        str_addf(out, "0, 1, %" PRId64 ", pcp_turn);\n}\n", s->k);
}

/* First the first parts of all tiles: by the time of the next parts they are done, or nearly so. */
static void render_staged(const plan_gemm_step_t *s, const cut_t *cut, str_t *out)
{
    int64_t of_entry = cut->n_row * cut->n_col, tiles = s->batch * s->inner * of_entry;
    str_addf(out, "// threads 1, block %d, blocks %" PRId64 ", arguments 3, beside %d\n",
             32 * (cut->tile->rows / cut->tile->high) * (cut->tile->cols / cut->tile->wide),
             tiles * cut->parts, cut->tile->beside);
    write_entry(s, of_entry, out);
    str_addf(out,
             "    int row, col;\n    pcp_place_tile(tile, %" PRId64 ", %" PRId64 ", row, col);\n",
             cut->n_row, cut->n_col);
    write_matrices(s, out);
    write_staged_call(s, cut, tiles, out);
}

bool render_cuda_product_is_staged(const char *text)
{
    return strstr(text, "pcp_staged_t") != NULL;
}

void render_cuda_product(const cuda_dialect_t *dialect, const product_t *product, str_t *out)
{
    const plan_gemm_step_t *s = &product->step;
    if (dialect->product && is_staged(s)) {
        const cut_t cut = choose(s);
        render_staged(s, &cut, out);
        return;
    }
    render_any(s, out);
}
