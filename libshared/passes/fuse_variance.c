/* Variances that exports take in f64 and round to f32 right after (torch's layer norms): the same
 * in f32, in two passes as written, so that it becomes one with the f32 mean beside it. With n
 * elements a row the relative error of mean and variance is below (n + 4) 2^-24, and near 2^-24
 * log2(n) in the order kernels sum in: what f32 layer norms have everywhere. Nothing else in f64 is
 * touched. */
#include "passes/fuse.h"

enum { MAX_DEPTH = 16 };

static bool is_view(const ir_op_t *op)
{
    return op->code == OP_reshape || op->code == OP_broadcast_in_dim;
}

static ir_val_t behind_views(const ir_fn_t *fn, ir_val_t v)
{
    for (const ir_op_t *op; (op = ir_def(fn, v)) && is_view(op);) v = op->in[0];
    return v;
}

/* The sum that v is, times or over a constant; NULL when it is none. */
static const ir_op_t *scaled_sum(const ir_fn_t *fn, ir_val_t v)
{
    double c;
    const ir_op_t *op = ir_def(fn, behind_views(fn, v));
    if (!op || (op->code != OP_divide && op->code != OP_multiply)) return NULL;
    if (!fuse_constant(fn, op->in[1], &c) || !(c > 1e-9 && c < 1e9)) return NULL;
    op = fuse_def(fn, behind_views(fn, op->in[0]), OP_reduce);
    bool sums = op && op->n_in == 2 && ir_reducer_op(op->region[0]) == OP_add;
    return sums && fuse_constant(fn, op->in[1], &c) && c == 0 ? op : NULL;
}

/* Is v (f64) the mean of (x - mean(x))^2, x a float of 32 bits or fewer? */
static bool is_variance(const ir_fn_t *fn, ir_val_t v)
{
    const ir_op_t *sum = scaled_sum(fn, v);
    const ir_op_t *square = sum ? fuse_def(fn, sum->in[0], OP_multiply) : NULL;
    if (!square || square->in[0] != square->in[1]) return false;
    const ir_op_t *minus = fuse_def(fn, square->in[0], OP_subtract);
    const ir_op_t *mean = minus ? scaled_sum(fn, minus->in[1]) : NULL;
    const ir_op_t *x = minus ? fuse_def(fn, minus->in[0], OP_convert) : NULL;
    if (!mean || !x || mean->in[0] != x->out) return false;
    dtype_t dtype = ir_type_of(fn, x->in[0])->dtype;
    return dtype == DT_F32 || dtype == DT_BF16 || dtype == DT_F16;
}

/* v of the old function, of the ops above alone, in the new one in f32. */
static ir_val_t narrow(ir_clone_t *self, ir_val_t v, int depth)
{
    ir_fn_t *to = self->to;
    const ir_op_t *op = ir_def(self->from, v);
    ir_type_t type = ir_type_with(*ir_type_of(self->from, v), DT_F32);
    double c;
    ir_val_t in[2];
    if (!op || depth > MAX_DEPTH) return IR_NONE;
    if (op->code == OP_convert) return ir_convert(to, self->map[op->in[0]], DT_F32);
    if (fuse_constant(self->from, v, &c)) return ir_splat(to, &type, c);
    for (int i = 0; i < op->n_in && i < 2; i++)
        if ((in[i] = narrow(self, op->in[i], depth + 1)) == IR_NONE) return IR_NONE;
    if (op->code == OP_reduce) {
        int n;
        const int64_t *dims = attr_ints(&op->attrs, "dimensions", &n);
        return ir_reduce(to, OP_add, in[0], dims, n);
    }
    const ir_op_t *copy = ir_emit(to, op->code, op->n_in, in, &op->attrs, 1, &type, 0, NULL);
    return copy ? copy->out : IR_NONE;
}

int fuse_variance(ir_clone_t *self, const ir_op_t *op)
{
    const ir_fn_t *fn = self->from;
    if (ir_type_of(fn, op->in[0])->dtype != DT_F64 || ir_type_of(fn, op->out)->dtype != DT_F32 ||
        !is_variance(fn, op->in[0]))
        return 0;
    ir_val_t y = narrow(self, op->in[0], 0);
    if (y == IR_NONE) return 0;
    self->map[op->out] = y;
    return 1;
}
