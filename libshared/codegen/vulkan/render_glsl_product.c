/* A matrix product as GLSL: eight threads of a subgroup compute a tile of C in their registers. Each
 * of them loads a part of the tile's rows of A and columns of B, in four elements at once where they lie
 * so; an element of A goes to all eight by a shuffle. Long sums go by blocks, whose rounding does
 * not add up. No memory is shared, so that no thread waits: the way of processors. Most products have that of
 * GPUs beside it (render_glsl_panels.c), a module of its own; the device chooses. */
#include <inttypes.h>
#include <stdio.h>

#include "codegen/vulkan/render_glsl.h"
#include "plan/kernel/tiles.h"

enum { SUM_BLOCK = 256, LANES = TILES_LANES, TERMS = 4 };

/* An operand: its rows of A or columns of B, as the threads hold them. */
typedef struct {
    char name; /* 'a', 'b' */
    int arg;   /* of the kernel */
    int64_t n; /* rows, columns */
    int64_t ld;
    bool along; /* neighbours in memory are terms of the sum; else rows or columns */
    bool aligned, bf16;
    int groups; /* numbers that a thread holds for a term: rows or columns of the tile / LANES */
    int width;  /* neighbours among them: 1, 2, 4 */
} side_t;

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
    int64_t rounds = s->k / TERMS + s->k % TERMS + glsl_above(s->k, SUM_BLOCK);
    str_addf(out, "// lanes %d, rounds %" PRId64 ", arguments 3\n", LANES, rounds);
    str_addf(out, "// r- %d 0 %" PRId64 "\n// r- %d 0 %" PRId64 "\n", size, a * size, size,
             b * size);
    str_addf(out, "// %cw 4 0 %" PRId64 "\n", s->accumulate ? 'r' : '-', c * 4);
}

/* --- Places ----------------------------------------------------------------------------------- */

static int widest(int64_t n, int groups)
{
    return n % 4 == 0 && groups % 4 == 0 ? 4 : n % 2 == 0 && groups % 2 == 0 ? 2 : 1;
}

static side_t side_of(const plan_gemm_step_t *s, char name, int groups)
{
    bool a = name == 'a';
    side_t side = {.name = name,
                   .arg = a ? 0 : 1,
                   .n = a ? s->m : s->n,
                   .ld = a ? s->lda : s->ldb,
                   .along = a ? !s->trans_a : s->trans_b,
                   .bf16 = s->bf16,
                   .groups = groups};
    int64_t outer = a ? s->stride_a : s->stride_b, inner = a ? s->inner_a : s->inner_b;
    side.aligned = !s->bf16 && side.ld % 4 == 0 && outer % 4 == 0 && inner % 4 == 0;
    side.width = widest(side.n, groups);
    return side;
}

/* Which tile of which matrices. */
static void write_tile(const plan_gemm_step_t *s, int rows, int cols, str_t *out)
{
    int64_t n_row = glsl_above(s->m, rows), n_col = glsl_above(s->n, cols);
    str_addf(
        out,
        "    const uint thread = pcp_lane_thread();\n"
        "    const int lane = int(thread %% %du);\n"
        "    if (thread / %du >= uint(work.extent)) return;\n"
        "    const uint piece = uint(work.begin) + thread / %du, entry = piece / %" PRId64 "u;\n"
        "    const int col = int(piece %% %" PRId64 "u) * %d;\n"
        "    const int row = int(piece / %" PRId64 "u %% %" PRId64 "u) * %d;\n"
        "    const int o = int(entry / %" PRId64 "u), i = int(entry %% %" PRId64 "u);\n",
        LANES, LANES, LANES, n_row * n_col, n_col, cols, n_col, n_row, rows, s->inner, s->inner);
    const int64_t stride[] = {s->stride_a, s->stride_b, s->stride_c};
    const int64_t inner[] = {s->inner_a, s->inner_b, s->inner_c};
    for (int i = 0; i < 3; i++)
        str_addf(out, "    const int %c = a%d + o * %" PRId64 " + i * %" PRId64 ";\n", 'a' + i, i,
                 stride[i], inner[i]);
}

/* The first of the thread's numbers of a group, in the tile: neighbours stay neighbours. */
static int first_of(const side_t *side, int group)
{
    return LANES * (group / side->width * side->width);
}

/* Where the thread's rows or columns begin. Those behind the edge are the last ones. */
static void write_places(const side_t *side, str_t *out)
{
    const char *begin = side->name == 'a' ? "row" : "col";
    for (int g = 0; g < side->groups; g += side->along ? 1 : side->width) {
        int more = side->along ? g % side->width : 0, each = side->along ? 1 : side->width;
        str_addf(out,
                 "    const int at_%c%d = %c + min(%s + %d + lane * %d, %" PRId64 ") * %" PRId64
                 ";\n",
                 side->name, g, side->name, begin, first_of(side, g) + more, side->width,
                 side->n - each, side->along ? side->ld : 1);
    }
}

/* --- Sums ------------------------------------------------------------------------------------- */

static void write_one(const side_t *side, const char *at, int more, str_t *out)
{
    if (side->bf16)
        str_addf(out, "pcp_f32_from_bf16(uint(m_u16(g%d)[%s + %d]))", side->arg, at, more);
    else
        str_addf(out, "pcp_f32(g%d, %s + %d)", side->arg, at, more);
}

/* n neighbours, as a vector where there are several. */
static void write_load(const side_t *side, const char *name, const char *at, int n, str_t *out)
{
    if (n == 1)
        str_addf(out, "            const float %s = ", name);
    else
        str_addf(out, "            const vec%d %s = ", n, name);
    if (n > 1 && side->aligned) {
        str_addf(out, "pcp_load%d(g%d, %s);\n", n, side->arg, at);
        return;
    }
    if (n > 1) str_addf(out, "vec%d(", n);
    for (int i = 0; i < n; i++) {
        str_add(out, i ? ", " : "");
        write_one(side, at, i, out);
    }
    str_add(out, n > 1 ? ");\n" : ";\n");
}

/* All that a thread loads for `terms` terms from k on. */
static void write_loads(const side_t *side, int terms, str_t *out)
{
    char name[32], at[64];
    for (int g = 0; g < side->groups; g += side->along ? 1 : side->width) {
        for (int t = 0; t < (side->along ? 1 : terms); t++) {
            snprintf(name, sizeof name, "%c%d_%d", side->name, g, t);
            snprintf(at, sizeof at, "at_%c%d + (k + %d) * %" PRId64, side->name, g, t,
                     side->along ? 1 : side->ld);
            write_load(side, name, at, side->along ? terms : side->width, out);
        }
    }
}

/* A number that write_loads has loaded. */
static void name_of(const side_t *side, int group, int term, int terms, char name[32])
{
    int n = side->along ? terms : side->width, which = side->along ? term : group % side->width;
    snprintf(name, 32, "%c%d_%d%s%.1s", side->name, side->along ? group : group - which,
             side->along ? 0 : term, n > 1 ? "." : "", n > 1 ? &"xyzw"[which] : "");
}

static void write_terms(const side_t *a, const side_t *b, int rows, int terms, const char *sum,
                        str_t *out)
{
    char name[32];
    write_loads(a, terms, out);
    write_loads(b, terms, out);
    for (int t = 0; t < terms; t++)
        for (int r = 0; r < rows; r++) {
            int block = LANES * a->width, group = r / block * a->width + r % a->width;
            name_of(a, group, t, terms, name);
            str_addf(out, "            const float x%d_%d = pcp_pick(%s, %du);\n", r, t, name,
                     r % block / a->width);
            for (int g = 0; g < b->groups; g++) {
                name_of(b, g, t, terms, name);
                str_addf(out, "            %s%d_%d = fma(x%d_%d, %s, %s%d_%d);\n", sum, r, g, r, t,
                         name, sum, r, g);
            }
        }
}

static void write_zeros(const char *sum, int rows, int groups, str_t *out)
{
    for (int r = 0; r < rows; r++) {
        str_add(out, "    float ");
        for (int g = 0; g < groups; g++)
            str_addf(out, "%s%d_%d = 0.0%s", sum, r, g, g + 1 < groups ? ", " : ";\n");
    }
}

static void write_sums(const plan_gemm_step_t *s, const side_t *a, const side_t *b, int rows,
                       str_t *out)
{
    int64_t whole = s->k - s->k % TERMS;
    bool blocks = whole > SUM_BLOCK;
    write_zeros("s", rows, b->groups, out);
    if (blocks) {
        str_addf(out, "    for (int from = 0; from < %" PRId64 "; from += %d) {\n", whole,
                 SUM_BLOCK);
        write_zeros("p", rows, b->groups, out);
        str_addf(out, "        for (int k = from; k < min(from + %d, %" PRId64 "); k += %d) {\n",
                 SUM_BLOCK, whole, TERMS);
    } else if (whole > 0)
        str_addf(out, "        for (int k = 0; k < %" PRId64 "; k += %d) {\n", whole, TERMS);
    if (whole > 0) {
        write_terms(a, b, rows, TERMS, blocks ? "p" : "s", out);
        str_add(out, "        }\n");
    }
    if (blocks) {
        for (int r = 0; r < rows; r++)
            for (int g = 0; g < b->groups; g++)
                str_addf(out, "        s%d_%d += p%d_%d;\n", r, g, r, g);
        str_add(out, "    }\n");
    }
    if (whole == s->k) return;
    str_addf(out, "        for (int k = %" PRId64 "; k < %" PRId64 "; k++) {\n", whole, s->k);
    write_terms(a, b, rows, 1, "s", out);
    str_add(out, "        }\n");
}

/* --- C ---------------------------------------------------------------------------------------- */

static void write_results(const plan_gemm_step_t *s, const side_t *b, int rows, str_t *out)
{
    bool aligned = s->ldc % 4 == 0 && s->stride_c % 4 == 0 && s->inner_c % 4 == 0 && b->width > 1;
    bool edge = s->m % rows != 0 || s->n % (LANES * b->groups) != 0;
    for (int g = 0; g < b->groups; g += b->width) {
        str_addf(out, "    const int to%d = col + %d + lane * %d;\n", g, first_of(b, g), b->width);
        for (int r = 0; r < rows; r++) {
            char at[64];
            snprintf(at, sizeof at, "c + (row + %d) * %" PRId64 " + to%d", r, s->ldc, g);
            str_add(out, "    ");
            if (edge)
                str_addf(out, "if (row + %d < %" PRId64 " && to%d < %" PRId64 ") ", r, s->m, g,
                         s->n);
            str_add(out, "{");
            for (int i = 0; !aligned && i < b->width; i++)
                str_addf(out, " m_f32(g2)[%s + %d] %s s%d_%d;", at, i, s->accumulate ? "+=" : "=",
                         r, g + i);
            if (aligned) {
                str_addf(out, " pcp_store%d(g2, %s, vec%d(", b->width, at, b->width);
                for (int i = 0; i < b->width; i++)
                    str_addf(out, "%ss%d_%d", i ? ", " : "", r, g + i);
                str_add(out, ")");
                if (s->accumulate) str_addf(out, " + pcp_load%d(g2, %s)", b->width, at);
                str_add(out, ");");
            }
            str_add(out, " }\n");
        }
    }
}

void render_glsl_product(const product_t *product, str_t *out)
{
    const plan_gemm_step_t *s = &product->step;
    int rows = product->tiles.rows, cols = product->tiles.cols;
    side_t a = side_of(s, 'a', (int)glsl_above(rows, LANES)), b = side_of(s, 'b', cols / LANES);
    bool panels = panels_has(s);
    if (panels) panels_describe(s, out);
    write_reach(s, out);
    if (panels) panels_write(s, out);
    str_add(out, "void main()\n{\n");
    for (int i = 0; i < 3; i++) glsl_argument(i, 3, out);
    write_tile(s, rows, cols, out);
    write_places(&a, out);
    write_places(&b, out);
    write_sums(s, &a, &b, rows, out);
    write_results(s, &b, rows, out);
    str_add(out, panels ? "}\n#endif\n" : "}\n");
}

/* WIDE: every step's arguments are multiples of 16 bytes, so that four numbers are one load. Two
 * integers of 64 bits, as some drivers load each component for itself; one texel where these are fast. */
static const char head[] =
    "layout(constant_id = 1) const uint SUBGROUP = 8u;\n"
    "layout(constant_id = 2) const bool WIDE = false;\n"
    "layout(binding = 0, std430) buffer Pairs { uint64_t at[]; } v_pair[SEGMENTS];\n"
    "layout(binding = 0, std430) buffer Fours { u64vec2 at[]; } v_four[SEGMENTS];\n"
    "#ifndef PANELS\n"
    "// As a thread of its subgroup: those of a tile are in one.\n"
    "uint pcp_lane_thread()\n"
    "{\n"
    "    return pcp_group() * gl_WorkGroupSize.x + gl_SubgroupID * gl_SubgroupSize + "
    "gl_SubgroupInvocationID;\n"
    "}\n"
    "// What a lane of the tile's eight has.\n"
    "float pcp_pick(float x, uint lane)\n"
    "{\n"
    "    return subgroupShuffle(x, SUBGROUP == 8u ? lane : (gl_SubgroupInvocationID & ~7u) + "
    "lane);\n"
    "}\n"
    "#endif\n"
    "vec2 pcp_load2(uint g, int at)\n"
    "{\n"
    "    vec2 x;\n"
    "    if (WIDE && !TEXELS)\n"
    "        x = uintBitsToFloat(unpackUint2x32(v_pair[g].at[at >> 1]));\n"
    "    else\n"
    "        x = vec2(pcp_f32(g, at), pcp_f32(g, at + 1));\n"
    "    return x;\n"
    "}\n"
    "vec4 pcp_load4(uint g, int at)\n"
    "{\n"
    "    vec4 x;\n"
    "    if (WIDE && TEXELS)\n"
    "        x = uintBitsToFloat(texelFetch(t_four, at >> 2));\n"
    "    else if (WIDE) {\n"
    "        u64vec2 two = v_four[g].at[at >> 2];\n"
    "        x = uintBitsToFloat(uvec4(unpackUint2x32(two.x), unpackUint2x32(two.y)));\n"
    "    } else\n"
    "        x = vec4(pcp_f32(g, at), pcp_f32(g, at + 1), pcp_f32(g, at + 2), pcp_f32(g, at + "
    "3));\n"
    "    return x;\n"
    "}\n"
    "void pcp_store2(uint g, int at, vec2 x)\n"
    "{\n"
    "    if (WIDE)\n"
    "        v_pair[g].at[at >> 1] = packUint2x32(floatBitsToUint(x));\n"
    "    else\n"
    "        m_f32(g)[at] = x.x, m_f32(g)[at + 1] = x.y;\n"
    "}\n"
    "void pcp_store4(uint g, int at, vec4 x)\n"
    "{\n"
    "    uvec4 bits = floatBitsToUint(x);\n"
    "    if (WIDE && TEXELS)\n"
    "        imageStore(i_four, at >> 2, bits);\n"
    "    else if (WIDE)\n"
    "        v_four[g].at[at >> 2] = u64vec2(packUint2x32(bits.xy), packUint2x32(bits.zw));\n"
    "    else\n"
    "        m_f32(g)[at] = x.x, m_f32(g)[at + 1] = x.y, m_f32(g)[at + 2] = x.z, m_f32(g)[at + 3] "
    "= x.w;\n"
    "}\n";

const char *render_glsl_product_head(void)
{
    return head;
}
