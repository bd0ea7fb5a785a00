/* Ops of values that belong to tokens, one rule each, on the layouts that the trace has found. */
#include "derive/emit.h"

#include <string.h>

#include "ir/build_index.h"

int emit_refuse(emit_t *self, const ir_op_t *op, const char *what)
{
    if (self->why.code || self->to->err.code) return -1;
    return err_set(&self->why, ERR_UNSUPPORTED, "%s (line %d) %s", op_def(op->code)->name, op->line,
                   what);
}

ir_type_t emit_type(const emit_t *self, ir_val_t v)
{
    return layout_type(&trace_of(self->trace, v)->at, ir_type_of(self->from, v)->dtype,
                       &self->sizes);
}

ir_val_t emit_whole(emit_t *self, ir_val_t v)
{
    if (self->whole.map[v] != IR_NONE) return self->whole.map[v];
    const ir_op_t *op = ir_def(self->from, v);
    if (!op || self->depth == EMIT_DEPTH) {
        if (op) emit_refuse(self, op, "is made of too many steps");
        return IR_NONE;
    }
    bool fine = true;
    self->depth++;
    for (int i = 0; i < op->n_in && fine; i++) fine = emit_whole(self, op->in[i]) != IR_NONE;
    self->depth--;
    return fine && ir_clone_op(&self->whole, op, &self->why) ? self->whole.map[v] : IR_NONE;
}

ir_val_t emit_stretch(emit_t *self, ir_val_t v, const layout_t *from, const layout_t *to)
{
    if (v == IR_NONE) return IR_NONE;
    dtype_t dtype = ir_type_of(self->to, v)->dtype;
    ir_type_t want = layout_type(to, dtype, &self->sizes);
    if (ir_shape_equal(&want, ir_type_of(self->to, v))) return v;
    enum { SPACE = 2 * LAYOUT_AXES };
    int64_t narrow[IR_MAX_RANK], wide[IR_MAX_RANK], dims[IR_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < to->rank; d++) {
        axis_t x[SPACE], y[SPACE];
        int n = axes_pair(&from->dim[d], &to->dim[d], x, y, SPACE);
        if (n < 0 || rank + n > IR_MAX_RANK) {
            err_set(&self->why, ERR_UNSUPPORTED, "an operand's axes are not those of the result");
            return IR_NONE;
        }
        for (int i = 0; i < n; i++, rank++) {
            narrow[rank] = axis_size(x[i], &self->sizes);
            wide[rank] = axis_size(y[i], &self->sizes);
            dims[rank] = rank;
        }
    }
    ir_type_t small = ir_type(dtype, rank, narrow), large = ir_type(dtype, rank, wide);
    return ir_reshape(self->to,
                      ir_broadcast(self->to, ir_reshape(self->to, v, &small), &large, dims), &want);
}

ir_val_t emit_operand(emit_t *self, ir_val_t v, const layout_t *at)
{
    if (trace_is_static(self->trace, v)) return emit_static(self, v, at);
    return emit_stretch(self, emit_value(self, v), &trace_of(self->trace, v)->at, at);
}

static ir_val_t emit_op(emit_t *self, const ir_op_t *op, int n, const ir_val_t *in)
{
    ir_type_t type = emit_type(self, op->out);
    const ir_op_t *made = ir_emit(self->to, op->code, n, in, &op->attrs, 1, &type, 0, NULL);
    return made ? made->out : IR_NONE;
}

/* --- rules --- */

static ir_val_t emit_map(emit_t *self, const ir_op_t *op)
{
    enum { MOST = 8 };
    const layout_t *at = &trace_of(self->trace, op->out)->at;
    ir_val_t in[MOST];
    if (op->n_in > MOST) return emit_refuse(self, op, "has too many operands"), IR_NONE;
    for (int i = 0; i < op->n_in; i++)
        in[i] = ir_type_of(self->from, op->in[i])->rank == at->rank
                    ? emit_operand(self, op->in[i], at)
                    : emit_whole(self, op->in[i]);
    return emit_op(self, op, op->n_in, in);
}

static ir_val_t emit_view(emit_t *self, const ir_op_t *op)
{
    ir_val_t x = emit_value(self, op->in[0]);
    ir_type_t type = emit_type(self, op->out);
    return ir_reshape(self->to, x, &type);
}

static ir_val_t emit_transpose(emit_t *self, const ir_op_t *op)
{
    int n;
    ir_val_t x = emit_value(self, op->in[0]);
    return ir_transpose(self->to, x, attr_ints(&op->attrs, "permutation", &n));
}

static ir_val_t emit_slice(emit_t *self, const ir_op_t *op)
{
    int n;
    const ir_type_t *from = ir_type_of(self->from, op->in[0]);
    const ir_type_t *to = ir_type_of(self->from, op->out);
    const int64_t *at = attr_ints(&op->attrs, "start_indices", &n);
    const int64_t *end = attr_ints(&op->attrs, "limit_indices", &n);
    const int64_t *step = attr_ints(&op->attrs, "strides", &n);
    const layout_t *had = &trace_of(self->trace, op->in[0])->at;
    const layout_t *gets = &trace_of(self->trace, op->out)->at;
    layout_t full = *had;
    int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK], stride[IR_MAX_RANK];
    for (int d = 0; d < from->rank; d++) {
        stride[d] = 1;
        limit[d] = axes_size(&had->dim[d], &self->sizes);
        bool cut = from->dim[d] != to->dim[d] && axes_are_plain(&had->dim[d]);
        if (!cut || (gets->dim[d].n == 1 && gets->dim[d].at[0].kind == AXIS_SAME)) continue;
        full.dim[d] = (axes_t){0};
        axes_add(&full.dim[d], (axis_t){AXIS_PLAIN, from->dim[d]});
        start[d] = at[d], limit[d] = end[d], stride[d] = step ? step[d] : 1;
    }
    return ir_slice(self->to, emit_operand(self, op->in[0], &full), start, limit, stride);
}

static ir_val_t emit_concatenate(emit_t *self, const ir_op_t *op)
{
    int along = (int)attr_int(&op->attrs, "dimension", 0);
    ir_val_t *in = ARENA_ARRAY(self->to->module->arena, ir_val_t, op->n_in);
    for (int i = 0; i < op->n_in; i++) {
        layout_t at = trace_of(self->trace, op->out)->at;
        at.dim[along] = (axes_t){0};
        int64_t size = ir_type_of(self->from, op->in[i])->dim[along];
        axes_add(&at.dim[along], (axis_t){AXIS_PLAIN, size});
        in[i] = emit_operand(self, op->in[i], &at);
    }
    return ir_concatenate(self->to, in, op->n_in, along);
}

static ir_val_t emit_pad(emit_t *self, const ir_op_t *op)
{
    const layout_t full = layout_full(&trace_of(self->trace, op->in[0])->at);
    const ir_type_t *from = ir_type_of(self->from, op->in[0]);
    const ir_type_t *to = ir_type_of(self->from, op->out);
    const layout_t *at = &trace_of(self->trace, op->out)->at;
    layout_t want = *at;
    for (int d = 0; d < from->rank; d++)
        if (from->dim[d] != to->dim[d]) want.dim[d] = full.dim[d];
    ir_val_t in[] = {emit_operand(self, op->in[0], &want), emit_whole(self, op->in[1])};
    return emit_op(self, op, 2, in);
}

static ir_val_t emit_reverse(emit_t *self, const ir_op_t *op)
{
    ir_val_t x = emit_value(self, op->in[0]);
    return emit_op(self, op, 1, &x);
}

/* Sums of what is the same along an axis count it as often as it is there. */
static ir_val_t emit_reduce(emit_t *self, const ir_op_t *op)
{
    int n;
    const int64_t *dims = attr_ints(&op->attrs, "dimensions", &n);
    const layout_t *had = &trace_of(self->trace, op->in[0])->at;
    layout_t at = *had, full = layout_full(had);
    for (int i = 0; i < n; i++) at.dim[dims[i]] = full.dim[dims[i]];
    op_code_t how = ir_reducer_op(op->region[0]);
    ir_val_t x = emit_operand(self, op->in[0], &at), init = emit_whole(self, op->in[1]);
    ir_val_t sum = ir_reduce(self->to, how, x, dims, n);
    if (sum == IR_NONE || init == IR_NONE) return IR_NONE;
    const tensor_t *c = ir_const_of(self->from, op->in[1]);
    double neutral = c ? tensor_get_f64(c, 0) : 1;
    if ((how == OP_add && neutral == 0) || (how == OP_maximum && neutral < -3e38)) return sum;
    const ir_type_t type = *ir_type_of(self->to, sum);
    return ir_op2(self->to, how, sum, ir_broadcast_scalar(self->to, init, &type));
}

static ir_val_t emit_gather(emit_t *self, const ir_op_t *op)
{
    ir_gather_t g;
    ir_gather_dims(op, &g);
    const layout_t *had = &trace_of(self->trace, op->in[1])->at;
    layout_t at = *had, full = layout_full(had);
    if (g.index_vector_dim < at.rank) at.dim[g.index_vector_dim] = full.dim[g.index_vector_dim];
    return emit_rows_of(self, op->in[0], emit_operand(self, op->in[1], &at), &g);
}

static ir_val_t emit_one(emit_t *self, const ir_op_t *op)
{
    switch (op->code) {
    case OP_reshape:
    case OP_broadcast_in_dim: return emit_view(self, op);
    case OP_optimization_barrier: return emit_value(self, op->in[0]);
    case OP_transpose: return emit_transpose(self, op);
    case OP_slice: return emit_slice(self, op);
    case OP_concatenate: return emit_concatenate(self, op);
    case OP_pad: return emit_pad(self, op);
    case OP_reverse: return emit_reverse(self, op);
    case OP_reduce: return emit_reduce(self, op);
    case OP_gather: return emit_gather(self, op);
    case OP_dot_general: return emit_dot(self, op);
    default: return emit_map(self, op);
    }
}

/* --- one token of several --- */

/* Behind the cut the program is one of a single position. */
static void take_last(emit_t *self, ir_val_t v)
{
    ir_fn_t *fn = self->to;
    const layout_t *at = &trace_of(self->trace, v)->at;
    ir_val_t x = self->value[v], start[IR_MAX_RANK], zero = ir_scalar(fn, DT_I32, 0);
    ir_type_t one = ir_type_scalar(DT_I32);
    ir_val_t last = ir_reshape(fn, self->last, &one);
    int64_t size[IR_MAX_RANK];
    if (x == IR_NONE || last == IR_NONE) return;
    for (int d = 0; d < at->rank; d++) {
        bool time = axes_have(&at->dim[d], AXIS_TIME);
        start[d] = time ? last : zero;
        size[d] = time ? 1 : axes_size(&at->dim[d], &self->sizes);
    }
    self->value[v] = ir_dynamic_slice(fn, x, start, size);
    ir_val_t place[] = {zero, last};
    self->positions = ir_dynamic_slice(fn, self->positions, place, (int64_t[]){1, 1});
    self->sizes.time = 1;
}

ir_val_t emit_value(emit_t *self, ir_val_t v)
{
    if (self->value[v] != IR_NONE) return self->value[v];
    const ir_op_t *op = ir_def(self->from, v);
    if (!op || self->why.code || trace_of(self->trace, v)->origin != FROM_TOKENS) return IR_NONE;
    self->value[v] = emit_one(self, op);
    if (self->value[v] == IR_NONE) emit_refuse(self, op, "is not known at single positions");
    if (v != self->cut || self->value[v] == IR_NONE) return self->value[v];
    if (self->last != IR_NONE) take_last(self, v);
    self->hidden = self->value[v];
    return self->value[v];
}
