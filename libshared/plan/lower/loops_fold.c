/* Plain loops that fold: reduce of several operands, reduce_window, select_and_scatter, scatter,
 * convolution. */
#include <stdlib.h>

#include "base/mem.h"
#include "ir/build_index.h"
#include "ops/convolution.h"
#include "ops/index.h"
#include "ops/window.h"
#include "plan/kernel/kx_node.h"
#include "plan/lower/loops_in.h"

/* --- Cells that a folding region folds elements into ------------------------------------------ */

typedef struct {
    int n;
    kx_t *cell, *arg, *result; /* arg[2 n]: the region's arguments, cells first */
} fold_t;

static fold_t fold_new(int n)
{
    kx_t *room = mem_calloc(4 * (size_t)n + 1, sizeof *room);
    return (fold_t){n, room, room + n, room + 3 * n};
}

static void fold_fini(fold_t *f)
{
    free(f->cell);
}

/* The cells hold the initial values. */
static fold_t fold_begin(loops_t *l, int n)
{
    fold_t f = fold_new(n);
    for (int k = 0; k < n; k++)
        f.cell[k] = loops_let(l, loops_load(l, l->op->in[n + k], kx_int(l->g, 0)));
    return f;
}

/* Fold in element `at` of each operand, converted to the cell's type; the initial value where
 * `inside` (KX_NONE: always) does not hold. */
static void fold_elements(loops_t *l, fold_t *f, kx_t at, kx_t inside)
{
    for (int k = 0; k < f->n; k++) {
        ir_val_t x = l->op->in[k], init = l->op->in[f->n + k];
        kx_t start = loops_load(l, init, kx_int(l->g, 0)), element = start;
        if (ir_type_count(loops_type(l, x)) > 0)
            element = kx_convert(l->g, loops_load(l, x, at), loops_type(l, init)->dtype);
        f->arg[k] = f->cell[k];
        f->arg[f->n + k] = inside == KX_NONE ? element : kx_select(l->g, inside, element, start);
    }
    loops_region(l, l->op->region[0], f->arg, f->result);
    loops_set(l, f->n, f->cell, f->result);
}

static void fold_end(loops_t *l, fold_t *f)
{
    for (int k = 0; k < f->n; k++) loops_store(l, l->op->out + (ir_val_t)k, l->o, f->cell[k]);
    fold_fini(f);
}

void loops_reduce(loops_t *l)
{
    const ir_type_t *x = loops_type(l, l->op->in[0]);
    int n_kept = 0, n_gone = 0;
    uint32_t reduced = dims_mask(l->op, "dimensions");
    int64_t stride[IR_MAX_RANK], kept[IR_MAX_RANK], kept_stride[IR_MAX_RANK];
    int64_t gone[IR_MAX_RANK], gone_stride[IR_MAX_RANK];
    kx_t place[IR_MAX_RANK], entry[IR_MAX_RANK];
    ir_type_strides(x, stride);
    for (int d = 0; d < x->rank; d++) {
        if (dims_has(reduced, d))
            gone[n_gone] = x->dim[d], gone_stride[n_gone++] = stride[d];
        else
            kept[n_kept] = x->dim[d], kept_stride[n_kept++] = stride[d];
    }
    kx_unlinear(l->g, l->o, n_kept, kept, place);
    fold_t f = fold_begin(l, l->op->n_in / 2);
    kblock_t *outside = loops_over(l, n_gone, gone, entry);
    fold_elements(l, &f,
                  kx_add(l->g, loops_sum(l, n_kept, place, kept_stride),
                         loops_sum(l, n_gone, entry, gone_stride)),
                  KX_NONE);
    l->block = outside;
    fold_end(l, &f);
}

/* --- Windows ---------------------------------------------------------------------------------- */

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

/* Where along one dimension entry e of the window at output p looks (ops/dims.h, window_index): an
 * index of the operand, 0 where *inside does not hold, which this is added to. */
static kx_t window_at(loops_t *l, const window_dim_t *w, kx_t p, kx_t e, kx_t *inside)
{
    kx_graph_t *g = l->g;
    kx_t x = kx_add(g, kx_scale(g, p, w->stride), kx_scale(g, e, w->window_dilation));
    x = kx_addi(g, x, -w->low);
    kx_t in = kx_within(g, x, 0, window_extent(w->size, w->base_dilation));
    kx_t safe = kx_select(g, in, x, kx_int(g, 0));
    if (w->base_dilation > 1) {
        kx_t rest = kx_mod(g, safe, w->base_dilation);
        in = kx_and(g, in, kx_compare(g, CMP_EQ, rest, kx_int(g, 0)));
        safe = kx_div(g, safe, w->base_dilation);
    }
    *inside = kx_and(g, *inside, in);
    return safe;
}

static kx_t window_place(loops_t *l, const window_t *s, const kx_t *p, const kx_t *e, kx_t *inside)
{
    kx_t at[IR_MAX_RANK];
    *inside = kx_number(l->g, DT_I1, 0, 1);
    for (int d = 0; d < s->rank; d++) at[d] = window_at(l, &s->w[d], p[d], e[d], inside);
    return loops_sum(l, s->rank, at, s->stride);
}

void loops_reduce_window(loops_t *l)
{
    window_t s = read_window(l);
    kx_t p[IR_MAX_RANK], e[IR_MAX_RANK], inside;
    kx_unlinear(l->g, l->o, s.rank, loops_type(l, l->op->out)->dim, p);
    fold_t f = fold_begin(l, l->op->n_in / 2);
    kblock_t *outside = loops_over(l, s.rank, s.size, e);
    kx_t at = window_place(l, &s, p, e, &inside);
    fold_elements(l, &f, at, inside);
    l->block = outside;
    fold_end(l, &f);
}

/* Entry e of the window at p: if it lies inside and the one picked so far is not kept, pick it. */
static void pick(loops_t *l, const window_t *s, const kx_t *p, const kx_t *e, kx_t picked)
{
    const ir_op_t *op = l->op;
    kx_graph_t *g = l->g;
    kx_t inside, at = window_place(l, s, p, e, &inside);
    kblock_t *outside = loops_if(l, inside);
    kx_t kept = loops_let(l, kx_number(g, DT_I1, 0, 0)), better;
    kblock_t *within = loops_if(l, kx_compare(g, CMP_GE, picked, kx_int(g, 0)));
    kx_t args[] = {loops_load(l, op->in[0], picked), loops_load(l, op->in[0], at)};
    loops_region(l, op->region[0], args, &better);
    loops_set(l, 1, &kept, &better);
    l->block = within;
    loops_if(l, kx_not(g, kept));
    loops_set(l, 1, &picked, &at);
    l->block = outside;
}

static void fill_with_init(loops_t *l)
{
    const ir_op_t *op = l->op;
    kx_t i;
    int64_t n = ir_type_count(loops_type(l, op->out));
    kblock_t *outside = loops_for(l, n, kx_int(l->g, 0), kx_int(l->g, n), &i);
    loops_store(l, op->out, i, loops_load(l, op->in[2], kx_int(l->g, 0)));
    l->block = outside;
}

void loops_select_and_scatter(loops_t *l)
{
    const ir_op_t *op = l->op;
    const ir_type_t *source = loops_type(l, op->in[1]);
    kx_graph_t *g = l->g;
    kx_t p[IR_MAX_RANK], e[IR_MAX_RANK], from, sum;
    window_t s = read_window(l);
    int64_t n = ir_type_count(source);
    fill_with_init(l);
    loops_for(l, n, kx_int(g, 0), kx_int(g, n), &from);
    kx_unlinear(g, from, s.rank, source->dim, p);
    kx_t picked = loops_let(l, kx_int(g, -1));
    kblock_t *outside = loops_over(l, s.rank, s.size, e);
    pick(l, &s, p, e, picked);
    l->block = outside;
    loops_if(l, kx_compare(g, CMP_GE, picked, kx_int(g, 0)));
    kx_t args[] = {loops_load(l, op->out, picked), loops_load(l, op->in[1], from)};
    loops_region(l, op->region[1], args, &sum);
    loops_store(l, op->out, picked, sum);
}

/* --- scatter ---------------------------------------------------------------------------------- */

/* An element of the index as i64: ui64 ones beyond that are far away. */
static kx_t index_element(loops_t *l, ir_val_t index, kx_t at)
{
    kx_t x = kx_convert(l->g, loops_load(l, index, at), DT_I64);
    if (loops_type(l, index)->dtype != DT_UI64) return x;
    kx_t fits = kx_compare(l->g, CMP_GE, x, kx_int(l->g, 0));
    return kx_select(l->g, fits, x, kx_int(l->g, INT64_MAX));
}

/* The window's start at place p, kept within one window of the operand; far away is far away. */
static void read_starts(loops_t *l, const index_map_t *m, ir_val_t index, const kx_t *p,
                        kx_t *start)
{
    kx_graph_t *g = l->g;
    for (int d = 0; d < m->rank; d++) start[d] = kx_int(g, 0);
    for (int e = 0; e < m->n_start; e++) {
        int64_t d = m->start_map[e];
        kx_t at = kx_addi(g, loops_sum(l, m->n_place, p, m->index_stride), e * m->entry_stride);
        kx_t clamp[] = {kx_int(g, -m->slice[d]), index_element(l, index, at), kx_int(g, m->dim[d])};
        start[d] = kx_map(g, OP_clamp, DT_I64, 3, clamp);
    }
    for (int i = 0; i < m->n_batch; i++) start[m->batch_to[i]] = p[m->batch_from[i]];
}

/* Where the entry w of the window goes, and whether that is inside. */
static kx_t scatter_target(loops_t *l, const index_map_t *m, const kx_t *start, const kx_t *w,
                           const int64_t *stride, kx_t *inside)
{
    kx_t at[IR_MAX_RANK];
    *inside = kx_number(l->g, DT_I1, 0, 1);
    for (int d = 0; d < m->rank; d++) {
        at[d] = start[d];
        for (int k = 0; k < m->n_window; k++)
            if (m->window_to[k] == d) at[d] = kx_add(l->g, at[d], w[k]);
        *inside = kx_and(l->g, *inside, kx_within(l->g, at[d], 0, m->dim[d]));
    }
    return loops_sum(l, m->rank, at, stride);
}

static void combine(loops_t *l, int n, kx_t at, kx_t from)
{
    const ir_op_t *op = l->op;
    fold_t f = fold_new(n);
    for (int k = 0; k < n; k++) {
        f.arg[k] = loops_load(l, op->out + (ir_val_t)k, at);
        f.arg[n + k] = loops_load(l, op->in[n + 1 + k], from);
    }
    loops_region(l, op->region[0], f.arg, f.result);
    for (int k = 0; k < n; k++) f.cell[k] = loops_let(l, f.result[k]);
    for (int k = 0; k < n; k++) loops_store(l, op->out + (ir_val_t)k, at, f.cell[k]);
    fold_fini(&f);
}

static void copy_operands(loops_t *l, int n, int64_t count)
{
    kx_t i;
    for (int k = 0; k < n; k++) {
        kblock_t *outside = loops_for(l, count, kx_int(l->g, 0), kx_int(l->g, count), &i);
        loops_move(l, l->op->out + (ir_val_t)k, i, l->op->in[k], i);
        l->block = outside;
    }
}

void loops_scatter(loops_t *l)
{
    const ir_op_t *op = l->op;
    int n = (op->n_in - 1) / 2;
    const ir_type_t *x = loops_type(l, op->in[0]), *u = loops_type(l, op->in[n + 1]);
    ir_gather_t dims;
    int64_t stride[IR_MAX_RANK];
    kx_t p[IR_MAX_RANK], w[IR_MAX_RANK], start[IR_MAX_RANK], inside;
    ir_scatter_dims(op, x, u, &dims);
    index_map_t m = index_map_new(op, &index_names_scatter, x, loops_type(l, op->in[n]), u,
                                  dims.slice);
    ir_type_strides(x, stride);
    copy_operands(l, n, ir_type_count(x));
    loops_over(l, m.n_place, m.place_dim, p);
    read_starts(l, &m, op->in[n], p, start);
    loops_over(l, m.n_window, m.window_dim, w);
    kx_t at = scatter_target(l, &m, start, w, stride, &inside);
    kx_t from = kx_add(l->g, loops_sum(l, m.n_place, p, m.place_stride),
                       loops_sum(l, m.n_window, w, m.window_stride));
    loops_if(l, inside);
    combine(l, n, at, from);
}

/* --- convolution ------------------------------------------------------------------------------ */

/* Where in the operands the sum over input features starts: *xi, *wi are added to. */
static kx_t convolution_tap(loops_t *l, const conv_t *c, const conv_layout_t *lhs,
                            const conv_layout_t *rhs, const kx_t *p, const kx_t *e, kx_t *xi,
                            kx_t *wi)
{
    kx_graph_t *g = l->g;
    kx_t inside = kx_number(g, DT_I1, 0, 1);
    for (int d = 0; d < c->n_spatial; d++) {
        const window_dim_t *w = &c->w[d];
        kx_t at = window_at(l, w, p[c->out.spatial[d]], e[d], &inside), tap = e[d];
        if (c->reversed[d]) tap = kx_sub(g, kx_int(g, w->window - 1), tap);
        *xi = kx_add(g, *xi, kx_scale(g, at, lhs->spatial[d]));
        *wi = kx_add(g, *wi, kx_scale(g, tap, rhs->spatial[d]));
    }
    return inside;
}

/* sum += x[xi + i lhs] w[wi + i rhs] over the n_in input features i */
static void convolution_sum(loops_t *l, dtype_t wide, int64_t n_in, int64_t lhs, int64_t rhs,
                            kx_t xi, kx_t wi)
{
    kx_graph_t *g = l->g;
    kx_t i;
    loops_for(l, n_in, kx_int(g, 0), kx_int(g, n_in), &i);
    kx_t x = loops_load(l, l->op->in[0], kx_add(g, xi, kx_scale(g, i, lhs)));
    kx_t w = loops_load(l, l->op->in[1], kx_add(g, wi, kx_scale(g, i, rhs)));
    kstmt_t *s = kernel_stmt(l->block, KS_FOLD);
    s->value = kx_map(g, OP_multiply, wide, 2,
                      (kx_t[]){kx_convert(g, x, wide), kx_convert(g, w, wide)});
}

void loops_convolution(loops_t *l)
{
    const ir_op_t *op = l->op;
    const ir_type_t *a = loops_type(l, op->in[0]), *b = loops_type(l, op->in[1]);
    const ir_type_t *y = loops_type(l, op->out);
    kx_graph_t *g = l->g;
    conv_t c = {0};
    kx_t p[IR_MAX_RANK], e[IR_MAX_RANK];
    int64_t size[IR_MAX_RANK];
    conv_read(op, a, b, &c, NULL);
    conv_layout_t lhs = conv_strides(a, &c.lhs, c.n_spatial),
                  rhs = conv_strides(b, &c.rhs, c.n_spatial);
    int64_t n_in = b->dim[c.rhs.a], n_out = y->dim[c.out.b], n_batch = y->dim[c.out.a];
    dtype_t wide = dtype_is_float(y->dtype) ? DT_F64 : DT_UI64;
    for (int d = 0; d < c.n_spatial; d++) size[d] = c.w[d].window;
    kx_unlinear(g, l->o, y->rank, y->dim, p);
    kx_t batch = p[c.out.a], f = p[c.out.b];
    kx_t group = kx_scale(g, kx_div(g, f, n_out / c.feature_groups), n_in * lhs.b);
    kx_t entry = kx_scale(g, kx_div(g, f, n_out / c.batch_groups), n_batch);
    kx_t xi = kx_add(g, group, kx_scale(g, kx_add(g, entry, batch), lhs.a));
    kx_t wi = kx_scale(g, f, rhs.b);
    VEC_PUSH(&l->kernel->acc, ((kacc_t){wide, OP_add}));
    kernel_stmt(l->block, KS_START)->value = kx_number(g, wide, 0, 0);
    kblock_t *outside = loops_over(l, c.n_spatial, size, e);
    loops_if(l, convolution_tap(l, &c, &lhs, &rhs, p, e, &xi, &wi));
    convolution_sum(l, wide, n_in, lhs.b, rhs.a, xi, wi);
    l->block = outside;
    loops_store(l, op->out, l->o, kx_acc(g, 0, wide));
}
