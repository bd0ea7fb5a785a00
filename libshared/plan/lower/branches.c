/* if and case by selects. Ops of a plan have no side effects and cannot trap, so that running every
 * branch is safe; only loops must be kept from running where their branch is not taken, since
 * nothing says that they end there. */
#include "plan/lower/branches.h"

#include "ir/build.h"

/* Is case branch r of n the one? Anything outside of 0..n-1 takes the last. */
static ir_val_t is_chosen(ir_fn_t *fn, ir_val_t index, int r, int n)
{
    if (r < n - 1) return ir_compare(fn, "EQ", index, ir_scalar_like(fn, index, r));
    ir_val_t below = ir_compare(fn, "LT", index, ir_scalar_like(fn, index, 0));
    ir_val_t above = ir_compare(fn, "GE", index, ir_scalar_like(fn, index, n - 1));
    return ir_op2(fn, OP_or, below, above);
}

static int rewrite_branches(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    ir_fn_t *fn = self->to;
    branches_t *branches = self->user;
    ir_val_t outer = branches->taken, selector = self->map[op->in[0]];
    bool is_if = op->code == OP_if;
    for (int r = op->n_region - 1; r >= 0; r--) {
        ir_val_t chosen = is_if ? selector : is_chosen(fn, selector, r, op->n_region);
        if (is_if && r == 1) chosen = ir_op1(fn, OP_not, selector);
        branches->taken = outer == IR_NONE ? chosen : ir_op2(fn, OP_and, outer, chosen);
        int status = ir_clone_ops(self, op->region[r], err);
        branches->taken = outer;
        if (status < 0) return -1;
        for (int i = 0; i < op->n_out; i++) {
            ir_val_t *y = &self->map[op->out + (ir_val_t)i];
            ir_val_t one = self->map[op->region[r]->result[i]];
            *y = r == op->n_region - 1 ? one : ir_select(fn, chosen, one, *y);
        }
    }
    return 1;
}

/* A loop in a branch goes on while the branch is taken and its own condition holds. */
static int rewrite_while(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    ir_fn_t *fn = self->to;
    ir_val_t taken = ((branches_t *)self->user)->taken;
    if (taken == IR_NONE) return 0;
    ir_op_t *copy = ir_clone_op(self, op, err);
    if (!copy) return -1;
    ir_region_t *cond = copy->region[0], *saved = fn->cursor;
    fn->cursor = cond;
    cond->result[0] = ir_op2(fn, OP_and, cond->result[0], taken);
    fn->cursor = saved;
    return 1;
}

int branches_rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    if (op->code == OP_if || op->code == OP_case) return rewrite_branches(self, op, err);
    return op->code == OP_while ? rewrite_while(self, op, err) : 0;
}
