/* Each iteration is a copy of the body in which the counter is a constant, so that what it looks up of layers side by side
 * becomes a slice that is known. */
#include "derive/unroll.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ir/build.h"
#include "ops/while_count.h"

typedef struct {
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
    if (op->code != OP_while || !while_counts(self->from, op, UNROLL_TRIPS, &count)) return 0;
    const ir_region_t *body = op->region[1];
    state->n_op += count.trips * count_ops(body);
    if (state->n_op > UNROLL_OPS) return 0;
    ir_val_t *carry = mem_calloc((size_t)op->n_in + 1, sizeof *carry);
    dtype_t dtype = ir_type_of(self->from, op->in[count.counter])->dtype;
    int status = 0;
    for (int k = 0; k < op->n_in; k++) carry[k] = self->map[op->in[k]];
    for (int64_t i = 0; i < count.trips && status == 0; i++) {
        carry[count.counter] = ir_scalar(self->to, dtype, (double)(count.start + i * count.step));
        status = copy_body(self, body, carry, err);
    }
    for (int k = 0; k < op->n_out; k++) self->map[op->out + (ir_val_t)k] = carry[k];
    free(carry);
    state->n_unrolled++;
    return status < 0 ? -1 : 1;
}

int unroll_loops(ir_module_t *module, err_t *err)
{
    int n = 0;
    for (int f = 0; f < module->n_fn; f++) {
        unroll_t state = {0};
        ir_fn_t *fn = module->fn[f], *fresh = ir_clone_fn(module, fn, unroll, &state, err);
        if (!fresh) return -1;
        ir_module_replace(module, fn, fresh);
        n += state.n_unrolled;
    }
    return n;
}
