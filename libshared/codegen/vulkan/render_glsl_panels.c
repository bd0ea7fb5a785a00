/* The way of GPUs to a product: a group of threads with panels of the operands in shared memory. prelude_panels.glsl has
 * the arithmetic; here are its words for one product. */
#include <inttypes.h>

#include "codegen/prelude/prelude_text.h"
#include "codegen/vulkan/render_glsl.h"
#include "plan/kernel/tiles.h"

/* May four neighbours of a matrix of f32 be one load? They begin where four elements do, and none is behind the end of a line. */
static bool by_fours(int64_t ld, int64_t outer, int64_t inner, int64_t line)
{
    return ld % 4 == 0 && outer % 4 == 0 && inner % 4 == 0 && line % 4 == 0;
}

/* Rows and columns of the tile that a thread has. */
static int per_thread(int side)
{
    return side >= 64 ? 8 : 4;
}

/* Fewer rows or columns than a thread has would leave most threads without work: then there are no panels, and eight threads
 * have a tile. */
bool panels_has(const plan_gemm_step_t *s)
{
    enum { FEWEST = 8 };
    return s->m >= FEWEST && s->n >= FEWEST;
}

void panels_describe(const plan_gemm_step_t *s, str_t *out)
{
    int side = tiles_group_side(s), across = side / per_thread(side);
    str_addf(out, "// panels %d, groups %" PRId64 "\n", across * across, tiles_n_group(s, side));
}

/* Which tile of which matrices. */
static void write_main(const plan_gemm_step_t *s, str_t *out)
{
    int side = tiles_group_side(s);
    int64_t n_row = glsl_above(s->m, side), n_col = glsl_above(s->n, side);
    str_add(out, "void main()\n{\n");
    for (int i = 0; i < 3; i++) glsl_argument(i, 3, out);
    str_addf(out,
             "    const uint group = pcp_group();\n"
             "    if (group >= %" PRId64 "u) return;\n"
             "    const int o = int(group / %" PRId64 "u / %" PRId64 "u), i = int(group / %" PRId64
             "u %% %" PRId64 "u);\n"
             "    pcp_panels(g0, a0 + o * %" PRId64 " + i * %" PRId64 ", g1, a1 + o * %" PRId64
             " + i * %" PRId64 ", g2,\n"
             "               a2 + o * %" PRId64 " + i * %" PRId64 ", int(group / %" PRId64
             "u %% %" PRId64 "u) * %d, int(group %% %" PRId64 "u) * %d);\n"
             "}\n",
             tiles_n_group(s, side), n_row * n_col, s->inner, n_row * n_col, s->inner, s->stride_a,
             s->inner_a, s->stride_b, s->inner_b, s->stride_c, s->inner_c, n_col, n_row, side,
             n_col, side);
}

void panels_write(const plan_gemm_step_t *s, str_t *out)
{
    int side = tiles_group_side(s);
    bool along_a = !s->trans_a, along_b = s->trans_b;
    str_add(out, "#ifdef PANELS\n");
    glsl_define(out, "SIDE", side);
    glsl_define(out, "PER", per_thread(side));
    glsl_define(out, "M", s->m);
    glsl_define(out, "N", s->n);
    glsl_define(out, "K", s->k);
    glsl_define(out, "LD_A", s->lda);
    glsl_define(out, "LD_B", s->ldb);
    glsl_define(out, "LD_C", s->ldc);
    glsl_define_bool(out, "ALONG_A", along_a);
    glsl_define_bool(out, "ALONG_B", along_b);
    glsl_define_bool(out, "FOURS_A",
                     !s->bf16 && by_fours(s->lda, s->stride_a, s->inner_a, along_a ? s->k : s->m));
    glsl_define_bool(out, "FOURS_B",
                     !s->bf16 && by_fours(s->ldb, s->stride_b, s->inner_b, along_b ? s->k : s->n));
    glsl_define_bool(out, "FOURS_C", by_fours(s->ldc, s->stride_c, s->inner_c, s->n));
    glsl_define_bool(out, "ADD", s->accumulate);
    str_addf(out, "#define pcp_one(g, at) %s\n",
             s->bf16 ? "pcp_f32_from_bf16(uint(m_u16(g)[at]))" : "pcp_f32(g, at)");
    str_add(out, prelude_glsl_panels_text());
    write_main(s, out);
    str_add(out, "#else\n");
}
