/* Attention kernels: sizes, strides and types are written out as numbers; the work is in
 * prelude_attention.h. Keys go in chunks that fit a core's cache, packed where the products want
 * them otherwise than they are stored. */
#include "codegen/attention.h"

#include <inttypes.h>
#include <string.h>

enum {
    ROOM = 768 << 10,  /* bytes of packed keys of a chunk */
    NEAR = 256 << 10,  /* operands whose rows span no more than this are read where they are */
    BLOCK = 64,        /* PCP_BLOCK */
    GROUP = 2 * BLOCK, /* rows that share the packing of keys when there are several chunks */
    WHOLE = 16,        /* a multiple of every target's PCP_LANES and PCP_ROWS */
};

enum { Q, K, V, O, LSE, CT, DQ, DK, DV }; /* views; forward: o and lse are results */

typedef struct {
    const attention_t *a;
    str_t *out;
    int64_t chunk; /* keys */
} attend_t;

bool attention_is_in(const char *text)
{
    return strstr(text, "attention_t") || kept_is_in(text);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static const char *suffix(const attend_t *self, int view)
{
    return dtype_name(self->a->view[view].dtype);
}

void attention_add_place(const attention_view_t *v, str_t *out)
{
    if (v->outer) str_addf(out, " + o / %" PRId64 " * %" PRId64, v->n_inner, v->outer);
    if (v->inner) str_addf(out, " + o %% %" PRId64 " * %" PRId64, v->n_inner, v->inner);
}

/* const T *name: matrix o of a view. */
static void point_at(attend_t *self, int view, const char *name, bool written)
{
    const attention_view_t *v = &self->a->view[view];
    str_addf(self->out, "%s%s *const %s = a%d + %" PRId64, written ? "" : "const ",
             v->dtype == DT_F32 ? "float" : "uint16_t", name, v->arg, v->offset);
    attention_add_place(v, self->out);
    str_add(self->out, ";\n");
}

/* Can rows of the view be operands of products where they lie? `whole`: a size that must not leave
 * parts of vectors or tiles. */
static bool is_direct(const attend_t *self, int view, int64_t rows, int64_t whole)
{
    const attention_view_t *v = &self->a->view[view];
    return v->dtype == DT_F32 && whole % WHOLE == 0 && rows * v->row * 4 <= NEAR;
}

/* `rows` rows of a view from row `from` on as bf16 and woven; NULL: not wanted. */
static void halve(attend_t *self, int view, const char *name, const char *from, const char *rows,
                  int64_t cols, const char *plain, const char *woven, const char *all)
{
    bool keys = strcmp(plain, "0") == 0; /* whose columns are those of a result */
    int64_t row = self->a->view[view].row;
    str_addf(self->out,
             "pcp_halve(%s + %s * %" PRId64 ", %" PRId64 ", %s, %" PRId64
             ", %s, %s, PCP_UP%s(%" PRId64 "), %s);\n",
             name, from, row, row, rows, cols, plain, woven, keys ? "" : "_HALVES", cols, all);
}

/* const float *<name>b, int64_t ld<name>: `rows` rows of view `name` from row i on, zeros behind up
 * to `all`; the array w<name> holds them when they are packed. */
static void load_rows(attend_t *self, int view, const char *name, int64_t cols)
{
    const attention_view_t *v = &self->a->view[view];
    if (self->a->pairs) {
        halve(self, view, name, "i", "rows", cols, "wq", "0", "all");
        str_addf(self->out,
                 "const uint16_t *const qb = wq;\nenum { ldq = PCP_UP_HALVES(%" PRId64 ") };\n",
                 cols);
        return;
    }
    if (is_direct(self, view, self->a->t, self->a->t)) {
        str_addf(self->out, "const float *const %sb = %s + i * %" PRId64 ";\n", name, name, v->row);
        str_addf(self->out, "enum { ld%s = %" PRId64 " };\n", name, v->row);
        return;
    }
    str_addf(self->out,
             "pcp_pack_%s(%s + i * %" PRId64 ", %" PRId64 ", rows, %" PRId64
             ", w%s, PCP_UP(%" PRId64 "), all);\n",
             suffix(self, view), name, v->row, v->row, cols, name, cols);
    str_addf(self->out, "const float *const %sb = w%s;\nenum { ld%s = PCP_UP(%" PRId64 ") };\n",
             name, name, name, cols);
}

static void declare_of(attend_t *self, const char *type, const char *name, int64_t rows,
                       int64_t cols)
{
    str_addf(self->out, "%s %s[%" PRId64 " * PCP_UP(%" PRId64 ")] __attribute__((aligned(64)));\n",
             type, name, rows, cols);
}

/* Rows of bf16, or of their pairs. */
static void declare_halves(attend_t *self, const char *type, const char *name, int64_t rows,
                           int64_t cols)
{
    str_addf(self->out,
             "%s %s[%" PRId64 " * PCP_UP_HALVES(%" PRId64 ")] __attribute__((aligned(64)));\n",
             type, name, rows, cols);
}

static void declare(attend_t *self, const char *name, int64_t rows, int64_t cols)
{
    declare_of(self, "float", name, rows, cols);
}

/* Keys as columns, of pairs: half as many rows. */
static void declare_turned(attend_t *self, const char *name, int64_t keys, int64_t cols)
{
    if (self->a->pairs)
        str_addf(self->out,
                 "pcp_pair_t %s[PCP_UP_PAIRS(%" PRId64 ") * PCP_UP(%" PRId64
                 ")] __attribute__((aligned(64)));\n",
                 name, cols, keys);
    else
        declare(self, name, cols, keys);
}

/* Keys c .. c + n of a view as columns of `to`. */
static void turn_keys(attend_t *self, int view, const char *name, int64_t cols, const char *to)
{
    const attention_view_t *v = &self->a->view[view];
    if (self->a->pairs) {
        str_addf(self->out,
                 "pcp_halve_turned(%s + c * %" PRId64 ", %" PRId64 ", n, %" PRId64
                 ", %s, ldk, part);\n",
                 name, v->row, v->row, cols, to);
        return;
    }
    if (v->dtype == DT_F32) {
        str_addf(self->out,
                 "pcp_turn(%s + c * %" PRId64 ", %" PRId64 ", n, %" PRId64
                 ", %s, ldk, PCP_UP(n));\n",
                 name, v->row, v->row, cols, to);
        return;
    }
    str_addf(self->out,
             "for (int64_t u = 0; u < n; u += PCP_BLOCK) {\n"
             "int64_t m = pcp_least(PCP_BLOCK, n - u);\n"
             "pcp_pack_%s(%s + (c + u) * %" PRId64 ", %" PRId64 ", m, %" PRId64
             ", part, PCP_UP(%" PRId64 "), m);\n",
             dtype_name(v->dtype), name, v->row, v->row, cols, cols);
    str_addf(self->out,
             "pcp_turn(part, PCP_UP(%" PRId64 "), m, %" PRId64 ", %s + u, ldk, PCP_UP(m));\n}\n",
             cols, cols, to);
}

/* The description of a block of rows from i on against keys from c on. */
static void describe(attend_t *self)
{
    const attention_t *a = self->a;
    str_addf(self->out, "pcp_attention_t x = {%" PRId64 ", %" PRId64 ", ", a->d, a->e);
    if (a->how.causal)
        str_addf(self->out, "i + %" PRId64 " - c", a->how.offset);
    else
        str_addf(self->out, "%" PRId64, a->s);
    str_addf(self->out, ", %af};\n", (double)(float)a->how.scale);
}

static int64_t chunk_of(const attention_t *a)
{
    int64_t per_key = a->gradient ? 3 * a->d + 2 * a->e : a->d + a->e;
    if (a->pairs) per_key = a->gradient ? 2 * a->d + 2 * a->e : (a->d + a->e) / 2 + 1;
    int64_t keys = ROOM / 4 / per_key / BLOCK * BLOCK;
    return least(a->s, keys < BLOCK ? BLOCK : keys);
}

/* --- Forward ---------------------------------------------------------------------------------- */

static void forward_keys(attend_t *self, bool v_direct)
{
    const attention_t *a = self->a;
    const attention_view_t *v = &a->view[V];
    str_addf(self->out, "int64_t n = pcp_least(%" PRId64 ", %" PRId64 " - c);\n", self->chunk,
             a->s);
    if (a->how.causal)
        str_addf(self->out, "if (i + rows + %" PRId64 " <= c) break;\n", a->how.offset);
    str_addf(self->out, "if (%d || i == 0) {\n", self->chunk < a->s);
    turn_keys(self, K, "k", a->d, "kt");
    if (a->pairs)
        halve(self, V, "v", "c", "n", a->e, "0", "wv", "PCP_UP_KEYS(n)");
    else if (!v_direct)
        str_addf(self->out,
                 "pcp_pack_%s(v + c * %" PRId64 ", %" PRId64 ", n, %" PRId64 ", wv, PCP_UP(%" PRId64
                 "), n);\n",
                 suffix(self, V), v->row, v->row, a->e, a->e);
    str_add(self->out, "}\n");
    describe(self);
    str_addf(self->out,
             "for (int64_t b = 0; b < all; b += PCP_BLOCK, x.at += PCP_BLOCK)\n"
             "pcp_attend%s(&x, pcp_least(PCP_BLOCK, all - b), n, qb + b * ldq, ldq, kt, ldk, ",
             a->pairs ? "_pairs" : "");
    if (a->pairs)
        str_add(self->out, "wv");
    else if (v_direct)
        str_addf(self->out, "v + c * %" PRId64 ", %" PRId64, v->row, v->row);
    else
        str_addf(self->out, "wv, PCP_UP(%" PRId64 ")", a->e);
    str_addf(self->out, ", os + b * PCP_UP(%" PRId64 "), max + b, sum + b);\n", a->e);
}

static void render_forward(attend_t *self, int64_t group)
{
    const attention_t *a = self->a;
    bool v_direct = is_direct(self, V, a->s, a->e);
    declare_turned(self, "kt", self->chunk + WHOLE, a->d);
    if (a->pairs) {
        declare_halves(self, "uint16_t", "wq", group, a->d);
        declare_of(self, "pcp_pair_t", "wv", self->chunk / 2 + WHOLE, a->e);
    } else {
        declare_of(self, "float", "wq", group, a->d);
        declare(self, "wv", v_direct ? 1 : self->chunk, a->e);
    }
    declare(self, "os", group, a->e);
    str_addf(self->out, "float max[%" PRId64 "], sum[%" PRId64 "];\n", group, group);
    str_add(self->out, "for (int64_t o = begin; o < end; o++) {\n");
    point_at(self, Q, "q", false);
    point_at(self, K, "k", false);
    point_at(self, V, "v", false);
    point_at(self, O, "y", true);
    point_at(self, LSE, "lse", true);
    str_addf(self->out, "for (int64_t i = 0; i < %" PRId64 "; i += %" PRId64 ") {\n", a->t, group);
    str_addf(self->out, "int64_t rows = pcp_least(%" PRId64 ", %" PRId64 " - i);\n", group, a->t);
    str_add(self->out, "int64_t all = PCP_UP_ROWS(rows);\n");
    load_rows(self, Q, "q", a->d);
    str_addf(self->out,
             "for (int64_t u = 0; u < all; u++) max[u] = -__builtin_inff(), sum[u] = 0;\n"
             "pcp_zero(os, all * PCP_UP(%" PRId64 "));\n",
             a->e);
    str_addf(self->out, "for (int64_t c = 0; c < %" PRId64 "; c += %" PRId64 ") {\n", a->s,
             self->chunk);
    forward_keys(self, v_direct);
    str_add(self->out, "}\n");
    str_addf(self->out,
             "for (int64_t u = 0; u < rows; u++) {\n"
             "lse[(i + u) * %" PRId64
             "] = max[u] + pcp_log_f32(sum[u]);\nsum[u] = 1 / sum[u];\n}\n",
             a->view[LSE].row);
    str_addf(self->out,
             "pcp_give_%s(os, PCP_UP(%" PRId64 "), rows, %" PRId64 ", sum, y + i * %" PRId64
             ", %" PRId64 ");\n}\n}\n",
             suffix(self, O), a->e, a->e, a->view[O].row, a->view[O].row);
}

/* --- Gradient --------------------------------------------------------------------------------- */

static void backward_keys(attend_t *self)
{
    const attention_t *a = self->a;
    const attention_view_t *k = &a->view[K];
    str_addf(self->out, "int64_t n = pcp_least(%" PRId64 ", %" PRId64 " - c);\n", self->chunk,
             a->s);
    turn_keys(self, K, "k", a->d, "kt");
    turn_keys(self, V, "v", a->e, "vt");
    if (a->pairs)
        halve(self, K, "k", "c", "n", a->d, "0", "wk", "PCP_UP_KEYS(n)");
    else
        str_addf(self->out,
                 "pcp_pack_%s(k + c * %" PRId64 ", %" PRId64 ", n, %" PRId64 ", wk, PCP_UP(%" PRId64
                 "), n);\n",
                 suffix(self, K), k->row, k->row, a->d, a->d);
    static const char *const zero[] = {"pcp_zero(wdk, PCP_UP_ROWS(n) * PCP_UP(%" PRId64 "));\n"
                                       "pcp_zero(wdv, PCP_UP_ROWS(n) * PCP_UP(%" PRId64 "));\n",
                                       "pcp_zero(wdk, PCP_KEY_SUMS(%" PRId64 ", n, ldk));\n"
                                       "pcp_zero(wdv, PCP_KEY_SUMS(%" PRId64 ", n, ldk));\n"};
    str_addf(self->out, zero[a->pairs], a->d, a->e);
    str_addf(self->out, "const %s keys = {kt, vt, wk, wdk, wdv, n, ldk};\n",
             a->pairs ? "pcp_pair_keys_t" : "pcp_keys_t");
}

/* lse and delta of rows i .. */
static void backward_row_values(attend_t *self)
{
    const attention_t *a = self->a;
    const attention_view_t *o = &a->view[O];
    bool direct = o->dtype == DT_F32;
    if (!direct)
        str_addf(self->out,
                 "pcp_pack_%s(y + i * %" PRId64 ", %" PRId64 ", rows, %" PRId64
                 ", wo, PCP_UP(%" PRId64 "), rows);\n",
                 suffix(self, O), o->row, o->row, a->e, a->e);
    int64_t ct = a->view[CT].row;
    if (a->pairs)
        str_addf(self->out,
                 "pcp_row_products(rows, %" PRId64 ", g + i * %" PRId64 ", %" PRId64 ", ", a->e, ct,
                 ct);
    else
        str_addf(self->out, "pcp_row_products(rows, %" PRId64 ", gb, ldg, ", a->e);
    if (direct)
        str_addf(self->out, "y + i * %" PRId64 ", %" PRId64, o->row, o->row);
    else
        str_addf(self->out, "wo, PCP_UP(%" PRId64 ")", a->e);
    str_addf(self->out,
             ", delta);\n"
             "for (int64_t u = 0; u < rows; u++) shift[u] = lse[(i + u) * %" PRId64 "];\n"
             "for (int64_t u = rows; u < all; u++) shift[u] = delta[u] = 0;\n",
             a->view[LSE].row);
}

/* Rows of q and of the cotangent as the products want them. */
static void backward_operands(attend_t *self)
{
    const attention_t *a = self->a;
    if (!a->pairs) {
        load_rows(self, Q, "q", a->d);
        load_rows(self, CT, "g", a->e);
        return;
    }
    halve(self, Q, "q", "i", "rows", a->d, "wq", "zq", "all");
    halve(self, CT, "g", "i", "rows", a->e, "wg", "zg", "all");
    str_addf(self->out,
             "const pcp_pair_rows_t qs = {wq, zq, PCP_UP_HALVES(%" PRId64
             "), tq}, gs = {wg, zg, PCP_UP_HALVES(%" PRId64 "), tg};\n",
             a->d, a->e);
}

static void backward_rows(attend_t *self)
{
    const attention_t *a = self->a;
    const attention_view_t *dq = &a->view[DQ];
    const char *first = a->how.causal ? "c > %" PRId64 " ? (c - %" PRId64
                                        ") / PCP_BLOCK * PCP_BLOCK : "
                                        "0"
                                      : "0";
    str_add(self->out, "for (int64_t i = ");
    str_addf(self->out, first, a->how.offset, a->how.offset);
    str_addf(self->out, "; i < %" PRId64 "; i += PCP_BLOCK) {\n", a->t);
    str_addf(self->out, "int64_t rows = pcp_least(PCP_BLOCK, %" PRId64 " - i);\n", a->t);
    str_add(self->out, "int64_t all = PCP_UP_ROWS(rows);\n");
    backward_operands(self);
    backward_row_values(self);
    str_addf(self->out,
             "if (c > 0) pcp_pack_%s(dq + i * %" PRId64 ", %" PRId64 ", rows, %" PRId64
             ", wdq, PCP_UP(%" PRId64 "), all);\n"
             "else pcp_zero(wdq, all * PCP_UP(%" PRId64 "));\n",
             suffix(self, DQ), dq->row, dq->row, a->d, a->d, a->d);
    describe(self);
    str_add(self->out,
            a->pairs ? "pcp_attend_back_pairs(&x, &keys, all, &qs, &gs, shift, delta, wdq);\n"
                     : "pcp_attend_back(&x, &keys, all, qb, ldq, gb, ldg, shift, delta, wdq);\n");
    str_addf(self->out,
             "pcp_give_%s(wdq, PCP_UP(%" PRId64 "), rows, %" PRId64 ", 0, dq + i * %" PRId64
             ", %" PRId64 ");\n}\n",
             suffix(self, DQ), a->d, a->d, dq->row, dq->row);
}

static void give_keys(attend_t *self, int view, const char *from, const char *to, int64_t cols)
{
    int64_t row = self->a->view[view].row;
    if (self->a->pairs) {
        str_addf(self->out,
                 "for (int64_t u = 0; u < n; u += PCP_BLOCK) {\n"
                 "int64_t m = pcp_least(PCP_BLOCK, n - u);\n"
                 "const float *const sums = PCP_KEY_ROWS(%s, u, %" PRId64 ", ldk, m, part);\n"
                 "pcp_give_%s(sums, PCP_UP(%" PRId64 "), m, %" PRId64 ", 0, %s + (c + u) * %" PRId64
                 ", %" PRId64 ");\n}\n",
                 from, cols, suffix(self, view), cols, cols, to, row, row);
        return;
    }
    str_addf(self->out,
             "pcp_give_%s(%s, PCP_UP(%" PRId64 "), n, %" PRId64 ", 0, %s + c * %" PRId64
             ", %" PRId64 ");\n",
             suffix(self, view), from, cols, cols, to, row, row);
}

static void render_backward(attend_t *self)
{
    static const char *const names[] = {"q", "k", "v", "y", "lse", "g", "dq", "dk", "dv"};
    const attention_t *a = self->a;
    int64_t keys = (self->chunk + 2 * WHOLE - 1) / WHOLE * WHOLE;
    declare_turned(self, "kt", keys, a->d);
    declare_turned(self, "vt", keys, a->e);
    if (a->pairs)
        declare_of(self, "pcp_pair_t", "wk", self->chunk / 2 + WHOLE, a->d);
    else
        declare(self, "wk", self->chunk, a->d);
    declare(self, "wdk", keys, a->d);
    declare(self, "wdv", keys, a->e);
    if (a->pairs) {
        declare_halves(self, "uint16_t", "wq", BLOCK, a->d);
        declare_halves(self, "uint16_t", "wg", BLOCK, a->e);
        declare_halves(self, "pcp_pair_t", "zq", BLOCK / 2, a->d);
        declare_halves(self, "pcp_pair_t", "zg", BLOCK / 2, a->e);
        str_addf(self->out,
                 "pcp_pair_t tq[PCP_TURNED(%" PRId64 ")] __attribute__((aligned(64)));\n"
                 "pcp_pair_t tg[PCP_TURNED(%" PRId64 ")] __attribute__((aligned(64)));\n",
                 a->d, a->e);
    } else {
        declare_of(self, "float", "wq", BLOCK, a->d);
        declare_of(self, "float", "wg", BLOCK, a->e);
    }
    declare(self, "wo", a->view[O].dtype == DT_F32 ? 1 : BLOCK, a->e);
    declare(self, "wdq", BLOCK, a->d);
    str_add(self->out, "float shift[PCP_BLOCK], delta[PCP_BLOCK];\n");
    str_add(self->out, "for (int64_t o = begin; o < end; o++) {\n");
    for (int i = Q; i <= DV; i++) point_at(self, i, names[i], i >= DQ);
    str_addf(self->out, "for (int64_t c = 0; c < %" PRId64 "; c += %" PRId64 ") {\n", a->s,
             self->chunk);
    backward_keys(self);
    backward_rows(self);
    give_keys(self, DK, "wdk", "dk", a->d);
    give_keys(self, DV, "wdv", "dv", a->e);
    str_add(self->out, "}\n}\n");
}

void attention_render(const kernel_t *kernel, str_t *out)
{
    attend_t self = {kernel->attention, out, chunk_of(kernel->attention)};
    const attention_t *a = self.a;
    int64_t wide = a->d > a->e ? a->d : a->e;
    str_addf(out, "enum { ldk = PCP_UP(%" PRId64 ") };\n", self.chunk + WHOLE);
    declare(&self, "part", a->view[K].dtype == DT_F32 && !a->pairs ? 1 : BLOCK, wide);
    if (a->pairs) str_add(out, "PCP_BEGIN_TILES;\n");
    if (a->gradient)
        render_backward(&self);
    else
        render_forward(&self, self.chunk < a->s ? GROUP : BLOCK);
    if (a->pairs) str_add(out, "PCP_END_TILES;\n");
}
