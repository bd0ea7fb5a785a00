/* Reverse rules of reduce_window and select_and_scatter. */
#include "ops/window.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ir/build_index.h"
#include "ops/common.h"
#include "ops/fold_vjp.h"

typedef struct {
    vjp_t *v;
    ir_type_t x; /* in the compute type of the rules */
    ir_window_t dims;
    window_dim_t w[IR_MAX_RANK];
} rule_t;

/* y = sum over windows. With D(n, k) = (n - 1) k + 1, dilate ct by the stride and slide the same
 * window over it: low D(w, r) - 1 - lo, high D(n, b) + D(w, r) - 1 - D(m, s) - low; every b-th
 * output. */
static void vjp_sum(rule_t *r)
{
    ir_fn_t *fn = r->v->fn;
    int64_t low[IR_MAX_RANK], high[IR_MAX_RANK], interior[IR_MAX_RANK];
    ir_window_t back = r->dims;
    for (int d = 0; d < r->x.rank; d++) {
        const window_dim_t *w = &r->w[d];
        int64_t extent = window_extent(w->window, w->window_dilation) - 1;
        int64_t stride = w->out > 1 ? w->stride : 1;
        low[d] = extent - w->low;
        high[d] = window_extent(w->size, w->base_dilation) + extent -
                  window_extent(w->out, stride) - low[d];
        interior[d] = stride - 1;
        back.stride[d] = w->base_dilation;
        back.base_dilation[d] = 1;
        back.low[d] = back.high[d] = 0;
    }
    ir_val_t zero = ir_scalar(fn, r->x.dtype, 0);
    ir_val_t in[2] = {ir_pad(fn, vjp_ct(r->v, 0), zero, low, high, interior), zero};
    ir_region_t *add = ir_reducer(fn, OP_add, r->x.dtype);
    ir_op_t *op = ir_reduce_window(fn, 1, in, &back, add);
    vjp_give(r->v, 0, op ? op->out : IR_NONE);
}

/* y = max over windows: ct to the first winner of each. */
static void vjp_extreme(rule_t *r, const char *keeps)
{
    ir_fn_t *fn = r->v->fn;
    ir_val_t zero = ir_scalar(fn, r->x.dtype, 0);
    ir_region_t *select = ir_comparator(fn, keeps, r->x.dtype);
    ir_region_t *add = ir_reducer(fn, OP_add, r->x.dtype);
    vjp_give(
        r->v, 0,
        ir_select_and_scatter(fn, vjp_in(r->v, 0), vjp_ct(r->v, 0), zero, &r->dims, select, add));
}

/* The dimension of a cumulative op (window as long as the operand, all but one entry padded on one
 * side) or -1. *forward: entry i sees 0..i; otherwise i..n-1. */
static int cumulative_dim(const rule_t *r, bool *forward)
{
    int found = -1;
    for (int d = 0; d < r->x.rank; d++) {
        const window_dim_t *w = &r->w[d];
        bool plain = w->stride == 1 && w->base_dilation == 1 && w->window_dilation == 1;
        if (plain && w->window == 1 && w->low == 0 && w->high == 0) continue;
        if (found >= 0 || !plain || w->window != w->size || w->low + w->high != w->size - 1 ||
            (w->low != 0 && w->high != 0))
            return -1;
        found = d;
        *forward = w->high == 0;
    }
    return found;
}

/* x moved by n places along dim, `fill` entering. */
static ir_val_t shifted(ir_fn_t *fn, ir_val_t x, int dim, int64_t n, double fill)
{
    if (x == IR_NONE) return x;
    int64_t low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0};
    low[dim] = n, high[dim] = -n;
    return ir_pad(fn, x, ir_scalar(fn, ir_type_of(fn, x)->dtype, fill), low, high, NULL);
}

/* y_i = y_{i-1} x_i: dx_i = y_{i-1} t_i with t_i = ct_i + x_{i+1} t_{i+1}; the recurrence is solved
 * by doubling (Hillis and Steele), without dividing, so zeros are safe. */
static void vjp_cumulative_product(rule_t *r, int dim, bool forward)
{
    ir_fn_t *fn = r->v->fn;
    int64_t one = forward ? 1 : -1;
    ir_val_t a = shifted(fn, vjp_in(r->v, 0), dim, -one, 0), t = vjp_ct(r->v, 0);
    for (int64_t s = 1; s < r->x.dim[dim]; s *= 2) {
        t = ir_op2(fn, OP_add, t, ir_op2(fn, OP_multiply, a, shifted(fn, t, dim, -one * s, 0)));
        a = ir_op2(fn, OP_multiply, a, shifted(fn, a, dim, -one * s, 0));
    }
    ir_val_t before = shifted(fn, vjp_wide(fn, r->v->op->out), dim, one, 1);
    vjp_give(r->v, 0, ir_op2(fn, OP_multiply, before, t));
}

/* Operand i was padded into `source` with its initial value: the pad's own rule splits the
 * cotangent. */
static int back_through_pad(rule_t *r, int i, ir_val_t source, ir_val_t ct, ir_val_t init_ct,
                            err_t *err)
{
    vjp_t *v = r->v;
    int init = v->op->n_in / 2 + i;
    ir_val_t part[2] = {IR_NONE, IR_NONE};
    bool need[2] = {v->need[i], v->need[init]};
    vjp_t sub = *v;
    sub.op = ir_def(v->fn, source), sub.ct = &ct, sub.need = need, sub.in_ct = part;
    if (ct != IR_NONE && op_pad.vjp(&sub, err) < 0) return -1;
    v->in_ct[i] = part[0];
    if (!v->need[init]) return 0;
    if (part[1] != IR_NONE && init_ct != IR_NONE)
        v->in_ct[init] = ir_op2(v->fn, OP_add, init_ct, part[1]);
    else
        v->in_ct[init] = part[1] != IR_NONE ? part[1] : init_ct;
    return 0;
}

/* Any reducer: pad and dilate explicitly, then fold one strided box per window entry. */
static int vjp_any(rule_t *r, err_t *err)
{
    vjp_t *v = r->v;
    ir_fn_t *fn = v->fn;
    int n = v->op->n_in / 2, rank = r->x.rank, status;
    int64_t interior[IR_MAX_RANK], k[IR_MAX_RANK] = {0};
    int64_t n_piece = 1;
    for (int d = 0; d < rank && n_piece <= FOLD_VJP_MAX; d++) n_piece *= r->dims.size[d];
    if (n_piece > FOLD_VJP_MAX) n_piece = FOLD_VJP_MAX + 1; /* fold_vjp refuses by name */
    ir_val_t *source = mem_calloc(3 * (size_t)n, sizeof *source), *ct = source + n;
    fold_piece_t *pieces = mem_calloc((size_t)n_piece + 1, sizeof *pieces);
    for (int d = 0; d < rank; d++) interior[d] = r->w[d].base_dilation - 1;
    for (int i = 0; i < n; i++)
        source[i] = ir_pad(fn, v->op->in[i], v->op->in[n + i], r->dims.low, r->dims.high, interior);
    for (int64_t i = 0; i < n_piece; i++) {
        for (int d = 0; d < rank; d++) {
            pieces[i].stride[d] = r->w[d].stride;
            pieces[i].start[d] = k[d] * r->w[d].window_dilation;
            pieces[i].limit[d] = pieces[i].start[d] + window_extent(r->w[d].out, r->w[d].stride);
        }
        dims_next(rank, r->dims.size, k);
    }
    status = vjp_done(v, err);
    if (status == 0) status = fold_vjp(v, n, source, (int)n_piece, pieces, ct, ct + n, err);
    for (int i = 0; status == 0 && i < n; i++)
        status = back_through_pad(r, i, source[i], ct[i], ct[n + i], err);
    free(pieces);
    free(source);
    return status < 0 ? -1 : vjp_done(v, err);
}

/* The initial value is the constant 1, as the recurrence of a cumulative product takes it to be. */
static bool starts_at_one(const vjp_t *v)
{
    const tensor_t *init = ir_const_of(v->fn, v->op->in[1]);
    return init && tensor_get_f64(init, 0) == 1;
}

int vjp_reduce_window(vjp_t *v, err_t *err)
{
    rule_t r = {.v = v, .x = *op_in_type(v->fn, v->op, 0)};
    bool forward = true, dilated = false;
    if (window_read(v->op, &r.x, r.w, err) < 0) return -1;
    ir_window_dims(v->op, r.x.rank, &r.dims);
    if (dtype_is_narrow(r.x.dtype)) r.x.dtype = DT_F32;
    for (int d = 0; d < r.x.rank; d++)
        dilated |= r.w[d].base_dilation > 1 || r.w[d].window_dilation > 1;
    if (ir_type_count(ir_type_of(v->fn, v->op->out)) == 0) return vjp_done(v, err);
    op_code_t reducer = v->op->n_in == 2 ? ir_reducer_op(v->op->region[0]) : OP_invalid;
    int n = v->op->n_in / 2, cumulative = cumulative_dim(&r, &forward);
    for (int k = 0; k < n; k++)
        if (v->need[n + k]) return vjp_any(&r, err); /* the short rules are for constant inits */
    if (reducer == OP_add)
        vjp_sum(&r);
    else if (reducer == OP_maximum && !dilated)
        vjp_extreme(&r, "GE");
    else if (reducer == OP_minimum && !dilated)
        vjp_extreme(&r, "LE");
    else if (reducer == OP_multiply && cumulative >= 0 && starts_at_one(v))
        vjp_cumulative_product(&r, cumulative, forward);
    else
        return vjp_any(&r, err);
    return vjp_done(v, err);
}

/* --- select_and_scatter: ct at each window's pick goes to that window's source. The picks come
 * from a reduce_window over (element, its number), -1 standing for padding. --- */

/* (a, i, b, j) -> (a, i) when j < 0, or i >= 0 and select keeps a; else (b, j) */
static ir_region_t *picker(ir_fn_t *fn, const ir_region_t *select, dtype_t dtype, err_t *err)
{
    ir_type_t e = ir_type_scalar(dtype), number = ir_type_scalar(DT_I64);
    ir_type_t types[4] = {e, number, e, number};
    ir_clone_t clone = {.from = fn, .to = fn};
    clone.map = mem_calloc(fn->n_value, sizeof *clone.map);
    for (uint32_t i = 0; i < fn->n_value; i++) clone.map[i] = i;
    ir_region_t *saved, *region = ir_region_begin(fn, 4, types, &saved);
    ir_val_t a = region->arg, i = a + 1, b = a + 2, j = a + 3;
    clone.map[select->arg] = a;
    clone.map[select->arg + 1] = b;
    int status = ir_clone_ops(&clone, select, err);
    ir_val_t zero = ir_scalar(fn, DT_I64, 0), kept = clone.map[select->result[0]];
    free(clone.map);
    ir_val_t have_a = ir_compare(fn, "GE", i, zero), no_b = ir_compare(fn, "LT", j, zero);
    ir_val_t first = ir_op2(fn, OP_or, no_b, ir_op2(fn, OP_and, have_a, kept));
    ir_val_t result[2] = {ir_select(fn, first, a, b), ir_select(fn, first, i, j)};
    ir_region_end(fn, region, 2, result, saved);
    return status < 0 || fn->err.code ? NULL : region;
}

static ir_val_t picked_numbers(vjp_t *v, const ir_type_t *x, err_t *err)
{
    ir_fn_t *fn = v->fn;
    ir_window_t dims;
    ir_window_dims(v->op, x->rank, &dims);
    ir_type_t numbers = ir_type_with(*x, DT_I64), flat = {.dtype = DT_I64, .rank = 1};
    flat.dim[0] = ir_type_count(x);
    ir_val_t in[4] = {v->op->in[0], ir_reshape(fn, ir_iota(fn, &flat, 0), &numbers),
                      ir_scalar(fn, x->dtype, 0), ir_scalar(fn, DT_I64, -1)};
    ir_region_t *region = picker(fn, v->op->region[0], x->dtype, err);
    ir_op_t *op = region ? ir_reduce_window(fn, 2, in, &dims, region) : NULL;
    return op ? op->out + 1 : IR_NONE;
}

/* (a, b) -> as the op's scatter region has it. */
static ir_region_t *combiner(vjp_t *v, dtype_t dtype, err_t *err)
{
    ir_fn_t *fn = v->fn;
    const ir_region_t *from = v->op->region[1];
    ir_type_t types[2] = {ir_type_scalar(dtype), ir_type_scalar(dtype)};
    ir_clone_t clone = {.from = fn, .to = fn};
    clone.map = mem_calloc(fn->n_value, sizeof *clone.map);
    for (uint32_t i = 0; i < fn->n_value; i++) clone.map[i] = i;
    ir_region_t *saved, *region = ir_region_begin(fn, 2, types, &saved);
    for (ir_val_t i = 0; i < 2; i++) clone.map[from->arg + i] = region->arg + i;
    int status = ir_clone_ops(&clone, from, err);
    ir_val_t y = clone.map[from->result[0]];
    free(clone.map);
    ir_region_end(fn, region, 1, &y, saved);
    return status < 0 ? NULL : region;
}

/* The region (source, init) -> y as a scatter of the source to the places picked, -1 being none;
 * the reverse walk knows what to do with that. */
static ir_region_t *as_scatter(vjp_t *v, const ir_type_t *x, ir_val_t picked, err_t *err)
{
    ir_fn_t *fn = v->fn;
    ir_type_t source = *op_in_type(fn, v->op, 1), types[2] = {source, ir_type_scalar(x->dtype)};
    ir_type_t to = ir_type(x->dtype, 1, (int64_t[]){ir_type_count(x)});
    ir_type_t from = ir_type(x->dtype, 1, (int64_t[]){ir_type_count(&source)});
    ir_type_t at = ir_type(DT_I64, 1, from.dim);
    arena_t *arena = fn->module->arena;
    ir_attrs_t attrs = {0};
    const int64_t zero = 0;
    attr_set_ints(arena, &attrs, "inserted_window_dims", &zero, 1);
    attr_set_ints(arena, &attrs, "scatter_dims_to_operand_dims", &zero, 1);
    attr_set_int(arena, &attrs, "index_vector_dim", 1);
    ir_region_t *combine = combiner(v, x->dtype, err), *saved;
    if (!combine) return NULL;
    ir_region_t *region = ir_region_begin(fn, 2, types, &saved);
    ir_val_t in[3] = {ir_broadcast_scalar(fn, region->arg + 1, &to), ir_reshape(fn, picked, &at),
                      ir_reshape(fn, region->arg, &from)};
    const ir_op_t *op = ir_emit(fn, OP_scatter, 3, in, &attrs, 1, NULL, 1, &combine);
    ir_val_t y = op ? ir_reshape(fn, op->out, x) : IR_NONE;
    ir_region_end(fn, region, 1, &y, saved);
    return vjp_done(v, err) < 0 ? NULL : region;
}

static int vjp_select_scatter_any(vjp_t *v, const ir_type_t *x, err_t *err)
{
    ir_val_t picked = picked_numbers(v, x, err), ct[2];
    if (picked == IR_NONE) return v->fn->err.code ? vjp_done(v, err) : -1;
    const ir_region_t *region = as_scatter(v, x, picked, err);
    if (!region || v->region_vjp(v, region, v->op->in + 1, v->ct, ct, err) < 0) return -1;
    for (int i = 0; i < 2; i++)
        if (v->need[1 + i]) v->in_ct[1 + i] = ct[i];
    return vjp_done(v, err);
}

int vjp_select_scatter(vjp_t *v, err_t *err)
{
    ir_fn_t *fn = v->fn;
    ir_type_t x = *op_in_type(fn, v->op, 0), y = *op_in_type(fn, v->op, 1);
    if (ir_reducer_op(v->op->region[1]) != OP_add && ir_type_count(&y) > 0)
        return vjp_select_scatter_any(v, &x, err);
    if (v->need[2]) vjp_give(v, 2, vjp_ct(v, 0));
    if (!v->need[1] || ir_type_count(&y) == 0) return vjp_done(v, err);
    ir_val_t number = picked_numbers(v, &x, err);
    if (number == IR_NONE) return fn->err.code ? vjp_done(v, err) : -1;
    ir_type_t flat = {.dtype = x.dtype, .rank = 1, .dim = {ir_type_count(&x)}};
    ir_gather_t dims = {.n_collapsed = 1, .n_start = 1, .slice = {1}, .index_vector_dim = y.rank};
    ir_val_t found = ir_gather(fn, ir_reshape(fn, v->ct[0], &flat), number, &dims);
    ir_val_t in_x = ir_compare(fn, "GE", number, ir_scalar_like(fn, number, 0));
    v->in_ct[1] = ir_select(fn, in_x, found, ir_scalar_like(fn, found, 0));
    return vjp_done(v, err);
}
