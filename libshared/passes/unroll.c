/* Each iteration is a copy of the body in which the counter is a constant, so that what it looks up of layers side by side
 * becomes a slice that is known. */
#include "passes/unroll.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ir/build.h"
#include "ir/op.h"
#include "ops/while_count.h"
#include "passes/passes.h"

typedef struct {
    unroll_limits_t limits;
    int n_unrolled;
    int64_t n_op; /* copied, of this function */
} unroll_t;

static int64_t count_ops(const ir_region_t *region)
{
    int64_t n = 0;
    for (int i = 0; i < region->n_op; i++, n++)
        for (int r = 0; r < region->op[i]->n_region; r++) n += count_ops(region->op[i]->region[r]);
    return n;
}

typedef bool ask_fn(const ir_op_t *op);

static bool has_op(const ir_region_t *region, ask_fn *ask)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        if (ask(op)) return true;
        for (int r = 0; r < op->n_region; r++)
            if (has_op(op->region[r], ask)) return true;
    }
    return false;
}

static bool multiplies(const ir_op_t *op)
{
    return op->code == OP_dot_general || op->code == OP_convolution;
}

/* Copies of it would draw other numbers. */
static bool draws(const ir_op_t *op)
{
    return op_def(op->code)->draws;
}

static bool may_unroll(unroll_t *self, const ir_fn_t *fn, const ir_op_t *op, while_count_t *count)
{
    if (op->code != OP_while || !while_counts(fn, op, self->limits.trips, count)) return false;
    const ir_region_t *body = op->region[1];
    if (has_op(body, draws) || (self->limits.products && !has_op(body, multiplies))) return false;
    int64_t more = count->trips * count_ops(body);
    if (self->n_op + more > self->limits.ops) return false;
    self->n_op += more;
    return true;
}

/* One iteration: carry[n] before and after it. */
static int copy_body(ir_clone_t *self, const ir_region_t *body, ir_val_t *carry, err_t *err)
{
    for (int k = 0; k < body->n_arg; k++) self->map[body->arg + (ir_val_t)k] = carry[k];
    if (ir_clone_ops(self, body, err) < 0) return -1;
    for (int k = 0; k < body->n_arg; k++) carry[k] = self->map[body->result[k]];
    return 0;
}

static int unroll(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    unroll_t *state = self->user;
    while_count_t count;
    if (!may_unroll(state, self->from, op, &count)) return 0;
    ir_val_t *carry = mem_calloc((size_t)op->n_in + 1, sizeof *carry);
    dtype_t dtype = ir_type_of(self->from, op->in[count.counter])->dtype;
    int status = 0;
    for (int k = 0; k < op->n_in; k++) carry[k] = self->map[op->in[k]];
    for (int64_t i = 0; i < count.trips && status == 0; i++) {
        carry[count.counter] = ir_scalar(self->to, dtype, (double)(count.start + i * count.step));
        status = copy_body(self, op->region[1], carry, err);
    }
    for (int k = 0; k < op->n_out; k++) self->map[op->out + (ir_val_t)k] = carry[k];
    free(carry);
    state->n_unrolled++;
    return status < 0 ? -1 : 1;
}

int unroll_loops(ir_module_t *module, const unroll_limits_t *limits, err_t *err)
{
    int n = 0;
    for (int f = 0; f < module->n_fn; f++) {
        unroll_t state = {.limits = *limits};
        ir_fn_t *fn = module->fn[f], *fresh = ir_clone_fn(module, fn, unroll, &state, err);
        if (!fresh) return -1;
        ir_module_replace(module, fn, fresh);
        n += state.n_unrolled;
    }
    return n;
}

/* Layers that a model goes over in a loop: one behind another they have no copies of what the loop carries, their
 * gradients run nothing again, and weights that lie side by side are read where they are. Bodies without
 * products cost more as ops than they gain. The attribute pcp.unroll = 0 of the module: all stay. */
int pass_unroll(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    (void)options;
    if (attr_int(&module->attrs, "pcp.unroll", 1) == 0) return 0;
    const unroll_limits_t limits = {.trips = 64, .ops = 8192, .products = true};
    return unroll_loops(module, &limits, err) < 0 ? -1 : 0;
}
