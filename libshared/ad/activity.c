/* Activity analysis: which values can carry a gradient from the wanted parameters. */
#include <string.h>

#include "ad/walk.h"
#include "base/mem.h"

void ad_set_active(ad_t *self, ir_val_t v, bool active)
{
    if (v >= self->n_active) {
        uint32_t n = self->fn->n_value + self->fn->n_value / 2 + 64;
        self->active = mem_realloc(self->active, n);
        memset(self->active + self->n_active, 0, n - self->n_active);
        self->n_active = n;
    }
    self->active[v] = active;
}

bool ad_is_active(const ad_t *self, ir_val_t v)
{
    return v < self->n_active && self->active[v];
}

static bool reads_active(const ad_t *self, const ir_op_t *op)
{
    for (int i = 0; i < op->n_in; i++)
        if (ad_is_active(self, op->in[i])) return true;
    return false;
}

static void set_if_float(ad_t *self, ir_val_t first, int n, bool active)
{
    for (int i = 0; i < n; i++) {
        ir_val_t v = first + (ir_val_t)i;
        ad_set_active(self, v, active && dtype_is_inexact(ir_type_of(self->fn, v)->dtype));
    }
}

/* Which operand feeds which region argument is the op's own business: one active operand makes all
 * of its regions' arguments active, and an active value inside makes all of its results active. */
static bool mark_op(ad_t *self, const ir_op_t *op)
{
    bool active = reads_active(self, op);
    for (int again = 0; again < 2; again++) {
        bool before = active;
        for (int r = 0; r < op->n_region; r++) {
            const ir_region_t *region = op->region[r];
            set_if_float(self, region->arg, region->n_arg, active);
            for (int i = 0; i < region->n_op; i++) active |= mark_op(self, region->op[i]);
            for (int i = 0; i < region->n_result; i++)
                active |= ad_is_active(self, region->result[i]);
        }
        if (active == before) break;
    }
    set_if_float(self, op->out, op->n_out, active && op_def(op->code)->vjp != vjp_none);
    return active;
}

void ad_mark_region(ad_t *self, const ir_region_t *region, int from_op)
{
    for (int i = from_op; i < region->n_op; i++) mark_op(self, region->op[i]);
}
