/* What ops make of operands without elements. */
#include "plan/lower/empty.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ir/build.h"

static bool is_empty(const ir_fn_t *fn, ir_val_t v)
{
    return ir_type_count(ir_type_of(fn, v)) == 0;
}

/* Every result is operand first + i: itself, or a scalar spread. */
static int give_operands(ir_clone_t *self, const ir_op_t *op, int first)
{
    for (int i = 0; i < op->n_out; i++) {
        const ir_type_t type = *ir_type_of(self->from, op->out + (ir_val_t)i);
        ir_val_t x = self->map[op->in[first + i]];
        if (!ir_shape_equal(ir_type_of(self->to, x), &type))
            x = ir_broadcast_scalar(self->to, ir_convert(self->to, x, type.dtype), &type);
        self->map[op->out + (ir_val_t)i] = x;
    }
    return 1;
}

static int give_zeros(ir_clone_t *self, const ir_op_t *op)
{
    const ir_type_t type = *ir_type_of(self->from, op->out);
    self->map[op->out] = ir_splat(self->to, &type, 0);
    return 1;
}

static int leave_out(ir_clone_t *self, const ir_op_t *op)
{
    ir_val_t *parts = mem_calloc((size_t)op->n_in, sizeof *parts);
    int n = 0;
    for (int i = 0; i < op->n_in; i++)
        if (!is_empty(self->from, op->in[i])) parts[n++] = self->map[op->in[i]];
    int dim = (int)attr_int(&op->attrs, "dimension", 0);
    self->map[op->out] = n == 1 ? parts[0] : ir_concatenate(self->to, parts, n, dim);
    free(parts);
    return 1;
}

int empty_rewrite(ir_clone_t *self, const ir_op_t *op)
{
    bool any = false;
    for (int i = 0; i < op->n_in; i++) any |= is_empty(self->from, op->in[i]);
    if (!any || op->n_out == 0 || is_empty(self->from, op->out)) return 0;
    switch (op->code) {
    case OP_dot_general:
    case OP_convolution: return give_zeros(self, op);
    case OP_concatenate: return leave_out(self, op);
    case OP_reduce: return give_operands(self, op, op->n_out);
    case OP_pad: return give_operands(self, op, 1);
    case OP_scatter: /* indices without entries name the window at 0: only updates can be missing */
        return is_empty(self->from, op->in[op->n_in - 1]) ? give_operands(self, op, 0) : 0;
    case OP_dynamic_update_slice: return give_operands(self, op, 0);
    case OP_select_and_scatter: return give_operands(self, op, 2);
    default: return 0;
    }
}
