/* Ops that work element by element, and what they make of the entries of later keys. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "derive/trace.h"
#include "passes/fuse.h"

/* As in passes/fuse_attention.c: e^x is 0 beside any score that softmax in f32 could tell from it. */
static const double HIDDEN = -60000;
static const double LEAST_SCALE = 1e-2; /* of hidden scores, which stay so */

/* --- values that depend on no token, at later keys --- */

typedef struct {
    double least, most;
    bool known;
} range_t;

/* Index i of a dimension, as a position and one of keys; -1: it has none. */
static void positions_of(const axes_t *axes, int64_t i, int64_t *t, int64_t *s)
{
    for (int k = axes->n - 1; k >= 0; k--) {
        int64_t at = i % axes->at[k].size;
        if (axes->at[k].kind == AXIS_TIME) *t = at;
        if (axes->at[k].kind == AXIS_SPAN) *s = at;
        i /= axes->at[k].size;
    }
}

static void look_at(range_t *out, double x)
{
    if (isnan(x)) out->least = -INFINITY, out->most = INFINITY;
    if (x < out->least) out->least = x;
    if (x > out->most) out->most = x;
}

/* The values at s > t; where v has only one of the two, at any that might be behind some other. */
static range_t range_of(const tensor_t *x, const layout_t *at)
{
    range_t out = {INFINITY, -INFINITY, true};
    int64_t n = ir_type_count(&x->type), index[IR_MAX_RANK] = {0};
    for (int64_t i = 0; i < n; i++) {
        int64_t t = -1, s = -1;
        for (int d = 0; d < at->rank; d++) positions_of(&at->dim[d], index[d], &t, &s);
        if (s < 0 || s > t) look_at(&out, tensor_get_f64(x, x->splat ? 0 : i));
        for (int d = at->rank - 1; d >= 0; d--) {
            if (++index[d] < x->type.dim[d]) break;
            index[d] = 0;
        }
    }
    return out;
}

static range_t later_range(const trace_t *self, ir_val_t v, const layout_t *wanted)
{
    range_t none = {0, 0, false};
    layout_t at = *wanted, behind;
    for (const ir_op_t *op; (op = ir_def(self->fn, v)); v = op->in[0], at = behind) {
        if (op->code == OP_broadcast_in_dim)
            behind = trace_behind_broadcast(self->fn, op, &at);
        else if (op->code != OP_reshape ||
                 !layout_reshape(&at, ir_type_of(self->fn, op->in[0]), &behind))
            break;
    }
    tensor_t x;
    if (fuse_evaluate(self->fn, v, &x) < 0) return none;
    range_t out = dtype_is_complex(x.type.dtype) ? none : range_of(&x, &at);
    tensor_fini(&x);
    return out;
}

/* What operand i has at later keys. */
static later_t later_of(const trace_t *self, const ir_op_t *op, int i, const layout_t *at)
{
    const traced_t *x = trace_of(self, op->in[i]);
    if (x->origin == FROM_TOKENS)
        return layout_count(&x->at, AXIS_SPAN) > 0 ? x->later : LATER_COUNT;
    if (ir_type_of(self->fn, op->in[i])->rank != at->rank) return LATER_COUNT;
    range_t r = later_range(self, op->in[i], at);
    return r.known && r.most <= HIDDEN              ? LATER_LOW
           : r.known && r.least == 0 && r.most == 0 ? LATER_ZERO
                                                    : LATER_COUNT;
}

static bool has_keys(const trace_t *self, ir_val_t v)
{
    const traced_t *x = trace_of(self, v);
    return x->origin == FROM_TOKENS && layout_count(&x->at, AXIS_SPAN) > 0;
}

/* --- rules --- */

static later_t later_select(const trace_t *self, const ir_op_t *op, const layout_t *at)
{
    if (trace_is_static(self, op->in[0]) && ir_type_of(self->fn, op->in[0])->rank == at->rank) {
        range_t r = later_range(self, op->in[0], at);
        if (r.known && r.least == 1) return later_of(self, op, 1, at);
        if (r.known && r.most == 0) return later_of(self, op, 2, at);
    }
    later_t a = later_of(self, op, 1, at), b = later_of(self, op, 2, at);
    return a == b ? a : LATER_COUNT;
}

/* Both operands' part, where either order is the same. */
static later_t later_both(const trace_t *self, const ir_op_t *op, const layout_t *at)
{
    later_t a = later_of(self, op, 0, at), b = later_of(self, op, 1, at);
    if (op->code == OP_add)
        return a == LATER_LOW || b == LATER_LOW ? LATER_LOW : a == b ? a : LATER_COUNT;
    return a == b ? a : LATER_COUNT; /* maximum */
}

static later_t later_product(const trace_t *self, const ir_op_t *op, const layout_t *at)
{
    bool divides = op->code == OP_divide;
    double c;
    later_t a = later_of(self, op, 0, at);
    if (a == LATER_ZERO) return LATER_ZERO;
    for (int i = divides ? 1 : 0; i < 2; i++)
        if (fuse_constant(self->fn, op->in[i], &c) && (divides ? c > 0 : c >= LEAST_SCALE) &&
            (!divides || c <= 1 / LEAST_SCALE) && has_keys(self, op->in[1 - i]))
            return later_of(self, op, 1 - i, at) == LATER_LOW ? LATER_LOW : LATER_COUNT;
    return !divides && later_of(self, op, 1, at) == LATER_ZERO ? LATER_ZERO : LATER_COUNT;
}

static later_t later_map(const trace_t *self, const ir_op_t *op, const layout_t *at)
{
    switch (op->code) {
    case OP_convert:
    case OP_reduce_precision: return later_of(self, op, 0, at);
    case OP_select: return later_select(self, op, at);
    case OP_add:
    case OP_maximum: return later_both(self, op, at);
    case OP_multiply:
    case OP_divide: return later_product(self, op, at);
    case OP_subtract:
        return !has_keys(self, op->in[1]) && !trace_is_static(self, op->in[1]) &&
                       later_of(self, op, 0, at) == LATER_LOW
                   ? LATER_LOW
                   : LATER_COUNT;
    case OP_exponential:
    case OP_logistic: return later_of(self, op, 0, at) == LATER_LOW ? LATER_ZERO : LATER_COUNT;
    default: return LATER_COUNT;
    }
}

int trace_map(trace_t *self, const ir_op_t *op, traced_t *out)
{
    const ir_type_t *to = ir_type_of(self->fn, op->out);
    bool first = true;
    out->at.rank = to->rank;
    for (int i = 0; i < op->n_in; i++) {
        const traced_t *x = trace_of(self, op->in[i]);
        if (x->origin != FROM_TOKENS) continue;
        if (x->at.rank != to->rank) return trace_refuse(self, op, "is not known for one choice");
        for (int d = 0; d < to->rank; d++) {
            axes_t axes = x->at.dim[d];
            if (!first && !axes_join(&out->at.dim[d], &x->at.dim[d], &axes))
                return trace_refuse(self, op, "brings positions together with others");
            out->at.dim[d] = axes;
        }
        first = false;
    }
    /* What is the same here may differ there. */
    for (int i = 0; i < op->n_in; i++)
        for (int d = 0; d < to->rank && trace_is_static(self, op->in[i]); d++) {
            if (ir_type_of(self->fn, op->in[i])->rank != to->rank) break;
            if (trace_is_same(self->fn, op->in[i], d)) continue;
            axes_t full = {0};
            for (int k = 0; k < out->at.dim[d].n; k++) {
                axis_t axis = out->at.dim[d].at[k];
                axes_add(&full, axis.kind == AXIS_SAME ? (axis_t){AXIS_PLAIN, axis.size} : axis);
            }
            out->at.dim[d] = full;
        }
    if (layout_count(&out->at, AXIS_SPAN) > 0) out->later = later_map(self, op, &out->at);
    return 0;
}
