/* Parameters as they are kept: transposed, of fewer bytes, as whole numbers whose scales the results of products and
 * the rows that are looked up are multiplied with. */
#include "derive/emit.h"

/* The parameter that v is a view of, rows for columns or not (*turns), or of another type; -1: none. */
static int param_of(const emit_t *self, ir_val_t v, bool *turns)
{
    int n, views = 0;
    *turns = false;
    for (const ir_op_t *op; (op = ir_def(self->from, v)); v = op->in[0]) {
        bool turned = op->code == OP_transpose && ir_type_of(self->from, v)->rank == 2 &&
                      attr_ints(&op->attrs, "permutation", &n)[0] == 1;
        if ((!turned && op->code != OP_convert) || ++views > EMIT_DEPTH) return -1;
        *turns = *turns != turned;
    }
    ir_val_t first = ir_fn_param(self->from, 0);
    return v >= first && v < first + (ir_val_t)self->from->body->n_arg ? (int)(v - first) : -1;
}

/* x, made of the parameter that v is a view of, in the types that the views have. */
static ir_val_t as_view(emit_t *self, ir_val_t v, ir_val_t x)
{
    const ir_op_t *op = ir_def(self->from, v);
    if (!op) return x;
    x = as_view(self, op->in[0], x);
    return op->code == OP_convert ? ir_convert(self->to, x, ir_type_of(self->from, v)->dtype) : x;
}

ir_val_t emit_matrix(emit_t *self, ir_val_t v, int64_t *contract, ir_val_t *scales)
{
    bool turns;
    int i = param_of(self, v, &turns);
    if (i < 0) return emit_whole(self, v);
    if (turns != self->turned[i]) *contract = 1 - *contract;
    *scales = self->scales[i];
    return as_view(self, v, self->param[i]);
}

ir_val_t emit_scaled(emit_t *self, ir_val_t x, ir_val_t scales, int d)
{
    if (x == IR_NONE) return IR_NONE;
    dtype_t dtype = ir_type_of(self->to, x)->dtype;
    ir_type_t type = ir_type_with(*ir_type_of(self->to, x), DT_F32);
    ir_val_t each = ir_broadcast(self->to, scales, &type, (int64_t[]){d});
    ir_val_t y = ir_op2(self->to, OP_multiply, ir_convert(self->to, x, DT_F32), each);
    return ir_convert(self->to, y, dtype);
}

/* The scale of each row that is looked up, one for each of its numbers. */
static ir_val_t scales_of_rows(emit_t *self, ir_val_t scales, ir_val_t index,
                               const ir_gather_t *dims, const ir_type_t *like)
{
    ir_fn_t *fn = self->to;
    ir_gather_t g = *dims;
    int64_t each[IR_MAX_RANK];
    ir_type_t column = ir_type(DT_F32, 2, (int64_t[]){ir_type_of(fn, scales)->dim[0], 1});
    g.slice[1] = 1;
    ir_val_t x = ir_gather(fn, ir_reshape(fn, scales, &column), index, &g);
    ir_type_t type = ir_type_with(*like, DT_F32);
    for (int d = 0; d < type.rank; d++) each[d] = d;
    return x == IR_NONE ? x : ir_broadcast(fn, x, &type, each);
}

ir_val_t emit_rows_of(emit_t *self, ir_val_t v, ir_val_t index, const ir_gather_t *dims)
{
    bool turns;
    int i = param_of(self, v, &turns);
    ir_fn_t *fn = self->to;
    if (i < 0 || turns || self->kept[i] == self->param[i])
        return ir_gather(fn, emit_whole(self, v), index, dims);
    ir_val_t x = ir_gather(fn, self->kept[i], index, dims);
    if (x == IR_NONE) return x;
    x = ir_convert(fn, x, ir_type_of(fn, self->param[i])->dtype);
    if (self->scales[i] != IR_NONE) {
        const ir_type_t type = *ir_type_of(fn, x);
        ir_val_t scales = scales_of_rows(self, self->scales[i], index, dims, &type);
        ir_val_t y = ir_op2(fn, OP_multiply, ir_convert(fn, x, DT_F32), scales);
        x = ir_convert(fn, y, type.dtype);
    }
    return as_view(self, v, x);
}

ir_val_t emit_param(emit_t *self, int i)
{
    if (self->turned[i]) return IR_NONE;
    return self->scales[i] == IR_NONE ? self->param[i]
                                      : emit_scaled(self, self->param[i], self->scales[i], 0);
}
