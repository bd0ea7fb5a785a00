/* The way of GPUs to attention: a group of threads with rows of the operands in shared memory.
 * prelude_panels_attention.glsl has the arithmetic; here are its words for one kernel. */
#include <inttypes.h>

#include "codegen/attention.h"
#include "codegen/prelude/prelude_text.h"
#include "codegen/vulkan/render_glsl_attention.h"

enum {
    ACROSS = 8,
    DOWN = 16,
    MOST_ROWS = 32
}; /* threads of a group; rows of either side at most */

/* Rows of a group, and of the other side that it takes at a time. */
typedef struct {
    int rows, step;
} cut_t;

/* What a group may share: what a device must have (runtime/vulkan), less what a driver may add. */
enum { SHARED_BYTES = 31 << 10 };

static int64_t pitch(int64_t cols)
{
    return glsl_above(cols, 4) | 1;
}

static int64_t shared_bytes(const attention_t *a, const cut_t *cut)
{
    enum { QUAD = 16, FLOAT = 4 };
    int64_t d = pitch(a->d), e = pitch(a->e), rows = cut->rows, step = cut->step;
    int64_t quads = rows * (d + (a->gradient ? e : 0)) + step * (d + e);
    return QUAD * quads + FLOAT * (rows * (step + 4) + MOST_ROWS * (ACROSS + 1));
}

/* Half as many rows would do? */
static bool is_mostly_edge(int rows, int64_t n)
{
    return rows / 2 >= n;
}

static cut_t choose(const attention_t *a)
{
    static const cut_t cuts[] = {{32, 32}, {32, 16}, {16, 16}, {16, 8}};
    enum { N_CUT = sizeof cuts / sizeof cuts[0] };
    int64_t least = a->t < a->s ? a->t : a->s, most = a->t > a->s ? a->t : a->s;
    for (int i = 0; i < N_CUT - 1; i++)
        if (shared_bytes(a, &cuts[i]) <= SHARED_BYTES &&
            !is_mostly_edge(cuts[i].rows, a->gradient ? most : a->t) &&
            !is_mostly_edge(cuts[i].step, a->gradient ? least : a->s))
            return cuts[i];
    return cuts[N_CUT - 1];
}

bool attention_panels_has(const attention_t *a)
{
    const cut_t cut = choose(a);
    return shared_bytes(a, &cut) <= SHARED_BYTES;
}

/* Groups of a matrix: those of rows of q, then those of keys. */
static int64_t tiles_of(const attention_t *a, int rows)
{
    return glsl_above(a->t, rows) + (a->gradient ? glsl_above(a->s, rows) : 0);
}

static int64_t groups_of(const attention_t *a, int64_t extent)
{
    return extent / attention_pieces(a) * tiles_of(a, choose(a).rows);
}

void attention_panels_describe(const attention_t *a, int64_t extent, str_t *out)
{
    str_addf(out, "// panels %d, groups %" PRId64 "\n", ACROSS * DOWN, groups_of(a, extent));
}

/* --- Views ------------------------------------------------------------------------------------ */

static bool is_given(const attention_t *a, int view)
{
    return view >= DQ || (!a->gradient && view >= O);
}

typedef void part_fn(const attention_view_t *v, int n, str_t *out);

static void get_part(const attention_view_t *v, int n, str_t *out)
{
    glsl_attention_load(v, "x", "at", n, out);
    str_add(out, "y = x;\n");
}

static void put_part(const attention_view_t *v, int n, str_t *out)
{
    glsl_attention_store(v, "at", "x", n, out);
}

/* Row r's four columns from c on, or as many as there are. */
static void write_parts(const attention_t *a, int view, part_fn *part, str_t *out)
{
    const attention_view_t *v = &a->view[view];
    int64_t rows, cols;
    glsl_attention_shape(a, view, &rows, &cols);
    str_addf(out,
             "    const int at = base_%s + r * %" PRId64 " + c;\n"
             "    if (r < %" PRId64 " && c + 4 <= %" PRId64 ") {\n",
             glsl_attention_name(view), v->row, rows, cols);
    part(v, 4, out);
    if (cols % 4) {
        str_addf(out, "    } else if (r < %" PRId64 ") {\n", rows);
        part(v, (int)(cols % 4), out);
    }
    str_add(out, "    }\n");
}

static void write_view(const attention_t *a, int view, str_t *out)
{
    const char *name = glsl_attention_name(view);
    if (is_given(a, view)) {
        str_addf(out, "void put_%s(int r, int c, vec4 x)\n{\n", name);
        write_parts(a, view, put_part, out);
        str_add(out, "}\n");
    } else {
        str_addf(out, "vec4 get_%s(int r, int c)\n{\n    vec4 y = vec4(0.0);\n", name);
        write_parts(a, view, get_part, out);
        str_add(out, "    return y;\n}\n");
    }
}

static void write_lse(const attention_t *a, str_t *out)
{
    const attention_view_t *v = &a->view[LSE];
    if (a->gradient)
        str_addf(out,
                 "float get_lse(int r)\n{\n    return r < %" PRId64
                 " ? pcp_f32(g%d, base_lse + r * %" PRId64 ") : 0.0;\n}\n",
                 a->t, v->arg, v->row);
    else
        str_addf(out,
                 "void put_lse(int r, float x)\n{\n    if (r < %" PRId64
                 ") pcp_put_f32(g%d, base_lse + r * %" PRId64 ", x);\n}\n",
                 a->t, v->arg, v->row);
}

/* Segments and places of the views, for all functions: of matrix o. */
static void write_places(const attention_t *a, int n_arg, str_t *out)
{
    for (int i = 0; i < n_arg; i++) str_addf(out, "uint g%d;\n", i);
    for (int i = 0; i < a->n_view; i++) str_addf(out, "int base_%s;\n", glsl_attention_name(i));
    str_add(out, "void pcp_find(int o)\n{\n");
    for (int i = 0; i < n_arg; i++) str_addf(out, "    g%d = pcp_segment(%d);\n", i, n_arg + i);
    for (int i = 0; i < a->n_view; i++) {
        const attention_view_t *v = &a->view[i];
        str_addf(out, "    base_%s = args[work.at + %d] + %" PRId64, glsl_attention_name(i), v->arg,
                 v->offset);
        attention_add_place(v, out);
        str_add(out, ";\n");
    }
    str_add(out, "}\n");
}

/* --- The kernel ------------------------------------------------------------------------------- */

/* Of a causal matrix the last rows see most: they begin first. */
static void write_main(const attention_t *a, int64_t extent, str_t *out)
{
    int rows = choose(a).rows;
    int64_t tiles = tiles_of(a, rows), of_rows = glsl_above(a->t, rows);
    str_addf(out,
             "void main()\n{\n"
             "    const uint group = pcp_group();\n"
             "    if (group >= %" PRId64 "u) return;\n"
             "    const int first = (%" PRId64 " - int(group %% %" PRId64 "u)) * %d;\n"
             "    pcp_find(int(group / %" PRId64 "u));\n",
             groups_of(a, extent), of_rows - 1, tiles, rows, tiles);
    if (a->gradient)
        str_addf(out,
                 "    if (first >= 0)\n        pcp_of_rows(first);\n"
                 "    else\n        pcp_of_keys(-%d - first);\n",
                 rows);
    else
        str_add(out, "    pcp_forward(first);\n");
    str_add(out, "}\n");
}

void attention_panels_write(const attention_t *a, int64_t extent, int n_arg, str_t *out)
{
    const cut_t cut = choose(a);
    bool causal = a->how.causal && a->how.offset < a->s;
    const kx_node_t scale = {.kind = KX_NUMBER, .dtype = DT_F32, .f = a->how.scale};
    str_add(out, "#ifdef PANELS\n");
    glsl_define(out, "ACROSS", ACROSS);
    glsl_define(out, "DOWN", DOWN);
    glsl_define(out, "MOST_ROWS", MOST_ROWS);
    glsl_define(out, "ROWS", cut.rows);
    glsl_define(out, "STEP", cut.step);
    glsl_define(out, "N_ROW", a->t);
    glsl_define(out, "N_KEY", a->s);
    glsl_define(out, "D", a->d);
    glsl_define(out, "E", a->e);
    glsl_define(out, "OFFSET", causal ? a->how.offset : 0);
    glsl_define_bool(out, "CAUSAL", causal);
    str_add(out, "#define SCALE ");
    glsl_number(&scale, out);
    str_add(out, "\n");
    if (a->gradient) str_add(out, "#define GRADIENT\n");
    write_places(a, n_arg, out);
    for (int i = 0; i < a->n_view; i++) {
        if (i == LSE)
            write_lse(a, out);
        else
            write_view(a, i, out);
    }
    str_add(out, prelude_glsl_panels_attention_text());
    write_main(a, extent, out);
    str_add(out, "#else\n");
}
