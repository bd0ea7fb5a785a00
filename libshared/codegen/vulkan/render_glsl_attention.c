/* Attention and its gradient as GLSL: eight threads of a subgroup have eight rows of q (of k and v, for
 * their cotangents), one each, and go over the other side eight rows at a time. Each loads one of these;
 * a shuffle gives its numbers to all. No score is ever in memory. Softmax goes along as keys come
 * (Milakov and Gimelshein 2018); sums are f32, in the order of the rows: the same bits in every run.
 * This is the way of processors; beside it stands that of GPUs (render_glsl_attention_panels.c). */
#include <inttypes.h>
#include <stdio.h>

#include "codegen/attention.h"
#include "codegen/vulkan/render_glsl_attention.h"

enum { LANES = ATTENTION_ROWS };

typedef struct {
    const attention_t *a;
    str_t *out;
} attend_t;

/* --- Rows ------------------------------------------------------------------------------------- */

/* const int <name>: where matrix o of a view begins. */
static void point_at(attend_t *self, int view, const char *name)
{
    const attention_view_t *v = &self->a->view[view];
    str_addf(self->out, "    const int %s = a%d + %" PRId64, name, v->arg, v->offset);
    attention_add_place(v, self->out);
    str_add(self->out, ";\n");
}

static bool is_aligned(const attention_view_t *v)
{
    return v->dtype == DT_F32 && v->offset % 4 == 0 && v->outer % 4 == 0 && v->inner % 4 == 0 &&
           v->row % 4 == 0;
}

/* An element as a float; `at` is its place. */
static void write_one(const attention_view_t *v, const char *at, int more, str_t *out)
{
    if (v->dtype == DT_F32)
        str_addf(out, "pcp_f32(g%d, %s + %d)", v->arg, at, more);
    else
        str_addf(out, "pcp_f32_from_%s(uint(m_u16(g%d)[%s + %d]))", dtype_name(v->dtype), v->arg,
                 at, more);
}

void glsl_attention_load(const attention_view_t *v, const char *name, const char *at, int n,
                         str_t *out)
{
    str_addf(out, "const vec4 %s = ", name);
    if (n == 4 && is_aligned(v)) {
        str_addf(out, "pcp_load4(g%d, %s);\n", v->arg, at);
        return;
    }
    str_add(out, "vec4(");
    for (int i = 0; i < 4; i++) {
        str_add(out, i ? ", " : "");
        if (i < n)
            write_one(v, at, i, out);
        else
            str_add(out, "0.0");
    }
    str_add(out, ");\n");
}

void glsl_attention_store(const attention_view_t *v, const char *at, const char *value, int n,
                          str_t *out)
{
    if (n == 4 && is_aligned(v)) {
        str_addf(out, "pcp_store4(g%d, %s, %s);\n", v->arg, at, value);
        return;
    }
    str_add(out, "{ const vec4 y = ");
    str_addf(out, "%s;\n", value);
    for (int i = 0; i < n; i++) {
        char text[8];
        snprintf(text, sizeof text, "y.%c", "xyzw"[i]);
        if (v->dtype == DT_F32) {
            str_addf(out, "pcp_put_f32(g%d, %s + %d, %s);\n", v->arg, at, i, text);
            continue;
        }
        str_addf(out, "m_u16(g%d)[%s + %d] = ", v->arg, at, i);
        glsl_stored(out, v->dtype, DT_F32, false, text);
        str_add(out, ";\n");
    }
    str_add(out, "}\n");
}

/* The numbers of `cols` columns by fours: how many are in the one that begins at column x. */
static int fours(int64_t cols, int64_t x)
{
    return cols - x < 4 ? (int)(cols - x) : 4;
}

/* --- Sums ------------------------------------------------------------------------------------- */

static void zeros(attend_t *self, const char *name, int64_t cols)
{
    for (int64_t x = 0; x < cols; x += 4)
        str_addf(self->out, "vec4 %s%" PRId64 " = vec4(0.0);\n", name, x / 4);
}

/* float <s>0 .. 7: products of the thread's own row (of view `own`, at at_own) with the eight others'. */
static void dots(attend_t *self, const char *s, int own, const char *at_own, int other,
                 const char *at_other, int64_t cols)
{
    int64_t whole = cols - cols % 4;
    char mine[64], theirs[64];
    for (int c = 0; c < LANES; c++) str_addf(self->out, "float %s%d = 0.0;\n", s, c);
    for (int64_t x = 0; x < cols; x = whole && x == 0 ? whole : cols) {
        bool loop = whole > 0 && x == 0;
        if (loop) str_addf(self->out, "for (int x = 0; x < %" PRId64 "; x += 4) {\n", whole);
        if (!loop) str_addf(self->out, "{ const int x = %" PRId64 ";\n", x);
        snprintf(mine, sizeof mine, "%s + x", at_own);
        snprintf(theirs, sizeof theirs, "%s + x", at_other);
        glsl_attention_load(&self->a->view[own], "mine", mine, fours(cols, x), self->out);
        glsl_attention_load(&self->a->view[other], "theirs", theirs, fours(cols, x), self->out);
        for (int i = 0; i < fours(cols, x); i++)
            for (int c = 0; c < LANES; c++)
                str_addf(self->out, "%s%d = fma(mine.%c, pcp_pick(theirs.%c, %du), %s%d);\n", s, c,
                         "xyzw"[i], "xyzw"[i], c, s, c);
        str_add(self->out, "}\n");
    }
}

/* <sum> += <weight>0 .. 7 times the eight others' rows (of a view, at at_other). */
static void add_rows(attend_t *self, const char *sum, const char *weight, int other,
                     const char *at_other, int64_t cols)
{
    char theirs[64];
    for (int64_t x = 0; x < cols; x += 4) {
        snprintf(theirs, sizeof theirs, "%s + %" PRId64, at_other, x);
        str_add(self->out, "{ ");
        glsl_attention_load(&self->a->view[other], "theirs", theirs, fours(cols, x), self->out);
        for (int i = 0; i < fours(cols, x); i++)
            for (int c = 0; c < LANES; c++)
                str_addf(self->out,
                         "%s%" PRId64 ".%c = fma(%s%d, pcp_pick(theirs.%c, %du), %s%" PRId64
                         ".%c);\n",
                         sum, x / 4, "xyzw"[i], weight, c, "xyzw"[i], c, sum, x / 4, "xyzw"[i]);
        str_add(self->out, "}\n");
    }
}

static void give(attend_t *self, int view, const char *at, const char *sum, const char *scale,
                 int64_t cols)
{
    char to[64], value[64];
    for (int64_t x = 0; x < cols; x += 4) {
        snprintf(to, sizeof to, "%s + %" PRId64, at, x);
        snprintf(value, sizeof value, "%s%" PRId64 "%s", sum, x / 4, scale);
        glsl_attention_store(&self->a->view[view], to, value, fours(cols, x), self->out);
    }
}

/* float delta: the row's product of the cotangent and o. */
static void write_delta(attend_t *self, const char *at_g, const char *at_o)
{
    char g[64], y[64];
    str_add(self->out, "float delta = 0.0;\n");
    for (int64_t x = 0; x < self->a->e; x += 4) {
        snprintf(g, sizeof g, "%s + %" PRId64, at_g, x);
        snprintf(y, sizeof y, "%s + %" PRId64, at_o, x);
        str_add(self->out, "{ ");
        glsl_attention_load(&self->a->view[CT], "ct", g, fours(self->a->e, x), self->out);
        glsl_attention_load(&self->a->view[O], "y4", y, fours(self->a->e, x), self->out);
        for (int i = 0; i < fours(self->a->e, x); i++)
            str_addf(self->out, "delta = fma(ct.%c, y4.%c, delta);\n", "xyzw"[i], "xyzw"[i]);
        str_add(self->out, "}\n");
    }
}

/* The keys of a tile of rows, eight at a time: j, and the place of the thread's own of k and v. */
static void begin_keys(attend_t *self)
{
    const attention_t *a = self->a;
    if (a->how.causal)
        str_addf(self->out, "const int end = min(%" PRId64 ", first + %d + %" PRId64 ");\n", a->s,
                 LANES, a->how.offset < a->s ? a->how.offset : a->s);
    else
        str_addf(self->out, "const int end = %" PRId64 ";\n", a->s);
    str_addf(self->out,
             "for (int j = 0; j < end; j += %d) {\n"
             "const int key = min(j + lane, %" PRId64 ");\n"
             "const int at_k = k + key * %" PRId64 ", at_v = v + key * %" PRId64 ";\n",
             LANES, a->s - 1, a->view[K].row, a->view[V].row);
}

/* Does row `row` see key `key` (texts)? As a condition, with what is behind the edge. */
static void sees(attend_t *self, const char *row, const char *key, const char *edge, int64_t n)
{
    const attention_t *a = self->a;
    str_addf(self->out, "%s < %" PRId64, edge, n);
    if (a->how.causal && a->how.offset < a->s)
        str_addf(self->out, " && %s <= %s + %" PRId64, key, row, a->how.offset);
}

/* --- Forward ---------------------------------------------------------------------------------- */

static void forward(attend_t *self)
{
    const attention_t *a = self->a;
    str_addf(self->out, "const int at_q = q + own * %" PRId64 ";\n", a->view[Q].row);
    str_add(self->out, "float most = uintBitsToFloat(0xFF800000u), sum = 0.0;\n");
    zeros(self, "y", a->e);
    begin_keys(self);
    dots(self, "s", Q, "at_q", K, "at_k", a->d);
    str_add(self->out, "float top = most;\n");
    for (int c = 0; c < LANES; c++) {
        char key[16];
        snprintf(key, sizeof key, "j + %d", c);
        str_addf(self->out, "s%d = ", c);
        sees(self, "own", key, key, a->s);
        str_addf(self->out,
                 " ? s%d * scale : uintBitsToFloat(0xFF800000u);\ntop = max(top, s%d);\n", c, c);
    }
    str_add(self->out, "const float fade = pcp_exp_f32(most - top);\nsum *= fade;\nmost = top;\n");
    for (int c = 0; c < LANES; c++)
        str_addf(self->out, "s%d = pcp_exp_f32(s%d - top);\nsum += s%d;\n", c, c, c);
    for (int64_t x = 0; x < a->e; x += 4) str_addf(self->out, "y%" PRId64 " *= fade;\n", x / 4);
    add_rows(self, "y", "s", V, "at_v", a->e);
    str_addf(self->out, "}\nif (row >= %" PRId64 ") return;\n", a->t);
    str_addf(self->out, "const int at_y = y + row * %" PRId64 ";\n", a->view[O].row);
    give(self, O, "at_y", "y", " / sum", a->e);
    str_addf(self->out, "pcp_put_f32(g%d, lse + row * %" PRId64 ", most + pcp_log_f32(sum));\n",
             a->view[LSE].arg, a->view[LSE].row);
}

/* --- Gradient --------------------------------------------------------------------------------- */

/* s, the scores, and z, their cotangents before the softmax, to p and to those of the scores. */
static void write_cotangents(attend_t *self, bool own_row, int64_t n)
{
    for (int c = 0; c < LANES; c++) {
        char other[16], shift[48] = "shift", delta[48] = "delta";
        snprintf(other, sizeof other, "j + %d", c);
        if (!own_row) {
            snprintf(shift, sizeof shift, "pcp_pick(shift, %du)", c);
            snprintf(delta, sizeof delta, "pcp_pick(delta, %du)", c);
        }
        str_addf(self->out, "{ const float at = s%d * scale - %s, less = %s;\ns%d = ", c, shift,
                 delta, c);
        sees(self, own_row ? "own" : other, own_row ? other : "own", other, n);
        str_addf(self->out, " ? pcp_exp_f32(at) : 0.0;\nz%d = s%d * (z%d - less) * scale; }\n", c,
                 c, c);
    }
}

static void backward_rows(attend_t *self)
{
    const attention_t *a = self->a;
    str_addf(self->out,
             "const int first = tile * %d, row = first + lane, own = min(row, %" PRId64 ");\n"
             "const int at_q = q + own * %" PRId64 ", at_g = g + own * %" PRId64
             ", at_y = y + own * %" PRId64 ";\n"
             "const float shift = pcp_f32(g%d, lse + own * %" PRId64 ");\n",
             LANES, a->t - 1, a->view[Q].row, a->view[CT].row, a->view[O].row, a->view[LSE].arg,
             a->view[LSE].row);
    write_delta(self, "at_g", "at_y");
    zeros(self, "dq", a->d);
    begin_keys(self);
    dots(self, "s", Q, "at_q", K, "at_k", a->d);
    dots(self, "z", CT, "at_g", V, "at_v", a->e);
    write_cotangents(self, true, a->s);
    add_rows(self, "dq", "z", K, "at_k", a->d);
    str_addf(self->out, "}\nif (row >= %" PRId64 ") return;\n", a->t);
    str_addf(self->out, "const int to = dq + row * %" PRId64 ";\n", a->view[DQ].row);
    give(self, DQ, "to", "dq", "", a->d);
}

static void backward_keys(attend_t *self)
{
    const attention_t *a = self->a;
    str_addf(self->out,
             "const int first = (tile - %" PRId64
             ") * %d, row = first + lane, own = min(row, %" PRId64 ");\n"
             "const int at_k = k + own * %" PRId64 ", at_v = v + own * %" PRId64 ";\n",
             attention_tiles(a->t), LANES, a->s - 1, a->view[K].row, a->view[V].row);
    zeros(self, "dk", a->d);
    zeros(self, "dv", a->e);
    if (a->how.causal)
        str_addf(self->out, "for (int j = max(first - %" PRId64 ", 0) / %d * %d; ",
                 a->how.offset < a->s ? a->how.offset : a->s, LANES, LANES);
    else
        str_add(self->out, "for (int j = 0; ");
    str_addf(self->out,
             "j < %" PRId64 "; j += %d) {\n"
             "const int other = min(j + lane, %" PRId64 ");\n"
             "const int at_q = q + other * %" PRId64 ", at_g = g + other * %" PRId64
             ", at_y = y + other * %" PRId64 ";\n"
             "const float shift = pcp_f32(g%d, lse + other * %" PRId64 ");\n",
             a->t, LANES, a->t - 1, a->view[Q].row, a->view[CT].row, a->view[O].row,
             a->view[LSE].arg, a->view[LSE].row);
    write_delta(self, "at_g", "at_y");
    dots(self, "s", K, "at_k", Q, "at_q", a->d);
    dots(self, "z", V, "at_v", CT, "at_g", a->e);
    write_cotangents(self, false, a->t);
    add_rows(self, "dk", "z", Q, "at_q", a->d);
    add_rows(self, "dv", "s", CT, "at_g", a->e);
    str_addf(self->out, "}\nif (row >= %" PRId64 ") return;\n", a->s);
    str_addf(self->out, "const int to_k = dk + row * %" PRId64 ", to_v = dv + row * %" PRId64 ";\n",
             a->view[DK].row, a->view[DV].row);
    give(self, DK, "to_k", "dk", "", a->d);
    give(self, DV, "to_v", "dv", "", a->e);
}

const char *glsl_attention_name(int view)
{
    static const char *const names[] = {"q", "k", "v", "y", "lse", "g", "dq", "dk", "dv"};
    return names[view];
}

void glsl_attention_shape(const attention_t *a, int view, int64_t *rows, int64_t *cols)
{
    *rows = view == K || view == V || view == DK || view == DV ? a->s : a->t;
    *cols = view == LSE ? 1 : view == V || view == O || view == CT || view == DV ? a->e : a->d;
}

static void extend(int64_t n, int64_t stride, int64_t *lo, int64_t *hi)
{
    int64_t *end = stride < 0 ? lo : hi;
    *end += (n - 1) * stride;
}

/* Elements [*lo, *hi) of an argument that its views have of `batch` matrices. */
static void find_reach(const attention_t *a, int arg, int64_t batch, int64_t *lo, int64_t *hi)
{
    int64_t rows, cols;
    *lo = *hi = 0;
    for (int i = 0; i < a->n_view; i++) {
        const attention_view_t *v = &a->view[i];
        if (v->arg != arg) continue;
        glsl_attention_shape(a, i, &rows, &cols);
        int64_t first = v->offset, last = v->offset + cols;
        extend(glsl_above(batch, v->n_inner), v->outer, &first, &last);
        extend(batch < v->n_inner ? batch : v->n_inner, v->inner, &first, &last);
        extend(rows, v->row, &first, &last);
        if (*hi == *lo || first < *lo) *lo = first;
        *hi = last > *hi ? last : *hi;
    }
}

/* --- The shader ------------------------------------------------------------------------------- */

static void write_head(attend_t *self, const kernel_t *kernel, int64_t tiles)
{
    const attention_t *a = self->a;
    bool panels = attention_panels_has(a);
    if (panels) attention_panels_describe(a, kernel->extent, self->out);
    int64_t blocks = attention_tiles(a->t > a->s ? a->t : a->s);
    int64_t rounds = blocks * (1 + (a->d + a->e) / 4);
    if (rounds > INT32_MAX) rounds = INT32_MAX;
    str_addf(self->out, "// lanes %d, rounds %" PRId64 ", arguments %zu\n", LANES, rounds,
             kernel->arg.n);
    for (size_t i = 0; i < kernel->arg.n; i++) {
        int64_t size = (int64_t)dtype_bytes(kernel->arg.at[i].dtype), lo, hi;
        find_reach(a, (int)i, kernel->extent / tiles, &lo, &hi);
        str_addf(self->out, "// %s %" PRId64 " %" PRId64 " %" PRId64 "\n",
                 kernel->arg.at[i].written ? "-w" : "r-", size, lo * size, hi * size);
    }
    if (panels) attention_panels_write(a, kernel->extent, (int)kernel->arg.n, self->out);
    str_addf(self->out,
             "void main()\n{\n"
             "    const uint thread = pcp_lane_thread();\n"
             "    const int lane = int(thread %% %du);\n"
             "    if (thread / %du >= uint(work.extent)) return;\n"
             "    const uint piece = uint(work.begin) + thread / %du;\n"
             "    const int o = int(piece / %" PRId64 "u), tile = int(piece %% %" PRId64 "u);\n"
             "    const float scale = ",
             LANES, LANES, LANES, tiles, tiles);
    const kx_node_t scale = {.kind = KX_NUMBER, .dtype = DT_F32, .f = a->how.scale};
    glsl_number(&scale, self->out);
    str_add(self->out, ";\n");
    for (size_t i = 0; i < kernel->arg.n; i++) glsl_argument((int)i, (int)kernel->arg.n, self->out);
}

void render_glsl_attention(const kernel_t *kernel, str_t *out)
{
    const attention_t *a = kernel->attention;
    attend_t self = {a, out};
    write_head(&self, kernel, attention_pieces(a));
    for (int i = 0; i < a->n_view; i++) point_at(&self, i, glsl_attention_name(i));
    if (a->gradient) {
        str_addf(out, "if (tile < %" PRId64 ") {\n", attention_tiles(a->t));
        backward_rows(&self);
        str_add(out, "} else {\n");
        backward_keys(&self);
        str_add(out, "}\n");
    } else {
        str_addf(out,
                 "const int first = tile * %d, row = first + lane, own = min(row, %" PRId64 ");\n",
                 LANES, a->t - 1);
        forward(&self);
    }
    str_add(out, attention_panels_has(a) ? "}\n#endif\n" : "}\n");
}
