/* Plain loops that fold: reduce of several operands, reduce_window, select_and_scatter, scatter,
 * convolution. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/loops_in.h"
#include "codegen/render_expr.h"
#include "ir/build_index.h"
#include "ops/convolution.h"
#include "ops/index.h"
#include "ops/window.h"

/* --- Accumulators c0.. and elements x0.. of a folding region ---------------------------------- */

/* Texts "c0", .., "x0", ..: the region's arguments; the first n are also its results. */
typedef struct {
    char (*name)[16];
    const char **text;
} names_t;

static names_t fold_names(int n)
{
    names_t s = {mem_calloc(2 * (size_t)n, sizeof *s.name),
                 mem_calloc(2 * (size_t)n, sizeof *s.text)};
    for (int k = 0; k < 2 * n; k++) {
        snprintf(s.name[k], sizeof s.name[k], "%c%d", k < n ? 'c' : 'x', k % n);
        s.text[k] = s.name[k];
    }
    return s;
}

static void names_fini(names_t *s)
{
    free(s->name);
    free(s->text);
}

static void declare_accumulators(loops_t *l, int n)
{
    char buf[LOOPS_NAME];
    for (int k = 0; k < n; k++) {
        ir_val_t init = l->op->in[n + k];
        str_addf(l->out, "%s c%d = %s;\n", render_type(loops_type(l, init)->dtype), k,
                 loops_load(l, init, "0", buf));
    }
}

/* x<k> = element `at` of operand k, converted to the accumulator's type; the initial value where
 * `guard` (NULL: always) does not hold. */
static void declare_elements(loops_t *l, int n, const char *guard)
{
    char x[LOOPS_NAME], init[LOOPS_NAME];
    for (int k = 0; k < n; k++) {
        dtype_t from = loops_type(l, l->op->in[k])->dtype;
        dtype_t to = loops_type(l, l->op->in[n + k])->dtype;
        loops_load(l, l->op->in[k], "at", x);
        str_addf(l->out, "const %s x%d = ", render_type(to), k);
        if (guard)
            str_addf(l->out, "!%s ? %s : ", guard, loops_load(l, l->op->in[n + k], "0", init));
        if (from == to)
            str_add(l->out, x);
        else
            render_convert(l->out, to, from, x);
        str_add(l->out, ";\n");
    }
}

static void store_accumulators(loops_t *l, int n)
{
    char name[16];
    for (int k = 0; k < n; k++) {
        snprintf(name, sizeof name, "c%d", k);
        loops_store(l, l->op->out + (ir_val_t)k, "o", name);
    }
}

static void fold_elements(loops_t *l, int n, const char *guard)
{
    names_t names = fold_names(n);
    declare_elements(l, n, guard);
    loops_region(l, l->op->region[0], names.text, names.text);
    names_fini(&names);
}

void loops_reduce(loops_t *l)
{
    const ir_type_t *x = loops_type(l, l->op->in[0]);
    int n = l->op->n_in / 2, n_kept = 0, n_gone = 0;
    uint32_t reduced = dims_mask(l->op, "dimensions");
    int64_t stride[IR_MAX_RANK], kept[IR_MAX_RANK], kept_stride[IR_MAX_RANK];
    int64_t gone[IR_MAX_RANK], gone_stride[IR_MAX_RANK];
    ir_type_strides(x, stride);
    for (int d = 0; d < x->rank; d++) {
        if (dims_has(reduced, d))
            gone[n_gone] = x->dim[d], gone_stride[n_gone++] = stride[d];
        else
            kept[n_kept] = x->dim[d], kept_stride[n_kept++] = stride[d];
    }
    loops_digits(l, "p", "o", n_kept, kept);
    declare_accumulators(l, n);
    loops_open(l, "r", n_gone, gone);
    str_add(l->out, "const int64_t at = ");
    loops_offset(l, "p", n_kept, kept_stride);
    str_add(l->out, " + ");
    loops_offset(l, "r", n_gone, gone_stride);
    str_add(l->out, ";\n");
    fold_elements(l, n, NULL);
    loops_close(l, n_gone);
    store_accumulators(l, n);
}

/* --- Windows ---------------------------------------------------------------------------------- */

/* inside, at: where entry w.. of the window at output p.. looks (ops/dims.h, window_index). */
static void write_entry(loops_t *l, int rank, const window_dim_t *w, const int64_t *stride)
{
    str_add(l->out, "int64_t at = 0; _Bool inside = 1;\n");
    for (int d = 0; d < rank; d++) {
        str_addf(l->out,
                 "{ const int64_t e = p%d * %" PRId64 " + w%d * %" PRId64 " - %" PRId64 ";\n", d,
                 w[d].stride, d, w[d].window_dilation, w[d].low);
        str_addf(l->out,
                 "inside &= e >= 0 && e %% %" PRId64 " == 0 && e / %" PRId64 " < %" PRId64
                 "; at += e / %" PRId64 " * %" PRId64 "; }\n",
                 w[d].base_dilation, w[d].base_dilation, w[d].size, w[d].base_dilation, stride[d]);
    }
}

typedef struct {
    int rank;
    window_dim_t w[IR_MAX_RANK];
    int64_t size[IR_MAX_RANK], stride[IR_MAX_RANK];
} window_t;

static window_t read_window(const loops_t *l)
{
    window_t s = {.rank = loops_type(l, l->op->in[0])->rank};
    window_read(l->op, loops_type(l, l->op->in[0]), s.w, NULL);
    for (int d = 0; d < s.rank; d++) s.size[d] = s.w[d].window;
    ir_type_strides(loops_type(l, l->op->in[0]), s.stride);
    return s;
}

void loops_reduce_window(loops_t *l)
{
    int n = l->op->n_in / 2;
    window_t s = read_window(l);
    loops_digits(l, "p", "o", s.rank, loops_type(l, l->op->out)->dim);
    declare_accumulators(l, n);
    loops_open(l, "w", s.rank, s.size);
    write_entry(l, s.rank, s.w, s.stride);
    fold_elements(l, n, "inside");
    loops_close(l, s.rank);
    store_accumulators(l, n);
}

void loops_select_and_scatter(loops_t *l)
{
    const ir_op_t *op = l->op;
    const ir_type_t *source = loops_type(l, op->in[1]);
    const char *type = render_type(source->dtype), *kept[] = {"kept"}, *sum[] = {"sum"};
    char x[2][LOOPS_NAME], init[LOOPS_NAME];
    window_t s = read_window(l);
    str_addf(l->out, "for (int64_t i = 0; i < %" PRId64 "; i++) ",
             ir_type_count(loops_type(l, op->out)));
    loops_store(l, op->out, "i", loops_load(l, op->in[2], "0", init));
    str_addf(l->out, "for (int64_t s = 0; s < %" PRId64 "; s++) {\n", ir_type_count(source));
    loops_digits(l, "p", "s", s.rank, source->dim);
    str_add(l->out, "int64_t picked = -1;\n");
    loops_open(l, "w", s.rank, s.size);
    write_entry(l, s.rank, s.w, s.stride);
    str_add(l->out, "_Bool kept = 0;\nif (!inside) continue;\nif (picked >= 0)\n");
    loops_load(l, op->in[0], "picked", x[0]);
    loops_load(l, op->in[0], "at", x[1]);
    loops_region(l, op->region[0], (const char *const[]){x[0], x[1]}, kept);
    str_add(l->out, "if (!kept) picked = at;\n");
    loops_close(l, s.rank);
    str_addf(l->out, "if (picked < 0) continue;\n%s sum;\n", type);
    loops_load(l, op->out, "picked", x[0]);
    loops_load(l, op->in[1], "s", x[1]);
    loops_region(l, op->region[1], (const char *const[]){x[0], x[1]}, sum);
    loops_store(l, op->out, "picked", "sum");
    str_add(l->out, "}\n");
}

/* --- scatter ---------------------------------------------------------------------------------- */

/* s<d>: the window's start, kept within one window of the operand; far away is far away. */
static void write_starts(loops_t *l, const index_map_t *m, ir_val_t index)
{
    char load[LOOPS_NAME];
    dtype_t dtype = loops_type(l, index)->dtype;
    for (int d = 0; d < m->rank; d++) str_addf(l->out, "int64_t s%d = 0;\n", d);
    for (int e = 0; e < m->n_start; e++) {
        int64_t d = m->start_map[e];
        str_add(l->out, "{ const int64_t i = ");
        loops_offset(l, "p", m->n_place, m->index_stride);
        str_addf(l->out, " + %" PRId64 ";\n", e * m->entry_stride);
        loops_load(l, index, "i", load);
        str_addf(l->out, "s%" PRId64 " = ", d);
        if (dtype == DT_UI64) str_addf(l->out, "%s >> 63 ? INT64_MAX : (int64_t)", load);
        str_addf(l->out, "%s;\n", load);
        str_addf(l->out,
                 "s%" PRId64 " = s%" PRId64 " > %" PRId64 " ? %" PRId64 " : s%" PRId64
                 " < -%" PRId64 " ? -%" PRId64 " : s%" PRId64 "; }\n",
                 d, d, m->dim[d], m->dim[d], d, m->slice[d], m->slice[d], d);
    }
    for (int i = 0; i < m->n_batch; i++)
        str_addf(l->out, "s%" PRId64 " = p%" PRId64 ";\n", m->batch_to[i], m->batch_from[i]);
}

/* at, from: where the update element p.., w.. goes and lies; leaves out those outside. */
static void write_target(loops_t *l, const index_map_t *m, const int64_t *stride)
{
    str_add(l->out, "int64_t at = 0; _Bool inside = 1;\n");
    for (int d = 0; d < m->rank; d++) {
        str_addf(l->out, "{ const int64_t e = s%d", d);
        for (int w = 0; w < m->n_window; w++)
            if (m->window_to[w] == d) str_addf(l->out, " + w%d", w);
        str_addf(l->out, "; inside &= e >= 0 && e < %" PRId64 "; at += e * %" PRId64 "; }\n",
                 m->dim[d], stride[d]);
    }
    str_add(l->out, "const int64_t from = ");
    loops_offset(l, "p", m->n_place, m->place_stride);
    str_add(l->out, " + ");
    loops_offset(l, "w", m->n_window, m->window_stride);
    str_add(l->out, ";\nif (!inside) continue;\n");
}

static void write_combine(loops_t *l, int n)
{
    const ir_op_t *op = l->op;
    names_t names = fold_names(n);
    char buf[LOOPS_NAME];
    for (int k = 0; k < n; k++) {
        ir_val_t y = op->out + (ir_val_t)k, u = op->in[n + 1 + k];
        const char *type = render_type(loops_type(l, y)->dtype);
        str_addf(l->out, "%s c%d = %s;\n", type, k, loops_load(l, y, "at", buf));
        str_addf(l->out, "const %s x%d = %s;\n", type, k, loops_load(l, u, "from", buf));
    }
    loops_region(l, op->region[0], names.text, names.text);
    for (int k = 0; k < n; k++) loops_store(l, op->out + (ir_val_t)k, "at", names.text[k]);
    names_fini(&names);
}

void loops_scatter(loops_t *l)
{
    const ir_op_t *op = l->op;
    int n = (op->n_in - 1) / 2;
    const ir_type_t *x = loops_type(l, op->in[0]), *u = loops_type(l, op->in[n + 1]);
    ir_gather_t dims;
    int64_t stride[IR_MAX_RANK];
    ir_scatter_dims(op, x, u, &dims);
    index_map_t m = index_map_new(op, &index_names_scatter, x, loops_type(l, op->in[n]), u,
                                  dims.slice);
    ir_type_strides(x, stride);
    for (int k = 0; k < n; k++)
        str_addf(l->out, "for (int64_t i = 0; i < %" PRId64 "; i++) a%d[i] = a%d[i];\n",
                 ir_type_count(x), loops_arg(l, op->out + (ir_val_t)k), loops_arg(l, op->in[k]));
    loops_open(l, "p", m.n_place, m.place_dim);
    write_starts(l, &m, op->in[n]);
    loops_open(l, "w", m.n_window, m.window_dim);
    str_add(l->out, "do {\n");
    write_target(l, &m, stride);
    write_combine(l, n);
    str_add(l->out, "} while (0);\n");
    loops_close(l, m.n_window);
    loops_close(l, m.n_place);
}

/* --- convolution ------------------------------------------------------------------------------ */

/* Where in the operands the sum over input features starts: xi, wi; taps outside are left out. */
static void write_tap(loops_t *l, const conv_t *c, const conv_layout_t *lhs,
                      const conv_layout_t *rhs)
{
    str_add(l->out, "int64_t xi = x, wi = w; _Bool inside = 1;\n");
    for (int d = 0; d < c->n_spatial; d++) {
        const window_dim_t *w = &c->w[d];
        str_addf(l->out,
                 "{ const int64_t e = p%" PRId64 " * %" PRId64 " + w%d * %" PRId64 " - %" PRId64
                 ";\ninside &= e >= 0 && e %% %" PRId64 " == 0 && e / %" PRId64 " < %" PRId64 ";\n",
                 c->out.spatial[d], w->stride, d, w->window_dilation, w->low, w->base_dilation,
                 w->base_dilation, w->size);
        str_addf(l->out, "xi += e / %" PRId64 " * %" PRId64 "; ", w->base_dilation,
                 lhs->spatial[d]);
        if (c->reversed[d])
            str_addf(l->out, "wi += (%" PRId64 " - w%d) * %" PRId64 "; }\n", w->window - 1, d,
                     rhs->spatial[d]);
        else
            str_addf(l->out, "wi += w%d * %" PRId64 "; }\n", d, rhs->spatial[d]);
    }
    str_add(l->out, "if (inside)\n");
}

void loops_convolution(loops_t *l)
{
    const ir_op_t *op = l->op;
    const ir_type_t *a = loops_type(l, op->in[0]), *b = loops_type(l, op->in[1]);
    const ir_type_t *y = loops_type(l, op->out);
    conv_t c = {0};
    char p[LOOPS_NAME], q[LOOPS_NAME];
    int64_t size[IR_MAX_RANK];
    conv_read(op, a, b, &c, NULL);
    conv_layout_t lhs = conv_strides(a, &c.lhs, c.n_spatial),
                  rhs = conv_strides(b, &c.rhs, c.n_spatial);
    int64_t n_in = b->dim[c.rhs.a], n_out = y->dim[c.out.b], n_batch = y->dim[c.out.a];
    const char *type = dtype_is_float(y->dtype) ? "double" : "uint64_t";
    for (int d = 0; d < c.n_spatial; d++) size[d] = c.w[d].window;
    loops_digits(l, "p", "o", y->rank, y->dim);
    str_addf(l->out, "const int64_t b = p%" PRId64 ", f = p%" PRId64 ";\n", c.out.a, c.out.b);
    str_addf(l->out,
             "const int64_t x = f / %" PRId64 " * %" PRId64 " + (f / %" PRId64 " * %" PRId64
             " + b) * %" PRId64 ";\n",
             n_out / c.feature_groups, n_in * lhs.b, n_out / c.batch_groups, n_batch, lhs.a);
    str_addf(l->out, "const int64_t w = f * %" PRId64 ";\n%s sum = 0;\n", rhs.b, type);
    loops_open(l, "w", c.n_spatial, size);
    write_tap(l, &c, &lhs, &rhs);
    str_addf(l->out,
             "for (int64_t i = 0; i < %" PRId64 "; i++, xi += %" PRId64 ", wi += %" PRId64 ")\n",
             n_in, lhs.b, rhs.a);
    str_addf(l->out, "sum += (%s)%s * (%s)%s;\n", type, loops_load(l, op->in[0], "xi", p), type,
             loops_load(l, op->in[1], "wi", q));
    loops_close(l, c.n_spatial);
    loops_store_as(l, op->out, "o", dtype_is_float(y->dtype) ? DT_F64 : DT_UI64, "sum");
}
